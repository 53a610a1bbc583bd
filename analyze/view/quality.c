#include "analyze/view/quality.h"

#include <inttypes.h>
#include <string.h>
#include "analyze/result/keep.h"
#include "formats/base/buf.h"
#include "formats/base/scale.h"

/* ---- fields ---- */

#define AT(member) offsetof(struct gp_input_issue, member)

GP_GET(get_kind, struct gp_input_issue, gp_cell_text(c, gp_issue_name((enum gp_issue_kind)r->kind)))

GP_GET(get_what, struct gp_input_issue, gp_cell_text(c, gp_issue_text((enum gp_issue_kind)r->kind)))

static const struct gp_field issue_fields[] = {
    {"path", "File", GP_CELL_NAME, gp_member_sid, AT(path), .flags = GP_FIELD_TABLES},
    {"kind", "Kind", GP_CELL_TEXT, get_kind, 0, .help = "what is wrong, in a word"},
    {"what", "What", GP_CELL_TEXT, get_what, 0, .flags = GP_FIELD_TABLES},
    {"count", "Count", GP_CELL_COUNT, gp_member_u64, AT(issue.count), .help = "how often"},
    {"first_offset", "First at byte", GP_CELL_ID, gp_member_known_i64, AT(issue.first_offset),
     .help = "of the decompressed input", .flags = GP_FIELD_NULL},
};
#undef AT

const struct gp_record gp_input_issues = {"issues", "Problems in the input", GP_FIELDS(issue_fields),
                                          sizeof(struct gp_input_issue), .note = "a problem of an input"};

size_t gp_input_issues_of(struct gp_input_issue to[GP_ISSUE_COUNT], gp_sid path,
                          const struct gp_issue issues[GP_ISSUE_COUNT])
{
    size_t n = 0;
    for (uint32_t k = 0; k < GP_ISSUE_COUNT; k++)
        if (issues[k].count) to[n++] = (struct gp_input_issue){path, k, issues[k]};
    return n;
}

#define AT(member) offsetof(struct gp_input_quality, member)

GP_GETTER_OF(get_issues, struct gp_input_quality, in)
{
    struct gp_input_issue *found = gp_arena_zalloc(x->mem, GP_ISSUE_COUNT * sizeof *found);
    c->at = found;
    c->text_len = (uint32_t)gp_input_issues_of(found, in->path, in->issues);
}

static const char *const verdicts[] = {"clean", "repaired", "unusable", NULL};
static const struct gp_field input_fields[] = {
    {"path", "File", GP_CELL_NAME, gp_member_sid, AT(path), .keep = GP_KEEP_STR},
    {"format", "Format", GP_CELL_TEXT, gp_member_sid, AT(format), .keep = GP_KEEP_STR},
    {"compression", "Compression", GP_CELL_TEXT, gp_member_sid, AT(compression), .keep = GP_KEEP_STR},
    {"rank", "Rank", GP_CELL_ID, gp_member_rank, AT(rank), .flags = GP_FIELD_NULL, .keep = GP_KEEP_I32},
    {"events", "Events", GP_CELL_COUNT, gp_member_u64, AT(events), .keep = GP_KEEP_U64,
     .merge = GP_MERGE_SUM},
    {"gpu_events", "GPU events", GP_CELL_COUNT, gp_member_u64, AT(gpu_events), .keep = GP_KEEP_U64,
     .merge = GP_MERGE_SUM},
    {"verdict", "Quality", GP_CELL_TEXT, gp_member_sid, AT(verdict), .words = verdicts},
    {"truncated", NULL, GP_CELL_BOOL, gp_member_bool, AT(truncated), .keep = GP_KEEP_BOOL,
     .merge = GP_MERGE_OR},
    {"events_skipped", NULL, GP_CELL_COUNT, gp_member_u64, AT(skipped), .keep = GP_KEEP_U64,
     .merge = GP_MERGE_SUM},
    {"issues", NULL, GP_CELL_ROWS, get_issues, 0, .rows = &gp_input_issues},
#define X(id, ...)                                                                                           \
    {.at = AT(issues[id].count), .keep = GP_KEEP_U64, .merge = GP_MERGE_SUM},                                \
        {.at = AT(issues[id].first_offset), .keep = GP_KEEP_I64},
    GP_ISSUES(X)
#undef X
        {.at = AT(verdict), .keep = GP_KEEP_STR},
};
#undef AT

const struct gp_record gp_inputs = {"inputs", "Inputs", GP_FIELDS(input_fields),
                                    sizeof(struct gp_input_quality), .note = "what was read"};

static gp_sid take_text(struct gp_strings *strings, const char *s)
{
    return gp_intern_cstr(strings, s ? s : "");
}

void gp_input_quality_read(struct gp_input_quality *in, struct gp_strings *strings, const struct gp_trace *t)
{
    memset(in, 0, sizeof *in);
    in->path = take_text(strings, t->input.path);
    in->format = take_text(strings, t->input.format);
    in->compression = take_text(strings, t->input.compression);
    in->rank = t->rank;
    in->events = t->input.events;
    in->gpu_events = t->events[GP_GPU].n;
}

void gp_input_quality_count_launches(struct gp_trace *t, const struct gp_view *v)
{
    const struct gp_events *gpu = &t->events[GP_GPU], *api = &t->events[GP_API];
    uint64_t none = 0, before = 0;
    for (uint32_t i = 0; i < gpu->n; i++) {
        uint32_t call = gp_view_launch(v, i);
        if (call == UINT32_MAX) none += !gp_view_migrates(t, i);
        else before += gpu->start_ns[i] < api->start_ns[call];
    }
    gp_trace_issue(t, GP_Q_NO_CORRELATION, none, -1);
    gp_trace_issue(t, GP_Q_BEFORE_LAUNCH, before, -1);
}

/* A trace without a rank has the rank that all its devices share. */
static int32_t rank_of_devices(const struct gp_view *v)
{
    int32_t rank = -1;
    for (size_t i = 0; i < v->devices.n; i++) {
        if (rank >= 0 && v->devices.at[i].rank != rank) return -1;
        rank = v->devices.at[i].rank;
    }
    return rank;
}

void gp_input_quality_damage(struct gp_input_quality *in, struct gp_strings *strings,
                             const struct gp_trace *t)
{
    in->verdict = take_text(strings, in->gpu_events ? gp_trace_verdict(t) : "unusable");
    memcpy(in->issues, t->issues, sizeof in->issues);
    in->truncated = gp_trace_truncated(t);
    in->skipped = gp_trace_skipped(t);
}

/* Launches that are missing, or later than their kernels, are not damage: they count as issues but do not
 * affect the verdict. */
void gp_input_quality_judge(struct gp_input_quality *in, struct gp_strings *strings, struct gp_trace *t,
                            const struct gp_view *v)
{
    gp_input_quality_damage(in, strings, t);
    gp_input_quality_count_launches(t, v);
    memcpy(in->issues, t->issues, sizeof in->issues);
    if (in->rank < 0) in->rank = rank_of_devices(v);
}

/* ---- several ---- */

struct gp_input_quality gp_input_quality_copy(const struct gp_input_quality *in, struct gp_strings *to,
                                              const struct gp_strings *from)
{
    struct gp_input_quality out;
    gp_record_copy(&gp_inputs, &out, to, in, from);
    return out;
}

/* ---- lines ---- */

enum { MOST_LINES = 8 };

bool gp_quality_line(struct gp_buf *b, const struct gp_issue issues[GP_ISSUE_COUNT])
{
    bool any = false;
    for (int k = 0; k < GP_ISSUE_COUNT; k++) {
        const struct gp_issue *q = &issues[k];
        bool once = k == GP_Q_TRUNCATED || k == GP_Q_COMPRESSION || k == GP_Q_COUNTERS; /* of an input */
        if (!q->count) continue;
        gp_buf_printf(b, "%s%s", any ? "; " : "", gp_issue_text((enum gp_issue_kind)k));
        any = true;
        if (k != GP_Q_COUNTERS && (q->count > 1 || !once)) gp_buf_printf(b, ": %s", GP_COUNTED(q->count));
        if (q->first_offset >= 0) gp_buf_printf(b, " (first at byte %" PRId64 ")", q->first_offset);
    }
    return any;
}

static bool is_clean(const struct gp_strings *s, const struct gp_input_quality *in, bool damage_only)
{
    if (in->issues[GP_Q_COUNTERS].count) return false;
    if (damage_only && !strcmp(gp_string(s, in->verdict), "clean")) return true;
    for (int k = 0; k < GP_ISSUE_COUNT; k++)
        if (in->issues[k].count) return false;
    return true;
}

void gp_quality_lines(const struct gp_strings *s, const struct gp_input_quality *in, size_t n,
                      bool damage_only, void (*say)(void *ctx, const char *line, bool usable), void *ctx)
{
    struct gp_buf b = {0};
    size_t lines = 0;
    for (size_t i = 0; i < n; i++) {
        if (is_clean(s, &in[i], damage_only) || ++lines > MOST_LINES) continue;
        gp_buf_printf(&b, "%s: ", gp_string(s, in[i].path));
        if (!gp_quality_line(&b, in[i].issues)) gp_buf_puts(&b, gp_string(s, in[i].verdict));
        say(ctx, gp_buf_str(&b), strcmp(gp_string(s, in[i].verdict), "unusable") != 0);
        b.n = 0;
    }
    if (lines > MOST_LINES) {
        gp_buf_printf(&b, "and %zu more inputs like these", lines - MOST_LINES);
        say(ctx, gp_buf_str(&b), true);
    }
    gp_buf_release(&b);
}
