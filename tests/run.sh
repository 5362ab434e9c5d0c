#!/usr/bin/env bash
# Run the tests of one or more builds, as many at once as there are processors; the last line counts them all.
#   tests/run.sh [-p PATTERN] BUILD...
# A test is a cmocka program BUILD/tests/test_* or a script tests/cli/*.sh; both print TAP (a skipped test says why after
# '# SKIP'). A sanitizer's build runs the programs and the scripts named *.san.sh.
set -u
pattern=
if [ "${1:-}" = -p ]; then
    pattern=$2
    shift 2
fi
cd "$(dirname "$0")/.." || exit 1
export CMOCKA_MESSAGE_OUTPUT=TAP LC_ALL=C.UTF-8
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1} UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
export TSAN_OPTIONS=${TSAN_OPTIONS:-halt_on_error=1 ignore_noninstrumented_modules=1}
[ -n "${OMP_WAIT_POLICY:-}" ] || export OMP_WAIT_POLICY=passive # several tests share the processors

# One test: its output to LOG, its exit status and seconds after it.
run_one() {
    local build=$1 test=$2 log=$3 begin=$SECONDS
    if [[ $test == absent/* ]]; then
        echo "ok 1 - ${test#*/} # SKIP no cmocka here (./setup.sh installs it)" > "$log"
        echo '0 0' > "$log.status"
        return
    fi
    TAPER="$PWD/$build/taper" TAPER_TEST_FLAVOUR=${build##*/} \
        timeout --kill-after=10 "${TAPER_TEST_TIMEOUT:-900}" "$test" > "$log" 2>&1 < /dev/null
    echo "$? $((SECONDS - begin))" > "$log.status"
}
export -f run_one

add() { # the test $test, called $name, of the build $build
    printf '%s\0%s\0%s\0' "$build" "$test" "$build/logs/$name.log" >> "$list"
}
list=$(mktemp)
trap 'rm -f "$list"' EXIT
shopt -s nullglob
for build in "$@"; do
    mkdir -p "$build/logs"
    rm -f "$build"/logs/*
    case ${build##*/} in
    asan | ubsan | tsan) scripts=(tests/cli/*.san.sh) ;;
    clang) scripts=() ;; # the same program again: its own tests are enough
    *) scripts=(tests/cli/*.sh) ;;
    esac
    # A program belongs to a build only while its source is there: an old one may still lie in the folder.
    for test in "$build"/tests/test_* "${scripts[@]}"; do
        name=${test##*/}
        [[ $name == *.* && $name != *.sh ]] && continue
        [[ -x $test && ( $name == *.sh || -e tests/$name.c || -e tests/$name.cpp ) ]] || continue
        [[ -z $pattern || $name == *"$pattern"* ]] || continue
        add
    done
    pkg-config --exists cmocka && continue
    for test in tests/test_*.c; do
        name=$(basename "$test" .c) test=absent/$(basename "$test" .c)
        [[ -x $build/tests/$name || ( -n $pattern && $name != *"$pattern"* ) ]] || add
    done
done
xargs -0 -r -n 3 -P "${TAPER_TEST_JOBS:-$(nproc)}" bash -c 'run_one "$0" "$1" "$2"' < "$list"

passed=0 failed=0 skipped=0 broken=()
while IFS= read -r -d '' build && IFS= read -r -d '' test && IFS= read -r -d '' log; do
    name=${build##*/}/${test##*/}
    read -r code seconds < "$log.status" || { code=1 seconds=0; }
    # cmocka writes 'not ok 1 # SKIP name' for a skipped test, and exits with 0 all the same.
    skip=$(grep -ciE '^(not )?ok .*# *skip' "$log")
    ok=$(grep -E '^ok ' "$log" | grep -cviE '# *skip') bad=$(grep -E '^not ok ' "$log" | grep -cviE '# *skip')
    [ "$code" -eq 0 ] || [ "$bad" -gt 0 ] || bad=1
    if [ "$code" -eq 0 ] && [ $((ok + bad + skip)) -eq 0 ]; then
        bad=1
        echo 'not ok - the test printed no result' >> "$log"
    fi
    passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + skip))
    printf '%-44s %4d passed %3d failed %3d skipped  %4d s\n' "$name" "$ok" "$bad" "$skip" "$seconds"
    [ "$skip" -eq 0 ] || grep -iE '^(skipped: |ok .*# *skip)' "$log" | sed 's/^/    /'
    if [ "$bad" -gt 0 ]; then
        broken+=("$name")
        echo "    exit status $code (124: ran too long)"
        cut -c1-400 "$log" | grep -vE '^ok ' | tail -n 40 | sed 's/^/    | /'
    fi
done < "$list"
[ ${#broken[@]} -eq 0 ] || printf 'failed: %s\n' "${broken[@]}"
if [ "$skipped" -gt 0 ]; then
    echo "$passed passed, $failed failed, $skipped skipped"
else
    echo "$passed passed, $failed failed"
fi
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
