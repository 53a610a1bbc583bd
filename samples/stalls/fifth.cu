/* fifth.cu -- another ten kernels, each with one known fault, and its fix.
 *
 *     fifth --list
 *     fifth NAME [--fixed | --both] [--steps N] [--seconds S]
 *
 * frame.h has the steps and what is printed. The comment FAULT marks the line at fault. */
#include "data.h"

/* ---- tridiagonal ---- */

enum { SYSTEMS = 1 << 18, UNKNOWNS = 128 };

/* Where a value of a system lies: system by system, or all first values, then all second values. */
template <bool IN_TURN> static __device__ inline int place(int system, int k)
{
    return IN_TURN ? k * SYSTEMS + system : system * UNKNOWNS + k;
}

template <bool IN_TURN> static __global__ void couple(float *side, float *right)
{
    int system = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < UNKNOWNS; k++) {
        side[place<IN_TURN>(system, k)] = mixed(system * UNKNOWNS + k) / 4294967296.0f;
        right[place<IN_TURN>(system, k)] = mixed(~(system * UNKNOWNS + k)) / 4294967296.0f;
    }
}

/* The sum of the unknowns of each system, by a thread: forwards, then back. The systems lie one after the other, so the
 * lanes of a warp are 512 bytes apart; in the fix, they lie in turn. */
template <bool IN_TURN>
static __global__ void solved(const float *__restrict__ side, const float *__restrict__ right, float *__restrict__ upper,
                              float *__restrict__ reduced, float *__restrict__ out)
{
    int system = blockIdx.x * blockDim.x + threadIdx.x;
    float before = 0, c = 0, d = 0, x = 0, sum = 0;
    for (int k = 0; k < UNKNOWNS; k++) {
        float a = side[place<IN_TURN>(system, k)], r = right[place<IN_TURN>(system, k)]; // FAULT tridiagonal
        float scale = 1 / (3 + before * c);
        d = (r + before * d) * scale;
        c = -a * scale;
        before = a;
        upper[place<IN_TURN>(system, k)] = c;   // FAULT tridiagonal
        reduced[place<IN_TURN>(system, k)] = d; // FAULT tridiagonal
    }
    for (int k = UNKNOWNS - 1; k >= 0; k--) {
        x = reduced[place<IN_TURN>(system, k)] - upper[place<IN_TURN>(system, k)] * x; // FAULT tridiagonal
        sum += x;
    }
    out[system] = sum;
}

static work tridiagonal()
{
    size_t n = (size_t)SYSTEMS * UNKNOWNS;
    float *side[2] = {zeros<float>(n), zeros<float>(n)}, *right[2] = {zeros<float>(n), zeros<float>(n)};
    couple<false><<<SYSTEMS / 256, 256>>>(side[0], right[0]);
    couple<true><<<SYSTEMS / 256, 256>>>(side[1], right[1]);
    float *upper = zeros<float>(n), *reduced = zeros<float>(n), *out = zeros<float>(SYSTEMS);
    auto launch = [=](bool fixed) {
        if (!fixed) solved<false><<<SYSTEMS / 256, 256>>>(side[0], right[0], upper, reduced, out);
        if (fixed) solved<true><<<SYSTEMS / 256, 256>>>(side[1], right[1], upper, reduced, out);
    };
    return {launch, copying(9), arithmetic(3), [=] { return difference(launch, out, SYSTEMS); }};
}

/* ---- cosines ---- */

enum { SIDE = 16, TILE_PIXELS = SIDE * SIDE, TILES = 1 << 18, TILES_OF_BLOCK = 16 };

struct basis {
    float at[SIDE][SIDE];
};

/* The cosine transform of tiles of 16 x 16 pixels: a thread transforms a row, then a column. The rows of a warp lie in shared
 * memory at a pitch of 16 words, where they use two banks; at 17, each has its own. */
template <int PITCH> static __global__ void __launch_bounds__(256, 4) transformed(const float *in, basis wave, float *out)
{
    __shared__ float tile[TILES_OF_BLOCK * SIDE][PITCH];
    size_t first = (size_t)blockIdx.x * TILES_OF_BLOCK * TILE_PIXELS;
    for (int k = 0; k < SIDE; k++) {
        int i = k * 256 + threadIdx.x;
        tile[i / SIDE][i % SIDE] = in[first + i];
    }
    __syncthreads();
    float value[SIDE];
#pragma unroll
    for (int k = 0; k < SIDE; k++)
        value[k] = tile[threadIdx.x][k]; // FAULT cosines
#pragma unroll 2
    for (int f = 0; f < SIDE; f++) {
        float sum = 0;
#pragma unroll
        for (int k = 0; k < SIDE; k++) sum += wave.at[f][k] * value[k];
        tile[threadIdx.x][f] = sum; // FAULT cosines
    }
    __syncthreads();
    int top = threadIdx.x / SIDE * SIDE, column = threadIdx.x % SIDE;
#pragma unroll
    for (int k = 0; k < SIDE; k++) value[k] = tile[top + k][column];
#pragma unroll 2
    for (int f = 0; f < SIDE; f++) {
        float sum = 0;
#pragma unroll
        for (int k = 0; k < SIDE; k++) sum += wave.at[f][k] * value[k];
        out[first + (top + f) * SIDE + column] = sum;
    }
}

static work cosines()
{
    size_t n = (size_t)TILES * TILE_PIXELS;
    float *in = numbers(n), *out = zeros<float>(n);
    basis wave;
    for (int f = 0; f < SIDE; f++)
        for (int k = 0; k < SIDE; k++) wave.at[f][k] = std::cos((2 * k + 1) * f * 3.14159265358979 / (2 * SIDE));
    auto launch = [=](bool fixed) {
        if (!fixed) transformed<SIDE><<<TILES / TILES_OF_BLOCK, 256>>>(in, wave, out);
        if (fixed) transformed<SIDE + 1><<<TILES / TILES_OF_BLOCK, 256>>>(in, wave, out);
    };
    return {launch, arithmetic(2), copying(8), [=] { return difference(launch, out, n); }};
}

/* ---- neighbours ---- */

enum { QUERIES = 1 << 18, KNOWN = 1024, NEAREST = 16 };

static __device__ inline float far_from(float3 a, float3 b)
{
    float x = a.x - b.x, y = a.y - b.y, z = a.z - b.z;
    return x * x + y * y + z * z;
}

/* The sum of the distances to the nearest 16 of 1,024 points. A thread keeps them in order, in an array whose index is known
 * only when it runs: it lies in local memory. */
static __global__ void nearest(const float3 *known, const float3 *query, float *out)
{
    float3 here = query[blockIdx.x * blockDim.x + threadIdx.x];
    float best[NEAREST], sum = 0;
    for (int k = 0; k < NEAREST; k++) best[k] = 1e30f;
    for (int i = 0; i < KNOWN; i++) {
        float apart = far_from(known[i], here);
        if (apart >= best[NEAREST - 1]) continue; // FAULT neighbours
        int k = NEAREST - 1;
        for (; k > 0 && best[k - 1] > apart; k--) // FAULT neighbours
            best[k] = best[k - 1];                // FAULT neighbours
        best[k] = apart;                          // FAULT neighbours
    }
    for (int k = 0; k < NEAREST; k++) sum += sqrtf(best[k]);
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

/* Each place is compared, and all are registers. */
static __global__ void nearest_fixed(const float3 *known, const float3 *query, float *out)
{
    float3 here = query[blockIdx.x * blockDim.x + threadIdx.x];
    float best[NEAREST], sum = 0;
#pragma unroll
    for (int k = 0; k < NEAREST; k++) best[k] = 1e30f;
    for (int i = 0; i < KNOWN; i++) {
        float apart = far_from(known[i], here);
        if (apart >= best[NEAREST - 1]) continue;
#pragma unroll
        for (int k = 0; k < NEAREST; k++) {
            float nearer = fminf(best[k], apart);
            apart = fmaxf(best[k], apart);
            best[k] = nearer;
        }
    }
#pragma unroll
    for (int k = 0; k < NEAREST; k++) sum += sqrtf(best[k]);
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

static work neighbours()
{
    float3 *known = (float3 *)numbers(3 * KNOWN), *query = (float3 *)(numbers(3 * (QUERIES + KNOWN)) + 3 * KNOWN);
    float *out = zeros<float>(QUERIES);
    auto launch = [=](bool fixed) {
        if (!fixed) nearest<<<QUERIES / 256, 256>>>(known, query, out);
        if (fixed) nearest_fixed<<<QUERIES / 256, 256>>>(known, query, out);
    };
    return {launch, arithmetic(3), copying(9), [=] { return difference(launch, out, QUERIES); }};
}

/* ---- sentinel ---- */

enum { ROOM_OF_TEXT = 1 << 16, SHORTEST_TEXT = 60000 };

static __global__ void write_texts(unsigned *text)
{
    size_t first = (size_t)blockIdx.x * ROOM_OF_TEXT;
    unsigned end = SHORTEST_TEXT + mixed(blockIdx.x) % (ROOM_OF_TEXT - SHORTEST_TEXT);
    for (unsigned i = threadIdx.x; i < ROOM_OF_TEXT; i += blockDim.x)
        text[first + i] = i == end ? 0 : mixed(first + i) | 1;
}

/* How long each text is, by a warp. It looks for the word that ends it in 32 words, and asks for the next 32 when it was not
 * among them. */
static __global__ void lengths(const unsigned *text, int *out)
{
    int number = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32, first = 0;
    const unsigned *at = text + (size_t)number * ROOM_OF_TEXT + lane;
    unsigned ends;
    while (!(ends = __ballot_sync(~0u, at[first] == 0))) // FAULT sentinel
        first += 32;
    if (lane == 0) out[number] = first + __ffs(ends) - 1;
}

/* It asks for 512 words. */
static __global__ void lengths_fixed(const uint4 *text, int *out)
{
    int number = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32, first = 0, last = ROOM_OF_TEXT;
    const uint4 *at = text + (size_t)number * (ROOM_OF_TEXT / 4) + lane;
    do {
        uint4 part[4];
#pragma unroll
        for (int k = 0; k < 4; k++) part[k] = at[first / 4 + k * 32];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            int word = first + (k * 32 + lane) * 4;
            if (part[k].x == 0) last = word;
            if (part[k].y == 0) last = word + 1;
            if (part[k].z == 0) last = word + 2;
            if (part[k].w == 0) last = word + 3;
        }
        first += 512;
    } while (!__any_sync(~0u, last < ROOM_OF_TEXT));
    if (last < ROOM_OF_TEXT) out[number] = last;
}

static work sentinel()
{
    int texts = sm_count() * 32;
    unsigned *text = zeros<unsigned>((size_t)texts * ROOM_OF_TEXT);
    int *out = zeros<int>(texts);
    write_texts<<<texts, 256>>>(text);
    auto launch = [=](bool fixed) {
        if (!fixed) lengths<<<texts / 8, 256>>>(text, out);
        if (fixed) lengths_fixed<<<texts / 8, 256>>>((const uint4 *)text, out);
    };
    return {launch, copying(8), arithmetic(3), [=] { return difference(launch, out, texts); }};
}

/* ---- calibrate ---- */

enum { COUNTS = 1 << 26, CODES = 49152 };

/* What the codes of a detector stand for. The curve takes 192 KiB of shared memory, so a multiprocessor has one block, of 128
 * threads; the fix has 1,024. */
static __global__ void calibrated(const unsigned short *code, const float *curve, float *out)
{
    extern __shared__ float level[];
    for (int i = threadIdx.x; i < CODES; i += blockDim.x) level[i] = curve[i];
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < COUNTS; i += gridDim.x * blockDim.x)
        out[i] = level[code[i]]; // FAULT calibrate
}

static work calibrate()
{
    std::vector<unsigned short> codes(COUNTS);
    for (int i = 0; i < COUNTS; i++) codes[i] = mixed(i) % CODES;
    unsigned short *code = on_gpu(codes);
    float *curve = numbers(CODES), *out = zeros<float>(COUNTS);
    int blocks = sm_count();
    CHECK(cudaFuncSetAttribute(calibrated, cudaFuncAttributeMaxDynamicSharedMemorySize, CODES * sizeof(float)));
    auto launch = [=](bool fixed) {
        if (!fixed) calibrated<<<blocks, 128, CODES * sizeof(float)>>>(code, curve, out);
        if (fixed) calibrated<<<blocks, 1024, CODES * sizeof(float)>>>(code, curve, out);
    };
    return {launch, copying(14), arithmetic(5), [=] { return difference(launch, out, COUNTS); }};
}

/* ---- walks ---- */

enum { WALKERS = 1 << 18, WALKS = 64 };

static __device__ inline unsigned next(unsigned random) { return random * 1664525u + 1013904223u; }

/* The way to the next collision, forwards or back, in parts of 1/65,536. */
static __device__ inline int way(unsigned random)
{
    int length = __float2int_rn(-65536 * __logf(((random >> 8 & 0x7fffff) + 1) / 8388608.0f));
    return random >> 31 ? length : -length;
}

/* How deep photons get on average before they are absorbed or leave a slab. Each lane follows its photons one after the other,
 * and a warp goes on to the next when the last lane has lost its own. */
static __global__ void followed(float *out)
{
    int walker = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
    for (int walk = 0; walk < WALKS; walk++) {
        unsigned random = mixed(walker * WALKS + walk);
        int depth = 1 << 16;
        do {
            random = next(random);                                 // FAULT walks
            depth += way(random);                                  // FAULT walks
        } while ((random >> 3 & 31) != 0 && abs(depth) < 8 << 16); // FAULT walks
        sum += abs(depth);
        __syncwarp();
    }
    out[walker] = sum / 65536.0f / WALKS;
}

/* A lane that has lost its photon sends the next at once. */
static __global__ void followed_fixed(float *out)
{
    int walker = blockIdx.x * blockDim.x + threadIdx.x, sum = 0, depth = 1 << 16;
    unsigned random = mixed(walker * WALKS);
    for (int walk = 0; walk < WALKS;) {
        random = next(random);
        depth += way(random);
        if ((random >> 3 & 31) == 0 || abs(depth) >= 8 << 16) {
            sum += abs(depth);
            walk++;
            random = mixed(walker * WALKS + walk);
            depth = 1 << 16;
        }
    }
    out[walker] = sum / 65536.0f / WALKS;
}

static work walks()
{
    float *out = zeros<float>(WALKERS);
    auto launch = [=](bool fixed) {
        if (!fixed) followed<<<WALKERS / 256, 256>>>(out);
        if (fixed) followed_fixed<<<WALKERS / 256, 256>>>(out);
    };
    return {launch, copying(9), arithmetic(3), [=] { return difference(launch, out, WALKERS); }};
}

/* ---- partition ---- */

enum { KEYS = 1 << 23, PARTS = 256, ROOM_OF_PART = 1 << 16, KEYS_OF_THREAD = 16 };

static __global__ void scatter_keys(unsigned *at)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    at[i] = mixed(i);
}

/* Keys are put into 256 parts by their first byte, wherever there is room. Each asks its part's counter in global memory. */
static __global__ void parted(const unsigned *key, unsigned *size, unsigned *out)
{
    unsigned mine = key[blockIdx.x * blockDim.x + threadIdx.x], part = mine >> 24;
    unsigned rank = atomicAdd(&size[part], 1); // FAULT partition
    out[part * ROOM_OF_PART + rank % ROOM_OF_PART] = mine;
}

/* A block counts 4,096 keys in shared memory, and asks for room for all of them. */
static __global__ void parted_fixed(const unsigned *key, unsigned *size, unsigned *out)
{
    __shared__ unsigned count[PARTS], base[PARTS];
    unsigned mine[KEYS_OF_THREAD], rank[KEYS_OF_THREAD];
    int first = blockIdx.x * KEYS_OF_THREAD * PARTS + threadIdx.x;
    count[threadIdx.x] = 0;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < KEYS_OF_THREAD; k++) mine[k] = key[first + k * PARTS];
#pragma unroll
    for (int k = 0; k < KEYS_OF_THREAD; k++) rank[k] = atomicAdd(&count[mine[k] >> 24], 1);
    __syncthreads();
    base[threadIdx.x] = atomicAdd(&size[threadIdx.x], count[threadIdx.x]);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < KEYS_OF_THREAD; k++) {
        unsigned part = mine[k] >> 24;
        out[part * ROOM_OF_PART + (base[part] + rank[k]) % ROOM_OF_PART] = mine[k];
    }
}

static work partition()
{
    unsigned *key = zeros<unsigned>(KEYS), *size = zeros<unsigned>(PARTS), *out = zeros<unsigned>(PARTS * ROOM_OF_PART);
    scatter_keys<<<KEYS / 256, 256>>>(key);
    auto launch = [=](bool fixed) {
        if (!fixed) parted<<<KEYS / 256, 256>>>(key, size, out);
        if (fixed) parted_fixed<<<KEYS / KEYS_OF_THREAD / PARTS, PARTS>>>(key, size, out);
    };
    return {launch, arithmetic(3), copying(9), [=] { return difference(launch, size, PARTS); }};
}

/* ---- clusters ---- */

enum { CELL_ROWS = 256, CELL_COLUMNS = 256, WARPS_OF_BLOCK = 16 };

/* The potential of stars in their cell, by a warp for each cell. A block has cells that lie side by side, and most stars are
 * in few rows of cells; in the fix, the cells of a block are far apart. */
template <bool FAR_APART> static __global__ void potential(const int *start, const float2 *star, float *out)
{
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, cells = CELL_ROWS * CELL_COLUMNS;
    int turns = (cells + gridDim.x * WARPS_OF_BLOCK - 1) / (gridDim.x * WARPS_OF_BLOCK);
    for (int turn = 0; turn < turns; turn++) {
        int cell = FAR_APART ? (turn * WARPS_OF_BLOCK + warp) * gridDim.x + blockIdx.x
                             : (blockIdx.x * turns + turn) * WARPS_OF_BLOCK + warp;
        if (cell >= cells) break;
        int begin = start[cell], end = start[cell + 1];
        for (int i = begin + lane; i < end; i += 32) {
            float2 here = star[i];
            float sum = 0;
            for (int k = begin; k < end; k++) {
                float x = star[k].x - here.x, y = star[k].y - here.y; // FAULT clusters
                sum += rsqrtf(x * x + y * y + 0.01f);                 // FAULT clusters
            }
            out[i] = sum;
        }
    }
}

static work clusters()
{
    std::vector<int> starts(1);
    for (int row = 0; row < CELL_ROWS; row++)
        for (int column = 0; column < CELL_COLUMNS; column++) {
            double off = (row - CELL_ROWS / 2) / 32.0;
            starts.push_back(starts.back() + 16 + (int)(400 * std::exp(-off * off)) + mixed(row * CELL_COLUMNS + column) % 16);
        }
    int stars = starts.back(), blocks = sm_count() * 2, *start = on_gpu(starts);
    float2 *star = (float2 *)numbers(2 * (size_t)stars);
    float *out = zeros<float>(stars);
    auto launch = [=](bool fixed) {
        if (!fixed) potential<false><<<blocks, WARPS_OF_BLOCK * 32>>>(start, star, out);
        if (fixed) potential<true><<<blocks, WARPS_OF_BLOCK * 32>>>(start, star, out);
    };
    return {launch, arithmetic(3), copying(8), [=] { return difference(launch, out, stars); }};
}

/* ---- orthogonal ---- */

enum { FRAMES = 8192, VECTORS = 16, LENGTH = 256 };

/* Makes 16 vectors of 256 values orthogonal, by a block. Its threads add up by a tree, and meet after each of the eight levels.
 * In the fix, warps add up by shuffles, and meet once: the sums of warps have two places, which are used by turns. */
template <bool TREE> static __global__ void orthogonalised(const float *in, float *out)
{
    __shared__ float vector[VECTORS][LENGTH], part[LENGTH];
    size_t first = (size_t)blockIdx.x * VECTORS * LENGTH + threadIdx.x;
    int turn = 0, t = threadIdx.x, warps = LENGTH / 32;
    for (int i = 0; i < VECTORS; i++) {
        float mine = in[first + i * LENGTH];
        for (int k = 0; k <= i; k++, turn++) {
            float other = k < i ? vector[k][t] : mine, sum = mine * other;
            if (TREE) {
                part[t] = sum;
                __syncthreads(); // FAULT orthogonal
                for (int d = LENGTH / 2; d > 0; d /= 2) {
                    if (t < d) part[t] += part[t + d]; // FAULT orthogonal
                    __syncthreads();                   // FAULT orthogonal
                }
                sum = part[0];
                __syncthreads(); // FAULT orthogonal
            } else {
                float *place = part + turn % 2 * warps;
                for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
                if (t % 32 == 0) place[t / 32] = sum;
                __syncthreads();
                sum = 0;
                for (int w = 0; w < warps; w++) sum += place[w];
            }
            if (k < i) mine -= other * sum;
            if (k == i) mine *= rsqrtf(sum);
        }
        vector[i][t] = mine;
        out[first + i * LENGTH] = mine;
    }
}

static work orthogonal()
{
    size_t n = (size_t)FRAMES * VECTORS * LENGTH;
    float *in = numbers(n), *out = zeros<float>(n);
    auto launch = [=](bool fixed) {
        if (!fixed) orthogonalised<true><<<FRAMES, LENGTH>>>(in, out);
        if (fixed) orthogonalised<false><<<FRAMES, LENGTH>>>(in, out);
    };
    return {launch, copying(9), arithmetic(3), [=] { return difference(launch, out, n); }};
}

/* ---- haversine ---- */

enum { STOPS = 1 << 22, DEPOTS = 8 };

/* How far each stop is from the nearest depot, in kilometres, from degrees. The constants are of double precision, and with
 * them everything. */
static __global__ void distances(const float *latitude, const float *longitude, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float least = 1e30f, here = latitude[i] * 60, east = longitude[i] * 60;
    for (int k = 0; k < DEPOTS; k++) {
        float north = 5.5f * k + 8, to = 6.5f * k + 3;
        double up = sin((north - here) * 3.14159265358979 / 360.0), over = sin((to - east) * 3.14159265358979 / 360.0); // FAULT haversine
        double h = up * up + cos(here * 3.14159265358979 / 180.0) * cos(north * 3.14159265358979 / 180.0) * over * over; // FAULT haversine
        least = fminf(least, 12742.0 * asin(sqrt(h))); // FAULT haversine
    }
    out[i] = least;
}

/* Single precision. */
static __global__ void distances_fixed(const float *latitude, const float *longitude, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float least = 1e30f, here = latitude[i] * 60, east = longitude[i] * 60;
    for (int k = 0; k < DEPOTS; k++) {
        float north = 5.5f * k + 8, to = 6.5f * k + 3;
        float up = sinf((north - here) * (3.14159265f / 360)), over = sinf((to - east) * (3.14159265f / 360));
        float h = up * up + cosf(here * (3.14159265f / 180)) * cosf(north * (3.14159265f / 180)) * over * over;
        least = fminf(least, 12742 * asinf(sqrtf(h)));
    }
    out[i] = least;
}

static work haversine()
{
    float *latitude = numbers(STOPS), *longitude = numbers(2 * STOPS) + STOPS, *out = zeros<float>(STOPS);
    auto launch = [=](bool fixed) {
        if (!fixed) distances<<<STOPS / 256, 256>>>(latitude, longitude, out);
        if (fixed) distances_fixed<<<STOPS / 256, 256>>>(latitude, longitude, out);
    };
    return {launch, arithmetic(3), copying(9), [=] { return difference(launch, out, STOPS); }};
}

static const struct {
    const char *name;
    work (*prepare)();
} programs[] = {
    {"tridiagonal", tridiagonal}, {"cosines", cosines},     {"neighbours", neighbours}, {"sentinel", sentinel},
    {"calibrate", calibrate},     {"walks", walks},         {"partition", partition},   {"clusters", clusters},
    {"orthogonal", orthogonal},   {"haversine", haversine},
};

int main(int argc, char **argv)
{
    std::vector<std::string> names;
    for (auto &p : programs) names.push_back(p.name);
    return run_program(argc, argv, names, [](const std::string &name) {
        return std::find_if(std::begin(programs), std::end(programs), [&](auto &p) { return name == p.name; })->prepare();
    });
}
