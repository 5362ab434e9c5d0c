#!/usr/bin/env bash
# Forty tiny runs on a real Slurm, and SIGKILL at random moments to the daemon, to workers, to Slurm's controller and node
# daemon; scancel by somebody, preemption. In the end every run is done, every row of its journal is there once, and its
# checkpoint is that of an undisturbed run, bit for bit. ROUNDS (default 12), SEED (default: from the clock).
. "$(dirname "$0")/../support/slurm.bash"
missing=$(slurm_missing)
[ -z "$missing" ] || { skip 'Slurm at random' "$missing"; done_testing; }
rounds=${ROUNDS:-12} seed=${SEED:-$(date +%N)}
RANDOM=$((10#$seed % 32768))
echo "# $rounds rounds, SEED=$seed"
check 'a private Slurm' slurm_up || done_testing
export TAPER_SLURM=poll=0.2,quiet=1,pace=0.05,timeout=3,settle=0.5,lost=2
start() { poll 20 daemon --executor slurm --retry-delay 0 --grace 2; }
pick() { [ $# -eq 0 ] || { shift $((RANDOM % $#)); echo "$1"; }; }
workers() {
    local pid
    for pid in $(left); do grep -qsz '^worker$' "/proc/$pid/cmdline" && echo "$pid"; done
}
ids() { squeue -h -t "$1" -o %i; }
revive() { # what scancel ended is wanted again, and a node that Slurm drained for what was done to it is put back
    ! sinfo -h -o %t | grep -q drain || scontrol update "NodeName=$(hostname -s)" State=RESUME
    is 0 "SELECT count(*) FROM run WHERE state = 'cancelled'" || "$TAPER" retry forty
} > /dev/null 2>&1
sweep forty 40 'run: {retries: 100, slurm: {cpus: 1, partition: low}}'
sed -i 's/train.steps: 60/train.steps: 3000/; s/log.every: 1,/log.every: 100,/; s/checkpoint.every: 5/checkpoint.every: 300/' "$T/forty.yaml"
torture() {
    local round done_before=0
    start && "$TAPER" submit "$T/forty.yaml" || return
    for ((round = 0; round < rounds; round++)); do
        read -rt "0.$(printf %03d $((RANDOM % 600)))" <> <(:)
        case $((RANDOM % 7)) in
        0 | 1) kill_daemon; start || return ;;
        2) kill -KILL $(pick $(workers)) 2> /dev/null ;;
        3) scancel $(pick $(ids running,pending)) 2> /dev/null ;;
        4) slurm_end -KILL slurmctld; read -rt 0.5 <> <(:); slurmctld ;;
        5) slurm_end -KILL slurmd; slurmd ;;
        6) sbatch -p normal -n 6 -t 1 -o /dev/null --wrap 'read -t 1 <> <(:)' > /dev/null 2>&1 ;;
        esac
        revive
        echo "round $round: $(query "SELECT count(*) FROM run WHERE state = 'done'") done"
    done
}
check 'the undisturbed sweep' env TAPER_HOME="$T/calm" "$TAPER" run --slots "cpu:$(nproc)" "$T/forty.yaml"
check "$rounds rounds" torture
all_done() { revive; is 40 "SELECT count(*) FROM run WHERE state = 'done'"; }
# A controller that was killed together with the node daemon takes a dead job for running for minutes yet.
finish() { poll 60 all_done || { scancel --full --user="$(id -un)"; poll 240 all_done; }; }
check 'all get done' finish
dump() {
    query 'SELECT run, step, tokens, ce, aux, lr, grad_norm, scale_mean, entropy FROM step ORDER BY run, step'
    query 'SELECT run, step, site, c, scale_mean FROM site_step ORDER BY run, step, site'
    query 'SELECT id, val_loss, state FROM run ORDER BY id'
    (cd "$TAPER_HOME/runs" && sha256sum */checkpoint.safetensors)
}
TAPER_HOME=$T/calm dump > "$T/calm.dump"
dump > "$T/torn.dump"
check 'there is something to compare' [ "$(wc -l < "$T/calm.dump")" -gt 1000 ]
check 'every row is there once, and every checkpoint is the same' diff "$T/calm.dump" "$T/torn.dump"
query "SELECT cause, count(*) FROM attempt GROUP BY cause ORDER BY cause" | sed 's/^/# attempts: /'
check 'the daemon ends' "$TAPER" daemon --stop
idle() { [ -z "$(workers)" ]; }
check 'no worker is left' poll 30 idle
# What is still listed then is what the controller itself lost sight of (see finish): nothing runs there.
emptied() { poll 20 no_jobs || { scancel --full --user="$(id -un)"; poll 120 no_jobs; }; }
check 'Slurm has nothing left' emptied
slurm_down
check 'nothing is left' poll 30 nothing_left
done_testing
