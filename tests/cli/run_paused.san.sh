#!/usr/bin/env bash
# taper run and the queue: both ask for the next run in one way, so what holds one of them holds the other.
. "$(dirname "$0")/../support/daemon.bash"

sweep() { # SEED
    cat > "$T/s.yaml" << Y
sweep: tiny
base: {data.size: 100000, model.vocab: 300, model.d_model: 16, model.layers: 1, model.context: 16, train.steps: 4,
  train.batch: 2, sample.tokens: 0, threads: 1}
grid: {seed: [$1]}
Y
}
done_runs() { [ "$("$TAPER" query --csv "SELECT count(*) FROM run WHERE state = 'done'" | tail -n 1)" = "$1" ]; }
far_off() { # a retry's delay as it looks when the clock was set back ten years since
    sqlite3 "$TAPER_HOME/taper.db" "UPDATE run SET not_before = created + 315360000000000 WHERE state = 'queued'"
}

sweep 0
check 'submit' "$TAPER" submit "$T/s.yaml"
check 'pause the queue' "$TAPER" pause
check 'run refuses, and says how to go on' refuses 2 "'taper resume' lets it go on" timeout 60 "$TAPER" run "$T/s.yaml"
check 'nothing was done' done_runs 0
check 'resume' "$TAPER" resume
check 'pause the sweep' "$TAPER" pause tiny
check 'run starts the sweep that it names' timeout 300 "$TAPER" run "$T/s.yaml" --slots cpu:1
check 'one is done' done_runs 1

sweep 1
check 'another' "$TAPER" submit "$T/s.yaml"
check 'a delay beyond any retry' far_off
check 'holds up no run' timeout 300 "$TAPER" run "$T/s.yaml" --slots cpu:1
check 'two are done' done_runs 2
sweep 2
check 'a third' "$TAPER" submit "$T/s.yaml"
check 'with such a delay too' far_off
check 'a daemon' "$TAPER" daemon --detach --slots cpu:1
check 'is not held up either' timeout 300 "$TAPER" wait tiny
check 'three are done' done_runs 3
check 'it ends' "$TAPER" daemon --stop --workers
check 'no process is left' poll 10 nothing_left
done_testing
