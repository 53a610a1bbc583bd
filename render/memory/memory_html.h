/* memory_html.h -- the memory analysis as one self-contained page: the verdict, what was allocated over time,
 * who held it at any moment, how segments lie, tables. At most GP_MEMORY_PAGE_BYTES long, whatever the input:
 * what is drawn, then how many rows tables have, gives way. Measures nothing.
 *
 *     gp_memory_html_write(&buf, &memory, &(struct gp_memory_html_opts){.input = "snapshot.pickle", .top = 200});
 */
#ifndef GP_RENDER_MEMORY_HTML_H
#define GP_RENDER_MEMORY_HTML_H

#include <stddef.h>
#include "analyze/memory/memory.h"
#include "formats/base/declare.h"

enum { GP_MEMORY_PAGE_BYTES = 3000000 };

/* A zeroed struct is the default. Strings are borrowed during the call. */
struct gp_memory_html_opts {
    const char *input;   /* as given by the user; NULL: standard input */
    const char *options; /* as typed; NULL: none */
    const char *flame;   /* pages of other tools to link to; NULL: none */
    const char *timeline;
    size_t top; /* rows of long tables; 0: all */
};

/* Append the page to B. Equal input gives equal bytes. */
void gp_memory_html_write(struct gp_buf *b, struct gp_memory *m, const struct gp_memory_html_opts *o);

#endif
