/* Token and position embedding. The backward adds the rows of equal tokens in the order of their positions: the
 * positions are sorted by token first (a stable counting sort), so that no float is added atomically. */
#include "gpu/device_code.cuh"

enum { THREADS = 256, CHUNK = 256, GROUPS = 8, TOKEN_BLOCKS_MOST = 4096 };

__global__ void __launch_bounds__(THREADS)
    embed(float *out, const int32_t *tokens, const float *tok, const float *pos, size_t count, int T, int C)
{
    size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x, n = i / C, c = i % C;
    if (i >= count)
        return;
    float x = tok[(size_t)tokens[n] * C + c];
    out[i] = pos ? x + pos[n % T * C + c] : x;
}

extern "C" void kernel_embed(void *stream, float *out, const int32_t *tokens, const float *tok, const float *pos, int B,
                             int T, int C)
{
    size_t count = (size_t)B * T * C;
    LAUNCH(embed, divide_up(count, THREADS), THREADS, 0, stream, out, tokens, tok, pos, count, T, C);
}

/* Scratch, as integers: counts [chunks][V], start [V+1], order [N]. */
extern "C" size_t kernel_embed_scratch(int N, int V)
{
    return (size_t)divide_up(N, CHUNK) * V + V + 1 + N;
}

__global__ void __launch_bounds__(THREADS) clear_counts(int32_t *counts, size_t count)
{
    size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < count)
        counts[i] = 0;
}

/* counts[chunk][token] of each chunk of positions. The last position of a token in its chunk writes it. */
__global__ void __launch_bounds__(CHUNK) count_tokens(int32_t *counts, const int32_t *tokens, int N, int V)
{
    SHARED_MEMORY(int32_t, mine);
    int n = blockIdx.x * CHUNK + threadIdx.x, size = N - (int)blockIdx.x * CHUNK, equal = 0;
    bool last = n < N;
    size = size < CHUNK ? size : CHUNK;
    int32_t token = n < N ? tokens[n] : -1;
    mine[threadIdx.x] = token;
    __syncthreads();
    for (int i = 0; i < size; i++) {
        equal += mine[i] == token;
        last = last && !(i > (int)threadIdx.x && mine[i] == token);
    }
    if (last)
        counts[(size_t)blockIdx.x * V + token] = equal;
}

/* counts becomes, per token, how many stand in earlier chunks; totals go to start[1 + token]. */
__global__ void __launch_bounds__(THREADS) scan_chunks(int32_t *counts, int32_t *start, int chunks, int V)
{
    int token = blockIdx.x * THREADS + threadIdx.x, sum = 0;
    if (token >= V)
        return;
    for (int chunk = 0; chunk < chunks; chunk++) {
        int32_t *at = counts + (size_t)chunk * V + token, here = *at;
        *at = sum;
        sum += here;
    }
    start[1 + token] = sum;
}

/* start[token]: where the token's positions begin in the order. One block: each thread sums a part, then shifts it. */
__global__ void __launch_bounds__(1024) scan_tokens(int32_t *start, int V)
{
    SHARED_MEMORY(int32_t, sums);
    int part = (V + 1023) / 1024, first = 1 + (int)threadIdx.x * part, sum = 0, before = 0;
    for (int i = first; i < first + part && i <= V; i++)
        sum += start[i];
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int i = 0; i < (int)threadIdx.x; i++)
        before += sums[i];
    for (int i = first; i < first + part && i <= V; i++)
        start[i] = before += start[i];
    if (threadIdx.x == 0)
        start[0] = 0;
}

__global__ void __launch_bounds__(CHUNK)
    place_positions(int32_t *order, const int32_t *counts, const int32_t *start, const int32_t *tokens, int N, int V)
{
    SHARED_MEMORY(int32_t, mine);
    int n = blockIdx.x * CHUNK + threadIdx.x, rank = 0;
    int32_t token = n < N ? tokens[n] : -1;
    mine[threadIdx.x] = token;
    __syncthreads();
    if (n >= N)
        return;
    for (int i = 0; i < (int)threadIdx.x; i++)
        rank += mine[i] == token;
    order[start[token] + counts[(size_t)blockIdx.x * V + token] + rank] = n;
}

/* Block (32 columns, GROUPS): group g adds positions g, g + GROUPS ... of a token, then the groups are added up. */
__global__ void __launch_bounds__(32 * GROUPS)
    add_tokens(float *dtok, const float *dout, const int32_t *order, const int32_t *start, int C, int V)
{
    SHARED_MEMORY(float, sums); /* [GROUPS][32] */
    int column = blockIdx.y * 32 + threadIdx.x;
    for (int token = blockIdx.x; token < V; token += gridDim.x) {
        int first = start[token], end = start[token + 1];
        if (first == end)
            continue;
        float sum = 0;
        for (int i = first + (int)threadIdx.y; i < end && column < C; i += GROUPS)
            sum += dout[(size_t)order[i] * C + column];
        sums[threadIdx.y * 32 + threadIdx.x] = sum;
        __syncthreads();
        if (threadIdx.y == 0 && column < C) {
            float total = 0;
            for (int g = 0; g < GROUPS; g++)
                total += sums[g * 32 + threadIdx.x];
            dtok[(size_t)token * C + column] += total;
        }
        __syncthreads();
    }
}

__global__ void __launch_bounds__(THREADS) add_positions(float *dpos, const float *dout, size_t count, int B)
{
    size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= count)
        return;
    float sum = 0;
    for (int b = 0; b < B; b++)
        sum += dout[b * count + i];
    dpos[i] += sum;
}

extern "C" void kernel_embed_backward(void *stream, float *dtok, float *dpos, const float *dout, const int32_t *tokens,
                                      int32_t *scratch, int B, int T, int C, int V)
{
    int N = B * T, chunks = divide_up(N, CHUNK);
    int32_t *counts = scratch, *start = counts + (size_t)chunks * V, *order = start + V + 1;
    size_t table = (size_t)chunks * V, positions = (size_t)T * C;
    LAUNCH(clear_counts, divide_up(table, THREADS), THREADS, 0, stream, counts, table);
    LAUNCH(count_tokens, chunks, CHUNK, CHUNK * sizeof(int32_t), stream, counts, tokens, N, V);
    LAUNCH(scan_chunks, divide_up(V, THREADS), THREADS, 0, stream, counts, start, chunks, V);
    LAUNCH(scan_tokens, 1, 1024, 1024 * sizeof(int32_t), stream, start, V);
    LAUNCH(place_positions, chunks, CHUNK, CHUNK * sizeof(int32_t), stream, order, counts, start, tokens, N, V);
    LAUNCH(add_tokens, dim3(V < TOKEN_BLOCKS_MOST ? V : TOKEN_BLOCKS_MOST, divide_up(C, 32)), dim3(32, GROUPS),
           32 * GROUPS * sizeof(float), stream, dtok, dout, order, start, C, V);
    if (dpos)
        LAUNCH(add_positions, divide_up(positions, THREADS), THREADS, 0, stream, dpos, dout, positions, B);
}
