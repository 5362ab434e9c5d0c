#include "core/cpu/gemm.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/parallel.h"

#include <cblas.h> /* last: complex.h takes the name I */

/* Exported by OpenBLAS builds that choose their kernels at run time; absent elsewhere, hence weak. */
extern void openblas_read_env(void) __attribute__((weak));
extern void gotoblas_dynamic_init(void) __attribute__((weak));
extern void gotoblas_dynamic_quit(void) __attribute__((weak));

/* OpenBLAS 0.3.21 takes a processor newer than itself for a Prescott and uses SSE3: an eighth of the speed. Where it
 * chose kernels without AVX on a processor that has it, choose again. OPENBLAS_CORETYPE, when set, has the last word.
 */
static const char *better_kernels(void)
{
    static const char *const old[] = {"Prescott", "Core2", "Penryn", "Dunnington",
                                      "Nehalem",  "Atom",  "Katmai", "Banias"};
    const char *chosen = openblas_get_corename();
    bool is_old = false;
    for (size_t i = 0; i < sizeof old / sizeof old[0]; i++)
        is_old |= strcasecmp(chosen, old[i]) == 0;
    if (!is_old || getenv("OPENBLAS_CORETYPE"))
        return NULL;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return "SkylakeX";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return "Haswell";
#endif
    return NULL;
}

static void setup(void)
{
    openblas_set_num_threads(1);
    const char *better = better_kernels();
    if (better && openblas_read_env && gotoblas_dynamic_init && gotoblas_dynamic_quit) {
        setenv("OPENBLAS_CORETYPE", better, 1);
        openblas_read_env();
        gotoblas_dynamic_quit();
        gotoblas_dynamic_init();
        unsetenv("OPENBLAS_CORETYPE"); /* children decide for themselves */
    }
}

void gemm_setup(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, setup);
}

const char *gemm_kernels(void)
{
    return openblas_get_corename();
}

bool gemm_packs(const struct kernels *kernels, int m, int n, int k)
{
    return kernels->panel >= 16 && m >= 96 && (n <= 128 || k <= 128);
}

void gemm_pack_share(const struct kernels *kernels, float *to, const float *b, size_t bk, size_t bn, int k, int n,
                     int thread, int threads)
{
    size_t begin, end;
    parallel_share((size_t)n, (size_t)kernels->panel, thread, threads, &begin, &end);
    kernels->pack(to + begin * (size_t)k, b + begin * bn, bk, bn, k, (int)(end - begin));
}

void gemm_nt(int m, int n, int k, const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc)
{
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, n, k, 1, a, lda, b, ldb, beta, c, ldc);
}

void gemm_nn(int m, int n, int k, const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc)
{
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, a, lda, b, ldb, beta, c, ldc);
}

void gemm_tn(int m, int n, int k, const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc)
{
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, m, n, k, 1, a, lda, b, ldb, beta, c, ldc);
}
