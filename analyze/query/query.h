/* query.h -- a trace as tables that can be asked: what each table is, described once, and the rows that
 * only an analysis has (steps, idle time, waits, stacks, collectives), made when a table or a column wants
 * them. Knows nothing of SQL; query_sql.h asks in it.
 *
 *     struct gp_query q;
 *     if (gp_query_make(&q, &trace, &opts, wants, &err)) ...
 *     const struct gp_query_table *table = gp_query_table("kernels");
 *     struct gp_query_at at;
 *     for (size_t i = 0; i < gp_query_count(&q, table); i++)
 *         if (gp_query_row(&q, table, i, &at)) use(gp_field_cell(&table->rec.fields[0], at.row, &q.rows_of));
 *     gp_query_release(&q);
 */
#ifndef GP_ANALYZE_QUERY_H
#define GP_ANALYZE_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/hta/hta.h"
#include "analyze/hta/hta_rows.h"
#include "analyze/query/query_stacks.h"
#include "analyze/result/field.h"
#include "analyze/view/steps.h"
#include "analyze/view/view.h"
#include "formats/base/declare.h"
#include "formats/model/trace.h"

/* What is made besides the trace. A bit may bring others with it. */
enum {
    GP_QUERY_NAMES = 1,   /* kernels' names and classes */
    GP_QUERY_VIEW = 2,    /* launches of GPU events, devices, nesting */
    GP_QUERY_STACKS = 4,  /* frames */
    GP_QUERY_PLACES = 8,  /* in which step each GPU event was launched */
    GP_QUERY_HTA = 16,    /* trace-hta's answer: steps, devices, collectives */
    GP_QUERY_IDLE = 32,   /* idle time by cause */
    GP_QUERY_WAITS = 64,  /* calls that waited */
    GP_QUERY_CALLS = 128, /* what each call launched */
    GP_QUERY_TEXTS = 256, /* numbers for all names */
    GP_QUERY_ALL = 511,
};

/* Flags of a field beside those of field.h. */
enum {
    GP_QUERY_KEY = 1 << 10,     /* an integer that rows are looked up by */
    GP_QUERY_BY_TEXT = 1 << 11, /* a text of GPU events that depends on their configuration only */
};

/* A table. Its rows are those of one or more tables of the trace, or those of a GP_VEC in struct gp_query. */
struct gp_query_table {
    struct gp_record rec;
    uint32_t need, wants; /* GP_NEED(...) of the reader; GP_QUERY_... */
    size_t at;            /* of the GP_VEC; 0: rows of the trace */
    /* of the trace: its tables, and a bit per kind of GPU event, 0: all */
    uint8_t tables[3], n_tables, kinds;
    bool launching; /* only calls that launched something */
    size_t skip;    /* so many rows of the GP_VEC, which are none */
    bool of_hta;    /* its strings are those of trace-hta's answer */
};

/* The I-th in the order of lists, NULL after the last. */
const struct gp_query_table *gp_query_table_at(size_t i);
/* NULL if there is none of that name. */
const struct gp_query_table *gp_query_table(const char *name);
/* What a column asks for besides its table. */
void gp_query_column_wants(const struct gp_field *f, uint32_t *need, uint32_t *wants);

struct gp_query_opts {
    const struct gp_classes *classes;      /* the user's; NULL: built in. Borrowed. */
    const char *step_marker;               /* as in gp_steps_find() */
    const struct gp_input_quality *inputs; /* of what T was made of, with sids of STRINGS; borrowed */
    size_t n_inputs;
    const struct gp_strings *strings;
};

struct gp_query_step {
    struct gp_hta_step s; /* first; its name is of hta.strings */
    int64_t id, number;
};
struct gp_query_idle {
    struct gp_hta_place place;
    int64_t begin_ns, end_ns, gap_begin_ns, gap_end_ns, step; /* step: -1 none */
    uint32_t cause, row, stack;                               /* row of GP_GPU that ended the gap */
};
struct gp_query_wait {
    int32_t rank;
    uint32_t call, event; /* ids in calls and events */
    int64_t begin_ns, end_ns;
    gp_sid name;
    bool own;
};
struct gp_query_text {
    gp_sid sid;
};

struct gp_query {
    struct gp_trace *t; /* borrowed */
    struct gp_query_opts opts;
    struct gp_row_of rows_of;
    struct gp_arena mem;     /* texts of getters; freed now and then */
    uint32_t wants;          /* that are made */
    bool untimed;            /* no time between launches means anything */
    struct gp_strings names; /* of everything below but the trace's own */
    struct gp_query_kernel {
        gp_sid name, label;
        uint32_t kind;     /* enum gp_frame_kind */
    } * kernels;           /* by configuration */
    struct gp_view v;      /* if made */
    struct gp_hta hta;     /* if made */
    struct gp_steps found; /* steps, if made */
    int64_t *step_of;      /* by row of GP_GPU: id, -1 none */
    struct gp_query_launched {
        uint32_t events;
        int64_t ns;
    } * launched; /* by row of GP_API */
    struct gp_query_stacks stacks;
    gp_sid *text_of; /* by sid of the trace: number in names */
    GP_VEC(struct gp_query_step) steps;
    GP_VEC(struct gp_query_idle) idle;
    GP_VEC(struct gp_query_wait) waits;
    GP_VEC(struct gp_query_frame) frames;
    GP_VEC(struct gp_query_text) texts;
    GP_VEC(struct gp_input_quality) ranks;
    GP_VEC(struct gp_process) processes;
};

/* Make WANTS of T, which is finished and outlives Q. -1 if the step marker is not a valid expression; Q is to
 * be released in any case. */
GP_MUST_CHECK int gp_query_make(struct gp_query *q, struct gp_trace *t, const struct gp_query_opts *opts,
                                uint32_t wants, struct gp_err *err);
void gp_query_release(struct gp_query *q);

/* Where getters look. */
struct gp_query_event {
    const struct gp_query *q;
    uint32_t table, row; /* of the trace */
    int64_t id;
};
struct gp_query_at {
    const void *row; /* what the fields of the table read: a struct gp_query_event, or a row of the GP_VEC */
    struct gp_query_event event;
};

/* How many numbers the rows of a table have; not all of them need to be rows. */
size_t gp_query_count(const struct gp_query *q, const struct gp_query_table *table);
/* Row number I. False if it is not a row of this table. */
bool gp_query_row(const struct gp_query *q, const struct gp_query_table *table, size_t i,
                  struct gp_query_at *at);
/* What the getters of its fields look at. */
struct gp_row_of gp_query_rows_of(const struct gp_query *q, const struct gp_query_table *table);
/* The first number whose row starts at AT_NS or later, of a table whose rows are one of the trace. */
size_t gp_query_from(const struct gp_query *q, const struct gp_query_table *table, int64_t at_ns);

#endif
