#!/usr/bin/env bash
# make install into a DESTDIR: the program there trains, tabulates and plots from a directory that is not the source tree,
# and uninstall leaves nothing.
. "$(dirname "$0")/../support/tap.bash"
cd "$(dirname "$0")/../.." || exit 1
root=$T
# The flavour under test as it stands: what is older than a source is not built again here.
install() { make -s --old-file=all "$1" DESTDIR="$root/dest" PREFIX=/opt/taper FLAVOUR="${TAPER_TEST_FLAVOUR:-release}"; }
install install > "$root/install.log" 2>&1
that "make install" $?
sed 's/^/# /' "$root/install.log"
prefix=$root/dest/opt/taper
for file in bin/taper lib/taper/taper-supervisor share/man/man1/taper.1 share/bash-completion/completions/taper share/zsh/site-functions/_taper \
    share/fish/vendor_completions.d/taper.fish share/doc/taper/CHANGELOG.md share/taper/experiments/demo.yaml; do
    [ -s "$prefix/$file" ]
    that "$file" $?
done

mkdir "$root/elsewhere"
cp "$prefix/share/taper/experiments/demo.yaml" "$root/elsewhere"
taper() { (cd "$root/elsewhere" && env -u TAPER_HOME XDG_DATA_HOME="$root/data" TAPER_CACHE="$root/cache" "$prefix/bin/taper" "$@"); }
taper run --dry-run demo.yaml > "$root/runs.txt"
that "the demo's runs" $?
cat > "$root/elsewhere/tiny.yaml" <<'Y'
sweep: tiny
base: {data.size: 100000, model.vocab: 300, model.d_model: 16, model.layers: 1, model.context: 16, train.steps: 20, train.batch: 2, sample.tokens: 0}
variants: {baseline: {taper.sites: none}, all: {taper.sites: all}}
Y
taper run tiny.yaml --slots cpu:1 > /dev/null 2> "$root/run.log"
that "a sweep" $?
taper table table-tinystories --sweep tiny --format md > "$root/table.md"
that "its table" $?
grep -q baseline "$root/table.md"
that "which has its rows" $?
taper plot fig-loss --sweep tiny --out fig-loss.svg > /dev/null
that "a figure" $?
[ -e "$root/data/taper/taper.db" ] && [ -n "$(find "$root/elsewhere" -name 'fig-loss.*')" ]
that "the home in the data directory, the figure where it was run" $?

install uninstall > /dev/null 2>&1
that "make uninstall" $?
[ -z "$(find "$root/dest" -type f)" ]
that "leaves no file" $?
done_testing
