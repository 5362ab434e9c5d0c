#!/usr/bin/env bash
# The order of the rooms: a file includes from its own room and from those before it, never from one after it. And one
# door to the database: its connection is the store's, and that of the verb that runs SQL people bring.
#   tests/rooms.sh [DIRECTORY]    the source tree (default: this one); exit status 1 when an include breaks a rule
set -u
cd "${1:-$(dirname "$0")/..}" || exit 1

# From the ground up; core below gpu below harness. A folder inside a room counts as the room.
rooms=(core/base core/config core/ops core/ref core/cpu core/data core/model core/decode core/train core/trained gpu
    harness/base harness/spec harness/store harness/worker harness/queue harness/daemon harness/results harness/page harness/verbs)

find core gpu harness -name '*.[ch]' -o -name '*.inc' -o -name '*.cu' -o -name '*.cuh' | sort | xargs grep -n '^#include "' |
    awk -v list="${rooms[*]}" '
    function room(path, part) {
        split(path, part, "/")
        return part[1] == "gpu" ? "gpu" : part[1] "/" part[2]
    }
    BEGIN { count = split(list, name, " "); for (i = 1; i <= count; i++) level[name[i]] = i
        level["harness/main.c"] = level["harness/supervisor.c"] = count }
    {
        split($0, half, /#include "/)
        split(half[1], place, ":")
        target = half[2]
        sub(/".*/, "", target)
        if (target ~ /^tests\//) next # the dialect that stands in for nvcc
        from = room(place[1]); to = room(target)
        if (!(from in level)) { print place[1] ": lies in no room (tests/rooms.sh lists them)"; bad = 1 }
        else if (!(to in level)) { print place[1] ":" place[2] ": " target " lies in no room"; bad = 1 }
        else if (level[to] > level[from]) {
            print place[1] ":" place[2] ": " from " includes " target ", from a room above it"; bad = 1
        }
    }
    END { exit bad }'
rooms_hold=$?

doors=$(grep -rl '^#include "harness/store/\(store_connection\|store_internal\).h"' harness |
    grep -v -e '^harness/store/' -e '^harness/verbs/cmd_query.c$' | sort)
[ -z "$doors" ] || sed 's/$/: reads past the store; harness\/store\/store_rows.h is for that/' <<< "$doors"
[ $rooms_hold -eq 0 ] && [ -z "$doors" ]
