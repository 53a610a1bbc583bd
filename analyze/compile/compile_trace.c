/* What of a GPU trace is kept: compiled regions, steps, when the GPU was busy, kernels by name. */
#include <stdlib.h>
#include <string.h>
#include "analyze/compile/compile_priv.h"
#include "analyze/cost/shapes.h"
#include "analyze/view/steps.h"
#include "analyze/view/view.h"
#include "formats/base/num.h"
#include "formats/base/order.h"
#include "formats/base/str.h"

/* ---- clocks ---- */

static void find_clock(struct gp_compile_trace *to, const struct gp_trace *t)
{
    const char *base = gp_trace_get_meta(t, "baseTimeNanoseconds");
    if (base) {
        if (*base == '"') base++;
        size_t n = 0;
        while (base[n] >= '0' && base[n] <= '9') n++;
        to->has_clock = gp_i64_from_text(base, n, &to->to_unix_ns);
    } else if (t->clocks.n) {
        const struct gp_clock *c = &t->clocks.at[0];
        to->has_clock = !__builtin_sub_overflow(c->realtime_ns, c->trace_ns, &to->to_unix_ns);
    }
}

/* ---- steps ---- */

/* The steps of the program that used the first device, without the first one and those that are cut. */
static int find_steps(struct gp_compile_trace *to, const struct gp_view *v, const char *marker,
                      struct gp_err *err)
{
    struct gp_steps s = {0};
    int failed = gp_steps_find(&s, v, marker, err);
    const struct gp_steps_program *p =
        !failed && v->devices.n ? gp_steps_of(&s, v->devices.at[0].producer) : NULL;
    for (size_t i = 1; p && i < p->windows.n; i++) {
        const struct gp_step_window *w = &p->windows.at[i];
        if (!w->partial) GP_VEC_PUSH(&to->steps, (struct gp_compile_window){w->begin_ns, w->end_ns});
    }
    gp_steps_release(&s);
    return failed;
}

static bool in_steps(const struct gp_compile_trace *t, int64_t at_ns)
{
    GP_SEARCH(low, 0, t->steps.n, middle, t->steps.at[middle].end_ns <= at_ns);
    return low < t->steps.n && t->steps.at[low].begin_ns <= at_ns;
}

/* ---- rows ---- */

static struct gp_compile_seen *seen_of(struct gp_compile_seen *at, size_t n, gp_sid name)
{
    for (size_t i = 0; i < n; i++)
        if (at[i].name == name) return &at[i];
    return NULL;
}

static void find_regions(struct gp_compile *c, struct gp_compile_trace *to, const struct gp_trace *t)
{
    static const char words[] = "Torch-Compiled Region: ";
    for (int table = 0; table < 2; table++) {
        const struct gp_events *e = &t->events[table ? GP_RANGE : GP_OP];
        for (size_t i = 0; i < e->n; i++) {
            const char *name = gp_trace_str(t, e->name[i]);
            if (strncmp(name, words, sizeof words - 1) != 0) continue;
            name += sizeof words - 1;
            size_t n = strcspn(name, "_ ");
            GP_VEC_PUSH(&to->regions,
                        (struct gp_compile_region){.compile_id = gp_intern(&c->log->strings, name, n),
                                                   .track = e->track[i],
                                                   .steady = in_steps(to, e->start_ns[i]),
                                                   .begin_ns = e->start_ns[i],
                                                   .end_ns = e->start_ns[i] + e->dur_ns[i]});
        }
    }
}

/* "## Call CompiledFxGraph KEY ##" on a host thread */
static void find_graphs(struct gp_compile *c, struct gp_compile_trace *to, const struct gp_trace *t)
{
    static const char words[] = "## Call CompiledFxGraph ";
    const struct gp_events *e = &t->events[GP_RANGE];
    for (size_t i = 0; i < e->n; i++) {
        const char *name = gp_trace_str(t, e->name[i]);
        if (strncmp(name, words, sizeof words - 1) != 0 || t->tracks.at[e->track[i]].kind != GP_TRACK_THREAD)
            continue;
        name += sizeof words - 1;
        gp_sid key = gp_intern(&c->log->strings, name, strcspn(name, " "));
        struct gp_compile_seen *s = seen_of(to->graphs.at, to->graphs.n, key);
        if (!s) {
            GP_VEC_PUSH(&to->graphs, (struct gp_compile_seen){.name = key, .gpu_ns = -1});
            s = &to->graphs.at[to->graphs.n - 1];
        }
        s->count += in_steps(to, e->start_ns[i]);
        GP_VEC_PUSH(&to->calls, (struct gp_compile_region){.compile_id = key,
                                                           .track = e->track[i],
                                                           .begin_ns = e->start_ns[i],
                                                           .end_ns = e->start_ns[i] + e->dur_ns[i]});
    }
}

/* The union of all GPU events of the first device. */
static void find_busy(struct gp_compile_trace *to, const struct gp_view *v)
{
    const struct gp_events *e = &v->t->events[GP_GPU];
    if (!v->devices.n) return;
    const struct gp_view_device *d = &v->devices.at[0];
    for (size_t i = 0; i < d->n; i++) {
        uint32_t row = v->rows[d->first + i];
        int64_t begin = e->start_ns[row], end = begin + e->dur_ns[row];
        struct gp_compile_window *last = to->busy.n ? &to->busy.at[to->busy.n - 1] : NULL;
        if (!last || begin > last->end_ns) GP_VEC_PUSH(&to->busy, (struct gp_compile_window){begin, end});
        else if (end > last->end_ns) last->end_ns = end;
    }
}

/* Kernels that a generated name has, as launched in steady steps. */
static void find_kernels(struct gp_compile *c, struct gp_compile_trace *to, const struct gp_trace *t,
                         const struct gp_view *v)
{
    const struct gp_events *e = &t->events[GP_GPU];
    for (size_t i = 0; i < e->n; i++) {
        const char *name = gp_trace_str(t, gp_gpu_config(t, i)->name);
        int64_t begin, end;
        if (!gp_starts(name, "triton_") || !gp_steps_launch_time(v, (uint32_t)i, false, &begin, &end) ||
            !in_steps(to, begin))
            continue;
        gp_sid sid = gp_intern_cstr(&c->log->strings, name);
        struct gp_compile_seen *s = seen_of(to->kernels.at, to->kernels.n, sid);
        if (!s) {
            GP_VEC_PUSH(&to->kernels, (struct gp_compile_seen){.name = sid});
            s = &to->kernels.at[to->kernels.n - 1];
        }
        s->count++;
        s->gpu_ns += e->dur_ns[i];
    }
}

/* ---- operands ---- */

/* The three sizes of a product in any order, since compilers transpose, and its type, as one number. */
static uint64_t product_of(const struct gp_shape *a, const struct gp_shape *b)
{
    int64_t sizes[3] = {a->size[a->n - 2], a->size[a->n - 1], b->size[b->n - 1]};
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2 - i; k++)
            if (sizes[k] > sizes[k + 1]) {
                int64_t swap = sizes[k];
                sizes[k] = sizes[k + 1];
                sizes[k + 1] = swap;
            }
    uint64_t words[4] = {(uint64_t)sizes[0], (uint64_t)sizes[1], (uint64_t)sizes[2],
                         (uint64_t)a->element.arith << 8 | a->element.size};
    return gp_hash_bytes(words, sizeof words);
}

static void find_products(struct gp_compile_trace *to, const struct gp_trace *t)
{
    static const struct {
        const char *name;
        int first; /* input */
    } ops[] = {{"aten::mm", 0}, {"aten::addmm", 1}, {"aten::bmm", 0}, {"aten::baddbmm", 1}};
    const struct gp_events *e = &t->events[GP_OP];
    struct gp_map seen = {0};
    for (size_t i = 0; i < e->n; i++) {
        const char *name = gp_trace_str(t, e->name[i]);
        struct gp_shapes s;
        size_t op = 0;
        while (op < sizeof ops / sizeof *ops && strcmp(ops[op].name, name) != 0) op++;
        if (op == sizeof ops / sizeof *ops || !in_steps(to, e->start_ns[i]) ||
            !gp_shapes_read(&s, gp_trace_str(t, gp_get_extra(e, i))))
            continue;
        const struct gp_shape *a = gp_shapes_tensor(&s, ops[op].first),
                              *b = gp_shapes_tensor(&s, ops[op].first + 1);
        if (!a || !b || a->n < 2 || b->n < 2) continue;
        uint64_t key = product_of(a, b);
        if (!(*gp_map_put(&seen, key, 0))++) GP_VEC_PUSH(&to->products, key);
    }
    if (to->products.n) qsort(to->products.at, to->products.n, sizeof *to->products.at, gp_order_u64);
    gp_map_release(&seen);
}

int gp_compile_add_trace(struct gp_compile *c, enum gp_compile_role role, const char *name,
                         struct gp_trace *t, struct gp_err *err)
{
    struct gp_compile_trace to = {.role = role};
    struct gp_view v;
    const char *called = role == GP_COMPILE_EAGER_TRACE ? "eager" : name;
    to.name = called ? gp_intern_cstr(&c->log->strings, called) : 0;
    gp_profile_init(&to.profile, &(struct gp_profile_opts){.classes = c->opts.classes,
                                                           .step_marker = c->opts.step_marker});
    int failed = gp_profile_add_trace(&to.profile, t, err);
    if (!failed) {
        to.input = gp_input_quality_copy(&to.profile.input, &c->log->strings, &to.profile.strings);
        gp_view_init(&v, t, c->opts.classes);
        find_clock(&to, t);
        failed = find_steps(&to, &v, c->opts.step_marker, err);
        find_regions(c, &to, t);
        find_graphs(c, &to, t);
        find_busy(&to, &v);
        find_products(&to, t);
        find_kernels(c, &to, t, &v);
        gp_view_release(&v);
    }
    GP_VEC_PUSH(&c->traces, to); /* released with C in any case */
    return failed;
}
