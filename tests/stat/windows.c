/* windows.c -- how often trace-diff cries wolf, and what it misses, measured on windows of a real trace of
 * many steps.
 *
 *     windows draws TRACE STEPS DRAWS       pairs of windows of STEPS steps of one trace: nothing has changed
 *     windows stretch TRACE STEPS DRAWS PCT in the second window one operation takes PCT percent longer
 *     windows test TRACE...                 a moderate number of both, as TAP
 *
 * The windows of a pair do not overlap. Draws come from splitmix64 with a fixed seed: the figures are the
 * same each time.
 */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/diff/diff.h"
#include "formats/base/err.h"
#include "formats/reader.h"

static uint64_t state;

static uint64_t draw(uint64_t below)
{
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (z ^ z >> 31) % below;
}

/* ---- windows ---- */

/* N steps of P from FIRST on, as a profile that borrows all but its lane, steps and events. P has one lane,
 * and every GPU event runs only in its own step. */
static struct gp_profile cut(const struct gp_profile *p, uint32_t first, uint32_t n)
{
    struct gp_profile w = *p;
    uint32_t begin = p->steps.at[first].first,
             end = p->steps.at[first + n - 1].first + p->steps.at[first + n - 1].n;
    memset(&w.lanes, 0, sizeof w.lanes);
    memset(&w.steps, 0, sizeof w.steps);
    memset(&w.events, 0, sizeof w.events);
    GP_VEC_PUSH(&w.lanes, p->lanes.at[0]);
    for (uint32_t i = first; i < first + n; i++) {
        GP_VEC_PUSH(&w.steps, p->steps.at[i]);
        w.steps.at[w.steps.n - 1].first -= begin;
    }
    for (uint32_t i = begin; i < end; i++) {
        GP_VEC_PUSH(&w.events, p->events.at[i]);
        if (p->events.at[i].step != GP_PROFILE_NONE) w.events.at[w.events.n - 1].step -= first;
    }
    w.lanes.at[0].first_event = w.lanes.at[0].first_step = 0;
    w.lanes.at[0].n_events = (uint32_t)w.events.n;
    w.lanes.at[0].n_steps = n;
    w.content = p->content + first + 1; /* whatever it is, it differs */
    return w;
}

static void drop(struct gp_profile *w)
{
    GP_VEC_FREE(&w->lanes);
    GP_VEC_FREE(&w->steps);
    GP_VEC_FREE(&w->events);
}

/* Two windows of N steps that do not overlap, in either order. */
static void draw_windows(const struct gp_profile *p, uint32_t n, uint32_t first[2])
{
    do {
        first[0] = (uint32_t)draw(p->steps.n - n + 1);
        first[1] = (uint32_t)draw(p->steps.n - n + 1);
    } while (first[0] < first[1] ? first[1] - first[0] < n : first[0] - first[1] < n);
}

/* All events with the full name of kernel K take PCT percent longer, to the clock's tick as they were
 * recorded. */
static void stretch(struct gp_profile *w, gp_sid name, double pct)
{
    for (size_t i = 0; i < w->events.n; i++) {
        struct gp_profile_event *e = &w->events.at[i];
        if (w->kernels.at[e->kernel].name != name) continue;
        int64_t more = llround((double)e->dur_ns * pct / 100);
        e->dur_ns += more;
        e->share_ns += more;
        if (e->step == GP_PROFILE_NONE) continue;
        struct gp_profile_step *s = &w->steps.at[e->step];
        s->gpu_ns += more;
        s->busy_ns += more;
        s->wall_ns += more;
    }
}

static struct gp_diff compare(const struct gp_profile *a, const struct gp_profile *b)
{
    struct gp_diff d;
    gp_diff_init(&d, NULL);
    gp_diff_run(&d, &a, 1, &b, 1);
    return d;
}

/* ---- nothing has changed ---- */

struct wolf {
    /* comparisons with a finding, or with a decided step time; tested and found operations */
    uint32_t draws, any_kernel, any_status, any_step, tests, kernels;
};

static struct wolf cry_wolf(const struct gp_profile *p, uint32_t steps, uint32_t draws)
{
    struct wolf w = {.draws = draws};
    for (uint32_t i = 0; i < draws; i++) {
        uint32_t first[2];
        draw_windows(p, steps, first);
        struct gp_profile a = cut(p, first[0], steps), b = cut(p, first[1], steps);
        struct gp_diff d = compare(&a, &b);
        w.any_kernel += d.summary.regressions > 0;
        w.any_status += gp_diff_status(&d) != 0;
        w.any_step += d.metrics[GP_METRIC_STEP].d.significant;
        w.kernels += d.summary.regressions + d.summary.improvements;
        w.tests += d.tested;
        gp_diff_release(&d);
        drop(&a);
        drop(&b);
    }
    return w;
}

/* ---- one operation takes longer ---- */

struct hit {
    uint32_t draws, found, first, right, wrong;
    uint32_t by_calls[3], draws_by_calls[3]; /* fewer than 6 calls a step, fewer than 12, more */
};

/* Kernels that matter so much that PCT percent of them pass the guards, with a fifth to spare: 200 ns a call
 * and a thousandth of the GPU time. What is less is never called real. Each at most once. */
static size_t candidates(const struct gp_profile *p, double pct, gp_sid *names, size_t most)
{
    const struct gp_profile_step *s = &p->steps.at[p->steps.n / 2];
    size_t n = 0;
    for (uint32_t i = s->first; i < s->first + s->n; i++) {
        gp_sid name = p->kernels.at[p->events.at[i].kernel].name;
        int64_t sum = 0, calls = 0;
        bool known = false;
        for (size_t k = 0; k < n && !known; k++) known = names[k] == name;
        for (uint32_t k = s->first; k < s->first + s->n && !known; k++)
            if (p->kernels.at[p->events.at[k].kernel].name == name) sum += p->events.at[k].dur_ns, calls++;
        double more = (double)sum * pct / 100;
        bool large = more >= 240 * (double)calls && more >= 0.0012 * (double)s->gpu_ns;
        if (!known && large && n < most) names[n++] = name;
    }
    return n;
}

static void judge(struct hit *h, const struct gp_diff *d, const char *name, double pct)
{
    uint32_t rank = 0;
    for (size_t i = 0; i < d->ops.n; i++) {
        const struct gp_diff_op *op = &d->ops.at[i];
        bool mine = !strcmp(gp_diff_str(d, op->name), name);
        rank += op->change == GP_CHANGE_REGRESSION;
        if (!mine) {
            h->wrong += op->change == GP_CHANGE_REGRESSION;
            continue;
        }
        int size = op->side[GP_DIFF_BASE].count < 6 ? 0 : op->side[GP_DIFF_BASE].count < 12 ? 1 : 2;
        h->draws_by_calls[size]++;
        if (op->change != GP_CHANGE_REGRESSION) continue;
        h->found++;
        h->by_calls[size]++;
        h->first += rank == 1;
        h->right += fabs(op->change_pct - pct) < 1 + pct / 10;
    }
    h->draws++;
}

static struct hit find_stretched(const struct gp_profile *p, uint32_t steps, uint32_t draws, double pct)
{
    enum { MOST = 256 };
    gp_sid names[MOST];
    size_t n = candidates(p, pct, names, MOST);
    struct hit h;
    memset(&h, 0, sizeof h);
    for (uint32_t i = 0; i < draws && n; i++) {
        uint32_t first[2];
        draw_windows(p, steps, first);
        gp_sid name = names[draw(n)];
        struct gp_profile a = cut(p, first[0], steps), b = cut(p, first[1], steps);
        stretch(&b, name, pct);
        struct gp_diff d = compare(&a, &b);
        judge(&h, &d, gp_profile_str(p, name), pct);
        gp_diff_release(&d);
        drop(&a);
        drop(&b);
    }
    return h;
}

/* ---- mains ---- */

static int load(struct gp_profile *p, const char *path)
{
    struct gp_trace t;
    struct gp_err err = {0};
    struct gp_read_opts o = {.need = GP_PROFILE_NEED, .threads = 1};
    gp_profile_init(p, NULL);
    if (gp_trace_read(&t, path, &o, &err) || gp_profile_add_trace(p, &t, &err)) {
        fprintf(stderr, "windows: %s\n", err.msg);
        return -1;
    }
    gp_trace_release(&t);
    if (p->lanes.n == 1 && !p->spills.n && p->steps.n) return 0;
    fprintf(stderr, "windows: %s: one device, steps, and no work that runs into the next step are wanted\n",
            path);
    return -1;
}

static int ok(int number, bool holds, const char *path, const char *text)
{
    const char *name = strrchr(path, '/');
    printf("%sok %d - %s: %s\n", holds ? "" : "not ", number, name ? name + 1 : path, text);
    return !holds;
}

/* At most one comparison in twenty with a regression, whatever the number of steps; nine of ten kernels found
 * that take 5% longer, first in the list and with the right size. */
static int test(char **paths, int n)
{
    static const uint32_t steps[] = {3, 5, 10, 20};
    enum { STEPS = GP_COUNT(steps), DRAWS = 200, STRETCHED = 40 };
    int number = 0, failed = 0;
    char text[256];
    printf("1..%d\n", n * (STEPS + 2));
    for (int i = 0; i < n; i++) {
        struct gp_profile p;
        if (load(&p, paths[i])) return 2;
        for (int k = 0; k < STEPS; k++) {
            state = 1;
            struct wolf w = cry_wolf(&p, steps[k], DRAWS);
            snprintf(text, sizeof text,
                     "%u of %u pairs of windows of %u steps with a regression (status: %u, step time: %u)",
                     w.any_kernel, w.draws, steps[k], w.any_status, w.any_step);
            bool holds =
                w.any_status * 20 <= w.draws && w.any_kernel * 20 <= w.draws && w.any_step * 100 <= w.draws;
            failed |= ok(++number, holds, paths[i], text);
        }
        for (int pct = 5; pct <= 10; pct += 5) {
            state = 2;
            struct hit h = find_stretched(&p, 3, STRETCHED, pct);
            snprintf(text, sizeof text,
                     "3 steps per side, +%d%%: %u of %u found, %u first, %u with the right size", pct,
                     h.found, h.draws, h.first, h.right);
            bool holds =
                h.found * 10 >= h.draws * 9 && h.first * 10 >= h.draws * 9 && h.right * 10 >= h.found * 9;
            failed |= ok(++number, holds && h.draws == STRETCHED, paths[i], text);
        }
        gp_profile_release(&p);
    }
    return failed;
}

int main(int argc, char **argv)
{
    struct gp_profile p;
    if (argc >= 3 && !strcmp(argv[1], "test")) return test(argv + 2, argc - 2);
    bool stretched = argc == 6 && !strcmp(argv[1], "stretch");
    if (!stretched && !(argc == 5 && !strcmp(argv[1], "draws"))) {
        fprintf(stderr,
                "usage: windows draws TRACE STEPS DRAWS | stretch TRACE STEPS DRAWS PCT | test TRACE...\n");
        return 2;
    }
    if (load(&p, argv[2])) return 2;
    uint32_t steps = (uint32_t)atoi(argv[3]), draws = (uint32_t)atoi(argv[4]);
    if (stretched) {
        struct hit h = find_stretched(&p, steps, draws, atof(argv[5]));
        printf("draws %u found %u first %u right size %u, other regressions %u\n", h.draws, h.found, h.first,
               h.right, h.wrong);
        static const char *const sizes[] = {"< 6", "6-11", ">= 12"};
        for (int i = 0; i < 3; i++)
            printf("  %-5s calls a step: %u of %u\n", sizes[i], h.by_calls[i], h.draws_by_calls[i]);
    } else {
        struct wolf w = cry_wolf(&p, steps, draws);
        printf("draws %u with a regression %u, with a status %u, with a step time that is decided %u; "
               "operations "
               "tested %u, called changed %u\n",
               w.draws, w.any_kernel, w.any_status, w.any_step, w.tests, w.kernels);
    }
    gp_profile_release(&p);
    return 0;
}
