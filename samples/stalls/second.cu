/* second.cu -- ten more kernels, each with one known fault, and its fix.
 *
 *     second --list
 *     second NAME [--fixed | --both] [--steps N] [--seconds S]
 *
 * frame.h has the steps and what is printed. The comment FAULT marks the line at fault. */
#include "frame.h"

/* A number that looks random, from another one. */
static __host__ __device__ unsigned scramble(unsigned x)
{
    x = (x ^ x >> 16) * 2246822519u;
    x = (x ^ x >> 13) * 3266489917u;
    return x ^ x >> 16;
}

static __global__ void fill_floats(float *at, size_t n)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        at[i] = scramble(i) * (1.0f / 4294967296.0f);
}

template <class T> static T *memory(size_t n)
{
    T *at;
    CHECK(cudaMalloc(&at, n * sizeof(T)));
    CHECK(cudaMemset(at, 0, n * sizeof(T)));
    return at;
}

/* From 0 to 1. */
static float *random_floats(size_t n)
{
    float *at = memory<float>(n);
    fill_floats<<<1024, 256>>>(at, n);
    return at;
}

template <class T> static T *upload(const std::vector<T> &values)
{
    T *at = memory<T>(values.size());
    CHECK(cudaMemcpy(at, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
    return at;
}

static int multiprocessors()
{
    int n;
    CHECK(cudaDeviceGetAttribute(&n, cudaDevAttrMultiProcessorCount, 0));
    return n;
}

/* ---- the other work of a step ---- */

enum { COPY_BYTES = 128 << 20, ORDER = 1024 };

static std::function<void()> copies(int times)
{
    char *from = memory<char>(COPY_BYTES), *to = memory<char>(COPY_BYTES);
    return [=] {
        for (int i = 0; i < times; i++) CHECK(cudaMemcpyAsync(to, from, COPY_BYTES, cudaMemcpyDeviceToDevice));
    };
}

static __global__ void square_product(const float *a, const float *b, float *c)
{
    __shared__ float left[32][32], right[32][32];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 32 + y, column = blockIdx.x * 32 + x;
    float sum = 0;
    for (int k = 0; k < ORDER; k += 32) {
        left[y][x] = a[row * ORDER + k + x];
        right[y][x] = b[(k + y) * ORDER + column];
        __syncthreads();
        for (int i = 0; i < 32; i++) sum += left[y][i] * right[i][x];
        __syncthreads();
    }
    c[row * ORDER + column] = sum;
}

static std::function<void()> products(int times)
{
    float *a = random_floats(ORDER * ORDER), *b = random_floats(ORDER * ORDER), *c = memory<float>(ORDER * ORDER);
    return [=] {
        for (int i = 0; i < times; i++) square_product<<<dim3(ORDER / 32, ORDER / 32), dim3(32, 32)>>>(a, b, c);
    };
}

/* ---- particles ---- */

enum { PARTICLES = 1 << 25 };

struct particle {
    float x, y, z, charge, vx, vy, vz, radius, fx, fy, fz, mass, spin[4];
};

/* An array of structures: of the 64 bytes that come from memory for each particle, 16 are used. */
static __global__ void energies(const particle *p, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = p[i].mass * (p[i].vx * p[i].vx + p[i].vy * p[i].vy + p[i].vz * p[i].vz); // FAULT particles
}

/* A structure of arrays. */
static __global__ void energies_fixed(const float *mass, const float *vx, const float *vy, const float *vz, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = mass[i] * (vx[i] * vx[i] + vy[i] * vy[i] + vz[i] * vz[i]);
}

static __global__ void take_apart(const particle *p, float *mass, float *vx, float *vy, float *vz)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    mass[i] = p[i].mass;
    vx[i] = p[i].vx, vy[i] = p[i].vy, vz[i] = p[i].vz;
}

static work particles()
{
    auto *p = (particle *)random_floats(PARTICLES * (sizeof(particle) / 4));
    float *mass = memory<float>(PARTICLES), *vx = memory<float>(PARTICLES), *vy = memory<float>(PARTICLES), *vz = memory<float>(PARTICLES);
    float *out = memory<float>(PARTICLES);
    take_apart<<<PARTICLES / 256, 256>>>(p, mass, vx, vy, vz);
    auto launch = [=](bool fixed) {
        if (!fixed) energies<<<PARTICLES / 256, 256>>>(p, out);
        if (fixed) energies_fixed<<<PARTICLES / 256, 256>>>(mass, vx, vy, vz, out);
    };
    return {launch, copies(6), products(2), [=] { return difference(launch, out, PARTICLES); }};
}

/* ---- regions ---- */

enum { PIXELS = 1 << 24, REGIONS = 64 };

/* The sums of red, green and blue in each region of a picture: each pixel adds to global memory. */
static __global__ void region_sums(const uchar4 *image, unsigned *sums)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < PIXELS; i += gridDim.x * blockDim.x) {
        uchar4 pixel = image[i];
        unsigned color[3] = {pixel.x, pixel.y, pixel.z};
        for (int c = 0; c < 3; c++)
            atomicAdd(&sums[pixel.w % REGIONS * 3 + c], color[c]); // FAULT regions
    }
}

/* Each block adds up in shared memory first. */
static __global__ void region_sums_fixed(const uchar4 *image, unsigned *sums)
{
    __shared__ unsigned mine[REGIONS * 3];
    if (threadIdx.x < REGIONS * 3) mine[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < PIXELS; i += gridDim.x * blockDim.x) {
        uchar4 pixel = image[i];
        unsigned color[3] = {pixel.x, pixel.y, pixel.z};
        for (int c = 0; c < 3; c++)
            atomicAdd(&mine[pixel.w % REGIONS * 3 + c], color[c]);
    }
    __syncthreads();
    if (threadIdx.x < REGIONS * 3) atomicAdd(&sums[threadIdx.x], mine[threadIdx.x]);
}

static work regions()
{
    std::vector<uchar4> picture(PIXELS);
    for (unsigned i = 0; i < PIXELS; i++) {
        unsigned r = scramble(i);
        picture[i] = make_uchar4(r, r >> 8, r >> 16, r >> 24);
    }
    uchar4 *image = upload(picture);
    unsigned *sums = memory<unsigned>(REGIONS * 3);
    int blocks = multiprocessors() * 8;
    auto launch = [=](bool fixed) {
        if (!fixed) region_sums<<<blocks, 256>>>(image, sums);
        if (fixed) region_sums_fixed<<<blocks, 256>>>(image, sums);
    };
    return {launch, copies(4), copies(4), [=] { return difference(launch, sums, REGIONS * 3); }};
}

/* ---- private_bins ---- */

enum { WORDS = 1 << 26, BINS = 32, COUNTERS = 64 };

/* Each thread has its own bins in shared memory, one after the other: where pixels are alike, the lanes of a warp count in
 * one bank. */
static __global__ void histogram(const unsigned *pixels, unsigned *bins)
{
    __shared__ unsigned count[COUNTERS * BINS];
    int me = threadIdx.x;
    for (int b = 0; b < BINS; b++) count[b * COUNTERS + me] = 0;
    __syncthreads();
    for (int i = blockIdx.x * COUNTERS + me; i < WORDS; i += gridDim.x * COUNTERS) {
        unsigned four = pixels[i];
        for (int k = 0; k < 4; k++)
            count[me * BINS + (four >> 8 * k & 31)]++; // FAULT private_bins
    }
    __syncthreads();
    unsigned sum = 0;
    if (me < BINS) {
        for (int t = 0; t < COUNTERS; t++) sum += count[t * BINS + me];
        atomicAdd(&bins[me], sum);
    }
}

/* The same bin of all threads side by side: each lane has its own bank. */
static __global__ void histogram_fixed(const unsigned *pixels, unsigned *bins)
{
    __shared__ unsigned count[BINS * COUNTERS];
    int me = threadIdx.x;
    for (int b = 0; b < BINS; b++) count[b * COUNTERS + me] = 0;
    __syncthreads();
    for (int i = blockIdx.x * COUNTERS + me; i < WORDS; i += gridDim.x * COUNTERS) {
        unsigned four = pixels[i];
        for (int k = 0; k < 4; k++)
            count[(four >> 8 * k & 31) * COUNTERS + me]++;
    }
    __syncthreads();
    unsigned sum = 0;
    if (me < BINS) {
        for (int t = 0; t < COUNTERS; t++) sum += count[me * COUNTERS + (t + me) % COUNTERS];
        atomicAdd(&bins[me], sum);
    }
}

/* Areas of 64 pixels of one gray. */
static __global__ void draw_areas(unsigned *pixels)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    pixels[i] = scramble(i / 16) % 256 * 0x01010101u;
}

static work private_bins()
{
    unsigned *pixels = memory<unsigned>(WORDS), *bins = memory<unsigned>(BINS);
    draw_areas<<<WORDS / 256, 256>>>(pixels);
    int blocks = multiprocessors() * 24;
    auto launch = [=](bool fixed) {
        if (!fixed) histogram<<<blocks, COUNTERS>>>(pixels, bins);
        if (fixed) histogram_fixed<<<blocks, COUNTERS>>>(pixels, bins);
    };
    return {launch, products(2), copies(6), [=] { return difference(launch, bins, BINS); }};
}

/* ---- large_block ---- */

enum { TILES = 1 << 19, EDGE = 8, CELLS = EDGE * EDGE, ROUNDS = 80 };

/* Each thread smooths a tile of 8 x 8, whose edges meet, and holds what the tile was and what it is: 128 registers and
 * more. A block of 1024 threads has 64 for each; the fix is a block of 128. */
template <int THREADS> static __global__ void __launch_bounds__(THREADS) smooth(const float *in, float *out)
{
    int tile = blockIdx.x * THREADS + threadIdx.x;
    float was[CELLS], is[CELLS];
    for (int k = 0; k < CELLS; k++) was[k] = is[k] = in[(size_t)k * TILES + tile];
    for (int round = 0; round < ROUNDS; round++)
#pragma unroll
        for (int k = 0; k < CELLS; k++) {
            int row = k / EDGE * EDGE, left = row + (k + EDGE - 1) % EDGE, right = row + (k + 1) % EDGE;
            int up = (k + CELLS - EDGE) % CELLS, down = (k + EDGE) % CELLS;
            is[k] = 0.5f * was[k] + 0.125f * (is[left] + is[right] + is[up] + is[down]); // FAULT large_block
        }
    for (int k = 0; k < CELLS; k++) out[(size_t)k * TILES + tile] = is[k];
}

static work large_block()
{
    float *in = random_floats((size_t)TILES * CELLS), *out = memory<float>((size_t)TILES * CELLS);
    auto launch = [=](bool fixed) {
        if (!fixed) smooth<1024><<<TILES / 1024, 1024>>>(in, out);
        if (fixed) smooth<128><<<TILES / 128, 128>>>(in, out);
    };
    return {launch, copies(5), products(1), [=] { return difference(launch, out, (size_t)TILES * CELLS); }};
}

/* ---- column_scan ---- */

enum { COLUMNS = 32768, DEPTH = 2048 };

/* Running sums down the columns. OUT may be IN for all that the compiler knows, so each load waits for the store before. */
static __global__ void column_scan(const float *in, float *out)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    float total = 0;
    for (int row = 0; row < DEPTH; row++) {
        total += in[row * COLUMNS + column]; // FAULT column_scan
        out[row * COLUMNS + column] = total;
    }
}

/* Eight loads are under way before the first of their sums is stored. */
static __global__ void column_scan_fixed(const float *in, float *out)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    float total = 0, next[8];
    for (int row = 0; row < DEPTH; row += 8) {
        for (int k = 0; k < 8; k++) next[k] = in[(row + k) * COLUMNS + column];
        for (int k = 0; k < 8; k++) {
            total += next[k];
            out[(row + k) * COLUMNS + column] = total;
        }
    }
}

static work column_scans()
{
    size_t cells = (size_t)COLUMNS * DEPTH;
    float *in = random_floats(cells), *out = memory<float>(cells);
    auto launch = [=](bool fixed) {
        if (!fixed) column_scan<<<COLUMNS / 128, 128>>>(in, out);
        if (fixed) column_scan_fixed<<<COLUMNS / 128, 128>>>(in, out);
    };
    return {launch, products(2), copies(5), [=] { return difference(launch, out, cells); }};
}

/* ---- few_blocks ---- */

enum { IMAGES = 32, IMAGE = 1 << 20 };

/* A block for each image leaves three of four multiprocessors idle; the fix is 64 blocks for each. */
static __global__ void normalize(const float *__restrict__ in, const float *mean, const float *scale, float *__restrict__ out)
{
    float middle = mean[blockIdx.y], factor = scale[blockIdx.y];
    size_t first = (size_t)blockIdx.y * IMAGE;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < IMAGE; i += gridDim.x * blockDim.x)
        out[first + i] = (in[first + i] - middle) * factor; // FAULT few_blocks
}

static work few_blocks()
{
    float *in = random_floats((size_t)IMAGES * IMAGE), *out = memory<float>((size_t)IMAGES * IMAGE);
    float *mean = random_floats(IMAGES), *scale = random_floats(IMAGES);
    auto launch = [=](bool fixed) { normalize<<<dim3(fixed ? 64 : 1, IMAGES), 512>>>(in, mean, scale, out); };
    return {launch, copies(6), copies(6), [=] { return difference(launch, out, (size_t)IMAGES * IMAGE); }};
}

/* ---- masked ---- */

enum { SITES = 1 << 24, STEPS = 256 };

/* One of eight sites is active, anywhere: nearly every warp works for a few of its lanes. */
static __global__ void relax(const unsigned char *active, const float *in, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (!active[i]) return;
    float a = in[i] + 1, x = 0.5f;
    for (int k = 0; k < STEPS; k++)
        x = x * (1.5f - 0.5f * a * x * x); // FAULT masked
    out[i] = x;
}

/* A list, made once, has the active ones. */
static __global__ void relax_fixed(const int *list, int n, const float *in, float *out)
{
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= n) return;
    int i = list[k];
    float a = in[i] + 1, x = 0.5f;
    for (int k = 0; k < STEPS; k++)
        x = x * (1.5f - 0.5f * a * x * x);
    out[i] = x;
}

static work masked()
{
    std::vector<unsigned char> flag(SITES);
    std::vector<int> sites;
    for (int i = 0; i < SITES; i++) {
        flag[i] = scramble(i) % 8 == 0;
        if (flag[i]) sites.push_back(i);
    }
    unsigned char *active = upload(flag);
    int *list = upload(sites), n = sites.size();
    float *in = random_floats(SITES), *out = memory<float>(SITES);
    auto launch = [=](bool fixed) {
        if (!fixed) relax<<<SITES / 256, 256>>>(active, in, out);
        if (fixed) relax_fixed<<<(n + 255) / 256, 256>>>(list, n, in, out);
    };
    return {launch, products(1), copies(5), [=] { return difference(launch, out, SITES); }};
}

/* ---- long_rows ---- */

enum { SHORT_ROWS = 65536, SHORT = 4096, LONG_ROWS = 128, LONG = 262144, ROWS = SHORT_ROWS + LONG_ROWS };

/* A block sums each row. The few long rows are the last: when they begin, there is no other work left for most
 * multiprocessors. The fix takes them first. */
static __global__ void sparse_sums(const size_t *start, const int *order, const float *values, float *out)
{
    __shared__ float part[8];
    int row = order[blockIdx.x];
    size_t end = start[row + 1];
    float sum = 0;
    for (size_t i = start[row] + threadIdx.x; i < end; i += 256)
        sum += values[i]; // FAULT long_rows
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) out[row] = part[0] + part[1] + part[2] + part[3] + part[4] + part[5] + part[6] + part[7];
}

static work long_rows()
{
    std::vector<size_t> starts(ROWS + 1);
    std::vector<int> rising(ROWS), falling(ROWS);
    for (int r = 0; r < ROWS; r++) {
        starts[r + 1] = starts[r] + (r < SHORT_ROWS ? SHORT : LONG);
        rising[r] = r;
        falling[r] = ROWS - 1 - r;
    }
    float *values = random_floats(starts[ROWS]), *out = memory<float>(ROWS);
    size_t *start = upload(starts);
    int *as_they_come = upload(rising), *longest_first = upload(falling);
    auto launch = [=](bool fixed) { sparse_sums<<<ROWS, 256>>>(start, fixed ? longest_first : as_they_come, values, out); };
    return {launch, products(2), copies(4), [=] { return difference(launch, out, ROWS); }};
}

/* ---- row_norm ---- */

enum { NORMED_ROWS = 65536, WIDTH = 1024 };

/* Thread 0 adds up the squares while the other 31 warps wait. */
static __global__ void row_norm(const float *in, float *out)
{
    __shared__ float square[WIDTH];
    size_t i = (size_t)blockIdx.x * WIDTH + threadIdx.x;
    float value = in[i];
    square[threadIdx.x] = value * value;
    __syncthreads();
    if (threadIdx.x == 0) {
        float sum = 0;
        for (int k = 0; k < WIDTH; k++) sum += square[k];
        square[0] = rsqrtf(sum / WIDTH + 1e-5f);
    }
    __syncthreads(); // FAULT row_norm
    out[i] = value * square[0];
}

/* Each warp adds up its own with shuffles, and then all of them the 32 sums. */
static __global__ void row_norm_fixed(const float *in, float *out)
{
    __shared__ float part[32];
    size_t i = (size_t)blockIdx.x * WIDTH + threadIdx.x;
    float value = in[i], sum = value * value;
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = part[threadIdx.x % 32];
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
    out[i] = value * rsqrtf(sum / WIDTH + 1e-5f);
}

static work row_norms()
{
    size_t cells = (size_t)NORMED_ROWS * WIDTH;
    float *in = random_floats(cells), *out = memory<float>(cells);
    auto launch = [=](bool fixed) {
        if (!fixed) row_norm<<<NORMED_ROWS, WIDTH>>>(in, out);
        if (fixed) row_norm_fixed<<<NORMED_ROWS, WIDTH>>>(in, out);
    };
    return {launch, copies(8), products(1), [=] { return difference(launch, out, cells); }};
}

/* ---- ring ---- */

enum { SAMPLES = 1 << 22, TAPS = 256 };

static __constant__ float weight[TAPS];

/* A filter over a ring buffer: each tap divides by the length, which the compiler does not know. */
static __global__ void ring_filter(const float *ring, int length, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, head = i % length;
    float sum = 0;
    for (int k = 0; k < TAPS; k++)
        sum += weight[k] * ring[(head + k) % length]; // FAULT ring
    out[i] = sum;
}

/* The position goes round. */
static __global__ void ring_filter_fixed(const float *ring, int length, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, at = i % length;
    float sum = 0;
    for (int k = 0; k < TAPS; k++) {
        sum += weight[k] * ring[at];
        if (++at == length) at = 0;
    }
    out[i] = sum;
}

static work ring_filters()
{
    enum { LENGTH = 1000 };
    float *ring = random_floats(LENGTH), *out = memory<float>(SAMPLES), *taps = random_floats(TAPS);
    CHECK(cudaMemcpyToSymbol(weight, taps, sizeof weight, 0, cudaMemcpyDeviceToDevice));
    auto launch = [=](bool fixed) {
        if (!fixed) ring_filter<<<SAMPLES / 256, 256>>>(ring, LENGTH, out);
        if (fixed) ring_filter_fixed<<<SAMPLES / 256, 256>>>(ring, LENGTH, out);
    };
    return {launch, products(1), products(2), [=] { return difference(launch, out, SAMPLES); }};
}

static const struct {
    const char *name;
    work (*prepare)();
} programs[] = {
    {"particles", particles},   {"regions", regions}, {"private_bins", private_bins}, {"large_block", large_block}, {"column_scan", column_scans},
    {"few_blocks", few_blocks}, {"masked", masked},   {"long_rows", long_rows},       {"row_norm", row_norms},      {"ring", ring_filters},
};

int main(int argc, char **argv)
{
    std::vector<std::string> names;
    for (auto &p : programs) names.push_back(p.name);
    return run_program(argc, argv, names, [](const std::string &name) {
        return std::find_if(std::begin(programs), std::end(programs), [&](auto &p) { return name == p.name; })->prepare();
    });
}
