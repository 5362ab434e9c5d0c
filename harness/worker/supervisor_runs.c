/* The runs of a supervisor: their directories, logs and locks, and how each of them ended. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/rundir.h"
#include "harness/worker/supervisor_internal.h"

static int64_t utc(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

/* --------------------------------------------------------------------------------------------- opening */

/* Where a worker has one run that is its working directory, which may be moved from here on. */
static int enter(const struct supervisor *s, struct member *m, const struct supervisor_run *run)
{
    if (s->plan->count == 1)
        m->dir = chdir(run->dir) == 0 ? memory_string(".") : NULL;
    else
        m->dir = realpath(run->dir, NULL);
    return m->dir ? 0 : -1;
}

static int open_member(struct supervisor *s, struct member *m, const struct supervisor_run *run, struct error *err)
{
    m->run = run;
    m->end.attempt = run->attempt;
    m->end.code = m->end.signal = -1;
    snprintf(m->end.token, sizeof m->end.token, "%s", s->plan->token ? s->plan->token : "");
    int status = enter(s, m, run);
    if (status && errno == ENOENT) {
        status = file_make_directories(run->dir, err);
        if (status)
            return status;
        status = enter(s, m, run);
    }
    if (status)
        return error_errno(err, STATUS_FAILED, errno, "%s", run->dir);
    status = rundir_lock(m->dir, &m->lock, err);
    if (status == STATUS_STOPPED)
        error_set(err, status, "%s: another worker is in this run directory", run->dir);
    if (status)
        return status;
    char *path = file_join(m->dir, RUNDIR_LOG);
    status = log_writer_open(&m->log, path, err);
    free(path);
    m->timeout_at = run->timeout > 0 ? s->begin + run->timeout : 0;
    m->end.started = utc();
    return status;
}

int members_open(struct supervisor *s, struct error *err)
{
    int status = STATUS_OK;
    for (int i = 0; i < s->plan->count && !status; i++)
        status = open_member(s, &s->members[i], &s->plan->runs[i], err);
    if (!status && s->plan->count > 1 && chdir(s->members[0].dir) != 0)
        status = error_errno(err, STATUS_FAILED, errno, "%s", s->members[0].dir);
    return status;
}

void members_close(struct supervisor *s)
{
    for (int i = 0; i < s->plan->count; i++) {
        struct member *m = &s->members[i];
        log_writer_close(&m->log);
        free(m->dir);
    }
    free(s->members);
}

/* --------------------------------------------------------------------------------------------- output */

int members_busy(const struct supervisor *s)
{
    int n = 0;
    for (int i = 0; i < s->plan->count; i++)
        n += !s->members[i].told;
    return n;
}

void members_log(struct supervisor *s, const char *bytes, size_t size)
{
    if (s->current >= 0) {
        log_writer_feed(&s->members[s->current].log, bytes, size);
        return;
    }
    for (int i = 0; i < s->plan->count; i++)
        if (!s->members[i].told)
            log_writer_feed(&s->members[i].log, bytes, size);
}

void member_note(struct member *m, const char *text)
{
    log_writer_print(&m->log, "%s", text);
}

/* --------------------------------------------------------------------------------------------- ends */

void member_finish(struct supervisor *s, struct member *m)
{
    struct error err = {0};
    m->told = m->over = true;
    m->kill_at = m->timeout_at = 0;
    m->end.killed = s->killed;
    m->end.seconds = supervisor_now() - s->begin;
    m->end.ended = utc();
    if (m->log.used)
        log_writer_feed(&m->log, "\n", 1);
    memcpy(m->end.text, m->log.last, sizeof m->log.last);
    /* Before anybody can know that it is over. The training of its mates may have the descriptor too. */
    flock(m->lock, LOCK_UN);
    close(m->lock);
    char *path = file_join(m->dir, RUNDIR_EXIT);
    if (supervisor_end_write(path, &m->end, &err))
        member_note(m, err.text);
    free(path);
    log_writer_close(&m->log);
}

void member_stopped_between(struct supervisor *s, struct member *m)
{
    m->end.outcome = m->timed_out ? OUTCOME_TIMEOUT : OUTCOME_STOPPED;
    m->end.code = m->timed_out ? -1 : OUTCOME_STOPPED;
    member_finish(s, m);
}

void member_not_started(struct supervisor *s, struct member *m)
{
    m->end.outcome = OUTCOME_START;
    m->end.code = -1;
    member_finish(s, m);
}

/* A step of the run is over; what is left is done, or it is over itself. */
static void step_over(struct supervisor *s, struct member *m, bool last)
{
    bool fine = m->end.outcome == OUTCOME_DONE;
    m->told = true;
    m->kill_at = 0;
    if (!fine && m->timed_out)
        m->end.outcome = OUTCOME_TIMEOUT;
    if (!fine || last)
        member_finish(s, m);
    else if (m->end.asked || m->timed_out)
        member_stopped_between(s, m);
}

static void take_status(struct member *m, int status, bool ours)
{
    m->end.code = WIFSIGNALED(status) ? -1 : WEXITSTATUS(status);
    m->end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : -1;
    m->end.outcome = WIFSIGNALED(status) ? OUTCOME_SIGNAL : outcome_of_exit(m->end.code, ours);
}

static void take_report(struct supervisor *s, const struct supervisor_report *r)
{
    struct member *m = r->run >= 0 && r->run < s->plan->count ? &s->members[r->run] : NULL;
    if (!m || m->told)
        return;
    m->end.outcome = r->outcome;
    m->end.code = (int)r->outcome;
    m->end.cpu_user = r->cpu_user;
    m->end.cpu_system = r->cpu_system;
    m->end.max_rss = r->max_rss;
    if (r->text[0]) {
        log_writer_feed(&m->log, r->text, strnlen(r->text, sizeof r->text));
        log_writer_feed(&m->log, "\n", 1);
    }
    step_over(s, m, m->run->after_count == 0);
}

void members_hear(struct supervisor *s)
{
    struct supervisor_report *report = memory_alloc(1, sizeof *report);
    while (s->report >= 0 && recv(s->report, report, sizeof *report, MSG_DONTWAIT) == (ssize_t)sizeof *report)
        take_report(s, report);
    free(report);
}

int supervisor_tell(int report, const struct supervisor_report *what)
{
    ssize_t n;
    while ((n = send(report, what, sizeof *what, MSG_NOSIGNAL)) < 0 && errno == EINTR)
        continue;
    return n == (ssize_t)sizeof *what ? 0 : -1;
}

void members_conclude(struct supervisor *s)
{
    struct rusage use;
    double user, system;
    int silent = members_busy(s);
    getrusage(RUSAGE_CHILDREN, &use);
    user = seconds(use.ru_utime);
    system = seconds(use.ru_stime);
    for (int i = 0; i < s->plan->count; i++) {
        user -= s->members[i].end.cpu_user;
        system -= s->members[i].end.cpu_system;
    }
    for (int i = 0; i < s->plan->count; i++) {
        struct member *m = &s->members[i];
        if (m->told)
            continue;
        take_status(m, s->status, !s->plan->first.foreign);
        if (s->plan->count > 1 && m->end.outcome != OUTCOME_SIGNAL) { /* it owed a report */
            if (m->end.outcome != OUTCOME_MEMORY) /* the one end of a process that is all its runs' */
                m->end.outcome = OUTCOME_FAILED;
            member_note(m, "the worker's process ended before this run did");
        }
        m->end.cpu_user = user > 0 ? user / silent : 0;
        m->end.cpu_system = system > 0 ? system / silent : 0;
        m->end.max_rss = (int64_t)use.ru_maxrss * 1024;
        step_over(s, m, m->run->after_count == 0);
    }
}

void member_step_ended(struct supervisor *s, struct member *m, const struct rusage *before)
{
    struct rusage use;
    getrusage(RUSAGE_CHILDREN, &use);
    take_status(m, s->status, true);
    m->end.cpu_user += seconds(use.ru_utime) - seconds(before->ru_utime);
    m->end.cpu_system += seconds(use.ru_stime) - seconds(before->ru_stime);
    m->end.max_rss = (int64_t)use.ru_maxrss * 1024;
    step_over(s, m, strcmp(m->end.step, m->run->after[m->run->after_count - 1].name) == 0);
}

static int status_of(const struct supervisor_end *end)
{
    if (end->outcome == OUTCOME_SIGNAL)
        return 128 + end->signal;
    return end->outcome == OUTCOME_TIMEOUT ? SUPERVISOR_TIMEOUT : (int)end->outcome;
}

int members_exit_status(const struct supervisor *s)
{
    int status = 0;
    for (int i = 0; i < s->plan->count && !status; i++)
        status = status_of(&s->members[i].end);
    return status;
}
