/* flame_formats.h -- the formats of trace2flame's answer: svg, html, folded, speedscope and pprof, each a row
 * of a table.
 *
 *     const struct gp_answer_format *f = gp_answer_format(gp_flame_formats, "svg");
 *     n = gp_flame_weights(f, NULL, weights);                 // which trees to build
 *     struct gp_flame_answer a = {.flames = flames, .n = n, .traces = true, .inputs = "a.json"};
 *     if (gp_answer_write(f, &a, NULL, &err)) ...
 */
#ifndef GP_RENDER_FLAME_FORMATS_H
#define GP_RENDER_FLAME_FORMATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/stacks/calltree.h"
#include "analyze/stacks/stacks.h"
#include "formats/base/answer.h"
#include "formats/base/declare.h"
#include "formats/base/intern.h"

struct gp_output; /* formats/base/output.h */

enum { GP_FLAME_WEIGHTS = 3 }; /* trees at most */

/* Needs of a format, and options that apply to it. */
enum {
    GP_FLAME_TIMES = 1,          /* trees of GPU, CPU and idle time, for any --weight */
    GP_FLAME_PAIR = 2,           /* trees of GPU and CPU time, unless --weight is idle */
    GP_FLAME_FIGURES = 4,        /* trees of GPU time, events and bytes, unless --weight is given */
    GP_FLAME_EXTRA = 8,          /* events and bytes in the tree of GPU time */
    GP_FLAME_PLACES = 16,        /* where the work ran */
    GP_FLAME_TURNS = 32,         /* it turns stacks over itself, so --invert leaves the trees as they are */
    GP_FLAME_LIMITED = 64,       /* it shows at most --max-frames frames, so others need not be kept */
    GP_FLAME_TAKES_GROUPS = 128, /* --group-small applies */
    GP_FLAME_STEPS = 256,        /* a person looks at it: it is about the steps, unless --whole is given */
};

/* An answer and how to write it. Strings are borrowed. */
struct gp_flame_answer {
    struct gp_flame *flames;
    size_t n;
    const char *weight; /* the name of the weight that was asked for; NULL: none */
    const char *title;  /* NULL: none was given */
    const char *inputs; /* the names of its inputs */
    bool traces;        /* some of the inputs are traces; without, all are folded stacks */
    bool folded;        /* some of the inputs are folded stacks */
    bool damaged;
    bool untimed;   /* a trace was measured kernel by kernel: no CPU and no idle time, no time of steps */
    bool invert;    /* of html: open it with leaves first */
    uint64_t width; /* of svg and html, in pixels; 0: the format's */
    uint64_t max_frames; /* of svg; of html, on paper; GP_ROWS_UNSET: the format's */
};

extern const struct gp_answer_format gp_flame_formats[];

/* The weights of the trees that F shows when a weight called ASKED (NULL: none) was asked for. Returns how
 * many. */
size_t gp_flame_weights(const struct gp_answer_format *f, const char *asked,
                        enum gp_weight weights[GP_FLAME_WEIGHTS]);

/* T is one of the traces of A. If it was measured kernel by kernel, the trees of CPU and idle time are left
 * out of those that F shows; fails where one of them was asked for. */
GP_MUST_CHECK int gp_flame_untimed(struct gp_flame_answer *a, const struct gp_answer_format *f,
                                   const struct gp_trace *t, struct gp_err *err);

/* Append the counts of FLAME's events, in one line. */
void gp_flame_put_stats(struct gp_buf *b, const struct gp_flame *flame);

/* ---- folded write ---- */

/* A call tree as folded stacks: "frame;frame;frame N\n", one line per stack with a weight, N being the
 * weight that ends there. The sum of all N is the total of the tree. */

/* Write the finished TREE, siblings in the order of the tree. OUT remembers write failures. */
void gp_folded_write(struct gp_output *out, const struct gp_calltree *tree, const struct gp_strings *strings);
/* Append the N bytes at NAME as a frame. */
void gp_folded_put_frame(struct gp_buf *b, const char *name, size_t n);

#endif
