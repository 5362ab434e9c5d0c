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
#include "harness/spec/spec.h"

int submit_request(const char *path, json_t **body, struct error *err)
{
    struct file_map map;
    int status = file_map_open(&map, path, err);
    *body = NULL;
    if (status)
        return status;
    char *directory = getcwd(NULL, 0);
    json_t *text = map.size <= SPEC_FILE_MOST ? json_stringn((const char *)map.data, map.size) : NULL;
    if (map.size > SPEC_FILE_MOST)
        status = error_set(err, STATUS_BAD_INPUT, "%s: %zu bytes; a sweep may have %d", path, map.size, SPEC_FILE_MOST);
    else if (!text)
        status = error_set(err, STATUS_BAD_INPUT, "%s: not UTF-8", path);
    else if (!directory)
        status = error_set(err, STATUS_FAILED, "the current directory is gone");
    else
        *body = json_pack("{s:O, s:s, s:s}", "text", text, "path", path, "directory", directory);
    if (!status && !*body)
        status = error_set(err, STATUS_BAD_INPUT, "%s: the path, or that of the directory, is not UTF-8", path);
    json_decref(text);
    free(directory);
    file_map_close(&map);
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
}

int submit_check(const char *path, struct error *err)
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
            status = dataset_digests(&cfg, corpus, tokenizer, err);
        before = cfg;
    }
    spec_fini(&spec);
    return status;
}
