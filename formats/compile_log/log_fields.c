#include "formats/base/num.h"
#include "formats/compile_log/compile_log_priv.h"

enum { MOST_NUMBER = 40 };

/* ---- JSON ---- */

const char *gp_clog_inside(const struct gp_json_value *v, enum gp_json_kind kind)
{
    return v->kind == kind && v->n >= 2 ? v->p + 1 : NULL;
}

gp_sid gp_clog_sid(struct gp_clog_reader *rd, const struct gp_json_value *v)
{
    if (v->kind == GP_JSON_STRING) return gp_intern(&rd->log->strings, v->p, v->n);
    if (v->kind != GP_JSON_ODD_STRING) return 0;
    struct gp_buf b = {0};
    gp_json_decode(&b, v->p, v->n);
    return gp_intern_buf(&rd->log->strings, &b);
}

int64_t gp_clog_int(const struct gp_json_value *v, int64_t dflt)
{
    int64_t i;
    double d;
    if (v->kind != GP_JSON_NUMBER) return dflt;
    if (gp_i64_from_text(v->p, v->n, &i)) return i;
    if (gp_double_from_text(v->p, v->n, &d) && d > -9e15 && d < 9e15) return (int64_t)d;
    return dflt;
}

int64_t gp_clog_ns(const struct gp_json_value *v, int shift)
{
    char text[MOST_NUMBER + 4];
    int64_t ns;
    if (v->kind != GP_JSON_NUMBER || v->n > MOST_NUMBER) return -1;
    memcpy(text, v->p, v->n);
    size_t n = v->n;
    if (shift && !memchr(text, 'e', n) && !memchr(text, 'E', n)) {
        text[n++] = 'e';
        text[n++] = (char)('0' + shift);
        shift = 0;
    }
    if (!gp_ns_from_us(text, n, &ns)) return -1;
    for (; shift > 0; shift--)
        if (__builtin_mul_overflow(ns, 10, &ns)) return -1;
    return ns;
}

bool gp_clog_nested(struct gp_clog_reader *rd, const struct gp_json_value *v, struct gp_json_value *inner)
{
    static const char zeros[GP_JSON_PAD];
    if (!gp_json_is_string(v)) return false;
    rd->scratch.n = 0;
    gp_json_decode(&rd->scratch, v->p, v->n);
    size_t n = rd->scratch.n;
    gp_buf_put(&rd->scratch, zeros, sizeof zeros);
    const char *at = rd->scratch.data, *end = at + n;
    return gp_json_value(at, end, inner, &at) != NULL;
}

gp_sid gp_clog_compile_id(struct gp_clog_reader *rd, const char *s, size_t n, int32_t *attempt)
{
    if (n && *s == '[') s++, n--;
    if (n && s[n - 1] == ']') n--;
    size_t stop = 0;
    bool digit = false;
    for (; stop < n && s[stop] != '_'; stop++) {
        if (s[stop] >= '0' && s[stop] <= '9') digit = true;
        else if (s[stop] != '/' && !(s[stop] == '!' && !stop)) return 0;
    }
    *attempt = 0;
    for (size_t i = stop + 1; i < n && i < stop + 6; i++) {
        if (s[i] < '0' || s[i] > '9') return 0;
        *attempt = *attempt * 10 + (s[i] - '0');
    }
    return digit ? gp_intern(&rd->log->strings, s, stop) : 0;
}

/* ---- text ---- */

const char *gp_text_find(struct gp_span_text t, const char *what)
{
    size_t n = strlen(what);
    const char *p = t.p, *end = t.p + t.n;
    while (p && (size_t)(end - p) >= n) {
        p = memchr(p, *what, (size_t)(end - p) - n + 1);
        if (!p || !memcmp(p, what, n)) return p;
        p++;
    }
    return NULL;
}

bool gp_text_begins(struct gp_span_text t, const char *with)
{
    size_t n = strlen(with);
    return t.n >= n && !memcmp(t.p, with, n);
}

bool gp_text_line(struct gp_span_text *rest, struct gp_span_text *line)
{
    *line = (struct gp_span_text){rest->p, 0};
    if (!rest->n) return false;
    const char *nl = memchr(rest->p, '\n', rest->n);
    size_t n = nl ? (size_t)(nl - rest->p) : rest->n;
    *line = (struct gp_span_text){rest->p, n};
    n += nl != NULL;
    rest->p += n;
    rest->n -= n;
    return true;
}

struct gp_span_text gp_text_trim(struct gp_span_text t)
{
    while (t.n && (*t.p == ' ' || *t.p == '\t' || *t.p == '\n')) t.p++, t.n--;
    while (t.n && strchr(" \t\r\n", t.p[t.n - 1])) t.n--;
    return t;
}

gp_sid gp_clog_text_sid(struct gp_clog_reader *rd, struct gp_span_text t)
{
    return t.n ? gp_intern(&rd->log->strings, t.p, t.n) : 0;
}

bool gp_clog_frame_line(struct gp_span_text line, struct gp_span_text *file, int32_t *number,
                        struct gp_span_text *function)
{
    struct gp_span_text t = gp_text_trim(line);
    if (!gp_text_begins(t, "File \"")) return false;
    t = gp_text_from(t, t.p + 6);
    const char *quote = gp_text_find(t, "\", line ");
    if (!quote) return false;
    *file = (struct gp_span_text){t.p, (size_t)(quote - t.p)};
    t = gp_text_from(t, quote + 8);
    int64_t v = 0;
    while (t.n && *t.p >= '0' && *t.p <= '9' && v < INT32_MAX / 10) {
        v = v * 10 + (*t.p - '0');
        t = gp_text_from(t, t.p + 1);
    }
    *number = (int32_t)v;
    *function =
        gp_text_begins(t, ", in ") ? gp_text_trim(gp_text_from(t, t.p + 5)) : (struct gp_span_text){t.p, 0};
    return true;
}

bool gp_clog_is_library(struct gp_span_text file)
{
    return gp_text_find(file, "site-packages/") || gp_text_find(file, "dist-packages/") ||
           gp_text_find(file, "/python3.") || gp_text_begins(file, "<");
}
