#include "tests/support/tiny_model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/memory.h"
#include "core/base/rng.h"

const char *const tiny_model_names[TINY_MODEL_KINDS] = {"rms learned gelu",
                                                        "rms rope swiglu untied",
                                                        "layernorm gelu_tanh biases",
                                                        "layernorm rope swiglu",
                                                        "odd sizes",
                                                        "whole blocks",
                                                        "whole blocks, odd MLP",
                                                        "wide heads, scaled angles",
                                                        "narrow heads of whole blocks"};
const char *const *const tiny_model_pairs[TINY_MODEL_KINDS] = {
    (const char *const[]){"model.norm=rmsnorm", NULL},
    (const char *const[]){"model.pos=rope", "model.mlp=swiglu", "model.d_ff=40", "model.tied=false", NULL},
    (const char *const[]){"model.norm=layernorm", "model.mlp=gelu_tanh", "model.bias=true", NULL},
    (const char *const[]){"model.norm=layernorm", "model.pos=rope", "model.mlp=swiglu", NULL},
    (const char *const[]){"model.d_model=21", "model.heads=3", "model.d_ff=37", "model.vocab=277", "model.layers=3",
                          NULL},
    (const char *const[]){"model.d_model=64", "model.heads=4", "model.pos=rope", "model.mlp=swiglu", "model.d_ff=48",
                          NULL},
    (const char *const[]){"model.d_model=32", "model.heads=2", "model.d_ff=37", "model.norm=layernorm",
                          "model.bias=true", NULL},
    (const char *const[]){"model.heads=2", "model.d_attn=44", "model.pos=rope", "model.rope_scaling=llama3",
                          "model.rope_original=64", "model.mlp=swiglu", NULL},
    (const char *const[]){"model.d_model=96", "model.heads=4", "model.d_attn=64", "model.pos=rope",
                          "model.rope_scaling=linear", "model.rope_factor=3", "model.norm=layernorm", NULL},
};

struct config tiny_model_config(const char *const *pairs)
{
    static const char *const base[] = {"model.d_model=24", "model.layers=2",  "model.heads=3",
                                       "model.context=20", "model.vocab=301", "train.steps=4",
                                       "gate.warmup=1",    "gate.end=2",      "train.batch=2"};
    struct config cfg;
    struct error err = {0};
    config_init(&cfg);
    for (size_t i = 0; i < sizeof base / sizeof base[0]; i++)
        assert_int_equal(config_set_pair(&cfg, base[i], &err), STATUS_OK);
    for (; pairs && *pairs; pairs++)
        if (config_set_pair(&cfg, *pairs, &err))
            fail_msg("%s", err.text);
    if (config_finish(&cfg, &err))
        fail_msg("%s", err.text);
    return cfg;
}

void tiny_model_open(struct tiny_model *t, const struct config *cfg, const struct ops *ops, uint64_t seed)
{
    const struct backend_options options = {.threads = 1, .precision = PRECISION_FP32};
    struct error err = {0};
    if (ops->create(&t->be, &options, &err) || model_create(&t->m, cfg, ops, t->be, &err))
        fail_msg("%s", err.text);
    const struct param_table *table = &t->m.table;
    float *host = memory_alloc(table->total, sizeof *host), *c = memory_alloc((size_t)table->site_count, sizeof *c);
    for (int i = 0; i < table->count; i++) {
        const struct param *p = &table->rows[i];
        const struct rng_stream stream = {.seed = seed, .use = RNG_TEST, .second = (uint64_t)i};
        rng_normal_fill(&stream, host + p->offset, p->size, p->rank == 2 ? 1 / sqrt((double)p->shape[1]) : 0.3);
        for (size_t j = 0; p->init == INIT_ONE && j < p->size; j++)
            host[p->offset + j] += 1;
    }
    for (int i = 0; i < table->site_count; i++)
        c[i] = 0.8f + 0.05f * (float)(i % 5);
    ops->upload(t->be, t->m.params, host, table->total * sizeof *host);
    ops->upload(t->be, t->m.c, c, (size_t)table->site_count * sizeof *c);
    assert_int_equal(ops->sync(t->be, &err), STATUS_OK);
    free(host);
    free(c);
}

void tiny_model_close(struct tiny_model *t)
{
    const struct ops *ops = t->m.ops;
    model_destroy(&t->m);
    ops->destroy(t->be);
}

double tiny_model_difference(const float *x, const float *y, size_t count)
{
    double wrong = 0, energy = 0;
    for (size_t i = 0; i < count; i++) {
        wrong += ((double)x[i] - (double)y[i]) * ((double)x[i] - (double)y[i]);
        energy += (double)y[i] * (double)y[i];
    }
    return sqrt(wrong / energy);
}
