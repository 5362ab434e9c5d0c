#include "harness/daemon/daemon_requests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/memory.h"
#include "core/base/version.h"
#include "harness/daemon/forget.h"
#include "harness/queue/waiting.h"
#include "harness/store/store_device.h"
#include "harness/store/store_queue.h"
#include "harness/store/store_search.h"

static const char *text_of(const json_t *request, const char *name, struct error *err)
{
    const char *text = json_string_value(json_object_get(request, name));
    if (!text)
        error_set(err, STATUS_BAD_INPUT, "%s: want text", name);
    return text;
}

int requests_resolve(struct store *store, const char *word, bool *is_sweep, struct store_run *run, struct error *err)
{
    struct error sweep = {0}, single = {0};
    *is_sweep = true;
    if (store_sweep_find(store, word, &sweep) == STATUS_OK)
        return STATUS_OK;
    *is_sweep = false;
    if (store_run_find(store, word, run, &single) == STATUS_OK)
        return STATUS_OK;
    /* Which of the two was meant shows in the letters. */
    bool of_run = strchr(word, '/') || (word[0] && word[strspn(word, "0123456789abcdef")] == '\0');
    if (err)
        *err = of_run ? single : sweep;
    return of_run ? single.status : sweep.status;
}

static json_t *changed_to_json(const struct store_changed *c)
{
    return json_pack("{s:I, s:I, s:I}", "queued", (json_int_t)c->queued, "live", (json_int_t)c->live, "kept",
                     (json_int_t)c->kept);
}

static int do_ping(struct requests *r, const json_t *request, json_t **body, struct error *err)
{
    (void)request, (void)err;
    *body = json_pack("{s:i, s:s, s:s, s:I, s:i, s:s, s:o}", "pid", (int)getpid(), "version", version_string(),
                      "revision", version_revision(), "started", (json_int_t)r->started, "live",
                      r->scheduler ? scheduler_live(r->scheduler) : 0, "trouble",
                      r->scheduler ? scheduler_trouble(r->scheduler) : "", "pools",
                      r->scheduler ? scheduler_pools(r->scheduler) : json_null());
    return STATUS_OK;
}

static int do_live(struct requests *r, const json_t *request, json_t **body, struct error *err)
{
    (void)request, (void)err;
    if (r->slots)
        slots_refresh(r->slots);
    *body = json_pack("{s:o, s:o, s:o}", "runs", r->scheduler ? scheduler_to_json(r->scheduler) : json_array(), "slots",
                      r->slots ? slots_to_json(r->slots) : json_null(), "pools",
                      r->scheduler ? scheduler_pools(r->scheduler) : json_null());
    return STATUS_OK;
}

/* Here and now: what reads a client's paths on the loop is never called by the daemon (daemon_submit.h). */
static int do_submit(struct requests *r, const json_t *request, json_t **body, struct error *err)
{
    struct submit_job *job;
    int status = submit_job_create(&job, request, err);
    if (!status)
        status = submit_job_prepare(job, err);
    if (!status)
        status = requests_submit(r, job, body, err);
    submit_job_destroy(job);
    return status;
}

/* What of a sweep just submitted can never start here, as "warnings". */
static void add_warnings(struct requests *r, json_t *body)
{
    json_t *pools = scheduler_pools(r->scheduler), *groups = NULL, *warnings = json_array();
    const char *sweep = json_string_value(json_object_get(body, "sweep"));
    const json_t *group;
    size_t i;
    waiting_collect(r->store, sweep, pools, store_now(), &groups, NULL);
    for (i = 0; (group = json_array_get(groups, i)); i++)
        if (json_is_true(json_object_get(group, "never")))
            json_array_append(warnings, json_object_get(group, "text"));
    json_object_set_new(body, "warnings", warnings);
    json_decref(groups);
    json_decref(pools);
}

/* The sweep is queued, whatever becomes of its copy. */
static void keep_copy(struct requests *r, const struct submit_job *job, json_t *body)
{
    struct error why = {0};
    if (submit_job_keep(job, r->home, &why) == STATUS_OK)
        return;
    json_t *warnings = json_object_get(body, "warnings");
    if (!warnings) {
        warnings = json_array();
        json_object_set_new(body, "warnings", warnings);
    }
    json_array_append_new(warnings,
                          json_sprintf("the sweep is queued, but not kept for 'taper rebuild': %s", why.text));
}

int requests_submit(struct requests *r, struct submit_job *job, json_t **body, struct error *err)
{
    int status = submit_job_commit(job, r->store, body, err);
    if (!status && r->scheduler && !json_is_true(json_object_get(*body, "dry"))) {
        add_warnings(r, *body);
        scheduler_kick(r->scheduler);
    }
    if (!status)
        keep_copy(r, job, *body);
    return status;
}

typedef int change(struct requests *r, const json_t *request, const char *sweep, const char *run,
                   struct store_changed *out, struct error *err);

static int on_target(struct requests *r, const json_t *request, change *apply, json_t **body, struct error *err)
{
    const char *word = text_of(request, "what", err);
    struct store_run run;
    struct store_changed changed;
    bool is_sweep;
    if (!word)
        return STATUS_BAD_INPUT;
    int status = requests_resolve(r->store, word, &is_sweep, &run, err);
    if (!status)
        status = apply(r, request, is_sweep ? word : NULL, is_sweep ? NULL : run.id, &changed, err);
    if (!status)
        *body = changed_to_json(&changed);
    return status;
}

static int apply_cancel(struct requests *r, const json_t *request, const char *sweep, const char *run,
                        struct store_changed *out, struct error *err)
{
    (void)request;
    int status = store_cancel(r->store, sweep, run, "asked for", out, err);
    if (!status && out->live && r->scheduler)
        scheduler_cancel(r->scheduler);
    return status;
}

static int apply_retry(struct requests *r, const json_t *request, const char *sweep, const char *run,
                       struct store_changed *out, struct error *err)
{
    int status = store_retry(r->store, sweep, run, json_is_true(json_object_get(request, "done")), out, err);
    if (!status && r->scheduler)
        scheduler_kick(r->scheduler);
    return status;
}

static int do_forget(struct requests *r, const json_t *request, json_t **body, struct error *err)
{
    const char *word = text_of(request, "what", err);
    struct store_run run;
    bool is_sweep;
    if (!word)
        return STATUS_BAD_INPUT;
    int status = requests_resolve(r->store, word, &is_sweep, &run, err);
    if (!status)
        status =
            forget_carry_out(r->store, r->home, is_sweep ? word : NULL, is_sweep ? NULL : &run, request, body, err);
    return status;
}

static int do_cancel(struct requests *r, const json_t *request, json_t **body, struct error *err)
{
    return on_target(r, request, apply_cancel, body, err);
}

static int do_retry(struct requests *r, const json_t *request, json_t **body, struct error *err)
{
    return on_target(r, request, apply_retry, body, err);
}

static int count_one(void *arg, const struct store_run *run)
{
    (void)run;
    ++*(int64_t *)arg;
    return STATUS_OK;
}

/* Runs that have a worker, of a sweep or of all. */
static int count_live(struct store *store, const char *sweep, int64_t *count, struct error *err)
{
    const struct store_filter live = {.sweep = sweep, .states = 1u << RUN_STARTING | 1u << RUN_RUNNING};
    return store_runs_each(store, &live, count_one, count, err);
}

/* One sweep, or without a name the queue; `all` resumes every sweep too. */
static int set_paused(struct requests *r, const json_t *request, bool paused, json_t **body, struct error *err)
{
    const char *sweep = json_string_value(json_object_get(request, "sweep"));
    struct store_queue_sweeps all = {0};
    int status = sweep ? store_sweep_pause(r->store, sweep, paused, err) : store_queue_pause(r->store, paused, err);
    if (!status && !sweep && !paused && json_is_true(json_object_get(request, "all")))
        store_queue_sweeps(r->store, &all);
    for (size_t i = 0; i < all.count && !status; i++)
        status = store_sweep_pause(r->store, all.names[i], paused, err);
    int64_t live = 0;
    if (!status && paused)
        status = count_live(r->store, sweep, &live, err);
    bool stop = !status && paused && r->scheduler && json_is_true(json_object_get(request, "running"));
    int stopping = stop ? scheduler_pause(r->scheduler) : 0;
    if (!status)
        *body = json_pack("{s:b, s:I, s:I, s:i}", "queue", !sweep, "sweeps", (json_int_t)(sweep ? 1 : all.count),
                          "live", (json_int_t)live, "stopping", stopping);
    free(all.names);
    if (!status && !paused && r->scheduler)
        scheduler_kick(r->scheduler);
    return status;
}

static int do_pause(struct requests *r, const json_t *request, json_t **body, struct error *err)
{
    return set_paused(r, request, true, body, err);
}

/* A run that its search has paused, and no sweep of that name. */
static int resume_run(struct requests *r, const char *word, json_t **body, struct error *err)
{
    struct store_run run;
    int status = store_run_find(r->store, word, &run, err);
    if (!status)
        status = store_search_resume(r->store, run.id, err);
    if (!status)
        *body = json_pack("{s:s}", "run", run.id);
    if (!status && r->scheduler)
        scheduler_kick(r->scheduler);
    return status;
}

static int do_resume(struct requests *r, const json_t *request, json_t **body, struct error *err)
{
    const char *word = json_string_value(json_object_get(request, "sweep"));
    struct store_run run;
    bool is_sweep = true;
    int status = word ? requests_resolve(r->store, word, &is_sweep, &run, err) : STATUS_OK;
    if (status || !is_sweep)
        return status ? status : resume_run(r, word, body, err);
    return set_paused(r, request, false, body, err);
}

static int do_use(struct requests *r, const json_t *request, json_t **body, struct error *err)
{
    const char *word = text_of(request, "device", err);
    char device[STORE_DEVICE] = "";
    int status = word ? store_device_use(r->store, word, device, sizeof device, err) : STATUS_BAD_INPUT;
    if (status)
        return status;
    if (r->scheduler)
        scheduler_use_device(r->scheduler, device);
    *body = json_pack("{s:s}", "device", device);
    return STATUS_OK;
}

int requests_finished(struct store *store, const char *word, bool *finished, bool *all_done, struct error *err)
{
    struct store_run run;
    bool is_sweep;
    int status = requests_resolve(store, word, &is_sweep, &run, err);
    if (status)
        return status;
    if (!is_sweep) {
        *finished = run.state >= RUN_DONE;
        *all_done = run.state == RUN_DONE;
        return STATUS_OK;
    }
    return store_sweep_finished(store, word, finished, all_done, err);
}

int requests_stuck(struct requests *r, const char *word, char *text, size_t room, struct error *err)
{
    struct store_run run;
    bool is_sweep;
    text[0] = '\0';
    int status = requests_resolve(r->store, word, &is_sweep, &run, err);
    if (status || (!is_sweep && run.state != RUN_QUEUED))
        return status;
    json_t *pools = r->scheduler ? scheduler_pools(r->scheduler) : NULL;
    status =
        waiting_stuck(r->store, is_sweep ? word : NULL, is_sweep ? NULL : &run, pools, store_now(), text, room, err);
    json_decref(pools);
    return status;
}

int requests_check(const char *what, const json_t *request, struct error *err)
{
    static const struct {
        const char *request, *field;
        bool text; /* else true or false */
    } fields[] = {{"submit", "text", true},         {"submit", "path", true},    {"submit", "directory", true},
                  {"submit", "dry", false},         {"retry", "done", false},    {"cancel", "what", true},
                  {"retry", "what", true},          {"wait", "what", true},      {"pause", "sweep", true},
                  {"pause", "all", false},          {"pause", "running", false}, {"resume", "sweep", true},
                  {"resume", "all", false},         {"forget", "what", true},    {"forget", "yes", false},
                  {"forget", "checkpoints", false}, {"use", "device", true},     {"stop", "kill", false},
                  {"stop", "workers", false}};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        const json_t *value = json_object_get(request, fields[i].field);
        if (strcmp(fields[i].request, what) != 0 || !value)
            continue;
        if (fields[i].text ? !json_is_string(value) : !json_is_boolean(value)) {
            char *found = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
            error_set(err, STATUS_BAD_INPUT, "%s: %s: want %s, got %.80s", what, fields[i].field,
                      fields[i].text ? "text" : "true or false", found ? found : "?");
            free(found);
            return STATUS_BAD_INPUT;
        }
    }
    return STATUS_OK;
}

int requests_handle(struct requests *r, const char *what, const json_t *request, json_t **body, struct error *err)
{
    static const struct {
        const char *name;
        int (*handle)(struct requests *r, const json_t *request, json_t **body, struct error *err);
    } table[] = {{"ping", do_ping},     {"live", do_live},     {"submit", do_submit},
                 {"cancel", do_cancel}, {"retry", do_retry},   {"pause", do_pause},
                 {"resume", do_resume}, {"forget", do_forget}, {"use", do_use}};
    *body = NULL;
    int status = requests_check(what, request, err);
    if (status)
        return status;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (strcmp(table[i].name, what) == 0)
            return table[i].handle(r, request, body, err);
    return error_set(err, STATUS_BAD_INPUT, "do: no request '%s'", what);
}
