/* Shared by the files of the configuration module; nothing else includes it. */
#ifndef TAPER_CORE_CONFIG_CONFIG_INTERNAL_H
#define TAPER_CORE_CONFIG_CONFIG_INTERNAL_H

#include <string.h>

#include "core/config/config.h"

#define CONFIG_PRESET_NAMES "demo, 1M, 3M, 9M, 30M, gpt2, gpt2-medium, gpt2-large, gpt2-xl"

/* What model.size stands for: values of keys that were not given themselves. */
struct config_preset {
    const char *name;
    struct {
        const char *key, *value;
    } set[12]; /* ends at a NULL key */
};

/* NULL when there is no such preset. */
const struct config_preset *config_preset_find(const char *name);

/* The bounds of a key as text; an integer's with all of its digits. */
#define CONFIG_BOUNDS            "%.*g to %.*g"
#define CONFIG_BOUNDS_OF(key)    CONFIG_BOUND_DIGITS(key), (key)->low, CONFIG_BOUND_DIGITS(key), (key)->high
#define CONFIG_BOUND_DIGITS(key) ((key)->type == CONFIG_INT ? 17 : 10)

/* A value by itself, of any type. */
union config_value {
    int64_t integer;
    double real;
    bool flag;
    int word;
    char text[CONFIG_TEXT];
    struct config_length length;
    struct config_target target;
};

/* Where a key's value stands in a configuration. */
static inline const void *config_value_of(const struct config *cfg, const struct config_key *key)
{
    return (const char *)cfg + key->offset;
}

static inline void *config_value_in(struct config *cfg, const struct config_key *key)
{
    return (char *)cfg + key->offset;
}

/* A value from text into `to`, which has the key's type; errors as of config_set, `to` is then unchanged. */
int config_value_assign(const struct config_key *key, void *to, const char *value, struct error *err);

/* The key's default, into `to`. Aborts when the table's own text is no value of the key. */
void config_value_default(const struct config_key *key, void *to);

/* Is it the `auto` of an INT or REAL? */
bool config_value_auto(const struct config_key *key, const void *from);

/* A value as text that config_value_assign takes back; to holds CONFIG_TEXT bytes. Returns to. */
char *config_value_text(const struct config_key *key, const void *from, char *to);

/* A value as JSON, typed ("5%" and "auto" are strings). A new reference. */
json_t *config_value_json(const struct config_key *key, const void *from);

/* What config_canonical and config_shape write of the keys of a table that have this effect, as a new object: those
 * CONFIG_ALWAYS, and those that count and are not at their default. A key that does not count is at its default;
 * lengths are in steps. The table is given so that a test can add a row to it. */
json_t *config_named(const struct config_key *keys, int count, const struct config *cfg, unsigned effect);

/* config_canonical of a table. */
char *config_canonical_of(const struct config_key *keys, int count, const struct config *cfg, const char *corpus_digest,
                          const char *tokenizer_digest);

/* Fill in what fakeln.* leaves to auto, and check when the sites go; nothing where no site is removed that way. */
void config_fakeln_derive(struct config *cfg);
void config_fakeln_check(const struct config *cfg, struct error *faults);

#endif
