/* What runs of a sweep begin with: the digest and the tokenizer of each init.from, found out once. */
#include <string.h>

#include "core/base/memory.h"
#include "core/trained/initial.h"
#include "harness/spec/spec_internal.h"

static const struct spec_initial *find(const struct spec *spec, const struct config *cfg)
{
    for (int i = 0; i < spec->initial_count; i++) {
        const struct spec_initial *known = &spec->initials[i];
        if (strcmp(known->from, cfg->init_from) == 0 && strcmp(known->tokenizer, cfg->tokenizer) == 0 &&
            strcmp(known->digest, cfg->init_digest) == 0)
            return known;
    }
    return NULL;
}

static void fill_in(struct config *cfg, const struct spec_initial *known)
{
    config_set(cfg, "data.tokenizer", known->its_tokenizer, NULL);
    config_set(cfg, "init.digest", known->its_digest, NULL);
}

void spec_resolved(const struct spec *spec, struct config *cfg)
{
    const struct spec_initial *known = cfg->init_from[0] ? find(spec, cfg) : NULL;
    if (known)
        fill_in(cfg, known);
}

int spec_resolve(struct spec *spec, struct config *cfg, struct error *err)
{
    const struct config given = *cfg;
    if (!cfg->init_from[0])
        return STATUS_OK;
    if (find(spec, cfg)) {
        spec_resolved(spec, cfg);
        return STATUS_OK;
    }
    int status = initial_resolve(cfg, err);
    if (status)
        return status;
    spec->initials = memory_resize(spec->initials, (size_t)spec->initial_count + 1, sizeof *spec->initials);
    spec->initials[spec->initial_count++] = (struct spec_initial){
        memory_string(given.init_from), memory_string(given.tokenizer), memory_string(given.init_digest),
        memory_string(cfg->tokenizer), memory_string(cfg->init_digest)};
    return STATUS_OK;
}
