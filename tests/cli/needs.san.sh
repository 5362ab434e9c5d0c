#!/usr/bin/env bash
# init.run: runs of a sweep that begin with what others end with. They wait, are named by what they wait for, and say so
# when it can never come.
. "$(dirname "$0")/../support/tap.bash"
export TAPER_CACHE=$T/cache TAPER_HOME=$T/home
cat > "$T/sweep.yaml" << 'YAML'
sweep: stages
base: {model.d_model: 16, model.layers: 2, model.heads: 2, model.context: 16, model.vocab: 300, model.norm: layernorm,
       model.bias: true, model.mlp: gelu_tanh, data.size: 60000, train.steps: 12, train.batch: 4, sample.tokens: 0,
       eval.every: 0, log.every: 1, train.lr: 3e-3}
variants:
  tuned:    {init.run: {variant: pretrain, seed: same}, data.seed: 2, taper.sites: all, taper.method: fakeln,
             fakeln.mlp_start: 2, fakeln.mlp_gap: 1}
  pretrain: {train.steps: 20}
  again:    {init.run: tuned.plain, data.seed: 3, init.optimizer: keep}
  tuned.plain: {init.run: pretrain, data.seed: 2}
grid: {seed: [0, 1]}
YAML
query() { sqlite3 "$TAPER_HOME/taper.db" "PRAGMA busy_timeout = 5000; $1" | tail -n +2; }
dry() { "$TAPER" run --dry-run --json "$1" | grep -o '"run":"[0-9a-f]*","variant":"[^"]*"' | sort; }

dry "$T/sweep.yaml" > "$T/a"
check 'eight runs of eight names' [ "$(sort -u "$T/a" | wc -l)" -eq 8 ]
stages() { "$TAPER" run --dry-run "$T/sweep.yaml" | awk 'NR > 2 { $1 = ""; print }' | sed -nE 's/^ (.*[a-z]) +[01] .*/\1/p' | tr -d ' ' | paste -sd' '; }
check 'the dry run shows them as a tree' same 'pretrain └─tuned └─tuned.plain └─again pretrain └─tuned └─tuned.plain └─again' "$(stages)"
check '... and as JSON with the names' same "$(sed -n 's/"run":\("[^"]*"\),"variant":"pretrain"/\1 2/p' "$T/a" | sort)" \
    "$("$TAPER" run --dry-run --json "$T/sweep.yaml" | jq -r '.[] | select(.["init.run"] == "pretrain") | "\"" + .needs + "\""' |
        sort | uniq -c | awk '{ print $2, $1 }')"
check '... null where nothing is needed' same 2 "$("$TAPER" run --dry-run --json "$T/sweep.yaml" | jq '.[] | select(.needs == null) | .variant' | grep -c pretrain)"
"$TAPER" submit "$T/sweep.yaml" > "$T/out" 2>&1
check 'the status says what waits for what' bash -c '"$TAPER" status > "$1/s" &&
    grep -qF "4 runs of stages wait for 2 runs of variant pretrain, which are needed first and are queued" "$1/s" &&
    grep -qF "2 runs of stages wait for 2 runs of variant tuned.plain, which are needed first" "$1/s"' - "$T"
check 'run' "$TAPER" run --slots cpu:2 "$T/sweep.yaml"
query "SELECT '\"run\":\"' || id || '\",\"variant\":\"' || variant || '\"' FROM run" | sort > "$T/b"
check 'under the names that were said' cmp "$T/a" "$T/b"
check 'all are done' same 8 "$(query "SELECT count(*) FROM run WHERE state = 'done'")"
check 'each knows what it needed' same 'again tuned.plain,again tuned.plain,tuned pretrain,tuned pretrain,tuned.plain pretrain,tuned.plain pretrain' \
    "$(query "SELECT r.variant || ' ' || n.variant FROM run r JOIN run n ON n.id = r.needs AND n.seed = r.seed ORDER BY 1" | paste -sd,)"
check 'and began after it was done' same 0 \
    "$(query "SELECT count(*) FROM run r JOIN run n ON n.id = r.needs WHERE r.started < n.ended")"
# The first loss of what goes on is near the last one of what it began with, and far from a random one's.
check 'with its weights' same 6 "$(query "SELECT count(*) FROM run r JOIN run n ON n.id = r.needs JOIN step a ON
    a.run = r.id AND a.step = 1 JOIN step z ON z.run = n.id AND z.step = n.steps JOIN step f ON f.run = n.id AND f.step = 1
    WHERE r.id = a.run AND abs(a.ce - z.ce) < 0.6")"
check 'and its tokenizer' bash -c 'for r in "$1"/home/runs/*; do cat "$r/tokenizer/merges.txt" | cksum; done |
    sort -u | wc -l | grep -qx 1' - "$T"
check 'submitted again they are the same' bash -c '"$TAPER" run "$1" && [ "$(sqlite3 "$2" "SELECT count(*) FROM run")" = 8 ]' - \
    "$T/sweep.yaml" "$TAPER_HOME/taper.db"

# Another pretraining makes other runs of all that begin with it.
sed 's/pretrain: {train.steps: 20}/pretrain: {train.steps: 21}/' "$T/sweep.yaml" > "$T/other.yaml"
dry "$T/other.yaml" > "$T/b"
check 'what is needed is in the names' same 0 "$(comm -12 "$T/a" "$T/b" | wc -l)"

# One that fails.
sed -e 's/sweep: stages/sweep: doomed/' -e 's/pretrain: {train.steps: 20}/pretrain: {train.lr: 100, train.clip: 0, train.steps: 60}/' \
    -e 's/grid:.*//' "$T/sweep.yaml" > "$T/doomed.yaml"
printf 'run: {retries: 0}\n' >> "$T/doomed.yaml"
timeout 60 "$TAPER" run --slots cpu:2 "$T/doomed.yaml" > "$T/out" 2>&1
that 'a run that is needed and fails ends the sweep' $? 1
check 'and it is said why the others never come' grep -q 'which is needed first and is failed' "$T/out"
check '... in the status, too' bash -c '"$TAPER" status | grep -q "which is needed first and is failed"'

bad() { # TEXT VARIANTS
    sed -e '/^variants:/,/^grid:/d' "$T/sweep.yaml" > "$T/bad.yaml"
    printf 'variants:\n%s\n' "$2" >> "$T/bad.yaml"
    refuses 2 "$1" "$TAPER" run --dry-run "$T/bad.yaml"
}
check 'refuses an unknown variant' bad "variant a: init.run: there is no variant 'b'" '  a: {init.run: b}'
check 'refuses a circle' bad 'init.run: b needs this one in turn' '  a: {init.run: b}
  b: {init.run: a}'
check 'refuses another seed' bad "init.run.seed: want same" '  a: {init.run: {variant: b, seed: 3}}
  b: {}'
check 'refuses both' bad 'init.run: want this or init.from, got both' "  a: {init.run: b, init.from: $T/home/runs/$(sed -n '1s/.*"run":"\([0-9a-f]*\)".*/\1/p' "$T/a")}
  b: {}"
check 'refuses it outside of a sweep' refuses 2 'is a variant, which only a sweep has' \
    "$TAPER" train --set init.run=a --out "$T/x"
done_testing
