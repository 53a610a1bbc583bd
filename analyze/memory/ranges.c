/* Ranges of the program from the annotations of a history, and the steps among them. */
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/memory/memory_priv.h"
#include "analyze/names/names.h"
#include "analyze/names/pattern.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/base/order.h"
#include "formats/base/str.h"
#include "formats/model/step_name.h"

enum { DEPTH_MOST = 256, SPANS_MOST = 1 << 24 };

/* ---- ranges ---- */

struct naming {
    struct gp_memory *m;
    const struct gp_snapshot *s;
    struct gp_map names, labels; /* sid in the snapshot -> sid of ours */
};

static gp_sid name_of(struct naming *n, gp_sid sid)
{
    uint32_t *known = gp_map_put(&n->names, sid, UINT32_MAX);
    if (*known == UINT32_MAX) *known = gp_intern_from(&n->m->strings, &n->s->strings, sid);
    return *known;
}

static gp_sid label_of(struct naming *n, gp_sid sid)
{
    uint32_t *known = gp_map_put(&n->labels, sid, UINT32_MAX);
    if (*known != UINT32_MAX) return *known;
    struct gp_buf b = {0};
    gp_name_range_label(&b, gp_string(&n->s->strings, sid), gp_string_len(&n->s->strings, sid));
    if (!b.n) gp_buf_puts(&b, "[no name]");
    return *known = gp_intern_buf(&n->m->strings, &b);
}

/* The open range that MARK ends: the innermost one of its name. */
static size_t opened_by(const struct gp_memory_device *d, const uint32_t *open, size_t n, gp_sid name)
{
    while (n && d->spans.at[open[n - 1]].name != name) n--;
    return n;
}

void gp_ranges_build(struct gp_memory *m, struct gp_memory_device *d, gp_breaks *breaks)
{
    struct naming naming = {.m = m, .s = d->s};
    uint32_t open[DEPTH_MOST];
    size_t depth = 0;
    for (size_t i = 0; i < d->s->marks.n && d->spans.n < SPANS_MOST; i++) {
        const struct gp_snapshot_mark *k = &d->s->marks.at[i];
        gp_sid name = name_of(&naming, k->name);
        if (!k->end && depth < DEPTH_MOST) {
            uint32_t parent = depth ? open[depth - 1] : GP_NO_SPAN, span = (uint32_t)d->spans.n;
            struct gp_memory_span fresh = {.name = name,
                                           .label = label_of(&naming, k->name),
                                           .parent = parent,
                                           .begin_ns = k->time_ns,
                                           .end_ns = INT64_MAX};
            fresh.phase = (uint8_t)gp_phase_of_name(gp_memory_str(m, name), gp_string_len(&m->strings, name));
            GP_VEC_PUSH(&d->spans, fresh);
            GP_VEC_PUSH(breaks, (struct gp_break){k->time_ns, span, span, false});
            open[depth++] = span;
            continue;
        }
        size_t at = k->end ? opened_by(d, open, depth, name) : 0;
        if (!at) continue;
        for (; depth >= at; depth--) { /* ranges open inside it end with it */
            uint32_t span = open[depth - 1], outer = depth > 1 ? open[depth - 2] : GP_NO_SPAN;
            d->spans.at[span].end_ns = k->time_ns;
            GP_VEC_PUSH(breaks, (struct gp_break){k->time_ns, outer, span, true});
        }
    }
    gp_map_release(&naming.names);
    gp_map_release(&naming.labels);
}

enum gp_phase gp_phase_of_name(const char *name, size_t n)
{
    if (gp_contains_folded(name, n, "optimizer") || gp_contains_folded(name, n, "optim."))
        return GP_PHASE_OPTIMIZER;
    if (gp_contains_folded(name, n, "backward")) return GP_PHASE_BACKWARD;
    if (gp_contains_folded(name, n, "forward")) return GP_PHASE_FORWARD;
    return GP_PHASE_NONE;
}

/* ---- steps ---- */

/* Ranges whose names differ by their number only. */
struct candidate {
    gp_sid base;
    int rank;
    uint32_t n;
};

struct choice {
    struct gp_memory *m;
    struct gp_memory_device *d;
    GP_VEC(struct candidate) all;
    struct gp_map of_base;
};

/* How well NAME names a step, and its name without the number. */
static int rank_of(struct choice *c, gp_sid name, gp_sid *base)
{
    uint64_t number;
    size_t n, len = gp_string_len(&c->m->strings, name);
    const char *text = gp_memory_str(c->m, name);
    while (len && strchr("# ", *text)) { /* "## step 3 ##" */
        text++;
        len--;
    }
    while (len && strchr("# ", text[len - 1])) len--;
    int rank = gp_step_name_rank(text, len, &n, &number);
    if (number == GP_NO_ID && rank != 1 && rank != 2) return GP_STEP_NEVER;
    *base = gp_intern(&c->m->strings, text, n);
    return rank + (number == GP_NO_ID ? 4 : 0);
}

static void count_candidates(struct choice *c)
{
    for (size_t i = 0; i < c->d->spans.n; i++) {
        gp_sid base = 0;
        int rank = rank_of(c, c->d->spans.at[i].name, &base);
        if (rank >= GP_STEP_NEVER) continue;
        uint32_t *at = gp_map_put(&c->of_base, base, (uint32_t)c->all.n);
        if (*at == c->all.n) GP_VEC_PUSH(&c->all, (struct candidate){base, rank, 0});
        c->all.at[*at].n++;
    }
}

/* The best of them that occurs twice; UINT32_MAX: none. */
static gp_sid best_base(const struct choice *c)
{
    const struct candidate *best = NULL;
    GP_EACH(const struct candidate, k, c->all) {
        if (k->n < 2) continue;
        if (!best || k->rank < best->rank || (k->rank == best->rank && k->n > best->n)) best = k;
    }
    return best ? best->base : UINT32_MAX;
}

static void add_step(struct gp_memory_device *d, const struct gp_memory_span *p)
{
    size_t n = d->steps.n;
    if (n && p->begin_ns < d->steps.at[n - 1].end_ns) return; /* steps do not overlap */
    struct gp_memory_step step = {p->name, p->begin, p->end, p->begin_ns, p->end_ns};
    GP_VEC_PUSH(&d->steps, step);
}

static void steps_by_name(struct choice *c)
{
    count_candidates(c);
    gp_sid base = best_base(c), own = 0;
    for (size_t i = 0; base != UINT32_MAX && i < c->d->spans.n; i++)
        if (rank_of(c, c->d->spans.at[i].name, &own) < GP_STEP_NEVER && own == base)
            add_step(c->d, &c->d->spans.at[i]);
}

static bool is_optimizer_step(const struct gp_memory *m, const struct gp_memory_span *p)
{
    return gp_starts(gp_memory_str(m, p->name), "Optimizer.step#");
}

/* Where nothing names steps: what lies from the end of one optimizer step to the next. */
static void steps_by_optimizer(struct gp_memory *m, struct gp_memory_device *d)
{
    uint32_t begin = 0;
    int64_t begin_ns = d->begin_ns;
    GP_EACH(const struct gp_memory_span, p, d->spans) {
        if (!is_optimizer_step(m, p) || p->end_ns < begin_ns) continue;
        struct gp_memory_step step = {p->name, begin, p->end, begin_ns, p->end_ns};
        GP_VEC_PUSH(&d->steps, step);
        begin = p->end;
        begin_ns = p->end_ns;
    }
    d->steps_by_optimizer = d->steps.n > 0;
}

int gp_ranges_steps(struct gp_memory *m, struct gp_memory_device *d, const char *expression,
                    struct gp_err *err)
{
    struct choice c = {.m = m, .d = d};
    if (!expression) {
        steps_by_name(&c);
        if (d->steps.n < 2) {
            d->steps.n = 0;
            steps_by_optimizer(m, d);
        }
        GP_VEC_FREE(&c.all);
        gp_map_release(&c.of_base);
        return 0;
    }
    regex_t regex;
    char why[GP_PATTERN_WHY];
    if (gp_pattern_compile(&regex, expression, 0, why))
        return gp_fail(err, GP_E_USAGE, -1, "--step-marker: not a regular expression: %s: %s", expression,
                       why);
    for (size_t i = 0; i < d->spans.n; i++)
        if (!regexec(&regex, gp_memory_str(m, d->spans.at[i].name), 0, NULL, 0)) add_step(d, &d->spans.at[i]);
    regfree(&regex);
    return 0;
}

uint32_t gp_memory_step_at(const struct gp_memory_device *d, uint32_t position)
{
    size_t lo = 0, hi = d->steps.n;
    /* the last that begins before */
    GP_NARROW(lo, hi, mid, d->steps.at[mid].begin < position)
    return lo && position <= d->steps.at[lo - 1].end ? (uint32_t)(lo - 1) : (uint32_t)d->steps.n;
}

uint32_t gp_ranges_at(const struct gp_memory_device *d, uint32_t position)
{
    GP_SEARCH(lo, 0, d->spans.n, mid, d->spans.at[mid].begin < position);
    uint32_t span = lo ? (uint32_t)(lo - 1) : GP_NO_SPAN;
    while (span != GP_NO_SPAN && d->spans.at[span].end < position) span = d->spans.at[span].parent;
    return span;
}
