#!/usr/bin/env bash
# make gpu-check: what can only be checked on a device, in five minutes at most. A table on the terminal, and
# BUILD/gpu-check.json, written row by row. Without a device: 'skipped: no device', never 'passed'.
#   gpu_check.sh BUILD
# GPU_CHECK_SECONDS: of the checks, the sanitizer and the timings.
set -u
build=$1 tool=$1/gpu_tool json=$1/gpu-check.json
read -r for_checks for_sanitizer for_timings <<< "${GPU_CHECK_SECONDS:-190 60 45}"

rm -f "$json"
timeout --kill-after=5 "$for_checks" "$tool" check --json "$json" | tee "$build/gpu-check.log"
code=${PIPESTATUS[0]}
if [ "$code" -eq 0 ] && grep -q '^skipped: ' "$build/gpu-check.log"; then exit 0; fi
if [ "$code" -ne 0 ] && [ ! -e "$json" ]; then
    echo "FAILED the checks ended with status $code before their first row"
    exit 1
fi
if [ "$code" -ge 124 ]; then
    "$tool" row "the checks, which were stopped after $for_checks seconds or died ($code)" failed --json "$json"
fi

# The sanitizer slows everything by some hundred times: a tiny model, a few steps and tokens.
what='compute-sanitizer on a tiny model, its steps and its decoding'
sanitizer=${COMPUTE_SANITIZER:-$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)}
if [ ! -x "$sanitizer" ]; then
    "$tool" row "$what: there is no compute-sanitizer here" skipped --json "$json"
elif timeout --kill-after=5 "$for_sanitizer" "$sanitizer" --tool memcheck --error-exitcode 9 "$tool" check --tiny --steps \
    > "$build/gpu-sanitizer.log" 2>&1; then
    "$tool" row "$what" ok --json "$json"
else
    "$tool" row "$what: see $build/gpu-sanitizer.log" failed --json "$json"
    code=1
fi

timeout --kill-after=5 "$for_timings" "$tool" bench --brief --json "$json" --append || code=1
[ "$code" -eq 0 ] || { echo "FAILED: see the rows above, and $json"; exit 1; }
echo "passed: $json"
