/* NVTX: ranges, marks, names of threads and domains. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/json_write.h"
#include "formats/nsys/nsys_priv.h"
#include "formats/model/nvtx_op.h"

enum { START, END, TYPE, TEXT, TEXT_ID, THREAD, DOMAIN, JSON, JSON_ID, VALUES };

/* The payload: one of these. */
#define PAYLOADS "int64Value uint64Value int32Value uint32Value doubleValue floatValue"
enum { INTEGERS = 4, NUMBERS = 6 };

/* An event of a domain that gets its name when all are read, or a range that was still open then. */
struct later {
    size_t row, push; /* push: index of a push, SIZE_MAX: none */
    uint64_t domain;
    enum gp_table table;
    bool open;
};

struct reading {
    struct gp_nsys *n;
    struct gp_sqlite_scan scan;
    struct gp_buf text;
    GP_VEC(struct later) later;
    bool keep_pushes;
};

static gp_sid text_of(struct reading *r)
{
    size_t length;
    const char *text = gp_sqlite_text(&r->scan, TEXT, &length);
    if (text && length) return gp_trace_intern(r->n->t, text, length);
    return gp_nsys_string(r->n, gp_sqlite_int(&r->scan, TEXT_ID, -1));
}

static void put_member(struct gp_buf *b, const char *member, size_t n)
{
    if (!n) return;
    gp_buf_putc(b, b->n ? ',' : '{');
    gp_buf_put(b, member, n);
}

static void put_text(struct gp_buf *b, const char *member) { put_member(b, member, strlen(member)); }

/* The payload as members of an object: text of JSON, or a number. */
static void put_payload(struct reading *r)
{
    size_t length = 0, members_n = 0;
    const char *json = gp_sqlite_text(&r->scan, JSON, &length);
    if (!json) {
        const uint32_t *at = gp_map_get(&r->n->texts.at, (uint64_t)gp_sqlite_int(&r->scan, JSON_ID, -1));
        if (at) json = r->n->texts.all.at[*at].p, length = r->n->texts.all.at[*at].n;
    }
    const char *members = json ? gp_json_members(json, length, &members_n) : NULL;
    if (members) {
        put_member(&r->text, members, members_n);
        return;
    }
    for (int i = 0; i < NUMBERS; i++) {
        int64_t v;
        double d;
        char number[48];
        int n = 0;
        if (i < INTEGERS && gp_sqlite_get(&r->scan, VALUES + i, &v))
            n = snprintf(number, sizeof number, "\"payload\":%" PRId64, v);
        else if (i >= INTEGERS && gp_sqlite_double(&r->scan, VALUES + i, &d) && d > -1e15 && d < 1e15)
            n = snprintf(number, sizeof number, "\"payload\":%.17g", d);
        put_member(&r->text, number, (size_t)n);
        if (n) return;
    }
}

static gp_sid extra_of(struct reading *r, bool start_end, bool open)
{
    r->text.n = 0;
    put_payload(r);
    if (start_end) put_text(&r->text, "\"nvtx\":\"start/end\"");
    if (open) put_text(&r->text, "\"open\":true");
    if (!r->text.n) return 0;
    gp_buf_putc(&r->text, '}');
    return gp_trace_intern(r->n->t, r->text.data, r->text.n);
}

/* ---- events ---- */

/* The name of a range without PyTorch's suffix. *EXTRA: the shapes of the inputs of an
 * operator. */
static gp_sid plain_name(struct reading *r, gp_sid name, struct gp_nvtx_op *op, gp_sid *extra)
{
    struct gp_trace *t = r->n->t;
    if (!gp_nvtx_op(op, gp_trace_str(t, name), gp_string_len(&t->strings, name))) return name;
    if (op->is_op && op->sizes && gp_needs_extra(t->need, GP_OP)) {
        r->text.n = 0;
        gp_buf_puts(&r->text, "{\"Input Dims\":");
        gp_buf_put(&r->text, op->sizes, op->sizes_n);
        gp_buf_putc(&r->text, '}');
        *extra = gp_trace_intern(t, r->text.data, r->text.n);
    }
    r->text.n = 0;
    gp_buf_put(&r->text, gp_trace_str(t, name), op->name_n);
    return gp_trace_intern(t, r->text.data, r->text.n);
}

static void add_range(struct reading *r, bool start_end)
{
    struct gp_nsys *n = r->n;
    struct gp_nvtx_op op = {.is_op = false};
    gp_sid extra = 0;
    int64_t start, dur = 0, end, thread = gp_sqlite_int(&r->scan, THREAD, 0);
    struct later later = {.table = GP_RANGE, .push = SIZE_MAX, .row = SIZE_MAX};
    later.open = !gp_sqlite_get(&r->scan, END, &end) || end < 0;
    if (!gp_nsys_span(n, &r->scan, START, later.open ? START : END, &start, &dur)) return;
    later.domain = (uint64_t)gp_sqlite_int(&r->scan, DOMAIN, 0);
    if (later.domain) later.domain = gp_nsys_key(GP_NSYS_PROCESS(thread), later.domain);
    uint32_t track = gp_nsys_thread(n, thread);
    gp_sid name = text_of(r);
    if (!later.domain) name = plain_name(r, name, &op, &extra);
    if (op.is_op) later.table = GP_OP;
    if (r->keep_pushes && !start_end) {
        later.push = n->pushes.n;
        GP_VEC_PUSH(&n->pushes,
                    ((struct gp_nsys_push){start, later.open ? INT64_MAX : start + dur, track, name}));
    }
    if (n->t->need & GP_NEED(later.table)) {
        struct gp_events *e = &n->t->events[later.table];
        later.row = gp_events_add(e, start, dur, track, name);
        if (op.is_op) gp_set_seq(e, later.row, op.seq);
        if (extra) gp_set_extra(e, later.row, extra);
        else if (gp_needs_extra(n->t->need, later.table))
            gp_set_extra(e, later.row, extra_of(r, start_end, later.open));
    }
    if (later.domain || later.open) GP_VEC_PUSH(&r->later, later);
}

static void add_mark(struct reading *r)
{
    struct gp_nsys *n = r->n;
    int64_t start, dur, thread = gp_sqlite_int(&r->scan, THREAD, 0);
    if (!(n->t->need & GP_NEED(GP_MARK)) || !gp_nsys_span(n, &r->scan, START, START, &start, &dur)) return;
    struct gp_events *e = &n->t->events[GP_MARK];
    struct later later = {.table = GP_MARK, .push = SIZE_MAX};
    later.domain = (uint64_t)gp_sqlite_int(&r->scan, DOMAIN, 0);
    later.row = gp_events_add(e, start, 0, gp_nsys_thread(n, thread), text_of(r));
    if (gp_needs_extra(n->t->need, GP_MARK)) gp_set_extra(e, later.row, extra_of(r, false, false));
    if (!later.domain) return;
    later.domain = gp_nsys_key(GP_NSYS_PROCESS(thread), later.domain);
    GP_VEC_PUSH(&r->later, later);
}

static void name_domain(struct reading *r)
{
    uint64_t process = GP_NSYS_PROCESS(gp_sqlite_int(&r->scan, THREAD, 0));
    int64_t domain;
    if (!gp_sqlite_get(&r->scan, DOMAIN, &domain)) return;
    gp_map_put(&r->n->domains, gp_nsys_key(process, (uint64_t)domain), text_of(r));
}

static void name_thread(struct reading *r)
{
    int64_t thread;
    if (!gp_sqlite_get(&r->scan, THREAD, &thread)) return;
    uint32_t track = gp_nsys_thread(r->n, thread);
    gp_sid name = text_of(r);
    if (name) r->n->t->tracks.at[track].name = name;
}

static void add_event(struct reading *r)
{
    const uint32_t *type =
        gp_map_get(&r->n->event_types, (uint64_t)gp_sqlite_int(&r->scan, TYPE, GP_NSYS_PUSH_POP));
    switch (type ? *type : 0) {
    case GP_NSYS_MARK: add_mark(r); break;
    case GP_NSYS_PUSH_POP: add_range(r, false); break;
    case GP_NSYS_START_END: add_range(r, true); break;
    case GP_NSYS_DOMAIN: name_domain(r); break;
    case GP_NSYS_THREAD_NAME: name_thread(r); break;
    default: /* categories, and types of later versions */ break;
    }
}

/* ---- at the end ---- */

static gp_sid qualified(struct reading *r, uint64_t domain, gp_sid name)
{
    const uint32_t *of = domain ? gp_map_get(&r->n->domains, domain) : NULL;
    if (!of || !*of) return name;
    struct gp_trace *t = r->n->t;
    r->text.n = 0;
    gp_buf_put(&r->text, gp_trace_str(t, *of), gp_string_len(&t->strings, *of));
    gp_buf_putc(&r->text, ':');
    gp_buf_put(&r->text, gp_trace_str(t, name), gp_string_len(&t->strings, name));
    return gp_trace_intern(t, r->text.data, r->text.n);
}

static void finish(struct reading *r)
{
    struct gp_nsys *n = r->n;
    GP_EACH(const struct later, later, r->later) {
        struct gp_events *e = &n->t->events[later->table];
        if (later->push != SIZE_MAX)
            n->pushes.at[later->push].name = qualified(r, later->domain, n->pushes.at[later->push].name);
        if (later->row == SIZE_MAX) continue;
        e->name[later->row] = qualified(r, later->domain, e->name[later->row]);
        int64_t left = n->last_ns - e->start_ns[later->row];
        if (later->open && left > 0 && left <= GP_DURATION_MOST) e->dur_ns[later->row] = left;
    }
}

void gp_nsys_read_ranges(struct gp_nsys *n)
{
    struct reading r = {.n = n};
    r.keep_pushes = n->t->need & GP_NEED(GP_GPU) && gp_sqlite_has(n->db, "CUDA_GRAPH_NODE_EVENTS");
    if (!r.keep_pushes && !(n->t->need & (GP_NEED(GP_RANGE) | GP_NEED(GP_OP) | GP_NEED(GP_MARK)))) return;
    gp_sqlite_begin(n->db, &r.scan, "NVTX_EVENTS",
                    "start end eventType text textId globalTid domainId jsonText jsonTextId " PAYLOADS);
    while (gp_sqlite_next(&r.scan)) add_event(&r);
    finish(&r);
    GP_VEC_FREE(&r.later);
    gp_buf_release(&r.text);
}
