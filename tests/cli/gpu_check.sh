#!/usr/bin/env bash
# make gpu-check's script, with a stand-in for the tool that checks: what it says and how it ends.
set -u
cd "$(dirname "$0")/../.." || exit 1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
number=0

# A tool whose checks end as $CHECK says, its timings as $BENCH; it keeps its rows in the file, one a line.
cat > "$folder/gpu_tool" <<'TOOL'
#!/usr/bin/env bash
verb=$1 name=${2:-} finding=${3:-}
while [ $# -gt 1 ]; do
    shift
    [ "$1" = --json ] && json=$2
done
case $verb in
row)
    echo "$finding: $name" >> "$json"
    echo "$finding: $name"
    ;;
check)
    case $CHECK in
    skipped) echo 'skipped: no device (none)' ;;
    broken) echo 'FAILED the GPU of this machine cannot be used: nothing'; exit 1 ;;
    slow) echo 'first row' >> "$json"; sleep 30 ;;
    wrong) echo 'a wrong row' >> "$json"; exit 1 ;;
    *) echo 'a good row' >> "$json" ;;
    esac
    ;;
bench)
    [ -z "${json:-}" ] || echo 'a timing' >> "$json"
    exit "$BENCH"
    ;;
esac
TOOL
chmod +x "$folder/gpu_tool"
# It runs nothing, and wants to be asked for whole steps.
printf '#!/usr/bin/env bash\n[[ $* == *"check --tiny --steps" ]] && exit "$SANITIZED"\nexit 8\n' > "$folder/sanitizer"
chmod +x "$folder/sanitizer"

# expect NAME STATUS PATTERN...: each pattern in what is said or in the report; !PATTERN in neither.
expect() {
    local name=$1 want=$2 got said
    shift 2
    rm -f "$folder/gpu-check.json"
    said=$(GPU_CHECK_SECONDS='1 5 5' tests/gpu/tool/gpu_check.sh "$folder" 2>&1)
    got=$?
    said="$said
$(cat "$folder/gpu-check.json" 2> /dev/null)"
    number=$((number + 1))
    local fault=
    [ "$got" -eq "$want" ] || fault="status $got, want $want"
    for pattern in "$@"; do
        if [ "${pattern#!}" != "$pattern" ]; then
            ! grep -q -- "${pattern#!}" <<< "$said" || fault="$fault; says '${pattern#!}'"
        else
            grep -q -- "$pattern" <<< "$said" || fault="$fault; does not say '$pattern'"
        fi
    done
    if [ -z "$fault" ]; then
        echo "ok $number - $name"
    else
        echo "not ok $number - $name: $fault"
        sed 's/^/# /' <<< "$said"
    fi
}

export CHECK=good BENCH=0 SANITIZED=0 COMPUTE_SANITIZER=$folder/sanitizer
echo 1..8
expect 'all is well' 0 'a good row' 'ok: compute-sanitizer' 'a timing' 'passed: '
CHECK=skipped expect 'no device' 0 'skipped: no device' '!passed' '!timing'
CHECK=broken expect 'a GPU that cannot be used' 1 'cannot be used' 'FAILED' '!passed'
CHECK=wrong expect 'a wrong op' 1 'a wrong row' 'ok: compute-sanitizer' 'FAILED' '!passed'
CHECK=slow expect 'checks that take too long' 1 'first row' 'failed: the checks, which were stopped after 1' '!passed'
SANITIZED=9 expect 'the sanitizer finds something' 1 'failed: compute-sanitizer' 'a timing' '!passed'
BENCH=1 expect 'the timings fail' 1 'ok: compute-sanitizer' '!passed'
COMPUTE_SANITIZER=$folder/none expect 'no sanitizer' 0 'skipped: compute-sanitizer' 'passed: '
