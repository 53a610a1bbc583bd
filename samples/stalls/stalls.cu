/* stalls.cu -- ten kernels, each with one known fault, and its fix.
 *
 *     stalls --list
 *     stalls NAME [--fixed | --both] [--steps N] [--seconds S]
 *
 * frame.h has the steps and what is printed. The comment FAULT marks the line at fault. The lines keep their numbers, which
 * recordings name. */
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>
#include "frame.h"

enum { SIDE = 4096, CELLS = SIDE * SIDE, TERMS = 256, BINS = 8 };

struct device {
    float *in, *out;
    unsigned *keys, *trips, *sorted_trips, *bins;
    int sms;
};

/* 1. Each thread sums a row: the 32 loads of a warp are in 32 lines of memory. */
static __global__ void row_sums(const float *in, float *out, int rows, int columns)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int c = 0; c < columns; c++)
        sum += in[(size_t)row * columns + c]; // FAULT uncoalesced
    out[row] = sum;
}

/* The matrix is stored by columns. */
static __global__ void row_sums_fixed(const float *in, float *out, int rows, int columns)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int c = 0; c < columns; c++)
        sum += in[(size_t)c * rows + row];
    out[row] = sum;
}

/* 2. The loads of a warp are one line, its stores are 32. */
static __global__ void transpose(const float *in, float *out, int side)
{
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    out[(size_t)x * side + y] = in[(size_t)y * side + x]; // FAULT strided_store
}

/* Through shared memory. */
static __global__ void transpose_fixed(const float *in, float *out, int side)
{
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8)
        tile[threadIdx.y + k][threadIdx.x] = in[(size_t)(y + k) * side + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8)
        out[(size_t)(y + k) * side + x] = tile[threadIdx.x][threadIdx.y + k];
}

/* 3. With a pitch of 32, all lanes of a warp read the same bank; the fix is a pitch of 33. */
static __global__ void bank_conflicts(const float *in, float *out, int pitch, int rounds)
{
    extern __shared__ float tile[];
    int lane = threadIdx.x % 32;
    for (int i = threadIdx.x; i < 32 * pitch; i += blockDim.x)
        tile[i] = in[blockIdx.x * 32 * 33 + i];
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < rounds; k++)
        sum += tile[lane * pitch + (k + (int)blockIdx.x) % 32] * k; // FAULT bank_conflicts
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

/* 4. 64 values per thread do not fit into the registers that eight blocks per multiprocessor leave. */
template <int BLOCKS> static __global__ void __launch_bounds__(256, BLOCKS) mix(const float *in, float *out, int rounds)
{
    float value[64];
    int first = (blockIdx.x * 256 + threadIdx.x) % (CELLS - 64 * 256);
    for (int i = 0; i < 64; i++)
        value[i] = in[first + i * 256];
    for (int k = 0; k < rounds; k++)
#pragma unroll
        for (int i = 0; i < 64; i++)
            value[i] = value[i] * 0.5f + value[(i + 7) % 64]; // FAULT spills
    float sum = 0;
    for (int i = 0; i < 64; i++)
        sum += value[i];
    out[first] = sum;
}

static __constant__ float coefficient[TERMS];

/* 5. Each step of Horner's rule waits for the one before, and there are few warps to take its place. */
static __global__ void polynomial(float *out, int points)
{
    for (int p = blockIdx.x * blockDim.x + threadIdx.x; p < points; p += gridDim.x * blockDim.x) {
        float x = p * (1.0f / CELLS), y = 0;
        for (int k = TERMS - 1; k >= 0; k--)
            y = y * x + coefficient[k]; // FAULT dependent_chain
        out[p] = y;
    }
}

/* Four chains of every fourth term. */
static __global__ void polynomial_fixed(float *out, int points)
{
    for (int p = blockIdx.x * blockDim.x + threadIdx.x; p < points; p += gridDim.x * blockDim.x) {
        float x = p * (1.0f / CELLS), x2 = x * x, x4 = x2 * x2, y[4] = {};
        for (int k = TERMS - 4; k >= 0; k -= 4)
            for (int j = 0; j < 4; j++)
                y[j] = y[j] * x4 + coefficient[k + j];
        out[p] = y[0] + y[1] * x + (y[2] + y[3] * x) * x2;
    }
}

/* 6. More shared memory than it uses leaves two blocks per multiprocessor; the fix asks for none. */
static __global__ void occupancy(const float *in, float *out, int n)
{
    float sum = 0;
#pragma unroll 1
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += in[i]; // FAULT low_occupancy
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

/* 7. A warp takes as many turns as its longest lane; the fix sorts what needs as many turns into one warp. */
static __global__ void divergence(const unsigned *trips, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = i;
    if (i >= n) return;
#pragma unroll 1
    for (unsigned k = 0; k < trips[i]; k++)
        x = x * 0.999f + 0.5f; // FAULT divergence
    out[i] = x;
}

/* 8. All threads add to a few words of global memory. */
static __global__ void histogram(const unsigned *keys, unsigned *bins, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&bins[keys[i] % BINS], 1); // FAULT atomics
}

/* Each block adds up in shared memory first. */
static __global__ void histogram_fixed(const unsigned *keys, unsigned *bins, int n)
{
    __shared__ unsigned count[BINS];
    if (threadIdx.x < BINS) count[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&count[keys[i] % BINS], 1);
    __syncthreads();
    if (threadIdx.x < BINS) atomicAdd(&bins[threadIdx.x], count[threadIdx.x]);
}

/* 9. One eighth more blocks than fit at a time: the last wave is nearly empty. The fix has eight times as many blocks of
 * an eighth of the work. */
static __global__ void __launch_bounds__(1024, 2) waves(float *out, int rounds)
{
    float x = threadIdx.x;
    for (int k = 0; k < rounds; k++)
        x = x * 0.999f + 0.5f; // FAULT tail
    out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

/* 10. One thread adds up while seven warps and a half wait. */
static __global__ void scan(const float *in, float *out, int tiles)
{
    __shared__ float sum[256];
    for (int t = 0; t < tiles; t++) {
        size_t at = ((size_t)blockIdx.x * tiles + t) * 256 + threadIdx.x;
        sum[threadIdx.x] = in[at];
        __syncthreads();
        if (threadIdx.x == 0)
            for (int i = 1; i < 256; i++) sum[i] += sum[i - 1];
        __syncthreads(); // FAULT barrier
        out[at] = sum[threadIdx.x];
    }
}

/* All threads do, in eight rounds. */
static __global__ void scan_fixed(const float *in, float *out, int tiles)
{
    __shared__ float sum[2][256];
    for (int t = 0; t < tiles; t++) {
        size_t at = ((size_t)blockIdx.x * tiles + t) * 256 + threadIdx.x;
        float value = in[at];
        for (int d = 1, side = 0; d < 256; d *= 2, side = !side) {
            sum[side][threadIdx.x] = value;
            __syncthreads();
            if ((int)threadIdx.x >= d) value += sum[side][threadIdx.x - d];
        }
        out[at] = value;
        __syncthreads();
    }
}

/* The other work of a step. */
static __global__ void triad(const float *a, float *b, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) b[i] = b[i] * 0.5f + a[i];
}

static void run(const device &d, const char *name, bool fixed)
{
    auto is = [name](const char *other) { return !std::strcmp(name, other); };
    int slots = d.sms * 2, grid = slots + slots / 8;
    dim3 tiles(SIDE / 32, SIDE / 32), strips(SIDE / 32, SIDE / 8), square(32, 8);
    if (is("uncoalesced") && !fixed) row_sums<<<CELLS / 128 / 256, 256>>>(d.in, d.out, CELLS / 128, 128);
    if (is("uncoalesced") && fixed) row_sums_fixed<<<CELLS / 128 / 256, 256>>>(d.in, d.out, CELLS / 128, 128);
    if (is("strided_store") && !fixed) transpose<<<strips, square>>>(d.in, d.out, SIDE);
    if (is("strided_store") && fixed) transpose_fixed<<<tiles, square>>>(d.in, d.out, SIDE);
    if (is("bank_conflicts")) bank_conflicts<<<d.sms * 8, 256, 32 * 33 * 4>>>(d.in, d.out, fixed ? 33 : 32, 500);
    if (is("spills") && !fixed) mix<8><<<d.sms * 8, 256>>>(d.in, d.out, 100);
    if (is("spills") && fixed) mix<1><<<d.sms * 8, 256>>>(d.in, d.out, 100);
    if (is("dependent_chain") && !fixed) polynomial<<<d.sms, 128>>>(d.out, CELLS / 8);
    if (is("dependent_chain") && fixed) polynomial_fixed<<<d.sms, 128>>>(d.out, CELLS / 8);
    if (is("low_occupancy")) occupancy<<<d.sms * 16, 128, fixed ? 0 : 100 * 1024>>>(d.in, d.out, CELLS);
    if (is("divergence")) divergence<<<CELLS / 4 / 256, 256>>>(fixed ? d.sorted_trips : d.trips, d.out, CELLS / 4);
    if (is("atomics") && !fixed) histogram<<<d.sms * 8, 256>>>(d.keys, d.bins, CELLS / 8);
    if (is("atomics") && fixed) histogram_fixed<<<d.sms * 8, 256>>>(d.keys, d.bins, CELLS / 8);
    if (is("tail")) waves<<<fixed ? grid * 8 : grid, 1024>>>(d.out, fixed ? 2500 : 20000);
    if (is("barrier") && !fixed) scan<<<d.sms * 8, 256>>>(d.in, d.out, 16);
    if (is("barrier") && fixed) scan_fixed<<<d.sms * 8, 256>>>(d.in, d.out, 16);
    CHECK(cudaGetLastError());
}

static void prepare(device *d)
{
    std::vector<unsigned> word(CELLS);
    std::vector<float> term(TERMS, 0.5f);
    CHECK(cudaDeviceGetAttribute(&d->sms, cudaDevAttrMultiProcessorCount, 0));
    for (void **at : {(void **)&d->in, (void **)&d->out, (void **)&d->keys, (void **)&d->trips, (void **)&d->sorted_trips})
        CHECK(cudaMalloc(at, CELLS * 4));
    CHECK(cudaMalloc(&d->bins, BINS * 4));
    CHECK(cudaMemset(d->in, 0, CELLS * 4));
    CHECK(cudaMemset(d->out, 0, CELLS * 4));
    CHECK(cudaMemcpyToSymbol(coefficient, term.data(), TERMS * 4));
    for (unsigned i = 0, random = 1; i < CELLS; i++) {
        random = random * 1664525 + 1013904223;
        word[i] = random >> 16;
    }
    CHECK(cudaMemcpy(d->keys, word.data(), CELLS * 4, cudaMemcpyHostToDevice));
    for (unsigned &w : word) w %= 1024;
    CHECK(cudaMemcpy(d->trips, word.data(), CELLS * 4, cudaMemcpyHostToDevice));
    std::sort(word.begin(), word.begin() + CELLS / 4);
    CHECK(cudaMemcpy(d->sorted_trips, word.data(), CELLS * 4, cudaMemcpyHostToDevice));
    CHECK(cudaFuncSetAttribute(occupancy, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 * 1024));
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"uncoalesced", "strided_store", "bank_conflicts", "spills", "dependent_chain",
                                        "low_occupancy", "divergence", "atomics", "tail", "barrier"};
    return run_program(argc, argv, {std::begin(names), std::end(names)}, [](const std::string &name) {
        device d;
        prepare(&d);
        auto other = [d] {
            for (int i = 0; i < 4; i++) triad<<<CELLS / 256, 256>>>(d.in, d.out, CELLS);
        };
        return work{[d, name](bool fixed) { run(d, name.c_str(), fixed); }, other, nothing, nullptr};
    });
}
