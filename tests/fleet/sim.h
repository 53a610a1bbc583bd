/* sim.h -- a simulated job: any number of ranks, each with the same steps of the same kernels and one
 * all-reduce that ends for all at once, with noise that depends only on the seed, and faults that are
 * planted. The same numbers come out as a trace (for the whole way through trace-hta) and as a member of a
 * fleet (for many runs in little time).
 *
 *     struct sim s = {.ranks = 10000, .steps = 8, .per_node = 8, .seed = 1};
 *     s.faults[s.n_faults++] = (struct sim_fault){.kind = SIM_COMPUTE, .rank = 77, .pct = 5};
 *     sim_trace(&s, 77, &trace);
 */
#ifndef GP_TESTS_FLEET_SIM_H
#define GP_TESTS_FLEET_SIM_H

#include <stdio.h>
#include <stdlib.h>
#include "tests/unit/trace_make.h"

enum sim_kind { SIM_COMPUTE, SIM_KERNEL, SIM_HOST, SIM_COPY, SIM_LINK, SIM_ONCE, SIM_TURN };
struct sim_fault {
    enum sim_kind kind;
    int32_t rank; /* of TURN: another one every step */
    int pct;      /* of the time of the kernels (COMPUTE, KERNEL, LINK), or of the step (the others) */
    int which;    /* KERNEL: its index; ONCE: the step */
};

enum { SIM_KERNELS = 12, SIM_FAULTS = 16, SIM_STEPS = 64 };
static const char *const sim_names[SIM_KERNELS] = {
    "sm90_xmma_gemm_bf16_qkv", "flash_fwd_kernel", "sm90_xmma_gemm_bf16_proj", "layer_norm_kernel",
    "sm90_xmma_gemm_bf16_up",  "gelu_kernel",      "sm90_xmma_gemm_bf16_down", "flash_bwd_kernel",
    "sm90_xmma_gemm_bf16_bwd", "layer_norm_bwd",   "cross_entropy_kernel",     "multi_tensor_adam"};
static const int64_t sim_ns[SIM_KERNELS] = {700000,  900000,  400000,  120000, 1100000, 150000,
                                            1000000, 1300000, 1500000, 130000, 200000,  500000};
enum { SIM_HOST_NS = 60000, SIM_COPY_NS = 40000, SIM_LINK_NS = 600000, SIM_STEP_NS = 14000000 };

struct sim {
    int32_t ranks, steps, per_node, first; /* the number of the first step */
    uint64_t seed;
    struct sim_fault faults[SIM_FAULTS];
    int n_faults;
};

static inline uint64_t sim_hash(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    uint64_t h =
        a * 0x9e3779b97f4a7c15u ^ b * 0xc2b2ae3d27d4eb4fu ^ c * 0x165667b19e3779f9u ^ d * 0xd6e8feb86659fd93u;
    h = (h ^ h >> 32) * 0xd6e8feb86659fd93u;
    h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9u;
    return h ^ h >> 32;
}

/* About normal: the sum of four uniform numbers, of mean 0 and deviation 1000. */
static inline int64_t sim_normal(uint64_t h)
{
    int64_t sum = 0;
    for (int i = 0; i < 4; i++) sum += (int64_t)(h >> 16 * i & 0xffff) - 32768;
    return sum * 1000 / 37837;
}

/* NS with a rank's own constant part (0.4%) and one of each kernel (1%). */
static inline int64_t sim_noisy(const struct sim *s, int32_t rank, int32_t step, int k, int64_t ns)
{
    int64_t own = sim_normal(sim_hash(s->seed, (uint64_t)rank, 99, 7)) * 4;
    int64_t each = sim_normal(sim_hash(s->seed, (uint64_t)rank, (uint64_t)step, (uint64_t)k)) * 10;
    return ns + ns / 1000 * (own + each) / 1000;
}

static inline int64_t sim_kernel_ns(const struct sim *s, int32_t rank, int32_t step, int k)
{
    int64_t ns = sim_noisy(s, rank, step, k, sim_ns[k]), more = 0;
    for (int i = 0; i < s->n_faults; i++) {
        const struct sim_fault *f = &s->faults[i];
        bool turn = f->kind == SIM_TURN && (step * 37 + 11) % s->ranks == rank;
        if (!turn && f->rank != rank) continue;
        if (f->kind == SIM_COMPUTE || turn || (f->kind == SIM_ONCE && f->which == step) ||
            (f->kind == SIM_KERNEL && f->which == k))
            more += ns * f->pct / 100;
    }
    return ns + more;
}

/* Of a fault that lengthens something by a share of the step. */
static inline int64_t sim_extra_ns(const struct sim *s, int32_t rank, enum sim_kind kind)
{
    for (int i = 0; i < s->n_faults; i++)
        if (s->faults[i].kind == kind && s->faults[i].rank == rank)
            return SIM_STEP_NS / 100 * s->faults[i].pct;
    return 0;
}

static inline void sim_place(const struct sim *s, int32_t rank, struct gp_trace *t, uint32_t *thread,
                             uint32_t *stream, uint32_t *comm)
{
    char path[64];
    gp_trace_init(t, GP_NEED_ALL);
    snprintf(path, sizeof path, "rank%05d.trace", (int)rank);
    t->rank = rank;
    t->world_size = s->ranks;
    t->input = (struct gp_input_info){
        .path = gp_trace_str(t, mk_name(t, path)), .format = "gpuprof", .compression = "none", .bytes = 1000};
    uint32_t p = mk_process(t, 100, 0);
    *thread = mk_thread(t, p, 100);
    *stream = mk_stream(t, p, rank % s->per_node, 7);
    *comm = mk_stream(t, p, rank % s->per_node, 20);
}

/* Clocks of nodes differ. */
static inline int64_t sim_clock(const struct sim *s, int32_t rank)
{
    return 1000000000 + (int64_t)(sim_hash(s->seed, (uint64_t)(rank / s->per_node), 5, 5) % 1000000);
}

static inline void sim_trace(const struct sim *s, int32_t rank, struct gp_trace *t)
{
    uint32_t thread, stream, comm;
    uint64_t corr = 1;
    sim_place(s, rank, t, &thread, &stream, &comm);
    int64_t clock = sim_clock(s, rank), host = sim_extra_ns(s, rank, SIM_HOST),
            copy = sim_extra_ns(s, rank, SIM_COPY);
    for (int32_t step = 0; step < s->steps; step++) {
        int64_t begin = clock + (int64_t)step * SIM_STEP_NS, end = begin + SIM_STEP_NS, at = begin + 10000;
        char name[32];
        snprintf(name, sizeof name, "ProfilerStep#%d", (int)step + 3);
        mk_host(t, GP_RANGE, thread, begin, end - 20000, name);
        mk_call(t, thread, at - 8000, at - 4000, "cudaMemcpyAsync", corr);
        size_t row = mk_gpu(t, stream, at, at + SIM_COPY_NS + copy, GP_MEMCPY,
                            "Memcpy HtoD (Pinned -> Device)", corr++);
        gp_set_bytes(&t->events[GP_GPU], row, 1 << 20);
        at += SIM_COPY_NS + copy + SIM_HOST_NS + host;
        for (int k = 0; k < SIM_KERNELS; k++) {
            int64_t ns = sim_kernel_ns(s, rank, step, k);
            mk_call(t, thread, at - 6000, at - 2000, "cudaLaunchKernel", corr);
            mk_kernel(t, stream, at, at + ns, sim_names[k], corr++);
            at += ns;
        }
        mk_call(t, thread, at - 6000, at - 2000, "cudaLaunchKernel", corr);
        mk_kernel(t, comm, at, end - 30000, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", corr++);
    }
    gp_trace_finish(t);
}

#endif
