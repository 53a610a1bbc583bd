#include "formats/model/samples.h"

#include <stdlib.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/map.h"
#include "formats/model/trace.h"

static const int64_t USUAL_NS = 5000000, LEAST_NS = 100000, MOST_NS = 10000000000;

int64_t gp_samples_period(const struct gp_trace *t)
{
    const char *text = gp_trace_get_meta(t, GP_META_SAMPLE_PERIOD);
    if (!t->events[GP_SAMPLE].n) return 0;
    int64_t ns = text ? strtoll(text, NULL, 10) : 0;
    return ns >= LEAST_NS && ns <= MOST_NS ? ns : USUAL_NS;
}

/* The part of a path that tells files apart for a reader. */
static const char *short_path(const char *path)
{
    static const char *const places[] = {"/site-packages/", "/dist-packages/", "/lib/python3."};
    for (size_t i = 0; i < GP_COUNT(places); i++) {
        const char *at = strstr(path, places[i]);
        if (!at) continue;
        at += strlen(places[i]);
        if (i < 2) return at;
        at = strchr(at, '/');
        if (at) return at + 1;
    }
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static gp_sid name_frame(struct gp_trace *t, const struct gp_stack *s, uint32_t line)
{
    struct gp_buf b = {0};
    gp_buf_puts(&b, short_path(gp_trace_str(t, s->file)));
    if (line) gp_buf_printf(&b, "(%u)", (unsigned)line);
    gp_buf_puts(&b, ": ");
    gp_buf_puts(&b, gp_trace_str(t, s->name));
    gp_sid sid = gp_trace_intern(t, gp_buf_str(&b), b.n);
    gp_buf_release(&b);
    return sid;
}

/* ---- functions ---- */

struct function {
    uint32_t stack, line; /* one of its frames, and the line that most samples are at */
    uint64_t samples;     /* at that line */
};

struct functions {
    uint32_t *of; /* by stack: index in list */
    GP_VEC(struct function) list;
};

/* How many samples each stack is part of. */
static uint64_t *weigh(const struct gp_trace *t)
{
    const struct gp_events *e = &t->events[GP_SAMPLE];
    uint64_t *weight = gp_zalloc((t->stacks.n + 1) * sizeof *weight);
    for (size_t i = 0; i < e->n; i++) weight[gp_sample_stack(e, i)] += 1 + (uint64_t)gp_get_total(e, i);
    for (size_t i = t->stacks.n; i-- > 1;) weight[t->stacks.at[i].parent] += weight[i];
    return weight;
}

/* Each function of each file once, with its line. */
static void find_functions(struct functions *f, const struct gp_trace *t)
{
    struct gp_map known = {0}, lines = {0};
    uint64_t *weight = weigh(t);
    GP_VEC(uint64_t) at_line = {0};
    f->of = gp_zalloc((t->stacks.n + 1) * sizeof *f->of);
    for (size_t i = 1; i < t->stacks.n; i++) {
        const struct gp_stack *s = &t->stacks.at[i];
        uint32_t *k = gp_map_put(&known, (uint64_t)s->name << 32 | s->file, (uint32_t)f->list.n);
        f->of[i] = *k;
        if (*k == f->list.n) GP_VEC_PUSH(&f->list, ((struct function){.stack = (uint32_t)i}));
        uint32_t *l = gp_map_put(&lines, (uint64_t)f->of[i] << 32 | s->line, (uint32_t)at_line.n);
        if (*l == at_line.n) GP_VEC_PUSH(&at_line, 0);
        uint64_t sum = at_line.at[*l] += weight[i];
        struct function *fn = &f->list.at[f->of[i]];
        if (sum > fn->samples || (sum == fn->samples && s->line < fn->line) || !fn->line) {
            fn->samples = sum;
            fn->line = s->line;
        }
    }
    GP_VEC_FREE(&at_line);
    gp_map_release(&known);
    gp_map_release(&lines);
    free(weight);
}

/* ---- tracks ---- */

/* For each track the one of the same thread that another writer of the trace knows, or itself. Of several the
 * first. */
static uint32_t *join_tracks(const struct gp_trace *t)
{
    uint32_t *to = gp_alloc((t->tracks.n + 1) * sizeof *to);
    uint8_t *sampled = gp_zalloc(t->tracks.n + 1);
    struct gp_map threads = {0}; /* pid and tid -> track */
    const struct gp_events *e = &t->events[GP_SAMPLE];
    for (size_t i = 0; i < e->n; i++) sampled[e->track[i]] = 1;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < t->tracks.n; i++) {
            const struct gp_track *k = &t->tracks.at[i];
            uint64_t key = (uint64_t)t->processes.at[k->process].pid << 32 ^ (uint64_t)k->tid;
            bool thread = k->kind == GP_TRACK_THREAD && !k->tid_text && !t->processes.at[k->process].pid_text;
            const uint32_t *known = thread ? gp_map_get(&threads, key) : NULL;
            if (!pass) to[i] = (uint32_t)i;
            if (!pass && thread && !sampled[i]) gp_map_put(&threads, key, (uint32_t)i);
            if (pass && known && sampled[i]) to[i] = *known;
        }
    gp_map_release(&threads);
    free(sampled);
    return to;
}

/* ---- rows ---- */

#define STATE (UINT32_C(1) << 31)

struct open_frame {
    uint32_t function; /* or the name of the thread's state, with STATE */
    int64_t start_ns;
};

struct expander {
    struct gp_trace *t;
    int64_t period_ns;
    gp_sid category, running, garbage;
    struct functions functions;
    gp_sid *names;                  /* by function, 0: not named yet */
    GP_VEC(struct open_frame) open; /* of the track, outermost first */
    GP_VEC(struct open_frame) next;
    struct gp_spans calls;  /* a thread has one stack from begin to end of a call */
    struct gp_spans ranges; /* and operators: a run across their borders is a row on either side */
    int64_t border_ns;      /* of the track: where the stack changed last */
};

static gp_sid frame_name(struct expander *x, uint32_t function)
{
    if (function & STATE) return function & ~STATE;
    const struct function *f = &x->functions.list.at[function];
    if (!x->names[function]) x->names[function] = name_frame(x->t, &x->t->stacks.at[f->stack], f->line);
    return x->names[function];
}

enum { MOST_CUTS = 16 }; /* per end of a row */

/* Put the borders of ranges that cut [BEGIN, END) into CUTS, in order: the ends of those that are open at its
 * begin, then the begins of those that are open at its end. Returns how many. */
static int find_cuts(const struct expander *x, uint32_t track, int64_t begin_ns, int64_t end_ns,
                     int64_t cuts[2 * MOST_CUTS])
{
    const struct gp_spans *r = &x->ranges;
    int n = 0, most = MOST_CUTS;
    for (uint32_t i = gp_spans_at(r, track, begin_ns); i != GP_SPAN_NONE && most--;
         i = r->list.at[i].parent) {
        int64_t at = r->list.at[i].end_ns;
        if (at >= end_ns) break;
        if (at > (n ? cuts[n - 1] : begin_ns)) cuts[n++] = at;
    }
    int64_t after = n ? cuts[n - 1] : begin_ns, begins[MOST_CUTS];
    most = MOST_CUTS;
    int k = 0;
    for (uint32_t i = gp_spans_at(r, track, end_ns); i != GP_SPAN_NONE && most--; i = r->list.at[i].parent) {
        int64_t at = r->list.at[i].begin_ns;
        if (at <= after) break;
        if (!k || at < begins[k - 1]) begins[k++] = at;
    }
    while (k) cuts[n++] = begins[--k];
    return n;
}

static void add_row(struct expander *x, uint32_t track, int64_t begin_ns, int64_t end_ns, gp_sid name)
{
    struct gp_events *e = &x->t->events[GP_PYTHON];
    size_t row = gp_events_add(e, begin_ns, end_ns - begin_ns, track, name);
    gp_set_cat(e, row, x->category);
}

static void close_from(struct expander *x, uint32_t track, size_t depth, int64_t end_ns)
{
    for (size_t i = depth; i < x->open.n; i++) {
        const struct open_frame *f = &x->open.at[i];
        if (end_ns <= f->start_ns || f->start_ns < -GP_TIME_MOST || end_ns > GP_TIME_MOST) continue;
        int64_t cuts[2 * MOST_CUTS], begin = f->start_ns;
        int n = find_cuts(x, track, begin, end_ns, cuts);
        for (int k = 0; k < n; begin = cuts[k++])
            add_row(x, track, begin, cuts[k], frame_name(x, f->function));
        add_row(x, track, begin, end_ns, frame_name(x, f->function));
    }
    x->open.n = depth;
}

/* The frames of a sample, outermost first, and the thread's state in the innermost. */
static void unfold(struct expander *x, size_t row, gp_sid does)
{
    const struct gp_events *e = &x->t->events[GP_SAMPLE];
    size_t n = 0;
    for (uint32_t s = gp_sample_stack(e, row); s; s = x->t->stacks.at[s].parent) n++;
    bool state = n && does && does != x->running && !(does & STATE);
    GP_VEC_RESERVE(&x->next, n + state);
    x->next.n = n + state;
    if (state) x->next.at[n].function = does | STATE;
    for (uint32_t s = gp_sample_stack(e, row); s; s = x->t->stacks.at[s].parent)
        x->next.at[--n].function = x->functions.of[s];
}

/* What the thread does in ROW. Of the first samples of a stack the sampler did not ask, so the run after them
 * decides; NEXT is that run, of the same thread. */
static gp_sid does_in(const struct expander *x, uint32_t row, const uint32_t *next)
{
    const struct gp_events *e = &x->t->events[GP_SAMPLE];
    bool asked = e->name[row] != x->running || gp_get_total(e, row) >= GP_SAMPLE_STILL;
    if (asked || !next || e->name[*next] == x->garbage) return e->name[row]; /* garbage is known at once */
    if (gp_sample_stack(e, row) != gp_sample_stack(e, *next)) return e->name[row];
    int64_t end = e->start_ns[row] + e->dur_ns[row];
    return e->start_ns[*next] - end <= GP_SAMPLE_GAP * x->period_ns ? e->name[*next] : e->name[row];
}

/* From BEGIN on the thread has the stack of ROW and does DOES. */
static void change(struct expander *x, uint32_t track, size_t row, gp_sid does, int64_t begin_ns)
{
    size_t same = 0;
    unfold(x, row, does);
    while (same < x->open.n && same < x->next.n && x->open.at[same].function == x->next.at[same].function)
        same++;
    close_from(x, track, same, begin_ns);
    for (size_t i = same; i < x->next.n; i++)
        GP_VEC_PUSH(&x->open, ((struct open_frame){x->next.at[i].function, begin_ns}));
}

/* Where the stack changed between samples at FROM and TO: in the middle, or if the thread was in a call then,
 * at the end of the call that is nearer and lies between the samples. If none does, at the begin of the call
 * if the sample at TO is the first of a frame that it OPENS, otherwise at its end. Never before the border
 * before. */
static int64_t border_between(struct expander *x, uint32_t track, int64_t from_ns, int64_t to_ns, bool opens)
{
    int64_t at = from_ns + (to_ns - from_ns) / 2;
    uint32_t i = gp_spans_at(&x->calls, track, at);
    while (i != GP_SPAN_NONE && x->calls.list.at[i].parent != GP_SPAN_NONE) i = x->calls.list.at[i].parent;
    if (i != GP_SPAN_NONE) {
        const struct gp_row_span *call = &x->calls.list.at[i];
        bool begins = call->begin_ns >= from_ns, ends = call->end_ns <= to_ns;
        bool back = begins ? !ends || at - call->begin_ns < call->end_ns - at : !ends && opens;
        at = back ? call->begin_ns : call->end_ns;
    }
    if (at < x->border_ns) at = x->border_ns;
    return x->border_ns = at;
}

/* The samples ROWS[0..N-1] of one track, in order of time. */
static void expand_track(struct expander *x, uint32_t track, const uint32_t *rows, size_t n)
{
    const struct gp_events *e = &x->t->events[GP_SAMPLE];
    int64_t last_ns = 0, half = x->period_ns / 2;
    x->border_ns = INT64_MIN;
    for (size_t i = 0; i < n; i++) {
        int64_t at = e->start_ns[rows[i]], end = at + e->dur_ns[rows[i]];
        bool near = i && at - last_ns <= GP_SAMPLE_GAP * x->period_ns;
        if (i && !near) close_from(x, track, 0, border_between(x, track, last_ns, last_ns + 2 * half, false));
        gp_sid does = does_in(x, rows[i], i + 1 < n ? &rows[i + 1] : NULL);
        change(x, track, rows[i], does, border_between(x, track, near ? last_ns : at - 2 * half, at, !near));
        if (!i || end > last_ns) last_ns = end;
    }
    if (n) close_from(x, track, 0, border_between(x, track, last_ns, last_ns + 2 * half, false));
}

struct ordered {
    const struct gp_events *e;
    uint32_t row;
};

static int by_track_and_time(const void *a, const void *b)
{
    const struct ordered *x = a, *y = b;
    const struct gp_events *e = x->e;
    if (e->track[x->row] != e->track[y->row]) return e->track[x->row] < e->track[y->row] ? -1 : 1;
    if (e->start_ns[x->row] != e->start_ns[y->row]) return e->start_ns[x->row] < e->start_ns[y->row] ? -1 : 1;
    return x->row < y->row ? -1 : 1;
}

static uint32_t *sort_rows(const struct gp_events *e)
{
    struct ordered *o = gp_alloc(e->n * sizeof *o);
    uint32_t *rows = gp_alloc(e->n * sizeof *rows);
    for (size_t i = 0; i < e->n; i++) o[i] = (struct ordered){e, (uint32_t)i};
    qsort(o, e->n, sizeof *o, by_track_and_time);
    for (size_t i = 0; i < e->n; i++) rows[i] = o[i].row;
    free(o);
    return rows;
}

void gp_samples_expand(struct gp_trace *t)
{
    struct gp_events *e = &t->events[GP_SAMPLE];
    if (!e->n || !(t->need & GP_NEED(GP_PYTHON))) return;
    /* Times that gp_trace_finish() would refuse tell nothing. */
    uint8_t *keep = gp_alloc(e->n);
    for (size_t i = 0; i < e->n; i++)
        keep[i] = gp_time_fits(e->start_ns[i]) && e->dur_ns[i] >= 0 && e->dur_ns[i] <= GP_DURATION_MOST;
    gp_events_keep(e, keep);
    free(keep);
    if (!e->n) return;
    struct expander x = {.t = t,
                         .period_ns = gp_samples_period(t),
                         .category = gp_intern_cstr(&t->strings, GP_SAMPLED_CATEGORY),
                         .garbage = gp_intern_cstr(&t->strings, GP_SAMPLED_GARBAGE),
                         .running = gp_intern_cstr(&t->strings, GP_SAMPLED_RUNNING)};
    uint32_t *to = join_tracks(t);
    find_functions(&x.functions, t);
    x.names = gp_zalloc((x.functions.list.n + 1) * sizeof *x.names);
    uint8_t *sampled = gp_zalloc(t->tracks.n + 1);
    for (size_t i = 0; i < e->n; i++) sampled[e->track[i] = to[e->track[i]]] = 1;
    gp_spans_build(&x.calls, t, GP_NEED(GP_API), sampled);
    gp_spans_build(&x.ranges, t, GP_NEED(GP_RANGE) | GP_NEED(GP_OP), sampled);
    free(sampled);
    uint32_t *rows = sort_rows(e);
    for (size_t i = 0, k; i < e->n; i = k) {
        for (k = i; k < e->n && e->track[rows[k]] == e->track[rows[i]]; k++) continue;
        expand_track(&x, e->track[rows[i]], rows + i, k - i);
    }
    free(rows);
    free(to);
    GP_VEC_FREE(&x.open);
    GP_VEC_FREE(&x.next);
    gp_spans_release(&x.calls);
    gp_spans_release(&x.ranges);
    GP_VEC_FREE(&x.functions.list);
    free(x.functions.of);
    free(x.names);
}

/* ---- spans ---- */

static int by_track_and_begin(const void *a, const void *b)
{
    const struct gp_row_span *x = a, *y = b;
    if (x->track != y->track) return x->track < y->track ? -1 : 1;
    if (x->begin_ns != y->begin_ns) return x->begin_ns < y->begin_ns ? -1 : 1;
    return x->end_ns > y->end_ns ? -1 : x->end_ns < y->end_ns;
}

static void add_table(struct gp_spans *s, const struct gp_events *e, const uint8_t *wanted)
{
    for (size_t i = 0; i < e->n && s->list.n < GP_SPAN_NONE; i++) {
        int64_t begin = e->start_ns[i], dur = e->dur_ns[i];
        if (!wanted[e->track[i]] || !gp_time_fits(begin) || dur <= 0 || dur > GP_DURATION_MOST) continue;
        GP_VEC_PUSH(&s->list, ((struct gp_row_span){begin, begin + dur, e->track[i], GP_SPAN_NONE}));
    }
}

void gp_spans_build(struct gp_spans *s, const struct gp_trace *t, uint32_t tables, const uint8_t *wanted)
{
    *s = (struct gp_spans){0};
    for (int i = 0; i < GP_TABLE_COUNT; i++)
        if (tables & GP_NEED(i)) add_table(s, &t->events[i], wanted);
    s->first = gp_zalloc((t->tracks.n + 2) * sizeof *s->first);
    if (s->list.n) qsort(s->list.at, s->list.n, sizeof *s->list.at, by_track_and_begin);
    for (size_t i = 0; i < s->list.n; i++) s->first[s->list.at[i].track + 1]++;
    for (size_t i = 0; i < t->tracks.n; i++) s->first[i + 1] += s->first[i];
    uint32_t open = GP_SPAN_NONE;
    for (uint32_t i = 0; i < s->list.n; i++) {
        struct gp_row_span *p = &s->list.at[i];
        if (open != GP_SPAN_NONE && s->list.at[open].track != p->track) open = GP_SPAN_NONE;
        while (open != GP_SPAN_NONE && s->list.at[open].end_ns < p->end_ns) open = s->list.at[open].parent;
        p->parent = open;
        open = i;
    }
}

void gp_spans_release(struct gp_spans *s)
{
    GP_VEC_FREE(&s->list);
    free(s->first);
    *s = (struct gp_spans){0};
}

uint32_t gp_spans_at(const struct gp_spans *s, uint32_t track, int64_t at_ns)
{
    enum { MOST = 64 };
    uint32_t lo = s->first[track], hi = s->first[track + 1], none = lo;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (s->list.at[mid].begin_ns < at_ns) lo = mid + 1;
        else hi = mid;
    }
    uint32_t i = lo == none ? GP_SPAN_NONE : lo - 1;
    for (int steps = 0; i != GP_SPAN_NONE && s->list.at[i].end_ns <= at_ns; i = s->list.at[i].parent)
        if (++steps == MOST) return GP_SPAN_NONE;
    return i;
}
