#!/usr/bin/env bash
# Slurm in trouble: commands that hang, fail and lie, a controller that is away, jobs that it forgets. No
# run is started twice, and none is taken for over that is not.
SLURM_MIN_AGE=2 # seconds after which Slurm forgets a job that is over
. "$(dirname "$0")/../support/slurm.bash"
missing=$(slurm_missing)
[ -z "$missing" ] || { skip 'Slurm in trouble' "$missing"; done_testing; }
check 'a private Slurm' slurm_up || done_testing
export TAPER_SLURM=poll=0.2,quiet=1,pace=0.05,timeout=3,settle=0.5,lost=3
# Slurm's commands as the daemon has them: they do what stands in $T/NAME.mode, and every call is counted.
mkdir "$T/bin"
for command in sbatch squeue scontrol scancel sacct; do
    cat > "$T/bin/$command" << EOF
#!/usr/bin/env bash
echo "\$*" >> "$T/$command.calls"
mode=\$(cat "$T/$command.mode" 2> /dev/null)
case \$mode in
hang) exec sleep 20 ;;
fail) echo '$command: error: Unable to contact slurm controller (connect failure)' >&2; exit 1 ;;
empty) exit 0 ;;
late) $(command -v $command) "\$@" > /dev/null; exec sleep 20 ;;
esac
exec $(command -v $command) "\$@"
EOF
    chmod +x "$T/bin/$command"
done
mode() { if [ "$2" = well ]; then rm -f "$T/$1.mode"; else echo "$2" > "$T/$1.mode"; fi; }
calls() { wc -l < "$T/$1.calls"; }
more_calls() { [ "$(calls "$1")" -ge "$2" ]; }
cluster() { PATH=$T/bin:$PATH daemon --executor slurm "$@"; }
state_is() { is "$2" "SELECT state FROM run WHERE sweep = '$1'"; }
live() { is "$2" "SELECT a.cause IS NULL, r.attempts FROM run r JOIN attempt a ON a.run = r.id AND a.attempt = r.attempts WHERE r.sweep = '$1'"; }
note_has() { query "SELECT a.note FROM attempt a JOIN run r ON r.id = a.run WHERE r.sweep = '$1' AND a.ended IS NULL" | grep -qF "$2"; }
job_of() { query "SELECT substr(a.handle, length(rtrim(a.handle, '0123456789')) + 1) FROM attempt a JOIN run r ON r.id = a.run AND a.attempt = r.attempts WHERE r.sweep = '$1' LIMIT 1"; }
script waits << 'E'
name=$(sed -n 's/.*"seed": *\([0-9]*\).*/\1/p; s/.*"seed":\([0-9]*\).*/\1/p' config.json | head -n 1)
echo run >> starts
while [ ! -e "$TAPER_HOME/go-$name" ]; do read -rt 0.1 <> <(:); done
exit 0
E
one() { # NAME SEED [YAML]
    sweep "$1" 1 "${3:-}"
    sed -i "s/range: .0, 0./range: [$2, $2]/" "$T/$1.yaml"
    "$TAPER" submit "$T/$1.yaml" > "$T/log" 2>&1
}
go() { touch "$TAPER_HOME/go-$1"; }
starts() { cat "$TAPER_HOME/runs/$(query "SELECT id FROM run WHERE sweep = '$1'")/starts" | wc -l; }
workers() { # of this script, with what they started
    local pid
    for pid in $(left); do grep -qsz '^worker$' "/proc/$pid/cmdline" && echo "$pid"; done
}
saved() { grep -qa -- "-$(query "SELECT id FROM run WHERE sweep = '$1'")-" "$T/slurm/state/job_state"; } # by slurmctld
check 'a daemon' cluster --payload "$T/waits"

# ---- sbatch accepts, and is killed before it says so
mode sbatch late
one late 1
check 'a job whose sbatch never answers runs' poll 30 state_is late running
mode sbatch well
go 1
check 'it gets done' "$TAPER" wait late
check 'there was one job' [ "$(calls sbatch)" = 1 ]
check 'one attempt, one start' same '1 1' "$(query "SELECT attempts FROM run WHERE sweep = 'late'") $(starts late)"

# ---- sbatch does not reach the controller
mode sbatch fail
one unsent 2
check 'the reason can be seen' poll 20 note_has unsent 'Unable to contact slurm controller'
check 'it is tried again' poll 20 more_calls sbatch 3
mode sbatch well
check 'until it gets in' poll 30 state_is unsent running

# ---- squeue fails, hangs, and has an empty list
for how in fail hang empty; do
    mode squeue $how
    before=$(calls squeue)
    check "squeue: $how: it is asked again" poll 30 more_calls squeue $((before + 3))
    check "squeue: $how: the run is where it was" live unsent 1,1
done
check 'with an empty list scontrol is asked' grep -q 'show job' "$T/scontrol.calls"
go 2
check 'and has the end too' "$TAPER" wait unsent
mode squeue well
check 'one start' same 1 "$(starts unsent)"

# ---- a daemon that is killed while sbatch is on its way
mode sbatch late
one orphan 3
check 'the job is in the queue' poll 20 bash -c 'squeue -h -t pending -o %r | grep -q JobHeldUser'
kill_daemon
mode sbatch well
check 'the next daemon' cluster --payload "$T/waits"
check 'finds it by its name' poll 30 state_is orphan running
go 3
check 'it gets done' "$TAPER" wait orphan
check 'in its first attempt' same '1 1' "$(query "SELECT attempts FROM run WHERE sweep = 'orphan'") $(starts orphan)"
mode sbatch hang
one unborn 4
check 'one that never got there' poll 20 note_has unborn 'waits to be submitted'
sent=$(calls sbatch)
check 'is on its way' poll 20 more_calls sbatch $((sent > 4 ? sent : 4))
kill_daemon
mode sbatch well
check 'the next daemon' cluster --payload "$T/waits"
check 'starts it anew' poll 30 state_is unborn running
go 4
check 'it gets done' "$TAPER" wait unborn
check 'having started once' same 1 "$(starts unborn)"

# ---- the controller is away, and comes back
one away 5
check 'one runs' poll 30 state_is away running
one waiting 6 'run: {slurm: {extra: --begin=now+10}}'
check 'one waits' poll 30 note_has waiting BeginTime
poll 30 saved waiting
slurm_end -KILL slurmctld
check 'it is seen to be away' poll 60 note_has away 'when Slurm last answered'
one newcomer 7
check 'a new one is tried' poll 60 note_has newcomer 'tried again'
check 'the others are where they were' live away 1,1
go 5
go 6
go 7
slurmctld_up
check 'with the controller back, all get done' bash -c 'for s in away waiting newcomer; do "$TAPER" wait $s || exit 1; done'
check 'each in one attempt' is '1,3' "SELECT max(attempts), count(*) FROM run WHERE sweep IN ('away', 'waiting', 'newcomer')"
check 'the log has it once' [ "$(grep -c 'asked for again' "$TAPER_HOME/daemon.log")" -le 4 ]

# ---- a job that ends, and is forgotten, while no daemon is there
one forgotten 8
check 'one runs' poll 30 state_is forgotten running
id=$(job_of forgotten)
kill_daemon
go 8
check 'Slurm forgets it' poll 90 bash -c '! scontrol show job "$1"' - "$id"
check 'the next daemon' cluster --payload "$T/waits"
check 'knows how it ended' poll 30 is 'done,1' "SELECT state, attempts FROM run WHERE sweep = 'forgotten'"
one nowhere 9
check 'another runs' poll 30 state_is nowhere running
id=$(job_of nowhere)
kill_daemon
kill -KILL $(workers)
check 'its worker is killed, and Slurm forgets it' poll 90 bash -c '! scontrol show job "$1"' - "$id"
check 'the next daemon' cluster --payload "$T/waits"
check 'has it for lost after a while, and starts it again' poll 40 is 'lost,0,2' "SELECT a.cause, r.failures, r.attempts FROM run r JOIN attempt a ON a.run = r.id AND a.attempt = 1 WHERE r.sweep = 'nowhere' AND r.state = 'running'"
go 9
check 'it gets done' "$TAPER" wait nowhere
check 'the daemon ends' "$TAPER" daemon --stop

slurm_down
check 'nothing is left' poll 30 nothing_left # the hanging ones have an end too
done_testing
