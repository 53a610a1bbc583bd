/* What clients send, taken apart, and who may ask. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "formats/base/err.h"
#include "render/serve/request.h"
#include "render/serve/queries.h"
#include "tests/unit/unit.h"

static struct gp_request *parsed(const char *target, int status)
{
    struct gp_request *r = calloc(1, sizeof *r);
    struct gp_err err = {0};
    assert_non_null(r);
    assert_int_equal(gp_request_target(r, target, &err), status);
    assert_int_equal(status != 0, err.code != 0);
    return r;
}

TEST(test_target)
{
    struct gp_request *r = parsed("/api/profiler/hta?trace=ab%2Fc&x=a+b%20c&flag&=v&trace=second", 0);
    assert_int_equal(r->nparts, 3);
    assert_string_equal(r->parts[2], "hta");
    assert_string_equal(gp_request_arg(r, "trace"), "ab/c");
    assert_string_equal(gp_request_arg(r, "x"), "a b c");
    assert_string_equal(gp_request_arg(r, "flag"), "");
    assert_int_equal(r->nargs, 5);
    assert_null(gp_request_arg(r, "none"));
    free(r);
    r = parsed("/", 0);
    assert_int_equal(r->nparts, 0);
    free(r);
    r = parsed("/a+b//c/", 0); /* a plus is a blank only in queries; two slashes have nothing between them */
    assert_string_equal(r->parts[0], "a+b");
    assert_string_equal(r->parts[1], "");
    assert_string_equal(r->parts[2], "c");
    assert_int_equal(r->nparts, 3);
    free(r);
}

TEST(test_target_refused)
{
    static const char *const bad[] = {
        "",      "x",     "*",       "/%",      "/%4",        "/%zz",         "/%00",
        "/a%0a", "/a\tb", "/?a=%ff", "/%c3%28", "/?%0d%0a=1", "/a/b/c/d/e/f", "/?a=%e2%82"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) free(parsed(bad[i], 400));
    char *longest = malloc(GP_TARGET_BYTES + 1);
    assert_non_null(longest);
    memset(longest, 'a', GP_TARGET_BYTES);
    longest[0] = '/';
    longest[GP_TARGET_BYTES] = 0;
    free(parsed(longest, 414));
    longest[GP_TARGET_BYTES - GP_TARGET_ARGS - 2] = 0;
    free(parsed(longest, 0));
    /* as many arguments as fit, without a value, to the last byte */
    size_t n = (size_t)snprintf(longest, 3, "/?");
    for (int i = 0; i < GP_TARGET_ARGS; i++) n += (size_t)snprintf(longest + n, 3, "&x");
    free(parsed(longest, 0));
    snprintf(longest + n, 3, "&x");
    free(parsed(longest, 400));
    free(longest);
}

TEST(test_accept)
{
    assert_int_equal(gp_header_quality(NULL, "text/html"), 1000);
    assert_int_equal(gp_header_quality("text/html,*/*;q=0.8", "application/json"), 800);
    assert_int_equal(gp_header_quality("text/*;q=0.25, */*;q=0.1", "text/html"), 250);
    assert_int_equal(gp_header_quality("gzip;q=0, *", "gzip"), 0);
    assert_int_equal(gp_header_quality("TEXT/HTML ; q=0.5", "text/html"), 500);
    assert_int_equal(gp_header_quality("", "text/html"), 0);
    assert_int_equal(gp_header_quality(",;q=,/,", "text/html"), 0);
    const struct gp_query *q = gp_query_named("hta");
    assert_string_equal(gp_query_form(q, NULL, "*/*")->name, "json");
    assert_string_equal(gp_query_form(q, NULL, "text/html,application/xml;q=0.9,*/*;q=0.8")->name, "html");
    assert_string_equal(gp_query_form(q, "csv", "text/html")->name, "csv");
    assert_null(gp_query_form(q, "exe", NULL));
    assert_null(gp_query_form(q, NULL, "video/mp4"));
}

TEST(test_tags)
{
    assert_true(gp_header_has_tag("\"a\", W/\"b\"", "b"));
    assert_true(gp_header_has_tag("*", "b"));
    assert_false(gp_header_has_tag("\"a\"", "b"));
    assert_false(gp_header_has_tag("b", "b"));
    assert_false(gp_header_has_tag("\"b", "b"));
    assert_false(gp_header_has_tag(NULL, "b"));
}

TEST(test_ranges)
{
    static const struct {
        const char *header;
        int result;
        uint64_t from, n;
    } rows[] = {
        {"bytes=0-9", 0, 0, 10},
        {"bytes=90-", 0, 90, 10},
        {"bytes=-5", 0, 95, 5},
        {"bytes=50-999", 0, 50, 50},
        {"bytes=-500", 0, 0, 100},
        {"bytes=100-", -1, 0, 0},
        {"bytes=-0", -1, 0, 0},
        {"bytes=5-4", 1, 0, 0},
        {"bytes=0-1,5-6", 1, 0, 0},
        {"bytes=-", 1, 0, 0},
        {"bytes=x-1", 1, 0, 0},
        {"lines=0-1", 1, 0, 0},
        {"bytes=99999999999999999999-", 1, 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct gp_header_range r = {0, 0};
        assert_int_equal(gp_header_range(rows[i].header, 100, &r), rows[i].result);
        assert_int_equal(r.from, rows[i].from);
        assert_int_equal(r.n, rows[i].n);
    }
    struct gp_header_range r;
    assert_int_equal(gp_header_range("bytes=0-", 0, &r), -1);
    assert_int_equal(gp_header_range("bytes=-1", 0, &r), -1);
}

TEST(test_cookies)
{
    size_t n;
    const char *c = gp_header_cookie("a=1; gpuprof-80=xyz; b=2", "gpuprof-80", &n);
    assert_non_null(c);
    assert_int_equal(n, 3);
    assert_memory_equal(c, "xyz", 3);
    assert_null(gp_header_cookie("xgpuprof-80=1", "gpuprof-80", &n));
    assert_null(gp_header_cookie("gpuprof-80", "gpuprof-80", &n));
    assert_null(gp_header_cookie(NULL, "gpuprof-80", &n));
}

static int asked(const struct gp_guard *g, struct gp_request *r, bool open)
{
    struct gp_err err = {0};
    return gp_guard_check(g, r, open, &err);
}

TEST(test_guard)
{
    static const char *const hosts[] = {"proxy.example"};
    struct gp_guard g = {.wants_token = true, .port = 8080, .hosts = hosts, .nhosts = 1};
    struct gp_request r = {.method = GP_METHOD_GET, .host = "localhost:8080"};
    struct gp_err err = {0};
    char bearer[64];
    assert_int_equal(gp_guard_init(&g, &err), 0);
    assert_int_equal(strlen(g.token), GP_TOKEN_TEXT - 1);
    assert_string_not_equal(g.token, g.cookie);
    assert_int_equal(asked(&g, &r, false), 401);
    assert_int_equal(asked(&g, &r, true), 0);
    snprintf(bearer, sizeof bearer, "bearer %s", g.token);
    r.authorization = bearer;
    assert_int_equal(asked(&g, &r, false), 0);
    static const char *const foreign[] = {"localhost",
                                          "localhost:80",
                                          "localhost:8081",
                                          "evil.example:8080",
                                          "localhost.:8080",
                                          "",
                                          ":8080",
                                          "[::1",
                                          "localhost:8080:8080",
                                          "localhost:+8080",
                                          "127.0.0.1.evil.example:8080"};
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        r.host = foreign[i];
        assert_int_equal(asked(&g, &r, false), 421);
    }
    static const char *const ours[] = {"LOCALHOST:8080", "127.0.0.1:8080", "[::1]:8080", "proxy.example",
                                       "proxy.example:443"};
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        r.host = ours[i];
        assert_int_equal(asked(&g, &r, false), 0);
    }
    r.host = "proxy.example";
    r.origin = "https://proxy.example";
    assert_int_equal(asked(&g, &r, false), 0);
    r.origin = "http://localhost:8080"; /* ours, but not where this request was sent */
    assert_int_equal(asked(&g, &r, false), 403);
}
