/* launches.cu -- a step of a thousand tiny launches, for programs.py: nvcc -O2 -shared -Xcompiler -fPIC -o launches.so launches.cu */
#include <cuda_runtime.h>

__global__ void empty() {}

extern "C" void step()
{
    static cudaStream_t stream;
    if (!stream) cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    for (int half = 0; half < 2; half++) { /* the queue of launches never fills */
        for (int k = 0; k < 500; k++) empty<<<1, 32, 0, stream>>>();
        cudaStreamSynchronize(stream);
    }
}
