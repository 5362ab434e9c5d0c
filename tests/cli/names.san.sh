#!/usr/bin/env bash
# A run's name: keys without effect on it are not in it, so points of a grid share the runs that they have in common.
. "$(dirname "$0")/../support/tap.bash"
cd "$T" || exit 1
export TAPER_HOME="$T/home" TAPER_CACHE="$T/cache"

cat > ends.yaml <<'Y'
sweep: ends
base:
  {data.size: 100000, model.vocab: 300, model.d_model: 16, model.layers: 1, model.context: 16, train.steps: 40,
   train.batch: 2, sample.tokens: 0}
variants:
  baseline: {taper.sites: none}
  all: {taper.sites: all}
grid:
  gate.end: [40%, 60%, 100%]
  seed: [0, 1]
Y
dry=$("$TAPER" run --dry-run ends.yaml)
same '8 runs; 4 named twice' "$(tail -n 1 <<< "$dry")"
that 'a dry run counts the runs that points share' $?
same 2 "$(awk '$2 == "baseline" { print $1 }' <<< "$dry" | sort -u | wc -l)"
that 'one baseline a seed over three ends of the gate' $?
same 6 "$(awk '$2 == "all" { print $1 }' <<< "$dry" | sort -u | wc -l)"
that 'tapered runs are told apart' $?
same 'sweep ends: 8 runs, 8 new; 4 named twice' "$("$TAPER" submit ends.yaml | head -n 1)"
that 'the sweep is queued with each of them once' $?

keys=(--set data.size=100000 --set model.vocab=300 --set model.d_model=16 --set model.layers=1 --set model.context=16
    --set train.batch=2 --set train.steps=4 --set sample.tokens=0 --set threads=1)
"$TAPER" train "${keys[@]}" --out run > /dev/null 2>&1 &&
    "$TAPER" train "${keys[@]}" --set gate.end=60% --set gate.shape=linear --out run --resume > /dev/null 2>&1
that 'a run is resumed under another value of a key that it does not count' $?
"$TAPER" train "${keys[@]}" --set train.lr=1e-3 --out run --resume > out 2>&1
same "2 taper: run/config.json: train.lr: want 0.001, found 0.0006" "$? $(tail -n 1 out)"
that 'another value of one that counts is refused' $?

losses() { # DIR KEY=VALUE...
    local dir=$1 sets=()
    shift
    for pair; do sets+=(--set "$pair"); done
    "$TAPER" train "${keys[@]}" --set log.every=1 "${sets[@]}" --out "$dir" > /dev/null 2>&1
    grep -o '"ce":[^,]*' "$dir/journal.jsonl"
}
data=$(losses b seed.data=1) weights=$(losses d seed.weights=1) plain=$(losses a)
[ -n "$plain" ] && [ "$plain" != "$data" ] && [ "$plain" != "$weights" ] && [ "$data" != "$weights" ]
that 'seed.data and seed.weights each make another run' $?
same "$data" "$(losses c seed=1 seed.weights=0)" && same "$weights" "$(losses e seed=1 seed.data=0)"
that 'each is the part of seed that it stands for' $?
"$TAPER" help config | grep -A 2 '^gate.end' | grep -q 'counts with taper.sites and taper.method gate, unless gate.shape is constant'
that 'the help says when a key counts' $?

echo "1..$n"
exit $failed
