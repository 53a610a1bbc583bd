/* The critical paths, for JSON and as tables. */
#include "render/hta/hta_paths.h"

#include "analyze/hta/hta.h"
#include "analyze/math/sums.h"
#include "formats/base/str.h"
#include "render/hta/hta_tables_priv.h"

static const char *const bounds[] = {GP_PATH_BOUNDS(GP_WORD_1) NULL};

static int64_t length_of(const struct gp_hta_path *p)
{
    return p->end_ns - p->begin_ns;
}

/* NAME of a piece, with all of it in FULL if that is another one. */
static void put_name(struct gp_cell *c, gp_sid name, gp_sid full, const struct gp_row_of *x)
{
    const struct gp_strings *s = x->strings;
    gp_sid whole = full ? full : name;
    gp_cell_label(c, gp_string(s, whole), gp_string_len(s, whole), gp_string(s, name),
                  gp_string_len(s, name));
    if (!c->label_len) gp_cell_label(c, "", 0, GP_TEXT("(nothing recorded)"));
}

/* Which path a row is of; the first member of all rows. */
struct of_path {
    const struct gp_hta_path *path;
};

static const struct gp_hta_path *path_of(const void *row)
{
    return ((const struct of_path *)row)->path;
}

GP_GETTER(get_rank)
{
    gp_member_rank(c, f, path_of(row), x);
}

GP_GETTER(get_process)
{
    gp_member_process(c, f, path_of(row), x);
}

GP_GETTER(get_window)
{
    gp_member_name(c, f, path_of(row), x);
}

/* A time in percent of the length of the path. */
GP_GETTER(get_share)
{
    gp_cell_real(c, gp_pct(*(const int64_t *)gp_member_at(row, f), length_of(path_of(row))));
}

#define PATH(member) offsetof(struct gp_hta_path, member)
#define TABLES       GP_FIELD_TABLES
static const struct gp_field of_path_fields[] = {
    {"rank", "Rank", GP_CELL_ID, get_rank, PATH(rank), .flags = TABLES},
    {"process", "Proc.", GP_CELL_ID, get_process, PATH(producer), .flags = TABLES},
};
static const struct gp_record of_path_rows = {"of_path", NULL, GP_FIELDS(of_path_fields),
                                              sizeof(struct of_path), .note = NULL};
#define OF_PATH                                                                                              \
    {                                                                                                        \
        .type = GP_CELL_PART, .rows = &of_path_rows                                                          \
    }

static struct gp_report_table *table_of(struct gp_hta_tables *m, const struct gp_record *rec,
                                        const void *rows, size_t n)
{
    struct gp_report_table *t = gp_hta_table_all(m, rec, rows, n);
    if (t && !m->merged) gp_report_flag(t, "process", GP_COLUMN_RAW);
    return t;
}

/* ---- by what bounds them ---- */

struct bound_row {
    struct of_path of;
    const char *bound, *what;
    int64_t ns;
};

#define AT(member) offsetof(struct bound_row, member)
static const struct gp_field bound_fields[] = {
    OF_PATH,
    {"window", "Window", GP_CELL_NAME, get_window, PATH(window), .help = "step, or none for the whole trace",
     .flags = GP_COLUMN_SPARE},
    {"bound", "Bound", GP_CELL_TEXT, gp_member_text, AT(bound), .flags = GP_COLUMN_RAW},
    {"what", "Bound by", GP_CELL_TEXT, gp_member_text, AT(what), .help = NULL},
    {"time_ns", "Time", GP_CELL_NS, gp_member_i64, AT(ns), .help = "sums to the length of the path"},
    {"share_pct", "Share", GP_CELL_PCT, get_share, AT(ns), .help = "of the length of the path",
     .flags = GP_COLUMN_BAR},
};
#undef AT
static const struct gp_record bound_rows = {"critical_path", "What bounds the time", GP_FIELDS(bound_fields),
                                            sizeof(struct bound_row), .note = NULL};

void gp_hta_table_path_bounds(struct gp_hta_tables *m)
{
    const struct gp_hta *h = m->h;
    GP_VEC(struct bound_row) rows = {0};
    for (size_t i = 0; i < h->paths.n; i++) {
        const struct gp_hta_path *p = &h->paths.at[i];
        for (int b = 0; b < GP_PATH_BOUND_COUNT; b++)
            if (p->bound_ns[b])
                GP_VEC_PUSH(&rows, ((struct bound_row){{p},
                                                       gp_path_bound_name((enum gp_path_bound)b),
                                                       gp_path_bound_text((enum gp_path_bound)b),
                                                       p->bound_ns[b]}));
    }
    struct gp_report_table *t = table_of(m, &bound_rows, rows.at, rows.n);
    if (t) t->note = "Along the critical path: work that had to happen before the last event could end.";
    if (t) t->detail = h->paths.n > GP_HTA_FEW_DEVICES;
    GP_VEC_FREE(&rows);
}

/* ---- by name ---- */

#define AT(member) offsetof(struct gp_path_sum, member)

GP_GETTER(get_name)
{
    const struct gp_path_sum *s = row;
    put_name(c, s->name, s->full, x);
}

GP_GETTER(get_bound)
{
    gp_cell_word(c, gp_path_bound_name(*(const uint32_t *)gp_member_at(row, f)), x);
}

static const struct gp_field sum_fields[] = {
    OF_PATH,
    {"name", "Name", GP_CELL_NAME, get_name, 0, .help = "of what contains the pieces"},
    {"bound", "Bound by", GP_CELL_TEXT, get_bound, AT(bound), .words = bounds},
    {"count", "Pieces", GP_CELL_COUNT, gp_member_u64, AT(count), .help = NULL},
    {"total_ns", "Total", GP_CELL_NS, gp_member_i64, AT(total_ns), .help = NULL},
    {"share_pct", "Share", GP_CELL_PCT, get_share, AT(total_ns), .help = "of the length of the path",
     .flags = TABLES},
    {"longest_ns", "Longest", GP_CELL_NS, gp_member_i64, AT(longest_ns), .help = NULL},
};
#undef AT
static const struct gp_record sum_rows = {"critical_names",
                                          "On the critical path",
                                          GP_FIELDS(sum_fields),
                                          sizeof(struct gp_path_sum),
                                          .note = "pieces of one name and bound",
                                          .rest = {{NULL, NULL}, {NULL, "total_ns"}}};

void gp_hta_table_path_names(struct gp_hta_tables *m)
{
    const struct gp_hta *h = m->h;
    gp_path_sums shown = {0};
    size_t left = 0;
    int64_t left_ns = 0;
    for (size_t i = 0; i < h->paths.n; i++) {
        gp_path_sums sums = {0};
        gp_hta_path_sums(&h->paths.at[i], &sums);
        size_t n = m->top && m->top < sums.n ? m->top : sums.n;
        left_ns = gp_add_saturated(left_ns, length_of(&h->paths.at[i]));
        for (size_t k = 0; k < n; k++) {
            GP_VEC_PUSH(&shown, sums.at[k]);
            left_ns -= sums.at[k].total_ns;
        }
        left += sums.n - n;
        GP_VEC_FREE(&sums);
    }
    struct gp_report_table *t = table_of(m, &sum_rows, shown.at, shown.n);
    if (t) t->detail = h->paths.n > 1;
    if (t) gp_record_left(m->r, t, &sum_rows, left, left_ns);
    GP_VEC_FREE(&shown);
}

/* ---- piece by piece ---- */

enum { FEW_RUNS = 10 }; /* of each path where there are many */

struct run_row {
    struct of_path of;
    struct gp_path_run run;
    const struct gp_path_piece *first;
};

static bool alone(const void *row)
{
    const struct gp_path_run *run = &((const struct run_row *)row)->run;
    return run->end - run->first == 1;
}

GP_GETTER(get_begin)
{
    c->i = ((const struct run_row *)row)->first->begin_ns;
}

GP_GETTER(get_run_bound)
{
    gp_cell_word(c, gp_path_bound_name(((const struct run_row *)row)->run.bound), x);
}

GP_GETTER(get_run_name)
{
    const struct gp_path_piece *p = ((const struct run_row *)row)->first;
    if (alone(row)) put_name(c, p->name, p->full, x);
    else gp_cell_label(c, "", 0, GP_TEXT("(short pieces)"));
}

GP_GETTER(get_stream)
{
    c->i = ((const struct run_row *)row)->first->stream;
    c->none = !alone(row) || c->i < 0;
}

GP_GETTER(get_thread)
{
    const struct gp_path_piece *p = ((const struct run_row *)row)->first;
    c->i = p->tid;
    c->none = !alone(row) || p->stream >= 0;
}

GP_GETTER(get_pieces)
{
    const struct gp_path_run *run = &((const struct run_row *)row)->run;
    c->i = (int64_t)(run->end - run->first);
}

static const struct gp_field run_fields[] = {
    OF_PATH,
    {"begin_ns", "Begin", GP_CELL_ID, get_begin, 0, .help = "on the clock of the trace, ns"},
    {"duration_ns", "Duration", GP_CELL_NS, gp_member_i64, offsetof(struct run_row, run.total_ns),
     .help = NULL},
    {"bound", "Bound by", GP_CELL_TEXT, get_run_bound, 0, .words = bounds},
    {"name", "Name", GP_CELL_NAME, get_run_name, 0, .help = NULL},
    {"stream", "Stream", GP_CELL_ID, get_stream, 0, .help = "GPU pieces"},
    {"thread", "Thread", GP_CELL_ID, get_thread, 0, .help = "host pieces"},
    {"pieces", "Pieces", GP_CELL_COUNT, get_pieces, 0, .help = "in this row; short pieces share one row",
     .flags = GP_COLUMN_WIDE},
};
static const struct gp_record run_rows = {"critical_pieces", "The critical path, piece by piece",
                                          GP_FIELDS(run_fields), sizeof(struct run_row), .note = NULL};

void gp_hta_table_path_pieces(struct gp_hta_tables *m)
{
    const struct gp_hta *h = m->h;
    GP_VEC(struct run_row) rows = {0};
    for (size_t i = 0; i < h->paths.n; i++) {
        const struct gp_hta_path *p = &h->paths.at[i];
        gp_path_runs runs = {0};
        size_t top = h->bound.bounded && m->top > FEW_RUNS ? FEW_RUNS : m->top;
        gp_hta_path_fold(p, top ? 2 * top + 1 : 0, &runs);
        for (size_t k = 0; k < runs.n; k++)
            GP_VEC_PUSH(&rows, (struct run_row){{p}, runs.at[k], &p->pieces.at[runs.at[k].first]});
        GP_VEC_FREE(&runs);
    }
    struct gp_report_table *t = table_of(m, &run_rows, rows.at, rows.n);
    if (t) t->detail = true;
    GP_VEC_FREE(&rows);
}

/* ---- JSON ---- */

struct rest {
    uint64_t rows, count;
    int64_t ns;
};

#define AT(member) offsetof(struct rest, member)
static const struct gp_field rest_fields[] = {
    {"rows", NULL, GP_CELL_COUNT, gp_member_u64, AT(rows), .help = NULL},
    {"count", NULL, GP_CELL_COUNT, gp_member_u64, AT(count), .help = "their pieces"},
    {"total_ns", NULL, GP_CELL_NS, gp_member_i64, AT(ns), .help = "of length_ns"},
};
#undef AT
static const struct gp_record rest_row = {"names_rest", NULL, GP_FIELDS(rest_fields), sizeof(struct rest),
                                          .note = "what names does not list"};

struct path_row {
    struct gp_hta_path path;
    gp_path_sums names; /* those that are shown */
    struct rest rest;
};

#define AT(member) offsetof(struct path_row, member)
static const struct gp_field path_fields[] = {
    {.type = GP_CELL_PART, .rows = &gp_hta_paths},
    {"names", NULL, GP_CELL_ROWS, gp_member_rows, AT(names), .help = "most time first", .rows = &sum_rows},
    {"names_rest", NULL, GP_CELL_ROW, gp_member_row, AT(rest), .rows = &rest_row},
};
#undef AT
const struct gp_record gp_hta_path_rows = {"paths", NULL, GP_FIELDS(path_fields), sizeof(struct path_row),
                                           .note = "of the median step of a rank, or the whole trace"};

static struct path_row row_of(const struct gp_hta_path *p, size_t top)
{
    struct path_row row = {.path = *p, .rest = {.count = p->pieces.n, .ns = length_of(p)}};
    gp_hta_path_sums(p, &row.names);
    if (top && row.names.n > top) {
        row.rest.rows = row.names.n - top;
        row.names.n = top;
    }
    for (size_t i = 0; i < row.names.n; i++) {
        row.rest.count -= row.names.at[i].count;
        row.rest.ns -= row.names.at[i].total_ns; /* with what is not kept of a path */
    }
    return row;
}

void gp_hta_json_paths(struct gp_doc *d, const struct gp_hta *h, size_t top)
{
    struct gp_row_of of = gp_hta_rows_of(h, 0);
    gp_doc_object(d, "critical_path");
    gp_doc_list(d, gp_hta_path_rows.id);
    for (size_t i = 0; i < h->paths.n; i++) {
        struct path_row row = row_of(&h->paths.at[i], top);
        gp_record_rows(d, &gp_hta_path_rows, &row, 1, &of);
        GP_VEC_FREE(&row.names);
    }
    gp_doc_end(d, ']');
    gp_doc_end(d, '}');
}
