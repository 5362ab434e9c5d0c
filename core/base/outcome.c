#include "core/base/outcome.h"

#include <string.h>

static const char *const names[OUTCOME_COUNT] = {
    "done", "failed", "input",     "stopped",   "diverged",   "memory", "disk",    "paused",  "signal",    "timeout",
    "lost", "start",  "cancelled", "preempted", "time-limit", "node",   "revoked", "refused", "dependency"};

_Static_assert(-(int)STATUS_FAILED == OUTCOME_FAILED && -(int)STATUS_BAD_INPUT == OUTCOME_INPUT &&
                   -(int)STATUS_STOPPED == OUTCOME_STOPPED && -(int)STATUS_DIVERGED == OUTCOME_DIVERGED &&
                   -(int)STATUS_MEMORY == OUTCOME_MEMORY && -(int)STATUS_DISK == OUTCOME_DISK &&
                   -(int)STATUS_PAUSED == OUTCOME_PAUSED,
               "a status, the exit status and the outcome are one number");

const char *outcome_name(enum outcome outcome)
{
    return names[outcome];
}

bool outcome_parse(const char *name, enum outcome *outcome)
{
    for (int i = 0; name && i < OUTCOME_COUNT; i++)
        if (strcmp(name, names[i]) == 0) {
            *outcome = (enum outcome)i;
            return true;
        }
    return false;
}

enum outcome outcome_of_exit(int code, bool ours)
{
    const int known = ours ? OUTCOME_PAUSED : OUTCOME_STOPPED;
    return code >= 0 && code <= known ? (enum outcome)code : OUTCOME_FAILED;
}
