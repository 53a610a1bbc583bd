/* Graph breaks: the union of all places where the log has them, one row per kind and place. */
#include <stdlib.h>
#include <string.h>
#include "analyze/compile/compile_priv.h"

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

/* What the first source that has something says. Sources come in the order of their files: artifacts know most. */
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
    for (size_t i = 0; i < log->metrics.n; i++) {
        const struct gp_clog_metrics *m = &log->metrics.at[i];
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
