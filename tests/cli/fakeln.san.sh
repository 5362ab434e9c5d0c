#!/usr/bin/env bash
# taper.method fakeln at the program: the removals in the journal, a run that is killed between them, what folds, what
# other programs load, and what is refused.
TRAIN_STEPS=24 SAMPLE_TOKENS=0
. "$(dirname "$0")/../support/model.bash"
gpt2=(model.norm=layernorm model.bias=true model.mlp=gelu_tanh model.norm_eps=1e-5 taper.sites=all taper.method=fakeln
    fakeln.mlp_start=4 fakeln.mlp_gap=2 fakeln.v_gap=3 log.every=1 checkpoint.every=5)
loss() { "$TAPER" eval "$@" --text "$T/text" --json | sed 's/.*"loss":\([0-9]*.[0-9]\{1,4\}\).*/\1/'; }
removals() { sed -n 's/.*"step":\([0-9]*\),"kind":"removal","text":"\([^:]*\): [a-z_]* [0-9].*/\1 \2/p' "$1/journal.jsonl" |
    sort -nu | paste -sd,; }
echo 'once upon a time the cat sat on the mat' > "$T/text"

check 'trains' train whole "${gpt2[@]}"
check 'every removal is an event of its step' same '4 blocks.0.mlp_norm,6 blocks.1.mlp_norm,8 blocks.0.attn_norm,'\
'10 blocks.1.attn_norm,12 blocks.0.value_norm,15 blocks.1.value_norm,18 final_norm' "$(removals "$T/whole")"
check 'the gate of a step is the share of sites that are left' \
    bash -c 'grep "\"table\":\"step\".*\"step\":8," "$1" | grep -q "\"gate\":0.571428571," &&
        grep "\"table\":\"step\"" "$1" | tail -1 | grep -q "\"gate\":0.0,"' - "$T/whole/journal.jsonl"

# Killed again and again: before the first removal, at one, between those of a kind and of two kinds, before the last. Steps
# are made long enough for the signal to come in time.
resume() { "$TAPER" train "$1/config.json" --out "$1" --resume; }
check 'trains with longer steps' train long "${gpt2[@]}" train.batch=400 checkpoint.every=4
killed_after() { # STEP OPTION...: started, and killed once the journal has the step
    local step=$1 pid
    shift
    "$TAPER" train "$T/long/config.json" --out "$T/killed" "$@" > "$T/out" 2>&1 &
    pid=$!
    until grep -q "\"table\":\"step\".*\"step\":$step," "$T/killed/journal.jsonl" 2> /dev/null || ! kill -0 $pid 2> /dev/null; do
        read -rt 0.005 <> <(:)
    done
    kill -9 $pid
    wait $pid 2> /dev/null
    [ $? = 137 ] && ! grep -q '"table":"run"' "$T/killed/journal.jsonl"
}
check 'killed before the first removal' killed_after 2
for step in 4 7 9 12 16; do
    check "resumed, and killed after step $step" killed_after $step --resume
done
check 'resumed it ends' resume "$T/killed"
check 'with the same bytes' cmp "$T/long/checkpoint.safetensors" "$T/killed/checkpoint.safetensors"
check 'and the same removals' same "$(removals "$T/long")" "$(removals "$T/killed")"

check 'folds' "$TAPER" fold "$T/whole" "$T/folded"
check 'with the same loss' same "$(loss "$T/whole")" "$(loss "$T/folded" --tokenizer "$T/whole/tokenizer")"
check 'is exported' "$TAPER" export "$T/whole" "$T/hf"
check 'and imported' "$TAPER" import "$T/hf" "$T/back"
check 'with the same loss' same "$(loss "$T/whole")" "$(loss "$T/back")"
check 'writes text' "$TAPER" generate "$T/whole" --tokens 5 --prompt 'Once'

# Gates that fall in turns go one after another too; those that fall together are no events.
check 'trains with gates in turns' train turns taper.sites=internal gate.order=reversed gate.warmup=2 gate.end=6 gate.gap=3
check 'each gate that has fallen is an event' same '6 blocks.1.mlp_norm,9 blocks.1.attn_norm,12 blocks.0.mlp_norm,'\
'15 blocks.0.attn_norm' "$(removals "$T/turns")"
check 'trains with gates together' train together taper.sites=internal gate.warmup=2 gate.end=6
check 'which are none' same '' "$(removals "$T/together")"

# The final norm stays.
check 'trains with internal sites' train internal "${gpt2[@]}" taper.sites=internal
check 'folds' "$TAPER" fold "$T/internal" "$T/internal.folded"
check 'with the same loss' \
    same "$(loss "$T/internal")" "$(loss "$T/internal.folded" --tokenizer "$T/internal/tokenizer")"

check 'refuses a removal after the end, with the key' \
    refuses 2 'fakeln.final_start: the last of these norms goes at step 30, want at most train.steps 24' \
    train late "${gpt2[@]}" fakeln.final_start=30
check 'refuses a removal before there is a scale' refuses 2 'fakeln.mlp_start: want 2 to 1000000000, got 1' \
    train early "${gpt2[@]}" fakeln.mlp_start=1
check 'refuses another method' refuses 2 "taper.method: want gate or fakeln, got 'fake'" train other taper.method=fake
done_testing
