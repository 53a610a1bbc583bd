/* early.cu -- programs do not always end by returning from main.
 *
 *     early [return|exit|_exit|abort|kill [KERNELS [WAIT_MS]]]        (default return, 2000 kernels, 0 ms)
 *     early killed [MS]                                               (default 200 ms)
 *
 * Launches KERNELS kernels, waits for them, waits WAIT_MS more, and ends as requested: the first three
 * with status 7, abort() with SIGABRT, kill with SIGKILL. A trace holds exactly `kernels` after an orderly
 * end, and at most `kernels_most` after the others.
 *
 * With `killed` kernels are launched without end, and another thread kills the process MS after the first of them,
 * whatever it is doing then. What it says before that is for samples/check_kills.py: `began_ns` and `killed_ns` on
 * CLOCK_MONOTONIC, and how many kernels were launched by then. */
#include <atomic>
#include <csignal>
#include <cstring>
#include <thread>
#include <unistd.h>
#include "sample.h"

__global__ void last_words() {}

static std::atomic<long> launched;

static void kill_after(long ms)
{
    long long began = clock_ns();
    usleep((useconds_t)ms * 1000);
    std::printf("killed began_ns=%lld launched=%ld killed_ns=%lld\n", began, launched.load(), clock_ns());
    std::fflush(stdout);
    kill(getpid(), SIGKILL);
}

/* About ten thousand a second, so that the GPU is never far behind. */
static int launch_until_killed(long ms)
{
    last_words<<<1, 32>>>();
    CHECK(cudaDeviceSynchronize());
    std::thread(kill_after, ms).detach();
    for (;;) {
        last_words<<<1, 32>>>();
        launched++;
        usleep(50);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1 && !std::strcmp(argv[1], "killed")) return launch_until_killed(operand(argc, argv, 2, 200));
    const char *way = argc > 1 ? argv[1] : "return";
    long kernels = operand(argc, argv, 2, 2000), wait_ms = argc > 3 ? std::strtol(argv[3], NULL, 10) : 0;
    bool orderly = !std::strcmp(way, "return") || !std::strcmp(way, "exit");
    for (long i = 0; i < kernels; i++) last_words<<<1, 32>>>();
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    /* Killed before the first flush, it leaves no trace of its process either. */
    std::printf("expect %s=%ld memcpy=0 memset=0%s\n", orderly ? "kernels" : "kernels_most", kernels,
                orderly ? " processes=1" : "");
    std::fflush(stdout);
    usleep((useconds_t)wait_ms * 1000);

    if (!std::strcmp(way, "exit")) std::exit(7);
    if (!std::strcmp(way, "_exit")) _exit(7);
    if (!std::strcmp(way, "abort")) std::abort();
    if (!std::strcmp(way, "kill")) kill(getpid(), SIGKILL);
    return 7;
}
