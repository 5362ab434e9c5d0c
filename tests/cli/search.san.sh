#!/usr/bin/env bash
# A search pauses runs at its rungs and goes on with the best, by whatever is killed on the way; what people see of it.
. "$(dirname "$0")/../support/daemon.bash"
export XDG_CACHE_HOME=$T/cache
runs=27 kills=10
case $TAPER in *asan* | *ubsan* | *tsan*) runs=9 kills=3 ;; esac
cat > "$T/hunt.yaml" << EOF
sweep: hunt
base: {model.size: demo, model.d_model: 16, model.layers: 1, model.heads: 1, model.context: 16, model.vocab: 300,
       data.size: 20000, train.steps: 40, train.batch: 2, log.every: 1, eval.every: 50%, eval.tokens: 256, threads: 1,
       checkpoint.every: 0, sample.tokens: 0}
search:
  sample: {train.lr: {log: [1e-4, 1e-1]}}
  runs: $runs
  stop: {policy: halving, metric: eval.loss, rungs: [10%, 10, 50%], keep: 1/3}
EOF
decisions="SELECT m.position, d.rung, d.step, d.metric, d.rank, d.ranked, d.verdict FROM decision d JOIN sweep_run m
    ON m.run = d.run ORDER BY d.id"
rows="SELECT m.position, s.step, s.ce, s.grad_norm, s.gate FROM step s JOIN sweep_run m ON m.run = s.run ORDER BY 1, 2"
evals="SELECT m.position, e.step, e.split, e.loss FROM eval e JOIN sweep_run m ON m.run = e.run ORDER BY 1, 2, 3"
dump() { for sql in "$decisions" "$rows" "$evals"; do query "$sql"; done > "$1"; }

"$TAPER" run --dry-run "$T/hunt.yaml" > "$T/dry"
check 'a dry run says what is stopped' grep -q 'search: at 10%, 10, 50% of a run 1 of 3 go on, the others are paused: about .* of ' "$T/dry"
"$TAPER" run "$T/hunt.yaml" > "$T/log" 2>&1
that 'a search by taper run' $?
check 'one at least is trained to its end' is 1 "SELECT count(*) >= 1 FROM run WHERE state = 'done'"
check 'all others are paused' is 0 "SELECT count(*) FROM run WHERE state NOT IN ('done', 'paused')"
check 'at the first rung all were compared' is $runs "SELECT max(ranked) FROM decision WHERE rung = 1"
check 'the last third or more of them are not trained further' is 1 \
    "SELECT count(*) > $runs / 2 FROM run r WHERE NOT EXISTS (SELECT 1 FROM step WHERE run = r.id AND step > 4)"
check 'what is kept is among the best' is 0 \
    "SELECT count(*) FROM decision WHERE verdict = 'kept' AND rank > ranked / 3 AND why NOT LIKE '%the best there is%'"
dump "$T/undisturbed"

# A done run is what it would be without any pause: its measurements and its checkpoint.
run=$(query "SELECT id FROM run WHERE state = 'done' ORDER BY position LIMIT 1")
check 'it was trained in parts' is 1 "SELECT attempts >= 4 FROM run WHERE id = '$run'"
threads=$(query "SELECT text FROM event WHERE run = '$run' AND kind = 'start'" | tr -dc '0-9 ' | tr -s ' ' | cut -d' ' -f2)
"$TAPER" train "$TAPER_HOME/runs/$run/config.json" --set "threads=$threads" --out "$T/whole" > "$T/o" 2>&1
that 'the same training in one go' $?
check 'has the same checkpoint' cmp "$T/whole/checkpoint.safetensors" "$TAPER_HOME/runs/$run/checkpoint.safetensors"

paused=$(query "SELECT id FROM run WHERE state = 'paused' ORDER BY position LIMIT 1")
"$TAPER" status > "$T/status"
check 'status counts the paused' grep -q "paused by the search" "$T/status"
check 'and shows the rungs' grep -q '  default rung 1 (step 4): [0-9]* of '$runs' went on, best [0-9.]*; rung 2 (step 10)' "$T/status"
"$TAPER" show "$paused" > "$T/show"
check 'show says why it is paused' grep -q "why *rung [123] of 3, step [0-9]*: rank .*'taper resume $paused'" "$T/show"
check 'and what was decided' grep -q '^rung .*verdict paused' "$T/show"
check 'runs too' bash -c '"$TAPER" runs hunt | grep -q "paused .*rung [123] of 3, step"'
"$TAPER" best hunt > "$T/best"
check 'best ranks the settings that are done' grep -q "^default *1 *$runs *[0-9.e-]* *[0-9.]* *1 *0 *1\$" "$T/best"
check 'and says that the others were paused' grep -q 'runs paused by the search at a rung' "$T/best"
check 'by their loss' is "$(query "SELECT round(min(val_loss), 4) FROM run WHERE state = 'done'")" \
    "SELECT round($("$TAPER" best hunt --top 1 --csv | tail -n +2 | tr -d '\r' | cut -d, -f5), 4)"
check 'best wants a sweep' refuses 2 'wants a sweep' "$TAPER" best
check 'that is there' refuses 2 "no sweep 'nope'" "$TAPER" best nope

check 'a paused run is resumed' same "$paused: resumed, to its end" "$("$TAPER" resume "$paused")"
check 'once' refuses 2 'is queued; only one that its search paused can be resumed' "$TAPER" resume "$paused"
"$TAPER" run "$T/hunt.yaml" > "$T/log" 2>&1
that 'submitted again, only it is trained' $?
check 'to its end' is done "SELECT state FROM run WHERE id = '$paused'"
check 'a done one is not resumed' refuses 2 'is done; only one that' "$TAPER" resume "$paused"

# The same with everything killed again and again: as one slot takes them in order, every decision is the same.
export TAPER_HOME=$T/killed
check 'a daemon' daemon --slots cpu:1
check 'the search' "$TAPER" submit "$T/hunt.yaml"
for i in $(seq $kills); do
    poll 60 is 1 "SELECT count(*) >= $i * $runs / 20 FROM decision"
    others=
    [ $((i % 2)) -eq 0 ] || others=$(left) # as by a power cut, or the daemon alone
    # shellcheck disable=SC2086
    kill_daemon $others > /dev/null 2>&1
    daemon --slots cpu:1 || break
done
check 'ends all the same' "$TAPER" wait hunt --timeout 120
dump "$T/disturbed"
check 'with the same decisions and numbers' cmp "$T/undisturbed" "$T/disturbed"
check 'every run once' is 0 "SELECT count(*) FROM (SELECT run, step FROM step GROUP BY 1, 2 HAVING count(*) > 1)"
"$TAPER" daemon --stop --kill > "$T/o" 2>&1
check 'no process is left' poll 20 nothing_left

bad() { # WANTED STOP
    sed "s|stop: .*|stop: $2|" "$T/hunt.yaml" > "$T/bad.yaml"
    check "refused: $2" refuses 2 "$1" "$TAPER" run --dry-run "$T/bad.yaml"
}
bad "bad.yaml:8:9: stop: want policy: halving, median or none" '{rungs: [10%]}'
bad "bad.yaml:8:18: policy: want halving, median or none, got 'hyper'" '{policy: hyper, rungs: [10%]}'
bad "bad.yaml:8:9: stop: want rungs: [10%, 25%, 50%], where runs are compared" '{policy: median}'
bad "metric: want eval.loss (the validation loss), got 'accuracy'" '{policy: median, metric: accuracy, rungs: [10%]}'
bad "keep: want a fraction below 1 such as 1/3 (at most 1000 below the line), got '0.3'" '{policy: halving, rungs: [10%], keep: 0.3}'
bad "got '3/3'" '{policy: halving, rungs: [10%], keep: 3/3}'
bad 'keep: median keeps the better half' '{policy: median, rungs: [10%], keep: 1/3}'
bad "rung 1% is step 0: want one behind step 0 and before the last, 40" '{policy: median, rungs: [1%]}'
bad "rung 25% is step 10: want one behind step 10 and before the last, 40" '{policy: median, rungs: [10, 25%]}'
bad "rung 40 is step 40" '{policy: median, rungs: [40]}'
bad "rungs: want steps, or a part of the training between 0% and 100%, got '100%'" '{policy: median, rungs: [100%]}'
bad 'rungs: want a list of 1 to 16 lengths' '{policy: median, rungs: []}'
bad "unknown key 'rung'" '{policy: median, rung: [10%]}'
done_testing
