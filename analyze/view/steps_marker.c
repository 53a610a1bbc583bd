#include "analyze/view/steps.h"

#include <regex.h>
#include <stdlib.h>
#include "analyze/names/pattern.h"
#include "formats/base/err.h"
#include "formats/base/map.h"
#include "formats/model/step_name.h"

/* ---- candidates ---- */

/* Ranges of one thread with names that differ only in their numbers. */
struct candidate {
    int rank;
    uint32_t track;
    bool numbered, rising; /* every number is larger than the one before */
    uint64_t n, last_number;
    int64_t first_ns, end_ns;
    uint64_t covered_ns;
};

#define NO_CANDIDATE UINT32_MAX

enum { TRIED_MOST = 4, UNNUMBERED = 4 /* ranks that names without numbers stand behind */ };

/* The parsed form of a name, computed once. */
struct marker_name {
    gp_sid base;
    int rank;
    uint64_t number;
};

struct markers {
    const struct gp_view *v;
    bool by_regex;
    regex_t regex;
    struct gp_strings bases;
    struct gp_map of_name; /* name -> index into names */
    GP_VEC(struct marker_name) names;
    struct gp_map of_base; /* track << 32 | base -> index into candidates */
    GP_VEC(struct candidate) candidates;
    uint32_t *candidate_of; /* by index into the program's ranges */
};

static const struct marker_name *read_name(struct markers *m, gp_sid name)
{
    uint32_t *at = gp_map_put(&m->of_name, name, (uint32_t)m->names.n);
    if (*at < m->names.n) return &m->names.at[*at];
    const char *s = gp_trace_str(m->v->t, name);
    size_t base, n = gp_string_len(&m->v->t->strings, name);
    struct marker_name r = {0, GP_STEP_NEVER, 0};
    if (m->by_regex) {
        if (!regexec(&m->regex, s, 0, NULL, 0)) r.rank = 0;
    } else {
        r.rank = gp_step_name_rank(s, n, &base, &r.number);
        bool numbered = r.number != GP_NO_ID;
        if (!numbered && r.rank > 2) r.rank = GP_STEP_NEVER;
        char text[GP_STEP_BASE];
        if (r.rank != GP_STEP_NEVER)
            r.base = gp_intern(&m->bases, text, gp_step_name_base(text, s, base, numbered));
        if (!numbered && r.rank) r.rank += UNNUMBERED;
    }
    GP_VEC_PUSH(&m->names, r);
    return &m->names.at[m->names.n - 1];
}

/* Ranges inside another range of the candidate are left out. */
static void add_range(struct markers *m, size_t i, uint32_t row)
{
    const struct gp_events *e = &m->v->t->events[GP_RANGE];
    const struct marker_name *name = read_name(m, e->name[row]);
    int64_t start = e->start_ns[row], end = start + e->dur_ns[row];
    m->candidate_of[i] = NO_CANDIDATE;
    if (name->rank >= GP_STEP_NEVER) return;
    uint64_t key = (uint64_t)e->track[row] << 32 | name->base;
    uint32_t at = *gp_map_put(&m->of_base, key, (uint32_t)m->candidates.n);
    if (at == m->candidates.n) {
        struct candidate fresh = {
            name->rank, e->track[row], name->number != GP_NO_ID, true, 0, 0, start, start, 0};
        GP_VEC_PUSH(&m->candidates, fresh);
    }
    struct candidate *c = &m->candidates.at[at];
    if (start < c->end_ns || end == start) return;
    if (c->n && name->number <= c->last_number) c->rising = false;
    c->last_number = name->number;
    c->n++;
    c->end_ns = end;
    c->covered_ns += (uint64_t)(end - start);
    m->candidate_of[i] = at;
}

static bool may_be(const struct markers *m, const struct candidate *c)
{
    if (c->n > GP_STEPS_MOST) return false;
    if (m->by_regex || c->rank == 0) return c->n > 0;
    return c->n >= 3 && (c->rank != 3 || c->rising);
}

/* Is A numbered by a loop within B? Its numbers start again, and B covers more, of the same kind but without
 * numbers: the iterations of a loop that a compiler made ("[iter=3]") within a "step". */
static bool is_inner(const struct candidate *a, const struct candidate *b)
{
    return a->numbered && !a->rising && b->rank == a->rank + UNNUMBERED && b->covered_ns > a->covered_ns;
}

/* Is A the better marker? */
static bool is_better(const struct markers *m, const struct candidate *a, const struct candidate *b)
{
    if (m->by_regex && a->n != b->n) return a->n > b->n;
    if (!m->by_regex && (is_inner(a, b) || is_inner(b, a))) return is_inner(b, a);
    if (a->rank != b->rank) return a->rank < b->rank;
    if (a->covered_ns != b->covered_ns) return a->covered_ns > b->covered_ns;
    return a->first_ns < b->first_ns;
}

/* ---- windows ---- */

static void take_windows(struct gp_steps_program *p, const struct markers *m, uint32_t candidate)
{
    const struct gp_events *e = &m->v->t->events[GP_RANGE];
    p->windows.n = 0;
    for (size_t i = 0; i < p->n_ranges; i++) {
        if (m->candidate_of[i] != candidate) continue;
        uint32_t row = p->ranges[i];
        int64_t end = e->start_ns[row] + e->dur_ns[row];
        GP_VEC_PUSH(&p->windows,
                    ((struct gp_step_window){e->start_ns[row], end, end, e->name[row], 0, false}));
    }
}

/* How many of the program's GPU events were launched in its windows. */
static size_t count_inside(const struct gp_steps_program *p, const struct gp_view *v)
{
    size_t w = 0, inside = 0;
    for (size_t i = 0; i < p->n; i++) { /* in order of launch */
        int64_t begin, end;
        if (!gp_steps_launch_time(v, p->rows[i], p->by_gpu_time, &begin, &end)) continue;
        while (w < p->windows.n && p->windows.at[w].end_ns <= begin) w++;
        inside += w < p->windows.n && begin >= p->windows.at[w].begin_ns;
    }
    return inside;
}

/* A weak name must prove itself: most of the work has to be launched inside. */
static bool holds_work(const struct gp_steps_program *p, const struct gp_view *v, int rank)
{
    size_t inside = count_inside(p, v);
    return inside && (rank <= 1 || inside >= p->n / 2);
}

static void try_candidates(struct gp_steps_program *p, struct markers *m)
{
    for (int tried = 0; tried < TRIED_MOST; tried++) {
        struct candidate *best = NULL;
        GP_EACH(struct candidate, c, m->candidates)
            if (may_be(m, c) && (!best || is_better(m, c, best))) best = c;
        if (!best) return;
        take_windows(p, m, (uint32_t)(best - m->candidates.at));
        if (m->by_regex || best->rank == 0 || holds_work(p, m->v, best->rank)) {
            p->source = GP_STEPS_MARKER;
            return;
        }
        p->windows.n = 0;
        best->n = 0; /* not again */
    }
}

int gp_steps_by_marker(struct gp_steps_program *p, const struct gp_view *v, const char *marker,
                       struct gp_err *err)
{
    struct markers m = {.v = v, .by_regex = marker != NULL};
    char why[GP_PATTERN_WHY];
    if (marker && gp_pattern_compile(&m.regex, marker, 0, why))
        return gp_fail(err, GP_E_USAGE, -1, "step marker '%s': %s", marker, why);
    m.candidate_of = gp_alloc((p->n_ranges + 1) * sizeof *m.candidate_of);
    for (size_t i = 0; i < p->n_ranges; i++) add_range(&m, i, p->ranges[i]);
    try_candidates(p, &m);
    if (marker) regfree(&m.regex);
    gp_strings_release(&m.bases);
    GP_RELEASE(gp_map_release, &m.of_name, &m.of_base);
    GP_RELEASE(gp_vec_free, &m.names, &m.candidates);
    free(m.candidate_of);
    return 0;
}
