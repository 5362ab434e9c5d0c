/* Which GPUs get no runs: one on which run after run fails at once is set aside. It is always free, so alone it would
 * fail all of the queue. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "harness/queue/scheduler_internal.h"
#include "harness/store/store_device.h"

enum { QUICK_S = 30 }; /* an ill GPU may take its time to say so */

/* The runs that failed at once on a GPU, one after the other. */
struct device_failures {
    char device[SLOTS_DEVICE];
    char runs[SCHEDULER_ASIDE_MOST][CONFIG_ID];
    int count;
    int credit; /* so many more failures there are taken for the run's own, if it failed elsewhere too */
};

static struct device_failures *failures_of(struct scheduler *s, const char *device)
{
    for (int i = 0; i < s->failing_count; i++)
        if (strcmp(s->failing[i].device, device) == 0)
            return &s->failing[i];
    s->failing = memory_resize(s->failing, (size_t)s->failing_count + 1, sizeof *s->failing);
    struct device_failures *f = &s->failing[s->failing_count++];
    *f = (struct device_failures){0};
    snprintf(f->device, sizeof f->device, "%s", device);
    return f;
}

/* The row of failures is over: it works (credit), or somebody says so (none). */
static void clear_failures(struct scheduler *s, const char *device, int credit)
{
    struct device_failures *f = failures_of(s, device);
    f->count = 0;
    f->credit = credit;
}

/* Whether a run is among the failures, and no longer is. */
static bool strike_out(struct device_failures *f, const char *run)
{
    for (int i = 0; i < f->count; i++)
        if (strcmp(f->runs[i], run) == 0) {
            memmove(f->runs[i], f->runs[i + 1], sizeof f->runs[0] * (size_t)(--f->count - i));
            return true;
        }
    return false;
}

static void set_aside(struct scheduler *s, const struct job *job, struct device_failures *f)
{
    char why[SLOTS_WHY];
    int64_t since;
    struct error err = {0};
    json_t *text = json_string(job->text); /* it may have been cut inside a character */
    snprintf(why, sizeof why, "%d run%s in a row failed there at once, the last %s%s%s", f->count,
             f->count == 1 ? "" : "s", job->run, text && job->text[0] ? ": " : "", text ? job->text : "");
    json_decref(text);
    if (store_device_set_aside(s->o.store, f->device, why, &since, &err)) {
        scheduler_log(s, "device %s could not be set aside: %s", f->device, err.text);
        strike_out(f, job->run); /* the next failure tries again */
        return;
    }
    slots_set_aside(job->crew->executor->slots, f->device, why, since);
    scheduler_log(s, "device %s is set aside: %s; 'taper devices --use %s' takes it back", f->device, why, f->device);
}

/* What fails on another GPU too, one that has just worked, is the run's own and counts against neither. Only so often
 * before that one works again: it may have broken meanwhile. */
static bool is_own(struct scheduler *s, struct device_failures *here, const char *run)
{
    bool elsewhere = false;
    for (int i = 0; i < s->failing_count && here->credit > 0; i++)
        elsewhere |= &s->failing[i] != here && strike_out(&s->failing[i], run);
    here->credit -= elsewhere;
    return elsewhere;
}

static void count_failure(struct scheduler *s, const struct job *job)
{
    struct device_failures *here = failures_of(s, job->crew->grant.device);
    if (is_own(s, here, job->run) || here->count == s->o.aside_after) /* that one is aside: its last runs end */
        return;
    strike_out(here, job->run); /* each run once */
    memcpy(here->runs[here->count++], job->run, CONFIG_ID);
    if (here->count >= s->o.aside_after)
        set_aside(s, job, here);
}

void scheduler_judge_device(struct scheduler *s, const struct job *job, enum outcome cause)
{
    struct crew *crew = job->crew;
    const bool failed = cause == OUTCOME_FAILED || cause == OUTCOME_SIGNAL;
    const bool quick = uv_hrtime() - job->begun < QUICK_S * 1000000000ull;
    if (crew->grant.pool != DEVICE_CUDA || s->o.aside_after < 1 || !crew->executor->slots)
        return;
    if (cause == OUTCOME_DONE || cause == OUTCOME_DIVERGED || cause == OUTCOME_TIMEOUT || (failed && !quick)) {
        clear_failures(s, crew->grant.device, s->o.aside_after);
    } else if (failed && !job->adopted && !crew->blamed) {
        crew->blamed = true;
        count_failure(s, job);
    }
}

static void reload(void *arg, const char *device, const char *why, int64_t since)
{
    struct scheduler *s = arg;
    for (struct executor *const *ex = s->o.executors; *ex; ex++)
        if ((*ex)->slots)
            slots_set_aside((*ex)->slots, device, why, since);
}

int scheduler_recover_devices(struct scheduler *s, struct error *err)
{
    return store_devices_aside(s->o.store, reload, s, err);
}

void scheduler_use_device(struct scheduler *s, const char *device)
{
    reload(s, device, NULL, 0);
    clear_failures(s, device, 0);
    scheduler_log(s, "device %s is taken back", device);
    scheduler_changed(s);
    scheduler_kick(s);
}
