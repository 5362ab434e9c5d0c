#!/usr/bin/env bash
# A database that is missing or empty beside runs is not taken for an empty home.
. "$(dirname "$0")/../support/daemon.bash"
sweep one 1
check 'a run is trained' "$TAPER" run "$T/one.yaml" --slots cpu:1
rm -f "$TAPER_HOME"/taper.db*
for verb in 'status' "submit $T/one.yaml" "run $T/one.yaml"; do
    # shellcheck disable=SC2086 # words
    check "missing: ${verb%% *} says so" refuses 2 'taper.db: missing, but' "$TAPER" $verb
done
: > "$TAPER_HOME/taper.db"
check 'empty: status says so' refuses 2 'taper.db: empty, but' "$TAPER" status
check '... and leaves it as it is' test ! -s "$TAPER_HOME/taper.db"
mv "$TAPER_HOME/runs" "$T/away"
check 'without the runs it is an empty home again' "$TAPER" run "$T/one.yaml" --slots cpu:1
done_testing
