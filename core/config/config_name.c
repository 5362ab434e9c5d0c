/* The canonical form of a configuration, and the names that follow from it. */
#include <stdlib.h>

#include <sodium.h>

#include "core/base/memory.h"
#include "core/config/config_internal.h"

/* 5% of 1000 steps and 50 steps are the same run. */
static json_t *value_named(const struct config_key *key, const void *from, int64_t steps)
{
    if (key->type == CONFIG_LENGTH)
        return json_integer(config_steps(*(const struct config_length *)from, steps));
    return config_value_json(key, from);
}

/* What of one key stands in a name; NULL for nothing. A new reference. */
static json_t *key_named(const struct config_key *key, const struct config *cfg)
{
    union config_value fallback;
    config_value_default(key, &fallback);
    bool counts = !key->counts || key->counts->holds(cfg);
    json_t *usual = value_named(key, &fallback, cfg->steps);
    json_t *value = counts ? value_named(key, config_value_of(cfg, key), cfg->steps) : json_incref(usual);
    bool stands = key->effect & CONFIG_ALWAYS || !json_equal(value, usual);
    json_decref(usual);
    if (stands)
        return value;
    json_decref(value);
    return NULL;
}

json_t *config_named(const struct config_key *keys, int count, const struct config *cfg, unsigned effect)
{
    json_t *object = json_object();
    for (int i = 0; i < count; i++) {
        json_t *value = keys[i].effect & effect && !(keys[i].effect & CONFIG_DIGEST) ? key_named(&keys[i], cfg) : NULL;
        if (value)
            json_object_set_new(object, keys[i].name, value);
    }
    return object;
}

char *config_canonical_of(const struct config_key *keys, int count, const struct config *cfg, const char *corpus_digest,
                          const char *tokenizer_digest)
{
    json_t *object = config_named(keys, count, cfg, CONFIG_RESULT);
    json_object_set_new(object, "data.corpus", json_string(corpus_digest));
    json_object_set_new(object, "data.tokenizer", json_string(tokenizer_digest));
    char *text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
    json_decref(object);
    return text ? text : memory_string("");
}

char *config_canonical(const struct config *cfg, const char *corpus_digest, const char *tokenizer_digest)
{
    int count;
    const struct config_key *keys = config_keys(&count);
    return config_canonical_of(keys, count, cfg, corpus_digest, tokenizer_digest);
}

/* The first digits of the BLAKE2b of a text on the heap, which is freed. */
static void name_text(char *text, char name[CONFIG_ID])
{
    unsigned char digest[crypto_generichash_BYTES];
    char hex[2 * sizeof digest + 1];
    crypto_generichash(digest, sizeof digest, (const unsigned char *)text, strlen(text), NULL, 0);
    free(text);
    sodium_bin2hex(hex, sizeof hex, digest, sizeof digest);
    memcpy(name, hex, CONFIG_ID - 1);
    name[CONFIG_ID - 1] = '\0';
}

void config_identity(const struct config *cfg, const char *corpus_digest, const char *tokenizer_digest,
                     char id[CONFIG_ID])
{
    name_text(config_canonical(cfg, corpus_digest, tokenizer_digest), id);
}

bool config_same_result(const struct config *a, const struct config *b, const struct config_key *key)
{
    json_t *one = config_named(key, 1, a, CONFIG_RESULT), *other = config_named(key, 1, b, CONFIG_RESULT);
    bool same = json_equal(one, other);
    json_decref(one);
    json_decref(other);
    return same;
}

void config_shape(const struct config *cfg, char shape[CONFIG_ID])
{
    int count;
    const struct config_key *keys = config_keys(&count);
    json_t *object = config_named(keys, count, cfg, CONFIG_SHAPE);
    char *text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(object);
    name_text(text ? text : memory_string(""), shape);
}
