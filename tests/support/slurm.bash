# Sourced by the scripts that need a cluster: a real Slurm of this one machine, private to the script, in $T/slurm.
# Partitions: normal (default, goes first), low (its jobs are preempted by normal's). One node of 8 pretended processors
# and 4 pretended GPUs; no accounting. Everything listens on the loopback alone.
. "$(dirname "${BASH_SOURCE[0]}")/daemon.bash"
PATH=$PATH:/usr/sbin:/sbin

slurm_missing() { # what of Slurm is not here; nothing when all is
    local command
    for command in slurmctld slurmd munged sbatch squeue scontrol scancel; do
        command -v "$command" > /dev/null || { echo "no $command here (./setup.sh test installs Slurm)"; return; }
    done
}
slurm_configure() { # PORT
    local node
    node=$(hostname -s)
    cat > "$SLURM_CONF" << EOF
ClusterName=test
SlurmctldHost=$node(127.0.0.1)
SlurmctldPort=$1
SlurmdPort=$(($1 + 1))
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
AuthInfo=socket=$T/slurm/munge.socket
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SchedulerParameters=sched_interval=1,bf_interval=1,sched_min_interval=0
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
ReturnToService=2
SlurmdTimeout=10
KillWait=5
MinJobAge=${SLURM_MIN_AGE:-300}
StateSaveLocation=$T/slurm/state
SlurmdSpoolDir=$T/slurm/spool
SlurmctldPidFile=$T/slurm/slurmctld.pid
SlurmdPidFile=$T/slurm/slurmd.pid
SlurmctldLogFile=$T/slurm/slurmctld.log
SlurmdLogFile=$T/slurm/slurmd.log
SlurmdParameters=config_overrides
GresTypes=gpu
NodeName=$node NodeAddr=127.0.0.1 CPUs=8 RealMemory=8000 Gres=gpu:4 State=UNKNOWN
PartitionName=normal Nodes=ALL Default=YES PriorityTier=10 MaxTime=INFINITE State=UP
PartitionName=low Nodes=ALL PriorityTier=1 PreemptMode=REQUEUE MaxTime=INFINITE State=UP
EOF
    echo "NodeName=$node Name=gpu File=/dev/tty[1-4]" > "$T/slurm/gres.conf"
}
slurm_answers() { sinfo -h -o %t | grep -qE 'idle|mix|alloc'; }
slurm_up() { # several scripts may have one each: another try where the ports were taken
    local root=()
    export SLURM_CONF=$T/slurm/slurm.conf
    mkdir -p "$T/slurm/spool" "$T/slurm/state"
    chmod 700 "$T/slurm"
    head -c 1024 /dev/urandom > "$T/slurm/munge.key" && chmod 600 "$T/slurm/munge.key"
    [ "$(id -u)" -ne 0 ] || root=(--force)
    munged "${root[@]}" --key-file="$T/slurm/munge.key" --socket="$T/slurm/munge.socket" \
        --pid-file="$T/slurm/munge.pid" --log-file="$T/slurm/munge.log" --seed-file="$T/slurm/munge.seed"
    for _ in 1 2 3; do
        slurm_configure $((20000 + RANDOM % 6000 * 2))
        slurmctld_up
        slurmd
        poll 15 slurm_answers && return
        slurm_end slurmctld slurmd
    done
    tail -n 5 "$T"/slurm/*.log
    return 1
}
slurmctld_up() { slurmctld; }
slurm_end() { # [-KILL] NAME...: by the number each wrote, and until it is gone
    local signal=-TERM name pid
    [ "$1" != -KILL ] || { signal=-KILL; shift; }
    for name; do
        pid=$(cat "$T/slurm/$name.pid" 2> /dev/null) || continue
        kill "$signal" "$pid" 2> /dev/null
        poll 30 gone "$pid"
        rm -f "$T/slurm/$name.pid"
    done
}
no_jobs() { [ -z "$(squeue -h -t pending,running,completing)" ]; }
slurm_down() {
    scancel --full --user="$(id -un)"
    poll 30 no_jobs
    slurm_end slurmd slurmctld munge
}
