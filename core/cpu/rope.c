#include <math.h>
#include <stdlib.h>

#include "core/cpu/cpu.h"
#include "core/base/memory.h"

static bool same_rope(struct rope a, struct rope b)
{
    return a.theta == b.theta && a.factor == b.factor && a.low == b.low && a.high == b.high && a.original == b.original;
}

const float *cpu_rope(struct backend *be, int T, int D, struct rope kind)
{
    if (kind.theta <= 0)
        return NULL;
    if (be->rope && T <= be->rope_T && D == be->rope_D && same_rope(kind, be->rope_kind))
        return be->rope;
    int half = D / 2;
    be->rope = memory_resize(be->rope, (size_t)T * half, 2 * sizeof *be->rope);
    be->rope_T = T;
    be->rope_D = D;
    be->rope_kind = kind;
    for (int t = 0; t < T; t++)
        for (int i = 0; i < half; i++) {
            double angle = t * rope_frequency(kind, i, half);
            be->rope[((size_t)t * half + i) * 2] = (float)cos(angle);
            be->rope[((size_t)t * half + i) * 2 + 1] = (float)sin(angle);
        }
    return be->rope;
}

void cpu_rotate(float *x, const float *angles, int D, float sign)
{
    int half = D / 2;
    for (int i = 0; i < half; i++) {
        float c = angles[2 * i], s = sign * angles[2 * i + 1], u = x[i], v = x[half + i];
        x[i] = u * c - v * s;
        x[half + i] = v * c + u * s;
    }
}
