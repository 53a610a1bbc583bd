#include "render/schema/schema.h"

#include <string.h>
#include "analyze/calibrate/calibration.h"
#include "analyze/compile/compile.h"
#include "analyze/diff/diff.h"
#include "analyze/hang/hang.h"
#include "analyze/hta/hta.h"
#include "analyze/hta/hta_rows.h"
#include "analyze/hta/hta_spread.h"
#include "analyze/live/watch.h"
#include "analyze/memory/memory.h"
#include "analyze/metrics/metrics.h"
#include "analyze/suggest/suggest.h"
#include "analyze/try/try.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/base/str.h"
#include "formats/reader.h"
#include "render/hta/hta_formats.h"
#include "render/report/record.h"

/* ---- records ---- */

#define RECORDS(...)                                                                                         \
    (const struct gp_record *const[]) { __VA_ARGS__, NULL }
static const struct {
    const char *tool;
    const struct gp_record *const *records;
} tools[] = {
    {"trace-hta",
     RECORDS(&gp_hta_kernels, &gp_hta_launch_sums, &gp_hta_devices, &gp_hta_parts, &gp_hta_spread_rows,
             &gp_hta_path_rows, &gp_hta_ranks, &gp_hta_matching, &gp_hta_findings, &gp_hta_fleet_row,
             &gp_hta_collectives, &gp_hta_stragglers, &gp_hta_owners[GP_OWNER_OP], &gp_hta_op_shapes,
             &gp_hta_owners[GP_OWNER_RANGE], &gp_hta_owners[GP_OWNER_MODULE],
             &gp_hta_owners[GP_OWNER_FUNCTION], &gp_hta_api, &gp_hta_graphs, &gp_hta_offsets, &gp_hta_copies,
             &gp_hta_memory, &gp_hta_range_memory, &gp_hta_sampled, &gp_hta_clocks, &gp_hta_energy)},
    {"trace-hta-hang", RECORDS(&gp_hang_answers, &gp_hang_rank_rows)},
    {"trace-diff", RECORDS(&gp_diff_reason_rows, &gp_diff_note_rows, &gp_diff_step_rows, &gp_diff_side_row,
                           &gp_diff_total_row, &gp_diff_summary_row, &gp_diff_gate_rows, &gp_diff_expect_rows,
                           &gp_diff_setting_row, &gp_diff_metric_rows, &gp_diff_op_rows, &gp_diff_cause_rows,
                           &gp_diff_block_rows)},
    {"trace-compile",
     RECORDS(&gp_compile_environment, &gp_compile_times, &gp_compile_frames, &gp_compile_breaks[1],
             &gp_compile_recompiles, &gp_compile_cache_counts, &gp_compile_graphs[1], &gp_compile_fused,
             &gp_compile_cuda_graphs, &gp_compile_modes, &gp_compile_suggestions)},
    {"trace-suggest",
     RECORDS(&gp_suggest_suggestions, &gp_suggest_together, &gp_suggest_seen, &gp_suggest_steps,
             &gp_suggest_regime, &gp_suggest_kernels, &gp_suggest_operators)},
    {"trace-fleet", RECORDS(&gp_watch_events)},
    {"trace-memory",
     RECORDS(&gp_memory_device_rows, &gp_memory_holder_rows, &gp_memory_changes, &gp_memory_growths,
             &gp_memory_fragments, &gp_memory_pools, &gp_memory_ooms, &gp_memory_ranges, &gp_memory_operators,
             &gp_memory_churns, &gp_memory_lifetimes, &gp_memory_outsiders, &gp_memory_series)},
    {"trace-metrics", RECORDS(&gp_metrics_columns, &gp_metrics_groups, &gp_metrics_rests, &gp_metrics_losses,
                              &gp_stalls_kernels)},
    {"gpuprof-try", RECORDS(&gp_try_trials, &gp_try_answers)},
    {"ceilings", RECORDS(&gp_missing_rows, &gp_calibrated_devices)},
    {"sweep", RECORDS(&gp_figure_members, &gp_figure_conditions, &gp_sweep_ops, &gp_missing_rows)},
};

/* The record of TOOL with the id of N bytes; NULL if there is none. */
static const struct gp_record *find_record(const char *tool, const char *id, size_t n)
{
    for (size_t i = 0; i < GP_COUNT(tools); i++)
        for (const struct gp_record *const *r = tools[i].records; *r && !strcmp(tools[i].tool, tool); r++)
            if (gp_is(id, n, (*r)->id)) return *r;
    return NULL;
}

/* ---- schemas ---- */

enum { DEEPEST = 8 }; /* a part within a part within a part ... is a mistake */

struct maker {
    struct gp_buf *to;
    const char *tool;
    gp_schema_read *read;
    void *ctx;
    int depth;
};

static int make(struct maker *m, const char *part, size_t n, struct gp_err *err);

static int put_part(struct maker *m, const char *name, size_t n, struct gp_err *err)
{
    struct gp_buf part = {0}, path = {0};
    int failed = -1;
    gp_buf_put(&path, name, n);
    if (m->depth == DEEPEST)
        (void)gp_fail(err, GP_E_SYNTAX, -1, "%s: parts contain each other", gp_buf_str(&path));
    else failed = m->read(m->ctx, gp_buf_str(&path), &part, err);
    while (!failed && part.n && part.data[part.n - 1] == '\n') part.n--;
    m->depth++;
    if (!failed) failed = make(m, part.data, part.n, err);
    m->depth--;
    gp_buf_release(&path);
    gp_buf_release(&part);
    return failed;
}

enum form { ROW, LIST, ROWS };

static int put_record(struct maker *m, enum form form, const char *id, size_t n, int indent,
                      struct gp_err *err)
{
    const struct gp_record *rec = find_record(m->tool, id, n);
    if (!rec) return gp_fail(err, GP_E_SYNTAX, -1, "%s has no record '%.*s'", m->tool, (int)n, id);
    if (form == ROWS) gp_buf_printf(m->to, "\"%s\": ", rec->id);
    if (form != ROW) gp_buf_puts(m->to, "{\"type\": \"array\", \"items\": ");
    gp_record_schema(m->to, rec, indent);
    if (form != ROW) gp_buf_putc(m->to, '}');
    if (form != ROWS || !rec->rest[0].id) return 0;
    gp_buf_printf(m->to, ",\n%*s\"%s_rest\": ", indent, "", rec->id);
    gp_rest_schema(m->to, rec);
    return 0;
}

static void put_word(struct gp_buf *to, size_t *count, const char *word, size_t n)
{
    gp_buf_printf(to, "%s\"%.*s\"", (*count)++ ? ", " : "", (int)n, word);
}

/* The text between two @: "rows ID", "list ID", "row ID", "file NAME" or "formats MORE". */
static int put_made(struct maker *m, const char *s, size_t n, int indent, struct gp_err *err)
{
    const char *blank = memchr(s, ' ', n);
    size_t word = blank ? (size_t)(blank - s) : n;
    const char *name = s + word + (blank != NULL);
    size_t left = n - word - (blank != NULL);
    if (gp_is(s, word, "file")) return put_part(m, name, left, err);
    if (gp_is(s, word, "formats")) {
        /* MORE, N bytes, are further formats, with a blank between two. */
        size_t count = 0;
        for (size_t i = 0, end; i < left; i = end + 1) {
            for (end = i; end < left && name[end] != ' ';) end++;
            put_word(m->to, &count, name + i, end - i);
        }
        for (size_t i = 0; gp_readers[i]; i++) {
            const struct gp_reader *r = gp_readers[i];
            for (const char *const *f = r->formats; *f; f++) put_word(m->to, &count, *f, strlen(*f));
            if (!*r->formats) put_word(m->to, &count, r->name, strlen(r->name));
        }
        return 0;
    }
    if (gp_is(s, word, "row")) return put_record(m, ROW, name, left, indent, err);
    if (gp_is(s, word, "list")) return put_record(m, LIST, name, left, indent, err);
    if (gp_is(s, word, "rows")) return put_record(m, ROWS, name, left, indent, err);
    return gp_fail(err, GP_E_SYNTAX, -1, "'%.*s' is neither rows, list, row, file nor formats", (int)n, s);
}

/* The indent of the line of PART around AT. */
static int indent_of(const char *part, size_t at)
{
    size_t begin = at, blanks = 0;
    while (begin > 0 && part[begin - 1] != '\n') begin--;
    while (part[begin + blanks] == ' ') blanks++;
    return (int)blanks;
}

static int make(struct maker *m, const char *part, size_t n, struct gp_err *err)
{
    for (size_t i = 0; i < n; i++) {
        if (part[i] != '@') {
            gp_buf_putc(m->to, part[i]);
            continue;
        }
        const char *end = memchr(part + i + 1, '@', n - i - 1);
        size_t inside = end ? (size_t)(end - part) - i - 1 : n - i - 1;
        if (put_made(m, part + i + 1, inside, indent_of(part, i), err)) return -1;
        i += inside + 1;
    }
    return 0;
}

int gp_schema_make(struct gp_buf *to, const char *tool, const char *part, size_t n, gp_schema_read *read,
                   void *ctx, struct gp_err *err)
{
    return make(&(struct maker){to, tool, read, ctx, 0}, part, n, err);
}

/* ---- classes of Python ---- */

static const struct {
    const char *name, *tool, *record;
} classes[] = {
    {"Kernel", "trace-hta", "kernels"},         {"RangeTime", "trace-hta", "ranges"},
    {"Operator", "trace-hta", "operators"},     {"Finding", "trace-hta", "findings"},
    {"Advice", "trace-suggest", "suggestions"}, {"Change", "trace-diff", "operations"},
    {"Trial", "gpuprof-try", "trials"},
};

static const char *type_of(const struct gp_field *f)
{
    static const char *const types[] = {"str", "bool", "int", "float"};
    enum gp_cell_form form = gp_cell_form(f->type);
    bool list = f->type == GP_CELL_LIST || f->type == GP_CELL_ROWS;
    return form < GP_FORM_OTHER ? types[form] : list ? "list" : "dict";
}

static bool is_keyword(const char *id)
{
    return gp_is_one_of(id, strlen(id), " class from global import in is lambda not pass ");
}

static void put_attributes(struct gp_buf *to, const struct gp_record *rec)
{
    GP_EACH_OF(const struct gp_field, f, rec->fields, rec->n) {
        bool unknown = f->flags & (GP_FIELD_NULL | GP_FIELD_TIMED | GP_FIELD_OPTIONAL);
        if (f->type == GP_CELL_PART) put_attributes(to, f->rows);
        if (f->type == GP_CELL_PART || !f->id || f->flags & GP_FIELD_TABLES) continue;
        gp_buf_printf(to, "    %s%s: %s%s%s", f->id, is_keyword(f->id) ? "_" : "", unknown ? "Optional[" : "",
                      type_of(f), unknown ? "]" : "");
        if (f->help) gp_buf_printf(to, "  #: %s", f->help);
        gp_buf_putc(to, '\n');
    }
}

void gp_schema_python(struct gp_buf *to)
{
    gp_buf_puts(to, "\"\"\"Rows of what the programs of the suite say, as small objects that do not change: "
                    "each attribute is a "
                    "member of\ntheir JSON. Made from the records of the programs by "
                    "tests/schema/generated.t --update.\"\"\"\n\n"
                    "from dataclasses import dataclass\nfrom typing import Optional\n");
    for (size_t i = 0; i < GP_COUNT(classes); i++) {
        const struct gp_record *rec =
            find_record(classes[i].tool, classes[i].record, strlen(classes[i].record));
        gp_buf_printf(to, "\n\n@dataclass(frozen=True)\nclass %s:\n    \"\"\"One of ``%s`` of %s.\"\"\"\n",
                      classes[i].name, rec->id, classes[i].tool);
        put_attributes(to, rec);
    }
}
