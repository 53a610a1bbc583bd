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

static const struct {
    const char *tool;
    const struct gp_record *record;
} records[] = {
    {"trace-hta", &gp_hta_kernels},
    {"trace-hta", &gp_hta_launch_sums},
    {"trace-hta", &gp_hta_devices},
    {"trace-hta", &gp_hta_parts},
    {"trace-hta", &gp_hta_spread_rows},
    {"trace-hta", &gp_hta_path_rows},
    {"trace-hta", &gp_hta_ranks},
    {"trace-hta", &gp_hta_matching},
    {"trace-hta", &gp_hta_findings},
    {"trace-hta", &gp_hta_fleet_row},
    {"trace-hta", &gp_hta_collectives},
    {"trace-hta", &gp_hta_stragglers},
    {"trace-hta", &gp_hta_owners[GP_OWNER_OP]},
    {"trace-hta", &gp_hta_op_shapes},
    {"trace-hta", &gp_hta_owners[GP_OWNER_RANGE]},
    {"trace-hta", &gp_hta_owners[GP_OWNER_MODULE]},
    {"trace-hta", &gp_hta_owners[GP_OWNER_FUNCTION]},
    {"trace-hta", &gp_hta_api},
    {"trace-hta", &gp_hta_graphs},
    {"trace-hta", &gp_hta_offsets},
    {"trace-hta", &gp_hta_copies},
    {"trace-hta", &gp_hta_memory},
    {"trace-hta", &gp_hta_range_memory},
    {"trace-hta", &gp_hta_sampled},
    {"trace-hta", &gp_hta_clocks},
    {"trace-hta", &gp_hta_energy},
    {"trace-hta-hang", &gp_hang_answers},
    {"trace-hta-hang", &gp_hang_rank_rows},
    {"trace-diff", &gp_diff_reason_rows},
    {"trace-diff", &gp_diff_note_rows},
    {"trace-diff", &gp_diff_step_rows},
    {"trace-diff", &gp_diff_side_row},
    {"trace-diff", &gp_diff_total_row},
    {"trace-diff", &gp_diff_summary_row},
    {"trace-diff", &gp_diff_gate_rows},
    {"trace-diff", &gp_diff_expect_rows},
    {"trace-diff", &gp_diff_setting_row},
    {"trace-diff", &gp_diff_metric_rows},
    {"trace-diff", &gp_diff_op_rows},
    {"trace-diff", &gp_diff_cause_rows},
    {"trace-diff", &gp_diff_block_rows},
    {"trace-compile", &gp_compile_environment},
    {"trace-compile", &gp_compile_times},
    {"trace-compile", &gp_compile_frames},
    {"trace-compile", &gp_compile_breaks[1]},
    {"trace-compile", &gp_compile_recompiles},
    {"trace-compile", &gp_compile_cache_counts},
    {"trace-compile", &gp_compile_graphs[1]},
    {"trace-compile", &gp_compile_fused},
    {"trace-compile", &gp_compile_cuda_graphs},
    {"trace-compile", &gp_compile_modes},
    {"trace-compile", &gp_compile_suggestions},
    {"trace-suggest", &gp_suggest_suggestions},
    {"trace-suggest", &gp_suggest_together},
    {"trace-suggest", &gp_suggest_seen},
    {"trace-suggest", &gp_suggest_steps},
    {"trace-suggest", &gp_suggest_regime},
    {"trace-suggest", &gp_suggest_kernels},
    {"trace-suggest", &gp_suggest_operators},
    {"trace-fleet", &gp_watch_events},
    {"trace-memory", &gp_memory_device_rows},
    {"trace-memory", &gp_memory_holder_rows},
    {"trace-memory", &gp_memory_changes},
    {"trace-memory", &gp_memory_growths},
    {"trace-memory", &gp_memory_fragments},
    {"trace-memory", &gp_memory_pools},
    {"trace-memory", &gp_memory_ooms},
    {"trace-memory", &gp_memory_ranges},
    {"trace-memory", &gp_memory_operators},
    {"trace-memory", &gp_memory_churns},
    {"trace-memory", &gp_memory_lifetimes},
    {"trace-memory", &gp_memory_outsiders},
    {"trace-memory", &gp_memory_series},
    {"trace-metrics", &gp_metrics_columns},
    {"trace-metrics", &gp_metrics_groups},
    {"trace-metrics", &gp_metrics_rests},
    {"trace-metrics", &gp_metrics_losses},
    {"trace-metrics", &gp_stalls_kernels},
    {"gpuprof-try", &gp_try_trials},
    {"gpuprof-try", &gp_try_answers},
    {"ceilings", &gp_missing_rows},
    {"ceilings", &gp_calibrated_devices},
    {"sweep", &gp_figure_members},
    {"sweep", &gp_figure_conditions},
    {"sweep", &gp_sweep_ops},
    {"sweep", &gp_missing_rows},
};

/* The record of TOOL with the id of N bytes; NULL if there is none. */
static const struct gp_record *find_record(const char *tool, const char *id, size_t n)
{
    for (size_t i = 0; i < GP_COUNT(records); i++) {
        const char *known = records[i].record->id;
        if (!strcmp(records[i].tool, tool) && strlen(known) == n && !memcmp(known, id, n))
            return records[i].record;
    }
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
    switch ((enum gp_cell_type)f->type) {
    case GP_CELL_NAME:
    case GP_CELL_TEXT: return "str";
    case GP_CELL_BOOL: return "bool";
    case GP_CELL_ID:
    case GP_CELL_COUNT:
    case GP_CELL_NS:
    case GP_CELL_US:
    case GP_CELL_BYTES:
    case GP_CELL_CHANGE_NS:
    case GP_CELL_CHANGE_US:
    case GP_CELL_CHANGE_BYTES: return "int";
    case GP_CELL_PCT:
    case GP_CELL_GBPS:
    case GP_CELL_REAL:
    case GP_CELL_NS_REAL:
    case GP_CELL_CHANGE_PCT: return "float";
    case GP_CELL_LIST:
    case GP_CELL_ROWS: return "list";
    case GP_CELL_ANY:
    case GP_CELL_DIST:
    case GP_CELL_NAMED:
    case GP_CELL_ROW:
    case GP_CELL_PART: break;
    }
    return "dict";
}

static bool is_keyword(const char *id)
{
    static const char *const words[] = {"class", "from",   "global", "import", "in",
                                        "is",    "lambda", "not",    "pass"};
    for (size_t i = 0; i < GP_COUNT(words); i++)
        if (!strcmp(id, words[i])) return true;
    return false;
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
