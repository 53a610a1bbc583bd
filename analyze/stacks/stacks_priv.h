/* stacks_priv.h -- what stacks.c (labels, folded text, the result) and stacks_trace.c (from a trace to
 * stacks) share. No other file includes it.
 *
 *     gp_sid label = gp_stacks_label(b, text, n, full, full_n);
 *     uint32_t node = gp_calltree_child(&b->tree, parent, label, GP_FRAME_OP);
 */
#ifndef GP_ANALYZE_STACKS_PRIV_H
#define GP_ANALYZE_STACKS_PRIV_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/stacks/calltree.h"
#include "analyze/stacks/stacks.h"
#include "formats/base/map.h"
#include "formats/base/vec.h"

/* ---- stackset.c ---- */

/* Holds very many stacks, of which a picture shows few. Keeps each stack as a row of numbers, and creates
 * tree nodes only for the heaviest frames, level by level, so that a million unique stacks do not need ten
 * million nodes. Knows nothing of traces or text. */

struct gp_stackset_line {
    uint64_t first; /* into frames; the stack ends where the next one begins */
    int64_t weight;
};

struct gp_stackset {
    GP_VEC(gp_sid) frames; /* all of kind GP_FRAME_UNKNOWN */
    GP_VEC(struct gp_stackset_line) lines;
};

/* Add one stack, outermost frame first. N may be 0. WEIGHT >= 0. */
void gp_stackset_add(struct gp_stackset *set, const gp_sid *frames, size_t n, int64_t weight);

/* Add all stacks to CT. With MAX_NODES > 0 at most as many new nodes are made of frames, the heaviest; the
 * children of a node that were not among them become its one leaf "N more". Exact in every sum. Among frames
 * of equal weight those met first are kept. */
void gp_stackset_expand(const struct gp_stackset *set, size_t max_nodes, struct gp_calltree *ct,
                        struct gp_strings *strings);
void gp_stackset_release(struct gp_stackset *set);

/* ---- stacks.c ---- */

/* What is known of a label. */
struct label_info {
    gp_sid full;         /* the first full name */
    uint32_t full_count; /* different full names; 0: it came as it is */
    uint64_t samples;    /* that show this function, which no exact stack does */
    bool seen;           /* the filter was asked about it */
    bool wanted;         /* and matches it or one of its full names */
};

struct gp_stacks {
    struct gp_stacks_opts opts;
    bool has_filter;
    regex_t filter;
    struct gp_calltree tree;
    struct gp_strings strings;
    GP_VEC(struct label_info) labels; /* by sid */
    struct gp_map pairs;              /* label << 32 | full name: met before */
    struct gp_stackset folded;
    GP_VEC(gp_sid) names; /* scratch of add_folded */
    GP_VEC(struct gp_flame_place) places;
    struct gp_map place_of; /* name -> index into places */
    gp_sid short_label;     /* "[shorter than 10 us]", 0: no limit */
    struct gp_stacks_stats stats;
};

/* The label for N bytes at TEXT. FULL is the name that it was made from: it is kept, and the filter asked
 * about both. */
gp_sid gp_stacks_label(struct gp_stacks *b, const char *text, size_t n, const char *full, size_t full_n);
/* The name of a place; -1: not known. The filter is not asked about it. */
gp_sid gp_stacks_place(struct gp_stacks *b, int32_t rank, int64_t device, int64_t stream);
/* The label for a text that is its own full name. */
gp_sid gp_stacks_plain_label(struct gp_stacks *b, const char *text, size_t n);

#endif
