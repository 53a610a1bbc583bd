/* What a person looks for when a slice is selected. */
#include "formats/perfetto/perfetto_priv.h"

/* One annotation: a key and a number, or an interned text. All of its numbers are short: there are few
 * keys. */
static inline char *put_arg(struct gp_pf *w, char *p, enum gp_pf_key key, uint32_t tag, uint64_t v)
{
    *p++ = (char)GP_PF_ANNOTATION;
    char *size = p++;
    p = gp_put_field(p, GP_PF_KEY_IID, gp_pf_intern(w, GP_PF_KEYS, w->keys[key]));
    p = gp_put_field(p, tag, v);
    *size = (char)(p - size - 1);
    return p;
}

static inline char *put_id(struct gp_pf *w, char *p, enum gp_pf_key key, uint64_t v)
{
    return v == GP_NO_ID ? p : put_arg(w, p, key, GP_PF_UINT, v);
}

static char *put_text(struct gp_pf *w, char *p, enum gp_pf_key key, gp_sid text)
{
    return put_arg(w, p, key, GP_PF_TEXT_IID, gp_pf_intern(w, GP_PF_TEXTS, text));
}

/* V as "[x,y,z]". KNOWN: the sid of its text, 0 until it is made. */
static char *put_triple(struct gp_pf *w, char *p, enum gp_pf_key key, const uint32_t v[3], gp_sid *known)
{
    if (!*known) {
        struct gp_buf text = {0};
        for (int i = 0; i < 3; i++) {
            gp_buf_putc(&text, i ? ',' : '[');
            gp_buf_put_u64(&text, v[i]);
        }
        gp_buf_putc(&text, ']');
        *known = gp_pf_text(w, text.data, text.n);
        gp_buf_release(&text);
    }
    return put_text(w, p, key, *known);
}

struct gp_pf_config *gp_pf_config(struct gp_pf *w, uint32_t config)
{
    if (config >= w->configs.n) {
        size_t n = w->configs.n;
        GP_VEC_RESERVE(&w->configs, (size_t)config + 1);
        w->configs.n = w->configs.cap;
        memset(w->configs.at + n, 0, (w->configs.n - n) * sizeof *w->configs.at);
    }
    return &w->configs.at[config];
}

/* The args of a configuration are the same bytes wherever it occurs in a segment. */
static char *put_config(struct gp_pf *w, char *p, uint32_t config)
{
    struct gp_pf_config *known = gp_pf_config(w, config);
    if (known->segment == w->segment) {
        if (known->n) memcpy(p, w->config_args.data + known->at, known->n);
        return p + known->n;
    }
    const struct gp_config *c = &w->t->configs.at[config];
    const char *start = p;
    if (c->has & GP_HAS_GRID) p = put_triple(w, p, GP_PF_KEY_GRID, c->grid, &known->grid);
    if (c->has & GP_HAS_BLOCK) p = put_triple(w, p, GP_PF_KEY_BLOCK, c->block, &known->block);
    if (c->has & GP_HAS_CLUSTER) p = put_triple(w, p, GP_PF_KEY_CLUSTER, c->cluster, &known->cluster);
    if (c->has & GP_HAS_REGS) p = put_arg(w, p, GP_PF_KEY_REGISTERS, GP_PF_UINT, c->registers);
    if (c->has & GP_HAS_SHARED) p = put_arg(w, p, GP_PF_KEY_SHARED, GP_PF_UINT, c->shared_bytes);
    if (c->extra) p = put_text(w, p, GP_PF_KEY_LAUNCHED, c->extra);
    if (w->args_segment != w->segment) w->config_args.n = 0;
    w->args_segment = w->segment;
    known->segment = w->segment;
    known->at = (uint32_t)w->config_args.n;
    known->n = (uint32_t)(p - start);
    if (known->n) gp_buf_put(&w->config_args, start, known->n);
    return p;
}

char *gp_pf_args(struct gp_pf *w, char *p, enum gp_table table, uint32_t row)
{
    const struct gp_events *e = &w->t->events[table];
    if (table == GP_FLOW) p = put_id(w, p, GP_PF_KEY_CORR, gp_get_id(e, row));
    p = put_id(w, p, GP_PF_KEY_CORR, gp_get_corr(e, row));
    p = put_id(w, p, GP_PF_KEY_EXT, gp_get_ext(e, row));
    p = put_id(w, p, GP_PF_KEY_SEQ, gp_get_seq(e, row));
    p = put_id(w, p, GP_PF_KEY_GRAPH, gp_get_graph(e, row));
    p = put_id(w, p, GP_PF_KEY_NODE, gp_get_node(e, row));
    p = put_id(w, p, GP_PF_KEY_EVENT, gp_get_event(e, row));
    p = put_id(w, p, GP_PF_KEY_SOURCE, gp_get_source(e, row));
    int64_t bytes = gp_get_bytes(e, row), ret = gp_get_ret(e, row);
    if (bytes) p = put_arg(w, p, GP_PF_KEY_BYTES, GP_PF_INT, (uint64_t)bytes);
    if (ret) p = put_arg(w, p, GP_PF_KEY_RET, GP_PF_INT, (uint64_t)ret);
    if (table == GP_GPU) p = put_config(w, p, gp_get_config(e, row));
    if (gp_get_captured(e, row)) p = put_text(w, p, GP_PF_KEY_CAPTURED, gp_get_captured(e, row));
    if (gp_get_extra(e, row)) p = put_text(w, p, GP_PF_KEY_ARGS, gp_get_extra(e, row));
    return p;
}
