/* environment.h -- how processes of the command find us: the injected library and the socket, in environment
 * variables. Reads and writes the environment, so it is not part of a library.
 *
 *     if (gp_environment_library(&path, &err)) ...
 *     replaced = gp_environment_set("CUDA_INJECTION64_PATH", path);
 *     listen_fd = gp_environment_listen(&err);
 */
#ifndef GP_COLLECT_ENVIRONMENT_H
#define GP_COLLECT_ENVIRONMENT_H

#include "formats/base/declare.h"

/* The path of the injected library: from the environment, or in a library folder beside the one this program
 * is in. */
GP_MUST_CHECK int gp_environment_library(struct gp_buf *path, struct gp_err *err);
/* The path of another program of the suite, which lies beside this one. */
void gp_environment_beside(struct gp_buf *path, const char *program);
/* Set a variable. Returns a value that was lost by that, for a message; the caller frees it. NULL: none. */
char *gp_environment_set(const char *name, const char *value);
/* A socket at a new address, which processes find in the environment; -1 with ERR filled. */
int gp_environment_listen(struct gp_err *err);

#endif
