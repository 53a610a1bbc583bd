#include "collect/session.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "collect/code_names.h"
#include "collect/records/call_stacks.h"
#include "collect/records/notes.h"
#include "collect/records/pace.h"
#include "collect/records/ranges.h"
#include "collect/records/records.h"
#include "collect/records/salvage.h"
#include "collect/wire/shared.h"
#include "formats/base/err.h"
#include "formats/gpt/gpt_write.h"
#include "formats/base/order.h"

enum {
    BYTES_PER_WRITE =
        16 << 20, /* rows are written after this many bytes of records, which bounds the memory for rows */
    LEAST_SLOTS = 16,
    MAX_NAMES = 1 << 22 /* kinds of names that a process can make us store */
};
/* Clocks of the GPU and the host agree to less than that; nothing can have happened this long after the
 * end. */
static const int64_t SLACK_NS = 10000000;
/* Processor time of a thread: 13 days. Eight thousand processes of it can be added up. */
static const int64_t CPU_MOST_NS = INT64_C(1) << 50;
static const int64_t LAUNCH_MOST_NS = 1000000000;

struct gp_session {
    struct gp_session_opts opts;
    struct gp_shared_opts shape;
    struct gp_shared shared;
    int fd;
    bool begun; /* it has sent something: the rest is set up */
    struct gp_strings texts;
    struct gp_map names[GP_NAME_DRIVER + 1]; /* key -> text, by kind */
    struct gp_records records;
    struct gp_notes notes;
    struct gp_ranges ranges;
    struct gp_call_stacks stacks;
    struct gp_code_names code_names;
    struct gp_measured measured;
    struct gp_capture windows; /* only its windows */
    struct gp_pace_markers pace;
    int64_t entered_ns; /* when CUPTI came into the process; INT64_MAX: it has not */
    struct gp_gpt_writer *writer;
    int64_t tick_ns;              /* when the last flush began */
    size_t bytes;                 /* of records, since rows were written */
    struct gp_wire_stats nothing; /* if it has not begun */
    struct gp_cuts cuts;
    struct gp_wire_cut_done answer;
    bool answers;
};

/* ---- names ---- */

static const char *find_name(const struct gp_session *s, enum gp_name_kind kind, uint64_t key)
{
    const uint32_t *sid = gp_map_get(&s->names[kind], key);
    return sid ? gp_string(&s->texts, *sid) : NULL;
}

static const char *text_at(void *ctx, uint64_t address) { return find_name(ctx, GP_NAME_TEXT, address); }

static const char *call_name(void *ctx, bool driver, uint32_t cbid)
{
    return find_name(ctx, driver ? GP_NAME_DRIVER : GP_NAME_RUNTIME, cbid);
}

/* A thread without a known name most likely had the default name, that of the process. */
static void thread_name(void *ctx, int64_t tid, char *name, size_t size)
{
    const struct gp_session *s = ctx;
    const char *text = find_name(s, GP_NAME_THREAD, (uint64_t)tid);
    if (!text) text = find_name(s, GP_NAME_THREAD, (uint64_t)s->opts.pid);
    size_t n = text ? strnlen(text, size - 1) : 0;
    if (n) memcpy(name, text, n);
    name[n] = 0;
}

static bool read_name(struct gp_session *s, uint64_t until)
{
    struct gp_name name;
    if (!gp_shared_read_log(&s->shared, until, &name)) return false;
    if (name.kind <= GP_NAME_DRIVER && s->names[name.kind].n < MAX_NAMES)
        *gp_map_put(&s->names[name.kind], name.key, 0) = gp_intern(&s->texts, name.text, name.n);
    return true;
}

/* Only up to UNTIL: later names may belong to other things at the same address. */
static void read_log(struct gp_session *s, uint64_t until)
{
    while (read_name(s, until)) continue;
}

/* ---- writing ---- */

static void write_rows(struct gp_session *s, bool all)
{
    gp_records_commit(&s->records, all);
    if (s->opts.on_events) s->opts.on_events(s->opts.ctx, s->opts.producer, s->opts.rank, &s->records.trace);
    gp_gpt_flush(s->writer, &s->records.trace); /* our sink never stops */
    gp_cuts_put(&s->cuts, &s->records.trace);
    gp_trace_clear_events(&s->records.trace);
    s->bytes = 0;
}

static bool clip(void *ctx, int64_t *start_ns, int64_t *end_ns)
{
    const struct gp_session *s = ctx;
    return gp_capture_clip(&s->windows, start_ns, end_ns);
}

/* Where nothing is recorded, the beginnings of ranges and marks tell how fast the program is. */
static void note_pace(struct gp_session *s, int64_t tid, const struct gp_note *note)
{
    int64_t start_ns = note->time_ns, end_ns = start_ns;
    bool begins = note->op == GP_NOTE_PUSH || note->op == GP_NOTE_START || note->op == GP_NOTE_MARK;
    if (begins && !gp_capture_clip(&s->windows, &start_ns, &end_ns))
        gp_pace_begins(&s->pace, tid, gp_note_text(note), note->time_ns,
                       gp_capture_before(&s->windows, note->time_ns));
}

static void put_pace(struct gp_session *s)
{
    gp_pace_put(&s->pace, &s->records.trace, s->records.process, s->entered_ns);
}

bool gp_session_has_pace(const struct gp_session *s) { return gp_pace_settled(&s->pace); }

bool gp_session_records(const struct gp_session *s) { return s->windows.windows.n; }

static uint32_t track_of_thread(void *ctx, int64_t tid)
{
    struct gp_session *s = ctx;
    return gp_records_thread(&s->records, tid);
}

static void measured_launch(void *ctx, uint32_t corr, int64_t start_ns, int64_t end_ns)
{
    struct gp_session *s = ctx;
    gp_records_measured(&s->records, corr, start_ns, end_ns);
}

/* Its first frame: by now its own name is in the log, after those of calls. */
static void begin(struct gp_session *s)
{
    if (s->begun) return;
    s->begun = true;
    while (!find_name(s, GP_NAME_THREAD, (uint64_t)s->opts.pid) && read_name(s, UINT64_MAX)) continue;
    struct gp_records_opts r = {.pid = s->opts.pid,
                                .rank = s->opts.rank,
                                .api = (enum gp_api_level)s->opts.api,
                                .memory = s->opts.memory,
                                .measured = s->opts.measured,
                                .kernel = s->opts.kernel,
                                .redact = s->opts.redact,
                                .text = text_at,
                                .call_name = call_name,
                                .thread_name = thread_name,
                                .ctx = s};
    struct gp_gpt_write_opts w = {.producer = s->opts.producer};
    gp_records_init(&s->records, &r);
    s->records.trace.rank = s->opts.rank;
    s->stacks.records = &s->records;
    s->records.stacks = &s->stacks;
    s->ranges.records = &s->records;
    s->ranges.clip = clip;
    s->ranges.ctx = s;
    s->measured = (struct gp_measured){
        .trace = &s->records.trace, .thread = track_of_thread, .launch = measured_launch, .ctx = s};
    s->writer = gp_gpt_writer_new(&w, s->opts.on_block, s->opts.ctx);
    s->entered_ns = INT64_MAX;
    s->cuts.beside = s->opts.beside;
    s->cuts.ctx = s->opts.ctx;
}

/* ---- buffers ---- */

static size_t record_bytes(void *ctx, uint32_t kind)
{
    const struct gp_session *s = ctx;
    return gp_shared_record_bytes(&s->shared, kind);
}

static void take_record(void *ctx, const void *record)
{
    struct gp_session *s = ctx;
    gp_records_add(&s->records, record);
}

static size_t valid_bytes(const struct gp_session *s, const struct gp_slot *slot)
{
    return slot->valid < s->opts.buffer_bytes ? slot->valid : s->opts.buffer_bytes;
}

static void note_bytes(struct gp_session *s, size_t n)
{
    s->bytes += n;
    if (s->bytes >= BYTES_PER_WRITE) write_rows(s, false);
}

/* Read a slot that the process has filled, and give it back. */
static uint64_t read_slot(struct gp_session *s, size_t i)
{
    struct gp_slot *slot = gp_shared_slot(&s->shared, i);
    struct gp_salvage reader = {.bytes = record_bytes, .take = take_record, .ctx = s};
    size_t valid = valid_bytes(s, slot);
    read_log(s, slot->names);
    gp_salvage_returned(&reader, gp_shared_buffer(&s->shared, i), valid, slot->records);
    gp_shared_clear(&s->shared, i, valid);
    atomic_store_explicit(&slot->state, GP_SLOT_DONE, memory_order_release);
    note_bytes(s, valid);
    return reader.taken;
}

static uint32_t slot_state(const struct gp_session *s, size_t i)
{
    return atomic_load_explicit(&gp_shared_slot(&s->shared, i)->state, memory_order_acquire);
}

static bool take_filled(struct gp_session *s, const struct gp_wire_filled *f)
{
    if (f->slot >= s->shape.slots || slot_state(s, f->slot) != GP_SLOT_FILLED) return false;
    read_slot(s, f->slot);
    return true;
}

/* ---- when it ends ---- */

struct left {
    uint64_t seq;
    uint32_t slot, state;
};

GP_COMPARE(by_seq, struct left, GP_UP(seq) GP_UP(slot))

/* Slots that do not belong to the process, those with CUPTI last, in the order in which they were filled. */
static size_t find_left(const struct gp_session *s, struct left *left)
{
    size_t n = 0;
    for (uint32_t i = 0; i < s->shape.slots; i++) {
        uint32_t state = slot_state(s, i);
        if (state != GP_SLOT_OUT && state != GP_SLOT_RETURNED && state != GP_SLOT_FILLED) continue;
        uint64_t seq = state == GP_SLOT_OUT ? UINT64_MAX : gp_shared_slot(&s->shared, i)->seq;
        left[n++] = (struct left){seq, i, state};
    }
    qsort(left, n, sizeof *left, by_seq);
    return n;
}

/* The notes that it was writing when it ended. */
static void salvage_slot(struct gp_session *s, struct gp_salvage *from, const struct left *left)
{
    struct gp_slot *slot = gp_shared_slot(&s->shared, left->slot);
    size_t n = left->state == GP_SLOT_RETURNED ? valid_bytes(s, slot) : s->opts.buffer_bytes;
    gp_salvage_buffer(from, gp_shared_buffer(&s->shared, left->slot), n);
    /* so that nothing is used twice */
    atomic_store_explicit(&slot->state, GP_SLOT_DONE, memory_order_release);
    note_bytes(s, n);
}

/* What it wrote until LATEST_NS of its clock; UNENDED: the reason for leaving out what was not finished. */
static void salvage(struct gp_session *s, bool all, int64_t latest_ns, const char *unended)
{
    struct gp_salvage from = {
        .bytes = record_bytes, .take = take_record, .ctx = s, .pid = (uint32_t)s->opts.pid};
    int64_t earliest_ns = gp_shared_earliest(&s->shared);
    if (earliest_ns > SLACK_NS) {
        from.earliest_ns = earliest_ns - SLACK_NS;
        from.latest_ns = latest_ns;
    }
    struct left *left = gp_alloc(s->shape.slots * sizeof *left);
    size_t n = find_left(s, left);
    uint64_t handed_over = 0;
    for (size_t i = 0; i < n; i++) {
        if (left[i].state == GP_SLOT_FILLED) {
            handed_over += read_slot(s, left[i].slot);
        } else if (all) {
            read_log(s, UINT64_MAX);
            salvage_slot(s, &from, &left[i]);
        }
    }
    free(left);
    s->records.stats.salvaged += handed_over + from.taken;
    gp_records_lose(&s->records, "GPU events", unended, from.unfinished);
    gp_records_lose(&s->records, "records", "torn when the process ended", from.refused);
    s->records.stats.dropped += from.unfinished + from.refused;
}

void gp_session_end(struct gp_session *s, enum gp_session_end how, int64_t now_ns)
{
    if (how == GP_END_BYE || !s->shared.map) return;
    if (!s->begun && !gp_shared_logged(&s->shared)) return; /* it never got so far */
    begin(s);
    int64_t latest_ns; /* in a time namespace its clock differs from ours, but runs at the same rate */
    if (__builtin_add_overflow(gp_shared_earliest(&s->shared), now_ns - s->opts.now_ns + SLACK_NS,
                               &latest_ns))
        latest_ns = INT64_MAX; /* the traced program wrote it */
    salvage(s, how == GP_END_CUT, latest_ns, "had not ended when the process did");
    gp_ranges_close(&s->ranges, s->records.latest_ns);
    gp_code_names_find(&s->code_names, &s->stacks);
    put_pace(s);
    write_rows(s, true);
    gp_cuts_finish(&s->cuts, &s->records.trace);
}

/* ---- frames ---- */

static void mark(struct gp_session *s, const char *name, int64_t ns)
{
    struct gp_trace *t = &s->records.trace;
    gp_events_add(&t->events[GP_MARK], ns, 0, gp_records_thread(&s->records, s->opts.pid),
                  gp_intern_cstr(&t->strings, name));
}

static bool take_fact(struct gp_session *s, struct gp_wire_fact *f)
{
    f->key[sizeof f->key - 1] = 0;
    if (!strcmp(f->key, "attached_ns") && gp_time_fits(f->value))
        mark(s, "attached: " GP_SESSION_UNKNOWN, f->value);
    if (!strcmp(f->key, "cupti_version")) s->records.opts.cupti = (uint32_t)f->value;
    if (!strcmp(f->key, "recorder_entered_ns")) s->entered_ns = f->value;
    if (!strcmp(f->key, "recorder_left_ns")) { /* its numbers of calls begin anew */
        write_rows(s, true);
        gp_call_stacks_forget(&s->stacks);
    }
    gp_trace_set_number(&s->records.trace, f->key, f->value);
    return true;
}

/* Every number of a device is stored once, so there are at most so many. */
static bool take_device(struct gp_session *s, struct gp_wire_device *w)
{
    enum { MAX_DEVICES = 1024 };
    struct gp_device d = gp_device_unknown();
    if (w->id < 0 || w->id >= MAX_DEVICES || w->memory_bytes < 0 || w->memory_bandwidth_bps < 0) return false;
    w->name[sizeof w->name - 1] = 0;
#define X(number) d.number = w->number;
    GP_WIRE_DEVICE_NUMBERS(X)
#undef X
    d.name = gp_intern_cstr(&s->records.trace.strings, w->name);
    gp_records_add_device(&s->records, &d);
    return true;
}

static bool take_tick(struct gp_session *s, const struct gp_wire_tick *t)
{
    if (t->now_ns < 0 || !gp_time_fits(t->now_ns)) return false;
    gp_records_tick(&s->records, t->now_ns);
    s->tick_ns = t->now_ns;
    struct gp_clock c = {t->now_ns, t->realtime_ns, 0};
    if (t->realtime_ns) GP_VEC_PUSH(&s->records.trace.clocks, c);
    return true;
}

void gp_session_mark(struct gp_session *s, const char *name, int64_t ns)
{
    if (!s->begun) return;
    mark(s, name, ns);
    write_rows(s, false);
}

static bool take_window(struct gp_session *s, const struct gp_wire_window *w)
{
    struct gp_capture *g = &s->windows;
    bool sound = (w->start_ns == INT64_MIN || gp_time_fits(w->start_ns)) &&
                 (w->end_ns == INT64_MAX || gp_time_fits(w->end_ns)) && w->end_ns >= w->start_ns;
    if (!sound || w->index > g->windows.n || w->index + 1 < g->windows.n) return false;
    if (w->index == g->windows.n) {
        int64_t before_ns = w->index ? g->windows.at[w->index - 1].end_ns : INT64_MIN; /* the largest: open */
        if (before_ns == INT64_MAX || w->start_ns < before_ns) return false;
        GP_VEC_PUSH(&g->windows, (struct gp_window){w->start_ns, INT64_MAX});
        if (w->start_ns != INT64_MIN) mark(s, "recording starts", w->start_ns);
        if (w->index) put_pace(s);
    }
    struct gp_window *last = &g->windows.at[w->index];
    if (last->end_ns != INT64_MAX || w->start_ns != last->start_ns) return false;
    last->end_ns = w->end_ns;
    if (w->end_ns != INT64_MAX) mark(s, "recording stops", w->end_ns);
    return true;
}

static bool take_notes(struct gp_session *s, const void *data, size_t n)
{
    const struct gp_note *note;
    int64_t tid;
    gp_notes_set(&s->notes, data, n);
    while ((note = gp_notes_next(&s->notes, &tid))) {
        if (!gp_call_stacks_note(&s->stacks, tid, note)) {
            gp_ranges_note(&s->ranges, tid, note);
            note_pace(s, tid, note);
            if (s->opts.on_note) s->opts.on_note(s->opts.ctx, s->opts.producer, tid, note);
        }
        if (note->time_ns > s->records.latest_ns) s->records.latest_ns = note->time_ns;
    }
    return !s->notes.bad;
}

static bool take_loss(struct gp_session *s, struct gp_wire_loss *l)
{
    l->what[sizeof l->what - 1] = l->why[sizeof l->why - 1] = 0;
    gp_records_lose(&s->records, l->what, l->why, l->count);
    *(strcmp(l->what, GP_LOSS_STACKS) ? &s->records.stats.dropped : &s->records.stats.stacks) += l->count;
    return true;
}

/* One row for new losses, and the metadata, which every row after it replaces. */
static bool take_budget(struct gp_session *s, const struct gp_wire_budget *w)
{
    static const struct {
        const char *key, *mark;
    } parts[GP_BUDGET_PARTS] = {
        {"memory", "allocations are left out from here on (--budget)"},
        {"events", "waits and events are left out from here on (--budget)"},
        {"calls", "API calls are left out from here on (--budget)"},
        {"windows", "recorded in windows from here on (--budget)"},
    };
    struct gp_wire_stats *stats = &s->records.stats;
    if (w->left_out >> GP_BUDGET_PARTS || w->launch_ns < 0 || w->launch_ns > LAUNCH_MOST_NS || w->at_ns < 0 ||
        !gp_time_fits(w->at_ns))
        return false;
    struct gp_buf json = {0};
    for (unsigned i = 0; i < GP_BUDGET_PARTS; i++) {
        if (!(w->left_out >> i & 1)) continue;
        gp_buf_printf(&json, "%s\"%s\"", json.n ? "," : "[", parts[i].key);
        if (stats->left_out & 1u << i) continue;
        if (!stats->left_out_ns[i]) stats->left_out_ns[i] = w->at_ns;
        mark(s, parts[i].mark, w->at_ns);
    }
    gp_buf_puts(&json, json.n ? "]" : "[]");
    gp_trace_set_meta(&s->records.trace, "budget_left_out", json.data, json.n);
    gp_buf_release(&json);
    stats->left_out = w->left_out;
    stats->share_ppm = w->share_ppm;
    stats->launch_ns = w->measured ? w->launch_ns : 0;
    gp_trace_set_number(&s->records.trace, "budget_cost_ppm", w->share_ppm);
    if (w->stays_ppm) gp_trace_set_number(&s->records.trace, "budget_stays_ppm", w->stays_ppm);
    if (w->measured) gp_trace_set_number(&s->records.trace, "budget_launch_ns", w->launch_ns);
    return true;
}

static bool take_graphs(struct gp_session *s, const struct gp_wire_graphs *g)
{
    if (!gp_time_fits(g->at_ns)) return false;
    gp_records_whole_graphs(&s->records, g->at_ns);
    return true;
}

static bool take_bye(struct gp_session *s, const struct gp_wire_bye *b)
{
    if (!gp_time_fits(b->end_ns)) return false;
    salvage(s, true, b->end_ns, "had not ended when the recording did"); /* buffers that CUPTI has kept */
    gp_code_names_find(&s->code_names, &s->stacks);
    gp_ranges_close(&s->ranges, b->end_ns);
    put_pace(s);
    write_rows(s, true);
    gp_cuts_finish(&s->cuts, &s->records.trace);
    gp_gpt_end(s->writer, &s->records.trace);
    return true;
}

/* What came before is written without the cut, or with it. */
static bool take_cut(struct gp_session *s, const struct gp_wire_cut *c)
{
    if (c->end_ns && !gp_cuts_until(&s->cuts, c)) return false;
    if (c->end_ns) {
        gp_code_names_find(&s->code_names, &s->stacks);
        put_pace(s);
    }
    write_rows(s, c->end_ns != 0);
    if (!c->end_ns) return gp_cuts_begin(&s->cuts, c, s->opts.producer);
    gp_cuts_end(&s->cuts, c->id, &s->records.trace, &s->answer);
    return s->answers = true;
}

bool gp_session_answer(struct gp_session *s, struct gp_wire_cut_done *answer)
{
    bool any = s->answers;
    s->answers = false;
    if (any) *answer = s->answer;
    return any;
}

/* The payload, which may be unaligned, as its struct. */
#define FRAME(type, fn)                                                                                      \
    do {                                                                                                     \
        struct type frame_;                                                                                  \
        if (n != sizeof frame_) return false;                                                                \
        memcpy(&frame_, payload, sizeof frame_);                                                             \
        return fn(s, &frame_);                                                                               \
    } while (0)

static bool take_write(struct gp_session *s, const struct gp_wire_write *w)
{
    if (w->cpu_ns >= 0 && w->cpu_ns <= CPU_MOST_NS) s->records.stats.cpu_ns = w->cpu_ns;
    if (s->opts.on_reach) s->opts.on_reach(s->opts.ctx, s->opts.producer, s->tick_ns);
    write_rows(s, false);
    return true;
}

bool gp_session_take(struct gp_session *s, uint32_t type, const void *payload, size_t n)
{
    if (!n && type == GP_WIRE_BYE) return true; /* it has never begun */
    begin(s);
    read_log(s, s->shared.log_read); /* shows the process how far it was read */
    switch (type) {
    case GP_WIRE_FACT: FRAME(gp_wire_fact, take_fact);
    case GP_WIRE_DEVICE: FRAME(gp_wire_device, take_device);
    case GP_WIRE_TICK: FRAME(gp_wire_tick, take_tick);
    case GP_WIRE_FILLED: FRAME(gp_wire_filled, take_filled);
    case GP_WIRE_GRAPHS: FRAME(gp_wire_graphs, take_graphs);
    case GP_WIRE_BUDGET: FRAME(gp_wire_budget, take_budget);
    case GP_WIRE_WINDOW: FRAME(gp_wire_window, take_window);
    case GP_WIRE_METRIC_SET: return gp_measured_take_set(&s->measured, payload, n);
    case GP_WIRE_METRIC_ROWS: return gp_measured_take_rows(&s->measured, payload, n);
    case GP_WIRE_PC_ROWS: return gp_records_add_pc(&s->records, payload, n);
    case GP_WIRE_NOTES: return take_notes(s, payload, n);
    case GP_WIRE_LOSS: FRAME(gp_wire_loss, take_loss);
    case GP_WIRE_WRITE: FRAME(gp_wire_write, take_write);
    case GP_WIRE_CUT: FRAME(gp_wire_cut, take_cut);
    case GP_WIRE_BYE: FRAME(gp_wire_bye, take_bye);
    default: return false;
    }
}

/* ---- life ---- */

/* Create and map the memory, with fewer slots if limits on addresses or file sizes require it. */
static bool get_memory(struct gp_session *s, struct gp_err *err)
{
    for (s->shape = gp_shared_size(s->opts.buffer_bytes); s->shape.slots >= LEAST_SLOTS;
         s->shape.slots /= 2) {
        if (s->opts.room_mb && gp_shared_bytes(&s->shape) > (uint64_t)s->opts.room_mb << 20) continue;
        s->fd = gp_shared_make(&s->shape, err);
        if (s->fd >= 0 && gp_shared_map(&s->shared, s->fd, &s->shape)) return true;
        if (s->fd >= 0) close(s->fd);
    }
    return !gp_fail(err, GP_E_IO, -1, "cannot create the memory shared with a process");
}

struct gp_session *gp_session_new(const struct gp_session_opts *opts, struct gp_err *err)
{
    struct gp_session *s = gp_zalloc(sizeof *s);
    s->opts = *opts;
    if (get_memory(s, err)) return s;
    free(s);
    return NULL;
}

uint32_t gp_session_slots(const struct gp_session *s) { return s->shape.slots; }

int gp_session_fd(const struct gp_session *s) { return s->fd; }

void gp_session_sent(struct gp_session *s)
{
    close(s->fd);
    s->fd = -1;
}

const struct gp_wire_stats *gp_session_stats(const struct gp_session *s)
{
    return s->begun ? &s->records.stats : &s->nothing;
}

void gp_session_free(struct gp_session *s)
{
    if (!s) return;
    if (s->fd >= 0) close(s->fd);
    gp_shared_unmap(&s->shared);
    gp_cuts_release(&s->cuts);
    if (s->begun) {
        gp_gpt_writer_free(s->writer);
        gp_ranges_release(&s->ranges);
        gp_pace_release(&s->pace);
        gp_call_stacks_release(&s->stacks);
        gp_code_names_release(&s->code_names);
        gp_records_release(&s->records);
    }
    gp_measured_release(&s->measured);
    gp_notes_release(&s->notes);
    GP_VEC_FREE(&s->windows.windows);
    gp_strings_release(&s->texts);
    for (size_t i = 0; i < sizeof s->names / sizeof *s->names; i++) gp_map_release(&s->names[i]);
    free(s);
}
