#include "harness/daemon/submit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/file_tree.h"
#include "core/base/memory.h"
#include "core/data/dataset.h"
#include "harness/daemon/client.h"
#include "harness/daemon/sweep_copy.h"
#include "harness/spec/spec.h"
#include "harness/spec/spec_yaml.h"

/* The text of a sweep as JSON. A file is opened only when it is a regular one. */
static int read_text(const char *path, json_t **out, struct error *err)
{
    struct file_map map = {0};
    char *input = NULL;
    size_t size = 0;
    bool is_input = strcmp(path, "-") == 0;
    int status = is_input ? yaml_read_file(path, &input, &size, err) : file_map_open(&map, path, err);
    *out = NULL;
    if (status)
        return status;
    size = is_input ? size : map.size;
    if (size > SPEC_FILE_MOST)
        status = error_set(err, STATUS_BAD_INPUT, "%s: %zu bytes; a sweep may have %d", path, size, SPEC_FILE_MOST);
    else if (!(*out = json_stringn(is_input ? input : (const char *)map.data, size)))
        status = error_set(err, STATUS_BAD_INPUT, "%s: not UTF-8", path);
    if (!is_input)
        file_map_close(&map);
    free(input);
    return status;
}

int submit_request(const char *path, json_t **body, struct error *err)
{
    json_t *text;
    int status = read_text(path, &text, err);
    *body = NULL;
    if (status)
        return status;
    char *directory = getcwd(NULL, 0);
    if (!directory)
        status = error_set(err, STATUS_FAILED, "the current directory is gone");
    else
        *body = json_pack("{s:O, s:s, s:s}", "text", text, "path", path, "directory", directory);
    if (!status && !*body)
        status = error_set(err, STATUS_BAD_INPUT, "%s: the path, or that of the directory, is not UTF-8", path);
    json_decref(text);
    free(directory);
    return status;
}

static long long number(const json_t *reply, const char *name)
{
    return json_integer_value(json_object_get(reply, name));
}

/* Somewhere else and for a moment, since a home that is not there must not come to be. */
static int preview_nowhere(json_t *body, json_t **reply, struct error *err)
{
    const char *place = getenv("TMPDIR");
    char *dir = memory_format("%s/taper.XXXXXX", place && *place ? place : "/tmp");
    struct home home = {0};
    int status = mkdtemp(dir) ? home_init(&home, dir, true, err)
                              : error_errno(err, STATUS_FAILED, errno, "%s: cannot make a directory", dir);
    if (!status)
        status = client_ask_home(&home, "submit", body, reply, NULL, err);
    else
        json_decref(body);
    if (home.dir)
        file_tree_remove(dir, NULL, NULL);
    home_fini(&home);
    free(dir);
    return status;
}

int submit_preview(const char *given, json_t *body, json_t **reply, struct error *err)
{
    struct home home = {0};
    bool there = home_init(&home, given, false, NULL) == STATUS_OK && access(home.database, F_OK) == 0;
    json_object_set_new(body, "dry", json_true());
    int status = there ? client_ask_home(&home, "submit", body, reply, NULL, err) : preview_nowhere(body, reply, err);
    home_fini(&home);
    return status;
}

/* --------------------------------------------------------------------------------------------- for people */

enum { RUNS_SHOWN = 3 };

static const char *text_of(const json_t *note, const char *name)
{
    const char *text = json_string_value(json_object_get(note, name));
    return text ? text : "";
}

static bool is(const json_t *note, const char *name, const char *word)
{
    return strcmp(text_of(note, name), word) == 0;
}

static void print_value(const json_t *value, FILE *out)
{
    char *text = json_is_string(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
    fputs(text ? text : json_string_value(value), out);
    free(text);
}

static void print_differences(const json_t *note, FILE *out)
{
    const char *key, *between = "", *word = is(note, "change", "changed") ? "now" : "wanted";
    json_t *pair;
    json_object_foreach(json_object_get(note, "differences"), key, pair)
    {
        fprintf(out, "%s%s ", between, key);
        print_value(json_array_get(pair, 0), out);
        fprintf(out, ", %s ", word);
        print_value(json_array_get(pair, 1), out);
        between = "; ";
    }
    if (!*between)
        fputs("several keys", out);
}

static void print_runs(const json_t *note, const char *after, FILE *out)
{
    const json_t *runs = json_object_get(note, "runs");
    size_t shown = json_array_size(runs) < RUNS_SHOWN ? json_array_size(runs) : RUNS_SHOWN;
    for (size_t i = 0; i < shown; i++)
        fprintf(out, "%s%s", i ? " " : "", json_string_value(json_array_get(runs, i)));
    fputs(number(note, "count") > (long long)shown ? after : "", out);
}

/* What the runs of a note are called in a command: the sweep where they are all of it in that state. */
static void print_words(const json_t *reply, const json_t *note, FILE *out)
{
    long long done = number(json_object_get(reply, "known"), "done");
    if (number(note, "count") > RUNS_SHOWN && is(note, "why", "done") && number(note, "count") == done)
        fputs(text_of(reply, "sweep"), out);
    else
        print_runs(note, " ...", out);
}

/* Why, and what to do about it. */
static void print_advice(const json_t *reply, const json_t *note, FILE *out)
{
    if (is(note, "why", "done")) {
        fputs("; 'taper retry --done ", out);
        print_words(reply, note, out);
        fputs("' trains so", out);
    } else if (is(note, "why", "running")) {
        fputs("; 'taper cancel --wait ", out);
        print_words(reply, note, out);
        fputs("', then submitted again, takes it", out);
    } else if (is(note, "why", "shared")) {
        fprintf(out, "; sweep %s wants %s too: 'taper cancel %s' gives up its part", text_of(note, "sweep"),
                number(note, "count") == 1 ? "it" : "them", text_of(note, "sweep"));
    } else if (is(note, "why", "twice")) {
        fputs("; the first place in the sweep counts", out);
    } else if (is(note, "why", "alone")) {
        fputs("; after a pack that failed it shares no worker", out);
    } else if (is(note, "why", "failed")) {
        fprintf(out, "; 'taper retry %s' queues what failed", text_of(reply, "sweep"));
    }
}

static void print_note(const json_t *reply, const json_t *note, FILE *out)
{
    bool compared = is(note, "change", "kept") || is(note, "change", "changed");
    fprintf(out, "  %s: %lld", text_of(note, "change"), number(note, "count"));
    if (is(note, "why", "done") || is(note, "why", "running") || is(note, "change", "changed") ||
        is(note, "change", "dropped"))
        fprintf(out, " %s", text_of(note, "why"));
    fputs(" (", out);
    print_runs(note, " ...", out);
    fputs(compared ? "), " : ")", out);
    if (compared) {
        print_differences(note, out);
        print_advice(reply, note, out);
    }
    fputc('\n', out);
}

void submit_print(const json_t *reply, FILE *out)
{
    const char *state;
    json_t *count, *note;
    const bool dry = json_is_true(json_object_get(reply, "dry"));
    fprintf(out, "sweep %s%s: %lld runs, %lld new", text_of(reply, "sweep"), dry ? ", if it is submitted" : "",
            number(reply, "runs"), number(reply, "fresh"));
    if (number(reply, "requeued"))
        fprintf(out, ", %lld queued again", number(reply, "requeued"));
    json_object_foreach(json_object_get(reply, "known"), state, count) if (json_integer_value(count))
        fprintf(out, ", %lld already %s", (long long)json_integer_value(count), state);
    if (number(reply, "doubles"))
        fprintf(out, "; %lld named twice", number(reply, "doubles"));
    if (number(reply, "dropped"))
        fprintf(out, "; %lld no longer in it (%lld of them were queued)", number(reply, "dropped"),
                number(reply, "dropped_queued"));
    if (number(reply, "pack") > 1)
        fprintf(out, "; up to %lld of equal shape share a worker", number(reply, "pack"));
    fputc('\n', out);
    for (size_t i = 0; (note = json_array_get(json_object_get(reply, "notes"), i)); i++)
        if (dry || is(note, "change", "kept") || is(note, "change", "changed"))
            print_note(reply, note, out);
    for (size_t i = 0; (note = json_array_get(json_object_get(reply, "warnings"), i)); i++)
        fprintf(out, "warning: %s\n", json_string_value(note));
}

int submit_check(const char *path, const struct progress *progress, struct error *err)
{
    struct spec spec;
    struct config before;
    int status = spec_load(&spec, path, stderr, err);
    for (int64_t i = 0; i < spec.run_count && !status; i++) {
        struct config cfg;
        char corpus[DATASET_DIGEST], tokenizer[DATASET_DIGEST];
        spec_run(&spec, i, &cfg);
        bool same = i && strcmp(cfg.corpus, before.corpus) == 0 && strcmp(cfg.valid, before.valid) == 0 &&
                    strcmp(cfg.tokenizer, before.tokenizer) == 0;
        if (!same)
            status = dataset_digests_watched(&cfg, progress, corpus, tokenizer, err);
        before = cfg;
    }
    spec_fini(&spec);
    return status;
}

/* --------------------------------------------------------------------------------------------- into the queue */

struct submit_job {
    char *text, *path, *directory;
    size_t size; /* of the text */
    struct spec spec;
    struct store_identities *ids;
    bool dry; /* say what would be, and do nothing */
};

static char *copy_field(const json_t *request, const char *name, struct error *err)
{
    const char *text = json_string_value(json_object_get(request, name));
    if (!text)
        error_set(err, STATUS_BAD_INPUT, "%s: want text", name);
    return text ? memory_string(text) : NULL;
}

int submit_job_create(struct submit_job **out, const json_t *request, struct error *err)
{
    struct submit_job *job = memory_alloc(1, sizeof *job);
    *out = NULL;
    job->dry = json_is_true(json_object_get(request, "dry"));
    job->text = copy_field(request, "text", err);
    job->size = json_string_length(json_object_get(request, "text"));
    job->path = job->text ? copy_field(request, "path", err) : NULL;
    job->directory = job->path ? copy_field(request, "directory", err) : NULL;
    if (!job->directory) {
        submit_job_destroy(job);
        return STATUS_BAD_INPUT;
    }
    *out = job;
    return STATUS_OK;
}

int submit_job_prepare(struct submit_job *job, struct error *err)
{
    int status = spec_parse(&job->spec, job->text, job->size, job->path, job->directory, NULL, err);
    if (status)
        return status;
    job->ids = store_identities_create(dataset_digests);
    return store_identities_prepare(job->ids, &job->spec, err);
}

static json_t *submitted_to_json(const struct spec *spec, const struct store_submitted *done, bool dry, json_t *notes)
{
    json_t *known = json_object();
    for (int i = 0; i < RUN_STATES; i++)
        json_object_set_new(known, run_state_name(i), json_integer(done->known[i]));
    return json_pack("{s:s, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:O}", "sweep", spec->name, "dry", (int)dry,
                     "pack", (json_int_t)spec->limits.pack, "runs", (json_int_t)done->runs, "fresh",
                     (json_int_t)done->fresh, "requeued", (json_int_t)done->requeued, "doubles",
                     (json_int_t)done->doubles, "dropped", (json_int_t)done->dropped, "dropped_queued",
                     (json_int_t)done->dropped_queued, "known", known, "notes", notes);
}

int submit_job_commit(struct submit_job *job, struct store *store, json_t **body, struct error *err)
{
    struct store_submitted done = {0};
    json_t *notes = json_array();
    int status = store_submit_named(store, &job->spec, job->ids, job->dry, notes, &done, err);
    if (!status)
        *body = submitted_to_json(&job->spec, &done, job->dry, notes);
    json_decref(notes);
    return status;
}

int submit_job_keep(const struct submit_job *job, const struct home *home, struct error *err)
{
    if (job->dry)
        return STATUS_OK;
    return sweep_copy_write(home, job->spec.name, job->text, job->size, job->path, job->directory, err);
}

void submit_job_destroy(struct submit_job *job)
{
    if (!job)
        return;
    store_identities_destroy(job->ids);
    spec_fini(&job->spec);
    free(job->text);
    free(job->path);
    free(job->directory);
    free(job);
}
