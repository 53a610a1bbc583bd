/* twoproc.cu -- two processes that both use CUDA must end up in one trace.
 *
 *     twoproc [exec|fork|idle [KERNELS]]        (default exec, 300 kernels a process)
 *
 * exec: the parent uses CUDA, then starts a second program, which uses CUDA too. fork: the process forks
 * before it touches CUDA, and both halves use it. idle: the parent uses CUDA and forks a child that only
 * calls exit(), with the parent's exit handlers in it. The parent prints last what a trace of the run has to
 * hold. */
#include <cstring>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include "sample.h"

__global__ void parent_kernel() {}
__global__ void child_kernel() {}

static void use_cuda(bool child, long kernels)
{
    for (long i = 0; i < kernels; i++) {
        if (child) child_kernel<<<1, 32>>>();
        else parent_kernel<<<1, 32>>>();
    }
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
}

static int run_child(const char *self, const char *mode, long kernels)
{
    if (!std::strcmp(mode, "exec")) {
        std::string count = std::to_string(kernels);
        execl(self, self, "child", count.c_str(), (char *)NULL);
        std::perror(self);
        return 127;
    }
    if (!std::strcmp(mode, "fork")) use_cuda(true, kernels);
    return 0;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "exec";
    long kernels = operand(argc, argv, 2, 300);
    int status;
    if (!std::strcmp(mode, "child")) {
        use_cuda(true, kernels);
        return 0;
    }
    bool fork_first = !std::strcmp(mode, "fork"), idle = !std::strcmp(mode, "idle");
    if (!fork_first) use_cuda(false, kernels);
    pid_t child = fork();
    if (child == 0) std::exit(run_child("/proc/self/exe", mode, kernels));
    if (fork_first) use_cuda(false, kernels);
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        std::fprintf(stderr, "twoproc: the child failed\n");
        return 1;
    }
    std::printf("expect kernels=%ld memcpy=0 memset=0 processes=%d\n", idle ? kernels : 2 * kernels,
                idle ? 1 : 2);
    return 0;
}
