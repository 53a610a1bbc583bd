/* Saving and loading a fleet. Rows are sorted first, so that equal fleets have equal bytes. */
#include <stdlib.h>
#include <string.h>
#include "analyze/fleet/fleet_priv.h"
#include "analyze/result/keep.h"

#define AT(member) offsetof(struct gp_fleet_kernel_time, member)
static const struct gp_field kernel_fields[] = {
    {.at = AT(name), .keep = GP_KEEP_STR},
    {.at = AT(calls), .keep = GP_KEEP_U64},
    {.at = AT(step_ns), .keep = GP_KEEP_I64},
    {.at = AT(call_ns), .keep = GP_KEEP_I64},
};
#undef AT
static const struct gp_record kernels = {"kernels", "Kernels of a member", GP_FIELDS(kernel_fields),
                                         .size = sizeof(struct gp_fleet_kernel_time)};

#define AT(member) offsetof(struct gp_fleet_member, member)
static const struct gp_field member_fields[] = {
    {.type = GP_CELL_PART, .at = AT(key), .rows = &gp_fleet_keys},
    {.at = AT(device), .keep = GP_KEEP_I64},
    {.at = AT(gpu), .keep = GP_KEEP_STR},
    {.at = AT(steps), .keep = GP_KEEP_U64},
#define X(id, name, text) {.at = AT(ns[id]), .keep = GP_KEEP_I64},
    GP_FLEET_METRICS(X)
#undef X
        {.at = AT(kernels), .keep = GP_KEEP_ROWS, .rows = &kernels},
};
#undef AT
static const struct gp_record members = {"members", "Members", GP_FIELDS(member_fields),
                                         .size = sizeof(struct gp_fleet_member)};

static const struct gp_field skip_fields[] = {
    {.at = offsetof(struct gp_fleet_skip, operand), .keep = GP_KEEP_STR},
    {.at = offsetof(struct gp_fleet_skip, reason), .keep = GP_KEEP_STR},
};
static const struct gp_record skips = {"skips", "Skipped", GP_FIELDS(skip_fields),
                                       .size = sizeof(struct gp_fleet_skip)};

static const struct gp_field ordinal_fields[] = {
    {.at = offsetof(struct gp_fleet_ordinal, n), .keep = GP_KEEP_U64},
    {.at = offsetof(struct gp_fleet_ordinal, own_ns), .keep = GP_KEEP_I64},
};
static const struct gp_record ordinals = {"ordinals", "Devices", GP_FIELDS(ordinal_fields),
                                          .size = sizeof(struct gp_fleet_ordinal)};

/* Of a fleet itself: its head, kernels left out, its steps. */
#define AT(member) offsetof(struct gp_fleet, member)
static const struct gp_field count_fields[] = {
    {.at = AT(members), .keep = GP_KEEP_U64},
    {.at = AT(stepped), .keep = GP_KEEP_U64},
    {.at = AT(by_device), .keep = GP_KEEP_BOOL},
    {.at = AT(host_slowed), .keep = GP_KEEP_BOOL},
};
static const struct gp_field name_fields[] = {
    {.at = AT(name_limit), .keep = GP_KEEP_U64},
    {.at = AT(names_left_out), .keep = GP_KEEP_U64},
};
static const struct gp_field axis_fields[] = {
    {.at = AT(last_rank), .keep = GP_KEEP_I32},
    {.at = AT(first_step), .keep = GP_KEEP_I64},
    {.at = AT(last_step), .keep = GP_KEEP_I64},
    {.at = AT(column_shift), .keep = GP_KEEP_U32},
};
#undef AT
#define OF_FLEET(name, list)                                                                                 \
    static const struct gp_record name = {                                                                   \
        .id = #name, .title = "Fleet", GP_FIELDS(list), .size = sizeof(struct gp_fleet)}
OF_FLEET(counts, count_fields);
OF_FLEET(names, name_fields);
OF_FLEET(axes, axis_fields);

static void serialize_member(struct gp_serializer *x, struct gp_fleet_member *m)
{
    gp_record_serialize(x, &members, m);
    for (int i = 0; i < GP_FLEET_METRIC_COUNT; i++)
        if (m->ns[i] < 0) x->failed = true;
    if (m->kernels.n > GP_FLEET_KERNELS) x->failed = true;
}

static void serialize_kernel(struct gp_serializer *x, struct gp_fleet_kernel *k)
{
    gp_serialize_str(x, &k->name);
    k->worst.most = GP_FLEET_WORST_KERNEL;
    gp_sketch_serialize(x, &k->step);
    gp_sketch_serialize(x, &k->call);
    gp_topk_serialize(x, &k->worst);
}

/* Most cells of one rank's map are empty: distance to the next, value. */
static void serialize_cells(struct gp_serializer *x, const struct gp_fleet *f, uint16_t *cells)
{
    uint32_t used = 0, at = 0;
    for (uint32_t r = 0; r < f->rows; r++) used += cells[r] != 0;
    gp_serialize_u32(x, &used);
    for (uint32_t i = 0; i < used && !x->failed; i++) {
        uint32_t next = at, step, value;
        while (x->save && !cells[next]) next++;
        step = next - at;
        gp_serialize_u32(x, &step);
        if (x->failed || step >= f->rows - at) {
            x->failed = true;
            return;
        }
        at += step;
        value = cells[at];
        gp_serialize_u32(x, &value);
        if (!value || value > GP_SKETCH_BUCKETS) x->failed = true;
        else cells[at] = (uint16_t)value;
        at++;
    }
}

/* The axes follow from the highest rank and the range of steps. */
static void serialize_columns(struct gp_serializer *x, struct gp_fleet *f)
{
    struct gp_fleet saved = *f;
    gp_record_serialize(x, &axes, &saved);
    unsigned shift = saved.column_shift;
    f->first_step = saved.first_step;
    f->last_step = saved.last_step;
    bool stepped = f->first_step <= f->last_step;
    if (stepped && (f->first_step < 0 || f->last_step >= INT64_C(1) << 30)) x->failed = true;
    if (shift != (stepped && !x->failed ? gp_fleet_shift(f->first_step, f->last_step) : 0)) x->failed = true;
    if (x->failed) return;
    f->column_shift = shift;
    if (!x->save) gp_fleet_fit_rows(f, saved.last_rank);
    size_t n = gp_serialize_count(x, f->columns.n, 4);
    if (n > GP_FLEET_COLUMNS) x->failed = true;
    for (size_t i = 0; i < n && !x->failed; i++) {
        if (!x->save) GP_VEC_PUSH(&f->columns, ((struct gp_fleet_column){0}));
        struct gp_fleet_column *c = &f->columns.at[i];
        c->worst.most = GP_FLEET_WORST_STEP;
        gp_serialize_i64(x, &c->index);
        gp_sketch_serialize(x, &c->own);
        gp_topk_serialize(x, &c->worst);
        if (!x->save) c->cells = gp_zalloc((f->rows + 1) * sizeof *c->cells);
        serialize_cells(x, f, c->cells);
        if (!stepped || c->index < f->first_step >> shift || c->index > f->last_step >> shift ||
            (i && c->index <= c[-1].index))
            x->failed = true;
    }
}

/* Runs of ranks: how many are missing, how many are there. */
static void serialize_bits(struct gp_serializer *x, uint64_t *bits)
{
    uint32_t at = 0;
    while (!x->failed) {
        uint32_t gap = 0, run = 0;
        if (x->save) {
            while (at + gap < GP_FLEET_BITS && !(bits[(at + gap) / 64] >> (at + gap) % 64 & 1)) gap++;
            while (at + gap + run < GP_FLEET_BITS && bits[(at + gap + run) / 64] >> (at + gap + run) % 64 & 1)
                run++;
        }
        gp_serialize_u32(x, &run);
        if (!run || x->failed) return;
        gp_serialize_u32(x, &gap);
        if (x->failed || gap > GP_FLEET_BITS - at || run > GP_FLEET_BITS - at - gap) {
            x->failed = true;
            return;
        }
        at += gap;
        for (; run; run--, at++) bits[at / 64] |= UINT64_C(1) << at % 64;
    }
}

static void serialize_lists(struct gp_serializer *x, struct gp_fleet *f)
{
    for (int m = 0; m < GP_FLEET_METRIC_COUNT; m++) {
        gp_sketch_serialize(x, &f->spread[m]);
        gp_topk_serialize(x, &f->worst[m]);
    }
    gp_topk_serialize(x, &f->best);
    gp_topk_serialize(x, &f->sample);
    GP_SERIALIZE_VEC(x, &f->kept, serialize_member);
    GP_SERIALIZE_VEC(x, &f->kernels, serialize_kernel);
    gp_record_serialize(x, &names, f);
    for (int i = 0; i < GP_FLEET_ORDINALS; i++) gp_record_serialize(x, &ordinals, &f->ordinals[i]);
}

void gp_fleet_serialize(struct gp_serializer *x, struct gp_fleet *f)
{
    struct gp_strings *strings = x->strings;
    if (x->save) gp_fleet_settle(f);
    x->strings = &f->strings;
    gp_record_serialize(x, &counts, f);
    if (f->members > INT64_MAX || f->stepped > f->members) x->failed = true;
    serialize_lists(x, f);
    for (size_t i = 0; i < f->kernels.n && !x->save; i++)
        gp_map_put(&f->names, f->kernels.at[i].name, (uint32_t)i);
    serialize_columns(x, f);
    bool any = f->seen != NULL;
    gp_serialize_bool(x, &any);
    if (any && !f->seen) {
        f->seen = gp_zalloc(GP_FLEET_BITS / 8);
        f->twice = gp_zalloc(GP_FLEET_BITS / 8);
    }
    if (any) {
        serialize_bits(x, f->seen);
        serialize_bits(x, f->twice);
    }
    gp_serialize_u64(x, &f->skipped);
    gp_rows_serialize(x, &skips, &f->skips);
    if (f->skips.n > GP_FLEET_SKIPPED) x->failed = true;
    x->strings = strings;
}
