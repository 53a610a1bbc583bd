#include "render/serve/guard.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/base/num.h"
#include "formats/base/str.h"

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

/* ---- what a browser says of where a request comes from ---- */

static int foreign(struct gp_err *err)
{
    gp_fail(err, GP_E_USAGE, -1, "requests from other sites are refused");
    return 403;
}

/* Anybody may link to us: such a link is followed by a GET that shows a page. Nothing that a page of others
 * fetches is. */
static int check_site(const struct gp_guard *g, const struct gp_request *r, struct gp_err *err)
{
    bool reads = r->method == GP_METHOD_GET || r->method == GP_METHOD_HEAD;
    if (r->origin && !is_our_origin(g, r)) return foreign(err);
    if (!r->fetch_site || !strcmp(r->fetch_site, "same-origin")) return 0;
    if (!reads) return foreign(err);
    if (!strcmp(r->fetch_site, "none")) return 0;
    return r->fetch_mode && !strcmp(r->fetch_mode, "navigate") ? 0 : foreign(err);
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
