#include "render/mcp/mcp.h"

#include <string.h>
#include "formats/base/count.h"
#include "formats/base/err.h"
#include "formats/base/json_scan.h"
#include "formats/base/json_write.h"
#include "formats/base/num.h"
#include "formats/base/str.h"
#include "formats/base/vec.h"

/* Newest first; what a client asks for otherwise gets the first. */
static const char *const versions[] = {"2025-11-25", "2025-06-18", "2024-11-05"};

static const char instructions[] =
    "Figures of GPU traces: times are exact, in integer nanoseconds where a column ends in _ns. Begin with "
    "traces, then summary and advice; query answers what they do not. Every answer begins with the command "
    "that prints it again, after \"$ \". An answer has at most `tokens` (bytes / 4), and lists what it left "
    "out.";

void gp_mcp_call_release(struct gp_mcp_call *c)
{
    gp_buf_release(&c->id);
    gp_buf_release(&c->words);
}

/* ---- replies ---- */

static void begin(struct gp_buf *b, const struct gp_buf *id)
{
    gp_buf_puts(b, "{\"jsonrpc\":\"2.0\",\"id\":");
    if (id && id->n) gp_buf_put(b, id->data, id->n);
    else gp_buf_puts(b, "null");
}

static void put_text(struct gp_buf *b, const char *text) { gp_json_put_string(b, text, strlen(text)); }

void gp_mcp_fail(struct gp_buf *reply, const struct gp_buf *id, int code, const char *why)
{
    begin(reply, id);
    gp_buf_printf(reply, ",\"error\":{\"code\":%d,\"message\":", code);
    put_text(reply, why);
    gp_buf_puts(reply, "}}\n");
}

static void put_result(struct gp_buf *reply, const struct gp_buf *id, const char *json)
{
    begin(reply, id);
    gp_buf_printf(reply, ",\"result\":%s}\n", json);
}

/* ---- values ---- */

/* The last member NAME of OBJECT, which may be of any kind; absent if there is none. */
static struct gp_json_value member(const struct gp_json_value *object, const char *end, const char *name)
{
    struct gp_json_value key, v, found = {0};
    if (object->kind != GP_JSON_OBJECT) return found;
    for (const char *p = object->p + 1; gp_json_next(&p, end, &key, &v);)
        if (gp_is(key.p, key.n, name)) found = v;
    return found;
}

/* ---- initialize, tools/list ---- */

static void initialize(const struct gp_json_value *params, const char *end, const struct gp_buf *id,
                       struct gp_buf *reply)
{
    struct gp_json_value asked = member(params, end, "protocolVersion");
    const char *version = versions[0];
    if (!gp_json_is_string(&asked)) {
        gp_mcp_fail(reply, id, GP_MCP_PARAMS, "initialize has no protocolVersion");
        return;
    }
    for (size_t i = 0; i < GP_COUNT(versions); i++)
        if (gp_is(asked.p, asked.n, versions[i])) version = versions[i];
    struct gp_buf b = {0};
    gp_buf_printf(&b,
                  "{\"protocolVersion\":\"%s\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":"
                  "\"trace-mcp\",\"title\":\"gpuprof\",\"version\":\"" GP_VERSION "\"},\"instructions\":",
                  version);
    put_text(&b, instructions);
    gp_buf_putc(&b, '}');
    put_result(reply, id, gp_buf_str(&b));
    gp_buf_release(&b);
}

static const char *const types[] = {[GP_MCP_PATHS] =
                                        "\"array\",\"items\":{\"type\":\"string\"},\"minItems\":1",
                                    [GP_MCP_TEXT] = "\"string\"",
                                    [GP_MCP_COUNT] = "\"integer\",\"minimum\":0",
                                    [GP_MCP_FLAG] = "\"boolean\""};

static size_t arg_count(const struct gp_mcp_tool *t)
{
    size_t n = 0;
    while (n < GP_MCP_ARGS && t->args[n].name) n++;
    return n;
}

static void put_arg(struct gp_buf *b, const struct gp_mcp_arg *a)
{
    gp_buf_printf(b, "\"%s\":{\"type\":%s,\"description\":", a->name, types[a->type]);
    put_text(b, a->about);
    for (size_t i = 0; a->choice && a->choice(i); i++) {
        gp_buf_puts(b, i ? "," : ",\"enum\":[");
        put_text(b, a->choice(i));
    }
    gp_buf_puts(b, a->choice ? "]}," : "},");
}

static void put_tool(struct gp_buf *b, const struct gp_mcp_tool *t)
{
    gp_buf_printf(b, "{\"name\":\"%s\",\"description\":", t->name);
    put_text(b, t->about);
    gp_buf_puts(b, ",\"inputSchema\":{\"type\":\"object\",\"properties\":{");
    for (size_t i = 0; i < arg_count(t); i++) put_arg(b, &t->args[i]);
    gp_buf_printf(
        b,
        "\"tokens\":{\"type\":\"integer\",\"minimum\":%d,\"maximum\":%d,\"description\":\"the answer has at "
        "most this many tokens, counted as bytes / %d (default: %llu)\"}},\"required\":[",
        GP_MCP_LEAST_TOKENS, GP_MCP_MOST_TOKENS, GP_MCP_TOKEN_BYTES, (unsigned long long)t->tokens);
    const char *comma = "";
    for (size_t i = 0; i < arg_count(t); i++) {
        if (!t->args[i].required) continue;
        gp_buf_printf(b, "%s\"%s\"", comma, t->args[i].name);
        comma = ",";
    }
    gp_buf_puts(
        b,
        "],\"additionalProperties\":false},\"annotations\":{\"readOnlyHint\":true,\"openWorldHint\":false}}");
}

static void list_tools(const struct gp_mcp *m, const struct gp_buf *id, struct gp_buf *reply)
{
    struct gp_buf b = {0};
    gp_buf_puts(&b, "{\"tools\":[");
    for (const struct gp_mcp_tool *t = m->tools; t->name; t++) {
        if (t != m->tools) gp_buf_putc(&b, ',');
        put_tool(&b, t);
    }
    gp_buf_puts(&b, "]}");
    put_result(reply, id, gp_buf_str(&b));
    gp_buf_release(&b);
}

/* ---- tools/call: from arguments to a command line ---- */

static void put_word(struct gp_buf *words, const char *word) { gp_buf_put(words, word, strlen(word) + 1); }

/* Each of WORDS, separated by spaces; VALUE is added to the last. */
static void put_words(struct gp_buf *words, const char *text, const char *value)
{
    size_t n;
    for (; text && *text; text += n + (text[n] == ' ')) {
        n = strcspn(text, " ");
        gp_buf_put(words, text, n);
        if (!text[n]) gp_buf_puts(words, value);
        gp_buf_putc(words, 0);
    }
}

static int wrong(const struct gp_mcp_arg *a, const char *why, struct gp_err *err)
{
    return why ? gp_fail(err, GP_E_USAGE, -1, "\"%s\" %s", a->name, why) : 0;
}

/* A string or number, or a path of a list. */
static int take_value(const struct gp_mcp_arg *a, const struct gp_json_value *v, struct gp_buf *words,
                      struct gp_err *err)
{
    bool path = a->type == GP_MCP_PATHS, count = a->type == GP_MCP_COUNT;
    uint64_t n;
    size_t i = 0;
    struct gp_buf text = {0};
    const char *why = count  ? "must be a number from 0 on"
                      : path ? "must be a list of paths"
                             : "must be a string";
    if (count && v->kind == GP_JSON_NUMBER && gp_u64_from_text(v->p, v->n, &n)) why = NULL;
    if (!count && gp_json_is_string(v)) why = NULL;
    if (!why && count) gp_buf_put(&text, v->p, v->n);
    else if (!why) gp_json_decode(&text, v->p, v->n);
    const char *s = gp_buf_str(&text);
    if (!why && strlen(s) != text.n) why = "must not have NUL characters";
    if (!why && path && (!*s || *s == '-')) why = "must be a list of paths";
    while (!why && a->choice && a->choice(i) && strcmp(a->choice(i), s) != 0) i++;
    if (!why && a->choice && !a->choice(i)) why = "has none of its values, which tools/list names";
    if (!why && a->words && !path) put_words(words, a->words, s);
    else if (!why) put_word(words, s);
    gp_buf_release(&text);
    return wrong(a, why, err);
}

static int take_arg(const struct gp_mcp_arg *a, const struct gp_json_value *v, const char *end,
                    struct gp_buf *words, struct gp_err *err)
{
    bool yes = v->kind == GP_JSON_WORD && *v->p == 't', no = v->kind == GP_JSON_WORD && *v->p == 'f';
    struct gp_json_value element;
    if (a->type == GP_MCP_FLAG && yes) put_words(words, a->words, "");
    if (a->type == GP_MCP_FLAG) return wrong(a, yes || no ? NULL : "must be true or false", err);
    if (a->type != GP_MCP_PATHS) return take_value(a, v, words, err);
    put_words(words, a->words, "");
    size_t none = words->n;
    for (const char *p = v->p + 1; v->kind == GP_JSON_ARRAY && gp_json_next(&p, end, NULL, &element);)
        if (take_value(a, &element, words, err)) return -1;
    return wrong(a, words->n > none ? NULL : "must be a list of paths", err);
}

/* The arguments that are OPERANDS, or those that are not. */
static int take_args(const struct gp_mcp_tool *t, const struct gp_json_value *args, const char *end,
                     bool operands, struct gp_buf *words, struct gp_err *err)
{
    GP_EACH_OF(const struct gp_mcp_arg, a, t->args, arg_count(t)) {
        struct gp_json_value v = member(args, end, a->name);
        if (!a->words != operands) continue;
        if (!v.kind && a->required) return gp_fail(err, GP_E_USAGE, -1, "%s needs \"%s\"", t->name, a->name);
        if (!v.kind) put_words(words, a->absent, "");
        else if (take_arg(a, &v, end, words, err)) return -1;
    }
    return 0;
}

static int take_tokens(struct gp_mcp_call *c, const struct gp_json_value *args, const char *end,
                       struct gp_err *err)
{
    struct gp_json_value v = member(args, end, "tokens");
    c->tokens = c->tool->tokens;
    if (!v.kind) return 0;
    if (v.kind == GP_JSON_NUMBER && gp_u64_from_text(v.p, v.n, &c->tokens) &&
        c->tokens >= GP_MCP_LEAST_TOKENS && c->tokens <= GP_MCP_MOST_TOKENS)
        return 0;
    return gp_fail(err, GP_E_USAGE, -1, "\"tokens\" must be a number from %d to %d", GP_MCP_LEAST_TOKENS,
                   GP_MCP_MOST_TOKENS);
}

/* Has T an argument for each member of ARGS? */
static int check_names(const struct gp_mcp_tool *t, const struct gp_json_value *args, const char *end,
                       struct gp_err *err)
{
    struct gp_json_value key, v;
    if (!args->kind) return 0;
    if (args->kind != GP_JSON_OBJECT) return gp_fail(err, GP_E_USAGE, -1, "arguments must be an object");
    for (const char *p = args->p + 1; gp_json_next(&p, end, &key, &v);) {
        bool known = gp_is(key.p, key.n, "tokens");
        for (size_t i = 0; i < arg_count(t); i++) known |= gp_is(key.p, key.n, t->args[i].name);
        if (!known)
            return gp_fail(err, GP_E_USAGE, -1, "%s has no argument \"%.*s\"", t->name,
                           key.n < 60 ? (int)key.n : 60, key.p);
    }
    return 0;
}

static int take_call(const struct gp_mcp *m, const struct gp_json_value *params, const char *end,
                     struct gp_mcp_call *c, struct gp_err *err)
{
    struct gp_json_value name = member(params, end, "name"), args = member(params, end, "arguments");
    if (!gp_json_is_string(&name)) return gp_fail(err, GP_E_USAGE, -1, "tools/call has no name of a tool");
    for (c->tool = m->tools; c->tool->name && !gp_is(name.p, name.n, c->tool->name);) c->tool++;
    if (!c->tool->name)
        return gp_fail(err, GP_E_USAGE, -1, "no tool \"%.*s\"", name.n < 60 ? (int)name.n : 60, name.p);
    if (check_names(c->tool, &args, end, err) || take_tokens(c, &args, end, err)) return -1;
    put_words(&c->words, c->tool->words, "");
    if (take_args(c->tool, &args, end, false, &c->words, err)) return -1;
    size_t n = c->words.n;
    put_word(&c->words, "--");
    size_t none = c->words.n;
    for (size_t i = 0; c->tool->folders && i < m->n_folders; i++) put_word(&c->words, m->folders[i]);
    if (take_args(c->tool, &args, end, true, &c->words, err)) return -1;
    if (c->words.n == none) c->words.n = n;
    return 0;
}

/* ---- lines ---- */

static enum gp_mcp_event request(const struct gp_mcp *m, const struct gp_json_value *method,
                                 const struct gp_json_value *params, const char *end, struct gp_mcp_call *c,
                                 struct gp_buf *reply)
{
    struct gp_err err = {0};
    if (gp_is(method->p, method->n, "ping")) put_result(reply, &c->id, "{}");
    else if (gp_is(method->p, method->n, "initialize")) initialize(params, end, &c->id, reply);
    else if (gp_is(method->p, method->n, "tools/list")) list_tools(m, &c->id, reply);
    else if (!gp_is(method->p, method->n, "tools/call"))
        gp_mcp_fail(reply, &c->id, GP_MCP_METHOD, "no such method");
    else if (!take_call(m, params, end, c, &err)) return GP_MCP_CALL;
    else gp_mcp_fail(reply, &c->id, GP_MCP_PARAMS, err.msg);
    return GP_MCP_NOTHING;
}

/* True if V can be an id, which ID becomes. */
static bool take_id(const struct gp_json_value *v, struct gp_buf *id)
{
    id->n = 0;
    if (gp_json_is_string(v)) {
        gp_buf_putc(id, '"');
        gp_json_put_valid(id, v->p, v->n);
        gp_buf_putc(id, '"');
    } else if (v->kind == GP_JSON_NUMBER) gp_buf_put(id, v->p, v->n);
    return id->n != 0;
}

enum gp_mcp_event gp_mcp_take(const struct gp_mcp *m, const char *line, size_t n, struct gp_mcp_call *call,
                              struct gp_buf *reply)
{
    const char *end = line + n, *at = line;
    struct gp_json_value root = {0}; /* of a number, which may go on behind the line, nothing */
    if (!*gp_json_space(line)) return GP_MCP_NOTHING;
    if (!gp_json_is_valid(line, n)) {
        gp_mcp_fail(reply, NULL, GP_MCP_PARSE, "not one line of JSON, or nested too deep");
        return GP_MCP_NOTHING;
    }
    (void)gp_json_value(line, end, &root, &at);
    struct gp_json_value jsonrpc = member(&root, end, "jsonrpc"), id = member(&root, end, "id"),
                         method = member(&root, end, "method"), params = member(&root, end, "params");
    bool identified = take_id(&id, &call->id),
         answer = member(&root, end, "result").kind || member(&root, end, "error").kind;
    bool right =
        gp_json_is_string(&jsonrpc) && gp_is(jsonrpc.p, jsonrpc.n, "2.0") && (identified || !id.kind);
    if (right && !method.kind && answer) return GP_MCP_NOTHING; /* to a question that nobody asked */
    if (!right || !gp_json_is_string(&method) || (params.kind && params.kind != GP_JSON_OBJECT)) {
        gp_mcp_fail(reply, &call->id, GP_MCP_REQUEST,
                    "not a request of JSON-RPC 2.0 with a method and named params");
        return GP_MCP_NOTHING;
    }
    if (identified) return request(m, &method, &params, end, call, reply);
    struct gp_json_value cancelled = member(&params, end, "requestId");
    bool cancel = gp_is(method.p, method.n, "notifications/cancelled") && take_id(&cancelled, &call->id);
    return cancel ? GP_MCP_CANCEL : GP_MCP_NOTHING;
}
