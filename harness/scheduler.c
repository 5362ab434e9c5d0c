/* What starts: the queue, the slots, recovery after a restart, and the timers. scheduler_end.c: what ends. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/file.h"
#include "core/memory.h"
#include "harness/libraries.h"
#include "harness/scheduler_internal.h"
#include "harness/store_queue.h"

void scheduler_log(struct scheduler *s, const char *format, ...)
{
    char text[2300];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (s->o.log)
        s->o.log(s->o.arg, text);
}

void scheduler_changed(struct scheduler *s)
{
    if (s->o.changed)
        s->o.changed(s->o.arg);
}

int64_t scheduler_clock(const struct scheduler *s)
{
    return s->clock_base + (int64_t)((uv_hrtime() - s->clock_begin) / 1000);
}

uint64_t scheduler_room(const struct scheduler *s)
{
    struct statvfs fs;
    if (statvfs(s->o.home->dir, &fs) != 0)
        return UINT64_MAX;
    return (uint64_t)fs.f_bavail * fs.f_frsize;
}

/* ------------------------------------------------------------------------------------------------------ trouble */

static void on_trouble_timer(uv_timer_t *timer);

void scheduler_fault(struct scheduler *s, enum store_trouble kind, const char *text)
{
    bool fresh = !s->trouble[0] || s->trouble_kind != kind;
    snprintf(s->trouble, sizeof s->trouble, "%.500s", text);
    s->trouble_kind = kind;
    if (fresh) {
        s->trouble_since = scheduler_clock(s);
        scheduler_log(s, "waiting: %s", s->trouble);
        store_set_patience(s->o.store, 20); /* the loop has others to serve meanwhile */
    }
    uv_timer_start(&s->trouble_timer, on_trouble_timer, SCHEDULER_TROUBLE_MS, 0);
}

void scheduler_clear(struct scheduler *s)
{
    char text[640];
    if (!s->trouble[0])
        return;
    double seconds = 1e-6 * (double)(scheduler_clock(s) - s->trouble_since);
    snprintf(text, sizeof text, "after %.1f s: %s", seconds, s->trouble);
    bool worth = s->trouble_kind == STORE_FULL;
    s->trouble[0] = '\0';
    store_set_patience(s->o.store, 250);
    scheduler_log(s, "going on %s", text);
    if (worth)
        store_event(s->o.store, NULL, NULL, 0, "disk-full", text, NULL);
}

/* ------------------------------------------------------------------------------------------------------ starting */

/* config.json as the store has it; the worker checks it. Left alone when it is right already. */
static int write_config(const char *dir, const char *text, struct error *err)
{
    char *path = file_join(dir, HOME_CONFIG), *aside = memory_format("%s.new", path);
    size_t length = strlen(text);
    struct file_map old = {0};
    bool same = file_map_open(&old, path, NULL) == STATUS_OK && old.size == length && !memcmp(old.data, text, length);
    int status = STATUS_OK;
    file_map_close(&old);
    FILE *out = same ? NULL : fopen(aside, "we");
    if (out) {
        bool bad = fwrite(text, 1, length, out) != length;
        bad |= fclose(out) != 0;
        if (bad || rename(aside, path) != 0) {
            status = error_errno(err, STATUS_FAILED, errno, "%s: cannot write", path);
            unlink(aside);
        }
    } else if (!same) {
        status = error_errno(err, STATUS_FAILED, errno, "%s: cannot write", path);
    }
    free(path);
    free(aside);
    return status;
}

static int prepare_dir(struct scheduler *s, const struct store_run *run, const char *dir, char **after,
                       struct error *err)
{
    char *config = NULL;
    int status = store_queue_texts(&s->queue, s->o.store, run->id, &config, after, err);
    if (!status && mkdir(dir, 0777) != 0 && errno != EEXIST)
        status = file_make_directories(dir, err);
    if (!status)
        status = write_config(dir, config, err);
    free(config);
    return status;
}

/* The attempt could not be started: that counts, since it may be the run's own fault. */
static void refuse_start(struct scheduler *s, struct job *job, const struct error *why)
{
    job->ended = true;
    snprintf(job->text, sizeof job->text, "%.255s", why->text);
    job->end = (struct executor_end){
        .cause = EXECUTOR_NOT_STARTED, .code = -1, .signal = -1, .cpu_us = -1, .peak_bytes = -1, .text = job->text};
    scheduler_settle(s, job);
}

static int launch(struct scheduler *s, struct job *job, const struct store_run *run, struct error *err)
{
    char *dir = home_run_dir(s->o.home, run->id), *after = NULL;
    struct executor_started started;
    int status = prepare_dir(s, run, dir, &after, err);
    if (!status) {
        struct executor_launch launch = {.dir = dir,
                                         .attempt = job->attempt,
                                         .device = job->grant.device,
                                         .processors = job->grant.processors[0] ? job->grant.processors : NULL,
                                         .threads = job->grant.threads,
                                         .timeout = 1e-6 * (double)run->timeout_us,
                                         .grace = s->o.grace,
                                         .after = after};
        status = s->o.executor->start(s->o.executor, &launch, &started, err);
    }
    free(dir);
    free(after);
    if (status)
        return status;
    job->executing = started.job;
    status = store_attempt_running(s->o.store, run->id, job->attempt, started.handle, started.pid, started.pid_started,
                                   started.boot_id, err);
    if (status) { /* nobody could find it again: drop it, and let its end be recorded when that is possible */
        scheduler_fault(s, store_trouble(s->o.store), err->text);
        s->o.executor->stop(s->o.executor, job->executing, EXECUTOR_KILL);
        return STATUS_OK;
    }
    s->o.executor->release(s->o.executor, job->executing);
    scheduler_log(s, "run %s attempt %d started on %s", run->id, job->attempt, job->grant.name);
    return STATUS_OK;
}

/* True when the run was started, or could not be and that is recorded. */
static bool start_run(struct scheduler *s, const struct store_run *run)
{
    struct error err = {0};
    struct job *job = memory_alloc(1, sizeof *job);
    if (!slots_take(s->o.slots, run->device, (int)run->slots, &job->grant)) {
        free(job);
        return false;
    }
    memcpy(job->run, run->id, sizeof job->run);
    job->begun = uv_hrtime();
    struct store_start start = {s->o.executor->name, s->host, job->grant.device, job->grant.name, s->libraries};
    if (store_attempt_begin(s->o.store, run->id, &start, &job->attempt, &err)) {
        scheduler_fault(s, store_trouble(s->o.store), err.text);
        slots_give(s->o.slots, &job->grant);
        free(job);
        return false;
    }
    job->next = s->jobs;
    s->jobs = job;
    if (launch(s, job, run, &err))
        refuse_start(s, job, &err);
    return !s->trouble[0];
}

/* Start what fits in one pool. */
static void fill_pool(struct scheduler *s, int pool, bool *started)
{
    int widest = slots_widest(s->o.slots, pool);
    while (!s->trouble[0] && slots_free(s->o.slots, pool) > 0) {
        struct error err = {0};
        struct store_run run;
        bool found = false;
        if (store_queue_next(&s->queue, s->o.store, s->o.sweep, pool, widest, scheduler_clock(s), &run, &found, &err)) {
            scheduler_fault(s, store_trouble(s->o.store), err.text);
            return;
        }
        if (!found || !start_run(s, &run))
            return;
        *started = true;
    }
}

static void on_fill(uv_timer_t *timer)
{
    struct scheduler *s = timer->data;
    bool started = false;
    int64_t now = scheduler_clock(s), when = 0;
    if (s->draining || s->trouble[0])
        return;
    if (scheduler_room(s) < s->o.min_free) {
        scheduler_fault(s, STORE_FULL, "the disk of the home is full: no attempt is started");
        return;
    }
    slots_refresh(s->o.slots);
    fill_pool(s, DEVICE_CPU, &started);
    fill_pool(s, DEVICE_CUDA, &started);
    if (s->jobs && !uv_is_active((uv_handle_t *)&s->journal_timer))
        uv_timer_again(&s->journal_timer);
    if (started)
        scheduler_changed(s);
    /* With nothing free, an end will bring us here again. */
    if (slots_free(s->o.slots, DEVICE_CPU) + slots_free(s->o.slots, DEVICE_CUDA) > 0 &&
        store_next_delay(s->o.store, now, &when, NULL) == STATUS_OK && when > now) {
        uv_timer_start(&s->delay_timer, on_fill, (uint64_t)((when - now) / 1000 + 1), 0);
    } else if (slots_total(s->o.slots, DEVICE_CUDA) > 0) {
        uv_timer_start(&s->delay_timer, on_fill, 5000, 0); /* a busy GPU may have become free */
    }
}

void scheduler_kick(struct scheduler *s)
{
    if (!s->draining)
        uv_timer_start(&s->fill_timer, on_fill, 0, 0);
}

/* ------------------------------------------------------------------------------------------------------ timers */

static void on_journal_timer(uv_timer_t *timer)
{
    struct scheduler *s = timer->data;
    if (!s->jobs) {
        uv_timer_stop(timer);
        return;
    }
    if (!s->trouble[0])
        scheduler_intake(s);
}

static void on_trouble_timer(uv_timer_t *timer)
{
    struct scheduler *s = timer->data;
    if (s->trouble_kind == STORE_FULL && scheduler_room(s) < s->o.min_free) {
        /* Ends are still recorded if that is possible: they may be what frees the slots and the space. */
        for (struct job *job = s->jobs, *next; job; job = next) {
            next = job->next;
            if (job->ended)
                scheduler_settle(s, job);
        }
        uv_timer_start(&s->trouble_timer, on_trouble_timer, SCHEDULER_TROUBLE_MS, 0);
        return;
    }
    char before[sizeof s->trouble];
    memcpy(before, s->trouble, sizeof before);
    s->trouble[0] = '\0'; /* set again by the first call that fails */
    bool fine = scheduler_intake(s);
    for (struct job *job = s->jobs, *next; job && fine; job = next) {
        next = job->next;
        if (job->ended)
            fine = scheduler_settle(s, job);
    }
    if (s->trouble[0] || !fine) {
        uv_timer_start(&s->trouble_timer, on_trouble_timer, SCHEDULER_TROUBLE_MS, 0);
        return;
    }
    memcpy(s->trouble, before, sizeof before);
    scheduler_clear(s);
    scheduler_changed(s);
    scheduler_kick(s);
}

/* ------------------------------------------------------------------------------------------------------ recovery */

static int recover_run(struct scheduler *s, const char *run, struct error *err)
{
    struct store_attempt attempt = {0};
    int status = store_attempt_get(s->o.store, run, 0, &attempt, err);
    if (status)
        return status;
    struct job *job = memory_alloc(1, sizeof *job);
    snprintf(job->run, sizeof job->run, "%s", run);
    job->attempt = attempt.attempt;
    job->adopted = true;
    job->begun = uv_hrtime();
    job->next = s->jobs;
    s->jobs = job;
    slots_adopt(s->o.slots, attempt.slot, &job->grant);
    char *dir = home_run_dir(s->o.home, run);
    struct error why = {0};
    if (!attempt.handle)
        error_set(&why, STATUS_FAILED, "it was never let go");
    else if (strcmp(attempt.executor, s->o.executor->name) != 0)
        error_set(&why, STATUS_FAILED, "it was started by the executor '%s'", attempt.executor);
    else
        s->o.executor->adopt(s->o.executor, attempt.handle, dir, attempt.attempt, &job->executing, &why);
    if (job->executing)
        scheduler_log(s, "run %s attempt %d taken over", run, attempt.attempt);
    else
        refuse_start(s, job, &why);
    free(dir);
    store_attempt_fini(&attempt);
    return STATUS_OK;
}

struct names {
    char (*ids)[CONFIG_ID];
    size_t count;
};

static int collect(void *arg, const struct store_run *run)
{
    struct names *names = arg;
    names->ids = memory_resize(names->ids, names->count + 1, sizeof *names->ids);
    memcpy(names->ids[names->count++], run->id, CONFIG_ID);
    return 0;
}

int scheduler_recover(struct scheduler *s, struct error *err)
{
    struct names names = {0};
    struct store_filter live = {.states = 1u << RUN_STARTING | 1u << RUN_RUNNING};
    int status = store_runs_each(s->o.store, &live, collect, &names, err);
    for (size_t i = 0; i < names.count && !status; i++)
        status = recover_run(s, names.ids[i], err);
    free(names.ids);
    if (!status) {
        scheduler_cancel(s);
        uv_timer_again(&s->journal_timer);
        scheduler_kick(s);
    }
    return status;
}

/* ------------------------------------------------------------------------------------------------------ control */

void scheduler_cancel(struct scheduler *s)
{
    for (struct job *job = s->jobs; job; job = job->next) {
        struct store_run run;
        if (job->ended || job->stopping || store_run_find(s->o.store, job->run, &run, NULL) || !run.cancel)
            continue;
        job->stopping = true;
        scheduler_log(s, "run %s attempt %d is being cancelled", job->run, job->attempt);
        s->o.executor->stop(s->o.executor, job->executing, EXECUTOR_STOP);
    }
}

void scheduler_drain(struct scheduler *s, bool stop, enum executor_stop how)
{
    s->draining = true;
    for (struct job *job = s->jobs; stop && job; job = job->next) {
        if (job->ended || (job->stopping && how != EXECUTOR_KILL))
            continue;
        job->stopping = true;
        s->o.executor->stop(s->o.executor, job->executing, how);
    }
}

int scheduler_live(const struct scheduler *s)
{
    int n = 0;
    for (const struct job *job = s->jobs; job; job = job->next)
        n++;
    return n;
}

const char *scheduler_trouble(const struct scheduler *s)
{
    return s->trouble;
}

json_t *scheduler_to_json(const struct scheduler *s)
{
    json_t *list = json_array();
    for (const struct job *job = s->jobs; job; job = job->next)
        json_array_append_new(list, json_pack("{s:s, s:i, s:s, s:s}", "run", job->run, "attempt", job->attempt, "slot",
                                              job->grant.name, "state",
                                              job->ended      ? "ended"
                                              : job->stopping ? "stopping"
                                                              : "running"));
    return list;
}

struct scheduler *scheduler_create(const struct scheduler_options *options)
{
    struct scheduler *s = memory_alloc(1, sizeof *s);
    uv_timer_t *timers[] = {&s->fill_timer, &s->journal_timer, &s->trouble_timer, &s->delay_timer};
    s->o = *options;
    s->clock_base = store_now();
    s->clock_begin = uv_hrtime();
    s->intake = intake_create(options->store, options->home);
    s->libraries = libraries_text();
    if (gethostname(s->host, sizeof s->host - 1) != 0)
        snprintf(s->host, sizeof s->host, "unknown");
    for (size_t i = 0; i < sizeof timers / sizeof timers[0]; i++) {
        uv_timer_init(options->loop, timers[i]);
        timers[i]->data = s;
        s->open_handles++;
    }
    uv_timer_start(&s->journal_timer, on_journal_timer, SCHEDULER_JOURNAL_MS, SCHEDULER_JOURNAL_MS);
    options->executor->on_end = scheduler_on_end;
    options->executor->arg = s;
    return s;
}

static void on_closed(uv_handle_t *handle)
{
    struct scheduler *s = handle->data;
    if (--s->open_handles == 0)
        free(s);
}

void scheduler_destroy(struct scheduler *s)
{
    if (!s)
        return;
    intake_destroy(s->intake);
    store_queue_fini(&s->queue);
    while (s->jobs) {
        struct job *next = s->jobs->next;
        free(s->jobs);
        s->jobs = next;
    }
    free(s->libraries);
    uv_close((uv_handle_t *)&s->fill_timer, on_closed);
    uv_close((uv_handle_t *)&s->journal_timer, on_closed);
    uv_close((uv_handle_t *)&s->trouble_timer, on_closed);
    uv_close((uv_handle_t *)&s->delay_timer, on_closed);
}
