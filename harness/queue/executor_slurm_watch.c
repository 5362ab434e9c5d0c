/* What Slurm says of its jobs: one look at the queue for all of them, and what follows for each. That Slurm cannot be
 * reached, or that a list has not a job in it, never means that the job is over. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "harness/queue/executor_slurm_internal.h"
#include "harness/worker/supervisor.h"

/* How long until a stop is asked for again, and how long beyond its grace it may take before that is done less kindly.
 */
enum { STOP_AGAIN_S = 10 };

/* ------------------------------------------------------------------------------------------ the look at the queue */

static void on_cancelled(void *arg, const struct slurm_reply *reply)
{
    struct executor_slurm *ex = arg;
    (void)reply; /* what became of it, the next look at the queue shows */
    ex->cancels--;
}

/* A job of this home that nobody knows. A held one was left by an sbatch that was killed, or a daemon that was. One
 * that runs was believed lost, and what became of its run since must not meet it. Each is told once; asked again until
 * it is gone. */
static void cancel_unknown(struct executor_slurm *ex, const struct slurm_row *row)
{
    const char *const words[] = {"scancel", row->id, NULL};
    bool told = false;
    for (int i = 0; i < SLURM_STRAYS; i++)
        told |= strcmp(ex->strays[i], row->id) == 0;
    if (!told) {
        slurm_say(ex, "slurm: job %s (%s) is nobody's: cancelled", row->id, row->name);
        memcpy(ex->strays[ex->stray++ % SLURM_STRAYS], row->id, SLURM_ID);
    }
    if (ex->cancels >= SLURM_CALLS_AT_ONCE) /* the next look is soon enough */
        return;
    ex->cancels++;
    slurm_call(ex->calls, words, on_cancelled, ex);
}

static bool is_held(const struct slurm_row *row)
{
    return row->phase == SLURM_PENDING && strncmp(row->reason, "JobHeldUser", 11) == 0;
}

static bool is_due(const struct executor_job *job, uint64_t look)
{
    return look > job->since && !job->closed;
}

/* The job of a row; by its name alone where it has no number yet. */
static struct executor_job *job_of(const struct executor_slurm *ex, const struct slurm_row *row)
{
    struct executor_job *job = ex->jobs;
    while (job && strcmp(job->name, row->name) != 0)
        job = job->next;
    return job;
}

static void hear(struct executor_job *job, const struct slurm_row *row)
{
    struct executor_slurm *ex = job->owner;
    const bool changed = !job->known || strcmp(row->state, job->row.state) != 0;
    job->row = *row;
    job->known = true;
    job->missing = 0;
    job->gone = false;
    if (row->phase == SLURM_RUNNING || row->phase == SLURM_ENDING)
        job->ran = true;
    job->over = row->phase != SLURM_OVER ? 0 : job->over > 0 ? job->over : slurm_now(ex);
    if (changed) {
        job->due = 0;
        slurm_hurry(ex);
    }
    if (row->phase == SLURM_PENDING)
        slurm_tell(job, "job %s %s%s%s%s", job->id, row->state, row->reason[0] ? " (" : "", row->reason,
                   row->reason[0] ? ")" : "");
    else if (row->phase != SLURM_OVER)
        slurm_tell(job, "job %s %s on %s", job->id, row->state, row->nodes);
}

static void take_row(struct executor_slurm *ex, const struct slurm_row *row, uint64_t look)
{
    size_t tag = strlen("taper-") + strlen(ex->tag);
    if (strncmp(row->name, "taper-", 6) != 0 || strncmp(row->name + 6, ex->tag, strlen(ex->tag)) != 0 ||
        row->name[tag] != '-')
        return;
    struct executor_job *job = job_of(ex, row);
    if (!job && row->phase != SLURM_OVER && row->phase != SLURM_ENDING)
        cancel_unknown(ex, row);
    if (!job)
        return;
    if (!is_due(job, look))
        return;
    if (job->phase == JOB_UNSURE)
        slurm_looked_up(job, row);
    if (strcmp(job->id, row->id) == 0)
        hear(job, row);
    else if (job->id[0] && is_held(row))
        cancel_unknown(ex, row);
}

/* list: the answer as it stands. A name ends in digits of its own, so none is the beginning of another. */
static void take_absent(struct executor_slurm *ex, uint64_t look, const char *list)
{
    for (struct executor_job *job = ex->jobs; job; job = job->next) {
        if (!is_due(job, look) || strstr(list, job->name))
            continue;
        if (job->phase == JOB_UNSURE) {
            slurm_looked_up(job, NULL);
        } else if ((job->phase == JOB_HELD || job->phase == JOB_LIVE) && job->missing <= 0) {
            job->missing = slurm_now(ex);
            job->due = 0;
        }
    }
}

static void unreachable(struct executor_slurm *ex, const char *text)
{
    if (ex->unreachable++ == 0) {
        ex->unreachable_since = slurm_now(ex);
        slurm_say(ex, "slurm: squeue: %s; what runs there goes on, and is asked for again", text);
    }
    for (struct executor_job *job = ex->jobs; job; job = job->next)
        if (!job->closed && (job->phase == JOB_HELD || job->phase == JOB_LIVE))
            slurm_tell(job, "job %s %s when Slurm last answered (squeue: %s)", job->id,
                       job->known ? job->row.state : "", text);
    ex->period = ex->period * 2 < ex->tuning.quiet ? ex->period * 2 : ex->tuning.quiet;
}

static void reachable(struct executor_slurm *ex)
{
    if (ex->unreachable)
        slurm_say(ex, "slurm: it answers again, after %.0f s", slurm_now(ex) - ex->unreachable_since);
    ex->unreachable = 0;
}

static void on_polled(void *arg, const struct slurm_reply *reply)
{
    struct executor_slurm *ex = arg;
    struct slurm_row row;
    char text[200];
    const char *at = reply->out;
    ex->polling = false;
    if (!reply->answered || reply->code != 0) {
        unreachable(ex, slurm_reply_text(reply, text, sizeof text));
        ex->poll = slurm_now(ex) + ex->period;
        return;
    }
    reachable(ex);
    /* Quieter each time, unless something changes (slurm_hurry). */
    ex->period = ex->period * 1.5 < ex->tuning.quiet ? ex->period * 1.5 : ex->tuning.quiet;
    ex->poll = slurm_now(ex) + ex->period;
    while (slurm_row_next(&at, &row))
        take_row(ex, &row, ex->looks);
    take_absent(ex, ex->looks, reply->out);
}

void slurm_poll(struct executor_slurm *ex)
{
    double now = slurm_now(ex);
    bool wanted = false;
    for (const struct executor_job *job = ex->jobs; job; job = job->next)
        wanted |= !job->closed && (job->phase == JOB_UNSURE || job->phase == JOB_HELD || job->phase == JOB_LIVE);
    if (!wanted || ex->polling || now < ex->poll)
        return;
    const char *const words[] = {"squeue", "--noheader", "--array", "--states=all", ex->user, "--format=" SLURM_FORMAT,
                                 NULL};
    ex->polling = true;
    ex->looks++;
    ex->looked = now;
    slurm_call(ex->calls, words, on_polled, ex);
}

/* A worker says first in its directory that it is done: then Slurm is asked soon. */
void slurm_look_at_files(struct executor_slurm *ex)
{
    double now = slurm_now(ex);
    if (now < ex->files)
        return;
    ex->files = now + ex->tuning.poll;
    for (struct executor_job *job = ex->jobs; job; job = job->next)
        if (!job->closed && job->phase == JOB_LIVE && (job->ran || !job->known) && !job->over && slurm_words_left(job))
            slurm_hurry(ex);
}

/* ------------------------------------------------------------------------------------------ one that is missing */

static void on_shown(void *arg, const struct slurm_reply *reply)
{
    struct executor_job *job = arg;
    struct slurm_row row;
    char text[200];
    if (!slurm_answered(job))
        return;
    slurm_reply_text(reply, text, sizeof text);
    if (reply->answered && reply->code == 0 && slurm_row_of_scontrol(reply->out, &row) &&
        strcmp(row.name, job->name) == 0) {
        hear(job, &row);
        job->due = slurm_now(job->owner) + job->owner->tuning.poll;
        return;
    }
    /* A number of old may be another's by now, which is the same as none. */
    if (reply->answered && (reply->code == 0 || strstr(text, "Invalid job id"))) {
        job->gone = true;
        job->known = false;
        return;
    }
    slurm_back_off(job);
}

static void on_accounted(void *arg, const struct slurm_reply *reply)
{
    struct executor_job *job = arg;
    struct slurm_row row;
    char text[200];
    if (!slurm_answered(job))
        return;
    job->asked_why = true;
    slurm_reply_text(reply, text, sizeof text);
    if (reply->answered && reply->code != 0 && strstr(text, "disabled"))
        job->owner->no_accounting = true;
    if (reply->answered && reply->code == 0 && slurm_row_of_sacct(reply->out, &row) &&
        strcmp(row.name, job->name) == 0 && row.phase == SLURM_OVER) {
        job->row = row;
        job->known = true;
        job->over = slurm_now(job->owner);
    }
}

/* A job that writes is there, whatever Slurm says. */
static bool shows_life(struct executor_job *job)
{
    int64_t bytes = slurm_journal_bytes(job);
    bool grown = bytes > job->journal;
    job->journal = bytes;
    return grown;
}

static void watch_gone(struct executor_job *job)
{
    struct executor_slurm *ex = job->owner;
    double now = slurm_now(ex);
    job->due = now + ex->tuning.poll;
    if (slurm_words_left(job)) {
        slurm_report(job, NULL);
    } else if (!job->asked_why && !ex->no_accounting) {
        const char *const words[] = {"sacct", "-n", "-P", "-X", "-o", "JobID,JobName,State", "-j", job->id, NULL};
        slurm_ask(job, words, on_accounted);
    } else if (shows_life(job)) {
        job->missing = now;
    } else if (now >= job->missing + ex->tuning.lost) {
        slurm_report(job, "Slurm knows the job no more, and it left no word");
    } else {
        slurm_tell(job, "job %s is not known to Slurm any more; its last word is waited for", job->id);
    }
}

static void watch_missing(struct executor_job *job)
{
    const char *const words[] = {"scontrol", "--oneliner", "show", "job", job->id, NULL};
    if (job->gone)
        watch_gone(job);
    else
        slurm_ask(job, words, on_shown);
}

/* ------------------------------------------------------------------------------------------ one that is over */

static void on_exit_shown(void *arg, const struct slurm_reply *reply)
{
    struct executor_job *job = arg;
    struct slurm_row row;
    if (!slurm_answered(job))
        return;
    job->asked_why = true;
    if (reply->answered && reply->code == 0 && slurm_row_of_scontrol(reply->out, &row) &&
        strcmp(row.name, job->name) == 0)
        job->row.code = row.code;
}

/* No worker leaves a word with one of these: the run directory was another's, or the shell found no program. */
static bool never_worked(int code)
{
    return code == SUPERVISOR_LOCKED || code == SUPERVISOR_NOT_STARTED || code == 127;
}

/* Without a word in its directory: it may come, where a file system tells late what another machine wrote. */
static void watch_over(struct executor_job *job)
{
    struct executor_slurm *ex = job->owner;
    const bool failed = job->row.outcome == OUTCOME_FAILED;
    const double grace = failed ? ex->tuning.lost : ex->tuning.settle, now = slurm_now(ex);
    const char *const words[] = {"scontrol", "--oneliner", "show", "job", job->id, NULL};
    job->due = now + (grace < 1 ? 0.1 * grace : 1);
    if (slurm_words_left(job) || !job->ran)
        slurm_report(job, NULL);
    else if (failed && !job->asked_why)
        slurm_ask(job, words, on_exit_shown);
    else if (now >= job->over + grace || (failed && never_worked(job->row.code)))
        slurm_report(job, NULL);
}

/* ------------------------------------------------------------------------------------------ one to be ended */

static void on_stopped(void *arg, const struct slurm_reply *reply)
{
    struct executor_job *job = arg;
    if (!slurm_answered(job))
        return;
    job->due = slurm_now(job->owner) + STOP_AGAIN_S;
    if (!reply->answered)
        slurm_back_off(job);
    slurm_hurry(job->owner);
}

/* What runs is asked by TERM to its worker, which keeps the grace itself; when that is over, and for what waits, it is
 * Slurm's to end. */
static void end_it(struct executor_job *job, bool at_once)
{
    struct executor_slurm *ex = job->owner;
    const bool runs = job->known ? job->row.phase == SLURM_RUNNING : job->ran;
    const double now = slurm_now(ex);
    if (job->stopped <= 0)
        job->stopped = now;
    const bool patient = now < job->stopped + (job->kill ? 0 : job->grace) + STOP_AGAIN_S;
    const char *const kindly[] = {"scancel", "--batch", "--signal=TERM", job->id, NULL};
    const char *const killed[] = {"scancel", "--full", "--signal=KILL", job->id, NULL};
    const char *const plainly[] = {"scancel", job->id, NULL};
    const char *const *words = !runs || at_once || !patient ? plainly : job->kill ? killed : kindly;
    slurm_ask(job, words, on_stopped);
}

/* It waits for what never comes; or it waits again after it ran, which is a retry of Slurm's own, and ours comes
 * sooner.
 */
static void refuse_to_wait(struct executor_job *job, enum outcome why)
{
    job->never = why;
    slurm_say(job->owner, "slurm: job %s waits for what is not to be (%s): cancelled", job->id, job->row.reason);
    end_it(job, true);
}

static void watch_queued(struct executor_job *job)
{
    enum outcome never = slurm_never(&job->row);
    if (job->asked)
        end_it(job, false);
    else if (never == OUTCOME_COUNT && job->ran && job->row.phase == SLURM_PENDING)
        never = OUTCOME_PREEMPTED;
    if (!job->busy && (job->never != OUTCOME_COUNT || never != OUTCOME_COUNT))
        refuse_to_wait(job, job->never != OUTCOME_COUNT ? job->never : never);
}

void slurm_watch(struct executor_job *job)
{
    if (job->phase == JOB_HELD && job->known && !is_held(&job->row))
        slurm_enter(job, JOB_LIVE); /* let go, or ended, by somebody */
    if (job->missing > 0)
        watch_missing(job);
    else if (job->over > 0)
        watch_over(job);
    else if (job->phase == JOB_HELD && !job->asked)
        slurm_let_go(job);
    else if (job->asked && !job->known)
        end_it(job, false);
    else if (job->known)
        watch_queued(job);
}
