#!/usr/bin/env bash
# What must not survive, and what must: workers whose children ignore TERM and leave the session, killed supervisors, a
# killed daemon, reused pids, time limits.
. "$(dirname "$0")/../support/daemon.bash"
# Children that ignore TERM: one in the worker's group, one in a session of its own, one that also forgot its environment.
script stubborn << 'E'
trap '' TERM
(trap '' TERM; while :; do read -rt 9 <> <(:); done) &
setsid bash -c 'trap "" TERM; while :; do sleep 9 & wait; done' &
setsid env -i PATH="$PATH" bash -c 'trap "" TERM; echo $$ > forgot; while :; do sleep 8.5; done' &
disown -a
while [ ! -s forgot ]; do :; done
echo ready
while :; do read -rt 9 <> <(:); done
E
running() { is "$1" "SELECT count(*) FROM run WHERE state = 'running'"; }
ready() { [ "$(cat "$TAPER_HOME"/runs/*/log.txt | grep -c ready)" -ge "$1" ]; }
# The supervisors: leaders of their sessions.
workers() {
    local pid
    for pid in $(left); do
        grep -qsz '^worker$' "/proc/$pid/cmdline" && [ "$(cut -d' ' -f6 "/proc/$pid/stat")" = "$pid" ] && echo "$pid"
    done
}
forgotten() { local f; for f in "$TAPER_HOME"/runs/*/forgot; do kill -0 "$(cat "$f")" 2> /dev/null && return 0; done; return 1; }
remembered() { ! forgotten; }
only_daemon() { [ "$(left)" = "$(daemon_pid)" ]; }
again() { rm -f "$TAPER_HOME"/runs/*/forgot "$TAPER_HOME"/runs/*/log.txt; "$TAPER" retry one; }

check 'daemon' daemon --slots cpu:1 --payload "$T/stubborn"
sweep one 1
"$TAPER" submit "$T/one.yaml" > "$T/log"
check 'a worker with stubborn children is up' poll 20 ready 1
check 'cancel waits for all of them' "$TAPER" cancel --wait one
check 'it is cancelled' is 'cancelled,cancelled' 'SELECT r.state, a.cause FROM run r JOIN attempt a ON a.run = r.id'
check 'nothing but the daemon is left' only_daemon
check 'not even the one that forgot its environment' remembered
check 'the slot is free' bash -c '"$TAPER" devices --json | grep -q "\"used\": false"'

# ---- the supervisor is killed: what it leaves is found and ended, the run goes on as another attempt
again > "$T/log"
check 'it is up again' poll 20 ready 1
kill_supervisor() {
    local pid first
    pid=$(workers)
    first=$(cat "$TAPER_HOME"/runs/*/forgot)
    [ -n "$pid" ] && kill -KILL $pid && poll 20 gone "$first"
}
check 'its supervisor is killed, and all of its children go too' kill_supervisor
check 'it was lost, and runs again' poll 20 is 'lost,running' "SELECT a.cause, r.state FROM run r JOIN attempt a ON a.run = r.id WHERE a.attempt = 2"
"$TAPER" cancel --wait one > "$T/log"
check 'nothing but the daemon is left' only_daemon

# ---- the daemon and the supervisor are killed: only the environment tells whose the children are
again > "$T/log"
check 'it is up once more' poll 20 ready 1
kill_daemon $(workers)
kill -KILL "$(cat "$TAPER_HOME"/runs/*/forgot)" # nobody can find this one: no daemon saw it lose its parent
check 'a daemon on a home whose daemon was killed' daemon --slots cpu:1 --payload "$T/stubborn"
check 'the old children are ended, the run goes on' poll 20 is 'lost,running' "SELECT a.cause, r.state FROM run r JOIN attempt a ON a.run = r.id WHERE a.attempt = (SELECT max(attempt) - 1 FROM attempt)"
"$TAPER" cancel --wait one > "$T/log"
check 'nothing but the new daemon is left' only_daemon

# ---- a worker that ends while no daemon is there
script brief << 'E'
while [ ! -e go ]; do read -rt 0.1 <> <(:); done
exit 0
E
"$TAPER" daemon --stop > "$T/log"
daemon --slots cpu:1 --payload "$T/brief"
sweep two 1
sed -i 's/train.steps: 60/train.steps: 61/' "$T/two.yaml"
"$TAPER" submit "$T/two.yaml" > "$T/log"
check 'it runs' poll 20 running 1
dir=$TAPER_HOME/runs/$(query "SELECT id FROM run WHERE state = 'running'")
pid=$(workers)
kill_daemon
touch "$dir/go"
check 'it ends without the daemon' poll 20 gone "$pid"
check 'the next daemon learns that it was done' daemon --slots cpu:1 --payload "$T/brief"
check 'in its first attempt' poll 20 is 'done,1' "SELECT state, attempts FROM run WHERE sweep = 'two'"

# ---- a pid that is another process by now
script waits <<< 'while :; do read -rt 9 <> <(:); done'
"$TAPER" daemon --stop > "$T/log"
daemon --slots cpu:1 --payload "$T/waits"
sweep three 1
sed -i 's/train.steps: 60/train.steps: 62/' "$T/three.yaml"
"$TAPER" submit "$T/three.yaml" > "$T/log"
check 'it runs' poll 20 running 1
old=$(workers)
"$TAPER" daemon --stop > "$T/log"
kill -KILL $old
poll 20 gone "$old" > "$T/log"
env -u TAPER_TEST sleep 1000 &
innocent=$!
start=$(cut -d' ' -f22 "/proc/$innocent/stat")
if command -v sqlite3 > /dev/null; then
    # As if the pid had been given to the innocent one since: the same number, started at another time.
    sqlite3 "$TAPER_HOME/taper.db" "UPDATE attempt SET pid = $innocent, handle = '$innocent' || substr(handle, instr(handle, ':')) WHERE ended IS NULL"
    check 'a daemon that finds a reused pid' daemon --slots cpu:1 --payload "$T/waits"
    check 'takes the worker for lost and starts another' poll 20 is 'lost,running,2' "SELECT a.cause, r.state, r.attempts FROM run r JOIN attempt a ON a.run = r.id AND a.attempt = 1 WHERE r.sweep = 'three'"
    "$TAPER" cancel --wait three > "$T/log"
    check 'and leaves the innocent one alone' kill -0 "$innocent"
    check 'which is the same process' [ "$(cut -d' ' -f22 "/proc/$innocent/stat")" = "$start" ]
else
    skip 'a reused pid' 'no sqlite3 to rewrite the record with'
    daemon --slots cpu:1 --payload "$T/waits"
    "$TAPER" cancel --wait three > "$T/log"
fi
kill "$innocent"

# ---- time limits
sweep four 1 'run: {timeout: 1s, retries: 0}'
sed -i 's/train.steps: 60/train.steps: 63/' "$T/four.yaml"
"$TAPER" submit "$T/four.yaml" > "$T/log"
check 'a run over its time is ended' refuses 1 'not all' "$TAPER" wait four
check 'with that as its cause' is 'failed,timeout' "SELECT r.state, a.cause FROM run r JOIN attempt a ON a.run = r.id WHERE r.sweep = 'four'"

# ---- a supervisor that does nothing any more
sweep five 1
sed -i 's/train.steps: 60/train.steps: 64/' "$T/five.yaml"
"$TAPER" submit "$T/five.yaml" > "$T/log"
check 'it runs' poll 20 running 1
kill -STOP $(workers)
check 'even stopped ones end when they are killed' "$TAPER" daemon --stop --kill
check 'nothing is left' nothing_left
done_testing
