#!/usr/bin/env bash
# Fine-tuning from end to end: the sweeps experiments/gpt2-demo.yaml and gpt2.yaml as they stand, made short or small, on texts
# and weights made here; the four rows stored with their folds, folded, exported, and run by another program than ours.
TRAIN_STEPS=12 SAMPLE_TOKENS=0
. "$(dirname "$0")/../support/model.bash"
export TAPER_HOME=$T/home
here=$PWD experiments=$(cd "$(dirname "$0")/../.." && pwd)/experiments forward=$PWD/tests/support/gpt2_forward.py
query() { "$TAPER" query --csv "$1" | tail -n +2 | tr -d '\r'; }
near() { awk -v a="$1" -v b="$2" -v most="$3" 'BEGIN { d = a - b; exit !(a > 0 && b > 0 && d < most && -d < most) }'; }
loss() { "$TAPER" eval "$@" --json | sed 's/.*"loss":\([0-9.]*\).*/\1/'; }

# The texts that the sweeps want, of other words.
mkdir -p "$T/cache/novels"
"$TAPER" data corpus --size 60k --seed 9 "$T/cache/novels/novels.txt" > "$T/out"
(cd "$T/cache/novels" && sha256sum novels.txt > novels.txt.sha256)

# ---- experiments/gpt2-demo.yaml
check 'the demo: its runs' "$TAPER" run --dry-run "$experiments/gpt2-demo.yaml"
"$TAPER" run --dry-run "$experiments/gpt2-demo.yaml" > "$T/dry"
check '... fifteen' grep -qx '15 runs' "$T/dry"
check '... four that wait for each of three' bash -c \
    '[ "$(grep -cE "^[0-9a-f]{12}  pretrain" "$1")" = 3 ] && [ "$(grep -cE "└─ (vanilla|fakeln|internal|all) " "$1")" = 12 ]' - "$T/dry"
sed -e 's/train.steps: [0-9]*/train.steps: 40/' -e 's/train.batch: .*/train.batch: 2/' -e 's/data.size: .*/data.size: 60000/' \
    -e 's/eval.tokens: .*/eval.tokens: 2048/' -e 's/model.size: .*/model.d_model: 32/' -e 's/seed: \[.*\]/seed: [0]/' \
    -e 's/^base:/base:\n  model.context: 48\n  model.vocab: 500\n  model.layers: 3\n  model.heads: 2/' \
    "$experiments/gpt2-demo.yaml" > "$T/demo.yaml"
check 'trains and folds it, made short' "$TAPER" run "$T/demo.yaml" --slots cpu:2
check 'every run is done' same 5,5 "$(query "SELECT count(*), count(iif(state = 'done', 1, NULL)) FROM run")"
check 'each row with tapered sites has the error of its fold' same 'all fakeln internal' "$(query \
    "SELECT group_concat(variant, ' ') FROM (SELECT variant FROM run WHERE fold_error < 1e-4 ORDER BY variant)")"
check 'the removals are there' same 10 "$(query "SELECT count(*) FROM event WHERE kind = 'removal'")"
"$TAPER" table gpt2 > "$T/table"
check 'the table has the rows' bash -c 'for v in vanilla fakeln internal all; do grep -q "| $v  *|" "$1" || exit 1; done' - "$T/table"
check 'the figure has the marks' bash -c '"$TAPER" plot finetune --format gp --out - | grep -q "^marks = 10"'

printf 'It was a truth known to all, that a cat in want of a mat must be fed.' > "$T/text"
while IFS=, read -r variant run; do
    dir=$TAPER_HOME/runs/$run tok=$TAPER_HOME/runs/$run/tokenizer
    own=$(loss "$dir" --text "$T/text")
    if [ "$variant" != vanilla ]; then
        check "$variant: taper fold proves the same logits" "$TAPER" fold "$dir" "$T/$variant.folded" --tolerance 1e-4
        check "$variant: folded, the loss is the same" near "$own" "$(loss "$T/$variant.folded" --text "$T/text" --tokenizer "$tok")" 1e-5
    fi
    if [ "$variant" = internal ]; then # GPT-2 has one epsilon: not far below one norm's variance and far above the others'
        check "$variant: is no model of GPT-2's loaders, and why" \
            refuses 2 'the last norm is real and the others are not' "$TAPER" export "$dir" "$T/$variant.hf"
        continue
    fi
    check "$variant: exports" "$TAPER" export "$dir" "$T/$variant.hf"
    check "$variant: comes back" "$TAPER" import "$T/$variant.hf" "$T/$variant.back"
    check "$variant: ... with the same loss" near "$own" "$(loss "$T/$variant.back" --text "$T/text")" 1e-5
    "$TAPER" data encode "$tok" "$T/text" "$T/tokens" > "$T/out"
    check "$variant: GPT-2's forward, written apart, has that loss" near "$own" \
        "$(python3 "$forward" plain "$T/$variant.hf" "$T/tokens")" 1e-5
    theirs=$(python3 "$forward" transformers "$T/$variant.hf" "$T/tokens" 2> "$T/err")
    if [ $? = 77 ]; then
        skip "$variant: transformers loads it, with that loss" 'no transformers with torch or flax here'
    else
        check "$variant: transformers loads it, with that loss" near "$own" "$theirs" 1e-5
    fi
done < <(query "SELECT variant, id FROM run WHERE variant <> 'pretrain' ORDER BY position")
check 'FakeLN is exported as norms with a huge epsilon' grep -q '"layer_norm_epsilon": 1000000000000.0' "$T/fakeln.hf/config.json"

# ---- experiments/gpt2.yaml: the weights are a model made here, under each of the four names
mkdir -p "$T/models" "$T/texts"
cp "$T/cache/novels/novels.txt" "$T/texts/openwebtext"
for size in gpt2 gpt2-medium gpt2-large gpt2-xl; do cp -r "$T/vanilla.hf" "$T/models/$size"; done
cd "$T" || exit 1
check 'gpt2.yaml: its runs' "$TAPER" run --dry-run "$experiments/gpt2.yaml"
"$TAPER" run --dry-run --json "$experiments/gpt2.yaml" > "$T/dry"
check '... sixteen, each with its own name' same 16 "$(jq -r '.[].run' "$T/dry" | sort -u | wc -l)"
check '... of four sizes with the published step sizes' same 'gpt2 300 512,gpt2-large 600 504,gpt2-medium 500 506,gpt2-xl 800 504' \
    "$(jq -r '.[] | "\(.["model.size"]) \(.["train.steps"]) \((.["train.batch"] | tonumber) * (.["train.accumulate"] | tonumber))"' "$T/dry" |
        sort -u | paste -sd,)"
check '... only vanilla without an anchor' same 'vanilla' "$(jq -r '.[] | select(.["aux.lambda"] == "0") | .variant' "$T/dry" | sort -u)"
# The first of them trained, with the shape of that model and less of everything else, from that text.
sed -e '/^  - model.size: gpt2-/,/aux.lambda/d' -e 's/device: cuda/device: cpu/' -e 's/0.05%/5%/' \
    -e 's/train.batch: .*/train.batch: 2/' -e 's/train.accumulate: .*/train.accumulate: 2/' -e 's/log.every: 1$/log.every: 10/' \
    -e 's/^base:/base: {sample.tokens: 0, model.context: 48, model.vocab: 500, model.layers: 3, model.heads: 2, model.d_model: 32,/' \
    -e '/^base:/,/^variants:/{s/^  \(.*\)$/  \1,/;s/^variants:/  threads: 1}\nvariants:/}' "$experiments/gpt2.yaml" > "$T/gpt2.yaml"
check 'trains the first, made small' "$TAPER" run "$T/gpt2.yaml" --slots cpu:2
check '... four rows' same 4 "$(query "SELECT count(*) FROM run WHERE state = 'done' AND sweep = 'gpt2' AND steps = 300")"
check '... from the weights' same 4 "$(query "SELECT count(*) FROM event e JOIN run r ON r.id = e.run WHERE r.sweep = 'gpt2' AND e.kind = 'initial' AND e.text = '$T/models/gpt2'")"
check '... without what is published for another size than its own' bash -c '"$TAPER" table gpt2 --sweep gpt2 --format json |
    jq -e ".rows | length == 4 and all(.published == null)" > /dev/null'
cd "$here" || exit 1
check 'without the weights it says what is missing' refuses 2 'init.from: ' "$TAPER" run --dry-run "$experiments/gpt2.yaml"
done_testing
