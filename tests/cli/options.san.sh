#!/usr/bin/env bash
# The rows of options: every verb's call agrees with them, and help, completion and the manual are made from them.
. "$(dirname "$0")/../support/tap.bash"
cd "$(dirname "$0")/../.." || exit 1
out=$T
verbs=$("$TAPER" help | sed -n 's/^  \([a-z]*\) .*/\1/p')
for verb in $verbs; do
    case $verb in help | version | completion) continue ;; esac
    words=("$verb")
    [ "$verb" != data ] || words=(data corpus)
    [ "$verb" != debug ] || words=(debug step)
    "$TAPER" "${words[@]}" --no-such-option > /dev/null 2> "$out/said"
    that "$verb refuses an option it has no row for" $? 2
    grep -q "unknown option '--no-such-option'" "$out/said"
    that "$verb says which" $?
done
for words in 'data tokenizer' 'data encode' 'data decode' 'data fetch' 'debug train'; do
    "$TAPER" $words --no-such-option > /dev/null 2>&1
    that "$words likewise" $? 2
done

sed -n '/^\.\\" options: begin/,/^\.\\" options: end/p' docs/taper.1 | sed '1d;$d' > "$out/page"
"$TAPER" help --man > "$out/man"
cmp "$out/page" "$out/man"
that 'docs/taper.1 has the rows of this program (else: make man)' $?

"$TAPER" completion bash > "$out/bash"
cat >> "$out/bash" <<'E2'
complete_words() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _taper 2> /dev/null; echo "${COMPREPLY[*]}"; }
E2
say() { bash -c '. "$1"; shift; complete_words "$@"' - "$out/bash" "$@"; }
[ "$(say taper table --format '')" = 'md csv tex json html' ]
that 'completion offers the words a value is one of' $?
[ "$(say taper plot --where train.lr=x)" = '' ] && [ "$(say taper train --set train.lr_w)" = 'train.lr_warmup=' ]
that 'and keys' $?
case " $(say taper run --) " in *' --slots '*) true ;; *) false ;; esac
that 'and options' $?
"$TAPER" completion fish | grep -q "__fish_seen_subcommand_from table' -l format -s f -x -a 'md csv tex json html'"
that 'fish too' $?
done_testing
