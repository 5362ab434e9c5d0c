#include "core/ref/ref.h"

void ref_embed_forward(struct backend *be, float *out, const int32_t *tokens, const float *tok, const float *pos, int B,
                       int T, int C)
{
    (void)be;
    for (int b = 0; b < B; b++)
        for (int t = 0; t < T; t++) {
            size_t n = (size_t)b * T + t;
            const float *row = tok + (size_t)tokens[n] * C;
            for (int i = 0; i < C; i++)
                out[n * C + i] = pos ? row[i] + pos[(size_t)t * C + i] : row[i];
        }
}

void ref_embed_backward(struct backend *be, float *dtok, float *dpos, const float *dout, const int32_t *tokens, int B,
                        int T, int C, int V)
{
    (void)be;
    (void)V;
    for (int b = 0; b < B; b++)
        for (int t = 0; t < T; t++) {
            size_t n = (size_t)b * T + t;
            for (int i = 0; i < C; i++) {
                dtok[(size_t)tokens[n] * C + i] += dout[n * C + i];
                if (dpos)
                    dpos[(size_t)t * C + i] += dout[n * C + i];
            }
        }
}

void ref_residual_add(struct backend *be, float *out, const float *in, const float *delta, size_t count)
{
    (void)be;
    for (size_t i = 0; i < count; i++)
        out[i] = in[i] + delta[i];
}
