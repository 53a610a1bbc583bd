/* Groups, tracks and their names. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/math/intervals.h"
#include "analyze/tracks/tracks_priv.h"
#include "formats/base/buf.h"

bool gp_tracks_touches(const struct gp_tracks_build *b, int64_t start_ns, int64_t dur_ns)
{
    if (b->from_ns >= b->to_ns) return true;
    int64_t start = gp_tracks_bounded(start_ns);
    if (start >= b->to_ns) return false;
    return start >= b->from_ns || dur_ns > b->from_ns - start;
}

/* A string of the layout from pieces; ids made with UNIQUE differ from all that were made so before. */
static gp_sid intern(struct gp_tracks_build *b, const struct gp_buf *text, bool unique)
{
    struct gp_strings *s = &b->l->strings;
    gp_sid sid = gp_intern(s, text->data ? text->data : "", text->n);
    if (!unique) return sid;
    uint32_t *used = gp_map_put(&b->ids, sid, 0);
    if (!(*used)++) return sid;
    struct gp_buf other = {0};
    uint32_t number = *used;
    for (;; number++) {
        other.n = 0;
        gp_buf_put(&other, text->data ? text->data : "", text->n);
        gp_buf_printf(&other, " (%" PRIu32 ")", number);
        gp_sid made = gp_intern(s, other.data, other.n);
        if (gp_map_get(&b->ids, made)) continue;
        *gp_map_put(&b->ids, sid, 0) = number;
        gp_map_put(&b->ids, made, 1);
        sid = made;
        break;
    }
    gp_buf_release(&other);
    return sid;
}

/* Without blanks at the end, which profilers leave. */
void gp_tracks_put_sid(struct gp_buf *to, const struct gp_trace *t, gp_sid sid)
{
    const char *s = gp_trace_str(t, sid);
    size_t n = gp_string_len(&t->strings, sid);
    while (n && s[n - 1] == ' ') n--;
    gp_buf_put(to, s, n);
}

static void add_group(struct gp_tracks_build *b, const struct gp_buf *id, const struct gp_buf *name,
                      uint32_t device)
{
    struct gp_tracks_group g = {intern(b, id, true), intern(b, name, false), device};
    GP_VEC_PUSH(&b->l->groups, g);
}

uint32_t gp_tracks_device_group(const struct gp_tracks_build *b, uint32_t producer, int64_t device)
{
    const uint32_t *group = gp_map_get(&b->device_groups, gp_tracks_device_key(producer, device));
    if (!group) return UINT32_MAX;
    const struct gp_view_device *d = &b->l->v->devices.at[b->l->groups.at[*group].device];
    return d->producer == producer && d->device == device ? *group : UINT32_MAX;
}

static void put_process(struct gp_buf *to, const struct gp_trace *t, const struct gp_process *p)
{
    if (p->pid_text) gp_tracks_put_sid(to, t, p->pid_text);
    else gp_buf_put_i64(to, p->pid);
}

uint32_t gp_tracks_add_device_group(struct gp_tracks_build *b, uint32_t device)
{
    const struct gp_view_device *d = &b->l->v->devices.at[device];
    struct gp_buf id = {0}, name = {0};
    if (b->ranks && d->rank >= 0) {
        gp_buf_printf(&id, "rank %" PRId32 " ", d->rank);
        gp_buf_printf(&name, "Rank %" PRId32 ", ", d->rank);
    }
    gp_buf_puts(&id, "gpu");
    gp_buf_puts(&name, "GPU");
    if (d->device >= 0) {
        gp_buf_printf(&id, " %" PRId64, d->device);
        gp_buf_printf(&name, " %" PRId64, d->device);
    }
    if (d->props && d->props->name) {
        gp_buf_puts(&name, ", ");
        gp_tracks_put_sid(&name, b->l->v->t, d->props->name);
    }
    /* if several processes may share a device, each has its own group */
    if (*gp_map_put(&b->sharers, gp_tracks_device_key((uint32_t)d->rank, d->device), 0) > 1) {
        const struct gp_trace *t = b->l->v->t;
        uint32_t track = b->l->v->streams.at[d->first_stream].track;
        gp_buf_puts(&id, " process ");
        gp_buf_puts(&name, ", process ");
        put_process(&id, t, &t->processes.at[t->tracks.at[track].process]);
        put_process(&name, t, &t->processes.at[t->tracks.at[track].process]);
    }
    add_group(b, &id, &name, device);
    gp_map_put(&b->device_groups, gp_tracks_device_key(d->producer, d->device), (uint32_t)b->l->groups.n - 1);
    gp_buf_release(&id);
    gp_buf_release(&name);
    return (uint32_t)b->l->groups.n - 1;
}

/* Profilers put notes of their own on rows of processes that do not exist: "", -1, "Spans", "Traces". */
static void put_process_name(struct gp_buf *to, const struct gp_trace *t, const struct gp_process *p)
{
    const char *text = gp_trace_str(t, p->pid_text);
    bool blank = !text[strspn(text, " ")];
    bool own = p->pid_text ? blank || !strcmp(text, "Spans") || !strcmp(text, "Traces") : p->pid < 0;
    if (own) {
        gp_buf_puts(to, "profiler");
        if (!blank) gp_buf_printf(to, ": %s", text);
    } else {
        gp_buf_puts(to, p->pid_text ? "" : "process ");
        put_process(to, t, p);
    }
    if (!p->name || p->name == p->pid_text) return;
    gp_buf_puts(to, ", ");
    gp_tracks_put_sid(to, t, p->name);
}

uint32_t gp_tracks_process_group(struct gp_tracks_build *b, uint32_t process)
{
    if (b->group_of_process[process] != UINT32_MAX) return b->group_of_process[process];
    const struct gp_trace *t = b->l->v->t;
    const struct gp_process *p = &t->processes.at[process];
    struct gp_buf id = {0}, name = {0};
    if (b->ranks && p->rank >= 0) {
        gp_buf_printf(&id, "rank %" PRId32 " ", p->rank);
        gp_buf_printf(&name, "Rank %" PRId32 ", ", p->rank);
    }
    gp_buf_puts(&id, "process ");
    put_process(&id, t, p);
    put_process_name(&name, t, p);
    add_group(b, &id, &name, UINT32_MAX);
    gp_buf_release(&id);
    gp_buf_release(&name);
    return b->group_of_process[process] = (uint32_t)b->l->groups.n - 1;
}

struct gp_tracks_track *gp_tracks_add_track(struct gp_tracks_build *b, uint32_t group,
                                            enum gp_tracks_sort sort, const char *id, const char *name,
                                            size_t name_n)
{
    struct gp_tracks *l = b->l;
    struct gp_buf text = {0};
    gp_sid group_id = l->groups.at[group].id;
    gp_buf_put(&text, gp_string(&l->strings, group_id), gp_string_len(&l->strings, group_id));
    gp_buf_putc(&text, '/');
    gp_buf_puts(&text, id);
    struct gp_tracks_track k = {.sort = sort, .group = group, .id = intern(b, &text, true)};
    k.name = gp_intern(&l->strings, name, name_n);
    k.first_lane = l->lanes.n;
    GP_VEC_PUSH(&l->tracks, k);
    gp_buf_release(&text);
    return &l->tracks.at[l->tracks.n - 1];
}

/* Only counters are out of place, and they have no lanes: the order of the lanes stays that of the tracks. */
void gp_tracks_join_groups(struct gp_tracks *l)
{
    size_t *next = gp_zalloc((l->groups.n + 1) * sizeof *next);
    struct gp_tracks_track *sorted = gp_alloc((l->tracks.n + 1) * sizeof *sorted);
    for (size_t i = 0; i < l->tracks.n; i++) next[l->tracks.at[i].group + 1]++;
    for (size_t g = 0; g < l->groups.n; g++) next[g + 1] += next[g];
    for (size_t i = 0; i < l->tracks.n; i++) sorted[next[l->tracks.at[i].group]++] = l->tracks.at[i];
    if (l->tracks.n) memcpy(l->tracks.at, sorted, l->tracks.n * sizeof *sorted);
    free(sorted);
    free(next);
}

/* ---- activity ---- */

static void add_clipped(struct gp_intervals *s, const struct gp_events *e, size_t row, int64_t begin_ns,
                        int64_t end_ns)
{
    int64_t start = e->start_ns[row], end = start + e->dur_ns[row];
    gp_intervals_add(s, start < begin_ns ? begin_ns : start, end > end_ns ? end_ns : end);
}

struct gp_activity gp_activity_of(const struct gp_view *v, int64_t begin_ns, int64_t end_ns)
{
    static const enum gp_table host[] = {GP_OP, GP_API};
    const struct gp_trace *t = v->t;
    struct gp_intervals cpu = {0}, gpu = {0};
    for (size_t k = 0; k < GP_COUNT(host); k++)
        for (size_t i = 0; i < t->events[host[k]].n; i++)
            if (t->tracks.at[t->events[host[k]].track[i]].kind == GP_TRACK_THREAD)
                add_clipped(&cpu, &t->events[host[k]], i, begin_ns, end_ns);
    for (size_t i = 0; i < t->events[GP_GPU].n; i++)
        add_clipped(&gpu, &t->events[GP_GPU], i, begin_ns, end_ns);
    gp_intervals_normalise(&cpu);
    gp_intervals_normalise(&gpu);
    struct gp_activity a = {end_ns - begin_ns, gp_intervals_length(&cpu), gp_intervals_length(&gpu),
                            gp_intervals_overlap(&cpu, &gpu)};
    gp_intervals_release(&cpu);
    gp_intervals_release(&gpu);
    return a;
}
