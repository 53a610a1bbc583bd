#include <stdlib.h>
#include "analyze/hta/hta.h"
#include "analyze/math/sums.h"
#include "analyze/names/args.h"
#include "analyze/hta/hta_priv.h"
#include "analyze/names/name_predicates.h"
#include "analyze/names/names.h"
#include "formats/base/buf.h"

/* ---- fields ---- */

#define AT(member) offsetof(struct gp_copy_stat, member)

GP_GET_IF(get_bandwidth, struct gp_copy_stat, r->dur_ns > 0 && r->bytes > 0,
          gp_cell_real(c, (double)r->bytes / (double)r->dur_ns))

static const struct gp_field copy_fields[] = {
    {"name", "Copy or set", GP_CELL_NAME, gp_member_sid, AT(name), .keep = GP_KEEP_STR,
     .merge = GP_MERGE_KEY},
    {"count", "Count", GP_CELL_COUNT, gp_member_u64, AT(count), .keep = GP_KEEP_U64, .merge = GP_MERGE_SUM},
    {"total_bytes", "Bytes", GP_CELL_BYTES, gp_member_i64, AT(bytes), .keep = GP_KEEP_I64,
     .merge = GP_MERGE_SUM},
    {"total_ns", "Time", GP_CELL_NS, gp_member_i64, AT(dur_ns), .help = "sum of durations",
     .keep = GP_KEEP_I64, .merge = GP_MERGE_SUM},
    {"bandwidth_gbps", "Bandwidth", GP_CELL_GBPS, get_bandwidth, 0,
     .help = "bytes / time, in 10^9 bytes per second", .flags = GP_FIELD_NULL},
    {"size", NULL, GP_CELL_DIST, gp_member_dist, AT(size), .help = "of one", .unit = "_bytes",
     .keep = GP_KEEP_DIST},
    {"size_p50_bytes", "Median size", GP_CELL_BYTES, gp_member_p50, AT(size), .help = "within 1/16",
     .flags = GP_COLUMN_SPARE | GP_FIELD_TABLES},
    {"size_max_bytes", "Max size", GP_CELL_BYTES, gp_member_max, AT(size),
     .flags = GP_COLUMN_WIDE | GP_FIELD_TABLES},
    {"pageable", "Pageable", GP_CELL_BOOL, gp_member_bool, AT(pageable),
     .help = "host memory that is not pinned", .flags = GP_COLUMN_WIDE, .keep = GP_KEEP_BOOL,
     .merge = GP_MERGE_OR},
    {"sync_calls", "Blocking", GP_CELL_COUNT, gp_member_u64, AT(sync_calls),
     .help = "started by a call that blocks the host", .keep = GP_KEEP_U64, .merge = GP_MERGE_SUM},
};
#undef AT

const struct gp_record gp_hta_copies = {"copies",
                                        "Copies and sets",
                                        GP_FIELDS(copy_fields),
                                        sizeof(struct gp_copy_stat),
                                        .note = "copies and sets by name, by total_ns",
                                        .rest = {{"count", "count"}, {"total_ns", "total_ns"}}};

#define AT(member) offsetof(struct gp_memory_stat, member)
static const struct gp_field memory_fields[] = {
    {"rank", "Rank", GP_CELL_ID, gp_member_rank, AT(rank), .flags = GP_FIELD_NULL, .keep = GP_KEEP_I32},
    {"device", "GPU", GP_CELL_ID, gp_member_device, AT(device), .help = "none for host memory",
     .flags = GP_FIELD_NULL, .keep = GP_KEEP_I64},
    {"allocations", "Allocations", GP_CELL_COUNT, gp_member_u64, AT(allocations), .keep = GP_KEEP_U64},
    {"frees", "Frees", GP_CELL_COUNT, gp_member_u64, AT(frees), .keep = GP_KEEP_U64},
    {"allocated_bytes", "Allocated", GP_CELL_BYTES, gp_member_i64, AT(allocated_bytes), .help = "in all",
     .flags = GP_COLUMN_SPARE | GP_FIELD_SIGNED, .keep = GP_KEEP_I64},
    {"peak_bytes", "Peak", GP_CELL_BYTES, gp_member_i64, AT(peak_bytes), .help = "allocated at once",
     .flags = GP_FIELD_SIGNED, .keep = GP_KEEP_I64},
    {"peak_at_ns", "Peak at", GP_CELL_ID, gp_member_i64, AT(peak_at_ns),
     .help = "on the clock of the trace, ns", .flags = GP_COLUMN_WIDE | GP_FIELD_SIGNED, .keep = GP_KEEP_I64},
    {"peak_reserved_bytes", "Reserved", GP_CELL_BYTES, gp_member_i64, AT(peak_reserved_bytes),
     .help = "most reserved by the allocator", .flags = GP_FIELD_SIGNED, .after = "peak_bytes",
     .keep = GP_KEEP_I64},
    {"peak_operator", "At the peak", GP_CELL_NAME, gp_member_name, AT(peak_op),
     .help = "innermost operator at the peak", .flags = GP_FIELD_NULL, .keep = GP_KEEP_STR},
};
#undef AT

const struct gp_record gp_hta_memory = {"memory", "Memory", GP_FIELDS(memory_fields),
                                        sizeof(struct gp_memory_stat),
                                        .note = "what was allocated on a device, or by the host"};

/* ---- copies and sets ---- */

enum { KIND_DTOD = 8, KIND_PAGEABLE = 1 }; /* CUPTI_ACTIVITY_MEMCPY_KIND_, _MEMORY_KIND_ */

GP_COMPARE_IN(by_time, struct gp_copy_stat, struct gp_hta,
              GP_DOWN(dur_ns) GP_THEN(gp_hta_order(of, x->name, y->name)))
/* Ranks may repeat. */
GP_COMPARE_IN(by_place, struct gp_memory_stat, void,
              GP_UP(rank) GP_UP(device) GP_UP(peak_at_ns) GP_UP(peak_bytes) GP_UP(allocated_bytes))

static const struct gp_hta_list lists[] = {
    {&gp_hta_copies, offsetof(struct gp_hta, copies), .map = offsetof(struct gp_hta_work, copies),
     .order = by_time},
    {&gp_hta_memory, offsetof(struct gp_hta, memory),
     .kept = {SIZE_MAX, GP_HTA_KEPT_UNRANKED, sizeof(int32_t), offsetof(struct gp_hta_bound, memory)},
     .order = by_place},
};

static struct gp_copy_stat *copy_of(struct gp_hta *h, gp_sid name)
{
    return gp_hta_row(h, lists, &(struct gp_copy_stat){.name = name});
}

/* What the name of a copy shows, and where its row is. */
struct copy_name {
    uint32_t index;
    bool pageable, inside, to_host;
};

/* Names are looked at once: there are few, and they may be long. */
struct copy_names {
    struct gp_map of_copy, of_call; /* name -> index into names; name -> enum call_kind */
    GP_VEC(struct copy_name) names;
};

enum call_kind { CALL_OTHER, CALL_COPIES, CALL_COPIES_ASYNC, CALL_UNKNOWN };

static const struct copy_name *read_copy_name(struct copy_names *names, struct gp_hta *h,
                                              const struct gp_trace *t, gp_sid name)
{
    uint32_t *at = gp_map_put(&names->of_copy, name, (uint32_t)names->names.n);
    if (*at == names->names.n) {
        const char *s = gp_trace_str(t, name);
        struct copy_name c = {0, gp_copy_is_pageable(s), gp_copy_on_device(s), gp_copy_to_host(s)};
        c.index = (uint32_t)(copy_of(h, gp_intern_from(&h->strings, &t->strings, name)) - h->copies.at);
        GP_VEC_PUSH(&names->names, c);
    }
    return &names->names.at[*at];
}

static enum call_kind read_call_name(struct copy_names *names, const struct gp_trace *t, gp_sid name)
{
    uint32_t *kind = gp_map_put(&names->of_call, name, CALL_UNKNOWN);
    if (*kind == CALL_UNKNOWN) {
        const char *s = gp_trace_str(t, name);
        *kind = !gp_call_copies(s) ? CALL_OTHER : gp_call_is_async(s) ? CALL_COPIES_ASYNC : CALL_COPIES;
    }
    return (enum call_kind) * kind;
}

static void add_copy(struct copy_names *names, struct gp_hta *h, const struct gp_view *v, uint32_t row)
{
    const struct gp_trace *t = v->t;
    const struct gp_events *gpu = &t->events[GP_GPU];
    const struct gp_config *c = gp_gpu_config(t, row);
    const struct copy_name *name = read_copy_name(names, h, t, c->name);
    bool pageable = name->pageable || c->src_kind == KIND_PAGEABLE || c->dst_kind == KIND_PAGEABLE;
    struct gp_copy_stat *s = &h->copies.at[name->index];
    int64_t bytes = gp_get_bytes(gpu, row);
    uint32_t call = gp_view_launch(v, row);
    s->count++;
    s->bytes = gp_add_saturated(s->bytes, bytes > 0 ? bytes : 0);
    s->dur_ns = gp_add_saturated(s->dur_ns, gpu->dur_ns[row]);
    gp_histogram_add(&s->size, bytes > 0 ? bytes : 0);
    s->pageable |= pageable;
    /* Copies inside a device and memory sets never wait; an asynchronous copy to pageable memory does. */
    if (call == UINT32_MAX || c->kind != GP_MEMCPY || c->copy_kind == KIND_DTOD || name->inside) return;
    enum call_kind kind = read_call_name(names, t, t->events[GP_API].name[call]);
    s->sync_calls += kind == CALL_COPIES || (kind == CALL_COPIES_ASYNC && pageable && name->to_host);
}

/* ---- memory ---- */

/* One device's memory while the rows go by. */
struct memory {
    struct gp_memory_stat s;
    int64_t running, most_running, most_running_at, most_total, most_total_at;
    uint32_t most_running_row, most_total_row;
    bool has_total;
};

static void track_memory(struct memory *m, const struct gp_events *e, uint32_t row)
{
    int64_t bytes = gp_get_bytes(e, row), total = gp_get_total(e, row), reserved = gp_get_reserved(e, row);
    if (bytes >= 0) {
        m->s.allocations++;
        m->s.allocated_bytes = gp_add_saturated(m->s.allocated_bytes, bytes);
        m->running = gp_add_saturated(m->running, bytes);
    } else {
        m->s.frees++;
        m->running = m->running < INT64_MIN - bytes ? INT64_MIN : m->running + bytes;
    }
    if (m->running > m->most_running) {
        m->most_running = m->running;
        m->most_running_at = e->start_ns[row];
        m->most_running_row = row;
    }
    m->has_total |= total != 0;
    if (total > m->most_total) {
        m->most_total = total;
        m->most_total_at = e->start_ns[row];
        m->most_total_row = row;
    }
    if (reserved > m->s.peak_reserved_bytes) m->s.peak_reserved_bytes = reserved;
}

/* The label of the innermost operator on the row's thread at its time. */
static gp_sid operator_at(struct gp_hta *h, const struct gp_view *v, uint32_t row)
{
    const struct gp_events *e = &v->t->events[GP_MEMORY];
    uint32_t node = gp_host_at(&v->hs, e->track[row], e->start_ns[row]);
    while (node != GP_HOST_NONE && v->hs.nodes[node].table != GP_OP) node = v->hs.nodes[node].parent;
    if (node == GP_HOST_NONE) return 0;
    gp_sid name = v->t->events[GP_OP].name[v->hs.nodes[node].row];
    struct gp_buf label = {0};
    gp_name_op_label(&label, gp_trace_str(v->t, name), gp_string_len(&v->t->strings, name));
    return gp_intern_buf(&h->strings, &label);
}

static void push_memory(struct gp_hta *h, const struct gp_view *v, const struct memory *m)
{
    struct gp_memory_stat s = m->s;
    uint32_t row = m->has_total ? m->most_total_row : m->most_running_row;
    s.peak_bytes = m->has_total ? m->most_total : m->most_running;
    s.peak_at_ns = m->has_total ? m->most_total_at : m->most_running_at;
    s.peak_op = s.peak_bytes > 0 ? operator_at(h, v, row) : 0;
    GP_VEC_PUSH(&h->memory, s);
}

static void add_memory(struct gp_hta *h, const struct gp_view *v)
{
    const struct gp_trace *t = v->t;
    const struct gp_events *e = &t->events[GP_MEMORY];
    struct gp_map devices = {0}, found = {0}; /* of args text; of (process, device) */
    GP_VEC(int64_t) numbers = {0};            /* by value of `devices` */
    GP_VEC(struct memory) all = {0};
    for (uint32_t row = 0; row < e->n; row++) {
        uint32_t *known = gp_map_put(&devices, gp_get_extra(e, row), (uint32_t)numbers.n);
        if (*known == numbers.n)
            GP_VEC_PUSH(&numbers, gp_memory_device(gp_trace_str(t, gp_get_extra(e, row))));
        int64_t device = numbers.at[*known];
        uint32_t process = t->tracks.at[e->track[row]].process;
        uint32_t *at = gp_map_put(&found, (uint64_t)process << 32 | (uint32_t)device, (uint32_t)all.n);
        if (*at == all.n) {
            struct memory m = {0};
            m.s.rank = t->processes.at[process].rank >= 0 ? t->processes.at[process].rank : t->rank;
            m.s.device = device;
            m.s.peak_at_ns = m.most_running_at = m.most_total_at = e->start_ns[row];
            m.most_running_row = m.most_total_row = row;
            GP_VEC_PUSH(&all, m);
        }
        track_memory(&all.at[*at], e, row);
    }
    for (size_t i = 0; i < all.n; i++) push_memory(h, v, &all.at[i]);
    GP_RELEASE(gp_map_release, &devices, &found);
    GP_RELEASE(gp_vec_free, &numbers, &all);
}

/* ---- the part ---- */

static void add(struct gp_hta *h, const struct gp_view *v)
{
    struct copy_names names = {0};
    for (uint32_t row = 0; row < v->t->events[GP_GPU].n; row++)
        if (gp_gpu_config(v->t, row)->kind != GP_KERNEL) add_copy(&names, h, v, row);
    gp_map_release(&names.of_copy);
    gp_map_release(&names.of_call);
    GP_VEC_FREE(&names.names);
    add_memory(h, v);
}

/* Sums that no trace gives would overflow when they are added to. */
static bool valid(const struct gp_hta *h)
{
    for (size_t i = 0; i < h->copies.n; i++)
        if (h->copies.at[i].bytes < 0 || h->copies.at[i].dur_ns < 0) return false;
    return true;
}

const struct gp_hta_section gp_hta_copies_section = {lists, GP_COUNT(lists), .add = add, .valid = valid,
                                                     .inside = true};
