#include "analyze/cost/regime.h"

#include <math.h>
#include <string.h>
#include "analyze/names/classify.h"
#include "formats/base/count.h"
#include "formats/base/str.h"

enum { HALF_PCT = 50, CLOSE_PCT = 10 };
enum { LARGE_TILE = 64, SMALL_TILE = 16 };

static const double POSSIBLE = 1.15, /* times its duration: the most that a model may claim */
    BOUND = 0.4,                     /* of the duration without t0, from when on a roof explains it */
    SHORT = 0.25;                    /* of it, below which a small grid only waits for itself */
static const int64_t TICK_NS = 1000, GRID_NS = 10000; /* longer kernels have time for more blocks */

GP_WORD(gp_regime_name, enum gp_regime, GP_REGIMES, 1)
GP_WORD(gp_regime_text, enum gp_regime, GP_REGIMES, 2)
GP_WORD(gp_inefficient_name, enum gp_inefficient, GP_INEFFICIENTS, 1)

enum gp_regime gp_regime_classic(enum gp_regime r, enum gp_regime roof)
{
    if (r == GP_REGIME_INEFFICIENT) r = roof;
    if (r == GP_REGIME_TRANSFER || r == GP_REGIME_COMMUNICATION) return GP_REGIME_MEMORY;
    return r == GP_REGIME_MEMORY || r == GP_REGIME_COMPUTE ? r : GP_REGIME_OVERHEAD;
}

/* ---- kernels ---- */

/* The regime from the kind of kernel only, and of a product from its tile: large tiles are chosen where there
 * is much to do with each byte, small ones where one side of the product is small. */
static enum gp_regime regime_of_kind(uint32_t kind, uint32_t tile)
{
    switch (kind) {
    case GP_FRAME_GEMM:
        return tile >= LARGE_TILE               ? GP_REGIME_COMPUTE
               : tile > 0 && tile <= SMALL_TILE ? GP_REGIME_MEMORY
                                                : GP_REGIME_UNKNOWN;
    case GP_FRAME_ATTENTION: return GP_REGIME_COMPUTE;
    case GP_FRAME_ELEMENTWISE:
    case GP_FRAME_REDUCTION: return GP_REGIME_MEMORY;
    default: return GP_REGIME_UNKNOWN;
    }
}

/* Times at the roofs. False if a relevant roof is unknown. */
static bool find_roofs(struct gp_regime_answer *a, const struct gp_regime_kernel *k,
                       const struct gp_ceilings *c)
{
    const struct gp_work *w = k->work;
    if (c->memory.per_s <= 0) return false;
    double top = w->arith < GP_ARITH_COUNT ? gp_ceiling_peak_at(&c->flops[w->arith], k->clock) : 0;
    if (w->products && w->flops > 0 && top <= 0) return false;
    a->compute_ns = top > 0 ? w->flops / top * 1e9 : 0;
    a->memory_low_ns = gp_ceilings_memory_ns(c, w->bytes_low, w->written);
    a->memory_high_ns = gp_ceilings_memory_ns(c, w->bytes_high, w->written);
    double middle = (a->memory_low_ns + a->memory_high_ns) / 2;
    a->roof = a->compute_ns >= middle ? GP_REGIME_COMPUTE : GP_REGIME_MEMORY;
    return true;
}

static enum gp_inefficient reason_of(const struct gp_regime_answer *a, const struct gp_regime_kernel *k,
                                     const struct gp_ceilings *c, double most)
{
    if (k->waves > 0 && k->waves < 1) return GP_INEFFICIENT_BLOCKS;
    if (most < c->empty_ns) return GP_INEFFICIENT_LITTLE;
    if (k->beside) return GP_INEFFICIENT_BESIDE;
    return a->roof == GP_REGIME_MEMORY && !k->work->products ? GP_INEFFICIENT_ACCESS
                                                             : GP_INEFFICIENT_ARITHMETIC;
}

/* The roofs are known, and the kernel is longer than an empty one. */
static enum gp_regime regime_of_work(struct gp_regime_answer *a, const struct gp_regime_kernel *k,
                                     const struct gp_ceilings *c)
{
    double fastest = gp_ceilings_cached_ns(c, k->work->bytes_low, k->work->written),
           left = (double)k->dur_ns - c->empty_ns;
    double boosted = k->work->arith < GP_ARITH_COUNT ? c->flops[k->work->arith].per_s : 0;
    if (boosted > 0) fastest = fmax(fastest, k->work->flops / boosted * 1e9); /* at any clock */
    /* the operator's work was divided by time, including the start-up time of its kernels */
    double start = k->part > 0 && k->part < 1 ? 0 : c->empty_ns;
    if (start + fastest > POSSIBLE * (double)k->dur_ns) {
        a->impossible = true;
        return GP_REGIME_UNKNOWN;
    }
    double most = a->compute_ns > a->memory_high_ns ? a->compute_ns : a->memory_high_ns;
    if (k->dur_ns <= GRID_NS && most < SHORT * left && k->waves > 0 && k->waves < 1)
        return GP_REGIME_OVERHEAD;
    if (a->roof == GP_REGIME_COMPUTE && a->compute_ns >= BOUND * left) return GP_REGIME_COMPUTE;
    if (a->memory_high_ns >= BOUND * left) return GP_REGIME_MEMORY;
    /* the responsible kernel of an operator is certain only if no other kernel can have done most of the
     * work */
    if (k->part > 0 && most / k->part >= BOUND * left) return a->roof;
    a->reason = reason_of(a, k, c, most);
    return GP_REGIME_INEFFICIENT;
}

/* The units were busy, whatever they worked on; by Nsight Compute's rule of thumb, 60% of what they can issue
 * is much. */
static bool units_busy(const struct gp_counted *k)
{
    enum { ISSUE_PCT = 60 };
    return k->tensor_pct >= 100 * BOUND || k->issue_pct >= ISSUE_PCT;
}

/* Bytes are measured, so nothing is impossible. Operations may not be: those of ordinary units only count
 * with all of their counters, and elementwise kernels and reductions do too few of them to matter. */
static enum gp_regime regime_of_counters(struct gp_regime_answer *a, const struct gp_regime_kernel *k,
                                         const struct gp_ceilings *c)
{
    double left = (double)k->dur_ns - c->empty_ns, per_s = gp_ceilings_cache_per_s(c);
    if (per_s > 0 && k->counted->l2_bytes > 0) a->cache_ns = k->counted->l2_bytes / per_s * 1e9;
    double memory = a->memory_high_ns > a->cache_ns ? a->memory_high_ns : a->cache_ns;
    double most = a->compute_ns > memory ? a->compute_ns : memory;
    a->roof = a->compute_ns >= memory ? GP_REGIME_COMPUTE : GP_REGIME_MEMORY;
    bool busy = units_busy(k->counted), few = k->waves > 0 && k->waves < 1;
    if (!busy && k->dur_ns <= GRID_NS && most < SHORT * left && few) return GP_REGIME_OVERHEAD;
    if (most >= BOUND * left) return a->roof;
    if (busy) return a->roof = GP_REGIME_COMPUTE;
    bool light = k->kind == GP_FRAME_ELEMENTWISE || k->kind == GP_FRAME_REDUCTION;
    if (!k->work->flops_known && !light) {
        enum gp_regime by_kind = regime_of_kind(k->kind, k->tile);
        return a->roof = by_kind == GP_REGIME_MEMORY ? GP_REGIME_UNKNOWN : by_kind;
    }
    a->reason = reason_of(a, k, c, most);
    return GP_REGIME_INEFFICIENT;
}

void gp_regime_of_kernel(struct gp_regime_answer *a, const struct gp_regime_kernel *k,
                         const struct gp_ceilings *c)
{
    enum gp_class class = gp_class_of((enum gp_frame_kind)k->kind);
    memset(a, 0, sizeof *a);
    a->roof = GP_REGIME_UNKNOWN;
    a->fits_cache = k->work && !k->counted && k->work->bytes_high < c->l2_bytes;
    if (class == GP_CLASS_COMMUNICATION) a->regime = GP_REGIME_COMMUNICATION;
    else if (class == GP_CLASS_MEMORY) a->regime = GP_REGIME_TRANSFER;
    else if ((double)k->dur_ns <= 2 * c->empty_ns + (double)TICK_NS) a->regime = GP_REGIME_OVERHEAD;
    else if (!k->work || !find_roofs(a, k, c)) a->regime = a->roof = regime_of_kind(k->kind, k->tile);
    else a->regime = k->counted ? regime_of_counters(a, k, c) : regime_of_work(a, k, c);
}

/* ---- work as a device did it ---- */

void gp_work_settle_arith(struct gp_work *w, enum gp_matrix_use use, const struct gp_ceiling *flops,
                          int64_t ns, bool amd)
{
    double fp32 = flops[GP_ARITH_FP32].per_s;
    if (w->arith != GP_ARITH_FP32 || !w->products || amd) return;
    bool faster = fp32 > 0 && w->flops / fp32 * 1e9 > (double)ns;
    if (use == GP_MATRIX_YES || (use == GP_MATRIX_UNKNOWN && faster)) w->arith = GP_ARITH_TF32;
}

void gp_regime_limit(struct gp_work *w, const struct gp_ceilings *c, bool fit_cache, int64_t ns)
{
    double most = fit_cache ? gp_ceilings_cache_per_s(c) * (double)ns / 1e9
                            : gp_ceilings_memory_bytes(c, (double)ns, w->written);
    if (c->memory.per_s <= 0 || w->bytes_high <= most) return;
    w->bytes_high = most > w->bytes_low ? most : w->bytes_low;
}

double gp_regime_ceiling_ns(const struct gp_work *w, const struct gp_ceilings *c, bool fit_cache)
{
    const struct gp_ceiling *flops = w->arith < GP_ARITH_COUNT ? &c->flops[w->arith] : NULL;
    double compute = flops && flops->per_s > 0 ? w->flops / flops->per_s * 1e9 : 0, memory = 0;
    if (!fit_cache) memory = gp_ceilings_memory_ns(c, (w->bytes_low + w->bytes_high) / 2, w->written);
    return compute > memory ? compute : memory;
}

/* ---- steps ---- */

enum gp_regime gp_regime_of_step(const struct gp_regime_step *s)
{
    if (s->whole_ns <= 0) return GP_REGIME_UNKNOWN;
    const struct {
        enum gp_regime regime;
        int64_t ns;
    } parts[] = {{GP_REGIME_OVERHEAD, s->idle_ns + s->lead_ns + s->latency_ns},
                 {GP_REGIME_WAITING, s->waiting_ns},
                 {GP_REGIME_COMMUNICATION, s->communication_ns},
                 {GP_REGIME_TRANSFER, s->transfer_ns},
                 {GP_REGIME_COMPUTE, s->compute_ns},
                 {GP_REGIME_MEMORY, s->memory_ns},
                 {GP_REGIME_INEFFICIENT, s->inefficient_ns},
                 {GP_REGIME_UNKNOWN, s->unknown_ns}};
    size_t most = 0;
    for (size_t i = 1; i < GP_COUNT(parts); i++)
        if (parts[i].ns > parts[most].ns) most = i;
    if ((double)parts[most].ns * 100 < (double)s->whole_ns * HALF_PCT) return GP_REGIME_MIXED;
    int64_t apart =
        s->compute_ns > s->memory_ns ? s->compute_ns - s->memory_ns : s->memory_ns - s->compute_ns;
    bool product = parts[most].regime == GP_REGIME_COMPUTE || parts[most].regime == GP_REGIME_MEMORY;
    bool close = (double)apart * 100 <= (double)(s->compute_ns + s->memory_ns) * CLOSE_PCT;
    return product && close ? GP_REGIME_MIXED : parts[most].regime;
}
