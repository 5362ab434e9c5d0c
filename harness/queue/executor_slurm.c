/* Attempts as batch jobs of Slurm: what the executor is asked for, and its clock. executor_slurm_submit.c: into Slurm's
 * queue; executor_slurm_watch.c: what Slurm says of its jobs, and what follows; executor_slurm_end.c: their ends.
 *
 * A handle is TOKEN:GRACE:PLACE:NAME:WHERE. The name of the job is in the store before sbatch is called, so that a job
 * which got in without our hearing of it is found by its name. WHERE is "-" (for all that is known it was not
 * submitted), "held=ID", or ID of a job that was let go. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "core/base/memory.h"
#include "core/config/config.h"
#include "harness/queue/executor_slurm_internal.h"
#include "harness/queue/executor_words.h"

enum { TICK_MS = 100, NONCE = 16, JOBS_MOST = 200, BACK_OFF_MOST_S = 60 };

double slurm_now(const struct executor_slurm *ex)
{
    return 1e-3 * (double)uv_now(ex->loop);
}

void slurm_hurry(struct executor_slurm *ex)
{
    double soonest = ex->looked + ex->tuning.poll;
    ex->period = ex->tuning.poll;
    if (ex->poll > soonest)
        ex->poll = soonest;
}

void slurm_say(struct executor_slurm *ex, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (ex->base.on_log)
        ex->base.on_log(ex->base.arg, text);
}

/* ------------------------------------------------------------------------------------------ calls */

void slurm_ask(struct executor_job *job, const char *const *words, slurm_on_reply *on_reply)
{
    job->busy = true;
    job->calls++;
    slurm_call(job->owner->calls, words, on_reply, job);
}

bool slurm_answered(struct executor_job *job)
{
    job->busy = false;
    job->calls--;
    return !job->closed;
}

void slurm_back_off(struct executor_job *job)
{
    double wait = job->owner->tuning.poll;
    for (int i = 0; i < job->tries && wait < BACK_OFF_MOST_S; i++)
        wait *= 2;
    job->tries++;
    job->due = slurm_now(job->owner) + (wait < BACK_OFF_MOST_S ? wait : BACK_OFF_MOST_S);
}

void slurm_enter(struct executor_job *job, enum job_phase phase)
{
    job->phase = phase;
    job->since = job->owner->looks;
    job->absent = 0;
    job->tries = 0;
    job->due = 0;
}

/* ------------------------------------------------------------------------------------------ handles and news */

static char *handle_of(const struct executor_job *job, int place, const char *where)
{
    return memory_format("%s:%.17g:%d:%s:%s", job->token, job->grace, place, job->name, where);
}

void slurm_tell(struct executor_job *job, const char *format, ...)
{
    struct executor *base = &job->owner->base;
    char text[sizeof job->told], where[sizeof job->told_where];
    bool fine = true;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    snprintf(where, sizeof where, "%s%s", job->phase == JOB_HELD ? "held=" : "", job->id[0] ? job->id : "-");
    if (!base->on_news || (strcmp(text, job->told) == 0 && strcmp(where, job->told_where) == 0))
        return;
    const bool there = job->ran && job->known && job->row.nodes[0];
    for (int i = 0; i < job->runs.count; i++) {
        struct member *m = &job->runs.at[i];
        char *handle = handle_of(job, m->place, where);
        const struct executor_news news = {handle, there ? job->row.nodes : NULL, text, job->ran};
        fine &= m->reported || base->on_news(base->arg, job, m->place, &news);
        free(handle);
    }
    if (!fine)
        return;
    memcpy(job->told, text, sizeof text);
    memcpy(job->told_where, where, sizeof where);
}

/* ------------------------------------------------------------------------------------------ jobs */

static struct executor_job *job_create(struct executor_slurm *ex, double grace)
{
    struct executor_job *job = memory_alloc(1, sizeof *job), **at = &ex->jobs;
    job->owner = ex;
    job->grace = grace;
    job->never = OUTCOME_COUNT;
    job->since = ex->looks;
    while (*at)
        at = &(*at)->next;
    *at = job;
    return job;
}

static void job_release(struct executor_job *job)
{
    for (int i = 0; job->words[i]; i++)
        free(job->words[i]);
    members_release(&job->runs);
    free(job);
}

/* Those that are told to the end, and of which no answer is on its way. */
static void reap(struct executor_slurm *ex)
{
    for (struct executor_job **at = &ex->jobs; *at;) {
        struct executor_job *job = *at;
        if (job->closed && job->calls == 0) {
            *at = job->next;
            job_release(job);
        } else {
            at = &job->next;
        }
    }
}

static void answer_start(struct executor_job *job)
{
    struct executor *base = &job->owner->base;
    const struct executor_started started = {.handles = job->runs.handles, .waits = true};
    slurm_enter(job, JOB_NAMED);
    base->on_start(base->arg, job, &started, NULL);
}

static void step(struct executor_job *job)
{
    if (job->phase == JOB_NEW)
        answer_start(job);
    else if ((job->phase == JOB_NAMED || job->phase == JOB_WAITS) && job->asked)
        slurm_report_all(job, OUTCOME_STOPPED, "it was not submitted yet");
    else if (job->phase == JOB_HELD || job->phase == JOB_LIVE)
        slurm_watch(job);
}

static void on_tick(uv_timer_t *tick)
{
    struct executor_slurm *ex = tick->data;
    for (struct executor_job *job = ex->jobs; job; job = job->next)
        if (!job->closed && !job->busy && slurm_now(ex) >= job->due)
            step(job);
    slurm_submit_next(ex);
    slurm_look_at_files(ex);
    slurm_poll(ex);
    reap(ex);
    if (!ex->jobs)
        uv_timer_stop(tick);
}

static void wake(struct executor_slurm *ex)
{
    if (!uv_is_active((uv_handle_t *)&ex->tick))
        uv_timer_start(&ex->tick, on_tick, 0, TICK_MS);
}

/* ------------------------------------------------------------------------------------------ what is asked for */

static void make_token(struct executor_job *job, int attempt, const char *dir)
{
    unsigned char nonce[NONCE];
    char hex[2 * NONCE + 1];
    const char *run = strrchr(dir, '/');
    randombytes_buf(nonce, sizeof nonce);
    sodium_bin2hex(hex, sizeof hex, nonce, sizeof nonce);
    snprintf(job->token, sizeof job->token, "%d-%s", attempt, hex);
    snprintf(job->name, sizeof job->name, "taper-%s-%.40s-%d-%.8s", job->owner->tag, run ? run + 1 : dir, attempt, hex);
}

static int slurm_start(struct executor *base, const struct executor_launch *launch, struct executor_job **out,
                       struct executor_started *started, struct error *err)
{
    (void)started; /* on_start: nothing of a job is sent before it is known of */
    struct executor_slurm *ex = (struct executor_slurm *)base;
    struct executor_job *job = job_create(ex, launch->grace);
    make_token(job, launch->runs[0].attempt, launch->runs[0].dir);
    const struct slurm_script script = {job->name, job->token, ex->program, ex->payload};
    int status = slurm_script_write(&script, launch, job->words, SLURM_WORDS_MOST, err);
    wake(ex);
    if (status) {
        job->closed = true;
        return status;
    }
    for (int i = 0; i < launch->count; i++)
        members_add(&job->runs, launch->runs[i].dir, i, launch->runs[i].attempt, handle_of(job, i, "-"));
    *out = job;
    return STATUS_OK;
}

static void slurm_release(struct executor *base, struct executor_job *job)
{
    (void)base;
    if (job->phase != JOB_NAMED)
        return;
    slurm_enter(job, JOB_WAITS);
    slurm_tell(job, "waits to be submitted");
}

struct handle {
    char token[SLURM_TOKEN], name[SLURM_NAME], where[SLURM_ID + 8];
    double grace;
    int place;
};

static bool read_handle(const char *text, struct handle *h)
{
    return sscanf(text, "%63[0-9a-f-]:%lf:%d:%127[^:]:%39[^:]", h->token, &h->grace, &h->place, h->name, h->where) == 5;
}

/* Where it was when the last word of it was stored. */
static void take_up(struct executor_job *job, const struct handle *h)
{
    bool held = strncmp(h->where, "held=", 5) == 0;
    job->adopted = true;
    snprintf(job->token, sizeof job->token, "%s", h->token);
    snprintf(job->name, sizeof job->name, "%s", h->name);
    snprintf(job->told_where, sizeof job->told_where, "%s", h->where);
    if (strcmp(h->where, "-") != 0)
        snprintf(job->id, sizeof job->id, "%.31s", held ? h->where + 5 : h->where);
    slurm_enter(job, !job->id[0] ? JOB_UNSURE : held ? JOB_HELD : JOB_LIVE);
}

static int slurm_adopt(struct executor *base, const char *handle, const char *dir, int attempt,
                       struct executor_job **out, int *place, struct error *err)
{
    struct executor_slurm *ex = (struct executor_slurm *)base;
    struct handle h;
    if (!read_handle(handle, &h))
        return error_set(err, STATUS_BAD_INPUT, "'%s' names no job of Slurm", handle);
    struct executor_job *job = ex->jobs;
    while (job && strcmp(job->token, h.token) != 0)
        job = job->next;
    if (!job) {
        job = job_create(ex, h.grace);
        take_up(job, &h);
    }
    members_add(&job->runs, dir, h.place, attempt, memory_string(handle));
    *place = h.place;
    *out = job;
    slurm_hurry(ex);
    wake(ex);
    return STATUS_OK;
}

/* A pack is one process on a node that takes no message for one of its runs: all of it ends, and its mates go on from
 * their checkpoints as another job. */
static void slurm_stop(struct executor *base, struct executor_job *job, int place, enum executor_stop how)
{
    struct executor_slurm *ex = (struct executor_slurm *)base;
    (void)place;
    if (how == EXECUTOR_KILL && !job->kill)
        job->stopped = 0;
    job->asked = true;
    job->kill |= how == EXECUTOR_KILL;
    job->due = 0;
    slurm_hurry(ex);
}

/* ------------------------------------------------------------------------------------------ the pool */

static int slurm_widest(struct executor *base, int device)
{
    (void)base, (void)device;
    return SLOTS_MOST;
}

/* What runs there is Slurm's business: only what waits counts. */
static int slurm_room(struct executor *base, int device)
{
    const struct executor_slurm *ex = (const struct executor_slurm *)base;
    int waiting = 0;
    (void)device;
    for (const struct executor_job *job = ex->jobs; job; job = job->next)
        waiting += !job->ran && !job->closed;
    return waiting < ex->jobs_most ? ex->jobs_most - waiting : 0;
}

static void grant(int pool, struct slots_grant *g)
{
    memset(g, 0, sizeof *g);
    g->pool = pool;
    g->count = 1;
    snprintf(g->device, sizeof g->device, "%s", pool == DEVICE_CUDA ? "cuda" : "cpu");
    snprintf(g->name, sizeof g->name, "slurm:%s", g->device);
}

static bool slurm_take(struct executor *base, const struct slots_wish *wish, struct slots_grant *g)
{
    if (slurm_room(base, wish->pool) < 1)
        return false;
    grant(wish->pool, g);
    return true;
}

static void slurm_give(struct executor *base, const struct slots_grant *g)
{
    (void)base, (void)g;
}

static void slurm_regain(struct executor *base, const char *name, struct slots_grant *g)
{
    (void)base;
    grant(strcmp(name ? name : "", "slurm:cuda") == 0 ? DEVICE_CUDA : DEVICE_CPU, g);
}

static void slurm_refresh(struct executor *base)
{
    (void)base;
}

/* ------------------------------------------------------------------------------------------ life */

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void slurm_destroy(struct executor *base)
{
    struct executor_slurm *ex = (struct executor_slurm *)base;
    slurm_calls_destroy(ex->calls);
    while (ex->jobs) {
        struct executor_job *job = ex->jobs;
        ex->jobs = job->next;
        job_release(job);
    }
    free(ex->program);
    free(ex->payload);
    free(ex->user);
    uv_close((uv_handle_t *)&ex->tick, on_closed);
}

/* Of the home's path: two homes of one user must not take each other's jobs for their own. */
static void make_tag(struct executor_slurm *ex, const char *home)
{
    unsigned char hash[crypto_generichash_BYTES_MIN];
    const char *text = home ? home : "";
    crypto_generichash(hash, sizeof hash, (const unsigned char *)text, strlen(text), NULL, 0);
    sodium_bin2hex(ex->tag, 9, hash, 4);
}

struct executor *executor_slurm_create(uv_loop_t *loop, const struct executor_options *options)
{
    struct executor_slurm *ex = memory_alloc(1, sizeof *ex);
    ex->base = (struct executor){.name = "slurm",
                                 .most = options->payload ? 1 : EXECUTOR_RUNS_MOST,
                                 .foreign = options->payload != NULL,
                                 .apart = true,
                                 .widest = slurm_widest,
                                 .room = slurm_room,
                                 .take = slurm_take,
                                 .give = slurm_give,
                                 .regain = slurm_regain,
                                 .refresh = slurm_refresh,
                                 .start = slurm_start,
                                 .release = slurm_release,
                                 .adopt = slurm_adopt,
                                 .stop = slurm_stop,
                                 .destroy = slurm_destroy};
    ex->loop = loop;
    slurm_tuning_read(&ex->tuning, getenv("TAPER_SLURM"), NULL); /* executor_slurm_check said what is wrong in it */
    ex->jobs_most = options->jobs_most > 0 ? options->jobs_most : JOBS_MOST;
    ex->program = realpath(options->program ? options->program : "/proc/self/exe", NULL);
    if (!ex->program)
        ex->program = memory_string("taper");
    ex->payload = options->payload ? memory_string(options->payload) : NULL;
    ex->user = memory_format("--user=%ld", (long)getuid());
    ex->calls = slurm_calls_create(loop, ex->tuning.timeout);
    ex->period = ex->tuning.poll;
    make_tag(ex, options->home);
    uv_timer_init(loop, &ex->tick);
    ex->tick.data = ex;
    return &ex->base;
}

static bool in_path(const char *command)
{
    char *copy = memory_string(getenv("PATH") ? getenv("PATH") : "/usr/bin:/bin"), *rest = copy, *dir;
    bool found = false;
    while (!found && (dir = strsep(&rest, ":"))) {
        char *path = memory_format("%s/%s", *dir ? dir : ".", command);
        found = access(path, X_OK) == 0;
        free(path);
    }
    free(copy);
    return found;
}

int executor_slurm_check(struct error *err)
{
    static const char *const commands[] = {"sbatch", "squeue", "scontrol", "scancel"};
    struct slurm_tuning tuning;
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (!in_path(commands[i]))
            return error_set(err, STATUS_BAD_INPUT, "executor slurm: no %s in PATH: is this a login node of a cluster?",
                             commands[i]);
    return slurm_tuning_read(&tuning, getenv("TAPER_SLURM"), err);
}
