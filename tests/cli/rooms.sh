#!/usr/bin/env bash
# The order of the rooms holds, and an include that points upwards is found (tests/rooms.sh).
set -u
cd "$(dirname "$0")/../.." || exit 1
n=0 bad=0
check() { # NAME STATUS WANTED
    n=$((n + 1))
    if [ "$2" -eq "$3" ]; then echo "ok $n - $1"; else echo "not ok $n - $1 (status $2)"; bad=1; fi
}
said=$(tests/rooms.sh 2>&1)
check "no include points upwards" $? 0
[ -z "$said" ] || sed 's/^/# /' <<< "$said"

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -r --parents core gpu harness tests/rooms.sh "$copy"
echo '#include "harness/store/store.h"' >> "$copy/core/base/file.c"
said=$("$copy/tests/rooms.sh" 2>&1)
check "a planted one is an error" $? 1
grep -q '^core/base/file.c:[0-9]*: core/base includes harness/store/store.h' <<< "$said"
check "which names file, line and header" $? 0
echo '#include "core/base/file.h"' > "$copy/harness/stray.c"
said=$("$copy/tests/rooms.sh" 2>&1)
grep -q '^harness/stray.c: lies in no room' <<< "$said"
check "a file outside the rooms is one too" $? 0
rm "$copy/harness/stray.c"
sed -i '/harness.store.store.h"$/d' "$copy/core/base/file.c"
"$copy/tests/rooms.sh"
check "as it was it holds again" $? 0
echo '#include "harness/store/store_connection.h"' >> "$copy/harness/results/table.c"
said=$("$copy/tests/rooms.sh" 2>&1)
check "reading past the store is an error" $? 1
grep -q '^harness/results/table.c: reads past the store' <<< "$said"
check "which names the file" $? 0
echo "1..$n"
exit $bad
