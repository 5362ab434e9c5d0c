#!/usr/bin/env bash
# make install into a DESTDIR: the program there trains, tabulates and plots from a directory that is not the source tree,
# and uninstall leaves nothing.
set -u
cd "$(dirname "$0")/../.." || exit 1
n=0 bad=0
check() { # NAME STATUS [WANTED]
    n=$((n + 1))
    if [ "$2" -eq "${3:-0}" ]; then echo "ok $n - $1"; else echo "not ok $n - $1 (status $2)"; bad=1; fi
}
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
# The flavour under test as it stands: what is older than a source is not built again here.
install() { make -s --old-file=all "$1" DESTDIR="$root/dest" PREFIX=/opt/taper FLAVOUR="${TAPER_TEST_FLAVOUR:-release}"; }
install install > "$root/install.log" 2>&1
check "make install" $?
sed 's/^/# /' "$root/install.log"
prefix=$root/dest/opt/taper
for file in bin/taper share/man/man1/taper.1 share/bash-completion/completions/taper share/zsh/site-functions/_taper \
    share/doc/taper/CHANGELOG.md share/taper/experiments/demo.yaml; do
    [ -s "$prefix/$file" ]
    check "$file" $?
done

mkdir "$root/elsewhere"
cp "$prefix/share/taper/experiments/demo.yaml" "$root/elsewhere"
taper() { (cd "$root/elsewhere" && env -u TAPER_HOME TAPER_CACHE="$root/cache" "$prefix/bin/taper" "$@"); }
taper run --dry-run demo.yaml > "$root/runs.txt"
check "the demo's runs" $?
cat > "$root/elsewhere/tiny.yaml" <<'Y'
sweep: tiny
base: {data.size: 100000, model.vocab: 300, model.d_model: 16, model.layers: 1, model.context: 16, train.steps: 20, train.batch: 2, sample.tokens: 0}
variants: {baseline: {taper.sites: none}, all: {taper.sites: all}}
Y
taper run tiny.yaml --slots cpu:1 > /dev/null 2> "$root/run.log"
check "a sweep" $?
taper table table-tinystories --sweep tiny --format md > "$root/table.md"
check "its table" $?
grep -q baseline "$root/table.md"
check "which has its rows" $?
taper plot fig-loss --sweep tiny --out fig-loss.svg > /dev/null
check "a figure" $?
[ -d "$root/elsewhere/results/home" ] && [ -n "$(find "$root/elsewhere" -name 'fig-loss.*')" ]
check "all of it where it was run" $?

install uninstall > /dev/null 2>&1
check "make uninstall" $?
[ -z "$(find "$root/dest" -type f)" ]
check "leaves no file" $?
echo "1..$n"
exit $bad
