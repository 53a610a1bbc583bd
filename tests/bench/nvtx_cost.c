/* What a push and a pop of an NVTX range cost the thread that makes them: run it bare and under
 * gpuprof-collect.
 *
 *     nvtx_cost [ROUNDS]
 *
 * Each round times a burst of pairs that fits the ring of a thread, then rests so that it is read; one line
 * per way of naming a range, with the best and the median round in ns per pair. `sustained` does not rest:
 * what the ring cannot take is refused, which is cheap, and counted in what the collector says at the end. */
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PAIRS = 10000, MAX_ROUNDS = 1000, SUSTAINED = 2000000, REST_MS = 130 };

static nvtxDomainHandle_t domain;
static nvtxEventAttributes_t registered, ascii;

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void default_ascii(unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        nvtxRangePushA("forward");
        nvtxRangePop();
    }
}

static void domain_ascii(unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        nvtxDomainRangePushEx(domain, &ascii);
        nvtxDomainRangePop(domain);
    }
}

static void domain_registered(unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        nvtxDomainRangePushEx(domain, &registered);
        nvtxDomainRangePop(domain);
    }
}

static void nested(unsigned n)
{
    for (unsigned i = 0; i < n; i += 5) {
        for (int k = 0; k < 5; k++) nvtxDomainRangePushEx(domain, &registered);
        for (int k = 0; k < 5; k++) nvtxDomainRangePop(domain);
    }
}

/* What two looks at the clock cost, which is the least. */
static void clock_twice(unsigned n)
{
    static volatile int64_t last;
    (void)last;
    for (unsigned i = 0; i < 2 * n; i++) last = now_ns();
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void measure(const char *name, void (*run)(unsigned n), unsigned rounds)
{
    double ns[MAX_ROUNDS];
    struct timespec rest = {0, REST_MS * 1000000L};
    run(PAIRS);
    for (unsigned i = 0; i < rounds; i++) {
        nanosleep(&rest, NULL);
        int64_t begin = now_ns();
        run(PAIRS);
        ns[i] = (double)(now_ns() - begin) / PAIRS;
    }
    qsort(ns, rounds, sizeof *ns, compare);
    printf("nvtx case=%s pairs=%d rounds=%u best_ns=%.1f median_ns=%.1f\n", name, PAIRS, rounds, ns[0],
           ns[rounds / 2]);
}

int main(int argc, char **argv)
{
    unsigned rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 20;
    if (!rounds || rounds > MAX_ROUNDS) {
        fprintf(stderr, "usage: nvtx_cost [ROUNDS]\n");
        return 2;
    }
    /* NVTX alone is not recorded: it takes CUDA for somebody to read what was noted. */
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
    int (*cu_init)(unsigned) = NULL;
    if (cuda) *(void **)&cu_init = dlsym(cuda, "cuInit");
    printf("nvtx cuda=%s injection=%s\n", cu_init && !cu_init(0) ? "yes" : "no",
           getenv("NVTX_INJECTION64_PATH") ? "yes" : "no");
    domain = nvtxDomainCreateA("bench");
    ascii.version = registered.version = NVTX_VERSION;
    ascii.size = registered.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    ascii.messageType = NVTX_MESSAGE_TYPE_ASCII;
    ascii.message.ascii = "forward";
    registered.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    registered.message.registered = nvtxDomainRegisterStringA(domain, "forward");
    measure("clock_twice", clock_twice, rounds);
    measure("default_ascii", default_ascii, rounds);
    measure("domain_ascii", domain_ascii, rounds);
    measure("domain_registered", domain_registered, rounds);
    measure("nested", nested, rounds);
    int64_t begin = now_ns();
    domain_registered(SUSTAINED);
    printf("nvtx case=sustained pairs=%d rounds=1 best_ns=%.1f\n", SUSTAINED,
           (double)(now_ns() - begin) / SUSTAINED);
    return 0;
}
