/* timeline_html.h -- a packed timeline as a page: the shell, the sections, the script, and a static picture
 * for paper and for readers without scripts.
 *
 *     gp_timeline_html_write(&tl, "a.json", "1.2 s", out);
 */
#ifndef GP_RENDER_TIMELINE_HTML_H
#define GP_RENDER_TIMELINE_HTML_H

#include "formats/base/output.h"
#include "render/timeline/timeline_pack.h"

/* Write the page to OUT, piece by piece. TITLE and FACTS, a line below it, are escaped. Same timeline, same
 * bytes. */
void gp_timeline_html_write(const struct gp_timeline *tl, const char *title, const char *facts,
                            struct gp_output *out);

#endif
