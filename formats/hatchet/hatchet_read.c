/* Proton's JSON: a tree of frames with metrics, and a table of devices. */
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/input.h"
#include "formats/base/json_scan.h"
#include "formats/base/num.h"
#include "formats/base/str.h"
#include "formats/model/format.h"

enum {
    MOST_BYTES = 1 << 28,
    MOST_DEPTH = 400, /* of the tree */
    /* Nodes say how many kernels they stand for, so that a few bytes could stand for any number. All of them
     * become events up to so many, as a short job has, and one more per BYTES_PER_EVENT of text: memory is in
     * proportion to the text. */
    EVENTS = 1 << 16,
    BYTES_PER_EVENT = 16,
};

struct node {
    uint32_t first_child, next; /* 0: none */
    gp_sid name;
    int64_t time_ns, count;
    int64_t device;
    int64_t count_at; /* byte of the count */
};

struct reading {
    struct gp_trace *t;
    GP_VEC(struct node) nodes; /* 0 is above the roots */
    struct gp_buf text;
    const char *begin, *end;
    const char *fault;
    uint32_t thread;
    int64_t now_ns;
    int64_t most; /* events of one node; kernels of larger counts are joined to longer ones */
    uint64_t corr;
};

static bool sniff(const uint8_t *head, size_t n)
{
    enum { PAD = GP_JSON_PAD };
    struct gp_buf b = {0};
    gp_buf_put(&b, head, n);
    memset(gp_buf_reserve(&b, PAD), 0, PAD);
    const char *p = gp_json_space(b.data);
    bool is = *p == '[' && *gp_json_space(p + 1) == '{' && !memchr(b.data, 0, n);
    if (is) {
        const char *frame = strstr(p, "\"frame\""), *below = strstr(p, "\"children\"");
        is = (frame || below) && !strstr(p, "\"ph\"") && (strstr(p, "\"metrics\"") || below);
    }
    gp_buf_release(&b);
    return is;
}

/* ---- the text as nodes ---- */

static bool fail_at(struct reading *r, const char *at)
{
    if (!r->fault) r->fault = at < r->end ? at : r->end;
    return false;
}

static gp_sid text_of(struct reading *r, const struct gp_json_value *v)
{
    r->text.n = 0;
    if (!gp_json_is_string(v)) return 0;
    if (gp_json_decode(&r->text, v->p, v->n)) gp_trace_issue(r->t, GP_Q_REPAIRED_TEXT, 1, v->p - r->begin);
    return gp_trace_intern(r->t, r->text.n ? r->text.data : "", r->text.n);
}

static bool number_of(struct reading *r, const struct gp_json_value *v, int64_t *to)
{
    double d;
    if (gp_i64_from_text(v->p, v->n, to) && *to >= 0 && *to <= GP_DURATION_MOST) return true;
    if (v->kind == GP_JSON_NUMBER && gp_double_from_text(v->p, v->n, &d) && d >= 0 &&
        d <= (double)GP_DURATION_MOST) {
        *to = (int64_t)(d + 0.5);
        return true;
    }
    *to = 0;
    gp_trace_issue(r->t, GP_Q_BAD_VALUE, 1, v->p - r->begin);
    return false;
}

static void read_frame(struct reading *r, struct node *n, const struct gp_json_value *frame)
{
    struct gp_json_value key, v;
    const char *at = frame->p + 1;
    while (gp_json_next(&at, r->end, &key, &v))
        if (gp_is(key.p, key.n, "name")) n->name = text_of(r, &v);
}

static void read_metrics(struct reading *r, struct node *n, const struct gp_json_value *metrics)
{
    struct gp_json_value key, v;
    const char *at = metrics->p + 1;
    while (gp_json_next(&at, r->end, &key, &v)) {
        if (gp_is(key.p, key.n, "time (ns)")) number_of(r, &v, &n->time_ns);
        else if (gp_is(key.p, key.n, "count")) number_of(r, &v, &n->count), n->count_at = v.p - r->begin;
        else if (gp_is(key.p, key.n, "device_id")) gp_i64_from_text(v.p, v.n, &n->device);
    }
}

static const char *read_node(struct reading *r, const char *p, uint32_t parent, int depth);

/* P: after '['. The position after ']', NULL at a fault. */
static const char *read_children(struct reading *r, const char *p, uint32_t parent, int depth)
{
    for (;;) {
        p = gp_json_space(p);
        if (*p == ']') return p + 1;
        if (*p == ',') {
            p++;
            continue;
        }
        if (*p != '{' || depth >= MOST_DEPTH) {
            fail_at(r, p);
            return NULL;
        }
        p = read_node(r, p, parent, depth);
        if (!p) return NULL;
    }
}

/* The member KEY of node AT, at P. */
static const char *read_member(struct reading *r, const char *p, const struct gp_json_value *key, uint32_t at,
                               int depth)
{
    struct gp_json_value v;
    const char *fault = p;
    p = gp_json_space(p);
    if (gp_is(key->p, key->n, "children") && *p == '[') return read_children(r, p + 1, at, depth + 1);
    const char *after = gp_json_value(p, r->end, &v, &fault);
    if (!after) {
        fail_at(r, fault);
        return NULL;
    }
    struct node n = r->nodes.at[at];
    if (gp_is(key->p, key->n, "frame") && v.kind == GP_JSON_OBJECT) read_frame(r, &n, &v);
    if (gp_is(key->p, key->n, "metrics") && v.kind == GP_JSON_OBJECT) read_metrics(r, &n, &v);
    r->nodes.at[at] = n;
    return after;
}

/* P: at '{'. */
static const char *read_node(struct reading *r, const char *p, uint32_t parent, int depth)
{
    uint32_t at = (uint32_t)r->nodes.n;
    GP_VEC_PUSH(&r->nodes, ((struct node){.next = r->nodes.at[parent].first_child, .device = -1}));
    r->nodes.at[parent].first_child = at;
    r->t->input.events++;
    p++;
    for (;;) {
        struct gp_json_value key;
        const char *fault = p;
        p = gp_json_space(p);
        if (*p == '}') return p + 1;
        if (*p == ',') {
            p++;
            continue;
        }
        const char *after = *p == '"' ? gp_json_value(p, r->end, &key, &fault) : NULL;
        if (after) after = gp_json_space(after);
        if (!after || *after != ':') {
            fail_at(r, after ? after : p);
            return NULL;
        }
        p = read_member(r, after + 1, &key, at, depth);
        if (!p) return NULL;
    }
}

/* ---- nodes as a trace ---- */

static uint32_t stream_of(struct reading *r, int64_t device)
{
    struct gp_track k = gp_track_unknown();
    struct gp_process p = gp_process_unknown();
    k.kind = GP_TRACK_STREAM;
    k.process = gp_trace_process(r->t, &p);
    k.device = device < 0 ? 0 : device;
    k.stream = k.tid = 0;
    return gp_trace_track(r->t, &k);
}

static int64_t events_of(const struct node *n, int64_t most)
{
    int64_t count = n->count < 1 ? 1 : n->count;
    return n->time_ns <= 0 ? 0 : count < most ? count : most;
}

/* The largest number of events per node with which all nodes keep to the limit: small counts stay what they
 * are. At least 1. */
static int64_t most_per_node(const struct reading *r, size_t bytes)
{
    int64_t limit = EVENTS + (int64_t)(bytes / BYTES_PER_EVENT), low = 1, high = limit;
    while (low < high) {
        int64_t middle = low + (high - low + 1) / 2, events = 0;
        for (size_t i = 0; i < r->nodes.n && events <= limit; i++)
            events += events_of(&r->nodes.at[i], middle);
        if (events <= limit) low = middle;
        else high = middle - 1;
    }
    return low;
}

/* COUNT kernels that take TIME_NS together, each launched when it begins. */
static void add_kernels(struct reading *r, const struct node *n)
{
    struct gp_events *gpu = &r->t->events[GP_GPU], *api = &r->t->events[GP_API];
    int64_t count = events_of(n, r->most);
    if (count < n->count) gp_trace_issue(r->t, GP_Q_LIMIT, (uint64_t)(n->count - count), n->count_at);
    struct gp_config c = {.name = n->name, .kind = GP_KERNEL};
    uint32_t stream = stream_of(r, n->device), config = gp_trace_config(r->t, &c);
    gp_sid launch = gp_intern_cstr(&r->t->strings, "cudaLaunchKernel");
    for (int64_t i = 0; i < count; i++) {
        int64_t dur = n->time_ns / count + (i < n->time_ns % count);
        if (r->t->need & GP_NEED(GP_API))
            gp_set_corr(api, gp_events_add(api, r->now_ns, 0, r->thread, launch), ++r->corr);
        if (r->t->need & GP_NEED(GP_GPU)) {
            size_t row = gp_events_add(gpu, r->now_ns, dur, stream, n->name);
            gp_events_materialise(gpu, GP_COL_CONFIG);
            gpu->config[row] = config;
            gp_set_corr(gpu, row, r->corr);
        }
        r->now_ns += dur;
    }
}

/* A node with time and nothing below it is a kernel; a node with children is a scope, whose own time is that
 * of a kernel of its name. The list of children is reversed. */
static void add_node(struct reading *r, uint32_t at, int depth)
{
    const struct node n = r->nodes.at[at];
    struct gp_events *ranges = &r->t->events[GP_RANGE];
    int64_t begin_ns = r->now_ns;
    bool above = !at || (depth == 1 && !strcmp(gp_trace_str(r->t, n.name), "ROOT"));
    bool scope = !above && n.first_child && r->t->need & GP_NEED(GP_RANGE);
    /* before spans inside it: of spans that are equally long the first is the outer one */
    size_t row = scope ? gp_events_add(ranges, begin_ns, 0, r->thread, n.name) : 0;
    GP_VEC(uint32_t) children = {0};
    if (n.time_ns > 0 && r->now_ns <= GP_DURATION_MOST - n.time_ns) add_kernels(r, &n);
    for (uint32_t c = n.first_child; c; c = r->nodes.at[c].next) GP_VEC_PUSH(&children, c);
    while (children.n) add_node(r, children.at[--children.n], depth + 1);
    GP_VEC_FREE(&children);
    if (scope) ranges->dur_ns[row] = r->now_ns - begin_ns;
}

static void make_thread(struct reading *r)
{
    struct gp_track k = gp_track_unknown();
    struct gp_process p = gp_process_unknown();
    k.kind = GP_TRACK_THREAD;
    k.process = gp_trace_process(r->t, &p);
    k.tid = 1;
    r->thread = gp_trace_track(r->t, &k);
}

static int read_hatchet(struct gp_trace *t, struct gp_input *in, const struct gp_read_opts *opts,
                        struct gp_err *err)
{
    static const char made_up[] = "\"made up\"";
    struct reading r = {.t = t};
    struct gp_buf text = {0};
    (void)opts;
    if (gp_input_rest(in, MOST_BYTES, &text, err)) {
        gp_buf_release(&text);
        return -1;
    }
    size_t n = text.n;
    memset(gp_buf_reserve(&text, GP_JSON_PAD), 0, GP_JSON_PAD);
    r.begin = text.data;
    r.end = text.data + n;
    t->input.bytes = n;
    GP_VEC_PUSH(&r.nodes, ((struct node){0}));
    const char *p = gp_json_space(r.begin);
    read_children(&r, p + 1, 0, 0);
    if (r.fault) gp_trace_issue(t, r.fault >= r.end ? GP_Q_TRUNCATED : GP_Q_SYNTAX, 1, r.fault - r.begin);
    r.most = most_per_node(&r, n);
    make_thread(&r);
    gp_trace_set_meta(t, "timeline", made_up, strlen(made_up));
    add_node(&r, 0, 0);
    GP_VEC_FREE(&r.nodes);
    gp_buf_release(&r.text);
    gp_buf_release(&text);
    return 0;
}

const struct gp_reader gp_reader_hatchet = {"hatchet", "Proton's hatchet JSON", sniff, read_hatchet, {NULL}};
