// Copies and sets by name, and the peak of memory.
#include <stdlib.h>

#include "analyze/hta/hta_rows.h"
#include "analyze/hta/hta.h"
#include "analyze/hta/hta_priv.h"
#include "formats/base/buf.h"
#include "tests/unit/trace_make.h"
#include "tests/unit/unit.h"

static struct gp_trace begin(void)
{
    struct gp_trace t;
    gp_trace_init(&t, GP_NEED_ALL);
    return t;
}

static void add(struct gp_hta *h, struct gp_trace *t)
{
    struct gp_view v;
    gp_trace_finish(t);
    gp_view_init(&v, t, NULL);
    gp_hta_copies_section.add(h, &v);
    gp_view_release(&v);
}

static void copy(struct gp_trace *t, uint32_t stream, int64_t start, int64_t end, const char *name,
                 int64_t bytes, uint64_t corr)
{
    size_t row =
        mk_gpu(t, stream, start, end, strncmp(name, "Memset", 6) ? GP_MEMCPY : GP_MEMSET, name, corr);
    gp_set_bytes(&t->events[GP_GPU], row, bytes);
}

static void allocate(struct gp_trace *t, uint32_t thread, int64_t at, int64_t bytes, int64_t total,
                     int64_t reserved, const char *args)
{
    struct gp_events *e = &t->events[GP_MEMORY];
    size_t row = gp_events_add(e, at, 0, thread, mk_name(t, "[memory]"));
    gp_set_bytes(e, row, bytes);
    gp_set_total(e, row, total);
    gp_set_reserved(e, row, reserved);
    gp_set_extra(e, row, mk_name(t, args));
}

static const struct gp_copy_stat *find(const struct gp_hta *h, const char *name)
{
    for (size_t i = 0; i < h->copies.n; i++)
        if (!strcmp(gp_hta_str(h, h->copies.at[i].name), name)) return &h->copies.at[i];
    return NULL;
}

static void make_copies(struct gp_trace *t)
{
    *t = begin();
    uint32_t p = mk_process(t, 1, 0), thread = mk_thread(t, p, 1), s = mk_stream(t, p, 0, 7);
    mk_call(t, thread, 0, 5, "cudaMemcpyAsync", 1);
    mk_call(t, thread, 10, 60, "cudaMemcpy", 2);
    mk_call(t, thread, 70, 75, "cudaMemcpyAsync", 3);
    mk_call(t, thread, 80, 85, "cudaMemcpy", 4);
    mk_call(t, thread, 90, 95, "cudaMemset", 5);
    copy(t, s, 6, 16, "Memcpy HtoD (Pinned -> Device)", 1000, 1);
    copy(t, s, 20, 50, "Memcpy HtoD (Pinned -> Device)", 3000, 2);
    copy(t, s, 72, 79, "Memcpy DtoH (Device -> Pageable)", 70, 3);
    copy(t, s, 86, 88, "Memcpy DtoD (Device -> Device)", 4, 4);
    copy(t, s, 96, 97, "Memset (Device)", 8, 5);
    mk_kernel(t, s, 100, 200, "gemm", 6);
}

/* 10 + 30 ns for 1000 + 3000 bytes: 100 bytes a ns. */
TEST(test_copies_by_name)
{
    struct gp_trace t;
    struct gp_hta h;
    make_copies(&t);
    gp_hta_init(&h, NULL);
    add(&h, &t);
    gp_hta_section_sort(&gp_hta_copies_section, &h);
    assert_int_equal(h.copies.n, 4);
    const struct gp_copy_stat *up = &h.copies.at[0]; /* most time first */
    assert_string_equal(gp_hta_str(&h, up->name), "Memcpy HtoD (Pinned -> Device)");
    assert_int_equal(up->count, 2);
    assert_int_equal(up->bytes, 4000);
    assert_int_equal(up->dur_ns, 40);
    assert_int_equal(up->size.max, 3000);
    assert_int_equal(up->sync_calls, 1);
    assert_false(up->pageable);
    const struct gp_copy_stat *down = find(&h, "Memcpy DtoH (Device -> Pageable)");
    assert_true(down->pageable);
    assert_int_equal(down->sync_calls, 1); /* to pageable memory even the asynchronous call waits */
    assert_int_equal(find(&h, "Memcpy DtoD (Device -> Device)")->sync_calls, 0);
    assert_int_equal(find(&h, "Memset (Device)")->sync_calls, 0);
    gp_hta_section_release(&gp_hta_copies_section, &h);
    gp_hta_release(&h);
    gp_trace_release(&t);
}

static const char on_gpu[] = "{\"Device Id\":1,\"Device Type\":1}",
                  on_host[] = "{\"Device Id\":-1,\"Device Type\":0}";

static void make_memory(struct gp_trace *t)
{
    *t = begin();
    t->rank = 3;
    uint32_t p = mk_process(t, 1, 0), thread = mk_thread(t, p, 1);
    mk_host(t, GP_OP, thread, 0, 100, "aten::linear");
    mk_host(t, GP_OP, thread, 15, 30, "aten::addmm");
    mk_call(t, thread, 18, 22, "cudaMalloc", 1);
    allocate(t, thread, 10, 100, 500, 1000, on_gpu);
    allocate(t, thread, 20, 300, 800, 2000, on_gpu);
    allocate(t, thread, 40, -300, 500, 2000, on_gpu);
    allocate(t, thread, 50, 50, 550, 1500, on_gpu);
    allocate(t, thread, 12, 10, 0, 0, on_host);
    allocate(t, thread, 60, 20, 0, 0, on_host);
    allocate(t, thread, 70, -20, 0, 0, on_host);
}

TEST(test_peak_of_memory)
{
    struct gp_trace t;
    struct gp_hta h;
    make_memory(&t);
    gp_hta_init(&h, NULL);
    add(&h, &t);
    gp_hta_section_sort(&gp_hta_copies_section, &h);
    assert_int_equal(h.memory.n, 2);
    const struct gp_memory_stat *host = &h.memory.at[0], *gpu = &h.memory.at[1];
    assert_int_equal(host->rank, 3);
    assert_int_equal(host->device, -1);
    assert_int_equal(host->peak_bytes, 30); /* no totals: the running sum */
    assert_int_equal(host->peak_at_ns, 60);
    assert_string_equal(gp_hta_str(&h, host->peak_op), "aten::linear");
    assert_int_equal(gpu->device, 1);
    assert_int_equal(gpu->allocations, 3);
    assert_int_equal(gpu->frees, 1);
    assert_int_equal(gpu->allocated_bytes, 450);
    assert_int_equal(gpu->peak_bytes, 800);
    assert_int_equal(gpu->peak_at_ns, 20);
    assert_int_equal(gpu->peak_reserved_bytes, 2000);
    assert_string_equal(gp_hta_str(&h, gpu->peak_op), "aten::addmm"); /* past the call inside it */
    gp_hta_section_release(&gp_hta_copies_section, &h);
    gp_hta_release(&h);
    gp_trace_release(&t);
}

static void save(struct gp_hta *h, struct gp_buf *to)
{
    struct gp_serializer x = {.save = to, .strings = &h->strings};
    to->n = 0;
    gp_hta_section_serialize(&gp_hta_copies_section, &x, h);
}

/* Adding to one, merging two, and merging two that were saved and loaded. */
TEST(test_merging_is_adding)
{
    struct gp_trace a, b, c;
    struct gp_hta one, two, three, loaded;
    make_copies(&a);
    make_memory(&b);
    make_copies(&c);
    gp_hta_init(&one, NULL);
    gp_hta_init(&two, NULL);
    gp_hta_init(&three, NULL);
    gp_hta_init(&loaded, NULL);
    gp_intern_cstr(&three.strings, "shifts the sids");
    add(&one, &a);
    add(&one, &b);
    add(&one, &c);
    add(&two, &a);
    add(&three, &b);
    add(&three, &c);
    struct gp_buf x = {0}, y = {0};
    save(&three, &x);
    struct gp_serializer load = {
        .load = (const uint8_t *)x.data, .end = (const uint8_t *)x.data + x.n, .strings = &loaded.strings};
    gp_hta_section_serialize(&gp_hta_copies_section, &load, &loaded);
    assert_false(load.failed);
    assert_ptr_equal(load.load, load.end);
    gp_hta_section_merge(&gp_hta_copies_section, &two, &loaded);
    assert_int_equal(loaded.copies.n, 0);
    gp_hta_section_sort(&gp_hta_copies_section, &one);
    gp_hta_section_sort(&gp_hta_copies_section, &two);
    save(&one, &x);
    save(&two, &y);
    assert_int_equal(x.n, y.n);
    assert_memory_equal(x.data, y.data, x.n);
    assert_int_equal(find(&two, "Memcpy HtoD (Pinned -> Device)")->count, 4);
    struct gp_hta *all[] = {&one, &two, &three, &loaded};
    for (int i = 0; i < 4; i++) {
        gp_hta_section_release(&gp_hta_copies_section, all[i]);
        gp_hta_release(all[i]);
    }
    gp_buf_release(&x);
    gp_buf_release(&y);
    gp_trace_release(&a);
    gp_trace_release(&b);
    gp_trace_release(&c);
}
