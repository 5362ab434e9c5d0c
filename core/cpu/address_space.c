#include "core/cpu/address_space.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "core/base/error.h"

enum { PATIENCE_NS = 500000000 };

static struct {
    bool armed;
    timer_t timer;
    struct sigaction before;
    char text[400]; /* made beforehand: a handler may not format */
} guard;

bool address_space_limited(char *to, size_t room)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return false;
    snprintf(to, room,
             "the address space is limited to %.0f MiB (ulimit -v), too little for OpenBLAS, which takes some 350 MiB "
             "and 130 MiB more for each thread",
             (double)limit.rlim_cur / 1048576);
    return true;
}

static void give_up(int signal)
{
    (void)signal;
    ssize_t wrote = write(STDERR_FILENO, guard.text, strlen(guard.text));
    (void)wrote;
    _exit(-STATUS_MEMORY);
}

void address_space_guard(void)
{
    char limit[300];
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF};
    const struct itimerspec once = {.it_value = {.tv_nsec = PATIENCE_NS}};
    struct sigaction action = {.sa_handler = give_up};
    if (!address_space_limited(limit, sizeof limit) || timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &guard.timer) != 0)
        return;
    snprintf(guard.text, sizeof guard.text, "taper: %s\n", limit);
    sigaction(SIGPROF, &action, &guard.before);
    timer_settime(guard.timer, 0, &once, NULL);
    guard.armed = true;
}

void address_space_release(void)
{
    if (!guard.armed)
        return;
    timer_delete(guard.timer);
    sigaction(SIGPROF, &guard.before, NULL);
    guard.armed = false;
}
