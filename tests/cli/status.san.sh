#!/usr/bin/env bash
# What status and ps show of workers at work, of one that stands still, and of one whose run directory is taken away.
. "$(dirname "$0")/../support/daemon.bash"

shows() { "$TAPER" status | grep -qE -- "$1" || { "$TAPER" status; return 1; }; }
hides() { ! "$TAPER" status | grep -E -- "$1"; }
long() { # NAME SEED: one run that goes on until it is told to stop
    sweep "$1" 1 'run: {retries: 0}'
    sed -i "s/train.steps: 60/train.steps: 1000000/; s/checkpoint.every: 5/checkpoint.every: 50/; s/\[0, 0\]/[$2, $2]/" "$T/$1.yaml"
}
name_of() { cat "/proc/$1/comm"; }
rows() { [ "$(wc -l < "$journal" 2> /dev/null)" -gt "$1" ]; }

long steady 1
export AWS_SECRET_ACCESS_KEY=hidden SLURM_JWT=hidden MY_DATA=seen TAPER_PASS_ENV=OTHER,MY_DATA OMP_DYNAMIC=false
check 'a daemon' daemon --slots cpu:1 --slots gpu:0
check 'it is called taper' same taper "$(name_of "$(daemon_pid)")"
check 'a run' "$TAPER" submit "$T/steady.yaml"
run=$(query 'SELECT id FROM run')
journal=$TAPER_HOME/runs/$run/journal.jsonl
check 'it trains' poll 60 rows 20
check 'its time left is known' poll 20 shows 'step [1-9][0-9]*/1000000  loss [0-9.]+  left [0-9]'
supervisor=$(query 'SELECT pid FROM attempt')
worker=$(cat "/proc/$supervisor/task/$supervisor/children")
worker=${worker// /}
check 'the process around it has a name' same taper-watch "$(name_of "$supervisor")"
check 'so has the training' same taper-train "$(name_of "$worker")"
environment() { tr '\0' '\n' < "/proc/$1/environ"; }
for pid in "$supervisor" "$worker"; do
    check 'secrets of the daemon are not passed on' bash -c '! grep -q hidden "/proc/$1/environ"' - "$pid"
    check 'what it needs is' same "$(printf '%s\n' "HOME=$HOME" MY_DATA=seen OMP_DYNAMIC=false "PATH=$PATH" "TAPER_HOME=$TAPER_HOME")" \
        "$(environment "$pid" | grep -E '^(HOME|PATH|MY_DATA|OMP_DYNAMIC|TAPER_HOME)=' | LC_ALL=C sort)"
done
long next 2
check 'another waits' "$TAPER" submit "$T/next.yaml"
check 'for its slot' shows '1 run of next waits for 1 free CPU slot'

kill -STOP "$worker"
quiet() { # as if it had stood still for that many seconds
    touch -d "-$1 seconds" "$journal"
    sqlite3 "$TAPER_HOME/taper.db" "PRAGMA busy_timeout = 5000; UPDATE run SET started = (unixepoch() - $1) * 1000000 WHERE id = '$run'" > "$T/log"
}
quiet 10
check 'a pause of seconds is none' shows 'loss [0-9.]+  left [0-9]'
quiet 125
check 'one of minutes is said' shows 'loss [0-9.]+  no step for 2m'
check 'and no time left is' hides 'left'
check 'in JSON too' bash -c '"$TAPER" status --json | jq -e ".live[0] | .stalled and .quiet > 100 and .seconds_left == null"'
kill -CONT "$worker"
check 'until it moves again' poll 20 shows 'loss [0-9.]+  left [0-9]'

# Without its directory it fails sooner or later, and that is why.
take_away() { rm -rf "${TAPER_HOME:?}/runs/$run" && [ ! -e "$TAPER_HOME/runs/$run" ]; } # it may be writing there
check 'its directory is taken away' poll 20 take_away
check 'it ends' poll 60 is failed "SELECT state FROM run WHERE id = '$run'"
check 'the reason is that its directory is gone' is "the run directory is gone: $TAPER_HOME/runs/$run" "SELECT text FROM attempt WHERE run = '$run'"
check 'the other runs' poll 60 is running "SELECT state FROM run WHERE id <> '$run'"
check 'the daemon goes, and the worker with it' "$TAPER" daemon --stop --workers
check 'who is queued waits for a daemon' shows "what is queued waits for one \('taper daemon'\)"
check 'not for a slot' hides 'waits? for 1 free'

# Numbers that are too long for their place.
sqlite3 "$TAPER_HOME/taper.db" "UPDATE run SET state = 'done', val_loss = 5.37e23"
check 'a huge loss is readable' bash -c '"$TAPER" table runs | grep -q "| *5.4e23 |"'
check 'no process is left' poll 10 nothing_left
done_testing
