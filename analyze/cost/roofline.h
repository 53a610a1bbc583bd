/* roofline.h -- the contents of a roofline plot as plain data: the ceilings of a device, and groups of
 * kernels by their arithmetic per byte. Filled by suggest.c from work.h and ceilings.h, drawn by
 * render/chart_roofline.h. Knows nothing of rules or of pictures.
 *
 *     for (size_t i = 0; i < r->points.n; i++)
 *         plot(gp_roofline_intensity(&r->points.at[i]), gp_roofline_flops_per_s(&r->points.at[i]));
 */
#ifndef GP_ANALYZE_ROOFLINE_H
#define GP_ANALYZE_ROOFLINE_H

#include <stdbool.h>
#include <stdint.h>
#include "analyze/names/dtype.h"
#include "analyze/result/field.h"
#include "formats/base/declare.h"
#include "formats/base/intern.h"
#include "formats/base/vec.h"

/* Where a ceiling comes from, best first. X(enum, name in JSON, text for people) */
#define GP_CEILING_SOURCES(X)                                                                                \
    X(GP_CEILING_FILE, "file", "the ceilings file")                                                          \
    X(GP_CEILING_TRACE, "trace", "the best kernels of this trace")                                           \
    X(GP_CEILING_COUNTERS, "counters", "the peaks that the counters state")                                  \
    X(GP_CEILING_TABLE, "table", "the device's data sheet")                                                  \
    X(GP_CEILING_DEVICE, "device", "the device's recorded properties")                                       \
    X(GP_CEILING_ASSUMED, "assumed", "typical values of current devices")

enum gp_ceiling_source { GP_CEILING_SOURCES(GP_FIRST) };

/* A ceiling: bytes per second of a memory, or floating point operations per second of a type. */
struct gp_roof {
    gp_sid name;     /* "memory", "L2 cache", "bf16", "tf32", "fp32", ... */
    bool memory;     /* a slope; otherwise a flat roof */
    double per_s;    /* bytes or FLOP per second */
    uint32_t source; /* enum gp_ceiling_source */
};

/* Kernels with known work, grouped by name, type and regime, over all steps. */
struct gp_roofline_point {
    gp_sid label;
    uint32_t kind;   /* enum gp_frame_kind */
    uint32_t regime; /* enum gp_regime */
    uint32_t roof;   /* the flat roof that applies to it, index into roofs; UINT32_MAX unknown */
    uint64_t count;
    int64_t total_ns;
    double flops;
    /* the least and the most it moves; equal if known from shapes, or measured */
    double bytes_low, bytes_high;
    int64_t measured_ns;       /* of total_ns: its bytes were measured */
    double l2_bytes, l1_bytes; /* that passed the caches, if all was measured; otherwise 0 */
};

struct gp_roofline {
    GP_VEC(struct gp_roof) roofs;            /* memory first, then flat, each from the highest down */
    GP_VEC(struct gp_roofline_point) points; /* by total_ns, longest first, then label */
    int64_t latency_ns;  /* busy time of kernels barely longer than an empty one: no points */
    int64_t unknown_ns;  /* busy time of kernels whose work is unknown: no points */
    int64_t measured_ns; /* of all of these kernels: bytes measured by hardware counters */
};

/* struct gp_roofline_point, of the struct gp_roofline that gp_row_of.of is; shares are of
 * gp_row_of.whole_ns. */
extern const struct gp_record gp_roofline_points;

/* Add the ceilings of TOP that are known: of memory, and of the types of arithmetic that are USED. ROOF_OF:
 * which is that of a type, UINT32_MAX none. */
struct gp_ceilings;
void gp_roofline_add_roofs(struct gp_roofline *r, struct gp_strings *names, const struct gp_ceilings *top,
                           const bool used[GP_ARITH_COUNT + 1], uint32_t roof_of[GP_ARITH_COUNT + 1]);
/* Put the points in their order. */
void gp_roofline_sort(struct gp_roofline *r);
void gp_roofline_release(struct gp_roofline *r);

/* FLOP per byte, for the middle of the byte range; 0 without FLOPs or bytes. */
static inline double gp_roofline_intensity(const struct gp_roofline_point *p)
{
    double bytes = (p->bytes_low + p->bytes_high) / 2;
    return bytes > 0 ? p->flops / bytes : 0;
}

static inline double gp_roofline_flops_per_s(const struct gp_roofline_point *p)
{
    return p->total_ns > 0 ? p->flops / (double)p->total_ns * 1e9 : 0;
}

static inline double gp_roofline_bytes_per_s(const struct gp_roofline_point *p)
{
    return p->total_ns > 0 ? (p->bytes_low + p->bytes_high) / 2 / (double)p->total_ns * 1e9 : 0;
}

/* The roof of uncached data: the slowest memory. NULL if unknown. */
static inline const struct gp_roof *gp_roofline_memory(const struct gp_roofline *r)
{
    const struct gp_roof *found = NULL;
    for (size_t i = 0; i < r->roofs.n; i++)
        if (r->roofs.at[i].memory && (!found || r->roofs.at[i].per_s < found->per_s)) found = &r->roofs.at[i];
    return found;
}

/* The roof closest to P: that memory's, or the flat one that applies to it; NULL if unknown. */
static inline const struct gp_roof *gp_roofline_nearest(const struct gp_roofline *r,
                                                        const struct gp_roofline_point *p)
{
    const struct gp_roof *memory = gp_roofline_memory(r);
    const struct gp_roof *flat = p->roof < r->roofs.n ? &r->roofs.at[p->roof] : NULL;
    if (!memory || !flat) return flat ? flat : memory;
    return gp_roofline_flops_per_s(p) * memory->per_s >= gp_roofline_bytes_per_s(p) * flat->per_s ? flat
                                                                                                  : memory;
}

/* Percentage of that roof that it reaches; 0 if unknown. Above 100: it read from a cache. */
static inline double gp_roofline_reached_pct(const struct gp_roofline *r, const struct gp_roofline_point *p)
{
    const struct gp_roof *roof = gp_roofline_nearest(r, p);
    if (!roof || !(roof->per_s > 0)) return 0;
    double pct = 100 * (roof->memory ? gp_roofline_bytes_per_s(p) : gp_roofline_flops_per_s(p)) / roof->per_s;
    return pct < 1e6 ? pct : 1e6;
}

#endif
