#include "analyze/view/focus.h"

#include <stdlib.h>
#include <string.h>

struct span {
    int64_t begin_ns, end_ns;
    bool steps;
};

static struct span span_of(const struct gp_view *v, const struct gp_view_device *d)
{
    const struct gp_events *gpu = &v->t->events[GP_GPU];
    struct span s = {.begin_ns = gpu->start_ns[v->rows[d->first]]};
    s.end_ns = s.begin_ns;
    for (size_t i = d->first; i < d->first + d->n; i++) {
        int64_t end = gpu->start_ns[v->rows[i]] + gpu->dur_ns[v->rows[i]];
        if (end > s.end_ns) s.end_ns = end;
    }
    return s;
}

/* The step window of each device, or all of its time. */
static struct span *find_spans(struct gp_focus *f, const struct gp_view *v, const struct gp_steps *steps)
{
    struct gp_step_sharing sharing = {0};
    struct span *spans = gp_zalloc((v->devices.n + 1) * sizeof *spans);
    for (size_t i = 0; i < v->devices.n; i++) {
        const struct gp_view_device *d = &v->devices.at[i];
        struct gp_device_steps ds;
        gp_device_steps_find(&ds, &sharing, v, d, gp_steps_of(steps, d->producer));
        struct gp_step_stretch window = gp_device_steps_window(&ds);
        spans[i] = span_of(v, d);
        if (window.end_ns > window.begin_ns) {
            int64_t all_ns = spans[i].end_ns - spans[i].begin_ns;
            spans[i] = (struct span){window.begin_ns, window.end_ns, true};
            f->windows++;
            if (window.mean_ns > f->slowest.mean_ns) {
                f->slowest = window;
                f->added = gp_recorder_added(v, d, window.begin_ns, window.end_ns, window.end - window.first);
            }
            f->steps += window.end - window.first;
            f->span_ns += window.end_ns - window.begin_ns;
            f->outside_ns += all_ns - (window.end_ns - window.begin_ns);
        }
        gp_device_steps_release(&ds);
    }
    gp_step_sharing_release(&sharing);
    return spans;
}

static bool is_inside(const struct gp_events *gpu, uint32_t row, const struct span *s)
{
    int64_t start = gpu->start_ns[row], end = start + gpu->dur_ns[row];
    if (!s->steps) return true;
    return start < s->end_ns ? start >= s->begin_ns || end > s->begin_ns : start == end && start == s->end_ns;
}

static void make_inside(struct gp_focus *f, const struct gp_view *v, const struct span *spans,
                        const uint8_t *keep)
{
    struct gp_events *in = &f->t.events[GP_GPU];
    f->t = *v->t;
    memset(in, 0, sizeof *in);
    for (int col = 0; col < GP_COLUMN_COUNT; col++) {
        const void *cells = gp_events_column(&v->t->events[GP_GPU], (enum gp_column)col);
        size_t bytes = v->t->events[GP_GPU].n * gp_column_infos[col].width;
        if (!cells) continue;
        void *copy = memcpy(gp_alloc(bytes + 1), cells, bytes);
        memcpy((char *)in + gp_column_infos[col].offset, &copy, sizeof copy);
    }
    in->n = in->cap = v->t->events[GP_GPU].n;
    uint32_t *kept = gp_alloc((in->n + 1) * sizeof *kept), n = 0;
    for (uint32_t i = 0; i < in->n; i++) {
        const struct span *s = &spans[v->device_of_row[i]];
        int64_t end = in->start_ns[i] + in->dur_ns[i];
        if (keep[i]) kept[n++] = i;
        if (!keep[i] || !s->steps) continue;
        if (in->start_ns[i] < s->begin_ns) in->start_ns[i] = s->begin_ns;
        in->dur_ns[i] = (end < s->end_ns ? end : s->end_ns) - in->start_ns[i];
    }
    gp_events_keep(in, keep);
    uint32_t *rows = gp_alloc((in->n + 1) * sizeof *rows);
    gp_events_order(in, rows);
    for (size_t i = 0; i < in->n; i++) rows[i] = kept[rows[i]];
    gp_events_sort(in);
    /* Neither the host events nor the launches change: they are not determined again. */
    f->view = (struct gp_view){.t = &f->t, .hs = v->hs, .kind_of_config = v->kind_of_config};
    gp_attribution_pick(&f->view.at, &v->at, rows, f->t.events[GP_GPU].n);
    gp_view_find_devices(&f->view);
    free(rows);
    free(kept);
}

bool gp_focus_make(struct gp_focus *f, const struct gp_view *v, const struct gp_steps *steps)
{
    const struct gp_events *gpu = &v->t->events[GP_GPU];
    memset(f, 0, sizeof *f);
    struct span *spans = find_spans(f, v, steps);
    uint8_t *keep = gp_alloc(gpu->n + 1);
    bool cut = false;
    for (uint32_t i = 0; i < gpu->n; i++) {
        const struct span *s = &spans[v->device_of_row[i]];
        keep[i] = is_inside(gpu, i, s);
        f->left_out += !keep[i];
        cut |= keep[i] && s->steps &&
               (gpu->start_ns[i] < s->begin_ns || gpu->start_ns[i] + gpu->dur_ns[i] > s->end_ns);
    }
    if (f->left_out || cut) make_inside(f, v, spans, keep);
    free(keep);
    free(spans);
    return f->left_out || cut;
}

void gp_focus_release(struct gp_focus *f)
{
    if (f->t.index) gp_events_release(&f->t.events[GP_GPU]);
    f->view.hs = (struct gp_host_stack){0};
    f->view.kind_of_config = NULL;
    gp_view_release(&f->view);
    memset(f, 0, sizeof *f);
}
