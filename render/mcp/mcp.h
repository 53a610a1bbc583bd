/* mcp.h -- the Model Context Protocol without input or output: lines that a client sends become calls of
 * tools, and what a tool printed becomes an answer. A tool is a program of ours: a call is its command line,
 * and the answer begins with that command, whose output, byte for byte, follows, cut at a line where it is
 * longer than the client wants, with what was left out. Whatever a client sends is answered as JSON-RPC
 * demands. Starts nothing (mcp_serve.h does) and knows none of the tools.
 *
 *     struct gp_mcp m = {tools, folders, n_folders};
 *     struct gp_mcp_call call = {0};
 *     if (gp_mcp_take(&m, line, n, &call, &reply) == GP_MCP_CALL) {
 *         run(call.words.data, &result);
 *         gp_mcp_answer(&call, &result, &reply);
 *     }
 *     gp_mcp_call_release(&call);
 */
#ifndef GP_RENDER_MCP_MCP_H
#define GP_RENDER_MCP_MCP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/base/buf.h"
#include "formats/base/declare.h"

enum { GP_MCP_ARGS = 5, GP_MCP_LEAST_TOKENS = 250, GP_MCP_MOST_TOKENS = 1000000, GP_MCP_TOKEN_BYTES = 4 };

enum gp_mcp_type { GP_MCP_PATHS, GP_MCP_TEXT, GP_MCP_COUNT, GP_MCP_FLAG };

struct gp_mcp_arg {
    const char *name, *about;
    enum gp_mcp_type type;
    bool required;
    const char *words;               /* options, of which the last takes the value; NULL: it is an operand */
    const char *absent;              /* options where it is not given; NULL: none */
    const char *(*choice)(size_t i); /* the values that it may have, then NULL; NULL: any */
};

struct gp_mcp_tool {
    const char *name, *about, *words; /* words: the program and options that it always has */
    int (*main)(int argc, char **argv);
    const char *less;                    /* what asks for less of it, for answers that are cut */
    bool picture;                        /* it writes SVG, of which a part is worth nothing */
    bool folders;                        /* its operands are the folders that the server was given */
    uint64_t tokens;                     /* unless the client says how many */
    struct gp_mcp_arg args[GP_MCP_ARGS]; /* end at one without a name */
};

struct gp_mcp {
    const struct gp_mcp_tool *tools; /* end with one without a name */
    const char *const *folders;
    size_t n_folders;
};

struct gp_mcp_call {
    const struct gp_mcp_tool *tool;
    struct gp_buf id;    /* of the request, as JSON */
    struct gp_buf words; /* of the command, each ends in NUL */
    uint64_t tokens;
};
void gp_mcp_call_release(struct gp_mcp_call *c);

enum gp_mcp_event {
    GP_MCP_NOTHING, /* to do besides sending the reply, which may be empty */
    GP_MCP_CALL,    /* CALL is to be run and answered */
    GP_MCP_CANCEL,  /* the call with CALL's id is not to be answered any more */
};

/* Take a line of N bytes, behind which there are GP_JSON_PAD zero bytes. CALL is empty before, and to be
 * released. Replies, a line each, are appended to REPLY. */
enum gp_mcp_event gp_mcp_take(const struct gp_mcp *m, const char *line, size_t n, struct gp_mcp_call *call,
                              struct gp_buf *reply);

/* How a call ended. */
struct gp_mcp_result {
    struct gp_buf out, err; /* what it printed */
    uint64_t dropped;       /* bytes of OUT that were not kept */
    int status;             /* its exit status */
    const char *killed;     /* why it has none; NULL */
};

/* Append the answer to REPLY. What JSON-RPC calls its result has at most as many bytes as the call has
 * tokens, times GP_MCP_TOKEN_BYTES. */
void gp_mcp_answer(const struct gp_mcp_call *c, const struct gp_mcp_result *r, struct gp_buf *reply);
/* Append an error to REPLY. ID is JSON, or NULL. */
void gp_mcp_fail(struct gp_buf *reply, const struct gp_buf *id, int code, const char *why);
enum {
    GP_MCP_PARSE = -32700,
    GP_MCP_REQUEST = -32600,
    GP_MCP_METHOD = -32601,
    GP_MCP_PARAMS = -32602,
    GP_MCP_BUSY = -32000
};

#endif
