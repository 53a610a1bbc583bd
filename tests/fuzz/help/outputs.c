#include "tests/fuzz/help/outputs.h"

#include <ctype.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/base/input.h"
#include "formats/base/json_scan.h"
#include "formats/base/json_write.h"
#include "formats/base/num.h"
#include "formats/base/utf8.h"
#include "formats/reader.h"
#include "tests/fuzz/help/fuzz.h"
#include "tests/unit/trace_check.h"

/* ---- characters ---- */

/* UTF-8 without control characters but for ends of lines and tabs. */
static void check_characters(const char *p, size_t n)
{
    for (size_t i = 0, used; i < n; i += used) {
        uint32_t c = gp_utf8_next(p + i, n - i, &used);
        FUZZ_CHECK(c != GP_UTF8_BAD || (used == 3 && !memcmp(p + i, "\xef\xbf\xbd", 3)));
        FUZZ_CHECK(c >= 0x20 || c == '\n' || c == '\t');
        FUZZ_CHECK(c < 0x7f || c > 0x9f);
    }
}

/* ---- JSON ---- */

static const char *after_space(const char *p, const char *end)
{
    while (p < end && strchr(" \n\t\r", *p) && *p) p++;
    return p;
}

/* A string, a number or a word at P. Returns where it ends. */
static const char *check_scalar(const char *p, const char *end)
{
    const char *from = p;
    if (*p == '"') {
        for (p++; p < end && *p != '"'; p++) p += *p == '\\';
        p++;
    } else {
        while (p < end && !strchr(" \n\t\r,:]}", *p)) p++;
    }
    FUZZ_CHECK(p <= end && gp_json_is_valid(from, (size_t)(p - from)));
    return p;
}

/* The value at P and the space around it, however deep: gp_json_is_valid() goes as deep as the args of one
 * event may. Returns where it ends. */
static const char *check_json(const char *p, const char *end)
{
    p = after_space(p, end);
    FUZZ_CHECK(p < end);
    char close = *p == '{' ? '}' : ']';
    if (*p != '{' && *p != '[') return after_space(check_scalar(p, end), end);
    p = after_space(p + 1, end);
    bool more = p < end && *p != close;
    while (more) {
        if (close == '}') {
            FUZZ_CHECK(p < end && *p == '"');
            p = after_space(check_scalar(p, end), end);
            FUZZ_CHECK(p < end && *p++ == ':');
        }
        p = check_json(p, end);
        more = p < end && *p == ',';
        if (more) p = after_space(p + 1, end);
    }
    FUZZ_CHECK(p < end && *p == close);
    return after_space(p + 1, end);
}

/* ---- tags ---- */

enum { MAX_OPEN = 512 };

struct tags {
    const char *p, *end;
    bool html;
    struct {
        const char *name;
        size_t n;
    } open[MAX_OPEN];
    size_t depth;
};

static bool is_name(char c) { return isalnum((unsigned char)c) || c == '-' || c == ':' || c == '_'; }

static bool is_one_of(const char *name, size_t n, const char *words)
{
    for (const char *w = words; *w; w += strcspn(w, " "), w += *w == ' ')
        if (strcspn(w, " ") == n && !memcmp(w, name, n)) return true;
    return false;
}

static void skip_past(struct tags *t, const char *what)
{
    size_t n = strlen(what);
    while ((size_t)(t->end - t->p) >= n && memcmp(t->p, what, n)) t->p++;
    FUZZ_CHECK((size_t)(t->end - t->p) >= n);
    t->p += n;
}

static void skip_space(struct tags *t)
{
    while (t->p < t->end && isspace((unsigned char)*t->p)) t->p++;
}

/* "&amp;" and its like, at the sign. */
static void check_reference(const struct tags *t)
{
    size_t n = 1;
    while (n < 10 && t->p + n < t->end && (isalnum((unsigned char)t->p[n]) || t->p[n] == '#')) n++;
    FUZZ_CHECK(n > 1 && t->p + n < t->end && t->p[n] == ';');
}

static void skip_attribute(struct tags *t)
{
    const char *name = t->p;
    while (t->p < t->end && is_name(*t->p)) t->p++;
    FUZZ_CHECK(t->p > name && t->p < t->end);
    if (*t->p != '=') {
        FUZZ_CHECK(t->html);
        return;
    }
    char quote = ++t->p < t->end ? *t->p : 0;
    if (quote != '"' && quote != '\'') {
        FUZZ_CHECK(t->html);
        while (t->p < t->end && !strchr(" \n\t>\"'<&", *t->p)) t->p++;
        return;
    }
    for (t->p++; t->p < t->end && *t->p != quote; t->p++) {
        FUZZ_CHECK(*t->p != '<');
        if (*t->p == '&') check_reference(t);
    }
    FUZZ_CHECK(t->p < t->end);
    t->p++;
}

/* Behind "<" and the name. True when the element is closed by the same tag. */
static bool skip_attributes(struct tags *t)
{
    for (;;) {
        skip_space(t);
        FUZZ_CHECK(t->p < t->end);
        if (*t->p == '>') {
            t->p++;
            return false;
        }
        if (*t->p == '/') {
            FUZZ_CHECK(t->p + 1 < t->end && t->p[1] == '>');
            t->p += 2;
            return true;
        }
        skip_attribute(t);
    }
}

static void skip_open(struct tags *t)
{
    const char *name = ++t->p;
    while (t->p < t->end && is_name(*t->p)) t->p++;
    size_t n = (size_t)(t->p - name);
    FUZZ_CHECK(n > 0);
    bool closed = skip_attributes(t);
    if (closed || (t->html && is_one_of(name, n, "meta link br hr img input col wbr"))) return;
    FUZZ_CHECK(t->depth < MAX_OPEN);
    t->open[t->depth].name = name;
    t->open[t->depth++].n = n;
    if (!t->html || !is_one_of(name, n, "script style")) return;
    while (t->end - t->p > 1 && memcmp(t->p, "</", 2)) t->p++; /* what stands there is no text */
    FUZZ_CHECK((size_t)(t->end - t->p) > n + 2 && !memcmp(t->p + 2, name, n) && t->p[n + 2] == '>');
}

static void skip_close(struct tags *t)
{
    t->p += 2;
    FUZZ_CHECK(t->depth > 0);
    t->depth--;
    size_t n = t->open[t->depth].n;
    FUZZ_CHECK((size_t)(t->end - t->p) > n && !memcmp(t->p, t->open[t->depth].name, n) && t->p[n] == '>');
    t->p += n + 1;
}

static void check_tags(const char *p, size_t n, bool html)
{
    struct tags t = {.p = p, .end = p + n, .html = html};
    while (t.p < t.end) {
        size_t left = (size_t)(t.end - t.p);
        if (*t.p == '&') check_reference(&t);
        if (*t.p != '<') t.p++;
        else if (left > 4 && !memcmp(t.p, "<!--", 4)) skip_past(&t, "-->");
        else if (left > 9 && !memcmp(t.p, "<![CDATA[", 9)) skip_past(&t, "]]>");
        else if (left > 1 && (t.p[1] == '!' || t.p[1] == '?')) skip_past(&t, ">");
        else if (left > 1 && t.p[1] == '/') skip_close(&t);
        else skip_open(&t);
    }
    FUZZ_CHECK(t.depth == 0);
}

/* ---- rows and graphs ---- */

static void check_csv(const char *p, size_t n)
{
    size_t fields = 1, wanted = 0;
    bool quoted = false;
    if (!n) return; /* a table that is empty is left out */
    FUZZ_CHECK(p[n - 1] == '\n');
    for (size_t i = 0; i < n; i++) {
        if (p[i] == '"') quoted = !quoted; /* two of them inside of a field change nothing */
        if (quoted) continue;
        fields += p[i] == ',';
        if (p[i] != '\n') continue;
        if (!wanted) wanted = fields;
        FUZZ_CHECK(fields == wanted);
        fields = 1;
    }
    FUZZ_CHECK(!quoted);
}

static void check_dot(const char *p, size_t n)
{
    long depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < n; i++) {
        if (quoted && p[i] == '\\') i++;
        else if (p[i] == '"') quoted = !quoted;
        else if (!quoted) depth += (p[i] == '{') - (p[i] == '}');
        FUZZ_CHECK(depth >= 0);
    }
    FUZZ_CHECK(!quoted && depth == 0 && n > 0);
}

uint64_t fuzz_folded_sum(const char *p, size_t n)
{
    uint64_t sum = 0, v;
    for (const char *end = p + n; p < end;) {
        const char *line = p, *stop = memchr(p, '\n', (size_t)(end - p));
        FUZZ_CHECK(stop);
        const char *space = stop;
        while (space > line && space[-1] != ' ') space--;
        FUZZ_CHECK(space > line + 1 && gp_u64_from_text(space, (size_t)(stop - space), &v));
        sum += v;
        p = stop + 1;
    }
    return sum;
}

/* ---- files ---- */

static void check_trace(const char *p, size_t n)
{
    struct gp_trace t;
    struct gp_err err = {0};
    struct gp_read_opts opts = {.threads = 1};
    FUZZ_CHECK(!gp_trace_read_memory(&t, p, n, &opts, &err));
    FUZZ_CHECK(!gp_trace_check(&t, &err));
    gp_trace_release(&t);
}

static void check_packed(const char *p, size_t n)
{
    uint8_t room[4096];
    struct gp_err err = {0};
    struct gp_input *in = gp_input_memory(p, n, 1);
    while (gp_input_read(in, room, sizeof room)) continue;
    FUZZ_CHECK(strcmp(gp_input_compression(in), "none") && !gp_input_status(in, &err));
    gp_input_close(in);
}

/* Messages that fill the file: the tag of field 1, a length, as many bytes. */
static void check_packets(const char *p, size_t n)
{
    for (size_t at = 0; at < n;) {
        uint64_t length = 0;
        FUZZ_CHECK(p[at++] == (1 << 3 | 2));
        for (unsigned shift = 0;; shift += 7) {
            FUZZ_CHECK(at < n && shift < 64);
            length |= (uint64_t)(p[at] & 0x7f) << shift;
            if (!(p[at++] & 0x80)) break;
        }
        FUZZ_CHECK(length <= n - at);
        at += length;
    }
}

void fuzz_check_output(enum fuzz_form form, const char *p, size_t n)
{
    switch (form) {
    case FUZZ_TEXT: check_characters(p, n); break;
    case FUZZ_JSON: FUZZ_CHECK(check_json(p, p + n) == p + n); break;
    case FUZZ_HTML: check_tags(p, n, true); break;
    case FUZZ_SVG:
        check_characters(p, n);
        check_tags(p, n, false);
        break;
    case FUZZ_DOT:
        check_characters(p, n);
        check_dot(p, n);
        break;
    case FUZZ_CSV: check_csv(p, n); break;
    case FUZZ_FOLDED: fuzz_folded_sum(p, n); break;
    case FUZZ_TRACE: check_trace(p, n); break;
    case FUZZ_PACKED: check_packed(p, n); break;
    case FUZZ_PACKETS: check_packets(p, n); break;
    }
}

/* ---- sums of trace-hta ---- */

/* Walks an object; the value of KEY, or one of the kind GP_JSON_ABSENT. */
static struct gp_json_value find(const struct gp_json_value *object, const char *end, const char *key)
{
    struct gp_json_value k, v;
    for (const char *at = object->p + 1; gp_json_next(&at, end, &k, &v);)
        if (k.n == strlen(key) && !memcmp(k.p, key, k.n)) return v;
    return (struct gp_json_value){.kind = GP_JSON_ABSENT};
}

static int64_t number_of(const struct gp_json_value *object, const char *end, const char *key)
{
    struct gp_json_value v = find(object, end, key);
    int64_t number = 0;
    FUZZ_CHECK(v.kind == GP_JSON_NUMBER && gp_i64_from_text(v.p, v.n, &number));
    return number;
}

static void check_device(const struct gp_json_value *device, const char *end)
{
    static const char *const parts[] = {"compute_ns", "exposed_communication_ns", "exposed_memory_ns",
                                        "idle_ns"};
    uint64_t sum = 0, idle = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        int64_t part = number_of(device, end, parts[i]);
        FUZZ_CHECK(part >= 0);
        sum += (uint64_t)part;
    }
    FUZZ_CHECK(sum == (uint64_t)number_of(device, end, "span_ns"));
    struct gp_json_value causes = find(device, end, "idle"), k, v;
    FUZZ_CHECK(causes.kind == GP_JSON_OBJECT);
    for (const char *at = causes.p + 1; gp_json_next(&at, end, &k, &v);) {
        int64_t ns;
        FUZZ_CHECK(gp_i64_from_text(v.p, v.n, &ns) && ns >= 0);
        idle += (uint64_t)ns;
    }
    FUZZ_CHECK(idle == (uint64_t)number_of(device, end, "idle_ns"));
}

void fuzz_check_hta_sums(const char *p, size_t n)
{
    struct gp_buf b = {0};
    struct gp_json_value all, devices, device;
    gp_buf_put(&b, p, n);
    memset(gp_buf_reserve(&b, GP_JSON_PAD), 0, GP_JSON_PAD);
    const char *end = b.data + n, *at = b.data;
    FUZZ_CHECK(gp_json_value(b.data, end, &all, &at) && all.kind == GP_JSON_OBJECT);
    devices = find(&all, end, "devices");
    FUZZ_CHECK(devices.kind == GP_JSON_ARRAY);
    for (at = devices.p + 1; gp_json_next(&at, end, NULL, &device);) check_device(&device, end);
    gp_buf_release(&b);
}
