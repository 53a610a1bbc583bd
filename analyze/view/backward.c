#include "analyze/view/backward.h"

#include <stdlib.h>
#include <string.h>
#include "analyze/names/name_predicates.h"
#include "analyze/names/names.h"

enum { SEQ_BITS = 44 };

static bool key_of(const struct gp_backward *bw, uint32_t node, uint64_t *key)
{
    const struct gp_host_event *ev = &bw->hs->nodes[node];
    const struct gp_events *op = &bw->t->events[GP_OP];
    uint64_t seq = ev->table == GP_OP ? gp_get_seq(op, ev->row) : GP_NO_ID;
    uint64_t process = bw->t->tracks.at[gp_host_track(bw->hs, node)].process;
    if (seq >> SEQ_BITS || process >> (64 - SEQ_BITS)) return false;
    *key = process << SEQ_BITS | seq;
    return true;
}

static bool is_backward(const struct gp_trace *t, const struct gp_host_event *ev)
{
    if (ev->table != GP_OP) return false;
    gp_sid name = t->events[GP_OP].name[ev->row];
    return gp_name_is_backward(gp_trace_str(t, name), gp_string_len(&t->strings, name));
}

void gp_backward_build(struct gp_backward *bw, const struct gp_trace *t, const struct gp_host_stack *hs)
{
    *bw = (struct gp_backward){.t = t, .hs = hs};
    if (!t->events[GP_OP].seq) return;
    uint8_t *inside = gp_zalloc(hs->n);
    for (uint32_t i = 0; i < hs->n; i++) {
        const struct gp_host_event *ev = &hs->nodes[i];
        uint64_t key;
        inside[i] = is_backward(t, ev) || (ev->parent != GP_HOST_NONE && inside[ev->parent]);
        if (inside[i] || !key_of(bw, i, &key)) continue;
        uint32_t *origin = gp_map_put(&bw->origin, key, i);
        if (*origin == GP_HOST_NONE) continue;
        *origin = gp_host_track(hs, *origin) == gp_host_track(hs, i) ? i : GP_HOST_NONE;
    }
    free(inside);
}

uint32_t gp_backward_origin(const struct gp_backward *bw, uint32_t node)
{
    uint64_t key;
    if (!key_of(bw, node, &key)) return GP_HOST_NONE;
    const uint32_t *origin = gp_map_get(&bw->origin, key);
    if (!origin || *origin == GP_HOST_NONE) return GP_HOST_NONE;
    return bw->hs->nodes[*origin].start_ns < bw->hs->nodes[node].start_ns ? *origin : GP_HOST_NONE;
}

void gp_backward_release(struct gp_backward *bw)
{
    gp_map_release(&bw->origin);
    memset(bw, 0, sizeof *bw);
}

static const char *python_name(const struct gp_trace *t, const struct gp_host_stack *hs, uint32_t node)
{
    if (node == GP_HOST_NONE || hs->nodes[node].table != GP_PYTHON) return "";
    return gp_trace_str(t, t->events[GP_PYTHON].name[hs->nodes[node].row]);
}

bool gp_backward_waits(const struct gp_trace *t, const struct gp_host_stack *hs, uint32_t node)
{
    const char *name = python_name(t, hs, node);
    if (gp_frame_is_state(name)) name = python_name(t, hs, hs->nodes[node].parent);
    return gp_frame_runs_backward(name);
}
