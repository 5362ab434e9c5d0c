#!/usr/bin/env bash
# SIGKILL to the daemon at chosen calls of its loop: between the end of a run, the directory and the held worker of the
# next, their common transaction, and the letting go. Whatever it dies of, a run's work is done exactly once. KILLS
# (default 2): how often of each kind of call. SEED: of where.
. "$(dirname "$0")/../support/daemon.bash"
if ! strace -qq -o /dev/null true 2> /dev/null; then
    skip 'a daemon killed at chosen calls' 'strace is not here, or may not trace'
    done_testing
fi
kills=${KILLS:-2} seed=${SEED:-$(date +%N)} runs=8 number=0 struck=0
RANDOM=$((10#$seed % 32768))
echo "# SEED=$seed"
work=$T/work
script once << E
echo "\${PWD##*/}" >> "$work"
E
traced() { # CALL N: a daemon that dies in its Nth such call, if it comes so far
    strace -qq -o "$T/trace" -e "trace=$1" -e "inject=$1:signal=KILL:when=$2" \
        "$TAPER" daemon --slots cpu:2 --payload "$T/once" > "$T/daemon.out" 2>&1 &
    tracer=$!
}
died() { ! kill -0 $tracer 2> /dev/null; }
resumed_or_died() { died || { [ -S "$TAPER_HOME/taper.sock" ] && "$TAPER" resume; }; }
all_done() { is 0 "SELECT count(*) FROM run WHERE state <> 'done'"; }
all_done_or_died() { died || all_done; }
once_each() {
    local runs
    runs=$(query "SELECT count(*) FROM run")
    sort "$work" | uniq -c | awk -v want="$runs" '{ n++ } $1 != 1 { print; bad = 1 } END { exit bad || n != want }'
}
more_runs() {
    number=$((number + 1))
    sweep s$number 1
    sed -i "s/range: \[0, 0\]/range: [$((number * runs)), $((number * runs + runs - 1))]/" "$T/s$number.yaml"
    "$TAPER" pause && "$TAPER" submit "$T/s$number.yaml"
}
strike() { # CALL N
    daemon --slots cpu:2 --payload "$T/once" && more_runs && "$TAPER" daemon --stop || return
    traced "$1" "$2"
    poll 20 resumed_or_died || return
    poll 60 all_done_or_died || return
    died || "$TAPER" daemon --stop
    wait $tracer
    struck=$((struck + $(grep -c 'killed by SIGKILL' "$T/trace")))
    daemon --slots cpu:2 --payload "$T/once" || return
    "$TAPER" resume
    poll 60 all_done && "$TAPER" daemon --stop && once_each
}
for call in pwrite64 write mkdir rename clone3 waitid epoll_wait pipe2; do
    for ((k = 0; k < kills; k++)); do
        case $call in
        pwrite64 | write | epoll_wait) at=$((1 + RANDOM % 60)) ;;
        *) at=$((1 + RANDOM % runs)) ;;
        esac
        check "killed in $call number $at, every run is done once" strike $call $at
    done
done
check "most of these killed it" [ $struck -gt $((kills * 4)) ]
check 'nothing is left' poll 20 nothing_left
done_testing
