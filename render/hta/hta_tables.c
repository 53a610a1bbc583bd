#include "render/hta/hta_tables.h"

#include <string.h>
#include "analyze/hta/hta.h"
#include "render/hta/hta_tables_priv.h"
#include "render/hta/hta_verdict.h"
#include "render/report/apart.h"

/* ---- inputs ---- */

static void add_inputs(struct gp_hta_tables *m)
{
    struct gp_report_table *t = gp_hta_table_all(m, &gp_inputs, m->h->inputs.at, m->h->inputs.n);
    if (t) t->detail = true;
}

static void add_quality(struct gp_hta_tables *m)
{
    GP_VEC(struct gp_input_issue) issues = {0};
    for (size_t i = 0; i < m->h->inputs.n; i++) {
        const struct gp_input_quality *in = &m->h->inputs.at[i];
        GP_VEC_RESERVE(&issues, issues.n + GP_ISSUE_COUNT);
        issues.n += gp_input_issues_of(issues.at + issues.n, in->path, in->issues);
    }
    struct gp_report_table *t = gp_hta_table_all(m, &gp_input_issues, issues.at, issues.n);
    if (t) t->id = "quality";
    if (t) t->detail = true;
    GP_VEC_FREE(&issues);
}

/* All tables, in their order. */
struct builder {
    const char *id;
    bool detail; /* not for text */
    bool steps;  /* of the steps only, where there are any */
    void (*build)(struct gp_hta_tables *m);
};

static const struct builder builders[] = {
    {"findings", false, true, gp_hta_table_findings},
    {"slow", false, false, gp_hta_table_slow},
    {"breakdown", false, true, gp_hta_table_breakdown},
    {"devices", false, true, gp_hta_table_devices},
    {"streams", true, true, gp_hta_table_streams},
    {"idle", false, true, gp_hta_table_idle},
    {"idle_list", true, true, gp_hta_table_idle_list},
    {"culprits", false, true, gp_hta_table_culprits},
    {"kernels", false, true, gp_hta_table_kernels},
    {"operators", false, true, gp_hta_table_operators},
    {"operators_by_shape", false, true, gp_hta_table_op_shapes},
    {"ranges", false, true, gp_hta_table_ranges},
    {"modules", false, true, gp_hta_table_modules},
    {"launches", false, true, gp_hta_table_launches},
    {"launch_times", false, true, gp_hta_table_launch_times},
    {"api", false, false, gp_hta_table_api},
    {"graphs", false, false, gp_hta_table_graphs},
    {"parts", false, false, gp_hta_table_parts},
    {"steps", false, false, gp_hta_table_steps},
    {"step_list", false, false, gp_hta_table_step_list},
    {"collectives", false, false, gp_hta_table_collectives},
    {"collective_list", true, false, gp_hta_table_matches},
    {"stragglers", false, false, gp_hta_table_stragglers},
    {"offsets", false, false, gp_hta_table_offsets},
    {"copies", false, false, gp_hta_table_copies},
    {"memory", false, false, gp_hta_table_memory},
    {"range_memory", false, false, gp_hta_table_range_memory},
    {"sampled", false, false, gp_hta_table_sampled},
    {"critical_path", false, false, gp_hta_table_path_bounds},
    {"critical_names", false, false, gp_hta_table_path_names},
    {"critical_pieces", true, false, gp_hta_table_path_pieces},
    {"inputs", true, false, add_inputs},
    {"quality", true, false, add_quality},
};

const char *gp_hta_table_id(size_t i)
{
    return i < GP_COUNT(builders) ? builders[i].id : NULL;
}

bool gp_hta_has_table(const char *id)
{
    size_t i = 0;
    while (gp_hta_table_id(i) && strcmp(gp_hta_table_id(i), id) != 0) i++;
    return gp_hta_table_id(i) != NULL;
}

static void drop_empty(struct gp_report *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->tables.n; i++) {
        struct gp_report_table *t = r->tables.at[i];
        if (gp_report_rows(t)) r->tables.at[n++] = t;
        else GP_VEC_FREE(&t->columns);
    }
    r->tables.n = n;
}

/* The wide formats that programs read cover everything, unless a person reads the same table. */
static void build(struct gp_hta_tables *m, const struct builder *b, const struct gp_hta *h)
{
    m->h = b->steps ? gp_hta_about(h, m->whole) : h;
    m->all = gp_hta_totals(m->h);
    b->build(m);
}

void gp_hta_report(struct gp_report *r, const struct gp_hta *h, const struct gp_hta_report_opts *o)
{
    struct gp_hta_tables m = {.r = r, .whole = o->whole, .top = o->top, .step_rows = o->step_rows};
    for (size_t i = 0; i < h->devices.n; i++)
        m.merged |= h->devices.at[i].producer != h->devices.at[0].producer;
    gp_hta_say(r, h, o->whole);
    for (size_t i = 0; i < GP_COUNT(builders); i++) {
        const struct builder *b = &builders[i];
        if (o->only ? strcmp(o->only, b->id) != 0 : b->detail && o->brief) continue;
        if (strcmp(b->id, "step_list") != 0 || o->steps) build(&m, b, h);
    }
    drop_empty(r);
    gp_report_apart(r);
}
