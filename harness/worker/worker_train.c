/* Training in a worker: one run, or the runs of a pack side by side in one process. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/parallel.h"
#include "core/train/train.h"
#include "core/trained/initial.h"
#include "core/base/rundir.h"
#include "core/config/config.h"
#include "harness/base/progress.h"
#include "harness/worker/worker.h"

/* One flag a run: what a signal handler can reach. */
static atomic_int *stops;
static int stop_count;

static void on_stop(int signal, siginfo_t *info, void *context)
{
    (void)context;
    for (int i = 0; i < stop_count; i++)
        if (signal != SUPERVISOR_STOP_ONE || info->si_value.sival_int == i)
            atomic_store(&stops[i], 1);
}

static void heed_signals(int runs)
{
    const int ours[] = {SIGTERM, SIGINT, SUPERVISOR_STOP_ONE};
    struct sigaction action = {.sa_sigaction = on_stop, .sa_flags = SA_RESTART | SA_SIGINFO};
    sigset_t set;
    stops = memory_alloc((size_t)runs, sizeof *stops);
    stop_count = runs;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) {
        sigaction(ours[i], &action, NULL);
        sigaddset(&set, ours[i]);
    }
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* The configuration of the run in `dir`, with its share of the slot's threads, checked against the slot. */
static int load_config(const struct worker_job *job, const char *dir, struct config *cfg, struct error *err)
{
    json_error_t where;
    char *path = file_join(dir, RUNDIR_CONFIG);
    json_t *object = json_load_file(path, JSON_REJECT_DUPLICATES, &where);
    free(path);
    if (!object)
        return error_set(err, STATUS_BAD_INPUT, RUNDIR_CONFIG ":%d:%d: %s", where.line, where.column, where.text);
    int status = config_from_json(cfg, object, RUNDIR_CONFIG, err), threads = job->threads;
    json_decref(object);
    if (status)
        return status;
    if (job->count > 1) { /* of the slot's, equal parts; one each where there are not that many */
        int all = threads > 0 ? threads : parallel_processors();
        threads = all > job->count ? all / job->count : 1;
    }
    if (threads > 0)
        cfg->threads = threads;
    if (job->device && (strcmp(job->device, "cpu") == 0) != (cfg->device == DEVICE_CPU))
        status = error_set(err, STATUS_BAD_INPUT, RUNDIR_CONFIG ": device: the slot is %s, the run wants %s",
                           job->device, cfg->device == DEVICE_CPU ? "cpu" : "cuda");
    return status;
}

static int train_in(const struct worker_job *job, int place, const char *dir, struct error *err)
{
    struct config cfg;
    struct train_result result = {0};
    int status = load_config(job, dir, &cfg, err);
    if (!status)
        status = initial_of_run(&cfg, dir, err);
    if (!status) {
        const char *slash = strrchr(job->runs[place].dir, '/');
        struct progress_line line;
        progress_begin(&line);
        line.terminal = 0; /* it goes to the log, which all runs of a pack share */
        line.name = job->count > 1 ? slash ? slash + 1 : job->runs[place].dir : NULL;
        struct train_options options = {.dir = dir,
                                        .data = job->runs[place].data,
                                        .attempt = job->runs[place].attempt,
                                        .until = job->runs[place].until,
                                        .stop = &stops[place],
                                        .begin = initial_load,
                                        .progress = progress_train,
                                        .progress_arg = &line};
        status = train_run(&cfg, &options, &result, err);
    }
    return status;
}

/* Its exit status says how it went; the log says why. */
static int train_alone(const struct worker_job *job)
{
    struct error err = {0};
    heed_signals(1);
    int status = train_in(job, 0, ".", &err);
    if (status)
        fprintf(stderr, "taper: %s\n", err.text);
    return error_exit_code(status);
}

/* ------------------------------------------------------------------------------------------------ several */

struct pack {
    const struct worker_job *job;
    int report, live;
    pthread_mutex_t lock;
    double user, system; /* what the process had used at the last end of a run */
    struct pack_run {
        struct pack *pack;
        int place;
        pthread_t thread;
        bool over;
        double user, system; /* its share of that: equal parts among those that ran */
    } * runs;
};

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

/* A run has ended: share out what was used since the last such end. */
static void account(struct pack *p, struct pack_run *ended, struct supervisor_report *report)
{
    struct rusage use;
    pthread_mutex_lock(&p->lock);
    getrusage(RUSAGE_SELF, &use);
    double user = seconds(use.ru_utime), system = seconds(use.ru_stime);
    for (int i = 0; i < p->job->count; i++)
        if (!p->runs[i].over) {
            p->runs[i].user += (user - p->user) / p->live;
            p->runs[i].system += (system - p->system) / p->live;
        }
    p->user = user;
    p->system = system;
    p->live--;
    ended->over = true;
    report->cpu_user = ended->user;
    report->cpu_system = ended->system;
    report->max_rss = (int64_t)use.ru_maxrss * 1024;
    pthread_mutex_unlock(&p->lock);
}

static void *train_one(void *arg)
{
    struct pack_run *run = arg;
    struct pack *p = run->pack;
    struct error err = {0};
    struct supervisor_report *report = memory_alloc(1, sizeof *report);
    int status = train_in(p->job, run->place, p->job->runs[run->place].dir, &err);
    report->run = run->place;
    report->outcome = outcome_of_exit(error_exit_code(status), true);
    if (status)
        snprintf(report->text, sizeof report->text, "taper: %.8000s", err.text);
    account(p, run, report);
    supervisor_tell(p->report, report);
    free(report);
    return NULL;
}

static int train_pack(const struct worker_job *job)
{
    struct pack p = {.job = job, .report = SUPERVISOR_REPORT, .live = job->count, .lock = PTHREAD_MUTEX_INITIALIZER};
    p.runs = memory_alloc((size_t)job->count, sizeof *p.runs);
    heed_signals(job->count);
    for (int i = 0; i < job->count; i++)
        p.runs[i] = (struct pack_run){.pack = &p, .place = i};
    for (int i = 0; i < job->count; i++)
        if (pthread_create(&p.runs[i].thread, NULL, train_one, &p.runs[i]) != 0) {
            fprintf(stderr, "taper: cannot start a thread for run %d of %d\n", i + 1, job->count);
            return 1; /* the others end with the process, and are tried again one by one */
        }
    for (int i = 0; i < job->count; i++)
        pthread_join(p.runs[i].thread, NULL);
    free(p.runs);
    return 0;
}

int worker_train(const struct worker_job *job)
{
    prctl(PR_SET_NAME, "taper-train"); /* which of our processes it is, in ps */
    if (job->count == 1)
        return train_alone(job);
    fcntl(SUPERVISOR_REPORT, F_SETFD, FD_CLOEXEC);
    return train_pack(job);
}
