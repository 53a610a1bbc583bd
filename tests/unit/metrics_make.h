/* metrics_make.h -- a trace with hardware counters of which everything is known: a copy and a product, each
 * launched three times (of the product one was not measured), and two runs of a range. */
#ifndef GP_TESTS_METRICS_MAKE_H
#define GP_TESTS_METRICS_MAKE_H

#include <math.h>
#include <stdio.h>
#include "formats/model/trace.h"
#include "formats/model/metric.h"
#include "tests/unit/trace_make.h"

enum { MM_TIME, MM_READ, MM_WRITE, MM_L2, MM_OPS, MM_PEAK, MM_PCT, MM_COUNT };

static inline uint32_t mm_set(struct gp_trace *t)
{
    static const struct {
        const char *name, *unit;
        uint32_t type;
    } of[MM_COUNT] = {
        {"gpu__time_duration.sum", "ns", GP_METRIC_COUNTER},
        {"dram__bytes_read.sum", "byte", GP_METRIC_COUNTER},
        {"dram__bytes_write.sum", "byte", GP_METRIC_COUNTER},
        {"lts__t_bytes.sum", "byte", GP_METRIC_COUNTER},
        {"sm__ops_path_tensor_src_bf16_dst_fp32.sum", "math_op", GP_METRIC_COUNTER},
        {"sm__ops_path_tensor_src_bf16_dst_fp32.sum.peak_sustained_elapsed.per_second", "math_op/second",
         GP_METRIC_COUNTER},
        {"sm__warps_active.avg.pct_of_peak_sustained_active", "%", GP_METRIC_COUNTER},
    };
    struct gp_metric m[MM_COUNT];
    memset(m, 0, sizeof m);
    for (int i = 0; i < MM_COUNT; i++) {
        m[i].name = mk_name(t, of[i].name);
        m[i].unit = mk_name(t, of[i].unit);
        m[i].type = of[i].type;
        m[i].reduce = gp_metric_reduce_of(of[i].name);
        m[i].passes = 1;
        m[i].chip = mk_name(t, "GH100");
    }
    return gp_trace_metric_set(t, m, MM_COUNT);
}

static inline uint32_t mm_config(struct gp_trace *t, const char *name, uint32_t grid, uint32_t block,
                                 bool record)
{
    struct gp_config c;
    memset(&c, 0, sizeof c);
    c.name = mk_name(t, name);
    c.has = GP_HAS_GRID | GP_HAS_BLOCK;
    c.grid[0] = grid;
    c.block[0] = block;
    c.grid[1] = c.grid[2] = c.block[1] = c.block[2] = 1;
    if (record) { /* which knows more than the launch call */
        c.has |= GP_HAS_REGS;
        c.registers = 32;
    }
    return gp_trace_config(t, &c);
}

struct mm {
    struct gp_trace *t;
    uint32_t thread, stream, set;
    uint64_t corr;
};

static inline void mm_begin(struct mm *k, struct gp_trace *t)
{
    gp_trace_init(t, GP_NEED_ALL);
    uint32_t process = mk_process(t, 1, 0);
    *k = (struct mm){t, mk_thread(t, process, 1), mk_stream(t, process, 0, 7), 0, 0};
    k->set = mm_set(t);
    gp_trace_set_meta(t, GP_META_DISTORTED, "true", 4);
}

/* A launch at START that took NS on the GPU; VALUES NULL: it was not measured. */
static inline void mm_launch(struct mm *k, int64_t start, int64_t ns, const char *name, uint32_t grid,
                             const double *values)
{
    struct gp_events *gpu = &k->t->events[GP_GPU], *e = &k->t->events[GP_METRIC];
    size_t row = gp_events_add(gpu, start + 10, ns, k->stream, mk_name(k->t, name));
    gp_set_config(gpu, row, mm_config(k->t, name, grid, 128, true));
    gp_set_corr(gpu, row, ++k->corr);
    if (!values) return;
    row = gp_events_add(e, start, ns + 50, k->thread, mk_name(k->t, name));
    gp_set_config(e, row, mm_config(k->t, name, grid, 128, false));
    gp_set_corr(e, row, k->corr);
    gp_set_id(e, row, k->corr - 1);
    gp_metric_put(k->t, row, k->set, values);
}

static inline void mm_range(struct mm *k, int64_t start, int64_t ns, const char *name, const double *values)
{
    struct gp_events *e = &k->t->events[GP_METRIC];
    size_t row = gp_events_add(e, start, ns, k->thread, mk_name(k->t, name));
    gp_set_cat(e, row, mk_name(k->t, GP_METRIC_RANGE));
    gp_metric_put(k->t, row, k->set, values);
}

/* The copy: 1000, 1000 and 2000 ns, 10, 10 and 40 kB read and as many written; occupancy 50, 50 and 80%:
 * weighted by time 65%, while the plain mean is 60%. The product: 4000 ns each, 8,000,000 operations each;
 * peak of 10^16 per second, so 2 TFLOP/s. */
static inline void mm_trace(struct gp_trace *t)
{
    static const double copy[] = {1000, 10000, 10000, 24000, 0, 1e16, 50},
                        longer[] = {2000, 40000, 40000, 90000, 0, 1e16, 80},
                        product[] = {4000, 1000, 1000, 4000, 8e6, 1e16, 25},
                        missing[] = {4000, NAN, 1000, 4000, 8e6, 1e16, NAN},
                        range[] = {5000, 11000, 11000, 28000, 8e6, 1e16, 30};
    struct mm k;
    mm_begin(&k, t);
    mm_launch(&k, 1000, 1000, "copy", 16, copy);
    mm_launch(&k, 3000, 1000, "copy", 16, copy);
    mm_launch(&k, 5000, 2000, "copy", 16, longer);
    mm_launch(&k, 8000, 4000, "product", 132, product);
    mm_launch(&k, 13000, 4000, "product", 132, missing);
    mm_launch(&k, 18000, 4000, "product", 132, NULL);
    mm_range(&k, 500, 30000, "step", range);
    mm_range(&k, 40000, 30000, "step", range);
    gp_trace_finish(t);
}

/* What the set `basic` has. */
enum { MM_BASIC = 15 };

static inline uint32_t mm_basic_set(struct gp_trace *t)
{
    static const char *const names[MM_BASIC] = {
        "gpu__time_duration.sum",
        "sm__cycles_elapsed.max",
        "sm__cycles_active.avg",
        "dram__bytes_read.sum",
        "dram__bytes_write.sum",
        "dram__bytes.sum",
        "lts__t_bytes.sum",
        "lts__t_sectors.sum",
        "l1tex__t_bytes.sum",
        "l1tex__t_sectors.sum",
        "l1tex__t_sectors_lookup_hit.sum",
        "sm__warps_active.avg.pct_of_peak_sustained_active",
        "smsp__inst_executed.sum",
        "smsp__issue_active.avg.pct_of_peak_sustained_active",
        "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"};
    struct gp_metric m[MM_BASIC];
    memset(m, 0, sizeof m);
    for (int i = 0; i < MM_BASIC; i++) {
        m[i].name = mk_name(t, names[i]);
        m[i].unit = mk_name(t, "");
        m[i].type = GP_METRIC_COUNTER;
        m[i].reduce = gp_metric_reduce_of(names[i]);
        m[i].passes = 1;
        m[i].chip = mk_name(t, "GH100");
    }
    return gp_trace_metric_set(t, m, MM_BASIC);
}

/* A program of N launches of eight kernels, all measured with the 15 metrics of `basic`: for speed. */
static inline void mm_many(struct gp_trace *t, uint64_t n)
{
    struct mm k;
    char name[32];
    mm_begin(&k, t);
    k.set = mm_basic_set(t);
    for (uint64_t i = 0; i < n; i++) {
        double ns = 1000 + (double)(i * 7919 % 1000), v[MM_BASIC];
        for (int at = 0; at < MM_BASIC; at++) v[at] = (double)(i * 104729 % (97 + (uint64_t)at)) * ns;
        v[0] = ns;
        v[11] = v[13] = v[14] = (double)(i % 1000) / 10;
        snprintf(name, sizeof name, "kernel_%u", (unsigned)(i % 8));
        mm_launch(&k, (int64_t)i * 5000, (int64_t)ns, name, 16 + (uint32_t)(i % 8), v);
    }
    gp_trace_finish(t);
}

#endif
