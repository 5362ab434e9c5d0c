#!/usr/bin/env bash
# Which GPUs a daemon takes and how many runs at a time: CUDA_VISIBLE_DEVICES and --slots, over pretended devices.
. "$(dirname "$0")/../support/daemon.bash"
export TAPER_NVML=$T/nvml.so FAKE_NVML=$T/gpus
cc -shared -fPIC -o "$TAPER_NVML" "$(dirname "$0")/../support/nvml/nvml.c" || exit 1
gpus() { # COUNT
    for ((i = 0; i < $1; i++)); do echo "gpu GPU-$i$i$i-000$i 80000000000 0"; done > "$FAKE_NVML"
}
script sees <<< 'echo "sees $CUDA_VISIBLE_DEVICES"'
script waits <<< 'until [ -e "$0.go" ]; do read -rt 0.05 <> <(:); done'
cuda() { # NAME SEEDS
    printf 'sweep: %s\nbase: {device: cuda, train.steps: 1, train.lr: 0.0%d}\ngrid: {seed: {range: [1, %d]}}\n' "$1" "$2" "$2" > "$T/$1.yaml"
}
devices() { "$TAPER" devices --json | python3 -c 'import json, sys
gpu = json.load(sys.stdin)["gpu"]
print(gpu["slots"], *[d["id"][4:7] for d in gpu["devices"]])'; }
shows() { same "$1" "$(devices)"; }

# ---- CUDA's rule; without a daemon the same as with one
gpus 3
check 'all are taken where nothing is said' shows '3 000 111 222'
visible() { check "CUDA_VISIBLE_DEVICES='$1'" env "CUDA_VISIBLE_DEVICES=$1" bash -c "$(declare -f shows same devices); shows '$2'"; }
visible '1' '1 111'
visible '2, 0' '2 000 222'
visible 'GPU-222-0002' '1 222'
visible 'GPU-1' '1 111'
visible '' '0'
visible '-1' '0'
visible '0,9,1' '1 000'
visible '0,0' '0'
visible 'GPU-' '0'
check 'none visible: the reason' bash -c 'CUDA_VISIBLE_DEVICES=9 "$TAPER" devices | grep -q "leaves none of the 3"'
cuda seen 2
CUDA_VISIBLE_DEVICES=GPU-222-0002 daemon --payload "$T/sees"
that 'a daemon that may use one of three' $?
check 'its runs' bash -c '"$TAPER" submit "$1" && timeout 60 "$TAPER" wait seen' - "$T/seen.yaml"
check 'were all there' is 'GPU-222-0002,2' 'SELECT device, count(*) FROM attempt GROUP BY 1'
check 'and saw that one alone' same 'sees GPU-222-0002' "$(cat "$TAPER_HOME"/runs/*/log.txt | sort -u)"
check 'the daemon stops' "$TAPER" daemon --stop

# ---- --slots
gpus 8
slots() { # SUMMARY OPTION...
    local summary=$1
    shift
    check "$*: started" daemon --payload "$T/sees" "$@"
    check "$*: $summary" grep -qF ": $summary" "$T/daemon.out"
    check "$*: the log has it" grep -qF "$summary" "$TAPER_HOME/daemon.log"
    check "$*: stopped" "$TAPER" daemon --stop
}
slots '1 slot on the CPU, 8 on 8 GPUs (1 each)' --slots cpu:1 --slots gpu:8
slots '1 slot on the CPU, 12 on 8 GPUs' --slots cpu:1 --slots gpu:12
slots '1 slot on the CPU, 16 on 8 GPUs (2 each)' --slots cpu:1 --slots gpu:each=2
slots '1 slot on the CPU, 5 on 5 GPUs (1 each); 3 more' --slots cpu:1 --slots gpu:0-3,6
slots '1 slot on the CPU, 2 on 2 GPUs (1 each); 6 more' --slots cpu:1 --slots gpu:GPU-1,GPU-7
slots '1 slot on the CPU' --slots cpu:1 --slots gpu:0
bad() { check "$1: $2" refuses 2 "$2" "$TAPER" daemon --slots "$1"; }
bad gpu:7-9 "no GPU '8' among the 8 here"
bad gpu:GPU-x "no GPU 'GPU-x'"
bad gpu:GPU- 'several'
bad gpu:x "got 'gpu:x'"
bad gpu: "got 'gpu:'"
bad tpu:1 "got 'tpu:1'"
check 'a GPU that is hidden is refused by name' env CUDA_VISIBLE_DEVICES=0 bash -c "$(declare -f refuses)
    refuses 2 'is not among those that CUDA_VISIBLE_DEVICES leaves' \"\$TAPER\" daemon --slots gpu:GPU-5"
cuda many 20
check 'a daemon with eight slots' daemon --payload "$T/waits" --slots gpu:8
"$TAPER" submit "$T/many.yaml" > "$T/out"
running() { [ "$(query "SELECT count(*) FROM run WHERE state = 'running'")" = "$1" ]; }
check 'starts eight' poll 30 running 8
check 'one on each GPU' is '8,8' "SELECT count(*), count(DISTINCT device) FROM run WHERE state = 'running'"
touch "$T/waits.go"
check 'and then the others' timeout 120 "$TAPER" wait many
check 'the daemon ends' "$TAPER" daemon --stop
check 'no process is left' poll 10 nothing_left
done_testing
