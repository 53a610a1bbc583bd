#include "collect/clocks/clocks.h"

#include <stdlib.h>
#include <string.h>
#include "collect/clocks/clock_writer.h"
#include "formats/base/clock.h"
#include "formats/base/hash.h"
#include "formats/base/mem.h"
#include "formats/base/vec.h"

enum { KEPT = 1 << 16 /* samples: of one GPU, those of 54 minutes */ };
static const int64_t TURN_NS = 500000000, SECOND_NS = 1000000000;

/* A GPU in a trace. */
struct place {
    uint32_t owner, gpu; /* the producer whose trace it is, and the number of the GPU there */
    int64_t from_ns;     /* of its samples: a second before the first work that was seen */
    uint32_t device;
    struct gp_clock_writer *writer; /* NULL: not begun */
};

struct gp_clocks {
    struct gp_clocks_opts opts;
    struct gp_clock_sampler *sampler; /* NULL: no process has come yet */
    GP_VEC(struct place) places;
    GP_VEC(struct gp_clock_sample) kept; /* for places that have not begun, and for sessions */
    int64_t due_ns;
};

struct gp_clocks *gp_clocks_new(const struct gp_clocks_opts *opts)
{
    struct gp_clocks *c = gp_zalloc(sizeof *c);
    c->opts = *opts;
    return c;
}

void gp_clocks_joined(struct gp_clocks *c, int32_t pid)
{
    if (!c) return;
    if (!c->sampler) c->sampler = gp_clock_sampler_start(c->opts.library);
    if (!c->sampler) return;
    gp_clock_sampler_own(c->sampler, pid);
    if (!c->due_ns) c->due_ns = 1;
}

/* ---- which GPUs ---- */

static bool has_place(const struct gp_clocks *c, uint32_t owner, uint32_t gpu)
{
    for (size_t i = 0; i < c->places.n; i++)
        if (c->places.at[i].owner == owner && c->places.at[i].gpu == gpu) return true;
    return false;
}

/* Did the process do anything there? CUPTI also reports devices that CUDA does not show. */
static bool has_work(const struct gp_trace *t, const struct gp_device *d)
{
    for (size_t i = 0; i < t->tracks.n; i++)
        if (t->tracks.at[i].kind == GP_TRACK_STREAM && t->tracks.at[i].device == d->id) return true;
    return false;
}

void gp_clocks_saw(struct gp_clocks *c, uint32_t owner, const struct gp_trace *t)
{
    const struct gp_events *e = &t->events[GP_GPU];
    int64_t from_ns = owner ? (e->n ? e->start_ns[0] : gp_now_ns()) - SECOND_NS : 0;
    for (size_t i = 0; c && i < t->devices.n; i++) {
        uint32_t gpu = gp_gauge_number(gp_trace_str(t, t->devices.at[i].extra));
        struct place p = {.owner = owner, .gpu = gpu, .from_ns = from_ns};
        if (!has_place(c, owner, gpu) && has_work(t, &t->devices.at[i])) GP_VEC_PUSH(&c->places, p);
    }
}

/* Is it the GPU with that number? The only one of the machine is; another view of it may have another name
 * (MIG). */
static bool is_gpu(const struct gp_clock_device *d, size_t n, size_t device, uint32_t gpu)
{
    return n == 1 || gp_gauge_gpu(d[device].uuid, gp_hash_seed()) == gpu;
}

/* Does T use the device? */
static bool is_in(const struct gp_clock_device *d, size_t n, size_t device, const struct gp_trace *t)
{
    for (size_t i = 0; i < t->devices.n; i++)
        if (is_gpu(d, n, device, gp_gauge_number(gp_trace_str(t, t->devices.at[i].extra))) &&
            (n == 1 || has_work(t, &t->devices.at[i])))
            return true;
    return false;
}

/* ---- writing ---- */

static void keep(struct gp_clocks *c, const struct gp_clock_sample *s)
{
    if (c->kept.n == KEPT) {
        c->kept.n -= KEPT / 8;
        memmove(c->kept.at, c->kept.at + KEPT / 8, c->kept.n * sizeof *c->kept.at);
    }
    GP_VEC_PUSH(&c->kept, *s);
}

static void put(struct place *p, const struct gp_clock_sample *s)
{
    if (p->writer && p->device == s->device && s->at_ns >= p->from_ns) gp_clock_writer_put(p->writer, s);
}

static void take(void *ctx, const struct gp_clock_sample *s)
{
    struct gp_clocks *c = ctx;
    size_t n;
    bool used = false;
    keep(c, s);
    for (size_t i = 0; i < c->places.n; i++) {
        put(&c->places.at[i], s);
        used |= c->places.at[i].writer && c->places.at[i].device == s->device;
    }
    if (used && c->opts.on_sample)
        c->opts.on_sample(c->opts.ctx, s, &gp_clock_sampler_devices(c->sampler, &n)[s->device]);
}

static bool is_written(const struct gp_clocks *c, uint32_t owner, uint32_t device)
{
    for (const struct place *p = c->places.at; p < c->places.at + c->places.n; p++)
        if (p->writer && p->owner == owner && p->device == device) return true;
    return false;
}

/* A GPU that has come into a trace gets its samples from the beginning of that on. */
static void begin_place(struct gp_clocks *c, struct place *p)
{
    size_t n;
    const struct gp_clock_device *d = gp_clock_sampler_devices(c->sampler, &n);
    for (p->device = 0; p->device < n && !is_gpu(d, n, p->device, p->gpu);) p->device++;
    if (p->device == n || is_written(c, p->owner, p->device)) return;
    gp_clock_sampler_want(c->sampler, p->device);
    if (!gp_clock_sampler_known(c->sampler, p->device)) return;
    struct gp_clock_writer_opts o = {.producer = c->opts.producer(c->opts.ctx, p->owner),
                                     .redact = c->opts.redact,
                                     .write = c->opts.on_block,
                                     .ctx = c->opts.ctx};
    p->writer = gp_clock_writer_new(&o, p->device, &d[p->device]);
    for (size_t k = 0; k < c->kept.n; k++) put(p, &c->kept.at[k]);
}

static void begin_writers(struct gp_clocks *c)
{
    for (size_t i = 0; i < c->places.n && !c->opts.apart; i++)
        if (!c->places.at[i].writer) begin_place(c, &c->places.at[i]);
}

int64_t gp_clocks_due(const struct gp_clocks *c) { return c ? c->due_ns : 0; }

void gp_clocks_turn(struct gp_clocks *c, int64_t now_ns)
{
    if (!c || !c->due_ns || now_ns < c->due_ns) return;
    c->due_ns = now_ns + TURN_NS;
    begin_writers(c);
    gp_clock_sampler_take(c->sampler, take, c);
    for (size_t i = 0; i < c->places.n; i++)
        if (c->places.at[i].writer) gp_clock_writer_flush(c->places.at[i].writer);
}

void gp_clocks_beside(struct gp_clocks *c, const struct gp_trace *t, int64_t from_ns, int64_t to_ns,
                      int (*write)(void *ctx, const void *block, size_t n), void *ctx)
{
    size_t n;
    if (!c || !c->sampler) return;
    gp_clock_sampler_take(c->sampler, take, c);
    const struct gp_clock_device *d = gp_clock_sampler_devices(c->sampler, &n);
    for (uint32_t i = 0; i < n; i++) {
        if (!is_in(d, n, i, t)) continue;
        struct gp_clock_writer_opts o = {.producer = c->opts.producer(c->opts.ctx, 0),
                                         .redact = c->opts.redact,
                                         .write = write,
                                         .ctx = ctx};
        struct place p = {.from_ns = from_ns, .device = i, .writer = gp_clock_writer_new(&o, i, &d[i])};
        for (size_t k = 0; k < c->kept.n; k++)
            if (c->kept.at[k].at_ns < to_ns) put(&p, &c->kept.at[k]);
        gp_clock_writer_end(p.writer);
    }
}

void gp_clocks_end(struct gp_clocks *c)
{
    if (!c || !c->sampler) return;
    gp_clock_sampler_stop(c->sampler);
    begin_writers(c);
    gp_clock_sampler_take(c->sampler, take, c);
    for (size_t i = 0; i < c->places.n; i++) gp_clock_writer_end(c->places.at[i].writer);
    c->due_ns = 0;
}

const char *gp_clocks_why(struct gp_clocks *c)
{
    return c && c->sampler && c->places.n ? gp_clock_sampler_why(c->sampler) : "";
}

void gp_clocks_free(struct gp_clocks *c)
{
    if (!c) return;
    gp_clock_sampler_free(c->sampler);
    GP_VEC_FREE(&c->places);
    GP_VEC_FREE(&c->kept);
    free(c);
}
