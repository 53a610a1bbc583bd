/* What the fleet keeps of a trace: of each device the mean of its steps, its largest kernels, and its
 * steps. */
#include <stdlib.h>
#include <string.h>
#include "analyze/hta/hta.h"
#include "analyze/hta/hta_priv.h"
#include "analyze/hta/hta_steps.h"
#include "analyze/math/sums.h"

/* The tag distinguishes devices of one rank, and traces of no rank. */
struct gp_fleet_key gp_hta_key_of(const struct gp_hta *h, const struct gp_hta_device *d)
{
    uint32_t tag = d->producer * 64u + (uint32_t)d->device + 1;
    if (d->rank < 0 && d->input < h->inputs.n) {
        const char *path = gp_hta_str(h, h->inputs.at[d->input].path);
        tag ^= (uint32_t)gp_hash_bytes(path, strlen(path));
    }
    return (struct gp_fleet_key){d->rank, tag};
}

static bool is_of(const struct gp_hta_device *d, int32_t rank, uint32_t producer, int64_t device)
{
    return d->rank == rank && d->producer == producer && d->device == device;
}

/* PART of SUM, as X is of ALL. */
static int64_t share(int64_t x, int64_t all, int64_t sum)
{
    return all > 0 ? (int64_t)((double)x / (double)all * (double)sum) : 0;
}

/* The number that a step's name ends in; otherwise its place. */
static int64_t number_of(const struct gp_hta *h, const struct gp_hta_step *s, int64_t place)
{
    const char *name = gp_hta_str(h, s->name), *end = name + strlen(name), *p = end;
    while (p > name && p[-1] >= '0' && p[-1] <= '9' && end - p < 10) p--;
    return p == end ? place : strtoll(p, NULL, 10);
}

struct reading {
    struct gp_hta *h;
    const struct gp_hta_device *d; /* of all of the trace */
    struct gp_fleet_member m;
    GP_VEC(struct gp_fleet_step) steps;
    struct gp_breakdown sum; /* of the steady steps */
};

static void read_steps(struct reading *r, bool steady)
{
    int64_t place = 0;
    for (size_t i = 0; i < r->h->steps.n; i++) {
        const struct gp_hta_step *s = &r->h->steps.at[i];
        if (!is_of(r->d, s->rank, s->producer, s->device)) continue;
        place++;
        if (s->partial || (steady && s->warm_up)) continue;
        int64_t own = s->b.span_ns - s->b.exposed_communication_ns;
        GP_VEC_PUSH(&r->steps, ((struct gp_fleet_step){number_of(r->h, s, place), own > 0 ? own : 0}));
        r->sum.span_ns = gp_add_saturated(r->sum.span_ns, s->b.span_ns);
        r->sum.compute_ns = gp_add_saturated(r->sum.compute_ns, s->b.compute_ns);
        r->sum.exposed_memory_ns = gp_add_saturated(r->sum.exposed_memory_ns, s->b.exposed_memory_ns);
        r->sum.exposed_communication_ns =
            gp_add_saturated(r->sum.exposed_communication_ns, s->b.exposed_communication_ns);
        r->sum.idle_ns = gp_add_saturated(r->sum.idle_ns, s->b.idle_ns);
    }
    r->m.steps = r->steps.n;
}

/* How many steps the figures of ABOUT are of. */
static uint64_t steps_in(const struct reading *r)
{
    for (size_t i = 0; i < r->h->parts.n; i++) {
        const struct gp_hta_part *p = &r->h->parts.at[i];
        if (p->kind == GP_PART_STEPS && is_of(r->d, p->rank, p->producer, p->device)) return p->steps;
    }
    return r->m.steps;
}

static void read_times(struct reading *r, const struct gp_hta_device *about)
{
    const struct gp_breakdown *b = r->m.steps ? &r->sum : &about->b;
    int64_t n = r->m.steps ? (int64_t)r->m.steps : 1, *ns = r->m.ns;
    int64_t idle = b->idle_ns / n, of = about->b.idle_ns;
    const int64_t *cause = about->idle_cause_ns;
    ns[GP_FLEET_STEP] = b->span_ns / n;
    ns[GP_FLEET_COMMUNICATION] = b->exposed_communication_ns / n;
    ns[GP_FLEET_OWN] = ns[GP_FLEET_STEP] - ns[GP_FLEET_COMMUNICATION];
    ns[GP_FLEET_COMPUTE] = b->compute_ns / n;
    ns[GP_FLEET_COPY] = b->exposed_memory_ns / n;
    ns[GP_FLEET_DATA] = share(cause[GP_IDLE_DATA], of, idle);
    ns[GP_FLEET_HOST] = share(gp_idle_for_host_ns(cause) - cause[GP_IDLE_DATA], of, idle);
    ns[GP_FLEET_GAP] = idle - ns[GP_FLEET_DATA] - ns[GP_FLEET_HOST];
    for (int i = 0; i < GP_FLEET_METRIC_COUNT; i++)
        if (ns[i] < 0) ns[i] = 0; /* damaged times */
}

static void read_kernels(struct reading *r, const struct gp_hta_device *about)
{
    int64_t n = r->m.steps ? (int64_t)steps_in(r) : 1;
    for (size_t i = 0; i < about->kernels.n; i++) {
        const struct gp_device_kernel *k = &about->kernels.at[i];
        int64_t ns = k->ns > 0 ? k->ns : 0;
        GP_VEC_PUSH(&r->m.kernels, ((struct gp_fleet_kernel_time){k->name, k->calls, ns / (n ? n : 1),
                                                                  ns / (int64_t)k->calls}));
    }
}

static void add_device(struct gp_hta *h, const struct gp_hta *whose, const struct gp_hta_device *d,
                       const struct gp_hta_device *about, bool by_device)
{
    struct reading r = {.h = h, .d = d};
    r.m.key = gp_hta_key_of(h, d);
    if (by_device) r.m.key.rank = (int32_t)d->device;
    r.m.device = d->device;
    r.m.gpu = gp_intern_from((struct gp_strings *)(uintptr_t)&whose->strings, &h->strings, d->name);
    read_steps(&r, true);
    if (!r.m.steps) read_steps(&r, false);
    read_times(&r, about);
    read_kernels(&r, about);
    gp_fleet_add(&h->fleet, &r.m, &whose->strings, r.steps.at, r.steps.n);
    GP_VEC_FREE(&r.m.kernels);
    GP_VEC_FREE(&r.steps);
}

static void drop_kernels(struct gp_hta *h)
{
    for (size_t i = 0; i < h->devices.n; i++) GP_VEC_FREE(&h->devices.at[i].kernels);
}

void gp_hta_add_fleet(struct gp_hta *h)
{
    bool by_device = gp_hta_devices_are_ranks(h);
    h->fleet.by_device = by_device;
    for (size_t i = 0; i < h->devices.n; i++) {
        const struct gp_hta_device *d = &h->devices.at[i], *about = d;
        const struct gp_hta *whose = h;
        for (size_t k = 0; h->focus && k < h->focus->devices.n; k++) {
            const struct gp_hta_device *f = &h->focus->devices.at[k];
            if (!is_of(f, d->rank, d->producer, d->device)) continue;
            about = f;
            whose = h->focus;
        }
        if (d->b.gpu_events) add_device(h, whose, d, about, by_device);
    }
    drop_kernels(h);
    if (h->focus) drop_kernels(h->focus);
}
