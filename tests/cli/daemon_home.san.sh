#!/usr/bin/env bash
# Homes: stale files, odd and deep paths, moved while workers run, read-only, odd time zones, a clock that is set back.
. "$(dirname "$0")/../support/daemon.bash"
script ok <<< 'exit 0'
script waits << 'E'
while [ ! -e go ]; do read -rt 0.1 <> <(:); done
exit 0
E
script once_failing <<< '[ "$1" -ge 2 ]'
fill() { # HOME: a sweep of two, run by a daemon in that home
    export TAPER_HOME=$1
    "$TAPER" submit "$T/one.yaml" && daemon --slots cpu:2 --payload "$T/ok" && "$TAPER" wait one && "$TAPER" daemon --stop
}
sweep one 2
check 'a path with spaces and letters of other scripts' fill "$T/a home/é 日本 'q\"/%41#?"
check 'its runs are done' is 2 "SELECT count(*) FROM run WHERE state = 'done'"
deep=$T
while [ ${#deep} -lt 400 ]; do deep=$deep/a-directory-with-a-rather-long-name; done
check 'a path longer than a socket address may be' fill "$deep"
export TAPER_HOME=$T/home

# ---- what a killed daemon left does not block the next
mkdir -p "$TAPER_HOME"
echo 999999 > "$TAPER_HOME/daemon.pid"
echo 1 > "$TAPER_HOME/taper.lock"
echo junk > "$TAPER_HOME/taper.sock"
check 'stale pid file, lock file and a file for a socket' fill "$TAPER_HOME"
# A child that a killed daemon was just starting has its lock, for a moment.
heir() {
    local pid
    true & pid=$!
    wait $pid
    (echo "$pid" >&9 && flock -x 9 && touch "$T/held" && while [ ! -e "$T/let_go" ]; do read -rt 0.02 <> <(:); done) 9> "$TAPER_HOME/taper.lock" &
    poll 10 test -e "$T/held"
}
check "a killed daemon's child holds its lock" heir
(read -rt 0.5 <> <(:); touch "$T/let_go") &
check 'its end is waited for' daemon --slots cpu:1
check '... and the daemon ends' "$TAPER" daemon --stop
daemon --slots cpu:1 --payload "$T/ok"
kill_daemon
check 'a socket that nobody listens to' test -S "$TAPER_HOME/taper.sock"
check 'the verbs say that no daemon is there' refuses 1 'no daemon' "$TAPER" daemon --stop
check 'a daemon starts over it' daemon --slots cpu:1 --payload "$T/ok"
check 'a second one is refused' refuses 1 'in use by process' "$TAPER" daemon --detach
check 'so is a sweep in the foreground' refuses 1 'in use by process' "$TAPER" run "$T/one.yaml"
check 'the first still answers' bash -c '"$TAPER" status | grep -q "daemon: process"'
"$TAPER" daemon --stop > "$T/log"
start_two() { # two at once: exactly one of them serves
    local started=0
    "$TAPER" daemon --detach --slots cpu:1 --payload "$T/ok" > "$T/first" 2>&1 &
    local first=$!
    "$TAPER" daemon --detach --slots cpu:1 --payload "$T/ok" > "$T/second" 2>&1 && started=$((started + 1))
    wait $first && started=$((started + 1))
    [ $started -eq 1 ] || { cat "$T/first" "$T/second"; return 1; }
}
check 'of two that start at once one serves' start_two
"$TAPER" daemon --stop > "$T/log"

# ---- moved while a worker runs
daemon --slots cpu:1 --payload "$T/waits"
sweep two 1
sed -i 's/train.steps: 60/train.steps: 61/' "$T/two.yaml"
"$TAPER" submit "$T/two.yaml" > "$T/log"
check 'a run is up' poll 20 is running "SELECT state FROM run WHERE sweep = 'two'"
"$TAPER" daemon --stop > "$T/log"
mv "$TAPER_HOME" "$T/elsewhere"
export TAPER_HOME=$T/elsewhere
check 'a daemon in the home under its new name' daemon --slots cpu:1 --payload "$T/waits"
touch "$TAPER_HOME/runs/$(query "SELECT id FROM run WHERE sweep = 'two'")/go"
check 'the worker went on and its end is seen' "$TAPER" wait two
check 'in one attempt' is 1 "SELECT attempts FROM run WHERE sweep = 'two'"
"$TAPER" daemon --stop > "$T/log"

# ---- a home that cannot be written
frozen() { # COMMAND...: as a user who may not write there
    if [ "$(id -u)" = 0 ]; then
        setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
    else
        "$@"
    fi
}
chmod -R a+rX "$T" && chmod -R a-w "$TAPER_HOME"
cp "$TAPER" "$T/taper" 2> /dev/null && chmod 755 "$T/taper"
run=$(query "SELECT id FROM run WHERE sweep = 'two'")
if frozen "$T/taper" version > /dev/null 2>&1; then
    check 'status reads a read-only home' bash -c '[ "$1" -gt 0 ]' - "$(frozen "$T/taper" status | grep -c 'two .*1 done')"
    check 'show reads one' bash -c '[ "$1" -gt 0 ]' - "$(frozen "$T/taper" show "$run" | grep -c '^state .*done')"
    check 'a daemon is refused there' refuses 1 'elsewhere' frozen "$T/taper" daemon
else
    skip 'a read-only home' 'another user cannot run the program here'
fi
chmod -R u+w "$TAPER_HOME"

# ---- time
utc=$(query "SELECT started FROM run WHERE id = '$run'")
shown() { TZ=$1 "$TAPER" show "$run" | awk '$1 == "started" {print $2, $3; exit}'; }
check 'times are shown in the local time of an odd zone' \
    [ "$(shown XXX-05:45)" = "$(TZ=XXX-05:45 date -d "@$((utc / 1000000))" '+%Y-%m-%d %H:%M:%S')" ]
check 'and of another' [ "$(shown YYY12:30)" = "$(TZ=YYY12:30 date -d "@$((utc / 1000000))" '+%Y-%m-%d %H:%M:%S')" ]
check 'and stored in UTC' bash -c '[ $(($(date +%s) - $1 / 1000000)) -lt 600 ] && [ $(($(date +%s) - $1 / 1000000)) -ge 0 ]' - "$utc"
cat > "$T/clock.c" << 'E'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
/* The wall clock, set by as many seconds as the file says that CLOCK_FILE names. */
int clock_gettime(clockid_t clock, struct timespec *t)
{
    static int (*next)(clockid_t, struct timespec *);
    if (!next)
        next = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = next(clock, t);
    FILE *in = clock == CLOCK_REALTIME ? fopen(getenv("CLOCK_FILE"), "r") : NULL;
    long shift = 0;
    if (in && fscanf(in, "%ld", &shift) == 1)
        t->tv_sec += shift;
    if (in)
        fclose(in);
    return result;
}
E
case ${TAPER_TEST_FLAVOUR:-release} in
release | clang)
    cc -shared -fPIC -D_GNU_SOURCE -o "$T/clock.so" "$T/clock.c" -ldl
    export CLOCK_FILE=$T/shift
    echo 0 > "$CLOCK_FILE"
    LD_PRELOAD=$T/clock.so "$TAPER" daemon --detach --slots cpu:1 --retry-delay 1 --payload "$T/once_failing" > "$T/log" 2>&1
    sweep three 2 'run: {retries: 1}'
    sed -i 's/train.steps: 60/train.steps: 62/' "$T/three.yaml"
    "$TAPER" submit "$T/three.yaml" > "$T/log"
    check 'first attempts fail, and wait for their second' poll 20 is 2 "SELECT count(*) FROM attempt JOIN run ON run = id WHERE sweep = 'three' AND cause = 'failed'"
    echo -1800 > "$CLOCK_FILE" # half an hour back, in the middle of the delay
    check 'with the clock set back they still get it' timeout 20 "$TAPER" wait three
    "$TAPER" daemon --stop > "$T/log"
    ;;
*) skip 'a clock set back' 'no preloading under a sanitizer' ;;
esac
check 'no process is left' nothing_left
done_testing
