#!/usr/bin/env bash
# The commands that README.md gives for a trained model do what it says, word for word.
TRAIN_STEPS=10 SAMPLE_TOKENS=0
. "$(dirname "$0")/../support/model.bash"
cd "$(dirname "$0")/../.." || exit 1

check 'trains a model' train run model.pos=rope model.mlp=swiglu taper.sites=all gate.warmup=2 model.context=64
lines=0
while IFS= read -r line; do
    lines=$((lines + 1))
    command=${line%%#*}
    command=${command//.\/taper/\"\$TAPER\"}
    command=${command//RUNDIR/\"\$T\"\/run}
    command=${command//hf-folder/\"\$T\"\/hf-folder}
    check "README: ${line%% #*}" eval "$command"
done < <(sed -n '/^A trained model folds/,/^## /p' README.md | sed -n 's|^    \(\./taper .*\)|\1|p')
check 'README has four such commands' [ "$lines" -eq 4 ]
first_example() { # smaller, and elsewhere
    local words
    words=$(sed -n '/^One model by itself/,/^`/p' README.md | tr -d '\\\n' | grep -oE 'train --out.*eval.tokens=[0-9]+') || return 1
    # shellcheck disable=SC2086 # words
    "$TAPER" ${words//\/tmp\/first/$T\/first} --set train.steps=40 --set data.size=60000 --set model.vocab=300 \
        --set model.context=16 && [ -e "$T/first/samples.txt" ]
}
check 'its first example trains' first_example
check 'the picture of the first screen is of the sweep that its commands name' grep -qF 'Sweep first, 6 runs: 6 done' docs/logit-chasing.svg
check 'from a sweep that is right' "$TAPER" run --dry-run experiments/first.yaml
check 'the export is there' [ -e "$T/hf-folder/model.safetensors" ]
echo "1..$n"
exit $failed
