#include "analyze/result/field.h"

#include <math.h>
#include <stdlib.h>
#include "analyze/math/histogram.h"
#include "analyze/math/sums.h"
#include "analyze/names/names.h"
#include "formats/base/buf.h"

#define GETTER(name)                                                                                         \
    void name(struct gp_cell *c, GP_UNUSED const struct gp_field *f, GP_UNUSED const void *row,              \
              GP_UNUSED const struct gp_row_of *x)
#define MEMBER(type) (*(const type *)gp_member_at(row, f))

/* ---- values of getters ---- */

void gp_cell_text(struct gp_cell *c, const char *s) { gp_cell_label(c, s, strlen(s), NULL, 0); }

void gp_cell_list(struct gp_cell *c, const void *at, size_t n)
{
    c->at = at;
    c->text_len = (uint32_t)n;
}

void gp_cell_word(struct gp_cell *c, const char *word, const struct gp_row_of *x)
{
    size_t n = strlen(word);
    char *label = x->labels ? gp_arena_strndup(x->mem, word, n) : NULL;
    for (size_t i = 0; label && i < n; i++)
        if (label[i] == '_') label[i] = ' ';
    gp_cell_label(c, word, n, label, n);
}

void gp_cell_label(struct gp_cell *c, const char *s, size_t n, const char *label, size_t label_n)
{
    c->text = s;
    c->text_len = (uint32_t)n;
    c->label = label ? label : s;
    c->label_len = (uint32_t)(label ? label_n : n);
}

void gp_cell_take(struct gp_cell *c, struct gp_buf *b, const struct gp_row_of *x)
{
    c->none = !b->n;
    if (b->n) gp_cell_label(c, gp_arena_strndup(x->mem, b->data, b->n), b->n, NULL, 0);
    gp_buf_release(b);
}

void gp_cell_sid(struct gp_cell *c, const struct gp_strings *strings, gp_sid sid)
{
    gp_cell_label(c, gp_string(strings, sid), gp_string_len(strings, sid), NULL, 0);
    c->none = !c->text_len;
}

void gp_cell_named(struct gp_cell *c, const char *text, const char *shown)
{
    gp_cell_label(c, text, strlen(text), shown, strlen(shown));
}

void gp_cell_shown(struct gp_cell *c, struct gp_buf *shown, const struct gp_row_of *x)
{
    c->label = gp_arena_strndup(x->mem, gp_buf_str(shown), shown->n);
    c->label_len = (uint32_t)shown->n;
    gp_buf_release(shown);
}

void gp_cell_real(struct gp_cell *c, double v)
{
    c->none = !isfinite(v);
    c->d = c->none ? 0 : v;
}

void gp_cell_share(struct gp_cell *c, double part, double whole)
{
    if (whole > 0) gp_cell_real(c, 100 * part / whole);
    else c->none = true;
}

/* ---- numbers ---- */

GETTER(gp_member_i64) { c->i = MEMBER(int64_t); }

GETTER(gp_member_u64)
{
    uint64_t v = MEMBER(uint64_t);
    c->i = v < INT64_MAX ? (int64_t)v : INT64_MAX;
}

GETTER(gp_member_u32) { c->i = MEMBER(uint32_t); }

GETTER(gp_member_bool) { c->i = MEMBER(bool); }

GETTER(gp_member_double) { gp_cell_real(c, MEMBER(double)); }

GETTER(gp_member_known_i64)
{
    gp_member_i64(c, f, row, x);
    c->none = c->i < 0;
}

GETTER(gp_member_known_i32)
{
    c->i = MEMBER(int32_t);
    c->none = c->i < 0;
}

GETTER(gp_member_known_double)
{
    gp_member_double(c, f, row, x);
    c->none |= c->d < 0;
}

GETTER(gp_member_rank) { gp_member_known_i32(c, f, row, x); }

GETTER(gp_member_id)
{
    c->none = MEMBER(uint64_t) == UINT64_MAX;
    if (!c->none) gp_member_u64(c, f, row, x);
}

GETTER(gp_member_positive_double)
{
    gp_member_double(c, f, row, x);
    c->none |= c->d <= 0;
}

GETTER(gp_member_share) { gp_cell_real(c, gp_pct(MEMBER(int64_t), x->whole_ns)); }

GETTER(gp_member_device) { gp_member_known_i64(c, f, row, x); }

GETTER(gp_member_process) { gp_member_u32(c, f, row, x); }

/* ---- names ---- */

GETTER(gp_member_sid)
{
    gp_sid sid = MEMBER(gp_sid);
    gp_cell_label(c, gp_string(x->strings, sid), gp_string_len(x->strings, sid), NULL, 0);
}

GETTER(gp_member_label)
{
    const gp_sid *of = gp_member_at(row, f);
    gp_cell_label(c, gp_string(x->strings, of[0]), gp_string_len(x->strings, of[0]),
                  gp_string(x->strings, of[1]), gp_string_len(x->strings, of[1]));
}

GETTER(gp_member_name) { gp_cell_sid(c, x->strings, MEMBER(gp_sid)); }

void gp_cell_owner(struct gp_cell *c, const struct gp_field *f, const void *row, const struct gp_row_of *x,
                   const char *nobody)
{
    gp_member_name(c, f, row, x);
    if (c->none && x->labels) gp_cell_label(c, "", 0, nobody, strlen(nobody));
    c->none &= !x->labels;
}

GETTER(gp_member_text)
{
    const char *text = MEMBER(char *);
    c->none = !text;
    if (text) gp_cell_text(c, text);
}

GETTER(gp_member_word) { gp_cell_text(c, f->words[MEMBER(uint32_t)]); }

GETTER(gp_member_phrase) { gp_cell_word(c, f->words[MEMBER(uint32_t)], x); }

GETTER(gp_member_kernel)
{
    struct gp_buf plain = {0}, label = {0};
    gp_member_sid(c, f, row, x);
    if (!x->labels) return;
    gp_name_demangle(&plain, c->text, c->text_len);
    gp_name_kernel_label(&label, plain.n ? plain.data : "", plain.n);
    gp_cell_shown(c, &label, x);
    gp_buf_release(&plain);
}

/* ---- distributions ---- */

GETTER(gp_member_dist) { c->at = gp_member_at(row, f); }

GETTER(gp_member_count) { c->i = (int64_t)MEMBER(struct gp_histogram).n; }

GETTER(gp_member_total) { c->i = MEMBER(struct gp_histogram).sum; }

GETTER(gp_member_min)
{
    c->i = MEMBER(struct gp_histogram).min;
    c->none = !MEMBER(struct gp_histogram).n;
}

GETTER(gp_member_max)
{
    c->i = MEMBER(struct gp_histogram).max;
    c->none = !MEMBER(struct gp_histogram).n;
}

GETTER(gp_member_mean)
{
    const struct gp_histogram *d = gp_member_at(row, f);
    c->none = !d->n;
    if (d->n) gp_cell_real(c, (double)d->sum / (double)d->n);
}

GETTER(gp_member_stddev)
{
    const struct gp_histogram *d = gp_member_at(row, f);
    c->none = !d->n;
    if (d->n) gp_cell_real(c, gp_histogram_stddev(d));
}

static void put_quantile(struct gp_cell *c, const struct gp_histogram *d, double q)
{
    c->none = !d->n;
    c->i = gp_histogram_quantile(d, q);
}

GETTER(gp_member_p50) { put_quantile(c, gp_member_at(row, f), 0.5); }

GETTER(gp_member_p90) { put_quantile(c, gp_member_at(row, f), 0.9); }

GETTER(gp_member_p99) { put_quantile(c, gp_member_at(row, f), 0.99); }

/* ---- lists ---- */

GETTER(gp_member_row) { c->at = gp_member_at(row, f); }

GETTER(gp_member_rows)
{
    const void *vec = gp_member_at(row, f);
    c->at = gp_rows_at(vec);
    c->text_len = (uint32_t)gp_rows_n(vec);
}

GETTER(gp_member_top_rows)
{
    gp_member_rows(c, f, row, x);
    if (x->top && c->text_len > x->top) c->text_len = (uint32_t)x->top;
}

GETTER(gp_member_rows_count) { c->i = (int64_t)gp_rows_n(gp_member_at(row, f)); }

#define EACH(name, element, cell, getter)                                                                    \
    static const struct gp_field name##_field[] = {                                                          \
        {.id = "", .type = (cell), .get = (getter), .flags = GP_FIELD_SIGNED}};                              \
    const struct gp_record gp_each_##name = {.fields = name##_field, .n = 1, .size = sizeof(element)};
EACH(sid, gp_sid, GP_CELL_NAME, gp_member_sid)
EACH(i64, int64_t, GP_CELL_COUNT, gp_member_i64)
EACH(word, const char *, GP_CELL_TEXT, gp_member_text)
#undef EACH

/* ---- fields ---- */

const struct gp_field *gp_record_field(const struct gp_record *rec, const char *id, size_t *base)
{
    *base = 0;
    for (size_t i = 0; i < rec->n; i++) {
        const struct gp_field *f = &rec->fields[i], *inner;
        if (f->type != GP_CELL_PART && f->id && !strcmp(f->id, id)) return f;
        if (f->type != GP_CELL_PART || !(inner = gp_record_field(f->rows, id, base))) continue;
        *base += f->at;
        return inner;
    }
    return NULL;
}

struct gp_record gp_record_named(const struct gp_record *rec)
{
    struct gp_record left = *rec;
    while (left.fields->flags & GP_FIELD_TABLES) left.fields++;
    left.fields++;
    left.n -= (size_t)(left.fields - rec->fields);
    return left;
}

/* ---- columns ---- */

static size_t count_fields(const struct gp_record *rec)
{
    size_t n = 0;
    for (size_t i = 0; i < rec->n; i++)
        n += rec->fields[i].type == GP_CELL_PART ? count_fields(rec->fields[i].rows) : 1;
    return n;
}

/* Where among the columns so far the next one belongs. */
static size_t place_of(const struct gp_columns *c, const char *after)
{
    for (size_t i = 0; after && i < c->n; i++)
        if (!strcmp(c->at[i].f->id, after)) return i + 1;
    return c->n;
}

/* Those with a place of their own come second: they may stand behind any other. */
static void add_columns(struct gp_columns *c, const struct gp_record *rec, size_t base, bool placed)
{
    GP_EACH_OF(const struct gp_field, f, rec->fields, rec->n) {
        if (f->type == GP_CELL_PART) add_columns(c, f->rows, base + f->at, placed);
        if (f->type == GP_CELL_PART || !f->id || !f->heading || placed != (f->after != NULL)) continue;
        size_t place = place_of(c, f->after);
        memmove(c->at + place + 1, c->at + place, (c->n++ - place) * sizeof *c->at);
        c->at[place] = (struct gp_field_column){f, base};
    }
}

void gp_columns_find(struct gp_columns *c, const struct gp_record *rec)
{
    c->n = 0;
    c->at = gp_alloc((count_fields(rec) + 1) * sizeof *c->at);
    add_columns(c, rec, 0, false);
    add_columns(c, rec, 0, true);
}

void gp_columns_release(struct gp_columns *c)
{
    free(c->at);
    c->at = NULL;
    c->n = 0;
}
