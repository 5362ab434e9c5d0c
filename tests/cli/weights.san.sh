#!/usr/bin/env bash
# 1,000 weights that changed in a checkpoint, a folded, an imported or an exported model are noticed by whoever opens it.
TRAIN_STEPS=30 SAMPLE_TOKENS=0
. "$(dirname "$0")/../support/model.bash"
check 'trains' train run taper.sites=all model.norm=layernorm model.mlp=gelu_tanh checkpoint.every=10
check 'folds' "$TAPER" fold --run "$T/run"
check 'exports' "$TAPER" export "$T/run" "$T/exported"
check 'imports' "$TAPER" import "$T/exported" "$T/imported"
# Numbers as good as those that were there: nothing but a digest can tell.
change() { # FILE: 1,000 of its weights
    head -c 4000 "$T/numbers" | dd of="$1" bs=1 seek=$(($(stat -c %s "$1") / 2 / 4 * 4)) conv=notrunc status=none
}
for ((i = 0; i < 1000; i++)); do printf '\x9a\x99\x19\x3e'; done > "$T/numbers" # 0.15
mkdir "$T/whole" && cp "$T/run/checkpoint.safetensors" "$T/whole/run" && cp "$T/run/folded.safetensors" "$T/whole/folded"
noticed() { # WHAT FILE COMMAND...
    local what=$1 file=$2
    shift 2
    check "$what: $1 refuses it by name" refuses 2 "$file: damaged" "$TAPER" "$@"
}
change "$T/run/folded.safetensors"
for verb in eval generate; do noticed 'folded' folded.safetensors $verb "$T/run/folded.safetensors"; done
noticed 'folded' folded.safetensors export "$T/run/folded.safetensors" "$T/again"
check '... and writes nothing' test ! -e "$T/again/config.json"
change "$T/run/checkpoint.safetensors"
for verb in eval generate 'fold --run'; do noticed 'checkpoint' checkpoint.safetensors $verb "$T/run"; done
noticed 'checkpoint' checkpoint.safetensors export "$T/run" "$T/again"
noticed 'checkpoint' checkpoint.safetensors bench --run "$T/run" --kind decode --batch 1 --context 16
change "$T/imported/checkpoint.safetensors"
for verb in eval generate; do noticed 'imported' checkpoint.safetensors $verb "$T/imported"; done
change "$T/exported/model.safetensors"
noticed 'exported' model.safetensors import "$T/exported" "$T/more"
again() {
    "$TAPER" train "$T/run/config.json" --out "$T/run" --resume > "$T/log" 2>&1
    grep -q 'set aside as checkpoint.safetensors.damaged; the training starts anew' "$T/log"
}
check 'resumed: set aside by name, and trained anew' again
check '... to the same weights' cmp "$T/whole/run" "$T/run/checkpoint.safetensors"
check '... which fold to the same' bash -c '"$TAPER" fold --run "$1/run" && cmp "$1/whole/folded" "$1/run/folded.safetensors"' - "$T"
done_testing
