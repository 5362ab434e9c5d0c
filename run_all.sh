#!/usr/bin/env bash
# From a bare Debian machine to the paper's tables and figures, made from runs trained here.
#   ./run_all.sh        the demo sweep on this machine's cores, then every table, figure and the report: results/out
#   ./run_all.sh test   set up, build, run every test (after ./setup.sh test also those of clang, valgrind, Slurm)
#   ./run_all.sh full   the paper's sweeps, for GPUs
# Run again it reuses what is done; interrupted, it goes on. TAPER_HOME says where the runs live (results/home), TAPER_OUT
# where the results go (results/out), TAPER_SLOTS what runs at once (cpu:N with N the processors).
set -eu
cd "$(dirname "$0")"

build() {
    ./setup.sh
    echo "run_all.sh: building"
    make -s -j"$(nproc)" all
}

# The daemon that this script started ends with it, and its workers save where they are.
stop_daemon() {
    ./taper daemon --stop --workers > /dev/null 2>&1 || true
}

# Submit the sweeps and wait until every run of them has ended.
sweep() {
    export TAPER_HOME=${TAPER_HOME:-$PWD/results/home}
    if ./taper daemon --detach --slots "${TAPER_SLOTS:-cpu:$(nproc)}"; then
        trap stop_daemon EXIT
        trap 'exit 130' INT TERM
    else
        echo "run_all.sh: using the daemon that runs already"
    fi
    local names=() spec
    for spec in "$@"; do
        ./taper submit "$spec"
        names+=("$(sed -n 's/^sweep: *//p' "$spec")")
    done
    ./taper retry "${names[@]}" > /dev/null 2>&1 || true # what failed the last time gets another chance
    echo "run_all.sh: training; ./taper status --watch --home '$TAPER_HOME' shows more"
    ./taper wait "${names[@]}" || echo "run_all.sh: not every run is done; the tables say which"
}

results() {
    local out=${TAPER_OUT:-results/out}
    mkdir -p "$out"
    ./taper table all --format md --out "$out"
    ./taper table all --format csv --out "$out"
    ./taper table all --format tex --out "$out"
    ./taper plot all --format svg --out "$out"
    ./taper plot all --format png --out "$out"
    ./taper plot all --format pdf --out "$out"
    ./taper report --out "$out/report.html"
    echo
    ./taper table table-tinystories --sweep "$1"
    echo
    echo "run_all.sh: tables and figures are in $out, the report is $out/report.html"
}

case ${1:-demo} in
test)
    build
    flavours=(release asan ubsan tsan)
    for flavour in "${flavours[@]}"; do
        echo "run_all.sh: building the tests ($flavour)"
        make -s -j"$(nproc)" FLAVOUR="$flavour" tests
    done
    tests/run.sh "${flavours[@]/#/build/}"
    ;;
demo)
    build
    sweep experiments/demo.yaml
    results demo
    ;;
full)
    build
    TAPER_SLOTS=${TAPER_SLOTS:-gpu:1}
    sweep experiments/tinystories.yaml experiments/ablation-gate.yaml experiments/ablation-lambda.yaml experiments/decode.yaml
    results tinystories
    ;;
*)
    echo "usage: ./run_all.sh [test|full]" >&2
    exit 2
    ;;
esac
