/* What is allocated, freed and copied inside each range. */
#include "analyze/hta/hta.h"
#include "analyze/hta/hta_priv.h"
#include "analyze/math/sums.h"
#include "analyze/names/args.h"
#include "analyze/names/names.h"
#include "analyze/view/host_stack.h"
#include "formats/base/buf.h"

#define AT(member) offsetof(struct gp_range_memory, member)

GP_GETTER(get_range) { gp_cell_owner(c, f, row, x, "(outside any range)"); }

#define SUM_U64 .keep = GP_KEEP_U64, .merge = GP_MERGE_SUM
#define SUM_I64 .keep = GP_KEEP_I64, .merge = GP_MERGE_SUM
static const struct gp_field fields[] = {
    {"name", "Range", GP_CELL_NAME, get_range, AT(name), .help = "null: outside of any",
     .flags = GP_FIELD_NULL, .keep = GP_KEEP_STR, .merge = GP_MERGE_KEY},
    {"allocations", "Allocations", GP_CELL_COUNT, gp_member_u64, AT(allocations), .help = "of device memory",
     SUM_U64},
    {"frees", "Frees", GP_CELL_COUNT, gp_member_u64, AT(frees), .help = "of device memory", SUM_U64},
    {"allocated_bytes", "Allocated", GP_CELL_BYTES, gp_member_i64, AT(allocated_bytes), .help = "in all",
     SUM_I64},
    {"freed_bytes", "Freed", GP_CELL_BYTES, gp_member_i64, AT(freed_bytes), .help = "in all",
     .flags = GP_COLUMN_SPARE, SUM_I64},
    {"peak_bytes", "Peak", GP_CELL_BYTES, gp_member_i64, AT(peak_bytes),
     .help = "most memory allocated by the process after an allocation in the range", .keep = GP_KEEP_I64,
     .merge = GP_MERGE_MAX},
    {"host_allocations", "Host alloc.", GP_CELL_COUNT, gp_member_u64, AT(host_allocations),
     .help = "allocations of host memory", .flags = GP_COLUMN_WIDE, SUM_U64},
    {"host_bytes", "Host bytes", GP_CELL_BYTES, gp_member_i64, AT(host_bytes), .flags = GP_COLUMN_WIDE,
     SUM_I64},
    {"copies", "Copies", GP_CELL_COUNT, gp_member_u64, AT(copies), .help = "started by its calls", SUM_U64},
    {"copied_bytes", "Copied", GP_CELL_BYTES, gp_member_i64, AT(copied_bytes), SUM_I64},
};
#undef AT

const struct gp_record gp_hta_range_memory = {"range_memory", "Memory by range", GP_FIELDS(fields),
                                              sizeof(struct gp_range_memory),
                                              .note = "memory activity by the innermost range"};

/* Most bytes first, allocated and copied. */
GP_COMPARE_IN(most_first, struct gp_range_memory, struct gp_hta,
              GP_KEY(gp_add_saturated(y->allocated_bytes, y->copied_bytes),
                     gp_add_saturated(x->allocated_bytes, x->copied_bytes))
                  GP_THEN(gp_hta_order(of, x->name, y->name)))

static const struct gp_hta_list lists[] = {
    {&gp_hta_range_memory, offsetof(struct gp_hta, range_memory),
     .map = offsetof(struct gp_hta_work, range_memory), .limit = offsetof(struct gp_hta_bound, range_limit),
     .order = most_first},
};

static struct gp_range_memory *range_of(struct gp_hta *h, gp_sid name)
{
    return gp_hta_row(h, lists, &(struct gp_range_memory){.name = name});
}

struct adding {
    struct gp_hta *h;
    const struct gp_view *v;
    struct gp_host_memo ranges; /* around a host event */
    struct gp_map labels;       /* name of a range -> sid of its label in H */
    /* (process, device) -> index; args text -> index; process -> index */
    struct gp_map devices, texts, processes;
    GP_VEC(int64_t) numbers;       /* device, by value of `texts` */
    GP_VEC(int64_t) running, sums; /* allocated by value of `devices`; on all devices, of `processes` */
};

/* The label of the innermost range around a host node, 0: none. */
static gp_sid label_of(struct adding *a, uint32_t node)
{
    const struct gp_trace *t = a->v->t;
    node = gp_host_memo_innermost(&a->ranges, node, GP_RANGE);
    if (node == GP_HOST_NONE) return 0;
    gp_sid name = t->events[GP_RANGE].name[a->v->hs.nodes[node].row];
    uint32_t *known = gp_map_put(&a->labels, name, UINT32_MAX);
    if (*known != UINT32_MAX) return *known;
    struct gp_buf label = {0};
    gp_name_range_label(&label, gp_trace_str(t, name), gp_string_len(&t->strings, name));
    if (!label.n) gp_buf_puts(&label, "[no name]");
    return *known = gp_intern_buf(&a->h->strings, &label);
}

/* Memory allocated by the process on its devices after ROW, which is on DEVICE: from the allocator's own
 * totals if recorded. */
static int64_t allocated_after(struct adding *a, uint32_t row, int64_t device)
{
    const struct gp_events *e = &a->v->t->events[GP_MEMORY];
    uint32_t process = a->v->t->tracks.at[e->track[row]].process;
    uint32_t *at =
        gp_map_put(&a->devices, (uint64_t)process << 32 | (uint32_t)device, (uint32_t)a->running.n);
    if (*at == a->running.n) GP_VEC_PUSH(&a->running, 0);
    uint32_t *sum = gp_map_put(&a->processes, process, (uint32_t)a->sums.n);
    if (*sum == a->sums.n) GP_VEC_PUSH(&a->sums, 0);
    int64_t before = a->running.at[*at], total = gp_get_total(e, row);
    int64_t now = total > 0 ? total : gp_add_saturated(before, gp_get_bytes(e, row));
    if (now < 0) now = 0; /* frees of memory allocated before the trace began */
    a->running.at[*at] = now;
    return a->sums.at[*sum] = gp_add_saturated(a->sums.at[*sum], now - before);
}

static int64_t device_of(struct adding *a, gp_sid text)
{
    uint32_t *at = gp_map_put(&a->texts, text, (uint32_t)a->numbers.n);
    if (*at == a->numbers.n) GP_VEC_PUSH(&a->numbers, gp_memory_device(gp_trace_str(a->v->t, text)));
    return a->numbers.at[*at];
}

static void add_allocation(struct adding *a, uint32_t row)
{
    const struct gp_events *e = &a->v->t->events[GP_MEMORY];
    int64_t bytes = gp_get_bytes(e, row), device = device_of(a, gp_get_extra(e, row));
    struct gp_range_memory *m =
        range_of(a->h, label_of(a, gp_host_at(&a->v->hs, e->track[row], e->start_ns[row])));
    if (device < 0) {
        m->host_allocations += bytes > 0;
        if (bytes > 0) m->host_bytes = gp_add_saturated(m->host_bytes, bytes);
        return;
    }
    int64_t after = allocated_after(a, row, device);
    m->allocations += bytes > 0;
    m->frees += bytes < 0;
    if (bytes > 0) m->allocated_bytes = gp_add_saturated(m->allocated_bytes, bytes);
    if (bytes < 0) m->freed_bytes = gp_add_saturated(m->freed_bytes, bytes == INT64_MIN ? INT64_MAX : -bytes);
    if (bytes > 0 && after > m->peak_bytes) m->peak_bytes = after;
}

static void add_copy(struct adding *a, uint32_t row)
{
    const struct gp_trace *t = a->v->t;
    uint32_t call = gp_view_launch(a->v, row);
    gp_sid label = call == UINT32_MAX ? 0 : label_of(a, gp_host_node(&a->v->hs, GP_API, call));
    struct gp_range_memory *m = range_of(a->h, label);
    int64_t bytes = gp_get_bytes(&t->events[GP_GPU], row);
    m->copies++;
    if (bytes > 0) m->copied_bytes = gp_add_saturated(m->copied_bytes, bytes);
}

static void add_all(struct gp_hta *h, const struct gp_view *v)
{
    const struct gp_trace *t = v->t;
    struct adding a = {.h = h, .v = v};
    a.ranges.hs = &v->hs;
    for (uint32_t row = 0; row < t->events[GP_MEMORY].n; row++) add_allocation(&a, row);
    for (uint32_t row = 0; row < t->events[GP_GPU].n; row++)
        if (gp_gpu_config(t, row)->kind == GP_MEMCPY) add_copy(&a, row);
    gp_host_memo_release(&a.ranges);
    GP_RELEASE(gp_map_release, &a.labels, &a.devices, &a.texts, &a.processes);
    GP_RELEASE(gp_vec_free, &a.numbers, &a.running, &a.sums);
}

const struct gp_hta_section gp_hta_range_memory_section = {lists, GP_COUNT(lists), .add = add_all};
