/* What is added to a memory analysis: inputs with their quality, devices. */
#include <stdlib.h>
#include <string.h>
#include "analyze/memory/memory_priv.h"
#include "formats/base/buf.h"

void gp_memory_add_input(struct gp_memory *m, const struct gp_snapshot *s)
{
    struct gp_input_quality in = {0};
    bool damaged = false;
    for (int i = 0; i < GP_ISSUE_COUNT; i++) damaged |= s->issues[i].count > 0;
    bool empty = !s->segments.n && !s->rows.n;
    in.path = gp_intern_cstr(&m->strings, s->input.path ? s->input.path : "");
    in.format = gp_intern_cstr(&m->strings, s->input.format ? s->input.format : "");
    in.compression = gp_intern_cstr(&m->strings, s->input.compression ? s->input.compression : "");
    in.verdict = gp_intern_cstr(&m->strings, empty ? "unusable" : damaged ? "repaired" : "clean");
    in.rank = -1;
    in.events = s->input.events;
    in.truncated = s->issues[GP_Q_TRUNCATED].count || s->issues[GP_Q_COMPRESSION].count;
    in.skipped = s->issues[GP_Q_BAD_VALUE].count + s->issues[GP_Q_LIMIT].count;
    memcpy(in.issues, s->issues, sizeof in.issues);
    GP_VEC_PUSH(&m->inputs, in);
}

void gp_memory_add_device(struct gp_memory *m, struct gp_snapshot *s, int32_t number,
                          const struct gp_snapshot_trace *t)
{
    if (m->opts.device >= 0 && number != m->opts.device) return;
    struct gp_memory_device d = {0};
    struct gp_buf b = {0};
    if (number < 0) gp_buf_puts(&b, "cpu");
    else gp_buf_printf(&b, "cuda:%d", (int)number);
    d.s = s;
    d.first_row = t->first;
    d.rows = t->n;
    d.known_base = t->base;
    d.number = number;
    d.input = (uint32_t)m->inputs.n - 1;
    d.label = gp_intern(&m->strings, b.data, b.n);
    d.total_bytes = m->opts.total_bytes;
    d.peak_span = GP_NO_SPAN;
    if (t->n) {
        d.begin_ns = s->rows.time_ns[t->first];
        d.end_ns = s->rows.time_ns[t->first + t->n - 1];
    }
    GP_VEC_PUSH(&m->devices, d);
    gp_buf_release(&b);
}

void gp_memory_release_device(struct gp_memory_device *d)
{
    GP_RELEASE(gp_vec_free, &d->lives, &d->sites, &d->spans, &d->steps, &d->series, &d->growth,
               &d->fragmentation.pools, &d->ooms, &d->ranges, &d->operators, &d->lifetimes);
    free(d->site_of_stack);
    gp_map_release(&d->site_of_span);
}
