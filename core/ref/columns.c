#include "core/ref/ref.h"

void ref_join_columns(struct backend *be, float *out, const float *a, const float *b, int N, int A, int B)
{
    (void)be;
    for (int n = 0; n < N; n++)
        for (int i = 0; i < A + B; i++)
            out[(size_t)n * (A + B) + i] = i < A ? a[(size_t)n * A + i] : b[(size_t)n * B + i - A];
}

void ref_split_columns(struct backend *be, float *a, float *b, const float *in, int N, int A, int B)
{
    (void)be;
    for (int n = 0; n < N; n++)
        for (int i = 0; i < A + B; i++)
            *(i < A ? &a[(size_t)n * A + i] : &b[(size_t)n * B + i - A]) = in[(size_t)n * (A + B) + i];
}
