#include "harness/base/format.h"
#include "harness/daemon/foreground.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/base/memory.h"
#include "harness/daemon/daemon_requests.h"
#include "harness/queue/waiting.h"
#include "harness/store/status.h"
#include "harness/daemon/submit.h"

enum { DRAW_MS = 250, LINES_MOST = 40, GONE_MS = 20, GIVE_UP_MS = 1000 };

struct foreground {
    struct engine engine;
    char sweep[SPEC_NAME];
    char stuck[1024]; /* why what is left can never start */
    bool terminal, news, stopping, killing, over, done;
    int drawn; /* lines on the screen that are ours */
    uint64_t begun, killed;
    uv_timer_t draw, check, gone;
    uv_signal_t interrupt, terminate;
};

static void erase(struct foreground *f)
{
    if (f->drawn)
        fprintf(stderr, "\033[%dA\033[J", f->drawn);
    f->drawn = 0;
}

static void on_log(void *arg, const char *text)
{
    struct foreground *f = arg;
    erase(f);
    fprintf(stderr, "%s\n", text);
}

static void put_line(struct foreground *f, const char *text, int columns)
{
    fprintf(stderr, "%.*s\n", columns - 1, text);
    f->drawn++;
}

/* Time for all that is left, if what runs now is like what comes: the live ones' and the queued ones', shared among
 * as many as run now. */
static double time_left(const json_t *sweep, const json_t *live)
{
    size_t i;
    const json_t *row;
    double left = 0, whole = 0;
    int known = 0;
    for (i = 0; (row = json_array_get(live, i)); i++) {
        const json_t *seconds = json_object_get(row, "seconds_left"), *ms = json_object_get(row, "ms");
        if (!json_is_number(seconds) || !json_is_number(ms))
            continue;
        left += json_number_value(seconds);
        whole += 1e-3 * json_number_value(ms) * (double)json_integer_value(json_object_get(row, "steps"));
        known++;
    }
    if (!known)
        return -1;
    double queued = (double)json_integer_value(json_object_get(sweep, "queued"));
    return (left + queued * whole / known) / known;
}

static void draw(struct foreground *f)
{
    json_t *all = NULL, *sweep;
    const json_t *row;
    char text[512], counts[160], spent[32], left[32];
    struct winsize size = {0};
    size_t i;
    if (status_collect(f->engine.store, f->sweep, &all, NULL) != STATUS_OK)
        return;
    int columns = ioctl(2, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
    int most = size.ws_row > 4 && size.ws_row - 3 < LINES_MOST ? size.ws_row - 3 : LINES_MOST;
    sweep = json_array_get(json_object_get(all, "sweeps"), 0);
    erase(f);
    snprintf(text, sizeof text, "%s: %s; %s so far, %s left", f->sweep, status_counts(sweep, counts),
             format_duration(spent, 1e-9 * (double)(uv_hrtime() - f->begun)),
             format_duration(left, time_left(sweep, json_object_get(all, "live"))));
    put_line(f, text, columns);
    for (i = 0; (row = json_array_get(json_object_get(all, "live"), i)); i++) {
        char live[256];
        if ((int)i >= most)
            break;
        snprintf(text, sizeof text, "  %s", status_live(row, live));
        put_line(f, text, columns);
    }
    if (scheduler_trouble(f->engine.scheduler)[0])
        put_line(f, scheduler_trouble(f->engine.scheduler), columns);
    json_decref(all);
    fflush(stderr);
}

static void on_draw(uv_timer_t *timer)
{
    draw(timer->data);
}

static void end_loop(struct foreground *f)
{
    uv_close((uv_handle_t *)&f->draw, NULL);
    uv_close((uv_handle_t *)&f->check, NULL);
    uv_close((uv_handle_t *)&f->gone, NULL);
    uv_close((uv_handle_t *)&f->interrupt, NULL);
    uv_close((uv_handle_t *)&f->terminate, NULL);
    f->over = true;
    uv_stop(&f->engine.loop);
}

static void on_check(uv_timer_t *timer)
{
    struct foreground *f = timer->data;
    bool finished = false;
    f->news = false;
    if (f->over || scheduler_live(f->engine.scheduler) > 0) /* its end will bring us here again */
        return;
    if (requests_finished(f->engine.store, f->sweep, &finished, &f->done, NULL) != STATUS_OK)
        return;
    if (!finished && !f->stopping) {
        json_t *pools = scheduler_pools(f->engine.scheduler);
        waiting_stuck(f->engine.store, f->sweep, NULL, pools, store_now(), f->stuck, sizeof f->stuck, NULL);
        json_decref(pools);
    }
    if (finished || f->stopping || f->stuck[0])
        end_loop(f);
}

static void on_changed(void *arg)
{
    struct foreground *f = arg;
    if (f->news || f->over || !f->sweep[0])
        return;
    f->news = true;
    uv_timer_start(&f->check, on_check, 0, 0);
}

/* The workers were killed. Whatever the database is waiting for, it is not waited for: how the attempts ended stands in
 * their directories, and whoever comes next records it. */
static void on_gone(uv_timer_t *timer)
{
    struct foreground *f = timer->data;
    struct scheduler *s = f->engine.scheduler;
    bool late = uv_hrtime() - f->killed > GIVE_UP_MS * 1000000ull;
    if (f->over || !(late || (scheduler_unfinished(s) == 0 && scheduler_trouble(s)[0])))
        return;
    if (scheduler_live(s) > 0) {
        char text[640];
        snprintf(text, sizeof text, "not waiting for %s; the next run or daemon records how %d attempts ended",
                 scheduler_trouble(s)[0] ? scheduler_trouble(s) : "the workers", scheduler_live(s));
        on_log(f, text);
    }
    end_loop(f);
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct foreground *f = handle->data;
    (void)number;
    if (f->killing) {
        f->killed = 0; /* the third time: at the next look */
        return;
    }
    f->killing = f->stopping;
    on_log(f, f->killing ? "killing the workers" : "stopping: the workers checkpoint and end; once more to kill them");
    scheduler_drain(f->engine.scheduler, true, f->killing ? EXECUTOR_KILL : EXECUTOR_STOP);
    f->stopping = true;
    if (f->killing) {
        f->killed = uv_hrtime();
        uv_timer_start(&f->gone, on_gone, GONE_MS, GONE_MS);
    }
    on_changed(f);
}

/* Nothing would ever start, and nobody could resume the queue while this process has the home. */
static int refuse_paused(struct foreground *f, struct error *err)
{
    bool paused = false;
    int status = store_queue_paused(f->engine.store, &paused, err);
    if (!status && paused)
        status = error_set(err, STATUS_BAD_INPUT,
                           "the queue of home %s is paused, so nothing was submitted; 'taper resume' lets it go on",
                           f->engine.home.dir);
    return status;
}

static int queue_sweep(struct foreground *f, const json_t *submit, struct error *err)
{
    struct requests requests = {.home = &f->engine.home, .store = f->engine.store};
    json_t *reply = NULL;
    store_set_patience(f->engine.store, 10000);
    int status = requests_handle(&requests, "submit", submit, &reply, err);
    if (!status) {
        snprintf(f->sweep, sizeof f->sweep, "%s", json_string_value(json_object_get(reply, "sweep")));
        submit_print(reply, stderr);
        status = store_sweep_pause(f->engine.store, f->sweep, false, err); /* it was asked to run */
    }
    store_set_patience(f->engine.store, 250);
    json_decref(reply);
    return status;
}

static void run_loop(struct foreground *f)
{
    uv_loop_t *loop = &f->engine.loop;
    uv_timer_init(loop, &f->draw);
    uv_timer_init(loop, &f->check);
    uv_timer_init(loop, &f->gone);
    uv_signal_init(loop, &f->interrupt);
    uv_signal_init(loop, &f->terminate);
    f->draw.data = f->check.data = f->gone.data = f->interrupt.data = f->terminate.data = f;
    uv_signal_start(&f->interrupt, on_signal, SIGINT);
    uv_signal_start(&f->terminate, on_signal, SIGTERM);
    if (f->terminal)
        uv_timer_start(&f->draw, on_draw, 0, DRAW_MS);
    on_changed(f);
    uv_run(loop, UV_RUN_DEFAULT);
    if (f->terminal)
        draw(f);
}

static int report(struct foreground *f, struct error *err)
{
    json_t *all = NULL;
    char counts[160];
    int status = status_collect(f->engine.store, f->sweep, &all, err);
    if (status)
        return status;
    printf("%s: %s\n", f->sweep, status_counts(json_array_get(json_object_get(all, "sweeps"), 0), counts));
    json_decref(all);
    if (f->done)
        return STATUS_OK;
    if (f->stopping)
        return error_set(err, STATUS_STOPPED, "stopped; the same command goes on with it");
    if (f->stuck[0])
        return error_set(err, STATUS_FAILED, "what is left can never start: %s", f->stuck);
    return error_set(err, STATUS_FAILED,
                     "not all runs are done; 'taper status' says why, 'taper retry %s' queues them again", f->sweep);
}

int foreground_run(const struct engine_options *options, const char *home, const json_t *submit, struct error *err)
{
    struct foreground *f = memory_alloc(1, sizeof *f);
    /* The name is not known before the sweep is queued, and the scheduler wants it: it keeps a pointer to ours. */
    int status = engine_open(&f->engine, options, home, f->sweep, on_log, on_changed, f, err);
    if (!status) {
        f->terminal = isatty(2);
        f->begun = uv_hrtime();
        status = refuse_paused(f, err);
        if (!status)
            status = queue_sweep(f, submit, err);
        if (!status)
            status = scheduler_recover(f->engine.scheduler, err);
        if (!status) {
            run_loop(f);
            status = report(f, err);
        }
    }
    engine_close(&f->engine);
    free(f);
    return status;
}
