/* frame.h -- what the CUDA programs of this folder share: options, steps and their times.
 *
 * A step is other work, the kernel, the rest of the other work, and a wait for all of it. With --both, blocks
 * of steps with the fault and with the fix take turns, until N steps or S seconds are over. The medians are
 * printed as a line of JSON per side, with the largest difference of their results as a share of the largest
 * result. A fix whose results differ by more than rounding is an error. */
#ifndef FRAME_H
#define FRAME_H

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <vector>
#include <nvtx3/nvToolsExt.h>
#include "../cuda/sample.h"

/* One kernel as its program runs it. */
struct work {
    std::function<void(bool fixed)> launch;
    std::function<void()> before, after;
    std::function<double()> differ; /* of the results with the fault and with the fix; may be empty */
};

static const double NOT_COMPARABLE = 1e9, ROUNDING = 1e-3; /* what sums in another order may differ by */

static inline void nothing() {}

static inline double median(std::vector<double> &v)
{
    std::sort(v.begin(), v.end());
    return v.empty() ? 0 : v[v.size() / 2];
}

/* Launches both, and compares the N results in OUT. */
template <class T> static inline double difference(const std::function<void(bool)> &launch, T *out, size_t n)
{
    std::vector<T> result[2] = {std::vector<T>(n), std::vector<T>(n)};
    double most = 0, largest = 0;
    for (int fixed = 0; fixed < 2; fixed++) {
        CHECK(cudaMemset(out, 0, n * sizeof(T)));
        launch(fixed);
        CHECK(cudaMemcpy(result[fixed].data(), out, n * sizeof(T), cudaMemcpyDeviceToHost));
    }
    for (size_t i = 0; i < n; i++) {
        double a = result[0][i], b = result[1][i];
        if (!std::isfinite(a) || !std::isfinite(b)) return NOT_COMPARABLE;
        most = std::max(most, std::fabs(a - b));
        largest = std::max(largest, std::fabs(a));
    }
    return largest > 0 ? most / largest : NOT_COMPARABLE; /* of zeros */
}

static inline int run_program(int argc, char **argv, const std::vector<std::string> &names,
                              work (*prepare)(const std::string &name))
{
    enum { BLOCK = 20 };
    std::string name = argc > 1 ? argv[1] : "";
    bool fixed = false, both = false;
    long steps = 400, seconds = 3;
    if (name == "--list") {
        for (const std::string &n : names) std::printf("%s\n", n.c_str());
        return 0;
    }
    for (int i = 2; i < argc; i++) {
        if (!std::strcmp(argv[i], "--fixed")) fixed = true;
        if (!std::strcmp(argv[i], "--both")) both = true;
        if (!std::strcmp(argv[i], "--steps")) steps = operand(argc, argv, i + 1, steps);
        if (!std::strcmp(argv[i], "--seconds")) seconds = operand(argc, argv, i + 1, seconds);
    }
    if (std::find(names.begin(), names.end(), name) == names.end()) {
        std::fprintf(stderr, "usage: %s NAME [--fixed | --both] [--steps N] [--seconds S]; --list\n",
                     argv[0]);
        return 2;
    }

    work w = prepare(name);
    double differs = both && w.differ ? w.differ() : 0;
    if (differs > ROUNDING) {
        std::fprintf(stderr, "%s: the results of fault and fix differ by %.3g\n", name.c_str(), differs);
        return 1;
    }
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaDeviceSynchronize());
    std::vector<double> kernel_us[2], step_us[2];
    long long first = clock_ns();
    for (long s = 0; s < steps && (s < 4 * BLOCK || clock_ns() - first < seconds * 1000000000LL); s++) {
        bool fix = both ? s / BLOCK % 2 : fixed;
        long long start = clock_ns();
        nvtxRangePushA("step");
        w.before();
        CHECK(cudaEventRecord(begin));
        w.launch(fix);
        CHECK(cudaEventRecord(end));
        w.after();
        CHECK(cudaDeviceSynchronize());
        nvtxRangePop();
        double took = (clock_ns() - start) / 1000.0;
        float ms;
        CHECK(cudaEventElapsedTime(&ms, begin, end));
        if (s < 2 * BLOCK) continue; /* the first ones load code */
        kernel_us[fix].push_back(ms * 1000);
        step_us[fix].push_back(took);
    }
    for (int f = 0; f < 2; f++) {
        if (kernel_us[f].empty()) continue;
        std::printf("{\"name\": \"%s\", \"fixed\": %s, \"kernel_us\": %.2f, \"step_us\": %.2f", name.c_str(),
                    f ? "true" : "false", median(kernel_us[f]), median(step_us[f]));
        if (both && w.differ) std::printf(", \"differs\": %.3g", differs);
        std::printf("}\n");
    }
    return 0;
}

#endif
