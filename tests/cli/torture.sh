#!/usr/bin/env bash
# SIGKILL at random moments, to the daemon, to workers, to their supervisors, to several at once, during sweeps of short
# runs. In the end every run is done, every step is there once with the value an undisturbed sweep gives, no process is
# left and no slot taken. ROUNDS (default 200; `make torture` does 1,000), SEED (default: from the clock), PACK (runs that
# share a worker; default: 3 in every other sweep).
. "$(dirname "$0")/../support/daemon.bash"
rounds=${ROUNDS:-200} seed=${SEED:-$(date +%N)}
RANDOM=$((10#$seed % 32768))
echo "# $rounds rounds, SEED=$seed"

spec() { # NUMBER: sweep tN, six runs of its own
    cat > "$T/t$1.yaml" << EOF
sweep: t$1
base: {model.size: demo, model.d_model: 16, model.layers: 1, model.heads: 1, model.context: 16, model.vocab: 300,
       data.size: 20000, train.steps: 1500, train.batch: 2, log.every: 50, checkpoint.every: 50, eval.every: 500,
       eval.tokens: 200, sample.tokens: 0}
variants: {baseline: {taper.sites: none}, all+aux: {taper.sites: all, aux.lambda: 0.1}}
grid: {seed: {range: [$(($1 * 3)), $(($1 * 3 + 2))]}}
run: {retries: 1000, pack: ${PACK:-$(($1 % 2 * 2 + 1))}}
EOF
}
start() { "$TAPER" daemon --detach --slots cpu:2 --retry-delay 0 --grace 2 > "$T/daemon.out" 2>&1; }
pick() { # one of the words at random
    [ $# -gt 0 ] || return
    shift $((RANDOM % $#))
    echo "$1"
}
supervisors=() workers=()
look() { # workers and their supervisors, as they are now
    local pid parent
    supervisors=() workers=()
    for pid in $(env -u TAPER_TEST grep -lz '^worker$' /proc/[0-9]*/cmdline 2> /dev/null | cut -d/ -f3); do
        env -u TAPER_TEST grep -qszx "TAPER_TEST=$T" "/proc/$pid/environ" || continue
        read -r parent < <(cut -d' ' -f6 "/proc/$pid/stat" 2> /dev/null)
        if [ "$parent" = "$pid" ]; then supervisors+=("$pid"); else workers+=("$pid"); fi
    done
}
queued() { query "SELECT count(*) FROM run WHERE state NOT IN ('done')"; }

sweeps=0 daemons=0 killed=0
more() {
    spec $sweeps
    "$TAPER" submit "$T/t$sweeps.yaml" > "$T/log" || return
    sweeps=$((sweeps + 1))
}
torture() {
    local round victims what
    start && more || return
    for ((round = 0; round < rounds; round++)); do
        read -rt "0.$(printf %03d $((RANDOM % 150)))" <> <(:)
        [ "$(queued)" -gt 2 ] || more || return
        what=$((RANDOM % 6)) victims=()
        look
        case $what in
        0 | 1) victims=("$(daemon_pid)") ;;
        2) victims=($(pick "${workers[@]}")) ;;
        3) victims=($(pick "${supervisors[@]}")) ;;
        4) victims=("$(daemon_pid)" $(pick "${supervisors[@]}" "${workers[@]}")) ;;
        5) victims=("$(daemon_pid)" "${supervisors[@]}" "${workers[@]}") ;;
        esac
        [ ${#victims[@]} -gt 0 ] || continue
        kill -KILL "${victims[@]}" 2> /dev/null
        killed=$((killed + ${#victims[@]}))
        case $what in
        0 | 1 | 4 | 5)
            daemons=$((daemons + 1))
            poll 20 gone "${victims[0]}" && start || { cat "$T/daemon.out"; return 1; }
            ;;
        esac
    done
}
check 'rounds of kills' torture
finished() {
    local i
    for ((i = 0; i < sweeps; i++)); do timeout 300 "$TAPER" wait t$i || return; done
}
check 'every run is done in the end' finished
check 'none in any other state' is "done,$((6 * sweeps))" 'SELECT state, count(*) FROM run GROUP BY state'
check 'attempts were lost on the way' bash -c '[ "$1" -gt 0 ]' - "$(query "SELECT count(*) FROM attempt WHERE cause = 'lost'")"
check 'no slot is taken' bash -c '! "$TAPER" devices --json | grep -q "\"used\": true"'
check 'only the daemon is left' [ "$(left)" = "$(daemon_pid)" ]
echo "# $killed processes killed, the daemon $daemons times; $sweeps sweeps, $(query 'SELECT count(*) FROM attempt') attempts:" \
    "$(query 'SELECT cause, count(*) FROM attempt GROUP BY cause' | tr '\n' ' ')"
"$TAPER" daemon --stop > "$T/log"
check 'no process is left' nothing_left

# The same in a home of its own, undisturbed.
dump() {
    query 'SELECT run, step, tokens, ce, aux, lr, gate, grad_norm, scale_mean, logit_rms, entropy FROM step ORDER BY run, step'
    query 'SELECT run, step, site, c, scale_mean, agreement, gamma_norm FROM site_step ORDER BY run, step, site'
    query 'SELECT run, step, split, loss, tokens FROM eval ORDER BY run, step, split'
    query 'SELECT id, val_loss, params FROM run ORDER BY id'
}
dump > "$T/disturbed"
export TAPER_HOME=$T/calm
for ((i = 0; i < sweeps; i++)); do "$TAPER" run --slots cpu:2 "$T/t$i.yaml" >> "$T/log" 2>&1; done
dump > "$T/undisturbed"
enough() { [ "$(wc -l < "$T/undisturbed")" -gt $((6 * sweeps * 31)) ]; }
check 'the undisturbed sweeps have rows' enough
check 'every value is the same' diff "$T/undisturbed" "$T/disturbed"
check 'still no process is left' nothing_left
done_testing
