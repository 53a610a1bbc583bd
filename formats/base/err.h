/* err.h -- the error value of all functions that can fail.
 * Knows nothing about traces. Nothing here prints.
 *
 *     struct gp_err err = {0};
 *     if (gp_trace_read(&trace, path, &opts, &err)) { ... err.msg ... }
 */
#ifndef GP_BASE_ERR_H
#define GP_BASE_ERR_H

#include <stdint.h>
#include "formats/base/declare.h"

/* The kind of error; tests match on it, people read the message. */
enum gp_err_code {
    GP_E_NONE = 0,
    GP_E_IO,     /* the system failed: open, read, write */
    GP_E_FORMAT, /* unknown format */
    GP_E_SYNTAX, /* known format, invalid bytes */
    GP_E_LIMIT,  /* larger than a limit that the message names */
    GP_E_USAGE,  /* the caller asked for something that does not exist */
};

/* A zeroed struct means no error. `offset` is the byte position in the (decompressed) input, -1 if there is
 * none. */
struct gp_err {
    enum gp_err_code code;
    int64_t offset;
    char msg[400];
};

/* Fill ERR (may be NULL) with CODE, OFFSET and a printf-style message; long messages are cut. Always returns
 * -1, so that a function can say `return gp_fail(err, ...)`. The message has no trailing newline and starts
 * lower case. */
int gp_fail(struct gp_err *err, enum gp_err_code code, int64_t offset, const char *fmt, ...) GP_PRINTF(4, 5);

/* Put "PREFIX: " before the message of ERR (may be NULL). Always returns -1. */
int gp_err_context(struct gp_err *err, const char *fmt, ...) GP_PRINTF(2, 3);

#endif
