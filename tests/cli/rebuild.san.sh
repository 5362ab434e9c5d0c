#!/usr/bin/env bash
# A lost database is made again from sweeps/ and runs/: the rows of the runs are those that were lost.
. "$(dirname "$0")/../support/daemon.bash"
mkdir "$T/from"
cd "$T/from" || exit 1
# A text of its own, named by a relative path; two variants; a fold after the training.
for ((i = 0; i < 400; i++)); do echo "the cat sat on mat $((i % 7))"; done > "$T/from/text.txt"
sweep one 2 'variants: {plain: {taper.sites: none}, tapered: {taper.sites: all}}
after: {fold: true}
run: {retries: 0}'
sed -i 's|data.size: 20000|data.corpus: text.txt, data.valid: text.txt, eval.every: 20|; s|vocab: 300|vocab: 262|' "$T/one.yaml"
sweep two 1 'run: {retries: 0}'
sweep gone 1 'run: {retries: 0}'
sed -i 's/train.steps: 60/train.steps: 40/' "$T/gone.yaml"
sweep waits 1
sed -i 's/train.steps: 60/train.steps: 30/' "$T/waits.yaml"
check 'sweeps are trained' bash -c 'for name in one two gone; do
    "$TAPER" run "$1/$name.yaml" --slots cpu:1 || exit 1; done' - "$T"
check 'one is submitted' "$TAPER" submit "$T/waits.yaml"
check 'each is kept, behind a line that says where from' \
    bash -c 'for name in one two gone waits; do tail -n +2 "$1/home/sweeps/$name.yaml" | cmp - "$1/$name.yaml" || exit 1
    done; head -n 1 "$1/home/sweeps/one.yaml" | grep -qF "\"directory\":\"$(pwd -P)\""' - "$T"
check '... but not by a dry run' bash -c 'cp "$1/waits.yaml" "$1/dry.yaml" && echo "# other" >> "$1/dry.yaml" &&
    "$TAPER" submit --dry-run "$1/dry.yaml" && tail -n +2 "$1/home/sweeps/waits.yaml" | cmp - "$1/waits.yaml"' - "$T"
check 'a database that is there is left alone' refuses 2 'taper.db: there, and not empty; --force' "$TAPER" rebuild

# What a table holds, in the order of its key; a run's times are not known any more.
dump() { # DATABASE TABLE
    sqlite3 -readonly "$1" "SELECT * FROM $2 ORDER BY 1, 2, 3"
}
runs="(SELECT id, variant, seed, state, params, device, val_loss, fold_error, wants, priority, slots, retries, timeout_us,
    attempts, steps, after, config, pack, shape FROM run)"
members="(SELECT sweep, run, variant, point, position, wanted FROM sweep_run)"
outcomes="(SELECT run, attempt, outcome, outcome_text, cause FROM attempt)"
equal() { # TABLE...: in the database as in the copy, and not empty
    local table
    for table; do
        dump "$T/copy.db" "$table" > "$T/was"
        dump "$TAPER_HOME/taper.db" "$table" > "$T/is"
        [ -s "$T/was" ] || { echo "nothing in $table"; return 1; }
        diff "$T/was" "$T/is" || { echo "in $table"; return 1; }
    done
}
lose() { # with a copy
    rm -f "$T"/copy.db* && sqlite3 "$TAPER_HOME/taper.db" "VACUUM INTO '$T/copy.db'" && rm "$TAPER_HOME"/taper.db*
}

lose
check 'the refusal names taper rebuild' refuses 2 "'taper rebuild'" "$TAPER" status
check 'it is made again, from another directory' bash -c 'cd / && "$TAPER" rebuild > "$1/said"' - "$T"
check 'nothing is left beside it' bash -c '! ls "$TAPER_HOME"/taper.db?*' -
check '... and says what it found' grep -qF '4 sweeps; 6 run directories: 6 done, 0 queued' "$T/said"
check '... and what it could not' grep -q '^Not recovered: when, where' "$T/said"
check 'rows of step, site_step and eval are those that were' equal step site_step eval
check 'states, results and settings of the runs too' equal "$runs"
check 'what each sweep holds too' equal "$members"
check 'how attempts ended too' equal "$outcomes"
check 'the queue is paused' refuses 2 'is paused' "$TAPER" run "$T/waits.yaml" --slots cpu:1
check 'it goes on' bash -c '"$TAPER" resume && "$TAPER" run "$1/waits.yaml" --slots cpu:1' - "$T"
check '... with what was queued alone' is '1,1' \
    "SELECT count(*), sum(run IN (SELECT run FROM sweep_run WHERE sweep = 'waits')) FROM event WHERE kind = 'starting'"

# An empty database, a sweep without its copy, a directory that is no run's, a run that did not end, no configuration.
lose
: > "$TAPER_HOME/taper.db"
rm "$TAPER_HOME/sweeps/gone.yaml"
mkdir "$TAPER_HOME/runs/notes"
run=$(sqlite3 -readonly "$T/copy.db" "SELECT run FROM sweep_run WHERE sweep = 'two'")
sed -i '$d' "$TAPER_HOME/runs/$run/journal.jsonl"
mkdir "$TAPER_HOME/runs/0123456789ab"
check 'empty: it is made again' bash -c '"$TAPER" rebuild > "$1/said" 2> "$1/warned"' - "$T"
check 'a run of no sweep is in "recovered"' \
    same "$(sqlite3 -readonly "$T/copy.db" "SELECT run FROM sweep_run WHERE sweep = 'gone'")" \
    "$(query "SELECT run FROM sweep_run WHERE sweep = 'recovered'")"
check '... and its rows are those that were' equal step site_step eval
check '... and so is its result' \
    is "$(sqlite3 -readonly -separator , "$T/copy.db" "SELECT r.state, r.val_loss, r.config FROM run r JOIN sweep_run m
    ON m.run = r.id WHERE m.sweep = 'gone'" | sed 's/"/""/g; s/{/"{/; s/}$/}"/')" \
    "SELECT state, val_loss, config FROM run WHERE sweep = 'recovered'"
check 'a run without its last word is queued' is 'queued,1' "SELECT state, attempts FROM run WHERE id = '$run'"
check 'what is no run is named' grep -qF 'runs/notes: no run' "$T/warned"
check 'a run without a configuration is named' grep -q 'run 0123456789ab: left out: .*config.json' "$T/warned"
check 'what can be shown is shown' bash -c '"$TAPER" status && "$TAPER" show "$1" && "$TAPER" table runs' - "$run"
check 'it goes on, and ends' bash -c '"$TAPER" resume && "$TAPER" run "$1/two.yaml" --slots cpu:1' - "$T"

# Data that is gone costs its sweep, not its runs.
mv "$T/from/text.txt" "$T/away"
lose
rm -rf "$TAPER_CACHE"
cp "$T/copy.db" "$TAPER_HOME/taper.db"
check '--force: it is made again beside one' bash -c '"$TAPER" rebuild --force > "$1/said" 2> "$1/warned"' - "$T"
check '... which is kept' test -s "$TAPER_HOME/taper.db.old"
check 'a sweep without its data is named' grep -q '^sweep one: not submitted again: .*text.txt' "$T/warned"
check '... and its runs are there' is 'recovered,4,4' \
    "SELECT sweep, count(*), sum(state = 'done') FROM run WHERE config LIKE '%text.txt%'"
check 'the rows are there' equal step site_step eval
check 'a kept one is not overwritten' refuses 2 'taper.db.old: there already' "$TAPER" rebuild --force

check 'a daemon starts' daemon --slots cpu:1
check 'a home in use is refused' refuses 1 'is in use by process' "$TAPER" rebuild --force
check 'the daemon ends' "$TAPER" daemon --stop
check "no process is left" poll 20 nothing_left
done_testing
