#!/usr/bin/env bash
# What `make lint` holds: every header alone, the formatter, the order of the rooms, cppcheck. Each part that cannot run here
# is skipped by name.
. "$(dirname "$0")/../support/tap.bash"
cd "$(dirname "$0")/../.." || exit 1
check 'every header compiles alone' make -s headers
check 'no include points upwards' tests/rooms.sh
if command -v clang-format > /dev/null && clang-format --version | grep -q 'version 14'; then
    check 'every file is formatted' make -s lint-format
else
    skip 'every file is formatted' 'no clang-format 14'
fi
if command -v cppcheck > /dev/null; then
    check 'cppcheck finds nothing' make -s lint-cppcheck
else
    skip 'cppcheck finds nothing' 'no cppcheck'
fi
done_testing
