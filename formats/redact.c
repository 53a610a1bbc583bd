#include "formats/redact.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/count.h"
#include "formats/base/str.h"
#include "formats/model/gauges.h"

/* ---- names ---- */

/* How the names begin that libraries give to ranges and frames; analyses look for some of them. What follows
 * may be the program's own: its known words stay. */
static const char library_names[] =
    "ProfilerStep#|NCCL:|nccl:|aten::|c10d::|autograd::|Optimizer.|enumerate(DataLoader)|"
    "Torch-Compiled Region|DistributedDataParallel.|<built-in|PyTorch Profiler|Iteration Start|"
    "recording starts|recording stops|recorded in windows|allocations are left out|"
    "waits and events are left out|API calls are left out|CUDA graphs are recorded whole";

static void put_hash(struct gp_buf *to, const char *s, size_t n)
{
    gp_buf_printf(to, "r-%012" PRIx64, gp_hash_bytes(s, n) >> 16);
}

/* The N bytes at S with hashes for the words that are not known. */
static void put_words(struct gp_buf *to, const char *s, size_t n)
{
    for (size_t i = 0, len; i < n; i += len) {
        len = gp_word_length(s + i, n - i);
        if (!len) {
            gp_buf_putc(to, s[i]);
            len = 1;
        } else if (gp_word_public(s + i, len)) gp_buf_put(to, s + i, len);
        else put_hash(to, s + i, len);
    }
}

static size_t span(const char *s, size_t n, const char *more)
{
    size_t i = 0;
    while (i < n && s[i] &&
           (gp_is_digit(s[i]) || strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_", s[i]) ||
            strchr(more, s[i])))
        i++;
    return i;
}

/* A function of PyTorch: "torch/nn/modules/linear.py(114): forward" */
static bool is_torch_frame(const char *s, size_t n)
{
    size_t i = span(s, n, "/."), from = i + 1;
    if (!gp_begin(s, n, "torch/") || !gp_ends(s, i, ".py") || i == n || s[i] != '(') return false;
    for (i++; i < n && gp_is_digit(s[i]);) i++;
    return i > from && gp_begin(s + i, n - i, "): ") && i + 3 + span(s + i + 3, n - i - 3, "<>.") == n;
}

/* A name that a library gave, as far as it did. */
static bool put_library(struct gp_buf *to, const char *s, size_t n)
{
    if (is_torch_frame(s, n)) {
        gp_buf_put(to, s, n);
        return true;
    }
    char begin[40];
    for (const char *at = library_names; gp_next_of(&at, '|', begin, sizeof begin);)
        if (gp_begin(s, n, begin)) {
            size_t len = strlen(begin);
            gp_buf_put(to, s, len);
            put_words(to, s + len, n - len);
            return true;
        }
    return false;
}

void gp_redact_name(struct gp_buf *to, const char *s, size_t n)
{
    static const char module[] = "nn.Module: ";
    if (!n || put_library(to, s, n)) return;
    bool is_module = gp_begin(s, n, module);
    if (is_module) {
        gp_buf_puts(to, module);
        s += sizeof module - 1;
        n -= sizeof module - 1;
    }
    size_t digits = n, text;
    while (digits && gp_is_digit(s[digits - 1])) digits--;
    text = digits;
    while (text && text < n && strchr(" #_:=-.", s[text - 1])) text--;
    if (digits && text == digits) digits = text = n; /* "conv1" is one word */
    if (text) put_hash(to, s, text);
    if (text && digits < n) gp_buf_putc(to, is_module ? '_' : '#');
    gp_buf_put(to, s + digits, n - digits);
}

/* ---- args ---- */

/* The end of the JSON string that begins at S, after its quote; N where it is cut. */
static size_t string_end(const char *s, size_t n)
{
    size_t i = 1;
    while (i < n && s[i] != '"') i += s[i] == '\\' ? 2 : 1;
    return i < n ? i + 1 : n;
}

static bool is_numbers(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!gp_is_digit(s[i]) && !strchr(" .,:[]+-x", s[i])) return false;
    return true;
}

/* Is the text of KEY, a JSON string, that of a library if its words are known? */
static bool is_known_key(const char *key, size_t n)
{
    static const char *const known[] = {"\"Collective name\"", "\"dtype\"", "\"Input type\"",
                                        "\"Reduction operation\""};
    for (size_t i = 0; i < GP_COUNT(known); i++)
        if (strlen(known[i]) == n && !memcmp(key, known[i], n)) return true;
    return false;
}

static size_t skip_space(const char *s, size_t n, size_t i)
{
    while (i < n && strchr(" \t\r\n", s[i]) && s[i]) i++;
    return i;
}

void gp_redact_args(struct gp_buf *to, const char *s, size_t n)
{
    bool known = false;
    for (size_t i = 0; i < n;) {
        if (s[i] != '"') {
            gp_buf_putc(to, s[i++]);
            continue;
        }
        size_t len = string_end(s + i, n - i), next = skip_space(s, n, i + len);
        bool key = next < n && s[next] == ':';
        if (key) known = is_known_key(s + i, len);
        bool public = len >= 2 && known && gp_words_public(s + i + 1, len - 2);
        if (key || public || len < 2 || is_numbers(s + i + 1, len - 2)) {
            gp_buf_put(to, s + i, len);
        } else {
            gp_buf_putc(to, '"');
            put_hash(to, s + i + 1, len - 2);
            gp_buf_putc(to, '"');
        }
        i += len;
    }
}

/* ---- a trace ---- */

struct redaction {
    struct gp_trace *t;
    struct gp_strings strings;     /* of all that stays */
    gp_sid *names, *args, *labels; /* by sid of the trace: its replacement, + 1; 0: not made yet */
    struct gp_buf text;
};

static gp_sid kept(struct redaction *r, gp_sid sid)
{
    return gp_intern_from(&r->strings, &r->t->strings, sid);
}

static gp_sid new_text(struct redaction *r)
{
    gp_sid sid = r->text.n ? gp_intern(&r->strings, r->text.data, r->text.n) : 0;
    r->text.n = 0;
    return sid;
}

static gp_sid put_instead(struct redaction *r, gp_sid *known, gp_sid sid,
                          void (*put)(struct gp_buf *to, const char *s, size_t n))
{
    if (!sid || sid >= r->t->strings.n) return 0;
    if (!known[sid]) {
        put(&r->text, gp_trace_str(r->t, sid), gp_string_len(&r->t->strings, sid));
        known[sid] = new_text(r) + 1;
    }
    return known[sid] - 1;
}

static gp_sid name_of(struct redaction *r, gp_sid sid)
{
    return put_instead(r, r->names, sid, gp_redact_name);
}

static void put_label(struct gp_buf *to, const char *s, size_t n)
{
    if (gp_words_public(s, n)) gp_buf_put(to, s, n);
    else gp_redact_name(to, s, n);
}

/* Of names by libraries or programs: as it is if all of its words are known. */
static gp_sid label_of(struct redaction *r, gp_sid sid) { return put_instead(r, r->labels, sid, put_label); }

/* Analyses look for the entries of a stack that are not code of the program: they stay. */
static gp_sid frame_of(struct redaction *r, gp_sid sid)
{
    const char *s = gp_trace_str(r->t, sid);
    bool ours = !strcmp(s, GP_STACK_AUTOGRAD) || !strcmp(s, GP_STACK_UNKNOWN);
    return ours ? kept(r, sid) : name_of(r, sid);
}

static gp_sid args_of(struct redaction *r, gp_sid sid)
{
    return put_instead(r, r->args, sid, gp_redact_args);
}

static gp_sid captured_of(struct redaction *r, gp_sid sid)
{
    const char *at = gp_trace_str(r->t, sid), *end = at + gp_string_len(&r->t->strings, sid), *name;
    if (!sid) return 0;
    for (size_t n; (name = gp_captured_next(&at, end, &n));) {
        if (r->text.n) gp_buf_putc(&r->text, GP_CAPTURED_END);
        gp_redact_name(&r->text, name, n);
    }
    return new_text(r);
}

static bool has_own_names(enum gp_table table)
{
    return table == GP_RANGE || table == GP_GPU_RANGE || table == GP_MARK || table == GP_PYTHON ||
           table == GP_OTHER;
}

static bool is_gauge(const struct redaction *r, const struct gp_events *e, size_t row)
{
    return gp_get_cat(e, row) && !strcmp(gp_trace_str(r->t, e->cat[row]), GP_GAUGE_CATEGORY);
}

/* What the driver reports has names of ours, but for other processes. */
static gp_sid counter_of(struct redaction *r, const struct gp_events *e, size_t row)
{
    const char *name = gp_trace_str(r->t, e->name[row]);
    if (!is_gauge(r, e, row)) return label_of(r, e->name[row]);
    if (gp_gauge_find(name) < GP_GAUGE_COUNT) return kept(r, e->name[row]);
    gp_buf_puts(&r->text, GP_GAUGE_OTHER "hidden");
    return new_text(r);
}

static void redact_rows(struct redaction *r, enum gp_table table)
{
    struct gp_events *e = &r->t->events[table];
    bool own = has_own_names(table);
    for (size_t i = 0; i < e->n; i++) {
        bool unit = table == GP_COUNTER && is_gauge(r, e, i);
        if (e->extra && e->extra[i]) e->extra[i] = args_of(r, e->extra[i]);
        e->name[i] = own                   ? name_of(r, e->name[i])
                     : table == GP_COUNTER ? counter_of(r, e, i)
                                           : kept(r, e->name[i]);
        if (e->cat) e->cat[i] = label_of(r, e->cat[i]);
        if (e->id_text) e->id_text[i] = label_of(r, e->id_text[i]);
        if (e->series && table == GP_PC && !gp_get_total(e, i)) e->series[i] = 0; /* code */
        else if (e->series)
            e->series[i] = table == GP_PC || unit ? kept(r, e->series[i]) : label_of(r, e->series[i]);
        if (e->captured) e->captured[i] = captured_of(r, e->captured[i]);
    }
}

static void redact_rest(struct redaction *r)
{
    struct gp_trace *t = r->t;
    GP_EACH(struct gp_config, c, t->configs) {
        c->name = kept(r, c->name);
        c->cat = kept(r, c->cat);
        c->extra = args_of(r, c->extra);
    }
    GP_EACH(struct gp_process, p, t->processes) {
        bool device = gp_begin(gp_trace_str(t, p->labels), gp_string_len(&t->strings, p->labels), "GPU ");
        p->pid_text = label_of(r, p->pid_text);
        p->name = name_of(r, p->name);
        p->labels = device ? kept(r, p->labels) : name_of(r, p->labels);
    }
    GP_EACH(struct gp_track, k, t->tracks) {
        k->tid_text = label_of(r, k->tid_text);
        k->name = k->kind == GP_TRACK_THREAD ? name_of(r, k->name) : label_of(r, k->name);
    }
    for (size_t i = 0; i < t->devices.n; i++) {
        t->devices.at[i].name = kept(r, t->devices.at[i].name);
        bool ours = gp_gauge_number(gp_trace_str(t, t->devices.at[i].extra)) != 0;
        t->devices.at[i].extra = ours ? kept(r, t->devices.at[i].extra) : 0;
    }
    for (size_t i = 0; i < t->losses.n; i++) {
        t->losses.at[i].what = kept(r, t->losses.at[i].what);
        t->losses.at[i].reason = kept(r, t->losses.at[i].reason);
    }
    GP_EACH(struct gp_metric, m, t->metrics) {
        m->name = kept(r, m->name);
        m->unit = kept(r, m->unit);
        m->chip = kept(r, m->chip);
    }
    for (size_t i = 0; i < t->node_runs.n; i++)
        t->node_runs.at[i].captured = captured_of(r, t->node_runs.at[i].captured);
    for (size_t i = 0; i < t->stacks.n; i++) {
        t->stacks.at[i].name = frame_of(r, t->stacks.at[i].name);
        t->stacks.at[i].file = name_of(r, t->stacks.at[i].file);
    }
    GP_EACH(struct gp_symbol, s, t->symbols) {
        s->module = name_of(r, s->module);
        s->name = name_of(r, s->name);
        s->file = name_of(r, s->file);
    }
}

static void redact_meta(struct redaction *r)
{
    struct gp_trace *t = r->t;
    size_t n = 0;
    for (size_t i = 0; i < t->meta.n; i++) {
        struct gp_meta m = t->meta.at[i];
        const char *key = gp_trace_str(t, m.key);
        if (gp_is_choice("command|traceName|filter|start|stop", key)) continue;
        bool same = gp_is_choice("collector|api_level|displayTimeUnit|deviceProperties", key);
        m.value = same ? kept(r, m.value) : args_of(r, m.value);
        m.key = kept(r, m.key);
        t->meta.at[n++] = m;
    }
    t->meta.n = n;
}

gp_sid gp_redact_intern(struct gp_trace *t, bool redact, const char *text, size_t n,
                        void (*how)(struct gp_buf *to, const char *s, size_t n))
{
    if (!redact) return gp_trace_intern(t, text, n);
    struct gp_buf b = {0};
    how(&b, text, n);
    gp_sid sid = gp_trace_intern(t, gp_buf_str(&b), b.n);
    gp_buf_release(&b);
    return sid;
}

void gp_redact_trace(struct gp_trace *t)
{
    struct redaction r = {.t = t};
    r.names = gp_zalloc((t->strings.n + 1) * sizeof *r.names);
    r.args = gp_zalloc((t->strings.n + 1) * sizeof *r.args);
    r.labels = gp_zalloc((t->strings.n + 1) * sizeof *r.labels);
    for (int table = 0; table < GP_TABLE_COUNT; table++) redact_rows(&r, (enum gp_table)table);
    redact_rest(&r);
    redact_meta(&r);
    if (t->input.path)
        t->input.path = gp_arena_strndup(&r.strings.bytes, t->input.path, strlen(t->input.path));
    gp_strings_release(&t->strings);
    t->strings = r.strings;
    GP_RELEASE(free, r.names, r.args, r.labels);
    gp_buf_release(&r.text);
}
