/* How local attempts end: what their supervisors wrote, what they left, and that everything of them is gone. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/rundir.h"
#include "harness/base/process.h"
#include "harness/queue/executor_exit.h"
#include "harness/queue/executor_local_internal.h"

enum { SWEEP_AGAIN_MS = 20 };

static void job_release(struct executor_job *job)
{
    if (job->pidfd >= 0)
        close(job->pidfd);
    if (job->go >= 0)
        close(job->go);
    members_release(&job->runs);
    free(job);
}

static void on_closed(uv_handle_t *handle)
{
    struct executor_job *job = handle->data;
    if (--job->open_handles == 0)
        job_release(job);
}

void local_job_close(struct executor_job *job)
{
    struct executor_job **at = &job->owner->jobs;
    while (*at != job)
        at = &(*at)->next;
    *at = job->next;
    uv_close((uv_handle_t *)&job->timer, on_closed);
    uv_close((uv_handle_t *)&job->look, on_closed);
    if (job->open_handles > 2)
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

/* The member's exit.json, if it is this attempt's. */
static bool read_end(const struct executor_job *job, const struct member *m, struct supervisor_end *file,
                     struct executor_end *end)
{
    return executor_exit_read(m->dir, job->token, m->attempt, m->asked, file, end);
}

/* What the end was, without exit.json. said: others of the pack have theirs, so the exit status is not this one's. */
static void report_without_file(struct executor_job *job, struct member *m, bool said)
{
    struct executor_end end = {.outcome = OUTCOME_LOST,
                               .code = -1,
                               .signal = -1,
                               .asked = m->asked,
                               .cpu_us = -1,
                               .peak_bytes = -1,
                               .text = "the worker is gone without a word"};
    char gone[200];
    bool exited = job->child && job->exit.si_code == CLD_EXITED && !said;
    if (exited && job->exit.si_status == SUPERVISOR_NOT_STARTED) {
        end.text = "the worker was never let go";
    } else if (exited && job->exit.si_status == SUPERVISOR_LOCKED) {
        end.text = "another worker is in the run directory";
    } else if (exited) { /* exit.json could not be written, or nothing could: the status is all there is */
        end.outcome = job->exit.si_status > 128                   ? OUTCOME_SIGNAL
                      : job->exit.si_status == SUPERVISOR_TIMEOUT ? OUTCOME_TIMEOUT
                                                                  : outcome_of_exit(job->exit.si_status, true);
        end.code = end.outcome <= OUTCOME_PAUSED ? job->exit.si_status : -1;
        end.signal = end.outcome == OUTCOME_SIGNAL ? job->exit.si_status - 128 : -1;
        end.text = "see " RUNDIR_LOG;
    }
    if (access(m->dir, F_OK) != 0 && errno == ENOENT) {
        snprintf(gone, sizeof gone, "the run directory is gone: %s", m->dir);
        end.text = gone;
        if (end.outcome == OUTCOME_DONE) { /* whatever it did, nothing of it is left */
            end.outcome = OUTCOME_FAILED;
            end.code = -1;
        }
    }
    member_report(&job->owner->base, job, m, &end);
}

/* The supervisor is gone: find out how it went, and end what is left. */
static void job_finish(struct executor_job *job)
{
    struct supervisor_end file;
    struct executor_end end;
    bool said = false, silent = false, read = false;
    for (int i = 0; i < job->runs.count; i++) {
        read = !job->runs.at[i].reported && read_end(job, &job->runs.at[i], &file, &end);
        said |= job->runs.at[i].reported || read;
        silent |= !job->runs.at[i].reported && !read;
    }
    /* A supervisor that ended by itself left nothing behind: only a killed one has to be swept after. */
    if (silent && !(job->child && job->exit.si_code == CLD_EXITED) && sweep(job) > 0) {
        uv_timer_start(&job->timer, local_job_on_sweep, SWEEP_AGAIN_MS, 0);
        return;
    }
    if (job->child)
        waitid(P_PIDFD, (id_t)job->pidfd, &job->exit, WEXITED | WNOHANG);
    for (int i = 0; i < job->runs.count; i++) {
        struct member *m = &job->runs.at[i];
        if (m->reported)
            continue;
        /* Of one alone it was read above. */
        if (job->runs.count == 1 ? read : read_end(job, m, &file, &end))
            member_report(&job->owner->base, job, m, &end);
        else
            report_without_file(job, m, said);
    }
    local_job_close(job);
}

/* The ends of all but the last are told when they are there: that one's is told when the process is gone. */
void local_job_on_look(uv_timer_t *timer)
{
    struct executor_job *job = timer->data;
    struct supervisor_end file;
    struct executor_end end;
    for (int i = 0; i < job->runs.count && members_unreported(&job->runs) > 1; i++)
        if (!job->runs.at[i].reported && read_end(job, &job->runs.at[i], &file, &end))
            member_report(&job->owner->base, job, &job->runs.at[i], &end);
    if (members_unreported(&job->runs) < 2)
        uv_timer_stop(timer);
}

void local_job_on_sweep(uv_timer_t *timer)
{
    job_finish(timer->data);
}

void local_job_on_ended(uv_poll_t *watch, int status, int events)
{
    struct executor_job *job = watch->data;
    (void)status, (void)events;
    job->exit.si_pid = 0;
    if (job->child &&
        (waitid(P_PIDFD, (id_t)job->pidfd, &job->exit, WEXITED | WNOWAIT | WNOHANG) != 0 || !job->exit.si_pid))
        return;
    uv_poll_stop(&job->watch);
    uv_timer_stop(&job->timer);
    uv_timer_stop(&job->look);
    job->ended = true;
    job_finish(job);
}

/* Asked to stop long ago, and its own grace is over: it must be stuck. What it leaves is swept. */
void local_job_on_stuck(uv_timer_t *timer)
{
    struct executor_job *job = timer->data;
    for (int i = 0; i < job->runs.count; i++)
        if (job->runs.at[i].asked && !job->runs.at[i].reported) {
            process_signal(job->pidfd, SIGKILL);
            return;
        }
}
