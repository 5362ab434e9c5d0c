/* Cases of attention_forward, attention_backward and decode_attention. */
#include "tests/support/ops_case.h"

enum { F_QKV, F_OUT, F_LSE };
enum { B_QKV, B_OUT, B_LSE, B_DOUT, B_DQKV };
enum { DIM_B, DIM_T, DIM_H, DIM_D };
enum { REAL_THETA, REAL_FACTOR, REAL_LOW, REAL_HIGH, REAL_ORIGINAL };

static struct rope rope_of(const struct op_case *c)
{
    return (struct rope){.theta = (float)c->reals[REAL_THETA],
                         .factor = (float)c->reals[REAL_FACTOR],
                         .low = (float)c->reals[REAL_LOW],
                         .high = (float)c->reals[REAL_HIGH],
                         .original = (float)c->reals[REAL_ORIGINAL]};
}

static void call_forward(const struct ops *ops, struct backend *be, const struct op_case *c, void *const *p)
{
    const struct attention_forward a = {.qkv = p[F_QKV],
                                        .out = p[F_OUT],
                                        .lse = p[F_LSE],
                                        .rope = rope_of(c),
                                        .B = c->dims[DIM_B],
                                        .T = c->dims[DIM_T],
                                        .H = c->dims[DIM_H],
                                        .D = c->dims[DIM_D]};
    ops->attention_forward(be, &a);
}

static void call_backward(const struct ops *ops, struct backend *be, const struct op_case *c, void *const *p)
{
    const struct attention_backward a = {.qkv = p[B_QKV],
                                         .out = p[B_OUT],
                                         .lse = p[B_LSE],
                                         .dout = p[B_DOUT],
                                         .dqkv = p[B_DQKV],
                                         .rope = rope_of(c),
                                         .B = c->dims[DIM_B],
                                         .T = c->dims[DIM_T],
                                         .H = c->dims[DIM_H],
                                         .D = c->dims[DIM_D]};
    ops->attention_backward(be, &a);
}

/* qkv as the forward leaves it (rotated), out and lse. */
static void prepare_backward(const struct op_case *c, void *const *host)
{
    void *const forward[] = {host[B_QKV], host[B_OUT], host[B_LSE]};
    call_forward(ops_reference(), NULL, c, forward);
}

static void set_dims(struct op_case *c, int B, int T, int H, int D, struct rope rope)
{
    c->dims[DIM_B] = B, c->dims[DIM_T] = T, c->dims[DIM_H] = H, c->dims[DIM_D] = D;
    c->reals[REAL_THETA] = (double)rope.theta, c->reals[REAL_FACTOR] = (double)rope.factor;
    c->reals[REAL_LOW] = (double)rope.low, c->reals[REAL_HIGH] = (double)rope.high;
    c->reals[REAL_ORIGINAL] = (double)rope.original;
}

void case_attention(struct case_list *list, int B, int T, int H, int D, struct rope rope)
{
    size_t all = (size_t)B * T * H * D, rows = (size_t)B * H * T;
    struct op_case *c = case_new(list, "attention_forward", "B=%d T=%d H=%d D=%d theta=%g factor=%g", B, T, H, D,
                                 (double)rope.theta, (double)rope.factor);
    set_dims(c, B, T, H, D, rope);
    c->call = call_forward;
    c->buffers[case_add(c, "qkv", BUFFER_F32, rope.theta > 0 ? BUFFER_INOUT : BUFFER_IN, 3 * all)].bound = 1e-6;
    c->buffers[case_add(c, "out", BUFFER_F32, BUFFER_SET, all)].bound = 3e-6;
    c->buffers[case_add(c, "lse", BUFFER_F32, BUFFER_SET, rows)].bound = 2e-6;
    c = case_new(list, "attention_backward", "B=%d T=%d H=%d D=%d theta=%g factor=%g", B, T, H, D, (double)rope.theta,
                 (double)rope.factor);
    set_dims(c, B, T, H, D, rope);
    c->call = call_backward;
    c->prepare = prepare_backward;
    case_add(c, "qkv", BUFFER_F32, BUFFER_IN, 3 * all);
    case_add(c, "out", BUFFER_F32, BUFFER_IN, all);
    case_add(c, "lse", BUFFER_F32, BUFFER_IN, rows);
    case_add(c, "dout", BUFFER_F32, BUFFER_IN, all);
    c->buffers[case_add(c, "dqkv", BUFFER_F32, BUFFER_SET, 3 * all)].bound = 1e-5;
}

/* None, plain, all angles slowed down, and the long waves of 64 tokens. */
static const struct rope ropes[] = {{0},
                                    {.theta = 10000},
                                    {.theta = 10000, .factor = 4},
                                    {.theta = 500, .factor = 8, .low = 1, .high = 4, .original = 64}};
enum { ROPES = sizeof ropes / sizeof ropes[0] };

void cases_attention(struct case_list *list)
{
    static const int shapes[][4] = {{1, 1, 1, 1},    {2, 1, 3, 32},    {1, 2, 1, 3},   {2, 7, 2, 5},
                                    {1, 31, 3, 32},  {2, 64, 2, 32},   {1, 65, 2, 64}, {3, 130, 1, 16},
                                    {1, 257, 1, 48}, {1, 129, 1, 128}, {2, 193, 2, 32}};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        const int *d = shapes[s];
        for (int r = 0; r < (d[3] % 2 == 0 ? ROPES : 1); r++)
            case_attention(list, d[0], d[1], d[2], d[3], ropes[r]);
    }
}

enum { D_QKV, D_K, D_V, D_POS, D_OUT };
enum { DECODE_S = 4, DECODE_POS };

static void call_decode(const struct ops *ops, struct backend *be, const struct op_case *c, void *const *p)
{
    const struct decode_attention a = {.qkv = p[D_QKV],
                                       .k_cache = p[D_K],
                                       .v_cache = p[D_V],
                                       .out = p[D_OUT],
                                       .pos = p[D_POS],
                                       .rope = rope_of(c),
                                       .B = c->dims[DIM_B],
                                       .H = c->dims[DIM_H],
                                       .D = c->dims[DIM_D],
                                       .S = c->dims[DECODE_S]};
    ops->decode_attention(be, &a);
}

void case_decode(struct case_list *list, int B, int H, int D, int S, int pos_most, struct rope rope)
{
    struct op_case *c = case_new(list, "decode_attention", "B=%d H=%d D=%d S=%d pos<%d theta=%g factor=%g", B, H, D, S,
                                 pos_most, (double)rope.theta, (double)rope.factor);
    size_t all = (size_t)B * H * D;
    set_dims(c, B, 0, H, D, rope);
    c->dims[DECODE_S] = S;
    c->call = call_decode;
    c->buffers[case_add(c, "qkv", BUFFER_F32, rope.theta > 0 ? BUFFER_INOUT : BUFFER_IN, 3 * all)].bound = 1e-6;
    c->buffers[case_add(c, "k_cache", BUFFER_F32, BUFFER_INOUT, all * (size_t)S)].bound = 1e-6;
    c->buffers[case_add(c, "v_cache", BUFFER_F32, BUFFER_INOUT, all * (size_t)S)].bound = 1e-6;
    c->buffers[case_add(c, "pos", BUFFER_I32, BUFFER_IN, (size_t)B)].high = pos_most;
    c->buffers[case_add(c, "out", BUFFER_F32, BUFFER_SET, all)].bound = 3e-6;
}

enum { S_LOGITS, S_TOKENS };
enum { SAMPLE_B, SAMPLE_V, SAMPLE_K };
enum { REAL_TEMPERATURE, REAL_TOP_P };

static void call_sample(const struct ops *ops, struct backend *be, const struct op_case *c, void *const *p)
{
    const struct sample_tokens a = {.logits = p[S_LOGITS],
                                    .tokens = p[S_TOKENS],
                                    .temperature = (float)c->reals[REAL_TEMPERATURE],
                                    .top_p = (float)c->reals[REAL_TOP_P],
                                    .top_k = c->dims[SAMPLE_K],
                                    .seed = 5,
                                    .position = 12,
                                    .B = c->dims[SAMPLE_B],
                                    .V = c->dims[SAMPLE_V]};
    ops->sample(be, &a);
}

void case_sample(struct case_list *list, int B, int V, double temperature, int top_k, double top_p)
{
    struct op_case *c =
        case_new(list, "sample", "B=%d V=%d temperature=%g top_k=%d top_p=%g", B, V, temperature, top_k, top_p);
    c->dims[SAMPLE_B] = B, c->dims[SAMPLE_V] = V, c->dims[SAMPLE_K] = top_k;
    c->reals[REAL_TEMPERATURE] = temperature, c->reals[REAL_TOP_P] = top_p;
    c->call = call_sample;
    case_add(c, "logits", BUFFER_F32, BUFFER_IN, (size_t)B * V);
    c->buffers[case_add(c, "tokens", BUFFER_I32, BUFFER_SET, (size_t)B)].bound = 0;
}

void cases_decode(struct case_list *list)
{
    case_decode(list, 1, 1, 1, 1, 1, ropes[0]);
    case_decode(list, 3, 2, 32, 40, 40, ropes[0]);
    case_decode(list, 2, 3, 64, 130, 130, ropes[1]);
    case_decode(list, 2, 3, 64, 130, 130, ropes[2]);
    case_decode(list, 3, 2, 32, 40, 40, ropes[3]);
    case_decode(list, 5, 1, 6, 9, 1, ropes[1]);
    case_decode(list, 2, 2, 7, 33, 33, ropes[0]);
    case_sample(list, 3, 1, 1, 0, 1);
    case_sample(list, 64, 101, 0, 0, 1);
    case_sample(list, 64, 101, 1, 0, 1);
    case_sample(list, 64, 101, 0.7, 5, 1);
    case_sample(list, 64, 1013, 1.3, 0, 0.9);
    case_sample(list, 64, 53, 1, 40, 0.5);
    case_sample(list, 16, 53, 1, 1000, 1);
}
