/* A configuration as JSON, and back. */
#include "core/config/config_internal.h"

/* A key that came after the first version stands in the object when it is set, so that a run's JSON, which runs are
 * also compared by, does not depend on the version that wrote it. */
static bool stands(const struct config_key *key, const void *from)
{
    union config_value fallback;
    char text[CONFIG_TEXT], usual[CONFIG_TEXT];
    const bool first = !(key->effect & CONFIG_RESULT) || key->effect & (CONFIG_ALWAYS | CONFIG_DIGEST);
    if (first && !(key->effect & CONFIG_LATER))
        return true;
    config_value_default(key, &fallback);
    return strcmp(config_value_text(key, from, text), config_value_text(key, &fallback, usual)) != 0;
}

json_t *config_value_json(const struct config_key *key, const void *from)
{
    char text[CONFIG_TEXT];
    if (config_value_auto(key, from))
        return json_string("auto");
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
    config_value_text(key, from, text);
    json_t *string = json_string(text);
    return string ? string : json_string("(not UTF-8)");
}

json_t *config_to_json(const struct config *cfg)
{
    int count;
    const struct config_key *keys = config_keys(&count);
    json_t *object = json_object();
    for (int i = 0; i < count; i++) {
        const void *from = config_value_of(cfg, &keys[i]);
        if (stands(&keys[i], from))
            json_object_set_new(object, keys[i].name, config_value_json(&keys[i], from));
    }
    return object;
}

json_t *config_uncounted(const struct config *cfg)
{
    int count;
    const struct config_key *keys = config_keys(&count);
    json_t *object = json_object();
    for (int i = 0; i < count; i++) {
        const void *from = config_value_of(cfg, &keys[i]);
        const bool counts = !keys[i].counts || keys[i].counts->holds(cfg);
        if (keys[i].effect & CONFIG_RESULT && !counts && stands(&keys[i], from))
            json_object_set_new(object, keys[i].name, config_value_json(&keys[i], from));
    }
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
        /* The first version wrote a derived integer ("auto") of an unfinished configuration as 0. */
        if (key && key->type == CONFIG_INT && key->low > 0 && strcmp(key->fallback, "auto") == 0 &&
            strcmp(text, "0") == 0)
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
