/* Decoding: kernels against plain sums, the decoders against the whole forward, caches, batches and threads. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/cpu/gemv.h"
#include "core/decode/decoder.h"
#include "core/decode/decoder_loss.h"
#include "core/trained/fold.h"
#include "core/decode/generate.h"
#include "core/base/memory.h"
#include "core/base/parallel.h"
#include "core/base/rng.h"
#include "core/decode/sampler.h"
#include "core/model/schedule.h"
#include "core/model/transformer.h"
#include "core/train/evaluate.h"
#include "tests/support/data.h"
#include "tests/support/tiny_model.h"

static float *aligned(size_t count)
{
    float *x = aligned_alloc(64, (count * sizeof *x + 63) / 64 * 64);
    assert_non_null(x);
    memset(x, 0, (count * sizeof *x + 63) / 64 * 64);
    return x;
}

static void fill(float *x, size_t count, uint64_t second)
{
    rng_normal_fill(&(struct rng_stream){.seed = 1, .use = RNG_TEST, .second = second}, x, count, 1);
}

static int padded(int n)
{
    return (n + 15) / 16 * 16;
}

static float bf16_value(float x)
{
    uint32_t bits = (uint32_t)gemv_bf16(x) << 16;
    float out;
    memcpy(&out, &bits, sizeof out);
    return out;
}

/* ------------------------------------------------------------------------------------------- kernels */

/* A row has the same result alone, bit for bit. */
static void check_rows_alone(const struct gemv_kernels *k, const struct gemv *all, const float *before,
                             enum gemv_weights kind)
{
    const size_t width = (size_t)all->blocks * GEMV_LANES;
    float *y = aligned(width);
    for (int n = 0; n < all->N; n++) {
        struct gemv one = *all;
        memcpy(y, before + (size_t)n * width, width * sizeof *y);
        one.x += (size_t)n * all->x_stride;
        one.y = y;
        one.N = 1;
        k->product[kind](&one);
        if (memcmp(y, all->y + (size_t)n * width, width * sizeof *y) != 0)
            fail_msg("%s O=%zu I=%d kind %d: row %d of %d differs alone", k->name, width, all->I, (int)kind, n, all->N);
    }
    free(y);
}

/* The weights of a row as a packing holds them. */
static void round_row(float *to, const float *from, int I, enum gemv_weights kind)
{
    float most = 0;
    for (int i = 0; i < I; i++)
        most = fmaxf(most, fabsf(from[i]));
    for (int i = 0; i < I; i++)
        to[i] = kind == GEMV_FP32   ? from[i]
                : kind == GEMV_BF16 ? bf16_value(from[i])
                : most > 0          ? roundf(127 * from[i] / most) * most / 127
                                    : 0;
}

static void check_product(const struct gemv_kernels *k, int O, int I, int N, enum gemv_weights kind, bool add)
{
    const int rows = padded(O), stride = padded(I + 3);
    float *w = aligned((size_t)O * I), *x = aligned((size_t)N * stride), *bias = aligned((size_t)rows);
    float *y = aligned((size_t)N * rows), *packed = aligned((size_t)rows * gemv_vectors(kind, I));
    float *old = aligned((size_t)N * rows);
    fill(w, (size_t)O * I, 1);
    fill(bias, (size_t)O, 2);
    for (int n = 0; n < N; n++)
        fill(x + n * stride, (size_t)I, 10 + (uint64_t)n);
    fill(y, (size_t)N * rows, 3);
    double before = (double)y[(size_t)(N - 1) * rows + O - 1];
    memcpy(old, y, (size_t)N * rows * sizeof *y);
    int *order = memory_alloc((size_t)rows, sizeof *order);
    for (int r = 0; r < rows; r++)
        order[r] = r < O ? r : -1;
    gemv_pack(packed, kind, w, (size_t)I, order, rows, I);
    for (int o = 0; o < O; o++)
        round_row(w + (size_t)o * I, w + (size_t)o * I, I, kind);
    free(order);
    const struct gemv a = {.weights = packed,
                           .bias = bias,
                           .x = x,
                           .y = y,
                           .x_stride = (size_t)stride,
                           .y_stride = (size_t)rows,
                           .I = I,
                           .blocks = rows / 16,
                           .N = N,
                           .add = add};
    k->product[kind](&a);
    check_rows_alone(k, &a, old, kind);
    for (int n = 0; n < N; n++)
        for (int o = 0; o < O; o++) {
            double want = (double)bias[o], size = fabs(want);
            for (int i = 0; i < I; i++) {
                double one = (double)w[o * I + i] * (double)x[n * stride + i];
                want += one;
                size += fabs(one);
            }
            if (add && (n != N - 1 || o != O - 1))
                continue; /* the old value of the last one is known */
            want += add ? before : 0;
            if (!(fabs((double)y[(size_t)n * rows + o] - want) <= 1e-6 * (size + fabs(before))))
                fail_msg("%s O=%d I=%d N=%d kind %d add=%d: [%d,%d] is %g, want %g", k->name, O, I, N, (int)kind, add,
                         n, o, (double)y[(size_t)n * rows + o], want);
        }
    float *all[] = {w, x, bias, y, packed, old};
    for (size_t i = 0; i < 6; i++)
        free(all[i]);
}

static void test_products_at_every_level(void **state)
{
    (void)state;
    static const int shapes[][3] = {{1, 1, 1},    {16, 4, 1},   {17, 5, 2},  {48, 64, 3},   {33, 31, 7},
                                    {16, 130, 8}, {100, 7, 19}, {112, 9, 1}, {112, 200, 15}};
    int levels = 0;
    for (int l = 0; l < GEMV_LEVELS; l++) {
        const struct gemv_kernels *k = gemv_level(l);
        levels += k != NULL;
        for (size_t s = 0; k && s < sizeof shapes / sizeof shapes[0]; s++)
            for (int kind = 0; kind < GEMV_WEIGHTS; kind++)
                for (int add = 0; add < 2; add++)
                    check_product(k, shapes[s][0], shapes[s][1], shapes[s][2], (enum gemv_weights)kind, add);
    }
    assert_true(levels >= 1);
}

/* A row of zeros stays one, and one that is not finite is NaN, not some number. */
static void test_int8_rows_at_the_edge(void **state)
{
    (void)state;
    enum { I = 6 };
    static const int order[GEMV_LANES] = {0, 1, 2, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
    float *w = aligned((size_t)3 * I), *x = aligned(16), *bias = aligned(16), *y = aligned(16);
    float *packed = aligned(GEMV_LANES * gemv_vectors(GEMV_INT8, I));
    for (int i = 0; i < I; i++)
        x[i] = 1, w[2 * I + i] = -5;
    w[I + 3] = INFINITY;
    gemv_pack(packed, GEMV_INT8, w, I, order, GEMV_LANES, I);
    for (int l = 0; l < GEMV_LEVELS; l++) {
        const struct gemv a = {.weights = packed,
                               .bias = bias,
                               .x = x,
                               .y = y,
                               .x_stride = 16,
                               .y_stride = 16,
                               .I = I,
                               .blocks = 1,
                               .N = 1};
        if (!gemv_level(l))
            continue;
        gemv_level(l)->product[GEMV_INT8](&a);
        assert_true(y[0] == 0 && isnan(y[1]) && y[3] == 0);
        assert_true(fabsf(y[2] + 30) < 1e-5f);
    }
    float *all[] = {w, x, bias, y, packed};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]);
}

static void test_attention_at_every_level(void **state)
{
    (void)state;
    static const int shapes[][2] = {{1, 16}, {5, 8}, {16, 32}, {33, 7}, {100, 64}, {47, 40}};
    for (int l = 0; l < GEMV_LEVELS; l++)
        for (size_t s = 0; gemv_level(l) && s < sizeof shapes / sizeof shapes[0]; s++) {
            const int count = shapes[s][0], D = shapes[s][1], P = padded(D), S = padded(count);
            float *q = aligned((size_t)P), *k = aligned((size_t)count * D), *keys = aligned((size_t)S * D);
            float *values = aligned((size_t)S * P), *scores = aligned((size_t)S), *out = aligned((size_t)P);
            fill(q, (size_t)D, 1);
            fill(k, (size_t)count * D, 2);
            for (int u = 0; u < count; u++) {
                fill(values + u * P, (size_t)D, 100 + (uint64_t)u);
                for (int d = 0; d < D; d++)
                    keys[(u / 16 * D + d) * 16 + u % 16] =
                        3 * k[u * D + d] - 8; /* scores far below those of empty places */
            }
            gemv_level(l)->attend(&(struct gemv_attend){.q = q,
                                                        .keys = keys,
                                                        .values = values,
                                                        .scores = scores,
                                                        .out = out,
                                                        .factor = 0.25f,
                                                        .count = count,
                                                        .D = D});
            double *p = memory_alloc((size_t)count, sizeof *p), most = -INFINITY, sum = 0;
            for (int u = 0; u < count; u++) {
                for (int d = 0; d < D; d++)
                    p[u] += 0.25 * (double)q[d] * (double)(3 * k[u * D + d] - 8);
                most = fmax(most, p[u]);
            }
            for (int u = 0; u < count; u++)
                sum += p[u] = exp(p[u] - most);
            for (int d = 0; d < D; d++) {
                double want = 0;
                for (int u = 0; u < count; u++)
                    want += p[u] / sum * (double)values[u * P + d];
                assert_true(fabs((double)out[d] - want) < 2e-5);
            }
            float *all[] = {q, k, keys, values, scores, out};
            for (size_t i = 0; i < 6; i++)
                free(all[i]);
            free(p);
        }
}

static void test_bf16_rounds_to_even(void **state)
{
    (void)state;
    assert_int_equal(gemv_bf16(1.0f), 0x3f80);
    assert_int_equal(gemv_bf16(1.00390625f), 0x3f80); /* half way: to the even one */
    assert_int_equal(gemv_bf16(1.01171875f), 0x3f82);
    assert_int_equal(gemv_bf16(1.00390637f), 0x3f81);
    assert_int_equal(gemv_bf16(-2.5f), 0xc020);
    assert_int_equal(gemv_bf16(INFINITY), 0x7f80);
    assert_int_equal(gemv_bf16(3.4028234e38f), 0x7f80); /* rounds past the largest */
    assert_true(isnan((double)bf16_value(NAN)));
}

/* ------------------------------------------------------------------------------------------- decoders */

enum { T = 20 };

/* Logits [T,V] of a window by the whole forward over the reference ops. */
static float *window_logits(const struct model *m, const int32_t *tokens)
{
    struct activations a;
    struct error err = {0};
    const size_t V = (size_t)m->cfg.vocab;
    int32_t none[T];
    memset(none, 0xff, sizeof none);
    assert_int_equal(activations_create(&a, m, 1, T, false, &err), STATUS_OK);
    float *logits = memory_alloc(T * V, sizeof *logits);
    memcpy(a.tokens, tokens, T * sizeof *tokens);
    memcpy(a.targets, none, sizeof none);
    transformer_pass(m, &a, &(struct pass){.grad_scale = 1, .logits = logits});
    activations_destroy(&a, m);
    return logits;
}

static void some_ids(const struct config *cfg, int32_t *ids, int count, uint64_t seed)
{
    for (int i = 0; i < count; i++)
        ids[i] = (int32_t)data_random(&seed, (uint32_t)cfg->vocab);
}

/* Feed `prompt` tokens, then step through the rest, comparing every row of logits. */
static void compare_decoder(const struct model *m, const struct decoder_options *o, const int32_t *ids,
                            const float *want, int prompt, double bound, const char *name)
{
    struct decoder *d;
    struct error err = {0};
    char text[96];
    if (decoder_create(&d, m, o, &err))
        fail_msg("%s: %s", name, err.text);
    const int last = o->batch - 1;
    assert_int_equal(decoder_feed(d, last, ids, prompt, &err), STATUS_OK);
    for (int b = 0; b < last; b++) /* the others hold other text: sequences must not mix */
        assert_int_equal(decoder_feed(d, b, ids + b % 3 + 1, prompt - 1 - b % 2, &err), STATUS_OK);
    for (int t = prompt; t < T - 1; t++) {
        int32_t *next = memory_alloc((size_t)o->batch, sizeof *next);
        for (int b = 0; b < o->batch; b++)
            next[b] = ids[t];
        assert_int_equal(decoder_step(d, next, o->batch, &err), STATUS_OK);
        assert_int_equal(decoder_position(d, last), t + 1);
        double error = tiny_model_difference(decoder_logits(d, last), want + (size_t)t * (size_t)m->cfg.vocab,
                                             (size_t)m->cfg.vocab);
        if (!(error < bound))
            fail_msg("%s, %s, batch %d: logits at %d differ by %g", name, decoder_describe(d, text, sizeof text),
                     o->batch, t, error);
        free(next);
    }
    decoder_destroy(d);
}

static void compare_all(struct model *m, double gate, const char *name)
{
    model_set_gate(m, gate);
    int32_t ids[T];
    some_ids(&m->cfg, ids, T, 5);
    float *want = window_logits(m, ids);
    for (int threads = 1; threads <= 3; threads++)
        for (int batch = 1; batch <= 9; batch += 4) {
            struct decoder_options o = {.batch = batch, .threads = threads, .kind = DECODER_CPU};
            compare_decoder(m, &o, ids, want, 1 + 5 * (batch > 1), 5e-6, name);
            o.weights = WEIGHTS_BF16;
            compare_decoder(m, &o, ids, want, 6, 3e-2, name);
            o.weights = WEIGHTS_INT8;
            compare_decoder(m, &o, ids, want, 6, 6e-2, name);
        }
    compare_decoder(m, &(struct decoder_options){.batch = 3, .kind = DECODER_OPS}, ids, want, 6, 5e-6, name);
    free(want);
}

static void test_decoders_equal_the_forward(void **state)
{
    (void)state;
    for (int kind = 0; kind < TINY_MODEL_KINDS; kind++) {
        const char *pairs[12] = {"taper.sites=all"};
        int n = 1;
        for (const char *const *p = tiny_model_pairs[kind]; *p; p++)
            pairs[n++] = *p;
        struct config cfg = tiny_model_config(pairs);
        struct tiny_model t;
        struct model folded;
        struct error err = {0};
        tiny_model_open(&t, &cfg, ops_reference(), 21);
        compare_all(&t.m, 1, tiny_model_names[kind]);
        compare_all(&t.m, 0.4, tiny_model_names[kind]);
        assert_int_equal(fold_model(&t.m, &folded, &err), STATUS_OK);
        compare_all(&folded, 0, tiny_model_names[kind]);
        model_destroy(&folded);
        tiny_model_close(&t);
    }
}

/* The loss of a decoder is that of the whole forward, over whole and cut windows, however many go side by side. */
static void test_loss_is_that_of_the_forward(void **state)
{
    (void)state;
    enum { COUNT = 3 * T + 4 };
    struct config cfg = tiny_model_config((const char *const[]){"taper.sites=all", NULL});
    struct tiny_model t;
    struct evaluation want;
    struct decoder_loss got;
    struct error err = {0};
    uint16_t ids[COUNT];
    tiny_model_open(&t, &cfg, ops_reference(), 4);
    for (int i = 0; i < COUNT; i++)
        ids[i] =
            (uint16_t)rng_below(&(struct rng_stream){.seed = 8, .use = RNG_TEST}, (uint64_t)i, (uint64_t)cfg.vocab);
    const struct tokens tokens = {.narrow = ids, .count = COUNT, .width = 2};
    for (int most = 0; most < COUNT; most += T + 3)
        for (int batch = 1; batch <= 3; batch += 2) {
            const struct decoder_options o = {.batch = batch, .threads = 1};
            assert_int_equal(evaluate(&t.m, &tokens, 2, most, NULL, &want, &err), STATUS_OK);
            assert_int_equal(decoder_loss(&t.m, &o, &tokens, most, 0, &got, &err), STATUS_OK);
            assert_int_equal(got.tokens, want.tokens);
            assert_true(fabs(got.loss - want.loss) < 1e-5);
        }
    tiny_model_close(&t);
}

/* One decoder at gate 0, left out and normed in turn gives what three decoders give. */
static void test_norms_change_in_place(void **state)
{
    (void)state;
    struct config cfg = tiny_model_config((const char *const[]){"taper.sites=internal", NULL});
    struct tiny_model t;
    struct decoder *one, *other;
    struct error err = {0};
    int32_t ids[T];
    tiny_model_open(&t, &cfg, ops_cpu(), 2);
    some_ids(&cfg, ids, T, 8);
    for (int kind = DECODER_CPU; kind <= DECODER_OPS; kind++) {
        struct decoder_options o = {.batch = 1, .threads = 2, .kind = (enum decoder_kind)kind};
        assert_int_equal(decoder_create(&one, &t.m, &o, &err), STATUS_OK);
        for (int v = 0; v < 3; v++) {
            model_set_gate(&t.m, v == 0 ? 1 : 0);
            assert_int_equal(decoder_create(&other, &t.m, &o, &err), STATUS_OK);
            decoder_set_norms(one, v == 2);
            decoder_set_norms(other, v == 2);
            decoder_rewind(one, 0, 0);
            assert_int_equal(decoder_feed(one, 0, ids, 9, &err), STATUS_OK);
            assert_int_equal(decoder_feed(other, 0, ids, 9, &err), STATUS_OK);
            assert_int_equal(decoder_step(one, ids + 9, 1, &err), STATUS_OK);
            assert_int_equal(decoder_step(other, ids + 9, 1, &err), STATUS_OK);
            assert_memory_equal(decoder_logits(one, 0), decoder_logits(other, 0), (size_t)cfg.vocab * sizeof(float));
            decoder_destroy(other);
        }
        decoder_destroy(one);
    }
    tiny_model_close(&t);
}

static void test_decoder_refuses(void **state)
{
    (void)state;
    struct config cfg = tiny_model_config(NULL);
    struct tiny_model t;
    struct decoder *d;
    struct error err = {0};
    int32_t ids[T + 1];
    tiny_model_open(&t, &cfg, ops_cpu(), 2);
    some_ids(&cfg, ids, T + 1, 8);
    assert_int_equal(decoder_create(&d, &t.m, &(struct decoder_options){.batch = 1, .context = 21}, &err),
                     STATUS_BAD_INPUT);
    assert_int_equal(decoder_create(&d, &t.m, &(struct decoder_options){.batch = 0}, &err), STATUS_BAD_INPUT);
    assert_int_equal(decoder_create(&d, &t.m,
                                    &(struct decoder_options){.batch = 1, .weights = WEIGHTS_BF16, .kind = DECODER_OPS},
                                    &err),
                     STATUS_BAD_INPUT);
    assert_int_equal(decoder_create(&d, &t.m, &(struct decoder_options){.batch = 1, .threads = 1}, &err), STATUS_OK);
    assert_int_equal(decoder_feed(d, 0, ids, T + 1, &err), STATUS_BAD_INPUT);
    assert_int_equal(decoder_feed(d, 0, ids, T, &err), STATUS_OK);
    assert_int_equal(decoder_step(d, ids, 1, &err), STATUS_BAD_INPUT);
    assert_int_equal(decoder_feed(d, 1, ids, 1, &err), STATUS_BAD_INPUT);
    decoder_destroy(d);
    tiny_model_close(&t);
}

/* ------------------------------------------------------------------------------------------- generation */

static int gather(void *arg, const unsigned char *bytes, size_t length, struct error *err)
{
    char *text = arg;
    size_t used = strlen(text);
    (void)err;
    for (size_t i = 0; i < length && used < 1999; i++)
        text[used++] = bytes[i] ? (char)bytes[i] : '?';
    text[used] = '\0';
    return STATUS_OK;
}

/* With and without the cache the text is the same, also past the context; and a seed draws the same again. */
static void test_cache_changes_nothing(void **state)
{
    (void)state;
    struct tokenizer *tokenizer = tokenizer_create(NULL, 0);
    for (int kind = 0; kind < 4; kind++) {
        const char *pairs[12] = {"taper.sites=all", "model.vocab=257"};
        int n = 2;
        for (const char *const *p = tiny_model_pairs[kind]; *p; p++)
            pairs[n++] = *p;
        struct config cfg = tiny_model_config(pairs);
        struct tiny_model t;
        struct error err = {0};
        char texts[4][2000] = {"", "", "", ""};
        struct generate_result result;
        tiny_model_open(&t, &cfg, ops_cpu(), 33);
        model_set_gate(&t.m, 0);
        for (int i = 0; i < 4; i++) {
            const struct generate_options o = {.prompt = "Once",
                                               .tokens = 70,
                                               .temperature = i < 2 ? 0 : 0.9,
                                               .top_p = 0.9,
                                               .top_k = 50,
                                               .seed = 4,
                                               .threads = 2,
                                               .no_cache = i % 2,
                                               .sink = gather,
                                               .arg = texts[i]};
            if (generate(&t.m, tokenizer, &o, &result, &err))
                fail_msg("%s", err.text);
        }
        assert_string_equal(texts[0], texts[1]);
        assert_string_equal(texts[2], texts[3]);
        assert_string_not_equal(texts[0], texts[2]);
        assert_true(result.prompt == 4 && result.drawn > 0);
        tiny_model_close(&t);
    }
    tokenizer_destroy(tokenizer);
}

static void test_windows_slide_in_jumps(void **state)
{
    (void)state;
    assert_int_equal(generate_window_start(1, 8), 0);
    assert_int_equal(generate_window_start(8, 8), 0);
    assert_int_equal(generate_window_start(9, 8), 4);
    assert_int_equal(generate_window_start(12, 8), 4);
    assert_int_equal(generate_window_start(13, 8), 8);
    assert_int_equal(generate_window_start(3, 1), 2);
}

/* The sampler draws what the reference op draws. */
static void test_sampler_equals_the_op(void **state)
{
    (void)state;
    enum { V = 397, ROWS = 40 };
    static const struct sampler_options options[] = {{0, 1, 0, 1},      {1, 1, 0, 2},      {0.7, 0.9, 0, 3},
                                                     {1.5, 1, 20, 4},   {0.9, 0.5, 10, 5}, {3, 0.999, 300, 6},
                                                     {0.01, 0.3, 0, 7}, {1, 0, 0, 8}};
    float *logits = memory_alloc((size_t)ROWS * V, sizeof *logits);
    fill(logits, (size_t)ROWS * V, 77);
    for (int i = 0; i < ROWS * V; i++)
        logits[i] *= 3;
    logits[5] = NAN;
    logits[V + 7] = logits[V + 300] = 50; /* equals: the lower one */
    for (size_t o = 0; o < sizeof options / sizeof options[0]; o++) {
        int32_t want[ROWS];
        ops_reference()->sample(NULL, &(struct sample_tokens){.logits = logits,
                                                              .tokens = want,
                                                              .temperature = (float)options[o].temperature,
                                                              .top_p = (float)options[o].top_p,
                                                              .top_k = options[o].top_k,
                                                              .seed = options[o].seed,
                                                              .position = 9,
                                                              .B = ROWS,
                                                              .V = V});
        struct sampler *s = sampler_create(&options[o], V);
        for (int r = 0; r < ROWS; r++)
            assert_int_equal(sampler_draw(s, logits + (size_t)r * V, 9, (uint64_t)r), want[r]);
        sampler_destroy(s);
    }
    free(logits);
}

static int threads_of(const char *size, const char *pair, enum decoder_weights weights, int batch, int processors)
{
    struct config cfg;
    struct error err;
    config_init(&cfg);
    assert_int_equal(config_set(&cfg, "model.size", size, &err), 0);
    assert_true(!pair || config_set_pair(&cfg, pair, &err) == 0);
    assert_int_equal(config_finish(&cfg, &err), 0);
    return decoder_threads(&cfg, &(struct decoder_options){.batch = batch, .weights = weights}, processors);
}

/* Threads that a model is too small for are left alone: more of them are never slower by the estimate, and a larger
 * model, a larger batch or wider weights never take fewer. */
static void test_threads_follow_the_work(void **state)
{
    static const char *const sizes[] = {"1M", "9M", "30M"};
    int before = 0;
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const int at = threads_of(sizes[i], NULL, WEIGHTS_FP32, 1, 64);
        assert_int_equal(threads_of(sizes[i], NULL, WEIGHTS_FP32, 1, 1), 1);
        assert_int_equal(threads_of(sizes[i], NULL, WEIGHTS_FP32, 1, 2), 2); /* measured: docs/decoding.md */
        assert_true(at >= before && at >= 4 && at < 64);
        assert_true(threads_of(sizes[i], NULL, WEIGHTS_INT8, 1, 64) <= at);
        assert_true(threads_of(sizes[i], NULL, WEIGHTS_FP32, 64, 64) >= at);
        before = at;
    }
    assert_int_equal(threads_of("1M", "model.vocab=300", WEIGHTS_INT8, 1, 64), 2);
    assert_int_equal(threads_of("1M", "model.d_model=16", WEIGHTS_INT8, 1, 64), 1);
    assert_int_equal(threads_of("1M", "model.heads=4", WEIGHTS_FP32, 1, 5), 4); /* four meetings a layer with five */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_follow_the_work),
        cmocka_unit_test(test_products_at_every_level),
        cmocka_unit_test(test_int8_rows_at_the_edge),
        cmocka_unit_test(test_loss_is_that_of_the_forward),
        cmocka_unit_test(test_attention_at_every_level),
        cmocka_unit_test(test_bf16_rounds_to_even),
        cmocka_unit_test(test_decoders_equal_the_forward),
        cmocka_unit_test(test_norms_change_in_place),
        cmocka_unit_test(test_decoder_refuses),
        cmocka_unit_test(test_cache_changes_nothing),
        cmocka_unit_test(test_windows_slide_in_jumps),
        cmocka_unit_test(test_sampler_equals_the_op),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
