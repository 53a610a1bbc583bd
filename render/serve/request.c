#include "render/serve/request.h"

#include <string.h>
#include <strings.h>
#include "formats/base/err.h"
#include "formats/base/num.h"
#include "formats/base/str.h"
#include "formats/base/utf8.h"

static int digit_of(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decode N bytes at S to *TO, a text that ends in NUL; *TO moves behind it. -1 if it must not be used. */
static int decode(char **to, const char *s, size_t n, bool plus_is_blank)
{
    char *start = *to, *p = start;
    for (size_t i = 0; i < n; i++) {
        char c = s[i];
        if (c == '+' && plus_is_blank) c = ' ';
        if (c == '%') {
            int high = i + 2 < n ? digit_of(s[i + 1]) : -1, low = high < 0 ? -1 : digit_of(s[i + 2]);
            if (low < 0) return -1;
            c = (char)(high * 16 + low);
            i += 2;
        }
        if ((unsigned char)c < 0x20 || c == 0x7f) return -1;
        *p++ = c;
    }
    *p = 0;
    *to = p + 1;
    return gp_utf8_valid(start, (size_t)(p - start)) ? 0 : -1;
}

static int take_path(struct gp_request *r, char **to, const char *s, const char *end)
{
    for (;;) {
        s++; /* the slash */
        const char *stop = memchr(s, '/', (size_t)(end - s));
        if (!stop) stop = end;
        if (stop == end && s == end) return 0; /* "/" or a slash at the end */
        if (r->nparts == GP_TARGET_PARTS) return -1;
        r->parts[r->nparts++] = *to;
        if (decode(to, s, (size_t)(stop - s), false)) return -1;
        if (stop == end) return 0;
        s = stop;
    }
}

static int take_query(struct gp_request *r, char **to, const char *s, const char *end)
{
    while (s < end) {
        const char *stop = memchr(s, '&', (size_t)(end - s));
        if (!stop) stop = end;
        const char *equals = memchr(s, '=', (size_t)(stop - s));
        if (stop > s) {
            if (r->nargs == GP_TARGET_ARGS) return -1;
            struct gp_request_arg *a = &r->args[r->nargs++];
            a->name = *to;
            if (decode(to, s, (size_t)((equals ? equals : stop) - s), true)) return -1;
            a->value = *to;
            if (decode(to, equals ? equals + 1 : stop, equals ? (size_t)(stop - equals - 1) : 0, true))
                return -1;
        }
        s = stop + 1;
    }
    return 0;
}

int gp_request_target(struct gp_request *r, const char *target, struct gp_err *err)
{
    size_t n = strlen(target);
    char *to = r->bytes;
    r->nparts = r->nargs = 0;
    /* An argument without "=" takes one more byte than it has, and so does the last one. */
    if (n + GP_TARGET_ARGS + 2 > GP_TARGET_BYTES) {
        gp_fail(err, GP_E_LIMIT, -1, "the address is longer than %d bytes",
                GP_TARGET_BYTES - GP_TARGET_ARGS - 2);
        return 414;
    }
    const char *end = target + n, *query = memchr(target, '?', n);
    if (!query) query = end;
    int bad = *target != '/' || take_path(r, &to, target, query) ||
              (query < end && take_query(r, &to, query + 1, end));
    if (!bad) return 0;
    r->nparts = r->nargs = 0;
    gp_fail(err, GP_E_SYNTAX, -1, "this is not an address of this server");
    return 400;
}

const char *gp_request_arg(const struct gp_request *r, const char *name)
{
    for (size_t i = 0; i < r->nargs; i++)
        if (!strcmp(r->args[i].name, name)) return r->args[i].value;
    return NULL;
}

/* ---- headers ---- */

static const char *skip_blank(const char *p)
{
    while (*p == ' ' || *p == '\t') p++;
    return p;
}

/* q=0.8 among the parameters from P to END: thousandths; 1000 without. */
static int quality_of(const char *p, const char *end)
{
    while (p < end && (p = memchr(p, ';', (size_t)(end - p)))) {
        p = skip_blank(p + 1);
        if (p + 2 >= end || (*p | 0x20) != 'q' || p[1] != '=') continue;
        int q = p[2] == '1' ? 1000 : 0, scale = 100;
        if (q || p + 3 >= end || p[3] != '.') return q;
        for (const char *d = p + 4; d < end && *d >= '0' && *d <= '9' && scale; d++, scale /= 10)
            q += (*d - '0') * scale;
        return q;
    }
    return 1000;
}

/* 2: the N bytes at S are TYPE; 1: its group, such as "text" and a star; 0: anything; -1: something
 * different. */
static int match_type(const char *s, size_t n, const char *type)
{
    if (n == strlen(type) && !strncasecmp(s, type, n)) return 2;
    if (gp_is(s, n, "*") || gp_is(s, n, "*/*")) return 0;
    const char *slash = strchr(type, '/');
    size_t group = slash ? (size_t)(slash - type) + 1 : 0;
    return group && n == group + 1 && s[group] == '*' && !strncasecmp(s, type, group) ? 1 : -1;
}

int gp_header_quality(const char *header, const char *type)
{
    if (!header) return 1000;
    int best = -1, quality = 0;
    while (*header) {
        size_t n = strcspn(header, ",");
        const char *s = skip_blank(header), *end = header + n;
        size_t name = 0;
        while (s + name < end && !strchr("; \t", s[name])) name++;
        int match = s < end ? match_type(s, name, type) : -1;
        if (match > best) {
            best = match;
            quality = quality_of(s, end);
        }
        header += n + (header[n] == ',');
    }
    return quality;
}

bool gp_header_has_tag(const char *header, const char *tag)
{
    if (!header) return false;
    size_t n = strlen(tag);
    for (const char *p = skip_blank(header); *p;) {
        if (*p == '*') return true;
        if (p[0] == 'W' && p[1] == '/') p += 2;
        if (*p != '"') return false;
        const char *end = strchr(++p, '"');
        if (!end) return false;
        if (gp_is(p, (size_t)(end - p), tag) && n) return true;
        p = skip_blank(end + 1);
        if (*p == ',') p = skip_blank(p + 1);
    }
    return false;
}

const char *gp_header_cookie(const char *header, const char *name, size_t *n)
{
    size_t length = strlen(name);
    while (header && *header) {
        const char *s = skip_blank(header);
        size_t all = strcspn(s, ";");
        if (all > length && s[length] == '=' && !memcmp(s, name, length)) {
            *n = all - length - 1;
            return s + length + 1;
        }
        header = s + all + (s[all] == ';');
    }
    return NULL;
}

int gp_header_range(const char *header, uint64_t size, struct gp_header_range *range)
{
    if (!header || !gp_starts(header, "bytes=")) return 1;
    const char *s = header + 6, *dash = strchr(s, '-');
    if (!dash || strchr(s, ',')) return 1;
    uint64_t from = 0, to = 0;
    bool has_from = dash > s, has_to = dash[1] != 0;
    if (has_from && !gp_u64_from_text(s, (size_t)(dash - s), &from)) return 1;
    if (has_to && !gp_u64_from_text(dash + 1, strlen(dash + 1), &to)) return 1;
    if (!has_from && !has_to) return 1;
    if (!has_from) { /* the last TO bytes */
        if (!to || !size) return -1;
        from = to < size ? size - to : 0;
        to = size - 1;
    } else {
        if (has_to && to < from) return 1;
        if (from >= size) return -1;
        if (!has_to || to >= size) to = size - 1;
    }
    *range = (struct gp_header_range){from, to - from + 1};
    return 0;
}
