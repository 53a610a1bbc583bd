/* What the pairs of each dict of a snapshot mean. */
#include <string.h>
#include "formats/base/hash.h"
#include "formats/base/num.h"
#include "formats/pickle/snapshot_priv.h"

#define SIZE_MOST  ((int64_t)1 << 48)
#define TIME_MOST  (INT64_MAX / 1000)
#define TOTAL_MOST ((int64_t)1 << 60) /* all sizes together, so that every sum of them fits */

enum { STREAMS_MOST = 1 << 15, CONTEXTS_MOST = 1 << 15 };

void gp_builder_issue(struct gp_builder *b, enum gp_issue_kind kind, uint64_t offset)
{
    struct gp_issue *q = &b->s->issues[kind];
    if (!q->count++ || (int64_t)offset < q->first_offset) q->first_offset = (int64_t)offset;
}

/* ---- equal things are one ---- */

static uint32_t frame_index(struct gp_builder *b, const struct gp_snapshot_frame *f)
{
    struct gp_snapshot *s = b->s;
    uint32_t words[4] = {f->name, f->file, (uint32_t)f->line, f->kind};
    for (uint64_t key = gp_hash_bytes(words, sizeof words);; key++) {
        uint32_t *at = gp_map_put(&b->frame_ids, key, (uint32_t)s->frames.n);
        if (*at == s->frames.n) {
            GP_VEC_PUSH(&s->frames, *f);
            return *at;
        }
        const struct gp_snapshot_frame *known = &s->frames.at[*at];
        if (known->name == f->name && known->file == f->file && known->line == f->line &&
            known->kind == f->kind)
            return *at;
    }
}

uint32_t gp_snapshot_stack(struct gp_snapshot *s, struct gp_map *ids, const uint32_t *frames, size_t n)
{
    if (!n) return 0;
    for (uint64_t key = gp_hash_bytes(frames, n * sizeof *frames);; key++) {
        uint32_t *at = gp_map_put(ids, key, (uint32_t)s->stacks.n);
        if (*at == s->stacks.n) {
            struct gp_snapshot_stack fresh = {(uint32_t)s->stack_frames.n, (uint32_t)n};
            GP_VEC_RESERVE(&s->stack_frames, s->stack_frames.n + n);
            memcpy(s->stack_frames.at + s->stack_frames.n, frames, n * sizeof *frames);
            s->stack_frames.n += n;
            GP_VEC_PUSH(&s->stacks, fresh);
            return *at;
        }
        const struct gp_snapshot_stack *known = &s->stacks.at[*at];
        if (known->n == n && !memcmp(s->stack_frames.at + known->first, frames, n * sizeof *frames))
            return *at;
    }
}

static uint16_t stream_index(struct gp_builder *b, uint64_t stream, uint64_t offset)
{
    if (stream == b->last_stream) return b->last_stream_index;
    uint32_t next = (uint32_t)b->s->streams.n;
    if (next >= STREAMS_MOST && !gp_map_get(&b->stream_ids, stream)) {
        gp_builder_issue(b, GP_Q_LIMIT, offset);
        return 0;
    }
    uint32_t *at = gp_map_put(&b->stream_ids, stream, next);
    if (*at == next) GP_VEC_PUSH(&b->s->streams, stream);
    b->last_stream = stream;
    return b->last_stream_index = (uint16_t)*at;
}

static uint16_t context_index(struct gp_builder *b, const struct gp_snapshot_context *c, uint64_t offset)
{
    uint32_t words[3] = {c->compiled, c->metadata, c->category};
    uint64_t key = gp_hash_bytes(words, sizeof words);
    uint32_t next = (uint32_t)b->s->contexts.n;
    if (next >= CONTEXTS_MOST && !gp_map_get(&b->context_ids, key)) {
        gp_builder_issue(b, GP_Q_LIMIT, offset);
        return 0;
    }
    uint32_t *at = gp_map_put(&b->context_ids, key, next);
    if (*at == next) GP_VEC_PUSH(&b->s->contexts, *c);
    return (uint16_t)*at;
}

/* ---- values ---- */

static uint64_t unsigned_of(const struct gp_pickle_value *v)
{
    return v->kind == GP_PICKLE_INT || v->kind == GP_PICKLE_BIG || v->kind == GP_PICKLE_BOOL ? v->u : 0;
}

static int64_t signed_of(const struct gp_pickle_value *v)
{
    if (v->kind == GP_PICKLE_INT || v->kind == GP_PICKLE_BOOL) return v->i;
    return v->kind == GP_PICKLE_BIG ? INT64_MAX : 0;
}

static int64_t size_of(struct gp_builder *b, const struct gp_pickle_value *v, uint64_t offset)
{
    int64_t size = signed_of(v);
    if (size >= 0 && size <= SIZE_MOST) return size;
    gp_builder_issue(b, GP_Q_BAD_VALUE, offset);
    return 0;
}

/* SIZE of a block or a segment, of which there is so much in all; 0 beyond the limit. */
static int64_t counted(struct gp_builder *b, int64_t size, uint64_t offset)
{
    if (size <= TOTAL_MOST - b->held) {
        b->held += size;
        return size;
    }
    gp_builder_issue(b, GP_Q_LIMIT, offset);
    return 0;
}

static int64_t time_of(struct gp_builder *b, const struct gp_pickle_value *v, uint64_t offset)
{
    int64_t us = signed_of(v);
    if (us > 0 && us <= TIME_MOST) return us * 1000;
    gp_builder_issue(b, GP_Q_BAD_TIME, offset);
    return 0;
}

static gp_sid text_of(const struct gp_pickle_value *v)
{
    return v->kind == GP_PICKLE_TEXT && v->u != GP_WORD_NOT_COMPILED ? (gp_sid)v->u : 0;
}

static uint32_t stack_of(const struct gp_pickle_value *v)
{
    return v->kind == GP_KIND_STACK ? (uint32_t)v->u : 0;
}

static uint8_t action_of(const struct gp_pickle_value *v)
{
    bool known =
        v->kind == GP_PICKLE_TEXT && v->u >= GP_WORD_ACTIONS && v->u < GP_WORD_ACTIONS + GP_ACT_COUNT - 1;
    return known ? (uint8_t)(v->u - GP_WORD_ACTIONS + GP_ACT_ALLOC) : (uint8_t)GP_ACT_NONE;
}

/* An entry that says nothing of its size cannot be replayed. */
static void check_row(struct gp_builder *b, size_t i, uint64_t offset)
{
    struct gp_snapshot_rows *r = &b->s->rows;
    if (r->action[i] == GP_ACT_SNAPSHOT || r->action[i] == GP_ACT_NONE) return;
    if (r->size[i] > 0 && r->size[i] <= TOTAL_MOST - b->total) {
        b->total += r->size[i];
        return;
    }
    gp_builder_issue(b, r->size[i] > 0 ? GP_Q_LIMIT : GP_Q_BAD_VALUE, offset);
    r->action[i] = GP_ACT_NONE;
}

void gp_fields_row(struct gp_builder *b, size_t index, const struct gp_pickle_value *pairs, size_t n,
                   uint64_t offset)
{
    struct gp_snapshot_rows *r = &b->s->rows;
    struct gp_snapshot_context c = b->s->contexts.at[r->context[index]];
    for (; n--; pairs += 2) {
        const struct gp_pickle_value *v = pairs + 1;
        switch (gp_key_of(pairs)) {
        case GP_KEY_ACTION: r->action[index] = action_of(v); break;
        case GP_KEY_ADDR:
        case GP_KEY_DEVICE_FREE: r->addr[index] = unsigned_of(v); break;
        case GP_KEY_SIZE: r->size[index] = size_of(b, v, offset); break;
        case GP_KEY_STREAM: r->stream[index] = stream_index(b, unsigned_of(v), offset); break;
        case GP_KEY_TIME_US: r->time_ns[index] = time_of(b, v, offset); break;
        case GP_KEY_FRAMES: r->stack[index] = stack_of(v); break;
        case GP_KEY_COMPILE_CONTEXT: c.compiled = text_of(v); break;
        case GP_KEY_USER_METADATA: c.metadata = text_of(v); break;
        case GP_KEY_CATEGORY: c.category = text_of(v); break;
        default: break;
        }
    }
    if (c.compiled || c.metadata || c.category) r->context[index] = context_index(b, &c, offset);
    check_row(b, index, offset);
}

size_t gp_fields_frame(struct gp_builder *b, size_t index, const struct gp_pickle_value *pairs, size_t n)
{
    struct gp_snapshot_frame f = {.line = -1};
    if (index != SIZE_MAX) f = b->s->frames.at[index];
    for (; n--; pairs += 2) {
        const struct gp_pickle_value *v = pairs + 1;
        switch (gp_key_of(pairs)) {
        case GP_KEY_FILENAME: f.file = text_of(v); break;
        case GP_KEY_NAME: f.name = text_of(v); break;
        case GP_KEY_LINE:
            f.line = v->kind == GP_PICKLE_INT && v->i > 0 && v->i <= INT32_MAX ? (int32_t)v->i : -1;
            break;
        default: break;
        }
    }
    return frame_index(b, &f);
}

static void take_pool(struct gp_snapshot_segment *s, const struct gp_pickle_value *v)
{
    if (v->kind != GP_PICKLE_TUPLE) return;
    s->pool[0] = (uint32_t)(v->u >> 13); /* as the sink packs tuples of two */
    s->pool[1] = (uint32_t)(v->u & 0x1fff);
}

static void take_blocks(const struct gp_builder *b, struct gp_snapshot_segment *s,
                        const struct gp_pickle_value *v)
{
    if (v->kind != GP_KIND_BLOCKS) return;
    s->first_block = b->runs.at[v->u].first;
    s->n_blocks = b->runs.at[v->u].n;
}

void gp_fields_segment(struct gp_builder *b, size_t index, const struct gp_pickle_value *pairs, size_t n,
                       uint64_t offset)
{
    struct gp_snapshot_segment *s = &b->s->segments.at[index];
    for (; n--; pairs += 2) {
        const struct gp_pickle_value *v = pairs + 1;
        switch (gp_key_of(pairs)) {
        case GP_KEY_DEVICE: s->device = (int32_t)(signed_of(v) & INT32_MAX); break;
        case GP_KEY_ADDRESS: s->address = unsigned_of(v); break;
        case GP_KEY_TOTAL_SIZE: s->total_size = counted(b, size_of(b, v, offset), offset); break;
        case GP_KEY_ALLOCATED_SIZE: s->allocated_size = size_of(b, v, offset); break;
        case GP_KEY_ACTIVE_SIZE: s->active_size = size_of(b, v, offset); break;
        case GP_KEY_REQUESTED_SIZE: s->requested_size = size_of(b, v, offset); break;
        case GP_KEY_STREAM: s->stream = unsigned_of(v); break;
        case GP_KEY_SEGMENT_TYPE: s->large = v->kind == GP_PICKLE_TEXT && v->u == GP_WORD_LARGE; break;
        case GP_KEY_SEGMENT_POOL_ID: take_pool(s, v); break;
        case GP_KEY_IS_EXPANDABLE: s->expandable = unsigned_of(v) != 0; break;
        case GP_KEY_FRAMES: s->stack = stack_of(v); break;
        case GP_KEY_BLOCKS: take_blocks(b, s, v); break;
        default: break;
        }
    }
}

static uint8_t state_of(const struct gp_pickle_value *v)
{
    if (v->kind != GP_PICKLE_TEXT) return GP_BLOCK_INACTIVE;
    if (v->u == GP_WORD_ACTIVE) return GP_BLOCK_ACTIVE;
    return v->u == GP_WORD_PENDING || v->u == GP_WORD_AWAITING ? GP_BLOCK_PENDING : GP_BLOCK_INACTIVE;
}

void gp_fields_block(struct gp_builder *b, size_t index, const struct gp_pickle_value *pairs, size_t n,
                     uint64_t offset)
{
    struct gp_snapshot_block *k = &b->s->blocks.at[index];
    for (; n--; pairs += 2) {
        const struct gp_pickle_value *v = pairs + 1;
        switch (gp_key_of(pairs)) {
        case GP_KEY_ADDRESS: k->address = unsigned_of(v); break;
        case GP_KEY_SIZE: k->size = counted(b, size_of(b, v, offset), offset); break;
        case GP_KEY_REQUESTED_SIZE: k->requested_size = size_of(b, v, offset); break;
        case GP_KEY_STATE: k->state = state_of(v); break;
        case GP_KEY_FRAMES: k->stack = stack_of(v); break;
        default: break;
        }
    }
}

void gp_fields_mark(struct gp_builder *b, size_t index, const struct gp_pickle_value *pairs, size_t n,
                    uint64_t offset)
{
    struct gp_snapshot_mark *k = &b->s->marks.at[index];
    for (; n--; pairs += 2) {
        const struct gp_pickle_value *v = pairs + 1;
        switch (gp_key_of(pairs)) {
        case GP_KEY_STAGE: k->end = v->kind == GP_PICKLE_TEXT && v->u == GP_WORD_END; break;
        case GP_KEY_NAME: k->name = text_of(v); break;
        case GP_KEY_DEVICE: k->device = (int32_t)(signed_of(v) & INT32_MAX); break;
        case GP_KEY_TIME_US: k->time_ns = time_of(b, v, offset); break;
        default: break;
        }
    }
}

void gp_fields_settings(struct gp_builder *b, const struct gp_pickle_value *pairs, size_t n)
{
    struct gp_snapshot_settings *s = &b->s->settings;
    for (; n--; pairs += 2) {
        uint32_t key = gp_key_of(pairs);
        if (key == GP_KEY_EXPANDABLE_SEGMENTS) s->expandable = unsigned_of(pairs + 1) != 0;
        if (key == GP_KEY_MAX_SPLIT_SIZE) s->max_split_size = signed_of(pairs + 1);
    }
}

/* The power of two that the text of SID is, from "1"; -1: none. */
static int power_of(const struct gp_strings *strings, gp_sid sid)
{
    uint64_t v;
    if (!gp_u64_from_text(gp_string(strings, sid), gp_string_len(strings, sid), &v) || !v || v & (v - 1))
        return -1;
    int power = 0;
    while (v >>= 1) power++;
    return power;
}

void gp_fields_roundups(struct gp_builder *b, const struct gp_pickle_value *pairs, size_t n)
{
    for (; n--; pairs += 2) {
        int power = pairs->kind == GP_PICKLE_TEXT ? power_of(&b->s->strings, (gp_sid)pairs->u) : -1;
        int64_t parts = signed_of(pairs + 1);
        if (power >= 0 && power < GP_ROUNDUPS && parts >= 0 && parts <= 1024)
            b->s->settings.roundups[power] = (uint32_t)parts;
    }
}

void gp_fields_top(struct gp_builder *b, const struct gp_pickle_value *pairs, size_t n)
{
    for (; n--; pairs += 2) {
        const struct gp_pickle_value *v = pairs + 1;
        uint32_t key = gp_key_of(pairs);
        if (key == GP_KEY_SEGMENTS && v->kind == GP_KIND_SEGMENTS) b->segments = b->runs.at[v->u];
        if (key == GP_KEY_DEVICE_TRACES && v->kind == GP_KIND_TRACES) b->traces = b->runs.at[v->u];
        if (key == GP_KEY_ANNOTATIONS && v->kind == GP_KIND_MARKS) b->marks = b->runs.at[v->u];
    }
}
