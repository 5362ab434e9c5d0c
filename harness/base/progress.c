#include "harness/base/format.h"
#include "harness/base/progress.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double now_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void progress_begin(struct progress_line *p)
{
    *p = (struct progress_line){.terminal = isatty(STDERR_FILENO), .said = now_seconds()};
}

enum { SAY_SECONDS = 10, SAY_PARTS = 20 };

/* "step 40/300  loss 5.1234  gate 0.87  9000 tokens/s  12s left", or what else is going on. */
static void put_progress(const struct train_progress *t)
{
    char left[32], loss[32];
    bool trains = strcmp(t->phase, "train") == 0;
    fprintf(stderr, "step %lld/%lld", (long long)t->step, (long long)t->steps);
    if (trains)
        fprintf(stderr, "  loss %s  gate %.2f  %.0f tokens/s  %s left", format_fixed(loss, t->loss, 4), t->gate,
                t->tokens_per_s, format_duration(left, t->seconds_left));
    else
        fprintf(stderr, "  %s ...", t->phase);
}

/* A log has whole lines: several trainings of a process may write there at once. */
static void say_line(struct progress_line *p, const struct train_progress *t)
{
    double since = now_seconds() - p->said;
    bool trains = strcmp(t->phase, "train") == 0;
    bool last = trains && t->step == t->steps && p->step != t->step;
    bool part = trains && t->step * SAY_PARTS / t->steps > p->step * SAY_PARTS / t->steps && since >= 1;
    if (since < SAY_SECONDS && !last && !part)
        return;
    p->said += since;
    p->step = t->step;
    flockfile(stderr);
    if (p->name)
        fprintf(stderr, "%s: ", p->name);
    put_progress(t);
    fputc('\n', stderr);
    funlockfile(stderr);
}

void progress_train(void *arg, const struct train_progress *t)
{
    struct progress_line *p = arg;
    if (!p->terminal) {
        say_line(p, t);
        return;
    }
    double now = now_seconds();
    bool last = t->step == t->steps;
    if (now - p->drawn < 0.1 && !last && strcmp(t->phase, "train") == 0)
        return;
    p->drawn = now;
    p->dirty = 1;
    fputs("\r\033[K", stderr);
    put_progress(t);
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
