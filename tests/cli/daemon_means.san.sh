#!/usr/bin/env bash
# What the machine has none of is no fault of the runs: they wait, keep their retries, and go on by themselves.
. "$(dirname "$0")/../support/daemon.bash"

script work << 'E'
echo "{\"table\":\"run\",\"attempt\":$1,\"step\":1,\"state\":\"done\",\"val_loss\":1,\"params\":1,\"device\":\"cpu\",\"text\":\"\"}" >> journal.jsonl
E
logged() { # TIMES TEXT
    same "$1" "$(grep -c -- "$2" "$TAPER_HOME/daemon.log")"
}

# Fewer descriptors than a daemon needs.
sweep few 1
with() { (ulimit -n "$1" && shift && exec "$@"); } # DESCRIPTORS COMMAND...
for few in 8 12 16 39; do
    for verb in 'daemon --detach' daemon "run $T/few.yaml"; do
        check "$few are too few for $verb" refuses 2 "want at least 40 file descriptors, found $few" with "$few" timeout 20 "$TAPER" $verb --payload "$T/work"
    done
done
check 'forty are enough' with 40 "$TAPER" run "$T/few.yaml" --slots cpu:2 --payload "$T/work"

# Descriptors: more clients at once than there is room for. Those that would take the last are turned away.
small() { (ulimit -n 48 && daemon --slots cpu:2 --payload "$T/work"); }
check 'a daemon with few descriptors' small
sweep many 20
check 'pause, so that they wait' "$TAPER" pause
check 'submit' "$TAPER" submit "$T/many.yaml"
waiting=()
for _ in $(seq 60); do
    "$TAPER" wait many > /dev/null 2>> "$T/turned" &
    waiting+=($!)
done
check 'some clients are turned away, and told why' poll 20 grep -q 'no file descriptor to spare' "$T/turned"
kill "${waiting[@]:0:50}" 2> /dev/null
check 'with fewer there is room again' poll 20 "$TAPER" resume
check 'all are done' poll 60 is 20 "SELECT count(*) FROM run WHERE state = 'done'"
check 'at the first attempt' is 20 'SELECT count(*) FROM attempt'
wait
check 'it ends' "$TAPER" daemon --stop --workers

# The runs' directory: something else is in its place.
check 'a daemon' daemon --slots cpu:2 --payload "$T/work"
check 'pause again' "$TAPER" pause
sweep away 46 'run: {retries: 0}'
sed -i 's/train.steps: 60/train.steps: 61/' "$T/away.yaml"
check 'submit 46' "$TAPER" submit "$T/away.yaml"
mv "$TAPER_HOME/runs" "$TAPER_HOME/runs.away"
touch "$TAPER_HOME/runs"
check 'resume them' "$TAPER" resume
check 'the trouble is named' poll 20 bash -c '"$TAPER" status | grep -q "waiting: .*/runs"'
check 'it is tried again and again' poll 20 is 1 "SELECT count(*) > 2 FROM attempt WHERE cause = 'start'"
check 'none has failed' is 0 "SELECT count(*) FROM run WHERE state = 'failed' OR failures > 0"
check 'the log has it once' logged 1 'waiting:'
rm "$TAPER_HOME/runs"
mv "$TAPER_HOME/runs.away" "$TAPER_HOME/runs"
check 'they go on by themselves' poll 90 is 46 "SELECT count(*) FROM run WHERE state = 'done' AND sweep = 'away'"
check 'the log says so' logged 1 'going on after'
check 'and an event' is 1 "SELECT count(*) FROM event WHERE kind = 'held'"
check 'it ends too' "$TAPER" daemon --stop --workers
check 'no process is left' poll 10 nothing_left
done_testing
