/* The scheduler over a real store and an executor that does what the test says: order, retries, cancels, lost ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/file.h"
#include "core/memory.h"
#include "core/trainer.h"
#include "harness/scheduler.h"

/* ---------------------------------------------------------------------------------- an executor under control */

enum { JOBS_MOST = 256, PACK_MOST = 8 };

/* One attempt is one job here, except in a pack: there the job is its first attempt's, and the others know it. */
struct executor_job {
    struct executor_job *first; /* itself, or the pack's */
    int place;
    char dir[512], handle[32];
    char *handles[PACK_MOST];
    int attempt, threads;
    bool released, stopped, killed, over;
};

struct scripted {
    struct executor base;
    struct executor_job jobs[JOBS_MOST];
    int count;
    bool refuse; /* the next starts fail */
};

static int scripted_start(struct executor *base, const struct executor_launch *launch, struct executor_started *out,
                          struct error *err)
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
    *out = (struct executor_started){.job = first, .handles = first->handles};
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

static bool scripted_owns(struct executor *base, pid_t pid)
{
    (void)base, (void)pid;
    return false;
}

static void scripted_destroy(struct executor *base)
{
    (void)base;
}

/* ---------------------------------------------------------------------------------- one home for a test */

struct bench {
    char folder[64];
    uv_loop_t loop;
    struct home home;
    struct store *store;
    struct scripted executor;
    struct slots *slots;
    struct scheduler *scheduler;
};

static struct bench b;

static void open_scheduler(int slots, double retry_delay)
{
    assert_int_equal(store_open(&b.store, &b.home, STORE_WRITE, NULL), STATUS_OK);
    uv_loop_init(&b.loop);
    b.slots = slots_create(&(struct slots_options){.cpu = slots});
    struct scheduler_options options = {.loop = &b.loop,
                                        .home = &b.home,
                                        .store = b.store,
                                        .executor = &b.executor.base,
                                        .slots = b.slots,
                                        .grace = 1,
                                        .retry_delay = retry_delay};
    b.scheduler = scheduler_create(&options);
}

static void close_scheduler(void)
{
    scheduler_destroy(b.scheduler);
    uv_run(&b.loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&b.loop), 0);
    slots_destroy(b.slots);
    store_close(b.store);
}

static int make_home(void **state)
{
    (void)state;
    memset(&b, 0, sizeof b);
    b.executor.base = (struct executor){.name = "scripted",
                                        .most = PACK_MOST,
                                        .start = scripted_start,
                                        .release = scripted_release,
                                        .adopt = scripted_adopt,
                                        .stop = scripted_stop,
                                        .owns = scripted_owns,
                                        .destroy = scripted_destroy};
    snprintf(b.folder, sizeof b.folder, "/tmp/taper-s.XXXXXX");
    return mkdtemp(b.folder) && home_init(&b.home, b.folder, true, NULL) == STATUS_OK ? 0 : -1;
}

static int drop_home(void **state)
{
    (void)state;
    char *command = memory_format("rm -rf '%s'", b.folder);
    int code = system(command);
    free(command);
    home_fini(&b.home);
    return code;
}

static int plain_digests(const struct config *cfg, char *corpus, char *tokenizer, struct error *err)
{
    (void)cfg, (void)err;
    snprintf(corpus, 65, "corpus");
    snprintf(tokenizer, 65, "tokenizer");
    return STATUS_OK;
}

static void submit(const char *name, int first, int last, const char *rest)
{
    struct spec spec;
    struct store_submitted done;
    struct error err = {0};
    char *text = memory_format("sweep: %s\nbase: {model.size: demo}\ngrid: {seed: {range: [%d, %d]}}\n%s\n", name,
                               first, last, rest);
    int status = spec_parse(&spec, text, strlen(text), "test.yaml", "/", NULL, &err);
    if (!status)
        status = store_submit(b.store, &spec, plain_digests, &done, &err);
    if (status)
        print_error("%s\n", err.text);
    assert_int_equal(status, STATUS_OK);
    spec_fini(&spec);
    free(text);
    scheduler_kick(b.scheduler);
}

static void turn(void)
{
    for (int i = 0; i < 3; i++)
        uv_run(&b.loop, UV_RUN_NOWAIT);
}

/* Turn the loop until `count` jobs have been started in all, ten seconds at most. */
static void until_started(int count)
{
    uint64_t begin = uv_hrtime();
    while (b.executor.count < count && uv_hrtime() - begin < 10000000000u)
        uv_run(&b.loop, UV_RUN_ONCE);
    assert_int_equal(b.executor.count, count);
}

static void ends_with(int job, enum executor_cause cause, int code, const char *text)
{
    struct executor_end end = {.cause = cause,
                               .code = cause == EXECUTOR_EXITED ? code : -1,
                               .signal = cause == EXECUTOR_SIGNALLED ? code : -1,
                               .cpu_us = 5,
                               .peak_bytes = 6,
                               .text = text,
                               .asked = b.executor.jobs[job].stopped};
    b.executor.jobs[job].over = true;
    b.executor.base.on_end(b.executor.base.arg, b.executor.jobs[job].first, b.executor.jobs[job].place, &end);
    turn();
}

static void ends(int job, enum executor_cause cause, int code)
{
    ends_with(job, cause, code, "");
}

static struct store_run run_of(int job)
{
    struct store_run run;
    assert_int_equal(store_run_find(b.store, strrchr(b.executor.jobs[job].dir, '/') + 1, &run, NULL), STATUS_OK);
    return run;
}

static void state_is(int job, enum run_state want)
{
    enum run_state got = run_of(job).state;
    if (got != want)
        print_error("job %d: %s, want %s\n", job, run_state_name(got), run_state_name(want));
    assert_int_equal(got, want);
}

/* ---------------------------------------------------------------------------------- tests */

static void in_the_order_of_priority_and_arrival(void **state)
{
    (void)state;
    open_scheduler(2, 5);
    submit("low", 0, 2, "run: {priority: -1}");
    submit("first", 10, 11, "");
    submit("second", 20, 21, "");
    submit("high", 30, 31, "run: {priority: 9}");
    const int want[] = {30, 31, 10, 11, 20, 21, 0, 1, 2};
    turn();
    assert_int_equal(b.executor.count, 2);
    for (int i = 0; i < 9; i++) {
        assert_true(b.executor.count > i);
        assert_true(b.executor.jobs[i].released);
        assert_int_equal(run_of(i).seed, want[i]);
        state_is(i, RUN_RUNNING);
        ends(i, EXECUTOR_EXITED, 0);
        state_is(i, RUN_DONE);
    }
    assert_int_equal(b.executor.count, 9);
    assert_int_equal(scheduler_live(b.scheduler), 0);
    assert_int_equal(slots_free(b.slots, DEVICE_CPU), 2);
    close_scheduler();
}

static void wide_runs_are_waited_for(void **state)
{
    (void)state;
    open_scheduler(2, 5);
    submit("narrow", 0, 0, "");
    submit("wide", 1, 1, "run: {slots: 2}");
    submit("late", 2, 2, "");
    submit("never", 3, 3, "run: {slots: 3, priority: 9}");
    turn();
    assert_int_equal(b.executor.count, 1); /* the late one does not pass the wide one */
    ends(0, EXECUTOR_EXITED, 0);
    assert_int_equal(b.executor.count, 2);
    assert_int_equal(run_of(1).seed, 1);
    ends(1, EXECUTOR_EXITED, 0);
    assert_int_equal(b.executor.count, 3);
    assert_int_equal(run_of(2).seed, 2);
    ends(2, EXECUTOR_EXITED, 0);
    assert_int_equal(b.executor.count, 3); /* what can never fit holds nobody up */
    close_scheduler();
}

static void failures_are_retried_with_growing_delays(void **state)
{
    (void)state;
    open_scheduler(1, 0.05);
    submit("a", 0, 0, "run: {retries: 3}");
    turn();
    uint64_t waited[4];
    for (int i = 0; i < 4; i++) {
        uint64_t begin = uv_hrtime();
        until_started(i + 1);
        waited[i] = (uv_hrtime() - begin) / 1000000;
        assert_int_equal(b.executor.jobs[i].attempt, i + 1);
        ends(i, i == 1 ? EXECUTOR_SIGNALLED : i == 2 ? EXECUTOR_TIMED_OUT : EXECUTOR_EXITED, i == 1 ? 11 : 1);
        state_is(i, i < 3 ? RUN_QUEUED : RUN_FAILED);
        assert_int_equal(run_of(i).failures, i + 1);
    }
    assert_true(waited[1] >= 40 && waited[2] >= 90 && waited[3] >= 180);
    struct store_changed changed;
    assert_int_equal(store_retry(b.store, "a", NULL, &changed, NULL), STATUS_OK);
    scheduler_kick(b.scheduler);
    turn();
    assert_int_equal(b.executor.count, 5); /* at once, with its retries back */
    ends(4, EXECUTOR_EXITED, 1);
    state_is(4, RUN_QUEUED);
    close_scheduler();
}

/* Too little memory is told apart from other failures, and tried again like them. */
static void memory_that_ran_out(void **state)
{
    (void)state;
    static const char *const texts[] = {"taper: worker: device: cuda: out of memory: the run takes about 20 MiB",
                                        "taper: worker: step 3: no space for it"};
    static const char *const causes[] = {"memory", "failed"};
    open_scheduler(1, 0);
    submit("a", 0, 0, "run: {retries: 1}");
    for (int i = 0; i < 2; i++) {
        struct store_attempt attempt;
        until_started(i + 1);
        char *run = memory_string(run_of(i).id);
        ends_with(i, EXECUTOR_EXITED, 1, texts[i]);
        assert_int_equal(run_of(i).failures, i + 1);
        assert_int_equal(store_attempt_get(b.store, run, i + 1, &attempt, NULL), STATUS_OK);
        assert_string_equal(attempt.cause, causes[i]);
        store_attempt_fini(&attempt);
        free(run);
    }
    state_is(1, RUN_FAILED);
    close_scheduler();
}

/* Training is deterministic: what was not finite once will be again, however many retries there are. */
static void what_diverged_is_not_tried_again(void **state)
{
    (void)state;
    struct store_attempt attempt;
    open_scheduler(1, 0);
    submit("a", 0, 0, "run: {retries: 5}");
    turn();
    char *run = memory_string(run_of(0).id);
    ends_with(0, EXECUTOR_EXITED, 1, "taper: worker: step 3: " TRAINER_NOT_FINITE "nan, aux 0, gradient norm nan");
    state_is(0, RUN_FAILED);
    assert_int_equal(store_attempt_get(b.store, run, 1, &attempt, NULL), STATUS_OK);
    assert_string_equal(attempt.cause, "diverged");
    store_attempt_fini(&attempt);
    free(run);
    close_scheduler();
}

static void what_does_not_count(void **state)
{
    (void)state;
    open_scheduler(1, 0);
    submit("a", 0, 0, "run: {retries: 0}");
    turn();
    ends(0, EXECUTOR_LOST, 0);
    ends(1, EXECUTOR_NOT_STARTED, 0);
    ends(2, EXECUTOR_EXITED, 3);
    assert_int_equal(b.executor.count, 4);
    assert_int_equal(run_of(3).failures, 0);
    ends(3, EXECUTOR_EXITED, 2);
    state_is(3, RUN_FAILED);
    close_scheduler();
}

static void lost_again_and_again_waits(void **state)
{
    (void)state;
    open_scheduler(1, 0.1);
    submit("a", 0, 0, "");
    turn();
    ends(0, EXECUTOR_LOST, 0);
    assert_int_equal(b.executor.count, 2); /* the first time at once */
    uint64_t begin = uv_hrtime();
    ends(1, EXECUTOR_LOST, 0);
    assert_int_equal(b.executor.count, 2);
    until_started(3);
    assert_true(uv_hrtime() - begin > 90000000u);
    close_scheduler();
}

static void a_start_that_fails_counts(void **state)
{
    (void)state;
    open_scheduler(1, 0);
    b.executor.refuse = true;
    submit("a", 0, 0, "run: {retries: 2}");
    for (int i = 0; i < 20; i++)
        turn();
    struct store_run run;
    sqlite3_stmt *row;
    sqlite3_prepare_v2(store_connection(b.store), "SELECT id FROM run", -1, &row, NULL);
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    assert_int_equal(store_run_find(b.store, (const char *)sqlite3_column_text(row, 0), &run, NULL), STATUS_OK);
    sqlite3_finalize(row);
    assert_int_equal(run.state, RUN_FAILED);
    assert_int_equal(run.attempts, 3);
    assert_int_equal(slots_free(b.slots, DEVICE_CPU), 1);
    close_scheduler();
}

static void cancelled_only_when_gone(void **state)
{
    (void)state;
    struct store_changed changed;
    open_scheduler(2, 0);
    submit("a", 0, 3, "");
    turn();
    assert_int_equal(store_cancel(b.store, "a", NULL, "test", &changed, NULL), STATUS_OK);
    assert_int_equal(changed.queued, 2);
    assert_int_equal(changed.live, 2);
    scheduler_cancel(b.scheduler);
    assert_true(b.executor.jobs[0].stopped && b.executor.jobs[1].stopped);
    assert_false(b.executor.jobs[0].killed);
    state_is(0, RUN_RUNNING);
    assert_int_equal(slots_free(b.slots, DEVICE_CPU), 0);
    ends(0, EXECUTOR_SIGNALLED, 9);
    state_is(0, RUN_CANCELLED);
    assert_int_equal(slots_free(b.slots, DEVICE_CPU), 1);
    ends(1, EXECUTOR_EXITED, 0); /* it got done all the same */
    state_is(1, RUN_DONE);
    assert_int_equal(b.executor.count, 2);
    close_scheduler();
}

static void the_first_failure_takes_the_others_along(void **state)
{
    (void)state;
    open_scheduler(2, 0);
    submit("fast", 0, 4, "run: {retries: 0, fail_fast: true}");
    submit("other", 10, 10, "");
    turn();
    ends(0, EXECUTOR_EXITED, 1);
    state_is(0, RUN_FAILED);
    assert_true(b.executor.jobs[1].stopped);
    ends(1, EXECUTOR_EXITED, 3);
    state_is(1, RUN_CANCELLED);
    assert_int_equal(b.executor.count, 3);
    assert_int_equal(run_of(2).seed, 10); /* only the other sweep's run was started since */
    close_scheduler();
}

static void paused_sweeps_start_nothing(void **state)
{
    (void)state;
    open_scheduler(2, 0);
    submit("a", 0, 3, "");
    submit("b", 10, 10, "");
    turn();
    assert_int_equal(store_sweep_pause(b.store, "a", true, NULL), STATUS_OK);
    ends(0, EXECUTOR_EXITED, 0);
    assert_int_equal(run_of(2).seed, 10);
    ends(1, EXECUTOR_EXITED, 0);
    assert_int_equal(b.executor.count, 3);
    assert_int_equal(store_sweep_pause(b.store, "a", false, NULL), STATUS_OK);
    scheduler_kick(b.scheduler);
    turn();
    assert_int_equal(b.executor.count, 4);
    close_scheduler();
}

static void attempts_are_taken_over(void **state)
{
    (void)state;
    open_scheduler(2, 0);
    submit("a", 0, 2, "");
    turn();
    assert_int_equal(b.executor.count, 2);
    close_scheduler(); /* as after a crash: nothing was said */
    open_scheduler(2, 0);
    assert_int_equal(scheduler_recover(b.scheduler, NULL), STATUS_OK);
    turn();
    assert_int_equal(scheduler_live(b.scheduler), 2);
    assert_int_equal(slots_free(b.slots, DEVICE_CPU), 0);
    assert_int_equal(b.executor.count, 2); /* nothing was started twice */
    ends(0, EXECUTOR_EXITED, 0);
    state_is(0, RUN_DONE);
    assert_int_equal(b.executor.count, 3);
    ends(1, EXECUTOR_LOST, 0);
    assert_int_equal(b.executor.jobs[3].attempt, 2);
    close_scheduler();
    /* One whose handle nobody knows any more. */
    b.executor.jobs[2].handle[0] = '?';
    open_scheduler(2, 0);
    assert_int_equal(scheduler_recover(b.scheduler, NULL), STATUS_OK);
    turn();
    assert_int_equal(b.executor.count, 5);
    assert_int_equal(scheduler_live(b.scheduler), 2);
    close_scheduler();
}

static void draining_starts_nothing(void **state)
{
    (void)state;
    open_scheduler(2, 0);
    submit("a", 0, 5, "");
    turn();
    scheduler_drain(b.scheduler, true, EXECUTOR_STOP);
    assert_true(b.executor.jobs[0].stopped && b.executor.jobs[1].stopped);
    ends(0, EXECUTOR_EXITED, 3);
    ends(1, EXECUTOR_SIGNALLED, 9); /* the grace was over */
    assert_int_equal(b.executor.count, 2);
    assert_int_equal(scheduler_live(b.scheduler), 0);
    state_is(0, RUN_QUEUED);
    state_is(1, RUN_QUEUED);
    assert_int_equal(run_of(1).failures, 0);
    close_scheduler();
}

/* ---------------------------------------------------------------------------------- packs */

static void packs_are_of_equal_shape(void **state)
{
    (void)state;
    open_scheduler(2, 5);
    submit("a", 0, 0, "variants: {wide: {model.d_model: 64}, broad: {model.d_model: 128}}\nrun: {pack: 3}");
    submit("b", 1, 4, "run: {pack: 3}");                  /* the default shape: wide's */
    submit("alone", 5, 5, "");                            /* wants nobody with it */
    submit("other", 6, 6, "run: {pack: 2}");              /* another number */
    submit("first", 7, 7, "run: {pack: 3, priority: 1}"); /* another priority */
    turn();
    assert_int_equal(b.executor.count, 1 + 3);
    assert_int_equal(run_of(0).seed, 7);
    const int want[] = {0, 1, 2};
    for (int i = 0; i < 3; i++) {
        assert_ptr_equal(b.executor.jobs[1 + i].first, &b.executor.jobs[1]);
        assert_int_equal(run_of(1 + i).seed, want[i]);
        assert_string_equal(run_of(1 + i).variant, i == 0 ? "wide" : "default");
        state_is(1 + i, RUN_RUNNING);
    }
    assert_int_equal(slots_free(b.slots, DEVICE_CPU), 0);
    assert_int_equal(scheduler_live(b.scheduler), 4);
    ends(0, EXECUTOR_EXITED, 0);
    assert_int_equal(b.executor.count, 5); /* broad, by itself */
    assert_string_equal(run_of(4).variant, "broad");
    ends(4, EXECUTOR_EXITED, 0);
    assert_int_equal(b.executor.count, 7); /* seeds 3 and 4 */
    assert_ptr_equal(b.executor.jobs[6].first, &b.executor.jobs[5]);
    assert_int_equal(run_of(6).seed, 4);
    close_scheduler();
}

static void each_of_a_pack_has_its_end(void **state)
{
    (void)state;
    struct store_changed changed;
    open_scheduler(1, 0);
    submit("a", 0, 3, "run: {pack: 4, retries: 1}");
    turn();
    assert_int_equal(b.executor.count, 4);
    assert_true(b.executor.jobs[0].released);
    ends(1, EXECUTOR_EXITED, 0);
    state_is(1, RUN_DONE);
    ends(2, EXECUTOR_EXITED, 1);
    state_is(2, RUN_QUEUED);
    assert_int_equal(run_of(2).failures, 1);
    assert_int_equal(run_of(2).pack, 1);   /* tried again by itself */
    assert_int_equal(b.executor.count, 4); /* the slot is the pack's yet */
    assert_int_equal(slots_free(b.slots, DEVICE_CPU), 0);
    assert_int_equal(store_cancel(b.store, NULL, run_of(3).id, "test", &changed, NULL), STATUS_OK);
    scheduler_cancel(b.scheduler);
    assert_true(b.executor.jobs[3].stopped);
    assert_false(b.executor.jobs[0].stopped);
    ends(3, EXECUTOR_EXITED, 3);
    state_is(3, RUN_CANCELLED);
    state_is(0, RUN_RUNNING);
    ends(0, EXECUTOR_EXITED, 0);
    state_is(0, RUN_DONE);
    assert_int_equal(b.executor.count, 5);
    assert_string_equal(run_of(4).id, run_of(2).id);
    assert_int_equal(b.executor.jobs[4].attempt, 2);
    ends(4, EXECUTOR_EXITED, 1);
    state_is(4, RUN_FAILED);
    assert_int_equal(slots_free(b.slots, DEVICE_CPU), 1);
    close_scheduler();
}

static void a_pack_that_is_killed_counts_for_nobody(void **state)
{
    (void)state;
    open_scheduler(1, 0);
    submit("a", 0, 2, "run: {pack: 3, retries: 0}");
    turn();
    ends(0, EXECUTOR_EXITED, 0);
    ends(1, EXECUTOR_SIGNALLED, 11);
    ends(2, EXECUTOR_SIGNALLED, 11);
    assert_int_equal(b.executor.count, 4); /* one by one now */
    assert_int_equal(run_of(3).failures, 0);
    ends(3, EXECUTOR_SIGNALLED, 11);
    state_is(3, RUN_FAILED); /* it was that one */
    assert_int_equal(b.executor.count, 5);
    ends(4, EXECUTOR_EXITED, 0);
    state_is(4, RUN_DONE);
    close_scheduler();
}

static void packs_are_taken_over(void **state)
{
    (void)state;
    struct store_changed changed;
    open_scheduler(2, 0);
    submit("a", 0, 6, "run: {pack: 3}");
    turn();
    assert_int_equal(b.executor.count, 6);
    ends(1, EXECUTOR_EXITED, 0);
    close_scheduler();
    open_scheduler(2, 0);
    assert_int_equal(scheduler_recover(b.scheduler, NULL), STATUS_OK);
    turn();
    assert_int_equal(b.executor.count, 6);
    assert_int_equal(scheduler_live(b.scheduler), 5);
    assert_int_equal(slots_free(b.slots, DEVICE_CPU), 0);
    ends(0, EXECUTOR_LOST, 0);
    state_is(0, RUN_QUEUED);
    assert_int_equal(run_of(0).pack, 3); /* nothing says that a mate was to blame */
    ends(2, EXECUTOR_EXITED, 0);
    assert_int_equal(b.executor.count, 8); /* the one that was lost, and the seventh */
    assert_int_equal(store_cancel(b.store, "a", NULL, "test", &changed, NULL), STATUS_OK);
    scheduler_cancel(b.scheduler);
    for (int i = 3; i < 8; i++)
        assert_true(b.executor.jobs[i].stopped);
    close_scheduler();
}

int main(void)
{
#define WITH_HOME(f) cmocka_unit_test_setup_teardown(f, make_home, drop_home)
    const struct CMUnitTest tests[] = {WITH_HOME(in_the_order_of_priority_and_arrival),
                                       WITH_HOME(wide_runs_are_waited_for),
                                       WITH_HOME(failures_are_retried_with_growing_delays),
                                       WITH_HOME(memory_that_ran_out),
                                       WITH_HOME(what_diverged_is_not_tried_again),
                                       WITH_HOME(what_does_not_count),
                                       WITH_HOME(lost_again_and_again_waits),
                                       WITH_HOME(a_start_that_fails_counts),
                                       WITH_HOME(cancelled_only_when_gone),
                                       WITH_HOME(the_first_failure_takes_the_others_along),
                                       WITH_HOME(paused_sweeps_start_nothing),
                                       WITH_HOME(attempts_are_taken_over),
                                       WITH_HOME(draining_starts_nothing),
                                       WITH_HOME(packs_are_of_equal_shape),
                                       WITH_HOME(each_of_a_pack_has_its_end),
                                       WITH_HOME(a_pack_that_is_killed_counts_for_nobody),
                                       WITH_HOME(packs_are_taken_over)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
