/* debug_lines.h -- functions and lines from the debug information of one file, with elfutils; a build without
 * it knows none. Never asks a server for debug information.
 *
 *     struct gp_debug_lines *d = gp_debug_lines_open(fd);      // NULL: the file has none
 *     size_t n = gp_debug_lines_at(d, address, &strings, symbols);
 *     gp_debug_lines_close(d);
 */
#ifndef GP_COLLECT_DEBUG_LINES_H
#define GP_COLLECT_DEBUG_LINES_H

#include "collect/symbols/symbols.h"
#include "formats/base/intern.h"

struct gp_debug_lines;

/* FD stays the caller's and must stay open. */
struct gp_debug_lines *gp_debug_lines_open(int fd);
/* As gp_symbolize(), of the instruction at ADDRESS. */
size_t gp_debug_lines_at(struct gp_debug_lines *d, uint64_t address, struct gp_strings *strings,
                         struct gp_code_name *at);
void gp_debug_lines_close(struct gp_debug_lines *d);

#endif
