#include "render/memory/memory_report.h"

#include <string.h>
#include "analyze/memory/records.h"
#include "formats/base/buf.h"
#include "formats/base/str.h"
#include "render/draw/text.h"
#include "render/report/record.h"

struct tables {
    struct gp_report *r;
    const struct gp_memory *m;
    const struct gp_memory_report_opts *o;
    struct gp_row_of of;
    bool several; /* devices: people need to see which */
};

/* A table whose rows come by device: of each, the first ones. */
struct table {
    const struct gp_record *rec;
    struct gp_columns columns;
    struct gp_report_table *at; /* NULL until there is a row */
    size_t left;
    int64_t sum; /* of those that are left out */
};

static struct table start(const struct gp_record *rec)
{
    struct table to = {.rec = rec};
    gp_columns_find(&to.columns, rec);
    return to;
}

static void put_rows(struct tables *t, struct table *to, const void *rows, size_t n)
{
    size_t shown = t->o->top && t->o->top < n ? t->o->top : n, size = to->rec->size;
    struct gp_row_of of = t->of;
    of.mem = &t->r->mem;
    if (!n) return;
    if (!to->at) {
        to->at = gp_columns_table(t->r, to->rec, &to->columns, &of);
        if (!t->several && to->rec != &gp_memory_device_rows && to->rec != &gp_memory_outsiders)
            gp_report_flag(to->at, "device", GP_COLUMN_RAW);
    }
    for (size_t i = 0; i < shown; i++)
        gp_columns_put(t->r, to->at, &to->columns, (const char *)rows + i * size, &of);
    to->left += n - shown;
    to->sum += gp_record_sum(to->rec, 1, (const char *)rows + shown * size, n - shown, &of);
}

static struct gp_report_table *finish(struct tables *t, struct table *to)
{
    if (to->at) gp_record_left(t->r, to->at, to->rec, to->left, to->sum);
    gp_columns_release(&to->columns);
    return to->at;
}

/* A table with the rows of all devices that have LEAST or more. */
static struct gp_report_table *put_list(struct tables *t, const struct gp_record *rec, size_t least)
{
    struct table to = start(rec);
    for (size_t i = 0; i < t->m->devices.n; i++) {
        struct gp_memory_rows r = gp_memory_rows(&t->m->devices.at[i], rec);
        if (r.n >= least || t->o->verbose) put_rows(t, &to, r.at, r.n);
    }
    return finish(t, &to);
}

static void put_all(struct tables *t, const struct gp_record *rec, const void *rows, size_t n)
{
    struct table to = start(rec);
    put_rows(t, &to, rows, n);
    finish(t, &to);
}

/* All rows, whatever --top is. */
static struct tables unlimited(const struct tables *t, struct gp_memory_report_opts *o)
{
    struct tables all = *t;
    *o = *t->o;
    o->top = 0;
    all.o = o;
    return all;
}

/* ---- holders ---- */

static const char *title_of(const struct gp_memory *m)
{
    bool state = m->devices.n > 0;
    for (size_t i = 0; i < m->devices.n; i++) state &= gp_memory_is_state(&m->devices.at[i]);
    if (state && m->opts.at == GP_AT_PEAK) return "Memory held at the end";
    switch (m->opts.at) {
    case GP_AT_END:
        return "Memory held at the end";
    case GP_AT_OOM:
        return "Memory held when it ran out";
    case GP_AT_TIME:
        return "Memory held at that time";
    default:
        return "What held the peak";
    }
}

static void name_holders(const struct gp_memory *m, struct gp_report_table *table)
{
    static const char *const headings[] = {"Allocated by", "Range", "Operator", "Module", "Category"};
    table->title = title_of(m);
    for (size_t i = 0; i < table->columns.n; i++) {
        struct gp_report_column *c = &table->columns.at[i];
        bool any = false;
        if (!strcmp(c->id, "key")) c->heading = headings[m->opts.by];
        if (strcmp(c->id, "category") != 0) continue;
        for (size_t row = 0; row < gp_report_rows(table); row++)
            any |=
                !gp_is(gp_report_cell(table, row, i)->label, gp_report_cell(table, row, i)->label_len, "-");
        if (!any || m->opts.by == GP_BY_CATEGORY) c->flags |= GP_COLUMN_RAW;
    }
}

static void put_holders(struct tables *t)
{
    const gp_memory_holders *named = &t->m->named;
    struct table to = start(&gp_memory_holder_rows);
    for (size_t i = 0, end = 0; i < named->n; i = end) {
        t->of.whole_ns = 0;
        for (; end < named->n && named->at[end].device == named->at[i].device; end++)
            t->of.whole_ns += named->at[end].bytes;
        put_rows(t, &to, &named->at[i], end - i);
    }
    if (finish(t, &to)) name_holders(t->m, to.at);
}

/* ---- segments ---- */

/* A part of what is reserved. */
struct part {
    const struct gp_memory_device *device;
    const char *name;
    int64_t bytes;
};

#define AT(member) offsetof(struct part, member)

GP_GETTER(get_part_device)
{
    const struct part *p = row;
    gp_memory_device_rows.fields->get(c, f, p->device, x);
}

GP_GETTER(get_part)
{
    gp_cell_text(c, ((const struct part *)row)->name);
}

GP_GETTER(get_part_share)
{
    const struct part *p = row;
    gp_cell_share(c, (double)p->bytes, (double)p->device->fragmentation.reserved);
}

static const struct gp_field part_fields[] = {
    {"device", "Device", GP_CELL_TEXT, get_part_device, 0, .help = NULL},
    {"part", "Part", GP_CELL_TEXT, get_part, 0, .help = NULL},
    {"bytes", "Bytes", GP_CELL_BYTES, gp_member_i64, AT(bytes), .help = NULL},
    {"share_pct", "Share", GP_CELL_PCT, get_part_share, 0, .help = "of what was reserved",
     .flags = GP_COLUMN_BAR},
};
#undef AT
static const struct gp_record parts = {.id = "fragmentation",
                                       .title = "What was reserved at the end",
                                       GP_FIELDS(part_fields),
                                       .size = sizeof(struct part)};

static void put_fragmentation(struct tables *t)
{
    struct gp_memory_report_opts o;
    struct tables all = unlimited(t, &o);
    struct table to = start(&parts);
    for (size_t i = 0; i < t->m->devices.n; i++) {
        const struct gp_memory_device *d = &t->m->devices.at[i];
        const struct gp_memory_fragmentation *f = &d->fragmentation;
        const struct part rows[] = {
            {d, "in use", f->active},
            {d, "  of it rounding", f->rounding},
            {d, "  of it freed, still used by a stream", f->active - f->allocated},
            {d, "free, whole segments (empty_cache returns them)", f->free_whole},
            {d, "free, inside used segments", f->free_split},
            {d, "largest free block", f->largest_free},
        };
        if (!f->known || f->reserved <= 0) continue;
        for (size_t k = 0; k < GP_COUNT(rows); k++)
            if ((k != 1 && k != 2) || rows[k].bytes > 0) put_rows(&all, &to, &rows[k], 1);
    }
    finish(&all, &to);
}

/* ---- churn ---- */

static void put_churn(struct tables *t)
{
    struct table to = start(&gp_memory_churns);
    for (size_t i = 0; i < t->m->devices.n; i++) {
        const struct gp_memory_churn *c = &t->m->devices.at[i].churn;
        put_rows(t, &to, c, c->allocations > 0);
    }
    finish(t, &to);
}

/* ---- all of it ---- */

/* Names of at most so many columns. */
static void fit_names(struct gp_report *r, size_t columns)
{
    for (size_t i = 0; i < r->tables.n; i++) {
        for (size_t k = 0; k < r->tables.at[i]->cells.n; k++) {
            struct gp_cell *c = &r->tables.at[i]->cells.at[k];
            struct gp_buf b = {0};
            if (c->type != GP_CELL_NAME || c->none || c->text_len <= columns) continue;
            gp_text_fit(&b, c->text, c->text_len, columns);
            gp_cell_label(c, gp_report_str(r, b.data, b.n), b.n, NULL, 0);
            gp_buf_release(&b);
        }
    }
}

void gp_memory_report(struct gp_report *r, struct gp_memory *m, const struct gp_memory_report_opts *o)
{
    struct gp_memory_of of = {m};
    struct gp_memory_report_opts no_limit;
    struct tables t = {.r = r, .m = m, .o = o, .of = gp_memory_rows_of(&of), .several = m->devices.n > 1};
    struct tables all = unlimited(&t, &no_limit);
    gp_memory_verdict(r, m);
    if (t.several || o->verbose) put_all(&all, &gp_memory_device_rows, m->devices.at, m->devices.n);
    put_holders(&t);
    put_all(&t, &gp_memory_changes, m->changes.at, m->changes.n);
    put_list(&t, &gp_memory_growths, 1);
    put_list(&all, &gp_memory_ooms, 1);
    put_fragmentation(&t);
    put_list(&all, &gp_memory_pools, 2);
    put_all(&t, &gp_memory_outsiders, m->outside.at, m->outside.n);
    put_churn(&t);
    put_list(&t, &gp_memory_ranges, 2);
    put_list(&t, &gp_memory_operators, 2);
    struct gp_report_table *lifetimes = put_list(&all, &gp_memory_lifetimes, 1);
    if (lifetimes) lifetimes->detail = !o->verbose;
    if (o->names) fit_names(r, o->names);
}
