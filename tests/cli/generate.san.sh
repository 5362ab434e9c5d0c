#!/usr/bin/env bash
# taper generate, export and import from the outside.
TRAIN_STEPS=40 SAMPLE_TOKENS=20
. "$(dirname "$0")/../support/model.bash"
text() { "$TAPER" generate "$@"; }

check 'trains a Llama-shaped model' train llama model.pos=rope model.mlp=swiglu taper.sites=all
check 'trains a GPT-2-shaped model' train gpt2 model.norm=layernorm model.bias=true model.mlp=gelu_tanh
check 'trains a model of neither shape' train neither taper.sites=internal

for run in llama gpt2 neither; do
    text "$T/$run" --prompt 'Once upon' --greedy --tokens 60 > "$T/cached"
    text "$T/$run" --prompt 'Once upon' --greedy --tokens 60 --no-cache > "$T/plain"
    check "$run: the text starts with the prompt" grep -q '^Once upon' "$T/cached"
    check "$run: the cache changes nothing, also past the context" cmp "$T/cached" "$T/plain"
    text "$T/$run" --prompt 'Once upon' --seed 3 --tokens 60 --threads 1 > "$T/one"
    text "$T/$run" --prompt 'Once upon' --seed 3 --tokens 60 --threads 2 > "$T/two"
    check "$run: a seed draws the same text on any number of threads" cmp "$T/one" "$T/two"
done
text "$T/llama" --prompt 'Once upon' --seed 4 --tokens 60 > "$T/other"
check 'another seed draws another text' bash -c '! cmp -s "$1" "$2"' - "$T/one" "$T/other"
check 'int8 weights write text' \
    bash -c '[ "$("$TAPER" generate "$1" --weights int8 --tokens 30 --prompt A | wc -c)" -gt 5 ]' - "$T/llama"
check 'no others are known' refuses 2 "want fp32, bf16 or int8, got 'int4'" "$TAPER" generate "$T/llama" --weights int4
check 'bf16 weights write text' \
    bash -c '[ "$("$TAPER" generate "$1" --weights bf16 --tokens 30 --prompt A | wc -c)" -gt 5 ]' - "$T/llama"
check 'the prompt may be empty' text "$T/llama" --tokens 3
check 'the prompt may be any text' text "$T/llama" --tokens 3 --prompt $'caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \xff'
check 'no token may be asked for' \
    bash -c '[ "$("$TAPER" generate "$1" --tokens 0 --prompt Hello)" = Hello ]' - "$T/llama"
check 'output is valid UTF-8 at every token of a valid prompt' \
    bash -c '"$TAPER" generate "$1" --prompt "café" --tokens 0 | iconv -f UTF-8 -t UTF-8' - "$T/llama"
check 'the speed is said when asked' \
    bash -c '"$TAPER" generate "$1" --stats --tokens 5 2>&1 > /dev/null | grep -q "tokens/s"' - "$T/llama"
check 'a full disk is an error' \
    bash -c '! "$TAPER" generate "$1" --tokens 5 > /dev/full 2> "$2" && grep -q "cannot write" "$2"' - \
    "$T/llama" "$T/err"
check 'refuses a temperature below 0' \
    refuses 2 '--temperature: want a number from 0' "$TAPER" generate "$T/llama" --temperature -1
check 'refuses a missing tokenizer' \
    bash -c 'cp "$1/llama/checkpoint.safetensors" "$1/alone" && ! "$TAPER" generate "$1/alone" 2> "$1/err" &&
    grep -q -- "--tokenizer DIR" "$1/err"' - "$T"

for run in llama gpt2; do
    check "$run: exports" "$TAPER" export "$T/$run" "$T/$run.hf"
    check "$run: imports" "$TAPER" import "$T/$run.hf" "$T/$run.back"
    check "$run: exports the same files again" \
        bash -c '"$TAPER" export "$1.back" "$1.hf2" && diff -r "$1.hf" "$1.hf2"' - "$T/$run"
    text "$T/$run" --greedy --prompt 'Once' --tokens 40 > "$T/before"
    text "$T/$run.back" --greedy --prompt 'Once' --tokens 40 > "$T/after"
    check "$run: writes the same text after the journey" cmp "$T/before" "$T/after"
done
check 'the folder has what loaders look for' \
    bash -c 'cd "$1" && for f in config.json model.safetensors tokenizer.json vocab.json merges.txt \
    tokenizer_config.json special_tokens_map.json generation_config.json; do [ -s $f ] || exit 1; done' - "$T/gpt2.hf"
check 'an imported model folds on random tokens' "$TAPER" fold "$T/llama.back" "$T/llama.folded"
check 'a folded model exports and comes back folded' \
    bash -c '"$TAPER" export "$1/llama.folded" "$1/bare.hf" --tokenizer "$1/llama/tokenizer" &&
    "$TAPER" import "$1/bare.hf" "$1/bare" | grep -q "without normalization"' - "$T"
check 'an imported model has no validation text' refuses 2 'give --text FILE' "$TAPER" eval "$T/gpt2.back"
check 'refuses to export what has no counterpart' \
    refuses 2 'GPT2LMHeadModel: taper.sites is internal' "$TAPER" export "$T/neither" "$T/x"
check 'refuses to import an empty folder' \
    bash -c 'mkdir "$1/empty" && ! "$TAPER" import "$1/empty" "$1/x" 2> "$1/err" && grep -q config.json "$1/err"' - "$T"
check 'nothing was written by what was refused' [ ! -e "$T/x" ]

echo "1..$n"
exit $failed
