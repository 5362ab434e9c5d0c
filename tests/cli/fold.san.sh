#!/usr/bin/env bash
# taper fold, eval and bench on a trained model: the loss stays, the journal gets its lines, wrong input is
# refused whole.
TRAIN_STEPS=30 SAMPLE_TOKENS=0
. "$(dirname "$0")/../support/model.bash"
loss() { "$TAPER" eval --json "$1" | sed 's/.*"loss":\([0-9.]*\).*/\1/'; }
same_loss() { # two checkpoints, within 1e-5
    local a b
    a=$(loss "$1") b=$(loss "$2")
    echo "$a $b"
    awk -v a="$a" -v b="$b" 'BEGIN { exit !(a > 0 && (a - b) ^ 2 < 1e-10) }'
}
small_error() { # JSON of taper fold: below 1e-4
    local e
    e=$("$TAPER" fold --json "$1" "$2" | sed 's/.*"fold_error":\([0-9.e+-]*\).*/\1/')
    echo "$e"
    awk -v e="$e" 'BEGIN { exit !(e > 0 && e < 1e-4) }'
}

check 'trains without tapered sites' train base
check 'trains with internal sites' train internal taper.sites=internal
check 'trains with all sites and the aux loss' train all taper.sites=all aux.lambda=0.1
check 'trains a LayerNorm with all sites' train layer taper.sites=all model.norm=layernorm model.mlp=gelu_tanh
check 'trains with a gate that stays up' train half taper.sites=all gate.shape=constant

for run in internal all layer; do
    check "$run: folded logits differ by less than 1e-4" small_error "$T/$run" "$T/$run/folded.safetensors"
    check "$run: the loss is kept to 1e-5" same_loss "$T/$run" "$T/$run/folded.safetensors"
    "$TAPER" generate "$T/$run" --greedy --prompt 'Once' --tokens 40 > "$T/a"
    check "$run: folded, it writes the same text" \
        bash -c '"$TAPER" generate "$1" --greedy --prompt Once --tokens 40 | cmp - "$2"' - \
        "$T/$run/folded.safetensors" "$T/a"
done
check 'all: no norm is left in the file' bash -c '! head -c 4000 "$1" | grep -q _norm' - "$T/all/folded.safetensors"
check 'internal: the final norm is' \
    bash -c 'head -c 6000 "$1" | grep -q final_norm.gamma' - "$T/internal/folded.safetensors"

check '--run writes into the run' "$TAPER" fold --run "$T/all"
check '... and into its journal' \
    bash -c 'tail -n 1 "$1" | grep -qE "^\{\"table\":\"fold\",\"attempt\":1,\"fold_error\":[0-9.e-]+\}$"' - \
    "$T/all/journal.jsonl"
check '--run on a model without tapered sites does nothing' \
    bash -c '"$TAPER" fold --run "$1" && [ ! -e "$1/folded.safetensors" ]' - \
    "$T/base"
check '--text takes another text' \
    bash -c 'printf "%s\n" "Once upon a time there was a cat." "The cat sat on a mat and slept." > "$1/text" &&
    "$TAPER" fold "$1/all" "$1/again" --text "$1/text" &&
        "$TAPER" eval "$1/again" --text "$1/text" --tokenizer "$1/all/tokenizer"' - "$T"

check 'refuses a gate above 0' refuses 2 'the gate is 0.5 at step 30' "$TAPER" fold "$T/half" "$T/x"
check '... unless told' "$TAPER" fold --at-gate-zero "$T/half" "$T/half.folded"
check 'refuses a model without tapered sites' refuses 2 'no site is tapered' "$TAPER" fold "$T/base" "$T/x"
check 'refuses what is folded' refuses 2 'folded already (all)' "$TAPER" fold "$T/all/folded.safetensors" "$T/x"
check 'refuses past the tolerance' refuses 1 'more than --tolerance' "$TAPER" fold --tolerance 1e-12 "$T/all" "$T/x"
check 'refuses a missing file' refuses 2 "$T/none" "$TAPER" fold "$T/none" "$T/x"
head -c 5000 "$T/all/checkpoint.safetensors" > "$T/cut"
near() { awk -v a="$1" -v b="$2" 'BEGIN { d = a - b; exit !(d < 0.02 && d > -0.02) }'; }
for weights in bf16 int8; do
    check "the loss with $weights weights is near" near "$(loss "$T/all")" \
        "$("$TAPER" eval --json "$T/all" --weights $weights | sed 's/.*"loss":\([0-9.]*\).*/\1/')"
done
check 'refuses a truncated file' refuses 2 "$T/cut" "$TAPER" eval "$T/cut"
check 'refuses a tokenizer that does not fit' \
    bash -c '"$TAPER" data corpus --size 30k --seed 1 "$1/c" && "$TAPER" data tokenizer --vocab 310 "$1/c" "$1/tok" &&
    ! "$TAPER" eval "$1/all" --text "$1/c" --tokenizer "$1/tok" 2> "$1/err" &&
        grep -q "a tokenizer of 310 entries does not fit" "$1/err"' - "$T"
check 'nothing was written by what was refused' [ ! -e "$T/x" ]

check 'bench: three variants a shape' \
    bash -c '[ "$("$TAPER" bench "$1" --kind decode --batch 1,2 --context 8,16 --repeats 2 --tokens 3 |
    grep -c tokens/s)" -eq 12 ]' - "$T/all"
bench_rows() { # rows of the journal that match, at the model's one decode shape
    grep -c "^{\"table\":\"bench\",\"attempt\":1,\"kind\":\"$1\",\"variant\":\"[a-z]*\",\"batch\":$2,\"context\":$3," \
        "$T/internal/journal.jsonl"
}
plan='{"decode":{"batch":[1],"context":[16]},"last-token":{"batch":[2],"context":[8]}}'
check 'bench: a plan' "$TAPER" bench --run "$T/internal" --repeats 2 --plan "$plan"
check '... puts three rows a shape into the journal' [ "$(bench_rows decode 1 16) $(bench_rows last-token 2 8)" = '3 3' ]
check 'bench: bf16 and the ops' \
    bash -c '"$TAPER" bench "$1" --kind decode --weights bf16 --repeats 1 --json | grep -q "bf16" &&
    "$TAPER" bench "$1" --kind decode --ops --repeats 1 | grep -q fused' - "$T/base"
check 'bench: refuses a context the model does not have' \
    refuses 2 '1 to 16' "$TAPER" bench "$T/all" --kind last-token --context 32
check 'bench: refuses a list that is none' refuses 2 "--batch: want" "$TAPER" bench "$T/all" --batch 1,,2
check 'bench: refuses a plan that is none' \
    refuses 2 "--plan: want decode or last-token, got 'train'" "$TAPER" bench "$T/all" --plan '{"train":{}}'

echo "1..$n"
exit $failed
