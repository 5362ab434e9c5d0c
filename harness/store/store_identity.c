/* Names and JSON of a sweep's runs. Most runs of a sweep differ from another in the seed alone, and writing sixty keys
 * as JSON twice is most of what submitting a run costs; so the texts of recent configurations are kept, cut open where
 * the seed stands. The result is what config_identity and config_to_json give. */
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "core/base/memory.h"
#include "harness/store/store_internal.h"

enum { KEPT = 32 };

/* A JSON text in two parts; the seed's digits go between. */
struct cut_text {
    char *text;
    size_t head, tail; /* bytes before the digits; where the rest starts */
};

struct remembered {
    struct config cfg; /* seed 0 */
    struct cut_text canonical, full;
};

struct store_identities {
    store_digests *digests;
    struct {
        struct config of;
        char corpus[65], tokenizer[65];
    } * data;
    int data_count;
    struct remembered kept[KEPT];
    int count, next;
    char *joined; /* the last full text */
    size_t room;
};

struct store_identities *store_identities_create(store_digests *digests)
{
    struct store_identities *ids = memory_alloc(1, sizeof *ids);
    ids->digests = digests;
    return ids;
}

static void forget(struct remembered *r)
{
    free(r->canonical.text);
    free(r->full.text);
    *r = (struct remembered){0};
}

void store_identities_destroy(struct store_identities *ids)
{
    if (!ids)
        return;
    for (int i = 0; i < ids->count; i++)
        forget(&ids->kept[i]);
    free(ids->data);
    free(ids->joined);
    free(ids);
}

static bool same_data(const struct config *a, const struct config *b)
{
    return a->corpus_size == b->corpus_size && a->corpus_seed == b->corpus_seed && a->vocab == b->vocab &&
           strcmp(a->corpus, b->corpus) == 0 && strcmp(a->tokenizer, b->tokenizer) == 0 &&
           strcmp(a->valid, b->valid) == 0;
}

/* *found: the row of ids->data. */
static int find_digests(struct store_identities *ids, const struct config *cfg, int *found, struct error *err)
{
    for (*found = 0; *found < ids->data_count; ++*found)
        if (same_data(&ids->data[*found].of, cfg))
            return STATUS_OK;
    char corpus[65] = "", tokenizer[65] = "";
    int status = ids->digests(cfg, corpus, tokenizer, err);
    if (status)
        return status;
    ids->data = memory_resize(ids->data, (size_t)ids->data_count + 1, sizeof *ids->data);
    ids->data[ids->data_count].of = *cfg;
    memcpy(ids->data[ids->data_count].corpus, corpus, sizeof corpus);
    memcpy(ids->data[ids->data_count++].tokenizer, tokenizer, sizeof tokenizer);
    return STATUS_OK;
}

int store_identity_digests(struct store_identities *ids, const struct config *cfg, const char **corpus,
                           const char **tokenizer, struct error *err)
{
    int found, status = find_digests(ids, cfg, &found, err);
    if (!status) {
        *corpus = ids->data[found].corpus;
        *tokenizer = cfg->init_run[0] ? NULL : ids->data[found].tokenizer;
    }
    return status;
}

int store_identities_prepare(struct store_identities *ids, const struct spec *spec, struct error *err)
{
    int status = STATUS_OK, found;
    for (int64_t i = 0; i < spec->run_count && !status; i++) {
        struct config cfg;
        spec_run(spec, i, &cfg);
        status = find_digests(ids, &cfg, &found, err);
        if (status)
            error_wrap(err, "run %lld of the sweep", (long long)i);
    }
    return status;
}

/* The quotes around seed make it the key: inside a JSON string they would be escaped, and data.seed has none before
 * its last part. */
static bool cut_at_seed(struct cut_text *t)
{
    static const char key[] = "\"seed\":";
    const char *at = t->text ? strstr(t->text, key) : NULL;
    if (!at)
        return false;
    t->head = (size_t)(at - t->text) + sizeof key - 1;
    t->tail = t->head + strspn(t->text + t->head, "0123456789");
    return true;
}

static struct remembered *remember(struct store_identities *ids, const struct config *zero, int data)
{
    struct remembered *r = &ids->kept[ids->next];
    forget(r);
    ids->next = (ids->next + 1) % KEPT;
    if (ids->count < KEPT)
        ids->count++;
    r->cfg = *zero;
    r->canonical.text = config_canonical(zero, ids->data[data].corpus, ids->data[data].tokenizer);
    json_t *object = config_to_json(zero);
    r->full.text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(object);
    return cut_at_seed(&r->canonical) && cut_at_seed(&r->full) ? r : NULL;
}

static size_t join(struct store_identities *ids, const struct cut_text *t, int64_t seed)
{
    size_t rest = strlen(t->text + t->tail);
    if (t->head + rest + 32 > ids->room) {
        ids->room = 2 * (t->head + rest + 32);
        ids->joined = memory_resize(ids->joined, ids->room, 1);
    }
    memcpy(ids->joined, t->text, t->head);
    size_t at = t->head + (size_t)snprintf(ids->joined + t->head, 32, "%lld", (long long)seed);
    memcpy(ids->joined + at, t->text + t->tail, rest + 1);
    return at + rest;
}

int store_identify(struct store_identities *ids, const struct config *cfg, char id[CONFIG_ID], const char **json,
                   struct error *err)
{
    struct config zero = *cfg;
    struct remembered *r = NULL;
    int data = 0, status = find_digests(ids, cfg, &data, err);
    if (status)
        return status;
    zero.seed = 0;
    for (int i = 0; i < ids->count && !r; i++)
        if (memcmp(&ids->kept[i].cfg, &zero, sizeof zero) == 0)
            r = &ids->kept[i];
    if (!r)
        r = remember(ids, &zero, data);
    if (!r)
        return error_set(err, STATUS_FAILED, "the configuration cannot be written as JSON");
    unsigned char digest[crypto_generichash_BYTES];
    char hex[2 * sizeof digest + 1];
    size_t size = join(ids, &r->canonical, cfg->seed);
    crypto_generichash(digest, sizeof digest, (const unsigned char *)ids->joined, size, NULL, 0);
    sodium_bin2hex(hex, sizeof hex, digest, sizeof digest);
    memcpy(id, hex, CONFIG_ID - 1);
    id[CONFIG_ID - 1] = '\0';
    join(ids, &r->full, cfg->seed);
    *json = ids->joined;
    return STATUS_OK;
}
