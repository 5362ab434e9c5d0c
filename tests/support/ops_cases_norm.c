/* Cases of norm_forward and norm_backward. */
#include <stdio.h>

#include "tests/support/ops_case.h"

enum {
    F_IN,
    F_DELTA,
    F_GAMMA,
    F_BETA,
    F_GAMMA_TILDE,
    F_BETA_TILDE,
    F_C,
    F_GATE,
    F_H,
    F_Y,
    F_SCALE,
    F_MEAN,
    F_CALIB,
    F_SUM
};
enum {
    B_DY,
    B_H,
    B_GAMMA,
    B_BETA,
    B_GAMMA_TILDE,
    B_BETA_TILDE,
    B_C,
    B_GATE,
    B_SCALE,
    B_MEAN,
    B_DH,
    B_DGAMMA,
    B_DBETA,
    B_DGAMMA_TILDE,
    B_DBETA_TILDE
};
enum { DIM_N, DIM_C, DIM_KIND, DIM_PHASE, DIM_FRESH };

static struct norm_site site_of(const struct op_case *c, void *const *p, int gamma)
{
    return (struct norm_site){.kind = (enum norm_kind)c->dims[DIM_KIND],
                              .phase = (enum gate_phase)c->dims[DIM_PHASE],
                              .eps = 1e-5f,
                              .gamma = p[gamma],
                              .beta = p[gamma + 1],
                              .gamma_tilde = p[gamma + 2],
                              .beta_tilde = p[gamma + 3],
                              .c = p[gamma + 4],
                              .gate = p[gamma + 5]};
}

/* What the phase does not read is NULL, so that reading it shows. */
static void add_site(struct op_case *c, int C)
{
    int kind = c->dims[DIM_KIND], phase = c->dims[DIM_PHASE];
    size_t normed = phase != PHASE_FOLDED ? (size_t)C : 0, folded = phase != PHASE_NORMED ? (size_t)C : 0;
    size_t has_beta = kind == NORM_LAYER;
    c->buffers[case_add(c, "gamma", BUFFER_F32, BUFFER_IN, normed)].center = 1;
    case_add(c, "beta", BUFFER_F32, BUFFER_IN, normed * has_beta);
    c->buffers[case_add(c, "gamma_tilde", BUFFER_F32, BUFFER_IN, folded)].center = 1;
    case_add(c, "beta_tilde", BUFFER_F32, BUFFER_IN, folded * has_beta);
    c->buffers[case_add(c, "c", BUFFER_F32, BUFFER_IN, folded > 0)].center = 0.7;
    int gate = case_add(c, "gate", BUFFER_F32, BUFFER_IN, phase == PHASE_MIXED);
    c->buffers[gate].center = 0.37;
    c->buffers[gate].std = 0;
    if (phase != PHASE_NORMED)
        c->buffers[gate - 1].std = 0.1;
}

static void call_forward(const struct ops *ops, struct backend *be, const struct op_case *c, void *const *p)
{
    const struct norm_forward a = {.site = site_of(c, p, F_GAMMA),
                                   .in = p[F_IN],
                                   .delta = p[F_DELTA],
                                   .h = p[F_H],
                                   .y = p[F_Y],
                                   .scale = p[F_SCALE],
                                   .mean = p[F_MEAN],
                                   .calibration = p[F_CALIB],
                                   .scale_sum = p[F_SUM],
                                   .N = c->dims[DIM_N],
                                   .C = c->dims[DIM_C]};
    ops->norm_forward(be, &a);
}

struct norm_options {
    bool delta, scale, sums;
};

static void forward_case(struct case_list *list, int N, int C, int kind, int phase, struct norm_options o)
{
    struct op_case *c = case_new(list, "norm_forward", "N=%d C=%d kind=%d phase=%d delta=%d scale=%d sums=%d", N, C,
                                 kind, phase, o.delta, o.scale, o.sums);
    size_t all = (size_t)N * C;
    c->dims[DIM_N] = N, c->dims[DIM_C] = C, c->dims[DIM_KIND] = kind, c->dims[DIM_PHASE] = phase;
    c->call = call_forward;
    c->buffers[case_add(c, "in", BUFFER_F32, BUFFER_IN, all)].center = 0.3;
    case_add(c, "delta", BUFFER_F32, BUFFER_IN, o.delta ? all : 0);
    add_site(c, C);
    case_add(c, "h", BUFFER_F32, BUFFER_SET, o.delta ? all : 0);
    /* One element under LayerNorm is its own mean: what is left is rounding. */
    c->buffers[case_add(c, "y", BUFFER_F32, BUFFER_SET, all)].bound = 2e-6;
    c->buffers[case_add(c, "scale", BUFFER_F32, BUFFER_SET, o.scale ? (size_t)N : 0)].bound = 1e-6;
    c->buffers[case_add(c, "mean", BUFFER_F32, BUFFER_SET, kind == NORM_LAYER ? (size_t)N : 0)].bound = 1e-5;
    c->buffers[case_add(c, "calibration", BUFFER_F64, BUFFER_ADD, o.sums && phase != PHASE_FOLDED ? 2 : 0)].bound =
        1e-6;
    c->buffers[case_add(c, "scale_sum", BUFFER_F64, BUFFER_ADD, o.sums)].bound = 1e-6;
}

static void call_backward(const struct ops *ops, struct backend *be, const struct op_case *c, void *const *p)
{
    const struct norm_backward a = {.site = site_of(c, p, B_GAMMA),
                                    .dy = p[B_DY],
                                    .h = p[B_H],
                                    .scale = p[B_SCALE],
                                    .mean = p[B_MEAN],
                                    .dh = p[B_DH],
                                    .fresh = c->dims[DIM_FRESH],
                                    .dgamma = p[B_DGAMMA],
                                    .dbeta = p[B_DBETA],
                                    .dgamma_tilde = p[B_DGAMMA_TILDE],
                                    .dbeta_tilde = p[B_DBETA_TILDE],
                                    .N = c->dims[DIM_N],
                                    .C = c->dims[DIM_C]};
    ops->norm_backward(be, &a);
}

/* scale and mean of h, from the reference forward. */
static void prepare_backward(const struct op_case *c, void *const *host)
{
    size_t N = (size_t)c->dims[DIM_N], C = (size_t)c->dims[DIM_C];
    struct backend *be = NULL;
    ops_reference()->create(&be, NULL, NULL);
    float *y = ops_reference()->alloc(be, N * C * sizeof(float), NULL);
    struct norm_forward a = {.site = site_of(c, host, B_GAMMA),
                             .in = host[B_H],
                             .y = y,
                             .scale = host[B_SCALE],
                             .mean = host[B_MEAN],
                             .N = (int)N,
                             .C = (int)C};
    ops_reference()->norm_forward(be, &a);
    ops_reference()->destroy(be);
}

static void backward_case(struct case_list *list, int N, int C, int kind, int phase, bool fresh)
{
    struct op_case *c =
        case_new(list, "norm_backward", "N=%d C=%d kind=%d phase=%d fresh=%d", N, C, kind, phase, fresh);
    size_t all = (size_t)N * C, layer = kind == NORM_LAYER;
    size_t normed = phase != PHASE_FOLDED ? (size_t)C : 0, folded = phase != PHASE_NORMED ? (size_t)C : 0;
    c->dims[DIM_N] = N, c->dims[DIM_C] = C, c->dims[DIM_KIND] = kind, c->dims[DIM_PHASE] = phase;
    c->dims[DIM_FRESH] = fresh;
    c->call = call_backward;
    c->prepare = prepare_backward;
    case_add(c, "dy", BUFFER_F32, BUFFER_IN, all);
    c->buffers[case_add(c, "h", BUFFER_F32, BUFFER_IN, all)].center = 0.3;
    add_site(c, C);
    case_add(c, "scale", BUFFER_F32, BUFFER_IN, phase == PHASE_FOLDED ? 0 : (size_t)N);
    case_add(c, "mean", BUFFER_F32, BUFFER_IN, layer * (size_t)N);
    case_add(c, "dh", BUFFER_F32, fresh ? BUFFER_SET : BUFFER_ADD, all);
    case_add(c, "dgamma", BUFFER_F32, BUFFER_ADD, normed);
    case_add(c, "dbeta", BUFFER_F32, BUFFER_ADD, normed * layer);
    case_add(c, "dgamma_tilde", BUFFER_F32, BUFFER_ADD, folded);
    case_add(c, "dbeta_tilde", BUFFER_F32, BUFFER_ADD, folded * layer);
}

void cases_norm(struct case_list *list)
{
    static const int shapes[][2] = {{1, 5}, {7, 3}, {1, 64}, {13, 17}, {5, 96}, {37, 257}, {130, 64}, {66, 512}};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        for (int kind = NORM_RMS; kind <= NORM_LAYER; kind++)
            for (int phase = PHASE_NORMED; phase <= PHASE_FOLDED; phase++) {
                int N = shapes[s][0], C = shapes[s][1];
                for (int delta = 0; delta < 2; delta++) {
                    forward_case(list, N, C, kind, phase, (struct norm_options){delta, true, true});
                    forward_case(list, N, C, kind, phase, (struct norm_options){delta, true, false});
                }
                if (phase == PHASE_FOLDED)
                    forward_case(list, N, C, kind, phase, (struct norm_options){true, false, false});
                backward_case(list, N, C, kind, phase, false);
                backward_case(list, N, C, kind, phase, true);
            }
    for (int kind = NORM_RMS; kind <= NORM_LAYER; kind++) /* a width of one */
        forward_case(list, 5, 1, kind, PHASE_FOLDED, (struct norm_options){true, true, false});
    forward_case(list, 5, 1, NORM_RMS, PHASE_MIXED, (struct norm_options){true, true, true});
    backward_case(list, 5, 1, NORM_RMS, PHASE_FOLDED, false);
}
