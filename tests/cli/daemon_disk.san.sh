#!/usr/bin/env bash
# A full disk: the daemon says so, nothing is lost or damaged, and everything goes on once there is space.
if [ "${1:-}" != inside ] ; then
    if unshare -m true 2> /dev/null; then exec unshare -m "$0" inside; fi
    if unshare -rm true 2> /dev/null; then exec unshare -rm "$0" inside; fi
    echo 'ok 1 - a full disk # SKIP no mount namespace to put a small file system into'
    echo 1..1
    exit 0
fi
. "$(dirname "$0")/../support/daemon.bash"
mkdir "$T/small"
mount -t tmpfs -o size=12m tmpfs "$T/small" || { skip 'a full disk' 'cannot mount a tmpfs'; done_testing; }
trap 'end_all; umount "$T/small"; rm -rf "$T"' EXIT
export TAPER_HOME=$T/small/home
# Logs steps for ever, each once; ends when it is told to. A line that cannot be written is tried again.
script steps << 'E'
n=$(grep -c . journal.jsonl 2> /dev/null)
append() { # a line whole or not at all, as often as it takes
    local size
    size=$(stat -c %s journal.jsonl 2> /dev/null)
    until echo "$1" >> journal.jsonl; do truncate -s "${size:-0}" journal.jsonl; read -rt 0.1 <> <(:); done 2> /dev/null
}
while [ ! -e ../../../../go ]; do
    n=$((n + 1))
    append "{\"table\":\"step\",\"attempt\":$1,\"step\":$n,\"ce\":$n.5,\"lr\":0.1,\"ms\":1}"
    read -rt 0.005 <> <(:)
done
append "{\"table\":\"step\",\"attempt\":$1,\"step\":$((n + 1)),\"ce\":0.5,\"lr\":0.1,\"ms\":1}"
append "{\"table\":\"run\",\"attempt\":$1,\"step\":$((n + 1)),\"state\":\"done\",\"val_loss\":1,\"params\":1,\"device\":\"cpu\",\"text\":\"\"}"
E
check 'daemon' daemon --slots cpu:2 --min-free 1M --payload "$T/steps"
sweep one 4
check 'submit' "$TAPER" submit "$T/one.yaml"
check 'steps come in' poll 20 bash -c '[ "$("$TAPER" query --csv "SELECT count(*) > 20 FROM step" | tail -1 | tr -d "\r")" = 1 ]'
fill() { dd if=/dev/zero of="$T/small/ballast" bs=64k 2> /dev/null; dd if=/dev/zero of="$T/small/ballast2" bs=1k 2> /dev/null; :; }
fill
check 'the daemon says that the disk is full' poll 30 bash -c '"$TAPER" status --json | grep -qE "\"trouble\": \".*(no space|full)"'
check 'status, show and query still work' "$TAPER" query 'SELECT count(*) FROM step'
check 'a submit is refused, and says why' bash -c 'cp "$1/one.yaml" "$1/two.yaml"; sed -i "s/sweep: one/sweep: two/; s/train.steps: 60/train.steps: 61/" "$1/two.yaml"; ! "$TAPER" submit "$1/two.yaml" 2> "$1/err" && grep -qiE "no space|full" "$1/err"' - "$T"
check 'nothing of it was queued' is 0 "SELECT count(*) FROM run WHERE sweep = 'two'"
kill_daemon # in the middle of it
check 'a daemon can start on the full disk' daemon --slots cpu:2 --min-free 1M --payload "$T/steps"
serving=$("$TAPER" status --json | jq .daemon.pid)
check 'daemon.pid does not name the one before' bash -c '[ ! -e "$1" ] || [ "$(cat "$1")" = "$2" ]' - "$TAPER_HOME/daemon.pid" "$serving"
before=$(query 'SELECT count(*) FROM step')
rm "$T/small/ballast" "$T/small/ballast2"
check 'it goes on when there is space' poll 30 bash -c '[ "$("$TAPER" query --csv "SELECT count(*) > $1 FROM step" | tail -1 | tr -d "\r")" = 1 ]' - "$before"
check 'daemon.pid names this one' poll 20 bash -c '[ "$(cat "$1")" = "$2" ]' - "$TAPER_HOME/daemon.pid" "$serving"
check 'the trouble is over' poll 20 bash -c '"$TAPER" status --json | grep -q "\"trouble\": \"\""'
touch "$T/go"
check 'all runs are done' "$TAPER" wait one
check 'every step of every journal is there once' is '0' "SELECT count(*) FROM (SELECT run, max(step) AS last, count(*) AS n FROM step GROUP BY run HAVING n <> last)"
check 'four runs with steps' is 4 'SELECT count(DISTINCT run) FROM step'
check 'the database is sound' is ok 'PRAGMA integrity_check'
"$TAPER" daemon --stop > "$T/log"
check 'no process is left' nothing_left
done_testing
