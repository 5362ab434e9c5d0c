#!/usr/bin/env bash
# A real sweep from YAML to SQLite: five variants, two seeds, the demo model on the built-in stories, two CPU slots.
. "$(dirname "$0")/../support/daemon.bash"
cat > "$T/demo.yaml" << 'E'
sweep: demo
about: five variants, two seeds
base: {model.size: demo, data.size: 100000, train.steps: 20, train.batch: 4, log.every: 5, eval.every: 10, eval.tokens: 2000,
       checkpoint.every: 10, sample.tokens: 8}
variants:
  baseline:     {taper.sites: none}
  internal:     {taper.sites: internal}
  internal+aux: {taper.sites: internal, aux.lambda: 0.1}
  all:          {taper.sites: all}
  all+aux:      {taper.sites: all, aux.lambda: 0.1}
grid: {seed: {range: [0, 1]}}
E
check 'daemon' "$TAPER" daemon --detach --slots cpu:2
check 'submit' "$TAPER" submit "$T/demo.yaml"
check 'all of it is done' "$TAPER" wait demo
check 'ten runs, five variants, one attempt each' is '10,5,1,done' \
    'SELECT count(*), count(DISTINCT variant), max(attempts), min(state) FROM run'
# Logged: step 1 and every fifth; evaluated at 10 and at the end, which is 20.
check 'five rows of steps each' is '50,5,5' \
    'SELECT sum(n), min(n), max(n) FROM (SELECT count(*) AS n FROM step GROUP BY run)'
check 'the steps are 1, 5, 10, 15, 20' is '1 5 10 15 20' "SELECT group_concat(step, ' ') FROM (SELECT DISTINCT step FROM step ORDER BY step)"
check 'two evaluations each' is '20,2,2' \
    'SELECT sum(n), min(n), max(n) FROM (SELECT count(*) AS n FROM eval GROUP BY run)'
check 'nine norms in every logged step' is '450' 'SELECT count(*) FROM site_step'
check 'every run has its loss, its parameters, its host and device' is 10 \
    "SELECT count(*) FROM run WHERE val_loss > 0 AND params > 0 AND host <> '' AND device = 'cpu' AND version <> ''"
check 'every attempt has its cause, use of resources, revision and libraries' is 10 \
    "SELECT count(*) FROM attempt WHERE cause = 'done' AND code = 0 AND cpu_us > 0 AND peak_bytes > 0 AND revision <> '' AND json_valid(libraries)"
check 'both slots were used' is 'cpu:0 cpu:1' "SELECT group_concat(slot, ' ') FROM (SELECT DISTINCT slot FROM attempt ORDER BY slot)"
files() { local f; for f in config.json journal.jsonl checkpoint.safetensors samples.txt exit.json; do [ "$(ls "$TAPER_HOME"/runs/*/$f | wc -l)" -eq 10 ] || { echo "$f"; return 1; }; done; }
check 'every run directory has its files' files
check 'and none that is empty' [ -z "$(find "$TAPER_HOME/runs" -type f -empty)" ]
check 'a seed of its own gives another loss' is 10 'SELECT count(DISTINCT val_loss) FROM run'
check 'the same run alone gives the same loss' bash -c '
    run=$("$TAPER" query --csv "SELECT id FROM run LIMIT 1" | tail -1 | tr -d "\r")
    loss() { "$TAPER" query --csv "SELECT val_loss FROM run WHERE id = '"'"'$run'"'"'" | tail -1; }
    first=$(loss)
    export TAPER_HOME=$1/again
    "$TAPER" run --slots cpu:2 "$1/demo.yaml" && [ "$(loss)" = "$first" ]' - "$T"
cat > "$T/after.yaml" << 'E'
sweep: after
base: {model.size: demo, model.d_model: 16, model.layers: 1, model.heads: 1, model.context: 16, model.vocab: 300,
       data.size: 20000, train.steps: 60, train.batch: 2, log.every: 10, sample.tokens: 0}
variants: {baseline: {taper.sites: none}, all: {taper.sites: all}}
after: {fold: true, bench: {decode: {batch: [1], context: 16}}}
E
check 'a sweep with steps after training' bash -c '"$TAPER" submit "$1/after.yaml" && "$TAPER" wait after' - "$T"
check 'the tapered run was folded, and is the same function' is 'all' \
    "SELECT variant FROM run WHERE sweep = 'after' AND fold_error BETWEEN 0 AND 0.001"
check 'both were timed' is '2,6' \
    "SELECT count(DISTINCT run), count(*) FROM bench WHERE tokens_per_s > 0 AND run IN (SELECT id FROM run WHERE sweep = 'after')"
check 'the last step is on record' bash -c 'grep -q "\"step\":\"bench\"" "$TAPER_HOME"/runs/*/exit.json'
"$TAPER" daemon --stop > "$T/log"
check 'no process is left' nothing_left
done_testing
