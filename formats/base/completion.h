/* completion.h -- scripts that complete the options of a tool in a shell, made from the tool's option table.
 *
 *     gp_completion_put(&buf, &tool, always, "bash");
 */
#ifndef GP_BASE_COMPLETION_H
#define GP_BASE_COMPLETION_H

#include "formats/base/cli.h"
#include "formats/base/declare.h"

/* ALWAYS: the options that every tool has, ended by one without a name. Add the script for SHELL ("bash",
 * "zsh" or "fish") to B. -1, and B untouched, for any other shell. */
GP_MUST_CHECK int gp_completion_put(struct gp_buf *b, const struct gp_tool *tool,
                                    const struct gp_option *always, const char *shell);

#endif
