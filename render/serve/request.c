#include "render/serve/request.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include "formats/base/buf.h"
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

/* ---- who may ask ---- */

/* Servers of one name and several ports must not take each other's cookie. */
static const char *cookie_name(const struct gp_guard *g, char *to, size_t n)
{
    snprintf(to, n, "gpuprof-%u", (unsigned)g->port);
    return to;
}

int gp_guard_random(char *to, struct gp_err *err)
{
    unsigned char bytes[(GP_TOKEN_TEXT - 1) / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return gp_fail(err, GP_E_IO, -1, "cannot get random numbers: %s", strerror(errno));
    for (size_t i = 0; i < sizeof bytes; i++) {
        to[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
        to[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
    }
    to[GP_TOKEN_TEXT - 1] = 0;
    return 0;
}

int gp_guard_init(struct gp_guard *g, struct gp_err *err)
{
    char name[GP_TOKEN_TEXT];
    if (gp_guard_random(g->token, err) || gp_guard_random(g->cookie, err) || gp_guard_random(name, err))
        return -1;
    snprintf(g->name, sizeof g->name, "g%.16s.localhost", name);
    return 0;
}

/* In a time that does not depend on where they differ. */
static bool same_secret(const char *secret, const char *s, size_t n)
{
    if (n != GP_TOKEN_TEXT - 1) return false;
    unsigned char differ = 0;
    for (size_t i = 0; i < n; i++) differ |= (unsigned char)(secret[i] ^ s[i]);
    return !differ;
}

/* ---- hosts ---- */

static bool same_name(const char *s, size_t n, const char *name)
{
    return n == strlen(name) && !strncasecmp(s, name, n);
}

/* Is the N bytes at S a name of ours, with our port? */
static bool is_our_host(const struct gp_guard *g, const char *s, size_t n)
{
    const char *colon = n && s[n - 1] != ']' ? memrchr(s, ':', n) : NULL;
    size_t name = colon ? (size_t)(colon - s) : n;
    uint64_t port = 80;
    if (colon && (!gp_u64_from_text(colon + 1, n - name - 1, &port) || port > UINT16_MAX)) return false;
    for (size_t i = 0; i < g->nhosts; i++)
        if (same_name(s, n, g->hosts[i]) || same_name(s, name, g->hosts[i])) return true;
    if (g->port && port != g->port) return false;
    static const char *const ours[] = {"localhost", "127.0.0.1", "[::1]"};
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (same_name(s, name, ours[i])) return true;
    if (g->address && (same_name(s, name, g->address) || (name > 2 && s[0] == '[' && s[name - 1] == ']' &&
                                                          same_name(s + 1, name - 2, g->address))))
        return true;
    return *g->name && same_name(s, name, g->name);
}

/* "http://HOST" of a page of ours; a proxy may add the s. */
static bool is_our_origin(const struct gp_guard *g, const struct gp_request *r)
{
    const char *o = r->origin, *at = gp_starts(o, "http://")    ? o + 7
                                     : gp_starts(o, "https://") ? o + 8
                                                                : NULL;
    return at && !strcasecmp(at, r->host) && is_our_host(g, at, strlen(at));
}

/* ---- origins of requests, as browsers name them ---- */

static int refuse_foreign(struct gp_err *err)
{
    gp_fail(err, GP_E_USAGE, -1, "requests from other sites are refused");
    return 403;
}

/* Any site may link to us, by a GET that shows a page. Requests by scripts of other sites are refused. */
static int check_site(const struct gp_guard *g, const struct gp_request *r, struct gp_err *err)
{
    bool reads = r->method == GP_METHOD_GET || r->method == GP_METHOD_HEAD;
    if (r->origin && !is_our_origin(g, r)) return refuse_foreign(err);
    if (!r->fetch_site || !strcmp(r->fetch_site, "same-origin")) return 0;
    if (!reads) return refuse_foreign(err);
    if (!strcmp(r->fetch_site, "none")) return 0;
    return r->fetch_mode && !strcmp(r->fetch_mode, "navigate") ? 0 : refuse_foreign(err);
}

bool gp_guard_has_token(const struct gp_guard *g, const struct gp_request *r)
{
    const char *a = r->authorization;
    static const char scheme[] = "Bearer ";
    size_t n = sizeof scheme - 1;
    return a && !strncasecmp(a, scheme, n) && same_secret(g->token, a + n, strlen(a + n));
}

bool gp_guard_lets_in(const struct gp_guard *g, const struct gp_request *r)
{
    char name[24];
    size_t n = 0;
    if (!g->wants_token || gp_guard_has_token(g, r)) return true;
    const char *cookie = gp_header_cookie(r->cookie, cookie_name(g, name, sizeof name), &n);
    return cookie && same_secret(g->cookie, cookie, n);
}

int gp_guard_check(const struct gp_guard *g, const struct gp_request *r, bool open, struct gp_err *err)
{
    if (!r->host || !is_our_host(g, r->host, strlen(r->host))) {
        gp_fail(err, GP_E_USAGE, -1, "unknown host name: add it with --host");
        return 421;
    }
    int status = check_site(g, r, err);
    if (status || open || gp_guard_lets_in(g, r)) return status;
    gp_fail(err, GP_E_USAGE, -1,
            "open the link that trace-serve printed, or send \"Authorization: Bearer TOKEN\"");
    return 401;
}

void gp_guard_put_cookie(const struct gp_guard *g, struct gp_buf *b)
{
    char name[24];
    gp_buf_printf(b, "%s=%s; Path=/; HttpOnly; SameSite=Strict", cookie_name(g, name, sizeof name),
                  g->cookie);
}
