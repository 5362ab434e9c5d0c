# Sourced by the scripts that drive a daemon: a private home, TAP, polling, and proof that no process is left.
# Every process started from here carries TAPER_TEST in its environment; the shell itself does not, as it is set later.
. "$(dirname "${BASH_SOURCE[0]}")/tap.bash"
export TAPER_HOME=$T/home TAPER_CACHE=$T/cache TAPER_TEST=$T

left() { # pids of what was started from here and still is there, zombies aside
    local pid
    for pid in $(env -u TAPER_TEST grep -lzx "TAPER_TEST=$T" /proc/[0-9]*/environ 2> /dev/null | cut -d/ -f3); do
        grep -qs '^State:.Z' "/proc/$pid/status" || [ ! -e "/proc/$pid" ] || echo "$pid"
    done
}
nothing_left() { [ -z "$(left)" ]; }
end_all() {
    local pid
    for _ in 1 2 3 4 5; do
        for pid in $(left); do kill -KILL "$pid" 2> /dev/null; done
        nothing_left && break
    done
}
trap 'end_all; rm -rf "$T"' EXIT
more_of_failure() { tail -n 30 "$TAPER_HOME/daemon.log" 2> /dev/null | sed 's/^/#   daemon: /'; }
poll() { # SECONDS COMMAND...: until it succeeds
    local until=$(($(date +%s%N) + $1 * 1000000000))
    shift
    until "$@" > /dev/null 2>&1; do
        [ "$(date +%s%N)" -lt $until ] || { echo "not within the time: $*"; return 1; }
        read -rt 0.03 <> <(:) || :
    done
}
script() { # NAME: the text on standard input becomes an executable
    { echo '#!/usr/bin/env bash'; cat; } > "$T/$1"
    chmod +x "$T/$1"
}
# Smallest runs: a payload does not train, but the configuration has to be right.
sweep() { # NAME SEEDS [YAML]: writes $T/NAME.yaml
    cat > "$T/$1.yaml" << EOF
sweep: $1
base: {model.size: demo, model.d_model: 16, model.layers: 1, model.heads: 1, model.context: 16, model.vocab: 300,
       data.size: 20000, train.steps: 60, train.batch: 2, log.every: 1, checkpoint.every: 5, sample.tokens: 0}
grid: {seed: {range: [0, $(($2 - 1))]}}
${3:-}
EOF
}
query() { "$TAPER" query --csv "$1" | tail -n +2 | tr -d '\r'; }
is() { # TEXT SQL
    local got
    got=$(query "$2")
    [ "$got" = "$1" ] && return
    echo "want '$1', got '$got' of: $2"
    return 1
}
daemon() { "$TAPER" daemon --detach --retry-delay 0.05 --grace 1 "$@" > "$T/daemon.out" 2>&1 || { cat "$T/daemon.out"; return 1; }; }
daemon_pid() { cat "$TAPER_HOME/daemon.pid"; }
kill_daemon() { # and whatever else is named, and wait until the daemon is gone: what it held is free only then
    local pid
    pid=$(daemon_pid)
    kill -KILL "$pid" "$@"
    poll 20 gone "$pid"
}
gone() { # a zombie whose other threads are not yet back from the disk still holds what it held
    local tasks
    ! kill -0 "$1" 2> /dev/null && return
    tasks=("/proc/$1/task"/*)
    grep -qs '^State:.Z' "/proc/$1/status" && [ ${#tasks[@]} -le 1 ]
}
