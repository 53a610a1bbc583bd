/* The mode of compilation, compiles of frames, and the contents of caches. */
#include <string.h>
#include "analyze/compile/compile_priv.h"
#include "formats/base/buf.h"
#include "formats/base/num.h"
#include "formats/base/str.h"

/* ---- the mode ---- */

/* What the options of the repro script say; tuned templates and recorded graphs say it as well, more
 * weakly. */
static const char *mode_of(const struct gp_clog_process *p, bool recorded)
{
    bool graphs = p->scripts ? p->cudagraphs : recorded, tuned = p->max_autotune || p->templates;
    if (!p->scripts && !p->has_events) return NULL;
    if (p->cudagraphs && p->cudagraphs < p->scripts) return "mixed";
    if (tuned) return graphs ? "max-autotune" : "max-autotune-no-cudagraphs";
    return graphs ? "reduce-overhead" : "default";
}

static bool recorded_graphs(const struct gp_compile *c, uint32_t process)
{
    const struct gp_compile_log *log = c->log;
    for (size_t i = 0; i < log->spans.n; i++)
        if (log->spans.at[i].process == process &&
            gp_starts(gp_clog_str(log, log->spans.at[i].name), "CUDAGraph"))
            return true;
    return false;
}

void gp_compile_find_mode(struct gp_compile *c)
{
    struct gp_compile_log *log = c->log;
    for (uint32_t i = 0; i < log->processes.n; i++) {
        const struct gp_clog_process *p = &log->processes.at[i];
        const char *mode = mode_of(p, recorded_graphs(c, i));
        if (!mode) continue;
        gp_sid sid = gp_intern_cstr(&log->strings, mode);
        if (c->mode && c->mode != sid) sid = gp_intern_cstr(&log->strings, "mixed");
        c->mode = sid;
        c->mode_from = gp_intern_cstr(&log->strings, p->scripts ? "options" : "events");
    }
}

/* ---- frames ---- */

static enum gp_compile_warmth warmth_of(uint32_t hits, uint32_t misses)
{
    if (!hits && !misses) return GP_COMPILE_UNKNOWN;
    if (!hits) return GP_COMPILE_COLD;
    return misses ? GP_COMPILE_PARTLY : GP_COMPILE_WARM;
}

static enum gp_compile_warmth cache_of(const struct gp_compile_log *log, uint32_t process, gp_sid compile_id)
{
    uint32_t count[GP_CLOG_CACHE_STATES] = {0};
    GP_EACH(const struct gp_clog_cache, k, log->caches)
        if (k->layer == GP_CLOG_FX && k->process == process && k->compile_id == compile_id) count[k->state]++;
    return warmth_of(count[GP_CLOG_HIT], count[GP_CLOG_MISS]);
}

static enum gp_compile_outcome outcome_of(const struct gp_clog_metrics *m)
{
    if (m->fail_type)
        return m->has_guarded_code == 1 ? GP_COMPILE_OK : m->name ? GP_COMPILE_FAILED : GP_COMPILE_EAGER;
    return m->graph_ops > 0 ? GP_COMPILE_OK : GP_COMPILE_EMPTY;
}

static void push_frame(struct gp_compile *c, const struct gp_compile_frame *f)
{
    *gp_map_put(&c->of_frame, (uint64_t)f->process << 32 | f->compile_id, 0) = (uint32_t)c->frames.n;
    GP_VEC_PUSH(&c->frames, *f);
}

static void add_frame(struct gp_compile *c, const struct gp_clog_metrics *m)
{
    struct gp_compile_frame f = {.process = m->process,
                                 .compile_id = m->compile_id,
                                 .name = m->name,
                                 .file = m->file,
                                 .line = m->line,
                                 .attempts = m->attempts,
                                 .graph_ops = m->graph_ops,
                                 .guards = m->guards,
                                 .cache_size = m->cache_size,
                                 .fail_kind = m->fail_type,
                                 .calls_per_step = -1};
    f.function = gp_compile_function(c, m->name, &f.resumed_line);
    f.cache = (uint8_t)cache_of(c->log, m->process, m->compile_id);
    f.outcome = (uint8_t)outcome_of(m);
    push_frame(c, &f);
}

/* A frame that was being compiled when the log ended, or that only spans know. */
static void add_unfinished(struct gp_compile *c, const struct gp_clog_span *s)
{
    struct gp_compile_frame f = {.process = s->process,
                                 .compile_id = s->compile_id,
                                 .line = -1,
                                 .attempts = 1,
                                 .resumed_line = -1,
                                 .graph_ops = -1,
                                 .guards = -1,
                                 .cache_size = -1,
                                 .outcome = s->open ? GP_COMPILE_CUT : GP_COMPILE_OK,
                                 .calls_per_step = -1};
    f.cache = (uint8_t)cache_of(c->log, s->process, s->compile_id);
    push_frame(c, &f);
}

/* A compile without metrics has the name of the code that it began with. */
static void name_unfinished(struct gp_compile *c)
{
    GP_EACH(const struct gp_clog_start, s, c->log->starts) {
        struct gp_compile_frame *f = gp_compile_frame_of(c, s->process, s->compile_id);
        if (!f || f->name) continue;
        f->name = s->name;
        f->file = s->file;
        f->line = s->line;
        f->function = gp_compile_function(c, s->name, &f->resumed_line);
    }
}

/* A compile that the limit refused has no name: it is that of the frame's other compiles. */
static void name_refused(struct gp_compile *c)
{
    GP_EACH(struct gp_compile_frame, f, c->frames) {
        const char *id = gp_compile_str(c, f->compile_id), *slash = strrchr(id, '/');
        for (size_t k = 0; !f->name && slash && k < c->frames.n; k++) {
            const struct gp_compile_frame *o = &c->frames.at[k];
            if (o->process != f->process || !o->name ||
                strncmp(gp_compile_str(c, o->compile_id), id, (size_t)(slash - id) + 1) != 0)
                continue;
            f->name = o->name;
            f->function = o->function;
            f->file = o->file;
            f->line = o->line;
            f->resumed_line = o->resumed_line;
        }
    }
}

/* The numbers of a frame's entries are gapless where the log is whole. */
static void count_gaps(struct gp_compile *c)
{
    GP_EACH(const struct gp_compile_frame, f, c->frames) {
        const char *id = gp_compile_str(c, f->compile_id), *slash = strrchr(id, '/');
        if (!slash || !strcmp(slash, "/0")) continue;
        uint64_t v;
        if (!gp_u64_from_text(slash + 1, strlen(slash + 1), &v) || !v) continue;
        gp_sid before = gp_compile_print(c, "%.*s/%llu", (int)(slash - id), id, (unsigned long long)v - 1);
        if (!gp_compile_frame_of(c, f->process, before)) c->gaps++;
    }
}

void gp_compile_find_frames(struct gp_compile *c)
{
    const struct gp_compile_log *log = c->log;
    GP_EACH(const struct gp_clog_metrics, m, log->metrics)
        if (m->kind == GP_CLOG_FRAME && !gp_compile_frame_of(c, m->process, m->compile_id)) add_frame(c, m);
    GP_EACH(const struct gp_clog_span, s, log->spans)
        if (s->compile_id && s->parent == GP_CLOG_NONE && !gp_compile_frame_of(c, s->process, s->compile_id))
            add_unfinished(c, s);
    name_unfinished(c);
    name_refused(c);
    count_gaps(c);
}

/* ---- caches ---- */

void gp_compile_count_caches(struct gp_compile *c)
{
    struct gp_compile_caches *k = &c->caches;
    GP_EACH(const struct gp_clog_cache, one, c->log->caches) {
        k->count[one->layer][one->state]++;
        if (one->saved_ns > 0 && one->layer == GP_CLOG_FX) c->time.saved_ns += one->saved_ns;
        bool seen = !one->reason;
        for (size_t r = 0; r < k->bypass.n; r++) seen |= k->bypass.at[r] == one->reason;
        if (!seen) GP_VEC_PUSH(&k->bypass, one->reason);
    }
    k->warmth = warmth_of(k->count[GP_CLOG_FX][GP_CLOG_HIT], k->count[GP_CLOG_FX][GP_CLOG_MISS]);
}

/* ---- fields ---- */

#define AT(member) offsetof(struct gp_compile_frame, member)

GP_GETTER_OF(get_frame, struct gp_compile_frame, k)
{
    struct gp_buf text = {0};
    gp_buf_printf(&text, "[%s] ", gp_string(x->strings, k->compile_id));
    gp_compile_put_place(&text, x->of, k->file, k->resumed_line >= 0 ? k->resumed_line : k->line,
                         k->function);
    if (k->resumed_line >= 0) gp_buf_puts(&text, ", rest");
    gp_cell_take(c, &text, x);
}

/* Of one process, it is nothing that a person needs. */
GP_GETTER(get_rank)
{
    const struct gp_compile_log *log = gp_compile_of(x)->log;
    c->i = log->processes.at[((const struct gp_compile_frame *)row)->process].rank;
    c->none = c->i < 0 || (x->labels && log->processes.n < 2);
}

GP_GETTER(get_cache) { gp_cell_text(c, gp_compile_warmths[((const struct gp_compile_frame *)row)->cache]); }

GP_GET(get_outcome, struct gp_compile_frame, gp_cell_text(c, gp_compile_outcomes[r->outcome]))

static const struct gp_field frame_fields[] = {
    {"frame", "Compile", GP_CELL_NAME, get_frame, 0,
     .help = "compile id and function; rest: what follows a graph break", .flags = GP_FIELD_TABLES},
    {"share_pct", "Share", GP_CELL_PCT, gp_member_share, AT(total_ns), .help = "of all compile time",
     .flags = GP_FIELD_TABLES, .after = "total_ns"},
    {"compile_id", NULL, GP_CELL_NAME, gp_member_sid, AT(compile_id), .help = "as torch.compile prints it"},
    {"process", NULL, GP_CELL_ID, gp_member_u32, AT(process),
     .help = "by its place among the processes of the logs"},
    {"rank", "Rank", GP_CELL_ID, get_rank, 0, .flags = GP_FIELD_NULL},
    {"name", NULL, GP_CELL_NAME, gp_member_name, AT(name), .flags = GP_FIELD_NULL},
    {"function", NULL, GP_CELL_NAME, gp_member_name, AT(function),
     .help = "name, without the words for the rest of a frame after a break", .flags = GP_FIELD_NULL},
    {"file", NULL, GP_CELL_NAME, gp_compile_get_path, AT(file), .flags = GP_FIELD_NULL},
    {"line", NULL, GP_CELL_ID, gp_member_known_i32, AT(line), .flags = GP_FIELD_NULL},
    {"resumed_line", NULL, GP_CELL_ID, gp_member_known_i32, AT(resumed_line),
     .help = "the frame is what follows a break on that line", .flags = GP_FIELD_NULL},
    {"attempts", NULL, GP_CELL_COUNT, gp_member_known_i32, AT(attempts),
     .help = "1 and how often it began again"},
    {"graph_ops", "Ops", GP_CELL_COUNT, gp_member_known_i64, AT(graph_ops),
     .help = "operators of the graph that was traced", .flags = GP_FIELD_NULL, .after = "share_pct"},
    {"guards", "Guards", GP_CELL_COUNT, gp_member_known_i64, AT(guards),
     .flags = GP_COLUMN_SPARE | GP_FIELD_NULL, .after = "graph_ops"},
    {"cache_size", NULL, GP_CELL_COUNT, gp_member_known_i64, AT(cache_size),
     .help = "entries of the frame before this compile", .flags = GP_FIELD_NULL},
    {"cache", "Cache", GP_CELL_TEXT, get_cache, 0, .words = gp_compile_warmths, .after = "share_pct"},
    {"outcome", "Ended", GP_CELL_TEXT, get_outcome, 0,
     .help = "ok, empty (no graph), failed, eager (refused by the limit), cut (the log ends)",
     .words = gp_compile_outcomes, .after = "guards"},
    {"fail_kind", NULL, GP_CELL_NAME, gp_member_name, AT(fail_kind), .flags = GP_FIELD_NULL},
    {"total_ns", "Time", GP_CELL_NS, gp_member_i64, AT(total_ns), .help = "self times of its spans",
     .flags = GP_FIELD_SIGNED},
    {"classes", NULL, GP_CELL_ROW, gp_member_row, AT(class_ns), .rows = &gp_compile_classes},
    {"calls_per_step", "Calls per step", GP_CELL_REAL, gp_member_known_double, AT(calls_per_step),
     .help = "of the compiled region, by the trace", .flags = GP_COLUMN_WIDE | GP_FIELD_NULL},
};
#undef AT
const struct gp_record gp_compile_frames = {"frames",
                                            "Compiles",
                                            GP_FIELDS(frame_fields),
                                            sizeof(struct gp_compile_frame),
                                            .note = "one compile of one frame: a compile id of a process",
                                            .rest = {{0}, {NULL, "total_ns"}}};

#define STATE(name, state, text)                                                                             \
    {                                                                                                        \
        name, NULL, GP_CELL_COUNT, gp_member_u32, state * sizeof(uint32_t), .help = text                     \
    }
static const struct gp_field state_fields[] = {STATE("misses", GP_CLOG_MISS, "compiled anew"),
                                               STATE("hits", GP_CLOG_HIT, "loaded"),
                                               STATE("bypassed", GP_CLOG_BYPASS, "cannot be cached"),
                                               STATE("disabled", GP_CLOG_DISABLED, "switched off")};
static const struct gp_record cache_states = {"states", NULL, GP_FIELDS(state_fields),
                                              GP_CLOG_CACHE_STATES * sizeof(uint32_t), .note = "look-ups"};

#define COUNTS(layer)                                                                                        \
    offsetof(struct gp_compile_caches, count) + (layer) * sizeof(uint32_t[GP_CLOG_CACHE_STATES])
static const struct gp_field cache_fields[] = {
    {"state", NULL, GP_CELL_TEXT, gp_member_word, offsetof(struct gp_compile_caches, warmth),
     .help = "by the graph cache", .words = gp_compile_warmths},
    {"fx", NULL, GP_CELL_ROW, gp_member_row, COUNTS(GP_CLOG_FX), .rows = &cache_states},
    {"aot", NULL, GP_CELL_ROW, gp_member_row, COUNTS(GP_CLOG_AOT), .rows = &cache_states},
    {"bypass_reasons", NULL, GP_CELL_LIST, gp_member_rows, offsetof(struct gp_compile_caches, bypass),
     .help = "each once", .rows = &gp_each_sid},
};
const struct gp_record gp_compile_cache_counts = {"caches", NULL, GP_FIELDS(cache_fields),
                                                  sizeof(struct gp_compile_caches),
                                                  .note = "look-ups of compiled code"};

/* A string of the first process. */
GP_GETTER(get_version)
{
    const struct gp_compile_log *log = gp_compile_of(x)->log;
    c->none = !log->processes.n;
    if (!c->none) gp_member_name(c, f, log->processes.at, x);
}

GP_GETTER(get_processes) { c->i = (int64_t)gp_compile_of(x)->log->processes.n; }

#define VERSION(name)                                                                                        \
    {                                                                                                        \
#name, NULL, GP_CELL_NAME, get_version, offsetof(struct gp_clog_process, name),                      \
            .flags = GP_FIELD_NULL                                                                           \
    }
#define AT(member) offsetof(struct gp_compile, member)
static const struct gp_field environment_fields[] = {
    VERSION(torch),
    VERSION(cuda),
    VERSION(triton),
    VERSION(python),
    {"mode", NULL, GP_CELL_NAME, gp_member_name, AT(mode),
     .help = "by the options of the log, otherwise by its events; \"mixed\" where functions differ",
     .flags = GP_FIELD_NULL},
    {"mode_from", NULL, GP_CELL_NAME, gp_member_name, AT(mode_from),
     .help = "\"options\", \"events\" or \"trace name\"", .flags = GP_FIELD_NULL},
    {"processes", NULL, GP_CELL_COUNT, get_processes, 0, .help = "that wrote a log"},
    {"cut", NULL, GP_CELL_BOOL, gp_member_bool, AT(cut), .help = "a log ends in the middle of compiling"},
};
#undef AT
const struct gp_record gp_compile_environment = {"environment", NULL, GP_FIELDS(environment_fields),
                                                 sizeof(struct gp_compile),
                                                 .note = "what compiled, in which mode"};
