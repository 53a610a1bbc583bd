/* flame_priv.h -- private: the page and the profile formats of trace2flame. */
#ifndef GP_RENDER_FLAME_FLAME_PRIV_H
#define GP_RENDER_FLAME_FLAME_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/stacks/calltree.h"
#include "analyze/stacks/stacks.h"
#include "formats/base/declare.h"
#include "formats/base/intern.h"
#include "formats/base/scale.h"

struct gp_output; /* formats/base/output.h */

/* ---- the page ---- */

/* One interactive page: a flame graph on a canvas without a limit on frames, with switches for weight and
 * arrangement (assets/flame_page.js), with a static picture for paper and for browsers without scripts. It
 * embeds the trees as columns of small numbers, a few bytes per frame. */

/* A zeroed struct is the default. Strings are borrowed during the call, may come from a trace or a person,
 * and are escaped. */
struct gp_flame_html_opts {
    const char *title;     /* heading; NULL: the input */
    const char *input;     /* where it came from, as given by the user; NULL: omitted */
    const char *note;      /* further words below the heading; NULL: none */
    enum gp_weight opened; /* the weight that the page shows first, if there is any */
    bool inverted;         /* and leaves first */
    bool samples;          /* the weight of the only tree is a number of samples */
    const char *empty;     /* text if all weights are 0; NULL: "No GPU events in this trace" */
    int width;             /* of the still picture, in pixels; 0: 1200 */
    uint32_t still_frames; /* boxes of the still picture; 0: 1000 */
};

/* Append the page for N trees of different weights to OUT. A tree of GPU time that also has events and bytes
 * (gp_stacks_opts.extra) can be viewed by these as well. Equal input gives equal bytes. */
void gp_flame_html_write(struct gp_buf *out, const struct gp_flame *flames, size_t n,
                         const struct gp_flame_html_opts *opts);

/* ---- profile formats ---- */

/* The JSON that Triton's Proton writes and its viewer reads. Times in ns and counts at the frames in which
 * they end, as Proton has them. */
void gp_hatchet_write(struct gp_buf *b, const struct gp_calltree *tree, const struct gp_strings *strings);

/* A call tree as a speedscope file (https://www.speedscope.app/file-format-schema.json): one `sampled`
 * profile per tree; its samples are the stacks with a weight, in the order of the tree, and frames are
 * shared by name. */

struct gp_speedscope_profile {
    const char *name;
    enum gp_unit unit; /* becomes "nanoseconds", "bytes" or "none" */
    const struct gp_calltree *tree;
    const struct gp_strings *strings;
};

/* Write N profiles, the first of which is shown first. NAME is the file's name in the viewer. OUT remembers
 * write failures. O(stacks x depth) output, memory of the frame names. */
void gp_speedscope_write(struct gp_output *out, const char *name,
                         const struct gp_speedscope_profile *profiles, size_t n);

/* Call trees as a profile in pprof's format: a gzipped protocol buffer, which pprof, Perfetto, Pyroscope and
 * Parca read. A sample is a stack with one value per weight; GPU work and host time are separate samples.
 * Labels show where it ran: rank, device, stream. Python frames have their file and line. */

/* A zeroed struct is the default. Strings are borrowed during the call. */
struct gp_pprof_opts {
    const char *comment;   /* where it came from; NULL: none */
    enum gp_weight opened; /* the sample type that viewers show first */
    bool samples;          /* the weight of the only tree is a number of samples */
};

/* Write N trees of different weights. A tree of GPU time that also has events and bytes adds their sample
 * types. OUT remembers write failures. Equal input gives equal bytes. */
void gp_pprof_write(struct gp_output *out, const struct gp_flame *flames, size_t n,
                    const struct gp_pprof_opts *opts);

#endif
