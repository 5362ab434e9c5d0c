/* Conversions, activations and their derivatives, rotary positions. */
#include "gpu/device_code.cuh"

enum { THREADS = 256 };

static __device__ __forceinline__ size_t global_thread()
{
    return (size_t)blockIdx.x * blockDim.x + threadIdx.x;
}

/* --------------------------------------------------------------------------------------- conversions */

template <int W> __global__ void __launch_bounds__(THREADS) convert(struct sink to, struct view from, size_t count)
{
    size_t i = global_thread() * W;
    if (i < count)
        store(to, i, load<W>(from, i));
}

static void convert_any(void *stream, struct sink to, struct view from, size_t count)
{
    if (count == 0)
        return;
    if (count % 4 == 0 && wide_view(from) && wide_sink(to))
        LAUNCH(convert<4>, divide_up(count / 4, THREADS), THREADS, 0, stream, to, from, count);
    else
        LAUNCH(convert<1>, divide_up(count, THREADS), THREADS, 0, stream, to, from, count);
}

extern "C" void kernel_to_half(void *stream, uint16_t *to, const float *from, size_t count)
{
    struct sink sink = {0, to};
    struct view view = {from, 0};
    convert_any(stream, sink, view, count);
}

extern "C" void kernel_to_full(void *stream, float *to, const uint16_t *from, size_t count)
{
    struct sink sink = {to, 0};
    struct view view = {from, 1};
    convert_any(stream, sink, view, count);
}

template <int W>
__global__ void __launch_bounds__(THREADS)
    residual_add(struct sink out, const float *in, struct view delta, size_t count)
{
    size_t i = global_thread() * W;
    if (i >= count)
        return;
    pack<W> x = load<W>(in, i), d = load<W>(delta, i);
    for (int k = 0; k < W; k++)
        x.v[k] += d.v[k];
    store(out, i, x);
}

extern "C" void kernel_residual_add(void *stream, struct sink out, const float *in, struct view delta, size_t count)
{
    if (count == 0)
        return;
    if (wide((int)(count % 4), in, 0, 0, 0, 0) && wide_view(delta) && wide_sink(out))
        LAUNCH(residual_add<4>, divide_up(count / 4, THREADS), THREADS, 0, stream, out, in, delta, count);
    else
        LAUNCH(residual_add<1>, divide_up(count, THREADS), THREADS, 0, stream, out, in, delta, count);
}

/* ------------------------------------------------------------------------------------------- columns */

__global__ void __launch_bounds__(THREADS)
    join_columns(struct sink out, struct view a, struct view b, size_t count, int A, int B)
{
    size_t i = global_thread();
    if (i >= count)
        return;
    size_t n = i / (A + B), column = i % (A + B);
    store(out, i, column < (size_t)A ? load<1>(a, n * A + column) : load<1>(b, n * B + column - A));
}

extern "C" void kernel_join_columns(void *stream, struct sink out, struct view a, struct view b, int N, int A, int B)
{
    size_t count = (size_t)N * (A + B);
    if (count > 0)
        LAUNCH(join_columns, divide_up(count, THREADS), THREADS, 0, stream, out, a, b, count, A, B);
}

__global__ void __launch_bounds__(THREADS)
    split_columns(struct sink a, struct sink b, struct view in, size_t count, int A, int B)
{
    size_t i = global_thread();
    if (i >= count)
        return;
    size_t n = i / (A + B), column = i % (A + B);
    if (column < (size_t)A)
        store(a, n * A + column, load<1>(in, i));
    else
        store(b, n * B + column - A, load<1>(in, i));
}

extern "C" void kernel_split_columns(void *stream, struct sink a, struct sink b, struct view in, int N, int A, int B)
{
    size_t count = (size_t)N * (A + B);
    if (count > 0)
        LAUNCH(split_columns, divide_up(count, THREADS), THREADS, 0, stream, a, b, in, count, A, B);
}

/* --------------------------------------------------------------------------------------- activations */

static const float SQRT_HALF = 0.70710678118654752f, SQRT_2_OVER_PI = 0.79788456080286536f;
static const float INV_SQRT_2PI = 0.39894228040143268f, CUBIC = 0.044715f;

static __device__ __forceinline__ float sigmoid(float z)
{
    return 1.0f / (1.0f + expf(-z));
}

/* gelu(z) = z Phi(z); its tanh form as in GPT-2. */
static __device__ __forceinline__ float gelu(enum op_act act, float z)
{
    if (act == ACT_GELU)
        return 0.5f * z * (1.0f + erff(z * SQRT_HALF));
    return 0.5f * z * (1.0f + tanhf(SQRT_2_OVER_PI * (z + CUBIC * z * z * z)));
}

static __device__ __forceinline__ float gelu_slope(enum op_act act, float z)
{
    if (act == ACT_GELU)
        return 0.5f * (1.0f + erff(z * SQRT_HALF)) + z * expf(-0.5f * z * z) * INV_SQRT_2PI;
    float t = tanhf(SQRT_2_OVER_PI * (z + CUBIC * z * z * z)), inner = 1.0f - t * t;
    if (!(inner == 0.0f)) /* far out 0, not 0 * inf */
        inner *= SQRT_2_OVER_PI * (1.0f + 3.0f * CUBIC * z * z);
    return 0.5f * (1.0f + t) + 0.5f * z * inner;
}

/* The bias joins pre in place; with SwiGLU columns O/2.. are the second half. */
__global__ void __launch_bounds__(THREADS)
    activate(struct sink pre, const float *bias, struct sink out, enum op_act act, size_t count, int O)
{
    size_t i = global_thread();
    if (i >= count) /* count: elements of the output, or of pre with ACT_NONE */
        return;
    int halves = act == ACT_SWIGLU ? 2 : 1, width = O / halves, column = (int)(i % width);
    size_t at = i / width * O + column;
    struct view in = {pre.full ? (const void *)pre.full : (const void *)pre.half, !pre.full};
    float z[2] = {0, 0};
    for (int k = 0; k < halves; k++) {
        pack<1> one = load<1>(in, at + (size_t)k * width);
        if (bias) {
            one.v[0] += bias[column + k * width];
            store(pre, at + (size_t)k * width, one);
        }
        /* what the backward will see: the rounded number */
        z[k] = bias && in.half ? half_to_float(float_to_half(one.v[0])) : one.v[0];
    }
    if (act == ACT_NONE)
        return;
    pack<1> y;
    y.v[0] = act == ACT_SWIGLU ? z[0] * sigmoid(z[0]) * z[1] : gelu(act, z[0]);
    store(out, i, y);
}

/* Four at a time, no bias: the usual case. */
__global__ void __launch_bounds__(THREADS)
    activate_wide(struct view pre, struct sink out, enum op_act act, size_t count, int width)
{
    size_t i = global_thread() * 4;
    if (i >= count)
        return;
    size_t at = act == ACT_SWIGLU ? i / width * 2 * width + i % width : i;
    pack<4> z = load<4>(pre, at);
    if (act == ACT_SWIGLU) {
        pack<4> up = load<4>(pre, at + width);
        for (int k = 0; k < 4; k++)
            z.v[k] = z.v[k] * sigmoid(z.v[k]) * up.v[k];
    } else {
        for (int k = 0; k < 4; k++)
            z.v[k] = gelu(act, z.v[k]);
    }
    store(out, i, z);
}

extern "C" void kernel_activate(void *stream, struct sink pre, const float *bias, struct sink out, enum op_act act,
                                int N, int O)
{
    int width = act == ACT_SWIGLU ? O / 2 : O;
    size_t count = (size_t)N * width;
    struct view in = {pre.full ? (const void *)pre.full : (const void *)pre.half, !pre.full};
    if (count == 0 || (act == ACT_NONE && !bias))
        return;
    if (!bias && width % 4 == 0 && wide_view(in) && wide_sink(out))
        LAUNCH(activate_wide, divide_up(count / 4, THREADS), THREADS, 0, stream, in, out, act, count, width);
    else
        LAUNCH(activate, divide_up(count, THREADS), THREADS, 0, stream, pre, bias, out, act, count, O);
}

template <int W>
__global__ void __launch_bounds__(THREADS)
    activate_backward(struct view d, struct view pre, struct sink din, enum op_act act, size_t count, int I)
{
    size_t i = global_thread() * W;
    if (i >= count)
        return;
    pack<W> slope = load<W>(d, i);
    if (act != ACT_SWIGLU) {
        pack<W> z = load<W>(pre, i);
        for (int k = 0; k < W; k++)
            slope.v[k] *= gelu_slope(act, z.v[k]);
        store(din, i, slope);
        return;
    }
    size_t at = i / I * 2 * I + i % I;
    pack<W> gate = load<W>(pre, at), up = load<W>(pre, at + I), second;
    for (int k = 0; k < W; k++) {
        float g = gate.v[k], s = sigmoid(g);
        float along = isnan(g) ? g : s + (s > 0.0f ? g * s * (1.0f - s) : 0.0f); /* 0, not inf * 0, far on the left */
        second.v[k] = slope.v[k] * g * s;
        slope.v[k] *= up.v[k] * along;
    }
    store(din, at, slope);
    store(din, at + I, second);
}

extern "C" void kernel_activate_backward(void *stream, struct view d, struct view pre, struct sink din, enum op_act act,
                                         int N, int I)
{
    size_t count = (size_t)N * I;
    if (I % 4 == 0 && wide_view(d) && wide_view(pre) && wide_sink(din))
        LAUNCH(activate_backward<4>, divide_up(count / 4, THREADS), THREADS, 0, stream, d, pre, din, act, count, I);
    else
        LAUNCH(activate_backward<1>, divide_up(count, THREADS), THREADS, 0, stream, d, pre, din, act, count, I);
}

/* ------------------------------------------------------------------------------------------ rotation */

static __device__ __forceinline__ float read_one(struct sink x, size_t i)
{
    return x.full ? x.full[i] : half_to_float(x.half[i]);
}

static __device__ __forceinline__ void write_one(struct sink x, size_t i, float value)
{
    pack<1> one;
    one.v[0] = value;
    store(x, i, one);
}

/* One thread a token and pair: the angle is worked out once, in double, and serves q and k of every head. */
__global__ void __launch_bounds__(THREADS)
    rotate(struct sink qkv, struct rope rope, int sign, size_t count, int T, int H, int D)
{
    size_t at = global_thread();
    int half = D / 2, i = (int)(at % half);
    if (at >= count)
        return;
    size_t n = at / half;
    double angle = sign * (double)(n % T) * rope_frequency(rope, i, half), s, c;
    sincos(angle, &s, &c);
    for (int head = 0; head < 2 * H; head++) { /* q's heads, then k's */
        size_t first = (n * 3 * H + head) * D + i, second = first + half;
        float u = read_one(qkv, first), v = read_one(qkv, second);
        write_one(qkv, first, (float)(u * c - v * s));
        write_one(qkv, second, (float)(v * c + u * s));
    }
}

extern "C" void kernel_rotate(void *stream, struct sink qkv, struct rope rope, int sign, int B, int T, int H, int D)
{
    size_t count = (size_t)B * T * (D / 2);
    if (count)
        LAUNCH(rotate, divide_up(count, THREADS), THREADS, 0, stream, qkv, rope, sign, count, T, H, D);
}
