#include "harness/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/file.h"
#include "harness/log_writer.h"
#include "harness/process.h"

/* How often what refuses to end is killed again: a child may have been forked while the list was read. */
enum { KILL_AGAIN_MS = 20, LEFTOVER_GRACE_MS = 2000 };

struct supervisor {
    const struct supervisor_plan *plan;
    struct supervisor_end end;
    struct log_writer log;
    int signals, lock, output; /* signalfd, DIR/lock, our end of the worker's output */
    pid_t child;               /* the step's own process; 0 once it is gone */
    bool stopping, killing;
    double begin, kill_at, timeout_at; /* monotonic seconds; 0: not due */
    sigset_t inherited;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t); /* goes on while the machine sleeps, and is never set back */
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int64_t utc(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void signal_all(struct supervisor *s, int signal)
{
    size_t count;
    struct process_row *rows = process_descendants(getpid(), &count);
    for (size_t i = 0; i < count; i++)
        if (rows[i].state != 'Z' && process_signal_row(&rows[i], signal) && signal == SIGKILL && !s->child)
            s->end.killed++;
    free(rows);
}

static void stop_all(struct supervisor *s, double grace)
{
    if (s->killing)
        return;
    s->stopping = true;
    if (!s->kill_at || now() + grace < s->kill_at)
        s->kill_at = now() + grace;
    signal_all(s, SIGTERM);
}

static void kill_all(struct supervisor *s)
{
    s->stopping = s->killing = true;
    signal_all(s, SIGKILL);
    s->kill_at = now() + 0.001 * KILL_AGAIN_MS;
}

/* Runs in the child. Only exec or exit leave it. */
static void become_step(struct supervisor *s, const struct supervisor_step *step, pid_t supervisor, int output)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != supervisor) /* it died before the line above */
        _exit(SUPERVISOR_NOT_STARTED);
    int null = open("/dev/null", O_RDONLY);
    if (null > 0) {
        dup2(null, 0);
        close(null);
    }
    dup2(output, 1);
    dup2(output, 2);
    close(s->signals);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    sigprocmask(SIG_SETMASK, &s->inherited, NULL);
    if (step->call) {
        int code = step->call(step->arg);
        fflush(NULL);
        _exit(code);
    }
    execvp(step->argv[0], step->argv);
    fprintf(stderr, "%s: %s\n", step->argv[0], strerror(errno));
    fflush(stderr);
    _exit(127);
}

static int start_step(struct supervisor *s, const struct supervisor_step *step, struct error *err)
{
    int ends[2];
    pid_t self = getpid();
    if (pipe2(ends, O_CLOEXEC) != 0)
        return error_errno(err, STATUS_FAILED, errno, "cannot make a pipe");
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        become_step(s, step, self, ends[1]);
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        return error_errno(err, STATUS_FAILED, errno, "cannot fork");
    }
    s->child = child;
    s->output = ends[0];
    snprintf(s->end.step, sizeof s->end.step, "%s", step->name);
    return STATUS_OK;
}

static void pump(struct supervisor *s)
{
    char buffer[16384];
    ssize_t n;
    for (int turns = 0; turns < 64 && s->output >= 0; turns++) {
        n = read(s->output, buffer, sizeof buffer);
        if (n > 0) {
            log_writer_feed(&s->log, buffer, (size_t)n);
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
        if (WIFSIGNALED(status)) {
            s->end.cause = SUPERVISOR_SIGNALLED;
            s->end.signal = WTERMSIG(status);
        } else {
            s->end.cause = SUPERVISOR_EXITED;
            s->end.code = WEXITSTATUS(status);
        }
    }
    if (pid == 0 && !s->child && !s->stopping)
        stop_all(s, 0.001 * LEFTOVER_GRACE_MS); /* what the step left behind has no business any more */
    return pid == 0;
}

static void take_signals(struct supervisor *s)
{
    struct signalfd_siginfo info;
    while (read(s->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGCHLD)
            continue;
        s->end.asked = true;
        if (info.ssi_signo == SIGUSR1)
            kill_all(s);
        else
            stop_all(s, s->plan->grace);
    }
}

static int wait_ms(const struct supervisor *s)
{
    double at = s->kill_at;
    if (s->timeout_at && (!at || s->timeout_at < at))
        at = s->timeout_at;
    if (!at)
        return -1;
    double left = 1e3 * (at - now());
    return left <= 0 ? 0 : left > 1e6 ? 1000000 : (int)left + 1;
}

/* Until the step's process and all that came from it are gone. */
static void watch_step(struct supervisor *s)
{
    while (reap(s)) {
        struct pollfd fds[2] = {{s->signals, POLLIN, 0}, {s->output, POLLIN, 0}};
        poll(fds, s->output >= 0 ? 2 : 1, wait_ms(s));
        take_signals(s);
        pump(s);
        if (s->timeout_at && now() >= s->timeout_at) {
            s->timeout_at = 0;
            s->end.cause = SUPERVISOR_TIMED_OUT;
            log_writer_print(&s->log, "the time limit of %g s is over", s->plan->timeout);
            stop_all(s, s->plan->grace);
        }
        if (s->kill_at && now() >= s->kill_at)
            kill_all(s);
    }
    pump(s);
    if (s->output >= 0)
        close(s->output);
    s->output = -1;
}

static void run_steps(struct supervisor *s)
{
    bool timed_out = false;
    for (int i = 0; i < s->plan->count; i++) {
        struct error err = {0};
        s->killing = s->stopping = false;
        s->kill_at = 0;
        if (start_step(s, &s->plan->steps[i], &err)) {
            s->end.cause = SUPERVISOR_FAILED;
            log_writer_print(&s->log, "%s: %s", s->plan->steps[i].name, err.text);
            return;
        }
        bool had_limit = s->timeout_at != 0;
        watch_step(s);
        timed_out = had_limit && !s->timeout_at;
        if (timed_out && !(s->end.cause == SUPERVISOR_EXITED && s->end.code == 0))
            s->end.cause = SUPERVISOR_TIMED_OUT;
        if (s->end.cause != SUPERVISOR_EXITED || s->end.code != 0)
            return;
        if ((s->end.asked || timed_out) && i + 1 < s->plan->count) {
            /* Stopped between two steps: the ones left have to be done by another attempt. */
            s->end.cause = timed_out ? SUPERVISOR_TIMED_OUT : SUPERVISOR_EXITED;
            s->end.code = timed_out ? 0 : 3;
            return;
        }
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

static int prepare(struct supervisor *s, struct error *err)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, &s->inherited);
    sigdelset(&s->inherited, SIGTERM); /* whatever the parent blocked, a worker can be stopped */
    sigdelset(&s->inherited, SIGINT);
    sigdelset(&s->inherited, SIGUSR1);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    s->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (s->signals < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
        return error_errno(err, STATUS_FAILED, errno, "cannot supervise");
    int status = file_make_directories(s->plan->dir, err);
    if (!status && chdir(s->plan->dir) != 0)
        status = error_errno(err, STATUS_FAILED, errno, "%s", s->plan->dir);
    if (status)
        return status;
    s->lock = open("lock", O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (s->lock < 0)
        return error_errno(err, STATUS_FAILED, errno, "%s/lock", s->plan->dir);
    if (flock(s->lock, LOCK_EX | LOCK_NB) != 0)
        return error_set(err, STATUS_STOPPED, "%s: another worker is in this run directory", s->plan->dir);
    return log_writer_open(&s->log, "log.txt", err);
}

static void account(struct supervisor *s)
{
    struct rusage use;
    getrusage(RUSAGE_CHILDREN, &use);
    s->end.cpu_user = (double)use.ru_utime.tv_sec + 1e-6 * (double)use.ru_utime.tv_usec;
    s->end.cpu_system = (double)use.ru_stime.tv_sec + 1e-6 * (double)use.ru_stime.tv_usec;
    s->end.max_rss = (int64_t)use.ru_maxrss * 1024;
    s->end.seconds = now() - s->begin;
    s->end.ended = utc();
    memcpy(s->end.text, s->log.last, sizeof s->log.last);
}

static int exit_status(const struct supervisor_end *end)
{
    switch (end->cause) {
    case SUPERVISOR_EXITED:
        return end->code;
    case SUPERVISOR_SIGNALLED:
        return 128 + end->signal;
    case SUPERVISOR_TIMED_OUT:
        return SUPERVISOR_TIMEOUT;
    case SUPERVISOR_FAILED:
        break;
    }
    return 1;
}

/* Its standard error may lead nowhere, so the log is told too. */
static void refuse(const struct supervisor_plan *plan, const char *text)
{
    fprintf(stderr, "taper: worker: %s\n", text);
    char *path = file_join(plan->dir, "log.txt");
    FILE *out = fopen(path, "ae");
    if (out) {
        fprintf(out, "worker: %s\n", text);
        fclose(out);
    }
    free(path);
}

int supervisor_run(const struct supervisor_plan *plan)
{
    struct supervisor s = {.plan = plan, .signals = -1, .lock = -1, .output = -1};
    struct error err = {0};
    if (getsid(0) != getpid())
        setsid(); /* refused only to a group leader, whose group is then the shell's job */
    if (wait_for_go(plan) != 0)
        return SUPERVISOR_NOT_STARTED;
    int status = prepare(&s, &err);
    if (status) {
        refuse(plan, err.text);
        return status == STATUS_STOPPED ? SUPERVISOR_LOCKED : error_exit_code(status);
    }
    s.begin = now();
    s.timeout_at = plan->timeout > 0 ? s.begin + plan->timeout : 0;
    s.end.attempt = plan->attempt;
    s.end.started = utc();
    snprintf(s.end.token, sizeof s.end.token, "%s", plan->token ? plan->token : "");
    run_steps(&s);
    if (s.log.used)
        log_writer_feed(&s.log, "\n", 1);
    account(&s);
    if (supervisor_end_write("exit.json", &s.end, &err))
        log_writer_print(&s.log, "%s", err.text);
    log_writer_close(&s.log);
    return exit_status(&s.end);
}
