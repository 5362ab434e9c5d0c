#include "harness/daemon/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/version.h"
#include "harness/daemon/daemon_requests.h"
#include "harness/daemon/daemon_server.h"
#include "harness/daemon/daemon_socket.h"
#include "harness/daemon/daemon_submit.h"
#include "harness/base/log_writer.h"

enum { WAITING_MS = 50, PATIENT_US = 30000000, STUCK_US = 1000000 };

/* A request that cannot be answered yet: one that waits for runs to end, or for the store to be free. */
struct pending {
    struct pending *next;
    struct server_client *client;
    json_t *request;
    struct submit_job *job; /* of a "submit", made ready; NULL of others */
    bool waits;             /* a "wait", else one that is tried again */
    uint64_t since;         /* uv_hrtime */
    uint64_t asked;         /* whether it waits for what can never come; 0: not yet */
};

struct daemon {
    struct engine engine;
    struct log_writer log;
    bool echo, stopping, leaving, news, later;
    bool serving, pid_written;
    struct server *server;
    struct pending *pending;
    struct submissions submissions;
    struct requests requests;
    uv_timer_t timer; /* looks at pending, and whether a stop is complete */
    uv_signal_t terminate, interrupt;
    bool timers_open, settled;
};

static void on_log(void *arg, const char *text)
{
    struct daemon *d = arg;
    if (d->log.path)
        log_writer_print(&d->log, "%s", text);
    if (d->echo)
        fprintf(stderr, "%s\n", text);
}

static void say(struct daemon *d, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct daemon *d, const char *format, ...)
{
    char text[2300];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    on_log(d, text);
}

static void on_timer(uv_timer_t *timer);

static void look_soon(struct daemon *d)
{
    if (d->settled && !uv_is_active((uv_handle_t *)&d->timer))
        uv_timer_start(&d->timer, on_timer, WAITING_MS, 0);
}

/* For people; nothing relies on it. A full disk has no room for a new file: then none is better than that of a daemon
 * before, and it is tried again as things change. */
static void write_pid(struct daemon *d)
{
    char *text = memory_format("%d\n", (int)getpid());
    d->pid_written = file_write_all(d->engine.home.pid, text, strlen(text), NULL) == STATUS_OK;
    if (!d->pid_written)
        unlink(d->engine.home.pid);
    free(text);
}

static void on_changed(void *arg)
{
    struct daemon *d = arg;
    d->news = true;
    if (d->serving && !d->pid_written)
        write_pid(d);
    if (d->pending || d->stopping)
        look_soon(d);
}

/* ------------------------------------------------------------------------------------------------------ requests */

/* job is taken. */
static void postpone(struct daemon *d, struct server_client *client, json_t *request, struct submit_job *job,
                     bool waits)
{
    struct pending *p = memory_alloc(1, sizeof *p);
    *p = (struct pending){d->pending, client, json_incref(request), job, waits, uv_hrtime(), 0};
    d->pending = p;
    look_soon(d);
}

/* True when it was answered. */
static bool answer_wait(struct daemon *d, struct server_client *client, json_t *request)
{
    struct error err = {0};
    bool finished = false, done = false;
    const char *word = json_string_value(json_object_get(request, "what"));
    int status = word ? requests_finished(d->engine.store, word, &finished, &done, &err)
                      : error_set(&err, STATUS_BAD_INPUT, "what: want a sweep or a run");
    if (status)
        server_refuse(client, request, &err);
    else if (finished)
        server_reply(client, request, json_pack("{s:b}", "done", (int)done));
    return status || finished;
}

/* A wait for what can never come is answered too; asked once a second at most, since it looks at the whole queue. */
static bool answer_stuck(struct daemon *d, struct server_client *client, json_t *request, uint64_t *asked)
{
    char why[1024];
    const char *word = json_string_value(json_object_get(request, "what"));
    if (!d->news && *asked)
        return false;
    if (*asked && uv_hrtime() - *asked < STUCK_US * 1000ull) {
        d->later = true;
        return false;
    }
    *asked = uv_hrtime();
    if (requests_stuck(&d->requests, word, why, sizeof why, NULL) || !why[0])
        return false;
    server_reply(client, request, json_pack("{s:b, s:s}", "done", 0, "stuck", why));
    return true;
}

/* What was submitted and can never start here stands in the log too. */
static void tell_warnings(struct daemon *d, const json_t *body)
{
    const json_t *warnings = json_object_get(body, "warnings");
    for (size_t i = 0; i < json_array_size(warnings); i++)
        say(d, "%s", json_string_value(json_array_get(warnings, i)));
}

/* False when another process holds the database for now, so that it pays to try again. */
static bool answer(struct daemon *d, struct server_client *client, json_t *request, struct submit_job *job, bool last)
{
    const char *what = json_string_value(json_object_get(request, "do"));
    json_t *body = NULL;
    struct error err = {0};
    int status = job ? requests_submit(&d->requests, job, &body, &err)
                     : requests_handle(&d->requests, what, request, &body, &err);
    if (!status) {
        tell_warnings(d, body);
        server_reply(client, request, body);
    } else if (!last && err.status == STATUS_FAILED && store_trouble(d->engine.store) == STORE_BUSY) {
        return false;
    } else {
        server_refuse(client, request, &err);
    }
    return true;
}

static void on_submission(void *arg, struct server_client *client, json_t *request, struct submit_job *job,
                          const struct error *err)
{
    struct daemon *d = arg;
    if (err) {
        server_refuse(client, request, err);
    } else if (!answer(d, client, request, job, false)) {
        postpone(d, client, request, job, false);
        return;
    }
    submit_job_destroy(job);
}

static void stop(struct daemon *d, bool workers, bool kill)
{
    if (!d->stopping || workers)
        say(d, "stopping; the workers %s", kill ? "are killed" : workers ? "are stopped" : "go on");
    d->stopping = true;
    scheduler_drain(d->engine.scheduler, workers, kill ? EXECUTOR_KILL : EXECUTOR_STOP);
    if (!workers)
        d->leaving = true;
    look_soon(d);
}

static void on_request(void *arg, struct server_client *client, json_t *request)
{
    struct daemon *d = arg;
    const char *what = json_string_value(json_object_get(request, "do"));
    struct error err = {0};
    if (requests_check(what, request, &err)) {
        server_refuse(client, request, &err);
    } else if (strcmp(what, "wait") == 0) {
        if (!answer_wait(d, client, request))
            postpone(d, client, request, NULL, true);
    } else if (strcmp(what, "submit") == 0) {
        if (submissions_begin(&d->submissions, client, request, &err))
            server_refuse(client, request, &err);
    } else if (strcmp(what, "stop") == 0) {
        bool kill = json_is_true(json_object_get(request, "kill"));
        server_reply(client, request, json_pack("{s:i}", "live", scheduler_live(d->engine.scheduler)));
        stop(d, kill || json_is_true(json_object_get(request, "workers")), kill);
    } else if (!answer(d, client, request, NULL, false)) {
        postpone(d, client, request, NULL, false);
    }
}

static void forget(struct pending **at)
{
    struct pending *p = *at;
    *at = p->next;
    json_decref(p->request);
    submit_job_destroy(p->job);
    free(p);
}

static void on_gone(void *arg, struct server_client *client)
{
    struct daemon *d = arg;
    submissions_gone(&d->submissions, client);
    for (struct pending **at = &d->pending; *at;)
        if ((*at)->client == client)
            forget(at);
        else
            at = &(*at)->next;
}

static void look_at_pending(struct daemon *d)
{
    /* An answer may close its client, which takes that client's other requests off the list: begin again then. */
    for (struct pending *p = d->pending; p;) {
        bool last = (uv_hrtime() - p->since) / 1000 > PATIENT_US;
        struct server_client *client = p->client;
        json_t *request = json_incref(p->request);
        bool waits = p->waits, answered = waits ? (d->news && answer_wait(d, client, request)) ||
                                                      answer_stuck(d, client, request, &p->asked)
                                                : answer(d, client, request, p->job, last);
        json_decref(request);
        if (!answered) {
            p = p->next;
            continue;
        }
        struct pending **at = &d->pending;
        while (*at && *at != p)
            at = &(*at)->next;
        if (*at)
            forget(at);
        p = d->pending;
    }
}

static void end_loop(struct daemon *d)
{
    server_destroy(d->server);
    d->server = NULL;
    uv_close((uv_handle_t *)&d->terminate, NULL);
    uv_close((uv_handle_t *)&d->interrupt, NULL);
    uv_close((uv_handle_t *)&d->timer, NULL);
    d->settled = false;
    uv_stop(&d->engine.loop);
}

static bool retries_pending(const struct daemon *d)
{
    for (const struct pending *p = d->pending; p; p = p->next)
        if (!p->waits)
            return true;
    return false;
}

static void on_timer(uv_timer_t *timer)
{
    struct daemon *d = timer->data;
    d->later = false;
    look_at_pending(d);
    d->news = d->later; /* what was asked a moment ago is asked again */
    if (d->stopping && (d->leaving || scheduler_live(d->engine.scheduler) == 0))
        end_loop(d);
    else if (d->stopping || d->later || retries_pending(d))
        look_soon(d);
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct daemon *d = handle->data;
    say(d, "signal %d", number);
    stop(d, false, false);
}

/* ------------------------------------------------------------------------------------------------------ life */

static int serve(struct daemon *d, struct error *err)
{
    uv_loop_t *loop = &d->engine.loop;
    int listening = daemon_socket_listen(&d->engine.home, err);
    if (listening < 0)
        return STATUS_FAILED;
    int status = server_create(&d->server, loop, listening, on_request, on_gone, d, err);
    if (status)
        return status;
    uv_timer_init(loop, &d->timer);
    uv_signal_init(loop, &d->terminate);
    uv_signal_init(loop, &d->interrupt);
    d->timer.data = d->terminate.data = d->interrupt.data = d;
    uv_signal_start(&d->terminate, on_signal, SIGTERM);
    uv_signal_start(&d->interrupt, on_signal, SIGINT);
    d->settled = true;
    submissions_init(&d->submissions, loop, on_submission, d);
    return STATUS_OK;
}

/* What there is to run on: a line for the log, and for whoever waits for a detached daemon. */
static void tell_ready(struct daemon *d, int ready, const char *link)
{
    char text[256];
    const struct slots *slots = d->engine.executors[0]->slots;
    snprintf(text, sizeof text, "runs are handed to %s", d->engine.executors[0]->name);
    if (slots)
        slots_summary(slots, text, sizeof text);
    say(d, "%s", text);
    if (ready < 0)
        return;
    char *line = memory_format("\n%s\n%s%s", text, link ? link : "", link ? "\n" : "");
    ssize_t wrote = write(ready, line, strlen(line));
    (void)wrote;
    free(line);
    close(ready);
}

/* The page. Its link may hold a token, which the log, that others may read, does not get. */
static int begin_beside(struct daemon *d, const struct daemon_options *options, void **beside, const char **link,
                        struct error *err)
{
    const char *where = NULL;
    int status =
        options->begin ? options->begin(&d->engine.home, options->given, beside, link, &where, err) : STATUS_OK;
    if (where)
        say(d, "the page is at %s", where);
    if (*link && options->ready < 0)
        printf("%s\n", *link);
    fflush(stdout);
    return status;
}

/* A thread reads what a client named, from a disk that may be slow or gone: nobody waits for it. */
static void leave_at_once(struct daemon *d)
{
    store_close(d->engine.store);
    log_writer_close(&d->log);
    _exit(0);
}

int daemon_run(const struct daemon_options *options, struct error *err)
{
    struct daemon *d = memory_alloc(1, sizeof *d);
    d->echo = options->echo;
    int status = engine_open(&d->engine, &options->engine, options->home, NULL, on_log, on_changed, d, err);
    if (!status) {
        struct error log = {0};
        if (log_writer_open(&d->log, d->engine.home.log, &log))
            fprintf(stderr, "taper: %s\n", log.text); /* a full disk is no reason not to start */
        d->requests = (struct requests){&d->engine.home, d->engine.store, d->engine.scheduler,
                                        d->engine.executors[0]->slots, store_now()};
        say(d, "taper %s (%s), process %d, serves %s", version_string(), version_revision(), (int)getpid(),
            d->engine.home.dir);
        void *beside = NULL;
        const char *link = NULL;
        status = begin_beside(d, options, &beside, &link, err);
        if (!status)
            status = scheduler_recover(d->engine.scheduler, err);
        if (!status)
            status = serve(d, err);
        if (!status) {
            d->serving = true;
            write_pid(d);
            tell_ready(d, options->ready, link);
            uv_run(&d->engine.loop, UV_RUN_DEFAULT);
            d->serving = false;
            unlink(d->engine.home.socket);
            unlink(d->engine.home.pid);
        }
        if (beside)
            options->end(beside);
        say(d, status ? "cannot serve: %s" : "stopped%s", status && err ? err->text : "");
        while (d->pending)
            forget(&d->pending);
        if (!submissions_end(&d->submissions))
            leave_at_once(d);
    }
    engine_close(&d->engine);
    log_writer_close(&d->log);
    free(d);
    return status;
}
