#!/usr/bin/env bash
# taper pause says what goes on; with --running it stops it at a checkpoint, and resume goes on from there.
. "$(dirname "$0")/../support/daemon.bash"
export XDG_CACHE_HOME=$T/cache
base='model.d_model: 16, model.layers: 1, model.heads: 2, model.context: 32, model.vocab: 300, train.batch: 4, data.size: 20000,
    eval.tokens: 1024, log.every: 1, threads: 1, sample.tokens: 0, train.steps: 1000000'
{ echo 'sweep: long'; echo "base: {$base}"; echo 'grid: {seed: [0, 1]}'; } > "$T/long.yaml"
sed 's/long/other/; s/\[0, 1\]/[1]/' "$T/long.yaml" > "$T/other.yaml"
check 'a daemon' daemon --slots cpu:2
check 'two runs' "$TAPER" submit "$T/long.yaml"
check 'one of them wanted twice' "$TAPER" submit "$T/other.yaml"
check 'both log steps' poll 60 is 2 'SELECT count(DISTINCT run) FROM step'

check 'pause says what goes on' same "long: paused; 2 running go on ('taper pause --running' stops them)" "$("$TAPER" pause long)"
"$TAPER" pause --running long > "$T/said"
check 'pause --running stops what nobody else wants' same \
    'long: paused; 1 running stops at a checkpoint, to be queued again; 1 running goes on, being wanted by another sweep or at their end' \
    "$(cat "$T/said")"
check 'it is queued again' poll 60 is queued 'SELECT state FROM run WHERE seed = 0'
check 'for no fault of its own' is 'stopped,0' 'SELECT a.cause, r.failures FROM attempt a JOIN run r ON r.id = a.run WHERE seed = 0'
check 'the other goes on' is running 'SELECT state FROM run WHERE seed = 1'
step=$(query "SELECT max(step) FROM step s JOIN run r ON r.id = s.run WHERE seed = 0")
check 'it is not started while it is paused' is 1 'SELECT attempts FROM run WHERE seed = 0'
check 'resume' "$TAPER" resume long
check 'it runs again' poll 60 is 'running,2' 'SELECT state, attempts FROM run WHERE seed = 0'
check 'from where it was' poll 60 is 1 "SELECT min(step) > $((step > 1 ? step - 1 : 0)) FROM step s JOIN run r ON r.id = s.run
    WHERE seed = 0 AND s.attempt = 2"

check 'the whole queue' same 'the queue: paused; 2 running stop at a checkpoint, to be queued again' "$("$TAPER" pause --running)"
check 'stops all' poll 60 is 2 "SELECT count(*) FROM run WHERE state = 'queued'"
check 'JSON has the counts' bash -c '"$TAPER" pause --json | grep -q "\"stopping\": 0" && "$TAPER" pause --json | grep -q "\"live\": 0"'
check 'nothing runs' same 'the queue: paused; nothing runs' "$("$TAPER" pause)"
check 'resume has no such option' refuses 2 "unknown option '--running'" "$TAPER" resume --running
"$TAPER" daemon --stop --kill > "$T/o" 2>&1
check 'no process is left' poll 20 nothing_left
done_testing
