#!/usr/bin/env bash
# Every variant of experiments/demo.yaml, trained for a moment past its gate's end and folded as the sweep asks:
# folding keeps the validation loss to 1e-5 and the logits to 1e-4.
TRAIN_STEPS=0 SAMPLE_TOKENS=0
. "$(dirname "$0")/../support/model.bash"
export TAPER_HOME=$T/home

# The sweep itself, but for how long and how often. The shape of the model and the variants are the demo's.
sed -e 's/train.steps: .*/train.steps: 20/' -e 's/train.batch: .*/train.batch: 2/' -e 's/data.size: .*/data.size: 60000/' \
    -e 's/eval.tokens: .*/eval.tokens: 2048/' -e 's/eval.every: .*/eval.every: 0/' -e 's/seed: .*/seed: [0]/' \
    -e '/^  bench:/,$d' "$(dirname "$0")/../../experiments/demo.yaml" > "$T/demo.yaml"
check 'trains and folds the sweep' "$TAPER" run "$T/demo.yaml" --slots cpu:2

query() { "$TAPER" query --csv "$1" | tail -n +2 | tr -d '\r'; }
tapered="json_extract(config, '\$.\"taper.sites\"') <> 'none'"
check 'every run is done, and those with tapered sites are folded' bash -c '[ "$1" = 12,12,10,10 ]' - \
    "$(query "SELECT count(*), count(iif(state = 'done', 1, NULL)), count(iif($tapered, 1, NULL)), count(fold_error) FROM run")"

loss() { "$TAPER" eval --json "$1" | sed 's/.*"loss":\([0-9.]*\).*/\1/'; }
keeps() { # RUN FOLD_ERROR
    local dir=$TAPER_HOME/runs/$1 before after
    before=$(loss "$dir/checkpoint.safetensors") after=$(loss "$dir/folded.safetensors")
    echo "loss $before, folded $after; logits differ by $2"
    awk -v a="$before" -v b="$after" -v e="$2" \
        'BEGIN { exit !(a > 0 && b > 0 && a - b < 1e-5 && b - a < 1e-5 && e > 0 && e < 1e-4) }'
}
while IFS=, read -r variant run error; do
    check "$variant: loss and logits are kept" keeps "$run" "$error"
done < <(query "SELECT variant, id, fold_error FROM run WHERE $tapered ORDER BY variant")

echo "1..$n"
exit $failed
