/* Single-threaded matrix products, row-major: the one place that knows the BLAS, and when not to use it. Safe to call
 * from several threads. */
#ifndef TAPER_CORE_CPU_GEMM_H
#define TAPER_CORE_CPU_GEMM_H

#include <stdbool.h>
#include <stddef.h>

#include "core/cpu/kernels.h"

/* Once in a process, before the first product (later calls do nothing): keep the BLAS from starting threads of its own,
 * and give it kernels for this processor where it did not know it. */
void gemm_setup(void);

/* After that, once for every backend: where the address space is limited, have the BLAS make the buffers of this many
 * more threads now. What does not fit ends the process here, with a message and exit status 5, and not in the middle of
 * a training that would spin for ever. */
void gemm_reserve(int threads);
void gemm_unreserve(int threads); /* when the backend goes */

/* The name of the processor type whose kernels the BLAS uses. */
const char *gemm_kernels(void);

/* Whether the products of kernels.h beat the BLAS for m rows against a k x n matrix: they do where k or n is small. */
bool gemm_packs(const struct kernels *kernels, int m, int n, int k);

/* Thread `thread`'s share of packing b: whole panels. */
void gemm_pack_share(const struct kernels *kernels, float *to, const float *b, size_t bk, size_t bn, int k, int n,
                     int thread, int threads);

/* c [m,n] = a [m,k] b [n,k]^T + beta c. A leading dimension is the distance between rows, in floats. */
void gemm_nt(int m, int n, int k, const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);

/* c [m,n] = a [m,k] b [k,n] + beta c. */
void gemm_nn(int m, int n, int k, const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);

/* c [m,n] = a [k,m]^T b [k,n] + beta c. */
void gemm_tn(int m, int n, int k, const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);

#endif
