#!/usr/bin/env bash
# taper forget: sweeps, runs and checkpoints removed for good, after it was said what would go; never what lives.
. "$(dirname "$0")/../support/daemon.bash"
sweep one 3
sweep both 2
check 'two sweeps that share two runs are trained' bash -c '"$TAPER" run "$1/one.yaml" --slots cpu:2 &&
    "$TAPER" run "$1/both.yaml" --slots cpu:2' - "$T"
check '... three runs in all' is 3 "SELECT count(*) FROM run WHERE state = 'done'"
alone=$(query "SELECT run FROM sweep_run GROUP BY run HAVING count(DISTINCT sweep) = 1")
shared=$(query "SELECT run FROM sweep_run WHERE sweep = 'both' LIMIT 1")
dir=$TAPER_HOME/runs

check 'without --yes it is only said' bash -c '"$TAPER" forget one > "$1/said"' - "$T"
check '... what would go, and what stays' \
    grep -qE '^one: 1 runs and all .* would be removed, [0-9.]+ MiB of files; 2 stay, another sweep has them too; --yes does it$' "$T/said"
check '... and all is there' bash -c '[ -f "$1/checkpoint.safetensors" ]' - "$dir/$alone"
check '... rows too' is 3 'SELECT count(*) FROM run'
check '--yes and --dry-run exclude each other' refuses 2 'not both' "$TAPER" forget one --yes --dry-run
check 'what is not there is named' refuses 2 "no sweep 'nosuch'" "$TAPER" forget nosuch

# Checkpoints of what is done.
rows=$(query 'SELECT count(*) FROM step')
check 'the checkpoint of a run' bash -c '"$TAPER" forget --checkpoints "$2" --yes > "$1/said"' - "$T" "$shared"
check '... is gone' [ ! -e "$dir/$shared/checkpoint.safetensors" ]
check '... all else stays' bash -c '[ -f "$1/journal.jsonl" ] && [ -f "$1/config.json" ]' - "$dir/$shared"
check '... rows too' is "$rows" 'SELECT count(*) FROM step'
check '... it is recorded' is "$shared" "SELECT run FROM event WHERE kind = 'forgotten'"
check 'without one, an evaluation names it' refuses 2 "checkpoint.safetensors" "$TAPER" eval "$dir/$shared/checkpoint.safetensors"

# A sweep.
check 'the sweep, as JSON' bash -c '"$TAPER" forget one --yes --json > "$1/said"' - "$T"
says() { tr -d ' \n' < "$T/said" | grep -qE "$1"; }
check '... says what went' says "\"sweep\":true,\"dry\":false,\"checkpoints\":false,\"runs\":\\[\"$alone\"\\],\"kept\":2,\"bytes\":[0-9]{4,}"
check '... its own run is gone' [ ! -e "$dir/$alone" ]
check '... nothing is left beside' [ ! -e "$dir/.forgotten" ]
for table in step site_step eval attempt event journal sweep_run; do
    check "... nor in $table" is 0 "SELECT count(*) FROM $table WHERE run = '$alone'"
done
check '... the shared ones are there' is 'both,2' 'SELECT sweep, count(*) FROM run GROUP BY sweep'
check '... the sweep is not' is both 'SELECT name FROM sweep'
check '... nor its kept text' [ ! -e "$TAPER_HOME/sweeps/one.yaml" ]
check 'the database is sound' is ok 'PRAGMA integrity_check'
check '... with no row that points nowhere' is '' 'PRAGMA foreign_key_check'
check 'tables and figures go on' "$TAPER" table runs
check 'submitted again, only the lost one is trained' bash -c '"$TAPER" run "$1/one.yaml" --slots cpu:2 > "$1/said"' - "$T"
check '... it is there' is 3 "SELECT count(*) FROM run WHERE state = 'done'"

# What lives, with a daemon.
cat > "$T/long.yaml" << EOF
$(sed 's/^sweep: .*/sweep: long/; s/train.steps: 60/train.steps: 100000/; s/range: \[0, 2\]/range: [10, 12]/' "$T/one.yaml")
EOF
check 'a daemon starts' daemon --slots cpu:1
check 'a sweep of three long runs on one slot' "$TAPER" submit "$T/long.yaml"
live() { query "SELECT id FROM run WHERE state = 'running'" | grep .; }
check 'one runs' poll 20 live
run=$(live)
check 'it is not removed' refuses 2 "run $run is running: 'taper cancel --wait $run' comes first" "$TAPER" forget "$run" --yes
check '... nor is its sweep' refuses 2 "run $run is running" "$TAPER" forget long --yes
check '... nor its checkpoint' refuses 2 'may still need its checkpoint' "$TAPER" forget --checkpoints "$run" --yes
check '... all are there' is 3 "SELECT count(*) FROM run WHERE sweep = 'long'"
check 'one that waits goes' "$TAPER" forget "$(query "SELECT id FROM run WHERE state = 'queued' LIMIT 1")" --yes
check '... and will not start' is 2 "SELECT count(*) FROM run WHERE sweep = 'long'"
check 'cancelled, the rest goes too' bash -c '"$TAPER" cancel --wait long && "$TAPER" forget long --yes'
check '... as if it had never been' is 0 "SELECT count(*) FROM run WHERE sweep = 'long'"
check 'what was left aside goes with the next' bash -c 'mkdir -p "$1/.forgotten/x.0.1/y" && "$TAPER" forget both --yes &&
    [ ! -e "$1/.forgotten" ]' - "$dir"
check 'the daemon ends' "$TAPER" daemon --stop
check 'no process is left' poll 20 nothing_left
done_testing
