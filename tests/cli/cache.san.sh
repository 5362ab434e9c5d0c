#!/usr/bin/env bash
# A cached token file or text that was overwritten is made again, not trained on.
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
done_testing
