/* The scheduler's life: its timers, recovery after a restart, and what is asked of it. scheduler_turn.c: what a turn of
 * the loop does; scheduler_start.c: what starts; scheduler_end.c: what ends; scheduler_take.c: what a run gets;
 * scheduler_devices.c: which GPUs are set aside; scheduler_trouble.c: what holds everything up. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/memory.h"
#include "harness/base/libraries.h"
#include "harness/queue/scheduler_internal.h"
#include "harness/queue/waiting.h"
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
    scheduler_promise(s, job->crew, run, job->crew->live == 1);
    if (executing)
        scheduler_log(s, "run %s attempt %d taken over", run, attempt.attempt);
    else
        scheduler_refuse(s, job, &why);
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
    int status = scheduler_recover_devices(s, err);
    if (!status)
        status = store_runs_each(s->o.store, &live, collect, &names, err);
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

/* Stop the attempts of the runs that are so; returns how many. `what` is happening to them, for the log. */
static int stop_those(struct scheduler *s, bool (*is_so)(struct store *store, const char *run), const char *what)
{
    int fresh = 0;
    struct job **asked = memory_alloc((size_t)scheduler_live(s), sizeof(struct job *));
    for (struct job *job = s->jobs; job; job = job->next) {
        if (job->ended || job->stopping || !is_so(s->o.store, job->run))
            continue;
        job->stopping = true;
        scheduler_log(s, "run %s attempt %d is being %s", job->run, job->attempt, what);
        asked[fresh++] = job;
    }
    for (int i = 0; i < fresh; i++)
        scheduler_stop(asked[i]->crew, all_stopping(s, asked[i]->crew) ? EXECUTOR_ALL : asked[i]->place, EXECUTOR_STOP);
    free(asked);
    return fresh;
}

static bool is_cancelled(struct store *store, const char *id)
{
    struct store_run run;
    return store_run_find(store, id, &run, NULL) == STATUS_OK && run.cancel;
}

void scheduler_cancel(struct scheduler *s)
{
    stop_those(s, is_cancelled, "cancelled");
}

static bool is_paused(struct store *store, const char *id)
{
    bool paused = false;
    return store_queue_holds(store, id, &paused, NULL) == STATUS_OK && paused;
}

int scheduler_pause(struct scheduler *s)
{
    return stop_those(s, is_paused, "paused");
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

int scheduler_unfinished(const struct scheduler *s)
{
    int n = 0;
    for (const struct job *job = s->jobs; job; job = job->next)
        n += !job->ended;
    return n;
}

json_t *scheduler_pools(const struct scheduler *s)
{
    json_t *pools = waiting_pools(s->o.executors[0]);
    json_object_set_new(json_object_get(pools, "cuda"), "short", json_string(s->short_of));
    return pools;
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
        (*ex)->on_news = scheduler_on_news;
        (*ex)->on_log = scheduler_on_log;
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
    free(s->failing);
    s->failing = NULL;
    uv_close((uv_handle_t *)&s->fill_timer, on_closed);
    uv_close((uv_handle_t *)&s->journal_timer, on_closed);
    uv_close((uv_handle_t *)&s->trouble_timer, on_closed);
    uv_close((uv_handle_t *)&s->delay_timer, on_closed);
}
