/* What the answer consists of, field by field. */
#include <math.h>
#include <string.h>
#include "analyze/names/classify.h"
#include "analyze/suggest/suggest.h"
#include "formats/base/str.h"

struct gp_row_of gp_suggest_rows_of(const struct gp_suggest_shown *v, int64_t whole_ns)
{
    return (struct gp_row_of){.of = v, .strings = &v->s->strings, .whole_ns = whole_ns};
}

static const char *const regimes[] = {GP_REGIMES(GP_WORD_1) NULL};
static const char *const sources[] = {GP_CEILING_SOURCES(GP_WORD_1) NULL};
static const char *const ariths[] = {GP_ARITHS(GP_WORD_1) NULL};

static enum gp_regime regime_shown(const struct gp_row_of *x, uint32_t regime, uint32_t roof)
{
    const struct gp_suggest_shown *v = x->of;
    return v->three_regimes ? gp_regime_classic((enum gp_regime)regime, (enum gp_regime)roof)
                            : (enum gp_regime)regime;
}

/* ---- kernels and operators ---- */

#define AT(member) offsetof(struct gp_suggest_kernel, member)

GP_GETTER(get_name)
{
    const struct gp_suggest_kernel *k = row;
    gp_sid label = k->label ? k->label : k->name;
    gp_cell_label(c, gp_string(x->strings, k->name), gp_string_len(x->strings, k->name),
                  gp_string(x->strings, label), gp_string_len(x->strings, label));
}

GP_GETTER(get_class)
{
    const struct gp_suggest_kernel *k = row;
    gp_cell_text(c, gp_class_name(gp_class_of((enum gp_frame_kind)k->kind)));
}

GP_GETTER(get_kind)
{
    gp_cell_text(c, gp_frame_kind_word((enum gp_frame_kind)((const struct gp_suggest_kernel *)row)->kind));
}

GP_GETTER(get_regime)
{
    static const char *const neither[] = {
#define X(id, name, text) "neither: " text,
        GP_INEFFICIENTS(X)
#undef X
    };
    const struct gp_suggest_kernel *k = row;
    enum gp_regime regime = regime_shown(x, k->regime, k->roof);
    const char *name = gp_regime_name(regime), *text = gp_regime_text(regime);
    if (regime == GP_REGIME_INEFFICIENT) text = neither[k->reason];
    if (regime == GP_REGIME_UNKNOWN) text = name;
    gp_cell_label(c, name, strlen(name), text, strlen(text));
}

GP_GETTER(get_reason)
{
    const struct gp_suggest_kernel *k = row;
    c->none = k->regime != GP_REGIME_INEFFICIENT;
    gp_cell_text(c, gp_inefficient_name((enum gp_inefficient)k->reason));
}

GP_GETTER(get_mean)
{
    const struct gp_suggest_kernel *k = row;
    c->none = !k->count;
    if (k->count) c->i = k->total_ns / (int64_t)k->count;
}

GP_GETTER(get_tier)
{
    gp_cell_text(c, gp_work_tier_name((enum gp_work_tier)((const struct gp_suggest_kernel *)row)->tier));
}

GP_GETTER(get_some_ns)
{
    gp_member_i64(c, f, row, x);
    c->none = c->i <= 0;
}

/* Figures of launches whose work is known. */
static bool is_known(const struct gp_suggest_kernel *k)
{
    return k->known_ns > 0;
}

GP_GETTER(get_work)
{
    gp_member_double(c, f, row, x);
    c->none |= !is_known(row);
}

GP_GETTER(get_arith)
{
    const struct gp_suggest_kernel *k = row;
    c->none = !is_known(k) || k->arith == GP_ARITH_NONE;
    gp_cell_text(c, gp_arith_name((enum gp_arith)k->arith));
}

GP_GETTER(get_tflops)
{
    const struct gp_suggest_kernel *k = row;
    c->none = !is_known(k);
    if (!c->none) gp_cell_real(c, k->flops / (double)k->known_ns / 1e3);
}

GP_GETTER(get_gbps)
{
    const struct gp_suggest_kernel *k = row;
    c->none = !is_known(k);
    if (!c->none) gp_cell_real(c, *(const double *)gp_member_at(row, f) / (double)k->known_ns);
}

GP_GETTER(get_fits_cache)
{
    gp_member_bool(c, f, row, x);
    c->none = !is_known(row);
}

GP_GETTER(get_roof)
{
    const struct gp_suggest_kernel *k = row;
    const char *memory = k->from_cache ? "cache" : "memory";
    bool is_memory = k->roof_arith == GP_ARITH_NONE;
    c->none = !is_known(k) || !(k->roof_pct > 0);
    gp_cell_text(c, is_memory ? memory : gp_arith_name((enum gp_arith)k->roof_arith));
}

GP_GETTER(get_roof_pct)
{
    gp_member_positive_double(c, f, row, x);
    c->none |= !is_known(row);
}

GP_GETTER(get_roof_source)
{
    const struct gp_suggest_kernel *k = row;
    const struct gp_ceilings *top = &((const struct gp_suggest_shown *)x->of)->s->ceilings;
    const struct gp_ceiling *roof =
        k->roof_arith == GP_ARITH_NONE ? &top->memory : &top->flops[k->roof_arith];
    c->none = !is_known(k) || !(k->roof_pct > 0);
    gp_cell_text(c, gp_ceiling_source_name((enum gp_ceiling_source)roof->source));
}

/* Times and bytes of launches whose bytes were measured. */
GP_GETTER(get_measured_ns)
{
    gp_member_i64(c, f, row, x);
    c->none = ((const struct gp_suggest_kernel *)row)->measured_ns <= 0;
}

GP_GETTER(get_stall)
{
    const struct gp_suggest_kernel *k = row;
    c->none = k->stall == GP_STALL_COUNT;
    if (c->none) return;
    const char *name = gp_stall_name((enum gp_stall)k->stall), *text = gp_stall_text((enum gp_stall)k->stall);
    gp_cell_label(c, name, strlen(name), text, strlen(text));
}

static const char *const reasons[] = {GP_INEFFICIENTS(GP_WORD_1) NULL};
static const char *const stalls[] = {GP_STALLS(GP_WORD_1) NULL};

#define PART      .flags = GP_FIELD_OPTIONAL
#define WIDE_PART .flags = GP_FIELD_OPTIONAL | GP_COLUMN_WIDE
static const struct gp_field kernel_fields[] = {
    {"name", "Kernel", GP_CELL_NAME, get_name, 0, .help = "full name"},
    {"class", NULL, GP_CELL_TEXT, get_class, 0, .words = gp_class_words},
    {"kind", "Kind", GP_CELL_TEXT, get_kind, 0,
     .help = "what it does, from its name; of an operator, its longest kernel", .words = gp_frame_kind_words},
    {"regime", "Bound by", GP_CELL_TEXT, get_regime, 0, .help = "what limits most of its time",
     .after = "name", .words = regimes},
    {"reason", NULL, GP_CELL_TEXT, get_reason, 0, .help = "why it is inefficient, as far as the trace shows",
     PART, .words = reasons + 1},
    {"count", "Count", GP_CELL_COUNT, gp_member_u64, AT(count), .help = "runs in all steps"},
    {"total_ns", "Total", GP_CELL_NS, gp_member_i64, AT(total_ns), .help = "sum of durations over all steps"},
    {"share_pct", "Share", GP_CELL_PCT, gp_member_share, AT(total_ns), .help = "of the total kernel time",
     .flags = GP_COLUMN_BAR | GP_FIELD_TABLES},
    {"mean_ns", "Mean", GP_CELL_NS, get_mean, 0, .help = "total / count", .flags = GP_FIELD_TABLES},
    {"evidence", "Evidence", GP_CELL_TEXT, get_tier, 0,
     .help = "how its work is known, for most of its time: measured by hardware counters (tier 3), from "
             "shapes of the "
             "operator's inputs (tier 2), from the kernel's name and grid (tier 1), or only from the kind of "
             "kernel",
     .after = "roof_pct", .words = gp_work_tier_words},
    {"impossible_ns", NULL, GP_CELL_NS, get_some_ns, AT(impossible_ns),
     .help = "time of launches whose stated work is impossible, since no device is so fast; they count as "
             "unknown",
     PART},
    {"known_ns", NULL, GP_CELL_NS, get_some_ns, AT(known_ns),
     .help = "time of launches whose work is known; the sums below are of these", PART},
    {"flops", NULL, GP_CELL_REAL, get_work, AT(flops), .help = "floating point operations", PART},
    {"low_bytes", NULL, GP_CELL_REAL, get_work, AT(bytes_low), .help = "bytes that have to be moved", PART},
    {"high_bytes", NULL, GP_CELL_REAL, get_work, AT(bytes_high),
     .help = "bytes moved if caches keep nothing between passes", PART},
    {"arithmetic", NULL, GP_CELL_TEXT, get_arith, 0, .help = "arithmetic type of the operations", PART,
     .words = ariths},
    {"achieved_tflops", NULL, GP_CELL_REAL, get_tflops, 0, .help = "1e12 operations per second", PART},
    {"achieved_low_gbps", NULL, GP_CELL_GBPS, get_gbps, AT(bytes_low), PART},
    {"achieved_high_gbps", NULL, GP_CELL_GBPS, get_gbps, AT(bytes_high), PART},
    {"fits_cache", NULL, GP_CELL_BOOL, get_fits_cache, AT(fits_cache),
     .help = "the bytes of a launch may stay in the L2 cache, so nothing is claimed about memory", PART},
    {"roof", NULL, GP_CELL_TEXT, get_roof, 0,
     .help = "the nearer roof: memory, memory and L2 cache together (cache) for what was faster than memory, "
             "or the type "
             "of the arithmetic",
     PART},
    {"roof_pct", "Of its roof", GP_CELL_PCT, get_roof_pct, AT(roof_pct),
     .help =
         "of the device's arithmetic or memory limit, whichever is nearer; with the L2 cache for what was "
         "faster than memory",
     PART},
    {"roof_source", NULL, GP_CELL_TEXT, get_roof_source, 0, .help = "source of that ceiling", PART,
     .words = sources},
    {"measured_ns", NULL, GP_CELL_NS, get_measured_ns, AT(measured_ns),
     .help = "time of the launches whose bytes hardware counters measured", PART},
    {"flops_measured_ns", NULL, GP_CELL_NS, get_measured_ns, AT(flops_measured_ns),
     .help = "of these, time of those whose operations were measured as well", PART},
    {"by_mean_ns", NULL, GP_CELL_NS, get_measured_ns, AT(by_mean_ns),
     .help = "of these, time of those for which other launches of the kernel stand", PART},
    {"l2_bytes", NULL, GP_CELL_REAL, gp_member_double, AT(l2_bytes),
     .help = "that passed the L2 cache, in the measured launches", PART},
    {"l1_bytes", NULL, GP_CELL_REAL, gp_member_double, AT(l1_bytes),
     .help = "that passed L1, in the measured launches", PART},
    {"occupancy_pct", "Occupancy", GP_CELL_PCT, gp_member_double, AT(occupancy_pct),
     .help = "measured: warps on active multiprocessors, of those that fit, weighted by time", WIDE_PART},
    {"issue_pct", "Issue", GP_CELL_PCT, gp_member_double, AT(issue_pct),
     .help = "measured: cycles in which an instruction was issued", WIDE_PART},
    {"tensor_pct", "Tensor", GP_CELL_PCT, gp_member_double, AT(tensor_pct),
     .help = "measured: cycles in which the matrix units worked", WIDE_PART},
    {"stall", "Warps wait for", GP_CELL_TEXT, get_stall, 0,
     .help = "measured: the most frequent of the reasons that were counted", WIDE_PART, .words = stalls},
};
#undef WIDE_PART
#undef PART
#undef AT

static uint8_t kernel_colour(const void *row)
{
    const uint32_t kind = ((const struct gp_suggest_kernel *)row)->kind;
    return gp_row_of_kind(kind, (unsigned)gp_class_of((enum gp_frame_kind)kind));
}

#define BOUND                                                                                                \
    GP_FIELDS(kernel_fields),                                                                                \
        .size = sizeof(struct gp_suggest_kernel), .note = "times and sums over all launches of all steps",   \
        .rest = {{"count", "count"}, {"total_ns", "total_ns"}}, .colour = kernel_colour
const struct gp_record gp_suggest_kernels = {"kernels", "Kernels", BOUND};
const struct gp_record gp_suggest_operators = {"operators", "Operators", BOUND};
#undef BOUND
