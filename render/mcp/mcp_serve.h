/* mcp_serve.h -- answers a client of the Model Context Protocol on standard input and output. Each call runs
 * in a copy of this process, which starts no program, opens only what OPENER lets it, cannot write a file,
 * and has limits of time and memory; so a call that is cancelled, or that a file breaks, ends without others.
 *
 *     struct gp_mcp_serve_opts o = {.mcp = {tools, folders, n}, .opener = open_it, .jobs = 2};
 *     if (gp_mcp_serve(&o, &err)) ...         // at the end of the input
 */
#ifndef GP_RENDER_MCP_MCP_SERVE_H
#define GP_RENDER_MCP_MCP_SERVE_H

#include <stdint.h>
#include "render/mcp/mcp.h"

enum { GP_MCP_LINE = 1 << 20, GP_MCP_WAITING = 64 }; /* bytes of a message; calls that are not answered yet */

struct gp_mcp_serve_opts {
    struct gp_mcp mcp;
    int (*opener)(void *ctx, const char *path, struct gp_err *err); /* as gp_input_confine() takes it */
    void *ctx;
    uint64_t jobs;         /* calls that run at once */
    uint64_t memory_bytes; /* of each; 0: no limit */
    int64_t time_ns;       /* of each */
};

/* -1 with ERR filled if the input cannot be read or an answer cannot be written. */
GP_MUST_CHECK int gp_mcp_serve(const struct gp_mcp_serve_opts *o, struct gp_err *err);

#endif
