#!/usr/bin/env bash
# Slurm's time limits, which it keeps by the half minute: with a step further than before, and without one. Two homes at
# once on one cluster.
. "$(dirname "$0")/../support/slurm.bash"
missing=$(slurm_missing)
[ -z "$missing" ] || { skip 'time limits of Slurm' "$missing"; done_testing; }
check 'a private Slurm' slurm_up || done_testing
export TAPER_SLURM=poll=0.2,quiet=1,pace=0.05,timeout=20,settle=0.5,lost=3
other() { TAPER_HOME=$T/other "$@"; }
check 'a daemon that trains' daemon --executor slurm --grace 55
sweep limited 1 'run: {retries: 0, slurm: {time: 1m}}'
sed -i 's/train.steps: 60/train.steps: 20000000/; s/log.every: 1,/log.every: 100000000,/; s/checkpoint.every: 5/checkpoint.every: 1000/' "$T/limited.yaml"
"$TAPER" submit "$T/limited.yaml" > "$T/log"
script stands << 'E'
trap 'exit 3' TERM
while :; do read -rt 0.2 <> <(:); done
E
check 'a daemon whose runs get nowhere' other daemon --executor slurm --grace 55 --payload "$T/stands"
sweep standing 1 'run: {retries: 0, slurm: {time: 1m}}'
other "$TAPER" submit "$T/standing.yaml" > "$T/log"
check 'a job over its time counts for nothing when it got further' poll 120 is 'time-limit,0' "SELECT a.cause, r.failures FROM run r JOIN attempt a ON a.run = r.id AND a.attempt = 1"
check 'and goes on as another' poll 30 is 'running,2' 'SELECT state, attempts FROM run'
check 'one that got no further has failed' other poll 120 is 'failed,time-limit,1' 'SELECT r.state, a.cause, r.failures FROM run r JOIN attempt a ON a.run = r.id'
"$TAPER" cancel --wait limited > "$T/log"
check 'one daemon ends' "$TAPER" daemon --stop
check 'and the other' other "$TAPER" daemon --stop
slurm_down
check 'nothing is left' nothing_left
done_testing
