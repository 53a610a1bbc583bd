/* third.cu -- ten more kernels, each with one known fault, and its fix.
 *
 *     third --list
 *     third NAME [--fixed | --both] [--steps N] [--seconds S]
 *
 * frame.h has the steps and what is printed. The comment FAULT marks the line at fault. */
#include "data.h"

/* ---- opacity ---- */

enum { SIDE = 512 };

/* The lanes of a warp go along z, which is the slowest of the volume's axes: each reads and writes another line. */
static __global__ void opacities(const float *density, float step, float *out)
{
    int z = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, x = blockIdx.z;
    int at = (z * SIDE + y) * SIDE + x;
    out[at] = 1 - expf(-step * density[at]); // FAULT opacity
}

/* They go along x. */
static __global__ void opacities_fixed(const float *density, float step, float *out)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z;
    int at = (z * SIDE + y) * SIDE + x;
    out[at] = 1 - expf(-step * density[at]);
}

static work opacity()
{
    enum { VOXELS = SIDE * SIDE * SIDE };
    float *density = numbers(VOXELS), *out = zeros<float>(VOXELS);
    auto launch = [=](bool fixed) {
        dim3 grid(SIDE / 32, SIDE / 8, SIDE), block(32, 8);
        if (!fixed) opacities<<<grid, block>>>(density, 0.5f, out);
        if (fixed) opacities_fixed<<<grid, block>>>(density, 0.5f, out);
    };
    return {launch, copying(10), arithmetic(6), [=] { return difference(launch, out, VOXELS); }};
}

/* ---- smoothing ---- */

enum { SERIES = 1 << 20, LENGTH = 64, WORKERS = 128, PASSES = 4 };

/* A thread smooths a series that lies in shared memory, again and again. At a pitch of 64 words, all lanes of a warp use
 * one bank; at 65, each has its own. */
template <int PITCH> static __global__ void smooth(const float *in, float *out)
{
    __shared__ float series[WORKERS * PITCH];
    size_t first = (size_t)blockIdx.x * WORKERS * LENGTH;
    for (int i = threadIdx.x; i < WORKERS * LENGTH; i += WORKERS)
        series[i / LENGTH * PITCH + i % LENGTH] = in[first + i];
    __syncthreads();
    float *mine = series + threadIdx.x * PITCH;
    for (int pass = 0; pass < PASSES; pass++) {
        float level = mine[0];
        for (int k = 0; k < LENGTH; k++)
            mine[k] = level += 0.25f * (mine[k] - level); // FAULT smoothing
    }
    __syncthreads();
    for (int i = threadIdx.x; i < WORKERS * LENGTH; i += WORKERS)
        out[first + i] = series[i / LENGTH * PITCH + i % LENGTH];
}

static work smoothing()
{
    size_t n = (size_t)SERIES * LENGTH;
    float *in = numbers(n), *out = zeros<float>(n);
    auto launch = [=](bool fixed) {
        if (!fixed) smooth<LENGTH><<<SERIES / WORKERS, WORKERS>>>(in, out);
        if (fixed) smooth<LENGTH + 1><<<SERIES / WORKERS, WORKERS>>>(in, out);
    };
    return {launch, arithmetic(4), copying(8), [=] { return difference(launch, out, n); }};
}

/* ---- tile_product ---- */

enum { HEIGHT = 2816, BREADTH = 3072, INNER = 1024, DEPTH = 8, TILE = 8, BLOCK = 16 * TILE };

/* A product of matrices, where each thread holds 8 x 8 sums; A lies by columns. To have four blocks on a multiprocessor, a
 * thread may use 64 registers, which do not hold the sums and what they are made of; the fix is two blocks. */
template <int BLOCKS> static __global__ void __launch_bounds__(256, BLOCKS) product(const float *a, const float *b, float *c)
{
    __shared__ float left[DEPTH][BLOCK], right[DEPTH][BLOCK];
    int x = threadIdx.x % 16, y = threadIdx.x / 16, row = blockIdx.y * BLOCK, column = blockIdx.x * BLOCK;
    float sum[TILE][TILE] = {};
    for (int k = 0; k < INNER; k += DEPTH) {
        for (int i = threadIdx.x; i < DEPTH * BLOCK; i += 256) {
            left[i / BLOCK][i % BLOCK] = a[(k + i / BLOCK) * HEIGHT + row + i % BLOCK];
            right[i / BLOCK][i % BLOCK] = b[(k + i / BLOCK) * BREADTH + column + i % BLOCK];
        }
        __syncthreads();
        for (int d = 0; d < DEPTH; d++)
#pragma unroll
            for (int i = 0; i < TILE; i++)
#pragma unroll
                for (int j = 0; j < TILE; j++)
                    sum[i][j] += left[d][i * 16 + y] * right[d][j * 16 + x]; // FAULT tile_product
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < TILE; i++)
#pragma unroll
        for (int j = 0; j < TILE; j++) c[(row + i * 16 + y) * BREADTH + column + j * 16 + x] = sum[i][j];
}

static work tile_product()
{
    float *a = numbers(HEIGHT * INNER), *b = numbers(BREADTH * INNER), *c = zeros<float>(HEIGHT * BREADTH);
    auto launch = [=](bool fixed) {
        dim3 grid(BREADTH / BLOCK, HEIGHT / BLOCK);
        if (!fixed) product<4><<<grid, 256>>>(a, b, c);
        if (fixed) product<2><<<grid, 256>>>(a, b, c);
    };
    return {launch, arithmetic(5), copying(10), [=] { return difference(launch, c, HEIGHT * BREADTH); }};
}

/* ---- median ---- */

enum { FRAME = 4096, MOST_RADIUS = 3, MOST = (2 * MOST_RADIUS + 1) * (2 * MOST_RADIUS + 1) };

/* The picture goes on at the opposite edge. */
static __device__ inline float at(const float *in, unsigned x, unsigned y) { return in[y % FRAME * FRAME + x % FRAME]; }

/* The radius is known only when it runs, so the loops cannot be unrolled, and the window is an array in local memory. */
static __global__ void medians(const float *in, int radius, float *out)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, n = 0;
    float window[MOST];
    for (int dy = -radius; dy <= radius; dy++)
        for (int dx = -radius; dx <= radius; dx++)
            window[n++] = at(in, x + dx, y + dy);
    for (int i = 0; i <= n / 2; i++)
        for (int k = i + 1; k < n; k++) {
            float low = fminf(window[i], window[k]), high = fmaxf(window[i], window[k]); // FAULT median
            window[i] = low, window[k] = high;                                           // FAULT median
        }
    out[y * FRAME + x] = window[n / 2];
}

/* The compiler knows it, and the window is in registers. */
template <int RADIUS> static __global__ void medians_fixed(const float *in, float *out)
{
    enum { N = (2 * RADIUS + 1) * (2 * RADIUS + 1) };
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float window[N];
#pragma unroll
    for (int i = 0; i < N; i++)
        window[i] = at(in, x + i % (2 * RADIUS + 1) - RADIUS, y + i / (2 * RADIUS + 1) - RADIUS);
#pragma unroll
    for (int i = 0; i <= N / 2; i++)
#pragma unroll
        for (int k = i + 1; k < N; k++) {
            float low = fminf(window[i], window[k]), high = fmaxf(window[i], window[k]);
            window[i] = low, window[k] = high;
        }
    out[y * FRAME + x] = window[N / 2];
}

static work median_filter()
{
    float *in = numbers(FRAME * FRAME), *out = zeros<float>(FRAME * FRAME);
    auto launch = [=](bool fixed) {
        dim3 grid(FRAME / 32, FRAME / 8), block(32, 8);
        if (!fixed) medians<<<grid, block>>>(in, 2, out);
        if (fixed) medians_fixed<2><<<grid, block>>>(in, out);
    };
    return {launch, copying(14), arithmetic(5), [=] { return difference(launch, out, FRAME * FRAME); }};
}

/* ---- lookup ---- */

enum { KEYS = 1 << 24, QUERIES = 1 << 22 };

/* The first of the rising KEYS that is not below each query. Four warps on each multiprocessor wait for memory most of the
 * time; the fix launches 64. */
static __global__ void positions(const float *keys, const float *queries, int *out)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < QUERIES; i += gridDim.x * blockDim.x) {
        float query = queries[i];
        int low = 0, high = KEYS;
        while (low < high) {
            int middle = (low + high) / 2;
            if (keys[middle] < query) // FAULT lookup
                low = middle + 1;
            else
                high = middle;
        }
        out[i] = low;
    }
}

static work lookup()
{
    float *keys = numbers(KEYS, true), *queries = numbers(QUERIES);
    int *out = zeros<int>(QUERIES), multiprocessors = sm_count();
    auto launch = [=](bool fixed) { positions<<<multiprocessors * (fixed ? 16 : 1), 128>>>(keys, queries, out); };
    return {launch, copying(12), arithmetic(4), [=] { return difference(launch, out, QUERIES); }};
}

/* ---- progressive ---- */

enum { PICTURE_BITS = 12, PICTURE = 1 << PICTURE_BITS, LIMIT = 512 };

/* The Mandelbrot set. Drawn in an order that shows the whole picture early, the pixels of a warp are far apart, and take
 * very different numbers of turns; in tiles of 8 x 4 they take about the same. */
template <bool TILES> static __global__ void escapes(int *out)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, pixel = __brev(i) >> (32 - 2 * PICTURE_BITS);
    if (TILES) {
        unsigned tile = i / 32, lane = i % 32;
        pixel = (tile / (PICTURE / 8) * 4 + lane / 8) * PICTURE + tile % (PICTURE / 8) * 8 + lane % 8;
    }
    const float scale = 3.0f / (int)PICTURE;
    float a = scale * (pixel % PICTURE) - 2.25f, b = scale * (pixel / PICTURE) - 1.5f;
    float x = 0, y = 0;
    int n = 0;
    for (float next; n < LIMIT && x * x + y * y <= 4; n++)     // FAULT progressive
        next = x * x - y * y + a, y = 2 * x * y + b, x = next; // FAULT progressive
    out[pixel] = n;
}

static work progressive()
{
    int *out = zeros<int>(PICTURE * PICTURE);
    auto launch = [=](bool fixed) {
        if (!fixed) escapes<false><<<PICTURE * PICTURE / 256, 256>>>(out);
        if (fixed) escapes<true><<<PICTURE * PICTURE / 256, 256>>>(out);
    };
    return {launch, arithmetic(4), copying(10), [=] { return difference(launch, out, PICTURE * PICTURE); }};
}

/* ---- segments ---- */

enum { SEGMENTS = 1 << 21 };

/* Sums of the values of each segment; segments lie one after the other. The lanes of a warp add to one sum or two. */
static __global__ void segment_sums(const int *segment, const float *values, size_t n, float *out)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&out[segment[i]], values[i]); // FAULT segments
}

/* A warp adds up each segment. */
static __global__ void segment_sums_fixed(const size_t *start, const float *values, float *out)
{
    int s = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    size_t end = start[s + 1];
    float sum = 0;
    for (size_t i = start[s] + lane; i < end; i += 32) sum += values[i];
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
    if (lane == 0) out[s] += sum;
}

static __global__ void number_segments(const size_t *start, int *segment)
{
    int s = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    for (size_t i = start[s] + threadIdx.x % 32; i < start[s + 1]; i += 32) segment[i] = s;
}

static work segments()
{
    std::vector<size_t> starts(SEGMENTS + 1);
    for (int s = 0; s < SEGMENTS; s++) starts[s + 1] = starts[s] + 1 + mixed(s) % 127;
    size_t n = starts[SEGMENTS], *start = on_gpu(starts);
    int *segment = zeros<int>(n);
    float *values = numbers(n), *out = zeros<float>(SEGMENTS);
    number_segments<<<SEGMENTS / 8, 256>>>(start, segment);
    auto launch = [=](bool fixed) {
        if (!fixed) segment_sums<<<(n + 255) / 256, 256>>>(segment, values, n, out);
        if (fixed) segment_sums_fixed<<<SEGMENTS / 8, 256>>>(start, values, out);
    };
    return {launch, copying(8), arithmetic(3), [=] { return difference(launch, out, SEGMENTS); }};
}

/* ---- pairs ---- */

enum { ROWS_OF_BLOCK = 768 };

/* How close each point is to those before it. A block for each multiprocessor, and a thread for each point: the last block has
 * twice the work of the average. */
static __global__ void densities(const float *__restrict__ x, float *__restrict__ out)
{
    int i = blockIdx.x * ROWS_OF_BLOCK + threadIdx.x;
    float at = x[i], sum = 0;
    for (int k = 0; k < i; k++)
        sum += fmaxf(0, 1 - (x[k] - at) * (x[k] - at)); // FAULT pairs
    out[i] = sum;
}

/* A thread takes a point from the beginning and one from the end: all have the same work. */
static __global__ void densities_fixed(const float *__restrict__ x, float *__restrict__ out)
{
    int i = blockIdx.x * (ROWS_OF_BLOCK / 2) + threadIdx.x;
    for (int end = 0; end < 2; end++) {
        if (end) i = gridDim.x * ROWS_OF_BLOCK - 1 - i;
        float at = x[i], sum = 0;
        for (int k = 0; k < i; k++)
            sum += fmaxf(0, 1 - (x[k] - at) * (x[k] - at));
        out[i] = sum;
    }
}

static work pairs()
{
    int blocks = sm_count(), n = blocks * ROWS_OF_BLOCK;
    float *x = numbers(n), *out = zeros<float>(n);
    auto launch = [=](bool fixed) {
        if (!fixed) densities<<<blocks, ROWS_OF_BLOCK>>>(x, out);
        if (fixed) densities_fixed<<<blocks, ROWS_OF_BLOCK / 2>>>(x, out);
    };
    return {launch, arithmetic(5), copying(12), [=] { return difference(launch, out, n); }};
}

/* ---- documents ---- */

enum { DOCUMENTS = 1 << 19, SHORT = 256, LONG = 4096 };

/* The logarithm of the sum of exponentials of a document's scores, by one warp. */
static __device__ inline float log_sum(const float *x, size_t begin, size_t end)
{
    float most = -1e30f, sum = 0;
    for (size_t i = begin + threadIdx.x % 32; i < end; i += 32) {
        float now = fmaxf(most, x[i]);
        sum = sum * expf(most - now) + expf(x[i] - now);
        most = now;
    }
    for (int d = 16; d > 0; d /= 2) {
        float other = __shfl_xor_sync(~0u, most, d), now = fmaxf(most, other);
        sum = sum * expf(most - now) + __shfl_xor_sync(~0u, sum, d) * expf(other - now);
        most = now;
    }
    return most + logf(sum);
}

/* The warps of a block meet after each of their documents, to write 32 results at once. The longest document of 32 holds up
 * the others, and one of 16 is long. */
static __global__ void __launch_bounds__(1024, 2) document_scores(const size_t *start, const float *x, float *out)
{
    __shared__ float score[32];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int first = blockIdx.x * 32; first < DOCUMENTS; first += gridDim.x * 32) {
        float mine = log_sum(x, start[first + warp], start[first + warp + 1]);
        if (lane == 0) score[warp] = mine;
        __syncthreads(); // FAULT documents
        if (warp == 0) out[first + lane] = score[lane];
        __syncthreads();
    }
}

/* Each warp writes its own. */
static __global__ void __launch_bounds__(1024, 2) document_scores_fixed(const size_t *start, const float *x, float *out)
{
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int first = blockIdx.x * 32; first < DOCUMENTS; first += gridDim.x * 32) {
        float mine = log_sum(x, start[first + warp], start[first + warp + 1]);
        if (lane == 0) out[first + warp] = mine;
    }
}

static work documents()
{
    std::vector<size_t> starts(DOCUMENTS + 1);
    for (int d = 0; d < DOCUMENTS; d++) starts[d + 1] = starts[d] + (mixed(d) % 16 ? SHORT : LONG);
    size_t *start = on_gpu(starts);
    float *x = numbers(starts[DOCUMENTS]), *out = zeros<float>(DOCUMENTS);
    int blocks = sm_count() * 2;
    auto launch = [=](bool fixed) {
        if (!fixed) document_scores<<<blocks, 1024>>>(start, x, out);
        if (fixed) document_scores_fixed<<<blocks, 1024>>>(start, x, out);
    };
    return {launch, copying(8), arithmetic(3), [=] { return difference(launch, out, DOCUMENTS); }};
}

/* ---- crop ---- */

enum { BATCH = 128, CHANNELS = 16, WINDOW = 224, BORDER = 16, WHOLE = WINDOW + 2 * BORDER };

/* The middle of each image. A thread divides to know where it is, in 64 bits and by numbers that the compiler does not know. */
static __global__ void crop(const float *in, size_t channels, size_t height, size_t width, size_t border, float *out, size_t n)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= n) return;
    size_t image = width * height;
    size_t x = i % width, y = i / width % height, c = i / image % channels, b = i / (image * channels); // FAULT crop
    out[i] = in[((b * channels + c) * (height + 2 * border) + y + border) * (width + 2 * border) + x + border];
}

/* The grid knows where. */
static __global__ void crop_fixed(const float *in, size_t border, float *out)
{
    size_t height = gridDim.x, width = blockDim.x, x = threadIdx.x, y = blockIdx.x;
    size_t image = blockIdx.z * gridDim.y + blockIdx.y, row = image * (height + 2 * border) + y + border;
    out[(image * height + y) * width + x] = in[row * (width + 2 * border) + x + border];
}

static work crops()
{
    size_t n = (size_t)BATCH * CHANNELS * WINDOW * WINDOW;
    float *in = numbers((size_t)BATCH * CHANNELS * WHOLE * WHOLE), *out = zeros<float>(n);
    auto launch = [=](bool fixed) {
        if (!fixed) crop<<<(n + 255) / 256, 256>>>(in, CHANNELS, WINDOW, WINDOW, BORDER, out, n);
        if (fixed) crop_fixed<<<dim3(WINDOW, CHANNELS, BATCH), WINDOW>>>(in, BORDER, out);
    };
    return {launch, copying(7), arithmetic(3), [=] { return difference(launch, out, n); }};
}

static const struct {
    const char *name;
    work (*prepare)();
} programs[] = {
    {"opacity", opacity},         {"smoothing", smoothing}, {"tile_product", tile_product}, {"median", median_filter}, {"lookup", lookup},
    {"progressive", progressive}, {"segments", segments},   {"pairs", pairs},               {"documents", documents},  {"crop", crops},
};

int main(int argc, char **argv)
{
    std::vector<std::string> names;
    for (auto &p : programs) names.push_back(p.name);
    return run_program(argc, argv, names, [](const std::string &name) {
        return std::find_if(std::begin(programs), std::end(programs), [&](auto &p) { return name == p.name; })->prepare();
    });
}
