#include "analyze/result/keep.h"

#include <string.h>
#include "analyze/math/dist.h"
#include "analyze/math/sums.h"

/* ---- saving and loading ---- */

static void xfer_member(struct gp_xfer *x, const struct gp_field *f, void *at)
{
    switch ((enum gp_keep)f->keep) {
    case GP_KEEP_NO:
        break;
    case GP_KEEP_STR:
        gp_xfer_str(x, at);
        break;
    case GP_KEEP_U64:
        gp_xfer_u64(x, at);
        break;
    case GP_KEEP_I64:
        gp_xfer_i64(x, at);
        break;
    case GP_KEEP_U32:
        gp_xfer_u32(x, at);
        if (f->below && *(uint32_t *)at >= f->below) {
            x->failed = true;
            *(uint32_t *)at = 0;
        }
        break;
    case GP_KEEP_I32:
        gp_xfer_i32(x, at);
        break;
    case GP_KEEP_BOOL:
        gp_xfer_bool(x, at);
        break;
    case GP_KEEP_DOUBLE:
        gp_xfer_double(x, at);
        break;
    case GP_KEEP_DIST:
        gp_dist_xfer(x, at);
        break;
    }
}

void gp_record_xfer(struct gp_xfer *x, const struct gp_record *rec, void *row)
{
    for (size_t i = 0; i < rec->n; i++) {
        const struct gp_field *f = &rec->fields[i];
        if (f->type == GP_CELL_PART) gp_record_xfer(x, f->rows, (char *)row + f->at);
        else xfer_member(x, f, (char *)row + f->at);
    }
}

/* ---- merging ---- */

static void merge_u64(enum gp_merge how, uint64_t *to, uint64_t from)
{
    if (how == GP_MERGE_SUM) *to += from;
    else if (how == GP_MERGE_LAST || (how == GP_MERGE_MAX && from > *to)) *to = from;
    else if (how == GP_MERGE_MIN_SET && from && (!*to || from < *to)) *to = from;
}

static void merge_i64(enum gp_merge how, int64_t *to, int64_t from)
{
    if (how == GP_MERGE_SUM) *to = gp_add_saturated(*to, from);
    else if (how == GP_MERGE_LAST || (how == GP_MERGE_MAX && from > *to)) *to = from;
    else if (how == GP_MERGE_MIN_SET && from && (!*to || from < *to)) *to = from;
}

static void merge_member(const struct gp_field *f, void *to, const void *from)
{
    enum gp_merge how = (enum gp_merge)f->merge;
    switch ((enum gp_keep)f->keep) {
    case GP_KEEP_DIST:
        gp_dist_merge(to, from);
        break;
    case GP_KEEP_U64:
        merge_u64(how, to, *(const uint64_t *)from);
        break;
    case GP_KEEP_I64:
        merge_i64(how, to, *(const int64_t *)from);
        break;
    case GP_KEEP_I32:
    case GP_KEEP_U32:
        if (how == GP_MERGE_LAST) memcpy(to, from, sizeof(int32_t));
        break;
    case GP_KEEP_BOOL:
        if (how == GP_MERGE_OR) *(bool *)to |= *(const bool *)from;
        break;
    case GP_KEEP_NO:
    case GP_KEEP_STR:
    case GP_KEEP_DOUBLE:
        break;
    }
}

void gp_record_merge(const struct gp_record *rec, void *to, const void *from)
{
    for (size_t i = 0; i < rec->n; i++) {
        const struct gp_field *f = &rec->fields[i];
        if (f->type == GP_CELL_PART) gp_record_merge(f->rows, (char *)to + f->at, gp_member_at(from, f));
        else merge_member(f, (char *)to + f->at, gp_member_at(from, f));
    }
}

/* ---- copying and releasing ---- */

/* What TO, which has the bytes of FROM, must have of its own. */
static void own(const struct gp_record *rec, void *to, struct gp_strings *strings, const void *from,
                const struct gp_strings *from_strings)
{
    for (size_t i = 0; i < rec->n; i++) {
        const struct gp_field *f = &rec->fields[i];
        void *at = (char *)to + f->at;
        if (f->type == GP_CELL_PART) own(f->rows, at, strings, gp_member_at(from, f), from_strings);
        else if (f->keep == GP_KEEP_STR) *(gp_sid *)at = gp_intern_from(strings, from_strings, *(gp_sid *)at);
        if (f->type == GP_CELL_PART || f->keep != GP_KEEP_DIST) continue;
        memset(at, 0, sizeof(struct gp_dist));
        gp_dist_merge(at, gp_member_at(from, f));
    }
}

void gp_record_copy(const struct gp_record *rec, void *to, struct gp_strings *strings, const void *from,
                    const struct gp_strings *from_strings)
{
    memcpy(to, from, rec->size);
    own(rec, to, strings, from, from_strings);
}

/* The distributions of a row of REC at each of N places, SIZE bytes apart. */
static void release(const struct gp_record *rec, char *at, size_t n, size_t size)
{
    for (size_t i = 0; i < rec->n; i++) {
        const struct gp_field *f = &rec->fields[i];
        if (f->type == GP_CELL_PART) release(f->rows, at + f->at, n, size);
        else if (f->keep == GP_KEEP_DIST)
            for (size_t row = 0; row < n; row++) gp_dist_release((void *)(at + row * size + f->at));
    }
}

void gp_record_release(const struct gp_record *rec, void *rows, size_t n)
{
    release(rec, rows, n, rec->size);
}
