/* GPU time of both sides by where it was launched, as folded stacks. */
#include <stdlib.h>
#include <string.h>
#include "analyze/diff/diff_priv.h"
#include "analyze/math/sums.h"
#include "analyze/names/names.h"
#include "formats/base/buf.h"
#include "formats/base/map.h"
#include "formats/base/order.h"

#define NONE GP_PROFILE_NONE

/* Deeper stacks than this many bytes end there: damaged files nest without end. */
enum { STACK_MOST = 4096 };

struct row {
    struct gp_diff_stack s;
    int64_t sum_ns[GP_DIFF_SIDES];
};

struct stacks {
    struct gp_diff_work *w;
    struct gp_diff *d;
    struct gp_map of_pair; /* path << 32 | leaf -> index into rows */
    GP_VEC(struct row) rows;
    struct gp_map leaves; /* full name of a kernel -> label */
};

/* By place of a profile: the text of its stack. */
static gp_sid *paths_of(struct gp_diff *d, const struct gp_profile *p)
{
    gp_sid *paths = gp_zalloc((p->places.n + 1) * sizeof *paths);
    struct gp_buf text = {0};
    for (size_t i = 1; i < p->places.n; i++) { /* the parent of a place comes first */
        const struct gp_profile_place *place = &p->places.at[i];
        gp_sid around = paths[place->parent];
        size_t n = gp_string_len(&d->strings, around);
        paths[i] = around;
        if (n >= STACK_MOST) continue;
        text.n = 0;
        gp_buf_put(&text, gp_diff_str(d, around), n);
        if (n) gp_buf_putc(&text, ';');
        gp_buf_put(&text, gp_profile_str(p, place->label), gp_string_len(&p->strings, place->label));
        paths[i] = gp_intern(&d->strings, text.data, text.n);
    }
    gp_buf_release(&text);
    return paths;
}

/* A valid leaf: no ';', no control characters, and no trailing blank and digits. */
static gp_sid clean(struct gp_diff *d, const char *name, size_t n)
{
    struct gp_buf text = {0};
    for (size_t i = 0; i < n; i++)
        gp_buf_putc(&text, name[i] == ';' || (unsigned char)name[i] < 0x20 ? ' ' : name[i]);
    size_t end = text.n;
    while (end && text.data[end - 1] >= '0' && text.data[end - 1] <= '9') end--;
    if (end && end < text.n && text.data[end - 1] == ' ') text.data[end - 1] = '_';
    if (!text.n) gp_buf_puts(&text, "[no name]");
    return gp_intern_buf(&d->strings, &text);
}

static gp_sid leaf_of(struct stacks *s, const struct gp_profile *p, const struct gp_profile_kernel *k,
                      uint32_t op)
{
    gp_sid name = gp_intern_from(&s->d->strings, &p->strings, k->name);
    bool by_kernel = s->d->opts.by == GP_DIFF_BY_KERNEL;
    if (by_kernel) name = s->d->ops.at[op].label;
    uint32_t *known = gp_map_put(&s->leaves, name, NONE);
    if (*known != NONE) return *known;
    struct gp_buf label = {0};
    bool copy = k->kind == GP_FRAME_MEMCPY || k->kind == GP_FRAME_MEMSET;
    if (!by_kernel && !copy)
        gp_name_kernel_label(&label, gp_diff_str(s->d, name), gp_string_len(&s->d->strings, name));
    else gp_buf_put(&label, gp_diff_str(s->d, name), gp_string_len(&s->d->strings, name));
    gp_sid leaf = clean(s->d, label.n ? label.data : "", label.n);
    gp_buf_release(&label);
    return *gp_map_put(&s->leaves, name, NONE) = leaf;
}

static struct row *row_of(struct stacks *s, gp_sid path, gp_sid leaf, uint32_t kind, uint32_t op)
{
    uint32_t at = *gp_map_put(&s->of_pair, (uint64_t)path << 32 | leaf, (uint32_t)s->rows.n);
    if (at < s->rows.n) return &s->rows.at[at];
    struct gp_buf text = {0};
    struct row r = {0};
    gp_buf_put(&text, gp_diff_str(s->d, path), gp_string_len(&s->d->strings, path));
    if (text.n) gp_buf_putc(&text, ';');
    gp_buf_put(&text, gp_diff_str(s->d, leaf), gp_string_len(&s->d->strings, leaf));
    r.s.stack = gp_intern(&s->d->strings, text.data, text.n);
    r.s.kind = kind;
    r.s.op = s->d->opts.by == GP_DIFF_BY_KERNEL ? op : NONE;
    gp_buf_release(&text);
    GP_VEC_PUSH(&s->rows, r);
    return &s->rows.at[s->rows.n - 1];
}

static void add_side(struct stacks *s, int side)
{
    const struct gp_diff_group *g = &s->w->side[side];
    gp_sid **paths = gp_zalloc((g->n + 1) * sizeof *paths);
    GP_EACH(const struct gp_diff_sample, sample, g->samples) {
        const struct gp_profile *p = g->profiles[sample->profile];
        if (!paths[sample->profile]) paths[sample->profile] = paths_of(s->d, p);
        for (uint32_t k = sample->s->first; k < sample->s->first + sample->s->n; k++) {
            const struct gp_profile_event *e = &p->events.at[k];
            const struct gp_profile_kernel *kernel = &p->kernels.at[e->kernel];
            uint32_t op = gp_diff_op_of(s->w, side, sample->profile, e);
            gp_sid leaf = leaf_of(s, p, kernel, op);
            struct row *r = row_of(s, paths[sample->profile][e->place], leaf, kernel->kind, op);
            r->sum_ns[side] = gp_add_saturated(r->sum_ns[side], e->dur_ns);
        }
    }
    for (size_t i = 0; i < g->n; i++) free(paths[i]);
    free(paths);
}

static void give_means(struct stacks *s, int side)
{
    size_t n = s->rows.n;
    int64_t *parts = gp_alloc(2 * (n + 1) * sizeof *parts), *out = parts + n + 1, whole = 0;
    const char **keys = gp_alloc((n + 1) * sizeof *keys);
    for (size_t i = 0; i < n; i++) {
        parts[i] = s->rows.at[i].sum_ns[side];
        keys[i] = gp_diff_str(s->d, s->rows.at[i].s.stack);
        whole = gp_add_saturated(whole, parts[i]);
    }
    size_t samples = s->w->side[side].samples.n;
    if (samples) gp_diff_apportion(parts, keys, n, whole, samples, out);
    for (size_t i = 0; i < n && samples; i++) s->rows.at[i].s.side_ns[side] = out[i];
    free(parts);
    free(keys);
}

struct sorted {
    struct gp_diff_stack s;
    const char *text;
};

GP_COMPARE(compare_stacks, struct sorted, GP_THEN(strcmp(x->text, y->text)) GP_UP(s.kind))

void gp_diff_stacks(struct gp_diff_work *w)
{
    struct stacks s = {.w = w, .d = w->d};
    for (int side = 0; side < GP_DIFF_SIDES; side++) add_side(&s, side);
    for (int side = 0; side < GP_DIFF_SIDES; side++) give_means(&s, side);
    struct sorted *sorted = gp_alloc((s.rows.n + 1) * sizeof *sorted);
    for (size_t i = 0; i < s.rows.n; i++)
        sorted[i] = (struct sorted){s.rows.at[i].s, gp_diff_str(s.d, s.rows.at[i].s.stack)};
    if (s.rows.n) qsort(sorted, s.rows.n, sizeof *sorted, compare_stacks);
    for (size_t i = 0; i < s.rows.n; i++) GP_VEC_PUSH(&s.d->stacks, sorted[i].s);
    free(sorted);
    GP_RELEASE(gp_map_release, &s.of_pair, &s.leaves);
    GP_VEC_FREE(&s.rows);
}
