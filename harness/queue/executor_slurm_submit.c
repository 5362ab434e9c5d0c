/* Into Slurm's queue, exactly once. Whatever sbatch said or did not say, the job is looked for by its name before
 * another is sent; and all are sent held, so that of two that got in after all only one is ever let go
 * (executor_slurm_watch.c cancels the other). */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "harness/queue/executor_slurm_internal.h"

/* Looks at the queue without the name, before it is believed that there is no such job: one may be on its way in. */
enum { ABSENT_ENOUGH = 2 };

static void found(struct executor_job *job, const char *id)
{
    snprintf(job->id, sizeof job->id, "%s", id);
    slurm_enter(job, JOB_HELD);
    slurm_tell(job, "job %s, held", id);
}

/* "123", or "123;cluster". */
static bool read_id(const char *text, char id[SLURM_ID])
{
    size_t length = strspn(text, "0123456789");
    if (length == 0 || length >= SLURM_ID ||
        (text[length] && !isspace((unsigned char)text[length]) && text[length] != ';'))
        return false;
    snprintf(id, SLURM_ID, "%.*s", (int)length, text);
    return true;
}

static void on_submitted(void *arg, const struct slurm_reply *reply)
{
    struct executor_job *job = arg;
    char id[SLURM_ID], text[200];
    job->owner->submitting = false;
    if (!slurm_answered(job))
        return;
    if (reply->answered && reply->code == 0 && read_id(reply->out, id)) {
        found(job, id);
        return;
    }
    slurm_reply_text(reply, text, sizeof text);
    if (reply->answered && reply->code != 0 && slurm_refuses(text)) {
        slurm_report_all(job, OUTCOME_REFUSED, text);
        return;
    }
    slurm_say(job->owner, "slurm: sbatch for %s: %s; the job is looked for before it is sent again", job->name, text);
    int tries = job->tries;
    slurm_enter(job, JOB_UNSURE);
    job->tries = tries + 1;
    slurm_tell(job, "sbatch: %s; tried again", text);
    slurm_hurry(job->owner);
}

void slurm_submit_next(struct executor_slurm *ex)
{
    double now = slurm_now(ex);
    if (ex->submitting || (ex->submitted > 0 && now < ex->submitted + ex->tuning.pace))
        return;
    struct executor_job *job = ex->jobs;
    while (job && !(job->phase == JOB_WAITS && !job->closed && now >= job->due))
        job = job->next;
    if (!job)
        return;
    ex->submitted = now;
    ex->submitting = true;
    job->phase = JOB_SUBMITTED;
    slurm_ask(job, (const char *const *)job->words, on_submitted);
}

/* It is not in the queue. Ours is sent again; of an adopted one nobody has the words any more, and what could still
 * come of it is held: an unknown job, which is cancelled when it is seen. */
static void absent(struct executor_job *job)
{
    int tries = job->tries;
    if (job->asked) {
        slurm_report_all(job, OUTCOME_STOPPED, "it was not submitted yet");
    } else if (job->adopted && slurm_words_left(job)) {
        slurm_report(job, NULL);
    } else if (job->adopted) {
        slurm_report_all(job, OUTCOME_LOST, "it had not been submitted when the daemon ended");
    } else {
        slurm_enter(job, JOB_WAITS);
        job->tries = tries;
        slurm_back_off(job);
    }
}

void slurm_looked_up(struct executor_job *job, const struct slurm_row *row)
{
    if (row)
        found(job, row->id);
    else if (++job->absent >= ABSENT_ENOUGH)
        absent(job);
    else
        slurm_hurry(job->owner);
}

static void on_let_go(void *arg, const struct slurm_reply *reply)
{
    struct executor_job *job = arg;
    char text[200];
    if (!slurm_answered(job))
        return;
    slurm_reply_text(reply, text, sizeof text);
    /* Over already, or never there: the looks at the queue will say so. */
    bool over = reply->answered && (strstr(text, "already finished") || strstr(text, "Invalid job id"));
    if (reply->answered && (reply->code == 0 || over)) {
        slurm_enter(job, JOB_LIVE);
        slurm_tell(job, "job %s submitted", job->id);
        slurm_hurry(job->owner);
        return;
    }
    slurm_tell(job, "job %s, held; scontrol release: %s; tried again", job->id, text);
    slurm_back_off(job);
}

void slurm_let_go(struct executor_job *job)
{
    const char *const words[] = {"scontrol", "release", job->id, NULL};
    slurm_ask(job, words, on_let_go);
}
