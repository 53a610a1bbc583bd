#include "analyze/diff/comparison.h"

#include <stdlib.h>
#include <inttypes.h>
#include <string.h>
#include "formats/base/mem.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"

int gp_comparison_open(struct gp_comparison *c, const struct gp_sides_asked *asked,
                       const struct gp_paths *gates, struct gp_err *err)
{
    if (gp_sides_sort(&c->sides, asked, err) || gp_gates_parse(&c->gates, gates->at, gates->n, err))
        return -1;
    c->parts = gp_zalloc(c->sides.n * sizeof *c->parts);
    return asked->against ? gp_baseline_load(&c->saved, asked->folder, asked->against, err) : 0;
}

void gp_comparison_run(struct gp_comparison *c, const struct gp_diff_opts *opts)
{
    struct gp_diff_opts o = *opts;
    GP_VEC(const struct gp_profile *) base = {0}, cur = {0};
    for (size_t i = 0; i < c->saved.n; i++) GP_VEC_PUSH(&base, &c->saved.at[i]);
    for (size_t i = 0; i < c->sides.n_base; i++) GP_VEC_PUSH(&base, &c->parts[i]);
    for (size_t i = c->sides.n_base; i < c->sides.n; i++) GP_VEC_PUSH(&cur, &c->parts[i]);
    o.gates = c->gates.at;
    o.n_gates = c->gates.n;
    o.gate_none = c->gates.none;
    o.expects = c->expects.at.n ? &c->expects : NULL;
    gp_diff_init(&c->diff, &o);
    gp_diff_run(&c->diff, base.at, base.n, cur.at, cur.n);
    GP_VEC_FREE(&base);
    GP_VEC_FREE(&cur);
}

int gp_comparison_save(struct gp_comparison *c, const struct gp_sides_asked *asked, struct gp_err *err)
{
    size_t first = c->sides.n_base;
    return gp_baseline_save_all(asked->folder, asked->save, c->parts + first, c->sides.n - first, err);
}

void gp_comparison_release(struct gp_comparison *c)
{
    gp_diff_release(&c->diff);
    for (size_t i = 0; c->parts && i < c->sides.n; i++) gp_profile_release(&c->parts[i]);
    free(c->parts);
    gp_sides_release(&c->sides);
    gp_baseline_release(&c->saved);
    gp_expects_release(&c->expects);
    GP_VEC_FREE(&c->gates);
}

/* ---- predictions ---- */

/* What a prediction is about, as gp_expect has it; UINT32_MAX: there is no such thing. */
static uint32_t subject_of(const struct gp_expect_item *item, struct gp_buf *subject)
{
    if (item->sort == GP_EXPECT_OPERATION) {
        gp_buf_printf(subject, "op %s", item->name);
        return GP_METRIC_COUNT;
    }
    if (item->sort == GP_EXPECT_IDLE) {
        gp_buf_printf(subject, "idle.%s", item->name);
        for (uint32_t c = 0; c < GP_IDLE_CAUSE_COUNT; c++)
            if (!strcmp(gp_idle_cause_name((enum gp_idle_cause)c), item->name))
                return GP_METRIC_COUNT + 1 + c;
        return UINT32_MAX;
    }
    gp_buf_puts(subject, item->name);
    for (uint32_t m = 0; m < GP_METRIC_COUNT; m++)
        if (!strcmp(gp_metric_name((enum gp_metric_id)m), item->name)) return m;
    return UINT32_MAX;
}

static int add_item(struct gp_expects *to, const struct gp_expect_item *item, uint32_t number,
                    struct gp_err *err)
{
    struct gp_buf subject = {0};
    struct gp_expect e = {.metric = subject_of(item, &subject),
                          .percent = item->percent,
                          .low = item->low,
                          .high = item->high,
                          .line = number};
    e.subject = gp_intern_buf(&to->strings, &subject);
    if (e.metric == UINT32_MAX)
        return gp_fail(err, GP_E_SYNTAX, -1, "prediction %" PRIu32 ": unknown %s \"%.100s\"", number,
                       item->sort == GP_EXPECT_IDLE ? "idle cause" : "metric", item->name);
    if (item->sort == GP_EXPECT_OPERATION) e.op = gp_intern_cstr(&to->strings, item->name);
    GP_VEC_PUSH(&to->at, e);
    return 0;
}

int gp_expects_of_file(struct gp_expects *e, const struct gp_expect_file *f, struct gp_err *err)
{
    for (size_t i = 0; i < f->items.n; i++)
        if (add_item(e, &f->items.at[i], (uint32_t)i + 1, err)) return -1;
    return 0;
}
