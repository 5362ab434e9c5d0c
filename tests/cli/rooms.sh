#!/usr/bin/env bash
# The order of the rooms holds, and an include that points upwards is found (tests/rooms.sh).
. "$(dirname "$0")/../support/tap.bash"
cd "$(dirname "$0")/../.." || exit 1
said=$(tests/rooms.sh 2>&1)
that "no include points upwards" $? 0
[ -z "$said" ] || sed 's/^/# /' <<< "$said"

copy=$T
cp -r --parents core gpu harness tests/rooms.sh "$copy"
echo '#include "harness/store/store.h"' >> "$copy/core/base/file.c"
said=$("$copy/tests/rooms.sh" 2>&1)
that "a planted one is an error" $? 1
grep -q '^core/base/file.c:[0-9]*: core/base includes harness/store/store.h' <<< "$said"
that "which names file, line and header" $? 0
echo '#include "core/base/file.h"' > "$copy/harness/stray.c"
said=$("$copy/tests/rooms.sh" 2>&1)
grep -q '^harness/stray.c: lies in no room' <<< "$said"
that "a file outside the rooms is one too" $? 0
rm "$copy/harness/stray.c"
sed -i '/harness.store.store.h"$/d' "$copy/core/base/file.c"
"$copy/tests/rooms.sh"
that "as it was it holds again" $? 0
echo '#include "harness/store/store_connection.h"' >> "$copy/harness/results/table.c"
said=$("$copy/tests/rooms.sh" 2>&1)
that "reading past the store is an error" $? 1
grep -q '^harness/results/table.c: reads past the store' <<< "$said"
that "which names the file" $? 0
done_testing
