#!/bin/bash
# tests/fuzz.sh BUILD SECONDS [TARGET...]: each fuzz target for so many seconds, from the seeds in tests/fuzz and from what
# earlier calls found (BUILD/corpus), and then a line for each: executions, how many a second of processor time (which
# does not depend on what else the machine does), inputs that reached new code, and failures, whose inputs lie in
# BUILD/found. Exit status 1: there were some.
set -u
build=$1 seconds=$2
shift 2
[ $# -gt 0 ] || for b in tests/fuzz_*.c; do b=${b##*/fuzz_}; set -- "$@" "${b%.c}"; done
mkdir -p "$build/found"

value() { sed -n "s/^stat::$2: *//p" "$build/$1.log"; }

row() { printf '%-12s %12s %14s %12s %10s\n' "$@"; }

run() { # NAME
  mkdir -p "$build/corpus/$1"
  "$build/tests/fuzz_$1" -max_total_time="$seconds" -max_len=16384 -timeout=20 -rss_limit_mb=4096 -verbosity=0 \
    -print_final_stats=1 -artifact_prefix="$build/found/$1-" "$build/corpus/$1" "tests/fuzz/$1" >"$build/$1.log" 2>&1
}

TIMEFORMAT='%U %S'
failed=0 total=0 spent=0 table=
for name in "$@"; do
  used=$({ time run "$name"; } 2>&1) && failures=0 || failures=1
  executed=$(value "$name" number_of_executed_units)
  rate=$(awk -v n="${executed:-0}" -v t="$used" 'BEGIN { split(t, s, " "); printf "%d", n / (s[1] + s[2] + 1e-9) }')
  spent=$(awk -v s="$spent" -v t="$used" 'BEGIN { split(t, u, " "); print s + u[1] + u[2] }')
  total=$((total + ${executed:-0})) failed=$((failed + failures))
  table+=$(row "$name" "${executed:-?}" "$rate" "$(value "$name" new_units_added)" "$failures")$'\n'
  [ $failures = 0 ] || { echo "fuzz_$name:"; tail -n 40 "$build/$name.log"; }
done
row target executions "a proc. second" "new inputs" failures
printf '%s' "$table"
row all "$total" "$(awk -v n=$total -v s="$spent" 'BEGIN { printf "%d", n / (s + 1e-9) }')" '' "$failed"
[ "$failed" = 0 ]
