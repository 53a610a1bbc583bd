/* Packets of one sequence: their common parts are written once a segment, and a segment ends with its
 * chunk. */
#include "formats/base/utf8.h"
#include "formats/perfetto/perfetto_priv.h"

void gp_pf_packet(struct gp_pf *w, uint32_t tag, const struct gp_buf *message)
{
    struct gp_buf packet = {0};
    gp_put_bytes(&packet, tag, message->n ? message->data : "", message->n);
    gp_put_number(&packet, GP_PF_SEQUENCE, 1);
    gp_put_bytes(gp_pf_raw(&w->chunks), GP_PF_PACKET, packet.data, packet.n);
    gp_buf_release(&packet);
}

/* ---- segments ---- */

static void put_clock(struct gp_buf *b, uint64_t id, int64_t at_ns, bool deltas)
{
    struct gp_buf clock = {0};
    gp_put_number(&clock, GP_PF_CLOCK_ID, id);
    gp_put_number(&clock, GP_PF_CLOCK_TIME, (uint64_t)at_ns);
    if (deltas) gp_put_number(&clock, GP_PF_CLOCK_IS_DELTA, 1);
    gp_put_bytes(b, GP_PF_CLOCK, clock.data, clock.n);
    gp_buf_release(&clock);
}

enum { END_N = 2, END_PACKET_MOST = 64 }; /* bytes of the event that ends a slice, and of its packet */

/* The first packet of a segment: nothing before it counts; the track and the clock that the others have. */
static void begin_segment(struct gp_pf *w, int64_t at_ns)
{
    struct gp_buf packet = {0}, part = {0}, event = {0};
    w->segment++;
    w->last_ns = at_ns;
    for (int i = 0; i < GP_PF_KINDS; i++) w->iids[i] = 0;
    w->interned.n = 0;
    char *p = gp_put_field(w->head, GP_PF_SEQUENCE, w->sequences);
    p = gp_put_field(p, GP_PF_FLAGS, GP_PF_NEEDS);
    w->head_n = (size_t)(p - w->head);
    p = gp_put_field(p, GP_PF_TRACK_EVENT, END_N);
    gp_put_field(p, GP_PF_TYPE, GP_PF_END);
    gp_put_number(&packet, GP_PF_SEQUENCE, w->sequences);
    gp_put_number(&packet, GP_PF_FLAGS, GP_PF_CLEARED | GP_PF_NEEDS);
    put_clock(&part, GP_PF_BOOTTIME, at_ns + w->shift_ns, false);
    put_clock(&part, GP_PF_DELTAS, at_ns + w->shift_ns, true);
    gp_put_bytes(&packet, GP_PF_CLOCK_SNAPSHOT, part.data, part.n);
    part.n = 0;
    gp_put_number(&event, GP_PF_DEFAULT_TRACK, w->uuid);
    gp_put_bytes(&part, GP_PF_DEFAULT_EVENT, event.data, event.n);
    gp_put_number(&part, GP_PF_DEFAULT_CLOCK, GP_PF_DELTAS);
    gp_put_bytes(&packet, GP_PF_DEFAULTS, part.data, part.n);
    gp_put_bytes(gp_pf_raw(&w->chunks), GP_PF_PACKET, packet.data, packet.n);
    GP_RELEASE(gp_buf_release, &packet, &part, &event);
}

/* Sequence 1 is that of the packets that describe tracks. */
void gp_pf_begin(struct gp_pf *w, uint64_t uuid, int64_t at_ns)
{
    if (gp_pf_is_full(&w->chunks)) gp_pf_next_chunk(&w->chunks);
    w->uuid = uuid;
    w->sequences++;
    begin_segment(w, at_ns);
}

char *gp_pf_prepare(struct gp_pf *w, int64_t at_ns, size_t extra)
{
    if (GP_UNLIKELY(gp_pf_is_full(&w->chunks))) {
        gp_pf_next_chunk(&w->chunks);
        begin_segment(w, at_ns);
    }
    size_t room = GP_PF_EVENT_MOST + extra;
    return GP_LIKELY(w->event.cap >= room) ? w->event.data : gp_buf_reserve(&w->event, room);
}

/* A packet is its time, the common fields of the sequence, new texts, and the event. */
void gp_pf_event(struct gp_pf *w, int64_t at_ns, const char *end)
{
    struct gp_buf *raw = gp_pf_raw(&w->chunks);
    size_t n = (size_t)(end - w->event.data), texts = w->interned.n;
    uint64_t step = (uint64_t)(at_ns - w->last_ns);
    size_t size = 1 + gp_varint_size(step) + w->head_n + 1 + gp_varint_size(n) + n;
    if (GP_UNLIKELY(texts)) size += 1 + gp_varint_size(texts) + texts;
    size_t room = size + 2 * GP_FIELD_MOST;
    char *to = GP_LIKELY(raw->cap - raw->n >= room) ? raw->data + raw->n : gp_buf_reserve(raw, room), *p = to;
    p = gp_put_field(p, GP_PF_PACKET, size);
    p = gp_put_field(p, GP_PF_TIMESTAMP, step);
    memcpy(p, w->head, GP_FIELD_MOST); /* more than it has; there is room, and the rest comes over it */
    p += w->head_n;
    if (GP_UNLIKELY(texts)) {
        p = gp_put_field(p, GP_PF_INTERNED, texts);
        memcpy(p, w->interned.data, texts);
        p += texts;
        w->interned.n = 0;
    }
    p = gp_put_field(p, GP_PF_TRACK_EVENT, n);
    memcpy(p, w->event.data, n);
    raw->n += (size_t)(p - to) + n;
    w->last_ns = at_ns;
}

void gp_pf_end(struct gp_pf *w, int64_t at_ns)
{
    gp_pf_prepare(w, at_ns, 0);
    struct gp_buf *raw = gp_pf_raw(&w->chunks);
    uint64_t step = (uint64_t)(at_ns - w->last_ns);
    size_t rest = w->head_n + 2 + END_N;
    char *to = GP_LIKELY(raw->cap - raw->n >= END_PACKET_MOST) ? raw->data + raw->n
                                                               : gp_buf_reserve(raw, END_PACKET_MOST);
    char *p = gp_put_field(to, GP_PF_PACKET, 1 + gp_varint_size(step) + rest);
    p = gp_put_field(p, GP_PF_TIMESTAMP, step);
    memcpy(p, w->head, GP_FIELD_MOST); /* more than it is, without a call */
    raw->n += (size_t)(p - to) + rest;
    w->last_ns = at_ns;
}

/* ---- texts ---- */

gp_sid gp_pf_text(struct gp_pf *w, const char *text, size_t n)
{
    return w->t->strings.n + gp_intern(&w->own, text, n);
}

static void put_text(struct gp_pf *w, struct gp_buf *b, enum gp_pf_kind kind, gp_sid sid)
{
    const struct gp_strings *s = &w->t->strings;
    bool own = sid >= s->n;
    const char *text = own ? gp_string(&w->own, sid - s->n) : gp_string(s, sid);
    size_t n = own ? gp_string_len(&w->own, sid - s->n) : gp_string_len(s, sid);
    struct gp_buf plain = {0};
    if (kind == GP_PF_NAMES && w->plain_name && n > 2 && text[0] == '_' && text[1] == 'Z') {
        w->plain_name(&plain, text, n);
        text = plain.n ? plain.data : "";
        n = plain.n;
    }
    struct gp_buf clean = {0};
    gp_utf8_repair(&clean, text, n);
    gp_put_bytes(b, GP_PF_TEXT, clean.n ? clean.data : "", clean.n);
    gp_buf_release(&clean);
    gp_buf_release(&plain);
}

uint32_t gp_pf_intern_new(struct gp_pf *w, enum gp_pf_kind kind, gp_sid sid)
{
    static const uint32_t tags[] = {GP_PF_INTERNED_NAME, GP_PF_INTERNED_KEY, GP_PF_INTERNED_CATEGORY,
                                    GP_PF_INTERNED_TEXT};
    if (sid >= w->known[kind].n) {
        size_t n = w->known[kind].n;
        GP_VEC_RESERVE(&w->known[kind], (size_t)sid + 1);
        w->known[kind].n = w->known[kind].cap;
        memset(w->known[kind].at + n, 0, (w->known[kind].n - n) * sizeof *w->known[kind].at);
    }
    struct gp_pf_known *k = &w->known[kind].at[sid];
    *k = (struct gp_pf_known){w->segment, ++w->iids[kind]};
    struct gp_buf entry = {0};
    gp_put_number(&entry, GP_PF_IID, k->iid);
    put_text(w, &entry, kind, sid);
    gp_put_bytes(&w->interned, tags[kind], entry.data, entry.n);
    gp_buf_release(&entry);
    return k->iid;
}

/* ---- args ---- */

/* One annotation: a key and a number, or an interned text. All of its numbers are short: there are few
 * keys. */
static char *put_text_arg(struct gp_pf *w, char *p, enum gp_pf_key key, gp_sid text)
{
    return gp_pf_arg(w, p, key, GP_PF_TEXT_IID, gp_pf_intern(w, GP_PF_TEXTS, text));
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
    return put_text_arg(w, p, key, *known);
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
    if (c->has & GP_HAS_REGS) p = gp_pf_arg(w, p, GP_PF_KEY_REGISTERS, GP_PF_UINT, c->registers);
    if (c->has & GP_HAS_SHARED) p = gp_pf_arg(w, p, GP_PF_KEY_SHARED, GP_PF_UINT, c->shared_bytes);
    if (c->extra) p = put_text_arg(w, p, GP_PF_KEY_LAUNCHED, c->extra);
    p = gp_pf_arg(w, p, GP_PF_KEY_CONFIG, GP_PF_UINT, config);
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
    static const struct {
        enum gp_column column;
        enum gp_pf_how how;
    } args[] = {
#define X(id, key, column, how) {column, how},
        GP_PF_ARGS(X)
#undef X
    };
    static const uint32_t tags[] = {0, GP_PF_UINT, GP_PF_INT, GP_PF_TEXT_IID};
    const struct gp_events *e = &w->t->events[table];
    if (table == GP_GPU) p = put_config(w, p, gp_get_config(e, row));
    for (int key = 0; key < GP_PF_KEY_COUNT; key++) {
        if (!args[key].how || !gp_events_column(e, args[key].column)) continue;
        const struct gp_column_info *info = &gp_column_infos[args[key].column];
        uint64_t v = gp_get_cell(e, args[key].column, row);
        if (v == info->dflt) continue;
        if (args[key].how == GP_PF_SIGNED && info->width == 4) v = (uint64_t)(int32_t)(uint32_t)v;
        if (args[key].how == GP_PF_SID) v = gp_pf_intern(w, GP_PF_TEXTS, (gp_sid)v);
        p = gp_pf_arg(w, p, (enum gp_pf_key)key, tags[args[key].how], v);
    }
    return p;
}
