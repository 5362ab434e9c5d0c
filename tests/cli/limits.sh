#!/usr/bin/env bash
# A limited address space (ulimit -v), which OpenBLAS would try to map its buffers into for ever: the program says so and
# ends. (Not under sanitizers, which want terabytes of it.)
. "$(dirname "$0")/../support/tap.bash"
export TAPER_CACHE=$T/cache
cat > "$T/tiny.yaml" << 'E'
{model.size: demo, model.d_model: 16, model.layers: 1, model.heads: 1, model.context: 16, model.vocab: 300,
 data.size: 20000, train.steps: 3, train.batch: 2, sample.tokens: 0}
E
within() { # KIB STATUS TEXT COMMAND...
    local kib=$1 status=$2 text=$3
    shift 3
    refuses "$status" "$text" bash -c 'ulimit -v "$0" && exec timeout -s KILL 20 "$@"' "$kib" "$@"
}
for mib in 24 64 200 280; do
    begun=$(date +%s%N)
    check "$mib MiB are too few to train" within $((mib * 1024)) 5 "the address space is limited to $mib MiB (ulimit -v)" "$TAPER" train "$T/tiny.yaml" --out "$T/run"
    check 'and it does not spin over that' test $((($(date +%s%N) - begun) / 1000000)) -lt 5000
    rm -rf "$T/run"
done
# The buffers of the second thread are asked for at the start, not in the middle: it ends or it trains.
for mib in 310 340 370 400 430 460; do
    bash -c 'ulimit -v "$0" && exec timeout -s KILL 20 "$@"' $((mib * 1024)) "$TAPER" train "$T/tiny.yaml" --set threads=2 --out "$T/run" > "$T/out" 2>&1
    code=$?
    check "$mib MiB: an end, whatever it is" bash -c '[ "$1" = 0 ] || [ "$1" = 5 ]' - "$code"
    rm -rf "$T/run"
done
check 'with enough it trains' bash -c 'ulimit -v 4000000 && exec "$@"' - "$TAPER" train "$T/tiny.yaml" --set threads=2 --out "$T/run"
done_testing
