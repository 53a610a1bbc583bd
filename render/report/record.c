#include "render/report/record.h"

#include <string.h>
#include "analyze/math/histogram.h"
#include "analyze/math/sums.h"
#include "formats/base/buf.h"
#include "formats/base/json_write.h"
#include "formats/base/scale.h"

/* ---- sums ---- */

int64_t gp_record_sum(const struct gp_record *rec, int which, const void *rows, size_t n,
                      const struct gp_row_of *x)
{
    size_t base;
    int64_t sum = 0;
    const struct gp_field *f =
        rec->rest[which].field ? gp_record_field(rec, rec->rest[which].field, &base) : NULL;
    for (size_t i = 0; f && i < n; i++) {
        struct gp_cell c = gp_field_cell(f, (const char *)rows + i * rec->size + base, x);
        if (!c.none) sum = gp_add_saturated(sum, c.i);
    }
    return sum;
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
static void put_dist(struct gp_doc *d, const char *key, const struct gp_histogram *v, const char *unit)
{
    static const char *const names[] = {"min", "max", "mean", "stddev", "p50", "p90", "p99"};
    const int64_t ints[] = {v->min,
                            v->max,
                            0,
                            0,
                            gp_histogram_quantile(v, 0.5),
                            gp_histogram_quantile(v, 0.9),
                            gp_histogram_quantile(v, 0.99)};
    gp_doc_object(d, key);
    gp_doc_u64(d, "count", v->n);
    put_dist_key(d, "total", unit);
    gp_buf_put_i64(d->b, v->sum);
    for (int i = 0; i < 7; i++) {
        put_dist_key(d, names[i], unit);
        if (!v->n) gp_buf_puts(d->b, "null");
        else if (i == 2) gp_json_put_double(d->b, (double)v->sum / (double)v->n);
        else if (i == 3) gp_json_put_double(d->b, gp_histogram_stddev(v));
        else gp_buf_put_i64(d->b, ints[i]);
    }
    gp_doc_end(d, '}');
}

static void put_value(struct gp_doc *d, const struct gp_cell *c)
{
    switch (gp_cell_form(c->type)) {
    case GP_FORM_TEXT: gp_json_put_string(d->b, c->text, c->text_len); break;
    case GP_FORM_BOOL: gp_buf_puts(d->b, c->i ? "true" : "false"); break;
    case GP_FORM_INTEGER: gp_buf_put_i64(d->b, c->i); break;
    case GP_FORM_REAL: gp_json_put_double(d->b, c->d); break;
    case GP_FORM_OTHER: break; /* put_field() */
    }
}

static void put_values(struct gp_doc *d, const struct gp_record *rec, const struct gp_cell *list,
                       const struct gp_row_of *x)
{
    for (size_t i = 0; i < list->text_len; i++) {
        struct gp_cell c = gp_field_cell(rec->fields, (const char *)list->at + i * rec->size, x);
        gp_doc_next(d);
        put_value(d, &c);
    }
}

/* Each row by its name. */
static void put_named(struct gp_doc *d, const struct gp_record *rec, const struct gp_cell *list,
                      const struct gp_row_of *x)
{
    const struct gp_record left = gp_record_named(rec);
    for (size_t i = 0; i < list->text_len; i++) {
        const void *row = (const char *)list->at + i * rec->size;
        const struct gp_cell name = gp_field_cell(left.fields - 1, row, x);
        gp_doc_next(d);
        gp_json_put_string(d->b, name.text, name.text_len);
        gp_buf_puts(d->b, ": ");
        if (left.n > 1) {
            gp_doc_begin(d, '{');
            gp_record_members(d, &left, row, x);
            gp_doc_end(d, '}');
            continue;
        }
        const struct gp_cell value = gp_field_cell(left.fields, row, x);
        if (value.none) gp_buf_puts(d->b, "null");
        else put_value(d, &value);
    }
}

/* One member, as JSON has it. */
static void put_field(struct gp_doc *d, const struct gp_field *f, const struct gp_cell *c,
                      const struct gp_row_of *x)
{
    if (c->none) {
        bool told = !(f->flags & GP_FIELD_OPTIONAL) || f->flags & GP_FIELD_NULL;
        if (told && !c->absent) gp_doc_null(d, f->id);
    } else if (f->type <= GP_CELL_ANY) { /* most are a value */
        gp_doc_key(d, f->id);
        put_value(d, c);
    } else if (f->type == GP_CELL_DIST) {
        put_dist(d, f->id, c->at, f->unit);
    } else if (f->type == GP_CELL_LIST || f->type == GP_CELL_ROWS) {
        gp_doc_list(d, f->id);
        if (f->type == GP_CELL_LIST) put_values(d, f->rows, c, x);
        else gp_record_rows(d, f->rows, c->at, c->text_len, x);
        gp_doc_end(d, ']');
    } else if (f->type == GP_CELL_NAMED) {
        gp_doc_object(d, f->id);
        put_named(d, f->rows, c, x);
        gp_doc_end(d, '}');
    } else {
        gp_record_object(d, f->id, f->rows, c->at, x);
    }
}

void gp_record_object(struct gp_doc *d, const char *key, const struct gp_record *rec, const void *row,
                      const struct gp_row_of *x)
{
    gp_doc_object(d, key);
    gp_record_members(d, rec, row, x);
    gp_doc_end(d, '}');
}

void gp_record_members(struct gp_doc *d, const struct gp_record *rec, const void *row,
                       const struct gp_row_of *x)
{
    GP_EACH_OF(const struct gp_field, f, rec->fields, rec->n) {
        if (f->type == GP_CELL_PART) {
            gp_record_members(d, f->rows, gp_member_at(row, f), x);
        } else if (f->id && !(f->flags & GP_FIELD_TABLES)) {
            struct gp_cell c = gp_field_cell(f, row, x);
            put_field(d, f, &c, x);
        }
    }
}

enum { TEXTS_AT_ONCE = 1 << 16 }; /* bytes of texts that are made */

void gp_record_rows(struct gp_doc *d, const struct gp_record *rec, const void *rows, size_t n,
                    const struct gp_row_of *x)
{
    struct gp_arena mem = {0};
    struct gp_row_of of = *x;
    if (!of.mem) of.mem = &mem;
    for (size_t i = 0; i < n && gp_doc_room(d); i++) {
        gp_doc_element(d);
        gp_record_members(d, rec, (const char *)rows + i * rec->size, &of);
        gp_doc_end(d, '}');
        if (mem.total > TEXTS_AT_ONCE) gp_arena_release(&mem);
    }
    gp_arena_release(&mem);
}

/* "ID_rest": {...}, of N rows that are not shown. */
static void put_rest(struct gp_doc *d, const struct gp_record *rec, const void *rows, size_t n,
                     const struct gp_row_of *x)
{
    struct gp_arena mem = {0};
    struct gp_row_of of = *x;
    if (!of.mem) of.mem = &mem;
    gp_doc_next(d);
    gp_buf_printf(d->b, "\"%s_rest\": ", rec->id);
    gp_doc_begin(d, '{');
    gp_doc_u64(d, "rows", n);
    for (int i = 0; i < 2; i++) gp_doc_i64(d, rec->rest[i].id, gp_record_sum(rec, i, rows, n, &of));
    gp_doc_end(d, '}');
    gp_arena_release(&mem);
}

void gp_record_json(struct gp_doc *d, const struct gp_record *rec, const void *rows, size_t n, size_t top,
                    const struct gp_row_of *x)
{
    size_t shown = top && top < n ? top : n;
    gp_doc_list(d, rec->id);
    gp_record_rows(d, rec, rows, shown, x);
    gp_doc_end(d, ']');
    if (!rec->rest[0].id) return;
    put_rest(d, rec, n > shown ? (const char *)rows + shown * rec->size : rows, n - shown, x);
}

/* ---- tables ---- */

struct gp_report_table *gp_columns_table(struct gp_report *r, const struct gp_record *rec,
                                         const struct gp_columns *c, const struct gp_row_of *x)
{
    struct gp_report_table *t = gp_report_add(r, rec->id, rec->title);
    for (size_t i = 0; i < c->n; i++) {
        const struct gp_field *f = c->at[i].f;
        /* The number of a single process helps nobody. */
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

/* 1 + the column ID; 0: none. */
static size_t column_of(const struct gp_report_table *t, const char *id)
{
    for (size_t c = 0; id && c < t->columns.n; c++)
        if (!strcmp(t->columns.at[c].id, id)) return c + 1;
    return 0;
}

static void put_left(struct gp_report *r, struct gp_report_table *t, size_t left, const struct gp_cell *sum,
                     size_t column)
{
    if (!left) return;
    struct gp_buf b = {0};
    gp_buf_printf(&b, "and %s more", GP_COUNTED(left));
    if (sum->i) {
        gp_buf_puts(&b, left > 1 ? ", together " : ", ");
        gp_cell_put(&b, sum);
        t->more_column = column;
        t->more_sum = sum->i;
    }
    t->more = gp_report_str(r, b.data, b.n);
    gp_buf_release(&b);
}

void gp_record_left(struct gp_report *r, struct gp_report_table *t, const struct gp_record *rec, size_t left,
                    int64_t sum)
{
    size_t base;
    const struct gp_field *f = rec->rest[1].field ? gp_record_field(rec, rec->rest[1].field, &base) : NULL;
    struct gp_cell c = {.type = f ? (uint8_t)f->type : GP_CELL_COUNT, .i = f ? sum : 0};
    put_left(r, t, left, &c, column_of(t, rec->rest[1].field));
}

void gp_record_more(struct gp_report *r, struct gp_report_table *t, size_t left, int64_t time_ns)
{
    static const char *const ids[] = {"total_ns", "gpu_ns", "idle_ns", "duration_total_ns"};
    struct gp_cell c = {.type = GP_CELL_NS, .i = time_ns > 0 ? time_ns : 0};
    size_t column = 0;
    for (size_t i = 0; i < GP_COUNT(ids) && !column; i++) column = column_of(t, ids[i]);
    put_left(r, t, left, &c, column);
}

struct gp_report_table *gp_record_table(struct gp_report *r, const struct gp_record *rec, const void *rows,
                                        size_t n, size_t top, const struct gp_row_of *x)
{
    struct gp_columns c;
    if (!n) return NULL;
    struct gp_row_of of = *x;
    of.mem = &r->mem;
    gp_columns_find(&c, rec);
    struct gp_report_table *t = gp_columns_table(r, rec, &c, x);
    size_t shown = top && top < n ? top : n;
    for (size_t i = 0; i < shown; i++) {
        const void *row = (const char *)rows + i * rec->size;
        gp_columns_put(r, t, &c, row, x);
        if (rec->colour) GP_VEC_PUSH(&t->classes, rec->colour(row));
    }
    const void *rest = (const char *)rows + shown * rec->size;
    gp_record_left(r, t, rec, n - shown, gp_record_sum(rec, 1, rest, n - shown, &of));
    gp_columns_release(&c);
    return t;
}

/* ---- figures ---- */

struct figure {
    const struct gp_field *f;
    struct gp_cell value;
};

GP_GET(get_figure, struct figure, gp_cell_named(c, r->f->id, r->f->heading))
GP_GET(get_value, struct figure, *c = r->value)
GP_GET(get_unit, struct figure, gp_cell_text(c, r->f->unit ? r->f->unit : ""))

static const struct gp_field figure_fields[] = {
    {"figure", "Figure", GP_CELL_TEXT, get_figure, 0, .help = NULL},
    {"value", "Value", GP_CELL_COUNT, get_value, 0, .help = NULL},
    {"unit", "Unit", GP_CELL_TEXT, get_unit, 0, .flags = GP_COLUMN_RAW},
};

struct gp_report_table *gp_record_figures(struct gp_report *r, const struct gp_record *rec, const void *row,
                                          const struct gp_row_of *x)
{
    const struct gp_record figures = {rec->id, rec->title, GP_FIELDS(figure_fields), sizeof(struct figure),
                                      .note = NULL};
    struct gp_columns c;
    GP_VEC(struct figure) lines = {0};
    gp_columns_find(&c, rec);
    for (size_t i = 0; i < c.n; i++) {
        const struct gp_field *f = c.at[i].f;
        struct gp_cell v = gp_field_cell(f, (const char *)row + c.at[i].base, x);
        if (!v.none && (v.i || !(f->flags & GP_COLUMN_SPARE))) GP_VEC_PUSH(&lines, (struct figure){f, v});
    }
    struct gp_report_table *t = gp_record_table(r, &figures, lines.at, lines.n, 0, x);
    GP_VEC_FREE(&lines);
    gp_columns_release(&c);
    return t;
}

/* ---- the head of a document ---- */

/* ---- inputs and quality ---- */

void gp_doc_input(struct gp_doc *d, const struct gp_input_quality *in)
{
    gp_record_rows(d, &gp_inputs, in, 1, &(struct gp_row_of){.strings = d->strings});
}

static void put_issues(struct gp_doc *d, const struct gp_issue issues[GP_ISSUE_COUNT])
{
    struct gp_input_issue there[GP_ISSUE_COUNT];
    size_t n = gp_input_issues_of(there, 0, issues);
    gp_record_json(d, &gp_input_issues, there, n, 0, &(struct gp_row_of){.strings = d->strings});
}

/* Of all inputs together: the worst verdict, unless other inputs are usable. An offset is given only for a
 * single input. */
static void put_quality(struct gp_doc *d, const struct gp_input_quality *inputs, size_t n)
{
    static const char *const words[] = {"clean", "repaired", "unusable"};
    struct gp_issue sum[GP_ISSUE_COUNT] = {{0}};
    uint64_t skipped = 0;
    bool truncated = false;
    int worst = 0;
    size_t unusable = 0;
    GP_EACH_OF(const struct gp_input_quality, in, inputs, n) {
        const char *verdict = gp_string(d->strings, in->verdict);
        int bad = !strcmp(verdict, "clean") ? 0 : !strcmp(verdict, "unusable") ? 2 : 1;
        if (bad > worst) worst = bad;
        unusable += bad == 2;
        truncated |= in->truncated;
        skipped += in->skipped;
        for (int k = 0; k < GP_ISSUE_COUNT; k++) {
            sum[k].count += in->issues[k].count;
            sum[k].first_offset = n == 1 ? in->issues[k].first_offset : -1;
        }
    }
    if (unusable && unusable < n) worst = 1;
    gp_doc_object(d, "quality");
    gp_doc_cstr(d, "verdict", words[worst]);
    gp_doc_bool(d, "truncated", truncated);
    gp_doc_u64(d, "events_skipped", skipped);
    put_issues(d, sum);
    gp_doc_end(d, '}');
}

void gp_doc_head_of(struct gp_doc *d, const struct gp_doc_tool *tool, const struct gp_input_quality *inputs,
                    size_t n, size_t judged)
{
    gp_doc_key(d, "schema");
    gp_buf_printf(d->b, "\"gpuprof/%s/1\"", tool->document);
    gp_doc_cstr(d, "tool", tool->name);
    gp_doc_cstr(d, "version", tool->version);
    gp_doc_list(d, "inputs");
    for (size_t i = 0; i < n; i++) gp_doc_input(d, &inputs[i]);
    gp_doc_end(d, ']');
    put_quality(d, inputs, judged);
}

void gp_doc_head(struct gp_doc *d, const char *tool, const char *version,
                 const struct gp_input_quality *inputs, size_t n)
{
    gp_doc_head_of(d, &(struct gp_doc_tool){tool, tool, version}, inputs, n, n);
}

void gp_doc_summary(struct gp_doc *d, const struct gp_report *r)
{
    struct gp_buf text = {0};
    for (size_t i = 0; i < r->verdict.n; i++)
        gp_buf_printf(&text, "%s%s", i ? " " : "", r->verdict.at[i].text);
    gp_doc_object(d, "summary");
    if (text.n) gp_doc_cstr(d, "headline", gp_buf_str(&text));
    else gp_doc_null(d, "headline");
    gp_doc_end(d, '}');
    gp_buf_release(&text);
}
