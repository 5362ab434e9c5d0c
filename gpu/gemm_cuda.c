/* Matrix products by cuBLASLt. Row-major operands are the transposes of what it calls a matrix, so a product
 * d = op(a) op(b) is asked for as d' = op(b)' op(a)'. An algorithm is chosen once for each kind of product. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/ops/gpu_scratch.h"
#include "gpu/device_cuda.h"

enum { ALIGNMENT_MOST = 256 };

/* What tells one product from another; compared by bytes. */
struct product_key {
    int m, n, k, lda, ldb, ldd, a_align, b_align, d_align, vector_align, aux_align;
    int a_transposed, b_transposed, half_in, half_out, accumulate, epilogue;
};

struct product {
    struct product_key key;
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t a, b, d;
    cublasLtMatmulAlgo_t algorithm;
    bool there; /* an algorithm was found */
};

struct matmul_cache {
    struct product *at;
    int count, room;
};

static bool keep(struct device *d, const char *call, cublasStatus_t status)
{
    if (status == CUBLAS_STATUS_SUCCESS)
        return true;
    device_fail_as(d, status == CUBLAS_STATUS_ALLOC_FAILED ? STATUS_MEMORY : STATUS_FAILED, "%s: %s", call,
                   cublasLtGetStatusString(status));
    return false;
}

/* The largest power of two that divides an address, up to ALIGNMENT_MOST; 0 for NULL. */
static int alignment(const void *p)
{
    uintptr_t bits = (uintptr_t)p | ALIGNMENT_MOST;
    return p ? (int)(bits & -bits) : 0;
}

/* cuBLASLt has one vector: the bias that is added, or the sums that are made. */
static const void *vector_of(const struct gemm *g)
{
    return g->epilogue == EPILOGUE_OPERAND_SUMS ? (const void *)g->sums : g->bias;
}

static cublasLtEpilogue_t epilogue_of(const struct gemm *g)
{
    switch (g->epilogue) {
    case EPILOGUE_GELU:
        return g->bias ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_AUX;
    case EPILOGUE_GELU_SLOPE:
        return CUBLASLT_EPILOGUE_DGELU;
    case EPILOGUE_OPERAND_SUMS: /* our first operand is its second */
        return CUBLASLT_EPILOGUE_BGRADB;
    default:
        return g->bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
    }
}

static struct product_key key_of(const struct gemm *g)
{
    return (struct product_key){g->m,
                                g->n,
                                g->k,
                                g->lda,
                                g->ldb,
                                g->ldd,
                                alignment(g->a),
                                alignment(g->b),
                                alignment(g->d),
                                alignment(vector_of(g)),
                                alignment(g->aux),
                                g->a_transposed,
                                g->b_transposed,
                                g->half_in,
                                g->half_out,
                                g->accumulate,
                                (int)epilogue_of(g)};
}

static bool set(struct device *d, cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t name,
                const void *value, size_t bytes)
{
    return keep(d, "cublasLtMatmulDescSetAttribute", cublasLtMatmulDescSetAttribute(operation, name, value, bytes));
}

/* Where the epilogue reads and writes; the search for an algorithm looks at the alignment. */
static bool point(struct device *d, const struct product *p, const struct gemm *g)
{
    const void *vector = vector_of(g);
    return (!vector || set(d, p->operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &vector, sizeof vector)) &&
           (!g->aux || set(d, p->operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &g->aux, sizeof g->aux));
}

static bool describe_epilogue(struct device *d, struct product *p, const struct gemm *g, cudaDataType_t out)
{
    const cublasLtEpilogue_t epilogue = epilogue_of(g);
    const int32_t type = out;
    const int64_t stride = g->n;
    if (epilogue == CUBLASLT_EPILOGUE_DEFAULT)
        return true;
    return set(d, p->operation, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue) &&
           (!vector_of(g) || set(d, p->operation, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &type, sizeof type)) &&
           (!g->aux || set(d, p->operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, &stride, sizeof stride)) &&
           point(d, p, g);
}

static bool describe(struct device *d, struct product *p, const struct gemm *g)
{
    const cudaDataType_t in = g->half_in ? CUDA_R_16BF : CUDA_R_32F, out = g->half_out ? CUDA_R_16BF : CUDA_R_32F;
    const cublasOperation_t first = g->b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t second = g->a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    const uint64_t m = (uint64_t)g->m, n = (uint64_t)g->n, k = (uint64_t)g->k;
    bool ok =
        keep(d, "cublasLtMatmulDescCreate", cublasLtMatmulDescCreate(&p->operation, CUBLAS_COMPUTE_32F, CUDA_R_32F)) &&
        keep(d, "cublasLtMatrixLayoutCreate",
             cublasLtMatrixLayoutCreate(&p->a, in, g->b_transposed ? k : n, g->b_transposed ? n : k, g->ldb)) &&
        keep(d, "cublasLtMatrixLayoutCreate",
             cublasLtMatrixLayoutCreate(&p->b, in, g->a_transposed ? m : k, g->a_transposed ? k : m, g->lda)) &&
        keep(d, "cublasLtMatrixLayoutCreate", cublasLtMatrixLayoutCreate(&p->d, out, n, m, g->ldd)) &&
        set(d, p->operation, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof first) &&
        set(d, p->operation, CUBLASLT_MATMUL_DESC_TRANSB, &second, sizeof second);
    return ok && describe_epilogue(d, p, g, out);
}

static bool set_preferences(struct device *d, cublasLtMatmulPreference_t preference, const struct product_key *key)
{
    const uint64_t workspace = GPU_PRODUCTS;
    /* Sums split over K are added up in the workspace, in order; "in place" would leave the order open. */
    const uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    const uint32_t a = (uint32_t)key->b_align, b = (uint32_t)key->a_align, c = (uint32_t)key->d_align;
    const struct {
        cublasLtMatmulPreferenceAttributes_t name;
        const void *value;
        size_t bytes;
    } attributes[] = {
        {CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace},
        {CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reductions, sizeof reductions},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &a, sizeof a},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &b, sizeof b},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &c, sizeof c},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &c, sizeof c},
    };
    for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++)
        if (!keep(d, "cublasLtMatmulPreferenceSetAttribute",
                  cublasLtMatmulPreferenceSetAttribute(preference, attributes[i].name, attributes[i].value,
                                                       attributes[i].bytes)))
            return false;
    return true;
}

static void choose_algorithm(struct device *d, struct product *p)
{
    cublasLtMatmulPreference_t preference = NULL;
    cublasLtMatmulHeuristicResult_t result;
    int found = 0;
    if (!keep(d, "cublasLtMatmulPreferenceCreate", cublasLtMatmulPreferenceCreate(&preference)))
        return;
    if (set_preferences(d, preference, &p->key)) {
        cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(d->blas, p->operation, p->a, p->b, p->d, p->d,
                                                               preference, 1, &result, &found);
        p->there = status == CUBLAS_STATUS_SUCCESS && found > 0;
        if (p->there)
            p->algorithm = result.algo;
        else if (status != CUBLAS_STATUS_NOT_SUPPORTED)
            keep(d, "cublasLtMatmulAlgoGetHeuristic", status);
    }
    cublasLtMatmulPreferenceDestroy(preference);
}

static void release(struct product *p)
{
    if (p->operation)
        cublasLtMatmulDescDestroy(p->operation);
    if (p->a)
        cublasLtMatrixLayoutDestroy(p->a);
    if (p->b)
        cublasLtMatrixLayoutDestroy(p->b);
    if (p->d)
        cublasLtMatrixLayoutDestroy(p->d);
}

static struct product *find(struct device *d, const struct gemm *g)
{
    const struct product_key key = key_of(g);
    if (!d->products)
        d->products = memory_alloc(1, sizeof *d->products);
    if (!d->blas_workspace)
        d->blas_workspace = d->capturing ? NULL : device_allocate(d, GPU_PRODUCTS);
    if (!d->blas_workspace) {
        device_fail_as(d, STATUS_MEMORY, "out of memory: %d bytes asked for as cublasLt's workspace", GPU_PRODUCTS);
        return NULL;
    }
    struct matmul_cache *c = d->products;
    for (int i = 0; i < c->count; i++)
        if (memcmp(&c->at[i].key, &key, sizeof key) == 0)
            return &c->at[i];
    if (c->count == c->room) {
        c->room = c->room ? 2 * c->room : 64;
        c->at = memory_resize(c->at, (size_t)c->room, sizeof *c->at);
    }
    struct product *p = &c->at[c->count];
    *p = (struct product){.key = key};
    if (describe(d, p, g))
        choose_algorithm(d, p);
    if (device_failed(d)) {
        release(p);
        return NULL;
    }
    c->count++;
    return p;
}

bool device_gemm_fuses(struct device *d, const struct gemm *g)
{
    const struct product *p = d->fuse && !device_failed(d) && g->n % 8 == 0 ? find(d, g) : NULL;
    return p && p->there;
}

void device_gemm(struct device *d, const struct gemm *g)
{
    const float one = 1, beta = g->accumulate ? 1 : 0;
    if (device_failed(d) || g->m == 0 || g->n == 0)
        return;
    struct product *p = find(d, g);
    if (!p)
        return;
    if (!p->there) {
        device_fail(d, "cublasLt has no algorithm for a product of %d x %d x %d", g->m, g->n, g->k);
        return;
    }
    if (!point(d, p, g))
        return;
    cublasStatus_t status = cublasLtMatmul(d->blas, p->operation, &one, g->b, p->a, g->a, p->b, &beta, g->d, p->d, g->d,
                                           p->d, &p->algorithm, d->blas_workspace, GPU_PRODUCTS, d->stream);
    if (status != CUBLAS_STATUS_SUCCESS)
        device_fail(d, "cublasLtMatmul of %d x %d x %d: %s", g->m, g->n, g->k, cublasLtGetStatusString(status));
}

void products_free(struct device *d)
{
    for (int i = 0; d->products && i < d->products->count; i++)
        release(&d->products->at[i]);
    if (d->products)
        free(d->products->at);
    free(d->products);
    d->products = NULL;
}
