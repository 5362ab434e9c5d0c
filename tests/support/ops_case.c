#include "tests/support/ops_case.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/base/rng.h"

enum { GUARD = 256 }; /* bytes before and after a buffer */

static const uint32_t guard_word = 0x7fc0dea1; /* a NaN: what is read past an end shows as well */

static size_t element_size(const struct case_buffer *b)
{
    return b->type == BUFFER_F64 ? sizeof(double) : sizeof(float);
}

int case_add(struct op_case *c, const char *name, enum buffer_type type, enum buffer_use use, size_t count)
{
    if (c->count == CASE_BUFFERS)
        abort();
    c->buffers[c->count] = (struct case_buffer){
        .name = name, .type = type, .use = use, .count = count, .std = 1, .high = 1, .bound = 1e-5};
    return c->count++;
}

struct op_case *case_new(struct case_list *list, const char *slot, const char *format, ...)
{
    if (list->count == list->room) {
        list->room = list->room ? 2 * list->room : 64;
        list->at = memory_resize(list->at, (size_t)list->room, sizeof *list->at);
    }
    struct op_case *c = &list->at[list->count++];
    *c = (struct op_case){.slot = slot, .poison = -1};
    int used = snprintf(c->name, sizeof c->name, "%s ", slot);
    va_list args;
    va_start(args, format);
    vsnprintf(c->name + used, sizeof c->name - (size_t)used, format, args);
    va_end(args);
    return c;
}

struct op_case *ops_cases(int *count)
{
    struct case_list list = {0};
    cases_embed(&list);
    cases_norm(&list);
    cases_linear(&list);
    cases_attention(&list);
    cases_head(&list);
    cases_optimizer(&list);
    cases_step(&list);
    cases_decode(&list);
    *count = list.count;
    return list.at;
}

/* The same numbers for the same case and buffer, whatever the table. */
static void fill(const struct op_case *c, int k, void *to)
{
    const struct case_buffer *b = &c->buffers[k];
    struct rng_stream stream = {.seed = 7, .use = RNG_TEST, .second = (uint64_t)k};
    for (const char *p = c->name; *p; p++)
        stream.second = stream.second * 131 + (unsigned char)*p;
    if (b->type == BUFFER_I32) {
        for (size_t i = 0; i < b->count; i++)
            ((int32_t *)to)[i] = b->low + (int32_t)rng_below(&stream, i, (uint64_t)(b->high - b->low));
        return;
    }
    float *draws = memory_alloc(b->count, sizeof *draws);
    rng_normal_fill(&stream, draws, b->count, b->std);
    for (size_t i = 0; i < b->count; i++) {
        double value = b->use == BUFFER_SET ? NAN : b->center + draws[i];
        if (b->type == BUFFER_F64)
            ((double *)to)[i] = value;
        else
            ((float *)to)[i] = (float)value;
    }
    free(draws);
}

static void fill_all(const struct op_case *c, void **host)
{
    for (int k = 0; k < c->count; k++) {
        host[k] = c->buffers[k].count ? memory_alloc(c->buffers[k].count, element_size(&c->buffers[k])) : NULL;
        if (host[k])
            fill(c, k, host[k]);
    }
    for (int pass = 0; pass < 2; pass++) { /* before, for what is made of it, and again if that wrote over it */
        if (c->poison >= 0)
            ((float *)host[c->poison])[c->poison_at] = c->poison_value;
        if (c->prepare && pass == 0)
            c->prepare(c, host);
    }
}

/* Upload guard, data, guard; returns the address of the data. */
static void *place(const struct ops *ops, struct backend *be, const void *data, size_t bytes, int shift, void **block)
{
    size_t before = GUARD + (size_t)shift * sizeof(double), whole = before + (bytes + 7) / 8 * 8 + GUARD;
    uint32_t *image = memory_alloc(whole / 4, 4);
    for (size_t i = 0; i < whole / 4; i++)
        image[i] = guard_word;
    memcpy((char *)image + before, data, bytes);
    struct error err = {0};
    *block = ops->alloc(be, whole, &err);
    if (!*block) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    ops->upload(be, *block, image, whole);
    free(image);
    return (char *)*block + before;
}

/* Download a block into the result and check its guards. */
static void fetch(const struct ops *ops, struct backend *be, const struct op_case *c, int k, int shift, void *block,
                  const void *original, struct case_result *result)
{
    const struct case_buffer *b = &c->buffers[k];
    size_t bytes = b->count * element_size(b), before = GUARD + (size_t)shift * sizeof(double);
    size_t whole = before + (bytes + 7) / 8 * 8 + GUARD;
    char *image = memory_alloc(whole, 1);
    ops->download(be, image, block, whole);
    for (size_t i = 0; i + 4 <= whole; i += 4)
        if ((i < before || i >= before + bytes) && memcmp(image + i, &guard_word, 4) != 0 && !result->fault[0])
            snprintf(result->fault, sizeof result->fault, "%s: %s: written at byte %ld of %zu", c->name, b->name,
                     (long)i - (long)before, bytes);
    if (b->use == BUFFER_IN && memcmp(image + before, original, bytes) != 0 && !result->fault[0])
        snprintf(result->fault, sizeof result->fault, "%s: input %s was changed", c->name, b->name);
    result->data[k] = memory_alloc(bytes, 1);
    memcpy(result->data[k], image + before, bytes);
    free(image);
}

void ops_case_run(const struct ops *ops, struct backend *be, const struct op_case *c, int shift,
                  struct case_result *result)
{
    void *host[CASE_BUFFERS], *blocks[CASE_BUFFERS] = {NULL}, *p[CASE_BUFFERS] = {NULL};
    *result = (struct case_result){.fault = ""};
    fill_all(c, host);
    for (int k = 0; k < c->count; k++)
        if (host[k])
            p[k] = place(ops, be, host[k], c->buffers[k].count * element_size(&c->buffers[k]), shift, &blocks[k]);
    c->call(ops, be, c, p);
    struct error err = {0};
    if (ops->sync(be, &err) != STATUS_OK)
        snprintf(result->fault, sizeof result->fault, "%s: %.80s", c->name, err.text);
    for (int k = 0; k < c->count; k++) {
        if (host[k])
            fetch(ops, be, c, k, shift, blocks[k], host[k], result);
        ops->release(be, blocks[k]);
        free(host[k]);
    }
}

void case_result_free(const struct op_case *c, struct case_result *result)
{
    for (int k = 0; k < c->count; k++)
        free(result->data[k]);
}

static double element(const struct case_buffer *b, const void *data, size_t i)
{
    if (b->type == BUFFER_F64)
        return ((const double *)data)[i];
    return b->type == BUFFER_F32 ? ((const float *)data)[i] : ((const int32_t *)data)[i];
}

const char *ops_case_compare(const struct op_case *c, const struct case_result *want, const struct case_result *got,
                             double slack)
{
    static char text[600];
    for (int k = 0; k < c->count; k++) {
        const struct case_buffer *b = &c->buffers[k];
        double size = 0, off = 0, worst = 0;
        size_t finite = 0, worst_at = 0;
        for (size_t i = 0; i < b->count; i++) {
            double w = element(b, want->data[k], i), g = element(b, got->data[k], i);
            if (!isfinite(w) || !isfinite(g)) {
                if (w == g || (isnan(w) && isnan(g)))
                    continue;
                snprintf(text, sizeof text, "%s: %s[%zu]: want %g, got %g", c->name, b->name, i, w, g);
                return text;
            }
            finite++;
            size += w * w;
            off += (w - g) * (w - g);
            if (fabs(w - g) > worst) {
                worst = fabs(w - g);
                worst_at = i;
            }
        }
        double bound = b->bound * slack, rms = finite ? sqrt(size / (double)finite) : 0;
        if (sqrt(off) > bound * (sqrt(size) + 1e-30) || worst > 40 * bound * rms + 1e-30) {
            snprintf(text, sizeof text, "%s: %s: off by %.2e of its norm (bound %.1e); [%zu]: want %.9g, got %.9g",
                     c->name, b->name, sqrt(off) / (sqrt(size) + 1e-30), bound, worst_at,
                     element(b, want->data[k], worst_at), element(b, got->data[k], worst_at));
            return text;
        }
    }
    return "";
}
