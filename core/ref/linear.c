#include <math.h>

#include "core/ref/ref.h"

static double sigmoid(double z)
{
    return 1 / (1 + exp(-z));
}

/* gelu(z) = z Phi(z); its tanh form as in GPT-2. */
static double act_value(enum op_act act, double z)
{
    if (act == ACT_GELU)
        return 0.5 * z * (1 + erf(z * M_SQRT1_2));
    return 0.5 * z * (1 + tanh(sqrt(2 / M_PI) * (z + 0.044715 * z * z * z)));
}

static double act_slope(enum op_act act, double z)
{
    if (act == ACT_GELU)
        return 0.5 * (1 + erf(z * M_SQRT1_2)) + z * exp(-0.5 * z * z) / sqrt(2 * M_PI);
    double k = sqrt(2 / M_PI), t = tanh(k * (z + 0.044715 * z * z * z));
    double inner = fabs(t) < 1 || isnan(t) ? (1 - t * t) * k * (1 + 3 * 0.044715 * z * z) : 0; /* 0, not 0 * inf */
    return 0.5 * (1 + t) + 0.5 * z * inner;
}

static double dot(const float *x, const float *y, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += (double)x[i] * y[i];
    return sum;
}

void ref_linear_forward(struct backend *be, const struct linear_forward *a)
{
    (void)be;
    int O = a->O;
    for (int n = 0; n < a->N; n++) {
        float *pre = a->pre + (size_t)n * O;
        for (int o = 0; o < O; o++)
            pre[o] =
                (float)(dot(a->in + (size_t)n * a->I, a->weight + (size_t)o * a->I, a->I) + (a->bias ? a->bias[o] : 0));
        if (a->act == ACT_SWIGLU) {
            float *out = a->out + (size_t)n * (O / 2);
            for (int o = 0; o < O / 2; o++)
                out[o] = (float)(pre[o] * sigmoid(pre[o]) * pre[O / 2 + o]);
        } else if (a->act != ACT_NONE) {
            for (int o = 0; o < O; o++)
                a->out[(size_t)n * O + o] = (float)act_value(a->act, pre[o]);
        }
    }
}

/* din of one token and input i: d is the gradient at act(in_pre). */
static void input_gradient(const struct linear_backward *a, int n, int i, double d)
{
    int I = a->I;
    size_t at = (size_t)n * I + i;
    if (a->in_act == ACT_SWIGLU) {
        size_t gate_at = (size_t)n * 2 * I + i, up_at = gate_at + I;
        double gate = a->in_pre[gate_at], up = a->in_pre[up_at], s = sigmoid(gate);
        double slope = s + (s > 0 ? gate * s * (1 - s) : 0); /* 0, not inf * 0, far on the left */
        if (isnan(gate))
            slope = gate;
        a->din[gate_at] = (float)(d * up * slope);
        a->din[up_at] = (float)(d * gate * s);
    } else if (a->in_act == ACT_NONE) {
        a->din[at] = (float)d;
    } else {
        a->din[at] = (float)(d * act_slope(a->in_act, a->in_pre[at]));
    }
}

void ref_linear_backward(struct backend *be, const struct linear_backward *a)
{
    (void)be;
    int N = a->N, I = a->I, O = a->O;
    for (int o = 0; o < O; o++) {
        for (int i = 0; i < I; i++) {
            double sum = 0;
            for (int n = 0; n < N; n++)
                sum += (double)a->dout[(size_t)n * O + o] * a->in[(size_t)n * I + i];
            float *to = a->dweight + (size_t)o * I + i;
            *to = (float)(*to + sum);
        }
        if (a->dbias) {
            double sum = 0;
            for (int n = 0; n < N; n++)
                sum += a->dout[(size_t)n * O + o];
            a->dbias[o] = (float)(a->dbias[o] + sum);
        }
    }
    for (int n = 0; a->din && n < N; n++)
        for (int i = 0; i < I; i++) {
            double sum = 0;
            for (int o = 0; o < O; o++)
                sum += (double)a->dout[(size_t)n * O + o] * a->weight[(size_t)o * I + i];
            input_gradient(a, n, i, sum);
        }
}
