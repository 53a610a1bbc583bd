// Requests become command lines; outputs become answers within their tokens.
#include <string.h>
#include "formats/base/json_scan.h"
#include "formats/base/json_write.h"
#include "render/mcp/mcp.h"
#include "tests/unit/unit.h"

static const char *choice(size_t i)
{
    static const char *const words[] = {"kernels", "idle", NULL};
    return words[i];
}

static const struct gp_mcp_tool tools[] = {
    {"summary", "about", "trace-hta", .less = "ask for a table", .tokens = 2000,
     .args = {{"traces", "paths", GP_MCP_PATHS, true},
              {"table", "one", GP_MCP_TEXT, false, "-f csv --table=", "--width=120", choice},
              {"top", "rows", GP_MCP_COUNT, false, "--top="},
              {"whole", "all", GP_MCP_FLAG, false, "--whole"}}},
    {"diff", "about", "trace-diff", .tokens = 2000,
     .args = {{"base", "paths", GP_MCP_PATHS, true, "--base"},
              {"current", "paths", GP_MCP_PATHS, true, "--current"}}},
    {"list", "about", "trace-mcp --list", .folders = true, .tokens = 2000},
    {"picture", "about", "trace2timeline", .picture = true, .tokens = 500,
     .args = {{"traces", "paths", GP_MCP_PATHS, true}}},
    {0},
};
static const char *const folders[] = {"a b", "c"};

static enum gp_mcp_event take(const char *line, struct gp_mcp_call *c, struct gp_buf *reply)
{
    struct gp_buf b = {0};
    const struct gp_mcp m = {tools, folders, 2};
    gp_buf_puts(&b, line);
    memset(gp_buf_reserve(&b, GP_JSON_PAD), 0, GP_JSON_PAD);
    enum gp_mcp_event event = gp_mcp_take(&m, b.data, b.n, c, reply);
    gp_buf_release(&b);
    return event;
}

static void call(const char *params, struct gp_mcp_call *c)
{
    struct gp_buf line = {0}, reply = {0};
    gp_buf_printf(&line, "{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"tools/call\", \"params\": %s}",
                  params);
    assert_int_equal(take(gp_buf_str(&line), c, &reply), GP_MCP_CALL);
    assert_int_equal(reply.n, 0);
    gp_buf_release(&line);
}

// The words of the command with a | behind each.
static void assert_words(const char *params, const char *words)
{
    struct gp_mcp_call c = {0};
    call(params, &c);
    for (size_t i = 0; i < c.words.n; i++)
        if (!c.words.data[i]) c.words.data[i] = '|';
    assert_string_equal(gp_buf_str(&c.words), words);
    gp_mcp_call_release(&c);
}

TEST(arguments_become_words)
{
    assert_words("{\"name\": \"summary\", \"arguments\": {\"traces\": [\"a\", \"b c\"]}}",
                 "trace-hta|--width=120|--|a|b c|");
    assert_words("{\"arguments\": {\"top\": 3, \"whole\": true, \"table\": \"idle\", \"traces\": "
                 "[\"x\\u0020y\"]}, \"name\": \"summary\"}",
                 "trace-hta|-f|csv|--table=idle|--top=3|--whole|--|x y|");
    assert_words(
        "{\"name\": \"summary\", \"arguments\": {\"traces\": [\"a\"], \"whole\": false, \"tokens\": 250}}",
        "trace-hta|--width=120|--|a|");
    assert_words("{\"name\": \"diff\", \"arguments\": {\"current\": [\"c\"], \"base\": [\"a\", \"b\"]}}",
                 "trace-diff|--base|a|b|--current|c|");
    assert_words("{\"name\": \"list\"}", "trace-mcp|--list|--|a b|c|");
}

TEST(ids_come_back_as_they_were)
{
    static const char *const ids[] = {"7", "\"x\"", "\"\\u0000\\\"\"", "-1", "1e3"};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        struct gp_mcp_call c = {0};
        struct gp_buf line = {0}, reply = {0}, expect = {0};
        gp_buf_printf(&line, "{\"id\": %s, \"method\": \"ping\", \"jsonrpc\": \"2.0\"}", ids[i]);
        assert_int_equal(take(gp_buf_str(&line), &c, &reply), GP_MCP_NOTHING);
        gp_buf_printf(&expect, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}\n", ids[i]);
        assert_string_equal(gp_buf_str(&reply), gp_buf_str(&expect));
        gp_buf_release(&line);
        gp_buf_release(&reply);
        gp_buf_release(&expect);
        gp_mcp_call_release(&c);
    }
}

TEST(a_cancellation_names_its_call)
{
    struct gp_mcp_call c = {0};
    struct gp_buf reply = {0};
    assert_int_equal(
        take("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"q\"}}",
             &c, &reply),
        GP_MCP_CANCEL);
    assert_string_equal(gp_buf_str(&c.id), "\"q\"");
    assert_int_equal(reply.n, 0);
    gp_mcp_call_release(&c);
}

// The result of an answer, which is valid, in at most the bytes that its tokens are.
static const char *result_of(const struct gp_mcp_call *c, const struct gp_mcp_result *r, struct gp_buf *reply)
{
    static const char head[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":";
    reply->n = 0;
    gp_mcp_answer(c, r, reply);
    assert_memory_equal(reply->data, head, sizeof head - 1);
    assert_true(gp_json_is_valid(reply->data, reply->n) && reply->data[reply->n - 1] == '\n');
    assert_true(reply->n - 2 - (sizeof head - 1) <= c->tokens * GP_MCP_TOKEN_BYTES);
    return gp_buf_str(reply);
}

TEST(an_answer_fits_and_says_what_it_left_out)
{
    struct gp_mcp_call c = {0};
    struct gp_mcp_result r = {0};
    struct gp_buf reply = {0};
    call("{\"name\": \"summary\", \"arguments\": {\"traces\": [\"it's\"]}}", &c);
    gp_buf_puts(&r.out, "A headline.\n\nKernels\n  one\n");
    assert_string_equal(result_of(&c, &r, &reply),
                        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":"
                        "\"$ trace-hta --width=120 -- "
                        "'it'\\\\''s'\\nA headline.\\n\\nKernels\\n  one\\n\"}],\"isError\":false}}\n");
    for (int i = 0; i < 3000; i++)
        gp_buf_printf(&r.out, "  row \"%d\" \xc2\xb5s\n%s", i, i % 100 ? "" : "\nAnother table\n");
    for (c.tokens = 250; c.tokens < 60000; c.tokens += c.tokens / 16) {
        const char *text = result_of(&c, &r, &reply);
        bool cut = strstr(text, "row \\\"2999\\\"") == NULL;
        assert_true(cut == (strstr(text, "Left out: ") != NULL));
        assert_true(!cut || strstr(text, "Another table") != NULL);
        assert_true(strstr(text, "A headline.") && !strstr(text, "\xef\xbf\xbd"));
    }
    gp_buf_release(&r.out);
    gp_buf_release(&reply);
    gp_mcp_call_release(&c);
}

TEST(an_error_and_a_picture_are_told_as_such)
{
    struct gp_mcp_call c = {0}, p = {0};
    struct gp_mcp_result r = {.status = 2};
    struct gp_buf reply = {0};
    call("{\"name\": \"summary\", \"arguments\": {\"traces\": [\"a\"], \"tokens\": 250}}", &c);
    for (int i = 0; i < 500; i++) gp_buf_puts(&r.err, "trace-hta: a: cannot open\n");
    const char *text = result_of(&c, &r, &reply);
    assert_true(strstr(text, "cannot open") && strstr(text, " more messages") &&
                strstr(text, "\"isError\":true"));
    r.err.n = 0;
    r.killed = "stopped";
    assert_non_null(strstr(result_of(&c, &r, &reply), "stopped"));
    r = (struct gp_mcp_result){.err = r.err, .status = 1};
    text = result_of(&c, &r, &reply);
    assert_true(strstr(text, "exit status 1") && strstr(text, "\"isError\":false"));
    call("{\"name\": \"picture\", \"arguments\": {\"traces\": [\"a\"]}}", &p);
    r.status = 0;
    gp_buf_puts(&r.out, "<svg/>");
    assert_non_null(strstr(result_of(&p, &r, &reply), "\"mimeType\":\"image/svg+xml\",\"text\":\"<svg/>\""));
    for (int i = 0; i < 3000; i++) gp_buf_puts(&r.out, "<g/>");
    text = result_of(&p, &r, &reply);
    assert_true(strstr(text, "Left out: the picture, 12006 bytes of SVG") && !strstr(text, "<svg/>"));
    gp_buf_release(&r.out);
    gp_buf_release(&r.err);
    gp_buf_release(&reply);
    gp_mcp_call_release(&c);
    gp_mcp_call_release(&p);
}
