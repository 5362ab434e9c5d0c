/* A configuration as JSON, its canonical form, and the name that follows from it. */
#include <math.h>
#include <stdlib.h>

#include <sodium.h>

#include "core/config/config_internal.h"
#include "core/base/memory.h"

static json_t *value_to_json(const struct config *cfg, const struct config_key *key)
{
    const void *from = (const char *)cfg + key->offset;
    char text[CONFIG_TEXT];
    switch (key->type) {
    case CONFIG_INT:
        return json_integer(*(const int64_t *)from);
    case CONFIG_REAL:
        return json_real(*(const double *)from);
    case CONFIG_BOOL:
        return json_boolean(*(const bool *)from);
    case CONFIG_LENGTH:
        if (!((const struct config_length *)from)->fraction)
            return json_integer((json_int_t)((const struct config_length *)from)->value);
        break;
    case CONFIG_TARGET:
        if (!((const struct config_target *)from)->word)
            return json_real(((const struct config_target *)from)->value);
        break;
    case CONFIG_WORD:
    case CONFIG_STRING:
        break;
    }
    /* A path need not be UTF-8; such bytes cannot stand in JSON and would make the whole object unwritable. */
    config_get(cfg, key, text);
    json_t *string = json_string(text);
    return string ? string : json_string("(not UTF-8)");
}

json_t *config_to_json(const struct config *cfg)
{
    int count;
    const struct config_key *keys = config_keys(&count);
    json_t *object = json_object();
    for (int i = 0; i < count; i++)
        json_object_set_new(object, keys[i].name, value_to_json(cfg, &keys[i]));
    return object;
}

static int text_of_json(const json_t *value, char *to, size_t room)
{
    if (json_is_string(value))
        return snprintf(to, room, "%s", json_string_value(value)) < (int)room ? 0 : -1;
    if (json_is_boolean(value))
        return snprintf(to, room, "%s", json_is_true(value) ? "true" : "false") < (int)room ? 0 : -1;
    if (json_is_integer(value))
        return snprintf(to, room, "%lld", (long long)json_integer_value(value)) < (int)room ? 0 : -1;
    if (json_is_real(value))
        return snprintf(to, room, "%.17g", json_real_value(value)) < (int)room ? 0 : -1;
    return -1;
}

int config_from_json(struct config *cfg, const json_t *object, const char *where, struct error *err)
{
    const char *name;
    json_t *value;
    if (!json_is_object(object))
        return error_set(err, STATUS_BAD_INPUT, "%s: want a JSON object of configuration keys", where);
    config_init(cfg);
    json_object_foreach((json_t *)object, name, value)
    {
        char text[CONFIG_TEXT];
        const struct config_key *key = config_key_find(name);
        if (text_of_json(value, text, sizeof text))
            return error_set(err, STATUS_BAD_INPUT, "%s: %s: want a number, text, true or false", where, name);
        /* An integer derived at 0 ("auto") is written as 0 by an unfinished configuration. */
        if (key && key->type == CONFIG_INT && strcmp(key->fallback, "auto") == 0 && strcmp(text, "0") == 0)
            continue;
        if (config_set(cfg, name, text, err)) {
            error_wrap(err, "%s", where);
            return STATUS_BAD_INPUT;
        }
    }
    if (config_finish(cfg, err)) {
        error_wrap(err, "%s", where);
        return STATUS_BAD_INPUT;
    }
    return STATUS_OK;
}

char *config_canonical(const struct config *cfg, const char *corpus_digest, const char *tokenizer_digest)
{
    int count;
    const struct config_key *keys = config_keys(&count);
    json_t *object = json_object();
    for (int i = 0; i < count; i++) {
        const struct config_key *key = &keys[i];
        const void *from = (const char *)cfg + key->offset;
        if (!(key->effect & CONFIG_RESULT))
            continue;
        if (key->type == CONFIG_LENGTH) /* 5% of 1000 steps and 50 steps are the same run */
            json_object_set_new(object, key->name,
                                json_integer(config_steps(*(const struct config_length *)from, cfg->steps)));
        else if (strcmp(key->name, "data.corpus") == 0)
            json_object_set_new(object, key->name, json_string(corpus_digest));
        else if (strcmp(key->name, "data.tokenizer") == 0)
            json_object_set_new(object, key->name, json_string(tokenizer_digest));
        else if (strncmp(key->name, "data.", 5) != 0) /* size, seed and split are in the corpus' digest */
            json_object_set_new(object, key->name, value_to_json(cfg, key));
    }
    char *text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
    json_decref(object);
    if (!text)
        return memory_string("");
    return text;
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

void config_shape(const struct config *cfg, char shape[CONFIG_ID])
{
    int count;
    const struct config_key *keys = config_keys(&count);
    json_t *object = json_object();
    for (int i = 0; i < count; i++)
        if (keys[i].effect & CONFIG_SHAPE)
            json_object_set_new(object, keys[i].name, value_to_json(cfg, &keys[i]));
    char *text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(object);
    name_text(text ? text : memory_string(""), shape);
}
