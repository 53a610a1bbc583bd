/* pace.cu -- kernels at a steady rate, for as long as told: what does a collector keep in memory meanwhile?
 *
 *     pace [RATE [SECONDS]]        (default 100000 kernels a second for 5 seconds)
 *
 * Kernels are launched one by one in bursts of a millisecond, and the thread sleeps in between. The last lines say how
 * many were launched, and how fast that was in the end. */
#include "sample.h"

__global__ void empty() {}

static void sleep_until(long long ns)
{
    struct timespec t = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL)) continue;
}

int main(int argc, char **argv)
{
    long rate = operand(argc, argv, 1, 100000), seconds = operand(argc, argv, 2, 5), done = 0;
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    empty<<<1, 32, 0, stream>>>();
    CHECK(cudaStreamSynchronize(stream));
    long long begin = clock_ns();
    for (long long now = begin; now - begin < seconds * 1000000000LL; now = clock_ns()) {
        for (long due = (long)((double)(now - begin) / 1e9 * rate); done < due; done++)
            empty<<<1, 32, 0, stream>>>();
        CHECK(cudaGetLastError());
        sleep_until(now + 1000000);
    }
    CHECK(cudaStreamSynchronize(stream));
    std::printf("pace kernels_per_second=%.0f\n", done / ((clock_ns() - begin) / 1e9));
    std::printf("expect kernels=%ld memcpy=0 memset=0 processes=1\n", done + 1);
    return 0;
}
