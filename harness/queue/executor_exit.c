#include "harness/queue/executor_exit.h"

#include <string.h>

bool executor_exit_read(const char *dir, const char *token, int attempt, bool asked, struct supervisor_end *file,
                        struct executor_end *end)
{
    if (supervisor_end_read(dir, file, NULL) != STATUS_OK || strcmp(file->token, token) != 0 ||
        file->attempt != attempt)
        return false;
    const bool signalled = file->outcome == OUTCOME_SIGNAL, timed_out = file->outcome == OUTCOME_TIMEOUT;
    *end = (struct executor_end){.outcome = file->outcome,
                                 .code = timed_out || signalled ? -1 : file->code,
                                 .signal = signalled ? file->signal : -1,
                                 .asked = asked || file->asked,
                                 .cpu_us = (int64_t)(1e6 * (file->cpu_user + file->cpu_system)),
                                 .peak_bytes = file->max_rss,
                                 .text = file->text};
    return true;
}
