/* How many threads a token is worth. They share its weights, and meet after every stage; with more of them a share
 * takes less and a meeting more. The estimate needs the model alone, so that the same command takes the same number of
 * threads, and draws the same tokens, each time. */
#include "core/decode/decoder_cpu.h"

/* Measured (docs/cpu.md): what a thread reads of weights in the cache, and what a meeting costs for each that comes. */
static const double BYTES_A_US = 40e3, MEETING_US = 0.15;

bool decoder_by_head(const struct config *cfg, int threads)
{
    return config_attn(cfg) / cfg->heads % GEMV_LANES == 0 && cfg->heads % threads == 0;
}

static double weight_bytes(const struct config *cfg, enum decoder_weights weights)
{
    static const double bytes[WEIGHTS_KINDS] = {4, 2, 1};
    const double C = (double)cfg->d_model, A = (double)config_attn(cfg), F = (double)cfg->d_ff;
    const double layer = 4 * C * A + (cfg->mlp == MLP_SWIGLU ? 3 : 2) * C * F;
    return bytes[weights] * ((double)cfg->layers * layer + C * (double)cfg->vocab);
}

/* Sequences share the reading, and from a few on computing is what takes time. */
static double step_us(const struct config *cfg, const struct decoder_options *o, int threads)
{
    const double work = weight_bytes(cfg, o->weights) / BYTES_A_US * (o->batch > 2 ? o->batch / 2.0 : 1);
    const bool split = decoder_by_head(cfg, threads) && o->batch <= OWN_ROWS;
    const double stages = (double)cfg->layers * (split ? 2 : 5) + 1;
    return work / threads + (threads > 1 ? stages * MEETING_US * threads : 0);
}

int decoder_threads(const struct config *cfg, const struct decoder_options *o, int processors)
{
    int best = 1;
    for (int threads = 2; threads <= processors; threads++)
        if (step_us(cfg, o, threads) < step_us(cfg, o, best))
            best = threads;
    return best;
}
