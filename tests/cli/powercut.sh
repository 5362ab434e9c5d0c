#!/usr/bin/env bash
# Power cuts, during sweeps of short runs. Home and cache stand on ext4 in a loop file; a cut stops every process, copies
# the file as it stands, kills, mounts the copy and goes on with it. So what is lost is what the file system had not given
# to its device; a disk with a cache of its own may lose more of what was not flushed, never of what was.
# In the end every run is done, and its rows and files are those of a home where nothing was cut; every row that was ever
# reported taken is among them; no run ever repeated more steps than lie between two checkpoints.
# CUTS (default 3; `make torture` does 50), SEED (default: from the clock). Wants root and loop mounts.
if [ "${1:-}" != inside ] && unshare -m true 2> /dev/null; then exec unshare -m "$0" inside; fi
. "$(dirname "$0")/../support/daemon.bash"
cuts=${CUTS:-3} seed=${SEED:-$(date +%N)} every=50 steps=4000
RANDOM=$((10#$seed % 32768))
disk=$T/disk
no_loop() { skip 'power cuts' "$1"; done_testing; }
mkdir "$disk"
[ "$(id -u)" = 0 ] || no_loop 'not root'
[ "${1:-}" = inside ] || no_loop 'no mount namespace'
command -v mkfs.ext4 jq > "$T/log" || no_loop 'mkfs.ext4 or jq is missing'
truncate -s 400m "$T/image.0" && mkfs.ext4 -q -F "$T/image.0" && mount -o loop "$T/image.0" "$disk" 2> "$T/log" ||
    no_loop 'no loop mounts here'
trap 'end_all; umount "$disk" || umount -l "$disk"; rm -rf "$T"' EXIT
export TAPER_HOME=$disk/home TAPER_CACHE=$disk/cache OMP_NUM_THREADS=1
echo "# $cuts cuts, SEED=$seed"

spec() { # NUMBER: sweep pN, four runs of its own
    cat > "$T/p$1.yaml" << EOF
sweep: p$1
base: {model.size: demo, model.d_model: 16, model.layers: 1, model.heads: 1, model.context: 16, model.vocab: 300,
       data.size: 20000, train.steps: $steps, train.batch: 2, log.every: 10, checkpoint.every: $every, eval.every: 500,
       eval.tokens: 200, sample.tokens: 0}
variants: {baseline: {taper.sites: none}, all+aux: {taper.sites: all, aux.lambda: 0.1}}
grid: {seed: {range: [$(($1 * 2)), $(($1 * 2 + 1))]}}
run: {retries: 3, pack: $(($1 % 2 * 2 + 1))}
EOF
}
start() { "$TAPER" daemon --detach --slots cpu:2 --retry-delay 0 --grace 2 --min-free 1M > "$T/daemon.out" 2>&1; }
sweeps=0
more() { # until enough is queued
    until [ "$(query "SELECT count(*) FROM run WHERE state <> 'done'")" -gt 4 ]; do
        spec $sweeps
        "$TAPER" submit "$T/p$sweeps.yaml" > "$T/log" || return
        sweeps=$((sweeps + 1))
    done
}

# Every measured value of a row but the times, a line each.
rows() {
    query 'SELECT run, step, tokens, ce, aux, lr, gate, grad_norm, scale_mean, logit_rms, entropy FROM step ORDER BY run, step'
    query 'SELECT run, step, split, loss, tokens FROM eval ORDER BY run, step, split'
}
all_rows() { # with those that are many, and what comes of them
    rows
    query 'SELECT run, step, site, c, scale_mean, agreement, gamma_norm FROM site_step ORDER BY run, step, site'
    query 'SELECT id, val_loss, params, steps FROM run ORDER BY id'
}

# The last step of each journal, and where it ends, in RUN.was; what goes on from there must repeat at most $every steps.
declare -A was at
repeated=0 resumes=0
account() { # look at where what goes on since the last cut began
    local run from
    for run in "${!was[@]}"; do
        from=$(tail -c "+$((at[$run] + 1))" "$disk/home/runs/$run/journal.jsonl" |
            jq -R 'fromjson? | select(.table == "event" and (.kind == "resume" or .kind == "start")) | .step' | head -n 1)
        [ -n "$from" ] || continue
        resumes=$((resumes + 1))
        [ $((was[$run] - from)) -le $repeated ] || repeated=$((was[$run] - from))
        unset "was[$run]"
    done
}
note_last_steps() { # of the journals as they were reported, before the cut
    local journal run last
    for journal in "$disk"/home/runs/*/journal.jsonl; do
        run=$(basename "$(dirname "$journal")")
        last=$(tail -n 40 "$journal" | jq -R 'fromjson? | select(.table == "step") | .step' | tail -n 1)
        [ "${last:-$steps}" -eq $steps ] || was[$run]=$last
    done
}
note_sizes() { # and where the journals end after it
    local run
    for run in "${!was[@]}"; do at[$run]=$(stat -c %s "$disk/home/runs/$run/journal.jsonl" 2> /dev/null || echo 0); done
}

stopped() { # all of them: in none anything goes on
    local pid
    for pid in $(left); do grep -qs '^State:.T' "/proc/$pid/status" || return; done
}
freeze() { kill -STOP $(left) 2> /dev/null; stopped; }
copy_image() { # the image as it stands at one moment: read twice the same
    until cp --sparse=always "$T/image.$1" "$T/image.$2" && cmp -s "$T/image.$1" "$T/image.$2"; do :; done
}
lost=0 most_lost=0 taken_back=0
power_cut() { # NUMBER
    local done_before gone
    poll 20 freeze || return
    rows > "$T/now" && cat "$T/now" "$T/reported" | sort -u > "$T/both" && mv "$T/both" "$T/reported" || return
    done_before=$(query "SELECT count(*) FROM run WHERE state = 'done'")
    account
    note_last_steps
    copy_image "$1" $(($1 + 1)) || return
    kill -KILL $(left) 2> /dev/null
    poll 20 nothing_left && poll 20 umount "$disk" && rm "$T/image.$1" || return
    mount -o loop "$T/image.$(($1 + 1))" "$disk" || return
    note_sizes
    rows | sort -u > "$T/after" || return
    gone=$(sort -u "$T/now" | comm -23 - "$T/after" | wc -l)
    lost=$((lost + gone))
    [ "$gone" -le $most_lost ] || most_lost=$gone
    taken_back=$((taken_back + done_before - $(query "SELECT count(*) FROM run WHERE state = 'done'")))
    same $sweeps "$(query 'SELECT count(*) FROM sweep')" # what a person was told is there
}
pause() { read -rt "$1.$(printf %03d $((RANDOM % 1000)))" <> <(:) || :; } # SECONDS and a part of one
go_on() { # NUMBER of cuts
    local i
    : > "$T/reported"
    start || return
    for ((i = 0; i < $1; i++)); do
        more && pause 0 && more && pause $((RANDOM % 3)) || return
        power_cut $i || { echo "at cut $i"; return 1; }
        start || { cat "$T/daemon.out"; return 1; }
    done
}
check "power cuts, after each of which the home goes on with what was submitted" go_on "$cuts"
finished() {
    local i
    for ((i = 0; i < sweeps; i++)); do timeout 300 "$TAPER" wait p$i || return; done
}
check 'every run is done in the end' finished
check 'none in any other state' is "done,$((4 * sweeps))" 'SELECT state, count(*) FROM run GROUP BY state'
account
check 'runs went on after cuts' [ $resumes -gt 0 ]
check "none repeated more than the $every steps between checkpoints (most: $repeated)" [ $repeated -le $every ]
check 'no rows are missing, no checkpoint had to be set aside' \
    is 0 "SELECT count(*) FROM event WHERE kind IN ('gap', 'uncovered', 'damaged', 'bad-line')"
check '... no file either' bash -c '! find "$1" -name "*.damaged" -o -name "*.uncovered.*" | grep .' - "$disk/home/runs"
check 'the database is sound' is ok 'PRAGMA integrity_check'
rows | sort -u > "$T/final"
check 'every row that was ever reported taken is there' bash -c '! comm -23 "$1/reported" "$1/final" | grep .' - "$T"
each_event_once() { # an event of a journal is one of its lines
    local run
    for run in $(query 'SELECT id FROM run'); do
        query "SELECT journal FROM event WHERE run = '$run' AND journal IS NOT NULL ORDER BY 1" > "$T/events"
        grep -b '"table":"event"' "$disk/home/runs/$run/journal.jsonl" | cut -d: -f1 | diff - "$T/events" || return
    done
}
check 'every event of a journal is there once' each_event_once
echo "# $sweeps sweeps, $(wc -l < "$T/reported") rows reported at cuts," \
    "$lost (at most $most_lost at a cut) not in the database after it and taken or made again;" \
    "$resumes times a run went on, repeating $repeated steps at most; $taken_back times one that was done had to say so again;" \
    "attempts: $(query 'SELECT cause, count(*) FROM attempt GROUP BY cause' | tr '\n' ' ')"
"$TAPER" daemon --stop > "$T/log"
check 'no process is left' poll 20 nothing_left

# The same in a home that nothing happens to.
files() { (cd "$TAPER_HOME/runs" && sha256sum */checkpoint.safetensors */config.json); }
all_rows > "$T/cut.rows"
files > "$T/cut.files"
export TAPER_HOME=$T/calm TAPER_CACHE=$T/cache
undisturbed() {
    local i
    for ((i = 0; i < sweeps; i++)); do "$TAPER" run --slots cpu:2 "$T/p$i.yaml" || return; done
}
check 'the same sweeps, undisturbed' undisturbed
all_rows > "$T/calm.rows"
files > "$T/calm.files"
enough() { [ "$(wc -l < "$T/calm.rows")" -gt $((4 * sweeps * 400)) ]; }
check 'they have rows' enough
equal() { diff "$1" "$2" > "$T/diff" || { head -n 20 "$T/diff"; return 1; }; }
check 'every value is the same, and there once' equal "$T/calm.rows" "$T/cut.rows"
check 'every final file is the same' equal "$T/calm.files" "$T/cut.files"
done_testing
