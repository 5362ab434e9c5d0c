#!/usr/bin/env bash
# The second compiler: clang reads every C file of the program and of the tests without a warning.
set -u
cd "$(dirname "$0")/../.." || exit 1
if ! command -v clang-14 > /dev/null; then
    echo 'ok 1 - clang 14 without a warning # SKIP skipped: no clang-14'
    exit 0
fi
flags=$(make -s FLAVOUR=clang print-flags) || { echo 'not ok 1 - make print-flags'; exit 1; }
make -s FLAVOUR=clang build/clang/generated/embedded_files.inc || { echo 'not ok 1 - the list of embedded files'; exit 1; }
flags+=' -Ibuild/clang/generated'
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# gpu/ needs headers of CUDA, which may be missing: those files are built by the tests that can.
git ls-files 'core/*.c' 'core/**/*.c' 'harness/*.c' 'tests/test_*.c' 'tests/support/*.c' | grep -vE 'test_gpu|version\.c' | sort -u |
    xargs -P "$(nproc)" -n 12 clang-14 $flags -Werror -fsyntax-only > "$log" 2>&1
if [ $? -eq 0 ]; then
    echo 'ok 1 - clang 14 without a warning'
else
    echo 'not ok 1 - clang 14 without a warning'
    head -n 40 "$log" | sed 's/^/# /'
fi
echo 1..1
