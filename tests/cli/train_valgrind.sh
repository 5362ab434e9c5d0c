#!/usr/bin/env bash
# A whole training run, from text to samples, under valgrind: no leak, no invalid access.
set -u
if ! command -v valgrind > /dev/null; then
    echo "ok 1 - training under valgrind # SKIP skipped: no valgrind"
    exit 0
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export TAPER_CACHE=$folder/cache OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
# OpenBLAS is told of a core whose instructions valgrind knows.
OPENBLAS_CORETYPE=Haswell valgrind --quiet --leak-check=full --errors-for-leak-kinds=definite,indirect --error-exitcode=9 \
    "$TAPER" train --out "$folder/run" --set model.d_model=16 --set model.layers=1 --set model.heads=2 --set model.context=8 \
    --set model.vocab=270 --set data.size=20000 --set taper.sites=all --set aux.lambda=0.1 --set gate.warmup=2 \
    --set gate.end=4 --set train.steps=6 --set train.batch=2 --set threads=1 --set sample.tokens=2 > "$folder/log" 2>&1
code=$?
if [ $code -eq 0 ]; then
    echo "ok 1 - training under valgrind"
else
    echo "not ok 1 - training under valgrind"
    echo "# exit status $code"
    head -n 60 "$folder/log" | sed 's/^/# /'
fi
echo 1..1
