/* pages.h -- our own pages: the list, comparisons, the live view, the way to Perfetto, and errors. They fetch
 * their content from the API, and look like the pages of the tools. Scripts and styles carry the nonce of the
 * answer. Also the navigation bar above the pages of tools.
 *
 *     struct gp_page_shell s = {.title = "Traces", .id = "list", .nonce = nonce};
 *     gp_pages_put(&b, &s);
 */
#ifndef GP_RENDER_SERVE_PAGES_H
#define GP_RENDER_SERVE_PAGES_H

#include "formats/base/declare.h"
#include "render/serve/cache.h"
#include "render/catalog/catalog.h"
#include "render/serve/child.h"
#include "render/serve/queries.h"

struct gp_page_shell {
    const char *title;
    const char *id; /* of its body, by which the script knows the page */
    const char *nonce;
    const char *settings;                /* JSON for the script, NULL: none */
    const char *text;                    /* a paragraph, for errors; NULL: none */
    const struct gp_catalog_list *plain; /* listed where scripts do not run; NULL: nothing */
};

void gp_pages_put(struct gp_buf *b, const struct gp_page_shell *s);

/* ---- the navigation bar ---- */

/* Links to the other pages of the same trace, to comparisons and to the list. A page's own content policy
 * would not allow the script of the bar, so it gives way to the server's, which is as strict. */

struct gp_navbar {
    const struct gp_query *query; /* of which PAGE is the answer */
    const struct gp_catalog_file *const *files;
    size_t nfiles;
    const struct gp_crew *crew; /* tools that are there have pages */
};

/* PAGE with the bar; PAGE is dropped, or returned as it is where it does not look like a page of ours. */
struct gp_blob *gp_navbar_add(const struct gp_navbar *d, struct gp_blob *page);
/* Append the content policy of pages with the bar: our scripts, known by their hashes, and nothing loaded. */
void gp_navbar_put_policy(struct gp_buf *b);

#endif
