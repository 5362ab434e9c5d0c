#!/usr/bin/env bash
# taper runs, compare and show, and SWEEP/VARIANT/SEED wherever a run is meant.
. "$(dirname "$0")/../support/tap.bash"
export TAPER_HOME=$T/home XDG_CACHE_HOME=$T/cache
cat > "$T/tiny.yaml" <<'END'
sweep: tiny
base: {model.d_model: 16, model.layers: 1, model.heads: 2, model.context: 32, model.vocab: 300, data.size: 20000,
       train.steps: 10, train.batch: 4, eval.every: 50%, eval.tokens: 1024, log.every: 2, threads: 1, sample.tokens: 0}
variants:
  baseline: {taper.sites: none}
  all: {taper.sites: all}
grid: {gate.end: [20%, 70%], seed: [0, 1]}
END
cat > "$T/bad.yaml" <<'END'
sweep: bad
base: {model.d_model: 16, model.layers: 1, model.heads: 2, model.context: 32, model.vocab: 300, data.size: 20000,
       train.steps: 40, train.batch: 4, train.lr: 100, train.clip: 0, model.init_std: 10, sample.tokens: 0, threads: 1}
run: {retries: 0}
END
check 'a sweep runs' "$TAPER" run "$T/tiny.yaml" --slots cpu:2
check 'another fails' refuses 1 '' "$TAPER" run "$T/bad.yaml"
value() { "$TAPER" query --csv "$1" | tail -1; }
first=$(value "SELECT id FROM run WHERE variant = 'baseline' AND seed = 0")
second=$(value "SELECT id FROM run WHERE variant = 'baseline' AND seed = 1")

# ---- runs
"$TAPER" runs tiny --csv > "$T/runs"
check 'a line a run, with the keys that differ' same \
    "run,variant,gate.end,seed,state,step,steps,loss,val_loss,why 7" "$(head -1 "$T/runs") $(wc -l < "$T/runs")"
check 'blank where a run stands for several values' same "$first,baseline,,0,done,10,10" \
    "$(grep "^$first" "$T/runs" | cut -d, -f1-7)"
check 'its losses are those of the database' same \
    "$(value "SELECT (SELECT ce FROM step WHERE run = id ORDER BY step DESC LIMIT 1) || ',' || val_loss FROM run WHERE id = '$first'")" \
    "\"$(grep "^$first" "$T/runs" | cut -d, -f8,9)\""
check 'best ranks the settings of each variant, seeds together' same 'all,1,2;all,2,2;baseline,1,1;' \
    "$("$TAPER" best tiny --csv | tail -n +2 | tr -d '\r' | cut -d, -f1-3 | sort | tr '\n' ';')"
check 'the best of many is said to look better than it is' bash -c '"$TAPER" best tiny | grep -q "best of many settings"'
check 'which the only one does not' bash -c '! "$TAPER" best tiny --where variant=baseline | grep -q "best of many settings"'
check 'one that diverged has no rank, and is said' bash -c '"$TAPER" best bad > "$1" && ! grep -q "^default" "$1" &&
    grep -qx "1 setting with a run that diverged, left out" "$1" && ! grep -q "not done" "$1"' - "$T/best"
check '--where chooses' same 2 "$("$TAPER" runs tiny --csv --where gate.end=70% --where variant=all | tail -n +2 | wc -l)"
check 'JSON has the same' bash -c '"$TAPER" runs tiny --json | grep -q "\"gate.end\":\"70%\",\"seed\":1,\"state\":\"done\""'
check 'without a sweep those of all, and why one failed' bash -c '"$TAPER" runs > "$1" && cat "$1" && head -1 "$1" | grep -q sweep &&
    grep -Eq " bad +default .*failed .*not finite" "$1"' - "$T/o"
check 'a sweep that is not there' refuses_silently 2 "no sweep 'tinny' (there is tiny)" "$TAPER" runs tinny
check 'a key that is not there' refuses_silently 2 'train.lrr' "$TAPER" runs tiny --where train.lrr=1

# ---- names
check 'show by name' bash -c '"$TAPER" show tiny/baseline/0 | grep -q "^id  *$1"' - "$first"
check 'show begins with the state and the losses' same 'state val_loss loss step' \
    "$("$TAPER" show tiny/baseline/0 | head -4 | awk '{ printf "%s%s", s, $1; s = " " }')"
check 'and of a failed run with why' bash -c '"$TAPER" show bad/default/0 | sed -n 2p | grep "^why .*not finite"'
check 'and ends with what finds its processes' bash -c '"$TAPER" show tiny/baseline/0 | grep -n "^configuration\|^  handle" > "$1"
    cat "$1"; [ "$(head -1 "$1" | cut -d: -f2)" = configuration ] && [ "$(wc -l < "$1")" = 2 ]' - "$T/o"
check 'log by name' bash -c '"$TAPER" log tiny/baseline/1 > "$1" 2>&1' - "$T/o"
check 'wait by name' "$TAPER" wait tiny/baseline/0
check 'retry and cancel by name' bash -c '"$TAPER" retry bad/default/0 | grep -q "1 queued again" && "$TAPER" cancel bad/default/0 |
    grep -q "1 cancelled"'
check 'a name of several runs' refuses_silently 2 "2 runs are 'tiny/all/0'; name one by its id:" "$TAPER" show tiny/all/0
check 'says which they are' grep -q '"gate.end":"70%"' "$T/err"
check 'a variant that is not there' refuses_silently 2 "sweep tiny has none of variant 'al' and seed 0" "$TAPER" show tiny/al/0
check 'a sweep of a name' refuses_silently 2 "no sweep 'tin'" "$TAPER" wait tin/all/0
check 'half a name' refuses_silently 2 'a name is SWEEP/VARIANT/SEED' "$TAPER" show tiny/all
check 'a seed that is none' refuses_silently 2 'a name is SWEEP/VARIANT/SEED' "$TAPER" show tiny/all/x

# ---- compare
"$TAPER" compare tiny/baseline/0 "${second:0:9}" > "$T/diff"
check 'two runs differ in the key that does' bash -c 'cat "$1"; grep -Eq "^seed +0 +1$" "$1" && ! grep -q "train.lr" "$1"' - "$T/diff"
check 'their losses stand side by side' bash -c 'grep -Eq "^5 valid +[0-9.]+ +[0-9.]+ +[-+][0-9.]+ %$" "$1"' - "$T/diff"
"$TAPER" compare --json tiny/baseline/0 "$second" > "$T/diff"
check 'JSON is JSON' python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
assert d["config"] == {"seed": [0, 1]} and d["a"]["seed"] == 0 and [e["step"] for e in d["evals"]] == [5, 10], d' "$T/diff"
check 'a run and itself' bash -c '"$TAPER" compare "$1" "$1" | grep -q "no key of the configuration differs"' - "$first"
check 'one run alone' refuses_silently 2 'wants two runs' "$TAPER" compare "$first"

# ---- the views
check 'run_flat has a column a key' same "demo,$(value "SELECT config ->> '\$.\"train.lr\"' FROM run WHERE id = '$first'"),$(value "SELECT strftime('%Y-%m-%dT%H:%M:%SZ', started / 1000000, 'unixepoch') FROM run WHERE id = '$first'"),1" \
    "$(value "SELECT \"model.size\", \"train.lr\", started, hours > 0 FROM run_flat WHERE run = '$first'")"
check 'and the keys of the program, none less' same "$("$TAPER" help config | grep -cE '^[a-z0-9_.]+ .* default')" \
    "$(value 'SELECT count(*) FROM config_key')"
check 'config_diff' same seed,0,1 "$(value "SELECT key, a, b FROM config_diff WHERE run_a = '$first' AND run_b = '$second'")"
check 'seconds until a step' same 1 "$(value "SELECT abs(max(elapsed_s) - (SELECT sum(ms * n) / 1000 FROM
    (SELECT ms, step - lag(step, 1, 0) OVER (ORDER BY step) AS n FROM step WHERE run = '$first'))) < 1e-9
    FROM step_elapsed WHERE run = '$first'")"
mkdir "$T/packed" && sqlite3 "$TAPER_HOME/taper.db" "VACUUM INTO '$T/packed/a.db'"
sqlite3 "$T/packed/a.db" "UPDATE run SET wants = 'cuda', slots = 2;
    UPDATE attempt SET started = 0, ended = iif(run = '$first', 7200000000, 3600000000), pid = 1, pid_started = 1, boot_id = 'b'
        WHERE run IN ('$first', '$second');
    DELETE FROM attempt WHERE run NOT IN ('$first', '$second')"
check 'the hours of a pack count once, on two GPUs' same '4.0,4.0,3.0' "$("$TAPER" query --home "$T/packed/a.db" --csv \
    "SELECT format('%.1f', sum(gpu_hours)), format('%.1f', sum(slot_hours)), format('%.1f', sum(hours)) FROM attempt_time" | tail -1)"
done_testing
