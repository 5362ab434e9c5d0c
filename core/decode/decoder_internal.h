/* Shared by the files of the decoder; nothing else includes it. */
#ifndef TAPER_CORE_DECODE_DECODER_INTERNAL_H
#define TAPER_CORE_DECODE_DECODER_INTERNAL_H

#include "core/decode/decoder.h"

/* What an implementation provides. Its state begins with a struct decoder. */
struct decoder_methods {
    void (*destroy)(struct decoder *d);
    void (*set_norms)(struct decoder *d, bool bare);
    int (*feed)(struct decoder *d, int sequence, const int32_t *tokens, int count, struct error *err);
    int (*step)(struct decoder *d, const int32_t *tokens, int n, struct error *err);
    const float *(*logits)(const struct decoder *d, int b);
    struct decoder_traffic (*traffic)(const struct decoder *d, int position);
    char *(*describe)(const struct decoder *d, char *to, size_t room);
};

struct decoder {
    const struct decoder_methods *methods;
    const struct model *m;
    struct decoder_options options; /* context and threads filled in */
    int *positions;                 /* [batch] */
};

int decoder_cpu_create(struct decoder **out, const struct model *m, const struct decoder_options *o, struct error *err);
int decoder_ops_create(struct decoder **out, const struct model *m, const struct decoder_options *o, struct error *err);

#endif
