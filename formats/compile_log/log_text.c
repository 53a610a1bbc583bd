/* Lines of a text log (TORCH_LOGS): a message is one or several lines with the same prefix. */
#include "formats/compile_log/compile_log_priv.h"

enum { MESSAGE_MAX = 1 << 20, MOST_REASONS = 64 };

static struct gp_span_text text_of(const struct gp_buf *b)
{
    return (struct gp_span_text){b->n ? b->data : "", b->n};
}

/* The process that the message is of: the one with that id, by whatever log it came in. */
static uint32_t process_of(struct gp_clog_reader *rd) { return gp_clog_state_of(rd)->process; }

/* ---- fusion ---- */

/* Digits at *P, which moves behind them. */
static int64_t number_at(struct gp_span_text t, const char *word)
{
    const char *p = gp_text_find(t, word);
    int64_t v = 0;
    if (!p) return -1;
    for (p += strlen(word); p < t.p + t.n && *p >= '0' && *p <= '9' && v < INT64_MAX / 100; p++)
        v = v * 10 + (*p - '0');
    return v;
}

static void count_unfused(struct gp_compile_log *log, gp_sid reason)
{
    for (size_t i = 0; i < log->unfused.n; i++)
        if (log->unfused.at[i].reason == reason) {
            log->unfused.at[i].count++;
            return;
        }
    if (log->unfused.n < MOST_REASONS) GP_VEC_PUSH(&log->unfused, (struct gp_clog_unfused){reason, 1});
}

/* The words of a reason that are the same for every pair of nodes. */
static struct gp_span_text without_numbers(struct gp_span_text t)
{
    size_t n = 0;
    while (n < t.n && t.p[n] != '(' && t.p[n] != '\n' && !(t.p[n] >= '0' && t.p[n] <= '9')) n++;
    t.n = n;
    return gp_text_trim(t);
}

static void read_fusion(struct gp_clog_reader *rd, struct gp_span_text t)
{
    struct gp_compile_log *log = rd->log;
    if (gp_text_begins(t, "completed fusion round (")) {
        struct gp_clog_fusion_round r = {.process = process_of(rd),
                                         .compile_id = rd->message.compile_id,
                                         .round = (int32_t)number_at(t, "round ("),
                                         .before = number_at(t, "fused "),
                                         .after = number_at(t, " into ")};
        if (r.before >= 0 && r.after >= 0) GP_VEC_PUSH(&log->rounds, r);
    } else if (gp_text_begins(t, "cannot fuse ")) {
        const char *p = gp_text_find(t, ": ");
        if (p) count_unfused(log, gp_clog_text_sid(rd, without_numbers(gp_text_from(t, p + 2))));
    }
}

/* ---- CUDA graphs ---- */

static void read_cudagraphs(struct gp_clog_reader *rd, struct gp_span_text t)
{
    static const char skipping[] = "skipping cudagraphs due to ", recording[] = "Recording function=";
    struct gp_compile_log *log = rd->log;
    struct gp_span_text line, rest = t, file, function;
    gp_text_line(&rest, &line);
    const char *p = gp_text_find(line, skipping);
    if (p) {
        struct gp_clog_skip s = {.process = process_of(rd), .compile_id = rd->message.compile_id, .line = -1};
        struct gp_span_text reason = gp_text_from(line, p + sizeof skipping - 1);
        const char *more = gp_text_find(reason, ". Found from");
        if (more) reason.n = (size_t)(more - reason.p);
        s.reason = gp_clog_text_sid(rd, gp_text_trim(reason));
        while (gp_text_line(&rest, &line)) {
            int32_t number;
            if (!gp_clog_frame_line(line, &file, &number, &function)) continue;
            s.file = gp_clog_text_sid(rd, file);
            s.line = number;
        }
        GP_VEC_PUSH(&log->skips, s);
        return;
    }
    p = gp_text_find(line, recording);
    if (!p) return;
    int32_t attempt;
    struct gp_clog_recording r = {.process = process_of(rd), .compile_id = rd->message.compile_id};
    const char *close = *line.p == '[' ? memchr(line.p, ']', line.n) : NULL; /* "[36/0] Recording ..." */
    if (close && !r.compile_id)
        r.compile_id = gp_clog_compile_id(rd, line.p, (size_t)(close - line.p) + 1, &attempt);
    struct gp_span_text name = gp_text_from(line, p + sizeof recording - 1);
    const char *comma = memchr(name.p, ',', name.n);
    if (comma) name.n = (size_t)(comma - name.p);
    r.function = gp_clog_text_sid(rd, name);
    GP_VEC_PUSH(&log->recordings, r);
}

/* ---- recompiles ---- */

/* "    - 37/0: n == 0  # ..." below "triggered by the following guard failure(s):" */
static void read_recompiles(struct gp_clog_reader *rd, struct gp_span_text t)
{
    struct gp_span_text line;
    struct gp_buf reason = {0};
    int32_t order = 0;
    uint32_t process = process_of(rd);
    while (gp_text_line(&t, &line)) {
        struct gp_span_text s = gp_text_trim(line);
        if (!gp_text_begins(s, "- ")) continue;
        s = gp_text_trim(gp_text_from(s, s.p + 2));
        if (s.n && (*s.p == '!' || (*s.p >= '0' && *s.p <= '9')) && gp_text_find(s, ": ")) {
            if (reason.n)
                gp_clog_add_recompile(rd, process, rd->message.compile_id, text_of(&reason), order++,
                                      GP_CLOG_FROM_TEXT);
            reason.n = 0;
        }
        gp_buf_put(&reason, s.p, s.n);
        gp_buf_putc(&reason, '\n');
    }
    if (reason.n)
        gp_clog_add_recompile(rd, process, rd->message.compile_id, text_of(&reason), order,
                              GP_CLOG_FROM_TEXT);
    gp_buf_release(&reason);
}

/* ---- messages ---- */

static bool artifact_is(const struct gp_clog_message *m, const char *name)
{
    return m->artifact.n == strlen(name) && !memcmp(m->artifact.data, name, m->artifact.n);
}

void gp_clog_end_message(struct gp_clog_reader *rd)
{
    struct gp_clog_message *m = &rd->message;
    struct gp_span_text t = text_of(&m->text);
    struct gp_log_line line = {.process = m->process};
    const struct gp_log_line *before = rd->line;
    if (!t.n) return;
    rd->line = &line;
    rd->context = (struct gp_clog_context){.compile_id = m->compile_id};
    if (artifact_is(m, "fusion")) read_fusion(rd, t);
    else if (artifact_is(m, "graph_breaks")) gp_clog_read_break(rd, t, GP_CLOG_FROM_TEXT);
    else if (artifact_is(m, "recompiles")) read_recompiles(rd, t);
    else if (gp_text_find(t, "cudagraphs due to") || artifact_is(m, "cudagraphs")) read_cudagraphs(rd, t);
    m->text.n = 0;
    rd->line = before;
}

/* Does a line begin a message, although its prefix is that of the line before? */
static bool begins_message(const struct gp_clog_message *m, struct gp_span_text t)
{
    if (artifact_is(m, "graph_breaks"))
        return gp_text_begins(t, "Graph break in user code") || gp_text_begins(t, "Graph break: ");
    if (artifact_is(m, "recompiles")) return gp_text_begins(t, "Recompiling function");
    if (artifact_is(m, "fusion"))
        return gp_text_begins(t, "completed fusion") || gp_text_begins(t, "cannot fuse") ||
               gp_text_begins(t, "=====");
    return gp_text_find(t, "skipping cudagraphs") || gp_text_find(t, "Recording function=");
}

/* "[0/0] [__fusion] text" in this order or the other. */
static struct gp_span_text cut_tags(struct gp_clog_reader *rd, struct gp_span_text t,
                                    struct gp_span_text *artifact, gp_sid *compile_id)
{
    *artifact = (struct gp_span_text){t.p, 0};
    *compile_id = 0;
    for (int i = 0; i < 2 && t.n && *t.p == '['; i++) {
        const char *close = memchr(t.p, ']', t.n);
        if (!close) break;
        struct gp_span_text tag = {t.p + 1, (size_t)(close - t.p) - 1};
        int32_t attempt;
        if (gp_text_begins(tag, "__")) *artifact = gp_text_from(tag, tag.p + 2);
        else if (!*compile_id && !(*compile_id = gp_clog_compile_id(rd, tag.p, tag.n, &attempt))) break;
        t = gp_text_from(t, close + 1);
        if (t.n && *t.p == ' ') t = gp_text_from(t, t.p + 1);
    }
    return t;
}

void gp_clog_read_text(struct gp_clog_reader *rd)
{
    const struct gp_log_line *line = rd->line;
    struct gp_clog_message *m = &rd->message;
    struct gp_span_text artifact, t;
    gp_sid compile_id;
    t = cut_tags(rd, (struct gp_span_text){line->text, line->text_n}, &artifact, &compile_id);
    bool same = m->text.n && m->process == line->process && m->compile_id == compile_id &&
                m->artifact.n == artifact.n &&
                (!artifact.n || !memcmp(m->artifact.data, artifact.p, artifact.n)) && !begins_message(m, t);
    if (!same) {
        gp_clog_end_message(rd);
        m->artifact.n = 0;
        gp_buf_put(&m->artifact, artifact.p, artifact.n);
        m->compile_id = compile_id;
        m->process = line->process;
    }
    if (m->text.n > MESSAGE_MAX) return;
    gp_buf_put(&m->text, t.p, t.n);
    gp_buf_putc(&m->text, '\n');
}
