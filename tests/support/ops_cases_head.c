/* Cases of the head, the auxiliary loss, the probe, and the optimizer's ops. */
#include "tests/support/ops_case.h"

#include <math.h>
#include <string.h>

enum { H_Y, H_WEIGHT, H_TARGETS, H_CE, H_DY, H_DWEIGHT, H_SUM_SQ, H_MAX, H_STD, H_MARGIN, H_P, H_ENTROPY };
enum { H_LOGITS = H_ENTROPY + 1, H_BIAS };
enum { DIM_N, DIM_C, DIM_V };

static void call_head(const struct ops *ops, struct backend *be, const struct op_case *c, void *const *p)
{
    const struct head_pass a = {.y = p[H_Y],
                                .weight = p[H_WEIGHT],
                                .bias = p[H_BIAS],
                                .targets = p[H_TARGETS],
                                .ce = p[H_CE],
                                .dy = p[H_DY],
                                .dweight = p[H_DWEIGHT],
                                .grad_scale = 0.3f,
                                .stats = {p[H_SUM_SQ], p[H_MAX], p[H_STD], p[H_MARGIN], p[H_P], p[H_ENTROPY]},
                                .logits = p[H_LOGITS],
                                .N = c->dims[DIM_N],
                                .C = c->dims[DIM_C],
                                .V = c->dims[DIM_V]};
    ops->head(be, &a);
}

void case_head(struct case_list *list, int N, int C, int V, struct head_options o)
{
    struct op_case *c =
        case_new(list, "head", "N=%d C=%d V=%d gradients=%d stats=%d logits=%d bias=%d lowest=%d spread=%g", N, C, V,
                 o.gradients, o.stats, o.logits, o.bias, o.lowest, o.spread);
    static const char *const stats[] = {"sum_sq", "max_abs", "std", "margin", "p_correct", "entropy"};
    c->dims[DIM_N] = N, c->dims[DIM_C] = C, c->dims[DIM_V] = V;
    c->call = call_head;
    case_add(c, "y", BUFFER_F32, BUFFER_IN, (size_t)N * C);
    c->buffers[case_add(c, "weight", BUFFER_F32, BUFFER_IN, (size_t)V * C)].std = o.spread;
    struct case_buffer *targets = &c->buffers[case_add(c, "targets", BUFFER_I32, BUFFER_IN, (size_t)N)];
    targets->low = o.lowest;
    targets->high = o.lowest < 0 && V == 1 ? 0 : V;
    case_add(c, "ce", BUFFER_F32, BUFFER_SET, (size_t)N);
    case_add(c, "dy", BUFFER_F32, BUFFER_SET, o.gradients ? (size_t)N * C : 0);
    case_add(c, "dweight", BUFFER_F32, BUFFER_ADD, o.gradients ? (size_t)V * C : 0);
    for (int i = 0; i < 6; i++)
        case_add(c, stats[i], BUFFER_F32, BUFFER_SET, o.stats ? (size_t)N : 0);
    c->buffers[case_add(c, "logits", BUFFER_F32, BUFFER_SET, o.logits ? (size_t)N * V : 0)].bound = 2e-6;
    case_add(c, "bias", BUFFER_F32, BUFFER_IN, o.bias ? (size_t)V : 0);
}

void cases_head(struct case_list *list)
{
    static const int shapes[][3] = {{1, 1, 2},     {1, 64, 101},    {5, 3, 7},     {33, 16, 29},
                                    {67, 64, 257}, {130, 32, 1009}, {200, 96, 64}, {19, 130, 37}};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        int N = shapes[s][0], C = shapes[s][1], V = shapes[s][2];
        double spread = 1.0 / (C > 16 ? 4 : 1);
        case_head(list, N, C, V, (struct head_options){true, true, true, true, 0, spread});
        case_head(list, N, C, V, (struct head_options){true, false, false, false, -V, spread});
        case_head(list, N, C, V, (struct head_options){false, true, false, false, -2, spread});
        case_head(list, N, C, V, (struct head_options){false, false, true, false, -1, spread});
        case_head(list, N, C, V, (struct head_options){false, true, true, true, -2, spread});
    }
    case_head(list, 7, 16, 53, (struct head_options){true, true, false, true, 0, 8}); /* sharp: p near 0 and 1 */
    case_head(list, 7, 16, 1, (struct head_options){true, false, true, true, 0, 1});
    case_head(list, 140, 3, 50257, /* more than a block of logits */
              (struct head_options){.gradients = true, .stats = true, .bias = true, .lowest = -9, .spread = 1});
}

enum { A_H, A_SCALE, A_MEAN, A_SCALARS, A_DH, A_SUM, A_RADIAL };
enum { SCALAR_FLOATS = sizeof(struct step_scalars) / sizeof(float) };

static void call_aux(const struct ops *ops, struct backend *be, const struct op_case *c, void *const *p)
{
    const struct aux_loss a = {.h = p[A_H],
                               .scale = p[A_SCALE],
                               .mean = p[A_MEAN],
                               .dh = p[A_DH],
                               .sum = p[A_SUM],
                               .radial = p[A_RADIAL],
                               .lambda = 0.1f,
                               .grad_scale = 0.25f,
                               .scalars = p[A_SCALARS],
                               .N = c->dims[DIM_N],
                               .C = c->dims[DIM_C]};
    ops->aux_loss(be, &a);
}

static void aux_case(struct case_list *list, int N, int C, bool mean, bool gradient, bool radial)
{
    struct op_case *c =
        case_new(list, "aux_loss", "N=%d C=%d mean=%d gradient=%d radial=%d", N, C, mean, gradient, radial);
    c->dims[DIM_N] = N, c->dims[DIM_C] = C;
    c->call = call_aux;
    case_add(c, "h", BUFFER_F32, BUFFER_IN, (size_t)N * C);
    struct case_buffer *scale = &c->buffers[case_add(c, "scale", BUFFER_F32, BUFFER_IN, (size_t)N)];
    scale->center = 2, scale->std = 0.2;
    c->buffers[case_add(c, "mean", BUFFER_F32, BUFFER_IN, mean ? (size_t)N : 0)].std = 0.1;
    c->buffers[case_add(c, "scalars", BUFFER_F32, BUFFER_IN, SCALAR_FLOATS)].center = 0.5;
    case_add(c, "dh", BUFFER_F32, BUFFER_ADD, gradient ? (size_t)N * C : 0);
    c->buffers[case_add(c, "sum", BUFFER_F64, BUFFER_ADD, 1)].bound = 1e-6;
    case_add(c, "radial", BUFFER_F32, BUFFER_SET, radial ? (size_t)N : 0);
}

enum { P_DH, P_H, P_RADIAL, P_TANGENTIAL };

static void call_probe(const struct ops *ops, struct backend *be, const struct op_case *c, void *const *p)
{
    const struct radial_probe a = {.dh = p[P_DH],
                                   .h = p[P_H],
                                   .grad_scale = 0.02f,
                                   .radial = p[P_RADIAL],
                                   .tangential = p[P_TANGENTIAL],
                                   .N = c->dims[DIM_N],
                                   .C = c->dims[DIM_C]};
    ops->radial_probe(be, &a);
}

static void probe_case(struct case_list *list, int N, int C)
{
    struct op_case *c = case_new(list, "radial_probe", "N=%d C=%d", N, C);
    c->dims[DIM_N] = N, c->dims[DIM_C] = C;
    c->call = call_probe;
    case_add(c, "dh", BUFFER_F32, BUFFER_IN, (size_t)N * C);
    case_add(c, "h", BUFFER_F32, BUFFER_IN, (size_t)N * C);
    case_add(c, "radial", BUFFER_F32, BUFFER_SET, (size_t)N);
    case_add(c, "tangential", BUFFER_F32, BUFFER_SET, (size_t)N);
}

enum { O_PARAMS, O_M, O_V, O_GRADS, O_NORM, O_SCALARS, O_COUNTS, O_OUTCOME, O_MISSED };
enum { Q_X, Q_COUNTS, Q_OUT };
enum { FLAT = 9001, COUNTERS = 4 };

/* Odd offsets, a gap that must stay as it is, an empty segment, and counters that are off. */
static const struct param_segment segments[] = {
    {0, 1, true, 0},    {1, 4099, true, 0},   {4100, 33, false, 1},
    {4200, 0, true, 2}, {4200, 77, false, 3}, {4277, 4723, true, 0},
};
enum { SEGMENTS = sizeof segments / sizeof segments[0] };

/* What became of the step: nobody says, it is good, it is skipped. */
enum { OUTCOME_NONE, OUTCOME_GOOD, OUTCOME_SKIP };
enum { OUTCOME_INTS = sizeof(struct step_outcome) / sizeof(int32_t) };

static void prepare_counts(int32_t *to, int variant)
{
    const int32_t counts[COUNTERS] = {1 + 40 * variant, 3 * variant, 7, 1 - variant};
    memcpy(to, counts, sizeof counts);
}

static void prepare_adamw(const struct op_case *c, void *const *host)
{
    float *v = host[O_V];
    for (int i = 0; i < FLAT; i++) /* second moments are not negative */
        v[i] = v[i] < 0 ? -v[i] : v[i];
    *(struct step_scalars *)host[O_SCALARS] = (struct step_scalars){.lr = 3e-3f};
    prepare_counts(host[O_COUNTS], c->dims[0]);
    if (!host[O_OUTCOME])
        return;
    const int32_t missed[COUNTERS] = {c->dims[0] * 7, c->dims[0], 2, 0};
    *(struct step_outcome *)host[O_OUTCOME] = (struct step_outcome){.skip = c->dims[1] == OUTCOME_SKIP};
    memcpy(host[O_MISSED], missed, sizeof missed);
}

static void call_adamw(const struct ops *ops, struct backend *be, const struct op_case *c, void *const *p)
{
    const struct adamw a = {.params = p[O_PARAMS],
                            .m = p[O_M],
                            .v = p[O_V],
                            .grads = p[O_GRADS],
                            .segments = segments,
                            .segment_count = SEGMENTS,
                            .norm_sq = p[O_NORM],
                            .clip = (float)c->reals[0],
                            .beta1 = 0.9f,
                            .beta2 = 0.95f,
                            .eps = 1e-8f,
                            .weight_decay = 0.1f,
                            .scalars = p[O_SCALARS],
                            .adam_step = p[O_COUNTS],
                            .outcome = p[O_OUTCOME],
                            .missed = p[O_MISSED]};
    ops->adamw(be, &a);
}

static void prepare_sum(const struct op_case *c, void *const *host)
{
    prepare_counts(host[Q_COUNTS], c->dims[0]);
}

static void call_sum(const struct ops *ops, struct backend *be, const struct op_case *c, void *const *p)
{
    (void)c;
    ops->sum_squares(be, p[Q_OUT], p[Q_X], segments, SEGMENTS, p[Q_COUNTS]);
}

static void prepare_ema(const struct op_case *c, void *const *host)
{
    if (host[2])
        *(struct step_outcome *)host[2] = (struct step_outcome){.skip = c->dims[1] == OUTCOME_SKIP};
}

static void call_ema(const struct ops *ops, struct backend *be, const struct op_case *c, void *const *p)
{
    ops->ema_update(be, p[0], p[1], 0.99, 0.125, c->dims[0], p[2]);
}

static void optimizer_cases(struct case_list *list, int variant, double clip, double norm_sq, int outcome)
{
    struct op_case *c =
        case_new(list, "adamw", "variant=%d clip=%g norm_sq=%g outcome=%d", variant, clip, norm_sq, outcome);
    c->dims[0] = variant;
    c->dims[1] = outcome;
    c->reals[0] = clip;
    c->call = call_adamw;
    c->prepare = prepare_adamw;
    case_add(c, "params", BUFFER_F32, BUFFER_INOUT, FLAT);
    case_add(c, "m", BUFFER_F32, BUFFER_INOUT, FLAT);
    case_add(c, "v", BUFFER_F32, BUFFER_INOUT, FLAT);
    for (int k = O_PARAMS; k <= O_V; k++)
        c->buffers[k].bound = 5e-7;
    case_add(c, "grads", BUFFER_F32, BUFFER_IN, FLAT);
    struct case_buffer *norm = &c->buffers[case_add(c, "norm_sq", BUFFER_F64, BUFFER_IN, 1)];
    norm->center = norm_sq, norm->std = 0;
    case_add(c, "scalars", BUFFER_F32, BUFFER_IN, SCALAR_FLOATS);
    case_add(c, "adam_step", BUFFER_I32, BUFFER_IN, COUNTERS);
    case_add(c, "outcome", BUFFER_I32, BUFFER_IN, outcome == OUTCOME_NONE ? 0 : OUTCOME_INTS);
    case_add(c, "missed", BUFFER_I32, BUFFER_IN, outcome == OUTCOME_NONE ? 0 : COUNTERS);
    if (outcome != OUTCOME_NONE)
        return;
    c = case_new(list, "sum_squares", "variant=%d clip=%g", variant, clip);
    c->dims[0] = variant;
    c->call = call_sum;
    c->prepare = prepare_sum;
    case_add(c, "x", BUFFER_F32, BUFFER_IN, FLAT);
    case_add(c, "adam_step", BUFFER_I32, BUFFER_IN, COUNTERS);
    c->buffers[case_add(c, "out", BUFFER_F64, BUFFER_SET, 1)].bound = 1e-12;
}

void cases_optimizer(struct case_list *list)
{
    for (int variant = 0; variant < 2; variant++) {
        optimizer_cases(list, variant, 0, 400, OUTCOME_NONE);
        optimizer_cases(list, variant, 1, 400, OUTCOME_NONE);
        optimizer_cases(list, variant, 1, 0.25, OUTCOME_NONE);
        optimizer_cases(list, variant, 1, 400, OUTCOME_GOOD);
        optimizer_cases(list, variant, 1, NAN, OUTCOME_SKIP);
    }
    for (int count = 1; count < 20; count += 6) {
        int outcome = count / 6 % 3;
        struct op_case *c = case_new(list, "ema_update", "count=%d outcome=%d", count, outcome);
        c->dims[1] = outcome;
        c->prepare = prepare_ema;
        c->dims[0] = count;
        c->call = call_ema;
        c->buffers[case_add(c, "ema", BUFFER_F64, BUFFER_INOUT, (size_t)count)].bound = 1e-15;
        case_add(c, "sums", BUFFER_F64, BUFFER_IN, (size_t)count);
        case_add(c, "outcome", BUFFER_I32, BUFFER_IN, outcome == OUTCOME_NONE ? 0 : OUTCOME_INTS);
    }
    static const int shapes[][2] = {{1, 1}, {1, 64}, {7, 3}, {37, 65}, {130, 256}};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        int N = shapes[s][0], C = shapes[s][1];
        aux_case(list, N, C, false, true, true);
        aux_case(list, N, C, true, true, false);
        aux_case(list, N, C, true, false, true);
        aux_case(list, N, C, false, false, false);
        if (C > 1) /* a vector of one has no direction but its own */
            probe_case(list, N, C);
    }
}
