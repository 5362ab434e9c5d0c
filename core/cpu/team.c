#include "core/cpu/team.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/parallel.h"

enum { LINE = 64, EAGER = 100, SPINS = 160, TURNS = 250 };

/* Each on lines of its own: one thread writes what others spin on. */
struct member {
    _Alignas(LINE) atomic_uint passed;   /* barriers it has come to */
    _Alignas(LINE) atomic_int processor; /* that it was last seen on */
    struct team *team;
    int index;
    pthread_t handle;
};

struct team {
    int threads, started, spins;
    bool spread;       /* a processor each: there are enough */
    cpu_set_t allowed; /* to the thread that made the team */
    struct member *members;
    void (*body)(void *arg, int thread);
    void *arg;
    bool stop;
    _Alignas(LINE) atomic_uint runs;     /* goes up by one a run; members wait for it */
    _Alignas(LINE) atomic_uint sleepers; /* members in the condition below */
    pthread_mutex_t lock;
    pthread_cond_t wake;
};

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#else
    atomic_signal_fence(memory_order_seq_cst);
#endif
}

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
    for (int i = 0; i < t->threads; i++)
        if (i != thread)
            CPU_CLR((size_t)atomic_load_explicit(&t->members[i].processor, memory_order_relaxed), &free);
    if (CPU_COUNT(&free) > 0)
        sched_setaffinity(0, sizeof free, &free); /* at worst it stays where it is */
}

/* Wait until *value differs from `old`: a few microseconds of spinning, then a yield, in turns. Where two threads of a
 * team have come to share a processor, the one that spins keeps the other from what it waits for, so it must not spin
 * for long. False when it has taken about a millisecond. */
static bool wait_change(struct team *t, int thread, atomic_uint *value, unsigned old)
{
    for (int turn = 0; turn < TURNS; turn++) {
        for (int i = 0; i < t->spins; i++) {
            if (atomic_load_explicit(value, memory_order_acquire) != old)
                return true;
            if (turn || i > EAGER)
                relax();
        }
        if (atomic_load_explicit(value, memory_order_acquire) != old)
            return true;
        keep_apart(t, thread);
        sched_yield();
    }
    return false;
}

/* Everyone raises a counter of its own and looks at all the others': a line changes hands once, which is the least a
 * barrier can cost among few threads. Nobody is more than one barrier ahead, so "not mine yet" is all there is to see.
 */
void team_barrier(struct team *t, int thread)
{
    unsigned mine = atomic_load_explicit(&t->members[thread].passed, memory_order_relaxed) + 1;
    atomic_store_explicit(&t->members[thread].passed, mine, memory_order_release);
    for (int i = 0; i < t->threads; i++)
        while (i != thread && !wait_change(t, thread, &t->members[i].passed, mine - 1)) /* nobody sleeps within a run */
            ;
}

/* The count of sleepers is raised under the lock before the last look, so that a waker either sees it or is seen. */
static void wait_run(struct team *t, int thread, unsigned seen)
{
    if (wait_change(t, thread, &t->runs, seen))
        return;
    pthread_mutex_lock(&t->lock);
    atomic_fetch_add(&t->sleepers, 1);
    while (atomic_load(&t->runs) == seen)
        pthread_cond_wait(&t->wake, &t->lock);
    atomic_fetch_sub(&t->sleepers, 1);
    pthread_mutex_unlock(&t->lock);
}

static void *member_main(void *arg)
{
    const struct member *m = arg;
    struct team *t = m->team;
    for (unsigned seen = 0;; seen++) {
        wait_run(t, m->index, seen);
        if (t->stop)
            return NULL;
        keep_apart(t, m->index);
        t->body(t->arg, m->index);
        team_barrier(t, m->index);
    }
}

static void begin_run(struct team *t)
{
    atomic_fetch_add(&t->runs, 1);
    if (atomic_load(&t->sleepers)) {
        pthread_mutex_lock(&t->lock);
        pthread_cond_broadcast(&t->wake);
        pthread_mutex_unlock(&t->lock);
    }
}

void team_run(struct team *t, void (*body)(void *arg, int thread), void *arg)
{
    t->body = body;
    t->arg = arg;
    keep_apart(t, 0);
    if (t->threads > 1)
        begin_run(t);
    body(arg, 0);
    team_barrier(t, 0);
}

int team_create(struct team **out, int threads, struct error *err)
{
    struct team *t = aligned_alloc(LINE, (sizeof *t + LINE - 1) / LINE * LINE);
    *out = NULL;
    if (!t)
        return error_set(err, STATUS_MEMORY, "out of memory: a team of threads");
    *t = (struct team){.threads = threads, .spins = threads > parallel_processors() ? 0 : SPINS};
    t->members = aligned_alloc(LINE, (size_t)threads * sizeof *t->members);
    if (!t->members) {
        free(t);
        return error_set(err, STATUS_MEMORY, "out of memory: a team of threads");
    }
    memset(t->members, 0, (size_t)threads * sizeof *t->members);
    t->spread = threads > 1 && threads <= parallel_processors() &&
                sched_getaffinity(0, sizeof t->allowed, &t->allowed) == 0 && CPU_COUNT(&t->allowed) >= threads;
    for (int i = 0; i < threads; i++)
        atomic_init(&t->members[i].processor, -1);
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->wake, NULL);
    for (int i = 1; i < threads; i++) {
        t->members[i].team = t;
        t->members[i].index = i;
        int code = pthread_create(&t->members[i].handle, NULL, member_main, &t->members[i]);
        if (code) {
            team_destroy(t);
            return error_errno(err, STATUS_FAILED, code, "cannot start thread %d of %d", i + 1, threads);
        }
        t->started++;
    }
    *out = t;
    return STATUS_OK;
}

void team_destroy(struct team *t)
{
    if (!t)
        return;
    t->stop = true;
    if (t->started)
        begin_run(t);
    for (int i = 1; i <= t->started; i++)
        pthread_join(t->members[i].handle, NULL);
    pthread_mutex_destroy(&t->lock);
    pthread_cond_destroy(&t->wake);
    free(t->members);
    free(t);
}

int team_threads(const struct team *t)
{
    return t->threads;
}
