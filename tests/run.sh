#!/usr/bin/env bash
# Run the tests built under a build folder and the scripts beside this file; the last line counts them.
#   tests/run.sh BUILD [PATTERN]
# A test is a cmocka program or an executable tests/cli/*.sh; both print TAP (a skipped test says why after '# SKIP').
set -u
build=$1 pattern=${2:-}
top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top" || exit 1
export TAPER="$top/$build/taper" TAPER_TEST_FLAVOUR=${build##*/} CMOCKA_MESSAGE_OUTPUT=TAP LC_ALL=C.UTF-8
passed=0 failed=0 skipped=0 broken=()
logs=$build/logs
mkdir -p "$logs"
shopt -s nullglob

# A sanitizer flavour runs what finds faults there: the scripts that only repeat a long training stay out.
scripts=(tests/cli/*.sh)
[ "$TAPER_TEST_FLAVOUR" = release ] || [ "$TAPER_TEST_FLAVOUR" = clang ] || scripts=(tests/cli/*.san.sh)

for test in "$build"/tests/test_* "${scripts[@]}"; do
    [ -x "$test" ] || continue
    name=${test##*/}
    [[ -z $pattern || $name == *"$pattern"* ]] || continue
    begin=$SECONDS
    timeout --kill-after=10 "${TAPER_TEST_TIMEOUT:-900}" "$test" > "$logs/$name.log" 2>&1 < /dev/null
    code=$?
    ok=$(grep -cE '^ok ' "$logs/$name.log") bad=$(grep -cE '^not ok ' "$logs/$name.log")
    skip=$(grep -ciE '^ok .*# *skip' "$logs/$name.log")
    if [ $code -ne 0 ] && [ "$bad" -eq 0 ]; then bad=1; fi
    if [ $code -eq 0 ] && [ "$ok" -eq 0 ] && [ "$bad" -eq 0 ]; then bad=1; echo "not ok - printed no result" >> "$logs/$name.log"; fi
    passed=$((passed + ok - skip)) failed=$((failed + bad)) skipped=$((skipped + skip))
    printf '%-40s %4d passed %3d failed %3d skipped  %4d s\n' "$name" $((ok - skip)) "$bad" "$skip" $((SECONDS - begin))
    grep -iE '^ok .*# *skip' "$logs/$name.log" | sed 's/^/    /'
    if [ "$bad" -gt 0 ]; then broken+=("$name"); echo "    exit status $code"; tail -n 40 "$logs/$name.log" | sed 's/^/    | /'; fi
done
[ ${#broken[@]} -eq 0 ] || printf 'failed: %s\n' "${broken[@]}"
if [ "$skipped" -gt 0 ]; then echo "$passed passed, $failed failed, $skipped skipped"; else echo "$passed passed, $failed failed"; fi
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
