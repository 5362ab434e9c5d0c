#!/usr/bin/env bash
# A done run whose rows have a gap is never silently done: an event counts them, and status, show, tables and figures say so.
. "$(dirname "$0")/../support/daemon.bash"

# What a training to its end writes is what is expected of it, at every beat.
cat > "$T/beats.yaml" << 'EOF'
sweep: beats
base: {model.size: demo, model.d_model: 16, model.layers: 1, model.heads: 1, model.context: 16, model.vocab: 300,
       data.size: 20000, train.batch: 2, eval.tokens: 200, sample.tokens: 0, taper.sites: none}
variants: # by seeds they are different runs
  one: {seed: 1, log.every: 1, eval.every: 0}
  three: {seed: 2, log.every: 3, eval.every: 3}
  all: {seed: 3, log.every: 12, eval.every: 12}
  rare: {seed: 4, log.every: 50, eval.every: 50}
  share: {seed: 5, log.every: 5, eval.every: 30%}
  sliver: {seed: 6, log.every: 2, eval.every: 1%}
grid: {train.steps: [1, 2, 12, 25]}
EOF
check 'trainings of several beats' "$TAPER" run "$T/beats.yaml" --slots cpu:2
check '... end without a gap' is '24,0' "SELECT (SELECT count(*) FROM run WHERE state = 'done'), count(*) FROM event WHERE kind = 'gap'"
check '... and with all rows that are expected' is '24,24,24' \
    'SELECT count(*), sum(steps = steps_due), sum(evals = evals_due) FROM run_rows'
check '... and no others' is 0 'SELECT (SELECT count(*) FROM step) + (SELECT count(*) FROM eval) - sum(steps + evals) FROM run_rows'
check 'nothing is said of it' bash -c '! "$TAPER" status beats | grep -q missing && ! "$TAPER" table runs | grep -q "rows are missing"'

# Trained by the real program; lines are cut out of the journal before any of it is taken in.
script trained-and-cut << 'E'
"$TAPER" train config.json --out "$PWD.trained" || exit
sed -e "$TAPER_CUT" "$PWD.trained/journal.jsonl" > "$PWD.trained/cut" && mv "$PWD.trained/cut" journal.jsonl
rm -r "$PWD.trained"
E
export TAPER_CUT='/"table":"step".*"step":\(2[0-9]\|5\),/d; /"table":"eval".*"step":30,/d'
sweep cut 1 'run: {retries: 0}'
sed -i 's/data.size: 20000/&, eval.every: 10/' "$T/cut.yaml"
check 'a daemon' daemon --slots cpu:1 --payload "$T/trained-and-cut"
check 'is submitted' "$TAPER" submit "$T/cut.yaml"
check 'is done' timeout 120 "$TAPER" wait cut
run=$(query "SELECT run FROM sweep_run WHERE sweep = 'cut'")
words='rows are missing: 49 of 60 logged steps and 5 of 6 evaluations are there'
check 'an event counts what is missing' is "done,1,$words" \
    "SELECT r.state, e.attempt, e.text FROM run r JOIN event e ON e.run = r.id WHERE e.kind = 'gap'"
check 'daemon.log has it' grep -qF "run $run: $words" "$TAPER_HOME/daemon.log"
says() { # TEXT COMMAND...
    local text=$1
    shift
    "$@" > "$T/said" && grep -qF -- "$text" "$T/said" || { echo "want $text"; cat "$T/said"; return 1; }
}
check 'status has it' says '1 done (1 with missing rows)' "$TAPER" status cut
check 'status as JSON has it' says '"gaps": 1' "$TAPER" status cut --json
check 'show counts them' says '49 of 60 logged steps, 5 of 6 evaluations' "$TAPER" show "$run"
check 'show has the event' says "$words" "$TAPER" show "$run"
check 'table runs counts them' says '49/60' "$TAPER" table runs --sweep cut
check '... the evaluations too' says '5/6' "$TAPER" table runs --sweep cut
check 'below a table it is said' says '1 run: 1 done; rows are missing of 1 done' "$TAPER" table tinystories --sweep cut
check 'a JSON table has it' says 'rows are missing of 1 done' "$TAPER" table runs --sweep cut --format json
check 'below a figure it is said' bash -c '"$TAPER" plot loss --sweep cut --out "$1/fig" && grep -rqF "rows are missing of 1 done" "$1/fig"' - "$T"
check 'another sweep has nothing of it' bash -c '! "$TAPER" table runs --sweep beats | grep -q "rows are missing"'
check 'the daemon ends' "$TAPER" daemon --stop

# A database made again knows it again.
check 'rebuild' "$TAPER" rebuild --force
check '... and the event' is "$run,$words" "SELECT run, text FROM event WHERE kind = 'gap'"

# Trained afresh, the run has no gap any more; until then what is shown has one.
check 'to be done again' "$TAPER" retry --done cut
check '... what is shown has missing rows still' says 'rows are missing of 1 done' "$TAPER" table tinystories --sweep cut
check '... is done again' bash -c '"$TAPER" resume && "$TAPER" run "$1/cut.yaml" --slots cpu:1' - "$T"
check '... without a gap' bash -c '"$TAPER" table runs --sweep cut > "$1/said" && grep -q 60/60 "$1/said" && ! grep -q "rows are missing" "$1/said"' - "$T"
check '... for status too' says '1 runs: 1 done' "$TAPER" status cut
check '... which has no word of it' bash -c '! "$TAPER" status cut | grep -q missing'
check 'no process is left' poll 20 nothing_left
done_testing
