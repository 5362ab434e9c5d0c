#!/usr/bin/env bash
# A GPU that fails every run at once does not drain the queue: over pretended devices.
. "$(dirname "$0")/../support/daemon.bash"
export TAPER_NVML=$T/nvml.so FAKE_NVML=$T/gpus
cc -shared -fPIC -o "$TAPER_NVML" "$(dirname "$0")/../support/nvml/nvml.c" || exit 1
gpus() { # COUNT
    for ((i = 0; i < $1; i++)); do echo "gpu GPU-$i$i$i-000$i 80000000000 0"; done > "$FAKE_NVML"
}
cuda() { # NAME SEEDS [YAML]
    printf 'sweep: %s\nbase: {device: cuda, train.steps: 1, train.lr: 0.0%d}\ngrid: {seed: {range: [1, %d]}}\n%s\n' \
        "$1" "$2" "$2" "${3:-}" > "$T/$1.yaml"
}
done_with() { echo 'echo "{\"table\":\"run\",\"attempt\":$1,\"step\":1,\"state\":\"done\",\"val_loss\":1,\"params\":1,\"device\":\"cuda\",\"text\":\"\"}" >> journal.jsonl'; }
# $T/bad holds the starts of the ids that fail; a run that works takes as long as $T/hold is there.
{
    echo 'while read -r id; do case $CUDA_VISIBLE_DEVICES in $id*) echo "taper: device: cuda: uncorrectable ECC error" >&2; exit 1;; esac; done < "${0%/*}/bad"'
    echo 'while [ -e "${0%/*}/hold" ]; do read -rt 0.05 <> <(:); done'
    done_with
} | script work
devices() { "$TAPER" devices --json | python3 -c 'import json, sys
print(*["%s:%s:%s" % (d["id"][4:7], d["aside"] is not None, d["since"] is not None) for d in json.load(sys.stdin)["gpu"]["devices"]])'; }
says() { # TEXT COMMAND...
    local text=$1
    shift
    "$@" > "$T/says" 2>&1 || :
    grep -qF -- "$text" "$T/says" || { echo "wanted: $text"; cat "$T/says"; return 1; }
}

# ---- one of two fails at once
gpus 2
echo GPU-000 > "$T/bad"
cuda b 12
check 'a daemon with two GPUs' daemon --payload "$T/work"
check 'twelve runs' "$TAPER" submit "$T/b.yaml"
check 'are all done, though one GPU fails each at once' timeout 120 "$TAPER" wait b
check 'on the other' is 'GPU-111-0001,12' "SELECT device, count(*) FROM attempt WHERE cause = 'done' GROUP BY 1"
check 'no run failed there twice, nor more than three' is '3,3' "SELECT count(*), count(DISTINCT run) FROM attempt WHERE device = 'GPU-000-0000'"
check 'it is set aside' same '000:True:True 111:False:False' "$(devices)"
check 'devices says so' says 'set aside since ' "$TAPER" devices
check 'status does too, in one line, though nothing waits for it' same 1 \
    "$("$TAPER" status | grep -c '^  GPU-000-0000 is set aside since .*: 3 runs in a row .*taper devices --use')"
check 'and why' says '3 runs in a row failed there at once, the last ' "$TAPER" devices
check 'with an event' is 1 "SELECT count(*) FROM event WHERE kind = 'device_aside' AND text LIKE 'GPU-000-0000: 3 runs%ECC error%'"
check 'and a line in the log' same 1 "$(grep -c "GPU-000-0000 is set aside: .*'taper devices --use GPU-000-0000' takes it back" "$TAPER_HOME/daemon.log")"

# ---- a restart remembers; what waits is told
check 'the daemon stops' "$TAPER" daemon --stop
check 'without one devices knows it too' same '000:True:True 111:False:False' "$(devices)"
touch "$T/hold"
check 'a daemon again' daemon --payload "$T/work"
check 'it still is' same '000:True:True 111:False:False' "$(devices)"
cuda c 3
check 'three more' "$TAPER" submit "$T/c.yaml"
check 'one runs on the other GPU' poll 20 is '1,GPU-111-0001' "SELECT count(*), min(device) FROM run WHERE state = 'running'"
check 'the others are told' says '2 runs of c wait for 1 free GPU slot; GPU-000-0000 is set aside' "$TAPER" status
check '... and nothing is said twice' same 1 "$("$TAPER" status | grep -c 'set aside')"

# ---- taken back
check 'a word that means none' refuses 2 "'GPU-1' means no device that is set aside; set aside are: GPU-000-0000" "$TAPER" devices --use GPU-1
check 'a request of a wrong type' refuses 2 "use: device: want text, got 5" python3 - << 'P'
import json, os, socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(os.environ["TAPER_HOME"] + "/taper.sock")
s.sendall(b'{"v":1,"id":1,"do":"use","device":5}\n')
reply = json.loads(s.makefile().readline())
print(reply["error"], file=sys.stderr)
sys.exit(-reply["status"])
P
: > "$T/bad"
check 'it is taken back' says 'GPU-000-0000: taken back' "$TAPER" devices --use GPU-0
check 'and runs at once' poll 20 is '2,2' "SELECT count(*), count(DISTINCT device) FROM run WHERE state = 'running'"
check 'with an event' is 'GPU-000-0000: taken back' "SELECT text FROM event WHERE kind = 'device_used'"
rm "$T/hold"
check 'all get done' timeout 60 "$TAPER" wait c

# ---- every one of them
echo GPU- > "$T/bad"
cuda d 9 'run: {retries: 20}'
check 'both fail' "$TAPER" submit "$T/d.yaml"
check 'wait ends with the reason' refuses 1 '9 runs of d wait for a GPU: GPU-000-0000, GPU-111-0001 are set aside' timeout 60 "$TAPER" wait d
check 'both are aside' same '000:True:True 111:True:True' "$(devices)"
check 'no run has failed for good' is 0 "SELECT count(*) FROM run WHERE state = 'failed'"
check 'submit warns' says 'warning: 9 runs of d wait for a GPU: GPU-000-0000, GPU-111-0001 are set aside' "$TAPER" submit "$T/d.yaml"
check 'the daemon stops' "$TAPER" daemon --stop
check 'run ends with it as well' refuses 1 'what is left can never start: 9 runs of d wait for a GPU: GPU-000-0000, GPU-111-0001 are set aside' \
    timeout 60 "$TAPER" run "$T/d.yaml" --payload "$T/work"
: > "$T/bad"
check 'without a daemon one is taken back' "$TAPER" devices --use GPU-111
check 'and the sweep runs there' timeout 120 "$TAPER" run "$T/d.yaml" --payload "$T/work"
check 'there alone' is 'GPU-111-0001' "SELECT DISTINCT attempt.device FROM attempt JOIN run ON run.id = attempt.run WHERE sweep = 'd' AND cause = 'done'"
check 'take back the other' "$TAPER" devices --use GPU-000-0000

# ---- what is the run's own sets nothing aside
script input <<< 'exit 2'
cuda e 8 'run: {retries: 0}'
check 'bad input' refuses 1 '' timeout 60 "$TAPER" run "$T/e.yaml" --payload "$T/input"
script own <<< 'exit 1'
cuda g 1 'run: {retries: 5}'
check 'a run that fails everywhere fails' refuses 1 '' timeout 60 "$TAPER" run "$T/g.yaml" --retry-delay 0 --payload "$T/own"
check 'none is aside' same '000:False:False 111:False:False' "$(devices)"
cuda h 7 'run: {retries: 0}'
echo GPU-000 > "$T/bad"
check 'nor when it is not wanted' refuses 1 '' timeout 60 "$TAPER" run "$T/h.yaml" --payload "$T/work" --gpu-aside 0
check 'none is aside' same '000:False:False 111:False:False' "$(devices)"
check 'a number it is' refuses 2 'gpu-aside' "$TAPER" daemon --gpu-aside x

# ---- memory: what shares a GPU must fit beside each other
printf 'gpu GPU-000-0000 2000000000 0\n' > "$FAKE_NVML"
: > "$T/bad"
touch "$T/hold"
check 'a daemon with four slots on a small GPU' daemon --payload "$T/work" --slots gpu:4
cuda m 4
check 'four runs' "$TAPER" submit "$T/m.yaml"
check 'two of them fit' poll 20 is 2 "SELECT count(*) FROM run WHERE state = 'running'"
check 'the others are told' says '2 runs of m wait for memory of a GPU: run ' "$TAPER" status
check 'with the numbers' says ' MiB are not promised to others' "$TAPER" status
check 'devices shows what is promised' says ' promised; 2 of 4 runs' "$TAPER" devices
printf 'sweep: large\nbase: {device: cuda, train.batch: 4096}\n' > "$T/large.yaml"
rm "$T/hold"
check 'all are done in turn' timeout 60 "$TAPER" wait m
check 'one that no GPU can hold' "$TAPER" submit "$T/large.yaml"
check 'fails' refuses 1 '' timeout 60 "$TAPER" wait large
check 'at once and alone, with the numbers' is 'input,1' "SELECT cause, attempt FROM attempt JOIN run ON run.id = attempt.run WHERE sweep = 'large' AND text LIKE 'the run takes about % MiB (%), the largest GPU has 1907 MiB; %'"
check 'the daemon ends' "$TAPER" daemon --stop
check 'no process is left' poll 10 nothing_left
done_testing
