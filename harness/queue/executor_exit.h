/* How an attempt ended, by the exit.json its supervisor wrote: the same for every executor whose workers are ours. */
#ifndef TAPER_HARNESS_QUEUE_EXECUTOR_EXIT_H
#define TAPER_HARNESS_QUEUE_EXECUTOR_EXIT_H

#include "harness/queue/executor.h"
#include "harness/worker/supervisor.h"

/* Read the file in a run's directory. False when there is none, or it is not that of this token and attempt. end->text
 * points into *file; asked is what the file says, or `asked`. */
bool executor_exit_read(const char *dir, const char *token, int attempt, bool asked, struct supervisor_end *file,
                        struct executor_end *end);

#endif
