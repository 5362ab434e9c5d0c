#include "harness/daemon/submit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/data/dataset.h"
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
