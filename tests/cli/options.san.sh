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

# ---- what the home has
export TAPER_HOME=$out/home XDG_CACHE_HOME=$out/cache
cat > "$out/tiny.yaml" <<'Y'
sweep: tiny
base: {model.d_model: 16, model.layers: 1, model.heads: 2, model.context: 32, model.vocab: 300, data.size: 20000, train.steps: 10}
variants: {baseline: {taper.sites: none}, all: {taper.sites: all}}
Y
"$TAPER" submit - < "$out/tiny.yaml" > "$out/said"
that 'a sweep from standard input is queued' $?
PATH=${TAPER%/*}:$PATH
case " $(say taper runs '') " in *' tiny '*) true ;; *) false ;; esac
that 'completion of sweeps' $?
case " $(say taper show tiny/) " in *' tiny/all/0 '*) true ;; *) false ;; esac
that 'of runs by name' $?
[ "$(say taper help config train.lr_w)" = train.lr_warmup ]
that 'of keys after help config' $?
if command -v fish > /dev/null; then
    HOME=$out fish -c '"$TAPER" completion fish | source; complete -C "taper show tiny/b"; complete -C "taper plot --sweep t"
        complete -C "taper help config train.lr_w"' > "$out/fish" 2>&1
    same $'tiny/baseline/0\ntiny\ntrain.lr_warmup' "$(cut -f1 "$out/fish")"
    that 'all of it in fish' $?
else
    skip 'all of it in fish' 'no fish on this machine'
fi
if command -v zsh > /dev/null; then
    "$TAPER" completion zsh > "$out/zsh" && zsh -nf "$out/zsh" && zsh -fc '. "$1" 2> /dev/null
        compadd() { print -l $names }; words=(taper show --home '"$TAPER_HOME"' x); _taper_names "SELECT name FROM sweep"' - "$out/zsh" > "$out/names"
    same tiny "$(cat "$out/names")"
    that 'and in zsh' $?
else
    skip 'and in zsh' 'no zsh on this machine'
fi

# ---- the same text by standard input as by the file's name
same "$("$TAPER" run --dry-run "$out/tiny.yaml")" "$("$TAPER" run --dry-run - < "$out/tiny.yaml")"
that 'run --dry-run -' $?
sed 's/layers: 1/layers: one/' "$out/tiny.yaml" | "$TAPER" submit - > "$out/o" 2> "$out/said"
that 'a wrong one is refused' $? 2
grep -q -- '-:2:.*model.layers' "$out/said"
that 'with its line' $?
printf 'sweep: dash\n%s\n' 'base: {model.d_model: 16, model.layers: 1, model.heads: 2, model.context: 32, model.vocab: 300,
  data.size: 20000, train.steps: 4, eval.tokens: 1024, sample.tokens: 0, threads: 1}' | "$TAPER" run - --slots cpu:1 > "$out/o" 2> "$out/said"
that 'run -' $?
printf 'model.d_model: 16\nmodel.layers: 1\nmodel.heads: 2\nmodel.context: 32\nmodel.vocab: 300\ndata.size: 20000\ntrain.steps: 4\nsample.tokens: 0\n' |
    "$TAPER" train - --out "$out/trained" > "$out/o" 2> "$out/said"
that 'train -' $?

# ---- before the verb
same "$("$TAPER" status --home "$TAPER_HOME")" "$(env -u TAPER_HOME "$TAPER" --home "$TAPER_HOME" status)"
that '--home before the verb' $?
same "$("$TAPER" runs tiny --csv)" "$(env -u TAPER_HOME "$TAPER" --home="$TAPER_HOME" runs tiny --csv)"
that 'and --home=DIR' $?
check 'nothing after it' refuses 2 'usage: taper [--home DIR] COMMAND' "$TAPER" --home "$TAPER_HOME"
check 'another option there' refuses 2 "unknown option '--hoem'" "$TAPER" --hoem x status
check 'a verb without a home' refuses 2 "unknown option '--home'" "$TAPER" --home x fold
same "$("$TAPER" version)" "$("$TAPER" -V)" && same "$("$TAPER" version)" "$("$TAPER" --version)"
that '-V' $?
"$TAPER" version --json | python3 -c 'import json, sys; d = json.load(sys.stdin); assert d["version"] and d["libraries"]["sqlite"], d'
that 'version --json' $?
same 'train.lr train.lr_final' "$("$TAPER" help config train | grep -oE '^train.lr(_final)? ' | tr -d '\n' | sed 's/ $//')" &&
    [ "$("$TAPER" help config gate.end | wc -l)" -le 3 ] && "$TAPER" help config gate.end | grep -q '^gate.end .* default'
that 'help config KEY' $?
check 'of a key that is not there' refuses 2 "no key 'gate.ned'; did you mean 'gate.end'?" "$TAPER" help config gate.ned
done_testing
