#include "analyze/hta/hta.h"

#include <stdlib.h>
#include <string.h>
#include "analyze/hta/hta_priv.h"
#include "analyze/view/focus.h"

/* ---- life ---- */

void gp_hta_init(struct gp_hta *h, const struct gp_hta_opts *opts)
{
    memset(h, 0, sizeof *h);
    if (opts) h->opts = *opts;
    h->world_size = -1;
    gp_fleet_init(&h->fleet);
    h->maps = gp_zalloc(sizeof *h->maps);
}

static void release_maps(struct gp_hta_maps *m)
{
    if (!m) return;
    gp_map_release(&m->kernels);
    gp_map_release(&m->owners);
    gp_map_release(&m->op_shapes);
    gp_map_release(&m->api);
    gp_map_release(&m->copies);
    gp_map_release(&m->range_memory);
    free(m);
}

static void release_focus(struct gp_hta *h)
{
    if (h->focus) gp_hta_release(h->focus);
    free(h->focus);
    h->focus = NULL;
}

void gp_hta_release(struct gp_hta *h)
{
    gp_hta_release_devices(h);
    gp_hta_release_kernels(h);
    GP_VEC_FREE(&h->op_shapes);
    gp_hta_release_launches(h);
    gp_hta_release_graphs(h);
    gp_hta_release_steps(h);
    gp_hta_release_collectives(h);
    gp_hta_release_copies(h);
    gp_hta_release_range_memory(h);
    gp_hta_release_sampled(h);
    gp_hta_release_paths(h);
    gp_fleet_release(&h->fleet);
    gp_slow_release(&h->slow);
    gp_dist_release(&h->bound.gaps);
    GP_VEC_FREE(&h->inputs);
    GP_VEC_FREE(&h->findings);
    GP_VEC_FREE(&h->missing_ranks);
    GP_VEC_FREE(&h->repeated_ranks);
    release_focus(h);
    gp_strings_release(&h->strings);
    release_maps(h->maps);
    memset(h, 0, sizeof *h);
}

/* ---- inputs ---- */

static void add_input(struct gp_hta *h, const struct gp_trace *t)
{
    struct gp_input_quality in;
    gp_input_quality_read(&in, &h->strings, t);
    GP_VEC_PUSH(&h->inputs, in);
    if (t->world_size > h->world_size) h->world_size = t->world_size;
}

/* ---- the steps of the inputs ---- */

static struct gp_hta *new_focus(const struct gp_hta *h)
{
    struct gp_hta *focus = gp_zalloc(sizeof *focus);
    gp_hta_init(focus, &h->opts);
    return focus;
}

/* Where something lies outside of the step windows of the trace of V, the only one in H. */
static void add_focus(struct gp_hta *h, const struct gp_view *v, const struct gp_steps *steps)
{
    struct gp_focus f;
    if (gp_focus_make(&f, v, steps)) {
        h->focus = new_focus(h);
        GP_VEC_PUSH(&h->focus->inputs,
                    gp_input_quality_copy(&h->inputs.at[0], &h->focus->strings, &h->strings));
        gp_hta_add_inside(h->focus, &f.t, v);
    }
    gp_focus_release(&f);
}

static void save_as_is(struct gp_hta *h, struct gp_buf *to);

/* All of H as its own focus: nothing of it lies outside of steps, or it has none. */
static struct gp_hta *all_of(struct gp_hta *h)
{
    struct gp_buf bytes = {0};
    struct gp_err err;
    struct gp_hta *copy = new_focus(h);
    save_as_is(h, &bytes);
    if (gp_hta_load(copy, bytes.data, bytes.n, &err)) gp_hta_init(copy, &h->opts); /* cannot be */
    gp_buf_release(&bytes);
    gp_hta_release_graphs(copy); /* what a focus has none of */
    gp_hta_release_steps(copy);
    gp_hta_release_collectives(copy);
    gp_hta_release_range_memory(copy);
    gp_hta_release_sampled(copy);
    gp_hta_release_paths(copy);
    gp_map_release(&copy->maps->range_memory);
    gp_fleet_release(&copy->fleet);
    gp_fleet_init(&copy->fleet);
    return copy;
}

static void merge_focus(struct gp_hta *to, struct gp_hta *from)
{
    if (!to->focus && !from->focus) return;
    if (!from->focus) from->focus = all_of(from);
    if (!to->focus) to->focus = to->inputs.n ? all_of(to) : new_focus(to);
    gp_hta_merge(to->focus, from->focus);
}

/* ---- adding ---- */

/* H is empty. */
static int add_first(struct gp_hta *h, struct gp_trace *t, struct gp_view *v, struct gp_err *err)
{
    struct gp_hta_idle idle;
    struct gp_steps steps;
    add_input(h, t);
    gp_repair(t, h->opts.repair);
    gp_view_init(v, t, h->opts.classes);
    gp_hta_start_idle(&idle, &h->opts, v);
    gp_hta_add_devices(h, v);
    gp_hta_add_kernels(h, v, 0);
    gp_hta_add_op_shapes(h, v);
    gp_hta_add_launches(h, v);
    gp_hta_add_graphs(h, v);
    int failed = gp_hta_add_steps(h, v, &steps, err);
    gp_hta_add_collectives(h, v);
    gp_hta_add_copies(h, v);
    gp_hta_add_range_memory(h, v);
    gp_hta_add_sampled(h, v);
    gp_hta_add_path(h, v, 0);
    gp_hta_finish_idle(&idle, h, 0);
    gp_input_quality_judge(&h->inputs.at[0], &h->strings, t, v);
    if (!failed) add_focus(h, v, &steps);
    gp_hta_add_fleet(h);
    h->fleet.host_slowed = t->events[GP_OP].n != 0;
    gp_steps_release(&steps);
    return failed;
}

int gp_hta_add_viewed(struct gp_hta *h, struct gp_trace *t, struct gp_view *v, struct gp_err *err)
{
    if (!h->inputs.n) return add_first(h, t, v, err);
    struct gp_hta one;
    gp_hta_init(&one, &h->opts);
    int failed = add_first(&one, t, v, err);
    gp_hta_merge(h, &one);
    gp_hta_release(&one);
    return failed;
}

int gp_hta_add_trace(struct gp_hta *h, struct gp_trace *t, struct gp_err *err)
{
    struct gp_view v;
    int failed = gp_hta_add_viewed(h, t, &v, err);
    gp_view_release(&v);
    return failed;
}

/* ---- merging ---- */

enum { MANY_DEVICES = 160 }; /* more than are kept of any number of ranks: now and then some go */

static void merge_inputs(struct gp_hta *to, struct gp_hta *from)
{
    for (size_t i = 0; i < from->inputs.n; i++)
        GP_VEC_PUSH(&to->inputs, gp_input_quality_copy(&from->inputs.at[i], &to->strings, &from->strings));
    if (from->world_size > to->world_size) to->world_size = from->world_size;
}

void gp_hta_merge(struct gp_hta *to, struct gp_hta *from)
{
    struct gp_hta_opts opts = from->opts;
    merge_focus(to, from);
    gp_hta_merge_devices(to, from);
    gp_hta_merge_kernels(to, from);
    gp_hta_merge_op_shapes(to, from);
    gp_hta_merge_launches(to, from);
    gp_hta_merge_graphs(to, from);
    gp_hta_merge_steps(to, from);
    gp_hta_merge_collectives(to, from);
    gp_hta_merge_copies(to, from);
    gp_hta_merge_range_memory(to, from);
    gp_hta_merge_sampled(to, from);
    gp_hta_merge_paths(to, from);
    merge_inputs(to, from);
    gp_hta_merge_bound(&to->bound, &from->bound);
    gp_fleet_merge(&to->fleet, &from->fleet);
    if (to->devices.n > MANY_DEVICES) gp_hta_leave_few(to, &to->fleet);
    gp_hta_release(from);
    gp_hta_init(from, &opts);
}

void gp_hta_skip(struct gp_hta *h, const char *operand, const char *reason)
{
    gp_fleet_skip(&h->fleet, operand, reason);
}

/* ---- finishing ---- */

static int compare_ranks(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return x < y ? -1 : x > y;
}

/* The ranks of all inputs, sorted, with repetitions. */
static int32_t *find_ranks(const struct gp_hta *h, size_t *n)
{
    int32_t *ranks = gp_alloc((h->inputs.n + h->devices.n + 1) * sizeof *ranks);
    *n = 0;
    for (size_t i = 0; i < h->inputs.n; i++)
        if (h->inputs.at[i].rank >= 0) ranks[(*n)++] = h->inputs.at[i].rank;
    /* Devices are sorted by rank, so repeated ranks are adjacent. */
    for (size_t i = 0; i < h->devices.n; i++) {
        const struct gp_hta_device *d = &h->devices.at[i];
        bool counted = d->rank < 0 || d->input >= h->inputs.n || d->rank == h->inputs.at[d->input].rank;
        for (size_t k = i; k-- > 0 && !counted && h->devices.at[k].rank == d->rank;)
            counted = h->devices.at[k].input == d->input;
        if (!counted) ranks[(*n)++] = d->rank;
    }
    if (*n) qsort(ranks, *n, sizeof *ranks, compare_ranks);
    return ranks;
}

/* A damaged world size must not make a list of two thousand million ranks. */
enum { MOST_MISSING = 1 << 16 };

static void miss_ranks(struct gp_hta *h, int32_t from, int32_t end)
{
    for (; from < end && h->missing_ranks.n < MOST_MISSING; from++) GP_VEC_PUSH(&h->missing_ranks, from);
}

static void check_listed_ranks(struct gp_hta *h)
{
    size_t n;
    int32_t *ranks = find_ranks(h, &n), next = 0;
    for (size_t i = 0; i < n; i++) {
        if (i && ranks[i] == ranks[i - 1]) {
            bool told = h->repeated_ranks.n && h->repeated_ranks.at[h->repeated_ranks.n - 1] == ranks[i];
            if (!told) GP_VEC_PUSH(&h->repeated_ranks, ranks[i]);
            continue;
        }
        miss_ranks(h, next, ranks[i]);
        next = ranks[i] < INT32_MAX ? ranks[i] + 1 : INT32_MAX;
    }
    if (n) miss_ranks(h, next, h->world_size);
    free(ranks);
}

/* Where not every rank has a row. */
static void check_seen_ranks(struct gp_hta *h)
{
    int32_t end = h->fleet.last_rank + 1 > h->world_size ? h->fleet.last_rank + 1 : h->world_size;
    if (h->fleet.by_device || h->fleet.last_rank < 0) return;
    for (int32_t r = 0; r < end && r < GP_FLEET_BITS; r++) {
        if (!gp_fleet_has_rank(&h->fleet, r)) GP_VEC_PUSH(&h->missing_ranks, r);
        if (gp_fleet_repeats_rank(&h->fleet, r)) GP_VEC_PUSH(&h->repeated_ranks, r);
    }
}

static void check_ranks(struct gp_hta *h)
{
    if (h->bound.bounded) check_seen_ranks(h);
    else check_listed_ranks(h);
}

static void finish_focus(struct gp_hta *h)
{
    gp_hta_finish_devices(h);
    gp_hta_finish_kernels(h);
    gp_hta_finish_op_shapes(h);
    gp_hta_finish_launches(h);
    gp_hta_finish_copies(h);
}

void gp_hta_finish(struct gp_hta *h)
{
    gp_hta_settle(h);
    h->untimed =
        gp_input_quality_untimed(h->inputs.at, h->inputs.n) || h->bound.of_inputs.issues[GP_Q_COUNTERS].count;
    if (h->untimed) {
        release_focus(h);
        gp_hta_forget_times(h);
    }
    if (h->focus) finish_focus(h->focus);
    gp_hta_finish_devices(h);
    gp_hta_finish_kernels(h);
    gp_hta_finish_op_shapes(h);
    gp_hta_finish_launches(h);
    gp_hta_finish_graphs(h);
    gp_hta_finish_steps(h);
    gp_hta_finish_collectives(h);
    gp_hta_finish_copies(h);
    gp_hta_finish_range_memory(h);
    gp_hta_finish_sampled(h);
    gp_hta_finish_paths(h);
    check_ranks(h);
    if (!h->untimed) gp_slow_find(&h->slow, &h->fleet);
    gp_hta_finish_bound(h);
    if (!h->untimed) gp_hta_finish_findings(h); /* looks at all the others */
}

/* ---- saving ---- */

static void xfer_all(struct gp_xfer *x, struct gp_hta *h);

/* Its names are its own. */
static void xfer_fleet(struct gp_xfer *x, struct gp_hta *h)
{
    struct gp_xfer_seen *outer = x->seen, seen = {0};
    x->seen = &seen;
    gp_fleet_xfer(x, &h->fleet);
    x->seen = outer;
    gp_xfer_seen_release(&seen);
}

/* A focus has none itself: what it holds of steps is empty. */
static void xfer_focus(struct gp_xfer *x, struct gp_hta *h)
{
    struct gp_strings *strings = x->strings;
    bool there = h->focus != NULL;
    gp_xfer_bool(x, &there);
    if (!there || x->failed) return;
    if (!x->save) {
        if (x->inside) {
            x->failed = true;
            return;
        }
        h->focus = gp_zalloc(sizeof *h->focus);
        gp_hta_init(h->focus, &h->opts);
    }
    struct gp_xfer_seen *outer = x->seen, seen = {0};
    x->strings = &h->focus->strings;
    x->seen = &seen;
    x->inside = true;
    xfer_all(x, h->focus);
    x->inside = false;
    x->strings = strings;
    x->seen = outer;
    gp_xfer_seen_release(&seen);
}

static void xfer_all(struct gp_xfer *x, struct gp_hta *h)
{
    GP_XFER_VEC(x, &h->inputs, gp_input_quality_xfer);
    gp_xfer_i32(x, &h->world_size);
    gp_hta_xfer_devices(x, h);
    gp_hta_xfer_kernels(x, h);
    gp_hta_xfer_op_shapes(x, h);
    gp_hta_xfer_launches(x, h);
    gp_hta_xfer_graphs(x, h);
    gp_hta_xfer_steps(x, h);
    gp_hta_xfer_collectives(x, h);
    gp_hta_xfer_copies(x, h);
    gp_hta_xfer_range_memory(x, h);
    gp_hta_xfer_sampled(x, h);
    gp_hta_xfer_paths(x, h);
    gp_hta_xfer_bound(x, h);
    xfer_fleet(x, h);
    xfer_focus(x, h);
}

static const struct gp_xfer_head head = {{'g', 'p', 'h', 't', 'a', '\r', '\n', 0x1a}, 11, "partial result"};

bool gp_hta_is_saved(const void *data, size_t n)
{
    return n >= sizeof head.magic && !memcmp(data, head.magic, sizeof head.magic);
}

static void save_as_is(struct gp_hta *h, struct gp_buf *to)
{
    size_t start = gp_xfer_begin(to);
    struct gp_xfer_seen seen = {0};
    struct gp_xfer x = {.save = to, .strings = &h->strings, .seen = &seen};
    xfer_all(&x, h);
    gp_xfer_seen_release(&seen);
    gp_xfer_end(to, start, &head);
}

void gp_hta_save(struct gp_hta *h, struct gp_buf *to)
{
    gp_hta_settle(h);
    save_as_is(h, to);
}

int gp_hta_load(struct gp_hta *h, const void *data, size_t n, struct gp_err *err)
{
    struct gp_hta_opts opts = h->opts;
    struct gp_xfer_seen seen = {0};
    struct gp_xfer x = {.strings = &h->strings, .seen = &seen};
    if (gp_xfer_open(&x, data, n, &head, err)) return -1;
    xfer_all(&x, h);
    gp_xfer_seen_release(&seen);
    if (!x.failed && x.load == x.end) return 0;
    gp_hta_release(h);
    gp_hta_init(h, &opts);
    return gp_fail(err, GP_E_SYNTAX, GP_XFER_HEAD, "the partial result is inconsistent");
}
