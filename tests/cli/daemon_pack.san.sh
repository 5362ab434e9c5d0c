#!/usr/bin/env bash
# Packs: several runs in one worker. They give what they give alone, and each has its own end: a mate that fails, a
# cancel, a time limit. The worker killed, the daemon killed, and all of them gone at the end.
. "$(dirname "$0")/../support/daemon.bash"
base() { # STEPS [KEYS]
    echo "base: {model.size: demo, model.d_model: 16, model.layers: 1, model.heads: 1, model.context: 16, model.vocab: 300,
       data.size: 20000, train.steps: $1, train.batch: 2, log.every: 50, checkpoint.every: 50, eval.every: 100,
       eval.tokens: 200, sample.tokens: 8${2:-}}"
}
spec() { # NAME STEPS LAST-SEED RUN [REST]
    { echo "sweep: $1"; base "$2"; echo "grid: {seed: {range: [0, $3]}}"; echo "run: {$4}"; echo "${5:-}"; } > "$T/$1.yaml"
}
submit() { "$TAPER" submit "$T/$1.yaml" > "$T/log"; }
running() { is "$1" "SELECT count(*) FROM run WHERE state = 'running'"; }
# Runs that are training: a row of theirs is in the database.
training() { is "$1" "SELECT count(*) FROM run r JOIN journal j ON j.run = r.id WHERE r.state = 'running' AND j.step > 0"; }
run_of() { query "SELECT id FROM run WHERE sweep = '$1' AND seed = $2"; }
state_of() { is "$2" "SELECT state FROM run WHERE id = '$1'"; }
pids() { query "SELECT DISTINCT a.pid FROM attempt a JOIN run r ON r.id = a.run WHERE a.ended IS NULL AND r.state = 'running'"; }
trainer() { cat "/proc/$1/task/$1/children"; } # of a supervisor
only_daemon() { [ "$(left)" = "$(daemon_pid)" ]; }
free_slots() { bash -c '! "$TAPER" devices --json | grep -q "\"used\": true"'; }

# ---- the same numbers, packed or not
dump() {
    query 'SELECT run, step, tokens, ce, aux, lr, gate, grad_norm, scale_mean, logit_rms, entropy FROM step ORDER BY run, step'
    query 'SELECT run, step, site, c, scale_mean, agreement, gamma_norm FROM site_step ORDER BY run, step, site'
    query 'SELECT run, step, split, loss, tokens FROM eval ORDER BY run, step, split'
    query 'SELECT id, val_loss, params, fold_error, state FROM run ORDER BY id'
    cat "$TAPER_HOME"/runs/*/samples.txt
}
both='variants: {baseline: {taper.sites: none}, all+aux: {taper.sites: all, aux.lambda: 0.1}}
after: {fold: true}'
spec same 300 2 'pack: 1' "$both"
check 'a sweep, one run a worker' env TAPER_HOME="$T/apart" "$TAPER" run --slots cpu:2 "$T/same.yaml"
spec same 300 2 'pack: 4' "$both"
check 'a dry run says what a pack is' bash -c '"$TAPER" run --dry-run "$1" 2>&1 | grep -q "up to 4 of equal shape share a worker"' - "$T/same.yaml"
check 'the same in packs' "$TAPER" run --slots cpu:2 "$T/same.yaml"
dump > "$T/packed"
TAPER_HOME=$T/apart dump > "$T/apart.dump"
check 'there is something to compare' [ "$(wc -l < "$T/apart.dump")" -gt 100 ]
check 'every value is the same' diff "$T/apart.dump" "$T/packed"
check 'four shared a worker, then the two left' is '2,1,2
4,1,4' 'SELECT pack, count(DISTINCT pid), count(*) FROM attempt GROUP BY pack ORDER BY pack'
check 'and none was in it alone before' env TAPER_HOME="$T/apart" bash -c '[ "$("$TAPER" query --csv "SELECT max(pack) FROM attempt" | tail -n 1 | tr -d "\r")" = 1 ]'
check 'each has its CPU time' is 6 'SELECT count(*) FROM attempt WHERE cpu_us > 0 AND peak_bytes > 0'
check 'show tells who shared it' bash -c '"$TAPER" show "$1" | grep -Eq "mates +[0-9a-f ]{12,}"' - "$(run_of same 0 | head -n 1)"

# ---- mates that fail: a text too short for a window, a loss that is not finite
echo 'far too short' > "$T/short.txt"
{
    echo 'sweep: mates'
    base 301
    echo "variants: {good: {}, short: {data.corpus: $T/short.txt}, wild: {train.lr: 100, train.clip: 0, train.lr_schedule: constant}}"
    echo 'run: {pack: 3, retries: 1}'
} > "$T/mates.yaml"
check 'a daemon' daemon --slots cpu:1 --retry-delay 0
submit mates
check 'a sweep with two that fail' refuses 1 'not all' "$TAPER" wait mates
check 'each has its own end' is 'good,done,1,1
short,failed,1,1
wild,failed,1,1' "SELECT variant, state, attempts, failures + (state = 'done') FROM run WHERE sweep = 'mates' ORDER BY variant"
check 'one worker for all' is '3,3' "SELECT a.pack, count(*) FROM attempt a JOIN run r ON r.id = a.run WHERE r.sweep = 'mates' GROUP BY a.pack"
check 'the log says why' grep -q 'not finite' "$TAPER_HOME/runs/$(query "SELECT id FROM run WHERE variant = 'wild'")/log.txt"
check 'and only theirs: the other has the lines of trainings alone' bash -c '! grep -vE "^[0-9a-f]{12}: step [0-9]+/[0-9]+ " "$1"' - \
    "$TAPER_HOME/runs/$(query "SELECT id FROM run WHERE variant = 'good'")/log.txt"
check 'nothing but the daemon is left' only_daemon

# ---- cancel of one
spec long 10000000 3 'pack: 3'
submit long
check 'three train in one worker' poll 60 training 3
worker=$(pids)
check 'status says that they are a pack' bash -c '"$TAPER" status long | grep -q "pack of 3"'
check 'one is cancelled' "$TAPER" cancel --wait "$(run_of long 1)"
check 'it is' state_of "$(run_of long 1)" cancelled
check 'it left a checkpoint' [ -s "$TAPER_HOME/runs/$(run_of long 1)/checkpoint.safetensors" ]
check 'its mates go on in the same process' [ "$(pids)" = "$worker" ]
check 'both of them' running 2
check 'and the slot is theirs' bash -c '"$TAPER" devices --json | grep -q "\"used\": true"'

# ---- the daemon is killed: the next one takes the pack over, and can stop one of it
kill_daemon
check 'the next daemon' daemon --slots cpu:1 --retry-delay 0
check 'has the same worker' [ "$(pids)" = "$worker" ]
check 'cancels one of what is left' "$TAPER" cancel --wait "$(run_of long 2)"
check 'and the other goes on' bash -c '[ "$1" = "$2" ]' - "$(pids)" "$worker"

# ---- a killed worker: all of its unfinished runs are queued again, in a pack
"$TAPER" retry long > "$T/log"
kill -KILL "$worker"
check 'they train again, three at a time' poll 60 training 3
check 'the lost one among them' is 'lost,2' "SELECT a.cause, r.attempts FROM attempt a JOIN run r ON r.id = a.run AND a.attempt = 1 WHERE r.id = '$(run_of long 0)'"
check 'in one process' [ "$(pids | wc -l)" = 1 ]

# ---- one that does not stop (its process does nothing any more): the pack is ended for its sake, its mates go on elsewhere
kill -STOP $(trainer "$(pids)")
check 'one that cannot stop is cancelled all the same' "$TAPER" cancel --wait "$(run_of long 1)"
check 'its mates were stopped, and blamed for nothing' poll 20 is 'stopped,0,3
stopped,0,3' "SELECT a.cause, r.failures, r.pack FROM run r JOIN attempt a ON a.run = r.id AND a.attempt = r.attempts - (r.state = 'running')
    WHERE r.sweep = 'long' AND r.seed IN (0, 2)"
"$TAPER" retry long > "$T/log"
check 'three train again' poll 60 training 3

# ---- its training process dies: whose fault it was nobody knows, so each is tried by itself and none is blamed
kill -KILL $(trainer "$(pids)")
apart() { is "$1" "SELECT count(*) FROM attempt WHERE cause = 'signal' AND signal = 9 AND pack = 3"; }
check 'all three died of it' poll 20 apart 3
check 'and run one by one from then on' poll 60 is '1,0' "SELECT a.pack, r.failures FROM attempt a JOIN run r ON r.id = a.run WHERE a.ended IS NULL AND r.state = 'running'"
check 'cancel all' "$TAPER" cancel --wait long
check 'nothing but the daemon is left' only_daemon
check 'no slot is taken' free_slots

# ---- time limits are each run's own
spec brief 10000001 0 'pack: 2, timeout: 1s, retries: 0'
spec lasting 10000002 0 'pack: 2'
"$TAPER" daemon --stop > "$T/log"
submit brief
submit lasting
check 'a daemon on two sweeps of equal shape' daemon --slots cpu:1
check 'the time of one is over' poll 30 is 'failed,timeout' "SELECT r.state, a.cause FROM run r JOIN attempt a ON a.run = r.id WHERE r.sweep = 'brief'"
check 'the other goes on, in what was their worker' is 'running,2' "SELECT r.state, a.pack FROM run r JOIN attempt a ON a.run = r.id WHERE r.sweep = 'lasting'"

# ---- the end
check 'a daemon that ends its workers' "$TAPER" daemon --stop --workers
check 'leaves it queued, with a checkpoint' is 'queued,stopped' "SELECT r.state, a.cause FROM run r JOIN attempt a ON a.run = r.id WHERE r.sweep = 'lasting'"
check 'nothing is left' nothing_left
done_testing
