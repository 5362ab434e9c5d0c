/* Norm-or-taper with the residual add (docs/equations.md section 1), its backward, the auxiliary loss (section 2), the
 * probe.
 *
 * Row kernels give a warp to a token: its lanes go over the row two or three times, the later times out of the cache.
 */
#include "gpu/device_code.cuh"

enum { ROWS = 8, THREADS = ROWS * WARP, COLUMNS = 32, GROUPS = 8, CHUNKS_MOST = 128, CHUNK_ROWS = 64, SUMS = 3 };

/* How much of each branch: y = normed * NORMED + folded * FOLDED. */
static __device__ __forceinline__ float normed_weight(const struct norm_site &site)
{
    return site.phase == PHASE_NORMED ? 1.0f : site.phase == PHASE_FOLDED ? 0.0f : site.gate[0];
}

template <int W> static __device__ __forceinline__ pack<W> constant(float x)
{
    pack<W> r;
    for (int k = 0; k < W; k++)
        r.v[k] = x;
    return r;
}

template <int W> static __device__ __forceinline__ pack<W> load_or(const float *p, size_t i, float otherwise)
{
    return p ? load<W>(p, i) : constant<W>(otherwise);
}

/* ------------------------------------------------------------------------------------------- forward */

/* y of one row; returns the lane's part of sum (x gamma)^2. */
template <int W>
static __device__ __forceinline__ float write_row(const struct norm_forward &a, const float *h, struct sink y,
                                                  size_t at, float mean, float scale, int lane)
{
    const struct norm_site &site = a.site;
    float normed = normed_weight(site), folded = 1.0f - normed, energy = 0;
    float c = site.phase == PHASE_NORMED ? 0.0f : site.c[0];
    for (int i = lane * W; i < a.C; i += WARP * W) {
        pack<W> x = load<W>(h, i), out;
        pack<W> gamma = load_or<W>(site.phase == PHASE_FOLDED && !a.calibration ? 0 : site.gamma, i, 0);
        pack<W> beta = load_or<W>(site.phase == PHASE_FOLDED ? 0 : site.beta, i, 0);
        pack<W> gamma_tilde = load_or<W>(site.phase == PHASE_NORMED ? 0 : site.gamma_tilde, i, 0);
        pack<W> beta_tilde = load_or<W>(site.phase == PHASE_NORMED ? 0 : site.beta_tilde, i, 0);
        for (int k = 0; k < W; k++) {
            float v = x.v[k] - mean, weighted = v * gamma.v[k], value = 0;
            if (site.phase != PHASE_FOLDED)
                value += normed * (weighted / scale + beta.v[k]);
            if (site.phase != PHASE_NORMED)
                value += folded * (c * v * gamma_tilde.v[k] + beta_tilde.v[k]);
            out.v[k] = value;
            energy += weighted * weighted;
        }
        store(y, at + i, out);
    }
    return energy;
}

template <int W>
__global__ void __launch_bounds__(THREADS)
    norm_rows(struct norm_forward a, struct view delta, struct sink y, float *energies)
{
    int lane = threadIdx.x % WARP, n = blockIdx.x * ROWS + threadIdx.x / WARP, C = a.C;
    if (n >= a.N)
        return;
    size_t at = (size_t)n * C;
    const float *h = a.in + at;
    bool centred = a.site.kind == NORM_LAYER;
    double sum = 0; /* of numbers that may cancel */
    float squares = 0, mean = 0, scale = 1;
    if (delta.at) {
        struct sink to = {a.h, 0};
        for (int i = lane * W; i < C; i += WARP * W) {
            pack<W> x = load<W>(h, i), d = load<W>(delta, at + i);
            for (int k = 0; k < W; k++)
                x.v[k] += d.v[k];
            store(to, at + i, x);
        }
        h = a.h + at; /* each lane reads back what it wrote itself */
    }
    for (int i = lane * W; i < C && (centred || a.scale); i += WARP * W) {
        pack<W> x = load<W>(h, i);
        for (int k = 0; k < W; k++) {
            sum += centred ? x.v[k] : 0.0f;
            squares += x.v[k] * x.v[k];
        }
    }
    if (centred) {
        mean = (float)(warp_sum(sum) / C);
        if (a.mean && lane == 0)
            a.mean[n] = mean;
        squares = 0;
        for (int i = lane * W; i < C && a.scale; i += WARP * W) {
            pack<W> x = load<W>(h, i);
            for (int k = 0; k < W; k++)
                squares += (x.v[k] - mean) * (x.v[k] - mean);
        }
    }
    if (a.scale) {
        scale = sqrtf(warp_sum(squares) / C + a.site.eps);
        if (lane == 0)
            a.scale[n] = scale;
    }
    float energy = write_row<W>(a, h, y, at, mean, scale, lane);
    if (energies) {
        energy = warp_sum(energy);
        if (lane == 0)
            energies[n] = energy;
    }
}

/* calibration[0] += sum energy/scale, calibration[1] += sum energy, scale_sum += sum scale. One block. */
__global__ void __launch_bounds__(1024)
    add_sums(double *calibration, double *scale_sum, const float *energies, const float *scale, int N)
{
    SHARED_MEMORY(double, part);
    double ratio = 0, energy = 0, scales = 0;
    for (int n = threadIdx.x; n < N; n += blockDim.x) {
        scales += scale[n];
        energy += calibration ? energies[n] : 0.0f;
        ratio += calibration ? (double)energies[n] / scale[n] : 0.0;
    }
    scales = block_sum(scales, part);
    if (calibration) {
        ratio = block_sum(ratio, part);
        energy = block_sum(energy, part);
    }
    if (threadIdx.x > 0)
        return;
    if (scale_sum)
        scale_sum[0] += scales;
    if (calibration) {
        calibration[0] += ratio;
        calibration[1] += energy;
    }
}

extern "C" void kernel_norm_forward(void *stream, const struct norm_forward *a, struct view delta, struct sink y,
                                    float *energy)
{
    const struct norm_site *s = &a->site;
    bool vector = wide(a->C, a->in, s->gamma, s->beta, s->gamma_tilde, s->beta_tilde) && wide_view(delta) &&
                  wide_sink(y) && (uintptr_t)a->h % 16 == 0;
    float *energies = a->calibration ? energy : 0;
    if (vector)
        LAUNCH(norm_rows<4>, divide_up(a->N, ROWS), THREADS, 0, stream, *a, delta, y, energies);
    else
        LAUNCH(norm_rows<1>, divide_up(a->N, ROWS), THREADS, 0, stream, *a, delta, y, energies);
    if (a->calibration || a->scale_sum)
        LAUNCH(add_sums, 1, 1024, 32 * sizeof(double), stream, a->calibration, a->scale_sum, energies, a->scale, a->N);
}

/* ------------------------------------------------------------------------------------------ backward */

/* d y_i / d x_i of the branches, s held fixed. */
template <int W>
static __device__ __forceinline__ pack<W> direct_factor(const struct norm_site &site, int i, float normed, float scale,
                                                        const pack<W> &gamma)
{
    pack<W> factor, tilde = load_or<W>(site.phase == PHASE_NORMED ? 0 : site.gamma_tilde, i, 0);
    float c = site.phase == PHASE_NORMED ? 0.0f : site.c[0] * (1.0f - normed);
    for (int k = 0; k < W; k++)
        factor.v[k] = normed * gamma.v[k] / scale + c * tilde.v[k];
    return factor;
}

/* dx = dy * direct - x/(C s) * sum_j dy_j x_j gamma_j/s^2 * normed, from ds/dx = x/(C s); LayerNorm: dh = dx -
 * mean(dx). */
template <int W>
__global__ void __launch_bounds__(THREADS) norm_rows_backward(struct norm_backward a, struct view dy, struct sink dh)
{
    int lane = threadIdx.x % WARP, n = blockIdx.x * ROWS + threadIdx.x / WARP, C = a.C;
    if (n >= a.N)
        return;
    const struct norm_site &site = a.site;
    bool centred = site.kind == NORM_LAYER, folded = site.phase == PHASE_FOLDED;
    size_t at = (size_t)n * C;
    float normed = normed_weight(site), mean = centred ? a.mean[n] : 0.0f, scale = folded ? 1.0f : a.scale[n];
    float through = 0, direct = 0, plain = 0;
    for (int i = lane * W; i < C && (centred || !folded); i += WARP * W) {
        pack<W> x = load<W>(a.h, at + i), d = load<W>(dy, at + i), gamma = load_or<W>(folded ? 0 : site.gamma, i, 0);
        pack<W> factor = direct_factor<W>(site, i, normed, scale, gamma);
        for (int k = 0; k < W; k++) {
            through += d.v[k] * gamma.v[k] * (x.v[k] - mean);
            direct += d.v[k] * factor.v[k];
            plain += x.v[k] - mean;
        }
    }
    through = folded ? 0.0f : warp_sum(through) * normed / (C * scale * scale * scale);
    float mean_dx = centred ? (warp_sum(direct) - through * warp_sum(plain)) / C : 0.0f;
    for (int i = lane * W; i < C; i += WARP * W) {
        pack<W> x = load<W>(a.h, at + i), d = load<W>(dy, at + i), gamma = load_or<W>(folded ? 0 : site.gamma, i, 0);
        pack<W> factor = direct_factor<W>(site, i, normed, scale, gamma), out;
        if (!a.fresh)
            out = load<W>(a.dh, at + i);
        for (int k = 0; k < W; k++) {
            float dx = d.v[k] * factor.v[k] - (x.v[k] - mean) * through - mean_dx;
            out.v[k] = a.fresh ? dx : out.v[k] + dx;
        }
        store(dh, at + i, out);
    }
}

static int chunks_of(int N)
{
    int chunks = divide_up(N, CHUNK_ROWS);
    return chunks < CHUNKS_MOST ? chunks : CHUNKS_MOST;
}

extern "C" size_t kernel_norm_scratch(int N, int C)
{
    return (size_t)chunks_of(N) * SUMS * C;
}

/* Add the groups' sums of a column up; thread y 0 gets the result. part: [GROUPS][COLUMNS]. */
static __device__ __forceinline__ float add_groups(float x, float *part)
{
    __syncthreads();
    part[threadIdx.y * COLUMNS + threadIdx.x] = x;
    __syncthreads();
    float sum = 0;
    for (int g = 0; g < GROUPS && threadIdx.y == 0; g++)
        sum += part[g * COLUMNS + threadIdx.x];
    return sum;
}

/* Sums over a chunk of rows, per column: dy, dy*x/s, dy*x into partial [chunk][SUMS][C]. */
__global__ void __launch_bounds__(COLUMNS *GROUPS)
    norm_columns(struct norm_backward a, struct view dy, float *partial, int rows)
{
    SHARED_MEMORY(float, part);
    int column = blockIdx.x * COLUMNS + threadIdx.x, first = blockIdx.y * rows, end = first + rows;
    float plain = 0, scaled = 0, unscaled = 0;
    end = end < a.N ? end : a.N;
    for (int n = first + threadIdx.y; n < end && column < a.C; n += GROUPS) {
        size_t at = (size_t)n * a.C + column;
        float d = load<1>(dy, at).v[0], x = a.h[at] - (a.site.kind == NORM_LAYER ? a.mean[n] : 0.0f);
        plain += d;
        unscaled += d * x;
        if (a.site.phase != PHASE_FOLDED)
            scaled += d * x / a.scale[n];
    }
    plain = add_groups(plain, part);
    scaled = add_groups(scaled, part);
    unscaled = add_groups(unscaled, part);
    if (threadIdx.y > 0 || column >= a.C)
        return;
    float *to = partial + (size_t)blockIdx.y * SUMS * a.C + column;
    to[0] = plain;
    to[a.C] = scaled;
    to[2 * (size_t)a.C] = unscaled;
}

static __device__ __forceinline__ void add_to(float *to, int i, float x)
{
    if (to)
        to[i] += x;
}

__global__ void __launch_bounds__(THREADS) norm_vectors(struct norm_backward a, const float *partial, int chunks)
{
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= a.C)
        return;
    float normed = normed_weight(a.site), folded = 1.0f - normed, sums[SUMS] = {0, 0, 0};
    for (int chunk = 0; chunk < chunks; chunk++)
        for (int s = 0; s < SUMS; s++)
            sums[s] += partial[((size_t)chunk * SUMS + s) * a.C + i];
    if (a.site.phase != PHASE_FOLDED) {
        add_to(a.dgamma, i, normed * sums[1]);
        add_to(a.dbeta, i, normed * sums[0]);
    }
    if (a.site.phase != PHASE_NORMED) {
        add_to(a.dgamma_tilde, i, folded * a.site.c[0] * sums[2]);
        add_to(a.dbeta_tilde, i, folded * sums[0]);
    }
}

extern "C" void kernel_norm_backward(void *stream, const struct norm_backward *a, struct view dy, struct sink dh,
                                     float *scratch)
{
    int chunks = chunks_of(a->N), rows = divide_up(a->N, chunks);
    const struct norm_site *s = &a->site;
    /* The vectors first: dh may be dy's own memory when fresh. */
    LAUNCH(norm_columns, dim3(divide_up(a->C, COLUMNS), chunks), dim3(COLUMNS, GROUPS),
           COLUMNS * GROUPS * sizeof(float), stream, *a, dy, scratch, rows);
    LAUNCH(norm_vectors, divide_up(a->C, THREADS), THREADS, 0, stream, *a, scratch, chunks);
    if (wide(a->C, a->h, s->gamma, s->gamma_tilde, a->dh, 0) && wide_view(dy) && wide_sink(dh))
        LAUNCH(norm_rows_backward<4>, divide_up(a->N, ROWS), THREADS, 0, stream, *a, dy, dh);
    else
        LAUNCH(norm_rows_backward<1>, divide_up(a->N, ROWS), THREADS, 0, stream, *a, dy, dh);
}

/* ------------------------------------------------------------------------------------------- columns */

__global__ void __launch_bounds__(COLUMNS *GROUPS) sum_columns(struct view from, float *partial, int N, int O, int rows)
{
    SHARED_MEMORY(float, part);
    int column = blockIdx.x * COLUMNS + threadIdx.x, first = blockIdx.y * rows, end = first + rows;
    float sum = 0;
    end = end < N ? end : N;
    for (int n = first + threadIdx.y; n < end && column < O; n += GROUPS)
        sum += load<1>(from, (size_t)n * O + column).v[0];
    sum = add_groups(sum, part);
    if (threadIdx.y == 0 && column < O)
        partial[(size_t)blockIdx.y * O + column] = sum;
}

__global__ void __launch_bounds__(THREADS) add_chunks(float *to, const float *partial, int O, int chunks)
{
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= O)
        return;
    float sum = 0;
    for (int chunk = 0; chunk < chunks; chunk++)
        sum += partial[(size_t)chunk * O + i];
    to[i] += sum;
}

extern "C" void kernel_add_columns(void *stream, float *to, struct view from, int N, int O, float *scratch)
{
    int chunks = chunks_of(N), rows = divide_up(N, chunks);
    LAUNCH(sum_columns, dim3(divide_up(O, COLUMNS), chunks), dim3(COLUMNS, GROUPS), COLUMNS * GROUPS * sizeof(float),
           stream, from, scratch, N, O, rows);
    LAUNCH(add_chunks, divide_up(O, THREADS), THREADS, 0, stream, to, scratch, O, chunks);
}

/* --------------------------------------------------------------------------------- aux loss and probe */

/* With s = sqrt(mean(x^2) + eps), ds/dh = x/(C s): the centring of LayerNorm leaves it as it is, since sum(x) = 0. */
__global__ void __launch_bounds__(THREADS) aux_rows(struct aux_loss a, float *rows)
{
    int lane = threadIdx.x % WARP, n = blockIdx.x * ROWS + threadIdx.x / WARP, C = a.C;
    if (n >= a.N)
        return;
    size_t at = (size_t)n * C;
    float s = a.scale[n], mean = a.mean ? a.mean[n] : 0.0f, off = s - a.scalars->aux_target;
    float factor = 2.0f * a.lambda * off / (C * s), along = 0, length = 0;
    for (int i = lane; i < C; i += WARP) {
        float h = a.h[at + i], d = factor * (h - mean);
        along += d * h;
        length += h * h;
        if (a.dh)
            a.dh[at + i] += a.grad_scale * d;
    }
    if (a.radial) {
        along = warp_sum(along);
        length = warp_sum(length);
        if (lane == 0)
            a.radial[n] = length == 0.0f ? 0.0f : along / sqrtf(length);
    }
    if (lane == 0)
        rows[n] = a.lambda * off * off;
}

__global__ void __launch_bounds__(1024) add_rows(double *sum, const float *rows, int N)
{
    SHARED_MEMORY(double, part);
    double mine = 0;
    for (int n = threadIdx.x; n < N; n += blockDim.x)
        mine += rows[n];
    mine = block_sum(mine, part);
    if (threadIdx.x == 0)
        sum[0] += mine;
}

extern "C" void kernel_aux_loss(void *stream, const struct aux_loss *a, float *rows)
{
    LAUNCH(aux_rows, divide_up(a->N, ROWS), THREADS, 0, stream, *a, rows);
    LAUNCH(add_rows, 1, 1024, 32 * sizeof(double), stream, a->sum, rows, a->N);
}

__global__ void __launch_bounds__(THREADS) probe_rows(struct radial_probe a)
{
    int lane = threadIdx.x % WARP, n = blockIdx.x * ROWS + threadIdx.x / WARP;
    if (n >= a.N)
        return;
    const float *h = a.h + (size_t)n * a.C, *dh = a.dh + (size_t)n * a.C;
    float along = 0, length = 0, rest = 0;
    for (int i = lane; i < a.C; i += WARP) {
        along += dh[i] / a.grad_scale * h[i];
        length += h[i] * h[i];
    }
    along = warp_sum(along);
    length = warp_sum(length);
    float share = length == 0.0f ? 0.0f : along / length; /* of h itself; a zero h has no direction */
    for (int i = lane; i < a.C; i += WARP) {
        float off = dh[i] / a.grad_scale - share * h[i];
        rest += off * off;
    }
    rest = warp_sum(rest);
    if (lane == 0) {
        a.radial[n] = share * sqrtf(length);
        a.tangential[n] = sqrtf(rest);
    }
}

extern "C" void kernel_radial_probe(void *stream, const struct radial_probe *a)
{
    LAUNCH(probe_rows, divide_up(a->N, ROWS), THREADS, 0, stream, *a);
}
