/* An RMSNorm model as a GPT-2 of twice the width, exactly. Its stream is (h, -h): the mean is 0, so LayerNorm centres
 * nothing, and the variance is the mean square of h, so it divides by what RMSNorm divides by. What writes to the
 * stream writes both halves; what reads from it, gains first, reads the first half; the heads that are added read and
 * write zeros. */
#include <stdlib.h>
#include <string.h>

#include "core/trained/interop_internal.h"
#include "core/base/memory.h"

/* What becomes of an axis. */
enum axis {
    AXIS_SAME,
    AXIS_ZEROS,  /* as much again of zeros behind */
    AXIS_MIRROR, /* ... of the negated numbers */
    AXIS_THIRDS, /* q, k and v: zeros behind each third */
};

/* By the end of a tensor's name. A vector has columns only. */
static const struct widening {
    const char *ending;
    enum axis rows, columns;
} widenings[] = {
    {"wte.weight", AXIS_SAME, AXIS_MIRROR},           {"wpe.weight", AXIS_SAME, AXIS_MIRROR},
    {".ln_1.weight", AXIS_SAME, AXIS_ZEROS},          {".ln_1.bias", AXIS_SAME, AXIS_ZEROS},
    {".ln_2.weight", AXIS_SAME, AXIS_ZEROS},          {".ln_2.bias", AXIS_SAME, AXIS_ZEROS},
    {".ln_f.weight", AXIS_SAME, AXIS_ZEROS},          {".ln_f.bias", AXIS_SAME, AXIS_ZEROS},
    {".attn.c_attn.weight", AXIS_ZEROS, AXIS_THIRDS}, {".attn.c_attn.bias", AXIS_SAME, AXIS_THIRDS},
    {".attn.c_proj.weight", AXIS_ZEROS, AXIS_MIRROR}, {".attn.c_proj.bias", AXIS_SAME, AXIS_MIRROR},
    {".mlp.c_fc.weight", AXIS_ZEROS, AXIS_SAME},      {".mlp.c_fc.bias", AXIS_SAME, AXIS_SAME},
    {".mlp.c_proj.weight", AXIS_SAME, AXIS_MIRROR},   {".mlp.c_proj.bias", AXIS_SAME, AXIS_MIRROR},
    {"lm_head.weight", AXIS_SAME, AXIS_ZEROS},
};

static const struct widening *widening_of(const char *name)
{
    const size_t length = strlen(name);
    for (size_t i = 0; i < sizeof widenings / sizeof widenings[0]; i++) {
        const size_t end = strlen(widenings[i].ending);
        if (length >= end && strcmp(name + length - end, widenings[i].ending) == 0)
            return &widenings[i];
    }
    return NULL;
}

/* Where place `at` of the wider axis comes from, -1 for a zero; *sign set. */
static int64_t source_of(enum axis axis, int64_t at, int64_t size, float *sign)
{
    const int64_t third = size / 3;
    *sign = 1;
    switch (axis) {
    case AXIS_SAME:
        return at;
    case AXIS_ZEROS:
        return at < size ? at : -1;
    case AXIS_MIRROR:
        *sign = at < size ? 1 : -1;
        return at % size;
    case AXIS_THIRDS:
        return at % (2 * third) < third ? at / (2 * third) * third + at % (2 * third) : -1;
    }
    return -1;
}

float *interop_widen(struct interop_tensor *t, float *from)
{
    const struct widening *w = widening_of(t->name);
    if (!w)
        return from;
    const int64_t rows = t->rank == 2 ? t->shape[0] : 1, columns = t->rank == 2 ? t->shape[1] : t->shape[0];
    const int64_t R = w->rows == AXIS_SAME ? rows : 2 * rows, C = w->columns == AXIS_SAME ? columns : 2 * columns;
    float *to = memory_alloc((size_t)(R * C), sizeof *to), sign, unused;
    for (int64_t r = 0; r < R; r++) {
        const int64_t row = source_of(w->rows, r, rows, &unused); /* no rows are mirrored */
        for (int64_t c = 0; c < C && row >= 0; c++) {
            const int64_t column = source_of(w->columns, c, columns, &sign);
            to[r * C + c] = column < 0 ? 0 : sign * from[row * columns + column];
        }
    }
    t->shape[0] = t->rank == 2 ? R : C;
    t->shape[1] = t->rank == 2 ? C : 1;
    t->count = (size_t)(R * C);
    free(from);
    return to;
}
