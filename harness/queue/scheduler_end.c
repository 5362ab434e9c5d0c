/* What follows the end of an attempt. The table of it stands in scheduler.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "harness/queue/scheduler_internal.h"
#include "harness/store/store_queue.h"
#include "harness/store/store_search.h"

enum { LOST_WAIT_MOST_S = 60, INTAKE_BUDGET = 8 << 20 };

static int64_t growing(double first, int times, double most)
{
    double wait = first;
    for (int i = 0; i < times && wait < most; i++)
        wait *= 2;
    return (int64_t)(1e6 * (wait < most ? wait : most));
}

struct verdict {
    enum run_state next;
    enum outcome cause;
    bool counts, alone;
    int64_t wait; /* us */
    char text[400];
    struct store_run run; /* as it was */
    char *gap;            /* what is said of rows that a done run lacks, on the heap, or NULL */
};

/* An attempt that failed: again, or for good. */
static void judge_failure(struct scheduler *s, const struct job *job, const struct store_run *run, struct verdict *v)
{
    v->counts = true;
    v->next = run->failures + 1 > run->retries ? RUN_FAILED : RUN_QUEUED;
    v->wait = growing(s->o.retry_delay, run->failures, STORE_DELAY_MOST_S);
    if (scheduler_room(s) < s->o.min_free) {
        v->next = RUN_QUEUED;
        v->counts = false;
        v->wait = 0;
        v->cause = OUTCOME_DISK;
        snprintf(v->text, sizeof v->text, "the disk was full: %.255s", job->text);
    }
}

static void judge_lost(struct scheduler *s, const struct job *job, const struct store_run *run, struct verdict *v)
{
    int times = store_queue_quick_in_a_row(s->o.store, run->id, job->attempt, v->cause);
    v->wait = times > 1 ? growing(s->o.retry_delay, times - 2, LOST_WAIT_MOST_S) : 0;
}

/* By a place that could not be written, or a machine that had no means: the run has no part in it. It waits longer each
 * time in a row, and others go before it. */
static void judge_place(struct scheduler *s, const struct job *job, const struct store_run *run, struct verdict *v)
{
    int times = store_queue_quick_in_a_row(s->o.store, run->id, job->attempt, v->cause);
    v->wait = growing(s->o.retry_delay, times > 0 ? times - 1 : 0, LOST_WAIT_MOST_S);
}

/* By a signal, or by memory that ran out: in a pack nobody knows whose doing it was. The next time it is known. */
static void judge_shared(struct scheduler *s, const struct job *job, const struct store_run *run, struct verdict *v)
{
    if (job->crew->size > 1)
        v->alone = true;
    else
        judge_failure(s, job, run, v);
}

/* A batch system's time limit is a part of the way, as long as it is one. */
static void judge_time_limit(struct scheduler *s, const struct job *job, const struct store_run *run, struct verdict *v)
{
    if (!store_queue_progress(s->o.store, run->id, job->attempt))
        judge_failure(s, job, run, v);
}

/* Memory that ran out beside other runs is the machine's, since nobody knows whose doing it was: this one goes on when
 * there is more. With nothing beside it, it is the run's own need. */
static void judge_memory(struct scheduler *s, const struct job *job, const struct store_run *run, struct verdict *v)
{
    bool others = false;
    for (const struct job *other = s->jobs; other; other = other->next)
        others |= other->crew != job->crew && !other->ended && !job->crew->executor->apart;
    if (job->crew->size > 1 || !others)
        judge_shared(s, job, run, v);
    else
        judge_place(s, job, run, v);
}

static void judge_by_outcome(struct scheduler *s, const struct job *job, const struct store_run *run, struct verdict *v)
{
    switch (v->cause) {
    case OUTCOME_DONE:
        v->next = RUN_DONE;
        break;
    case OUTCOME_PAUSED:
        v->next = RUN_PAUSED;
        break;
    case OUTCOME_INPUT:
    case OUTCOME_DIVERGED: /* from the same checkpoint another attempt would find the same */
        v->next = RUN_FAILED, v->counts = true;
        break;
    case OUTCOME_SIGNAL:
        if (job->end.asked)
            v->cause = OUTCOME_STOPPED;
        else
            judge_shared(s, job, run, v);
        break;
    case OUTCOME_MEMORY:
        judge_memory(s, job, run, v);
        break;
    case OUTCOME_DISK:
    case OUTCOME_START:
        judge_place(s, job, run, v);
        break;
    case OUTCOME_LOST:
    case OUTCOME_NODE: /* no fault of the run's, but a node may fail every time */
        judge_lost(s, job, run, v);
        break;
    case OUTCOME_TIME_LIMIT:
        judge_time_limit(s, job, run, v);
        break;
    case OUTCOME_STOPPED:
    case OUTCOME_CANCELLED:
    case OUTCOME_PREEMPTED: /* no fault of the run's */
        break;
    case OUTCOME_REVOKED: /* who ended it there wants it ended: 'taper retry' queues it again */
        v->next = RUN_CANCELLED;
        break;
    case OUTCOME_REFUSED:
    case OUTCOME_DEPENDENCY:
        v->next = RUN_FAILED, v->counts = true;
        break;
    case OUTCOME_FAILED:
    case OUTCOME_TIMEOUT:
    case OUTCOME_COUNT:
        judge_failure(s, job, run, v);
        break;
    }
}

static void judge(struct scheduler *s, const struct job *job, struct verdict *v)
{
    const struct store_run *run = &v->run;
    v->next = RUN_QUEUED;
    v->cause = job->end.outcome;
    snprintf(v->text, sizeof v->text, "%s", job->text);
    judge_by_outcome(s, job, run, v);
    v->alone |= v->counts && job->crew->size > 1;
    if (run->cancel && v->next != RUN_DONE) {
        v->next = RUN_CANCELLED;
        v->cause = OUTCOME_CANCELLED;
        v->counts = false;
    }
}

bool scheduler_intake(struct scheduler *s)
{
    int count = 0, live = scheduler_live(s);
    struct intake_result result = {0};
    struct error err = {0};
    if (!live)
        return true;
    const char **runs = memory_alloc((size_t)live, sizeof *runs);
    for (struct job *job = s->jobs; job; job = job->next)
        runs[count++] = job->run;
    int status = intake_pass(s->intake, runs, count, INTAKE_BUDGET, &result, &err);
    free(runs);
    if (status) {
        scheduler_fault(s, store_trouble(s->o.store), err.text);
        return false;
    }
    if (result.rows)
        scheduler_changed(s);
    return true;
}

void scheduler_leave(struct crew *crew)
{
    if (--crew->live > 0)
        return;
    scheduler_give(crew);
    free(crew);
}

void scheduler_give(struct crew *crew)
{
    if (!crew->given)
        crew->executor->give(crew->executor, &crew->grant);
    crew->given = true;
}

void scheduler_forget(struct scheduler *s, struct job *job)
{
    struct job **at = &s->jobs;
    while (*at != job)
        at = &(*at)->next;
    *at = job->next;
    scheduler_leave(job->crew);
    scheduler_unrecord(job);
    free(job);
}

/* The first run of such a sweep that failed for good takes the others with it. */
static void fail_fast(struct scheduler *s, const struct store_run *run)
{
    char reason[64];
    struct store_queue_sweeps sweeps = {0};
    snprintf(reason, sizeof reason, "run %s failed", run->id);
    store_queue_fail_fast(s->o.store, run->id, &sweeps);
    for (size_t i = 0; i < sweeps.count; i++) {
        struct store_changed changed;
        struct error err = {0};
        if (store_cancel(s->o.store, sweeps.names[i], NULL, reason, &changed, &err))
            scheduler_log(s, "sweep %s: its runs could not be cancelled: %s", sweeps.names[i], err.text);
        else
            scheduler_log(s, "sweep %s is cancelled: %s", sweeps.names[i], reason);
    }
    free(sweeps.names);
    scheduler_cancel(s);
}

static void log_end(struct scheduler *s, const struct job *job, const struct verdict *v)
{
    char detail[64] = "";
    if (job->end.code > 0)
        snprintf(detail, sizeof detail, ", exit status %d", job->end.code);
    else if (job->end.signal > 0)
        snprintf(detail, sizeof detail, ", signal %d", job->end.signal);
    scheduler_log(s, "run %s attempt %d ended: %s%s%s%s; now %s", job->run, job->attempt, outcome_name(v->cause),
                  detail, v->text[0] && v->next != RUN_DONE ? ": " : "", v->next != RUN_DONE ? v->text : "",
                  run_state_name(v->next));
}

/* Everything the run has logged, and begin the group of changes that its end is part of. */
static int take_journal(struct scheduler *s, const struct job *job, struct error *err)
{
    const char *runs[] = {job->run};
    for (;;) {
        struct intake_result result;
        struct error why = {0};
        int status = store_group_begin(s->o.store, err);
        if (status)
            return status;
        if (!intake_pass(s->intake, runs, 1, INTAKE_BUDGET, &result, &why)) {
            if (!result.more)
                return STATUS_OK;
            status = store_group_end(s->o.store, true, err);
            if (status)
                return status;
            continue;
        }
        store_group_end(s->o.store, false, NULL);
        enum store_trouble kind = store_trouble(s->o.store);
        if (kind == STORE_BUSY || kind == STORE_FULL)
            return error_set(err, STATUS_FAILED, "%s", why.text);
        scheduler_log(s, "run %s: its journal was not taken: %s", job->run, why.text);
        return store_group_begin(s->o.store, err);
    }
}

int scheduler_record_end(struct scheduler *s, struct job *job, bool *plain, struct error *err)
{
    int status = take_journal(s, job, err);
    if (status)
        return status;
    struct verdict *v = job->verdict = memory_alloc(1, sizeof *v);
    status = store_run_find(s->o.store, job->run, &v->run, err);
    if (!status) {
        judge(s, job, v);
        struct store_exit exit = {.cause = v->cause,
                                  .text = v->text[0] ? v->text : NULL,
                                  .code = job->end.code,
                                  .signal = job->end.signal,
                                  .cpu_us = job->end.cpu_us,
                                  .peak_bytes = job->end.peak_bytes,
                                  .counts = v->counts,
                                  .alone = v->alone,
                                  .not_before = v->next == RUN_QUEUED && v->wait ? scheduler_clock(s) + v->wait : 0};
        status = store_attempt_end(s->o.store, job->run, job->attempt, &exit, v->next, err);
    }
    if (!status && v->next != RUN_QUEUED)
        status = store_search_decide(s->o.store, job->run, &v->next, err);
    /* A payload that logged no step is no training, and owes no rows. */
    if (!status && v->next == RUN_DONE && (!job->crew->executor->foreign || v->run.step > 0))
        status = store_note_gap(s->o.store, job->run, &v->gap, err);
    int end = store_group_end(s->o.store, !status, err);
    status = status ? status : end;
    if (status)
        scheduler_unrecord(job);
    else
        *plain &= v->cause == OUTCOME_PAUSED || (v->next == RUN_DONE && v->cause == OUTCOME_DONE);
    return status;
}

void scheduler_unrecord(struct job *job)
{
    if (job->verdict)
        free(job->verdict->gap);
    free(job->verdict);
    job->verdict = NULL;
}

/* A worker that met a full disk or too little memory, or could not be started, would not be the last if others were
 * started at once. */
static void hold_for(struct scheduler *s, const struct job *job, const struct verdict *v)
{
    char text[512];
    bool place = v->cause == OUTCOME_DISK || v->cause == OUTCOME_MEMORY || v->cause == OUTCOME_START;
    if (!place) {
        s->holds = 0;
    } else if (v->next == RUN_QUEUED && !v->counts && !v->alone) {
        snprintf(text, sizeof text, "run %s: %s: %s", job->run, outcome_name(v->cause), v->text);
        scheduler_hold(s, v->cause, v->cause == OUTCOME_START ? v->text : text);
    }
}

void scheduler_conclude(struct scheduler *s, struct job *job)
{
    struct verdict *v = job->verdict;
    job->verdict = NULL;
    log_end(s, job, v);
    if (v->gap)
        scheduler_log(s, "run %s: %s", job->run, v->gap);
    hold_for(s, job, v);
    scheduler_judge_device(s, job, v->cause);
    scheduler_forget(s, job);
    if (v->next == RUN_FAILED && v->run.fail_fast)
        fail_fast(s, &v->run);
    free(v->gap);
    free(v);
}

bool scheduler_settle(struct scheduler *s, struct job *job)
{
    struct error err = {0};
    bool plain = true;
    if (scheduler_record_end(s, job, &plain, &err)) {
        const char *runs[] = {job->run};
        enum store_trouble kind = store_trouble(s->o.store);
        scheduler_fault(s, kind, err.text);
        if (kind != STORE_BROKEN)
            return false;
        scheduler_log(s, "run %s: its end could not be recorded: %s", job->run, err.text);
        intake_pass(s->intake, runs, 1, INTAKE_BUDGET, NULL, NULL); /* what it measured is right all the same */
        scheduler_forget(s, job);
        return true;
    }
    scheduler_conclude(s, job);
    scheduler_changed(s);
    scheduler_kick(s);
    return true;
}

void scheduler_on_end(void *arg, struct executor_job *executing, int place, const struct executor_end *end)
{
    struct scheduler *s = arg;
    struct job *job = scheduler_find(s, executing, place);
    if (!job)
        return;
    if (job->crew->unknown) {
        scheduler_forget(s, job);
        return;
    }
    job->ended = true;
    job->end = *end;
    snprintf(job->text, sizeof job->text, "%s", end->text ? end->text : "");
    job->end.text = job->text;
    scheduler_kick(s);
}
