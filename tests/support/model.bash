# What the scripts share that try verbs on a model they have trained: a private folder $T, TAP, a tiny training.
set -u
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
export TAPER_CACHE=$T/cache
n=0 failed=0
check() { # NAME COMMAND...
    local name=$1
    shift
    n=$((n + 1))
    if "$@" > "$T/log" 2>&1; then
        echo "ok $n - $name"
    else
        echo "not ok $n - $name"
        failed=1
        sed 's/^/# /' "$T/log"
    fi
}
refuses() { # STATUS TEXT COMMAND...
    local status=$1 text=$2
    shift 2
    "$@" > "$T/out" 2> "$T/err"
    local got=$?
    [ $got -eq "$status" ] && grep -qF -- "$text" "$T/err" && [ ! -s "$T/out" ] && return
    echo "status $got, want $status and '$text'"
    cat "$T/err"
    return 1
}
train() { # NAME KEY=VALUE...: a tiny model in $T/NAME; TRAIN_STEPS and SAMPLE_TOKENS are the script's
    local name=$1 sets=() pair
    shift
    for pair in model.d_model=16 model.layers=2 model.heads=2 model.context=16 model.vocab=300 \
        data.size=60000 train.steps=$TRAIN_STEPS \
        train.batch=4 train.lr=3e-3 eval.every=0 sample.tokens=$SAMPLE_TOKENS "$@"; do sets+=(--set "$pair"); done
    "$TAPER" train "${sets[@]}" --out "$T/$name"
}
