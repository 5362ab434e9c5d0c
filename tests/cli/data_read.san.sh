#!/usr/bin/env bash
# A run records what it really read, and reads nothing but what it is of.
. "$(dirname "$0")/../support/daemon.bash"
for ((i = 0; i < 400; i++)); do printf 'the cat sat on mat %d\n<|endoftext|>\n' $((i % 7)); done > "$T/text.txt"
digest() { sed -n "s/.*\"$1\": \"\([^\"]*\)\".*/\1/p" "$2/data.json"; }
train() { # NAME [OPTION...]
    local name=$1
    shift
    "$TAPER" train --set model.d_model=16 --set model.layers=1 --set model.heads=1 --set model.context=16 \
        --set model.vocab=262 --set train.steps=4 --set train.batch=2 --set eval.every=0 --set sample.tokens=0 \
        --set threads=1 --set data.corpus="$T/text.txt" --out "$T/$name" "$@"
}

# Without a queue: the first training writes it down, a later one of the directory is held against it.
check 'trains' train one
check 'its directory has digests of five kinds' bash -c 'for name in corpus tokenizer tokenizer_read train valid; do
    grep -qE "\"$name\": \"(xxh128:)?[0-9a-f]{32}" "$1/one/data.json" || { cat "$1/one/data.json"; exit 1; }; done' - "$T"
tokens=$(grep -l "$(digest train "$T/one")" "$TAPER_CACHE"/tokens-*.xxh128)
check 'that of the tokens is of the content of a file in the cache' test -s "${tokens%.xxh128}"
check 'the journal has them' grep -q "\"table\":\"data\".*$(digest train "$T/one")" "$T/one/journal.jsonl"
check 'again: nothing to say' train one --resume
was=$(digest train "$T/one")
false=xxh128:00000000000000000000000000000000
sed -i "s/$was/$false/" "$T/one/data.json"
check 'other tokens than before are refused, both digests named' refuses 2 \
    "the training tokens that were read: not what the run is of: want digest $false, found $was" train one --resume
sed -i "s/$false/$was/" "$T/one/data.json"
does=$(digest tokenizer_read "$T/one")
sed -i "s/$does/${does//?/0}/" "$T/one/data.json"
check 'another tokenizer too' refuses 2 "want digest ${does//?/0}, found $does" train one --resume
sed -i "s/${does//?/0}/$does/" "$T/one/data.json"
: > "$T/one/data.json"
check 'one that a power cut left empty is written again' train one --resume
check '... as it was' same "$was" "$(digest train "$T/one")"
touch -r "$T/text.txt" "$T/stamp"
printf 'the dog' | dd of="$T/text.txt" conv=notrunc status=none
touch -r "$T/stamp" "$T/text.txt"
check 'a text changed behind its time and size, its tokens there: those are read' train two
check '... which are the same' same "$was" "$(digest train "$T/two")"
rm "$TAPER_CACHE"/tokens-*
check '... its tokens gone: refused, with both digests' refuses 2 'changed since it was digested: want digest' train three
check '... of which one is its own' grep -qF "found $(sed 's/[ \t]*$//' "$T/text.txt" | b2sum -l 256 | cut -d' ' -f1)" "$T/err"

# In the queue: what is read is held against what the name was made of.
sweep one 2 'run: {retries: 0}'
sed -i "s|data.size: 20000|data.corpus: $T/text.txt|; s|vocab: 300|vocab: 262|" "$T/one.yaml"
echo >> "$T/text.txt"
check 'is submitted' "$TAPER" submit "$T/one.yaml"
check 'the queue has the digests' is '2,1,64,64' \
    'SELECT count(*), count(DISTINCT corpus), min(length(corpus)), min(length(tokenizer)) FROM run'
wanted=$(query 'SELECT DISTINCT corpus FROM run')
cp "$T/text.txt" "$T/kept.txt"
sed -i 's/the cat/the dog/' "$T/text.txt"
check 'the text changes: not trained' bash -c '"$TAPER" daemon --detach --slots cpu:1 > "$1/log" 2>&1 && "$TAPER" wait one; [ $? -eq 1 ]' - "$T"
check 'it is the input that is at fault' is 'failed,input,2' \
    'SELECT r.state, a.cause, count(*) FROM run r JOIN attempt a ON a.run = r.id GROUP BY 1, 2'
check 'both digests are named' is 1 \
    "SELECT min(text GLOB '*not what the run is of: want digest $wanted, found [0-9a-f]*' AND text NOT LIKE '%found $wanted%') FROM attempt"
check 'nothing was trained' is 0 'SELECT count(*) FROM step'
mv "$T/kept.txt" "$T/text.txt"
check 'the text is back' bash -c '"$TAPER" retry one && "$TAPER" wait one' -
check 'each attempt has what it read' is '2,1,1' \
    "SELECT count(*), min(a.corpus = r.corpus), min(a.train_tokens GLOB 'xxh128:*' AND a.valid_tokens GLOB 'xxh128:*' AND
        length(a.tokenizer) = 64) AS tokens FROM attempt a JOIN run r ON r.id = a.run WHERE a.cause = 'done'"
run=$(query 'SELECT min(id) FROM run')
check '... as its directory has it' is "$(digest train "$TAPER_HOME/runs/$run"),$(digest valid "$TAPER_HOME/runs/$run")" \
    "SELECT train_tokens, valid_tokens FROM attempt WHERE run = '$run' AND cause = 'done'"
check 'show tells it' bash -c '"$TAPER" show "$1" | grep -q "train_tokens *xxh128:"' - "$run"
"$TAPER" daemon --stop > "$T/log"
check 'a database made again has it again' bash -c '"$TAPER" rebuild --force'
check '... what was read, and what for' is '2,1' \
    "SELECT count(*), min(a.corpus = r.corpus AND a.train_tokens IS NOT NULL) FROM attempt a JOIN run r ON r.id = a.run
        WHERE a.cause = 'done'"
check 'no process is left' poll 20 nothing_left
done_testing
