#include "tests/support/scheduler_bed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/file.h"
#include "core/base/memory.h"

struct scheduler_bed bed;

struct executor *const *bed_executors;

static void answer(struct executor_job *first, const struct error *why)
{
    const struct executor_started started = {.handles = first->handles, .waits = bed.executor.waits};
    struct executor *base = &bed.executor.base;
    first->answered = true;
    base->on_start(base->arg, first, why ? NULL : &started, why);
}

static void on_answer(uv_timer_t *timer)
{
    struct scripted *s = timer->data;
    for (int i = 0; i < s->count; i++)
        if (s->jobs[i].first == &s->jobs[i] && !s->jobs[i].answered)
            answer(&s->jobs[i], NULL);
}

void bed_answers(int job, const char *why)
{
    struct error err = {0};
    if (why)
        error_set(&err, STATUS_FAILED, "%s", why);
    answer(bed.executor.jobs[job].first, why ? &err : NULL);
    bed_turn();
}

static int scripted_start(struct executor *base, const struct executor_launch *launch, struct executor_job **out,
                          struct executor_started *started, struct error *err)
{
    struct scripted *s = (struct scripted *)base;
    if (s->refuse)
        return error_set(err, STATUS_FAILED, "no processes left");
    struct executor_job *first = &s->jobs[s->count];
    for (int i = 0; i < launch->count; i++) {
        struct executor_job *job = &s->jobs[s->count];
        *job = (struct executor_job){
            .first = first, .place = i, .attempt = launch->runs[i].attempt, .threads = launch->threads};
        snprintf(job->dir, sizeof job->dir, "%s", launch->runs[i].dir);
        snprintf(job->handle, sizeof job->handle, "job %d", s->count++);
        first->handles[i] = job->handle;
    }
    if (!s->slow && !s->waits) {
        first->answered = true;
        *started = (struct executor_started){.handles = first->handles};
    } else if (!s->slow) {
        uv_timer_start(&s->answer, on_answer, 0, 0);
    }
    *out = first;
    return STATUS_OK;
}

static void scripted_release(struct executor *base, struct executor_job *job)
{
    (void)base;
    job->released = true;
}

static int scripted_adopt(struct executor *base, const char *handle, const char *dir, int attempt,
                          struct executor_job **out, int *place, struct error *err)
{
    struct scripted *s = (struct scripted *)base;
    (void)dir, (void)attempt;
    for (int i = 0; i < s->count; i++)
        if (strcmp(s->jobs[i].handle, handle) == 0) {
            *out = s->jobs[i].first;
            *place = s->jobs[i].place;
            return STATUS_OK;
        }
    return error_set(err, STATUS_BAD_INPUT, "no job");
}

static void scripted_stop(struct executor *base, struct executor_job *job, int place, enum executor_stop how)
{
    struct scripted *s = (struct scripted *)base;
    for (int i = 0; i < s->count; i++) {
        if (s->jobs[i].first != job || (place != EXECUTOR_ALL && s->jobs[i].place != place))
            continue;
        s->jobs[i].stopped = true;
        s->jobs[i].killed |= how == EXECUTOR_KILL;
    }
}

static void scripted_destroy(struct executor *base)
{
    (void)base;
}

void bed_open(int slots, double retry_delay)
{
    assert_int_equal(store_open(&bed.store, &bed.home, STORE_WRITE, NULL), STATUS_OK);
    uv_loop_init(&bed.loop);
    static struct executor *alone[2];
    alone[0] = &bed.executor.base;
    uv_timer_init(&bed.loop, &bed.executor.answer);
    bed.executor.answer.data = &bed.executor;
    executor_use_slots(&bed.executor.base, slots_create(&(struct slots_options){
                                               .cpu = slots, .gpu_runs = bed.gpu_runs, .gpu_foreign = 1 << 20}));
    struct scheduler_options options = {.loop = &bed.loop,
                                        .home = &bed.home,
                                        .store = bed.store,
                                        .executors = bed_executors ? bed_executors : alone,
                                        .grace = 1,
                                        .retry_delay = retry_delay,
                                        .aside_after = 3};
    bed.scheduler = scheduler_create(&options);
}

void bed_close(void)
{
    scheduler_destroy(bed.scheduler);
    uv_close((uv_handle_t *)&bed.executor.answer, NULL);
    uv_run(&bed.loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&bed.loop), 0);
    slots_destroy(bed.executor.base.slots);
    store_close(bed.store);
}

int bed_make(void **state)
{
    (void)state;
    memset(&bed, 0, sizeof bed);
    bed.executor.base = (struct executor){.name = "scripted",
                                          .most = SCRIPTED_PACK_MOST,
                                          .start = scripted_start,
                                          .release = scripted_release,
                                          .adopt = scripted_adopt,
                                          .stop = scripted_stop,
                                          .destroy = scripted_destroy};
    snprintf(bed.folder, sizeof bed.folder, "/tmp/taper-s.XXXXXX");
    return mkdtemp(bed.folder) && home_init(&bed.home, bed.folder, true, NULL) == STATUS_OK ? 0 : -1;
}

int bed_drop(void **state)
{
    (void)state;
    char *command = memory_format("rm -rf '%s'", bed.folder);
    int code = system(command);
    free(command);
    home_fini(&bed.home);
    return code;
}

static int plain_digests(const struct config *cfg, char *corpus, char *tokenizer, struct error *err)
{
    (void)cfg, (void)err;
    snprintf(corpus, 65, "corpus");
    snprintf(tokenizer, 65, "tokenizer");
    return STATUS_OK;
}

void bed_submit(const char *name, int first, int last, const char *rest)
{
    struct spec spec;
    struct store_submitted done;
    struct error err = {0};
    char *text = memory_format("sweep: %s\nbase: {%s}\ngrid: {seed: {range: [%d, %d]}}\n%s\n", name,
                               bed.base ? bed.base : "model.size: demo", first, last, rest);
    int status = spec_parse(&spec, text, strlen(text), "test.yaml", "/", NULL, &err);
    if (!status)
        status = store_submit(bed.store, &spec, plain_digests, false, NULL, &done, &err);
    if (status)
        print_error("%s\n", err.text);
    assert_int_equal(status, STATUS_OK);
    spec_fini(&spec);
    free(text);
    scheduler_kick(bed.scheduler);
}

void bed_turn(void)
{
    for (int i = 0; i < 3; i++)
        uv_run(&bed.loop, UV_RUN_NOWAIT);
}

void bed_until_started(int count)
{
    uint64_t begin = uv_hrtime();
    while (bed.executor.count < count && uv_hrtime() - begin < 10000000000u)
        uv_run(&bed.loop, UV_RUN_ONCE);
    assert_int_equal(bed.executor.count, count);
}

void bed_ends_with(int job, enum outcome outcome, int signal, const char *text)
{
    struct executor_end end = {.outcome = outcome,
                               .code = outcome <= OUTCOME_DISK ? (int)outcome : -1,
                               .signal = signal,
                               .cpu_us = 5,
                               .peak_bytes = 6,
                               .text = text,
                               .asked = bed.executor.jobs[job].stopped};
    bed.executor.jobs[job].over = true;
    bed.executor.base.on_end(bed.executor.base.arg, bed.executor.jobs[job].first, bed.executor.jobs[job].place, &end);
    bed_turn();
}

void bed_ends(int job, enum outcome outcome)
{
    bed_ends_with(job, outcome, outcome == OUTCOME_SIGNAL ? 9 : -1, "");
}

struct store_run bed_run(int job)
{
    struct store_run run;
    assert_int_equal(store_run_find(bed.store, strrchr(bed.executor.jobs[job].dir, '/') + 1, &run, NULL), STATUS_OK);
    return run;
}

void bed_state_is(int job, enum run_state want)
{
    enum run_state got = bed_run(job).state;
    if (got != want)
        print_error("job %d: %s, want %s\n", job, run_state_name(got), run_state_name(want));
    assert_int_equal(got, want);
}
