#include "harness/base/format.h"
#include "harness/base/progress.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void progress_begin(struct progress_line *p)
{
    *p = (struct progress_line){.terminal = isatty(STDERR_FILENO)};
}

static double now_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void progress_train(void *arg, const struct train_progress *t)
{
    struct progress_line *p = arg;
    char left[32];
    double now = now_seconds();
    bool last = t->step == t->steps;
    if (!p->terminal || (now - p->drawn < 0.1 && !last && strcmp(t->phase, "train") == 0))
        return;
    p->drawn = now;
    p->dirty = 1;
    if (strcmp(t->phase, "train") == 0)
        fprintf(stderr, "\r\033[Kstep %lld/%lld  loss %.4f  gate %.2f  %.0f tokens/s  %s left", (long long)t->step,
                (long long)t->steps, t->loss, t->gate, t->tokens_per_s, format_duration(left, t->seconds_left));
    else
        fprintf(stderr, "\r\033[Kstep %lld/%lld  %s ...", (long long)t->step, (long long)t->steps, t->phase);
    fflush(stderr);
}

void progress_item(struct progress_line *p, int total, const char *what)
{
    p->begun++;
    if (!p->terminal)
        return;
    p->dirty = 1;
    fprintf(stderr, "\r\033[K%d of %d: %s ...", p->begun, total, what);
    fflush(stderr);
}

void progress_end(struct progress_line *p)
{
    if (p->dirty)
        fputs("\r\033[K", stderr);
    p->dirty = 0;
}
