/* filter.h -- events to leave out, as written on the command line: "rank:0,2-3" for processes,
 * "kernel:*gemm*" for kernels, or both with a space between them. Only reads and compares.
 *
 *     struct gp_filter f;
 *     if (gp_filter_parse(&f, text, &err)) ...
 *     if (gp_filter_rank(&f, rank)) ...
 */
#ifndef GP_COLLECT_WIRE_FILTER_H
#define GP_COLLECT_WIRE_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/base/declare.h"

enum { GP_FILTER_RANKS = 64, GP_FILTER_NAME = 128 };

struct gp_filter {
    struct {
        int32_t first, last;
    } ranks[GP_FILTER_RANKS];
    size_t nranks;               /* 0: every process */
    char kernel[GP_FILTER_NAME]; /* a pattern as for file names; "": every kernel */
};

/* TEXT may be NULL. 0, or -1 with ERR filled. */
int gp_filter_parse(struct gp_filter *f, const char *text, struct gp_err *err) GP_MUST_CHECK;
/* Should a process of that rank (-1: unknown) be recorded? */
bool gp_filter_rank(const struct gp_filter *f, int32_t rank);
/* Does the name, as recorded and possibly mangled, match the pattern? */
bool gp_filter_name(const char *pattern, const char *name);

#endif
