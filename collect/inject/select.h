/* select.h -- which launches are measured: of a program's kernels those that the request names, every N-th of
 * them, and none whose kernels wait for each other. One caller at a time. Knows no CUPTI.
 *
 *     struct gp_select s = {.opts = &opts};
 *     switch (gp_select_launch(&s, "gemm", grid)) ...
 */
#ifndef GP_COLLECT_INJECT_SELECT_H
#define GP_COLLECT_INJECT_SELECT_H

#include <stdbool.h>
#include <stdint.h>
#include "collect/counters/measured.h"
#include "formats/base/map.h"
#include "formats/base/vec.h"

enum gp_selected { GP_SELECT_MEASURE, GP_SELECT_SKIP, GP_SELECT_COMMUNICATION };

struct gp_select_name {
    char *name;
    enum gp_selected verdict;
};

struct gp_select {
    const struct gp_measure_opts *opts; /* set by the caller */
    struct gp_map seen;                 /* launches so far by name and grid */
    struct gp_map known_at;             /* by where the name lies */
    GP_VEC(struct gp_select_name) known;
};

/* Of a kernel NAME, as recorded and possibly mangled, with GRID. Cheap for a name that was asked about at the
 * same address. */
enum gp_selected gp_select_launch(struct gp_select *s, const char *name, const uint32_t grid[3]);
/* Does the range TEXT of DOMAIN, OPEN ranges deep on its thread, have to be measured? */
bool gp_select_range(const struct gp_measure_opts *opts, const char *domain, const char *text, unsigned open);

#endif
