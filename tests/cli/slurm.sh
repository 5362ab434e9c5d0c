#!/usr/bin/env bash
# Runs as jobs of a real Slurm: the same numbers as on this machine, a daemon that is killed, and every way in which
# Slurm ends a job. slurm_trouble.sh: Slurm itself in trouble.
. "$(dirname "$0")/../support/slurm.bash"
missing=$(slurm_missing)
[ -z "$missing" ] || { skip 'runs as jobs of Slurm' "$missing"; done_testing; }
check 'a private Slurm' slurm_up || done_testing
export TAPER_SLURM=poll=0.2,quiet=1,pace=0.05,timeout=20,settle=0.5,lost=2
cluster() { daemon --executor slurm "$@"; }
run_of() { query "SELECT id FROM run WHERE sweep = '$1' LIMIT 1"; }
note_has() { query "SELECT a.note FROM attempt a JOIN run r ON r.id = a.run WHERE r.sweep = '$1' AND a.ended IS NULL" | grep -qE "$2"; }
job_of() { query "SELECT substr(a.handle, length(rtrim(a.handle, '0123456789')) + 1) FROM attempt a JOIN run r ON r.id = a.run AND a.attempt = r.attempts WHERE r.sweep = '$1' LIMIT 1"; }
running() { is "$2" "SELECT count(*) FROM run WHERE sweep = '$1' AND state = 'running'"; }
saved() { is "$2" "SELECT count(DISTINCT run) FROM event WHERE kind = 'checkpoint' AND run IN (SELECT id FROM run WHERE sweep = '$1')"; }
state_is() { is "$2" "SELECT state FROM run WHERE sweep = '$1'"; }
ends() { is "$2" "SELECT r.state, a.cause, r.failures FROM run r JOIN attempt a ON a.run = r.id AND a.attempt = $3 WHERE r.sweep = '$1'"; }
submit() { "$TAPER" submit "$T/$1.yaml" > "$T/log" 2>&1; }
long() { # NAME SEED [YAML]: a run that is not done while anybody watches
    sweep "$1" 1 "${3:-}"
    sed -i "s/train.steps: 60/train.steps: 2000000/; s/log.every: 1,/log.every: 1000,/; s/checkpoint.every: 5/checkpoint.every: 1000/; s/range: .0, 0./range: [$2, $2]/" "$T/$1.yaml"
}
jobs() { squeue -h --states=all -o %i | wc -l; }

# ---- what is wrong before anything starts
check 'no such executor' refuses 2 "want local or slurm, got 'pbs'" "$TAPER" daemon --executor pbs
check 'jobs are bounded only where there are some' refuses 2 '--max-jobs goes with --executor slurm' "$TAPER" daemon --max-jobs 3
check 'not where there is no Slurm' refuses 2 'no sbatch in PATH' env PATH=/nowhere "$TAPER" daemon --executor slurm
check 'a wrong word about its pace' refuses 2 "TAPER_SLURM: want poll, quiet" env TAPER_SLURM=pol=3 "$TAPER" daemon --executor slurm
sweep wrong 1 'run: {slurm: {partion: x, mem: lots, time: soon, cpus: 0, extra: [-x, --hold], gpus: 1, gres: "gpu:1"}}'
check 'options are checked' refuses 2 '7 errors' "$TAPER" run --executor slurm "$T/wrong.yaml"
check 'with the nearest one' grep -q "partion.*partition" "$T/err"
check 'and what is not theirs to say' grep -q -- '--hold is set by taper itself' "$T/err"

sweep asked 1 'run: {slurm: {cpus: 2, time: 5m}}'
check 'a dry run asks Slurm' bash -c '"$TAPER" submit --dry-run "$1" 2>&1 | grep -q "slurm: .*Job [0-9]* to start"' - "$T/asked.yaml"
sweep asked 1 'run: {slurm: {partition: nowhere}}'
check 'and has its refusal' refuses 2 'nvalid partition' "$TAPER" submit --dry-run "$T/asked.yaml"
check 'where there is none it says so' bash -c 'PATH=/nowhere "$TAPER" submit --dry-run "$1" 2>&1 | /usr/bin/grep -q "slurm: sbatch --test-only: sbatch: No such file"' - "$T/asked.yaml"

# ---- the same numbers as here, one by one and in packs
dump() {
    query 'SELECT run, step, tokens, ce, aux, lr, gate, grad_norm, scale_mean, logit_rms, entropy FROM step ORDER BY run, step'
    query 'SELECT id, val_loss, params, state, attempts FROM run ORDER BY id'
    (cd "$TAPER_HOME/runs" && sha256sum */checkpoint.safetensors)
}
sweep same 6 'run: {slurm: {cpus: 1, time: 10m, mem: 100M, before: "export FOUND=here", extra: --comment=a sweep}}'
check 'a sweep here' env TAPER_HOME="$T/here" "$TAPER" run --slots "cpu:$(nproc)" "$T/same.yaml"
check 'the same sweep on the cluster' "$TAPER" run --executor slurm "$T/same.yaml"
TAPER_HOME=$T/here dump > "$T/here.dump"
dump > "$T/there.dump"
check 'there is something to compare' [ "$(wc -l < "$T/here.dump")" -gt 100 ]
check 'every value and every checkpoint is the same' diff "$T/here.dump" "$T/there.dump"
check 'a job each' [ "$(jobs)" = 6 ]
sed -i 's/run: {/run: {pack: 3, /' "$T/same.yaml"
check 'in packs' env TAPER_HOME="$T/packed" "$TAPER" run --executor slurm "$T/same.yaml"
TAPER_HOME=$T/packed dump > "$T/packed.dump"
check 'they are the same too' diff "$T/here.dump" "$T/packed.dump"
check 'from two jobs' [ "$(jobs)" = 8 ]
script=$TAPER_HOME/runs/$(run_of same)/batch-1.sh
check 'the script is kept, with its prologue' grep -qx 'export FOUND=here' "$script"
check 'show has how it was submitted' bash -c '"$TAPER" show "$1" | grep -q "sbatch --hold .*--time=10 --mem=100M --cpus-per-task=1 --comment=a sweep"' - "$(run_of same)"
check 'and the node' is "$(hostname -s),slurm,done" "SELECT DISTINCT r.host, a.executor, a.cause FROM run r JOIN attempt a ON a.run = r.id"

# ---- a daemon that is killed, with jobs that run and jobs that wait
check 'a daemon' cluster --max-jobs 2
check 'it says where runs go' grep -q 'runs are handed to slurm' "$T/daemon.out"
sweep four 8 'run: {slurm: {cpus: 4}}'
sed -i 's/train.steps: 60/train.steps: 10000/; s/log.every: 1,/log.every: 500,/; s/checkpoint.every: 5/checkpoint.every: 500/' "$T/four.yaml"
submit four
check 'two have the node' poll 30 running four 2
check 'two wait in the queue' poll 20 note_has four 'PENDING \((Resources|Priority)\)'
check 'and no more than two' [ "$(squeue -h -t pending | wc -l)" -le 2 ]
check 'status says for what' bash -c '"$TAPER" status four | grep -qE "job [0-9]+ PENDING \("'
check 'and that the others wait for their turn there' bash -c '"$TAPER" status four | grep -q "to be handed to slurm"'
check 'devices says that what is here is of no use' bash -c '"$TAPER" devices | grep -q "hands its runs to slurm"'
kill_daemon
check 'the next daemon' cluster --max-jobs 2
kill_daemon
check 'and the one after that' cluster
check 'all get done' "$TAPER" wait four
check 'each in one attempt' is '8,8,1' "SELECT count(*), count(DISTINCT run), max(attempt) FROM attempt WHERE run IN (SELECT id FROM run WHERE sweep = 'four')"
check 'by one job each' [ "$(squeue -h --states=all -o %j | sort | uniq -d | wc -l)" = 0 ]

# ---- who ends a job: we, its owner, Slurm
long ours 1
submit ours
check 'one runs' poll 30 saved ours 1
check 'cancel ends it' "$TAPER" cancel --wait ours
check 'as that' ends ours cancelled,cancelled,0 1
check 'with a checkpoint' [ -s "$TAPER_HOME/runs/$(run_of ours)/checkpoint.safetensors" ]
long queued 2 'run: {slurm: {extra: --begin=now+1hour}}'
submit queued
check 'one waits for its time' poll 20 note_has queued BeginTime
check 'cancel takes it out of the queue' "$TAPER" cancel --wait queued
check 'and Slurm has it no more' bash -c '[ -z "$(squeue -h -t pending)" ]'
long theirs 3
submit theirs
check 'one runs' poll 30 saved theirs 1
scancel "$(job_of theirs)"
check 'scancel is a cancel' poll 30 ends theirs cancelled,revoked,0 1
long low 4 'run: {retries: 0, slurm: {partition: low, cpus: 8}}'
submit low
check 'one of low priority runs' poll 30 saved low 1
first=$(job_of low)
sbatch -p normal -n 8 --parsable -o /dev/null --wrap 'read -t 2 <> <(:)' > "$T/log"
check 'it is preempted, which counts for nothing' poll 30 is 'preempted,0' "SELECT a.cause, r.failures FROM run r JOIN attempt a ON a.run = r.id AND a.attempt = 1 WHERE r.sweep = 'low'"
check 'it goes on as another job' poll 60 is 'running,2' "SELECT state, attempts FROM run WHERE sweep = 'low'"
check 'from its checkpoint' [ "$(job_of low)" != "$first" ]
node=$(hostname -s)
check 'the node fails' scontrol update "NodeName=$node" State=DOWN Reason=test
check 'which counts for nothing' poll 30 is 'node,0' "SELECT a.cause, r.failures FROM run r JOIN attempt a ON a.run = r.id AND a.attempt = 2 WHERE r.sweep = 'low'"
scontrol update "NodeName=$node" State=RESUME 2> /dev/null # unless it came back by itself
check 'it goes on when the node is back' poll 60 is 'running,3' "SELECT state, attempts FROM run WHERE sweep = 'low'"
"$TAPER" cancel --wait low > "$T/log"

# ---- a stop of everything
long last 14
submit last
check 'one runs' poll 30 saved last 1
check 'the daemon ends its workers' "$TAPER" daemon --stop --workers
check 'Slurm has none of them' poll 20 no_jobs
check 'which are queued, with a checkpoint' is 'queued,stopped,0' "SELECT r.state, a.cause, r.failures FROM run r JOIN attempt a ON a.run = r.id WHERE r.sweep = 'last'"
check 'a daemon' cluster
check 'goes on with it' poll 30 is 'running,2' "SELECT state, attempts FROM run WHERE sweep = 'last'"
check 'and can kill it' "$TAPER" daemon --stop --kill
check 'Slurm has none of them' poll 20 no_jobs
foreground() { # as by hand: INT once it runs
    local pid status
    "$TAPER" run --executor slurm --grace 2 "$T/last.yaml" > "$T/run.log" 2>&1 &
    pid=$!
    poll 30 is 'running' "SELECT state FROM run WHERE sweep = 'last'"
    kill -INT $pid
    wait $pid
    status=$?
    [ $status -eq 3 ] && no_jobs && return
    echo "status $status"
    cat "$T/run.log"
    return 1
}
check 'in the foreground an interrupt does the same' foreground
check 'a daemon' cluster
"$TAPER" cancel --wait last > "$T/log"

# ---- what never starts
long nowhere 5 'run: {slurm: {partition: nowhere}}'
submit nowhere
check 'an unknown partition is refused' poll 20 ends nowhere failed,refused,1 1
check 'in the words of Slurm' bash -c '"$TAPER" status nowhere | grep -qi "invalid partition"'
bad=$(sbatch --parsable -o /dev/null --wrap 'exit 1')
long after 6 "run: {slurm: {extra: --dependency=afterok:$bad}}"
submit after
check 'a dependency that will never be is one end more' poll 60 ends after failed,dependency,1 1
long broken 7 'run: {retries: 0, slurm: {before: [echo no such thing here, exit 127]}}'
submit broken
check 'a prologue that fails' poll 30 ends broken failed,failed,1 1
check 'says so' is 1 "SELECT count(*) FROM attempt a JOIN run r ON r.id = a.run WHERE r.sweep = 'broken' AND a.text LIKE '%no such thing here'"

# ---- a job nobody knows, left by a daemon that was killed while sbatch was on its way
long keeps 8
submit keeps
check 'one runs' poll 30 running keeps 1
name=$(squeue -h -o %j -j "$(job_of keeps)")
stray=$(sbatch --hold --parsable -o /dev/null --job-name="${name%-*}-ffffffff" --wrap true)
check 'it is cancelled' poll 20 bash -c '[ "$(squeue -h --states=all -o %T -j "$1")" = CANCELLED ]' - "$stray"
foreign=$(sbatch --hold --parsable -o /dev/null --job-name=taper-00000000-x --wrap true)
"$TAPER" cancel --wait keeps > "$T/log"
check "another home's is not" [ "$(squeue -h -o %T -j "$foreign")" = PENDING ]
scancel "$foreign"

# ---- GPUs are those that Slurm gives
"$TAPER" daemon --stop > "$T/log"
script which << 'E'
echo "GPU ${CUDA_VISIBLE_DEVICES:-none}, ${OMP_NUM_THREADS} threads" > gpu
while [ ! -e "$TAPER_HOME/go" ]; do read -rt 0.1 <> <(:); done
E
check 'a daemon with a payload' cluster --payload "$T/which"
sweep gpus 2 'run: {slurm: {gpus: 1, cpus: 2}}'
sed -i 's/train.steps: 60/train.steps: 61/' "$T/gpus.yaml"
submit gpus
check 'two runs with a GPU each' poll 30 bash -c '[ "$(cat "$TAPER_HOME"/runs/*/gpu | wc -l)" = 2 ]'
check 'of their own' same 'GPU 0, 2 threads
GPU 1, 2 threads' "$(cat "$TAPER_HOME"/runs/*/gpu | sort)"
touch "$TAPER_HOME/go"
check 'they get done' "$TAPER" wait gpus
check 'the daemon ends' "$TAPER" daemon --stop
check 'Slurm has nothing left' poll 20 no_jobs
slurm_down
check 'nothing is left' nothing_left
done_testing
