/* What a training reads, held against what it is to read: data.json in its directory.
 *
 * The first training writes there what it opened, and the queue says which digests the run's name was made of. Nothing
 * is believed by its name: the digests of the token files are those of the bytes that are mapped, the tokenizer's is
 * that of what it does. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "core/base/json_file.h"
#include "core/base/memory.h"
#include "core/base/rundir.h"
#include "core/train/train_internal.h"

enum { DIGESTS = 5 };

struct digest_read {
    const char *name; /* in data.json and the journal */
    const char *what; /* for people */
    const char *text;
};

static void list(const struct run *r, char does[DATASET_DIGEST], struct digest_read out[DIGESTS])
{
    const struct dataset *d = &r->data;
    sodium_bin2hex(does, DATASET_DIGEST, tokenizer_digest(d->tokenizer), TOKENIZER_DIGEST_BYTES);
    out[0] = (struct digest_read){"corpus", "data.corpus and data.valid", d->corpus_digest};
    out[1] = (struct digest_read){"tokenizer", "data.tokenizer", d->tokenizer_digest};
    out[2] = (struct digest_read){"tokenizer_read", "the tokenizer that was read", does};
    out[3] = (struct digest_read){"train", "the training tokens that were read", d->train_digest};
    out[4] = (struct digest_read){"valid", "the validation tokens that were read", d->valid_digest};
}

/* As a new reference; what cannot be read (a power cut may have left it empty) says nothing. */
static json_t *stored(const char *path)
{
    json_t *object = NULL;
    struct error none = {0};
    return access(path, F_OK) == 0 && json_file_read(path, &object, &none) == STATUS_OK ? object : json_object();
}

/* Hold what was found against what is wanted; by: who wants it, for people. */
static int check(const struct digest_read found[DIGESTS], const json_t *wanted, const char *by, struct error *err)
{
    for (int i = 0; i < DIGESTS; i++) {
        const char *want = json_string_value(json_object_get(wanted, found[i].name));
        if (want && strcmp(want, found[i].text) != 0)
            return error_set(err, STATUS_BAD_INPUT, "%s: %s: not what the run is of: want digest %s, found %s", by,
                             found[i].what, want, found[i].text);
    }
    return STATUS_OK;
}

int run_check_data(const struct run *r, struct error *err)
{
    char does[DATASET_DIGEST], *path = file_join(r->options->dir, RUNDIR_DATA);
    char *config = file_join(r->options->dir, RUNDIR_CONFIG);
    struct digest_read found[DIGESTS];
    json_t *before = access(config, F_OK) == 0 ? stored(path) : json_object(); /* else no run has begun there */
    list(r, does, found);
    int status = check(found, before, path, err);
    if (!status)
        status = check(found, r->options->data, "the queue", err);
    json_decref(before);
    free(path);
    free(config);
    return status;
}

int run_claim_data(const struct run *r, struct error *err)
{
    char does[DATASET_DIGEST], *path = file_join(r->options->dir, RUNDIR_DATA);
    struct digest_read found[DIGESTS];
    json_t *object = json_object(), *before = stored(path);
    list(r, does, found);
    for (int i = 0; i < DIGESTS; i++)
        json_object_set_new(object, found[i].name, json_string(found[i].text));
    char *text = json_dumps(object, JSON_INDENT(2));
    int status = json_equal(object, before) ? STATUS_OK : file_replace(path, text, strlen(text), err);
    json_decref(object);
    json_decref(before);
    free(text);
    free(path);
    return status;
}

int run_log_data(struct run *r, struct error *err)
{
    char does[DATASET_DIGEST];
    struct digest_read found[DIGESTS];
    list(r, does, found);
    json_t *line = json_object();
    for (int i = 0; i < DIGESTS; i++)
        json_object_set_new(line, found[i].name, json_string(found[i].text));
    return journal_append(&r->journal, "data", line, err);
}
