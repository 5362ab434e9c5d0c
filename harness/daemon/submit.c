#include "harness/daemon/submit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/data/dataset.h"
#include "harness/daemon/sweep_copy.h"
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

void submit_print(const json_t *reply, FILE *out)
{
    const char *state;
    json_t *count;
    fprintf(out, "sweep %s: %lld runs, %lld new", json_string_value(json_object_get(reply, "sweep")),
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
    json_t *warning;
    size_t i;
    json_array_foreach(json_object_get(reply, "warnings"), i, warning)
        fprintf(out, "warning: %s\n", json_string_value(warning));
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

static json_t *submitted_to_json(const struct spec *spec, const struct store_submitted *done)
{
    json_t *known = json_object();
    for (int i = 0; i < RUN_STATES; i++)
        json_object_set_new(known, run_state_name(i), json_integer(done->known[i]));
    return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "sweep", spec->name, "pack",
                     (json_int_t)spec->limits.pack, "runs", (json_int_t)done->runs, "fresh", (json_int_t)done->fresh,
                     "requeued", (json_int_t)done->requeued, "doubles", (json_int_t)done->doubles, "dropped",
                     (json_int_t)done->dropped, "dropped_queued", (json_int_t)done->dropped_queued, "known", known);
}

int submit_job_commit(struct submit_job *job, struct store *store, json_t **body, struct error *err)
{
    struct store_submitted done = {0};
    int status = store_submit_named(store, &job->spec, job->ids, &done, err);
    if (!status)
        *body = submitted_to_json(&job->spec, &done);
    return status;
}

int submit_job_keep(const struct submit_job *job, const struct home *home, struct error *err)
{
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
