#include "core/base/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#include "core/base/team.h"

/* ------------------------------------------------------------------------------------------- the caller's team */

/* A thread's team is made at its first use and ends with it; that of a process' first thread ends with the process. */
static _Thread_local struct {
    struct team *team;
    int wanted;   /* for so many threads it was made */
    int life;     /* `lives` at that time */
    bool working; /* inside a body */
} own;

static atomic_int lives; /* goes up in the child of a fork, where members are gone */
static pthread_key_t at_end;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void drop_team(void *unused)
{
    (void)unused;
    if (own.team && own.life == atomic_load(&lives))
        team_destroy(own.team);
    else if (own.team)
        team_forget(own.team);
    own.team = NULL;
}

static void count_life(void)
{
    atomic_fetch_add(&lives, 1);
}

static void prepare(void)
{
    pthread_key_create(&at_end, drop_team); /* at worst a thread's team outlives it, asleep */
    pthread_atfork(NULL, NULL, count_life);
}

static struct team *team_for(int threads)
{
    if (own.team && own.wanted >= threads && own.life == atomic_load(&lives))
        return own.team;
    pthread_once(&once, prepare);
    drop_team(NULL);
    const int processors = parallel_processors();
    own.wanted = threads;
    own.life = atomic_load(&lives);
    own.team = team_create(threads < processors ? threads : processors);
    pthread_setspecific(at_end, own.team);
    return own.team;
}

/* ------------------------------------------------------------------------------------------- runs */

static void run(int threads, int stages, size_t items, team_body *body, void *arg)
{
    const bool nested = own.working;
    struct team *team = threads > 1 && items > 1 && !nested ? team_for(threads) : NULL;
    own.working = true;
    if (team && team_threads(team) > 1)
        team_run(team, &(struct team_work){body, arg, threads, stages, items});
    else
        for (int s = 0; s < stages; s++)
            for (size_t i = 0; i < items; i++)
                body(arg, s, i, 0);
    own.working = nested;
}

struct parts {
    parallel_body *body;
    parallel_stage *staged;
    void *arg;
    int count;
};

/* Whoever does it must not start a team of its own: a member's thread is new to `own`. */
static void do_part(void *arg, int stage, size_t item, int thread)
{
    const struct parts *p = arg;
    (void)thread;
    own.working = true;
    if (p->staged)
        p->staged(p->arg, stage, (int)item, p->count);
    else
        p->body(p->arg, (int)item, p->count);
}

void parallel_run(int threads, parallel_body *body, void *arg)
{
    if (threads < 2)
        body(arg, 0, 1);
    else
        run(threads, 1, (size_t)threads, do_part, &(struct parts){body, NULL, arg, threads});
}

void parallel_stages(int threads, int stages, parallel_stage *body, void *arg)
{
    const int parts = threads < 1 ? 1 : threads;
    run(parts, stages, (size_t)parts, do_part, &(struct parts){NULL, body, arg, parts});
}

struct pieces {
    parallel_item *body;
    void *arg;
    size_t items, each; /* of a piece */
};

static void do_piece(void *arg, int stage, size_t piece, int thread)
{
    const struct pieces *p = arg;
    const size_t begin = piece * p->each, end = p->items - begin < p->each ? p->items : begin + p->each;
    (void)stage;
    own.working = true;
    for (size_t i = begin; i < end; i++)
        p->body(p->arg, i, thread);
}

void parallel_each(int threads, size_t items, parallel_item *body, void *arg)
{
    struct pieces p = {body, arg, items, items / (TEAM_ITEMS / 2) + 1};
    run(threads, 1, (items + p.each - 1) / p.each, do_piece, &p);
}

void parallel_share(size_t count, size_t grain, int part, int parts, size_t *begin, size_t *end)
{
    size_t pieces = (count + grain - 1) / grain;
    size_t each = pieces / (size_t)parts, extra = pieces % (size_t)parts, t = (size_t)part;
    size_t first = each * t + (t < extra ? t : extra);
    size_t last = first + each + (t < extra);
    *begin = first * grain < count ? first * grain : count;
    *end = last * grain < count ? last * grain : count;
}

int parallel_processors(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return CPU_COUNT(&set);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}
