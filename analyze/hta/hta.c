#include "analyze/hta/hta.h"

#include <stdlib.h>
#include "analyze/hta/hta_priv.h"
#include "analyze/view/focus.h"
#include "formats/base/err.h"

#define EACH_SECTION(s) for (const struct gp_hta_section *const *s = gp_hta_sections; *s; s++)

/* ---- life ---- */

void gp_hta_init(struct gp_hta *h, const struct gp_hta_opts *opts)
{
    memset(h, 0, sizeof *h);
    if (opts) h->opts = *opts;
    h->world_size = -1;
    gp_fleet_init(&h->fleet);
    h->work = gp_zalloc(sizeof *h->work);
}

static void release_focus(struct gp_hta *h)
{
    if (h->focus) gp_hta_release(h->focus);
    free(h->focus);
    h->focus = NULL;
}

void gp_hta_release(struct gp_hta *h)
{
    EACH_SECTION(s) gp_hta_section_release(*s, h);
    gp_fleet_release(&h->fleet);
    gp_slow_release(&h->slow);
    GP_VEC_FREE(&h->missing_ranks);
    GP_VEC_FREE(&h->repeated_ranks);
    release_focus(h);
    gp_strings_release(&h->strings);
    free(h->work);
    memset(h, 0, sizeof *h);
}

/* ---- inputs ---- */

/* ---- the steps of the inputs ---- */

static struct gp_hta *new_focus(const struct gp_hta *h)
{
    struct gp_hta *focus = gp_zalloc(sizeof *focus);
    gp_hta_init(focus, &h->opts);
    return focus;
}

/* All of H as its own focus: nothing of it lies outside of steps, or it has none. */
static struct gp_hta *all_of(const struct gp_hta *h)
{
    struct gp_hta *copy = new_focus(h);
    copy->world_size = h->world_size;
    EACH_SECTION(s)
    if ((*s)->inside) gp_hta_section_copy(*s, copy, h);
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

/* All sections, or those of a focus. */
static void add_sections(struct gp_hta *h, const struct gp_view *v, bool inside)
{
    struct gp_hta_idle idle;
    gp_hta_start_idle(&idle, &h->opts, v);
    EACH_SECTION(s)
    if ((*s)->add && (!inside || (*s)->inside)) (*s)->add(h, v);
    gp_hta_finish_idle(&idle, h);
}

/* Where something lies outside of the step windows of the trace of V, the only one in H: the same of what
 * lies inside. */
static void add_focus(struct gp_hta *h, const struct gp_view *v)
{
    struct gp_focus f;
    if (gp_focus_make(&f, v, &h->work->steps)) {
        h->focus = new_focus(h);
        GP_VEC_PUSH(&h->focus->inputs,
                    gp_input_quality_copy(&h->inputs.at[0], &h->focus->strings, &h->strings));
        add_sections(h->focus, &f.view, true);
    }
    gp_focus_release(&f);
}

/* H is empty. */
static int add_first(struct gp_hta *h, struct gp_trace *t, struct gp_view *v, struct gp_err *err)
{
    struct gp_hta_work *work = h->work;
    struct gp_input_quality in;
    gp_input_quality_read(&in, &h->strings, t);
    GP_VEC_PUSH(&h->inputs, in);
    if (t->world_size > h->world_size) h->world_size = t->world_size;
    gp_repair(t, h->opts.repair);
    gp_view_init(v, t, h->opts.classes);
    work->err = err;
    add_sections(h, v, false);
    gp_input_quality_judge(&h->inputs.at[0], &h->strings, t, v);
    if (!work->failed) add_focus(h, v);
    gp_hta_add_fleet(h);
    h->fleet.host_slowed = t->events[GP_OP].n != 0;
    gp_steps_release(&work->steps);
    memset(&work->steps, 0, sizeof work->steps);
    return work->failed;
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

void gp_hta_merge(struct gp_hta *to, struct gp_hta *from)
{
    struct gp_hta_opts opts = from->opts;
    merge_focus(to, from);
    EACH_SECTION(s) gp_hta_section_merge(*s, to, from);
    if (from->world_size > to->world_size) to->world_size = from->world_size;
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
    if (*n) qsort(ranks, *n, sizeof *ranks, gp_order_i32);
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
            bool listed = h->repeated_ranks.n && h->repeated_ranks.at[h->repeated_ranks.n - 1] == ranks[i];
            if (!listed) GP_VEC_PUSH(&h->repeated_ranks, ranks[i]);
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

/* The mean SM clock of a rank's GPUs as a share of that of the others; 0: not known. */
static double clock_share(const struct gp_hta *h, int32_t rank)
{
    double own = 0, others = 0, own_n = 0, others_n = 0;
    GP_EACH(const struct gp_clock_stat, c, h->clocks) {
        *(c->at.rank == rank ? &own : &others) += c->mean_mhz;
        ++*(c->at.rank == rank ? &own_n : &others_n);
    }
    return own_n > 0 && others > 0 ? own / own_n / (others / others_n) : 0;
}

/* A kernel that takes longer by what its GPU's clock is lower is not slow itself: the finding on clocks has
 * it. */
static void leave_to_clocks(struct gp_hta *h)
{
    static const double AS_MUCH = 1.02;
    size_t n = 0;
    GP_EACH(const struct gp_slow, s, h->slow.at) {
        double clock = s->what == GP_SLOW_KERNEL ? clock_share(h, s->key.rank) : 0;
        if (clock <= 0 || (double)s->ns * clock > (double)s->median_ns * AS_MUCH) h->slow.at.at[n++] = *s;
    }
    h->slow.at.n = n;
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
    EACH_SECTION(s)
    if ((*s)->finish) (*s)->finish(h);
    if (h->bound.bounded) check_seen_ranks(h);
    else check_listed_ranks(h);
    for (size_t i = 0; i < h->collective_stats.n; i++)
        h->fleet.staged |= !strcmp(gp_string(&h->strings, h->collective_stats.at[i].op), "send_recv");
    if (!h->untimed) gp_slow_find(&h->slow, &h->fleet);
    leave_to_clocks(h);
    gp_hta_finish_bound(h);
    if (!h->untimed) gp_hta_finish_findings(h); /* looks at all the others */
}

/* ---- saving ---- */

static void serialize_all(struct gp_serializer *x, struct gp_hta *h);

/* A focus has no focus and no steps of its own. */
static void serialize_focus(struct gp_serializer *x, struct gp_hta *h)
{
    struct gp_strings *strings = x->strings;
    bool there = h->focus != NULL;
    gp_serialize_bool(x, &there);
    if (!there || x->failed) return;
    if (!x->save) {
        if (x->inside) {
            x->failed = true;
            return;
        }
        h->focus = gp_zalloc(sizeof *h->focus);
        gp_hta_init(h->focus, &h->opts);
    }
    struct gp_serialize_seen *outer = x->seen, seen = {0};
    x->strings = &h->focus->strings;
    x->seen = &seen;
    x->inside = true;
    serialize_all(x, h->focus);
    x->inside = false;
    x->strings = strings;
    x->seen = outer;
    gp_serialize_seen_release(&seen);
}

static void serialize_all(struct gp_serializer *x, struct gp_hta *h)
{
    gp_serialize_i32(x, &h->world_size);
    EACH_SECTION(s) gp_hta_section_serialize(*s, x, h);
    EACH_SECTION(s)
    if (!x->save && (*s)->valid && !(*s)->valid(h)) x->failed = true;
    /* Its names are its own. */
    struct gp_serialize_seen *outer = x->seen, seen = {0};
    x->seen = &seen;
    gp_fleet_serialize(x, &h->fleet);
    x->seen = outer;
    gp_serialize_seen_release(&seen);
    serialize_focus(x, h);
}

static const struct gp_serialize_head head = {
    {'g', 'p', 'h', 't', 'a', '\r', '\n', 0x1a}, 13, "partial result"};

bool gp_hta_is_saved(const void *data, size_t n)
{
    return n >= sizeof head.magic && !memcmp(data, head.magic, sizeof head.magic);
}

void gp_hta_save(struct gp_hta *h, struct gp_buf *to)
{
    gp_hta_settle(h);
    size_t start = gp_serialize_begin(to);
    struct gp_serialize_seen seen = {0};
    struct gp_serializer x = {.save = to, .strings = &h->strings, .seen = &seen};
    serialize_all(&x, h);
    gp_serialize_seen_release(&seen);
    gp_serialize_end(to, start, &head);
}

int gp_hta_load(struct gp_hta *h, const void *data, size_t n, struct gp_err *err)
{
    struct gp_hta_opts opts = h->opts;
    struct gp_serialize_seen seen = {0};
    struct gp_serializer x = {.strings = &h->strings, .seen = &seen};
    if (gp_serialize_open(&x, data, n, &head, err)) return -1;
    serialize_all(&x, h);
    gp_serialize_seen_release(&seen);
    if (!x.failed && x.load == x.end) return 0;
    gp_hta_release(h);
    gp_hta_init(h, &opts);
    return gp_fail(err, GP_E_SYNTAX, GP_SERIALIZE_HEAD, "the partial result is inconsistent");
}
