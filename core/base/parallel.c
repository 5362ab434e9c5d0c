#include "core/base/parallel.h"

#include <sched.h>
#include <unistd.h>

#if defined(__SANITIZE_THREAD__)
#define PARALLEL_PTHREADS 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PARALLEL_PTHREADS 1
#endif
#endif

#ifdef PARALLEL_PTHREADS
#include <pthread.h>

enum { MOST_THREADS = 256 };

struct task {
    parallel_body *body;
    void *arg;
    int thread, threads;
};

static void *task_main(void *arg)
{
    struct task *task = arg;
    task->body(task->arg, task->thread, task->threads);
    return NULL;
}

static void run_threads(int threads, parallel_body *body, void *arg)
{
    pthread_t handles[MOST_THREADS];
    struct task tasks[MOST_THREADS];
    char started[MOST_THREADS] = {0};
    for (int i = 1; i < threads && i < MOST_THREADS; i++) {
        tasks[i] = (struct task){body, arg, i, threads};
        started[i] = pthread_create(&handles[i], NULL, task_main, &tasks[i]) == 0;
    }
    for (int i = 0; i < threads; i++) /* what could not be started runs here */
        if (i == 0 || i >= MOST_THREADS || !started[i])
            body(arg, i, threads);
    for (int i = 1; i < threads && i < MOST_THREADS; i++)
        if (started[i])
            pthread_join(handles[i], NULL);
}
#else
#include <omp.h>

static void run_threads(int threads, parallel_body *body, void *arg)
{
#pragma omp parallel num_threads(threads)
    {
        /* The runtime may grant fewer threads than asked for; every share is still done, in the same split. */
        int granted = omp_get_num_threads();
        for (int i = omp_get_thread_num(); i < threads; i += granted)
            body(arg, i, threads);
    }
}
#endif

void parallel_run(int threads, parallel_body *body, void *arg)
{
    if (threads < 2)
        body(arg, 0, 1);
    else
        run_threads(threads, body, arg);
}

void parallel_share(size_t count, size_t grain, int thread, int threads, size_t *begin, size_t *end)
{
    size_t pieces = (count + grain - 1) / grain;
    size_t each = pieces / (size_t)threads, extra = pieces % (size_t)threads, t = (size_t)thread;
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
