/* Why compiled entries did not fit, and what the caches had. */
#include "formats/compile_log/compile_log_priv.h"

/* ---- recompiles ---- */

/* "n == 0        # return x * n  # ork/p.py:32 in f": without the comment. */
static struct gp_span_text guard_of(struct gp_span_text line)
{
    for (size_t i = 1; i + 1 < line.n; i++)
        if (line.p[i] == '#' && line.p[i - 1] == ' ' && line.p[i + 1] == ' ') {
            line.n = i;
            break;
        }
    return gp_text_trim(line);
}

/* The end of the comment: "...# ork/p.py:32 in f", a path that is cut on the left. */
static void place_of_comment(struct gp_clog_reader *rd, struct gp_span_text line, struct gp_clog_recompile *r)
{
    size_t hash = line.n;
    while (hash && line.p[hash - 1] != '#') hash--;
    if (!hash) return;
    struct gp_span_text t = gp_text_trim(gp_text_from(line, line.p + hash));
    const char *in = gp_text_find(t, " in ");
    if (!in) return;
    size_t colon = (size_t)(in - t.p);
    while (colon && t.p[colon - 1] != ':') colon--;
    if (!colon) return;
    int32_t number = 0;
    for (const char *p = t.p + colon; p < in && *p >= '0' && *p <= '9' && number < INT32_MAX / 10 - 1; p++)
        number = number * 10 + (*p - '0');
    r->file = gp_clog_text_sid(rd, (struct gp_span_text){t.p, colon - 1});
    r->line = number;
    r->function = gp_clog_text_sid(rd, gp_text_from(t, in + 4));
}

void gp_clog_add_recompile(struct gp_clog_reader *rd, uint32_t process, gp_sid compile_id,
                           struct gp_span_text reason, int32_t order, enum gp_clog_source source)
{
    struct gp_clog_recompile r = {
        .process = process, .compile_id = compile_id, .order = order, .line = -1, .source = (uint8_t)source};
    struct gp_span_text line, file, function;
    int32_t number, attempt;
    gp_text_line(&reason, &line);
    const char *colon = gp_text_find(line, ": ");
    if (!colon) return;
    r.against = gp_clog_compile_id(rd, line.p, (size_t)(colon - line.p), &attempt);
    struct gp_span_text rest = gp_text_from(line, colon + 2);
    r.reason = gp_clog_text_sid(rd, guard_of(rest));
    place_of_comment(rd, rest, &r);
    while (gp_text_line(&reason, &line)) {
        if (!gp_clog_frame_line(line, &file, &number, &function)) continue;
        r.file = gp_clog_text_sid(rd, file);
        r.line = number;
        r.function = gp_clog_text_sid(rd, function);
    }
    if (r.against && r.reason) GP_VEC_PUSH(&rd->log->recompiles, r);
}

/* A list of strings; or, where there is one reason only, its bare text. */
void gp_clog_read_recompiles(struct gp_clog_reader *rd)
{
    struct gp_span_text t = gp_clog_payload(rd);
    uint32_t process = gp_clog_state_of(rd)->process;
    if (!t.n || *t.p != '[') {
        gp_clog_add_recompile(rd, process, rd->context.compile_id, t, 0, GP_CLOG_FROM_ARTIFACT);
        return;
    }
    struct gp_json_value v;
    struct gp_buf text = {0};
    const char *p = t.p + 1;
    for (int32_t order = 0; gp_json_next(&p, t.p + t.n, NULL, &v); order++) {
        if (v.kind != GP_JSON_STRING && v.kind != GP_JSON_ODD_STRING) continue;
        text.n = 0;
        gp_json_decode(&text, v.p, v.n);
        gp_clog_add_recompile(rd, process, rd->context.compile_id, (struct gp_span_text){text.data, text.n},
                              order, GP_CLOG_FROM_ARTIFACT);
    }
    gp_buf_release(&text);
}

/* ---- caches ---- */

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

void gp_clog_read_cache(struct gp_clog_reader *rd, enum gp_clog_cache_layer layer,
                        enum gp_clog_cache_state state)
{
    struct gp_compile_log *log = rd->log;
    struct gp_span_text t = gp_clog_payload(rd);
    struct gp_json_value all, key, v;
    struct gp_clog_cache c = {.process = gp_clog_state_of(rd)->process,
                              .layer = (uint8_t)layer,
                              .state = (uint8_t)state,
                              .compile_id = rd->context.compile_id,
                              .taken_ns = -1,
                              .saved_ns = -1};
    const char *at = t.p;
    if (!t.n || !gp_json_value(at, t.p + t.n, &all, &at) || all.kind != GP_JSON_OBJECT) {
        gp_clog_issue(rd, GP_CLOG_PAYLOAD, rd->line->offset);
        return;
    }
    const char *p = all.p + 1;
    while (gp_json_next(&p, t.p + t.n, &key, &v)) {
        if (gp_clog_key_is(&key, "key")) c.key = gp_clog_sid(rd, &v);
        else if (gp_clog_key_is(&key, "time_taken_ns")) c.taken_ns = gp_clog_int(&v, -1);
        else if (gp_clog_key_is(&key, "time_saved_ns")) c.saved_ns = gp_clog_int(&v, -1);
        else if (gp_clog_key_is(&key, "time_saved_ms")) c.saved_ns = larger(c.saved_ns, gp_clog_ns(&v, 3));
        else if (gp_clog_key_is(&key, "cache_bypass_reason")) c.reason = gp_clog_sid(rd, &v);
    }
    GP_VEC_PUSH(&log->caches, c);
    if (layer != GP_CLOG_FX || !c.key) return;
    for (size_t i = log->graphs.n; i-- > 0;) { /* the look-up ends after the code is there */
        struct gp_clog_graph *g = &log->graphs.at[i];
        if (g->process != c.process) continue;
        if (!g->key && g->compile_id == c.compile_id) g->key = c.key;
        break;
    }
}
