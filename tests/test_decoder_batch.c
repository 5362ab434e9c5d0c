/* A batch gives what its sequences give alone: on the CPU bit for bit, over the ops table token for token. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/decode/decoder.h"
#include "core/trained/fold.h"
#include "core/base/memory.h"
#include "core/decode/sampler.h"
#include "tests/support/data.h"
#include "tests/support/tiny_model.h"

enum { BATCH = 9, DRAWN = 5, CONTEXT = 20 };

/* What was drawn, and the logits it was drawn from. */
struct drawn {
    int32_t tokens[BATCH][DRAWN];
    float *logits; /* [DRAWN][BATCH][V] */
};

/* Prompts of 1 to 9 tokens. */
static void make_prompts(const struct config *cfg, int32_t prompts[BATCH][CONTEXT])
{
    uint64_t seed = 3;
    for (int b = 0; b < BATCH; b++)
        for (int t = 0; t < CONTEXT; t++)
            prompts[b][t] = (int32_t)data_random(&seed, (uint32_t)cfg->vocab);
}

static struct drawn drawn_create(const struct model *m)
{
    return (struct drawn){.logits = memory_alloc((size_t)DRAWN * BATCH * (size_t)m->cfg.vocab, sizeof(float))};
}

/* Greedy tokens after the prompts of sequences first..first+count-1, all in one decoder of that batch. */
static void draw_greedily(struct decoder *d, const struct model *m, int32_t prompts[BATCH][CONTEXT], int first,
                          int count, struct drawn *out)
{
    struct error err = {0};
    const size_t V = (size_t)m->cfg.vocab;
    struct sampler *greedy = sampler_create(&(struct sampler_options){.temperature = 0, .top_p = 1}, (int)V);
    int32_t next[BATCH];
    for (int b = 0; b < count; b++) {
        const int length = first + b + 1;
        decoder_rewind(d, b, 0);
        assert_int_equal(decoder_feed(d, b, prompts[first + b], length - 1, &err), STATUS_OK);
        next[b] = prompts[first + b][length - 1];
    }
    for (int t = 0; t < DRAWN; t++) {
        assert_int_equal(decoder_step(d, next, count, &err), STATUS_OK);
        for (int b = 0; b < count; b++) {
            memcpy(out->logits + ((size_t)t * BATCH + (size_t)(first + b)) * V, decoder_logits(d, b),
                   V * sizeof(float));
            next[b] = sampler_draw(greedy, decoder_logits(d, b), 0, 0);
            out->tokens[first + b][t] = next[b];
        }
    }
    sampler_destroy(greedy);
}

static void compare(const struct model *m, struct decoder_options o, int32_t prompts[BATCH][CONTEXT], const char *name)
{
    static const int sizes[] = {3, 4, BATCH};
    struct drawn alone = drawn_create(m), together = drawn_create(m);
    struct decoder *one, *many;
    struct error err = {0};
    const size_t V = (size_t)m->cfg.vocab;
    o.batch = 1;
    assert_int_equal(decoder_create(&one, m, &o, &err), STATUS_OK);
    o.batch = BATCH;
    assert_int_equal(decoder_create(&many, m, &o, &err), STATUS_OK);
    for (int b = 0; b < BATCH; b++)
        draw_greedily(one, m, prompts, b, 1, &alone);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        draw_greedily(many, m, prompts, 0, sizes[i], &together);
        for (int b = 0; b < sizes[i]; b++)
            if (memcmp(together.tokens[b], alone.tokens[b], sizeof alone.tokens[b]) != 0)
                fail_msg("%s: sequence %d of %d draws other tokens than alone", name, b, sizes[i]);
        for (size_t t = 0; o.kind == DECODER_CPU && t < DRAWN; t++)
            if (memcmp(together.logits + t * BATCH * V, alone.logits + t * BATCH * V,
                       (size_t)sizes[i] * V * sizeof(float)) != 0)
                fail_msg("%s: logits of a batch of %d differ at token %zu", name, sizes[i], t);
    }
    decoder_destroy(one);
    decoder_destroy(many);
    free(alone.logits);
    free(together.logits);
}

static void compare_ways(struct model *m, double gate, const char *shape, const char *norms)
{
    static const struct decoder_options options[] = {
        {.kind = DECODER_CPU, .threads = 1},
        {.kind = DECODER_CPU, .threads = 2},
        {.kind = DECODER_CPU, .threads = 1, .weights = WEIGHTS_BF16},
        {.kind = DECODER_CPU, .threads = 2, .weights = WEIGHTS_BF16},
        {.kind = DECODER_OPS},
    };
    int32_t prompts[BATCH][CONTEXT];
    char *name = memory_format("%s, %s", shape, norms);
    make_prompts(&m->cfg, prompts);
    model_set_gate(m, gate);
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        struct decoder_options o = options[i];
        compare(m, o, prompts, name);
    }
    free(name);
}

/* Every shape, plain, half way, tapered at gate 0, and folded. */
static void a_batch_is_its_sequences(void **state)
{
    (void)state;
    static const struct {
        const char *sites, *name;
        double gate;
        bool folded;
    } norms[] = {{"taper.sites=none", "plain", 1, false},
                 {"taper.sites=internal", "gate 0", 0, false},
                 {"taper.sites=all", "half way", 0.5, false},
                 {"taper.sites=internal", "folded but the last", 0, true},
                 {"taper.sites=all", "folded", 0, true}};
    for (int kind = 0; kind < TINY_MODEL_KINDS; kind++)
        for (size_t i = 0; i < sizeof norms / sizeof norms[0]; i++) {
            const char *pairs[12] = {norms[i].sites};
            struct tiny_model t;
            struct model folded;
            struct error err = {0};
            int n = 1;
            for (const char *const *p = tiny_model_pairs[kind]; *p; p++)
                pairs[n++] = *p;
            struct config cfg = tiny_model_config(pairs);
            tiny_model_open(&t, &cfg, ops_cpu(), 13);
            if (norms[i].folded)
                assert_int_equal(fold_model(&t.m, &folded, &err), STATUS_OK);
            compare_ways(norms[i].folded ? &folded : &t.m, norms[i].gate, tiny_model_names[kind], norms[i].name);
            if (norms[i].folded)
                model_destroy(&folded);
            tiny_model_close(&t);
        }
}

/* How a prompt is cut into feeds changes nothing either, nor does what was in the cache before. */
static void feeds_add_up(void **state)
{
    (void)state;
    for (int kind = 0; kind < TINY_MODEL_KINDS; kind++) {
        struct config cfg = tiny_model_config(tiny_model_pairs[kind]);
        struct tiny_model t;
        struct decoder *d;
        struct error err = {0};
        int32_t prompts[BATCH][CONTEXT];
        tiny_model_open(&t, &cfg, ops_cpu(), 14);
        make_prompts(&cfg, prompts);
        const size_t V = (size_t)cfg.vocab;
        float *want = memory_alloc(V, sizeof *want);
        assert_int_equal(decoder_create(&d, &t.m, &(struct decoder_options){.batch = 1, .threads = 2}, &err),
                         STATUS_OK);
        for (int cut = 0; cut < 17; cut++) {
            decoder_rewind(d, 0, 0);
            assert_int_equal(decoder_feed(d, 0, prompts[0], cut, &err), STATUS_OK);
            assert_int_equal(decoder_feed(d, 0, prompts[0] + cut, 16 - cut, &err), STATUS_OK);
            assert_int_equal(decoder_step(d, prompts[0] + 16, 1, &err), STATUS_OK);
            if (cut == 0)
                memcpy(want, decoder_logits(d, 0), V * sizeof *want);
            else if (memcmp(want, decoder_logits(d, 0), V * sizeof *want) != 0)
                fail_msg("%s: cut at %d", tiny_model_names[kind], cut);
        }
        decoder_destroy(d);
        free(want);
        tiny_model_close(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_is_its_sequences),
        cmocka_unit_test(feeds_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
