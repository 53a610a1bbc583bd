/* sides.h -- which traces are compared with which, from the words of a command line. Opens nothing.
 *
 *     struct gp_sides s;
 *     struct gp_sides_asked asked = {.args = {paths, n}};
 *     if (gp_sides_sort(&s, &asked, &err)) ...
 *     for (size_t i = 0; i < s.n; i++) read(s.paths[i], i < s.n_base);
 *     gp_sides_release(&s);
 */
#ifndef GP_ANALYZE_SIDES_H
#define GP_ANALYZE_SIDES_H

#include <stdbool.h>
#include <stddef.h>
#include "formats/base/declare.h"

struct gp_paths {
    const char *const *at;
    size_t n;
};

/* What was given; all borrowed. */
struct gp_sides_asked {
    struct gp_paths args, base, current;
    const char *save, *against, *folder; /* names and folder of baselines; NULL */
};

struct gp_sides {
    const char **paths;  /* those of the baseline first */
    size_t n, n_base;    /* N_BASE may be 0: the baseline is saved, or there is nothing to compare */
    const char *against; /* the name of the saved baseline; NULL */
};

/* Fill S. -1 with ERR naming the missing or superfluous part; S needs no release then. */
GP_MUST_CHECK int gp_sides_sort(struct gp_sides *s, const struct gp_sides_asked *asked, struct gp_err *err);
/* Is there a baseline, and so something to compare? */
bool gp_sides_compare(const struct gp_sides *s);
/* "a.json -> b.json and 2 more", with an arrow: file names without their folders. */
void gp_sides_put_names(struct gp_buf *b, const struct gp_sides *s);
void gp_sides_release(struct gp_sides *s);

#endif
