#!/usr/bin/env bash
# The rows of options: every verb's call agrees with them, and help, completion and the manual are made from them.
set -u
cd "$(dirname "$0")/../.." || exit 1
n=0 bad=0
check() { # NAME STATUS [WANTED]
    n=$((n + 1))
    if [ "$2" -eq "${3:-0}" ]; then echo "ok $n - $1"; else echo "not ok $n - $1 (status $2)"; bad=1; fi
}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
verbs=$("$TAPER" help | sed -n 's/^  \([a-z]*\) .*/\1/p')
for verb in $verbs; do
    case $verb in help | version | completion) continue ;; esac
    words=("$verb")
    [ "$verb" != data ] || words=(data corpus)
    [ "$verb" != debug ] || words=(debug step)
    "$TAPER" "${words[@]}" --no-such-option > /dev/null 2> "$out/said"
    check "$verb refuses an option it has no row for" $? 2
    grep -q "unknown option '--no-such-option'" "$out/said"
    check "$verb says which" $?
done
for words in 'data tokenizer' 'data encode' 'data decode' 'data fetch' 'debug train'; do
    "$TAPER" $words --no-such-option > /dev/null 2>&1
    check "$words likewise" $? 2
done

sed -n '/^\.\\" options: begin/,/^\.\\" options: end/p' docs/taper.1 | sed '1d;$d' > "$out/page"
"$TAPER" help --man > "$out/man"
cmp "$out/page" "$out/man"
check 'docs/taper.1 has the rows of this program (else: make man)' $?

"$TAPER" completion bash > "$out/bash"
cat >> "$out/bash" <<'E2'
complete_words() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _taper 2> /dev/null; echo "${COMPREPLY[*]}"; }
E2
say() { bash -c '. "$1"; shift; complete_words "$@"' - "$out/bash" "$@"; }
[ "$(say taper table --format '')" = 'md csv tex json html' ]
check 'completion offers the words a value is one of' $?
[ "$(say taper plot --where train.lr=x)" = '' ] && [ "$(say taper train --set train.lr_w)" = 'train.lr_warmup=' ]
check 'and keys' $?
case " $(say taper run --) " in *' --slots '*) true ;; *) false ;; esac
check 'and options' $?
"$TAPER" completion fish | grep -q "__fish_seen_subcommand_from table' -l format -s f -x -a 'md csv tex json html'"
check 'fish too' $?
echo "1..$n"
exit $bad
