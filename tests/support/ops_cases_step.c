/* Cases of what a step comes to: the sums over its tokens, and the verdict. */
#include "tests/support/ops_case.h"

#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------- sums */

enum { T_CE, T_SUM_SQ, T_MAX, T_STD, T_MARGIN, T_P, T_ENTROPY, T_SCALE, T_RADIAL, T_TANGENTIAL, T_AUX, T_SUMS };
enum { DIM_N, DIM_KIND };
enum { WIDTH = 48 };

static void call_sums(const struct ops *ops, struct backend *be, const struct op_case *c, void *const *p)
{
    const struct token_sums a = {.ce = p[T_CE],
                                 .stats = {p[T_SUM_SQ], p[T_MAX], p[T_STD], p[T_MARGIN], p[T_P], p[T_ENTROPY]},
                                 .scale = p[T_SCALE],
                                 .radial = p[T_RADIAL],
                                 .tangential = p[T_TANGENTIAL],
                                 .aux_radial = p[T_AUX],
                                 .kind = (enum norm_kind)c->dims[DIM_KIND],
                                 .eps = 1e-5,
                                 .sums = p[T_SUMS],
                                 .N = c->dims[DIM_N],
                                 .C = WIDTH};
    ops->token_sums(be, &a);
}

/* Numbers of the kinds they are: probabilities, what is not negative, and a radial part on either side of its bound. */
static void prepare_sums(const struct op_case *c, void *const *host)
{
    float *p = host[T_P], *scale = host[T_SCALE], *radial = host[T_RADIAL], *most = host[T_MAX];
    const float *margin = host[T_MARGIN];
    double *sums = host[T_SUMS];
    for (int n = 0; p && n < c->dims[DIM_N]; n++) {
        p[n] = 1 / (1 + expf(p[n]));
        scale[n] = 1 + 0.5f * fabsf(scale[n]);
        most[n] = fabsf(most[n]);
        float length = sqrtf((scale[n] * scale[n] - 1e-5f) * WIDTH);
        radial[n] = -(1 - p[n]) * margin[n] / length * (n % 3 ? 1.1f : 0.9f);
    }
    sums[TOKEN_SCALE_MAX] = fabs(sums[TOKEN_SCALE_MAX]);
    sums[TOKEN_LOGIT_MAX] = fabs(sums[TOKEN_LOGIT_MAX]);
}

static void sums_case(struct case_list *list, int N, bool statistics, bool aux, enum norm_kind kind)
{
    static const char *const names[] = {"sum_sq",  "max_abs", "std",    "margin",    "p_correct",
                                        "entropy", "scale",   "radial", "tangential"};
    struct op_case *c =
        case_new(list, "token_sums", "N=%d statistics=%d aux=%d kind=%d", N, statistics, aux, (int)kind);
    c->dims[DIM_N] = N, c->dims[DIM_KIND] = (int)kind;
    c->call = call_sums;
    c->prepare = prepare_sums;
    case_add(c, "ce", BUFFER_F32, BUFFER_IN, (size_t)N);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        case_add(c, names[i], BUFFER_F32, BUFFER_IN, statistics ? (size_t)N : 0);
    case_add(c, "aux_radial", BUFFER_F32, BUFFER_IN, aux ? (size_t)N : 0);
    c->buffers[case_add(c, "sums", BUFFER_F64, BUFFER_ADD, TOKEN_SUMS)].bound = 1e-13;
}

/* ---------------------------------------------------------------------------------------- verdict */

enum { V_SUMS, V_SCALARS, V_OUTCOME, V_COUNTS, V_MISSED };
enum { COUNTERS = 5 };
enum { SCALAR_INTS = sizeof(struct step_scalars) / sizeof(int32_t) };
enum { OUTCOME_INTS = sizeof(struct step_outcome) / sizeof(int32_t) };

/* One verdict: what was measured, what was before. */
static const struct verdict_row {
    double ce, aux, norm_sq;
    int in_a_row, stopped, limit;
    bool averaging;
} verdicts[] = {
    {3, 0, 40, 0, 0, 1, true},        {3, 0.5, 40, 1, 0, 2, false},     {NAN, 0, 40, 0, 0, 1, true},
    {3, INFINITY, 40, 0, 0, 2, true}, {3, 0, INFINITY, 1, 0, 2, false}, {3, 0, -INFINITY, 1, 0, 3, false},
    {3, 0, 40, 2, 16, 2, true},       {NAN, NAN, NAN, 2, 16, 2, false}, {3, NAN, 0, 0, 0, 2, false},
};

static void call_verdict(const struct ops *ops, struct backend *be, const struct op_case *c, void *const *p)
{
    const struct verdict_row *v = &verdicts[c->dims[0]];
    double *sums = p[V_SUMS];
    const struct step_verdict a = {.ce_sum = sums,
                                   .aux_sum = sums + 1,
                                   .norm_sq = sums + 2,
                                   .scalars = p[V_SCALARS],
                                   .outcome = p[V_OUTCOME],
                                   .adam_step = p[V_COUNTS],
                                   .missed = p[V_MISSED],
                                   .counters = COUNTERS,
                                   .averaging = v->averaging,
                                   .limit = v->limit};
    ops->judge_step(be, &a);
}

static void prepare_verdict(const struct op_case *c, void *const *host)
{
    const struct verdict_row *v = &verdicts[c->dims[0]];
    double *sums = host[V_SUMS];
    sums[0] = v->ce, sums[1] = v->aux, sums[2] = v->norm_sq;
    *(struct step_scalars *)host[V_SCALARS] = (struct step_scalars){.step = 17};
    memcpy(host[V_COUNTS], (const int32_t[COUNTERS]){17, 0, 5, 0, 1}, COUNTERS * sizeof(int32_t));
    *(struct step_outcome *)host[V_OUTCOME] = (struct step_outcome){
        .in_a_row = v->in_a_row, .stopped = v->stopped, .skipped = 3, .last = v->stopped, .ce = 9};
}

void cases_step(struct case_list *list)
{
    static const int sizes[] = {1, 37, 1024, 2600};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        sums_case(list, sizes[s], false, false, NORM_RMS);
        sums_case(list, sizes[s], true, false, NORM_RMS);
        sums_case(list, sizes[s], true, true, NORM_LAYER);
    }
    for (size_t i = 0; i < sizeof verdicts / sizeof verdicts[0]; i++) {
        struct op_case *c = case_new(list, "judge_step", "verdict=%d", (int)i);
        c->dims[0] = (int)i;
        c->call = call_verdict;
        c->prepare = prepare_verdict;
        case_add(c, "sums", BUFFER_F64, BUFFER_IN, 3);
        case_add(c, "scalars", BUFFER_I32, BUFFER_IN, SCALAR_INTS);
        c->buffers[case_add(c, "outcome", BUFFER_I32, BUFFER_INOUT, OUTCOME_INTS)].bound = 0;
        case_add(c, "adam_step", BUFFER_I32, BUFFER_IN, COUNTERS);
        c->buffers[case_add(c, "missed", BUFFER_I32, BUFFER_ADD, COUNTERS)].bound = 0;
    }
}
