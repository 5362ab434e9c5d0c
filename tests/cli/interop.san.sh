#!/usr/bin/env bash
# What comes in from outside, at the program: tokenizers of other programs, sizes that differ, texts of other shapes.
TRAIN_STEPS=4 SAMPLE_TOKENS=5
. "$(dirname "$0")/../support/model.bash"
golden=$(dirname "$0")/../golden/interop
llama=(model.pos=rope model.mlp=swiglu)
loss() { "$TAPER" eval "$@" --json | sed 's/.*"loss":\([0-9]*.[0-9]\{1,5\}\).*/\1/'; }

# Sizes.
check 'trains a model' train base "${llama[@]}"
check 'trains beside a tokenizer with fewer entries' \
    train padded "${llama[@]}" model.vocab=320 data.tokenizer="$T/base/tokenizer"
check 'refuses a tokenizer with more' \
    bash -c '! "$TAPER" train --set data.tokenizer="$1/base/tokenizer" --set model.vocab=290 --out "$1/x" 2> "$1/err" &&
    grep -q "has 300 entries, model.vocab is 290" "$1/err"' - "$T"
check 'writes text that the padding has no part in' \
    "$TAPER" generate "$T/padded" --temperature 50 --top-p 1 --tokens 300 --prompt A
check 'exports it' "$TAPER" export "$T/padded" "$T/padded.hf"
check 'exports it in 16 bits, and measures what they cost' \
    bash -c '"$TAPER" export "$1/padded" "$1/half.hf" --dtype float16 | grep -q "in float16; logits differ by [0-9]"' - "$T"
check 'a type that is none is refused' refuses 2 "want float32, bfloat16 or float16, got 'int8'" \
    "$TAPER" export "$T/padded" "$T/x" --dtype int8
check 'imports it, and says what pads' \
    bash -c '"$TAPER" import "$1/padded.hf" "$1/padded.back" | grep -q "20 of its 320 rows pad"' - "$T"
echo 'the cat sat on the mat' > "$T/text"
with=$(loss "$T/padded.back" --text "$T/text") without=$(loss "$T/padded.back" --text "$T/text" --no-padding)
check 'leaves padding out of the loss on request' awk -v a="$with" -v b="$without" 'BEGIN { exit !(b < a && b > 0) }'
check 'or of training, from the first step on' \
    train apart "${llama[@]}" model.vocab=320 train.vocab=300 data.tokenizer="$T/base/tokenizer"
with=$(loss "$T/apart" --text "$T/text") without=$(loss "$T/apart" --text "$T/text" --no-padding)
check 'whose evaluations leave it out too' [ "$with" = "$without" ]
check 'what is not padding cannot be left out' refuses 2 'train.vocab: want at least the 300 entries of the tokenizer' \
    train x "${llama[@]}" model.vocab=320 train.vocab=299 data.tokenizer="$T/base/tokenizer"
check 'nor what is not there' refuses 2 'train.vocab: want at most model.vocab 320, got 321' \
    train x "${llama[@]}" model.vocab=320 train.vocab=321

# Tokenizers of other programs.
check 'trains beside a Llama-3 style tokenizer' \
    train foreign "${llama[@]}" model.vocab=512 data.tokenizer="$golden/tokenizer_llama3"
check 'it writes text' "$TAPER" generate "$T/foreign" --tokens 20 --prompt 'the cat'
check 'it exports' "$TAPER" export "$T/foreign" "$T/foreign.hf"
check 'it comes back' "$TAPER" import "$T/foreign.hf" "$T/foreign.back"
check 'with the same loss' \
    [ "$(loss "$T/foreign" --text "$T/text")" = "$(loss "$T/foreign.back" --text "$T/text")" ]
"$TAPER" data encode "$golden/tokenizer_llama3" "$T/text" "$T/tokens" > /dev/null
check 'its token files give the text back' \
    bash -c '"$TAPER" data decode "$1/tokenizer_llama3" "$2/tokens" | cmp - "$2/text"' - "$golden" "$T"
sed -i 's/"normalizer":null/"normalizer":{"type":"Lowercase"}/' "$T/foreign.hf/tokenizer.json"
check 'a step that is not understood is named, with the file that has it' \
    refuses 2 "$T/foreign.hf/tokenizer.json: normalizer: Lowercase has no counterpart here" \
    "$TAPER" import "$T/foreign.hf" "$T/x"
check 'the model alone comes all the same' "$TAPER" import "$T/foreign.hf" "$T/alone" --no-tokenizer
check 'and runs beside another tokenizer' \
    "$TAPER" generate "$T/alone" --tokenizer "$golden/tokenizer_qwen2" --tokens 5 --prompt 'a'
check 'nothing was written by what was refused' [ ! -e "$T/x" ]

echo "1..$n"
exit $failed
