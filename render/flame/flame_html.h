/* flame_html.h -- stacks as one interactive page: a flame graph on a canvas without a limit on frames, whose
 * weight and arrangement are switched in the page (assets/flame_page.js), with a static picture for paper and
 * for browsers without scripts. It embeds the trees as columns of small numbers, a few bytes per frame.
 * Measures nothing.
 *
 *     struct gp_flame flames[] = {gpu, cpu, idle};
 *     gp_flame_html_write(&buf, flames, 3, &(struct gp_flame_html_opts){.input = "trace.json"});
 */
#ifndef GP_RENDER_FLAME_HTML_H
#define GP_RENDER_FLAME_HTML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/stacks/stacks.h"
#include "formats/base/declare.h"

/* A zeroed struct is the default. Strings are borrowed during the call, may come from a trace or a person,
 * and are escaped. */
struct gp_flame_html_opts {
    const char *title;     /* heading; NULL: the input */
    const char *input;     /* where it came from, as given by the user; NULL: omitted */
    const char *note;      /* further words below the heading; NULL: none */
    enum gp_weight opened; /* the weight that the page shows first, if there is any */
    bool inverted;         /* and leaves first */
    bool samples;          /* the weight of the only tree is a number of samples, whatever it is called */
    const char *empty;     /* text if all weights are 0; NULL: "No GPU events in this trace" */
    int width;             /* of the still picture, in pixels; 0: 1200 */
    uint32_t still_frames; /* boxes of the still picture; 0: 1000 */
};

/* Append the page for N trees of different weights to OUT. A tree of GPU time that also has events and bytes
 * (gp_stacks_opts.extra) can be viewed by these as well. Equal input gives equal bytes. */
void gp_flame_html_write(struct gp_buf *out, const struct gp_flame *flames, size_t n,
                         const struct gp_flame_html_opts *opts);

#endif
