/* serve.h -- all of the server, from options to its end: catalog, tools, sockets, until a signal or silence.
 * Blocks the signals that end it, so it is for programs that do nothing besides.
 *
 *     struct gp_serve_opts o = {GP_SERVE_DEFAULTS, .paths = paths, .npaths = 1, .tools = "/usr/bin"};
 *     if (gp_serve_run(&o, &err)) ...
 */
#ifndef GP_RENDER_SERVE_SERVE_H
#define GP_RENDER_SERVE_SERVE_H

#include <stddef.h>
#include <stdint.h>
#include "formats/base/declare.h"

/* Strings are borrowed, and NULL where not given. */
struct gp_serve_opts {
    const char *const *paths; /* folders and files */
    size_t npaths;
    const char *listen, *socket; /* an address, or the path of a socket */
    uint64_t port;               /* 0: any */
    const char *const *hosts;    /* more names that the server has */
    size_t nhosts;
    const char *perfetto, *upload, *live; /* LIVE: the socket of a recording that runs */
    uint64_t upload_bytes, upload_files, jobs, memory_bytes, keep_bytes, connections;
    int64_t time_ns, request_ns, idle_ns; /* of a tool; of a request; without requests, 0: for ever */
    const char *tools;                    /* the folder of the suite's programs */
    const char *scratch;                  /* a folder for temporary files */
    const char *const *env;               /* NAME=VALUE of the tools, NULL at the end */
    /* The server listens, and LINK opens it. -1 with ERR filled to stop. */
    int (*ready)(void *ctx, const char *link, struct gp_err *err);
    /* A warning, in one line. */
    void (*warn)(void *ctx, const char *message);
    void *ctx;
};

#define GP_SERVE_DEFAULTS                                                                                    \
    .upload_bytes = (uint64_t)2 << 30, .upload_files = 1000, .jobs = 2, .memory_bytes = (uint64_t)8 << 30,   \
    .keep_bytes = 512 << 20, .connections = 96, .time_ns = INT64_C(60000000000),                             \
    .request_ns = INT64_C(10000000000)

/* 0 after a signal or silence; -1 with ERR filled if it cannot be started. */
GP_MUST_CHECK int gp_serve_run(const struct gp_serve_opts *o, struct gp_err *err);

/* Start xdg-open for a file in FOLDER that only its owner can read and that leads to LINK: the link has a
 * secret, which no argument of a process shows. It is not waited for; should it fail, MESSAGE, a line, goes
 * to standard error. The caller unlinks the file and frees its name; NULL with ERR filled if it could not be
 * written. */
GP_MUST_CHECK char *gp_browser_open(const char *folder, const char *link, const char *message,
                                    struct gp_err *err);

#endif
