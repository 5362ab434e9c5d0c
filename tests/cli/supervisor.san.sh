#!/usr/bin/env bash
# The small program around a worker: it is what runs, it steps aside for a taper of another revision, it is not missed
# where it is missing, and the training is done by the daemon's own program whatever lies at its path by then.
. "$(dirname "$0")/../support/daemon.bash"
small=${TAPER%/*}/taper-supervisor
script parent << 'EOF'
readlink "/proc/$PPID/exe"
EOF
around() { basename "$(cat "$TAPER_HOME"/runs/*/log.txt)"; } # what the payload ran under

check 'by hand it says what it is' refuses 2 'in the place of' "$small"
sweep one 1
"$TAPER" run --slots cpu:1 --payload "$T/parent" "$T/one.yaml" > "$T/log" 2>&1
that 'a payload' $?
check 'runs under the small program' same taper-supervisor "$(around)"

mkdir "$T/run"
"$small" worker --program "$TAPER" --revision other --payload "$T/parent" -- "$T/run"
that 'told another revision' $?
check 'it becomes the program that it was told' same "$(realpath "$TAPER")" "$(cat "$T/run/log.txt")"
check 'it wants to know which that is' refuses 2 'in the place of' "$small" worker -- "$T/run"

# A copy of the program: alone, and replaced while its daemon is at work.
mkdir "$T/bin"
cp -L "$TAPER" "$T/bin/taper"
TAPER=$T/bin/taper TAPER_HOME=$T/alone
"$TAPER" run --slots cpu:1 --payload "$T/parent" "$T/one.yaml" > "$T/log" 2>&1
that 'where it is missing' $?
check 'the program itself is in its place' same taper "$(around)"

cp "$small" "$T/bin"
TAPER_HOME=$T/replaced
check 'a daemon' daemon --slots cpu:1
mv "$T/bin/taper" "$T/bin/first"
script bin/taper << 'EOF'
echo "another program"
exit 1
EOF
TAPER=$T/bin/first
"$TAPER" submit "$T/one.yaml" > "$T/log" && "$TAPER" wait one > "$T/log" 2>&1
that 'trains although another program lies at its path' $?
check 'with all its rows' is 60 'SELECT count(*) FROM step'
"$TAPER" daemon --stop > "$T/log"
check 'no process is left' poll 5 nothing_left
done_testing
