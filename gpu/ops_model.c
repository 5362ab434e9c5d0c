/* The ops of the model's forward and backward: embedding, norms, linear layers, attention. */
#include "gpu/backend.h"

enum { SHARED_MOST = 48 << 10 /* bytes a block gets without asking */, FEW_ROWS = 64 };

/* ---------------------------------------------------------------------------------------- embedding */

void gpu_embed_forward(struct backend *be, float *out, const int32_t *tokens, const float *tok, const float *pos, int B,
                       int T, int C)
{
    backend_begin(be, "embed_forward");
    kernel_embed(backend_stream(be), write_full(be, out, (size_t)B * T * C), tokens, tok, pos, B, T, C);
    backend_end(be);
}

void gpu_embed_backward(struct backend *be, float *dtok, float *dpos, const float *dout, const int32_t *tokens, int B,
                        int T, int C, int V)
{
    backend_begin(be, "embed_backward");
    int32_t *scratch = backend_scratch(be, kernel_embed_scratch(B * T, V) * sizeof *scratch);
    read_full(be, dout, (size_t)B * T * C);
    if (scratch && !device_failed(be->device))
        kernel_embed_backward(backend_stream(be), dtok, dpos, dout, tokens, scratch, B, T, C, V);
    backend_end(be);
}

/* -------------------------------------------------------------------------------------------- norms */

void gpu_residual_add(struct backend *be, float *out, const float *in, const float *delta, size_t count)
{
    backend_begin(be, "residual_add");
    read_full(be, in, count);
    struct view branch = read_any(be, delta, count);
    struct sink stream = write_both(be, out, count); /* a projection reads it next */
    if (!device_failed(be->device))
        kernel_residual_add(backend_stream(be), stream, in, branch, count);
    backend_end(be);
}

void gpu_join_columns(struct backend *be, float *out, const float *a, const float *b, int N, int A, int B)
{
    const size_t rows = (size_t)N;
    backend_begin(be, "join_columns");
    struct view left = read_any(be, a, rows * (size_t)A), right = read_any(be, b, rows * (size_t)B);
    struct sink joined = write_half(be, out, rows * (size_t)(A + B));
    if (!device_failed(be->device))
        kernel_join_columns(backend_stream(be), joined, left, right, N, A, B);
    backend_end(be);
}

void gpu_split_columns(struct backend *be, float *a, float *b, const float *in, int N, int A, int B)
{
    const size_t rows = (size_t)N;
    backend_begin(be, "split_columns");
    struct view joined = read_any(be, in, rows * (size_t)(A + B));
    struct sink left = write_half(be, a, rows * (size_t)A), right = write_half(be, b, rows * (size_t)B);
    if (!device_failed(be->device))
        kernel_split_columns(backend_stream(be), left, right, joined, N, A, B);
    backend_end(be);
}

void gpu_norm_forward(struct backend *be, const struct norm_forward *a)
{
    size_t count = (size_t)a->N * (size_t)a->C;
    backend_begin(be, "norm_forward");
    float *energy = a->calibration ? backend_scratch(be, (size_t)a->N * sizeof *energy) : NULL;
    struct view delta = read_any(be, a->delta, count);
    read_full(be, a->in, count);
    if (a->delta)
        write_full(be, a->h, count);
    struct sink y = write_half(be, a->y, count);
    if (!device_failed(be->device))
        kernel_norm_forward(backend_stream(be), a, delta, y, energy);
    backend_end(be);
}

void gpu_norm_backward(struct backend *be, const struct norm_backward *a)
{
    size_t count = (size_t)a->N * (size_t)a->C;
    backend_begin(be, "norm_backward");
    float *scratch = backend_scratch(be, kernel_norm_scratch(a->N, a->C) * sizeof *scratch);
    struct view dy = read_any(be, a->dy, count);
    read_full(be, a->h, count);
    if (!a->fresh)
        read_full(be, a->dh, count);
    struct sink dh = write_both(be, a->dh, count); /* the next matrix product reads it as bf16 */
    if (!device_failed(be->device))
        kernel_norm_backward(backend_stream(be), a, dy, dh, scratch);
    backend_end(be);
}

/* ------------------------------------------------------------------------------------------- linear */

/* in W^T: where few rows come out (decoding) in fp32, since what follows reads that. */
static struct sink multiply_forward(struct backend *be, const struct linear_forward *a, const float *bias)
{
    size_t out = (size_t)a->N * (size_t)a->O;
    const void *in = read_operand(be, a->in, (size_t)a->N * (size_t)a->I);
    const void *weight = read_operand(be, a->weight, (size_t)a->O * (size_t)a->I);
    bool narrow = be->half && (a->N > FEW_ROWS || a->act != ACT_NONE);
    struct sink pre = narrow ? write_half(be, a->pre, out) : (struct sink){write_full(be, a->pre, out), NULL};
    const void *joined = bias && narrow ? (const void *)read_half(be, bias, (size_t)a->O) : bias;
    if (!device_failed(be->device))
        device_gemm(be->device, &(struct gemm){
                                    .a = in,
                                    .b = weight,
                                    .d = narrow ? (void *)pre.half : pre.full,
                                    .m = a->N,
                                    .n = a->O,
                                    .k = a->I,
                                    .b_transposed = true,
                                    .lda = a->I,
                                    .ldb = a->I,
                                    .ldd = a->O,
                                    .half_in = be->half,
                                    .half_out = narrow,
                                    .bias = joined,
                                });
    return pre;
}

/* gelu(in W^T + bias) in one, where the device has it. Its GELU is the tanh form; fp32 is for comparisons, and keeps to
 * functions of known error. */
static bool fused_forward(struct backend *be, const struct linear_forward *a)
{
    size_t out = (size_t)a->N * (size_t)a->O;
    if (!be->half || a->act != ACT_GELU_TANH)
        return false;
    const struct gemm g = {
        .a = read_operand(be, a->in, (size_t)a->N * (size_t)a->I),
        .b = read_operand(be, a->weight, (size_t)a->O * (size_t)a->I),
        .d = write_half(be, a->out, out).half,
        .m = a->N,
        .n = a->O,
        .k = a->I,
        .b_transposed = true,
        .lda = a->I,
        .ldb = a->I,
        .ldd = a->O,
        .half_in = true,
        .half_out = true,
        .bias = a->bias ? read_half(be, a->bias, (size_t)a->O) : NULL,
        .epilogue = EPILOGUE_GELU,
        .aux = write_half(be, a->pre, out).half,
    };
    if (!device_gemm_fuses(be->device, &g))
        return false;
    device_gemm(be->device, &g);
    return true;
}

void gpu_linear_forward(struct backend *be, const struct linear_forward *a)
{
    backend_begin(be, "linear_forward");
    if (a->act == ACT_NONE) {
        multiply_forward(be, a, a->bias);
    } else if (!fused_forward(be, a)) {
        struct sink pre = multiply_forward(be, a, NULL); /* the activation's kernel adds the bias on its way */
        size_t width = (size_t)(a->act == ACT_SWIGLU ? a->O / 2 : a->O);
        struct sink out = write_half(be, a->out, (size_t)a->N * width);
        if (!device_failed(be->device))
            kernel_activate(backend_stream(be), pre, a->bias, out, a->act, a->N, a->O);
    }
    backend_end(be);
}

/* dweight += dout^T in, dbias += sum of dout: in one product, where the device has that. */
static void weight_gradients(struct backend *be, const struct linear_backward *a, const void *dout)
{
    struct gemm g = {
        .a = dout,
        .b = read_operand(be, a->in, (size_t)a->N * (size_t)a->I),
        .d = a->dweight,
        .m = a->O,
        .n = a->I,
        .k = a->N,
        .a_transposed = true,
        .lda = a->O,
        .ldb = a->I,
        .ldd = a->I,
        .half_in = be->half,
        .accumulate = true,
    };
    float *scratch = a->dbias ? backend_scratch(be, kernel_norm_scratch(a->N, a->O) * sizeof *scratch) : NULL;
    bool fused = false;
    if (device_failed(be->device))
        return;
    if (a->dbias && be->half) {
        struct gemm both = g;
        both.epilogue = EPILOGUE_OPERAND_SUMS;
        both.sums = scratch;
        if ((fused = device_gemm_fuses(be->device, &both)))
            g = both;
    }
    device_gemm(be->device, &g);
    if (fused)
        kernel_residual_add(backend_stream(be), (struct sink){a->dbias, NULL}, a->dbias, (struct view){scratch, 0},
                            (size_t)a->O);
    else if (a->dbias)
        kernel_add_columns(backend_stream(be), a->dbias, (struct view){dout, be->half}, a->N, a->O, scratch);
}

/* dout W, and through the activation that made `in`: in one, where the device has it (see fused_forward). */
static void input_gradient(struct backend *be, const struct linear_backward *a, const void *dout)
{
    size_t count = (size_t)a->N * (size_t)a->I, wide = a->in_act == ACT_SWIGLU ? 2 * count : count;
    const void *weight = read_operand(be, a->weight, (size_t)a->O * (size_t)a->I);
    bool fusable = be->half && a->in_act == ACT_GELU_TANH;
    struct view pre = fusable ? (struct view){read_half(be, a->in_pre, wide), 1} : read_any(be, a->in_pre, wide);
    struct sink din = write_half(be, a->din, wide);
    struct gemm g = {
        .a = dout,
        .b = weight,
        .d = be->half ? (void *)din.half : din.full,
        .m = a->N,
        .n = a->I,
        .k = a->O,
        .lda = a->O,
        .ldb = a->I,
        .ldd = a->I,
        .half_in = be->half,
        .half_out = be->half,
    };
    if (a->in_act == ACT_SWIGLU)
        g.d = backend_scratch(be, count * (be->half ? sizeof(uint16_t) : sizeof(float)));
    if (device_failed(be->device) || !g.d)
        return;
    if (fusable) {
        struct gemm both = g;
        both.epilogue = EPILOGUE_GELU_SLOPE;
        both.aux = (void *)pre.at;
        if (device_gemm_fuses(be->device, &both)) {
            device_gemm(be->device, &both);
            return;
        }
    }
    device_gemm(be->device, &g);
    if (a->in_act != ACT_NONE)
        kernel_activate_backward(backend_stream(be), (struct view){g.d, be->half}, pre, din, a->in_act, a->N, a->I);
}

void gpu_linear_backward(struct backend *be, const struct linear_backward *a)
{
    backend_begin(be, "linear_backward");
    const void *dout = read_operand(be, a->dout, (size_t)a->N * (size_t)a->O);
    weight_gradients(be, a, dout);
    if (a->din)
        input_gradient(be, a, dout);
    backend_end(be);
}

/* ---------------------------------------------------------------------------------------- attention */

static bool room_for_rows(struct backend *be, int T, int D)
{
    size_t shared = kernel_attention_shared(T, D);
    if (shared > SHARED_MOST)
        device_fail(be->device,
                    "the fp32 kernel keeps a row of scores in shared memory: %d tokens of head width %d take "
                    "%zu bytes, a block has %d",
                    T, D, shared, SHARED_MOST);
    return !device_failed(be->device);
}

static void forward_by_graph(struct backend *be, const struct attention_forward *a, size_t count)
{
    const struct attention_shape shape = {a->B, a->T, a->H, a->D};
    const size_t C = (size_t)a->H * (size_t)a->D;
    read_half(be, a->qkv, 3 * count);
    if (a->rope.theta > 0 && !device_failed(be->device))
        kernel_rotate(backend_stream(be), write_half(be, a->qkv, 3 * count), a->rope, 1, a->B, a->T, a->H, a->D);
    uint16_t *qkv = backend_twin(be, a->qkv);
    struct sink out = write_half(be, a->out, count);
    struct attention_plan *plan = device_attention_plan(be->device, &shape, false);
    void *workspace = plan ? backend_scratch(be, device_attention_workspace(plan) + 1) : NULL;
    if (!workspace || device_failed(be->device))
        return;
    device_attention_run(be->device, plan,
                         (void *[ATTENTION_TENSORS]){[ATTENTION_Q] = qkv,
                                                     [ATTENTION_K] = qkv + C,
                                                     [ATTENTION_V] = qkv + 2 * C,
                                                     [ATTENTION_OUT] = out.half,
                                                     [ATTENTION_LSE] = a->lse},
                         workspace);
}

void gpu_attention_forward(struct backend *be, const struct attention_forward *a)
{
    size_t count = (size_t)a->B * (size_t)a->T * (size_t)a->H * (size_t)a->D;
    backend_begin(be, "attention_forward");
    if (be->half && attention_graph_supports(a->D)) {
        forward_by_graph(be, a, count);
    } else if (room_for_rows(be, a->T, a->D)) {
        read_full(be, a->qkv, 3 * count);
        if (a->rope.theta > 0)
            kernel_rotate(backend_stream(be), (struct sink){write_full(be, a->qkv, 3 * count), NULL}, a->rope, 1, a->B,
                          a->T, a->H, a->D);
        kernel_attention_forward(backend_stream(be), a->qkv, write_full(be, a->out, count), a->lse, a->B, a->T, a->H,
                                 a->D);
    }
    backend_end(be);
}

static void backward_by_graph(struct backend *be, const struct attention_backward *a, size_t count)
{
    const struct attention_shape shape = {a->B, a->T, a->H, a->D};
    const size_t C = (size_t)a->H * (size_t)a->D, rows = (size_t)a->B * (size_t)a->H * (size_t)a->T;
    uint16_t *qkv = (uint16_t *)read_half(be, a->qkv, 3 * count), *out = (uint16_t *)read_half(be, a->out, count);
    uint16_t *dout = (uint16_t *)read_half(be, a->dout, count);
    uint16_t *dqkv = write_half(be, a->dqkv, 3 * count).half;
    struct attention_plan *plan = device_attention_plan(be->device, &shape, true);
    float *sum = backend_scratch(be, rows * sizeof *sum), *dq = backend_scratch(be, count * sizeof *dq);
    void *workspace = plan ? backend_scratch(be, device_attention_workspace(plan) + 1) : NULL;
    if (!sum || !dq || !workspace || device_failed(be->device))
        return;
    device_attention_run(be->device, plan,
                         (void *[ATTENTION_TENSORS]){[ATTENTION_Q] = qkv,
                                                     [ATTENTION_K] = qkv + C,
                                                     [ATTENTION_V] = qkv + 2 * C,
                                                     [ATTENTION_OUT] = out,
                                                     [ATTENTION_LSE] = (float *)a->lse,
                                                     [ATTENTION_DOUT] = dout,
                                                     [ATTENTION_DQ] = dqkv,
                                                     [ATTENTION_DK] = dqkv + C,
                                                     [ATTENTION_DV] = dqkv + 2 * C,
                                                     [ATTENTION_SUM] = sum,
                                                     [ATTENTION_DQ_SUM] = dq},
                         workspace);
    if (a->rope.theta > 0)
        kernel_rotate(backend_stream(be), (struct sink){NULL, dqkv}, a->rope, -1, a->B, a->T, a->H, a->D);
}

void gpu_attention_backward(struct backend *be, const struct attention_backward *a)
{
    size_t rows = (size_t)a->B * (size_t)a->H * (size_t)a->T, count = rows * (size_t)a->D;
    backend_begin(be, "attention_backward");
    if (be->half && attention_graph_supports(a->D)) {
        backward_by_graph(be, a, count);
    } else if (room_for_rows(be, a->T, a->D)) {
        float *dots = backend_scratch(be, rows * sizeof *dots);
        read_full(be, a->qkv, 3 * count);
        read_full(be, a->out, count);
        read_full(be, a->dout, count);
        write_full(be, a->dqkv, 3 * count);
        if (dots && !device_failed(be->device)) {
            kernel_attention_backward(backend_stream(be), a, dots);
            if (a->rope.theta > 0)
                kernel_rotate(backend_stream(be), (struct sink){a->dqkv, NULL}, a->rope, -1, a->B, a->T, a->H, a->D);
        }
    }
    backend_end(be);
}
