/* The process around a worker: its steps, one after the other, and what may end them early. supervisor_runs.c: the
 * runs. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/rundir.h"
#include "harness/base/process.h"
#include "harness/worker/supervisor_internal.h"

/* How often what refuses to end is killed again: a child may have been forked while the list was read. */
enum { KILL_AGAIN_MS = 20, LEFTOVER_GRACE_MS = 2000 };

double supervisor_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* --------------------------------------------------------------------------------------------- ending */

static void signal_all(struct supervisor *s, int signal)
{
    size_t count;
    struct process_row *rows = process_descendants(getpid(), &count);
    for (size_t i = 0; i < count; i++)
        if (rows[i].state != 'Z' && process_signal_row(&rows[i], signal) && signal == SIGKILL && !s->child)
            s->killed++;
    free(rows);
}

static void stop_all(struct supervisor *s, double grace)
{
    double at = supervisor_now() + grace;
    if (s->killing)
        return;
    s->stopping = true;
    if (!s->kill_at || at < s->kill_at)
        s->kill_at = at;
    signal_all(s, SIGTERM);
}

static void kill_all(struct supervisor *s)
{
    s->stopping = s->killing = true;
    signal_all(s, SIGKILL);
    s->kill_at = supervisor_now() + 0.001 * KILL_AGAIN_MS;
}

/* All were asked to stop. Those that wait for their next step have nothing to end. */
static void ask_all(struct supervisor *s)
{
    for (int i = 0; i < s->plan->count; i++) {
        struct member *m = &s->members[i];
        m->end.asked |= !m->over;
        if (m->told && !m->over && i != s->current)
            member_stopped_between(s, m);
    }
}

static void stop_one(struct supervisor *s, struct member *m)
{
    int place = (int)(m - s->members);
    bool first = s->current < 0;
    if (m->over)
        return;
    if (first ? m->told : place != s->current) {
        member_stopped_between(s, m);
    } else if (!first || members_busy(s) == 1) {
        stop_all(s, s->plan->grace);
    } else if (!m->kill_at) {
        m->kill_at = supervisor_now() + s->plan->grace;
        sigqueue(s->child, SUPERVISOR_STOP_ONE, (union sigval){.sival_int = place});
    }
}

static void take_signals(struct supervisor *s)
{
    struct signalfd_siginfo info;
    while (read(s->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGCHLD)
            continue;
        if (info.ssi_signo == (uint32_t)SUPERVISOR_STOP_ONE) {
            if (info.ssi_int >= 0 && info.ssi_int < s->plan->count) {
                s->members[info.ssi_int].end.asked = true;
                stop_one(s, &s->members[info.ssi_int]);
            }
            continue;
        }
        ask_all(s);
        if (info.ssi_signo == SIGUSR1)
            kill_all(s);
        else
            stop_all(s, s->plan->grace);
    }
}

/* What is due by the clock. */
static void take_time(struct supervisor *s)
{
    char text[80];
    double now = supervisor_now();
    for (int i = 0; i < s->plan->count; i++) {
        struct member *m = &s->members[i];
        if (m->timeout_at && now >= m->timeout_at) {
            m->timeout_at = 0;
            m->timed_out = true;
            snprintf(text, sizeof text, "the time limit of %g s is over", m->run->timeout);
            member_note(m, text);
            stop_one(s, m);
        }
        if (m->kill_at && now >= m->kill_at) { /* a thread cannot be killed: its mates go on from their checkpoints */
            m->kill_at = 0;
            member_note(m, "it does not stop: the whole pack is stopped");
            ask_all(s);
            stop_all(s, s->plan->grace);
        }
    }
    if (s->kill_at && now >= s->kill_at)
        kill_all(s);
}

static int wait_ms(const struct supervisor *s)
{
    double at = s->kill_at;
    for (int i = 0; i < s->plan->count; i++) {
        const double due[] = {s->members[i].kill_at, s->members[i].timeout_at};
        for (int k = 0; k < 2; k++)
            if (due[k] && (!at || due[k] < at))
                at = due[k];
    }
    if (!at)
        return -1;
    double left = 1e3 * (at - supervisor_now());
    return left <= 0 ? 0 : left > 1e6 ? 1000000 : (int)left + 1;
}

/* --------------------------------------------------------------------------------------------- one step */

/* What the child needs, made before it is there. */
struct child {
    const struct supervisor_step *step;
    const char *dir; /* its working directory; NULL: ours */
    pid_t supervisor;
    int output, report; /* report: -1 where there is none */
    sigset_t mask;
};

static void child_fails(const char *what, int code)
{
    dprintf(2, "%s: %s\n", what, strerror(errno));
    _exit(code);
}

/* Runs in the child, in our memory while we wait (vfork): it changes nothing but what belongs to its process alone.
 * Only exec or exit leave it. */
static void become_step(const struct child *c)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != c->supervisor) /* it died before the line above */
        _exit(SUPERVISOR_NOT_STARTED);
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null > 0)
        dup2(null, 0);
    dup2(c->output, 1);
    dup2(c->output, 2);
    if (c->report == SUPERVISOR_REPORT)
        fcntl(c->report, F_SETFD, 0);
    else if (c->report >= 0)
        dup2(c->report, SUPERVISOR_REPORT);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    if (c->dir && chdir(c->dir) != 0)
        child_fails(c->dir, 1);
    sigprocmask(SIG_SETMASK, &c->mask, NULL);
    execvp(c->step->program ? c->step->program : c->step->argv[0], c->step->argv);
    child_fails(c->step->argv[0], 127);
}

static pid_t start_child(const struct child *c)
{
    pid_t child = vfork(); /* fork would copy what exec throws away */
    if (child == 0)
        become_step(c);
    return child;
}

static int start_step(struct supervisor *s, const struct supervisor_step *step, struct error *err)
{
    int ends[2], reports[2] = {-1, -1};
    bool first = s->current < 0, reporting = first && s->plan->count > 1;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return error_errno(err, STATUS_FAILED, errno, "cannot make a pipe");
    if (reporting && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, reports) != 0) {
        close(ends[0]);
        close(ends[1]);
        return error_errno(err, STATUS_FAILED, errno, "cannot make a socket");
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    struct child c = {step, first ? NULL : s->members[s->current].dir, getpid(), ends[1], reports[1], s->inherited};
    const int heeded[] = {SIGTERM, SIGINT, SUPERVISOR_STOP_ONE};
    for (size_t i = 0; first && !step->foreign && i < sizeof heeded / sizeof heeded[0]; i++)
        sigaddset(&c.mask, heeded[i]);
    pid_t child = start_child(&c);
    int why = errno;
    close(ends[1]);
    if (reporting)
        close(reports[1]);
    s->output = ends[0];
    s->report = reports[0];
    if (child < 0)
        return error_errno(err, STATUS_FAILED, why, "cannot start it");
    s->child = child;
    return STATUS_OK;
}

static void pump(struct supervisor *s)
{
    char buffer[16384];
    ssize_t n;
    for (int turns = 0; turns < 64 && s->output >= 0; turns++) {
        n = read(s->output, buffer, sizeof buffer);
        if (n > 0) {
            members_log(s, buffer, (size_t)n);
        } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
            close(s->output);
            s->output = -1;
        } else if (errno == EAGAIN) {
            return;
        }
    }
}

/* Reap what ended. False once there is no child at all. */
static bool reap(struct supervisor *s)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid != s->child)
            continue;
        s->child = 0;
        s->status = status;
    }
    if (pid == 0 && !s->child && !s->stopping)
        stop_all(s, 0.001 * LEFTOVER_GRACE_MS); /* what the step left behind has no business any more */
    return pid == 0;
}

static void close_ends(struct supervisor *s)
{
    if (s->output >= 0)
        close(s->output);
    if (s->report >= 0)
        close(s->report);
    s->output = s->report = -1;
}

/* Until the step's process and all that came from it are gone. */
static void watch_step(struct supervisor *s)
{
    while (reap(s)) {
        struct pollfd fds[3] = {{s->signals, POLLIN, 0}, {s->output, POLLIN, 0}, {s->report, POLLIN, 0}};
        poll(fds, 3, wait_ms(s)); /* one of -1 is passed over */
        take_signals(s);
        pump(s);
        members_hear(s);
        if (s->report >= 0 && (fds[2].revents & POLLHUP)) {
            close(s->report);
            s->report = -1;
        }
        take_time(s);
    }
    pump(s);
    members_hear(s);
}

/* False, with the reason in the logs, when it could not be started. */
static bool do_step(struct supervisor *s, const struct supervisor_step *step)
{
    struct error err = {0};
    s->killing = s->stopping = false;
    s->kill_at = 0;
    for (int i = 0; i < s->plan->count; i++)
        if (s->current < 0 || s->current == i)
            snprintf(s->members[i].end.step, sizeof s->members[i].end.step, "%s", step->name);
    int status = start_step(s, step, &err);
    if (status) {
        members_log(s, step->name, strlen(step->name));
        members_log(s, ": ", 2);
        members_log(s, err.text, strlen(err.text));
    } else {
        watch_step(s);
    }
    close_ends(s);
    return !status;
}

/* --------------------------------------------------------------------------------------------- all steps */

/* One run's steps after the training. */
static void do_after(struct supervisor *s, struct member *m)
{
    s->current = (int)(m - s->members);
    for (int i = 0; i < m->run->after_count && !m->over; i++) {
        struct rusage before;
        getrusage(RUSAGE_CHILDREN, &before);
        if (do_step(s, &m->run->after[i])) {
            member_step_ended(s, m, &before);
        } else {
            member_not_started(s, m);
        }
    }
}

/* The steps after the training wait until all of a pack are trained: what they time would be disturbed by it. */
static void run_steps(struct supervisor *s)
{
    s->current = -1;
    if (!do_step(s, &s->plan->first)) {
        for (int i = 0; i < s->plan->count; i++)
            member_not_started(s, &s->members[i]);
        return;
    }
    members_conclude(s);
    for (int i = 0; i < s->plan->count; i++) {
        take_signals(s);
        take_time(s);
        if (!s->members[i].over)
            do_after(s, &s->members[i]);
    }
}

static int wait_for_go(const struct supervisor_plan *plan)
{
    char byte;
    ssize_t n = 1;
    while (plan->go >= 0 && (n = read(plan->go, &byte, 1)) < 0 && errno == EINTR)
        continue;
    if (plan->go >= 0)
        close(plan->go);
    return n == 1 ? 0 : -1;
}

/* Before the go: no signal that follows it may find the process unprepared. */
static int take_over_signals(struct supervisor *s)
{
    const int ours[] = {SIGCHLD, SIGTERM, SIGINT, SIGUSR1, SUPERVISOR_STOP_ONE};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
        sigaddset(&set, ours[i]);
    sigprocmask(SIG_BLOCK, &set, &s->inherited);
    for (size_t i = 1; i < sizeof ours / sizeof ours[0]; i++) /* whatever the parent blocked, a worker can be stopped */
        sigdelset(&s->inherited, ours[i]);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    s->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    return s->signals < 0 ? -1 : 0;
}

static int prepare(struct supervisor *s, struct error *err)
{
    s->begin = supervisor_now();
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
        return error_errno(err, STATUS_FAILED, errno, "cannot supervise");
    return members_open(s, err);
}

/* Its standard error may lead nowhere, so the logs are told too. */
static void refuse(const struct supervisor_plan *plan, const char *text)
{
    fprintf(stderr, "taper: worker: %s\n", text);
    for (int i = 0; i < plan->count; i++) {
        char *path = file_join(plan->runs[i].dir, RUNDIR_LOG);
        FILE *out = fopen(path, "ae");
        if (out) {
            fprintf(out, "worker: %s\n", text);
            fclose(out);
        }
        free(path);
    }
}

int supervisor_run(const struct supervisor_plan *plan)
{
    struct supervisor s = {.plan = plan, .signals = -1, .output = -1, .report = -1, .current = -1};
    struct error err = {0};
    prctl(PR_SET_NAME, "taper-watch");
    if (getsid(0) != getpid())
        setsid(); /* refused only to a group leader, whose group is then the shell's job */
    if (take_over_signals(&s) != 0)
        return 1;
    if (wait_for_go(plan) != 0)
        return SUPERVISOR_NOT_STARTED;
    s.members = memory_alloc((size_t)plan->count, sizeof *s.members);
    int status = prepare(&s, &err);
    if (status) {
        members_close(&s);
        refuse(plan, err.text);
        return status == STATUS_STOPPED ? SUPERVISOR_LOCKED : error_exit_code(status);
    }
    run_steps(&s);
    status = members_exit_status(&s);
    members_close(&s);
    return status;
}
