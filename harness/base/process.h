/* Processes told apart for certain: a pid alone may be another process tomorrow; pid, start time and boot are not.
 *
 * Everything here reads /proc of this machine. Signals go through pidfds, opened first and checked after, so that a
 * pid that was given to another process in between is never signalled. */
#ifndef TAPER_HARNESS_BASE_PROCESS_H
#define TAPER_HARNESS_BASE_PROCESS_H

#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/error.h"

enum { PROCESS_BOOT = 40 };

struct process_id {
    pid_t pid;
    uint64_t start;          /* clock ticks from boot to its start (/proc/PID/stat, field 22) */
    char boot[PROCESS_BOOT]; /* /proc/sys/kernel/random/boot_id */
};

/* One row of /proc. */
struct process_row {
    pid_t pid, parent, group, session;
    uint64_t start;
    char state; /* R, S, D, T, Z, ...; Z only when all of its threads are gone */
};

/* The boot's id into to; "" when there is none to read. */
void process_boot(char to[PROCESS_BOOT]);

/* Look up one pid. Returns 0, or -1 when there is no such process. */
int process_read(pid_t pid, struct process_row *row);

/* Identify a process that is there. STATUS_FAILED when it is not. */
int process_identify(pid_t pid, struct process_id *id, struct error *err);

/* A pidfd of exactly this process, close-on-exec; -1 when it is gone (also a reused pid, and another boot). A zombie
 * still counts: its pid cannot be reused. The caller closes it. */
int process_open(const struct process_id *id);

/* The same of our child that was not reaped yet, which needs no proof. */
int process_open_child(pid_t pid);

/* Attributes of a child in a session of its own, with no signal blocked or ignored; posix_spawnattr_destroy ends them.
 */
void process_apart(posix_spawnattr_t *attributes);

/* Signal through a pidfd; 0, or -1 with errno (ESRCH: gone). */
int process_signal(int pidfd, int signal);

/* The same with what sigqueue(3) would send: si_signo, si_code SI_QUEUE, si_value. */
int process_signal_value(int pidfd, const siginfo_t *info);

/* Every process there is, on the heap, *count rows; the caller frees it. Order as /proc lists them. */
struct process_row *process_list(size_t *count);

/* All processes below root (children, their children, ...), not root itself, out of a list; on the heap. */
struct process_row *process_descendants(pid_t root, size_t *count);

/* Whether the environment a process was started with holds exactly NAME=VALUE. False when it may not be read. */
bool process_has_environment(pid_t pid, const char *pair);

/* Signal this row's process if the pid is still the one that was listed. True when it was there. */
bool process_signal_row(const struct process_row *row, int signal);

#endif
