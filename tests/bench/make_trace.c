/* make_trace EVENTS -- a binary trace of about EVENTS events on standard output, the same every time:
 * training steps of two processes with a thread each, operators with launches in them, kernels and copies on
 * four streams a device. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "formats/base/err.h"
#include "formats/base/output.h"
#include "formats/model/trace.h"
#include "formats/writer.h"

enum { DEVICES = 2, STREAMS = 4, OPS = 200, KERNELS = 400, LAYERS = 48 };

static uint64_t state = 88172645463325252u;

/* 0 .. BELOW - 1 */
static uint32_t dice(uint32_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)((state >> 32) * below >> 32);
}

struct maker {
    struct gp_trace t;
    gp_sid ops[OPS], kernels[KERNELS], launch, step, layer;
    uint32_t configs[KERNELS], copy_config, thread[DEVICES], stream[DEVICES][STREAMS];
    int64_t host_ns[DEVICES], free_ns[DEVICES][STREAMS];
    uint64_t corr, events;
};

static gp_sid name(struct maker *m, const char *before, int i, const char *after)
{
    char text[160];
    int n = i < 0 ? snprintf(text, sizeof text, "%s", before)
                  : snprintf(text, sizeof text, "%s%d%s", before, i, after);
    return gp_trace_intern(&m->t, text, (size_t)n);
}

static void make_names(struct maker *m)
{
    for (int i = 0; i < OPS; i++) m->ops[i] = name(m, "aten::op_", i, "");
    for (int i = 0; i < KERNELS; i++) {
        m->kernels[i] =
            i % 3 ? name(m, "void at::native::vectorized_elementwise_kernel<4, F", i, "<float>>(int)")
                  : name(m, "sm90_gemm_f16f16_f16_f32_", i, "x128x64_tn");
        struct gp_config c;
        memset(&c, 0, sizeof c);
        c.name = m->kernels[i];
        c.kind = GP_KERNEL;
        c.has = GP_HAS_GRID | GP_HAS_BLOCK | GP_HAS_REGS;
        c.grid[0] = 1 + dice(4096);
        c.grid[1] = c.grid[2] = c.block[1] = c.block[2] = 1;
        c.block[0] = 128;
        c.registers = 32 + dice(96);
        m->configs[i] = gp_trace_config(&m->t, &c);
    }
    m->launch = name(m, "cudaLaunchKernel", -1, "");
    m->layer = name(m, "layer", -1, "");
}

static void make_tracks(struct maker *m)
{
    for (int d = 0; d < DEVICES; d++) {
        struct gp_process p = gp_process_unknown();
        p.pid = 4000 + d;
        p.rank = d;
        p.producer = (uint32_t)d;
        p.name = name(m, "python", -1, "");
        struct gp_track k = gp_track_unknown();
        k.process = gp_trace_process(&m->t, &p);
        k.tid = p.pid;
        m->thread[d] = gp_trace_track(&m->t, &k);
        struct gp_device dev = gp_device_unknown();
        dev.producer = (uint32_t)d;
        dev.id = d;
        dev.name = name(m, "Example GPU", -1, "");
        GP_VEC_PUSH(&m->t.devices, dev);
        for (int s = 0; s < STREAMS; s++) {
            k = gp_track_unknown();
            k.kind = GP_TRACK_STREAM;
            k.process = gp_trace_process(&m->t, &p);
            k.device = d;
            k.stream = 7 + s;
            m->stream[d][s] = gp_trace_track(&m->t, &k);
        }
    }
}

/* An operator with a launch in it, and what it launches. */
static void make_op(struct maker *m, int d, int layer, int i)
{
    struct gp_events *op = &m->t.events[GP_OP], *api = &m->t.events[GP_API], *gpu = &m->t.events[GP_GPU];
    int64_t at = m->host_ns[d], call = 3000 + dice(2500);
    size_t row = gp_events_add(op, at, call + 2500 + dice(3000), m->thread[d], m->ops[(layer * 4 + i) % OPS]);
    int64_t end = at + op->dur_ns[row];
    gp_set_seq(op, row, m->corr);
    gp_events_add(op, at + 500, call + 1200, m->thread[d], m->ops[(layer * 4 + i + 1) % OPS]);
    row = gp_events_add(api, at + 1000, call, m->thread[d], m->launch);
    gp_set_corr(api, row, ++m->corr);
    int s = i % 8 == 7 ? 1 + (int)dice(STREAMS - 1) : 0;
    int kernel = (layer * 5 + i) % KERNELS;
    int64_t start = at + 1000 + call + 2000 + dice(1500), dur = 1500 + dice(kernel % 3 ? 6000 : 18000);
    if (start < m->free_ns[d][s]) start = m->free_ns[d][s] + 800 + dice(300);
    row = gp_events_add(gpu, start, dur, m->stream[d][s], m->kernels[kernel]);
    gp_set_config(gpu, row, m->configs[kernel]);
    gp_set_corr(gpu, row, m->corr);
    m->free_ns[d][s] = start + dur;
    m->host_ns[d] = end + 300 + dice(900);
    m->events += 4;
}

static void make_step(struct maker *m, int step)
{
    for (int d = 0; d < DEVICES; d++) {
        struct gp_events *range = &m->t.events[GP_RANGE];
        int64_t begin = m->host_ns[d];
        size_t row = gp_events_add(range, begin, 0, m->thread[d], name(m, "ProfilerStep#", step, ""));
        for (int layer = 0; layer < LAYERS; layer++) {
            int64_t from = m->host_ns[d];
            size_t at = gp_events_add(range, from, 0, m->thread[d], m->layer);
            for (int i = 0; i < 12; i++) make_op(m, d, layer, i);
            range->dur_ns[at] = m->host_ns[d] - from;
            m->host_ns[d] += 200;
            m->events++;
        }
        if (step % 10 == 3) m->host_ns[d] += 4000000; /* a batch that was not there */
        range->dur_ns[row] = m->host_ns[d] - begin;
        m->host_ns[d] += 1000;
        m->events++;
    }
}

int main(int argc, char **argv)
{
    uint64_t want = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
    struct maker m;
    struct gp_err err = {0};
    memset(&m, 0, sizeof m);
    gp_trace_init(&m.t, GP_NEED_ALL);
    make_names(&m);
    make_tracks(&m);
    for (int step = 0; m.events < want; step++) make_step(&m, step);
    gp_trace_finish(&m.t);
    struct gp_output *out = gp_output_open("-", &err);
    struct gp_write_opts opts = {.compression = "none"};
    if (!out) return 1;
    gp_writer_find("gpuprof")->write(&m.t, &opts, out);
    int failed = gp_output_close(out, true, &err);
    if (failed) fprintf(stderr, "make_trace: %s\n", err.msg);
    gp_trace_release(&m.t);
    return failed != 0;
}
