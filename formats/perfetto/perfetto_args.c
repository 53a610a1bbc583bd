/* What a person looks for when a slice is selected. */
#include <stdio.h>
#include "formats/perfetto/perfetto_priv.h"

/* One annotation into the body of the event: a key and a number, or an interned text. */
static void put_arg(struct gp_pf *w, gp_sid key, uint32_t tag, uint64_t v)
{
    char arg[2 * GP_FIELD_MOST], *p = gp_put_field(arg, GP_PF_KEY_IID, gp_pf_intern(w, GP_PF_KEYS, key));
    p = gp_put_field(p, tag, v);
    gp_put_bytes(&w->event, GP_PF_ANNOTATION, arg, (size_t)(p - arg));
}

static void put_id(struct gp_pf *w, enum gp_pf_key key, uint64_t v)
{
    if (v != GP_NO_ID) put_arg(w, w->keys[key], GP_PF_UINT, v);
}

static void put_text(struct gp_pf *w, enum gp_pf_key key, gp_sid text)
{
    put_arg(w, w->keys[key], GP_PF_TEXT_IID, gp_pf_intern(w, GP_PF_TEXTS, text));
}

static void put_triple(struct gp_pf *w, enum gp_pf_key key, const uint32_t v[3])
{
    char text[48];
    int n = snprintf(text, sizeof text, "[%u,%u,%u]", (unsigned)v[0], (unsigned)v[1], (unsigned)v[2]);
    put_text(w, key, gp_pf_text(w, text, (size_t)n));
}

/* The args of a configuration are the same bytes wherever it occurs in a segment. */
static void put_config(struct gp_pf *w, uint32_t config)
{
    if (config >= w->configs.n) {
        size_t n = w->configs.n;
        GP_VEC_RESERVE(&w->configs, (size_t)config + 1);
        w->configs.n = w->configs.cap;
        memset(w->configs.at + n, 0, (w->configs.n - n) * sizeof *w->configs.at);
    }
    struct gp_pf_config *known = &w->configs.at[config];
    if (known->segment == w->segment) {
        gp_buf_put(&w->event, w->config_args.data + known->at, known->n);
        return;
    }
    const struct gp_config *c = &w->t->configs.at[config];
    size_t before = w->event.n;
    if (c->has & GP_HAS_GRID) put_triple(w, GP_PF_KEY_GRID, c->grid);
    if (c->has & GP_HAS_BLOCK) put_triple(w, GP_PF_KEY_BLOCK, c->block);
    if (c->has & GP_HAS_CLUSTER) put_triple(w, GP_PF_KEY_CLUSTER, c->cluster);
    if (c->has & GP_HAS_REGS) put_arg(w, w->keys[GP_PF_KEY_REGISTERS], GP_PF_UINT, c->registers);
    if (c->has & GP_HAS_SHARED) put_arg(w, w->keys[GP_PF_KEY_SHARED], GP_PF_UINT, c->shared_bytes);
    if (c->extra) put_text(w, GP_PF_KEY_ARGS, c->extra);
    if (w->args_segment != w->segment) w->config_args.n = 0;
    w->args_segment = w->segment;
    *known = (struct gp_pf_config){w->segment, w->config_args.n, w->event.n - before};
    if (known->n) gp_buf_put(&w->config_args, w->event.data + before, known->n);
}

void gp_pf_args(struct gp_pf *w, enum gp_table table, uint32_t row)
{
    const struct gp_events *e = &w->t->events[table];
    if (table == GP_FLOW) put_id(w, GP_PF_KEY_CORR, gp_get_id(e, row));
    put_id(w, GP_PF_KEY_CORR, gp_get_corr(e, row));
    put_id(w, GP_PF_KEY_EXT, gp_get_ext(e, row));
    put_id(w, GP_PF_KEY_SEQ, gp_get_seq(e, row));
    put_id(w, GP_PF_KEY_GRAPH, gp_get_graph(e, row));
    put_id(w, GP_PF_KEY_NODE, gp_get_node(e, row));
    put_id(w, GP_PF_KEY_EVENT, gp_get_event(e, row));
    put_id(w, GP_PF_KEY_SOURCE, gp_get_source(e, row));
    if (gp_get_bytes(e, row)) put_arg(w, w->keys[GP_PF_KEY_BYTES], GP_PF_INT, (uint64_t)gp_get_bytes(e, row));
    if (gp_get_ret(e, row))
        put_arg(w, w->keys[GP_PF_KEY_RET], GP_PF_INT, (uint64_t)(int64_t)gp_get_ret(e, row));
    if (table == GP_GPU) put_config(w, gp_get_config(e, row));
    if (gp_get_captured(e, row)) put_text(w, GP_PF_KEY_CAPTURED, gp_get_captured(e, row));
    if (gp_get_extra(e, row)) put_text(w, GP_PF_KEY_ARGS, gp_get_extra(e, row));
}
