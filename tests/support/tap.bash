# Sourced by the scripts of tests/cli: a private folder $T that goes with the script, and results as TAP.
set -u
T=$(mktemp -d /tmp/tp.XXXXXX)
trap 'rm -rf "$T"' EXIT
n=0 failed=0

more_of_failure() { :; } # what a script prints besides the output of a check that failed
check() { # NAME COMMAND...: that it succeeds
    local name=$1
    shift
    n=$((n + 1))
    if "$@" > "$T/check.log" 2>&1; then
        echo "ok $n - $name"
    else
        echo "not ok $n - $name"
        failed=1
        sed 's/^/# /' "$T/check.log"
        more_of_failure
    fi
}
that() { # NAME STATUS [WANTED]: that the status of the command before is 0, or WANTED
    check "$1" test "$2" -eq "${3:-0}"
}
skip() { # NAME WHY
    n=$((n + 1))
    echo "ok $n - $1 # SKIP $2"
}
done_testing() {
    echo "1..$n"
    exit $failed
}
same() { # WANTED GOT
    [ "$1" = "$2" ] || { printf 'wanted: %s\ngot:    %s\n' "$1" "$2"; return 1; }
}
refuses() { # STATUS TEXT COMMAND...: ends with STATUS and says TEXT on standard error
    local status=$1 text=$2 got
    shift 2
    "$@" > "$T/out" 2> "$T/err"
    got=$?
    [ $got -eq "$status" ] && grep -qF -- "$text" "$T/err" && return
    echo "status $got, want $status and '$text'"
    cat "$T/out" "$T/err"
    return 1
}
refuses_silently() { # the same, and nothing on standard output
    refuses "$@" && [ ! -s "$T/out" ]
}
