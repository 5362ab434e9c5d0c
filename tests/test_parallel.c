/* Threads for computing: every piece once, stages in order, and nobody held up by a thread that is. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/parallel.h"
#include "core/base/team.h"

enum { ITEMS = 300, STAGES = 50, LATE_SECONDS = 20 };

/* The thread sanitizer ends a child of a threaded process that starts threads. */
static void skip_where_forks_end(void)
{
#ifdef __SANITIZE_THREAD__
    print_message("skipped: the thread sanitizer does not allow threads after a fork\n");
    skip();
#endif
}

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* ------------------------------------------------------------------------------------------- pieces */

struct counts {
    atomic_int done[ITEMS];
    atomic_int wrong;
    int threads;
};

static void count_item(void *arg, size_t item, int thread)
{
    struct counts *c = arg;
    atomic_fetch_add(&c->done[item], 1);
    if (thread < 0 || thread >= c->threads)
        atomic_fetch_add(&c->wrong, 1);
}

static void count_part(void *arg, int part, int parts)
{
    struct counts *c = arg;
    atomic_fetch_add(&c->done[part], 1);
    if (parts != c->threads)
        atomic_fetch_add(&c->wrong, 1);
}

static void all_once(const struct counts *c, int count)
{
    for (int i = 0; i < ITEMS; i++)
        assert_int_equal(atomic_load(&c->done[i]), i < count);
    assert_int_equal(atomic_load(&c->wrong), 0);
}

/* Thread counts go up and down, so teams are made anew and used in part. */
static void test_all_pieces_once(void **state)
{
    static const int threads[] = {2, 1, 5, 3, 2, 64, 4};
    static const int items[] = {0, 1, 2, 7, ITEMS};
    (void)state;
    for (size_t i = 0; i < sizeof threads / sizeof threads[0]; i++) {
        for (size_t k = 0; k < sizeof items / sizeof items[0]; k++) {
            struct counts c = {.threads = threads[i]};
            parallel_each(threads[i], (size_t)items[k], count_item, &c);
            all_once(&c, items[k]);
        }
        struct counts c = {.threads = threads[i]};
        parallel_run(threads[i], count_part, &c);
        all_once(&c, threads[i]);
    }
}

struct outer {
    struct counts inner[4];
};

static void run_inner(void *arg, int part, int parts)
{
    struct outer *o = arg;
    (void)parts;
    parallel_run(o->inner[part].threads, count_part, &o->inner[part]);
}

static void test_nested_calls(void **state)
{
    struct outer o = {.inner = {{.threads = 3}, {.threads = 3}, {.threads = 3}, {.threads = 3}}};
    (void)state;
    parallel_run(4, run_inner, &o);
    for (int i = 0; i < 4; i++)
        all_once(&o.inner[i], 3);
}

/* ------------------------------------------------------------------------------------------- stages */

struct steps {
    int parts, done[STAGES][8]; /* plain: what a stage wrote, the next must see */
    atomic_int wrong;
};

static void look_back(struct steps *s, int stage, int part)
{
    for (int p = 0; stage > 0 && p < s->parts; p++)
        if (s->done[stage - 1][p] != stage)
            atomic_fetch_add(&s->wrong, 1);
    s->done[stage][part] += stage + 1;
}

static void stage_part(void *arg, int stage, int part, int parts)
{
    (void)parts;
    look_back(arg, stage, part);
}

/* Also with fewer items than threads, where some have none to begin with. */
static void stage_item(void *arg, int stage, size_t item, int thread)
{
    struct steps *s = arg;
    (void)thread;
    if (item >= (size_t)s->parts)
        atomic_fetch_add(&s->wrong, 1);
    else
        look_back(s, stage, (int)item);
}

static void test_stages_in_order(void **state)
{
    (void)state;
    for (int parts = 1; parts <= 8; parts += parts < 3 ? 1 : 5) {
        struct steps s = {.parts = parts}, more = {.parts = parts};
        parallel_stages(parts, STAGES, stage_part, &s);
        assert_int_equal(atomic_load(&s.wrong), 0);
        struct team *team = team_create(3); /* also where there are fewer processors */
        team_run(team, &(struct team_work){stage_item, &more, 3, STAGES, (size_t)parts});
        team_destroy(team);
        assert_int_equal(atomic_load(&more.wrong), 0);
    }
}

/* ------------------------------------------------------------------------------------------- delays */

struct delay {
    atomic_int done, held; /* items done; members that are held */
    bool failed;
};

/* A member stays with its item until all others are done, as if its processor had been taken away. */
static void hold_member(void *arg, int stage, size_t item, int thread)
{
    struct delay *d = arg;
    (void)stage;
    (void)item;
    if (thread > 0 && atomic_fetch_add(&d->held, 1) == 0) {
        for (int ms = 0; atomic_load(&d->done) < ITEMS - 1; ms++) {
            d->failed = d->failed || ms > LATE_SECONDS * 1000;
            if (d->failed)
                break;
            pause_ms(1);
        }
    } else if (thread == 0) {
        for (int ms = 0; !atomic_load(&d->held) && ms < LATE_SECONDS * 1000; ms++)
            pause_ms(1); /* so that the member gets one at all */
    }
    atomic_fetch_add(&d->done, 1);
}

static void test_held_member_holds_up_nobody(void **state)
{
    struct delay d = {.done = 0};
    struct team *team = team_create(2);
    (void)state;
    if (team_threads(team) == 2) {
        team_run(team, &(struct team_work){hold_member, &d, 2, 1, ITEMS});
        assert_int_equal(atomic_load(&d.done), ITEMS);
        assert_false(d.failed);
    }
    team_destroy(team);
}

/* Everybody has long gone to sleep between these, at the end of a run and within a stage. */
static void slow_part(void *arg, int stage, int part, int parts)
{
    (void)parts;
    if (part == stage % 2)
        pause_ms(3);
    look_back(arg, stage, part);
}

static void test_sleepers_wake(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        struct steps s = {.parts = 3};
        pause_ms(5);
        parallel_stages(3, 8, slow_part, &s);
        assert_int_equal(atomic_load(&s.wrong), 0);
    }
    team_destroy(team_create(4)); /* nobody ever worked */
    struct team *team = team_create(4);
    pause_ms(5);
    team_destroy(team);
}

/* ------------------------------------------------------------------------------------------- callers */

static void *calls_alone(void *arg)
{
    struct counts *c = arg;
    for (int i = 0; i < 100; i++)
        parallel_run(c->threads, count_part, c);
    return NULL;
}

static void test_callers_have_teams_of_their_own(void **state)
{
    static struct counts c[4];
    pthread_t threads[4];
    (void)state;
    for (int i = 0; i < 4; i++) {
        c[i].threads = 2 + i % 2;
        assert_int_equal(pthread_create(&threads[i], NULL, calls_alone, &c[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        for (int part = 0; part < c[i].threads; part++)
            assert_int_equal(atomic_load(&c[i].done[part]), 100);
    }
}

/* A child has none of its parent's members, and makes its own. */
static void test_fork(void **state)
{
    struct counts c = {.threads = 3};
    int status = -1;
    (void)state;
    skip_where_forks_end();
    parallel_run(3, count_part, &c);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct counts own = {.threads = 3};
        alarm(LATE_SECONDS);
        parallel_run(3, count_part, &own);
        parallel_run(3, count_part, &own);
        _exit(atomic_load(&own.done[0]) == 2 && atomic_load(&own.done[2]) == 2 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    struct counts again = {.threads = 3};
    parallel_run(3, count_part, &again);
    all_once(&again, 3);
}

/* A process ends while its members sleep. */
static void test_exit_with_sleepers(void **state)
{
    int status = -1;
    (void)state;
    skip_where_forks_end();
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct counts own = {.threads = 2};
        alarm(LATE_SECONDS);
        parallel_run(2, count_part, &own);
        pause_ms(5);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* ------------------------------------------------------------------------------------------- placing */

struct crowd {
    cpu_set_t callers; /* the one processor of the caller */
    atomic_int begun;  /* items, so that both threads have one */
    int seen;          /* the member's */
    bool crowding;
};

static void join_or_look(void *arg, int stage, size_t item, int thread)
{
    struct crowd *c = arg;
    (void)stage;
    (void)item;
    atomic_fetch_add(&c->begun, 1);
    for (int ms = 0; atomic_load(&c->begun) < 2 && ms < LATE_SECONDS * 1000; ms++)
        pause_ms(1);
    if (thread == 1 && c->crowding)
        sched_setaffinity(0, sizeof c->callers, &c->callers);
    else if (thread == 1)
        c->seen = sched_getcpu();
}

/* A member that has come to the caller's processor has left it when the next run begins. */
static void test_members_keep_apart(void **state)
{
    (void)state;
    cpu_set_t before;
    if (parallel_processors() < 2)
        skip();
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    struct team *team = team_create(2);
    for (int cpu = 0, tried = 0; cpu < CPU_SETSIZE && tried < 4; cpu++) {
        struct crowd c = {.seen = -1, .crowding = true};
        const struct team_work work = {join_or_look, &c, 2, 1, 2};
        if (!CPU_ISSET((size_t)cpu, &before))
            continue;
        tried++;
        CPU_ZERO(&c.callers);
        CPU_SET((size_t)cpu, &c.callers);
        assert_int_equal(sched_setaffinity(0, sizeof c.callers, &c.callers), 0);
        team_run(team, &work);
        c.crowding = false;
        atomic_store(&c.begun, 0);
        team_run(team, &work);
        assert_true(c.seen >= 0 && c.seen != cpu && CPU_ISSET((size_t)c.seen, &before));
    }
    team_destroy(team);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_pieces_once),
        cmocka_unit_test(test_nested_calls),
        cmocka_unit_test(test_stages_in_order),
        cmocka_unit_test(test_held_member_holds_up_nobody),
        cmocka_unit_test(test_sleepers_wake),
        cmocka_unit_test(test_callers_have_teams_of_their_own),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_exit_with_sleepers),
        cmocka_unit_test(test_members_keep_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
