#!/usr/bin/env bash
# A cached token file, text or tokenizer that was overwritten is made again, not trained on.
TRAIN_STEPS=4 SAMPLE_TOKENS=0
. "$(dirname "$0")/../support/model.bash"
ce() { grep -o '"ce":[0-9.]*' "$T/$1/journal.jsonl"; }
check 'trains' train first
for kind in tokens stories; do
    for f in "$TAPER_CACHE/$kind"-*.bin "$TAPER_CACHE/$kind"-*.txt; do
        [ -f "$f" ] && yes aa | head -c 2000 | dd of="$f" bs=1 seek=200 conv=notrunc status=none
    done
    [ $kind = stories ] && rm -f "$TAPER_CACHE"/tokens-*
    check "$kind overwritten: trains" train "$kind"
    cp "$T/check.log" "$T/warned"
    check '... with a warning' grep -q "$kind-.*damaged: it does not match its digest" "$T/warned"
    check '... and the same numbers' same "$(ce first)" "$(ce "$kind")"
done

# A tokenizer: other merges, another file, a file that is gone. The token files go with it, so that it is used.
tokenizer=$(find "$TAPER_CACHE" -maxdepth 1 -type d -name "tokenizer-*")
spoil() { # HOW
    case $1 in
    swapped) sed -i '3{h;d};4G' "$tokenizer/merges.txt" ;;
    foreign) echo '{}' > "$tokenizer/tokenizer.json" ;;
    missing) rm "$tokenizer/vocab.json" ;;
    esac
}
for how in swapped foreign missing; do
    cp -r "$tokenizer" "$T/whole"
    spoil $how
    rm -f "$TAPER_CACHE"/tokens-*
    check "tokenizer $how: trains" train $how
    cp "$T/check.log" "$T/warned"
    check '... with a warning' grep -q 'tokenizer-.*damaged: it does not match its digest' "$T/warned"
    check '... and the same numbers' same "$(ce first)" "$(ce $how)"
    check '... with the tokenizer that was' diff -r "$T/whole" "$tokenizer"
    rm -r "$T/whole"
done
check 'nothing is left beside what is cached' bash -c '! ls "$TAPER_CACHE" | grep -vE "^(stories|tokens|tokenizer)-[0-9a-f]+(\.txt|\.bin)?(\.xxh128)?$"'
done_testing
