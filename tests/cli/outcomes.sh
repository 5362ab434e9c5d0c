#!/usr/bin/env bash
# How an attempt ended is data: memory that really ran out, a training that diverged, and programs of others whose words
# and exit statuses look like ours and mean nothing. Not under sanitizers: they need more address space than is given.
. "$(dirname "$0")/../support/daemon.bash"
common='data.size: 100000, sample.tokens: 0, threads: 1'
small="$common, model.vocab: 300, model.d_model: 16, model.layers: 1, model.context: 16, train.batch: 2"
run() { "$TAPER" run "$@" --slots cpu:1 --retry-delay 0.1; }
attempts() { is "$1" "SELECT cause, a.code, r.failures FROM attempt a JOIN run r ON r.id = a.run WHERE r.sweep = '$2'"; }

cat > "$T/large.yaml" << Y
sweep: large
base: {$common, train.steps: 4, model.vocab: 4000, model.d_model: 512, model.heads: 8, model.layers: 8, model.context: 1024,
  train.batch: 64}
run: {retries: 1}
Y
sed 's/sweep: large/sweep: packed/; s/retries: 1/retries: 0, pack: 2/' "$T/large.yaml" > "$T/packed.yaml"
echo 'grid: {seed: [7, 8]}' >> "$T/packed.yaml"
bounded() { (ulimit -v 3000000 && run "$@"); }
check 'a run larger than memory fails' refuses 1 'not all' bounded "$T/large.yaml"
check 'as out of memory, and is tried again' attempts 'memory,5,2
memory,5,2' large
check 'exit.json has the outcome' grep -q '"outcome":"memory"' "$TAPER_HOME"/runs/*/exit.json
check 'the same in a pack' refuses 1 'not all' bounded "$T/packed.yaml"
check 'counts for none of it, and then for each' is '1,memory,2,1
2,memory,1,1
1,memory,2,1
2,memory,1,1' "SELECT a.attempt, a.cause, a.pack, r.failures FROM attempt a JOIN run r ON r.id = a.run
    WHERE r.sweep = 'packed' ORDER BY r.seed, a.attempt"

# An update that overflows after a loss that was finite: found at the checkpoint.
cat > "$T/wild.yaml" << Y
sweep: wild
base: {$small, train.steps: 22, log.every: 1, eval.every: 2, checkpoint.every: 1, eval.tokens: 200, taper.sites: all,
  train.lr: 100, train.clip: 0, train.beta2: 0}
run: {retries: 2}
Y
check 'a training that diverges fails' refuses 1 'not all' run "$T/wild.yaml"
check 'once' attempts 'diverged,4,1' wild
check 'the log says where' grep -q 'step [0-9]*: not finite: ' "$TAPER_HOME/runs/$(query "SELECT id FROM run WHERE sweep = 'wild'")/log.txt"

# LINE STATUS CAUSE ATTEMPTS
foreign() {
    count=$((${count:-0} + 1))
    printf '#!/bin/sh\necho "%s"\nexit %d\n' "$1" "$2" > "$T/payload"
    chmod +x "$T/payload"
    printf 'sweep: p%d\nbase: {%s, train.steps: 4, seed: %d}\nrun: {retries: 2}\n' $count "$small" $((100 + count)) > "$T/p.yaml"
    check "a program that says '$1' and ends with $2" refuses 1 'not all' run "$T/p.yaml" --payload "$T/payload"
    check "$4 attempts, each $3" is "$3,$2,$4" "SELECT a.cause, a.code, count(*) FROM attempt a JOIN run r ON r.id = a.run
        WHERE r.sweep = 'p$count' GROUP BY 1, 2"
}
foreign 'taper: out of memory' 1 failed 3
foreign 'taper: cuda: out of memory: 3 bytes asked for' 1 failed 3
foreign 'val loss fine; not finite: loss of my own program' 1 failed 3
foreign 'step 3: not finite: loss nan' 4 failed 3
foreign 'no space left on device' 6 failed 3
foreign 'nothing of the kind' 2 input 1
check 'no process is left' poll 10 nothing_left
done_testing
