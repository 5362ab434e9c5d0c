#!/usr/bin/env bash
# Something to watch: lines of a training off a terminal and in log.txt, status --watch in a small window, wait --timeout.
. "$(dirname "$0")/../support/daemon.bash"
export XDG_CACHE_HOME=$T/cache
base='model.d_model: 16, model.layers: 1, model.heads: 2, model.context: 32, model.vocab: 300, train.batch: 4,
    data.size: 20000, eval.tokens: 1024, log.every: 10, threads: 1, sample.tokens: 0'
said='^step [0-9]+/6000  loss [0-9.]+  gate [0-9.]+  [0-9]+ tokens/s  [0-9hms]+ left$'

# ---- lines of a training
echo "{$base, train.steps: 6000}" > "$T/one.yaml"
check 'a training into a file' bash -c '"$TAPER" train "$1/one.yaml" --out "$1/one" > "$1/o" 2> "$1/err"' - "$T"
lines() { [ "$(grep -cE "$said" "$1")" -ge 2 ] && [ "$(grep -cvE "$said" "$1")" = 0 ] || { cat "$1"; return 1; }; }
check 'has a line every so often' lines "$T/err"
check 'the last of the last step' bash -c 'tail -1 "$1" | grep -q "^step 6000/6000 "' - "$T/err"
{ echo 'sweep: three'; echo "base: {$base, train.steps: 40}"; echo 'grid: {seed: [0, 1, 2]}'; echo 'run: {pack: 2}'; } > "$T/three.yaml"
check 'a sweep runs' "$TAPER" run "$T/three.yaml" --slots cpu:1
check 'a log ends with the last step' bash -c '"$TAPER" log three/default/2 | grep -q "^step 40/40  loss .* left$"'
id=$("$TAPER" query --csv "SELECT id FROM run WHERE seed = 0" | tail -1)
check 'in a log that a pack shares it names the run' bash -c '"$TAPER" log three/default/0 | grep -q "^$1: step 40/40  loss"' - "$id"

# ---- a window
window() { # ROWS COLUMNS COMMAND...: the last picture of a second or two
    local rows=$1 columns=$2
    shift 2
    command script -qec "stty rows $rows cols $columns; $(printf '%q ' "$@")" /dev/null < /dev/null 2>&1 |
        tr -d '\r' | sed 's/\x1b\[K//g' | awk 'BEGIN { RS = "\033\\[H" } { last = $0 } END { printf "%s", last }' |
        sed 's/\x1b\[J.*//' > "$T/picture"
}
for i in 1 2 3 4 5 6 7 8; do
    { echo "sweep: many-$i"; echo "base: {$base, train.steps: 40$i}"; echo 'grid: {seed: [0, 1, 2, 3]}'; } > "$T/many.yaml"
    "$TAPER" submit "$T/many.yaml" > "$T/o" 2>&1
done
if type -P script > /dev/null; then
    window 8 40 timeout 2 "$TAPER" status --watch
    check 'status --watch keeps to the height' [ "$(wc -l < "$T/picture")" = 7 ]
    check 'and the width' [ "$(wc -L < "$T/picture")" -le 40 ]
    check 'saying how much more there is' grep -qE '^  \.\.\. [0-9]+ more sweeps' "$T/picture"
    window 40 120 timeout 2 "$TAPER" status --watch
    check 'a bar for each sweep, those that go on first' bash -c 'cat "$1"; sed -n 2p "$1" | grep -qF "many-1           [....................] 0 done, 4 queued" &&
        grep -qF "three            [####################] 3 done" "$1"' - "$T/picture"
    check 'colour is not there when it is not wanted' bash -c '! grep -q "\[3[0-9]m" "$1"' - "$T/picture"
else
    skip 'status --watch in a window' 'no script(1) on this machine'
fi

# ---- wait
cat > "$T/waits" <<'END'
#!/bin/sh
while [ ! -e go ]; do sleep 0.05; done
END
chmod +x "$T/waits"
check 'a daemon' daemon --slots cpu:1 --payload "$T/waits"
check 'wait --timeout ends with 3' refuses_silently 3 'many-1 is not finished yet' "$TAPER" wait --timeout 0.3 many-1
check 'at once where it is 0' refuses_silently 3 'many-1 is not finished yet' "$TAPER" wait --timeout 0 many-1
check 'what is finished is not waited for' "$TAPER" wait --timeout 20 three
check 'a time that is none' refuses_silently 2 '--timeout' "$TAPER" wait --timeout soon three
if type -P script > /dev/null; then
    command script -qec "$(printf '%q ' "$TAPER" wait --timeout 0.5 many-1)" /dev/null < /dev/null > "$T/tty" 2>&1
    check 'on a terminal it says how far it is' grep -qE 'many-1: 0 done, 1 running, 3 queued' "$T/tty"
fi
"$TAPER" daemon --stop --kill > "$T/o" 2>&1
done_testing
