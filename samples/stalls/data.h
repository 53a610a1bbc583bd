/* data.h -- data in the GPU's memory, and other work for the steps of CUDA programs. */
#ifndef DATA_H
#define DATA_H

#include "frame.h"

/* A number that looks random, from another one. */
static __host__ __device__ inline unsigned mixed(unsigned x)
{
    x = (x ^ x >> 15) * 739982445u;
    x = (x ^ x >> 12) * 695872825u;
    return x ^ x >> 15;
}

static __global__ void fill(float *at, size_t n, bool rising)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        at[i] = rising ? (float)i / n : mixed(i) / 4294967296.0f;
}

template <class T> static T *zeros(size_t n)
{
    T *at;
    CHECK(cudaMalloc(&at, n * sizeof(T)));
    CHECK(cudaMemset(at, 0, n * sizeof(T)));
    return at;
}

/* From 0 to 1, in any order or rising. */
static inline float *numbers(size_t n, bool rising = false)
{
    float *at = zeros<float>(n);
    fill<<<2048, 256>>>(at, n, rising);
    return at;
}

template <class T> static T *on_gpu(const std::vector<T> &values)
{
    T *at = zeros<T>(values.size());
    CHECK(cudaMemcpy(at, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
    return at;
}

static inline int sm_count()
{
    int n;
    CHECK(cudaDeviceGetAttribute(&n, cudaDevAttrMultiProcessorCount, 0));
    return n;
}

/* Copies of 128 MiB. */
static inline std::function<void()> copying(int times)
{
    const size_t bytes = 128 << 20;
    char *from = zeros<char>(bytes), *to = zeros<char>(bytes);
    return [=] {
        for (int i = 0; i < times; i++) CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice));
    };
}

/* About 0.3 ms of arithmetic on all multiprocessors. */
static __global__ void orbit(float *at, int turns)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = at[i], y = 1 - x;
    for (int k = 0; k < turns; k++) {
        x = x * 0.75f + y * 0.25f;
        y = y * 0.75f - x * 0.25f;
    }
    at[i] = x + y;
}

static inline std::function<void()> arithmetic(int times)
{
    int blocks = sm_count() * 8;
    float *at = numbers((size_t)blocks * 256);
    return [=] {
        for (int i = 0; i < times; i++) orbit<<<blocks, 256>>>(at, 8192);
    };
}

#endif
