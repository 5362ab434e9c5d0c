#!/usr/bin/env bash
# taper run gives way: while another process holds the database, the second signal ends it at once, and what is on the
# disk is enough to go on from.
. "$(dirname "$0")/../support/daemon.bash"

script slow << 'E'
trap '' TERM
touch ../../../begun
while [ ! -e ../../../go ]; do read -rt 0.05 <> <(:); done
echo "{\"table\":\"run\",\"attempt\":$1,\"step\":1,\"state\":\"done\",\"val_loss\":1,\"params\":1,\"device\":\"cpu\",\"text\":\"\"}" >> journal.jsonl
E
sweep one 3
"$TAPER" run "$T/one.yaml" --slots cpu:2 --grace 60 --payload "$T/slow" 2> "$T/run.err" &
run=$!
check 'it runs' poll 30 test -e "$T/begun"
check 'two of them' poll 30 is 2 "SELECT count(*) FROM run WHERE state = 'running'"
mkfifo "$T/hold"
sqlite3 "$TAPER_HOME/taper.db" < "$T/hold" > "$T/held" 2>&1 &
exec 9> "$T/hold"
echo "BEGIN IMMEDIATE; SELECT 'mine';" >&9
check 'another process has the database' poll 20 grep -q mine "$T/held"
kill -INT $run
check 'the first signal asks' poll 10 grep -q 'once more to kill' "$T/run.err"
kill -INT $run
begun=$(date +%s%N)
check 'the second is enough' poll 5 gone $run
wait $run
that 'exit status: stopped' $? 3
check 'within two seconds' test $(($(date +%s%N) - begun)) -lt 2500000000
check 'it says what it did not wait for' grep -q 'not waiting for .*another process is writing' "$T/run.err"
check 'and that it waited, once' same 1 "$(grep -c '^waiting:' "$T/run.err")"
check 'the workers are gone' poll 10 bash -c '! pgrep -f "$1/slow"' - "$T"
echo 'COMMIT;' >&9
exec 9>&-
touch "$T/go"
check 'the same command goes on' timeout 120 "$TAPER" run "$T/one.yaml" --slots cpu:2 --payload "$T/slow"
check 'all are done' is 3 "SELECT count(*) FROM run WHERE state = 'done'"
check 'what was killed counts for nothing' is 0 'SELECT sum(failures) FROM run'
check 'no process is left' poll 10 nothing_left
done_testing
