/* Single-threaded matrix products, row-major: the one place that knows the BLAS. Safe to call from several threads. */
#ifndef TAPER_CORE_CPU_GEMM_H
#define TAPER_CORE_CPU_GEMM_H

/* Once in a process, before the first product (later calls do nothing): keep the BLAS from starting threads of its own,
 * and give it kernels for this processor where it did not know it. */
void gemm_setup(void);

/* The name of the processor type whose kernels the BLAS uses. */
const char *gemm_kernels(void);

/* c [m,n] = a [m,k] b [n,k]^T + beta c. A leading dimension is the distance between rows, in floats. */
void gemm_nt(int m, int n, int k, const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);

/* c [m,n] = a [m,k] b [k,n] + beta c. */
void gemm_nn(int m, int n, int k, const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);

/* c [m,n] = a [k,m]^T b [k,n] + beta c. */
void gemm_tn(int m, int n, int k, const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);

#endif
