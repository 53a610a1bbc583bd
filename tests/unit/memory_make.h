/* memory_make.h -- histories of allocators for tests, made as traces: operators, and what they allocate and
 * free.
 *
 *     struct memory_made k;
 *     memory_begin(&k);
 *     memory_op(&k, 0, 1000, "aten::linear");
 *     memory_change(&k, 100, 0x1000, 600);        // at 100 ns, 600 bytes; -600 frees them
 *     memory_finish(&k, &m);
 */
#ifndef GP_TESTS_MEMORY_MAKE_H
#define GP_TESTS_MEMORY_MAKE_H

#include "analyze/memory/memory.h"
#include "formats/base/err.h"
#include "tests/unit/trace_make.h"
#include "tests/unit/unit.h"

struct memory_made {
    struct gp_trace t;
    uint32_t thread;
    int64_t total;
};

static inline void memory_begin(struct memory_made *k)
{
    gp_trace_init(&k->t, GP_NEED_ALL);
    k->thread = mk_thread(&k->t, mk_process(&k->t, 1, 0), 1);
    k->total = 0;
}

static inline void memory_op(struct memory_made *k, int64_t from, int64_t to, const char *name)
{
    mk_host(&k->t, GP_OP, k->thread, from, to, name);
}

/* All of it lies in 4096 bytes that are reserved. */
static inline void memory_change(struct memory_made *k, int64_t at, uint64_t addr, int64_t bytes)
{
    static const char device[] = "{\"Device Type\":1,\"Device Id\":0}";
    struct gp_events *e = &k->t.events[GP_MEMORY];
    size_t row = gp_events_add(e, at, 0, k->thread, mk_name(&k->t, "[memory]"));
    k->total += bytes;
    gp_set_bytes(e, row, bytes);
    gp_set_total(e, row, k->total);
    gp_set_reserved(e, row, 4096);
    gp_set_addr(e, row, addr);
    gp_set_extra(e, row, mk_name(&k->t, device));
}

/* The answer about one device; the trace is released. */
static inline void memory_finish(struct memory_made *k, struct gp_memory *m)
{
    struct gp_err err;
    gp_trace_finish(&k->t);
    gp_memory_init(m, &(struct gp_memory_opts){.device = -1});
    gp_memory_add_trace(m, &k->t);
    assert_int_equal(gp_memory_finish(m, &err), 0);
    gp_trace_release(&k->t);
    assert_int_equal(m->devices.n, 1);
}

/* At 100 ns aten::linear takes 1000 bytes and keeps them; at 2000 aten::relu takes 600 for 500 ns; at 4000
 * aten::add takes 300. The peak is 1600, at 2000; 1300 are left. */
static inline void memory_of_three(struct gp_memory *m)
{
    struct memory_made k;
    memory_begin(&k);
    memory_op(&k, 0, 1000, "aten::linear");
    memory_change(&k, 100, 0x1000, 1000);
    memory_op(&k, 1900, 3000, "aten::relu");
    memory_change(&k, 2000, 0x2000, 600);
    memory_change(&k, 2500, 0x2000, -600);
    memory_op(&k, 3900, 5000, "aten::add");
    memory_change(&k, 4000, 0x3000, 300);
    memory_finish(&k, m);
}

#endif
