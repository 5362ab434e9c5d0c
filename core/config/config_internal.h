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

/* config_set without marking the key as given. */
int config_assign(struct config *cfg, const struct config_key *key, const char *value, struct error *err);

#endif
