/* fuzz_mcp.c -- a line as a client of trace-mcp may send it, and, behind a line end, what the tool that it
 * calls prints. Commands have only options of the table, replies are lines of JSON, results are within their
 * tokens. */
#include <string.h>
#include "formats/base/json_scan.h"
#include "formats/base/json_write.h"
#include "render/mcp/mcp.h"
#include "tests/fuzz/help/fuzz.h"
#include "tests/fuzz/help/mutate.h"

static const char *choice(size_t i)
{
    static const char *const words[] = {"kernels", "idle", NULL};
    return words[i];
}

static const struct gp_mcp_tool tools[] = {
    {"summary", "about", "trace-hta --quiet", .less = "ask for a table", .tokens = 2000,
     .args = {{.name = "traces", .about = "paths", .type = GP_MCP_PATHS, .required = true},
              {"table", "one", GP_MCP_TEXT, false, "-f csv --table=", "--width=120", choice},
              {.name = "top", .about = "rows", .type = GP_MCP_COUNT, .words = "--top="},
              {.name = "whole", .about = "all", .type = GP_MCP_FLAG, .words = "--whole"},
              {.name = "sql", .about = "text", .type = GP_MCP_TEXT}}},
    {"diff", "about", "trace-diff", .tokens = 250,
     .args = {{.name = "base", .about = "paths", .type = GP_MCP_PATHS, .required = true, .words = "--base"}}},
    {"picture", "about", "trace2timeline", .picture = true, .folders = true, .tokens = 300},
    {0},
};
static const char *const folders[] = {"a"};

static void check_lines(const struct gp_buf *b)
{
    for (const char *p = b->data, *end = p ? p + b->n : p; p < end;) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        FUZZ_CHECK(stop && gp_json_is_valid(p, (size_t)(stop - p)));
        p = stop + 1;
    }
}

/* Nothing before "--" but what the table has: a value cannot become an option. */
static void check_words(const struct gp_mcp_call *c)
{
    static const char *const options[] = {"-f",     "csv",     "--table=", "--width=120",
                                          "--top=", "--whole", "--base",   "--quiet"};
    const char *w = c->words.data, *end = w + c->words.n;
    FUZZ_CHECK(c->words.n && !end[-1]);
    for (w += strlen(w) + 1; w < end && strcmp(w, "--") != 0; w += strlen(w) + 1) {
        bool known = *w && *w != '-';
        for (size_t i = 0; i < sizeof options / sizeof *options; i++)
            known |= !strncmp(w, options[i], strlen(options[i]));
        FUZZ_CHECK(known);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct gp_mcp m = {tools, folders, 1};
    const uint8_t *stop = size ? memchr(data, '\n', size) : NULL;
    size_t n = stop ? (size_t)(stop - data) : size;
    struct gp_mcp_call c = {0};
    struct gp_buf line = {0}, reply = {0};
    gp_buf_put(&line, data, n);
    memset(gp_buf_reserve(&line, GP_JSON_PAD), 0, GP_JSON_PAD);
    enum gp_mcp_event event = gp_mcp_take(&m, line.data, n, &c, &reply);
    FUZZ_CHECK(event != GP_MCP_CALL || !reply.n);
    check_lines(&reply);
    if (event == GP_MCP_CALL) {
        struct gp_mcp_result r = {.status = size % 5 ? 0 : 2, .dropped = size % 7 ? 0 : size};
        check_words(&c);
        if (stop) gp_buf_put(size % 3 ? &r.out : &r.err, stop + 1, size - n - 1);
        gp_mcp_answer(&c, &r, &reply);
        check_lines(&reply);
        size_t head = strlen("{\"jsonrpc\":\"2.0\",\"id\":,\"result\":}\n") + c.id.n;
        FUZZ_CHECK(reply.n - head <= c.tokens * GP_MCP_TOKEN_BYTES);
        gp_buf_release(&r.out);
        gp_buf_release(&r.err);
    }
    gp_mcp_call_release(&c);
    gp_buf_release(&line);
    gp_buf_release(&reply);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    return fuzz_mutate(data, size, most, seed, 0);
}
