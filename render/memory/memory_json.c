#include "render/memory/memory_json.h"

#include <string.h>
#include "formats/base/json_write.h"
#include "render/report/json_doc.h"
#include "render/memory/memory_report.h"

struct json {
    struct gp_doc d;
    struct gp_memory *m;
    struct gp_buf text;   /* scratch */
    struct gp_output *to; /* where what is written goes from time to time; NULL: it stays */
    size_t most;          /* bytes, if it stays; 0: any number */
};

enum { CHUNK = 1 << 20 };

/* Before another element: is there room for it? */
static bool has_room(struct json *j)
{
    struct gp_buf *b = j->d.b;
    if (j->to && b->n > CHUNK) {
        gp_output_write(j->to, b->data, b->n);
        b->n = 0;
    }
    return !j->most || b->n <= j->most;
}

static void time_or_null(struct gp_doc *d, const char *key, int64_t ns)
{
    if (ns == INT64_MIN) gp_doc_null(d, key);
    else gp_doc_i64(d, key, ns);
}

/* Labels may repeat, indices do not. */
static void put_owner(struct json *j, const struct gp_memory_device *d)
{
    gp_doc_sid(&j->d, "device", d->label);
    gp_doc_u64(&j->d, "device_index", (uint64_t)(d - j->m->devices.at));
}

/* ---- devices ---- */

/* What is not known of sums. */
static void put_counted(struct gp_doc *doc, const struct gp_memory_device *d, const char *key, uint64_t v)
{
    if (d->history == GP_HISTORY_SUMS) gp_doc_null(doc, key);
    else gp_doc_u64(doc, key, v);
}

static void put_device(struct json *j, const struct gp_memory_device *d)
{
    struct gp_doc *doc = &j->d;
    bool in_step = d->peak_step < d->steps.n;
    gp_doc_element(doc);
    gp_doc_sid(doc, "device", d->label);
    gp_doc_name(doc, "kind", d->kind);
    gp_doc_u64(doc, "input", d->input);
    gp_doc_i64(doc, "base_bytes", d->base_bytes);
    gp_doc_u64(doc, "base_blocks", d->base_blocks);
    gp_doc_i64(doc, "end_bytes", d->end_bytes);
    gp_doc_u64(doc, "end_blocks", d->end_blocks);
    gp_doc_i64(doc, "peak_bytes", d->peak_bytes);
    gp_doc_i64(doc, "peak_requested_bytes", d->peak_requested_bytes);
    time_or_null(doc, "peak_ns", d->peak_ns);
    gp_doc_name(doc, "peak_step", in_step ? d->steps.at[d->peak_step].name : 0);
    gp_doc_name(doc, "peak_range", d->peak_span == GP_NO_SPAN ? 0 : d->spans.at[d->peak_span].name);
    gp_doc_i64(doc, "reserved_at_peak_bytes", d->reserved_at_peak);
    gp_doc_i64(doc, "reserved_peak_bytes", d->reserved_peak);
    gp_doc_i64(doc, "reserved_end_bytes", d->reserved_end);
    put_counted(doc, d, "allocations", d->allocations);
    put_counted(doc, d, "frees", d->frees);
    gp_doc_u64(doc, "steps", d->steps.n);
    gp_doc_i64(doc, "begin_ns", d->begin_ns);
    gp_doc_i64(doc, "end_ns", d->end_ns);
    gp_doc_cstr(doc, "history", gp_history_name(d->history));
    if (d->history == GP_HISTORY_WHOLE) gp_doc_i64(doc, "lost", 0);
    else gp_doc_null(doc, "lost");
    gp_doc_bool(doc, "sizes_exact", d->exact || (d->history == GP_HISTORY_WHOLE && d->s->sizes_are_real));
    gp_doc_u64(doc, "joined_blocks", d->joined);
    gp_doc_u64(doc, "graph_launches", d->graph_launches);
    gp_doc_object(doc, "contradictions");
    gp_doc_u64(doc, "lost_frees", d->lost_frees);
    gp_doc_u64(doc, "double_frees", d->double_frees);
    gp_doc_u64(doc, "size_mismatches", d->size_mismatches);
    gp_doc_u64(doc, "unordered", d->unordered);
    gp_doc_end(doc, '}');
    gp_doc_end(doc, '}');
}

static void put_devices(struct json *j)
{
    gp_doc_list(&j->d, "devices");
    for (size_t i = 0; i < j->m->devices.n; i++) put_device(j, &j->m->devices.at[i]);
    gp_doc_end(&j->d, ']');
}

/* ---- stacks ---- */

/* Innermost first. */
static void put_stack(struct json *j, const struct gp_snapshot *s, uint32_t stack)
{
    gp_doc_list(&j->d, "stack");
    for (uint32_t i = 0; i < s->stacks.at[stack].n; i++) {
        j->text.n = 0;
        gp_memory_frame_path_put(&j->text, s, stack, i);
        gp_doc_next(&j->d);
        gp_json_put_string(j->d.b, j->text.data ? j->text.data : "", j->text.n);
    }
    gp_doc_end(&j->d, ']');
}

static void put_site(struct json *j, const struct gp_memory_device *d, uint32_t site)
{
    uint32_t stack = site == UINT32_MAX ? 0 : d->sites.at[site].stack;
    put_stack(j, d->s, stack);
    gp_doc_bool(&j->d, "stand_in", site != UINT32_MAX && d->sites.at[site].stand_in);
}

static void put_holders(struct json *j)
{
    static const char *const kinds[] = {
#define X(id, name) name,
        GP_MEMORY_KEYS(X)
#undef X
    };
    static const char *const ats[] = {"peak", "end", "oom", "time"};
    gp_doc_cstr(&j->d, "at", ats[j->m->opts.at]);
    gp_doc_list(&j->d, "holders");
    for (size_t i = 0; i < j->m->holders.n && has_room(j); i++) {
        const struct gp_memory_holder *h = &j->m->holders.at[i];
        const struct gp_memory_device *d = &j->m->devices.at[h->device];
        gp_doc_element(&j->d);
        put_owner(j, d);
        gp_doc_sid(&j->d, "key", h->key);
        gp_doc_cstr(&j->d, "kind", kinds[j->m->opts.by]);
        put_site(j, d, h->site);
        put_counted(&j->d, &j->m->devices.at[h->device], "blocks", h->blocks);
        gp_doc_i64(&j->d, "bytes", h->bytes);
        gp_doc_i64(&j->d, "requested_bytes", h->requested);
        gp_doc_cstr(&j->d, "category", gp_category_name(h->category));
        gp_doc_cstr(&j->d, "category_from", h->category_recorded ? "recorded" : "guess");
        time_or_null(&j->d, "since_ns", h->since_ns);
        gp_doc_end(&j->d, '}');
    }
    gp_doc_end(&j->d, ']');
}

static void put_growth(struct json *j)
{
    gp_doc_list(&j->d, "growth");
    for (size_t i = 0; i < j->m->devices.n; i++) {
        const struct gp_memory_device *d = &j->m->devices.at[i];
        for (size_t k = 0; k < d->growth.n && has_room(j); k++) {
            const struct gp_memory_growth *g = &d->growth.at[k];
            gp_doc_element(&j->d);
            put_owner(j, d);
            gp_doc_sid(&j->d, "key", d->sites.at[g->site].key);
            put_site(j, d, g->site);
            gp_doc_i64(&j->d, "bytes_per_step", g->bytes_per_step);
            gp_doc_real(&j->d, "blocks_per_step", (double)g->blocks / g->steps);
            gp_doc_i64(&j->d, "bytes", g->bytes);
            gp_doc_u64(&j->d, "steps", g->steps);
            gp_doc_u64(&j->d, "rises", g->rises);
            gp_doc_bool(&j->d, "certain", g->certain);
            gp_doc_real(&j->d, "r2", g->r2);
            gp_doc_end(&j->d, '}');
        }
    }
    gp_doc_end(&j->d, ']');
}

/* ---- segments ---- */

static void put_pool(struct json *j, const struct gp_memory_device *d, const struct gp_memory_pool *p)
{
    gp_doc_element(&j->d);
    put_owner(j, d);
    gp_doc_list(&j->d, "pool");
    for (int i = 0; i < 2; i++) {
        gp_doc_next(&j->d);
        gp_buf_put_u64(j->d.b, p->id[i]);
    }
    gp_doc_end(&j->d, ']');
    gp_doc_u64(&j->d, "stream", p->stream);
    gp_doc_cstr(&j->d, "type", p->large ? "large" : "small");
    gp_doc_bool(&j->d, "expandable", p->expandable);
    gp_doc_u64(&j->d, "segments", p->segments);
    gp_doc_u64(&j->d, "whole_segments", p->whole);
    gp_doc_i64(&j->d, "reserved_bytes", p->reserved);
    gp_doc_i64(&j->d, "active_bytes", p->active);
    gp_doc_i64(&j->d, "free_whole_segments_bytes", p->free_whole);
    gp_doc_i64(&j->d, "free_split_bytes", p->free_split);
    gp_doc_i64(&j->d, "largest_free_bytes", p->largest_free);
    gp_doc_end(&j->d, '}');
}

/* Of all devices together: each pool names its own. null without a snapshot. */
static void put_fragmentation(struct json *j)
{
    struct gp_memory_fragmentation sum = {.known = false};
    for (size_t i = 0; i < j->m->devices.n; i++) {
        const struct gp_memory_fragmentation *f = &j->m->devices.at[i].fragmentation;
        sum.known |= f->known;
        sum.reserved += f->reserved;
        sum.allocated += f->allocated;
        sum.active += f->active;
        sum.free_whole += f->free_whole;
        sum.free_split += f->free_split;
        sum.rounding += f->rounding;
        if (f->largest_free > sum.largest_free) sum.largest_free = f->largest_free;
    }
    if (!sum.known) {
        gp_doc_null(&j->d, "fragmentation");
        return;
    }
    gp_doc_object(&j->d, "fragmentation");
    gp_doc_i64(&j->d, "reserved_bytes", sum.reserved);
    gp_doc_i64(&j->d, "allocated_bytes", sum.allocated);
    gp_doc_i64(&j->d, "active_bytes", sum.active);
    gp_doc_i64(&j->d, "free_whole_segments_bytes", sum.free_whole);
    gp_doc_i64(&j->d, "free_split_bytes", sum.free_split);
    gp_doc_i64(&j->d, "rounding_bytes", sum.rounding);
    gp_doc_i64(&j->d, "largest_free_bytes", sum.largest_free);
    gp_doc_list(&j->d, "by_pool");
    for (size_t i = 0; i < j->m->devices.n; i++) {
        const struct gp_memory_device *d = &j->m->devices.at[i];
        for (size_t k = 0; k < d->fragmentation.pools.n; k++) put_pool(j, d, &d->fragmentation.pools.at[k]);
    }
    gp_doc_end(&j->d, ']');
    gp_doc_end(&j->d, '}');
}

static void put_oom_holders(struct json *j, uint32_t device, const struct gp_memory_oom *o)
{
    gp_memory_holders all = {0};
    gp_memory_holders_at(j->m, device, o->position, GP_BY_STACK, &all);
    gp_doc_list(&j->d, "holders");
    for (size_t i = 0; i < all.n && has_room(j); i++) {
        gp_doc_element(&j->d);
        gp_doc_sid(&j->d, "key", all.at[i].key);
        gp_doc_u64(&j->d, "blocks", all.at[i].blocks);
        gp_doc_i64(&j->d, "bytes", all.at[i].bytes);
        gp_doc_end(&j->d, '}');
    }
    gp_doc_end(&j->d, ']');
    GP_VEC_FREE(&all);
}

static void put_ooms(struct json *j)
{
    gp_doc_list(&j->d, "ooms");
    for (size_t i = 0; i < j->m->devices.n; i++) {
        const struct gp_memory_device *d = &j->m->devices.at[i];
        for (size_t k = 0; k < d->ooms.n && has_room(j); k++) {
            const struct gp_memory_oom *o = &d->ooms.at[k];
            gp_doc_element(&j->d);
            put_owner(j, d);
            gp_doc_i64(&j->d, "time_ns", o->time_ns);
            gp_doc_i64(&j->d, "requested_bytes", o->requested);
            gp_doc_i64(&j->d, "device_free_bytes", o->device_free);
            gp_doc_i64(&j->d, "reserved_bytes", o->reserved);
            gp_doc_i64(&j->d, "allocated_bytes", o->allocated);
            gp_doc_i64(&j->d, "active_bytes", o->active);
            gp_doc_cstr(&j->d, "verdict", gp_oom_verdict_name(o->verdict));
            gp_doc_cstr(&j->d, "verdict_from", o->guessed ? "guess" : "recorded");
            gp_sid metadata = d->s->contexts.at[o->context].metadata;
            gp_doc_cstr(&j->d, "metadata", gp_string(&d->s->strings, metadata));
            put_stack(j, d->s, o->stack);
            put_oom_holders(j, (uint32_t)i, o);
            gp_doc_end(&j->d, '}');
        }
    }
    gp_doc_end(&j->d, ']');
}

/* ---- over time ---- */

static void put_series(struct json *j)
{
    gp_doc_list(&j->d, "series");
    for (size_t i = 0; i < j->m->devices.n; i++) {
        const struct gp_memory_device *d = &j->m->devices.at[i];
        for (size_t k = 0; k < d->series.n && has_room(j); k++) {
            const struct gp_memory_point *p = &d->series.at[k];
            gp_doc_element(&j->d);
            put_owner(j, d);
            gp_doc_i64(&j->d, "time_ns", p->time_ns);
            gp_doc_i64(&j->d, "allocated_bytes", p->allocated);
            gp_doc_i64(&j->d, "active_bytes", p->active);
            gp_doc_i64(&j->d, "reserved_bytes", p->reserved);
            gp_doc_end(&j->d, '}');
        }
    }
    gp_doc_end(&j->d, ']');
}

static void put_uses(struct json *j, const char *key, bool operators)
{
    gp_doc_list(&j->d, key);
    for (size_t i = 0; i < j->m->devices.n; i++) {
        const struct gp_memory_device *d = &j->m->devices.at[i];
        const gp_memory_uses *uses = operators ? &d->operators : &d->ranges;
        for (size_t k = 0; k < uses->n && has_room(j); k++) {
            const struct gp_memory_use *u = &uses->at[k];
            gp_doc_element(&j->d);
            put_owner(j, d);
            gp_doc_name(&j->d, "name", u->name);
            gp_doc_u64(&j->d, "allocations", u->allocations);
            gp_doc_i64(&j->d, "allocated_bytes", u->allocated);
            gp_doc_u64(&j->d, "frees", u->frees);
            gp_doc_i64(&j->d, "freed_bytes", u->freed);
            gp_doc_u64(&j->d, "freed_inside", u->inside);
            gp_doc_end(&j->d, '}');
        }
    }
    gp_doc_end(&j->d, ']');
}

static void put_lifetimes(struct json *j)
{
    gp_doc_list(&j->d, "lifetimes");
    for (size_t i = 0; i < j->m->devices.n; i++) {
        const struct gp_memory_device *d = &j->m->devices.at[i];
        int64_t most = 1000;
        for (int k = 0; k < GP_LIFETIMES; k++, most *= 10) {
            if (!d->lifetimes[k].blocks) continue;
            gp_doc_element(&j->d);
            put_owner(j, d);
            if (k < GP_LIFETIMES - 1) gp_doc_i64(&j->d, "up_to_ns", most);
            else gp_doc_null(&j->d, "up_to_ns");
            gp_doc_u64(&j->d, "blocks", d->lifetimes[k].blocks);
            gp_doc_i64(&j->d, "bytes", d->lifetimes[k].bytes);
            gp_doc_end(&j->d, '}');
        }
    }
    gp_doc_end(&j->d, ']');
}

static void put_churn(struct json *j)
{
    gp_doc_list(&j->d, "churn");
    for (size_t i = 0; i < j->m->devices.n; i++) {
        const struct gp_memory_device *d = &j->m->devices.at[i];
        gp_doc_element(&j->d);
        put_owner(j, d);
        put_counted(&j->d, d, "allocations", d->churn.allocations);
        put_counted(&j->d, d, "bytes", (uint64_t)d->churn.bytes);
        put_counted(&j->d, d, "freed_inside", d->churn.inside);
        put_counted(&j->d, d, "segment_allocs", d->churn.segment_allocs);
        put_counted(&j->d, d, "segment_allocs_after_first_step", d->churn.segment_allocs_later);
        put_counted(&j->d, d, "segment_frees", d->churn.segment_frees);
        gp_doc_end(&j->d, '}');
    }
    gp_doc_end(&j->d, ']');
}

static void put_comparison(struct json *j)
{
    int64_t now = 0;
    if (!j->m->compared) {
        gp_doc_null(&j->d, "comparison");
        return;
    }
    for (size_t i = 0; i < j->m->holders.n; i++) now += j->m->holders.at[i].bytes;
    gp_doc_object(&j->d, "comparison");
    gp_doc_i64(&j->d, "base_bytes", j->m->base_bytes);
    gp_doc_i64(&j->d, "bytes", now);
    gp_doc_i64(&j->d, "change_bytes", now - j->m->base_bytes);
    gp_doc_list(&j->d, "holders");
    for (size_t i = 0; i < j->m->changes.n && has_room(j); i++) {
        const struct gp_memory_changed *c = &j->m->changes.at[i];
        gp_doc_element(&j->d);
        gp_doc_sid(&j->d, "device", c->device);
        gp_doc_sid(&j->d, "key", c->key);
        gp_doc_u64(&j->d, "base_blocks", c->base_blocks);
        gp_doc_u64(&j->d, "blocks", c->blocks);
        gp_doc_i64(&j->d, "base_bytes", c->base_bytes);
        gp_doc_i64(&j->d, "bytes", c->bytes);
        gp_doc_i64(&j->d, "change_bytes", c->bytes - c->base_bytes);
        gp_doc_end(&j->d, '}');
    }
    gp_doc_end(&j->d, ']');
    gp_doc_end(&j->d, '}');
}

static void put_outside(struct json *j)
{
    gp_doc_list(&j->d, "outside");
    for (size_t i = 0; i < j->m->outside.n && has_room(j); i++) {
        const struct gp_memory_outside *o = &j->m->outside.at[i];
        gp_doc_element(&j->d);
        gp_doc_i64(&j->d, "device", o->number);
        gp_doc_sid(&j->d, "kind", o->kind);
        gp_doc_sid(&j->d, "who", o->who);
        gp_doc_u64(&j->d, "blocks", o->blocks);
        gp_doc_i64(&j->d, "bytes", o->bytes);
        gp_doc_end(&j->d, '}');
    }
    gp_doc_end(&j->d, ']');
}

static void put_summary(struct json *j)
{
    struct gp_report r = {0};
    gp_memory_verdict(&r, j->m);
    gp_doc_summary(&j->d, &r);
    gp_report_release(&r);
}

static void put_all(struct json *j, const char *version)
{
    gp_doc_begin(&j->d, '{');
    gp_doc_head(&j->d, "trace-memory", version, j->m->inputs.at, j->m->inputs.n);
    put_summary(j);
    put_devices(j);
    put_holders(j);
    put_comparison(j);
    put_growth(j);
    put_fragmentation(j);
    put_ooms(j);
    put_uses(j, "ranges", false);
    put_uses(j, "operators", true);
    put_churn(j);
    put_lifetimes(j);
    put_outside(j);
    put_series(j);
    gp_doc_end(&j->d, '}');
    gp_buf_putc(j->d.b, '\n');
    gp_buf_release(&j->text);
}

void gp_memory_json(struct gp_output *to, struct gp_memory *m, const char *version)
{
    struct gp_buf b = {0};
    struct json j = {.d = {.b = &b, .strings = &m->strings}, .m = m, .to = to};
    put_all(&j, version);
    if (b.n) gp_output_write(to, b.data, b.n);
    gp_buf_release(&b);
}

bool gp_memory_json_short(struct gp_buf *b, struct gp_memory *m, const char *version, size_t most)
{
    struct json j = {.d = {.b = b, .strings = &m->strings}, .m = m, .most = most};
    put_all(&j, version);
    if (b->n <= most) return true;
    b->n = 0;
    return false;
}
