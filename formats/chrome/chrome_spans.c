#include <stdlib.h>
#include <string.h>
#include "formats/base/num.h"
#include "formats/base/str.h"
#include "formats/chrome/chrome_priv.h"
#include "formats/base/order.h"

enum { SEARCHED = 256 }; /* open spans that an E with a name is compared with: keeps hostile input linear */

/* ---- B and E ---- */

struct pairing {
    struct gp_trace *t;
    const struct gp_events *open;
    int64_t last_ns;
    GP_VEC(uint32_t) stack; /* rows of B events of the current track */
    struct gp_buf text;
};

/* The args of both ends in one object. */
static gp_sid join_extra(struct pairing *p, gp_sid a, gp_sid b)
{
    if (!a || !b) return a ? a : b;
    size_t n = gp_string_len(&p->t->strings, a);
    p->text.n = 0;
    gp_buf_put(&p->text, gp_trace_str(p->t, a), n - 1);
    gp_buf_putc(&p->text, ',');
    gp_buf_put(&p->text, gp_trace_str(p->t, b) + 1, gp_string_len(&p->t->strings, b) - 1);
    return gp_trace_intern(p->t, p->text.data, p->text.n);
}

static void add_span(struct pairing *p, uint32_t begin, int64_t end_ns, gp_sid end_extra)
{
    const struct gp_events *o = p->open;
    enum gp_table table = (enum gp_table)gp_get_ret(o, begin);
    if (!(p->t->need >> table & 1)) return;
    struct gp_events *e = &p->t->events[table];
    int64_t start_ns = o->start_ns[begin], dur_ns = 0;
    if (end_ns > start_ns && !__builtin_sub_overflow(end_ns, start_ns, &dur_ns)) {
    }
    size_t row = gp_events_add(e, start_ns, dur_ns, o->track[begin], o->name[begin]);
    if (table == GP_GPU) {
        gp_set_config(e, row, gp_get_config(o, begin));
        gp_set_captured(e, row, gp_get_captured(o, begin));
    }
    gp_set_cat(e, row, gp_get_cat(o, begin));
    gp_set_corr(e, row, gp_get_corr(o, begin));
    gp_set_ext(e, row, gp_get_ext(o, begin));
    gp_set_phase(e, row, gp_get_phase(o, begin) & GP_PHASE_OLD_EXT);
    gp_set_bytes(e, row, gp_get_bytes(o, begin));
    gp_set_graph(e, row, gp_get_graph(o, begin));
    gp_set_node(e, row, gp_get_node(o, begin));
    gp_set_seq(e, row, gp_get_seq(o, begin));
    gp_set_event(e, row, gp_get_event(o, begin));
    gp_set_source(e, row, gp_get_source(o, begin));
    gp_set_recfn(e, row, gp_get_recfn(o, begin));
    gp_set_py_id(e, row, gp_get_py_id(o, begin));
    gp_set_py_parent(e, row, gp_get_py_parent(o, begin));
    gp_set_py_module(e, row, gp_get_py_module(o, begin));
    gp_set_stack(e, row, gp_get_stack(o, begin));
    gp_set_waiter(e, row, gp_get_waiter(o, begin));
    gp_set_id(e, row, gp_get_id(o, begin));
    gp_set_id_text(e, row, gp_get_id_text(o, begin));
    gp_set_extra(e, row, join_extra(p, gp_get_extra(o, begin), end_extra));
    if (o->place) gp_set_place(e, row, o->place[begin]);
}

static void end_span(struct pairing *p, uint32_t end)
{
    const struct gp_events *o = p->open;
    size_t low = p->stack.n > SEARCHED ? p->stack.n - SEARCHED : 0;
    for (size_t i = p->stack.n; i-- > low;) {
        uint32_t begin = p->stack.at[i];
        if (o->name[end] && o->name[end] != o->name[begin]) continue;
        memmove(&p->stack.at[i], &p->stack.at[i + 1], (p->stack.n - i - 1) * sizeof *p->stack.at);
        p->stack.n--;
        add_span(p, begin, o->start_ns[end], gp_get_extra(o, end));
        return;
    }
    gp_trace_issue(p->t, GP_Q_UNMATCHED_END, 1, (int64_t)gp_get_addr(o, end));
}

static void end_track(struct pairing *p)
{
    for (size_t i = 0; i < p->stack.n; i++) {
        uint32_t begin = p->stack.at[i];
        gp_trace_issue(p->t, GP_Q_UNMATCHED_BEGIN, 1, (int64_t)gp_get_addr(p->open, begin));
        add_span(p, begin, p->last_ns, 0);
    }
    p->stack.n = 0;
}

struct key {
    int64_t start_ns;
    uint32_t track, row;
};

GP_COMPARE(compare, struct key, GP_UP(track) GP_UP(start_ns) GP_UP(row))

void gp_chrome_pair_spans(struct gp_trace *t, const struct gp_events *open, int64_t last_ns)
{
    struct pairing p = {.t = t, .open = open, .last_ns = last_ns};
    if (!open->n) return;
    struct key *order = gp_alloc(open->n * sizeof *order);
    for (size_t i = 0; i < open->n; i++)
        order[i] = (struct key){open->start_ns[i], open->track[i], (uint32_t)i};
    qsort(order, open->n, sizeof *order, compare);
    for (size_t i = 0; i < open->n; i++) {
        if (i && order[i].track != order[i - 1].track) end_track(&p);
        if ((char)gp_get_phase(open, order[i].row) == 'B') GP_VEC_PUSH(&p.stack, order[i].row);
        else end_span(&p, order[i].row);
    }
    end_track(&p);
    free(order);
    GP_VEC_FREE(&p.stack);
    gp_buf_release(&p.text);
}

/* ---- the outer object ---- */

struct device_field {
    const char *key;
    size_t offset;
    bool wide; /* int64_t, otherwise int32_t */
};

#define NARROW(key, member)                                                                                  \
    {                                                                                                        \
        key, offsetof(struct gp_device, member), false                                                       \
    }
#define WIDE(key, member)                                                                                    \
    {                                                                                                        \
        key, offsetof(struct gp_device, member), true                                                        \
    }

static const struct device_field device_fields[] = {
    WIDE("id", id),
    NARROW("computeMajor", cc_major),
    NARROW("computeMinor", cc_minor),
    NARROW("numSms", sms),
    NARROW("warpSize", warp_size),
    NARROW("maxThreadsPerMultiprocessor", max_threads_per_sm),
    NARROW("maxThreadsPerBlock", max_threads_per_block),
    WIDE("regsPerMultiprocessor", regs_per_sm),
    WIDE("regsPerBlock", regs_per_block),
    WIDE("sharedMemPerMultiprocessor", shared_per_sm),
    WIDE("maxSharedMemoryPerMultiProcessor", shared_per_sm),
    WIDE("sharedMemPerBlock", shared_per_block),
    WIDE("sharedMemPerBlockOptin", shared_per_block_optin),
    WIDE("totalGlobalMem", memory_bytes),
    /* Kineto has no names for these; chrome_write.c writes them */
    WIDE("l2CacheSize", l2_bytes),
    WIDE("coreClockKHz", core_clock_khz),
    WIDE("memoryClockKHz", memory_clock_khz),
    WIDE("memoryBandwidthBytesPerSecond", memory_bandwidth_bps),
};

static void set_device_field(struct gp_device *d, const struct gp_json_value *key, int64_t v)
{
    GP_EACH_OF(const struct device_field, f, device_fields, GP_COUNT(device_fields)) {
        if (strlen(f->key) != key->n || memcmp(f->key, key->p, key->n)) continue;
        if (f->wide) memcpy((char *)d + f->offset, &v, sizeof v);
        else if (v == (int32_t)v) memcpy((char *)d + f->offset, &(int32_t){(int32_t)v}, sizeof(int32_t));
    }
}

static void take_device(struct gp_trace *t, const struct gp_json_value *object, const char *end,
                        struct gp_buf *text)
{
    struct gp_device d = gp_device_unknown();
    const char *p = object->p + 1;
    struct gp_json_value key, v;
    while (gp_json_next(&p, end, &key, &v)) {
        int64_t number;
        if (v.kind == GP_JSON_NUMBER && gp_i64_from_text(v.p, v.n, &number)) {
            set_device_field(&d, &key, number);
        } else if (gp_is(key.p, key.n, "name") && v.kind <= GP_JSON_ODD_STRING) {
            text->n = 0;
            gp_json_decode(text, v.p, v.n);
            d.name = gp_trace_intern(t, text->data, text->n);
        }
    }
    d.extra = gp_trace_intern(t, object->p, object->n);
    GP_VEC_PUSH(&t->devices, d);
}

static bool take_devices(struct gp_trace *t, const char *p, const char *end, struct gp_buf *text)
{
    struct gp_json_value v;
    if (*p++ != '[') return false;
    const char *q = p;
    while (gp_json_next(&q, end, NULL, &v))
        if (v.kind != GP_JSON_OBJECT) return false;
    while (gp_json_next(&p, end, NULL, &v)) take_device(t, &v, end, text);
    return true;
}

static void take_distributed(struct gp_trace *t, const char *p, const char *end)
{
    struct gp_json_value key, v;
    int64_t number;
    if (*p++ != '{') return;
    while (gp_json_next(&p, end, &key, &v)) {
        if (!gp_i64_from_text(v.p, v.n, &number) || number < 0 || number > INT32_MAX) continue;
        if (gp_is(key.p, key.n, "rank")) t->rank = (int32_t)number;
        if (gp_is(key.p, key.n, "world_size")) t->world_size = (int32_t)number;
    }
}

void gp_chrome_take_meta(struct gp_trace *t, const char *key, const char *value, size_t n)
{
    struct gp_buf padded = {0}, text = {0};
    char *p = gp_buf_reserve(&padded, n + GP_JSON_PAD);
    memcpy(p, value, n);
    memset(p + n, 0, GP_JSON_PAD);
    if (!strcmp(key, "distributedInfo")) take_distributed(t, p, p + n);
    if (strcmp(key, "deviceProperties") || !take_devices(t, p, p + n, &text) || !t->devices.n)
        gp_trace_set_meta(t, key, value, n);
    gp_buf_release(&padded);
    gp_buf_release(&text);
}
