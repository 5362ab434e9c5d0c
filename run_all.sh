#!/usr/bin/env bash
# From a bare Debian machine to the paper's tables and figures, made from runs trained here.
#   ./run_all.sh        the demo sweep on this machine's cores, then every table and figure: results/out
#   ./run_all.sh test   set up, build, run every test
#   ./run_all.sh full   the paper's sweeps, for GPUs
set -eu
cd "$(dirname "$0")"

build() {
    ./setup.sh
    make -s -j"$(nproc)" all
}

case ${1:-demo} in
test)
    build
    make -s -j"$(nproc)" tests
    tests/run.sh build/release
    ;;
demo | full)
    echo "run_all.sh: '${1:-demo}' wants the sweeps, which this version does not have yet" >&2
    exit 1
    ;;
*)
    echo "usage: ./run_all.sh [test|full]" >&2
    exit 2
    ;;
esac
