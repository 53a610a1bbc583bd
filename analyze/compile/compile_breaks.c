/* Graph breaks: the union of all places where the log has them, one row per kind and place. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/compile/compile_priv.h"
#include "formats/base/buf.h"

/* ---- fields ---- */

#define AT(member) offsetof(struct gp_compile_break, member)

static const struct gp_break_family_row *family_of(const void *row)
{
    return &gp_break_families[((const struct gp_compile_break *)row)->family];
}

GP_GETTER(get_number) { c->i = (const struct gp_compile_break *)row - gp_compile_of(x)->breaks.at + 1; }

GP_GET_TEXT(get_id, struct gp_compile_break, if (r->number >= 0) gp_buf_printf(&b, "GB%04" PRId32, r->number))

/* People read what we call it; the compiler's words where we have none. */
GP_GETTER_OF(get_family, struct gp_compile_break, b)
{
    const char *name = family_of(b)->name, *title = family_of(b)->title;
    if (b->family == GP_FAMILY_OTHER || b->family == GP_FAMILY_COMPILER)
        title = gp_string(x->strings, b->kind);
    gp_cell_named(c, name, title);
}

GP_GET_TEXT(get_place, struct gp_compile_break,
            gp_compile_put_place(&b, x->of, r->file, r->line, r->function))

GP_GET_TEXT(get_via, struct gp_compile_break,
            if (r->via_file)
                gp_buf_printf(&b, "%s:%" PRId32, gp_compile_short_path(gp_string(x->strings, r->via_file)),
                              r->via_line))

GP_GET_UNLESS(get_via_line, struct gp_compile_break, gp_member_known_i32, !r->via_file)

GP_GET(get_compile_ids, struct gp_compile_break,
       gp_cell_list(c, GP_VEC_FROM(&gp_compile_of(x)->ids, r->first_id), r->n_ids))

GP_GET(get_ranks, struct gp_compile_break,
       gp_cell_list(c, GP_VEC_FROM(&gp_compile_of(x)->ranks, r->first_rank), r->n_ranks))

/* People read it in a few words. */
GP_GETTER_OF(get_action, struct gp_compile_break, b)
{
    struct gp_buf text = {0};
    gp_cell_text(c, family_of(b)->action);
    if (!x->labels) return;
    if (b->caused_by != GP_CLOG_NONE) gp_buf_printf(&text, "fix %" PRIu32 " first", b->caused_by + 1);
    else if (b->recompile != GP_CLOG_NONE) gp_buf_printf(&text, "see recompile %" PRIu32, b->recompile + 1);
    else gp_buf_puts(&text, family_of(b)->brief);
    gp_cell_shown(c, &text, x);
}

GP_GETTER(get_check) { gp_cell_text(c, family_of(row)->check); }

GP_GETTER(get_effort) { gp_cell_text(c, family_of(row)->effort); }

GP_GET(get_rest, struct gp_compile_break, gp_cell_text(c, r->whole_frame ? "eager" : "split"))

static const char *const source_names[] = {"artifact", "metrics", "text", "restart", NULL};

GP_GETTER(get_sources)
{
    const uint32_t bits = ((const struct gp_compile_break *)row)->sources;
    uint32_t *list = gp_arena_alloc(x->mem, GP_COUNT(source_names) * sizeof *list);
    size_t n = 0;
    for (uint32_t i = 0; source_names[i]; i++)
        if (bits >> i & 1) list[n++] = i;
    gp_cell_list(c, list, n);
}

#define X(id, name) name,
static const char *const families[] = {GP_BREAK_FAMILIES(X) NULL};
#undef X
static const char *const efforts[] = {"small", "medium", "large", NULL};
static const struct gp_field rank_field[] = {{.type = GP_CELL_ID, .get = gp_member_rank}};
static const struct gp_record ranks = {.fields = rank_field, .n = 1, .size = sizeof(int32_t)};
static const struct gp_field source_field[] = {
    {.type = GP_CELL_TEXT, .get = gp_member_word, .words = source_names}};
static const struct gp_record sources = {.fields = source_field, .n = 1, .size = sizeof(uint32_t)};
static const struct gp_field break_fields[] = {
    {"number", "#", GP_CELL_ID, get_number, 0, .flags = GP_FIELD_TABLES},
    {"place", "Place", GP_CELL_NAME, get_place, 0, .help = "innermost line of the program",
     .flags = GP_FIELD_TABLES},
    {"id", "Id", GP_CELL_TEXT, get_id, 0, .help = "number in the registry of the compiler",
     .flags = GP_COLUMN_SPARE | GP_FIELD_NULL, .after = "rest"},
    {"family", "Reason", GP_CELL_NAME, get_family, 0, .words = families},
    {"kind", "Kind", GP_CELL_NAME, gp_member_sid, AT(kind), .help = "in the compiler's words",
     .flags = GP_COLUMN_WIDE, .after = "id"},
    {"file", NULL, GP_CELL_NAME, gp_compile_get_path, AT(file), .flags = GP_FIELD_NULL},
    {"line", NULL, GP_CELL_ID, gp_member_known_i32, AT(line), .flags = GP_FIELD_NULL},
    {"function", NULL, GP_CELL_NAME, gp_member_name, AT(function), .flags = GP_FIELD_NULL},
    {"via_file", NULL, GP_CELL_NAME, gp_compile_get_path, AT(via_file),
     .help = "the library that the place calls, where it breaks in there", .flags = GP_FIELD_NULL},
    {"via_line", NULL, GP_CELL_ID, get_via_line, AT(via_line), .flags = GP_FIELD_NULL},
    {"count", "Times", GP_CELL_COUNT, gp_member_u32, AT(count), .help = "compiles that broke there",
     .flags = GP_COLUMN_SPARE},
    {"compile_ids", NULL, GP_CELL_LIST, get_compile_ids, 0, .help = "as many as count", .rows = &gp_each_sid},
    {"ranks", NULL, GP_CELL_LIST, get_ranks, 0, .help = "of the processes that broke there", .rows = &ranks},
    {"action", "Do", GP_CELL_TEXT, get_action, 0, .after = "id"},
    {"via", "Inside", GP_CELL_NAME, get_via, 0, .help = "the line of a library that the place calls",
     .flags = GP_COLUMN_BELOW | GP_FIELD_TABLES | GP_FIELD_NULL, .after = "action"},
    {"check", "Check", GP_CELL_TEXT, get_check, 0, .flags = GP_COLUMN_WIDE, .after = "kind"},
    {"effort", "Effort", GP_CELL_TEXT, get_effort, 0, .flags = GP_COLUMN_WIDE, .words = efforts,
     .after = "kind"},
    {"hint", "Hint of the log", GP_CELL_NAME, gp_member_name, AT(hint),
     .flags = GP_COLUMN_WIDE | GP_FIELD_NULL, .after = "kind"},
    {"explanation", NULL, GP_CELL_NAME, gp_member_name, AT(explanation), .flags = GP_FIELD_NULL},
    {"whole_frame", NULL, GP_CELL_BOOL, gp_member_bool, AT(whole_frame),
     .help = "the function runs without being compiled"},
    {"cost_ns", "Per step", GP_CELL_NS, gp_member_known_i64, AT(cost_ns),
     .help = "GPU idle time at the break, per step of the trace", .flags = GP_FIELD_NULL},
    {"rest", "Rest", GP_CELL_TEXT, get_rest, 0, .help = "what becomes of the function",
     .flags = GP_COLUMN_SPARE | GP_FIELD_TABLES},
    {"caused_by", NULL, GP_CELL_ID, gp_compile_get_index, AT(caused_by),
     .help = "index of the break that this one is the consequence of", .flags = GP_FIELD_NULL},
    {"recompile", NULL, GP_CELL_ID, gp_compile_get_index, AT(recompile),
     .help = "index of the recompile that is the cause", .flags = GP_FIELD_NULL},
    {"sources", NULL, GP_CELL_LIST, get_sources, 0, .help = "where the log has it", .rows = &sources},
    {"new", NULL, GP_CELL_BOOL, gp_member_bool, AT(is_new), .help = "not in the baseline of --against"},
    {"code", "Line", GP_CELL_NAME, gp_member_name, AT(code), .help = "as the log has it; only with --code",
     .flags = GP_COLUMN_WIDE | GP_FIELD_NULL | GP_FIELD_OPTIONAL},
};
#undef AT

#define BREAKS(fields_n)                                                                                     \
    {                                                                                                        \
        "breaks", "Graph breaks", break_fields, fields_n, sizeof(struct gp_compile_break),                   \
            .note = "a place that breaks graphs, once per reason", .rest = {                                 \
                {0},                                                                                         \
                {NULL, "cost_ns"}                                                                            \
            }                                                                                                \
    }
const struct gp_record gp_compile_breaks[2] = {BREAKS(GP_COUNT(break_fields) - 1),
                                               BREAKS(GP_COUNT(break_fields))};

/* ---- finding them ---- */

/* A row of the log, with the row of the result that it belongs to. */
struct member {
    uint32_t group;
    const struct gp_clog_break *b;
};
typedef GP_VEC(struct member) members;

/* The limit's record has no place: it is the function's. */
static struct gp_clog_break placed(struct gp_compile *c, struct gp_clog_break b)
{
    if (b.file && b.function) return b;
    const struct gp_compile_frame *f = gp_compile_frame_of(c, b.process, b.compile_id);
    if (!f) return b;
    if (!b.file) {
        b.file = f->file;
        b.line = f->line;
    }
    if (!b.function) b.function = f->function;
    return b;
}

/* The same place: the function may be known from one source only. */
static bool same(const struct gp_compile_break *k, const struct gp_clog_break *b, bool caused)
{
    bool kind = k->number >= 0 && b->number >= 0 ? k->number == b->number : k->kind == b->kind;
    return kind && k->file == b->file && k->line == b->line && k->via_file == b->via_file &&
           k->via_line == b->via_line && (k->caused_by != GP_CLOG_NONE) == caused &&
           (k->line >= 0 || k->function == b->function);
}

static uint32_t group_of(struct gp_compile *c, const struct gp_clog_break *b)
{
    bool caused = b->caused_by != GP_CLOG_NONE;
    for (uint32_t i = 0; i < c->breaks.n; i++)
        if (same(&c->breaks.at[i], b, caused)) return i;
    struct gp_compile_break k = {.number = b->number,
                                 .kind = b->kind,
                                 .file = b->file,
                                 .line = b->line,
                                 .function = b->function,
                                 .via_file = b->via_file,
                                 .via_line = b->via_line,
                                 .caused_by = b->caused_by,
                                 .cost_ns = -1,
                                 .recompile = GP_CLOG_NONE};
    GP_VEC_PUSH(&c->breaks, k);
    return (uint32_t)c->breaks.n - 1;
}

/* What the first source that has something says. Sources come in the order of their files: artifacts know
 * most. */
static void fill(struct gp_compile_break *k, const struct gp_clog_break *b)
{
    bool better = b->source < (k->sources ? (uint32_t)__builtin_ctz(k->sources) : UINT32_MAX);
    if (better || !k->function) k->function = b->function ? b->function : k->function;
    if (!k->context) k->context = b->context;
    if (!k->explanation) k->explanation = b->explanation;
    if (!k->hint) k->hint = b->hint;
    if (!k->code) k->code = b->code;
    if (k->number < 0) k->number = b->number;
    k->whole_frame |= b->whole_frame;
    k->sources |= 1u << b->source;
}

/* A reason of a new attempt has no place; where an artifact of that compile has the kind, nothing is new. */
static void add_restarts(struct gp_compile *c, members *all, struct gp_clog_break *from, size_t *n_from)
{
    const struct gp_compile_log *log = c->log;
    struct gp_map placed_ids = {0};
    for (size_t i = 0; i < all->n; i++)
        *gp_map_put(&placed_ids, (uint64_t)all->at[i].b->process << 32 | all->at[i].b->compile_id, 0) = 1;
    GP_EACH(const struct gp_clog_metrics, m, log->metrics) {
        for (uint32_t r = 0; r < m->n_restarts; r++) {
            const char *text = gp_clog_str(log, log->restarts.at[m->first_restart + r]),
                       *end = strchr(text, '\n');
            size_t n = end ? (size_t)(end - text) : strlen(text);
            gp_sid kind = n ? gp_compile_print(c, "%.*s", (int)(n < 200 ? n : 200), text) : 0;
            if (!kind || strstr(gp_compile_str(c, kind), "SpeculationLog") ||
                gp_map_get(&placed_ids, (uint64_t)m->process << 32 | m->compile_id))
                continue;
            int32_t line;
            from[*n_from] = (struct gp_clog_break){.process = m->process,
                                                   .source = GP_CLOG_FROM_RESTART,
                                                   .caused_by = GP_CLOG_NONE,
                                                   .number = -1,
                                                   .kind = kind,
                                                   .compile_id = m->compile_id,
                                                   .file = m->file,
                                                   .line = -1,
                                                   .function = gp_compile_function(c, m->name, &line)};
            const struct gp_clog_break *b = &from[(*n_from)++];
            GP_VEC_PUSH(all, (struct member){group_of(c, b), b});
        }
    }
    gp_map_release(&placed_ids);
}

/* SEEN: compiles of this break, as process << 32 | compile id. */
static void add_id(struct gp_compile *c, struct gp_compile_break *k, const struct gp_clog_break *b,
                   struct gp_map *seen)
{
    uint32_t *times = gp_map_put(seen, (uint64_t)b->process << 32 | b->compile_id, 0);
    if ((*times)++) return;
    k->count++;
    GP_VEC_PUSH(&c->ids, b->compile_id);
    k->n_ids++;
}

static void add_rank(struct gp_compile *c, struct gp_compile_break *k, const struct gp_clog_break *b)
{
    int32_t rank = c->log->processes.at[b->process].rank;
    for (uint32_t i = 0; i < k->n_ranks; i++)
        if (c->ranks.at[k->first_rank + i] == rank) return;
    if (rank < 0) return;
    GP_VEC_PUSH(&c->ranks, rank);
    k->n_ranks++;
}

static void fill_groups(struct gp_compile *c, const members *all)
{
    for (uint32_t g = 0; g < c->breaks.n; g++) {
        struct gp_compile_break *k = &c->breaks.at[g];
        k->first_id = (uint32_t)c->ids.n;
        k->first_rank = (uint32_t)c->ranks.n;
        struct gp_map seen = {0};
        for (size_t i = 0; i < all->n; i++) {
            if (all->at[i].group != g) continue;
            fill(k, all->at[i].b);
            add_id(c, k, all->at[i].b, &seen);
            add_rank(c, k, all->at[i].b);
        }
        gp_map_release(&seen);
        k->family =
            k->caused_by != GP_CLOG_NONE &&
                    gp_break_family_of(k->number, gp_compile_str(c, k->kind), "") == GP_FAMILY_OTHER
                ? GP_FAMILY_CAUSED
                : gp_break_family_of(k->number, gp_compile_str(c, k->kind), gp_compile_str(c, k->context));
    }
}

/* Too many recompiles: the guard is the cause. */
static void find_recompile(struct gp_compile *c, struct gp_compile_break *k)
{
    for (uint32_t i = 0; k->family == GP_FAMILY_RECOMPILES && i < c->recompiles.n; i++) {
        struct gp_compile_recompile *r = &c->recompiles.at[i];
        if (r->function != k->function || r->file != k->file) continue;
        if (k->recompile == GP_CLOG_NONE) k->recompile = i;
        r->limit = true;
    }
}

bool gp_compile_in_vain(const struct gp_compile_break *b)
{
    return b->family == GP_FAMILY_COMPILER && b->number < 0 && b->count > 1;
}

void gp_compile_find_breaks(struct gp_compile *c)
{
    struct gp_compile_log *log = c->log;
    members all = {0};
    struct gp_clog_break *from = gp_alloc((log->breaks.n + log->restarts.n + 1) * sizeof *from);
    uint32_t *group = gp_alloc((log->breaks.n + 1) * sizeof *group);
    size_t n = 0;
    for (; n < log->breaks.n; n++) {
        from[n] = placed(c, log->breaks.at[n]);
        if (from[n].caused_by < n) from[n].caused_by = group[from[n].caused_by];
        group[n] = group_of(c, &from[n]);
        GP_VEC_PUSH(&all, (struct member){group[n], &from[n]});
    }
    add_restarts(c, &all, from, &n);
    fill_groups(c, &all);
    for (size_t i = 0; i < c->breaks.n; i++) find_recompile(c, &c->breaks.at[i]);
    GP_VEC_FREE(&all);
    free(from);
    free(group);
}

size_t gp_compile_own_breaks(const struct gp_compile *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->breaks.n; i++) n += c->breaks.at[i].caused_by == GP_CLOG_NONE;
    return n;
}
