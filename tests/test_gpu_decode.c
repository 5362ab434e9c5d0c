/* Decoding on the CUDA table over the simulated device: logits against the reference's for every kind of model, norms
 * at every phase and left out, sequences at positions of their own, a recording a token. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#ifdef GPU_SKIP
static void test_gpu_decode(void **state)
{
    (void)state;
    print_message("skipped: %s\n", GPU_SKIP);
    skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gpu_decode)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else

#include "core/decode/decoder.h"
#include "gpu/backend.h"
#include "tests/gpu/sim_device.h"
#include "tests/support/tiny_model.h"

enum { BATCH = 3, STEPS = 5 };

static int create_half(struct backend **out, const struct backend_options *options, struct error *err)
{
    struct backend_options half = *options;
    half.precision = PRECISION_BF16;
    return backend_create(out, &half, err);
}

static const struct decoder_options options = {.batch = BATCH, .kind = DECODER_OPS};

static struct decoder *open_decoder(const struct model *m)
{
    struct decoder *d;
    struct error err = {0};
    if (decoder_create(&d, m, &options, &err))
        fail_msg("%s", err.text);
    return d;
}

/* Norms as the models have them, or bare: the worst difference of the logits over some steps. The sequences start at 0,
 * 1, 2. */
static double compare(struct decoder *want, struct decoder *got, int V, bool bare)
{
    struct error err = {0};
    double worst = 0;
    struct decoder *both[2] = {want, got};
    for (int k = 0; k < 2; k++) {
        decoder_set_norms(both[k], bare);
        for (int b = 0; b < BATCH; b++) {
            decoder_rewind(both[k], b, 0);
            assert_int_equal(decoder_feed(both[k], b, (const int32_t[]){3, 250}, b, &err), STATUS_OK);
        }
    }
    for (int32_t s = 0; s < STEPS; s++) {
        const int32_t tokens[BATCH] = {s, 7 + 30 * s, 100 - s};
        assert_int_equal(decoder_step(want, tokens, BATCH, &err), STATUS_OK);
        if (decoder_step(got, tokens, BATCH, &err))
            fail_msg("%s", err.text);
        for (int b = 0; b < BATCH; b++) {
            double off = tiny_model_difference(decoder_logits(got, b), decoder_logits(want, b), (size_t)V);
            worst = off > worst || off != off ? off : worst;
        }
    }
    return worst;
}

static void check_kinds(bool half, double bound)
{
    struct ops ops = *gpu_ops_table();
    if (half)
        ops.create = create_half;
    for (int k = 0; k < TINY_MODEL_KINDS; k++) {
        const char *pairs[16] = {"taper.sites=all"};
        for (int i = 0; tiny_model_pairs[k][i]; i++)
            pairs[i + 1] = tiny_model_pairs[k][i];
        struct config cfg = tiny_model_config(pairs);
        struct tiny_model a, b;
        tiny_model_open(&a, &cfg, ops_reference(), 5);
        tiny_model_open(&b, &cfg, &ops, 5);
        struct decoder *want = open_decoder(&a.m), *got = open_decoder(&b.m);
        const struct {
            double gate;
            bool bare;
        } norms[] = {{1, false}, {0.4, false}, {0, false}, {0, true}, {0.7, false}};
        for (size_t n = 0; n < sizeof norms / sizeof norms[0]; n++) {
            model_set_gate(&a.m, norms[n].gate);
            model_set_gate(&b.m, norms[n].gate);
            double off = compare(want, got, (int)cfg.vocab, norms[n].bare);
            if (!(off <= bound))
                fail_msg("%s: gate %g, bare %d: logits off by %.2e, at most %.1e", tiny_model_names[k], norms[n].gate,
                         norms[n].bare, off, bound);
        }
        decoder_destroy(want);
        decoder_destroy(got);
        tiny_model_close(&a);
        tiny_model_close(&b);
    }
}

static void test_logits_fp32(void **state)
{
    (void)state;
    check_kinds(false, 2e-5);
}

static void test_logits_bf16(void **state)
{
    (void)state;
    check_kinds(true, 5e-2);
}

/* After the first token of a kind every one is a launched recording; another decoder's recordings are never used. */
static void test_a_token_is_a_recording(void **state)
{
    (void)state;
    struct config cfg = tiny_model_config((const char *const[]){"taper.sites=all", NULL});
    struct error err = {0};
    struct tiny_model t;
    const int32_t tokens[BATCH] = {1, 2, 3};
    float logits[2][301];
    tiny_model_open(&t, &cfg, gpu_ops_table(), 6);
    struct decoder *a = open_decoder(&t.m), *b = open_decoder(&t.m);
    long before = sim_graph_launches();
    for (int s = 0; s < 6; s++)
        assert_int_equal(decoder_step(a, tokens, BATCH, &err), STATUS_OK);
    assert_int_equal(sim_graph_launches() - before, 5);
    for (int s = 0; s < 6; s++) /* in turns with another: nothing is recorded, and nothing wrong */
        assert_int_equal(decoder_step(s % 2 ? a : b, tokens, BATCH, &err), STATUS_OK);
    for (int s = 0; s < 3; s++)
        assert_int_equal(decoder_step(b, tokens, BATCH, &err), STATUS_OK);
    decoder_destroy(a);
    memcpy(logits[0], decoder_logits(b, 1), sizeof logits[0]);
    struct decoder *c = open_decoder(&t.m);
    for (int s = 0; s < 6; s++)
        assert_int_equal(decoder_step(c, tokens, BATCH, &err), STATUS_OK);
    memcpy(logits[1], decoder_logits(c, 1), sizeof logits[1]);
    assert_memory_equal(logits[0], logits[1], sizeof logits[0]); /* both after six of the same tokens */
    decoder_destroy(b);
    decoder_destroy(c);
    tiny_model_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_logits_fp32),
        cmocka_unit_test(test_logits_bf16),
        cmocka_unit_test(test_a_token_is_a_recording),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
