#include "core/decode/decoder.h"

#include <stdlib.h>

#include "core/decode/decoder_internal.h"
#include "core/base/memory.h"
#include "core/base/parallel.h"

int decoder_create(struct decoder **out, const struct model *m, const struct decoder_options *options,
                   struct error *err)
{
    struct decoder_options o = *options;
    const bool on_host = m->ops == ops_cpu() || m->ops == ops_reference();
    const bool apart = config_fakeln(&m->cfg) && m->table.folded == SITES_NONE;
    *out = NULL;
    if (o.context == 0)
        o.context = (int)m->cfg.context;
    if (o.threads == 0)
        o.threads = decoder_threads(&m->cfg, &o, parallel_processors());
    if (o.kind == DECODER_AUTO)
        o.kind = on_host && !apart ? DECODER_CPU : DECODER_OPS;
    if (o.batch < 1 || o.context < 1 || o.context > m->cfg.context)
        return error_set(err, STATUS_BAD_INPUT,
                         "decoder: want a batch of at least 1 and 1 to %lld positions, got %d and %d",
                         (long long)m->cfg.context, o.batch, o.context);
    if (o.kind == DECODER_OPS && o.weights != WEIGHTS_FP32)
        return error_set(err, STATUS_BAD_INPUT, "decoder: %s weights are of the CPU decoder only",
                         decoder_weights_name(o.weights));
    if (o.kind == DECODER_CPU && apart)
        return error_set(err, STATUS_BAD_INPUT,
                         "decoder: with taper.method fakeln V has a norm of its own until the model is folded, which "
                         "the CPU decoder does not do");
    if (o.kind == DECODER_CPU && !on_host)
        return error_set(err, STATUS_BAD_INPUT, "decoder: the model is not in host memory");
    int status = (o.kind == DECODER_CPU ? decoder_cpu_create : decoder_ops_create)(out, m, &o, err);
    if (status)
        return error_wrap(err, "decoder of %d sequences of %d tokens", o.batch, o.context);
    decoder_set_norms(*out, false);
    return STATUS_OK;
}

void decoder_destroy(struct decoder *d)
{
    if (d)
        d->methods->destroy(d);
}

void decoder_set_norms(struct decoder *d, bool bare)
{
    d->methods->set_norms(d, bare);
}

int decoder_position(const struct decoder *d, int sequence)
{
    return d->positions[sequence];
}

void decoder_rewind(struct decoder *d, int sequence, int position)
{
    if (position < d->positions[sequence])
        d->positions[sequence] = position;
}

static int check_room(const struct decoder *d, int sequence, int count, struct error *err)
{
    if (sequence < 0 || sequence >= d->options.batch || d->positions[sequence] + count > d->options.context)
        return error_set(err, STATUS_BAD_INPUT, "decoder: sequence %d: no room for %d tokens in %d positions", sequence,
                         count, d->options.context);
    return STATUS_OK;
}

int decoder_feed(struct decoder *d, int sequence, const int32_t *tokens, int count, struct error *err)
{
    int status = check_room(d, sequence, count, err);
    return status || count == 0 ? status : d->methods->feed(d, sequence, tokens, count, err);
}

int decoder_step(struct decoder *d, const int32_t *tokens, int n, struct error *err)
{
    for (int b = 0; b < n; b++) {
        int status = check_room(d, b, 1, err);
        if (status)
            return status;
    }
    return d->methods->step(d, tokens, n, err);
}

const float *decoder_logits(const struct decoder *d, int b)
{
    return d->methods->logits(d, b);
}

struct decoder_traffic decoder_traffic(const struct decoder *d, int position)
{
    return d->methods->traffic(d, position);
}

char *decoder_describe(const struct decoder *d, char *to, size_t room)
{
    return d->methods->describe(d, to, room);
}

const char *decoder_weights_name(enum decoder_weights weights)
{
    static const char *const names[WEIGHTS_KINDS] = {"fp32", "bf16", "int8"};
    return names[weights];
}
