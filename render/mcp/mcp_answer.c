#include <ctype.h>
#include <string.h>
#include "formats/base/json_write.h"
#include "formats/base/mem.h"
#include "render/mcp/mcp.h"

enum { MESSAGES_PART = 4 }; /* messages, and the list of what was left out, have a fourth of an answer each */

/* What an answer consists of, before it is JSON. */
struct answer {
    size_t most;           /* bytes of the result */
    struct gp_buf command; /* "$ trace-hta a.trace\n" */
    struct gp_buf notes;   /* what is known besides, "" for nothing */
    bool error;
};

/* ---- pieces ---- */

static bool is_plain(char c) { return isalnum((unsigned char)c) || strchr("_@%+=:,./-", c); }

/* WORD as a shell reads it. */
static void put_word(struct gp_buf *b, const char *word)
{
    const char *p = word;
    while (*p && is_plain(*p)) p++;
    if (*word && !*p) {
        gp_buf_puts(b, word);
        return;
    }
    gp_buf_putc(b, '\'');
    for (p = word; *p; p++) {
        if (*p == '\'') gp_buf_puts(b, "'\\''");
        else gp_buf_putc(b, *p);
    }
    gp_buf_putc(b, '\'');
}

static void put_command(struct gp_buf *b, const struct gp_mcp_call *c)
{
    gp_buf_putc(b, '$');
    for (const char *w = c->words.data; w < c->words.data + c->words.n; w += strlen(w) + 1) {
        gp_buf_putc(b, ' ');
        put_word(b, w);
    }
    gp_buf_putc(b, '\n');
}

/* How many bytes TEXT has in JSON, quotes included. */
static size_t size_of(const char *text, size_t n)
{
    struct gp_buf b = {0};
    gp_json_put_string(&b, text, n);
    size_t size = b.n;
    gp_buf_release(&b);
    return size;
}

/* How many of N bytes at TEXT are whole lines and at most MOST bytes in JSON, without quotes. */
static size_t lines_within(const char *text, size_t n, size_t most)
{
    size_t used = 0, at = 0;
    while (at < n) {
        const char *stop = memchr(text + at, '\n', n - at);
        size_t line = stop ? (size_t)(stop - text) + 1 - at : n - at;
        used += size_of(text + at, line) - 2;
        if (used > most) break;
        at += line;
    }
    return at;
}

static size_t count_lines(const char *text, size_t n)
{
    size_t lines = n && text[n - 1] != '\n';
    for (size_t i = 0; i < n; i++) lines += text[i] == '\n';
    return lines;
}

/* ---- the result ---- */

static void put_item(struct gp_buf *b, const struct gp_buf *text)
{
    if (!text->n) return;
    gp_buf_puts(b,
                b->data[b->n - 1] == '[' ? "{\"type\":\"text\",\"text\":" : ",{\"type\":\"text\",\"text\":");
    gp_json_put_string(b, text->data, text->n);
    gp_buf_putc(b, '}');
}

/* The result with the first N bytes of OUT, or with the picture that they are. */
static void put_result(struct gp_buf *b, const struct answer *a, const char *out, size_t n, bool picture)
{
    struct gp_buf text = {0};
    gp_buf_put(&text, a->command.data, a->command.n);
    if (!picture) gp_buf_put(&text, out, n);
    gp_buf_puts(b, "{\"content\":[");
    put_item(b, &text);
    if (picture && n) {
        gp_buf_puts(b, ",{\"type\":\"resource\",\"resource\":{\"uri\":\"gpuprof:picture.svg\",\"mimeType\":"
                       "\"image/svg+xml\","
                       "\"text\":");
        gp_json_put_string(b, out, n);
        gp_buf_puts(b, "}}");
    }
    put_item(b, &a->notes);
    gp_buf_printf(b, "],\"isError\":%s}", a->error ? "true" : "false");
    gp_buf_release(&text);
}

static size_t result_size(const struct answer *a, const char *out, size_t n, bool picture)
{
    struct gp_buf b = {0};
    put_result(&b, a, out, n, picture);
    size_t size = b.n;
    gp_buf_release(&b);
    return size;
}

/* ---- notes ---- */

/* What it printed to standard error, and how it ended. */
static void put_messages(struct answer *a, const struct gp_mcp_result *r)
{
    size_t n = lines_within(r->err.data, r->err.n, a->most / MESSAGES_PART);
    if (r->killed) gp_buf_printf(&a->notes, "%s\n", r->killed);
    gp_buf_put(&a->notes, r->err.data, n);
    if (n < r->err.n)
        gp_buf_printf(&a->notes, "and %zu more messages\n", count_lines(r->err.data + n, r->err.n - n));
    if (r->status && !a->error) gp_buf_printf(&a->notes, "exit status %d\n", r->status);
}

/* The titles among the lines of TEXT, at most MOST bytes: after an empty line, not indented. */
static void put_titles(struct gp_buf *b, const char *text, size_t n, size_t most)
{
    const char *before = ": ", *end = text + n;
    for (const char *p = text; p + 2 < end && (p = memchr(p, '\n', (size_t)(end - p))); p++) {
        if (end - p < 3 || p[1] != '\n' || isspace((unsigned char)p[2])) continue;
        const char *stop = memchr(p + 2, '\n', (size_t)(end - p) - 2);
        size_t line = (size_t)((stop ? stop : end) - p) - 2;
        if (line > most) {
            gp_buf_puts(b, "; and more");
            return;
        }
        gp_buf_puts(b, before);
        gp_buf_put(b, p + 2, line);
        before = "; ";
        most -= line;
    }
}

/* That all but the first N bytes of R's output are left out, and how to get them. */
static void put_left_out(struct answer *a, const struct gp_mcp_call *c, const struct gp_mcp_result *r,
                         size_t n, size_t tokens)
{
    struct gp_buf *b = &a->notes;
    const char *rest = r->out.n ? r->out.data + n : "";
    size_t left = r->out.n - n, all = count_lines(r->out.data, r->out.n);
    if (c->tool->picture) gp_buf_printf(b, "Left out: the picture, %zu bytes of SVG", r->out.n);
    else gp_buf_printf(b, "Left out: %zu of %zu lines", count_lines(rest, left), all);
    if (r->dropped) gp_buf_printf(b, " and %llu bytes after them", (unsigned long long)r->dropped);
    if (!c->tool->picture) put_titles(b, n ? rest - 1 : rest, n ? left + 1 : left, a->most / MESSAGES_PART);
    gp_buf_puts(b, ". All of it: the command above");
    if (!r->dropped) gp_buf_printf(b, ", or tokens: %zu", tokens);
    if (c->tool->less) gp_buf_printf(b, ". Less: %s", c->tool->less);
    gp_buf_puts(b, ".\n");
}

/* ---- all ---- */

static void fit(struct answer *a, const struct gp_mcp_call *c, const struct gp_mcp_result *r,
                struct gp_buf *b)
{
    bool picture = c->tool->picture && !a->error;
    const char *out = r->out.n ? r->out.data : "";
    size_t whole = result_size(a, out, r->out.n, picture), notes = a->notes.n, n = 0;
    if (whole <= a->most && !r->dropped) {
        put_result(b, a, out, r->out.n, picture);
        return;
    }
    size_t tokens = (whole + GP_MCP_TOKEN_BYTES - 1) / GP_MCP_TOKEN_BYTES;
    put_left_out(a, c, r, 0, tokens);
    size_t least = result_size(a, out, 0, picture);
    for (size_t size = least, spare = least; !picture && spare < a->most; spare += size - a->most) {
        n = lines_within(out, r->out.n, a->most - spare);
        a->notes.n = notes;
        put_left_out(a, c, r, n, tokens);
        size = result_size(a, out, n, false);
        if (size <= a->most) break;
        n = 0;
    }
    a->notes.n = notes;
    put_left_out(a, c, r, n, tokens); /* of what is really left out */
    if (least <= a->most) {
        put_result(b, a, out, n, false);
        return;
    }
    a->command.n = a->notes.n = 0;
    a->error = true;
    gp_buf_printf(&a->notes,
                  "tokens: the command, which begins the answer, needs more by itself; %zu hold all of it\n",
                  tokens);
    put_result(b, a, out, 0, false);
}

void gp_mcp_answer(const struct gp_mcp_call *c, const struct gp_mcp_result *r, struct gp_buf *reply)
{
    enum { ERROR = 2 }; /* exit status of misuse and of what cannot be read */
    struct answer a = {.most = c->tokens * GP_MCP_TOKEN_BYTES,
                       .error = r->killed || r->status == ERROR || r->status > 3};
    struct gp_buf b = {0};
    put_command(&a.command, c);
    put_messages(&a, r);
    fit(&a, c, r, &b);
    gp_buf_puts(reply, "{\"jsonrpc\":\"2.0\",\"id\":");
    gp_buf_put(reply, c->id.data, c->id.n);
    gp_buf_printf(reply, ",\"result\":%s}\n", gp_buf_str(&b));
    GP_RELEASE(gp_buf_release, &b, &a.command, &a.notes);
}
