/* Spans of compile time. Begins and ends pair in the order of the file: times may step back a little. */
#include "formats/compile_log/compile_log_priv.h"

enum { MOST_DEPTH = 1000, MOST_SPANS = 1 << 20 };
#define MOST_NS     ((int64_t)1 << 62) /* in the year 2116 */
#define MOST_DUR_NS ((int64_t)1 << 43) /* 2.4 hours: sums of all spans stay in range */

struct event {
    struct gp_json_value name, phase, compile_id;
    int64_t at_ns;
    bool backward;
};

static void read_args(struct event *e, const struct gp_json_value *v, const char *end)
{
    struct gp_json_value key, value;
    const char *p = gp_clog_inside(v, GP_JSON_OBJECT);
    while (p && gp_json_next(&p, end, &key, &value)) {
        if (gp_clog_key_is(&key, "compile_id")) e->compile_id = value;
        else if (gp_clog_key_is(&key, "is_backward")) e->backward = gp_clog_true(&value);
    }
}

static bool read_members(struct event *e, struct gp_span_text t)
{
    struct gp_json_value all, key, value;
    const char *at = t.p, *end = t.p + t.n;
    if (!gp_json_value(at, end, &all, &at) || all.kind != GP_JSON_OBJECT) return false;
    const char *p = all.p + 1;
    *e = (struct event){.at_ns = -1};
    while (gp_json_next(&p, end, &key, &value)) {
        if (gp_clog_key_is(&key, "name")) e->name = value;
        else if (gp_clog_key_is(&key, "ph")) e->phase = value;
        else if (gp_clog_key_is(&key, "ts")) e->at_ns = gp_clog_ns(&value, 0);
        else if (gp_clog_key_is(&key, "args")) read_args(e, &value, end);
    }
    return e->phase.n == 1 && e->name.kind == GP_JSON_STRING && e->at_ns >= 0 && e->at_ns < MOST_NS;
}

static void begin(struct gp_clog_reader *rd, struct gp_clog_state *st, const struct event *e)
{
    int32_t attempt;
    struct gp_clog_span s = {
        .process = st->process, .parent = GP_CLOG_NONE, .begin_ns = e->at_ns, .backward = e->backward};
    if (st->stack.n >= MOST_DEPTH || rd->log->spans.n >= MOST_SPANS) {
        gp_clog_issue(rd, GP_CLOG_LIMIT, rd->line->offset);
        return;
    }
    if (st->stack.n) s.parent = st->stack.at[st->stack.n - 1].span;
    s.name = gp_intern(&rd->log->strings, e->name.p, e->name.n);
    s.compile_id = gp_clog_compile_id(rd, e->compile_id.p, e->compile_id.n, &attempt);
    s.open = true;
    GP_VEC_PUSH(&st->stack, (struct gp_clog_open){(uint32_t)rd->log->spans.n, rd->line->offset});
    GP_VEC_PUSH(&rd->log->spans, s);
    rd->log->processes.at[st->process].has_events = true;
}

static void close_top(struct gp_compile_log *log, struct gp_clog_state *st, int64_t at_ns)
{
    struct gp_clog_span *s = &log->spans.at[st->stack.at[--st->stack.n].span];
    s->dur_ns = at_ns > s->begin_ns ? at_ns - s->begin_ns : 0;
    if (s->dur_ns > MOST_DUR_NS) s->dur_ns = MOST_DUR_NS;
    s->self_ns += s->dur_ns;
    if (s->parent != GP_CLOG_NONE) log->spans.at[s->parent].self_ns -= s->dur_ns;
}

static void end(struct gp_clog_reader *rd, struct gp_clog_state *st, const struct event *e)
{
    struct gp_compile_log *log = rd->log;
    gp_sid name = gp_intern(&log->strings, e->name.p, e->name.n);
    size_t depth = st->stack.n;
    while (depth && log->spans.at[st->stack.at[depth - 1].span].name != name) depth--;
    if (!depth) {
        gp_clog_issue(rd, GP_CLOG_UNMATCHED, rd->line->offset);
        return;
    }
    while (st->stack.n > depth) { /* they lost their ends */
        gp_clog_issue(rd, GP_CLOG_OPEN, st->stack.at[st->stack.n - 1].offset);
        close_top(log, st, e->at_ns);
    }
    log->spans.at[st->stack.at[depth - 1].span].open = false;
    close_top(log, st, e->at_ns);
}

void gp_clog_read_event(struct gp_clog_reader *rd, const struct gp_json_value *v)
{
    struct event e;
    struct gp_clog_state *st = gp_clog_state_of(rd);
    (void)v;
    if (!read_members(&e, gp_clog_payload(rd))) {
        gp_clog_issue(rd, GP_CLOG_PAYLOAD, rd->line->offset);
        return;
    }
    if (e.at_ns > st->last_ns) st->last_ns = e.at_ns;
    if (*e.phase.p == 'B') begin(rd, st, &e);
    else if (*e.phase.p == 'E') end(rd, st, &e);
    if (gp_text_find((struct gp_span_text){e.name.p, e.name.n}, "_template_"))
        rd->log->processes.at[st->process].templates = true;
}

void gp_clog_close_events(struct gp_clog_reader *rd)
{
    for (size_t i = 0; i < rd->states.n; i++) {
        struct gp_clog_state *st = &rd->states.at[i];
        while (st->stack.n) {
            gp_clog_issue(rd, GP_CLOG_OPEN, st->stack.at[st->stack.n - 1].offset);
            close_top(rd->log, st, st->last_ns);
        }
    }
}
