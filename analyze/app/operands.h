/* operands.h -- inputs from a list, for more of them than a command line holds, and for storage that only a
 * vendor's own tool reads: each line is a path or, after a "|", a command whose output is the input.
 *
 *     struct gp_operands o;
 *     if (gp_operands_read(&o, "ranks.list", &err)) ... // "a.trace", "|aws s3 cp s3://runs/b.trace -"
 *     gp_app_inputs(&front, o.paths, o.n);
 *     front.commands = o.commands;
 *     gp_operands_release(&o);
 *
 * Only such a list can start commands; operands never do.
 */
#ifndef GP_ANALYZE_APP_OPERANDS_H
#define GP_ANALYZE_APP_OPERANDS_H

#include <stdbool.h>
#include <stddef.h>
#include "formats/base/declare.h"
#include "formats/base/mem.h"

struct gp_operands {
    struct gp_arena mem;
    const char **paths; /* of a command without its "|" */
    bool *commands;
    size_t n, cap;
};

void gp_operands_add(struct gp_operands *o, const char *path, bool command);
/* Append the operands in the file LIST ("-": standard input). Blank lines and lines that begin with "#" are
 * comments. O is zeroed or filled before. */
GP_MUST_CHECK int gp_operands_read(struct gp_operands *o, const char *list, struct gp_err *err);
void gp_operands_release(struct gp_operands *o);

/* Start COMMAND in a shell; returns a descriptor of its output, or -1. */
GP_MUST_CHECK int gp_command_start(const char *command, int *child, struct gp_err *err);
/* Wait for it. -1 if it did not end with status 0; that it could not write to the end is not its fault. */
GP_MUST_CHECK int gp_command_end(int child, struct gp_err *err);

#endif
