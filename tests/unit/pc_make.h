/* pc_make.h -- samples of program counters, planted one instruction and reason at a time.
 *
 *     struct pc pc = {.t = &t, .track = mk_thread(&t, process, 1), .name = "k", .dur_ns = 1000};
 *     pc_line(&pc, "k.cu", 7);
 *     pc_add(&pc, 0x10, "long_scoreboard", 6000, 5700);
 */
#ifndef GP_TESTS_PC_MAKE_H
#define GP_TESTS_PC_MAKE_H

#include <stdio.h>
#include "tests/unit/trace_make.h"

struct pc {
    struct gp_trace *t;
    uint32_t track, stack;
    const char *name;
    int64_t start_ns, dur_ns;
    uint64_t crc; /* of its cubin; 0: not known */
};

/* An H100 of ten multiprocessors. */
static inline struct gp_device pc_h100(struct gp_trace *t)
{
    struct gp_device d = gp_device_unknown();
    d.id = 0;
    d.name = mk_name(t, "NVIDIA H100 80GB HBM3");
    d.sms = 10;
    d.warp_size = 32;
    d.cc_major = 9;
    d.cc_minor = 0;
    d.max_threads_per_sm = 2048;
    d.regs_per_sm = 65536;
    d.shared_per_sm = 233472;
    return d;
}

/* The samples that follow are of this line; FILE NULL: of none that is known. */
static inline void pc_line(struct pc *pc, const char *file, uint32_t line)
{
    char module[40];
    snprintf(module, sizeof module, "cubin %016llx", (unsigned long long)pc->crc);
    const struct gp_symbol symbol = {.module = mk_name(pc->t, module)};
    const struct gp_stack at = {.name = mk_name(pc->t, pc->name),
                                .file = mk_name(pc->t, file ? file : ""),
                                .line = line,
                                .symbol = pc->crc ? gp_trace_symbol(pc->t, &symbol) : 0};
    pc->stack = file ? gp_trace_stack(pc->t, &at) : 0;
}

static inline void pc_add(struct pc *pc, uint64_t offset, const char *reason, int64_t total, int64_t latency)
{
    struct gp_events *e = &pc->t->events[GP_PC];
    const size_t row = gp_events_add(e, pc->start_ns, pc->dur_ns, pc->track, mk_name(pc->t, pc->name));
    gp_set_series(e, row, mk_name(pc->t, reason));
    gp_set_addr(e, row, offset);
    gp_set_total(e, row, total);
    gp_set_value(e, row, (double)latency);
    if (pc->stack) gp_set_stack(e, row, pc->stack);
}

/* 10,000 samples. Issue slots are used in 22% of the cycles. Line 7 waits for memory in 60% of the samples,
 * 3,000 cycles per instruction; line 9 for a barrier in 20%. */
static inline void pc_memory(struct pc *pc)
{
    pc_line(pc, "k.cu", 7);
    pc_add(pc, 0x10, "long_scoreboard", 4000, 3700);
    pc_add(pc, 0x10, "long_scoreboard", 2000, 2000);
    pc_add(pc, 0x10, "selected", 2, 0);
    pc_add(pc, 0x20, "selected", 498, 0);
    pc_add(pc, 0x20, "wait", 500, 300);
    pc_line(pc, "k.cu", 9);
    pc_add(pc, 0x30, "barrier", 2000, 1800);
    pc_add(pc, 0x30, "selected", 500, 0);
    pc_add(pc, 0x40, "not_selected", 500, 0);
}

/* The samples above on an H100, and 1,000 of a kernel whose code has no lines. */
static inline void pc_trace(struct gp_trace *t)
{
    gp_trace_init(t, GP_NEED_ALL);
    const uint32_t process = mk_process(t, 1, 0), stream = mk_stream(t, process, 0, 7);
    struct pc pc = {.t = t, .track = mk_thread(t, process, 1), .name = "k", .dur_ns = 1000};
    GP_VEC_PUSH(&t->devices, pc_h100(t));
    pc_memory(&pc);
    mk_kernel(t, stream, 100, 600, "k", 1);
    mk_kernel(t, stream, 700, 900, "_Z4bareiPf", 2);
    pc.name = "_Z4bareiPf";
    pc_line(&pc, NULL, 0);
    pc_add(&pc, 0x10, "selected", 100, 0);
    pc_add(&pc, 0x20, "short_scoreboard", 700, 600);
    pc_add(&pc, 0x30, "math_pipe_throttle", 200, 100);
    pc_add(&pc, 0x00, "7f454c46", 0, 0); /* counts nothing */
    gp_trace_set_number(t, "start_realtime_ns", INT64_C(1700000000) * 1000000000);
    gp_trace_finish(t);
}

#endif
