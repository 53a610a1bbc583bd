#include "render/memory/memory_report.h"

#include <stdlib.h>
#include <string.h>
#include "formats/base/scale.h"
#include "render/draw/text.h"

struct tables {
    struct gp_report *r;
    const struct gp_memory *m;
    const struct gp_memory_report_opts *o;
    struct gp_buf text; /* scratch */
    bool several;       /* devices: tables have a column for them */
};

static struct gp_report_table *add(struct tables *t, const char *id, const char *title)
{
    struct gp_report_table *table = gp_report_add(t->r, id, title);
    if (t->several) gp_report_column(table, "device", "Device", GP_CELL_TEXT, 0, NULL);
    return table;
}

static void put_device(struct tables *t, struct gp_report_table *table, const struct gp_memory_device *d)
{
    if (!t->several) return;
    gp_memory_device_put(&t->text, t->m, d);
    gp_report_put_text(t->r, table, gp_buf_str(&t->text));
    t->text.n = 0;
}

static void put_text(struct tables *t, struct gp_report_table *table)
{
    gp_report_put_text(t->r, table, gp_buf_str(&t->text));
    t->text.n = 0;
}

static void put_sid(struct tables *t, struct gp_report_table *table, gp_sid sid)
{
    const char *s = gp_memory_str(t->m, sid);
    size_t n = gp_string_len(&t->m->strings, sid);
    if (t->o->names && n > t->o->names) {
        t->text.n = 0;
        gp_text_fit(&t->text, s, n, t->o->names);
        gp_report_put_name(t->r, table, t->text.n ? t->text.data : "", t->text.n, NULL, 0);
        t->text.n = 0;
        return;
    }
    gp_report_put_name(t->r, table, s, n, NULL, 0);
}

static void put_known(struct gp_report_table *table, bool known, int64_t v)
{
    if (known) gp_report_put(table, v);
    else gp_report_put_none(table);
}

static bool shown(const struct tables *t, size_t row)
{
    return !t->o->top || row < t->o->top;
}

static void put_more(struct tables *t, struct gp_report_table *table, size_t rows, int64_t bytes)
{
    if (!rows) return;
    gp_buf_printf(&t->text, "and %zu more, ", rows);
    gp_scale_put(&t->text, GP_UNIT_BYTES, bytes);
    gp_buf_puts(&t->text, " in all");
    table->more = gp_report_str(t->r, t->text.data, t->text.n);
    t->text.n = 0;
}

/* ---- devices ---- */

static void put_devices(struct tables *t)
{
    if (!t->m->devices.n || (!t->several && !t->o->verbose)) return;
    struct gp_report_table *table = gp_report_add(t->r, "devices", "Devices");
    gp_report_column(table, "device", "Device", GP_CELL_TEXT, 0, NULL);
    gp_report_column(table, "peak_bytes", "Peak", GP_CELL_BYTES, 0, "most memory allocated at once");
    gp_report_column(table, "reserved_peak_bytes", "Reserved", GP_CELL_BYTES, 0,
                     "most memory reserved on the device");
    gp_report_column(table, "base_bytes", "Before", GP_CELL_BYTES, 0, "allocated before the history begins");
    gp_report_column(table, "end_bytes", "End", GP_CELL_BYTES, 0, "allocated at the end");
    gp_report_column(table, "allocations", "Allocations", GP_CELL_COUNT, 0, NULL);
    gp_report_column(table, "frees", "Frees", GP_CELL_COUNT, 0, "of blocks that the history allocated");
    gp_report_column(table, "history", "History", GP_CELL_TEXT, 0, "whole, tail, sums, state or none");
    for (size_t i = 0; i < t->m->devices.n; i++) {
        const struct gp_memory_device *d = &t->m->devices.at[i];
        gp_memory_device_put(&t->text, t->m, d);
        put_text(t, table);
        gp_report_put(table, d->peak_bytes);
        gp_report_put(table, d->reserved_peak);
        gp_report_put(table, d->base_bytes);
        gp_report_put(table, d->end_bytes);
        put_known(table, d->history != GP_HISTORY_SUMS, (int64_t)d->allocations);
        put_known(table, d->history != GP_HISTORY_SUMS, (int64_t)d->frees);
        gp_report_put_text(t->r, table, gp_history_name(d->history));
    }
}

/* ---- holders ---- */

static const char *title_of(const struct gp_memory *m)
{
    bool state = m->devices.n > 0;
    for (size_t i = 0; i < m->devices.n; i++) state &= gp_memory_is_state(&m->devices.at[i]);
    if (state && m->opts.at == GP_AT_PEAK) return "Memory held at the end";
    switch (m->opts.at) {
    case GP_AT_END:
        return "Memory held at the end";
    case GP_AT_OOM:
        return "Memory held when it ran out";
    case GP_AT_TIME:
        return "Memory held at that time";
    default:
        return "What held the peak";
    }
}

/* By device. The caller frees it. */
static int64_t *held_by_devices(const struct gp_memory *m)
{
    int64_t *held = gp_zalloc((m->devices.n + 1) * sizeof *held);
    for (size_t i = 0; i < m->holders.n; i++) held[m->holders.at[i].device] += m->holders.at[i].bytes;
    return held;
}

static void put_holder(struct tables *t, struct gp_report_table *table, const struct gp_memory_holder *h,
                       int64_t all)
{
    put_device(t, table, &t->m->devices.at[h->device]);
    put_sid(t, table, h->key);
    put_known(table, t->m->devices.at[h->device].history != GP_HISTORY_SUMS, (int64_t)h->blocks);
    if (t->m->opts.by != GP_BY_CATEGORY) {
        if (h->category == GP_CAT_UNKNOWN) gp_report_put_none(table);
        else {
            gp_buf_printf(&t->text, "%s%s", gp_category_text(h->category), h->category_recorded ? "" : "?");
            put_text(t, table);
        }
    }
    gp_report_put(table, h->bytes);
    gp_report_put_real(table, all > 0 ? 100 * (double)h->bytes / (double)all : 0);
    gp_memory_since_put(&t->text, t->m, h);
    put_text(t, table);
}

static void put_holders(struct tables *t)
{
    static const char *const headings[] = {"Allocated by", "Range", "Operator", "Module", "Category"};
    const struct gp_memory *m = t->m;
    size_t row = 0, more = 0;
    int64_t rest = 0;
    if (!m->named.n) return;
    struct gp_report_table *table = add(t, "holders", title_of(m));
    gp_report_column(table, "key", headings[m->opts.by], GP_CELL_NAME, 0,
                     "innermost frame < the program's own code");
    gp_report_column(table, "blocks", "Blocks", GP_CELL_COUNT, 0, NULL);
    if (m->opts.by != GP_BY_CATEGORY)
        gp_report_column(table, "category", "Holds", GP_CELL_TEXT, 0,
                         "with a question mark: guessed from when it was allocated and freed");
    gp_report_column(table, "bytes", "Bytes", GP_CELL_BYTES, 0, "as the allocator rounds them");
    gp_report_column(table, "share_pct", "Share", GP_CELL_PCT, GP_COLUMN_BAR | GP_COLUMN_SPARE,
                     "of what was allocated");
    gp_report_column(table, "since", "Since", GP_CELL_TEXT, 0, "when the oldest of the blocks was allocated");
    int64_t *held = held_by_devices(m);
    for (size_t i = 0; i < m->named.n; i++) {
        const struct gp_memory_holder *h = &m->named.at[i];
        if (i && m->named.at[i - 1].device != h->device) row = 0;
        if (shown(t, row++)) {
            put_holder(t, table, h, held[h->device]);
            continue;
        }
        more++;
        rest += h->bytes;
    }
    free(held);
    put_more(t, table, more, rest);
}

/* ---- growth ---- */

static bool any_growth(const struct gp_memory *m)
{
    for (size_t i = 0; i < m->devices.n; i++)
        if (m->devices.at[i].growth.n) return true;
    return false;
}

static void put_growth(struct tables *t)
{
    if (!any_growth(t->m)) return;
    struct gp_report_table *table = add(t, "growth", "Growth from step to step");
    gp_report_column(table, "key", "Allocated by", GP_CELL_NAME, 0, NULL);
    gp_report_column(table, "bytes_per_step", "Per step", GP_CELL_BYTES, 0,
                     "mean over the steps after the first");
    gp_report_column(table, "blocks_per_step", "Blocks", GP_CELL_REAL, 0, "per step");
    gp_report_column(table, "bytes", "In all", GP_CELL_BYTES, 0, "after the first step");
    gp_report_column(table, "rises", "Rises", GP_CELL_COUNT, 0,
                     "steps that end with more memory held than before");
    gp_report_column(table, "steps", "Steps", GP_CELL_COUNT, 0, "that were compared");
    for (size_t i = 0; i < t->m->devices.n; i++) {
        const struct gp_memory_device *d = &t->m->devices.at[i];
        for (size_t k = 0; k < d->growth.n && shown(t, k); k++) {
            const struct gp_memory_growth *g = &d->growth.at[k];
            put_device(t, table, d);
            put_sid(t, table, d->sites.at[g->site].key);
            gp_report_put(table, g->bytes_per_step);
            if (g->blocks % g->steps) gp_report_put_real(table, (double)g->blocks / g->steps);
            else gp_report_put_as(table, GP_CELL_COUNT, g->blocks / g->steps);
            gp_report_put(table, g->bytes);
            gp_report_put(table, g->rises);
            gp_report_put(table, g->steps);
        }
    }
}

/* ---- segments ---- */

static void put_figure(struct tables *t, struct gp_report_table *table, const struct gp_memory_device *d,
                       const char *what, int64_t bytes)
{
    put_device(t, table, d);
    gp_report_put_text(t->r, table, what);
    gp_report_put(table, bytes);
    gp_report_put_real(table, 100 * (double)bytes / (double)d->fragmentation.reserved);
}

static void put_fragmentation(struct tables *t)
{
    struct gp_report_table *table = NULL;
    for (size_t i = 0; i < t->m->devices.n; i++) {
        const struct gp_memory_device *d = &t->m->devices.at[i];
        const struct gp_memory_fragmentation *f = &d->fragmentation;
        if (!f->known || f->reserved <= 0) continue;
        if (!table) {
            table = add(t, "fragmentation", "What was reserved at the end");
            gp_report_column(table, "part", "Part", GP_CELL_TEXT, 0, NULL);
            gp_report_column(table, "bytes", "Bytes", GP_CELL_BYTES, 0, NULL);
            gp_report_column(table, "share_pct", "Share", GP_CELL_PCT, GP_COLUMN_BAR, "of what was reserved");
        }
        put_figure(t, table, d, "in use", f->active);
        if (f->rounding) put_figure(t, table, d, "  of it rounding", f->rounding);
        if (f->active > f->allocated)
            put_figure(t, table, d, "  of it freed, still used by a stream", f->active - f->allocated);
        put_figure(t, table, d, "free, whole segments (empty_cache returns them)", f->free_whole);
        put_figure(t, table, d, "free, inside used segments", f->free_split);
        put_figure(t, table, d, "largest free block", f->largest_free);
    }
}

static void put_pools(struct tables *t)
{
    struct gp_report_table *table = NULL;
    for (size_t i = 0; i < t->m->devices.n; i++) {
        const struct gp_memory_device *d = &t->m->devices.at[i];
        if (d->fragmentation.pools.n < 2 && !t->o->verbose) continue;
        for (size_t k = 0; k < d->fragmentation.pools.n; k++) {
            const struct gp_memory_pool *p = &d->fragmentation.pools.at[k];
            if (!table) {
                table = add(t, "pools", "Pools of segments");
                gp_report_column(table, "pool", "Pool", GP_CELL_TEXT, 0,
                                 "private pools belong to CUDA graphs");
                gp_report_column(table, "stream", "Stream", GP_CELL_TEXT, 0, NULL);
                gp_report_column(table, "segments", "Segments", GP_CELL_COUNT, 0, NULL);
                gp_report_column(table, "reserved_bytes", "Reserved", GP_CELL_BYTES, 0, NULL);
                gp_report_column(table, "active_bytes", "In use", GP_CELL_BYTES, 0, NULL);
                gp_report_column(table, "largest_free_bytes", "Largest free", GP_CELL_BYTES, 0, NULL);
            }
            put_device(t, table, d);
            if (p->id[0] || p->id[1])
                gp_buf_printf(&t->text, "private %u.%u, ", (unsigned)p->id[0], (unsigned)p->id[1]);
            gp_buf_printf(&t->text, "%s%s", p->large ? "large" : "small",
                          p->expandable ? ", expandable" : "");
            put_text(t, table);
            if (p->stream) gp_buf_printf(&t->text, "0x%llx", (unsigned long long)p->stream);
            else gp_buf_puts(&t->text, "default");
            put_text(t, table);
            gp_report_put(table, p->segments);
            gp_report_put(table, p->reserved);
            gp_report_put(table, p->active);
            gp_report_put(table, p->largest_free);
        }
    }
}

static void put_any_name(struct tables *t, struct gp_report_table *table, const char *s, size_t n)
{
    if (n) gp_report_put_name(t->r, table, s, n, NULL, 0);
    else gp_report_put_none(table);
}

/* Who asked, by which frames, and what the program said of that moment. */
static void put_asker(struct tables *t, struct gp_report_table *table, const struct gp_memory_device *d,
                      const struct gp_memory_oom *o)
{
    const struct gp_snapshot *s = d->s;
    const char *metadata = gp_memory_oom_metadata(d, o);
    if (o->key) put_sid(t, table, o->key);
    else gp_report_put_none(table);
    t->text.n = 0;
    for (uint32_t i = 0; i < s->stacks.at[o->stack].n; i++) {
        if (i) gp_buf_puts(&t->text, " < ");
        gp_memory_frame_path_put(&t->text, s, o->stack, i);
    }
    put_any_name(t, table, t->text.data, t->text.n);
    t->text.n = 0;
    put_any_name(t, table, metadata, strlen(metadata));
}

static struct gp_report_table *add_ooms(struct tables *t)
{
    struct gp_report_table *table = add(t, "ooms", "Out of memory");
    gp_report_column(table, "time_ns", "At", GP_CELL_NS, 0, "since the history begins");
    gp_report_column(table, "requested_bytes", "Requested", GP_CELL_BYTES, 0, NULL);
    gp_report_column(table, "allocated_bytes", "Allocated", GP_CELL_BYTES, 0, NULL);
    gp_report_column(table, "reserved_bytes", "Reserved", GP_CELL_BYTES, 0, NULL);
    gp_report_column(table, "device_free_bytes", "Free", GP_CELL_BYTES, 0, "of the device");
    gp_report_column(table, "verdict", "Why", GP_CELL_TEXT, 0, NULL);
    gp_report_column(table, "asked_by", "Asked by", GP_CELL_NAME, GP_COLUMN_BELOW, NULL);
    gp_report_column(table, "stack", "Stack", GP_CELL_NAME, GP_COLUMN_WIDE, "innermost frame first");
    gp_report_column(table, "metadata", "Metadata", GP_CELL_NAME, GP_COLUMN_WIDE,
                     "what the program recorded with its entries");
    return table;
}

static void put_ooms(struct tables *t)
{
    struct gp_report_table *table = NULL;
    for (size_t i = 0; i < t->m->devices.n; i++) {
        const struct gp_memory_device *d = &t->m->devices.at[i];
        for (size_t k = 0; k < d->ooms.n; k++) {
            const struct gp_memory_oom *o = &d->ooms.at[k];
            if (!table) table = add_ooms(t);
            put_device(t, table, d);
            gp_report_put(table, o->time_ns - d->begin_ns);
            gp_report_put(table, o->requested);
            gp_report_put(table, o->allocated);
            gp_report_put(table, o->reserved);
            gp_report_put(table, o->device_free);
            gp_buf_printf(&t->text, "%s%s", gp_oom_verdict_text(o->verdict), o->guessed ? "?" : "");
            put_text(t, table);
            put_asker(t, table, d, o);
        }
    }
}

/* ---- ranges, operators, lifetimes ---- */

static void put_use(struct tables *t, struct gp_report_table *table, const struct gp_memory_device *d,
                    const struct gp_memory_use *u, const char *outside)
{
    put_device(t, table, d);
    if (u->name) put_sid(t, table, u->name);
    else gp_report_put_name(t->r, table, outside, strlen(outside), NULL, 0);
    gp_report_put(table, (int64_t)u->allocations);
    gp_report_put(table, u->allocated);
    gp_report_put(table, (int64_t)u->frees);
    gp_report_put(table, u->freed);
    put_known(table, d->spans.n > 0, (int64_t)u->inside);
}

static void put_uses(struct tables *t, const char *id, const char *title, const char *heading, bool operators)
{
    struct gp_report_table *table = NULL;
    size_t more = 0;
    int64_t rest = 0;
    for (size_t i = 0; i < t->m->devices.n; i++) {
        const struct gp_memory_device *d = &t->m->devices.at[i];
        const gp_memory_uses *uses = operators ? &d->operators : &d->ranges;
        if (uses->n < 2 && !t->o->verbose) continue;
        for (size_t k = 0; k < uses->n; k++) {
            if (!table) {
                table = add(t, id, title);
                gp_report_column(table, "name", heading, GP_CELL_NAME, 0, NULL);
                gp_report_column(table, "allocations", "Allocations", GP_CELL_COUNT, 0, NULL);
                gp_report_column(table, "allocated_bytes", "Allocated", GP_CELL_BYTES, 0, NULL);
                gp_report_column(table, "frees", "Frees", GP_CELL_COUNT, 0, "while it ran");
                gp_report_column(table, "freed_bytes", "Freed", GP_CELL_BYTES, 0, NULL);
                gp_report_column(table, "freed_inside", "Inside", GP_CELL_COUNT, GP_COLUMN_SPARE,
                                 "of its allocations, freed before it ended");
            }
            if (shown(t, k))
                put_use(t, table, d, &uses->at[k], operators ? "[no operator]" : "[outside any range]");
            else {
                more++;
                rest += uses->at[k].allocated;
            }
        }
    }
    if (table) put_more(t, table, more, rest);
}

static const char *const lifetime_names[GP_LIFETIMES] = {
    "up to 1 us", "up to 10 us", "up to 100 us", "up to 1 ms",   "up to 10 ms",   "up to 100 ms",
    "up to 1 s",  "up to 10 s",  "up to 100 s",  "up to 1000 s", "up to 10000 s", "longer"};

static void put_lifetimes(struct tables *t)
{
    struct gp_report_table *table = NULL;
    for (size_t i = 0; i < t->m->devices.n; i++) {
        const struct gp_memory_device *d = &t->m->devices.at[i];
        for (int k = 0; k < GP_LIFETIMES; k++) {
            if (!d->lifetimes[k].blocks) continue;
            if (!table) {
                table = add(t, "lifetimes", "How long blocks live");
                table->detail = !t->o->verbose;
                gp_report_column(table, "lifetime", "Lifetime", GP_CELL_TEXT, 0, NULL);
                gp_report_column(table, "blocks", "Blocks", GP_CELL_COUNT, 0,
                                 "that were allocated and freed");
                gp_report_column(table, "bytes", "Bytes", GP_CELL_BYTES, 0, NULL);
            }
            put_device(t, table, d);
            gp_report_put_text(t->r, table, lifetime_names[k]);
            gp_report_put(table, (int64_t)d->lifetimes[k].blocks);
            gp_report_put(table, d->lifetimes[k].bytes);
        }
    }
}

static void put_churn(struct tables *t)
{
    struct gp_report_table *table = NULL;
    for (size_t i = 0; i < t->m->devices.n; i++) {
        const struct gp_memory_device *d = &t->m->devices.at[i];
        const struct gp_memory_churn *c = &d->churn;
        if (!c->allocations) continue;
        if (!table) {
            table = add(t, "churn", "Churn");
            gp_report_column(table, "allocations", "Allocations", GP_CELL_COUNT, 0, NULL);
            gp_report_column(table, "bytes", "Bytes", GP_CELL_BYTES, 0, "that they asked for, rounded");
            gp_report_column(table, "freed_inside", "Freed inside", GP_CELL_COUNT, 0,
                             "freed before their range ended");
            gp_report_column(table, "segment_allocs", "cudaMalloc", GP_CELL_COUNT, 0,
                             "segments taken from the device");
            gp_report_column(table, "segment_allocs_later", "after step 0", GP_CELL_COUNT, 0, NULL);
            gp_report_column(table, "segment_frees", "cudaFree", GP_CELL_COUNT, 0, "segments returned");
        }
        put_device(t, table, d);
        gp_report_put(table, (int64_t)c->allocations);
        gp_report_put(table, c->bytes);
        put_known(table, d->spans.n > 0, (int64_t)c->inside);
        gp_report_put(table, (int64_t)c->segment_allocs);
        put_known(table, d->steps.n > 0, (int64_t)c->segment_allocs_later);
        gp_report_put(table, (int64_t)c->segment_frees);
    }
}

/* ---- other runs, and what lies outside ---- */

static void put_changes(struct tables *t)
{
    size_t more = 0;
    if (!t->m->compared) return;
    struct gp_report_table *table = gp_report_add(t->r, "comparison", "Against the base");
    gp_report_column(table, "device", "Device", GP_CELL_TEXT, t->several ? 0 : GP_COLUMN_RAW, NULL);
    gp_report_column(table, "key", "Held by", GP_CELL_NAME, 0,
                     "stacks without line numbers, which move with the code");
    gp_report_column(table, "base_bytes", "Base", GP_CELL_BYTES, 0, NULL);
    gp_report_column(table, "bytes", "Now", GP_CELL_BYTES, 0, NULL);
    gp_report_column(table, "change", "Change", GP_CELL_TEXT, 0, NULL);
    for (size_t i = 0; i < t->m->changes.n; i++) {
        const struct gp_memory_changed *c = &t->m->changes.at[i];
        if (!shown(t, i)) {
            more++;
            continue;
        }
        gp_report_put_text(t->r, table, gp_memory_str(t->m, c->device));
        put_sid(t, table, c->key);
        gp_report_put(table, c->base_bytes);
        gp_report_put(table, c->bytes);
        gp_memory_change_put(&t->text, c->bytes - c->base_bytes);
        put_text(t, table);
    }
    if (more) {
        gp_buf_printf(&t->text, "and %zu more", more);
        table->more = gp_report_str(t->r, t->text.data, t->text.n);
        t->text.n = 0;
    }
}

static void put_outside(struct tables *t)
{
    if (!t->m->outside.n) return;
    struct gp_report_table *table = gp_report_add(t->r, "outside", "Outside the allocator, at the end");
    gp_report_column(table, "device", "Device", GP_CELL_ID, 0, NULL);
    gp_report_column(table, "kind", "Memory", GP_CELL_TEXT, 0, NULL);
    gp_report_column(table, "who", "Allocated by", GP_CELL_NAME, 0,
                     "what was running when the driver gave it");
    gp_report_column(table, "blocks", "Blocks", GP_CELL_COUNT, 0, NULL);
    gp_report_column(table, "bytes", "Bytes", GP_CELL_BYTES, 0, NULL);
    for (size_t i = 0; i < t->m->outside.n && shown(t, i); i++) {
        const struct gp_memory_outside *o = &t->m->outside.at[i];
        gp_report_put(table, o->number);
        gp_report_put_text(t->r, table, gp_memory_str(t->m, o->kind));
        put_sid(t, table, o->who);
        gp_report_put(table, (int64_t)o->blocks);
        gp_report_put(table, o->bytes);
    }
}

void gp_memory_report(struct gp_report *r, const struct gp_memory *m, const struct gp_memory_report_opts *o)
{
    struct tables t = {.r = r, .m = m, .o = o, .several = m->devices.n > 1};
    gp_memory_verdict(r, m);
    put_devices(&t);
    put_holders(&t);
    put_changes(&t);
    put_growth(&t);
    put_ooms(&t);
    put_fragmentation(&t);
    put_pools(&t);
    put_outside(&t);
    put_churn(&t);
    put_uses(&t, "ranges", "Allocations and frees by range", "Range", false);
    put_uses(&t, "operators", "Allocations and frees by operator", "Operator", true);
    put_lifetimes(&t);
    gp_buf_release(&t.text);
}
