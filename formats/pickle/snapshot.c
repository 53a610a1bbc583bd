
#include <stdlib.h>
#include <string.h>
#include "formats/base/err.h"
#include "formats/base/str.h"
#include "formats/pickle/snapshot_priv.h"
#include "formats/base/order.h"

enum { STACK_MOST = 1 << 16 };

/* ---- kinds of dicts ---- */

static bool is_number(const struct gp_builder *b, const struct gp_pickle_value *v)
{
    return v->kind == GP_PICKLE_TEXT && *gp_string(&b->s->strings, (gp_sid)v->u) >= '0' &&
           *gp_string(&b->s->strings, (gp_sid)v->u) <= '9';
}

/* By its keys. */
static uint32_t kind_of(const struct gp_builder *b, const struct gp_pickle_value *pairs, size_t n)
{
    uint64_t has = 0;
    if (gp_key_of(pairs) == GP_KEY_ACTION) return GP_KIND_ROW;
    for (size_t i = 0; i < n; i++) has |= (uint64_t)1 << gp_key_of(pairs + 2 * i);
#define HAS(key) (has >> GP_KEY_##key & 1)
    if (HAS(ACTION)) return GP_KIND_ROW;
    if (HAS(FILENAME)) return GP_KIND_FRAME;
    if (HAS(STATE)) return GP_KIND_BLOCK;
    if (HAS(TOTAL_SIZE)) return GP_KIND_SEGMENT;
    if (HAS(STAGE)) return GP_KIND_MARK;
    if (HAS(SEGMENTS) || HAS(DEVICE_TRACES)) return GP_KIND_TOP;
    if (HAS(MAX_SPLIT_SIZE) || HAS(EXPANDABLE_SEGMENTS)) return GP_KIND_SETTINGS;
#undef HAS
    return is_number(b, pairs) ? GP_KIND_ROUNDUPS : GP_PICKLE_DICT;
}

/* A new element of the table of KIND; SIZE_MAX for a frame, which is added when it is complete. */
static size_t new_element(struct gp_builder *b, uint32_t kind)
{
    struct gp_snapshot *s = b->s;
    switch (kind) {
    case GP_KIND_ROW: return gp_snapshot_add_row(&s->rows);
    case GP_KIND_SEGMENT:
        GP_VEC_PUSH(&s->segments, (struct gp_snapshot_segment){.device = 0});
        return s->segments.n - 1;
    case GP_KIND_BLOCK:
        GP_VEC_PUSH(&s->blocks, (struct gp_snapshot_block){.address = 0});
        return s->blocks.n - 1;
    case GP_KIND_MARK: GP_VEC_PUSH(&s->marks, (struct gp_snapshot_mark){.time_ns = 0}); return s->marks.n - 1;
    case GP_KIND_FRAME: return SIZE_MAX;
    default: b->tops += kind == GP_KIND_TOP; return 0;
    }
}

static void put_pairs(void *ctx, struct gp_pickle_value *self, const struct gp_pickle_value *pairs, size_t n,
                      uint64_t offset)
{
    struct gp_builder *b = ctx;
    size_t index = (size_t)self->u;
    if (self->kind == GP_PICKLE_DICT) {
        self->kind = kind_of(b, pairs, n);
        if (self->kind == GP_PICKLE_DICT) return;
        index = new_element(b, self->kind);
    }
    switch (self->kind) {
    case GP_KIND_ROW: gp_fields_row(b, index, pairs, n, offset); break;
    case GP_KIND_FRAME: index = gp_fields_frame(b, index, pairs, n); break;
    case GP_KIND_SEGMENT: gp_fields_segment(b, index, pairs, n, offset); break;
    case GP_KIND_BLOCK: gp_fields_block(b, index, pairs, n, offset); break;
    case GP_KIND_MARK: gp_fields_mark(b, index, pairs, n, offset); break;
    case GP_KIND_SETTINGS: gp_fields_settings(b, pairs, n); break;
    case GP_KIND_ROUNDUPS: gp_fields_roundups(b, pairs, n); break;
    default: gp_fields_top(b, pairs, n);
    }
    self->u = index;
}

/* ---- kinds of lists ---- */

static uint32_t kind_of_list(uint32_t first)
{
    switch (first) {
    case GP_KIND_FRAME: return GP_KIND_STACK;
    case GP_KIND_ROW: return GP_KIND_ROWS;
    case GP_KIND_SEGMENT: return GP_KIND_SEGMENTS;
    case GP_KIND_BLOCK: return GP_KIND_BLOCKS;
    case GP_KIND_MARK: return GP_KIND_MARKS;
    case GP_KIND_ROWS:
    case GP_PICKLE_LIST: return GP_KIND_TRACES;
    default: return GP_PICKLE_LIST;
    }
}

static void put_frames(struct gp_builder *b, struct gp_pickle_value *self,
                       const struct gp_pickle_value *items, size_t n, uint64_t offset)
{
    struct gp_snapshot *s = b->s;
    uint32_t few[64], *frames = few;
    struct gp_snapshot_stack old = s->stacks.at[self->u];
    if (n + old.n > STACK_MOST) {
        gp_builder_issue(b, GP_Q_LIMIT, offset);
        return;
    }
    if (n + old.n > sizeof few / sizeof *few) frames = gp_alloc((n + old.n) * sizeof *frames);
    size_t k = old.n;
    if (k) memcpy(frames, s->stack_frames.at + old.first, k * sizeof *frames);
    for (size_t i = 0; i < n; i++) {
        if (items[i].kind == GP_KIND_FRAME) frames[k++] = (uint32_t)items[i].u;
        else gp_builder_issue(b, GP_Q_BAD_VALUE, offset);
    }
    self->u = gp_snapshot_stack(b->s, &b->stack_ids, frames, k);
    if (frames != few) free(frames);
}

/* The trace of one device, which may be empty: its number is its place. */
static size_t add_trace(struct gp_builder *b, const struct gp_pickle_value *item)
{
    struct gp_snapshot_trace t = {0, 0, -1};
    if (item->kind == GP_KIND_ROWS) {
        t.first = b->runs.at[item->u].first;
        t.n = b->runs.at[item->u].n;
    }
    GP_VEC_PUSH(&b->s->traces, t);
    return b->s->traces.n - 1;
}

/* Items of a list lie together, as they were written. Others are left out. */
static void put_elements(struct gp_builder *b, struct gp_pickle_value *self,
                         const struct gp_pickle_value *items, size_t n, uint64_t offset)
{
    struct gp_run run = b->runs.at[self->u];
    for (size_t i = 0; i < n; i++) {
        size_t element = (size_t)items[i].u;
        if (kind_of_list(items[i].kind) != self->kind) element = SIZE_MAX;
        else if (self->kind == GP_KIND_TRACES) element = add_trace(b, &items[i]);
        if (!run.n) run.first = element == SIZE_MAX ? 0 : element;
        if (element == run.first + run.n) run.n++;
        else gp_builder_issue(b, GP_Q_BAD_VALUE, offset);
    }
    b->runs.at[self->u] = run;
}

static void put_items(void *ctx, struct gp_pickle_value *self, const struct gp_pickle_value *items, size_t n,
                      uint64_t offset)
{
    struct gp_builder *b = ctx;
    if (self->kind == GP_PICKLE_LIST) {
        self->kind = kind_of_list(items[0].kind);
        self->u = 0; /* the empty stack, or a run of its own */
        if (self->kind != GP_KIND_STACK && self->kind != GP_PICKLE_LIST) {
            self->u = b->runs.n;
            GP_VEC_PUSH(&b->runs, (struct gp_run){0, 0});
        }
    }
    if (self->kind == GP_KIND_STACK) put_frames(b, self, items, n, offset);
    else if (self->kind != GP_PICKLE_LIST) put_elements(b, self, items, n, offset);
}

/* Of tuples only the identity of a pool is wanted: two small numbers. */
static void put_tuple(void *ctx, struct gp_pickle_value *self, const struct gp_pickle_value *items, size_t n)
{
    (void)ctx;
    if (n != 2 || items[0].kind != GP_PICKLE_INT || items[1].kind != GP_PICKLE_INT) return;
    uint64_t a = items[0].u < 0x3fff ? items[0].u : 0x3fff, c = items[1].u < 0x1fff ? items[1].u : 0x1fff;
    self->u = a << 13 | c;
}

/* ---- all of it ---- */

static void report_progress(void *ctx, uint64_t bytes)
{
    struct gp_builder *b = ctx;
    if (b->progress) b->progress(b->progress_ctx, bytes);
}

static void intern_words(struct gp_strings *s)
{
    static const char *const words[] = {"",
                                        GP_SNAPSHOT_KEYS(GP_SECOND) "active_allocated",
                                        "active_pending_free",
                                        "active_awaiting_free",
                                        "large",
                                        "END",
                                        "N/A",
                                        GP_SNAPSHOT_ACTIONS(GP_SECOND)};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) gp_intern_cstr(s, words[i]);
}

/* Everything that begins with nothing: the empty stack, the empty context, the default stream. */
static void begin(struct gp_builder *b, struct gp_snapshot *s)
{
    memset(s, 0, sizeof *s);
    intern_words(&s->strings);
    s->settings.max_split_size = -1;
    GP_VEC_PUSH(&s->stacks, (struct gp_snapshot_stack){0, 0});
    GP_VEC_PUSH(&s->contexts, (struct gp_snapshot_context){0});
    GP_VEC_PUSH(&s->streams, 0);
    *b = (struct gp_builder){.s = s};
    *gp_map_put(&b->stream_ids, 0, 0) = 0;
}

GP_COMPARE_IN(by_device, struct gp_snapshot_segment, void, GP_UP(device))

/* The first segment of DEVICE or a later one. */
static size_t first_segment(const struct gp_snapshot *s, int64_t device)
{
    GP_SEARCH(lo, 0, s->segments.n, mid, s->segments.at[mid].device < device);
    return lo;
}

const struct gp_snapshot_segment *gp_snapshot_segments(const struct gp_snapshot *s, int32_t device, size_t *n)
{
    size_t first = first_segment(s, device);
    *n = first_segment(s, (int64_t)device + 1) - first;
    return *n ? &s->segments.at[first] : NULL;
}

/* Blocks follow each other in their segment; old files leave their addresses out. */
static void place_blocks(struct gp_snapshot *s)
{
    GP_EACH(const struct gp_snapshot_segment, g, s->segments) {
        uint64_t address = g->address;
        for (size_t k = g->first_block; k < g->first_block + g->n_blocks; k++) {
            struct gp_snapshot_block *b = &s->blocks.at[k];
            if (!b->address) b->address = address;
            address = b->address + (uint64_t)b->size;
        }
    }
}

/* Only the last snapshot of the file stays in view. */
static void choose(struct gp_builder *b)
{
    struct gp_snapshot *s = b->s;
    struct gp_run g = b->segments, t = b->traces, m = b->marks;
    if (g.first) memmove(s->segments.at, s->segments.at + g.first, g.n * sizeof *s->segments.at);
    s->segments.n = g.n;
    if (t.first) memmove(s->traces.at, s->traces.at + t.first, t.n * sizeof *s->traces.at);
    s->traces.n = t.n;
    if (m.first) memmove(s->marks.at, s->marks.at + m.first, m.n * sizeof *s->marks.at);
    s->marks.n = m.n;
}

static int judge(struct gp_builder *b, const struct gp_pickle_end *end, struct gp_err *err)
{
    if (b->tops) {
        choose(b);
        gp_sort_in(b->s->segments.at, b->s->segments.n, sizeof *b->s->segments.at, by_device, NULL);
        place_blocks(b->s);
        if (end->truncated) gp_builder_issue(b, GP_Q_TRUNCATED, (uint64_t)end->damage_offset);
        if (end->damage) gp_builder_issue(b, GP_Q_SYNTAX, (uint64_t)end->damage_offset);
        for (uint64_t i = 0; i < end->saturated; i++)
            gp_builder_issue(b, GP_Q_BAD_VALUE, (uint64_t)end->saturated_offset);
        for (uint64_t i = 0; i < end->cut; i++) gp_builder_issue(b, GP_Q_LIMIT, (uint64_t)end->cut_offset);
        for (uint32_t i = 1; i < b->tops; i++)
            gp_builder_issue(b, GP_Q_LIMIT, 0); /* a list of snapshots: the last counts */
        return 0;
    }
    if (end->truncated)
        return gp_fail(err, GP_E_SYNTAX, (int64_t)end->bytes,
                       "byte %llu: the pickle ends before anything of a snapshot",
                       (unsigned long long)end->bytes);
    if (end->damage)
        return gp_fail(err, GP_E_SYNTAX, end->damage_offset, "byte %lld: %s", (long long)end->damage_offset,
                       end->damage);
    return gp_fail(err, GP_E_FORMAT, 0, "a pickle, but not a snapshot of the allocator: it has no segments");
}

int gp_snapshot_read(struct gp_snapshot *s, struct gp_input *in, void (*progress)(void *ctx, uint64_t bytes),
                     void *progress_ctx, struct gp_err *err)
{
    struct gp_builder b;
    struct gp_pickle_end end;
    begin(&b, s);
    b.progress = progress;
    b.progress_ctx = progress_ctx;
    struct gp_pickle_sink sink = {.ctx = &b,
                                  .dicts = GP_KIND_DICTS,
                                  .items = put_items,
                                  .pairs = put_pairs,
                                  .tuple = put_tuple,
                                  .progress = report_progress};
    int failed = gp_pickle_read(in, &s->strings, &sink, &end, err) || judge(&b, &end, err);
    struct gp_err damage = {0};
    if (!failed && gp_input_status(in, &damage))
        gp_builder_issue(&b, GP_Q_COMPRESSION, (uint64_t)damage.offset);
    s->input = (struct gp_input_info){.path = gp_input_path(in),
                                      .format = "snapshot",
                                      .compression = gp_input_compression(in),
                                      .bytes = end.bytes,
                                      .events = s->rows.n};
    GP_VEC_FREE(&b.runs);
    GP_RELEASE(gp_map_release, &b.frame_ids, &b.stack_ids, &b.stream_ids, &b.context_ids);
    if (failed) gp_snapshot_release(s);
    return failed ? -1 : 0;
}

void gp_snapshot_release(struct gp_snapshot *s)
{
    gp_strings_release(&s->strings);
    GP_RELEASE(free, s->rows.action, s->rows.stream, s->rows.context, s->rows.stack, s->rows.addr,
               s->rows.size, s->rows.time_ns);
    GP_RELEASE(gp_vec_free, &s->traces, &s->segments, &s->blocks, &s->marks, &s->frames, &s->stack_frames,
               &s->stacks, &s->contexts, &s->streams);
    memset(s, 0, sizeof *s);
}

bool gp_snapshot_is_zip(const uint8_t *head, size_t n) { return gp_begin(head, n, "PK\3\4"); }

static void grow_rows(struct gp_snapshot_rows *r)
{
    r->cap = r->cap ? r->cap * 2 : 1024;
    r->action = gp_realloc(r->action, r->cap * sizeof *r->action);
    r->stream = gp_realloc(r->stream, r->cap * sizeof *r->stream);
    r->context = gp_realloc(r->context, r->cap * sizeof *r->context);
    r->stack = gp_realloc(r->stack, r->cap * sizeof *r->stack);
    r->addr = gp_realloc(r->addr, r->cap * sizeof *r->addr);
    r->size = gp_realloc(r->size, r->cap * sizeof *r->size);
    r->time_ns = gp_realloc(r->time_ns, r->cap * sizeof *r->time_ns);
}

size_t gp_snapshot_add_row(struct gp_snapshot_rows *r)
{
    if (r->n == r->cap) grow_rows(r);
    size_t i = r->n++;
    r->action[i] = GP_ACT_NONE;
    r->stream[i] = r->context[i] = 0;
    r->stack[i] = 0;
    r->addr[i] = 0;
    r->size[i] = r->time_ns[i] = 0;
    return i;
}
