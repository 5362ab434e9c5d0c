#!/usr/bin/env bash
# A sweep submitted again: what may still change for its runs is changed, what cannot is said; and finished runs trained
# again.
. "$(dirname "$0")/../support/daemon.bash"

dev() { # NAME KEYS REST: four runs, whose names are the same whatever KEYS of these are
    cat > "$T/$1.yaml" << Y
sweep: ${4:-dev}
base: {model.d_model: 16, model.layers: 1, model.heads: 1, model.context: 16, model.vocab: 320, train.steps: 20,
  train.batch: 2, data.size: 20000, threads: 1, sample.tokens: 0, eval.tokens: 512, $2}
variants: {baseline: {taper.sites: none}, all: {taper.sites: all}}
grid: {seed: [0, 1]}
$3
Y
}
says() { # TEXT COMMAND...
    local text=$1
    shift
    "$@" > "$T/said" 2>&1 || { cat "$T/said"; return 1; }
    grep -qE -- "$text" "$T/said" || { cat "$T/said"; return 1; }
}
key() { is "$1" "SELECT DISTINCT json_extract(config, '\$.\"$2\"') FROM run"; }

dev one 'log.every: 4' ''
dev two 'log.every: 2, device: cuda' 'run: {priority: 7, retries: 0, timeout: 1h}'
check 'a preview without a home' says 'if it is submitted: 4 runs, 4 new' "$TAPER" submit --dry-run "$T/one.yaml"
check 'makes none' test ! -e "$TAPER_HOME/taper.db"
check 'submit' "$TAPER" submit "$T/one.yaml"
check 'a preview of another wish' says 'changed: 4 queued .*device cpu, now cuda; .*log.every 4, now 2|changed: 4 queued .*log.every 4, now 2.*device cpu, now cuda' "$TAPER" submit --dry-run "$T/two.yaml"
check 'changes nothing' key 4 log.every
check 'submit it' says 'changed: 4 queued' "$TAPER" submit "$T/two.yaml"
check 'log.every' key 2 log.every
check 'device, priority, retries, timeout' is 'cuda,7,0,3600000000' 'SELECT DISTINCT wants, priority, retries, timeout_us FROM run'
dev three 'log.every: 1' '' other
check 'another sweep wants them otherwise' says 'kept: 4 \(.*device cuda, now wanted|kept: 4 .*cuda' "$TAPER" submit "$T/three.yaml"
check 'and they stay' key 2 log.every
check 'cancel that wish' "$TAPER" cancel other
check 'back to the CPU' "$TAPER" submit "$T/one.yaml"
check 'on the CPU' is 4 "SELECT count(*) FROM run WHERE wants = 'cpu'"
dev fewer 'log.every: 4' ''
sed -i 's/seed: \[0, 1\]/seed: [0]/' "$T/fewer.yaml"
check 'what would be dropped is listed' says 'dropped: 2' "$TAPER" submit --dry-run "$T/fewer.yaml"

check 'they are trained' timeout 300 "$TAPER" run "$T/one.yaml" --slots cpu:2 --slots gpu:0
check 'with their rows' is '4,24' "SELECT count(DISTINCT run), count(*) FROM step"
dev again 'log.every: 2' ''
check 'done ones are kept, and it is said how to train them again' says "kept: 4 done .*log.every 4.*2.*retry --done" "$TAPER" submit "$T/again.yaml"
check 'nothing is trained again for it' timeout 60 "$TAPER" run "$T/again.yaml" --slots cpu:2 --slots gpu:0
check 'the rows are those of before' is '4,24' "SELECT count(DISTINCT run), count(*) FROM step"

# Done once more, one of them without its directory, under a daemon.
id=$(query "SELECT id FROM run WHERE variant = 'all' AND seed = 1")
rm -r "$TAPER_HOME/runs/$id"
cp "$TAPER_HOME/taper.db" "$T/before.db"
check 'pause' "$TAPER" pause
check 'a daemon' daemon --slots cpu:2 --slots gpu:0
check 'retry --done' "$TAPER" retry --done dev
check 'all are queued' is 4 "SELECT count(*) FROM run WHERE state = 'queued'"
check 'their rows are there meanwhile' is 24 'SELECT count(*) FROM step'
check 'a table too' "$TAPER" table --sweep dev table-tinystories
check 'resume' "$TAPER" resume
check 'they are done again' timeout 300 "$TAPER" wait dev
check 'with the rows that are wanted now, each once' is '4,44,2' "SELECT count(DISTINCT run), count(*), min(attempt) FROM step"
check 'as wanted' key 2 log.every
check 'the losses are those of before' same "$(sqlite3 "$T/before.db" 'SELECT id, val_loss FROM run ORDER BY id')" "$(sqlite3 "$TAPER_HOME/taper.db" 'SELECT id, val_loss FROM run ORDER BY id')"
check 'the directory is there again' test -s "$TAPER_HOME/runs/$id/journal.jsonl"
check 'a retry of what is done, without --done, does nothing' "$TAPER" retry dev
check 'none is queued' is 4 "SELECT count(*) FROM run WHERE state = 'done'"
check 'it ends' "$TAPER" daemon --stop --workers
check 'no process is left' poll 10 nothing_left
done_testing
