/* How fast the CPU decodes, beside two yardsticks measured in the same run on the same weights: a plain-C decoder in
 * the style of the small well-known ones (a loop a matrix product, OpenMP, -Ofast), and the memory's bandwidth.
 *
 * The plain decoder below is written for this bench, not taken from anywhere; what it stands for is the approach. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <omp.h>

#include "core/cpu/gemv.h"
#include "core/decode/bench_decode.h"
#include "core/decode/decoder.h"
#include "core/base/memory.h"
#include "core/base/parallel.h"

/* ------------------------------------------------------------------------------------------- the plain decoder */

struct plain {
    int C, H, D, F, V, layers, S;
    const struct model *m;
    float *x, *y, *q, *k, *v, *att, *gate, *up, *scores, *logits, *keys, *values;
};

/* Compiled as such programs usually are: -Ofast for the machine at hand. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("Ofast")
#if defined(__x86_64__)
#define PLAIN_CLONES                                                                                                   \
    __attribute__((target_clones("arch=sapphirerapids", "arch=skylake-avx512", "arch=haswell", "default")))
#endif
#endif
#ifndef PLAIN_CLONES
#define PLAIN_CLONES
#endif

/* A parallel region is a function of its own that clones do not reach: the loop over a row is what they are for. */
PLAIN_CLONES
float plain_dot(const float *w, const float *x, int n);
PLAIN_CLONES
float plain_dot(const float *w, const float *x, int n)
{
    float sum = 0;
    for (int i = 0; i < n; i++)
        sum += w[i] * x[i];
    return sum;
}

PLAIN_CLONES
void plain_rows(float *out, const float *w, const float *x, int n, int begin, int end);
PLAIN_CLONES
void plain_rows(float *out, const float *w, const float *x, int n, int begin, int end)
{
    for (int o = begin; o < end; o++) {
        float sum = 0;
        for (int i = 0; i < n; i++)
            sum += w[(size_t)o * (size_t)n + (size_t)i] * x[i];
        out[o] = sum;
    }
}

/* out = W x: the rows are split evenly, which is what a static parallel loop over them does. */
static void plain_product(float *out, const float *w, const float *x, int O, int I)
{
#pragma omp parallel
    {
        int threads = omp_get_num_threads(), t = omp_get_thread_num();
        plain_rows(out, w, x, I, (int)((int64_t)O * t / threads), (int)((int64_t)O * (t + 1) / threads));
    }
}

static void plain_rmsnorm(float *y, const float *x, const float *gamma, float eps, int n)
{
    float sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i] * x[i];
    float inverse = 1.0f / sqrtf(sum / (float)n + eps);
    for (int i = 0; i < n; i++)
        y[i] = x[i] * inverse * gamma[i];
}

static void plain_rope(float *x, int heads, int D, int t, float theta)
{
    for (int h = 0; h < heads; h++)
        for (int i = 0; i < D / 2; i++) {
            float angle = (float)t * powf(theta, -2.0f * (float)i / (float)D), c = cosf(angle), s = sinf(angle);
            float *u = x + h * D + i, *w = u + D / 2, a = *u, b = *w;
            *u = a * c - b * s;
            *w = b * c + a * s;
        }
}

static void plain_attention(struct plain *p, int layer, int t)
{
    const int C = p->C, D = p->D, S = p->S;
    float *keys = p->keys + (size_t)layer * (size_t)S * (size_t)C,
          *values = p->values + (size_t)layer * (size_t)S * (size_t)C;
    memcpy(keys + (size_t)t * (size_t)C, p->k, (size_t)C * sizeof(float));
    memcpy(values + (size_t)t * (size_t)C, p->v, (size_t)C * sizeof(float));
#pragma omp parallel for
    for (int h = 0; h < p->H; h++) {
        float *scores = p->scores + (size_t)h * (size_t)S, most = -1e30f, sum = 0, *out = p->att + h * D;
        for (int u = 0; u <= t; u++) {
            scores[u] = plain_dot(p->q + h * D, keys + (size_t)u * (size_t)C + h * D, D) / sqrtf((float)D);
            most = scores[u] > most ? scores[u] : most;
        }
        for (int u = 0; u <= t; u++) {
            scores[u] = expf(scores[u] - most);
            sum += scores[u];
        }
        memset(out, 0, (size_t)D * sizeof *out);
        for (int u = 0; u <= t; u++) {
            float a = scores[u] / sum;
            for (int i = 0; i < D; i++)
                out[i] += a * values[(size_t)u * (size_t)C + (size_t)(h * D + i)];
        }
    }
}

static void plain_step(struct plain *p, int32_t token, int t)
{
    const struct model *m = p->m;
    const struct param_table *table = &m->table;
    const int C = p->C, F = p->F;
    const float eps = (float)m->cfg.norm_eps, theta = (float)m->cfg.rope_theta;
    memcpy(p->x, model_row(m, m->params, table->tok_embed) + (size_t)token * (size_t)C, (size_t)C * sizeof(float));
    for (int l = 0; l < p->layers; l++) {
        const struct param_block *b = &table->blocks[l];
        const float *qkv = model_row(m, m->params, b->qkv), *in = model_row(m, m->params, b->in);
        plain_rmsnorm(p->y, p->x, model_row(m, m->params, table->sites[2 * l].gamma), eps, C);
        plain_product(p->q, qkv, p->y, C, C);
        plain_product(p->k, qkv + (size_t)C * (size_t)C, p->y, C, C);
        plain_product(p->v, qkv + 2 * (size_t)C * (size_t)C, p->y, C, C);
        plain_rope(p->q, p->H, p->D, t, theta);
        plain_rope(p->k, p->H, p->D, t, theta);
        plain_attention(p, l, t);
        plain_product(p->y, model_row(m, m->params, b->out), p->att, C, C);
        for (int i = 0; i < C; i++)
            p->x[i] += p->y[i];
        plain_rmsnorm(p->y, p->x, model_row(m, m->params, table->sites[2 * l + 1].gamma), eps, C);
        plain_product(p->gate, in, p->y, F, C);
        plain_product(p->up, in + (size_t)F * (size_t)C, p->y, F, C);
        for (int i = 0; i < F; i++)
            p->gate[i] = p->gate[i] / (1.0f + expf(-p->gate[i])) * p->up[i];
        plain_product(p->y, model_row(m, m->params, b->mlp_out), p->gate, C, F);
        for (int i = 0; i < C; i++)
            p->x[i] += p->y[i];
    }
    plain_rmsnorm(p->x, p->x, model_row(m, m->params, table->sites[table->site_count - 1].gamma), eps, C);
    plain_product(p->logits, model_row(m, m->params, table->lm_head), p->x, p->V, C);
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif

static void plain_open(struct plain *p, const struct model *m)
{
    const struct config *cfg = &m->cfg;
    *p = (struct plain){.C = (int)cfg->d_model,
                        .H = (int)cfg->heads,
                        .D = (int)(cfg->d_model / cfg->heads),
                        .F = (int)cfg->d_ff,
                        .V = (int)cfg->vocab,
                        .layers = (int)cfg->layers,
                        .S = (int)cfg->context,
                        .m = m};
    const size_t C = (size_t)p->C, cache = (size_t)p->layers * (size_t)p->S * C;
    float **arrays[] = {&p->x, &p->y, &p->q, &p->k, &p->v, &p->att};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        *arrays[i] = memory_alloc(C, sizeof(float));
    p->gate = memory_alloc((size_t)p->F, sizeof(float));
    p->up = memory_alloc((size_t)p->F, sizeof(float));
    p->scores = memory_alloc((size_t)p->H * (size_t)p->S, sizeof(float));
    p->logits = memory_alloc((size_t)p->V, sizeof(float));
    p->keys = memory_alloc(cache, sizeof(float));
    p->values = memory_alloc(cache, sizeof(float));
}

static void plain_close(struct plain *p)
{
    float *arrays[] = {p->x, p->y, p->q, p->k, p->v, p->att, p->gate, p->up, p->scores, p->logits, p->keys, p->values};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        free(arrays[i]);
}

/* ------------------------------------------------------------------------------------------- measuring */

enum { ROUNDS = 8, PREFIX = 104, TIMED = 24, CONTEXT = 128 };

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* Idle threads of the one before must be asleep before the next is timed. */
static void settle(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Times of single tokens: the median, and the second percentile, which neighbours on the machine move less. */
struct series {
    double ms[ROUNDS * TIMED];
    int count;
};

static double percentile(struct series *s, int percent)
{
    qsort(s->ms, (size_t)s->count, sizeof *s->ms, by_size);
    return s->ms[s->count * percent / 100];
}

static int32_t some_token(const struct model *m, int t)
{
    return (int32_t)((t * 7919 + 13) % m->cfg.vocab);
}

static void time_plain(struct plain *p, struct series *s)
{
    settle();
    for (int t = PREFIX; t < PREFIX + TIMED; t++) {
        double begin = now_ms();
        plain_step(p, some_token(p->m, t), t);
        s->ms[s->count++] = now_ms() - begin;
    }
}

static void time_ours(struct decoder *d, const struct model *m, struct series *s)
{
    settle();
    decoder_rewind(d, 0, PREFIX);
    for (int t = PREFIX; t < PREFIX + TIMED; t++) {
        int32_t token = some_token(m, t);
        double begin = now_ms();
        decoder_step(d, &token, 1, NULL);
        s->ms[s->count++] = now_ms() - begin;
    }
}

struct reading {
    const float *data;
    size_t count;
    int threads;
    float sums[64];
};

static void read_share(void *arg, int thread, int threads)
{
    struct reading *r = arg;
    size_t begin, end;
    parallel_share(r->count, 4096, thread, threads, &begin, &end);
    r->sums[thread % 64] = gemv_best()->read(r->data + begin, end - begin);
}

/* Milliseconds to read as many bytes as the weights have, over and over, as decoding does. */
static void time_reading(struct reading *r, struct series *s)
{
    settle();
    for (int i = 0; i < TIMED; i++) {
        double begin = now_ms();
        parallel_run(r->threads, read_share, r);
        s->ms[s->count++] = now_ms() - begin;
    }
}

static double difference(const struct decoder *d, const struct plain *p)
{
    const float *logits = decoder_logits(d, 0);
    double wrong = 0, energy = 0;
    for (int v = 0; v < p->V; v++) {
        wrong += ((double)logits[v] - (double)p->logits[v]) * ((double)logits[v] - (double)p->logits[v]);
        energy += (double)p->logits[v] * (double)p->logits[v];
    }
    return sqrt(wrong / energy);
}

static const char *name_of(const struct decoder *d, enum decoder_weights weights, char *to, size_t room)
{
    char device[64];
    snprintf(to, room, "%s, %s", decoder_describe(d, device, sizeof device), decoder_weights_name(weights));
    return to;
}

static void print_row(const char *size, const char *what, struct series *s, double bytes, double reading, double plain)
{
    double median = percentile(s, 50), best = percentile(s, 2);
    printf("%-4s %-26s %9.1f tokens/s (best %9.1f)  %7.2f MB a token", size, what, 1e3 / median, 1e3 / best,
           bytes / 1e6);
    if (reading > 0)
        printf("  %5.1f %% of the bandwidth", 100 * reading / best);
    if (plain > 0)
        printf("  x%.2f of the plain decoder", plain / best);
    printf("\n");
}

/* ------------------------------------------------------------------------------------------- one size */

struct subjects {
    struct plain plain;
    struct decoder *decoders[WEIGHTS_KINDS];
    struct reading reading;
};

static int open_subjects(struct subjects *s, const struct model *m, int threads, struct error *err)
{
    struct decoder_options o = {.batch = 1, .context = CONTEXT, .threads = threads};
    int32_t ids[PREFIX];
    int status = STATUS_OK;
    plain_open(&s->plain, m);
    for (int t = 0; t < PREFIX; t++)
        ids[t] = some_token(m, t);
    for (int t = 0; t < PREFIX; t++)
        plain_step(&s->plain, ids[t], t);
    for (int k = 0; !status && k < WEIGHTS_KINDS; k++) {
        o.weights = (enum decoder_weights)k;
        status = decoder_create(&s->decoders[k], m, &o, err);
        if (!status)
            status = decoder_feed(s->decoders[k], 0, ids, PREFIX, err);
    }
    if (status)
        return status;
    size_t count = decoder_traffic(s->decoders[WEIGHTS_FP32], 0).weights / sizeof(float) / 64 * 64;
    float *data = aligned_alloc(2 << 20, (count * sizeof *data + (2 << 20) - 1) / (2 << 20) * (2 << 20));
    if (!data)
        return error_set(err, STATUS_FAILED, "out of memory");
    madvise(data, count * sizeof *data, MADV_HUGEPAGE); /* as the weights are */
    for (size_t i = 0; i < count; i++)
        data[i] = (float)(i % 7);
    s->reading = (struct reading){.data = data, .count = count, .threads = threads};
    return status;
}

static void print_all(const char *size, struct subjects *s, struct series *plain, struct series *ours, double read)
{
    const double rate = (double)(s->reading.count * sizeof(float)) / read, base = percentile(plain, 2);
    const int threads = s->reading.threads;
    printf("%-4s reads %.2f GB/s over %.0f MB with %d thread%s; logits of both decoders differ by %.1e\n", size,
           rate / 1e6, (double)s->reading.count * 4e-6, threads, threads == 1 ? "" : "s",
           difference(s->decoders[WEIGHTS_FP32], &s->plain));
    for (int k = -1; k < WEIGHTS_KINDS; k++) {
        const enum decoder_weights weights = k < 0 ? WEIGHTS_FP32 : (enum decoder_weights)k;
        const struct decoder_traffic traffic = decoder_traffic(s->decoders[weights], PREFIX + TIMED / 2);
        const double bytes = (double)(traffic.weights + traffic.cache);
        char name[96];
        if (k < 0)
            print_row(size, "plain C, OpenMP, -Ofast", plain, bytes, bytes / rate, 0);
        else
            print_row(size, name_of(s->decoders[k], weights, name, sizeof name), &ours[k], bytes, bytes / rate, base);
    }
}

static int measure(const char *size, const struct model *m, int threads, struct error *err)
{
    static struct series plain, ours[WEIGHTS_KINDS], reading;
    struct subjects s = {0};
    plain.count = reading.count = 0;
    for (int k = 0; k < WEIGHTS_KINDS; k++)
        ours[k].count = 0;
    int status = open_subjects(&s, m, threads, err);
    for (int round = 0; !status && round < ROUNDS; round++) {
        time_plain(&s.plain, &plain);
        for (int k = 0; k < WEIGHTS_KINDS; k++)
            time_ours(s.decoders[k], m, &ours[k]);
        time_reading(&s.reading, &reading);
    }
    if (!status)
        print_all(size, &s, &plain, ours, percentile(&reading, 2));
    plain_close(&s.plain);
    free((void *)s.reading.data);
    for (int k = 0; k < WEIGHTS_KINDS; k++)
        decoder_destroy(s.decoders[k]);
    return status;
}

/* A prompt through the decoder, in one pass, beside the training forward of as many tokens, whose products are the
 * BLAS's; the fastest of a few, in turns. */
static int measure_prompt(const char *size, const struct model *m, int threads, struct error *err)
{
    enum { TURNS = 8 };
    const int tokens = (int)m->cfg.context;
    const struct bench_options o = {.threads = threads, .repeats = 1};
    double fastest[WEIGHTS_KINDS + 1] = {1e9, 1e9, 1e9, 1e9};
    struct decoder *decoders[WEIGHTS_KINDS] = {NULL};
    struct model timed;
    int32_t *ids = memory_alloc((size_t)tokens, sizeof *ids);
    for (int t = 0; t < tokens; t++)
        ids[t] = some_token(m, t);
    int status = bench_model_create(&timed, m, SITES_INTERNAL, err);
    const bool made = status == STATUS_OK;
    for (int k = 0; !status && k < WEIGHTS_KINDS; k++)
        status = decoder_create(
            &decoders[k], m,
            &(struct decoder_options){.batch = 1, .threads = threads, .weights = (enum decoder_weights)k}, err);
    for (int i = 0; !status && i < TURNS; i++) {
        struct bench_result forward;
        for (int k = 0; !status && k < WEIGHTS_KINDS; k++) {
            settle();
            decoder_rewind(decoders[k], 0, 0);
            const double begin = now_ms();
            status = decoder_feed(decoders[k], 0, ids, tokens, err);
            fastest[k] = fmin(fastest[k], now_ms() - begin);
        }
        settle();
        if (!status)
            status = bench_last_token(&timed, &o, 1, tokens, &forward, err);
        if (!status)
            fastest[WEIGHTS_KINDS] = fmin(fastest[WEIGHTS_KINDS], forward.ms[BENCH_BASELINE].median);
    }
    for (int k = 0; !status && k < WEIGHTS_KINDS; k++)
        printf("%-4s prompt of %d tokens, %s %9.0f tokens/s, x%.2f of the training forward\n", size, tokens,
               decoder_weights_name((enum decoder_weights)k), 1e3 * tokens / fastest[k],
               fastest[WEIGHTS_KINDS] / fastest[k]);
    for (int k = 0; k < WEIGHTS_KINDS; k++)
        decoder_destroy(decoders[k]);
    if (made)
        model_destroy(&timed);
    free(ids);
    return status;
}

static int bench_size(const char *size, int threads, struct error *err)
{
    const char *const keys[] = {"model.pos=rope", "model.mlp=swiglu"};
    struct config cfg;
    struct backend *be;
    struct model m;
    config_init(&cfg);
    int status = config_set(&cfg, "model.size", size, err);
    for (size_t i = 0; !status && i < sizeof keys / sizeof keys[0]; i++)
        status = config_set_pair(&cfg, keys[i], err);
    if (!status)
        status = config_finish(&cfg, err);
    if (!status)
        status =
            ops_cpu()->create(&be, &(struct backend_options){.threads = threads, .precision = PRECISION_FP32}, err);
    if (status)
        return status;
    status = model_create(&m, &cfg, ops_cpu(), be, err);
    if (!status) {
        status = model_initialize(&m, err);
        if (!status)
            status = measure(size, &m, threads, err);
        if (!status)
            status = measure_prompt(size, &m, threads, err);
        model_destroy(&m);
    }
    ops_cpu()->destroy(be);
    return status;
}

int main(void)
{
    const int threads = parallel_processors();
    struct error err = {0};
    omp_set_num_threads(threads);
    printf("decoding one sequence at positions %d to %d; best: the fiftieth part of the tokens that was fastest, of "
           "which ratios are made\n"
           "aims: fp32 1M x4, 30M x1.25 and 80 %% of the bandwidth, bf16 30M x1.7\n",
           PREFIX, PREFIX + TIMED);
    int status = bench_size("1M", threads, &err);
    if (!status)
        status = bench_size("30M", threads, &err);
    if (status)
        fprintf(stderr, "bench_decode: %s\n", err.text);
    return error_exit_code(status);
}
