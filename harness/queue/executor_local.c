/* Attempts as processes of this machine: supervisors (supervisor.h) found again by pid, start time and boot. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/close_range.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sodium.h>

#include "core/base/beside.h"
#include "core/base/memory.h"
#include "harness/queue/executor_local_internal.h"
#include "harness/queue/executor_words.h"
#include "harness/base/process.h"
#include "harness/worker/supervisor.h"

enum { GO_DESCRIPTOR = 3, PROGRAM_DESCRIPTOR = 4, LOOK_MS = 200, STUCK_MS = 10000, NONCE = 16 };

#define PROGRAM_PATH "/proc/self/fd/4"
_Static_assert(PROGRAM_DESCRIPTOR == 4, "PROGRAM_PATH says the same");

static struct executor_job *job_create(struct executor_local *ex)
{
    struct executor_job *job = memory_alloc(1, sizeof *job);
    job->owner = ex;
    job->pidfd = job->go = -1;
    job->next = ex->jobs;
    ex->jobs = job;
    uv_timer_init(ex->loop, &job->timer);
    uv_timer_init(ex->loop, &job->look);
    job->timer.data = job->look.data = job;
    job->open_handles = 2;
    return job;
}

/* handle is taken over. */
static void add_member(struct executor_job *job, const char *dir, int place, int attempt, char *handle)
{
    members_add(&job->runs, dir, place, attempt, handle);
    if (job->runs.count == 2)
        uv_timer_start(&job->look, local_job_on_look, LOOK_MS, LOOK_MS);
}

static int watch(struct executor_job *job, struct error *err)
{
    int code = uv_poll_init(job->owner->loop, &job->watch, job->pidfd);
    if (code)
        return error_set(err, STATUS_FAILED, "cannot watch process %d: %s", (int)job->id.pid, uv_strerror(code));
    job->watch.data = job;
    job->open_handles = 3;
    uv_poll_start(&job->watch, UV_READABLE, local_job_on_ended);
    return STATUS_OK;
}

static int spawn(struct executor_job *job, struct executor_words *a, int go, struct error *err)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, go, GO_DESCRIPTOR);
    if (job->owner->self >= 0)
        posix_spawn_file_actions_adddup2(&actions, job->owner->self, PROGRAM_DESCRIPTOR);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    process_apart(&attributes);
    int code = posix_spawn(&job->id.pid, job->owner->program, &actions, &attributes, a->words, a->environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (code)
        return error_errno(err, STATUS_FAILED, code, "%s: cannot start a worker", job->owner->program);
    job->child = true;
    return STATUS_OK;
}

/* Our child: there, if only as a zombie, until we reap it. So its number is its own, and need not be proved. */
static int identify(struct executor_job *job, struct error *err)
{
    int status = process_identify(job->id.pid, &job->id, err);
    if (!status && (job->pidfd = process_open_child(job->id.pid)) < 0)
        status = error_errno(err, STATUS_FAILED, errno, "cannot watch process %d", (int)job->id.pid);
    return status ? status : watch(job, err);
}

static int start_held(struct executor_job *job, const struct executor_launch *launch, struct error *err)
{
    struct executor_words a;
    int ends[2] = {-1, -1}, status = STATUS_OK;
    executor_words_init(&a, launch, GO_DESCRIPTOR, job->token, job->owner->payload,
                        job->owner->self >= 0 ? PROGRAM_PATH : NULL);
    if (pipe2(ends, O_CLOEXEC) != 0)
        status = error_errno(err, STATUS_FAILED, errno, "cannot start a worker");
    if (!status)
        status = spawn(job, &a, ends[0], err);
    executor_words_fini(&a);
    if (ends[0] >= 0)
        close(ends[0]);
    job->go = ends[1];
    return status ? status : identify(job, err);
}

static int local_start(struct executor *base, const struct executor_launch *launch, struct executor_job **out,
                       struct executor_started *started, struct error *err)
{
    struct executor_local *ex = (struct executor_local *)base;
    struct executor_job *job = job_create(ex);
    unsigned char nonce[NONCE];
    char hex[2 * NONCE + 1];
    randombytes_buf(nonce, sizeof nonce);
    sodium_bin2hex(hex, sizeof hex, nonce, sizeof nonce);
    snprintf(job->token, sizeof job->token, "%d-%s", launch->runs[0].attempt, hex);
    job->grace = launch->grace;
    job->pack = launch->count > 1;
    int status = start_held(job, launch, err);
    if (status) {
        if (job->child) { /* held, so that it ends as soon as its pipe is closed */
            close(job->go);
            job->go = -1;
            waitpid(job->id.pid, NULL, 0);
        }
        local_job_close(job);
        return status;
    }
    for (int i = 0; i < launch->count; i++) {
        char *handle = memory_format("%d:%" PRIu64 ":%s:%.0f:%s", (int)job->id.pid, job->id.start, job->id.boot,
                                     launch->grace, job->token);
        char *placed = job->pack ? memory_format("%s:%d", handle, i) : memory_string(handle);
        free(handle);
        add_member(job, launch->runs[i].dir, i, launch->runs[i].attempt, placed);
    }
    *started = (struct executor_started){.handles = job->runs.handles,
                                         .pid = job->id.pid,
                                         .pid_started = (int64_t)job->id.start,
                                         .boot_id = job->id.boot};
    *out = job;
    return STATUS_OK;
}

static void local_release(struct executor *base, struct executor_job *job)
{
    (void)base;
    if (job->go < 0)
        return;
    ssize_t wrote = write(job->go, "g", 1); /* it may be gone: then its end is on the way */
    (void)wrote;
    close(job->go);
    job->go = -1;
}

/* The job of another attempt of the same pack. */
static struct executor_job *find_job(const struct executor_local *ex, const struct process_id *id, const char *token)
{
    struct executor_job *job = ex->jobs;
    while (job && !(job->id.pid == id->pid && job->id.start == id->start && strcmp(job->token, token) == 0))
        job = job->next;
    return job;
}

/* Take over a process, or find that it is gone. */
static struct executor_job *take_over(struct executor_local *ex, const struct process_id *id, const char *token,
                                      double grace, struct error *err)
{
    struct executor_job *job = job_create(ex);
    job->id = *id;
    job->grace = grace;
    snprintf(job->token, sizeof job->token, "%s", token);
    job->pidfd = process_open(id);
    if (job->pidfd >= 0 && watch(job, err) != STATUS_OK) {
        close(job->pidfd);
        job->pidfd = -1;
        local_job_close(job);
        return NULL;
    }
    if (job->pidfd < 0) {
        job->ended = true;
        uv_timer_start(&job->timer, local_job_on_sweep, 0, 0);
    }
    return job;
}

static int local_adopt(struct executor *base, const char *handle, const char *dir, int attempt,
                       struct executor_job **out, int *place, struct error *err)
{
    struct executor_local *ex = (struct executor_local *)base;
    struct process_id id = {0};
    char token[128];
    double grace;
    int pid;
    *place = 0;
    int fields =
        sscanf(handle, "%d:%" SCNu64 ":%39[^:]:%lf:%127[0-9a-f-]:%d", &pid, &id.start, id.boot, &grace, token, place);
    if (fields < 5)
        return error_set(err, STATUS_BAD_INPUT, "'%s' names no local process", handle);
    id.pid = pid;
    struct executor_job *job = find_job(ex, &id, token);
    if (!job)
        job = take_over(ex, &id, token, grace, err);
    if (!job)
        return STATUS_FAILED;
    job->pack = fields == 6;
    add_member(job, dir, *place, attempt, memory_string(handle));
    *out = job;
    return STATUS_OK;
}

/* The supervisor ends one run by its place (SUPERVISOR_STOP_ONE), and the pack if that does not help. */
static void ask(struct executor_job *job, int place, enum executor_stop how)
{
    siginfo_t info = {.si_signo = SUPERVISOR_STOP_ONE, .si_code = SI_QUEUE};
    info.si_value.sival_int = place;
    info.si_pid = getpid();
    info.si_uid = getuid();
    if (place == EXECUTOR_ALL)
        process_signal(job->pidfd, how == EXECUTOR_KILL ? SIGUSR1 : SIGTERM);
    else
        process_signal_value(job->pidfd, &info);
    process_signal(job->pidfd, SIGCONT);
}

static void local_stop(struct executor *base, struct executor_job *job, int place, enum executor_stop how)
{
    (void)base;
    if (!job->pack || how == EXECUTOR_KILL)
        place = EXECUTOR_ALL;
    for (int i = 0; i < job->runs.count; i++)
        job->runs.at[i].asked |= place == EXECUTOR_ALL || job->runs.at[i].place == place;
    if (job->ended)
        return;
    if (job->go >= 0) {
        close(job->go);
        job->go = -1;
        return;
    }
    ask(job, place, how);
    /* One run of a pack has its own grace, and then the pack has. */
    uint64_t grace = how == EXECUTOR_KILL ? 0 : (uint64_t)((place == EXECUTOR_ALL ? 1e3 : 2e3) * job->grace);
    uv_timer_start(&job->timer, local_job_on_stuck, grace + STUCK_MS, 0);
}

/* Whether a process of this machine belongs to one of the jobs. */
static bool owns(void *arg, pid_t pid)
{
    const struct executor_local *ex = arg;
    pid_t session = getsid(pid);
    for (const struct executor_job *job = ex->jobs; job && session > 0; job = job->next)
        if (job->id.pid == session)
            return true;
    return false;
}

static void local_destroy(struct executor *base)
{
    struct executor_local *ex = (struct executor_local *)base;
    while (ex->jobs)
        local_job_close(ex->jobs);
    uv_run(ex->loop, UV_RUN_NOWAIT); /* the closing callbacks */
    if (ex->self >= 0)
        close(ex->self);
    free(ex->program);
    free(ex->payload);
    slots_destroy(base->slots);
    free(ex);
}

/* The small supervisor where there is one. It is given this very program, not its path: that may be another by then. */
static void choose_program(struct executor_local *ex, const char *program)
{
    ex->self = -1;
    if (!program) {
        char *small = beside_program("taper-supervisor");
        if (access(small, X_OK) == 0 && (ex->self = open("/proc/self/exe", O_PATH | O_CLOEXEC)) >= 0) {
            ex->program = small;
            return;
        }
        free(small);
    }
    ex->program = memory_string(program ? program : "/proc/self/exe");
}

struct executor *executor_local_create(uv_loop_t *loop, const struct executor_options *options)
{
    struct slots_options slots = options->slots;
    struct executor_local *ex = memory_alloc(1, sizeof *ex);
    ex->base = (struct executor){.name = "local",
                                 .most = options->payload ? 1 : EXECUTOR_RUNS_MOST,
                                 .foreign = options->payload != NULL,
                                 .start = local_start,
                                 .release = local_release,
                                 .adopt = local_adopt,
                                 .stop = local_stop,
                                 .destroy = local_destroy};
    ex->loop = loop;
    choose_program(ex, options->program);
    ex->payload = options->payload ? memory_string(options->payload) : NULL;
    slots.owns = owns;
    slots.arg = ex;
    executor_use_slots(&ex->base, slots_create(&slots));
    /* Nothing of ours is inherited, and what a killed supervisor leaves comes to us. */
    close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    signal(SIGPIPE, SIG_IGN);
    return &ex->base;
}
