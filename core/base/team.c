#include "core/base/team.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/base/memory.h"
#include "core/base/parallel.h"

/* Nanoseconds of spinning before sleep, and looks between two readings of the clock. GLANCES: looks before an item that
 * its owner has not begun is taken from it, about a microsecond, so that threads in step keep to what is in their
 * caches. */
enum { LINE = 64, PATIENCE_LEAST = 4000, PATIENCE_MOST = 100000, LOOKS = 32, GLANCES = 100 };

/* A stage's number (they never repeat) over a count of items: what is claimed of a queue, or done of it. */
enum { COUNT_BITS = 20 };

/* Lines of their own: `claimed` is its owner's but for thieves, `done` is what the others wait for. */
struct member {
    _Alignas(LINE) atomic_uint_least64_t claimed;
    _Alignas(LINE) atomic_uint_least64_t done;
    _Alignas(LINE) atomic_int processor; /* that it was last seen on */
    struct team *team;
    int index;
    long patience;
    pthread_t handle;
};

/* Where threads sleep. */
struct bell {
    _Alignas(LINE) atomic_uint rings;
    atomic_uint sleepers;
};

/* What is on: the first stage's number, or 0 while the rest is being written. A queue holds `each` items, the first
 * `extra` queues one more. */
struct run {
    uint64_t first;
    int stages, threads;
    size_t each, extra;
};

struct team {
    int threads, spins_for; /* spins_for: PATIENCE_MOST, or 0 with more threads than processors */
    bool spread;            /* a processor each: there are enough */
    cpu_set_t allowed;      /* to the thread that made the team */
    struct member *members;
    uint64_t last;   /* number of the last stage that was given out */
    team_body *body; /* read only by who holds an item, so while a run is on */
    void *arg;
    _Alignas(LINE) atomic_uint_least64_t first;
    atomic_int run_stages, run_threads;
    atomic_size_t run_each, run_extra;
    atomic_bool stop;
    struct bell begin, end; /* of a run; of a stage */
};

/* ------------------------------------------------------------------------------------------- placing */

/* A woken thread often starts on its waker's processor, and stays: beside other programs' threads the system sees
 * nothing to level out, and the two take turns where each waits for the other. So a member that finds itself on the
 * processor of one before it moves to one that no other is on. The caller's own placing is not the team's to change. */
static void keep_apart(struct team *t, int thread)
{
    const int here = t->spread ? sched_getcpu() : -1;
    bool shared = false;
    if (here < 0)
        return;
    if (atomic_load_explicit(&t->members[thread].processor, memory_order_relaxed) != here)
        atomic_store_explicit(&t->members[thread].processor, here, memory_order_relaxed);
    for (int i = 0; i < thread; i++)
        shared |= atomic_load_explicit(&t->members[i].processor, memory_order_relaxed) == here;
    if (!shared)
        return;
    cpu_set_t free = t->allowed;
    for (int i = 0; i < t->threads; i++) {
        const int other = atomic_load_explicit(&t->members[i].processor, memory_order_relaxed);
        if (i != thread && other >= 0)
            CPU_CLR((size_t)other, &free);
    }
    if (CPU_COUNT(&free) > 0)
        sched_setaffinity(0, sizeof free, &free); /* at worst it stays where it is */
}

/* ------------------------------------------------------------------------------------------- items */

static size_t queue_length(const struct run *run, int queue)
{
    return run->each + ((size_t)queue < run->extra);
}

static size_t queue_begin(const struct run *run, int queue)
{
    const size_t q = (size_t)queue;
    return run->each * q + (q < run->extra ? q : run->extra);
}

/* The next item of a queue in a stage, counted from the queue's first; false when there is none, or no longer. */
static bool claim(struct member *queue, uint64_t stage, size_t length, size_t *item)
{
    const uint64_t base = stage << COUNT_BITS;
    uint64_t seen = atomic_load_explicit(&queue->claimed, memory_order_relaxed), next;
    do {
        if (!length || seen >= base + length)
            return false;
        next = seen < base ? base : seen;
    } while (!atomic_compare_exchange_weak(&queue->claimed, &seen, next + 1));
    *item = next - base;
    return true;
}

static bool stage_done(const struct team *t, const struct run *run, uint64_t stage)
{
    for (int i = 0; i < run->threads; i++) {
        const size_t length = queue_length(run, i);
        if (length && atomic_load(&t->members[i].done) < (stage << COUNT_BITS) + length)
            return false;
    }
    return true;
}

static long futex(atomic_uint *word, int operation, unsigned value)
{
    return syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

static void ring(struct bell *bell)
{
    atomic_fetch_add(&bell->rings, 1);
    futex(&bell->rings, FUTEX_WAKE, INT_MAX);
}

/* Count items of a queue as done. Who waits for them raises the number of sleepers before its last look, so that
 * either it sees them or is seen here. */
static void finish(struct team *t, const struct run *run, uint64_t stage, struct member *queue, size_t count)
{
    const uint64_t base = stage << COUNT_BITS;
    uint64_t seen = atomic_load_explicit(&queue->done, memory_order_relaxed);
    while (!atomic_compare_exchange_weak(&queue->done, &seen, (seen < base ? base : seen) + count))
        ;
    if (atomic_load(&t->end.sleepers) && stage_done(t, run, stage))
        ring(&t->end);
}

/* What is left of a queue, by `thread`. */
static void work_off(struct team *t, const struct run *run, uint64_t stage, int queue, int thread)
{
    struct member *q = &t->members[queue];
    const size_t length = queue_length(run, queue), begin = queue_begin(run, queue);
    size_t item, count = 0;
    for (; claim(q, stage, length, &item); count++)
        t->body(t->arg, (int)(stage - run->first), begin + item, thread);
    if (count)
        finish(t, run, stage, q, count);
}

/* ------------------------------------------------------------------------------------------- waiting */

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#else
    atomic_signal_fence(memory_order_seq_cst);
#endif
}

/* A stage to be done, or with run NULL another run than the one that began with stage `seen`. */
struct wish {
    const struct run *run;
    uint64_t seen;
};

static bool granted(const struct team *t, const struct wish *w)
{
    if (w->run)
        return stage_done(t, w->run, w->seen);
    const uint64_t first = atomic_load(&t->first);
    return first && first != w->seen;
}

static long now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Spin for as long as the member has patience, which grows where it was rewarded. */
static bool spin(struct team *t, struct member *m, const struct wish *w)
{
    if (!t->spins_for)
        return granted(t, w);
    const long begin = now_ns();
    do {
        for (int i = 0; i < LOOKS; i++) {
            if (granted(t, w)) {
                m->patience = m->patience < PATIENCE_MOST / 2 ? 2 * m->patience : PATIENCE_MOST;
                return true;
            }
            relax();
        }
    } while (now_ns() - begin < m->patience);
    m->patience = m->patience > 2 * PATIENCE_LEAST ? m->patience / 2 : PATIENCE_LEAST;
    return false;
}

static void await(struct team *t, struct member *m, struct bell *bell, const struct wish *w)
{
    bool done = spin(t, m, w);
    while (!done) {
        atomic_fetch_add(&bell->sleepers, 1);
        const unsigned rings = atomic_load(&bell->rings);
        done = granted(t, w);
        if (!done)
            futex(&bell->rings, FUTEX_WAIT, rings);
        atomic_fetch_sub(&bell->sleepers, 1);
        done = done || granted(t, w);
    }
}

/* ------------------------------------------------------------------------------------------- a run */

/* All of a stage that this thread can do. True when everybody's is done. */
static bool do_stage(struct team *t, const struct run *run, uint64_t stage, int thread)
{
    work_off(t, run, stage, thread, thread);
    for (int i = 0; i < GLANCES && run->threads > 1; i++) {
        if (stage_done(t, run, stage))
            return true;
        relax();
    }
    for (int i = 1; i < run->threads; i++)
        work_off(t, run, stage, (thread + i) % run->threads, thread);
    return stage_done(t, run, stage);
}

/* Only the caller has to see the end of the last stage. */
static void do_run(struct team *t, const struct run *run, int thread)
{
    for (int s = 0; s < run->stages; s++) {
        const struct wish done = {run, run->first + (uint64_t)s};
        if (!do_stage(t, run, done.seen, thread) && (thread == 0 || s + 1 < run->stages))
            await(t, &t->members[thread], &t->end, &done);
    }
}

/* The run that is on, whole. */
static struct run read_run(const struct team *t)
{
    struct run run;
    do {
        run.first = atomic_load(&t->first);
        run.stages = atomic_load(&t->run_stages);
        run.threads = atomic_load(&t->run_threads);
        run.each = atomic_load(&t->run_each);
        run.extra = atomic_load(&t->run_extra);
    } while (!run.first || atomic_load(&t->first) != run.first);
    return run;
}

static void give_out(struct team *t, const struct run *run)
{
    atomic_store(&t->first, 0);
    atomic_store(&t->run_stages, run->stages);
    atomic_store(&t->run_threads, run->threads);
    atomic_store(&t->run_each, run->each);
    atomic_store(&t->run_extra, run->extra);
    atomic_store(&t->first, run->first);
    if (atomic_load(&t->begin.sleepers))
        ring(&t->begin);
}

static void *member_main(void *arg)
{
    struct member *m = arg;
    struct team *t = m->team;
    for (uint64_t seen = 0;;) {
        await(t, m, &t->begin, &(struct wish){NULL, seen});
        if (atomic_load(&t->stop))
            return NULL;
        const struct run run = read_run(t);
        seen = run.first;
        if (m->index >= run.threads)
            continue;
        keep_apart(t, m->index);
        do_run(t, &run, m->index);
    }
}

void team_run(struct team *t, const struct team_work *work)
{
    const int threads = work->threads < t->threads ? work->threads : t->threads;
    const struct run run = {.first = t->last + 1,
                            .stages = work->stages,
                            .threads = threads,
                            .each = work->items / (size_t)threads,
                            .extra = work->items % (size_t)threads};
    t->last += (uint64_t)work->stages;
    t->body = work->body;
    t->arg = work->arg;
    keep_apart(t, 0);
    give_out(t, &run);
    do_run(t, &run, 0);
}

/* ------------------------------------------------------------------------------------------- life */

static void *lines(size_t bytes)
{
    const size_t whole = (bytes + LINE - 1) / LINE * LINE;
    void *block = aligned_alloc(LINE, whole);
    if (!block)
        memory_exhausted("%zu bytes of a team of threads", whole);
    return memset(block, 0, whole);
}

/* Signals are for the program's own threads: a member starts with all of them blocked. */
static int start_member(struct member *m)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int code = pthread_create(&m->handle, NULL, member_main, m);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}

struct team *team_create(int threads)
{
    struct team *t = lines(sizeof *t);
    t->members = lines((size_t)threads * sizeof *t->members);
    t->spins_for = threads > parallel_processors() ? 0 : PATIENCE_MOST;
    t->spread =
        threads > 1 && sched_getaffinity(0, sizeof t->allowed, &t->allowed) == 0 && CPU_COUNT(&t->allowed) >= threads;
    t->threads = threads; /* what members read is written before they start */
    for (int i = 0; i < threads; i++) {
        struct member *m = &t->members[i];
        m->team = t;
        m->index = i;
        m->patience = PATIENCE_MOST;
        atomic_init(&m->processor, -1);
    }
    int started = 1;
    while (started < threads && start_member(&t->members[started]) == 0)
        started++;
    t->threads = started;
    return t;
}

int team_threads(const struct team *t)
{
    return t->threads;
}

void team_destroy(struct team *t)
{
    if (!t)
        return;
    atomic_store(&t->stop, true);
    give_out(t, &(struct run){.first = t->last + 1});
    for (int i = 1; i < t->threads; i++)
        pthread_join(t->members[i].handle, NULL);
    team_forget(t);
}

void team_forget(struct team *t)
{
    free(t->members);
    free(t);
}
