/* Modes against each other, by steady steps of their traces. */
#include <math.h>
#include <string.h>
#include "analyze/compile/compile_priv.h"
#include "analyze/diff/diff.h"

/* The name of a trace: as given, or the mode of the logs. */
static gp_sid name_of(struct gp_compile *c, const struct gp_compile_trace *t)
{
    if (t->name) return t->name;
    if (c->mode) return c->mode;
    return gp_intern_cstr(&c->log->strings, "run");
}

/* Launches of whole steps on the first lane, without the first step. */
static void count_launches(struct gp_compile_mode *m, const struct gp_profile *p)
{
    double steps = 0, launches = 0, graphs = 0, kernels = 0;
    for (size_t i = 1; i < p->steps.n && p->lanes.n; i++) {
        const struct gp_profile_step *s = &p->steps.at[i];
        if (s->lane || s->cut || s->open) continue;
        steps++;
        launches += (double)s->host.launches;
        graphs += (double)s->host.graph_launches;
        kernels += s->n;
    }
    if (steps < 1) return;
    m->launches = launches / steps;
    m->graph_launches = graphs / steps;
    m->kernels = kernels / steps;
}

/* Percent of change to a factor of speed. */
static double factor(double change_pct) { return change_pct > -100 ? 100 / (100 + change_pct) : INFINITY; }

/* Do both sides multiply matrices, and fewer than half of the shapes of the smaller one are those of the
 * other? */
static bool other_shapes(const struct gp_compile_trace *a, const struct gp_compile_trace *b)
{
    size_t i = 0, k = 0, both = 0, least = a->products.n < b->products.n ? a->products.n : b->products.n;
    while (i < a->products.n && k < b->products.n) {
        if (a->products.at[i] == b->products.at[k]) both++, i++, k++;
        else if (a->products.at[i] < b->products.at[k]) i++;
        else k++;
    }
    return both * 2 < least;
}

static void compare(struct gp_compile *c, struct gp_compile_mode *m, const struct gp_compile_trace *base,
                    const struct gp_compile_trace *cur, int64_t base_step_ns)
{
    const struct gp_profile *sides[GP_DIFF_SIDES] = {&base->profile, &cur->profile};
    struct gp_diff d;
    gp_diff_init(&d, NULL);
    gp_diff_run(&d, &sides[GP_DIFF_BASE], 1, &sides[GP_DIFF_CUR], 1);
    m->steps = d.side[GP_DIFF_CUR].steps_used;
    if (d.unit == GP_DIFF_PER_STEP) {
        m->step_ns = d.side[GP_DIFF_CUR].windows ? d.side[GP_DIFF_CUR].step_ns : -1;
        m->gpu_ns = d.side[GP_DIFF_CUR].gpu_ns;
    }
    const struct gp_diff_decision *step = &d.metrics[GP_METRIC_STEP].d;
    struct gp_strings *strings = &c->log->strings;
    if (!m->baseline && other_shapes(base, cur)) {
        m->refused = gp_intern_cstr(strings, "other work: matrix products have other shapes or types");
    } else if (!m->baseline && !d.comparable && d.reasons.n) {
        m->refused = gp_intern_cstr(strings, gp_diff_str(&d, d.reasons.at[0].text));
    } else if (!m->baseline && (m->step_ns <= 0 || base_step_ns <= 0)) {
        m->refused = gp_intern_cstr(strings, "no steady steps are known");
    } else if (!m->baseline) {
        m->speedup = (double)base_step_ns / (double)m->step_ns;
        m->slower = m->step_ns >= base_step_ns;
        m->p = step->p;
        m->significant = step->significant;
        m->within_run = step->within_run;
        m->low = isnan(step->ci_high_pct) ? 0 : factor(step->ci_high_pct);
        m->high = isnan(step->ci_low_pct) ? 0 : factor(step->ci_low_pct);
        if (isinf(m->high)) m->high = 0;
    }
    gp_diff_release(&d);
}

static void add_mode(struct gp_compile *c, uint32_t index, uint32_t base)
{
    const struct gp_compile_trace *t = &c->traces.at[index];
    struct gp_compile_mode m = {.trace = index,
                                .name = name_of(c, t),
                                .baseline = index == base,
                                .step_ns = -1,
                                .gpu_ns = -1,
                                .compile_ns = -1,
                                .break_even_steps = -1,
                                .p = NAN};
    int64_t base_ns = c->modes.n ? c->modes.at[0].step_ns : -1;
    compare(c, &m, &c->traces.at[base], t, base_ns);
    count_launches(&m, &t->profile);
    if ((t->role == GP_COMPILE_RUN || m.name == c->mode) && c->time.total_ns > 0)
        m.compile_ns = c->time.longest_ns;
    if (m.compile_ns >= 0 && m.speedup > 0 && base_ns > 0 && (m.slower || m.low > 1))
        m.break_even_steps =
            m.slower ? 0 : (m.compile_ns + (base_ns - m.step_ns) - 1) / (base_ns - m.step_ns);
    GP_VEC_PUSH(&c->modes, m);
}

/* The baseline is what runs eagerly, or else the first trace. */
void gp_compile_compare_modes(struct gp_compile *c)
{
    uint32_t base = 0;
    bool run = false;
    for (uint32_t i = (uint32_t)c->traces.n; i-- > 0;)
        if (c->traces.at[i].role == GP_COMPILE_EAGER_TRACE) base = i;
    if (!c->traces.n) return;
    add_mode(c, base, base);
    run = c->traces.at[base].role == GP_COMPILE_RUN;
    for (uint32_t i = 0; i < c->traces.n; i++) {
        enum gp_compile_role role = c->traces.at[i].role;
        if (i == base || (role == GP_COMPILE_RUN && run)) continue; /* other ranks of the same run */
        run |= role == GP_COMPILE_RUN;
        add_mode(c, i, base);
    }
    GP_EACH(const struct gp_compile_mode, m, c->modes) {
        enum gp_compile_role role = c->traces.at[m->trace].role;
        if (role == GP_COMPILE_EAGER_TRACE) c->fusion.kernels_eager = m->kernels;
        if (role == GP_COMPILE_RUN) {
            c->fusion.kernels_compiled = m->kernels;
            c->cudagraphs.launches_per_step = m->graph_launches;
        }
    }
}

/* ---- fields ---- */

#define AT(member) offsetof(struct gp_compile_mode, member)

GP_GET_UNLESS(get_break_even, void, gp_member_i64, c->i <= 0)

GP_GETTER(get_never) { c->i = ((const struct gp_compile_mode *)row)->break_even_steps == 0; }

static const struct gp_field mode_fields[] = {
    {"name", "Mode", GP_CELL_NAME, gp_member_sid, AT(name), .help = "as given, or by the log"},
    {"baseline", NULL, GP_CELL_BOOL, gp_member_bool, AT(baseline), .help = "the others are compared with it"},
    {"steps", NULL, GP_CELL_COUNT, gp_member_u32, AT(steps), .help = "that were compared"},
    {"step_ns", "Step", GP_CELL_NS, gp_member_known_i64, AT(step_ns), .help = "mean of the steady steps",
     .flags = GP_FIELD_NULL},
    {"gpu_ns", "GPU", GP_CELL_NS, gp_member_known_i64, AT(gpu_ns), .help = "sum of GPU events per step",
     .flags = GP_FIELD_NULL},
    {"kernels", "Kernels", GP_CELL_REAL, gp_member_double, AT(kernels), .help = "GPU events per step"},
    {"launches", "Launches", GP_CELL_REAL, gp_member_double, AT(launches),
     .help = "launching calls per step; a graph launch is one", .flags = GP_COLUMN_SPARE},
    {"graph_launches", "Graphs", GP_CELL_REAL, gp_member_double, AT(graph_launches),
     .help = "CUDA graph launches per step", .flags = GP_COLUMN_SPARE},
    {"compile_ns", "Compile", GP_CELL_NS, gp_member_known_i64, AT(compile_ns),
     .help = "compile time by the log", .flags = GP_FIELD_NULL},
    {"break_even_steps", "Pays after", GP_CELL_COUNT, get_break_even, AT(break_even_steps),
     .help = "steps after which compiling has paid back; unknown as well where it never does",
     .flags = GP_FIELD_NULL},
    {"never_pays_back", NULL, GP_CELL_BOOL, get_never, 0, .help = "compiled is not faster"},
    {"speedup", "Speed-up", GP_CELL_REAL, gp_member_positive_double, AT(speedup),
     .help = "against the first row", .flags = GP_FIELD_NULL, .after = "graph_launches"},
    {"speedup_low", NULL, GP_CELL_REAL, gp_member_positive_double, AT(low), .help = "of its interval",
     .flags = GP_FIELD_NULL},
    {"speedup_high", NULL, GP_CELL_REAL, gp_member_positive_double, AT(high), .flags = GP_FIELD_NULL},
    {"p_value", "p", GP_CELL_REAL, gp_member_double, AT(p),
     .help = "probability of such a difference by chance", .flags = GP_COLUMN_WIDE | GP_FIELD_NULL},
    {"within_run", NULL, GP_CELL_BOOL, gp_member_bool, AT(within_run),
     .help = "the interval is that of one run per side: other runs are not covered"},
    {"significant", NULL, GP_CELL_BOOL, gp_member_bool, AT(significant),
     .help = "the difference is more than chance"},
    {"refused", NULL, GP_CELL_NAME, gp_member_name, AT(refused), .help = "why it is not compared",
     .flags = GP_FIELD_NULL},
};
#undef AT
const struct gp_record gp_compile_modes = {"modes", "Modes", GP_FIELDS(mode_fields),
                                           sizeof(struct gp_compile_mode),
                                           .note = "a trace against the baseline, by steady steps"};
