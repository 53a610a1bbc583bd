#include "analyze/view/view.h"

#include <stdlib.h>
#include "formats/base/map.h"
#include "formats/base/order.h"

/* ---- kinds ---- */

/* Many configurations share a name, and a look through the class table costs microseconds. */
static void classify_configs(struct gp_view *v, const struct gp_classes *classes)
{
    const struct gp_trace *t = v->t;
    struct gp_map known = {0};
    v->kind_of_config = gp_zalloc(t->configs.n + 1);
    for (size_t i = 0; i < t->configs.n; i++) {
        const struct gp_config *c = &t->configs.at[i];
        uint32_t *kind = gp_map_put(&known, (uint64_t)c->kind << 32 | c->name, UINT32_MAX);
        bool differs = *kind == GP_FRAME_COMPUTE && strstr(gp_trace_str(t, c->extra), "\"hlo_category\"");
        if (*kind == UINT32_MAX || differs) *kind = gp_classify_config(classes, t, c);
        v->kind_of_config[i] = (uint8_t)*kind;
    }
    gp_map_release(&known);
}

/* ---- devices and streams ---- */

/* A track with GPU events, and its meaning. */
struct place {
    int32_t rank;
    uint32_t producer;
    int64_t device;
    uint32_t unnamed; /* process + 1 if only the row group's name, a text, shows the device */
    bool no_stream;   /* then every track is a separate stream */
    int64_t stream, context;
    uint32_t track;
};

GP_COMPARE(compare_devices, struct place, GP_UP(producer) GP_UP(device) GP_UP(unnamed))

GP_COMPARE(compare_streams, struct place, GP_UP(no_stream) GP_UP(stream) GP_UP(context) GP_UP(track))

GP_COMPARE(by_device, struct place, GP_THEN(compare_devices(x, y)) GP_UP(track))

GP_COMPARE(by_rank, struct place, GP_UP(rank) GP_THEN(compare_devices(x, y)) GP_THEN(compare_streams(x, y)))

static struct place place_of(const struct gp_trace *t, uint32_t track)
{
    const struct gp_track *k = &t->tracks.at[track];
    const struct gp_process *p = &t->processes.at[k->process];
    struct place place = {p->rank, p->producer, k->device, 0, k->stream < 0, k->stream, k->context, track};
    if (place.rank < 0) place.rank = t->rank;
    if (k->device >= 0) return place;
    place.device = p->pid_text ? -1 : p->pid;
    if (p->pid_text) place.unnamed = k->process + 1;
    return place;
}

/* The tracks with GPU events, by (rank, producer, device), then stream. All places of a device get the first
 * rank that one of them knows. */
static size_t find_places(const struct gp_trace *t, struct place *places)
{
    const struct gp_events *gpu = &t->events[GP_GPU];
    bool *used = gp_zalloc(t->tracks.n + 1);
    for (size_t i = 0; i < gpu->n; i++) used[gpu->track[i]] = true;
    size_t n = 0;
    for (uint32_t i = 0; i < t->tracks.n; i++)
        if (used[i]) places[n++] = place_of(t, i);
    free(used);
    if (!n) return 0;
    qsort(places, n, sizeof *places, by_device);
    for (size_t first = 0, end; first < n; first = end) {
        int32_t rank = -1;
        for (end = first; end < n && !compare_devices(&places[first], &places[end]); end++)
            if (rank < 0) rank = places[end].rank;
        for (size_t i = first; i < end; i++) places[i].rank = rank;
    }
    qsort(places, n, sizeof *places, by_rank);
    return n;
}

static uint64_t device_key(uint32_t producer, int64_t device)
{
    return (uint64_t)device * 0x9e3779b97f4a7c15u + producer;
}

/* The first of PRODUCER's listed devices if all are of one model, otherwise NULL: recorders list only the
 * devices that the program sees, and may number them apart from the rows. */
static const struct gp_device *one_model(const struct gp_trace *t, uint32_t producer)
{
    const struct gp_device *first = NULL;
    GP_EACH(const struct gp_device, d, t->devices) {
        if (d->producer != producer) continue;
        if (!first) first = d;
        if (d->name != first->name || d->sms != first->sms || d->memory_bytes != first->memory_bytes)
            return NULL;
    }
    return first;
}

static const struct gp_device *find_props(const struct gp_map *props, const struct gp_trace *t,
                                          const struct place *p)
{
    const uint32_t *i = gp_map_get(props, device_key(p->producer, p->device));
    const struct gp_device *d = i ? &t->devices.at[*i] : NULL;
    return d && d->producer == p->producer && d->id == p->device ? d : one_model(t, p->producer);
}

/* Two places are one stream when they have its number and do not name two contexts; a place that names none
 * comes first. */
static bool same_stream(const struct place *x, const struct place *y)
{
    return !x->no_stream && !y->no_stream && x->stream == y->stream &&
           (x->context == y->context || x->context < 0);
}

/* Fill devices and streams; STREAM_OF gets the stream of each used track. */
static void name_streams(struct gp_view *v, uint32_t *stream_of)
{
    struct place *places = gp_alloc((v->t->tracks.n + 1) * sizeof *places);
    struct gp_map props = {0};
    size_t n = find_places(v->t, places);
    for (uint32_t i = 0; i < v->t->devices.n; i++)
        gp_map_put(&props, device_key(v->t->devices.at[i].producer, v->t->devices.at[i].id), i);
    for (size_t i = 0; i < n; i++) {
        const struct place *p = &places[i], *last = i ? p - 1 : NULL;
        bool new_device = !last || last->rank != p->rank || compare_devices(last, p);
        if (new_device) {
            struct gp_view_device d = {.producer = p->producer, .device = p->device, .rank = p->rank};
            d.props = find_props(&props, v->t, p);
            d.first_stream = v->streams.n;
            GP_VEC_PUSH(&v->devices, d);
        }
        if (new_device || !same_stream(last, p)) {
            struct gp_view_stream s = {.device = (uint32_t)v->devices.n - 1, .track = p->track};
            s.stream = p->no_stream ? -1 : p->stream;
            GP_VEC_PUSH(&v->streams, s);
            v->devices.at[v->devices.n - 1].n_streams++;
        }
        stream_of[p->track] = (uint32_t)v->streams.n - 1;
    }
    gp_map_release(&props);
    free(places);
}

/* Rows are in order of time: dealt out to the streams, and to the devices, they stay so. */
static void deal_rows(struct gp_view *v, const uint32_t *stream_of)
{
    const struct gp_events *gpu = &v->t->events[GP_GPU];
    v->rows = gp_alloc(gpu->n * sizeof *v->rows);
    v->stream_rows = gp_alloc(gpu->n * sizeof *v->stream_rows);
    v->device_of_row = gp_alloc(gpu->n * sizeof *v->device_of_row);
    for (size_t i = 0; i < gpu->n; i++) v->streams.at[stream_of[gpu->track[i]]].n++;
    size_t at = 0;
    GP_EACH(struct gp_view_stream, s, v->streams) {
        struct gp_view_device *d = &v->devices.at[s->device];
        if (!d->n) d->first = at;
        d->n += s->n;
        s->first = at;
        at += s->n;
        s->n = 0;
    }
    for (size_t i = 0; i < v->devices.n; i++) v->devices.at[i].n = 0;
    for (uint32_t i = 0; i < gpu->n; i++) {
        struct gp_view_stream *s = &v->streams.at[stream_of[gpu->track[i]]];
        struct gp_view_device *d = &v->devices.at[s->device];
        v->stream_rows[s->first + s->n++] = i;
        v->rows[d->first + d->n++] = i;
        v->device_of_row[i] = s->device;
    }
}

void gp_view_find_devices(struct gp_view *v)
{
    uint32_t *stream_of = gp_zalloc((v->t->tracks.n + 1) * sizeof *stream_of);
    name_streams(v, stream_of);
    deal_rows(v, stream_of);
    free(stream_of);
}

void gp_view_init(struct gp_view *v, const struct gp_trace *t, const struct gp_classes *classes)
{
    gp_host_stack_build(&v->hs, t);
    gp_view_init_on(v, t, classes);
}

void gp_view_init_on(struct gp_view *v, const struct gp_trace *t, const struct gp_classes *classes)
{
    struct gp_host_stack hs = v->hs;
    memset(v, 0, sizeof *v);
    v->t = t;
    v->hs = hs;
    gp_attribute(&v->at, t, &v->hs);
    classify_configs(v, classes);
    gp_view_find_devices(v);
}

void gp_view_release(struct gp_view *v)
{
    gp_host_stack_release(&v->hs);
    gp_attribution_release(&v->at);
    GP_RELEASE(free, v->kind_of_config, v->rows, v->stream_rows, v->device_of_row);
    GP_RELEASE(gp_vec_free, &v->devices, &v->streams);
    memset(v, 0, sizeof *v);
}
