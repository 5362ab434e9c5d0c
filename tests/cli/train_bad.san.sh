#!/usr/bin/env bash
# Bad input to `taper train`: exit status 2, an error that names what is wrong, nothing half-written.
set -u
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export TAPER_CACHE=$folder/cache
n=0 status=2

# refuse NAME WANTED-TEXT ARGUMENTS...: runs train into a fresh directory
refuse() {
    local name=$1 wanted=$2
    shift 2
    n=$((n + 1))
    "$TAPER" train --out "$folder/run$n" "$@" > "$folder/out" 2> "$folder/err"
    local code=$?
    if [ $code -eq "$status" ] && grep -qF -- "$wanted" "$folder/err" && [ ! -e "$folder/run$n" ]; then
        echo "ok $n - $name"
    else
        echo "not ok $n - $name"
        echo "# exit status $code, wanted $status and '$wanted', got: $(head -c 500 "$folder/err")"
    fi
}
small=(--set model.d_model=16 --set model.layers=1 --set model.heads=2 --set model.context=16 --set train.steps=2 --set threads=1)

printf 'Once upon a time.\n' > "$folder/short.txt"
: > "$folder/empty.txt"
for i in $(seq 400); do printf 'Tom has %d red apples and %d pears.\n<|endoftext|>\n' "$i" $((i * 7 % 50)); done > "$folder/text.txt"

refuse 'unknown key' "did you mean model.layers" --set model.layer=2
refuse 'key without value' "want KEY=VALUE, got 'model.layers'" --set model.layers
refuse 'ill-typed value' "train.lr: want a number, got 'fast'" --set train.lr=fast
refuse 'heads do not divide d' "3 heads do not divide model.d_model 64" --set model.heads=3
refuse 'odd head width with rope' "even head width" --set model.d_model=15 --set model.heads=5 --set model.pos=rope
refuse 'missing text' "data.corpus: $folder/none.txt" "${small[@]}" --set data.corpus="$folder/none.txt"
refuse 'empty text' "data.corpus: $folder/empty.txt" "${small[@]}" --set data.corpus="$folder/empty.txt"
refuse 'text of one document' "has 1 document" "${small[@]}" --set data.corpus="$folder/short.txt"
refuse 'vocabulary larger than the text supports' "the text supports" "${small[@]}" --set data.corpus="$folder/text.txt" --set model.vocab=5000
refuse 'context longer than the text' "a window of model.context 9000 wants 9001" "${small[@]}" --set model.context=9000 --set model.vocab=280 --set data.corpus="$folder/text.txt"
refuse 'missing tokenizer' "data.tokenizer: " "${small[@]}" --set data.corpus="$folder/text.txt" --set data.tokenizer="$folder/none"
# No GPU is the machine's lack, not the file's: status 1.
status=1
[ -e /dev/nvidia0 ] || refuse 'cuda is named when it is not there' "cuda" "${small[@]}" --set model.vocab=280 --set data.corpus="$folder/text.txt" --set device=cuda
status=2
refuse 'data set not fetched' "taper data fetch tinystories" --set data.corpus=tinystories

"$TAPER" data tokenizer --vocab 280 "$folder/text.txt" "$folder/tok" > /dev/null 2>&1
refuse 'tokenizer of another size' "has 280 entries, model.vocab is 270" "${small[@]}" --set model.vocab=270 --set data.corpus="$folder/text.txt" --set data.tokenizer="$folder/tok"

# Errors of a file carry its name, line and column, all of them at once.
printf 'model.layers: 2\ntrain.lr: fast\nmodel.layers: 3\nmodel.byas: true\n' > "$folder/bad.yaml"
refuse 'a bad file' "$folder/bad.yaml:2:" "$folder/bad.yaml"
refuse 'a duplicate key' "$folder/bad.yaml:3:" "$folder/bad.yaml"
refuse 'a key unknown in a file' "$folder/bad.yaml:4:" "$folder/bad.yaml"
refuse 'a missing file' "$folder/none.yaml" "$folder/none.yaml"
refuse 'two files' "want at most one SPEC" "$folder/bad.yaml" "$folder/bad.yaml"

# Not errors: bytes that are no UTF-8, NULs.
n=$((n + 1))
{ cat "$folder/text.txt"; for i in $(seq 40); do printf 'caf\xe9 \xff\xfe\x00 end %d\n<|endoftext|>\n' "$i"; done; } > "$folder/bytes.txt"
if "$TAPER" train --out "$folder/bytes" "${small[@]}" --set model.vocab=280 --set data.corpus="$folder/bytes.txt" > "$folder/out" 2>&1; then
    echo "ok $n - bytes that are not UTF-8 are trained on"
else
    echo "not ok $n - bytes that are not UTF-8 are trained on"
    sed 's/^/# /' "$folder/out"
fi

# A file of keys trains, and --set wins over it.
n=$((n + 1))
printf 'model.d_model: 16\nmodel.layers: 3\nmodel.heads: 2\nmodel.context: 16\nmodel.vocab: 280\ntrain.steps: 9\ndata.corpus: %s\n' "$folder/text.txt" > "$folder/good.yaml"
if "$TAPER" train "$folder/good.yaml" --set model.layers=1 --set train.steps=2 --out "$folder/good" > "$folder/out" 2>&1 \
    && grep -q '"model.layers": 1' "$folder/good/config.json" && grep -q 'step 2, validation loss' "$folder/out"; then
    echo "ok $n - a file of keys, and --set over it"
else
    echo "not ok $n - a file of keys, and --set over it"
    sed 's/^/# /' "$folder/out"
fi
echo "1..$n"
