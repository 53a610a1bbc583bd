/* Steps compared between ranks, and the map of ranks by steps. Both axes have a fixed number of places and
 * get coarser by powers of two, aligned to multiples of them: a coarse place is the union of fine ones, so
 * that it does not matter when the axis became coarser. */
#include <stdlib.h>
#include <string.h>
#include "analyze/fleet/fleet_priv.h"

enum { MOST_STEP = 1 << 30 };

unsigned gp_fleet_shift(int64_t first, int64_t last)
{
    unsigned s = 0;
    while ((last >> s) - (first >> s) >= GP_FLEET_COLUMNS) s++;
    return s;
}

/* ---- rows ---- */

void gp_fleet_fit_rows(struct gp_fleet *f, int32_t last_rank)
{
    if (last_rank > f->last_rank) f->last_rank = last_rank;
    if (f->last_rank < 0) return;
    unsigned s = 0;
    while (f->last_rank >> s >= GP_FLEET_ROWS) s++;
    uint32_t rows = (uint32_t)(f->last_rank >> s) + 1;
    if (s == f->row_shift && rows <= f->rows) return;
    GP_EACH(struct gp_fleet_column, c, f->columns) {
        uint16_t *cells = gp_zalloc(rows * sizeof *cells);
        for (uint32_t r = 0; r < f->rows; r++) {
            uint16_t *to = &cells[r >> (s - f->row_shift)];
            if (c->cells[r] > *to) *to = c->cells[r];
        }
        free(c->cells);
        c->cells = cells;
    }
    f->row_shift = s;
    f->rows = rows;
}

/* ---- columns ---- */

void gp_fleet_column_release(struct gp_fleet_column *c)
{
    gp_sketch_release(&c->own);
    free(c->cells);
}

static void merge_column(const struct gp_fleet *f, struct gp_fleet_column *to,
                         const struct gp_fleet_column *from)
{
    gp_sketch_merge(&to->own, &from->own);
    gp_topk_merge(&to->worst, &from->worst);
    for (uint32_t r = 0; r < f->rows; r++)
        if (from->cells[r] > to->cells[r]) to->cells[r] = from->cells[r];
}

static void fit_columns(struct gp_fleet *f, int64_t first, int64_t last)
{
    bool none = f->first_step > f->last_step;
    if (none || first < f->first_step) f->first_step = first;
    if (none || last > f->last_step) f->last_step = last;
    unsigned s = gp_fleet_shift(f->first_step, f->last_step);
    if (s <= f->column_shift) return;
    size_t n = 0;
    for (size_t i = 0; i < f->columns.n; i++) {
        struct gp_fleet_column c = f->columns.at[i];
        c.index >>= s - f->column_shift;
        if (n && f->columns.at[n - 1].index == c.index) {
            merge_column(f, &f->columns.at[n - 1], &c);
            gp_fleet_column_release(&c);
        } else {
            f->columns.at[n++] = c;
        }
    }
    f->columns.n = n;
    f->column_shift = s;
}

static struct gp_fleet_column *column_of(struct gp_fleet *f, int64_t index)
{
    size_t at = f->columns.n;
    while (at && f->columns.at[at - 1].index > index) at--;
    if (at && f->columns.at[at - 1].index == index) return &f->columns.at[at - 1];
    struct gp_fleet_column c = {.index = index, .worst.most = GP_FLEET_WORST_STEP};
    c.cells = gp_zalloc((f->rows + 1) * sizeof *c.cells);
    GP_VEC_PUSH(&f->columns, c);
    memmove(f->columns.at + at + 1, f->columns.at + at, (f->columns.n - 1 - at) * sizeof c);
    f->columns.at[at] = c;
    return &f->columns.at[at];
}

/* A step number that no program reaches is damage, and would leave all others in one column. */
static bool is_usable(const struct gp_fleet_step *s) { return s->number >= 0 && s->number < MOST_STEP; }

void gp_fleet_add_steps(struct gp_fleet *f, struct gp_fleet_key key, const struct gp_fleet_step *steps,
                        size_t n)
{
    gp_fleet_fit_rows(f, key.rank);
    for (size_t i = 0; i < n; i++)
        if (is_usable(&steps[i])) fit_columns(f, steps[i].number, steps[i].number);
    for (size_t i = 0; i < n; i++) {
        if (!is_usable(&steps[i])) continue;
        struct gp_fleet_column *c = column_of(f, steps[i].number >> f->column_shift);
        uint16_t cell = (uint16_t)(1 + gp_sketch_bucket_of(steps[i].own_ns));
        gp_sketch_add(&c->own, steps[i].own_ns);
        gp_topk_add(&c->worst, steps[i].own_ns, key);
        if (key.rank >= 0 && cell > c->cells[key.rank >> f->row_shift])
            c->cells[key.rank >> f->row_shift] = cell;
    }
}

void gp_fleet_merge_steps(struct gp_fleet *to, const struct gp_fleet *from)
{
    gp_fleet_fit_rows(to, from->last_rank);
    if (from->first_step > from->last_step) return;
    fit_columns(to, from->first_step, from->last_step);
    GP_EACH(const struct gp_fleet_column, c, from->columns) {
        struct gp_fleet_column *into = column_of(to, c->index >> (to->column_shift - from->column_shift));
        gp_sketch_merge(&into->own, &c->own);
        gp_topk_merge(&into->worst, &c->worst);
        for (uint32_t r = 0; r < from->rows; r++) {
            uint16_t *cell = &into->cells[r >> (to->row_shift - from->row_shift)];
            if (c->cells[r] > *cell) *cell = c->cells[r];
        }
    }
}
