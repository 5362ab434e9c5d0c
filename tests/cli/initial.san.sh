#!/usr/bin/env bash
# init.from: a run that begins with another's weights, or with those of another program; its name, its tokenizer, its
# optimizer, and what is refused.
TRAIN_STEPS=12 SAMPLE_TOKENS=0
. "$(dirname "$0")/../support/model.bash"
export TAPER_HOME=$T/home
gpt2=(model.norm=layernorm model.bias=true model.mlp=gelu_tanh model.norm_eps=1e-5 log.every=1)
# What the first step of a run finds, and what an evaluation of its first weights gives.
first() { sed -n 's/.*"table":"step".*"step":1,.*"ce":\([0-9.]\{6\}\).*/\1/p' "$1/journal.jsonl"; }
val() { sed -n 's/.*"table":"run".*"val_loss":\([0-9.]\{7\}\).*/\1/p' "$1/journal.jsonl"; }
text=(data.size=50000 data.seed=2)

check 'trains what the others begin with' train base "${gpt2[@]}" train.steps=40
check 'begins with a run' train tuned "${gpt2[@]}" "${text[@]}" init.from="$T/base"
check 'where that has got to: without a step, the loss is its own' \
    bash -c '"$TAPER" train "$1/base/config.json" --set init.from="$1/base" --set train.steps=1 --set train.lr=0 \
        --out "$1/still"' - "$T"
check '... to the digit' same "$(val "$T/base")" "$(val "$T/still")"
check 'with its tokenizer, on another text' cmp "$T/base/tokenizer/merges.txt" "$T/tuned/tokenizer/merges.txt"
check 'and says so in its journal' grep -q "\"kind\":\"initial\",\"text\":\"$T/base\"" "$T/tuned/journal.jsonl"
check 'a checkpoint will do' train file "${gpt2[@]}" "${text[@]}" init.from="$T/base/checkpoint.safetensors" \
    data.tokenizer="$T/base/tokenizer"
check 'and ends the same' same "$(val "$T/tuned")" "$(val "$T/file")"
check 'the folder of another program' "$TAPER" export "$T/base" "$T/hf"
check '... begins a run' train other "${gpt2[@]}" "${text[@]}" init.from="$T/hf"
check '... the same one' same "$(first "$T/tuned")" "$(first "$T/other")"
check 'its sites may be tapered, or removed' train faked "${gpt2[@]}" "${text[@]}" init.from="$T/base" taper.sites=all \
    taper.method=fakeln fakeln.mlp_start=2 fakeln.mlp_gap=1
check '... from the same first step on' same "$(first "$T/tuned")" "$(first "$T/faked")"
check 'the optimizer goes on when told' train kept "${gpt2[@]}" "${text[@]}" init.from="$T/base" init.optimizer=keep \
    taper.sites=all
check '... which is another run, from the same first step' \
    bash -c '[ "$1" = "$2" ] && [ "$3" != "$4" ]' - "$(first "$T/tuned")" "$(first "$T/kept")" "$(val "$T/tuned")" \
    "$(val "$T/kept")"

# Resumed, it does not begin again, wherever the source is by then.
cp -r "$T/base" "$T/gone"
check 'trains from a copy' train short "${gpt2[@]}" "${text[@]}" init.from="$T/gone" train.steps=12
mv "$T/gone" "$T/moved"
check 'a run that is done stays so without its source' \
    refuses 2 "init.from: $T/gone: No such file" "$TAPER" train "$T/short/config.json" --out "$T/short" --resume
mv "$T/moved" "$T/gone"
check 'and goes on with it' "$TAPER" train "$T/short/config.json" --out "$T/short" --resume

# Names: by the weights, not by where they are.
cat > "$T/sweep.yaml" << YAML
sweep: tune
base: {model.d_model: 16, model.layers: 2, model.heads: 2, model.context: 16, model.vocab: 300, model.norm: layernorm,
       model.bias: true, model.mlp: gelu_tanh, model.norm_eps: 1e-5, data.size: 50000, data.seed: 2, train.steps: 12,
       train.batch: 4, sample.tokens: 0}
variants:
  here: {init.from: base}
  random: {data.tokenizer: $T/base/tokenizer}
YAML
names() { (cd "$T" && "$TAPER" run --dry-run --json "$@") | grep -o '"run":"[0-9a-f]*"' | sort; }
names "$T/sweep.yaml" > "$T/a"
sed 's|init.from: base|init.from: gone/checkpoint.safetensors|' "$T/sweep.yaml" > "$T/again.yaml"
check 'two names' [ "$(wc -l < "$T/a")" -eq 2 ]
names "$T/again.yaml" > "$T/b"
check 'the same from another place' cmp "$T/a" "$T/b"
sed 's|init.from: base|init.from: tuned|' "$T/sweep.yaml" > "$T/again.yaml"
names "$T/again.yaml" > "$T/b"
check 'another for other weights' bash -c '! cmp "$1" "$2"' - "$T/a" "$T/b"
check 'a sweep runs them' bash -c 'cd "$1" && "$TAPER" run sweep.yaml' - "$T"

check 'refuses what is not there' refuses 2 "init.from: $T/none: No such file or directory" train x init.from="$T/none"
mkdir "$T/empty"
check 'refuses a folder that is no model' refuses 2 'want a checkpoint, a run' train x init.from="$T/empty"
check 'refuses another architecture, with all that differs' \
    refuses 2 "model.norm is layernorm, want this run's rmsnorm" train x init.from="$T/base"
check '... of it' grep -q "model.mlp is gelu_tanh, want this run's gelu" "$T/err"
check 'refuses a model whose norms have gone' \
    refuses 2 'want a model whose norms are real' train x "${gpt2[@]}" init.from="$T/faked"
check 'refuses another tokenizer' refuses 2 'does not do what' train x "${gpt2[@]}" init.from="$T/base" \
    data.tokenizer="$(dirname "$0")/../golden/interop/tokenizer_llama3"
mkdir "$T/bare"
cp "$T/base/checkpoint.safetensors" "$T/bare"
check 'refuses to make a tokenizer anew' refuses 2 'has no tokenizer, and one that is made anew' \
    train x "${gpt2[@]}" init.from="$T/bare"
check 'refuses an optimizer that is not there' refuses 2 'init.optimizer: keep wants' \
    train x "${gpt2[@]}" init.from="$T/hf" init.optimizer=keep
check 'refuses weights that have changed' refuses 2 'its weights are not those that' \
    train x "${gpt2[@]}" init.from="$T/base" init.digest=00
done_testing
