/* Equal frames, stacks and streams of a snapshot are one; entries get a row. */
#include <stdlib.h>
#include <string.h>
#include "formats/pickle/snapshot_priv.h"

enum { STREAMS_MOST = 1 << 15, CONTEXTS_MOST = 1 << 15 };

void gp_builder_issue(struct gp_builder *b, enum gp_issue_kind kind, uint64_t offset)
{
    struct gp_issue *q = &b->s->issues[kind];
    if (!q->count++ || (int64_t)offset < q->first_offset) q->first_offset = (int64_t)offset;
}

/* ---- equal things are one ---- */

uint32_t gp_builder_frame(struct gp_builder *b, const struct gp_snapshot_frame *f)
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

uint32_t gp_builder_stack(struct gp_builder *b, const uint32_t *frames, size_t n)
{
    struct gp_snapshot *s = b->s;
    if (!n) return 0;
    for (uint64_t key = gp_hash_bytes(frames, n * sizeof *frames);; key++) {
        uint32_t *at = gp_map_put(&b->stack_ids, key, (uint32_t)s->stacks.n);
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

uint16_t gp_builder_stream(struct gp_builder *b, uint64_t stream, uint64_t offset)
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

uint16_t gp_builder_context(struct gp_builder *b, const struct gp_snapshot_context *c, uint64_t offset)
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
