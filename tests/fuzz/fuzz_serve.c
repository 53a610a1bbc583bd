/* fuzz_serve.c -- a request as a client may send it: the target in the first line, then headers. What is ours
 * of parsing it must keep within its room, and what it hands on is text that can be used. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "formats/base/err.h"
#include "formats/base/utf8.h"
#include "render/serve/routes.h"
#include "tests/fuzz/help/fuzz.h"

static const struct {
    const char *name;
    size_t offset;
} headers[] = {
    {"Host", offsetof(struct gp_request, host)},
    {"Origin", offsetof(struct gp_request, origin)},
    {"Sec-Fetch-Site", offsetof(struct gp_request, fetch_site)},
    {"Sec-Fetch-Mode", offsetof(struct gp_request, fetch_mode)},
    {"Cookie", offsetof(struct gp_request, cookie)},
    {"Authorization", offsetof(struct gp_request, authorization)},
    {"Accept", offsetof(struct gp_request, accept)},
    {"Accept-Encoding", offsetof(struct gp_request, accept_encoding)},
    {"If-None-Match", offsetof(struct gp_request, if_none_match)},
    {"Range", offsetof(struct gp_request, range)},
};

static void take_header(struct gp_request *r, char *line)
{
    char *colon = strchr(line, ':');
    if (!colon) return;
    *colon = 0;
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        if (!strcasecmp(line, headers[i].name))
            *(const char **)(void *)((char *)r + headers[i].offset) = colon + 1 + (colon[1] == ' ');
}

static void check_text(const struct gp_request *r, const char *s)
{
    FUZZ_CHECK(s >= r->bytes && s < r->bytes + sizeof r->bytes);
    size_t n = strlen(s);
    FUZZ_CHECK(s + n < r->bytes + sizeof r->bytes && gp_utf8_valid(s, n));
    for (size_t i = 0; i < n; i++) FUZZ_CHECK((unsigned char)s[i] >= 0x20 && s[i] != 0x7f);
}

static void use(struct gp_request *r)
{
    static const struct gp_guard guard = {.wants_token = true,
                                          .port = 8080,
                                          .token = "0123456789abcdef0123456789abcdef",
                                          .cookie = "fedcba9876543210fedcba9876543210"};
    struct gp_err err = {0};
    bool other;
    for (size_t i = 0; i < r->nparts; i++) check_text(r, r->parts[i]);
    for (size_t i = 0; i < r->nargs; i++) {
        check_text(r, r->args[i].name);
        check_text(r, r->args[i].value);
    }
    const struct gp_route *t = gp_routes_find(r, &other);
    int status = gp_guard_check(&guard, r, t && t->open, &err);
    FUZZ_CHECK(status == 0 || status == 401 || status == 403 || status == 421);
    if (!status && !(t && t->open)) FUZZ_CHECK(r->authorization || r->cookie);
    for (const struct gp_query *q = gp_queries; q->name; q++)
        (void)gp_query_form(q, gp_request_arg(r, "format"), r->accept);
    struct gp_header_range range;
    if (r->range && !gp_header_range(r->range, 1000, &range))
        FUZZ_CHECK(range.n && range.from + range.n <= 1000);
    gp_header_has_tag(r->if_none_match, "0123456789abcdef");
    FUZZ_CHECK(gp_header_quality(r->accept_encoding, "gzip") <= 1000);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *text = malloc(n + 1);
    struct gp_request *r = calloc(1, sizeof *r);
    struct gp_err err = {0};
    if (!text || !r) abort();
    for (size_t i = 0; i < n; i++)
        text[i] = data[i] ? (char)data[i] : ' '; /* the library ends texts at a NUL */
    text[n] = 0;
    char *save = NULL, *target = strtok_r(text, "\n", &save);
    for (char *line; (line = strtok_r(NULL, "\n", &save));) take_header(r, line);
    int status = gp_request_target(r, target ? target : "", &err);
    FUZZ_CHECK(status == 0 || status == 400 || status == 414);
    if (!status) use(r);
    else FUZZ_CHECK(!r->nparts && !r->nargs && *err.msg);
    free(r);
    free(text);
    return 0;
}
