#include "analyze/result/keep.h"

#include <string.h>
#include "analyze/math/histogram.h"
#include "analyze/math/sums.h"

/* ---- saving and loading ---- */

static void serialize_member(struct gp_serializer *x, const struct gp_field *f, void *at)
{
    switch ((enum gp_keep)f->keep) {
    case GP_KEEP_NO: break;
    case GP_KEEP_STR: gp_serialize_str(x, at); break;
    case GP_KEEP_U64: gp_serialize_u64(x, at); break;
    case GP_KEEP_I64: gp_serialize_i64(x, at); break;
    case GP_KEEP_U32:
        gp_serialize_u32(x, at);
        if (f->below && *(uint32_t *)at >= f->below) {
            x->failed = true;
            *(uint32_t *)at = 0;
        }
        break;
    case GP_KEEP_I32: gp_serialize_i32(x, at); break;
    case GP_KEEP_BOOL: gp_serialize_bool(x, at); break;
    case GP_KEEP_DOUBLE: gp_serialize_double(x, at); break;
    case GP_KEEP_DIST: gp_histogram_serialize(x, at); break;
    case GP_KEEP_ROW: gp_record_serialize(x, f->rows, at); break;
    case GP_KEEP_ROWS: gp_rows_serialize(x, f->rows, at); break;
    }
}

void gp_record_serialize(struct gp_serializer *x, const struct gp_record *rec, void *row)
{
    GP_EACH_OF(const struct gp_field, f, rec->fields, rec->n) {
        if (f->type == GP_CELL_PART) gp_record_serialize(x, f->rows, (char *)row + f->at);
        else serialize_member(x, f, (char *)row + f->at);
    }
}

/* ---- merging ---- */

static void merge_u64(enum gp_merge how, uint64_t *to, uint64_t from)
{
    if (how == GP_MERGE_SUM) *to += from;
    else if (how == GP_MERGE_MAX && from > *to) *to = from;
    else if (how == GP_MERGE_MIN_SET && from && (!*to || from < *to)) *to = from;
}

static void merge_i64(enum gp_merge how, int64_t *to, int64_t from)
{
    if (how == GP_MERGE_SUM) *to = gp_add_saturated(*to, from);
    else if (how == GP_MERGE_MAX && from > *to) *to = from;
}

static void merge_member(const struct gp_field *f, void *to, const void *from)
{
    enum gp_merge how = (enum gp_merge)f->merge;
    switch ((enum gp_keep)f->keep) {
    case GP_KEEP_DIST: gp_histogram_merge(to, from); break;
    case GP_KEEP_U64: merge_u64(how, to, *(const uint64_t *)from); break;
    case GP_KEEP_I64: merge_i64(how, to, *(const int64_t *)from); break;
    case GP_KEEP_I32:
        if (how == GP_MERGE_SAME && *(int32_t *)to != *(const int32_t *)from) *(int32_t *)to = -1;
        break;
    case GP_KEEP_U32:
        if (how == GP_MERGE_MIN && *(const uint32_t *)from < *(uint32_t *)to)
            *(uint32_t *)to = *(const uint32_t *)from;
        break;
    case GP_KEEP_BOOL:
        if (how == GP_MERGE_OR) *(bool *)to |= *(const bool *)from;
        break;
    case GP_KEEP_ROW: gp_record_merge(f->rows, to, from); break;
    case GP_KEEP_NO:
    case GP_KEEP_STR:
    case GP_KEEP_DOUBLE:
    case GP_KEEP_ROWS: break;
    }
}

void gp_record_merge(const struct gp_record *rec, void *to, const void *from)
{
    GP_EACH_OF(const struct gp_field, f, rec->fields, rec->n) {
        if (f->type == GP_CELL_PART) gp_record_merge(f->rows, (char *)to + f->at, gp_member_at(from, f));
        else merge_member(f, (char *)to + f->at, gp_member_at(from, f));
    }
}

bool gp_record_has_key(const struct gp_record *rec)
{
    for (size_t i = 0; i < rec->n; i++)
        if (rec->fields[i].merge == GP_MERGE_KEY) return true;
    return false;
}

uint64_t gp_record_key(const struct gp_record *rec, const void *row)
{
    uint64_t key = 0;
    GP_EACH_OF(const struct gp_field, f, rec->fields, rec->n)
        if (f->merge == GP_MERGE_KEY) key = key << 32 | *(const uint32_t *)gp_member_at(row, f);
    return key;
}

/* ---- moving, copying, releasing ---- */

static bool is_row(const struct gp_field *f) { return f->type == GP_CELL_PART || f->keep == GP_KEEP_ROW; }

/* FN for each thing that ROW owns, and the rows that are members of it. */
static void each(const struct gp_record *rec, void *row,
                 void (*fn)(const struct gp_field *f, void *at, void *ctx), void *ctx)
{
    GP_EACH_OF(const struct gp_field, f, rec->fields, rec->n) {
        if (is_row(f)) each(f->rows, (char *)row + f->at, fn, ctx);
        else if (f->keep == GP_KEEP_STR || f->keep == GP_KEEP_DIST || f->keep == GP_KEEP_ROWS)
            fn(f, (char *)row + f->at, ctx);
    }
}

struct tables {
    struct gp_strings *to;
    const struct gp_strings *from;
};

static void *row_of(const struct gp_record *rec, const void *vec, size_t i)
{
    return (char *)gp_rows_at(vec) + i * rec->size;
}

static void move_member(const struct gp_field *f, void *at, void *ctx)
{
    const struct tables *t = ctx;
    if (f->keep == GP_KEEP_STR) *(gp_sid *)at = gp_intern_from(t->to, t->from, *(gp_sid *)at);
    for (size_t i = 0; f->keep == GP_KEEP_ROWS && i < gp_rows_n(at); i++)
        each(f->rows, row_of(f->rows, at, i), move_member, ctx);
}

void gp_record_move(const struct gp_record *rec, void *row, struct gp_strings *to,
                    const struct gp_strings *from)
{
    each(rec, row, move_member, &(struct tables){to, from});
}

/* AT has the bytes of another row's. */
static void own_member(const struct gp_field *f, void *at, void *ctx)
{
    struct gp_rows theirs;
    struct gp_histogram dist;
    if (f->keep == GP_KEEP_STR) {
        move_member(f, at, ctx);
    } else if (f->keep == GP_KEEP_DIST) {
        memcpy(&dist, at, sizeof dist);
        memset(at, 0, sizeof dist);
        gp_histogram_merge(at, &dist);
    } else {
        const struct tables *t = ctx;
        memcpy(&theirs, at, sizeof theirs);
        memset(at, 0, sizeof theirs);
        gp_rows_copy(f->rows, at, t->to, &theirs, t->from);
    }
}

void gp_record_copy(const struct gp_record *rec, void *to, struct gp_strings *strings, const void *from,
                    const struct gp_strings *from_strings)
{
    memcpy(to, from, rec->size);
    each(rec, to, own_member, &(struct tables){strings, from_strings});
}

static void release_member(const struct gp_field *f, void *at, void *ctx)
{
    (void)ctx;
    if (f->keep == GP_KEEP_DIST) gp_histogram_release(at);
    else if (f->keep == GP_KEEP_ROWS) gp_rows_release(f->rows, at);
}

void gp_record_release(const struct gp_record *rec, void *row) { each(rec, row, release_member, NULL); }

/* ---- all rows ---- */

/* Room for N more. */
static void reserve(const struct gp_record *rec, struct gp_rows *v, size_t n)
{
    size_t cap = v->cap ? v->cap : 8;
    if (v->cap >= v->n + n) return;
    while (cap < v->n + n) cap *= 2;
    v->at = gp_realloc(v->at, cap * rec->size);
    v->cap = cap;
}

void gp_rows_serialize(struct gp_serializer *x, const struct gp_record *rec, void *vec)
{
    struct gp_rows v = gp_rows_of(vec);
    size_t n = gp_serialize_count(x, v.n, 1);
    if (!x->save && n) {
        v.n = 0;
        reserve(rec, &v, n);
        memset(v.at, 0, n * rec->size);
        v.n = n;
        memcpy(vec, &v, sizeof v);
    }
    for (size_t i = 0; i < n; i++) gp_record_serialize(x, rec, (char *)v.at + i * rec->size);
}

void *gp_rows_push(const struct gp_record *rec, void *vec, const void *row)
{
    struct gp_rows v = gp_rows_of(vec);
    reserve(rec, &v, 1);
    void *to = (char *)v.at + v.n++ * rec->size;
    memcpy(to, row, rec->size);
    memcpy(vec, &v, sizeof v);
    return to;
}

void gp_rows_move(const struct gp_record *rec, void *to, struct gp_strings *strings, void *from,
                  const struct gp_strings *from_strings)
{
    struct gp_rows v = gp_rows_of(from);
    for (size_t i = 0; i < v.n; i++)
        gp_record_move(rec, gp_rows_push(rec, to, row_of(rec, &v, i)), strings, from_strings);
    free(v.at);
    memset(from, 0, sizeof v);
}

void gp_rows_copy(const struct gp_record *rec, void *to, struct gp_strings *strings, const void *from,
                  const struct gp_strings *from_strings)
{
    for (size_t i = 0; i < gp_rows_n(from); i++) {
        const void *row = row_of(rec, from, i);
        gp_record_copy(rec, gp_rows_push(rec, to, row), strings, row, from_strings);
    }
}

static bool owns(const struct gp_record *rec)
{
    bool any = false;
    GP_EACH_OF(const struct gp_field, f, rec->fields, rec->n)
        any |= f->keep == GP_KEEP_DIST || f->keep == GP_KEEP_ROWS || (is_row(f) && owns(f->rows));
    return any;
}

void gp_rows_release(const struct gp_record *rec, void *vec)
{
    struct gp_rows v = gp_rows_of(vec);
    if (!owns(rec)) v.n = 0;
    for (size_t i = 0; i < v.n; i++) gp_record_release(rec, row_of(rec, &v, i));
    free(v.at);
    memset(vec, 0, sizeof v);
}
