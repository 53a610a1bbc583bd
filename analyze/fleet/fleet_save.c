/* Saving and loading a fleet. Rows are sorted first, so that equal fleets have equal bytes. */
#include <stdlib.h>
#include <string.h>
#include "analyze/fleet/fleet_priv.h"

static void xfer_kernel_time(struct gp_xfer *x, struct gp_fleet_kernel_time *t)
{
    gp_xfer_str(x, &t->name);
    gp_xfer_u64(x, &t->calls);
    gp_xfer_i64(x, &t->step_ns);
    gp_xfer_i64(x, &t->call_ns);
}

static void xfer_member(struct gp_xfer *x, struct gp_fleet_member *m)
{
    gp_fleet_key_xfer(x, &m->key);
    gp_xfer_i64(x, &m->device);
    gp_xfer_str(x, &m->gpu);
    gp_xfer_u64(x, &m->steps);
    for (int i = 0; i < GP_FLEET_METRIC_COUNT; i++) {
        gp_xfer_i64(x, &m->ns[i]);
        if (m->ns[i] < 0) x->failed = true;
    }
    GP_XFER_VEC(x, &m->kernels, xfer_kernel_time);
    if (m->kernels.n > GP_FLEET_KERNELS) x->failed = true;
}

static void xfer_kernel(struct gp_xfer *x, struct gp_fleet_kernel *k)
{
    gp_xfer_str(x, &k->name);
    k->worst.most = GP_FLEET_WORST_KERNEL;
    gp_spread_xfer(x, &k->step);
    gp_spread_xfer(x, &k->call);
    gp_worst_xfer(x, &k->worst);
}

/* Most cells of one rank's map are empty: distance to the next, value. */
static void xfer_cells(struct gp_xfer *x, const struct gp_fleet *f, uint16_t *cells)
{
    uint32_t used = 0, at = 0;
    for (uint32_t r = 0; r < f->rows; r++) used += cells[r] != 0;
    gp_xfer_u32(x, &used);
    for (uint32_t i = 0; i < used && !x->failed; i++) {
        uint32_t next = at, step, value;
        while (x->save && !cells[next]) next++;
        step = next - at;
        gp_xfer_u32(x, &step);
        if (x->failed || step >= f->rows - at) {
            x->failed = true;
            return;
        }
        at += step;
        value = cells[at];
        gp_xfer_u32(x, &value);
        if (!value || value > GP_SPREAD_BUCKETS) x->failed = true;
        else cells[at] = (uint16_t)value;
        at++;
    }
}

static void xfer_column(struct gp_xfer *x, struct gp_fleet *f, struct gp_fleet_column *c)
{
    c->worst.most = GP_FLEET_WORST_STEP;
    gp_xfer_i64(x, &c->index);
    gp_spread_xfer(x, &c->own);
    gp_worst_xfer(x, &c->worst);
    if (!x->save) c->cells = gp_zalloc((f->rows + 1) * sizeof *c->cells);
    xfer_cells(x, f, c->cells);
}

/* The axes follow from the highest rank and the range of steps. */
static void xfer_columns(struct gp_xfer *x, struct gp_fleet *f)
{
    int32_t last_rank = f->last_rank;
    gp_xfer_i32(x, &last_rank);
    gp_xfer_i64(x, &f->first_step);
    gp_xfer_i64(x, &f->last_step);
    uint32_t shift = f->column_shift;
    gp_xfer_u32(x, &shift);
    bool stepped = f->first_step <= f->last_step;
    if (stepped && (f->first_step < 0 || f->last_step >= INT64_C(1) << 30)) x->failed = true;
    if (shift != (stepped && !x->failed ? gp_fleet_shift(f->first_step, f->last_step) : 0)) x->failed = true;
    if (x->failed) return;
    f->column_shift = shift;
    if (!x->save) gp_fleet_fit_rows(f, last_rank);
    size_t n = gp_xfer_count(x, f->columns.n, 4);
    if (n > GP_FLEET_COLUMNS) x->failed = true;
    for (size_t i = 0; i < n && !x->failed; i++) {
        if (!x->save) GP_VEC_PUSH(&f->columns, ((struct gp_fleet_column){0}));
        struct gp_fleet_column *c = &f->columns.at[i];
        xfer_column(x, f, c);
        if (!stepped || c->index < f->first_step >> shift || c->index > f->last_step >> shift ||
            (i && c->index <= c[-1].index))
            x->failed = true;
    }
}

/* Runs of ranks: how many are missing, how many are there. */
static void xfer_bits(struct gp_xfer *x, uint64_t *bits)
{
    uint32_t at = 0;
    while (!x->failed) {
        uint32_t gap = 0, run = 0;
        if (x->save) {
            while (at + gap < GP_FLEET_BITS && !(bits[(at + gap) / 64] >> (at + gap) % 64 & 1)) gap++;
            while (at + gap + run < GP_FLEET_BITS && bits[(at + gap + run) / 64] >> (at + gap + run) % 64 & 1)
                run++;
        }
        gp_xfer_u32(x, &run);
        if (!run || x->failed) return;
        gp_xfer_u32(x, &gap);
        if (x->failed || gap > GP_FLEET_BITS - at || run > GP_FLEET_BITS - at - gap) {
            x->failed = true;
            return;
        }
        at += gap;
        for (; run; run--, at++) bits[at / 64] |= UINT64_C(1) << at % 64;
    }
}

static void xfer_skip(struct gp_xfer *x, struct gp_fleet_skip *s)
{
    gp_xfer_str(x, &s->operand);
    gp_xfer_str(x, &s->reason);
}

static void xfer_lists(struct gp_xfer *x, struct gp_fleet *f)
{
    for (int m = 0; m < GP_FLEET_METRIC_COUNT; m++) {
        gp_spread_xfer(x, &f->spread[m]);
        gp_worst_xfer(x, &f->worst[m]);
    }
    gp_worst_xfer(x, &f->best);
    gp_worst_xfer(x, &f->sample);
    GP_XFER_VEC(x, &f->kept, xfer_member);
    GP_XFER_VEC(x, &f->kernels, xfer_kernel);
    gp_xfer_u64(x, &f->name_limit);
    gp_xfer_u64(x, &f->names_left_out);
    for (int i = 0; i < GP_FLEET_ORDINALS; i++) {
        gp_xfer_u64(x, &f->ordinals[i].n);
        gp_xfer_i64(x, &f->ordinals[i].own_ns);
    }
}

void gp_fleet_xfer(struct gp_xfer *x, struct gp_fleet *f)
{
    struct gp_strings *strings = x->strings;
    if (x->save) gp_fleet_settle(f);
    x->strings = &f->strings;
    gp_xfer_u64(x, &f->members);
    gp_xfer_u64(x, &f->stepped);
    gp_xfer_bool(x, &f->by_device);
    gp_xfer_bool(x, &f->host_slowed);
    if (f->members > INT64_MAX || f->stepped > f->members) x->failed = true;
    xfer_lists(x, f);
    for (size_t i = 0; i < f->kernels.n && !x->save; i++)
        gp_map_put(&f->names, f->kernels.at[i].name, (uint32_t)i);
    xfer_columns(x, f);
    bool any = f->seen != NULL;
    gp_xfer_bool(x, &any);
    if (any && !f->seen) {
        f->seen = gp_zalloc(GP_FLEET_BITS / 8);
        f->twice = gp_zalloc(GP_FLEET_BITS / 8);
    }
    if (any) {
        xfer_bits(x, f->seen);
        xfer_bits(x, f->twice);
    }
    gp_xfer_u64(x, &f->skipped);
    GP_XFER_VEC(x, &f->skips, xfer_skip);
    if (f->skips.n > GP_FLEET_SKIPPED) x->failed = true;
    x->strings = strings;
}
