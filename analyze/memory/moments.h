/* moments.h -- what was held over the whole of a history, small enough for a picture: a curve of a limited
 * number of points with the bytes of each category, and a limited number of moments with the bytes and blocks
 * of each site. All sums close: at each point the categories sum to what was allocated, at each moment the
 * sites and the rest do.
 *
 *     struct gp_memory_moments at;
 *     gp_memory_moments_init(&at, &memory, 0, &(struct gp_memory_moments_opts){1500, 600, 200});
 *     for (size_t i = 0; i < at.curve.n; i++) use(at.curve.at[i].time_ns, gp_memory_moments_category(&at, i));
 *     gp_memory_moments_release(&at);
 */
#ifndef GP_ANALYZE_MEMORY_MOMENTS_H
#define GP_ANALYZE_MEMORY_MOMENTS_H

#include <stddef.h>
#include <stdint.h>
#include "analyze/memory/memory.h"

/* At most so many; at least 2 points, 8 moments and 1 site. */
struct gp_memory_moments_opts {
    size_t points, moments, sites;
};

typedef GP_VEC(struct gp_memory_point) gp_memory_points;

struct gp_memory_moments {
    /* By position; times never decrease. The curve has the first and last point and the peak; the moments
     * have them, too, and what was held when memory ran out. */
    gp_memory_points curve, moments;
    size_t peak, oom;           /* indices of moments; oom is SIZE_MAX without any, otherwise the last one */
    GP_VEC(uint32_t) sites;     /* those that hold most at one of the moments, most first */
    GP_VEC(uint8_t) categories; /* by site: what most of its bytes hold, GP_CAT_MIXED without a majority */
    size_t other_sites;         /* that are not among them */
    int64_t *category_bytes;    /* private */
    int64_t *bytes, *blocks;    /* private */
};

/* Overwrites AT. DEVICE is an index into the devices of M, which is finished. Times count from the start of
 * the history. */
void gp_memory_moments_init(struct gp_memory_moments *at, const struct gp_memory *m, uint32_t device,
                            const struct gp_memory_moments_opts *o);
void gp_memory_moments_release(struct gp_memory_moments *at);

/* Bytes of CATEGORY at point I of the curve. */
int64_t gp_memory_moments_category(const struct gp_memory_moments *at, enum gp_category category, size_t i);
/* Bytes and blocks of the site at index SITE of sites at moment I; SITE == sites.n: of all others. */
int64_t gp_memory_moments_bytes(const struct gp_memory_moments *at, size_t site, size_t i);
int64_t gp_memory_moments_blocks(const struct gp_memory_moments *at, size_t site, size_t i);

#endif
