#include "analyze/cost/roofline.h"

#include <stdlib.h>
#include "analyze/cost/regime.h"
#include "analyze/math/sums.h"
#include "analyze/names/classify.h"
#include "formats/base/order.h"

/* ---- roofs and points ---- */

GP_COMPARE(compare_roofs, struct gp_roof, GP_DOWN(memory) GP_DOWN(per_s) GP_UP(name))

GP_COMPARE(compare_points, struct gp_roofline_point, GP_DOWN(total_ns) GP_UP(label) GP_UP(roof) GP_UP(flops))

static void add_roof(struct gp_roofline *r, gp_sid name, bool memory, const struct gp_ceiling *c)
{
    if (c->per_s > 0) GP_VEC_PUSH(&r->roofs, ((struct gp_roof){name, memory, c->per_s, c->source}));
}

void gp_roofline_add_roofs(struct gp_roofline *r, struct gp_strings *names, const struct gp_ceilings *top,
                           const bool used[GP_ARITH_COUNT + 1], uint32_t roof_of[GP_ARITH_COUNT + 1])
{
    add_roof(r, gp_intern_cstr(names, "L2 cache"), true, &top->l2);
    add_roof(r, gp_intern_cstr(names, "memory"), true, &top->memory);
    for (int a = 0; a < GP_ARITH_COUNT; a++)
        if (used[a])
            add_roof(r, gp_intern_cstr(names, gp_arith_name((enum gp_arith)a)), false, &top->flops[a]);
    if (r->roofs.n) qsort(r->roofs.at, r->roofs.n, sizeof *r->roofs.at, compare_roofs);
    for (int a = 0; a <= GP_ARITH_COUNT; a++) {
        roof_of[a] = UINT32_MAX;
        gp_sid name = gp_intern_cstr(names, gp_arith_name((enum gp_arith)a));
        for (uint32_t i = 0; i < r->roofs.n; i++)
            if (!r->roofs.at[i].memory && r->roofs.at[i].name == name) roof_of[a] = i;
    }
}

void gp_roofline_sort(struct gp_roofline *r)
{
    if (r->points.n) qsort(r->points.at, r->points.n, sizeof *r->points.at, compare_points);
}

void gp_roofline_release(struct gp_roofline *r)
{
    GP_VEC_FREE(&r->roofs);
    GP_VEC_FREE(&r->points);
}

/* ---- fields ---- */

#define AT(member) offsetof(struct gp_roofline_point, member)

GP_GET(get_regime, struct gp_roofline_point, gp_cell_text(c, gp_regime_text((enum gp_regime)r->regime)))

GP_GET_IF(get_tflops, struct gp_roofline_point, r->flops > 0,
          gp_cell_real(c, gp_roofline_flops_per_s(r) / 1e12))

GP_GETTER(get_gbps) { gp_cell_real(c, gp_roofline_bytes_per_s(row) / 1e9); }

/* FLOP by as many bytes. */
GP_GET_IF(get_intensity, struct gp_roofline_point, r->flops > 0,
          gp_cell_real(c, r->flops / *(const double *)gp_member_at(r, f)))

GP_GETTER(get_roof)
{
    const struct gp_roof *roof = gp_roofline_nearest(x->of, row);
    c->none = !roof;
    if (roof) gp_cell_sid(c, x->strings, roof->name);
}

GP_GET_IF(get_reached, struct gp_roofline_point, gp_roofline_nearest(x->of, r),
          gp_cell_real(c, gp_roofline_reached_pct(x->of, r)))

GP_GET_IF(get_measured, struct gp_roofline_point, ((const struct gp_roofline *)x->of)->measured_ns > 0,
          gp_cell_real(c, gp_pct(r->measured_ns, r->total_ns)))

static const struct gp_field point_fields[] = {
    {"name", "Kernel", GP_CELL_NAME, gp_member_sid, AT(label), .help = "as in flame graphs"},
    {"regime", "Bound by", GP_CELL_TEXT, get_regime, 0, .help = "what limits it"},
    {"count", "Count", GP_CELL_COUNT, gp_member_u64, AT(count), .help = "runs in all steps",
     .flags = GP_COLUMN_WIDE},
    {"total_ns", "Total", GP_CELL_NS, gp_member_i64, AT(total_ns), .help = "sum of durations over all steps",
     .flags = GP_COLUMN_WIDE},
    {"share_pct", "Share", GP_CELL_PCT, gp_member_share, AT(total_ns), .help = "of the total kernel time",
     .flags = GP_COLUMN_BAR},
    {"tflops", "TFLOP/s", GP_CELL_REAL, get_tflops, 0,
     .help = "its arithmetic, measured or from the shapes of its operands"},
    {"gbps", "Memory", GP_CELL_GBPS, get_gbps, 0,
     .help = "what it reads and writes: measured, or the middle of the possible range"},
    {"intensity_low", "FLOP/byte", GP_CELL_REAL, get_intensity, AT(bytes_high),
     .help = "if it reads and writes as much as possible"},
    {"intensity_high", "at most", GP_CELL_REAL, get_intensity, AT(bytes_low),
     .help = "if it reads and writes as little as possible", .flags = GP_COLUMN_WIDE},
    {"roof", "Nearest roof", GP_CELL_TEXT, get_roof, 0, .help = "of the roofs that apply to it"},
    {"reached_pct", "Reached", GP_CELL_PCT, get_reached, 0,
     .help = "share of that roof; above 100% it worked in a cache", .flags = GP_COLUMN_BAR},
    {"measured_pct", "Measured", GP_CELL_PCT, get_measured, 0,
     .help = "share of its time with measured bytes"},
    {"l2_intensity", "per L2 byte", GP_CELL_REAL, get_intensity, AT(l2_bytes),
     .help = "FLOP per byte of the L2 cache"},
    {"l1_intensity", "per L1 byte", GP_CELL_REAL, get_intensity, AT(l1_bytes), .help = "FLOP per byte of L1",
     .flags = GP_COLUMN_WIDE},
};
#undef AT

static uint8_t point_colour(const void *row)
{
    const uint32_t kind = ((const struct gp_roofline_point *)row)->kind;
    return gp_row_of_kind(kind, (unsigned)gp_class_of((enum gp_frame_kind)kind));
}

const struct gp_record gp_roofline_points = {"work", "The chart in figures", GP_FIELDS(point_fields),
                                             sizeof(struct gp_roofline_point), .colour = point_colour};
