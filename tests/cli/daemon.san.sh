#!/usr/bin/env bash
# The daemon's verbs from the outside: submit, status, show, log, wait, cancel, retry, pause, resume, stop.
. "$(dirname "$0")/../support/daemon.bash"
script good <<< 'echo "attempt $1"; printf "10%%\r50%%\r100%%\n"; exit 0'
script second <<< '[ "$1" -ge 2 ]'   # fails at its first attempt
script bad <<< 'echo "no such luck" >&2; exit 1'
script long <<< 'echo begun; trap "echo ends; exit 3" TERM; while :; do read -rt 1 <> <(:); done'
script wrong <<< 'exit 2'

# ---- no home, no daemon
check 'status without a home' refuses 2 'home' "$TAPER" status
sweep one 4
check 'submit without a daemon says so' bash -c '"$TAPER" submit "$1" | grep -q "no daemon"' - "$T/one.yaml"
check 'status reads the database alone' bash -c '"$TAPER" status | grep -q "4 runs: 0 done, 4 queued"'
check 'wait without a daemon does not hang' refuses 1 'no daemon' "$TAPER" wait one
check 'a faulty sweep is refused with its line' bash -c 'printf "sweep: x\nbase: {train.stepz: 1}\n" > "$1"; "$TAPER" submit "$1" 2> "$1.err"; [ $? -eq 2 ] && grep -q "x.yaml:2:" "$1.err"' - "$T/x.yaml"

# ---- done
check 'daemon starts' daemon --slots cpu:2 --payload "$T/good"
check 'a second daemon on the home is refused' refuses 1 'in use by process' "$TAPER" daemon
check 'wait says that all are done' "$TAPER" wait one
check 'four runs done in one attempt each' is 'done,4,1,1' 'SELECT state, count(*), min(attempts), max(attempts) FROM run GROUP BY state'
check 'the socket is 0600' [ "$(stat -c %a "$TAPER_HOME/taper.sock")" = 600 ]
run=$(query 'SELECT id FROM run ORDER BY position LIMIT 1')
check 'show takes the beginning of an id' bash -c '"$TAPER" show "$1" | grep -q "^state  *done"' - "${run:0:9}"
check 'show --json is JSON with the attempt' bash -c '"$TAPER" show --json "$1" | grep -q "\"cause\": \"done\""' - "$run"
check 'the log collapses a progress bar' bash -c '[ "$("$TAPER" log "$1")" = "$(printf "attempt 1\n100%%")" ]' - "$run"
check 'show refuses what is no run' refuses 2 'no run' "$TAPER" show ffffffffffff
check 'exit.json has the use of resources' grep -q '"max_rss":[1-9]' "$TAPER_HOME/runs/$run/exit.json"
check 'submitting again repeats nothing' bash -c '"$TAPER" submit "$1" | grep -q "0 new, 4 already done"' - "$T/one.yaml"
check 'devices shows the slots' bash -c '"$TAPER" devices --json | grep -q "\"slot\": 1"'
check 'the attempt has host, version and libraries' is 1 "SELECT count(*) FROM attempt WHERE run = '$run' AND host <> '' AND version <> '' AND libraries LIKE '%sqlite%' AND cpu_us > 0 AND peak_bytes > 0"
check 'stop' "$TAPER" daemon --stop
check 'stop without a daemon' refuses 1 'no daemon' "$TAPER" daemon --stop

# ---- retries
check 'daemon with a payload that fails once' daemon --slots cpu:2 --payload "$T/second"
sweep two 2 'run: {retries: 1, priority: 3}'
sed -i 's/train.steps: 60/train.steps: 61/' "$T/two.yaml"
check 'submit' "$TAPER" submit "$T/two.yaml"
check 'they are done at the second attempt' "$TAPER" wait two
check 'the first attempts failed with status 1' is 'failed,1,2' "SELECT cause, code, count(*) FROM attempt WHERE attempt = 1 AND cause <> 'done' GROUP BY cause, code"
"$TAPER" daemon --stop > "$T/log" 2>&1

check 'daemon with a payload that always fails' daemon --slots cpu:2 --payload "$T/bad"
sweep three 2 'run: {retries: 2}'
sed -i 's/train.steps: 60/train.steps: 62/' "$T/three.yaml"
"$TAPER" submit "$T/three.yaml" > "$T/log"
check 'wait has status 1 when runs failed' refuses 1 'not all' "$TAPER" wait three
check 'three attempts each' is '2,3,3' "SELECT count(*), min(attempts), max(attempts) FROM run WHERE state = 'failed'"
check 'status tells why' bash -c '"$TAPER" status three | grep -q "failed: no such luck"'
"$TAPER" daemon --stop > "$T/log" 2>&1
check 'daemon with a payload that succeeds' daemon --slots cpu:2 --payload "$T/good"
check 'retry queues the failed ones' bash -c '"$TAPER" retry three | grep -q "2 queued again"'
check 'and they are done' "$TAPER" wait three
check 'retry leaves what is done alone' bash -c '"$TAPER" retry three | grep -q "0 queued again"'
"$TAPER" daemon --stop > "$T/log" 2>&1
daemon --slots cpu:2 --payload "$T/wrong"
sweep four 2 'run: {retries: 2, fail_fast: true}'
sed -i 's/train.steps: 60/train.steps: 63/' "$T/four.yaml"
"$TAPER" submit "$T/four.yaml" > "$T/log"
check 'bad input is not retried' refuses 1 'not all' "$TAPER" wait four
check 'one attempt was enough' is '1' "SELECT max(attempts) FROM run WHERE state = 'failed'"
"$TAPER" daemon --stop > "$T/log" 2>&1

# ---- cancel, pause, stop with workers
daemon --slots cpu:2 --payload "$T/long"
sweep five 4
sed -i 's/train.steps: 60/train.steps: 64/' "$T/five.yaml"
"$TAPER" submit "$T/five.yaml" > "$T/log"
live() { is "$1" "SELECT count(*) FROM run WHERE state = 'running'"; }
check 'two run, two wait' poll 20 live 2
run=$(query "SELECT id FROM run WHERE state = 'running' LIMIT 1")
check 'log -f ends with the run' bash -c '"$TAPER" log -f "$1" > "$2/follow" & p=$!; "$TAPER" cancel --wait "$1" && wait $p && grep -q ends "$2/follow"' - "$run" "$T"
check 'the cancelled one is cancelled' is cancelled "SELECT state FROM run WHERE id = '$run'"
check 'the next took its slot' poll 20 live 2
check 'pause' "$TAPER" pause five
run=$(query "SELECT id FROM run WHERE state = 'running' LIMIT 1")
"$TAPER" cancel --wait "$run" > "$T/log"
check 'a paused sweep starts nothing' live 1
check 'status says paused' bash -c '"$TAPER" status | grep -q paused'
check 'resume' "$TAPER" resume --all
check 'and it goes on' poll 20 live 2
check 'pause without a name' "$TAPER" pause
sweep late 1
sed -i 's/train.steps: 60/train.steps: 66/' "$T/late.yaml"
"$TAPER" submit "$T/late.yaml" > "$T/log"
"$TAPER" cancel --wait "$(query "SELECT id FROM run WHERE state = 'running' LIMIT 1")" > "$T/log"
check 'nothing is started, of what came later neither' live 1
check 'status says so' bash -c '"$TAPER" status | grep -q "until .taper resume."'
check 'and its JSON' bash -c '"$TAPER" status --json | grep -q "^  \"paused\": true"'
check 'resume without a name' "$TAPER" resume
check 'and what came later runs' poll 20 is running "SELECT state FROM run WHERE sweep = 'late'"
check 'as many as before' poll 20 live 2
check 'stop leaves the workers' "$TAPER" daemon --stop
check 'they are still there' bash -c '[ "$(pgrep -cf "worker --attempt.*$1")" -ge 2 ]' - "$T"
check 'a new daemon takes them over' daemon --slots cpu:2 --payload "$T/long"
check 'the same attempts run' is '2,1' "SELECT count(*), max(attempts) FROM run WHERE state = 'running'"
check 'stop with the workers' "$TAPER" daemon --stop --workers
check 'their runs are queued again, and it does not count' is '2,0' "SELECT count(*), max(failures) FROM run WHERE state = 'queued' AND attempts > 0"
check 'no process is left' nothing_left

# ---- in the foreground
script count <<< 'exit 0'
rm -rf "$TAPER_HOME"
sweep six 5
check 'run does a sweep by itself' bash -c '"$TAPER" run --slots cpu:2 --payload "$1/count" "$1/six.yaml" 2> "$1/log" | grep -q "six: 5 done"' - "$T"
check 'run --dry-run makes a table' bash -c '[ "$("$TAPER" run --dry-run --json "$1/six.yaml" | grep -c variant)" -eq 5 ]' - "$T"
sweep seven 3
sed -i 's/train.steps: 60/train.steps: 65/' "$T/seven.yaml"
stopped() {
    "$TAPER" run --slots cpu:1 --payload "$T/long" "$T/seven.yaml" 2> "$T/log" > "$T/out" &
    local pid=$!
    poll 20 live 1 || return 1
    kill -INT $pid
    wait $pid
    [ $? -eq 3 ] || { cat "$T/log"; return 1; }
}
check 'an interrupt stops it with status 3' stopped
check 'nothing of it is left running' nothing_left
check 'and its runs are queued' is '3' "SELECT count(*) FROM run WHERE state = 'queued'"
check 'completion for bash is a script' bash -c '"$TAPER" completion bash > "$1/c" && bash -n "$1/c" && grep -q -- "--detach" "$1/c"' - "$T"
check 'completion for zsh names the verbs' bash -c '"$TAPER" completion zsh | grep -q "submit:queue the runs"'
done_testing
