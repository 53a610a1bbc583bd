/* fourth.cu -- another ten kernels, each with one known fault, and its fix.
 *
 *     fourth --list
 *     fourth NAME [--fixed | --both] [--steps N] [--seconds S]
 *
 * frame.h has the steps and what is printed. The comment FAULT marks the line at fault. */
#include "data.h"

static __global__ void scramble(unsigned *at, size_t n)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        at[i] = mixed(i);
}

/* Of 32 bits that look random. */
static unsigned *words(size_t n)
{
    unsigned *at = zeros<unsigned>(n);
    scramble<<<2048, 256>>>(at, n);
    return at;
}

/* ---- quantise ---- */

enum { WEIGHTS = 1 << 27, RUN = 64 };

/* A thread takes 64 values that lie side by side, so the lanes of a warp are 256 bytes apart. */
static __global__ void quantised(const float *__restrict__ in, float scale, signed char *__restrict__ out)
{
    size_t first = (blockIdx.x * (size_t)blockDim.x + threadIdx.x) * RUN;
    for (int k = 0; k < RUN; k++)
        out[first + k] = (signed char)__float2int_rn(in[first + k] * scale); // FAULT quantise
}

/* The lanes lie side by side. */
static __global__ void quantised_fixed(const float *__restrict__ in, float scale, signed char *__restrict__ out)
{
    size_t first = blockIdx.x * (size_t)blockDim.x * RUN + threadIdx.x;
    for (int k = 0; k < RUN; k++)
        out[first + k * blockDim.x] = (signed char)__float2int_rn(in[first + k * blockDim.x] * scale);
}

static work quantise()
{
    float *in = numbers(WEIGHTS);
    signed char *out = zeros<signed char>(WEIGHTS);
    auto launch = [=](bool fixed) {
        if (!fixed) quantised<<<WEIGHTS / RUN / 256, 256>>>(in, 127, out);
        if (fixed) quantised_fixed<<<WEIGHTS / RUN / 256, 256>>>(in, 127, out);
    };
    return {launch, copying(10), arithmetic(3), [=] { return difference(launch, out, WEIGHTS); }};
}

/* ---- fingerprints ---- */

enum { MOLECULES = 8192, WORDS_OF_PRINT = 32 };

/* How many bits two molecules have in common, of those of either. The lanes of a warp read one word each of 32 fingerprints:
 * at a pitch of 32 words they use one bank, at 33 each has its own. */
template <int PITCH> static __global__ void tanimoto(const unsigned *print, const float *bits, float *out)
{
    __shared__ unsigned left[32][WORDS_OF_PRINT], right[32][PITCH];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 32, column = blockIdx.x * 32, both = 0;
    left[y][x] = print[(row + y) * WORDS_OF_PRINT + x];
    right[y][x] = print[(column + y) * WORDS_OF_PRINT + x];
    __syncthreads();
    for (int k = 0; k < WORDS_OF_PRINT; k++)
        both += __popc(left[y][k] & right[x][k]); // FAULT fingerprints
    out[(row + y) * MOLECULES + column + x] = both / (bits[row + y] + bits[column + x] - both);
}

static work fingerprints()
{
    std::vector<unsigned> prints(MOLECULES * WORDS_OF_PRINT);
    std::vector<float> counts(MOLECULES);
    for (int i = 0; i < MOLECULES * WORDS_OF_PRINT; i++) {
        prints[i] = mixed(i) & mixed(~i);
        counts[i / WORDS_OF_PRINT] += __builtin_popcount(prints[i]);
    }
    unsigned *print = on_gpu(prints);
    float *bits = on_gpu(counts), *out = zeros<float>(MOLECULES * MOLECULES);
    auto launch = [=](bool fixed) {
        dim3 grid(MOLECULES / 32, MOLECULES / 32), block(32, 32);
        if (!fixed) tanimoto<WORDS_OF_PRINT><<<grid, block>>>(print, bits, out);
        if (fixed) tanimoto<WORDS_OF_PRINT + 1><<<grid, block>>>(print, bits, out);
    };
    return {launch, arithmetic(4), copying(12), [=] { return difference(launch, out, MOLECULES * MOLECULES); }};
}

/* ---- levels ---- */

enum { NEURONS = 1 << 16, INPUTS = 8192, LEVELS = 16 };

static __device__ inline float level_of(int code, float step) { return (code & 8 ? -1 : 1) * exp2f((code & 7) * step); }

/* A layer whose weights are codes of four bits, by a warp per neuron. What they stand for is a table of each thread, whose
 * index is known only when it runs: it lies in local memory. */
static __global__ void layer(const unsigned *codes, const float4 *x, float step, float *out)
{
    int neuron = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    float level[LEVELS], sum = 0;
    for (int k = 0; k < LEVELS; k++) level[k] = level_of(k, step);
#pragma unroll 2
    for (int i = lane; i < INPUTS / 8; i += 32) {
        unsigned code = codes[neuron * (INPUTS / 8) + i];
        float4 low = x[2 * i], high = x[2 * i + 1];
        const float input[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
        for (int k = 0; k < 8; k++)
            sum += level[code >> 4 * k & 15] * input[k]; // FAULT levels
    }
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
    if (lane == 0) out[neuron] = sum;
}

/* It is one of the block, in shared memory. */
static __global__ void layer_fixed(const unsigned *codes, const float4 *x, float step, float *out)
{
    __shared__ float level[LEVELS];
    int neuron = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    float sum = 0;
    if (threadIdx.x < LEVELS) level[threadIdx.x] = level_of(threadIdx.x, step);
    __syncthreads();
#pragma unroll 2
    for (int i = lane; i < INPUTS / 8; i += 32) {
        unsigned code = codes[neuron * (INPUTS / 8) + i];
        float4 low = x[2 * i], high = x[2 * i + 1];
        const float input[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
        for (int k = 0; k < 8; k++)
            sum += level[code >> 4 * k & 15] * input[k];
    }
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
    if (lane == 0) out[neuron] = sum;
}

static work levels()
{
    unsigned *codes = words((size_t)NEURONS * (INPUTS / 8));
    float4 *x = (float4 *)numbers(INPUTS);
    float *out = zeros<float>(NEURONS);
    auto launch = [=](bool fixed) {
        if (!fixed) layer<<<NEURONS / 8, 256>>>(codes, x, 0.5f, out);
        if (fixed) layer_fixed<<<NEURONS / 8, 256>>>(codes, x, 0.5f, out);
    };
    return {launch, copying(9), arithmetic(3), [=] { return difference(launch, out, NEURONS); }};
}

/* ---- crc ---- */

enum { WORDS_OF_MESSAGE = 4096, PARTS_OF_MESSAGE = WORDS_OF_MESSAGE / 4 };

/* The CRC-32 of each message, by a thread, which asks for the next eight words before it needs them; the messages lie in turn.
 * Each byte waits for the table's answer to the byte before. The fix asks four tables about the bytes of a word at once. */
template <bool SLICES> static __global__ void checksums(const uint4 *in, const unsigned *tables, size_t messages, unsigned *out)
{
    __shared__ unsigned table[4][256];
    for (int i = threadIdx.x; i < 4 * 256; i += blockDim.x) table[i / 256][i % 256] = tables[i];
    __syncthreads();
    size_t message = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    uint4 next = in[message], after = in[messages + message];
    unsigned crc = ~0u;
    for (int i = 2; i <= PARTS_OF_MESSAGE; i += 2) {
        const unsigned word[8] = {next.x, next.y, next.z, next.w, after.x, after.y, after.z, after.w};
        if (i < PARTS_OF_MESSAGE) next = in[i * messages + message], after = in[(i + 1) * messages + message];
#pragma unroll
        for (int k = 0; k < 8; k++) {
            if (SLICES) {
                crc ^= word[k];
                crc = table[3][crc & 255] ^ table[2][crc >> 8 & 255] ^ table[1][crc >> 16 & 255] ^ table[0][crc >> 24];
            } else {
#pragma unroll
                for (int byte = 0; byte < 4; byte++)
                    crc = crc >> 8 ^ table[0][(crc ^ word[k] >> 8 * byte) & 255]; // FAULT crc
            }
        }
    }
    out[message] = ~crc;
}

static work crc()
{
    std::vector<unsigned> tables(4 * 256);
    for (unsigned b = 0; b < 4 * 256; b++) {
        unsigned value = b < 256 ? b : tables[b - 256];
        for (int bit = 0; bit < 8; bit++) value = value >> 1 ^ (value & 1 ? 0xedb88320u : 0);
        tables[b] = value;
    }
    int blocks = sm_count();
    size_t messages = (size_t)blocks * 256;
    uint4 *in = (uint4 *)words(messages * WORDS_OF_MESSAGE);
    unsigned *table = on_gpu(tables), *out = zeros<unsigned>(messages);
    auto launch = [=](bool fixed) {
        if (!fixed) checksums<false><<<blocks, 256>>>(in, table, messages, out);
        if (fixed) checksums<true><<<blocks, 256>>>(in, table, messages, out);
    };
    return {launch, arithmetic(2), copying(8), [=] { return difference(launch, out, messages); }};
}

/* ---- fir ---- */

enum { SAMPLES = 1 << 27, TAPS = 16 };

struct taps {
    float at[TAPS];
};

/* A filter of 16 taps. A block takes 32,768 samples, which need more than half of the shared memory, so a multiprocessor has
 * one block, which first loads and then computes. The fix takes 2,048 samples, and eight blocks take turns. */
template <int CHUNK> static __global__ void filtered(const float *in, taps tap, float *out)
{
    extern __shared__ float chunk[];
    size_t first = (size_t)blockIdx.x * CHUNK;
    for (int i = threadIdx.x; i < CHUNK + TAPS - 1; i += blockDim.x)
        chunk[i] = in[first + i]; // FAULT fir
    __syncthreads();
    for (int i = threadIdx.x; i < CHUNK; i += blockDim.x) {
        float sum = 0;
#pragma unroll
        for (int k = 0; k < TAPS; k++)
            sum += tap.at[k] * chunk[i + k]; // FAULT fir
        out[first + i] = sum;
    }
}

static work fir()
{
    enum { MANY = 32768, FEW = 2048 };
    float *in = numbers(SAMPLES + TAPS), *out = zeros<float>(SAMPLES);
    taps tap;
    for (int k = 0; k < TAPS; k++) tap.at[k] = 1.0f / (k + 2);
    CHECK(cudaFuncSetAttribute(filtered<MANY>, cudaFuncAttributeMaxDynamicSharedMemorySize, (MANY + TAPS) * sizeof(float)));
    auto launch = [=](bool fixed) {
        if (!fixed) filtered<MANY><<<SAMPLES / MANY, 256, (MANY + TAPS) * sizeof(float)>>>(in, tap, out);
        if (fixed) filtered<FEW><<<SAMPLES / FEW, 256, (FEW + TAPS) * sizeof(float)>>>(in, tap, out);
    };
    return {launch, copying(14), arithmetic(4), [=] { return difference(launch, out, SAMPLES); }};
}

/* ---- payoffs ---- */

enum { CONTRACTS = 1 << 22, NODES = 64 };

static __device__ inline float node(int n) { return (n - (NODES - 1) / 2.0f) * (8.0f / NODES); }
static __device__ inline float weight(float z) { return expf(-0.5f * z * z); }

/* Contracts of four kinds lie in turn, and the lanes of a warp have one kind after the other. In the fix, each warp has one
 * kind of 128 contracts. */
template <bool BY_WARP> static __global__ void expected(const float *price, const float *strike, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (BY_WARP) i = i / 128 * 128 + i % 32 * 4 + i / 32 % 4;
    float from = 0.5f + price[i], limit = 0.5f + strike[i], spread = 0.2f * from, sum = 0;
    switch (i % 4) {
    case 0:
        for (int n = 0; n < NODES; n++)
            sum += weight(node(n)) * fmaxf(0, from * expf(spread * node(n)) - limit); // FAULT payoffs
        break;
    case 1:
        for (int n = 0; n < NODES; n++)
            sum += weight(node(n)) * fminf(limit, from * expf(-spread * node(n))); // FAULT payoffs
        break;
    case 2:
        for (int n = 0; n < NODES; n++)
            sum += weight(node(n)) * fabsf(from + spread * expf(node(n)) - limit); // FAULT payoffs
        break;
    default:
        for (int n = 0; n < NODES; n++)
            sum += weight(node(n)) * sqrtf(limit + from * expf(spread * node(n))); // FAULT payoffs
    }
    out[i] = sum;
}

static work payoffs()
{
    float *price = numbers(CONTRACTS), *strike = numbers(CONTRACTS, true), *out = zeros<float>(CONTRACTS);
    auto launch = [=](bool fixed) {
        if (!fixed) expected<false><<<CONTRACTS / 256, 256>>>(price, strike, out);
        if (fixed) expected<true><<<CONTRACTS / 256, 256>>>(price, strike, out);
    };
    return {launch, arithmetic(2), copying(8), [=] { return difference(launch, out, CONTRACTS); }};
}

/* ---- deposit ---- */

enum { PARTICLES = 1 << 25, CELLS = 1 << 16 };

/* The charges of particles are added to cells, in double precision and as it was done before there was an instruction for
 * that: each tries until no other was quicker. */
static __global__ void deposited(const unsigned *place, const float *charge, double *cells)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long *cell = (unsigned long long *)&cells[place[i] % CELLS], now = *cell, before;
    do {
        before = now;
        now = atomicCAS(cell, before, __double_as_longlong(charge[i] + __longlong_as_double(before))); // FAULT deposit
    } while (now != before);
}

/* There is one. */
static __global__ void deposited_fixed(const unsigned *place, const float *charge, double *cells)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&cells[place[i] % CELLS], (double)charge[i]);
}

static work deposit()
{
    unsigned *place = words(PARTICLES);
    float *charge = numbers(PARTICLES, true);
    double *cells = zeros<double>(CELLS);
    auto launch = [=](bool fixed) {
        if (!fixed) deposited<<<PARTICLES / 256, 256>>>(place, charge, cells);
        if (fixed) deposited_fixed<<<PARTICLES / 256, 256>>>(place, charge, cells);
    };
    return {launch, copying(9), arithmetic(3), [=] { return difference(launch, cells, CELLS); }};
}

/* ---- hubs ---- */

enum { VERTICES = 1 << 18, HUB_EVERY = 1 << 15, HUB_EDGES = 1 << 18, MOST_EDGES = 256 };

/* What arrives at each vertex of a graph, by a warp. Eight vertices have 2,000 times the edges of the others, and their warps
 * go on when all others have ended. */
static __global__ void arriving(const int *start, const unsigned *source, const float *rank, float *out)
{
    int vertex = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32, end = start[vertex + 1];
    float sum = 0;
    for (int e = start[vertex] + lane; e < end; e += 32)
        sum += rank[source[e] % VERTICES]; // FAULT hubs
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
    if (lane == 0) out[vertex] += sum;
}

/* A warp has at most 256 edges of a vertex. */
static __global__ void arriving_fixed(const int3 *part, int parts, const unsigned *source, const float *rank, float *out)
{
    int p = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (p >= parts) return;
    int vertex = part[p].x, end = part[p].z;
    float sum = 0;
    for (int e = part[p].y + lane; e < end; e += 32) sum += rank[source[e] % VERTICES];
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
    if (lane == 0) atomicAdd(&out[vertex], sum);
}

static work hubs()
{
    std::vector<int> starts(VERTICES + 1);
    std::vector<int3> all;
    for (int v = 0; v < VERTICES; v++) {
        starts[v + 1] = starts[v] + (v % HUB_EVERY == HUB_EVERY / 2 ? HUB_EDGES : 64 + mixed(v) % 128);
        for (int e = starts[v]; e < starts[v + 1]; e += MOST_EDGES)
            all.push_back(make_int3(v, e, std::min(e + MOST_EDGES, starts[v + 1])));
    }
    int parts = all.size(), *start = on_gpu(starts);
    int3 *part = on_gpu(all);
    unsigned *source = words(starts[VERTICES]);
    float *rank = numbers(VERTICES), *out = zeros<float>(VERTICES);
    auto launch = [=](bool fixed) {
        if (!fixed) arriving<<<VERTICES / 8, 256>>>(start, source, rank, out);
        if (fixed) arriving_fixed<<<(parts + 7) / 8, 256>>>(part, parts, source, rank, out);
    };
    return {launch, arithmetic(3), copying(8), [=] { return difference(launch, out, VERTICES); }};
}

/* ---- relaxation ---- */

enum { RODS_OF_WARP = 32 };

/* Heat in rods of 128 cells, by a warp for each, until nothing moves. The warps of a block meet in every turn, until nothing
 * moves in 32 rods; in the fix, each ends its own. */
template <bool TOGETHER> static __global__ void __launch_bounds__(1024, 2) settled(const float4 *heat, const float *coupling, float4 *out)
{
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int k = 0; k < RODS_OF_WARP; k++) {
        int rod = (k * gridDim.x + blockIdx.x) * 32 + warp;
        float4 source = heat[rod * 32 + lane], at = {0, 0, 0, 0};
        float c = 0.1f + 0.39f * coupling[rod];
        bool moves = true;
        while (TOGETHER ? __syncthreads_or(moves) : moves) { // FAULT relaxation
            if (!moves) continue;
            float left = __shfl_up_sync(~0u, at.w, 1), right = __shfl_down_sync(~0u, at.x, 1);
            if (lane == 0) left = 0;
            if (lane == 31) right = 0;
            float4 next = {source.x + c * (left + at.y), source.y + c * (at.x + at.z), source.z + c * (at.y + at.w),
                           source.w + c * (at.z + right)};
            float change = fmaxf(fabsf(next.x - at.x), fabsf(next.y - at.y));
            change = fmaxf(change, fmaxf(fabsf(next.z - at.z), fabsf(next.w - at.w)));
            at = next;
            moves = __any_sync(~0u, change > 1e-4f);
        }
        out[rod * 32 + lane] = at;
    }
}

static work relaxation()
{
    int blocks = sm_count() * 2, rods = blocks * 32 * RODS_OF_WARP;
    size_t n = (size_t)rods * 128;
    float *heat = numbers(n), *coupling = numbers(rods), *out = zeros<float>(n);
    auto launch = [=](bool fixed) {
        if (!fixed) settled<true><<<blocks, 1024>>>((float4 *)heat, coupling, (float4 *)out);
        if (fixed) settled<false><<<blocks, 1024>>>((float4 *)heat, coupling, (float4 *)out);
    };
    return {launch, copying(8), arithmetic(2), [=] { return difference(launch, out, n); }};
}

/* ---- attraction ---- */

enum { ATOMS = 1 << 20, NEAR_ATOMS = 256 };

/* The energy of atoms and those near them, whose potential is written as it is in a book: by powers of 12 and 6, of any
 * exponent. The fix multiplies. */
template <bool POWERS> static __global__ void energies(const float *x, const float *y, const float *z, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float at_x = x[i], at_y = y[i], at_z = z[i], sum = 0;
    for (int k = 1; k <= NEAR_ATOMS; k++) {
        int other = (i + k) % ATOMS;
        float dx = x[other] - at_x, dy = y[other] - at_y, dz = z[other] - at_z, square = 0.25f + dx * dx + dy * dy + dz * dz;
        if (POWERS) {
            float ratio = 0.6f / sqrtf(square);
            sum += powf(ratio, 12) - powf(ratio, 6); // FAULT attraction
        } else {
            float ratio = 0.36f / square, cube = ratio * ratio * ratio;
            sum += cube * cube - cube;
        }
    }
    out[i] = sum;
}

static work attraction()
{
    float *x = numbers(3 * ATOMS), *y = x + ATOMS, *z = y + ATOMS, *out = zeros<float>(ATOMS);
    auto launch = [=](bool fixed) {
        if (!fixed) energies<true><<<ATOMS / 256, 256>>>(x, y, z, out);
        if (fixed) energies<false><<<ATOMS / 256, 256>>>(x, y, z, out);
    };
    return {launch, arithmetic(3), copying(8), [=] { return difference(launch, out, ATOMS); }};
}

static const struct {
    const char *name;
    work (*prepare)();
} programs[] = {
    {"quantise", quantise}, {"fingerprints", fingerprints}, {"levels", levels}, {"crc", crc},               {"fir", fir},
    {"payoffs", payoffs},   {"deposit", deposit},           {"hubs", hubs},     {"relaxation", relaxation}, {"attraction", attraction},
};

int main(int argc, char **argv)
{
    std::vector<std::string> names;
    for (auto &p : programs) names.push_back(p.name);
    return run_program(argc, argv, names, [](const std::string &name) {
        return std::find_if(std::begin(programs), std::end(programs), [&](auto &p) { return name == p.name; })->prepare();
    });
}
