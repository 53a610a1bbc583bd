#include "collect/records/ranges.h"

#include <stdio.h>
#include <string.h>
#include "collect/records/call_stacks.h"
#include "formats/base/buf.h"
#include "formats/base/str.h"
#include "formats/model/trace.h"
#include "formats/model/nvtx_op.h"
#include "formats/redact.h"

enum { MAX_EARLY_STOPS = 4096 };

static gp_sid range_name(struct gp_ranges *g, const struct gp_note *note)
{
    const char *text = gp_note_text(note);
    if (!*note->domain) return gp_records_own_text(g->records, text, strlen(text), gp_redact_name);
    struct gp_buf b = {0};
    gp_buf_puts(&b, note->domain);
    gp_buf_putc(&b, ':');
    gp_buf_puts(&b, text);
    gp_sid sid = gp_records_own_text(g->records, b.data, b.n, gp_redact_name);
    gp_buf_release(&b);
    return sid;
}

/* Those of NCCL name communicators and reductions, which analyses need. */
static gp_sid note_args(struct gp_ranges *g, const struct gp_note *note)
{
    if (!note->args_n) return 0;
    if (!strcmp(note->domain, "NCCL"))
        return gp_intern(&g->records->trace.strings, gp_note_args(note), note->args_n);
    return gp_records_own_text(g->records, gp_note_args(note), note->args_n, gp_redact_args);
}

/* The name and the args of a range that begins with NOTE. */
static void name_range(struct gp_ranges *g, struct gp_open_range *o, const struct gp_note *note)
{
    const char *text = gp_note_text(note);
    struct gp_nvtx_op op;
    o->seq = GP_NO_ID;
    if (*note->domain || !gp_nvtx_op(&op, text, strlen(text))) {
        o->name = range_name(g, note);
        return;
    }
    o->is_op = op.is_op;
    o->seq = op.seq;
    o->name = op.is_op ? gp_trace_intern(&g->records->trace, text, op.name_n)
                       : gp_records_own_text(g->records, text, op.name_n, gp_redact_name);
    if (!op.is_op || !op.sizes) return;
    struct gp_buf b = {0};
    gp_buf_puts(&b, "\"Input Dims\":");
    gp_buf_put(&b, op.sizes, op.sizes_n);
    o->args = gp_trace_intern(&g->records->trace, b.data, b.n);
    gp_buf_release(&b);
}

/* The non-empty parts, each the inside of a JSON object, as one object. */
static gp_sid join_args(struct gp_trace *t, const char *const *parts, size_t n)
{
    struct gp_buf b = {0};
    for (size_t i = 0; i < n; i++) {
        if (!*parts[i]) continue;
        gp_buf_putc(&b, b.n ? ',' : '{');
        gp_buf_puts(&b, parts[i]);
    }
    if (!b.n) return 0;
    gp_buf_putc(&b, '}');
    return gp_intern_buf(&t->strings, &b);
}

/* The digits after KEY in the inside of a JSON object, where they may be in quotes; 0: there are none. */
static size_t digits_of(const char *args, const char *key, const char **digits)
{
    const char *at = strstr(args, key);
    if (!at) return 0;
    at += strlen(key);
    at += *at == '"';
    *digits = at;
    return strspn(at, "0123456789");
}

/* Communicators are made at the beginning, which may not be recorded, or may be discarded (--last): their
 * number of ranks is kept in the metadata. (ncclCommSplit gives the size of the parent.) */
static void keep_communicator(struct gp_ranges *g, const struct gp_open_range *o, gp_sid end_args)
{
    enum { MAX_META = 4096 };
    struct gp_trace *t = &g->records->trace;
    const char *name = gp_string(&t->strings, o->name), *id, *ranks;
    if (!gp_starts(name, "NCCL:nccl") || !strcmp(name, "NCCL:ncclCommSplit") || t->meta.n >= MAX_META) return;
    const char *args = gp_string(&t->strings, o->args ? o->args : end_args);
    size_t id_n = digits_of(args, "\"NCCL communicator ID\":", &id);
    size_t ranks_n = digits_of(args, "\"No. of ranks\":", &ranks);
    char key[64];
    if (!id_n || !ranks_n || id_n > 20 || ranks_n > 9) return;
    snprintf(key, sizeof key, GP_META_NCCL_RANKS "%.*s", (int)id_n, id);
    gp_trace_set_meta(t, key, ranks, ranks_n);
}

/* FLAGS is further information beside its args and those of its END, as the inside of a JSON object. */
static void write_range(struct gp_ranges *g, const struct gp_open_range *o, int64_t end_ns, gp_sid end_args,
                        const char *flags)
{
    struct gp_trace *t = &g->records->trace;
    struct gp_events *e = &t->events[o->is_op ? GP_OP : GP_RANGE];
    int64_t start = o->start_ns, end = end_ns > start ? end_ns : start;
    keep_communicator(g, o, end_args);
    if (g->clip && !g->clip(g->ctx, &start, &end)) return;
    bool cut = start != o->start_ns || (end != end_ns && end_ns > o->start_ns);
    size_t row = gp_events_add(e, start, end - start, o->track, o->name);
    if (o->is_op) gp_set_seq(e, row, o->seq);
    gp_set_stack(e, row, o->stack);
    g->records->stats.ranges++;
    const char *parts[] = {gp_string(&t->strings, o->args), gp_string(&t->strings, end_args), flags,
                           cut ? "\"cut\":true" : ""};
    gp_sid extra = join_args(t, parts, GP_COUNT(parts));
    if (extra) gp_set_extra(e, row, extra);
}

/* The stack that a note carries, 0 none. */
static uint32_t entry_of(const struct gp_ranges *g, int64_t tid, const struct gp_note *note)
{
    const struct gp_call_stacks *s = g->records->stacks;
    return s && note->other ? gp_call_stacks_entry(s, tid, note->other) : 0;
}

/* ---- nodes of graphs ---- */

enum { MAX_PATH = 128 }; /* ranges; of more, which seem never to be popped, only the innermost count */

/* The names of the open ranges of THREAD as one string. */
static gp_sid path_of(struct gp_ranges *g, struct gp_range_thread *thread)
{
    if (thread->path_known) return thread->path;
    struct gp_strings *strings = &g->records->trace.strings;
    struct gp_buf b = {0};
    for (size_t i = thread->open.n > MAX_PATH ? thread->open.n - MAX_PATH : 0; i < thread->open.n; i++) {
        gp_sid name = thread->open.at[i].name;
        const char *text = gp_string(strings, name);
        size_t n = gp_string_len(strings, name);
        if (b.n) gp_buf_putc(&b, GP_CAPTURED_END);
        for (size_t k = 0; k < n; k++) gp_buf_putc(&b, text[k] == GP_CAPTURED_END ? ' ' : text[k]);
    }
    thread->path = gp_intern(strings, b.n ? b.data : "", b.n);
    thread->path_known = true;
    gp_buf_release(&b);
    return thread->path;
}

/* A node that was created and turned out not to be a clone. */
static void keep_created(struct gp_ranges *g, struct gp_range_thread *thread)
{
    if (thread->created) gp_nodes_set(&g->nodes, thread->created, thread->created_in, thread->created_at);
    thread->created = 0;
}

/* CUDA first creates the nodes of an instantiated graph, under the ranges around that, and then reports them
 * as clones: only the ranges of their originals count, which another thread may have captured and whose notes
 * may come later. */
static void note_node(struct gp_ranges *g, int64_t tid, struct gp_range_thread *thread,
                      const struct gp_note *note)
{
    g->nodes.trace = &g->records->trace;
    if (note->op == GP_NOTE_NODE) {
        keep_created(g, thread);
        thread->created = note->id;
        thread->created_in = path_of(g, thread);
        thread->created_at = entry_of(g, tid, note);
    } else {
        if (thread->created == note->id) thread->created = 0;
        keep_created(g, thread);
        gp_nodes_clone(&g->nodes, note->id, note->other);
    }
    gp_records_lose(g->records, "graph nodes", "too many that differ", g->nodes.refused);
    g->nodes.refused = 0;
}

/* ---- ranges ---- */

static void pop_range(struct gp_ranges *g, struct gp_range_thread *thread, const struct gp_note *note)
{
    for (size_t i = thread->open.n; i-- > 0;) {
        struct gp_open_range o = thread->open.at[i];
        if (o.domain != note->domain && strcmp(o.domain, note->domain))
            continue; /* each domain has its own stack */
        memmove(&thread->open.at[i], &thread->open.at[i + 1], (thread->open.n - i - 1) * sizeof o);
        thread->open.n--;
        thread->path_known = false;
        write_range(g, &o, note->time_ns, note_args(g, note), "");
        return;
    }
    g->unmatched++;
}

static const char START_END[] = "\"nvtx\":\"start/end\"";

static void stop_range(struct gp_ranges *g, const struct gp_note *note)
{
    for (size_t i = g->started.n; i-- > 0;) {
        if (g->started.at[i].id != note->id) continue;
        write_range(g, &g->started.at[i], note->time_ns, note_args(g, note), START_END);
        g->started.at[i] = g->started.at[--g->started.n];
        return;
    }
    if (g->stopped.n < MAX_EARLY_STOPS)
        GP_VEC_PUSH(&g->stopped, (struct gp_early_stop){note->id, note->time_ns, note_args(g, note)});
    else g->unmatched++;
}

static void start_range(struct gp_ranges *g, struct gp_open_range *o)
{
    for (size_t i = 0; i < g->stopped.n; i++) {
        if (g->stopped.at[i].id != o->id) continue;
        write_range(g, o, g->stopped.at[i].end_ns, g->stopped.at[i].args, START_END);
        g->stopped.at[i] = g->stopped.at[--g->stopped.n];
        return;
    }
    GP_VEC_PUSH(&g->started, *o);
}

static void write_mark(struct gp_ranges *g, const struct gp_open_range *o, const struct gp_note *note)
{
    int64_t start = o->start_ns, end = start;
    if (g->clip && !g->clip(g->ctx, &start, &end)) return;
    struct gp_trace *t = &g->records->trace;
    struct gp_events *e = &t->events[GP_MARK];
    size_t row = gp_events_add(e, o->start_ns, 0, o->track, range_name(g, note));
    const char *args = gp_string(&t->strings, o->args);
    if (*args) gp_set_extra(e, row, join_args(t, &args, 1));
}

static void note_wait(struct gp_ranges *g, const struct gp_note *note)
{
    struct gp_note_wait wait;
    if (note->args_n != sizeof wait) return;
    memcpy(&wait, gp_note_args(note), sizeof wait);
    gp_records_add_wait(g->records, note->time_ns, &wait);
}

static void note_call(struct gp_ranges *g, int64_t tid, const struct gp_note *note)
{
    struct gp_note_call call;
    if (note->args_n != sizeof call) return;
    memcpy(&call, gp_note_args(note), sizeof call);
    gp_records_add_call(g->records, tid, note->time_ns, &call);
}

void gp_ranges_note(struct gp_ranges *g, int64_t tid, const struct gp_note *note)
{
    if (note->op == GP_NOTE_WAIT || note->op == GP_NOTE_CALL) {
        if (note->op == GP_NOTE_WAIT) note_wait(g, note);
        else note_call(g, tid, note);
        return;
    }
    uint32_t *slot = gp_map_put(&g->threads, (uint64_t)tid, UINT32_MAX);
    if (*slot == UINT32_MAX) {
        *slot = (uint32_t)g->list.n;
        GP_VEC_PUSH(&g->list, (struct gp_range_thread){.track = gp_records_thread(g->records, tid)});
    }
    size_t index = *slot;
    struct gp_range_thread *thread = &g->list.at[index];
    struct gp_open_range o = {
        .domain = note->domain, .start_ns = note->time_ns, .id = note->id, .track = thread->track};
    if (note->op != GP_NOTE_POP && note->op != GP_NOTE_STOP) o.args = note_args(g, note);
    switch (note->op) {
    case GP_NOTE_PUSH:
        name_range(g, &o, note);
        o.stack = entry_of(g, tid, note);
        GP_VEC_PUSH(&thread->open, o);
        thread->path_known = false;
        break;
    case GP_NOTE_POP: pop_range(g, thread, note); break;
    case GP_NOTE_START:
        o.name = range_name(g, note);
        start_range(g, &o);
        break;
    case GP_NOTE_STOP: stop_range(g, note); break;
    case GP_NOTE_MARK: write_mark(g, &o, note); break;
    case GP_NOTE_NODE:
    case GP_NOTE_CLONE: note_node(g, tid, thread, note); break;
    default: break;
    }
}

void gp_ranges_close(struct gp_ranges *g, int64_t end_ns)
{
    for (size_t i = 0; i < g->list.n; i++) keep_created(g, &g->list.at[i]);
    GP_EACH(struct gp_range_thread, thread, g->list)
        while (thread->open.n) write_range(g, &thread->open.at[--thread->open.n], end_ns, 0, "\"open\":true");
    for (size_t i = 0; i < g->started.n; i++)
        write_range(g, &g->started.at[i], end_ns, 0, "\"nvtx\":\"start/end\",\"open\":true");
    g->started.n = 0;
}

void gp_ranges_release(struct gp_ranges *g)
{
    for (size_t i = 0; i < g->list.n; i++) GP_VEC_FREE(&g->list.at[i].open);
    GP_RELEASE(gp_vec_free, &g->list, &g->started, &g->stopped);
    gp_nodes_release(&g->nodes);
    gp_map_release(&g->threads);
}
