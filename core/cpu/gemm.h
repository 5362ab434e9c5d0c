/* Single-threaded matrix products, row-major: the one place that knows the BLAS. Safe to call from several threads. */
#ifndef TAPER_CORE_CPU_GEMM_H
#define TAPER_CORE_CPU_GEMM_H

/* Keep the BLAS from starting threads of its own, in the whole process. */
void gemm_one_thread(void);

/* c [m,n] = a [m,k] b [n,k]^T + beta c. A leading dimension is the distance between rows, in floats. */
void gemm_nt(int m, int n, int k, const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);

/* c [m,n] = a [m,k] b [k,n] + beta c. */
void gemm_nn(int m, int n, int k, const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);

/* c [m,n] = a [k,m]^T b [k,n] + beta c. */
void gemm_tn(int m, int n, int k, const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);

#endif
