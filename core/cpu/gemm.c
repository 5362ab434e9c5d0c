#include "core/cpu/gemm.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/parallel.h"

#include <cblas.h> /* last: complex.h takes the name I */

/* OpenBLAS is opened when the first backend is made, not with the program: loading it takes three times as long as
 * everything else at a start, and most starts (a verb, the supervisor around a worker) multiply no matrices. */
static struct {
    __typeof__(&cblas_sgemm) sgemm;
    __typeof__(&openblas_set_num_threads) set_num_threads;
    __typeof__(&openblas_get_corename) get_corename;
    /* Exported by builds that choose their kernels at run time; NULL elsewhere. */
    void (*read_env)(void), (*dynamic_init)(void), (*dynamic_quit)(void);
    void (*omp_set_num_threads)(int); /* of the OpenMP runtime that a build over one uses; else NULL */
} blas;

static void *find(void *library, const char *name, bool needed)
{
    void *symbol = dlsym(library, name);
    if (!symbol && needed) {
        fprintf(stderr, "taper: OpenBLAS has no %s: %s\n", name, dlerror());
        exit(1);
    }
    return symbol;
}

/* A missing library ends the program, as it would have at the start: nothing can be computed without it. Global, so
 * that harness/base/libraries.c can ask for its version. */
static void open_library(void)
{
    void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_GLOBAL);
    if (!library) {
        fprintf(stderr, "taper: %s; ./setup.sh installs it\n", dlerror());
        exit(1);
    }
    const struct {
        const char *name;
        void *to;
        bool needed;
    } symbols[] = {
        {"cblas_sgemm", &blas.sgemm, true},
        {"openblas_set_num_threads", &blas.set_num_threads, true},
        {"openblas_get_corename", &blas.get_corename, true},
        {"openblas_read_env", &blas.read_env, false},
        {"gotoblas_dynamic_init", &blas.dynamic_init, false},
        {"gotoblas_dynamic_quit", &blas.dynamic_quit, false},
    };
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        void *symbol = find(library, symbols[i].name, symbols[i].needed);
        memcpy(symbols[i].to, &symbol, sizeof symbol); /* ISO C has no cast from object to function */
    }
}

/* OpenBLAS 0.3.21 takes a processor newer than itself for a Prescott and uses SSE3: an eighth of the speed. Where it
 * chose kernels without AVX on a processor that has it, choose again. OPENBLAS_CORETYPE, when set, has the last word.
 */
static const char *better_kernels(void)
{
    static const char *const old[] = {"Prescott", "Core2", "Penryn", "Dunnington",
                                      "Nehalem",  "Atom",  "Katmai", "Banias"};
    const char *chosen = blas.get_corename();
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

/* Built over OpenMP, OpenBLAS asks its runtime how many threads the calling one may have, and takes no notice of what
 * was set from another: a product by a member of a team would start, and spin, as many as there are processors. */
static void keep_alone(void)
{
    static _Thread_local bool alone;
    if (!alone && blas.omp_set_num_threads)
        blas.omp_set_num_threads(1);
    alone = true;
}

static void setup(void)
{
    open_library();
    void *symbol = dlsym(RTLD_DEFAULT, "omp_set_num_threads"); /* as OpenBLAS itself finds it */
    memcpy(&blas.omp_set_num_threads, &symbol, sizeof symbol);
    blas.set_num_threads(1);
    const char *better = better_kernels();
    if (better && blas.read_env && blas.dynamic_init && blas.dynamic_quit) {
        setenv("OPENBLAS_CORETYPE", better, 1);
        blas.read_env();
        blas.dynamic_quit();
        blas.dynamic_init();
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
    return blas.get_corename();
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
    keep_alone();
    blas.sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, n, k, 1, a, lda, b, ldb, beta, c, ldc);
}

void gemm_nn(int m, int n, int k, const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc)
{
    keep_alone();
    blas.sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, a, lda, b, ldb, beta, c, ldc);
}

void gemm_tn(int m, int n, int k, const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc)
{
    keep_alone();
    blas.sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, m, n, k, 1, a, lda, b, ldb, beta, c, ldc);
}
