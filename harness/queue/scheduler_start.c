/* From the queue to an executor: what is started next, and the executor's answer. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/file.h"
#include "core/base/file_tree.h"
#include "core/base/memory.h"
#include "core/base/rundir.h"
#include "harness/queue/scheduler_internal.h"
#include "harness/store/store_queue.h"
#include "harness/store/store_redo.h"
#include "harness/store/store_search.h"

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

/* A run that is to be done again starts in an empty directory. */
static int clear_for_redo(struct scheduler *s, const char *run, const char *dir, struct error *err)
{
    bool clear = false;
    int status = store_redo_must_clear(s->o.store, run, &clear, err);
    if (!status && clear)
        status = file_tree_remove(dir, NULL, err);
    return status || !clear ? status : store_redo_cleared(s->o.store, run, err);
}

/* The run's directory, made if it is not there. */
static int make_dir(const char *dir, struct error *err)
{
    struct stat there;
    if (mkdir(dir, 0777) == 0)
        return STATUS_OK;
    int status = errno == EEXIST ? STATUS_OK : file_make_directories(dir, err);
    if (!status && stat(dir, &there) == 0 && !S_ISDIR(there.st_mode))
        status = error_set(err, STATUS_BAD_INPUT, "%s: want the run's directory, found something else", dir);
    return status;
}

/* The texts (store_queue_texts) are the caller's to free. */
static int prepare_dir(struct scheduler *s, const struct store_run *run, const char *dir, char **data, char **after,
                       char **slurm, struct error *err)
{
    char *config = NULL;
    int status = store_queue_texts(s->o.store, run->id, &config, data, after, slurm, err);
    if (!status)
        status = clear_for_redo(s, run->id, dir, err);
    if (!status)
        status = make_dir(dir, err);
    if (!status)
        status = write_config(dir, config, err);
    free(config);
    return status;
}

void scheduler_refuse(struct scheduler *s, struct job *job, const struct error *why)
{
    job->ended = true;
    snprintf(job->text, sizeof job->text, "%.255s", why->text);
    job->end = (struct executor_end){.outcome = job->adopted                      ? OUTCOME_LOST
                                                : why->status == STATUS_BAD_INPUT ? OUTCOME_INPUT
                                                                                  : OUTCOME_START,
                                     .code = -1,
                                     .signal = -1,
                                     .cpu_us = -1,
                                     .peak_bytes = -1,
                                     .text = job->text};
    scheduler_kick(s);
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
    start->count = 1 + scheduler_fit_mates(s, start->crew, &start->runs[1], more);
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

/* Store the handles: from here on a restart finds the attempts again. */
static int record_handles(struct scheduler *s, const struct crew *crew, const struct executor_started *started,
                          struct error *err)
{
    int status = store_group_begin(s->o.store, err);
    if (status)
        return status;
    for (struct job *job = s->jobs; job && !status; job = job->next)
        if (job->crew == crew && started->waits)
            status = store_attempt_news(s->o.store, job->run, job->attempt,
                                        &(struct store_news){.handle = started->handles[job->place]}, err);
        else if (job->crew == crew)
            status = store_attempt_running(s->o.store, job->run, job->attempt, started->handles[job->place],
                                           started->pid, started->pid_started, started->boot_id, err);
    int end = store_group_end(s->o.store, !status, err);
    return status ? status : end;
}

/* Hand them to the executor. Where it has started them already, their handles are stored with their beginning. */
static void hand_over(struct scheduler *s, struct crew *crew, const struct executor_started *started)
{
    struct error err = {0};
    crew->starting = !started->handles;
    crew->held = started->handles != NULL;
    if (crew->held && record_handles(s, crew, started, &err))
        scheduler_fault(s, store_trouble(s->o.store), err.text);
}

static int launch(struct scheduler *s, struct start *start, struct error *err)
{
    struct crew *crew = start->crew;
    const struct slots_grant *grant = &crew->grant;
    struct executor_run runs[SPEC_PACK_MOST];
    char *dirs[SPEC_PACK_MOST] = {NULL}, *data[SPEC_PACK_MOST] = {NULL};
    char *after[SPEC_PACK_MOST] = {NULL}, *slurm[SPEC_PACK_MOST] = {NULL};
    int status = STATUS_OK;
    for (int i = 0; i < start->count && !status; i++) {
        const struct store_run *run = &start->runs[i];
        dirs[i] = home_run_dir(s->o.home, run->id);
        int64_t until = 0;
        status = prepare_dir(s, run, dirs[i], &data[i], &after[i], &slurm[i], err);
        if (!status)
            status = store_search_until(s->o.store, run->id, &until, err);
        runs[i] = (struct executor_run){.dir = dirs[i],
                                        .attempt = start->jobs[i]->attempt,
                                        .timeout = 1e-6 * (double)run->timeout_us,
                                        .until = until,
                                        .data = data[i],
                                        .after = after[i]};
    }
    struct executor_launch how = {.runs = runs,
                                  .count = start->count,
                                  .device = grant->device,
                                  .processors = grant->processors[0] ? grant->processors : NULL,
                                  .threads = grant->threads,
                                  .grace = s->o.grace,
                                  .options = slurm[0]}; /* its mates' are the same */
    struct executor_started started = {0};
    if (!status)
        status = crew->executor->start(crew->executor, &how, &crew->executing, &started, err);
    if (!status)
        hand_over(s, crew, &started);
    for (int i = 0; i < start->count; i++) {
        free(dirs[i]);
        free(data[i]);
        free(after[i]);
        free(slurm[i]);
    }
    return status;
}

/* The attempts are begun in the database, all or none. Until the turn's transaction is committed nothing of them does
 * more than wait: a process that dies before leaves them queued, and the workers that it held end by themselves. */
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

enum taking scheduler_start(struct scheduler *s, struct executor *ex, struct start *start)
{
    struct error err = {0}, never = {0};
    struct crew *crew = start->crew = memory_alloc(1, sizeof *start->crew);
    crew->executor = ex;
    enum taking taking = scheduler_take(s, ex, &start->runs[0], &crew->grant, &never);
    if (taking == TAKING_WAITS || taking == TAKING_PASSED) {
        free(crew);
        return taking;
    }
    crew->live = 1; /* while it is being made */
    crew->fresh = true;
    memset(start->jobs, 0, sizeof start->jobs);
    bool fine = false;
    start->count = 1;
    int status = taking == TAKING_NEVER ? STATUS_OK : find_mates(s, start, &err);
    crew->size = start->count;
    if (taking == TAKING_NEVER)
        err = never;
    if (status)
        scheduler_fault(s, store_trouble(s->o.store), err.text);
    else if (record_start(s, start)) {
        fine = taking == TAKING_DONE && launch(s, start, &err) == STATUS_OK;
        for (int i = 0; i < start->count && !fine; i++)
            scheduler_refuse(s, start->jobs[i], &err);
    }
    scheduler_leave(crew);
    return fine && !s->trouble[0] ? TAKING_DONE : TAKING_NEVER;
}

struct job *scheduler_find(const struct scheduler *s, const struct executor_job *executing, int place)
{
    struct job *job = s->jobs;
    while (job && (job->ended || job->crew->executing != executing || (place != EXECUTOR_ALL && job->place != place)))
        job = job->next;
    return job;
}

/* Nothing was started, and the executor says why. */
static void start_refused(struct scheduler *s, struct crew *crew, const struct error *why)
{
    crew->executing = NULL;
    for (struct job *job = s->jobs; job; job = job->next)
        if (job->crew == crew && !job->ended)
            scheduler_refuse(s, job, why);
}

static void tell(struct scheduler *s, const struct job *job, const char *how)
{
    scheduler_log(s, "run %s attempt %d %s %s%s", job->run, job->attempt, how, job->crew->grant.name,
                  job->crew->size > 1 ? ", in a pack" : "");
}

void scheduler_let_go(struct scheduler *s)
{
    for (struct job *job = s->jobs; job; job = job->next) {
        struct crew *crew = job->crew;
        if (!crew->held)
            continue;
        crew->executor->release(crew->executor, crew->executing);
        crew->held = false;
        scheduler_unhold(s);
    }
}

void scheduler_tell_starts(struct scheduler *s)
{
    for (struct job *job = s->jobs; job; job = job->next)
        if (job->crew->fresh && !job->crew->starting)
            tell(s, job, "started on");
    for (struct job *job = s->jobs; job; job = job->next)
        job->crew->fresh = false;
}

/* One that its executor has answers to the stop with its end; one that was refused is nowhere else. */
void scheduler_abandon(struct scheduler *s)
{
    for (struct job *job = s->jobs, *next; job; job = next) {
        struct crew *crew = job->crew;
        next = job->next;
        if (!crew->fresh)
            continue;
        crew->held = false;
        if (!crew->executing) {
            scheduler_forget(s, job);
            continue;
        }
        job->stopping = crew->unknown = true;
        scheduler_stop(crew, EXECUTOR_ALL, EXECUTOR_KILL);
    }
}

void scheduler_on_start(void *arg, struct executor_job *executing, const struct executor_started *started,
                        const struct error *why)
{
    struct scheduler *s = arg;
    struct job *any = scheduler_find(s, executing, EXECUTOR_ALL);
    struct error err = {0};
    bool wanted = false;
    if (!any)
        return;
    struct crew *crew = any->crew;
    crew->starting = false;
    if (!started && crew->unknown) {
        crew->executing = NULL;
        for (struct job *job = any, *next; job; job = next) {
            next = job->next;
            if (job->crew == crew)
                scheduler_forget(s, job);
        }
        return;
    }
    if (!started) {
        start_refused(s, crew, why);
        return;
    }
    for (struct job *job = s->jobs; job; job = job->next)
        wanted |= job->crew == crew && !job->stopping;
    if (crew->unknown) {
        scheduler_stop(crew, EXECUTOR_ALL, EXECUTOR_KILL);
        return;
    }
    scheduler_unhold(s);
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
        tell(s, job, started->waits ? "handed to" : "started on");
        if (job->stopping)
            scheduler_stop(crew, job->place, EXECUTOR_STOP);
    }
    scheduler_changed(s);
}

bool scheduler_on_news(void *arg, struct executor_job *executing, int place, const struct executor_news *news)
{
    struct scheduler *s = arg;
    struct error err = {0};
    const struct store_news told = {news->handle, news->host, news->text, news->runs};
    struct job *job = scheduler_find(s, executing, place);
    if (!job)
        return true;
    if (s->trouble[0])
        return false;
    if (store_attempt_news(s->o.store, job->run, job->attempt, &told, &err)) {
        enum store_trouble kind = store_trouble(s->o.store);
        if (kind == STORE_BUSY || kind == STORE_FULL) {
            scheduler_fault(s, kind, err.text);
            return false;
        }
        scheduler_log(s, "run %s: where it stands was not recorded: %s", job->run, err.text);
        return true;
    }
    if (news->runs && !job->runs) {
        job->runs = true;
        scheduler_log(s, "run %s attempt %d: %s", job->run, job->attempt, news->text);
        scheduler_kick(s); /* there is room for another that waits */
    }
    scheduler_changed(s);
    return true;
}

void scheduler_on_log(void *arg, const char *text)
{
    scheduler_log(arg, "%s", text);
}

void scheduler_stop(struct crew *crew, int place, enum executor_stop how)
{
    if (!crew->starting && crew->executing)
        crew->executor->stop(crew->executor, crew->executing, place, how);
}
