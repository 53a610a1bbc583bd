
#include <stdlib.h>
#include <string.h>
#include "analyze/memory/memory_priv.h"
#include "formats/base/order.h"

enum gp_memory_key gp_memory_key_named(const char *word)
{
    int k = GP_MEMORY_KEY_COUNT;
    while (word && k-- > 0)
        if (!strcmp(gp_memory_key_name((enum gp_memory_key)k), word)) return (enum gp_memory_key)k;
    return GP_BY_STACK;
}

void gp_memory_init(struct gp_memory *m, const struct gp_memory_opts *opts)
{
    memset(m, 0, sizeof *m);
    if (opts) m->opts = *opts;
    else m->opts.device = -1;
    gp_intern(&m->strings, "", 0);
}

/* ---- inputs ---- */

static bool has_segments(const struct gp_snapshot *s, int32_t device)
{
    size_t n;
    return gp_snapshot_segments(s, device, &n) != NULL;
}

void gp_memory_add_snapshot(struct gp_memory *m, struct gp_snapshot *s)
{
    struct gp_snapshot *own = gp_alloc(sizeof *own);
    *own = *s;
    memset(s, 0, sizeof *s);
    GP_VEC_PUSH(&m->sources, own);
    gp_memory_add_input(m, own);
    size_t devices = own->traces.n;
    for (size_t i = 0; i < own->segments.n; i++)
        if ((size_t)own->segments.at[i].device >= devices && own->segments.at[i].device < 1024)
            devices = (size_t)own->segments.at[i].device + 1;
    for (size_t i = 0; i < devices; i++) {
        struct gp_snapshot_trace t =
            i < own->traces.n ? own->traces.at[i] : (struct gp_snapshot_trace){0, 0, -1};
        if (t.n || has_segments(own, (int32_t)i)) gp_memory_add_device(m, own, (int32_t)i, &t);
    }
}

/* ---- all of it ---- */

static void replay(struct gp_memory *m, struct gp_memory_device *d)
{
    gp_breaks breaks = {0};
    gp_ranges_build(m, d, &breaks);
    gp_replay(m, d, &breaks);
    GP_VEC_FREE(&breaks);
}

static int analyse(struct gp_memory *m, struct gp_memory_device *d, struct gp_err *err)
{
    if (gp_ranges_steps(m, d, m->opts.steps, err)) return -1;
    gp_fragments_find(m, d);
    gp_curve(m, d);
    d->peak_span = gp_ranges_at(d, d->peak_position);
    d->peak_step = d->peak_position ? gp_memory_step_at(d, d->peak_position) : (uint32_t)d->steps.n;
    gp_ooms_judge(m, d);
    gp_growth_find(m, d);
    gp_uses_count(m, d);
    return 0;
}

/* What the replay has taken into lives is not needed in rows any more. */
static void drop_columns(struct gp_snapshot *s)
{
    GP_RELEASE(free, s->rows.addr, s->rows.stack, s->rows.stream, s->rows.context);
    s->rows.addr = NULL;
    s->rows.stack = NULL;
    s->rows.stream = s->rows.context = NULL;
}

/* The last position at or before TIME_NS. */
static uint32_t position_of(const struct gp_memory_device *d, int64_t time_ns)
{
    GP_SEARCH(lo, 0, d->rows, mid, d->s->rows.time_ns[d->first_row + mid] <= time_ns);
    return (uint32_t)lo;
}

static uint32_t wanted_position(const struct gp_memory *m, const struct gp_memory_device *d)
{
    switch (m->opts.at) {
    case GP_AT_END: return (uint32_t)d->rows;
    case GP_AT_OOM: return d->ooms.n ? d->ooms.at[d->ooms.n - 1].position : (uint32_t)d->rows;
    case GP_AT_TIME: return position_of(d, d->begin_ns + m->opts.at_ns);
    default: return d->peak_position;
    }
}

int gp_memory_finish(struct gp_memory *m, struct gp_err *err)
{
    m->untimed = gp_input_quality_untimed(m->inputs.at, m->inputs.n);
    for (size_t i = 0; i < m->devices.n; i++) replay(m, &m->devices.at[i]);
    for (size_t i = 0; i < m->sources.n; i++) drop_columns(m->sources.at[i]);
    GP_EACH(struct gp_memory_device, d, m->devices) {
        gp_sites_name(m, d);
        if (!d->total_bytes && d->number >= 0 && d->number < GP_MEMORY_DEVICES)
            d->total_bytes = m->device_bytes[d->number];
    }
    gp_join(m);
    gp_outside_find(m);
    for (size_t i = 0; i < m->devices.n; i++)
        if (analyse(m, &m->devices.at[i], err)) return -1;
    gp_memory_holders all = {0};
    for (uint32_t i = 0; i < m->devices.n; i++) {
        uint32_t position = wanted_position(m, &m->devices.at[i]);
        GP_VEC_PUSH(&m->at_positions, position);
        gp_memory_holders_at(m, i, position, m->opts.by, &all);
    }
    m->holders = all;
    gp_holders_name(m);
    return 0;
}

void gp_memory_release(struct gp_memory *m)
{
    for (size_t i = 0; i < m->devices.n; i++) gp_memory_release_device(&m->devices.at[i]);
    for (size_t i = 0; i < m->sources.n; i++) {
        gp_snapshot_release(m->sources.at[i]);
        free(m->sources.at[i]);
    }
    GP_RELEASE(gp_vec_free, &m->devices, &m->sources, &m->inputs, &m->holders, &m->named, &m->at_positions,
               &m->outside, &m->changes);
    gp_strings_release(&m->strings);
    memset(m, 0, sizeof *m);
}
