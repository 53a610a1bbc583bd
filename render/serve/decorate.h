/* decorate.h -- gives a page of a tool its place among the others: a bar with links to the other pages of the
 * same trace, to comparisons and to the list. The page's own content policy gives way to the server's, which
 * is as strict, because it would not allow the script of the bar.
 *
 *     struct gp_decoration d = {.question = question, .files = files, .nfiles = 1, .crew = crew};
 *     blob = gp_decorate(&d, blob);
 */
#ifndef GP_RENDER_SERVE_DECORATE_H
#define GP_RENDER_SERVE_DECORATE_H

#include "formats/base/declare.h"
#include "render/serve/blob.h"
#include "render/serve/child.h"
#include "render/serve/questions.h"
#include "render/serve/shelf.h"

struct gp_decoration {
    const struct gp_question *question; /* of which PAGE is the answer */
    const struct gp_shelf_file *const *files;
    size_t nfiles;
    const struct gp_crew *crew; /* tools that are there have pages */
};

/* PAGE with the bar; PAGE is dropped, or returned as it is where it does not look like a page of ours. */
struct gp_blob *gp_decorate(const struct gp_decoration *d, struct gp_blob *page);
/* Append the content policy of decorated pages: our scripts, known by their hashes, and nothing that is
 * loaded. */
void gp_decorate_put_policy(struct gp_buf *b);
/* Append N bytes at S with what HTML would take for its own escaped. */
void gp_html_put(struct gp_buf *b, const char *s, size_t n);

#endif
