/* option.h -- an option as it is shown: what --help, messages and completions have in common.
 *
 *     struct gp_buf text = {0};
 *     struct gp_option plain = gp_option_plain(&tool, &options[0], &text);
 *     printf("--%s=%s  %s", plain.name, plain.arg, plain.help);
 *     gp_buf_release(&text);
 */
#ifndef GP_BASE_OPTION_H
#define GP_BASE_OPTION_H

#include "formats/base/cli.h"
#include "formats/base/declare.h"

/* O itself, or, where it chooses a format of TOOL, the choice between their names that it is, with the
 * default in its help. TEXT, which is empty, then holds its strings. */
struct gp_option gp_option_plain(const struct gp_tool *tool, const struct gp_option *o, struct gp_buf *text);

#endif
