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

#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/rundir.h"
#include "harness/base/libraries.h"
#include "harness/queue/scheduler_internal.h"
#include "harness/store/store_queue.h"

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
    char *path = file_join(dir, RUNDIR_CONFIG);
    size_t length = strlen(text);
    struct file_map old = {0};
    bool same = file_map_open(&old, path, NULL) == STATUS_OK && old.size == length && !memcmp(old.data, text, length);
    file_map_close(&old);
    int status = same ? STATUS_OK : file_replace(path, text, length, err);
    free(path);
    return status;
}

static int prepare_dir(struct scheduler *s, const struct store_run *run, const char *dir, char **after,
                       struct error *err)
{
    char *config = NULL;
    int status = store_queue_texts(s->o.store, run->id, &config, after, err);
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
        .outcome = OUTCOME_START, .code = -1, .signal = -1, .cpu_us = -1, .peak_bytes = -1, .text = job->text};
    scheduler_settle(s, job);
}

struct job *scheduler_add(struct scheduler *s, struct crew *crew, int place, const char *run, int attempt)
{
    struct job *job = memory_alloc(1, sizeof *job);
    job->crew = crew;
    job->place = place;
    job->attempt = attempt;
    snprintf(job->run, sizeof job->run, "%s", run);
    job->begun = uv_hrtime();
    job->next = s->jobs;
    s->jobs = job;
    crew->live++;
    return job;
}

/* What is being started together. */
struct start {
    struct crew *crew;
    struct store_run runs[SPEC_PACK_MOST];
    struct job *jobs[SPEC_PACK_MOST];
    int count;
};

/* The first run of the queue and those that may share its worker. */
static int find_mates(struct scheduler *s, struct start *start, struct error *err)
{
    const struct store_run *first = &start->runs[0];
    const int limit = start->crew->executor->most;
    int most = first->pack < limit ? (int)first->pack : limit, more = 0, status = STATUS_OK;
    if (most > SPEC_PACK_MOST)
        most = SPEC_PACK_MOST;
    if (most > 1)
        status =
            store_queue_mates(s->o.store, s->o.sweep, first, scheduler_clock(s), most - 1, &start->runs[1], &more, err);
    start->count = 1 + more;
    return status;
}

static int begin_attempts(struct scheduler *s, struct start *start, struct error *err)
{
    const struct slots_grant *grant = &start->crew->grant;
    const struct store_start how = {.executor = start->crew->executor->name,
                                    .host = s->host,
                                    .device = grant->device,
                                    .slot = grant->name,
                                    .libraries = s->libraries,
                                    .pack = start->count};
    int status = STATUS_OK;
    for (int i = 0; i < start->count && !status; i++) {
        int attempt = 0;
        status = store_attempt_begin(s->o.store, start->runs[i].id, &how, &attempt, err);
        if (!status)
            start->jobs[i] = scheduler_add(s, start->crew, i, start->runs[i].id, attempt);
    }
    return status;
}

/* Hand them to the executor, which answers later. */
static int launch(struct scheduler *s, struct start *start, struct error *err)
{
    struct crew *crew = start->crew;
    const struct slots_grant *grant = &crew->grant;
    struct executor_run runs[SPEC_PACK_MOST];
    char *dirs[SPEC_PACK_MOST] = {NULL}, *after[SPEC_PACK_MOST] = {NULL};
    int status = STATUS_OK;
    for (int i = 0; i < start->count && !status; i++) {
        const struct store_run *run = &start->runs[i];
        dirs[i] = home_run_dir(s->o.home, run->id);
        status = prepare_dir(s, run, dirs[i], &after[i], err);
        runs[i] = (struct executor_run){dirs[i], start->jobs[i]->attempt, 1e-6 * (double)run->timeout_us, after[i]};
    }
    struct executor_launch how = {.runs = runs,
                                  .count = start->count,
                                  .device = grant->device,
                                  .processors = grant->processors[0] ? grant->processors : NULL,
                                  .threads = grant->threads,
                                  .grace = s->o.grace};
    if (!status)
        status = crew->executor->start(crew->executor, &how, &crew->executing, err);
    crew->starting = !status;
    for (int i = 0; i < start->count; i++) {
        free(dirs[i]);
        free(after[i]);
    }
    return status;
}

/* The attempts are begun in the database, all or none, before anything is started for them. */
static bool record_start(struct scheduler *s, struct start *start)
{
    struct error err = {0};
    int status = store_group_begin(s->o.store, &err);
    if (!status) {
        status = begin_attempts(s, start, &err);
        int end = store_group_end(s->o.store, !status, &err);
        status = status ? status : end;
    }
    if (!status)
        return true;
    scheduler_fault(s, store_trouble(s->o.store), err.text);
    for (int i = 0; i < start->count; i++)
        if (start->jobs[i])
            scheduler_forget(s, start->jobs[i]);
    return false;
}

/* True when the attempts are begun: on their way, or refused, and that is recorded. */
static bool start_run(struct scheduler *s, struct executor *ex, struct start *start)
{
    struct error err = {0};
    const struct store_run *first = &start->runs[0];
    struct crew *crew = start->crew = memory_alloc(1, sizeof *start->crew);
    crew->executor = ex;
    if (!ex->take(ex, first->device, (int)first->slots, &crew->grant)) {
        free(crew);
        return false;
    }
    crew->live = 1; /* while it is being made */
    int status = find_mates(s, start, &err);
    crew->size = start->count;
    if (status)
        scheduler_fault(s, store_trouble(s->o.store), err.text);
    else if (record_start(s, start) && launch(s, start, &err) != STATUS_OK)
        for (int i = 0; i < start->count; i++)
            refuse_start(s, start->jobs[i], &err);
    scheduler_leave(s, crew);
    return !s->trouble[0];
}

static struct crew *crew_of(const struct scheduler *s, const struct executor_job *executing)
{
    struct job *job = s->jobs;
    while (job && job->crew->executing != executing)
        job = job->next;
    return job ? job->crew : NULL;
}

/* Store the handles: from here on a restart finds the attempts again. */
static int record_handles(struct scheduler *s, const struct crew *crew, const struct executor_started *started,
                          struct error *err)
{
    int status = store_group_begin(s->o.store, err);
    if (status)
        return status;
    for (struct job *job = s->jobs; job && !status; job = job->next)
        if (job->crew == crew)
            status = store_attempt_running(s->o.store, job->run, job->attempt, started->handles[job->place],
                                           started->pid, started->pid_started, started->boot_id, err);
    int end = store_group_end(s->o.store, !status, err);
    return status ? status : end;
}

/* Nothing was started, and the executor says why. */
static void start_refused(struct scheduler *s, struct crew *crew, const struct error *why)
{
    crew->executing = NULL;
    crew->live++; /* until the last is settled */
    for (struct job *job = s->jobs, *next; job; job = next) {
        next = job->next;
        if (job->crew == crew && !job->ended)
            refuse_start(s, job, why);
    }
    scheduler_leave(s, crew);
    scheduler_kick(s);
}

void scheduler_on_start(void *arg, struct executor_job *executing, const struct executor_started *started,
                        const struct error *why)
{
    struct scheduler *s = arg;
    struct crew *crew = crew_of(s, executing);
    struct error err = {0};
    bool wanted = false;
    if (!crew)
        return;
    crew->starting = false;
    if (!started) {
        start_refused(s, crew, why);
        return;
    }
    for (struct job *job = s->jobs; job; job = job->next)
        wanted |= job->crew == crew && !job->stopping;
    /* Not to be known of, or not wanted any more: a held worker ends without a trace, and on_end says so. */
    if (record_handles(s, crew, started, &err)) {
        scheduler_fault(s, store_trouble(s->o.store), err.text);
        wanted = false;
    }
    if (!wanted) {
        scheduler_stop(crew, EXECUTOR_ALL, EXECUTOR_KILL);
        return;
    }
    crew->executor->release(crew->executor, executing);
    for (struct job *job = s->jobs; job; job = job->next) {
        if (job->crew != crew)
            continue;
        scheduler_log(s, "run %s attempt %d started on %s%s", job->run, job->attempt, crew->grant.name,
                      crew->size > 1 ? ", in a pack" : "");
        if (job->stopping)
            scheduler_stop(crew, job->place, EXECUTOR_STOP);
    }
    scheduler_changed(s);
}

void scheduler_stop(struct crew *crew, int place, enum executor_stop how)
{
    if (!crew->starting && crew->executing)
        crew->executor->stop(crew->executor, crew->executing, place, how);
}

/* Start what fits in one pool. */
static void fill_pool(struct scheduler *s, int pool, bool *started)
{
    struct executor *ex = s->o.executors[0];
    int widest = ex->widest(ex, pool);
    while (!s->trouble[0] && ex->room(ex, pool) > 0) {
        struct error err = {0};
        struct start start = {.count = 0};
        bool found = false;
        if (store_queue_next(s->o.store, s->o.sweep, pool, widest, scheduler_clock(s), &start.runs[0], &found, &err)) {
            scheduler_fault(s, store_trouble(s->o.store), err.text);
            return;
        }
        if (!found || !start_run(s, ex, &start))
            return;
        *started = true;
    }
}

static void on_fill(uv_timer_t *timer)
{
    struct scheduler *s = timer->data;
    struct executor *ex = s->o.executors[0];
    bool started = false;
    int64_t now = scheduler_clock(s), when = 0;
    if (s->draining || s->trouble[0])
        return;
    if (scheduler_room(s) < s->o.min_free) {
        scheduler_fault(s, STORE_FULL, "the disk of the home is full: no attempt is started");
        return;
    }
    ex->refresh(ex);
    fill_pool(s, DEVICE_CPU, &started);
    fill_pool(s, DEVICE_CUDA, &started);
    if (s->jobs && !uv_is_active((uv_handle_t *)&s->journal_timer))
        uv_timer_again(&s->journal_timer);
    if (started)
        scheduler_changed(s);
    /* With nothing free, an end will bring us here again. */
    if (ex->room(ex, DEVICE_CPU) + ex->room(ex, DEVICE_CUDA) > 0 &&
        store_queue_delay(s->o.store, now, &when, NULL) == STATUS_OK && when > now) {
        uv_timer_start(&s->delay_timer, on_fill, (uint64_t)((when - now) / 1000 + 1), 0);
    } else if (ex->widest(ex, DEVICE_CUDA) > 0) {
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

/* The crew of an adopted attempt: its mates' when one of them was adopted before. */
static struct crew *find_crew(struct scheduler *s, struct executor *ex, const struct store_attempt *attempt,
                              struct executor_job *executing)
{
    for (struct job *job = s->jobs; executing && job; job = job->next)
        if (job->crew->executing == executing)
            return job->crew;
    struct crew *crew = memory_alloc(1, sizeof *crew);
    crew->executor = ex;
    crew->executing = executing;
    crew->size = attempt->pack;
    ex->regain(ex, attempt->slot, &crew->grant);
    return crew;
}

static struct executor *find_executor(const struct scheduler *s, const char *name)
{
    for (struct executor *const *ex = s->o.executors; *ex; ex++)
        if (strcmp((*ex)->name, name) == 0)
            return *ex;
    return NULL;
}

static int recover_run(struct scheduler *s, const char *run, struct error *err)
{
    struct store_attempt attempt = {0};
    struct executor_job *executing = NULL;
    struct error why = {0};
    int place = 0, status = store_attempt_get(s->o.store, run, 0, &attempt, err);
    if (status)
        return status;
    struct executor *ex = find_executor(s, attempt.executor);
    if (!ex) {
        /* It may well be running there: to start it here as well would be to run it twice. */
        scheduler_log(s, "run %s attempt %d is the executor '%s''s, which this process does not have: left alone", run,
                      attempt.attempt, attempt.executor);
        store_attempt_fini(&attempt);
        return STATUS_OK;
    }
    char *dir = home_run_dir(s->o.home, run);
    if (!attempt.handle)
        error_set(&why, STATUS_FAILED, "it was never let go");
    else
        ex->adopt(ex, attempt.handle, dir, attempt.attempt, &executing, &place, &why);
    struct job *job = scheduler_add(s, find_crew(s, ex, &attempt, executing), place, run, attempt.attempt);
    job->adopted = true;
    if (executing)
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

/* Whether all of a crew that is left is to end. */
static bool all_stopping(const struct scheduler *s, const struct crew *crew)
{
    for (const struct job *job = s->jobs; job; job = job->next)
        if (job->crew == crew && !job->ended && !job->stopping)
            return false;
    return true;
}

void scheduler_cancel(struct scheduler *s)
{
    int fresh = 0;
    struct job **asked = memory_alloc((size_t)scheduler_live(s), sizeof(struct job *));
    for (struct job *job = s->jobs; job; job = job->next) {
        struct store_run run;
        if (job->ended || job->stopping || store_run_find(s->o.store, job->run, &run, NULL) || !run.cancel)
            continue;
        job->stopping = true;
        scheduler_log(s, "run %s attempt %d is being cancelled", job->run, job->attempt);
        asked[fresh++] = job;
    }
    for (int i = 0; i < fresh; i++)
        scheduler_stop(asked[i]->crew, all_stopping(s, asked[i]->crew) ? EXECUTOR_ALL : asked[i]->place, EXECUTOR_STOP);
    free(asked);
}

void scheduler_drain(struct scheduler *s, bool stop, enum executor_stop how)
{
    s->draining = true;
    for (struct job *job = s->jobs; stop && job; job = job->next) {
        if (job->ended || (job->stopping && how != EXECUTOR_KILL))
            continue;
        for (struct job *mate = s->jobs; mate; mate = mate->next)
            mate->stopping |= mate->crew == job->crew;
        scheduler_stop(job->crew, EXECUTOR_ALL, how);
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
        json_array_append_new(list, json_pack("{s:s, s:i, s:s, s:i, s:s}", "run", job->run, "attempt", job->attempt,
                                              "slot", job->crew->grant.name, "pack", job->crew->size, "state",
                                              job->ended            ? "ended"
                                              : job->crew->starting ? "starting"
                                              : job->stopping       ? "stopping"
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
    for (struct executor *const *ex = options->executors; *ex; ex++) {
        (*ex)->on_start = scheduler_on_start;
        (*ex)->on_end = scheduler_on_end;
        (*ex)->arg = s;
    }
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
    while (s->jobs)
        scheduler_forget(s, s->jobs);
    free(s->libraries);
    uv_close((uv_handle_t *)&s->fill_timer, on_closed);
    uv_close((uv_handle_t *)&s->journal_timer, on_closed);
    uv_close((uv_handle_t *)&s->trouble_timer, on_closed);
    uv_close((uv_handle_t *)&s->delay_timer, on_closed);
}
