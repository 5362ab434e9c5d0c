# What the scripts share that try verbs on a model they have trained: a private folder $T, TAP, a tiny training.
. "$(dirname "${BASH_SOURCE[0]}")/tap.bash"
export TAPER_CACHE=$T/cache
train() { # NAME KEY=VALUE...: a tiny model in $T/NAME; TRAIN_STEPS and SAMPLE_TOKENS are the script's
    local name=$1 sets=() pair
    shift
    for pair in model.d_model=16 model.layers=2 model.heads=2 model.context=16 model.vocab=300 \
        data.size=60000 train.steps=$TRAIN_STEPS \
        train.batch=4 train.lr=3e-3 eval.every=0 sample.tokens=$SAMPLE_TOKENS "$@"; do sets+=(--set "$pair"); done
    "$TAPER" train "${sets[@]}" --out "$T/$name"
}
