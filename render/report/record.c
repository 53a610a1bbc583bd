#include "render/report/record.h"

#include <string.h>
#include "analyze/math/dist.h"
#include "analyze/math/sums.h"
#include "formats/base/json_write.h"
#include "formats/base/scale.h"

/* The integer field of rows that their rest sums, by its place in rec->rest. */
struct summed {
    const struct gp_field *f; /* NULL: none */
    size_t base;
};

static struct summed summed_of(const struct gp_record *rec, int which)
{
    struct summed s = {0};
    if (rec->rest[which].id) s.f = gp_record_field(rec, rec->rest[which].field, &s.base);
    return s;
}

/* What ROW adds to the rest; 0 where it is not known. */
static int64_t rest_of(const struct summed *s, const void *row, const struct gp_row_of *x)
{
    if (!s->f) return 0;
    struct gp_cell c = gp_field_cell(s->f, (const char *)row + s->base, x);
    return c.none ? 0 : c.i;
}

/* ---- JSON ---- */

/* KEY with its unit, as in "p50_ns". */
static void put_dist_key(struct gp_doc *d, const char *key, const char *unit)
{
    gp_doc_next(d);
    gp_buf_putc(d->b, '"');
    gp_buf_puts(d->b, key);
    gp_buf_puts(d->b, unit);
    gp_buf_puts(d->b, "\": ");
}

/* Of an empty one only the sums are known. */
void gp_dist_json(struct gp_doc *d, const char *key, const struct gp_dist *v, const char *unit)
{
    static const char *const names[] = {"min", "max", "mean", "stddev", "p50", "p90", "p99"};
    const int64_t ints[] = {
        v->min, v->max, 0, 0, gp_dist_quantile(v, 0.5), gp_dist_quantile(v, 0.9), gp_dist_quantile(v, 0.99)};
    gp_doc_object(d, key);
    gp_doc_u64(d, "count", v->n);
    put_dist_key(d, "total", unit);
    gp_buf_put_i64(d->b, v->sum);
    for (int i = 0; i < 7; i++) {
        put_dist_key(d, names[i], unit);
        if (!v->n) gp_buf_puts(d->b, "null");
        else if (i == 2) gp_json_put_double(d->b, (double)v->sum / (double)v->n);
        else if (i == 3) gp_json_put_double(d->b, gp_dist_stddev(v));
        else gp_buf_put_i64(d->b, ints[i]);
    }
    gp_doc_end(d, '}');
}

static void put_list(struct gp_doc *d, const struct gp_record *rec, const void *rows, size_t n,
                     const struct gp_row_of *x)
{
    for (size_t i = 0; i < n; i++) {
        gp_doc_element(d);
        gp_record_members(d, rec, (const char *)rows + i * rec->size, x);
        gp_doc_end(d, '}');
    }
    gp_doc_end(d, ']');
}

/* An object or a list. */
static void put_inner(struct gp_doc *d, const struct gp_field *f, const struct gp_cell *c,
                      const struct gp_row_of *x)
{
    if (f->type == GP_CELL_DIST) {
        gp_dist_json(d, f->id, c->at, f->unit);
    } else if (f->type == GP_CELL_ROWS) {
        gp_doc_list(d, f->id);
        put_list(d, f->rows, c->at, c->text_len, x);
    } else {
        gp_doc_object(d, f->id);
        gp_record_members(d, f->rows, c->at, x);
        gp_doc_end(d, '}');
    }
}

void gp_field_json(struct gp_doc *d, const struct gp_field *f, const struct gp_cell *c,
                   const struct gp_row_of *x)
{
    if (c->none) {
        if (!(f->flags & GP_FIELD_OPTIONAL)) gp_doc_null(d, f->id);
        return;
    }
    switch ((enum gp_cell_type)c->type) {
    case GP_CELL_NAME:
    case GP_CELL_TEXT:
        gp_doc_key(d, f->id);
        gp_json_put_string(d->b, c->text, c->text_len);
        break;
    case GP_CELL_BOOL:
        gp_doc_bool(d, f->id, c->i != 0);
        break;
    case GP_CELL_ID:
    case GP_CELL_COUNT:
    case GP_CELL_NS:
    case GP_CELL_US:
    case GP_CELL_BYTES:
    case GP_CELL_CHANGE_NS:
    case GP_CELL_CHANGE_US:
        gp_doc_i64(d, f->id, c->i);
        break;
    case GP_CELL_PCT:
    case GP_CELL_GBPS:
    case GP_CELL_REAL:
    case GP_CELL_NS_REAL:
    case GP_CELL_CHANGE_PCT:
        gp_doc_real(d, f->id, c->d);
        break;
    case GP_CELL_DIST:
    case GP_CELL_ROWS:
    case GP_CELL_ROW:
        put_inner(d, f, c, x);
        break;
    case GP_CELL_PART:
        break;
    }
}

void gp_record_members(struct gp_doc *d, const struct gp_record *rec, const void *row,
                       const struct gp_row_of *x)
{
    for (size_t i = 0; i < rec->n; i++) {
        const struct gp_field *f = &rec->fields[i];
        if (f->type == GP_CELL_PART) {
            gp_record_members(d, f->rows, gp_member_at(row, f), x);
        } else if (f->id && !(f->flags & GP_FIELD_TABLES)) {
            struct gp_cell c = gp_field_cell(f, row, x);
            gp_field_json(d, f, &c, x);
        }
    }
}

/* "ID_rest": {...}, of N rows that are not shown. */
static void put_rest(struct gp_doc *d, const struct gp_record *rec, const void *rows, size_t n,
                     const struct gp_row_of *x)
{
    gp_doc_next(d);
    gp_buf_printf(d->b, "\"%s_rest\": ", rec->id);
    gp_doc_begin(d, '{');
    gp_doc_u64(d, "rows", n);
    for (int i = 0; i < 2; i++) {
        const struct summed summed = summed_of(rec, i);
        int64_t sum = 0;
        for (size_t row = 0; row < n; row++)
            sum = gp_add_saturated(sum, rest_of(&summed, (const char *)rows + row * rec->size, x));
        gp_doc_i64(d, rec->rest[i].id, sum);
    }
    gp_doc_end(d, '}');
}

void gp_record_json(struct gp_doc *d, const struct gp_record *rec, const void *rows, size_t n, size_t top,
                    const struct gp_row_of *x)
{
    size_t shown = top && top < n ? top : n;
    struct gp_arena mem = {0};
    struct gp_row_of of = *x;
    if (!of.mem) of.mem = &mem;
    gp_doc_list(d, rec->id);
    put_list(d, rec, rows, shown, &of);
    if (rec->rest[0].id) put_rest(d, rec, (const char *)rows + shown * rec->size, n - shown, &of);
    gp_arena_release(&mem);
}

/* ---- tables ---- */

struct gp_report_table *gp_columns_table(struct gp_report *r, const struct gp_record *rec,
                                         const struct gp_columns *c, const struct gp_row_of *x)
{
    struct gp_report_table *t = gp_report_add(r, rec->id, rec->title);
    for (size_t i = 0; i < c->n; i++) {
        const struct gp_field *f = c->at[i].f;
        /* Of one process, its number is nothing that a person needs. */
        unsigned flags =
            f->get == gp_member_process && !x->merged ? GP_COLUMN_RAW : f->flags & GP_COLUMN_FLAGS;
        gp_report_column(t, f->id, f->heading, (enum gp_cell_type)f->type, flags, f->help);
    }
    return t;
}

void gp_columns_put(struct gp_report *r, struct gp_report_table *t, const struct gp_columns *c,
                    const void *row, const struct gp_row_of *x)
{
    struct gp_row_of of = *x;
    of.mem = &r->mem;
    of.labels = true;
    for (size_t i = 0; i < c->n; i++) {
        const struct gp_field *f = c->at[i].f;
        struct gp_cell cell = gp_field_cell(f, (const char *)row + c->at[i].base, &of);
        gp_report_put_cell(t, &cell);
    }
}

/* 1 + the column whose rows are parts of a whole; 0: none. */
static size_t sum_column(const struct gp_report_table *t)
{
    static const char *const ids[] = {"total_ns", "gpu_ns", "idle_ns", "duration_total_ns"};
    for (size_t c = 0; c < t->columns.n; c++)
        for (size_t i = 0; i < GP_COUNT(ids); i++)
            if (!strcmp(t->columns.at[c].id, ids[i])) return c + 1;
    return 0;
}

void gp_record_more(struct gp_report *r, struct gp_report_table *t, size_t left, int64_t time_ns)
{
    if (!left) return;
    struct gp_buf b = {0};
    gp_buf_puts(&b, "and ");
    gp_scale_put_count(&b, left);
    gp_buf_puts(&b, " more");
    if (time_ns > 0) {
        gp_buf_puts(&b, left > 1 ? ", together " : ", ");
        gp_scale_put(&b, GP_UNIT_NS, time_ns);
        t->more_column = sum_column(t);
        t->more_sum = time_ns;
    }
    t->more = gp_report_str(r, b.data, b.n);
    gp_buf_release(&b);
}

struct gp_report_table *gp_record_table(struct gp_report *r, const struct gp_record *rec, const void *rows,
                                        size_t n, size_t top, const struct gp_row_of *x)
{
    struct gp_columns c;
    int64_t left_ns = 0;
    if (!n) return NULL;
    struct gp_row_of of = *x;
    of.mem = &r->mem;
    const struct summed time = summed_of(rec, 1);
    gp_columns_find(&c, rec);
    struct gp_report_table *t = gp_columns_table(r, rec, &c, x);
    size_t shown = top && top < n ? top : n;
    for (size_t i = 0; i < n; i++) {
        const void *row = (const char *)rows + i * rec->size;
        if (i < shown) {
            gp_columns_put(r, t, &c, row, x);
            if (rec->colour) GP_VEC_PUSH(&t->classes, rec->colour(row));
        } else {
            left_ns = gp_add_saturated(left_ns, rest_of(&time, row, &of));
        }
    }
    gp_record_more(r, t, n - shown, left_ns);
    gp_columns_release(&c);
    return t;
}
