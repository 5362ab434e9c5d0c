/* What the daemon and `taper run` have in common: a home's store, opened for writing, with its slots, its executor and
 * its scheduler on one loop. */
#ifndef TAPER_HARNESS_DAEMON_DAEMON_ENGINE_H
#define TAPER_HARNESS_DAEMON_DAEMON_ENGINE_H

#include <uv.h>

#include "harness/base/command.h"
#include "harness/base/options.h"
#include "harness/daemon/database_sync.h"
#include "harness/queue/scheduler.h"

/* As given on the command line; zeroed means the defaults. */
struct engine_options {
    const char *grace, *retry_delay, *min_free, *gpu_busy, *gpu_aside, *payload;
    int cpu_slots, gpu_runs, gpu_total; /* from --slots, may be given more than once */
    const char *gpu_list;
    const char *executor, *max_jobs;
    bool cpu_given, gpu_given; /* gpu_given: gpu_runs or gpu_total */
};

/* The rows of these options, for a verb's table: fill `specs` (room for ENGINE_OPTIONS) and return how many. */
enum { ENGINE_OPTIONS = 9 };
int engine_option_specs(struct engine_options *o, struct option_spec *specs);

/* The slots that they ask for on this machine. */
enum { ENGINE_GPU_BUSY = 512 << 20, ENGINE_GPU_ASIDE = 3 };
struct slots_options engine_slots(const struct engine_options *o, uint64_t gpu_foreign);

/* Their help, for a verb's row. */
#define ENGINE_ROWS                                                                                                    \
    {"executor", 0, "local|slurm",                                                                                     \
     "where runs are carried out: on this machine (default), or as batch jobs of Slurm"},                              \
        {"max-jobs", 0, "N", "with --executor slurm: this many jobs wait in Slurm's queue at most (default 200)"},     \
        {"slots", 0, "cpu:N|gpu:N|gpu:each=N|gpu:LIST",                                                                \
         "cpu:N: run N at a time on the CPU, each with its share of the processors (default: one for every four "      \
         "processors); gpu:N: run N at a time on all GPUs together (0 leaves them alone); gpu:each=N: N on each GPU "  \
         "(default 1); gpu:0-3,6 or gpu:GPU-5a,GPU-77: take only these, by the driver's numbers (gpu:3-3 is one GPU) " \
         "or "                                                                                                         \
         "the starts of their ids. May be given more than once. A GPU that CUDA_VISIBLE_DEVICES hides is never "       \
         "taken"},                                                                                                     \
        {"gpu-busy", 0, "SIZE", "leave a GPU alone on which others use more memory than this (default 512Mi)"},        \
        {"gpu-aside", 0, "N",                                                                                          \
         "set a GPU aside after N different runs in a row failed there at once (default 3; 0: never)"},                \
        {"grace", 0, "SECS", "from asking a worker to end to killing it (default 30)"},                                \
        {"retry-delay", 0, "SECS", "before the first retry; twice as long each time (default 5)"},                     \
        {"min-free", 0, "SIZE", "start nothing when the home's disk has less left (default 64Mi)"},                    \
    {                                                                                                                  \
        "payload", 0, "PROGRAM", "run this program in each run's directory instead of the training"                    \
    }

/* Descriptors without which nothing is begun: half are taken while all is idle, the others are for workers, journals
 * and a few clients (SERVER_DESCRIPTORS_KEPT). */
enum { ENGINE_EXECUTORS = 4, ENGINE_DESCRIPTORS = 40 };

struct engine {
    uv_loop_t loop;
    struct home home;
    struct store *store;
    struct executor *executors[ENGINE_EXECUTORS + 1]; /* ends at NULL; new attempts go to the first */
    struct scheduler *scheduler;
    struct database_sync sync;
    uv_timer_t lease; /* the store's sign of life */
    void (*log)(void *arg, const char *text);
    void *arg;
    bool looping;
};

/* STATUS_BAD_INPUT when the process may have fewer than ENGINE_DESCRIPTORS open. engine_open asks it first; who opens
 * something before that does too. */
int engine_check_descriptors(struct error *err);

/* Open everything, but take over nothing yet (scheduler_recover). */
int engine_open(struct engine *e, const struct engine_options *options, const char *home, const char *sweep,
                void (*log)(void *arg, const char *text), void (*changed)(void *arg), void *arg, struct error *err);

/* Close everything; live attempts go on. Fine after a failed open. Handles of others must be closing by then. */
void engine_close(struct engine *e);

#endif
