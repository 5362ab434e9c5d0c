#!/usr/bin/env bash
# A run that cannot start says why: at submit, in status, in the log, and to whoever waits for it.
. "$(dirname "$0")/../support/daemon.bash"

script work << 'E'
while [ ! -e ../../../go ]; do read -rt 0.05 <> <(:); done
echo "{\"table\":\"run\",\"attempt\":$1,\"step\":1,\"state\":\"done\",\"val_loss\":1,\"params\":1,\"device\":\"cpu\",\"text\":\"\"}" >> journal.jsonl
E
status_says() { "$TAPER" status | grep -qF -- "$1" || { "$TAPER" status; return 1; }; }
changed() { sed -i "s/train.steps: 60/train.steps: $2/" "$T/$1.yaml"; } # other runs than those of another sweep
gpu() { # NAME SEEDS STEPS
    sweep "$1" "$2"
    changed "$1" "$3"
    sed -i 's/base: {/base: {device: cuda, threads: 1, /' "$T/$1.yaml"
}

# Without a daemon: the sweep ends at once, with what could be done done.
gpu gpuq 3 61
check 'a GPU sweep without a GPU ends' refuses 1 '3 runs of gpuq wait for a GPU: none here' timeout 60 "$TAPER" run "$T/gpuq.yaml" --slots cpu:1 --slots gpu:0 --payload "$T/work"
sweep wide 2 'run: {slots: 4}'
changed wide 62
check 'so does one that is too wide' refuses 1 '2 runs of wide wait for 4 slots: the daemon has 2 at most' timeout 60 "$TAPER" run "$T/wide.yaml" --slots cpu:2 --slots gpu:0 --payload "$T/work"
check 'status says that there is no daemon' status_says "what is queued waits for one ('taper daemon')"

check 'a daemon' daemon --slots cpu:2 --slots gpu:0 --payload "$T/work"
check 'status says what each group waits for' status_says '2 runs of wide wait for 4 slots: the daemon has 2 at most'
check 'wait ends with the reason' refuses 1 'gpuq can never be finished: 3 runs of gpuq wait for a GPU: none here' timeout 20 "$TAPER" wait gpuq
id=$(query "SELECT id FROM run WHERE sweep = 'wide' LIMIT 1")
check 'for one run too' refuses 1 'waits for 4 slots' timeout 20 "$TAPER" wait "$id"
gpu later 1 63
"$TAPER" submit "$T/later.yaml" > "$T/submitted"
check 'submit warns' grep -q 'warning: 1 run of later waits for a GPU: none here' "$T/submitted"
check 'the log has it, once' same 1 "$(grep -c 'later waits for a GPU' "$TAPER_HOME/daemon.log")"

sweep long 6
check 'six for two slots' "$TAPER" submit "$T/long.yaml"
check 'two run' poll 20 is 2 "SELECT count(*) FROM run WHERE state = 'running'"
check 'the others wait for a slot' status_says '4 runs of long wait for 1 free CPU slot'
sweep next 1
changed next 64
check 'another' "$TAPER" submit "$T/next.yaml"
check 'is behind those four' status_says '1 run of next waits behind 4 runs'
check 'pause it' "$TAPER" pause next
check 'and that is why' status_says "1 run of next waits for 'taper resume next': paused"
check 'resume it' "$TAPER" resume next
check 'pause all' "$TAPER" pause
check 'all wait for that' status_says "4 runs of long wait for 'taper resume': paused"
check 'resume all' "$TAPER" resume

# One that needs another, and what has failed.
other=$(query "SELECT id FROM run WHERE sweep = 'long' AND state = 'queued' LIMIT 1")
sqlite3 "$TAPER_HOME/taper.db" "PRAGMA busy_timeout = 5000; UPDATE run SET needs = '$other' WHERE sweep = 'next'" > "$T/out"
check 'it needs another' status_says "1 run of next waits for run $other, which is needed first and is queued"
check 'cancel that' "$TAPER" cancel "$other"
check 'it can never come' refuses 1 "which is needed first and is cancelled ('taper retry $other')" timeout 20 "$TAPER" wait next
touch "$T/go"
check 'the rest is done' poll 60 is 5 "SELECT count(*) FROM run WHERE state = 'done' AND sweep = 'long'"
check 'retry what is needed' "$TAPER" retry "$other"
check 'then it comes' timeout 60 "$TAPER" wait next

# A delay after a failure.
script fails << 'E'
exit 1
E
check 'the daemon ends' "$TAPER" daemon --stop --workers
check 'one with long delays' "$TAPER" daemon --detach --retry-delay 60 --slots cpu:2 --slots gpu:0 --payload "$T/fails"
sweep bad 1
changed bad 65
check 'a run that fails' "$TAPER" submit "$T/bad.yaml"
check 'waits for its next attempt' poll 20 bash -c '"$TAPER" status | grep -qE "1 run of bad waits (5.|60|1m).* for the next attempt \(the last of [0-9a-f]+: failed\)"'
check 'JSON has the groups' bash -c '"$TAPER" status --json | jq -e ".waiting[] | select(.sweep == \"gpuq\") | .never and .runs == 3 and .why == \"slots\""'
check 'it ends' "$TAPER" daemon --stop --workers
check 'no process is left' poll 10 nothing_left
done_testing
