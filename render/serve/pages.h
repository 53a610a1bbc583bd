/* pages.h -- our own pages: the list, comparisons, the live view, the way to Perfetto, and errors. They get
 * what they show from the API, and look like the pages of the tools. Scripts and styles carry the nonce of
 * the answer.
 *
 *     struct gp_page_shell s = {.title = "Traces", .id = "list", .nonce = nonce};
 *     gp_pages_put(&b, &s);
 */
#ifndef GP_RENDER_SERVE_PAGES_H
#define GP_RENDER_SERVE_PAGES_H

#include "formats/base/declare.h"
#include "render/serve/shelf.h"

struct gp_page_shell {
    const char *title;
    const char *id; /* of its body: what the script makes of it */
    const char *nonce;
    const char *settings;              /* JSON for the script, NULL: none */
    const char *text;                  /* a paragraph, for errors; NULL: none */
    const struct gp_shelf_list *plain; /* listed where scripts do not run; NULL: nothing */
};

void gp_pages_put(struct gp_buf *b, const struct gp_page_shell *s);

#endif
