/* The critical paths, for JSON and as tables. */
#include "render/hta/hta_priv.h"

#include <inttypes.h>
#include "analyze/hta/hta.h"
#include "analyze/math/sums.h"
#include "formats/base/buf.h"
#include "formats/base/scale.h"
#include "formats/base/str.h"
#include "render/draw/palette.h"
#include "render/draw/text.h"

static const char *const bounds[] = {GP_PATH_BOUNDS(GP_WORD_1) NULL};

static int64_t length_of(const struct gp_hta_path *p) { return p->end_ns - p->begin_ns; }

/* NAME of a piece, with all of it in FULL if that is another one. */
static void put_name(struct gp_cell *c, gp_sid name, gp_sid full, const struct gp_row_of *x)
{
    const struct gp_strings *s = x->strings;
    gp_sid whole = full ? full : name;
    gp_cell_label(c, gp_string(s, whole), gp_string_len(s, whole), gp_string(s, name),
                  gp_string_len(s, name));
    if (!c->label_len) gp_cell_label(c, "", 0, GP_TEXT("(nothing recorded)"));
}

/* The path of a row; the first member of all rows. */
struct of_path {
    const struct gp_hta_path *path;
};

static const struct gp_hta_path *path_of(const void *row) { return ((const struct of_path *)row)->path; }

GP_GETTER(get_rank) { gp_member_rank(c, f, path_of(row), x); }
GP_GETTER(get_process) { gp_member_process(c, f, path_of(row), x); }
GP_GETTER(get_window) { gp_member_name(c, f, path_of(row), x); }

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
    struct gp_report_table *t = gp_hta_table(m, rec, rows, n, 0);
    if (t && !m->merged) gp_report_flag(t, "process", GP_COLUMN_RAW);
    return t;
}

/* ---- by bound ---- */

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
    GP_EACH(const struct gp_hta_path, p, h->paths) {
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

GP_GET(get_name, struct gp_path_sum, put_name(c, r->name, r->full, x))

static const struct gp_field sum_fields[] = {
    OF_PATH,
    {"name", "Name", GP_CELL_NAME, get_name, 0, .help = "of what contains the pieces"},
    {"bound", "Bound by", GP_CELL_TEXT, gp_member_phrase, AT(bound), .words = bounds},
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

static bool is_single(const struct run_row *r) { return r->run.end - r->run.first == 1; }

GP_GET(get_begin, struct run_row, c->i = r->first->begin_ns)
GP_GET(get_run_name, struct run_row, if (is_single(r)) put_name(c, r->first->name, r->first->full, x);
       else gp_cell_label(c, "", 0, GP_TEXT("(short pieces)")))
GP_GET_IF(get_stream, struct run_row, is_single(r) && r->first->stream >= 0, c->i = r->first->stream)
GP_GET_IF(get_thread, struct run_row, is_single(r) && r->first->stream < 0, c->i = r->first->tid)
GP_GET(get_pieces, struct run_row, c->i = (int64_t)(r->run.end - r->run.first))

static const struct gp_field run_fields[] = {
    OF_PATH,
    {"begin_ns", "Begin", GP_CELL_ID, get_begin, 0, .help = "on the clock of the trace, ns"},
    {"duration_ns", "Duration", GP_CELL_NS, gp_member_i64, offsetof(struct run_row, run.total_ns),
     .help = NULL},
    {"bound", "Bound by", GP_CELL_TEXT, gp_member_phrase, offsetof(struct run_row, run.bound),
     .words = bounds},
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
    GP_EACH(const struct gp_hta_path, p, h->paths) {
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
        row.rest.ns -= row.names.at[i].total_ns; /* with pieces of a path that are not kept */
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

/* ---- path dot ---- */

enum { DEFAULT_NODES = 120, LABEL_COLUMNS = 36 };

/* ---- labels of nodes ---- */

static enum gp_frame_kind kind_of(enum gp_path_bound b)
{
    switch (b) {
    case GP_PATH_COMPUTE: return GP_FRAME_GEMM;
    case GP_PATH_COMMUNICATION: return GP_FRAME_COMMUNICATION;
    case GP_PATH_MEMORY: return GP_FRAME_MEMCPY;
    case GP_PATH_LAUNCH: return GP_FRAME_API;
    case GP_PATH_HOST: return GP_FRAME_OP;
    default: return GP_FRAME_RANGE;
    }
}

static void put_sid(struct gp_buf *b, const struct gp_hta *h, gp_sid sid)
{
    gp_dot_text(b, gp_hta_str(h, sid), gp_string_len(&h->strings, sid));
}

/* The thread or stream that the pieces of a column have in common. */
static void put_lane(struct gp_buf *b, const struct gp_path_piece *p)
{
    if (p->stream >= 0) gp_buf_printf(b, "stream %" PRId64, p->stream);
    else if (p->tid >= 0) gp_buf_printf(b, "thread %" PRId64, p->tid);
    else gp_buf_puts(b, "host");
}

static void put_label(struct gp_buf *b, const struct gp_hta *h, const struct gp_hta_path *p,
                      struct gp_path_run n)
{
    enum gp_path_bound bound = n.bound;
    int64_t ns = n.total_ns;
    const struct gp_path_piece *piece = &p->pieces.at[n.first];
    if (n.end - n.first > 1) {
        gp_scale_put_count(b, n.end - n.first);
        gp_buf_printf(b, " short pieces\\nmostly %s", gp_path_bound_text(bound));
    } else {
        if (bound == GP_PATH_LAUNCH) gp_buf_puts(b, "launch: ");
        if (bound == GP_PATH_SYNC) gp_buf_puts(b, "end of ");
        if (bound == GP_PATH_KERNEL_GAP) gp_buf_puts(b, "gap before ");
        if (piece->name) {
            struct gp_buf fit = {0};
            gp_text_fit_name(&fit, gp_hta_str(h, piece->name), gp_string_len(&h->strings, piece->name),
                             LABEL_COLUMNS);
            gp_dot_text(b, fit.data, fit.n);
            gp_buf_release(&fit);
        } else gp_buf_puts(b, "host, nothing recorded");
    }
    gp_buf_printf(b, "\\n%s (%s)", GP_NS(ns), GP_SHARE(ns, p->end_ns - p->begin_ns));
}

static void put_tooltip(struct gp_buf *b, const struct gp_hta *h, const struct gp_hta_path *p,
                        struct gp_path_run n)
{
    const struct gp_path_piece *first = &p->pieces.at[n.first];
    if (n.end - n.first == 1) {
        put_sid(b, h, first->full ? first->full : first->name);
        gp_buf_puts(b, first->name ? "; " : "");
        put_lane(b, first);
        gp_buf_puts(b, "; ");
    }
    gp_buf_printf(b, "from %s to %s", GP_NS(first->begin_ns - p->begin_ns),
                  GP_NS(p->pieces.at[n.end - 1].end_ns - p->begin_ns));
}

static void put_node(struct gp_buf *b, const struct gp_hta *h, size_t path, size_t i, struct gp_path_run n)
{
    const struct gp_hta_path *p = &h->paths.at[path];
    struct gp_color fill = gp_palette_fill(kind_of(n.bound), 2, GP_THEME_LIGHT);
    gp_buf_printf(b, "    p%zu_%zu [label=\"", path, i);
    put_label(b, h, p, n);
    gp_buf_puts(b, "\", tooltip=\"");
    put_tooltip(b, h, p, n);
    gp_buf_puts(b, "\", fillcolor=");
    gp_dot_color(b, fill);
    gp_buf_puts(b, ", fontcolor=");
    gp_dot_color(b, gp_palette_text(fill));
    gp_buf_printf(b, ", class=\"k-%s\"", gp_palette_class(kind_of(n.bound)));
    if (n.end - n.first > 1) {
        gp_buf_puts(b, ", style=\"filled,dashed\"");
    } else {
        gp_buf_printf(b, ", group=\"%zu ", path);
        put_lane(b, &p->pieces.at[n.first]);
        gp_buf_putc(b, '"');
    }
    gp_buf_puts(b, "];\n");
}

/* ---- the graph ---- */

static void put_title(struct gp_buf *b, const struct gp_hta *h, const struct gp_hta_path *p)
{
    gp_buf_puts(b, "Critical path");
    if (p->window) {
        gp_buf_puts(b, " of ");
        put_sid(b, h, p->window);
    }
    if (p->rank >= 0) gp_buf_printf(b, ", rank %d", (int)p->rank);
    gp_buf_printf(b, ": %s", GP_NS(p->end_ns - p->begin_ns));
    for (int i = 0; i < GP_PATH_BOUND_COUNT; i++) {
        if (!p->bound_ns[i]) continue;
        gp_buf_printf(b, "\\l    %s %s (%s)", gp_path_bound_text((enum gp_path_bound)i),
                      GP_NS(p->bound_ns[i]), GP_SHARE(p->bound_ns[i], p->end_ns - p->begin_ns));
    }
    gp_buf_puts(b, "\\l");
}

static void put_path(struct gp_buf *b, const struct gp_hta *h, size_t path, uint32_t max_nodes)
{
    gp_path_runs all = {0};
    gp_hta_path_fold(&h->paths.at[path], max_nodes, &all);
    gp_buf_printf(b, "  subgraph cluster_%zu {\n    label=\"", path);
    put_title(b, h, &h->paths.at[path]);
    gp_buf_puts(b, "\";\n");
    for (size_t i = 0; i < all.n; i++) put_node(b, h, path, i, all.at[i]);
    for (size_t i = 1; i < all.n; i++) gp_buf_printf(b, "    p%zu_%zu -> p%zu_%zu;\n", path, i - 1, path, i);
    gp_buf_puts(b, "  }\n");
    GP_VEC_FREE(&all);
}

void gp_path_dot(struct gp_buf *b, const struct gp_hta *h, uint32_t most)
{
    uint32_t max_nodes = most ? most : DEFAULT_NODES;
    gp_buf_puts(b,
                "digraph critical_path {\n"
                "  graph [fontname=\"sans-serif\", fontsize=12, labeljust=l, nodesep=0.15, ranksep=0.2, "
                "color=\"#c5cad8\"];\n"
                "  node [shape=box, style=filled, fontname=\"sans-serif\", fontsize=10, color=\"#5b6474\", "
                "margin=\"0.1,0.04\"];\n"
                "  edge [color=\"#5b6474\", arrowsize=0.6];\n");
    if (h->untimed) gp_buf_puts(b, "  label=\"" GP_UNTIMED_TEXT "\";\n");
    else if (!h->paths.n) gp_buf_puts(b, "  label=\"no GPU events, so no critical path\";\n");
    for (size_t i = 0; i < h->paths.n; i++) put_path(b, h, i, max_nodes < 3 ? 3 : max_nodes);
    gp_buf_puts(b, "}\n");
}
