/* Cases of linear_forward, linear_backward and the embedding. */
#include "tests/support/ops_case.h"

enum { F_IN, F_WEIGHT, F_BIAS, F_PRE, F_OUT };
enum { B_DOUT, B_IN, B_WEIGHT, B_IN_PRE, B_DWEIGHT, B_DBIAS, B_DIN };
enum { DIM_N, DIM_I, DIM_O, DIM_ACT };

static void call_forward(const struct ops *ops, struct backend *be, const struct op_case *c, void *const *p)
{
    const struct linear_forward a = {.in = p[F_IN],
                                     .weight = p[F_WEIGHT],
                                     .bias = p[F_BIAS],
                                     .pre = p[F_PRE],
                                     .out = p[F_OUT],
                                     .act = (enum op_act)c->dims[DIM_ACT],
                                     .N = c->dims[DIM_N],
                                     .I = c->dims[DIM_I],
                                     .O = c->dims[DIM_O]};
    ops->linear_forward(be, &a);
}

void case_linear_forward(struct case_list *list, int N, int I, int O, int act, bool bias)
{
    struct op_case *c = case_new(list, "linear_forward", "N=%d I=%d O=%d act=%d bias=%d", N, I, O, act, bias);
    size_t out = act == ACT_NONE ? 0 : (size_t)N * (act == ACT_SWIGLU ? O / 2 : O);
    c->dims[DIM_N] = N, c->dims[DIM_I] = I, c->dims[DIM_O] = O, c->dims[DIM_ACT] = act;
    c->call = call_forward;
    case_add(c, "in", BUFFER_F32, BUFFER_IN, (size_t)N * I);
    c->buffers[case_add(c, "weight", BUFFER_F32, BUFFER_IN, (size_t)O * I)].std = 0.3;
    case_add(c, "bias", BUFFER_F32, BUFFER_IN, bias ? (size_t)O : 0);
    c->buffers[case_add(c, "pre", BUFFER_F32, BUFFER_SET, (size_t)N * O)].bound = 2e-6;
    c->buffers[case_add(c, "out", BUFFER_F32, BUFFER_SET, out)].bound = 3e-6;
}

static void call_backward(const struct ops *ops, struct backend *be, const struct op_case *c, void *const *p)
{
    const struct linear_backward a = {.dout = p[B_DOUT],
                                      .in = p[B_IN],
                                      .weight = p[B_WEIGHT],
                                      .dweight = p[B_DWEIGHT],
                                      .dbias = p[B_DBIAS],
                                      .din = p[B_DIN],
                                      .in_pre = p[B_IN_PRE],
                                      .in_act = (enum op_act)c->dims[DIM_ACT],
                                      .N = c->dims[DIM_N],
                                      .I = c->dims[DIM_I],
                                      .O = c->dims[DIM_O]};
    ops->linear_backward(be, &a);
}

void case_linear_backward(struct case_list *list, int N, int I, int O, int act, bool bias, bool din)
{
    struct op_case *c =
        case_new(list, "linear_backward", "N=%d I=%d O=%d act=%d bias=%d din=%d", N, I, O, act, bias, din);
    size_t wide = (size_t)N * (act == ACT_SWIGLU ? 2 * I : I);
    c->dims[DIM_N] = N, c->dims[DIM_I] = I, c->dims[DIM_O] = O, c->dims[DIM_ACT] = act;
    c->call = call_backward;
    case_add(c, "dout", BUFFER_F32, BUFFER_IN, (size_t)N * O);
    case_add(c, "in", BUFFER_F32, BUFFER_IN, (size_t)N * I);
    c->buffers[case_add(c, "weight", BUFFER_F32, BUFFER_IN, (size_t)O * I)].std = 0.3;
    c->buffers[case_add(c, "in_pre", BUFFER_F32, BUFFER_IN, act == ACT_NONE ? 0 : wide)].std = 2;
    c->buffers[case_add(c, "dweight", BUFFER_F32, BUFFER_ADD, (size_t)O * I)].bound = 2e-6;
    c->buffers[case_add(c, "dbias", BUFFER_F32, BUFFER_ADD, bias ? (size_t)O : 0)].bound = 2e-6;
    c->buffers[case_add(c, "din", BUFFER_F32, BUFFER_SET, din ? wide : 0)].bound = 3e-6;
}

void cases_linear(struct case_list *list)
{
    static const int shapes[][3] = {{1, 1, 2},    {1, 64, 192},  {3, 5, 14},    {17, 31, 6},
                                    {64, 64, 64}, {67, 64, 256}, {129, 96, 34}, {300, 33, 130}};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        for (int act = ACT_NONE; act <= ACT_SWIGLU; act++) {
            int N = shapes[s][0], I = shapes[s][1], O = shapes[s][2];
            case_linear_forward(list, N, I, O, act, s % 2);
            case_linear_forward(list, N, I, O, act, (s + 1) % 2);
            case_linear_backward(list, N, I, O, act, s % 2, true);
            case_linear_backward(list, N, I, O, act, (s + 1) % 2, s % 3 > 0);
        }
    case_linear_forward(list, 1100, 7, 13, ACT_NONE, true); /* more rows than any block, odd widths */
    case_linear_forward(list, 11, 600, 3, ACT_GELU, true);
    case_linear_backward(list, 1100, 7, 13, ACT_GELU, true, true);
    case_linear_backward(list, 2, 3, 700, ACT_SWIGLU, true, true);
}

enum { E_TOKENS, E_TOK, E_POS, E_OUT };
enum { EB_TOKENS, EB_DOUT, EB_DTOK, EB_DPOS };
enum { DIM_B, DIM_T, DIM_C, DIM_V };

static void call_embed(const struct ops *ops, struct backend *be, const struct op_case *c, void *const *p)
{
    ops->embed_forward(be, p[E_OUT], p[E_TOKENS], p[E_TOK], p[E_POS], c->dims[DIM_B], c->dims[DIM_T], c->dims[DIM_C]);
}

static void call_embed_backward(const struct ops *ops, struct backend *be, const struct op_case *c, void *const *p)
{
    ops->embed_backward(be, p[EB_DTOK], p[EB_DPOS], p[EB_DOUT], p[EB_TOKENS], c->dims[DIM_B], c->dims[DIM_T],
                        c->dims[DIM_C], c->dims[DIM_V]);
}

static void embed_cases(struct case_list *list, int B, int T, int C, int V, bool pos)
{
    size_t all = (size_t)B * T * C, positions = pos ? (size_t)T * C : 0;
    const int dims[] = {B, T, C, V};
    struct op_case *c = case_new(list, "embed_forward", "B=%d T=%d C=%d V=%d pos=%d", B, T, C, V, pos);
    c->call = call_embed;
    c->buffers[case_add(c, "tokens", BUFFER_I32, BUFFER_IN, (size_t)B * T)].high = V;
    case_add(c, "tok", BUFFER_F32, BUFFER_IN, (size_t)V * C);
    case_add(c, "pos", BUFFER_F32, BUFFER_IN, positions);
    c->buffers[case_add(c, "out", BUFFER_F32, BUFFER_SET, all)].bound = 1e-7;
    struct op_case *b = case_new(list, "embed_backward", "B=%d T=%d C=%d V=%d pos=%d", B, T, C, V, pos);
    b->call = call_embed_backward;
    b->buffers[case_add(b, "tokens", BUFFER_I32, BUFFER_IN, (size_t)B * T)].high = V;
    case_add(b, "dout", BUFFER_F32, BUFFER_IN, all);
    b->buffers[case_add(b, "dtok", BUFFER_F32, BUFFER_ADD, (size_t)V * C)].bound = 1e-6;
    b->buffers[case_add(b, "dpos", BUFFER_F32, BUFFER_ADD, positions)].bound = 1e-6;
    for (int i = 0; i < 4; i++) /* after the second case_new, which may have moved the first */
        list->at[list->count - 2].dims[i] = list->at[list->count - 1].dims[i] = dims[i];
}

static void call_residual(const struct ops *ops, struct backend *be, const struct op_case *c, void *const *p)
{
    bool in_place = c->dims[1];
    ops->residual_add(be, p[0], in_place ? p[0] : p[1], p[2], (size_t)c->dims[0]);
}

static void residual_case(struct case_list *list, int count, bool in_place)
{
    struct op_case *c = case_new(list, "residual_add", "count=%d in_place=%d", count, in_place);
    c->dims[0] = count, c->dims[1] = in_place;
    c->call = call_residual;
    c->buffers[case_add(c, "out", BUFFER_F32, in_place ? BUFFER_INOUT : BUFFER_SET, (size_t)count)].bound = 1e-7;
    case_add(c, "in", BUFFER_F32, BUFFER_IN, in_place ? 0 : (size_t)count);
    case_add(c, "delta", BUFFER_F32, BUFFER_IN, (size_t)count);
}

static void call_join(const struct ops *ops, struct backend *be, const struct op_case *c, void *const *p)
{
    ops->join_columns(be, p[0], p[1], p[2], c->dims[0], c->dims[1], c->dims[2]);
}

static void call_split(const struct ops *ops, struct backend *be, const struct op_case *c, void *const *p)
{
    ops->split_columns(be, p[0], p[1], p[2], c->dims[0], c->dims[1], c->dims[2]);
}

static void columns_cases(struct case_list *list, int N, int A, int B)
{
    const size_t left = (size_t)N * (size_t)A, right = (size_t)N * (size_t)B;
    struct op_case *c = case_new(list, "join_columns", "N=%d A=%d B=%d", N, A, B);
    c->dims[0] = N, c->dims[1] = A, c->dims[2] = B;
    c->call = call_join;
    c->buffers[case_add(c, "out", BUFFER_F32, BUFFER_SET, left + right)].bound = 1e-7;
    case_add(c, "a", BUFFER_F32, BUFFER_IN, left);
    case_add(c, "b", BUFFER_F32, BUFFER_IN, right);
    c = case_new(list, "split_columns", "N=%d A=%d B=%d", N, A, B);
    c->dims[0] = N, c->dims[1] = A, c->dims[2] = B;
    c->call = call_split;
    c->buffers[case_add(c, "a", BUFFER_F32, BUFFER_SET, left)].bound = 1e-7;
    c->buffers[case_add(c, "b", BUFFER_F32, BUFFER_SET, right)].bound = 1e-7;
    case_add(c, "in", BUFFER_F32, BUFFER_IN, left + right);
}

void cases_embed(struct case_list *list)
{
    columns_cases(list, 1, 1, 1);
    columns_cases(list, 7, 10, 5);
    columns_cases(list, 130, 34, 17);
    columns_cases(list, 64, 128, 64);
    residual_case(list, 1, false);
    residual_case(list, 1001, false);
    residual_case(list, 70000, true);
    embed_cases(list, 1, 1, 1, 1, true);
    embed_cases(list, 3, 5, 7, 11, true);
    embed_cases(list, 2, 64, 64, 5, false);
    embed_cases(list, 4, 33, 65, 101, true);
    embed_cases(list, 5, 17, 130, 3, true);
}
