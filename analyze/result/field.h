/* field.h -- describes a result once. A field is one figure of a row: its name, heading, unit and meaning,
 * how it is read from the row, and how two rows with it merge. A record is the list of fields of one sort of
 * row. Columns of tables, CSV, members of JSON objects, schemas, saved partial results and merging follow
 * from it; render/report/record.h and keep.h say how. Knows nothing of output syntax.
 *
 *     #define AT(member) offsetof(struct gp_kernel_stat, member)
 *     static const struct gp_field kernel_fields[] = {
 *         {"name", "Kernel", GP_CELL_NAME, gp_member_sid, AT(name), .keep = GP_KEEP_STR},
 *         {"bytes", "Bytes", GP_CELL_BYTES, gp_member_i64, AT(bytes), .help = "of copies and sets",
 *          .flags = GP_COLUMN_WIDE, .keep = GP_KEEP_I64, .merge = GP_MERGE_SUM},
 *     };
 *     const struct gp_record gp_hta_kernels = {"kernels", "GPU time by kernel", GP_FIELDS(kernel_fields),
 *                                              sizeof(struct gp_kernel_stat),
 *                                              .note = "a kernel, copy or set"};
 *
 * The first five of a field go by their place, the others by their names.
 */
#ifndef GP_ANALYZE_FIELD_H
#define GP_ANALYZE_FIELD_H

#include <stddef.h>
#include <string.h>
#include "analyze/result/cell.h"
#include "formats/base/count.h"
#include "formats/base/declare.h"
#include "formats/base/intern.h"
#include "formats/base/mem.h"

/* What a getter may look at besides the row. */
struct gp_row_of {
    const void *of;                   /* the result that the row is part of; of which type, its record says */
    const struct gp_strings *strings; /* of the row's names */
    int64_t whole_ns;                 /* of which shares are */
    size_t top;                       /* lists within rows are cut after as many; 0: never */
    struct gp_arena *mem;             /* for texts that are made; freed after the row at the earliest */
    bool labels;                      /* names want their short form, too: a person reads them */
    bool untimed;                     /* times between launches mean nothing: figures from them are unknown */
    bool merged;                      /* numbers of devices repeat: people need to see the process, too */
};

struct gp_field;
/* Set the value of C, whose type is the field's, or C->none if it is not known. */
typedef void gp_field_get(struct gp_cell *c, const struct gp_field *f, const void *row,
                          const struct gp_row_of *x);

/* What is saved of a row, and how; and what merging does to it. */
enum gp_keep {
    GP_KEEP_NO,
    GP_KEEP_STR,
    GP_KEEP_U64,
    GP_KEEP_I64,
    GP_KEEP_U32,
    GP_KEEP_I32,
    GP_KEEP_BOOL,
    GP_KEEP_DOUBLE,
    GP_KEEP_DIST,
    GP_KEEP_ROW, /* one of f->rows */
    GP_KEEP_ROWS /* a GP_VEC of them */
};
enum gp_merge {
    GP_MERGE_NO,  /* stays that of the row that is added to; a distribution always merges */
    GP_MERGE_KEY, /* STR, U32: rows merge where all of these are equal, of which there are at most two */
    GP_MERGE_SUM, /* int64_t: stays at INT64_MAX */
    GP_MERGE_MIN,
    GP_MERGE_MIN_SET, /* the smaller one of those that are not 0 */
    GP_MERGE_MAX,
    GP_MERGE_SAME, /* int32_t: -1 where they differ */
    GP_MERGE_OR,
};

/* The head of a getter of one file's own. */
#define GP_GETTER(name)                                                                                      \
    static void name(struct gp_cell *c, GP_UNUSED const struct gp_field *f, GP_UNUSED const void *row,       \
                     GP_UNUSED const struct gp_row_of *x)

/* The same, whose row is R, of TYPE. */
#define GP_GETTER_OF(name, type, r)                                                                          \
    static void name##_of(struct gp_cell *c, const struct gp_field *f, const type *r,                        \
                          const struct gp_row_of *x);                                                        \
    GP_GETTER(name) { name##_of(c, f, row, x); }                                                             \
    static void name##_of(GP_UNUSED struct gp_cell *c, GP_UNUSED const struct gp_field *f, const type *r,    \
                          GP_UNUSED const struct gp_row_of *x)

/* Getters of one statement, in which R is the row, of TYPE: SET; SET if the value is KNOWN; what GETTER
 * sets, unless it is UNKNOWN; what PUT puts into the buffer B, unknown where that is nothing. */
#define GP_GET(name, type, set)                                                                              \
    GP_GETTER(name)                                                                                          \
    {                                                                                                        \
        const type *r = row;                                                                                 \
        set;                                                                                                 \
    }
#define GP_GET_IF(name, type, known, set) GP_GET(name, type, if (known) set; else c->none = true)
#define GP_GET_TEXT(name, type, put)                                                                         \
    GP_GETTER(name)                                                                                          \
    {                                                                                                        \
        const type *r = row;                                                                                 \
        struct gp_buf b = {0};                                                                               \
        put;                                                                                                 \
        gp_cell_take(c, &b, x);                                                                              \
    }
#define GP_GET_UNLESS(name, type, getter, unknown)                                                           \
    GP_GET(name, type, (getter(c, f, r, x), c->none |= (unknown)))

/* Flags of a field, besides GP_COLUMN_... */
enum {
    GP_FIELD_NULL = 32,      /* may be unknown: null in JSON, an empty cell elsewhere */
    GP_FIELD_SIGNED = 64,    /* may be negative */
    GP_FIELD_TABLES = 128,   /* not in JSON, which has it in an object: "delay_mean_ns" is delay.mean_ns */
    GP_FIELD_OPTIONAL = 256, /* not in every object: left out where it is unknown, unless that is null */
    GP_FIELD_TIMED = 512     /* unknown where times between launches mean nothing */
};

struct gp_field {
    const char *id; /* "total_ns": JSON's member, CSV's header; ends in its unit. NULL: kept, not shown */
    const char *heading; /* "Total": of a column; NULL: only JSON has it */
    uint16_t type;       /* enum gp_cell_type */
    gp_field_get *get;
    size_t at; /* offset of a member of the row: for getters that serve several fields, and to keep it */
    const char *help;  /* its definition in one line, for schemas and pages; NULL if the heading is enough */
    uint16_t flags;    /* GP_COLUMN_..., GP_FIELD_... */
    const char *after; /* tables have the column behind that of this id; NULL: behind the field before it */
    const char *unit;  /* DIST: "_ns", "_bytes" or ""; of a figure (record.h): "calls", "ns" */
    const char *const *words;     /* TEXT, LIST: all that it can be, NULL at the end; NULL: anything */
    const struct gp_record *rows; /* LIST, ROWS, NAMED, ROW, PART, and kept ROWS: what they are */
    uint8_t keep, merge;          /* enum gp_keep of the member AT; enum gp_merge */
    uint32_t below;               /* U32: saved values are less than this; 0: any */
};

struct gp_record {
    const char *id;    /* "kernels": the list in JSON, the table, the anchor of the page */
    const char *title; /* "GPU time by kernel" */
    const struct gp_field *fields;
    size_t n, size;   /* fields; bytes of a row */
    const char *note; /* meaning of a row, for schemas; NULL if the title is enough */
    /* What is summed of rows that are left out, so that rows and rest add up: a count and a time. JSON has
     * "ID_rest" with the number of rows and these, each the sum of an integer field; tables say the last.
     * {NULL}: they do not split anything; without ids JSON has no rest, because it has all rows. */
    struct gp_rest {
        const char *id, *field;
    } rest[2];
    uint8_t (*colour)(const void *row); /* of its line, as in gp_report_table.classes; NULL: none */
};
#define GP_FIELDS(list) (list), GP_COUNT(list)

/* ---- getters of members, with the values that mean unknown ---- */

gp_field_get gp_member_i64, gp_member_u64, gp_member_u32, gp_member_bool, gp_member_double;
gp_field_get gp_member_known_i64, gp_member_known_i32, gp_member_known_double; /* negative */
gp_field_get gp_member_id;                                                     /* uint64_t: all bits set */
gp_field_get gp_member_positive_double;                                        /* a rate: 0 or less */
gp_field_get gp_member_sid, gp_member_name;    /* a string: never; where it is empty */
gp_field_get gp_member_label;                  /* a name, and behind it the short form for people: never */
gp_field_get gp_member_text;                   /* our own text, const char *: where it is NULL */
gp_field_get gp_member_word;                   /* uint32_t or an enumeration: that of the field's words */
gp_field_get gp_member_phrase;                 /* the same, and a person reads blanks */
gp_field_get gp_member_kernel;                 /* the name of a kernel, with its label: never */
gp_field_get gp_member_share;                  /* int64_t in percent of the whole; 0 of 0 is 0 */
gp_field_get gp_member_dist;                   /* the whole distribution */
gp_field_get gp_member_row, gp_member_rows;    /* one that is a member; all of a GP_VEC */
gp_field_get gp_member_top_rows;               /* the first X->top of it */
gp_field_get gp_member_rows_count;             /* how many it has */
gp_field_get gp_member_count, gp_member_total; /* of a distribution: never */
/* of a distribution: where it is empty */
gp_field_get gp_member_min, gp_member_max, gp_member_mean, gp_member_stddev;
gp_field_get gp_member_p50, gp_member_p90, gp_member_p99;
gp_field_get gp_member_rank, gp_member_process,
    gp_member_device; /* int32_t, negative; uint32_t, never; int64_t, negative */

/* Elements of lists: strings, int64_t, and static words (const char *). */
extern const struct gp_record gp_each_sid, gp_each_i64, gp_each_word;

/* ---- for getters ---- */

/* Our own text, static or in X->mem; and a word of ours, "launch_latency": a person reads blanks. */
void gp_cell_text(struct gp_cell *c, const char *s);
void gp_cell_word(struct gp_cell *c, const char *word, const struct gp_row_of *x);
/* The text of B, which is released, in X->mem; unknown where it is empty. */
void gp_cell_take(struct gp_cell *c, struct gp_buf *b, const struct gp_row_of *x);
/* LIST, ROWS, NAMED: the N that begin AT. */
void gp_cell_list(struct gp_cell *c, const void *at, size_t n);
/* Bytes of a string with a form that people read instead; the same: LABEL is NULL. Both live as long as the
 * row. */
void gp_cell_label(struct gp_cell *c, const char *s, size_t n, const char *label, size_t label_n);
/* The string SID, unknown where it is empty; our own text with a form that people read instead, which lives
 * as long; for text that is set, such a form, in a buffer that is released. */
void gp_cell_sid(struct gp_cell *c, const struct gp_strings *strings, gp_sid sid);
void gp_cell_named(struct gp_cell *c, const char *text, const char *shown);
void gp_cell_shown(struct gp_cell *c, struct gp_buf *shown, const struct gp_row_of *x);
/* V if it is finite. */
void gp_cell_real(struct gp_cell *c, double v);
/* The name of what launched a row, as gp_member_name(); people read NOBODY where it is empty, static. */
void gp_cell_owner(struct gp_cell *c, const struct gp_field *f, const void *row, const struct gp_row_of *x,
                   const char *nobody);
/* PART of WHOLE in percent, unknown if WHOLE is not positive. */
void gp_cell_share(struct gp_cell *c, double part, double whole);
/* A GP_VEC of whatever a record describes, and what is in it: at the place of its own type only bytes may be
 * looked at. */
struct gp_rows {
    void *at;
    size_t n, cap;
};
static inline struct gp_rows gp_rows_of(const void *vec)
{
    struct gp_rows v;
    memcpy(&v, vec, sizeof v);
    return v;
}
static inline void *gp_rows_at(const void *vec) { return gp_rows_of(vec).at; }
static inline size_t gp_rows_n(const void *vec) { return gp_rows_of(vec).n; }
static inline const void *gp_member_at(const void *row, const struct gp_field *f)
{
    return (const char *)row + f->at;
}

/* ---- fields ---- */

/* The field ID of a record, in a part that begins at *BASE of the row; NULL if there is none. */
const struct gp_field *gp_record_field(const struct gp_record *rec, const char *id, size_t *base);

/* Of rows whose first member is the name that each has in an object, the other fields: {"a": 1} where they
 * are one, otherwise {"a": {"sum": 1, "mean": 1}}. The name's field is the one before them. */
struct gp_record gp_record_named(const struct gp_record *rec);

/* The value of field F in ROW. */
static inline struct gp_cell gp_field_cell(const struct gp_field *f, const void *row,
                                           const struct gp_row_of *x)
{
    struct gp_cell c = {.type = (uint8_t)f->type};
    if (f->flags & GP_FIELD_TIMED && x->untimed) c.none = true;
    else f->get(&c, f, row, x);
    return c;
}
/* The fields that are columns of a table, in its order, those of parts of the row included. */
struct gp_columns {
    struct gp_field_column {
        const struct gp_field *f;
        size_t base; /* offset of the part that it is of */
    } * at;
    size_t n;
};
void gp_columns_find(struct gp_columns *c, const struct gp_record *rec);
void gp_columns_release(struct gp_columns *c);

#endif
