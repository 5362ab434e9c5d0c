#!/usr/bin/env bash
# A home on a file system that several machines share: who writes is known where a lock is not seen.
. "$(dirname "$0")/../support/daemon.bash"
mkdir -p "$TAPER_HOME"
boot=00000000-0000-0000-0000-000000000000
lease() { printf '%s elsewhere %s %s%-200s\n' 4711 "$boot" "$(($(date +%s%N) / 1000 - $1 * 1000000))" '' > "$TAPER_HOME/taper.lock"; }
lease 5
check 'a daemon on another machine is respected' refuses 1 'in use by process 4711 on host elsewhere' "$TAPER" daemon
sweep one 1
check 'also by a sweep in the foreground' refuses 1 'on host elsewhere' "$TAPER" run "$T/one.yaml"
lease -20
check 'also when its clock is before ours' refuses 1 'on host elsewhere' "$TAPER" daemon
lease 400
(for i in 1 2 3 4 5 6 7 8; do read -rt 1 <> <(:); lease $((400 - i)); done) &
check 'one whose clock is far off shows that it lives' refuses 1 'on host elsewhere' "$TAPER" daemon
wait
lease 400
begin=$SECONDS
check 'one that is gone is watched for a while' daemon --slots cpu:1
check 'which takes longer than it would have waited' test $((SECONDS - begin)) -ge 10
check 'the file names the new one' grep -q "^$(daemon_pid) $(hostname) " "$TAPER_HOME/taper.lock"
before=$(cut -d' ' -f4 "$TAPER_HOME/taper.lock")
beats() { [ "$(cut -d' ' -f4 "$TAPER_HOME/taper.lock")" -gt "$before" ]; }
check 'and has its signs of life' poll 15 beats
pid=$(daemon_pid)
lease 0
check 'a daemon whose home was taken ends at once' poll 15 gone "$pid"
check 'and says who did' grep -q 'taken by process 4711 on host elsewhere' "$TAPER_HOME/daemon.log"
: > "$TAPER_HOME/taper.lock"
check 'after a clean end' daemon --slots cpu:1
"$TAPER" daemon --stop > "$T/log"
check 'nobody is named' [ ! -s "$TAPER_HOME/taper.lock" ]
kill_it() { daemon --slots cpu:1 && kill_daemon && daemon --slots cpu:1; }
check 'one that was killed on this machine holds up nobody' kill_it
"$TAPER" daemon --stop > "$T/log"
check 'nothing is left' nothing_left
done_testing
