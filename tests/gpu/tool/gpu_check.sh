#!/usr/bin/env bash
# make gpu-check: what can only be checked on a device, in five minutes at most. A table on the terminal, and
# BUILD/gpu-check.json. Without a device: 'skipped: no device', never 'passed'.
#   gpu_check.sh BUILD
set -u
build=$1 tool=$1/gpu_tool
timeout 240 "$tool" check --json "$build/gpu-check.json" | tee "$build/gpu-check.log"
code=${PIPESTATUS[0]}
[ "$code" -ne 124 ] || echo "FAILED stopped after 240 seconds"
if grep -q '^skipped: ' "$build/gpu-check.log"; then exit 0; fi

# The sanitizer slows everything by some hundred times: a tiny model, one step of each kind.
sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
if [ -x "$sanitizer" ]; then
    if timeout 60 "$sanitizer" --tool memcheck --error-exitcode 9 "$tool" bench --tiny \
        > "$build/gpu-sanitizer.log" 2>&1; then
        echo "ok     compute-sanitizer on a tiny model's steps and decoding"
    else
        echo "FAILED compute-sanitizer on a tiny model's steps and decoding (see $build/gpu-sanitizer.log)"
        code=1
    fi
else
    echo "skipped: no compute-sanitizer"
fi
timeout 30 "$tool" bench --tiny
exit "$code"
