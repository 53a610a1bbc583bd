#include <inttypes.h>
#include "formats/base/json_write.h"
#include "formats/base/map.h"
#include "render/page/page_pack.h"
#include "render/timeline/timeline_priv.h"

/* The fields that an event of the page can have, in the order of their bits. People search for these
 * names. */
enum field {
    CONFIG,
    CORR,
    EXT,
    BYTES,
    GRAPH,
    NODE,
    SEQ,
    ID,
    RET,
    TOTAL,
    RESERVED,
    EVENT,
    SOURCE,
    CAPTURED,
    EXTRA,
    FIELDS
};
static const struct {
    const char *name;
    bool is_signed;
} fields[FIELDS] = {
    [CONFIG] = {"config", false},
    [CORR] = {"correlation", false},
    [EXT] = {"External id", false},
    [BYTES] = {"bytes", true},
    [GRAPH] = {"graph id", false},
    [NODE] = {"graph node id", false},
    [SEQ] = {"Sequence number", false},
    [ID] = {"id", false},
    [RET] = {"return value", true},
    [TOTAL] = {"allocated in all (bytes)", true},
    [RESERVED] = {"reserved in all (bytes)", true},
    [EVENT] = {"CUDA event id", false},
    [SOURCE] = {"correlation of the event record", false},
    [CAPTURED] = {"captured", false},
    [EXTRA] = {"extra", false},
};

void gp_timeline_put_fields(struct gp_buf *b)
{
    gp_buf_puts(b, "\"fields\":[");
    for (int f = 0; f < FIELDS; f++) gp_buf_printf(b, "%s\"%s\"", f ? "," : "", fields[f].name);
    gp_buf_puts(b, "],\"signed\":[");
    for (int f = 0, n = 0; f < FIELDS; f++)
        if (fields[f].is_signed) gp_buf_printf(b, "%s\"%s\"", n++ ? "," : "", fields[f].name);
    gp_buf_puts(b, "]");
}

/* The fields of an event: which, and their values. */
struct values {
    uint32_t bits;
    uint64_t of[FIELDS];
};

static void set(struct values *v, enum field f, uint64_t value)
{
    v->bits |= 1u << f;
    v->of[f] = value;
}

static void set_id(struct values *v, enum field f, uint64_t id)
{
    if (id != GP_NO_ID) set(v, f, id);
}

static void read_event(const struct gp_tracks *l, size_t i, struct values *v)
{
    uint32_t table = l->table[i], row = l->row[i];
    v->bits = 0;
    if (table >= GP_TABLE_COUNT) return;
    const struct gp_events *e = &l->v->t->events[table];
    if (table == GP_GPU) set(v, CONFIG, gp_get_config(e, row));
    set_id(v, CORR, gp_get_corr(e, row));
    set_id(v, EXT, gp_get_ext(e, row));
    set_id(v, GRAPH, gp_get_graph(e, row));
    set_id(v, NODE, gp_get_node(e, row));
    set_id(v, SEQ, gp_get_seq(e, row));
    set_id(v, ID, gp_get_id(e, row));
    if (gp_get_bytes(e, row)) set(v, BYTES, (uint64_t)gp_get_bytes(e, row));
    if (gp_get_ret(e, row)) set(v, RET, (uint64_t)(int64_t)gp_get_ret(e, row));
    if (gp_get_total(e, row)) set(v, TOTAL, (uint64_t)gp_get_total(e, row));
    if (gp_get_reserved(e, row)) set(v, RESERVED, (uint64_t)gp_get_reserved(e, row));
    set_id(v, EVENT, gp_get_event(e, row));
    set_id(v, SOURCE, gp_get_source(e, row));
    if (gp_get_captured(e, row)) set(v, CAPTURED, gp_get_captured(e, row));
    if (gp_get_extra(e, row)) set(v, EXTRA, gp_get_extra(e, row));
}

void gp_timeline_put_args(const struct gp_timeline *tl, size_t from, size_t to, struct gp_buf *b)
{
    const struct gp_trace *t = tl->l->v->t;
    uint64_t last[FIELDS] = {0};
    bool any = false;
    for (size_t i = from; i < to; i++) {
        struct values v;
        read_event(tl->l, gp_timeline_event(tl, i), &v);
        any |= v.bits != 0;
        gp_pack_u64(b, v.bits);
        for (int f = 0; f < EXTRA; f++) {
            if (!(v.bits >> f & 1)) continue;
            gp_pack_i64(b, (int64_t)(v.of[f] - last[f]));
            last[f] = v.of[f];
        }
        if (v.bits >> EXTRA & 1) {
            size_t n = gp_string_len(&t->strings, (gp_sid)v.of[EXTRA]);
            gp_pack_u64(b, n);
            gp_buf_put(b, gp_trace_str(t, (gp_sid)v.of[EXTRA]), n);
        }
    }
    if (!any) b->n = 0;
}

/* ---- captured work ---- */

void gp_timeline_put_captured(const struct gp_timeline *tl, struct gp_buf *b)
{
    const struct gp_trace *t = tl->l->v->t;
    const struct gp_events *gpu = &t->events[GP_GPU];
    struct gp_map seen = {0};
    struct gp_buf path = {0};
    gp_buf_puts(b, "\"captured\":[");
    for (size_t i = 0, n = 0; gpu->captured && i < gpu->n; i++) {
        uint32_t *known = gp_map_put(&seen, gpu->captured[i], 0);
        if (!gpu->captured[i] || *known) continue;
        *known = 1;
        const char *at = gp_trace_str(t, gpu->captured[i]), *name;
        const char *end = at + gp_string_len(&t->strings, gpu->captured[i]);
        path.n = 0;
        for (size_t len; (name = gp_captured_next(&at, end, &len)); gp_buf_put(&path, name, len))
            if (path.n) gp_buf_puts(&path, " > ");
        gp_buf_printf(b, "%s[%" PRIu32 ",", n++ ? "," : "", gpu->captured[i]);
        gp_json_put_string(b, path.n ? path.data : "", path.n);
        gp_buf_putc(b, ']');
    }
    gp_buf_putc(b, ']');
    gp_map_release(&seen);
    gp_buf_release(&path);
}

/* ---- configurations ---- */

static void put_triple(struct gp_buf *b, const char *key, const uint32_t of[3])
{
    gp_buf_printf(b, "[\"%s\",\"%" PRIu32 " \xC3\x97 %" PRIu32 " \xC3\x97 %" PRIu32 "\"],", key, of[0], of[1],
                  of[2]);
}

static void put_number(struct gp_buf *b, const char *key, uint32_t value)
{
    gp_buf_printf(b, "[\"%s\",%" PRIu32 "],", key, value);
}

void gp_timeline_put_configs(const struct gp_timeline *tl, struct gp_buf *b)
{
    const struct gp_trace *t = tl->l->v->t;
    gp_buf_putc(b, '[');
    for (size_t i = 0; i < t->configs.n; i++) {
        const struct gp_config *c = &t->configs.at[i];
        gp_buf_puts(b, i ? ",\n{\"list\":[" : "{\"list\":[");
        if (c->has & GP_HAS_GRID) put_triple(b, "grid", c->grid);
        if (c->has & GP_HAS_BLOCK) put_triple(b, "block", c->block);
        if (c->has & GP_HAS_CLUSTER) put_triple(b, "cluster", c->cluster);
        if (c->has & GP_HAS_REGS) put_number(b, "registers per thread", c->registers);
        if (c->has & GP_HAS_SHARED) put_number(b, "shared memory per block (bytes)", c->shared_bytes);
        if (c->shared_static_bytes) put_number(b, "of it static (bytes)", c->shared_static_bytes);
        if (c->local_bytes) put_number(b, "local memory per thread (bytes)", c->local_bytes);
        if (c->cat) {
            gp_buf_puts(b, "[\"category\",");
            gp_json_put_string(b, gp_trace_str(t, c->cat), gp_string_len(&t->strings, c->cat));
            gp_buf_puts(b, "],");
        }
        if (b->data[b->n - 1] == ',') b->n--;
        gp_buf_puts(b, "],\"extra\":");
        gp_json_put_string(b, gp_trace_str(t, c->extra), gp_string_len(&t->strings, c->extra));
        gp_buf_putc(b, '}');
    }
    gp_buf_puts(b, "]");
}
