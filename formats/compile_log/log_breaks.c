/* Graph breaks and failed compiles, as all versions phrase them. */
#include "formats/base/num.h"
#include "formats/compile_log/compile_log_priv.h"

enum { KIND_MAX = 200 };

/* Where user code was, from the tracebacks below a reason. */
struct place {
    struct gp_span_text file, function, code;
    int32_t line;
};

/* ---- one reason: the kind on a line of its own, then the explanation ---- */

/* The number of a link ".../gb/gb0059.html"; -1. */
static int32_t number_of(struct gp_span_text t)
{
    const char *p = gp_text_find(t, "/gb/gb");
    uint64_t v;
    size_t n = 0;
    if (!p) return -1;
    p += 6;
    while (p + n < t.p + t.n && p[n] >= '0' && p[n] <= '9' && n < 6) n++;
    return gp_u64_from_text(p, n, &v) ? (int32_t)v : -1;
}

/* What stands behind WORD on its line. */
static struct gp_span_text behind(struct gp_span_text t, const char *word)
{
    const char *p = gp_text_find(t, word);
    struct gp_span_text line = {0}, rest;
    if (!p) return line;
    rest = gp_text_from(t, p + strlen(word));
    gp_text_line(&rest, &line);
    return gp_text_trim(line);
}

/* The hint on the way out: the last word of the log where it has several is a request to report it. */
static struct gp_span_text hint_of(struct gp_span_text t)
{
    struct gp_span_text line, best = {0};
    while (gp_text_line(&t, &line)) {
        struct gp_span_text s = gp_text_trim(line);
        if (!gp_text_begins(s, "Hint: ")) continue;
        s = gp_text_from(s, s.p + 6);
        if (!best.n || gp_text_begins(best, "This graph break") || gp_text_begins(best, "It may be possible"))
            best = s;
    }
    return best;
}

/* The line before "  Explanation:", or the first that is not a sentence about tracing. */
static struct gp_span_text kind_of(struct gp_span_text t)
{
    struct gp_span_text line, last = {0}, first = {0};
    bool explained = gp_text_find(t, "\n  Explanation:") != NULL;
    while (gp_text_line(&t, &line)) {
        struct gp_span_text s = gp_text_trim(line);
        if (explained && gp_text_begins(s, "Explanation:")) return last;
        if (!s.n) continue;
        if (gp_text_begins(s, "Traceback") || gp_text_begins(s, "User code traceback") ||
            gp_text_begins(s, "File \"") || gp_text_begins(s, "from user code"))
            break;
        last = s;
        if (!first.n) first = s;
    }
    if (gp_text_begins(first, "Unsupported: ")) first = gp_text_from(first, first.p + 13);
    if (first.n > KIND_MAX) first.n = KIND_MAX;
    return first;
}

static void fill_reason(struct gp_clog_reader *rd, struct gp_clog_break *b, struct gp_span_text t)
{
    b->number = number_of(t);
    b->kind = gp_clog_text_sid(rd, kind_of(t));
    b->explanation = gp_clog_text_sid(rd, behind(t, "\n  Explanation: "));
    b->context = gp_clog_text_sid(rd, behind(t, "\n  Developer debug context: "));
    b->hint = gp_clog_text_sid(rd, hint_of(t));
}

/* ---- places ---- */

/* "Graph break in user code at FILE:LINE" */
static bool place_of_head(struct gp_span_text head, struct place *at)
{
    static const char words[] = "Graph break in user code at ";
    uint64_t v;
    if (!gp_text_begins(head, words)) return false;
    struct gp_span_text s = gp_text_trim(gp_text_from(head, head.p + sizeof words - 1));
    size_t colon = s.n;
    while (colon && s.p[colon - 1] != ':') colon--;
    if (!colon || !gp_u64_from_text(s.p + colon, s.n - colon, &v) || v > INT32_MAX) return false;
    *at = (struct place){.file = {s.p, colon - 1}, .line = (int32_t)v};
    return true;
}

/* The innermost frame of the first traceback of user code, and the innermost outside libraries. */
static void place_of_frames(struct gp_span_text t, struct place *innermost, struct place *own)
{
    const char *p = gp_text_find(t, "User code traceback:");
    if (!p) p = gp_text_find(t, "from user code");
    struct gp_span_text line, rest = p ? gp_text_from(t, p) : (struct gp_span_text){0};
    struct place at = {0};
    bool in_frame = false;
    gp_text_line(&rest, &line);
    while (gp_text_line(&rest, &line)) {
        struct gp_span_text s = gp_text_trim(line);
        if (gp_text_begins(s, "Traceback") || (!s.n && in_frame)) break;
        if (gp_clog_frame_line(line, &at.file, &at.line, &at.function)) {
            in_frame = true;
            at.code = (struct gp_span_text){0};
            *innermost = at;
            if (!gp_clog_is_library(at.file)) *own = at;
        } else if (in_frame && s.n) {
            if (innermost->file.p == at.file.p) innermost->code = s;
            if (own->file.p == at.file.p) own->code = s;
        }
    }
}

/* "torch_dynamo_resume_in_f_at_10" is a part of f. */
static struct gp_span_text function_of(struct gp_span_text name)
{
    static const char words[] = "torch_dynamo_resume_in_", at[] = "_at_";
    while (gp_text_begins(name, words)) {
        name = gp_text_from(name, name.p + sizeof words - 1);
        size_t n = name.n;
        while (n && name.p[n - 1] >= '0' && name.p[n - 1] <= '9') n--;
        if (n > strlen(at) && gp_ends(name.p, n, at)) name.n = n - strlen(at);
    }
    return name;
}

static void fill_place(struct gp_clog_reader *rd, struct gp_clog_break *b, const struct place *at)
{
    b->file = gp_clog_text_sid(rd, at->file);
    b->line = at->line ? at->line : -1;
    b->function = gp_clog_text_sid(rd, function_of(at->function));
    if (rd->log->keep_code) b->code = gp_clog_text_sid(rd, at->code);
}

/* ---- a whole text ---- */

static const char another[] = "*** While handling this graph break, another graph break occurred: ***";

/* Where the reason begins: behind the words that announce it. */
static struct gp_span_text reason_of(struct gp_span_text t)
{
    static const char *const words[] = {"Graph Break Reason: ", "Reason: ", "Graph break: "};
    struct gp_span_text line;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *p = gp_text_find(t, words[i]);
        if (p) return gp_text_from(t, p + strlen(words[i]));
    }
    gp_text_line(&t, &line);
    return t;
}

static bool is_whole_frame(struct gp_span_text t)
{
    struct gp_span_text head = t;
    return gp_text_find(t, "Skipping the function and falling back to eager") ||
           (gp_text_begins(head, "Graph break: ") &&
            (gp_text_find(t, "cannot properly resume") || gp_text_begins(head, "Graph break: skip")));
}

/* One row, or two where a second break came of the first. */
static void add_reasons(struct gp_clog_reader *rd, struct gp_clog_break b, struct gp_span_text reason)
{
    const char *p = gp_text_find(reason, another);
    struct gp_span_text second = {0};
    if (p) {
        second = gp_text_from(reason, p + sizeof another - 1);
        reason.n = (size_t)(p - reason.p);
    }
    struct gp_span_text frames = reason;
    fill_reason(rd, &b, frames);
    uint32_t index = (uint32_t)rd->log->breaks.n;
    if (!b.kind) return;
    GP_VEC_PUSH(&rd->log->breaks, b);
    if (!p) return;
    b.caused_by = index;
    fill_reason(rd, &b, second);
    if (b.kind) GP_VEC_PUSH(&rd->log->breaks, b);
}

void gp_clog_read_break(struct gp_clog_reader *rd, struct gp_span_text text, enum gp_clog_source source)
{
    struct place head = {0}, innermost = {0}, own = {0};
    struct gp_clog_break b = {.process = gp_clog_state_of(rd)->process,
                              .source = (uint8_t)source,
                              .caused_by = GP_CLOG_NONE,
                              .compile_id = rd->context.compile_id,
                              .attempt = rd->context.attempt,
                              .whole_frame = is_whole_frame(text)};
    struct gp_span_text line, rest = text;
    gp_text_line(&rest, &line);
    place_of_head(line, &head);
    place_of_frames(text, &innermost, &own);
    fill_place(rd, &b, own.file.n ? &own : innermost.file.n ? &innermost : &head);
    if (own.file.n && innermost.file.p != own.file.p) {
        b.via_file = gp_clog_text_sid(rd, innermost.file);
        b.via_line = innermost.line;
    }
    const char *frames = gp_text_find(text, "User code traceback:");
    struct gp_span_text reason =
        reason_of(frames ? (struct gp_span_text){text.p, (size_t)(frames - text.p)} : text);
    add_reasons(rd, b, reason);
}

void gp_clog_read_failure(struct gp_clog_reader *rd, const struct gp_clog_metrics *m)
{
    struct gp_compile_log *log = rd->log;
    const struct gp_strings *s = &log->strings;
    struct gp_clog_break b = {.process = m->process,
                              .source = GP_CLOG_FROM_METRICS,
                              .caused_by = GP_CLOG_NONE,
                              .compile_id = m->compile_id,
                              .attempt = m->attempts - 1,
                              .whole_frame = true,
                              .number = -1,
                              .file = m->fail_file ? m->fail_file : m->file,
                              .line = m->fail_file ? m->fail_line : m->line};
    struct gp_span_text name = {gp_string(s, m->name), gp_string_len(s, m->name)};
    struct gp_span_text reason = {gp_string(s, m->fail_reason), gp_string_len(s, m->fail_reason)};
    b.function = gp_clog_text_sid(rd, function_of(name));
    if (reason.n) {
        struct gp_buf copy = {0}; /* the strings may move */
        gp_buf_put(&copy, reason.p, reason.n);
        add_reasons(rd, b, (struct gp_span_text){copy.data, copy.n});
        gp_buf_release(&copy);
    } else {
        b.kind = m->fail_type;
        GP_VEC_PUSH(&log->breaks, b);
    }
}

/* ---- recompiles ---- */

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
        if (!gp_json_is_string(&v)) continue;
        text.n = 0;
        gp_json_decode(&text, v.p, v.n);
        gp_clog_add_recompile(rd, process, rd->context.compile_id, (struct gp_span_text){text.data, text.n},
                              order, GP_CLOG_FROM_ARTIFACT);
    }
    gp_buf_release(&text);
}

/* ---- caches ---- */

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

void gp_clog_read_cache(struct gp_clog_reader *rd, enum gp_clog_cache_layer layer,
                        enum gp_clog_cache_state state)
{
    struct gp_compile_log *log = rd->log;
    const char *end, *p = gp_clog_payload_object(rd, &end);
    struct gp_json_value key, v;
    struct gp_clog_cache c = {.process = gp_clog_state_of(rd)->process,
                              .layer = (uint8_t)layer,
                              .state = (uint8_t)state,
                              .compile_id = rd->context.compile_id,
                              .taken_ns = -1,
                              .saved_ns = -1};
    if (!p) return;
    while (gp_json_next(&p, end, &key, &v)) {
        if (gp_json_is(&key, "key")) c.key = gp_clog_sid(rd, &v);
        else if (gp_json_is(&key, "time_taken_ns")) c.taken_ns = gp_clog_int(&v, -1);
        else if (gp_json_is(&key, "time_saved_ns")) c.saved_ns = gp_clog_int(&v, -1);
        else if (gp_json_is(&key, "time_saved_ms")) c.saved_ns = larger(c.saved_ns, gp_clog_ns(&v, 3));
        else if (gp_json_is(&key, "cache_bypass_reason")) c.reason = gp_clog_sid(rd, &v);
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
