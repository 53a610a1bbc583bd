#include "analyze/calibrate/sweep.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "formats/base/err.h"
#include "formats/base/num.h"
#include "formats/base/order.h"

enum { FLAT = 2 };                 /* times of the smallest size: up to there the launch bounds a call */
static const double AT_ROOF = 0.5; /* share of a ceiling from which on it, not the launch, explains a time */

static const char *const regimes[] = {"launch", "cache", "memory", "compute", "unknown", NULL};

const char *gp_sweep_regime_name(enum gp_sweep_regime r) { return regimes[r]; }

/* ---- lines ---- */

static struct gp_sweep_op *op_of(struct gp_sweep *s, const char *name, const char *type)
{
    for (size_t i = 0; i < s->ops.n; i++)
        if (!strcmp(s->ops.at[i].name, name) && !strcmp(s->ops.at[i].type, type)) return &s->ops.at[i];
    struct gp_sweep_op o = {0};
    snprintf(o.name, sizeof o.name, "%s", name);
    snprintf(o.type, sizeof o.type, "%s", type);
    GP_VEC_PUSH(&s->ops, o);
    return &s->ops.at[s->ops.n - 1];
}

static int read_times(struct gp_samples *to, const char *text)
{
    while (*text) {
        size_t n = strcspn(text, " ");
        double ns;
        if (!gp_double_from_text(text, n, &ns) || !isfinite(ns) || ns <= 0) return -1;
        GP_VEC_PUSH(&to->v, ns);
        text += n + (text[n] == ' ');
    }
    return to->v.n ? 0 : -1;
}

int gp_sweep_line(struct gp_sweep *s, const char *line, struct gp_err *err)
{
    char name[16], type[8];
    unsigned long long elements, bytes, flops;
    int at = 0;
    struct gp_sweep_point p = {0};
    if (sscanf(line, "op %15s %7s %llu %llu %llu %n", name, type, &elements, &bytes, &flops, &at) != 5 ||
        !at || !elements || read_times(&p.samples, line + at)) {
        GP_VEC_FREE(&p.samples.v);
        return gp_fail(err, GP_E_SYNTAX, -1, "\"%.60s\" is not a line of times", line);
    }
    struct gp_sweep_op *o = op_of(s, name, type);
    p.elements = elements;
    p.bytes = bytes;
    p.flops = flops;
    GP_VEC_PUSH(&o->points, p);
    return 0;
}

/* ---- what follows from them ---- */

GP_COMPARE(by_elements, struct gp_sweep_point, GP_UP(elements))

/* Sizes that were rounded to the same shape are one point. */
static void merge_equal(struct gp_sweep_op *o)
{
    size_t n = 0;
    qsort(o->points.at, o->points.n, sizeof *o->points.at, by_elements);
    for (size_t i = 0; i < o->points.n; i++) {
        struct gp_sweep_point *p = &o->points.at[i], *before = n ? &o->points.at[n - 1] : NULL;
        if (!before || before->elements != p->elements) {
            o->points.at[n++] = *p;
            continue;
        }
        for (size_t k = 0; k < p->samples.v.n; k++) GP_VEC_PUSH(&before->samples.v, p->samples.v.at[k]);
        GP_VEC_FREE(&p->samples.v);
    }
    o->points.n = n;
}

double gp_sweep_flops_per_s(const struct gp_sweep *s, const struct gp_sweep_op *o)
{
    for (int i = 0; i < GP_FIGURE_COUNT; i++)
        if (!strcmp(gp_figure_facts((enum gp_figure)i)->name, o->type) && !strcmp(o->name, "matmul"))
            return s->flops_per_s[i];
    /* Other operations compute in single precision, whatever they read and write. */
    return strcmp(o->name, "matmul") ? s->flops_per_s[GP_FIGURE_FP32] : 0;
}

/* Faster than memory can be, and what it moves has room in the cache. The mix of reads and writes alone makes
 * some operations a little faster than the copy that the ceiling comes from. */
static bool is_cached(const struct gp_sweep *s, const struct gp_sweep_point *p)
{
    return p->memory_share > 1 && (s->l2_bytes > 0 ? (double)p->bytes <= s->l2_bytes : p->memory_share > 1.1);
}

static enum gp_sweep_regime regime(const struct gp_sweep *s, const struct gp_sweep_point *p, double floor_ns,
                                   double compute)
{
    if (p->ns < FLAT * floor_ns) return GP_SWEEP_LAUNCH;
    if (s->memory_per_s <= 0 && compute <= 0) return GP_SWEEP_UNKNOWN;
    if (p->compute_share > p->memory_share) return GP_SWEEP_COMPUTE;
    return is_cached(s, p) ? GP_SWEEP_CACHE : GP_SWEEP_MEMORY;
}

/* The time of a launch: that of the fastest size, unless a roof explains it, as where only large sizes were
 * measured. 0: not known. */
static double floor_of(const struct gp_sweep_op *o)
{
    const struct gp_sweep_point *least = NULL;
    for (size_t i = 0; i < o->points.n; i++)
        if (!least || o->points.at[i].ns < least->ns) least = &o->points.at[i];
    return least && fmax(least->memory_share, least->compute_share) < AT_ROOF ? least->ns : 0;
}

static void settle_points(const struct gp_sweep *s, struct gp_sweep_op *o)
{
    double compute = gp_sweep_flops_per_s(s, o);
    GP_EACH(struct gp_sweep_point, p, o->points) {
        p->repeats = p->samples.v.n;
        p->ns = gp_samples_quantile(&p->samples, 0.5);
        p->low_ns = gp_samples_quantile(&p->samples, 0.25);
        p->high_ns = gp_samples_quantile(&p->samples, 0.75);
        if (s->memory_per_s > 0) p->memory_share = (double)p->bytes / p->ns * 1e9 / s->memory_per_s;
        if (compute > 0) p->compute_share = (double)p->flops / p->ns * 1e9 / compute;
    }
    double floor_ns = floor_of(o);
    for (size_t i = 0; i < o->points.n; i++)
        o->points.at[i].regime = regime(s, &o->points.at[i], floor_ns, compute);
}

/* Where the straight line between two points, both axes logarithmic, has the time NS. */
static double crossing(const struct gp_sweep_point *a, const struct gp_sweep_point *b, double ns)
{
    double x0 = log((double)a->elements), x1 = log((double)b->elements), y0 = log(a->ns), y1 = log(b->ns);
    double part = y1 > y0 ? (log(ns) - y0) / (y1 - y0) : 0.5;
    return exp(x0 + fmin(fmax(part, 0), 1) * (x1 - x0));
}

static void find_borders(struct gp_sweep_op *o)
{
    double floor_ns = floor_of(o);
    for (size_t i = 1; i < o->points.n; i++) {
        const struct gp_sweep_point *a = &o->points.at[i - 1], *b = &o->points.at[i];
        if (a->regime == b->regime) continue;
        struct gp_sweep_border w = {a->regime, b->regime, a->elements, b->elements, 0};
        w.elements = a->regime == GP_SWEEP_LAUNCH ? crossing(a, b, FLAT * floor_ns)
                                                  : sqrt((double)a->elements * (double)b->elements);
        GP_VEC_PUSH(&o->borders, w);
    }
}

void gp_sweep_settle(struct gp_sweep *s, const struct gp_figures *f)
{
    s->memory_per_s = f->value[GP_FIGURE_MEMORY_COPY];
    s->l2_bytes = f->fact[GP_FACT_l2_bytes] > 0 ? (double)f->fact[GP_FACT_l2_bytes] : 0;
    for (int i = 0; i < GP_FIGURE_COUNT; i++)
        if (gp_figure_facts((enum gp_figure)i)->unit == GP_FIGURE_FLOPS) s->flops_per_s[i] = f->value[i];
    GP_EACH(struct gp_sweep_op, o, s->ops) {
        merge_equal(o);
        settle_points(s, o);
        find_borders(o);
    }
}

void gp_sweep_release(struct gp_sweep *s)
{
    GP_EACH(struct gp_sweep_op, o, s->ops) {
        for (size_t k = 0; k < o->points.n; k++) GP_VEC_FREE(&o->points.at[k].samples.v);
        GP_VEC_FREE(&o->points);
        GP_VEC_FREE(&o->borders);
    }
    GP_VEC_FREE(&s->ops);
}

/* ---- sizes ---- */

static int bad_sizes(const char *text, struct gp_err *err)
{
    return gp_fail(err, GP_E_USAGE, -1,
                   "--sizes: '%.60s' is not FROM:TO:xFACTOR, FROM:TO:+STEP or a list, as in 1K:1G:x2", text);
}

/* The size that N characters at TEXT are. */
static int size_at(const char *text, size_t n, uint64_t *v, struct gp_err *err)
{
    char word[32];
    if (!n || n >= sizeof word) return -1;
    memcpy(word, text, n);
    word[n] = 0;
    return gp_parse_size(word, v, err) || !*v ? -1 : 0;
}

static int list_of_sizes(const char *text, uint64_t *sizes, struct gp_err *err)
{
    int n = 0;
    for (const char *p = text;; n++) {
        size_t length = strcspn(p, ",");
        if (n == GP_SWEEP_SIZES) return gp_fail(err, GP_E_LIMIT, -1, "--sizes: more than %d", GP_SWEEP_SIZES);
        if (size_at(p, length, &sizes[n], err) || (n && sizes[n] <= sizes[n - 1]))
            return bad_sizes(text, err);
        if (!p[length]) return n + 1;
        p += length + 1;
    }
}

int gp_sweep_sizes(const char *text, uint64_t sizes[GP_SWEEP_SIZES], struct gp_err *err)
{
    size_t first = strcspn(text, ":"), second = text[first] ? strcspn(text + first + 1, ":") : 0;
    uint64_t from, to, step;
    int n = 0;
    if (!text[first]) return list_of_sizes(text, sizes, err);
    const char *how = text + first + 1 + second;
    if (*how != ':' || (how[1] != 'x' && how[1] != '+') || size_at(text, first, &from, err) ||
        size_at(text + first + 1, second, &to, err) || size_at(how + 2, strlen(how + 2), &step, err) ||
        from > to || (how[1] == 'x' && step < 2))
        return bad_sizes(text, err);
    for (uint64_t v = from; v <= to; n++) {
        if (n == GP_SWEEP_SIZES) return gp_fail(err, GP_E_LIMIT, -1, "--sizes: more than %d", GP_SWEEP_SIZES);
        sizes[n] = v;
        if (how[1] == 'x' ? v > UINT64_MAX / step : v > UINT64_MAX - step) return n + 1;
        v = how[1] == 'x' ? v * step : v + step;
    }
    return n;
}

/* ---- fields ---- */

#define AT(member) offsetof(struct gp_sweep_point, member)

/* A time in tenths of a nanosecond. */
GP_GETTER(get_tenths) { gp_cell_real(c, round(*(const double *)gp_member_at(row, f) * 10) / 10); }

/* An amount per second. */
GP_GET(get_rate, struct gp_sweep_point,
       c->i = llround((double)*(const uint64_t *)gp_member_at(row, f) / r->ns * 1e9))

GP_GETTER(get_repeats) { c->i = (int64_t)((const struct gp_sweep_point *)row)->repeats; }

/* A share of a ceiling, of which four digits count. */
GP_GETTER(get_part)
{
    gp_member_positive_double(c, f, row, x);
    c->d = round(c->d * 1e4) / 1e4;
}

static const struct gp_field point_fields[] = {
    {"elements", NULL, GP_CELL_COUNT, gp_member_u64, AT(elements),
     .help = "of the result; softmax and layernorm have rows of 1,024, transpose and matmul are squares"},
    {"bytes", NULL, GP_CELL_BYTES, gp_member_u64, AT(bytes), .help = "read and written at least"},
    {"flops", NULL, GP_CELL_COUNT, gp_member_u64, AT(flops), .help = "a function counts as one"},
    {"ns", NULL, GP_CELL_NS_REAL, get_tenths, AT(ns), .help = "median of a call, launched back to back"},
    {"low_ns", NULL, GP_CELL_NS_REAL, get_tenths, AT(low_ns), .help = "a quarter of the calls take less"},
    {"high_ns", NULL, GP_CELL_NS_REAL, get_tenths, AT(high_ns), .help = "three quarters take less"},
    {"repeats", NULL, GP_CELL_COUNT, get_repeats, 0, .help = "calls that were measured"},
    {"bytes_per_s", NULL, GP_CELL_COUNT, get_rate, AT(bytes), .help = "by the median"},
    {"flops_per_s", NULL, GP_CELL_COUNT, get_rate, AT(flops), .help = "by the median"},
    {"memory_share", NULL, GP_CELL_REAL, get_part, AT(memory_share),
     .help = "of memory_bytes_per_s; above 1 in the cache", .flags = GP_FIELD_NULL},
    {"compute_share", NULL, GP_CELL_REAL, get_part, AT(compute_share),
     .help = "of flops_per_s of its type, fp32 for all but matmul", .flags = GP_FIELD_NULL},
    {"regime", NULL, GP_CELL_TEXT, gp_member_word, AT(regime), .help = "what bounds a call",
     .words = regimes},
};
#undef AT
static const struct gp_record points = {"points", NULL, GP_FIELDS(point_fields),
                                        sizeof(struct gp_sweep_point), .note = "one size"};

#define AT(member) offsetof(struct gp_sweep_border, member)
GP_GETTER(get_elements) { c->i = llround(*(const double *)gp_member_at(row, f)); }

static const struct gp_field border_fields[] = {
    {"below", NULL, GP_CELL_TEXT, gp_member_word, AT(below), .words = regimes},
    {"above", NULL, GP_CELL_TEXT, gp_member_word, AT(above), .words = regimes},
    {"from", NULL, GP_CELL_COUNT, gp_member_u64, AT(from), .help = "the last measured size below"},
    {"to", NULL, GP_CELL_COUNT, gp_member_u64, AT(to), .help = "the first one above"},
    {"elements", NULL, GP_CELL_COUNT, get_elements, AT(elements),
     .help = "between them: where a call takes twice as long as the smallest, or the middle of both"},
};
#undef AT
static const struct gp_record borders = {"borders", NULL, GP_FIELDS(border_fields),
                                         sizeof(struct gp_sweep_border),
                                         .note = "where another thing begins to bound"};

#define AT(member) offsetof(struct gp_sweep_op, member)
GP_GETTER(get_chars) { gp_cell_text(c, gp_member_at(row, f)); }

static const struct gp_field op_fields[] = {
    {"op", NULL, GP_CELL_TEXT, get_chars, AT(name),
     .help = "copy, fill, add, exp, cos, sum, softmax, layernorm, transpose, matmul"},
    {"type", NULL, GP_CELL_TEXT, get_chars, AT(type), .help = "of the elements: fp32, fp16, bf16, ..."},
    {"points", NULL, GP_CELL_ROWS, gp_member_rows, AT(points), .help = "by elements", .rows = &points},
    {"borders", NULL, GP_CELL_ROWS, gp_member_rows, AT(borders), .help = "between points, by elements",
     .rows = &borders},
};
#undef AT
const struct gp_record gp_sweep_ops = {"sweeps", NULL, GP_FIELDS(op_fields), sizeof(struct gp_sweep_op),
                                       .note = "an operation over its sizes"};
