/* config.json of a folder to import, as a configuration here. */
#ifndef TAPER_CORE_TRAINED_INTEROP_CONFIG_H
#define TAPER_CORE_TRAINED_INTEROP_CONFIG_H

#include "core/trained/interop_internal.h"

struct interop_config {
    enum interop_class class;
    struct config cfg; /* finished; sites all and the gate at 0 when the norms are affine */
    double eps;        /* as it stands there */
    bool affine;       /* the epsilon of the trick */
    struct interop_extras extras;
    bool attention, mlp; /* LlamaForCausalLM: which projections have biases */
    bool out_unbiased;   /* ... but not the one behind the attention (qwen2) */
};

/* Every key that is missing, of a wrong type, or means what no model here does is named. */
int interop_config_read(const char *path, struct interop_config *out, struct error *err);

#endif
