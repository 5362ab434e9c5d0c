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

#include "core/memory.h"
#include "harness/executor.h"
#include "harness/process.h"
#include "harness/supervisor.h"

enum { GO_DESCRIPTOR = 3, SWEEP_AGAIN_MS = 20, STUCK_MS = 10000, NONCE = 16 };

extern char **environ;

struct executor_job {
    struct executor_local *owner;
    struct executor_job *next;
    struct process_id id;
    char token[128]; /* "ATTEMPT-NONCE", in the environment of all that it starts */
    char *dir, *handle;
    int attempt, pidfd, go; /* -1 when there is none */
    bool child;             /* ours to reap */
    bool ended;             /* the supervisor is gone (a child not yet reaped) */
    bool asked;
    double grace;
    siginfo_t exit;
    uv_poll_t watch;
    uv_timer_t timer; /* sweeping once it has ended; before: a stop that does not come to an end */
    int open_handles;
};

struct executor_local {
    struct executor base; /* first */
    uv_loop_t *loop;
    char *program, *payload;
    struct executor_job *jobs;
};

static void job_release(struct executor_job *job)
{
    if (job->pidfd >= 0)
        close(job->pidfd);
    if (job->go >= 0)
        close(job->go);
    free(job->dir);
    free(job->handle);
    free(job);
}

static void on_closed(uv_handle_t *handle)
{
    struct executor_job *job = handle->data;
    if (--job->open_handles == 0)
        job_release(job);
}

static void job_close(struct executor_job *job)
{
    struct executor_job **at = &job->owner->jobs;
    while (*at != job)
        at = &(*at)->next;
    *at = job->next;
    uv_close((uv_handle_t *)&job->timer, on_closed);
    if (job->open_handles > 1)
        uv_close((uv_handle_t *)&job->watch, on_closed);
}

static bool is_supervisor(const struct executor_local *ex, const struct process_row *row)
{
    for (const struct executor_job *job = ex->jobs; job; job = job->next)
        if (job->id.pid == row->pid && job->id.start == row->start)
            return true;
    return false;
}

/* Whether a process comes from this job, whose supervisor is gone. The session proves it only while the supervisor
 * is our unreaped child, since only then is its number taken; without, the token in the environment does. A process
 * whose parent we became lost a supervisor: it is one of ours too, and there is nobody else to end it. */
static bool belongs(const struct executor_job *job, const struct process_row *row)
{
    char pair[160];
    if (row->start < job->id.start || row->pid == job->id.pid || is_supervisor(job->owner, row))
        return false;
    if (job->child && (row->session == job->id.pid || row->parent == getpid()))
        return true;
    snprintf(pair, sizeof pair, "TAPER_TOKEN=%s", job->token);
    return process_has_environment(row->pid, pair);
}

/* Kill what a killed supervisor left. Returns how many are still there. */
static int sweep(struct executor_job *job)
{
    size_t count;
    int left = 0;
    struct process_row *rows = process_list(&count);
    for (size_t i = 0; i < count; i++) {
        if (!belongs(job, &rows[i]))
            continue;
        if (rows[i].state == 'Z') {
            if (rows[i].parent == getpid())
                waitpid(rows[i].pid, NULL, WNOHANG);
            continue;
        }
        process_signal_row(&rows[i], SIGKILL);
        left++;
    }
    free(rows);
    return left;
}

static void job_report(struct executor_job *job, const struct executor_end *end)
{
    struct executor *base = &job->owner->base;
    base->on_end(base->arg, job, end);
    job_close(job);
}

/* What the end was, without exit.json. */
static void end_without_file(const struct executor_job *job, struct executor_end *end)
{
    end->cause = EXECUTOR_LOST;
    end->text = "the worker is gone without a word";
    if (!job->child || job->exit.si_code != CLD_EXITED)
        return;
    switch (job->exit.si_status) {
    case SUPERVISOR_NOT_STARTED:
        end->cause = EXECUTOR_NOT_STARTED;
        end->text = "the worker was never let go";
        break;
    case SUPERVISOR_LOCKED:
        end->cause = EXECUTOR_NOT_STARTED;
        end->text = "another worker is in the run directory";
        break;
    default: /* exit.json could not be written, or nothing could: the status is all there is */
        end->cause = job->exit.si_status > 128                   ? EXECUTOR_SIGNALLED
                     : job->exit.si_status == SUPERVISOR_TIMEOUT ? EXECUTOR_TIMED_OUT
                                                                 : EXECUTOR_EXITED;
        end->code = end->cause == EXECUTOR_EXITED ? job->exit.si_status : -1;
        end->signal = end->cause == EXECUTOR_SIGNALLED ? job->exit.si_status - 128 : -1;
        end->text = "see log.txt";
    }
}

static void on_sweep(uv_timer_t *timer);

/* The supervisor is gone: find out how it went, and end what is left. */
static void job_finish(struct executor_job *job)
{
    struct supervisor_end file;
    struct executor_end end = {.code = -1, .signal = -1, .asked = job->asked, .cpu_us = -1, .peak_bytes = -1};
    bool known = supervisor_end_read(job->dir, &file, NULL) == STATUS_OK && strcmp(file.token, job->token) == 0;
    /* A supervisor that ended by itself left nothing behind: only a killed one has to be swept after. */
    if (!known && !(job->child && job->exit.si_code == CLD_EXITED) && sweep(job) > 0) {
        uv_timer_start(&job->timer, on_sweep, SWEEP_AGAIN_MS, 0);
        return;
    }
    if (job->child)
        waitid(P_PIDFD, (id_t)job->pidfd, &job->exit, WEXITED | WNOHANG);
    if (!known) {
        end_without_file(job, &end);
        job_report(job, &end);
        return;
    }
    static const enum executor_cause causes[] = {EXECUTOR_EXITED, EXECUTOR_SIGNALLED, EXECUTOR_TIMED_OUT,
                                                 EXECUTOR_EXITED};
    end.cause = causes[file.cause];
    end.code = file.cause == SUPERVISOR_EXITED ? file.code : file.cause == SUPERVISOR_FAILED ? 1 : -1;
    end.signal = file.cause == SUPERVISOR_SIGNALLED ? file.signal : -1;
    end.asked |= file.asked;
    end.cpu_us = (int64_t)(1e6 * (file.cpu_user + file.cpu_system));
    end.peak_bytes = file.max_rss;
    end.text = file.text;
    job_report(job, &end);
}

static void on_sweep(uv_timer_t *timer)
{
    job_finish(timer->data);
}

static void on_ended(uv_poll_t *watch, int status, int events)
{
    struct executor_job *job = watch->data;
    (void)status, (void)events;
    job->exit.si_pid = 0;
    if (job->child &&
        (waitid(P_PIDFD, (id_t)job->pidfd, &job->exit, WEXITED | WNOWAIT | WNOHANG) != 0 || !job->exit.si_pid))
        return;
    uv_poll_stop(&job->watch);
    uv_timer_stop(&job->timer);
    job->ended = true;
    job_finish(job);
}

/* Asked to stop long ago, and its own grace is over: it must be stuck. What it leaves is swept. */
static void on_stuck(uv_timer_t *timer)
{
    struct executor_job *job = timer->data;
    process_signal(job->pidfd, SIGKILL);
}

static struct executor_job *job_create(struct executor_local *ex, const char *dir, int attempt)
{
    struct executor_job *job = memory_alloc(1, sizeof *job);
    job->owner = ex;
    job->dir = memory_string(dir);
    job->attempt = attempt;
    job->pidfd = job->go = -1;
    job->next = ex->jobs;
    ex->jobs = job;
    uv_timer_init(ex->loop, &job->timer);
    job->timer.data = job;
    job->open_handles = 1;
    return job;
}

static int watch(struct executor_job *job, struct error *err)
{
    int code = uv_poll_init(job->owner->loop, &job->watch, job->pidfd);
    if (code)
        return error_set(err, STATUS_FAILED, "cannot watch process %d: %s", (int)job->id.pid, uv_strerror(code));
    job->watch.data = job;
    job->open_handles = 2;
    uv_poll_start(&job->watch, UV_READABLE, on_ended);
    return STATUS_OK;
}

struct arguments {
    char *words[32], *variables[8];
    int count, changed;
};

static void add(struct arguments *a, const char *name, char *value)
{
    if (name)
        a->words[a->count++] = memory_string(name);
    a->words[a->count++] = value;
}

static void build(struct arguments *a, const struct executor_job *job, const struct executor_launch *launch)
{
    const struct executor_local *ex = job->owner;
    int n = 0;
    *a = (struct arguments){0};
    add(a, "taper", memory_string("worker"));
    add(a, "--attempt", memory_format("%d", launch->attempt));
    add(a, "--go", memory_format("%d", GO_DESCRIPTOR));
    add(a, "--device", memory_string(launch->device));
    add(a, "--threads", memory_format("%d", launch->threads));
    add(a, "--grace", memory_format("%.17g", launch->grace));
    if (launch->timeout > 0)
        add(a, "--timeout", memory_format("%.17g", launch->timeout));
    if (launch->processors)
        add(a, "--processors", memory_string(launch->processors));
    if (launch->after)
        add(a, "--after", memory_string(launch->after));
    if (ex->payload)
        add(a, "--payload", memory_string(ex->payload));
    add(a, "--", memory_string(launch->dir));
    a->variables[n++] = memory_format("TAPER_TOKEN=%s", job->token);
    if (launch->threads > 0) {
        a->variables[n++] = memory_format("OMP_NUM_THREADS=%d", launch->threads);
        a->variables[n++] = memory_format("OPENBLAS_NUM_THREADS=%d", launch->threads);
    }
    if (strcmp(launch->device, "cpu") != 0)
        a->variables[n++] = memory_format("CUDA_VISIBLE_DEVICES=%s", launch->device);
    a->changed = n;
}

/* Our environment with the variables replaced or added. The array alone is on the heap. */
static char **environment(const struct arguments *a)
{
    size_t count = 0, kept = 0;
    while (environ[count])
        count++;
    char **all = memory_alloc(count + (size_t)a->changed + 1, sizeof *all);
    for (size_t i = 0; i < count; i++) {
        bool replaced = false;
        for (int j = 0; j < a->changed && !replaced; j++)
            replaced = strncmp(environ[i], a->variables[j], strcspn(a->variables[j], "=") + 1) == 0;
        if (!replaced)
            all[kept++] = environ[i];
    }
    for (int j = 0; j < a->changed; j++)
        all[kept++] = a->variables[j];
    return all;
}

static int spawn(struct executor_job *job, struct arguments *a, int go, struct error *err)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, go, GO_DESCRIPTOR);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    char **variables = environment(a);
    int code = posix_spawn(&job->id.pid, job->owner->program, &actions, &attributes, a->words, variables);
    free(variables);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (code)
        return error_errno(err, STATUS_FAILED, code, "%s: cannot start a worker", job->owner->program);
    job->child = true;
    return STATUS_OK;
}

static int local_start(struct executor *base, const struct executor_launch *launch, struct executor_started *out,
                       struct error *err)
{
    struct executor_local *ex = (struct executor_local *)base;
    struct executor_job *job = job_create(ex, launch->dir, launch->attempt);
    struct arguments a;
    unsigned char nonce[NONCE];
    char hex[2 * NONCE + 1];
    int ends[2] = {-1, -1}, status = STATUS_OK;
    randombytes_buf(nonce, sizeof nonce);
    sodium_bin2hex(hex, sizeof hex, nonce, sizeof nonce);
    snprintf(job->token, sizeof job->token, "%d-%s", launch->attempt, hex);
    job->grace = launch->grace;
    build(&a, job, launch);
    if (pipe2(ends, O_CLOEXEC) != 0)
        status = error_errno(err, STATUS_FAILED, errno, "cannot start a worker");
    if (!status)
        status = spawn(job, &a, ends[0], err);
    for (int i = 0; i < a.count; i++)
        free(a.words[i]);
    for (int i = 0; i < a.changed; i++)
        free(a.variables[i]);
    if (ends[0] >= 0)
        close(ends[0]);
    job->go = ends[1];
    if (!status) /* our child: there, if only as a zombie, until we reap it */
        status = process_identify(job->id.pid, &job->id, err);
    if (!status && (job->pidfd = process_open(&job->id)) < 0)
        status = error_errno(err, STATUS_FAILED, errno, "cannot watch process %d", (int)job->id.pid);
    if (!status)
        status = watch(job, err);
    if (status) {
        if (job->child) { /* held, so that it ends as soon as its pipe is closed */
            close(job->go);
            job->go = -1;
            waitpid(job->id.pid, NULL, 0);
        }
        job_close(job);
        return status;
    }
    job->handle = memory_format("%d:%" PRIu64 ":%s:%.0f:%s", (int)job->id.pid, job->id.start, job->id.boot,
                                launch->grace, job->token);
    *out = (struct executor_started){job, job->handle, job->id.pid, (int64_t)job->id.start, job->id.boot};
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

static int local_adopt(struct executor *base, const char *handle, const char *dir, int attempt,
                       struct executor_job **out, struct error *err)
{
    struct executor_local *ex = (struct executor_local *)base;
    struct process_id id = {0};
    char token[128];
    double grace;
    int pid;
    if (sscanf(handle, "%d:%" SCNu64 ":%39[^:]:%lf:%127[0-9a-f-]", &pid, &id.start, id.boot, &grace, token) != 5)
        return error_set(err, STATUS_BAD_INPUT, "'%s' names no local process", handle);
    id.pid = pid;
    struct executor_job *job = job_create(ex, dir, attempt);
    job->id = id;
    job->grace = grace;
    snprintf(job->token, sizeof job->token, "%s", token);
    job->handle = memory_string(handle);
    job->pidfd = process_open(&id);
    if (job->pidfd >= 0 && watch(job, err) != STATUS_OK) {
        close(job->pidfd);
        job->pidfd = -1;
        job_close(job);
        return STATUS_FAILED;
    }
    if (job->pidfd < 0) {
        job->ended = true;
        uv_timer_start(&job->timer, on_sweep, 0, 0);
    }
    *out = job;
    return STATUS_OK;
}

static void local_stop(struct executor *base, struct executor_job *job, enum executor_stop how)
{
    (void)base;
    job->asked = true;
    if (job->ended)
        return;
    if (job->go >= 0) {
        close(job->go);
        job->go = -1;
        return;
    }
    process_signal(job->pidfd, how == EXECUTOR_KILL ? SIGUSR1 : SIGTERM);
    process_signal(job->pidfd, SIGCONT);
    uint64_t grace = how == EXECUTOR_KILL ? 0 : (uint64_t)(1e3 * job->grace);
    uv_timer_start(&job->timer, on_stuck, grace + STUCK_MS, 0);
}

static bool local_owns(struct executor *base, pid_t pid)
{
    struct executor_local *ex = (struct executor_local *)base;
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
        job_close(ex->jobs);
    uv_run(ex->loop, UV_RUN_NOWAIT); /* the closing callbacks */
    free(ex->program);
    free(ex->payload);
    free(ex);
}

struct executor *executor_local_create(uv_loop_t *loop, const char *program, const char *payload)
{
    struct executor_local *ex = memory_alloc(1, sizeof *ex);
    ex->base = (struct executor){.name = "local",
                                 .start = local_start,
                                 .release = local_release,
                                 .adopt = local_adopt,
                                 .stop = local_stop,
                                 .owns = local_owns,
                                 .destroy = local_destroy};
    ex->loop = loop;
    ex->program = memory_string(program ? program : "/proc/self/exe");
    ex->payload = payload ? memory_string(payload) : NULL;
    /* Nothing of ours is inherited, and what a killed supervisor leaves comes to us. */
    close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    signal(SIGPIPE, SIG_IGN);
    return &ex->base;
}
