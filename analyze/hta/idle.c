/* Adds up the pieces of gp_idle_walk() for each device: by cause, and by what the host was doing. */
#include <stdlib.h>
#include <string.h>
#include "analyze/hta/hta.h"
#include "analyze/hta/hta_priv.h"
#include "analyze/view/idle_walk.h"
#include "analyze/names/name_predicates.h"
#include "analyze/names/names.h"
#include "formats/base/buf.h"

/* ---- samples ---- */

/* How many samples of a thread's stack were taken in a stretch of time. */
struct sample_count {
    const struct gp_trace *t;
    uint32_t *first; /* by track: its first run in RUNS; one more than there are tracks */
    uint32_t *runs;  /* rows of GP_SAMPLE by track, in order of time */
};

/* The samples of a run before AT. */
static uint64_t before(const struct gp_events *e, uint32_t row, int64_t at_ns)
{
    int64_t more = gp_get_total(e, row), dur = e->dur_ns[row], since = at_ns - e->start_ns[row];
    if (since <= 0) return 0;
    if (more <= 0) return 1;
    int64_t apart = dur / more;
    if (since > dur || apart <= 0) return 1 + (uint64_t)more;
    int64_t n = 1 + (since - 1) / apart;
    return (uint64_t)(n < more ? n : more);
}

/* The samples of TRACK in [BEGIN, END). The samples of a run are taken to be at equal distances. O(log n) and
 * the runs in the stretch. */
static uint64_t count_samples(const struct sample_count *s, uint32_t track, int64_t begin_ns, int64_t end_ns)
{
    const struct gp_events *e = &s->t->events[GP_SAMPLE];
    uint32_t lo = s->first[track], hi = s->first[track + 1], last = hi;
    /* the first run that ends at BEGIN or later: the runs of a thread do not overlap */
    GP_NARROW(lo, hi, mid, e->start_ns[s->runs[mid]] + e->dur_ns[s->runs[mid]] < begin_ns)
    uint64_t n = 0;
    for (; lo < last && e->start_ns[s->runs[lo]] < end_ns; lo++) {
        uint64_t a = before(e, s->runs[lo], begin_ns), b = before(e, s->runs[lo], end_ns);
        n += b > a ? b - a : 0;
    }
    return n;
}

/* ---- the innermost frames of each sort ---- */

enum sort { SORT_RANGE, SORT_PYTHON, SORT_OP, SORT_API, SORT_COUNT };
enum { SORT_BITS = 2 };

/* A host stack as shown for a culprit: the innermost label of each sort, in the result's strings. Number 0 is
 * the empty stack. Steps and tokens have many names and one label. */
struct stack {
    gp_sid label[SORT_COUNT];
};

struct sum {
    struct gp_idle_culprit c; /* its labels are those of the stack, which it gets last */
    uint32_t stack;
    int64_t gap_begin_ns; /* the gap that was counted last, and its share of it */
    int64_t gap_ns, gap_at_ns;
};

struct adder {
    struct gp_hta_idle *idle;
    const struct gp_view *v;
    struct sample_count samples;
    struct gp_host_memo stack_of; /* of a host event: the number of its stack */
    GP_VEC(struct stack) stacks;
    struct gp_map inner;     /* hash of a stack -> its number */
    struct gp_map inside;    /* stack, sort and name of an event inside it -> the stack of that */
    GP_VEC(struct sum) sums; /* of the device at hand */
    GP_VEC(uint32_t) sum_of; /* by stack << CAUSE_BITS | cause: 1 + its sum, 0: none */
    uint32_t device;
    int64_t gap_begin_ns; /* the gap at hand */
    bool in_gap;
    gp_sid *label_of[SORT_COUNT]; /* by name: its label, NOT_SHOWN; 0: not looked at */
};

#define NO_STACK UINT32_MAX
enum { CAUSE_BITS = 4 };

#define NOT_SHOWN UINT32_MAX

static gp_sid make_label(struct adder *a, enum gp_table table, gp_sid name)
{
    const char *text = gp_trace_str(a->v->t, name);
    size_t n = gp_string_len(&a->v->t->strings, name);
    struct gp_buf label = {0};
    if (!name || (table == GP_PYTHON && (gp_name_is_glue(text, n) || gp_frame_is_state(text))))
        return NOT_SHOWN;
    gp_name_label(&label, table, text, n);
    gp_sid sid = gp_intern(&a->idle->strings, label.n ? label.data : text, label.n ? label.n : n);
    gp_buf_release(&label);
    return sid ? sid : NOT_SHOWN;
}

static gp_sid label_of(struct adder *a, enum sort sort, enum gp_table table, gp_sid name)
{
    if (!a->label_of[sort]) a->label_of[sort] = gp_zalloc(((size_t)a->v->t->strings.n + 1) * sizeof name);
    gp_sid *known = &a->label_of[sort][name];
    if (!*known) *known = make_label(a, table, name);
    return *known;
}

/* The number of stack AROUND with its label of that sort replaced by LABEL. */
static uint32_t number_of(struct adder *a, uint32_t around, enum sort sort, gp_sid label)
{
    struct stack s = a->stacks.at[around];
    s.label[sort] = label;
    uint64_t key = gp_hash_place(&s, sizeof s, gp_hash_seed());
    for (;; key++) { /* hashes that meet go to the next key */
        uint32_t known = *gp_map_put(&a->inner, key, (uint32_t)a->stacks.n);
        if (known == a->stacks.n) GP_VEC_PUSH(&a->stacks, s);
        if (!memcmp(&a->stacks.at[known], &s, sizeof s)) return known;
    }
}

/* The stack of a host event inside stack AROUND. */
static uint32_t stack_inside(void *ctx, uint32_t id, uint32_t around)
{
    struct adder *a = ctx;
    if (around == GP_HOST_NONE) around = 0;
    const struct gp_host_event *ev = &a->v->hs.nodes[id];
    enum sort sort = ev->table == GP_RANGE    ? SORT_RANGE
                     : ev->table == GP_PYTHON ? SORT_PYTHON
                     : ev->table == GP_OP     ? SORT_OP
                                              : SORT_API;
    gp_sid label = label_of(a, sort, (enum gp_table)ev->table, a->v->t->events[ev->table].name[ev->row]);
    if (label == NOT_SHOWN || a->stacks.at[around].label[sort] == label) return around;
    if (around >> (32 - SORT_BITS)) return number_of(a, around, sort, label);
    uint32_t *known = gp_map_put(&a->inside, (uint64_t)(around << SORT_BITS | sort) << 32 | label, NO_STACK);
    if (*known == NO_STACK) *known = number_of(a, around, sort, label);
    return *known;
}

static uint32_t stack_of(struct adder *a, uint32_t id)
{
    uint32_t stack = gp_host_memo_get(&a->stack_of, id, stack_inside, a);
    return stack == GP_HOST_NONE ? 0 : stack;
}

/* ---- sums ---- */

static void close_gap_of(struct sum *s)
{
    if (s->gap_ns <= s->c.longest_ns) return;
    s->c.longest_ns = s->gap_ns;
    s->c.longest_at_ns = s->gap_at_ns;
}

static void add_to_culprit(struct adder *a, const struct gp_idle_piece *p)
{
    uint32_t stack = stack_of(a, p->node);
    size_t key = (size_t)stack << CAUSE_BITS | p->cause;
    if (key >= a->sum_of.n) {
        GP_VEC_RESERVE(&a->sum_of, key + 1);
        memset(a->sum_of.at + a->sum_of.n, 0, (a->sum_of.cap - a->sum_of.n) * sizeof *a->sum_of.at);
        a->sum_of.n = a->sum_of.cap;
    }
    uint32_t *known = &a->sum_of.at[key];
    if (!*known) {
        struct sum fresh = {.stack = stack, .gap_begin_ns = INT64_MIN};
        fresh.c.cause = p->cause;
        GP_VEC_PUSH(&a->sums, fresh);
        *known = (uint32_t)a->sums.n;
    }
    struct sum *s = &a->sums.at[*known - 1];
    if (s->gap_begin_ns != p->gap_begin_ns) {
        close_gap_of(s);
        s->gap_begin_ns = p->gap_begin_ns;
        s->gap_ns = 0;
        s->gap_at_ns = p->begin_ns;
        s->c.gaps++;
    }
    s->gap_ns += p->end_ns - p->begin_ns;
    s->c.idle_ns += p->end_ns - p->begin_ns;
    if (p->node != GP_HOST_NONE)
        s->c.samples += count_samples(&a->samples, gp_host_track(&a->v->hs, p->node), p->begin_ns, p->end_ns);
}

GP_COMPARE(by_time, struct gp_idle_culprit, GP_DOWN(idle_ns) GP_UP(longest_at_ns) GP_UP(cause))

enum { MOST_CULPRITS = 100 };
_Static_assert(GP_IDLE_CAUSE_COUNT <= 1 << CAUSE_BITS, "these bits hold a cause");

/* What was added up for the device at hand becomes its culprits. */
static void finish_device(struct adder *a)
{
    if (!a->sums.n) return;
    struct gp_hta_idle_device *d = &a->idle->devices[a->device];
    struct gp_idle_culprit *c = gp_alloc(a->sums.n * sizeof *c);
    size_t n = a->sums.n;
    for (size_t i = 0; i < n; i++) {
        struct sum *s = &a->sums.at[i];
        const struct stack *stack = &a->stacks.at[s->stack];
        close_gap_of(s);
        c[i] = s->c;
        c[i].range = stack->label[SORT_RANGE];
        c[i].python = stack->label[SORT_PYTHON];
        c[i].op = stack->label[SORT_OP];
        c[i].api = stack->label[SORT_API];
    }
    qsort(c, n, sizeof *c, by_time);
    for (size_t i = 0; i < n; i++) {
        if (i < MOST_CULPRITS) GP_VEC_PUSH(&d->culprits, c[i]);
        else d->rest_ns[c[i].cause] += c[i].idle_ns;
    }
    free(c);
    for (size_t i = 0; i < a->sums.n; i++)
        a->sum_of.at[(size_t)a->sums.at[i].stack << CAUSE_BITS | a->sums.at[i].c.cause] = 0;
    a->sums.n = 0;
}

static void add_piece(void *ctx, const struct gp_idle_piece *p)
{
    struct adder *a = ctx;
    if (p->device != a->device) {
        finish_device(a);
        a->device = p->device;
        a->in_gap = false;
    }
    struct gp_hta_idle_device *d = &a->idle->devices[p->device];
    if (!a->in_gap || a->gap_begin_ns != p->gap_begin_ns)
        gp_histogram_add(&d->gaps, p->gap_end_ns - p->gap_begin_ns);
    a->in_gap = true;
    a->gap_begin_ns = p->gap_begin_ns;
    d->cause_ns[p->cause] += p->end_ns - p->begin_ns;
    add_to_culprit(a, p);
}

static void *add_idle(void *arg)
{
    struct gp_hta_idle *idle = arg;
    const struct gp_view *v = idle->v;
    struct adder a = {.idle = idle, .v = v, .stack_of.hs = &v->hs};
    const struct gp_events *e = &v->t->events[GP_SAMPLE];
    a.samples.t = v->t;
    a.samples.first = gp_zalloc((v->t->tracks.n + 2) * sizeof *a.samples.first);
    a.samples.runs = gp_alloc((e->n + 1) * sizeof *a.samples.runs);
    for (size_t i = 0; i < e->n; i++) a.samples.first[e->track[i] + 2]++;
    for (size_t k = 0; k < v->t->tracks.n; k++) a.samples.first[k + 2] += a.samples.first[k + 1];
    for (size_t i = 0; i < e->n; i++) a.samples.runs[a.samples.first[e->track[i] + 1]++] = (uint32_t)i;
    GP_VEC_PUSH(&a.stacks, (struct stack){{0}});
    gp_idle_walk(v, add_piece, &a);
    finish_device(&a);
    gp_host_memo_release(&a.stack_of);
    GP_RELEASE(free, a.samples.first, a.samples.runs);
    a.samples = (struct sample_count){0};
    for (int i = 0; i < SORT_COUNT; i++) free(a.label_of[i]);
    GP_RELEASE(gp_vec_free, &a.stacks, &a.sums, &a.sum_of);
    GP_RELEASE(gp_map_release, &a.inner, &a.inside);
    return NULL;
}

/* ---- in parallel with the other parts ---- */

void gp_hta_start_idle(struct gp_hta_idle *idle, const struct gp_hta_opts *opts, const struct gp_view *v)
{
    enum { WORTH_A_THREAD = 1000 /* GPU events */ };
    memset(idle, 0, sizeof *idle);
    idle->v = v;
    idle->devices = gp_zalloc((v->devices.n + 1) * sizeof *idle->devices);
    bool wanted = opts->threads > 1 && v->t->events[GP_GPU].n >= WORTH_A_THREAD;
    idle->started = wanted && !pthread_create(&idle->thread, NULL, add_idle, idle);
}

void gp_hta_finish_idle(struct gp_hta_idle *idle, struct gp_hta *h)
{
    if (idle->started) pthread_join(idle->thread, NULL);
    else add_idle(idle);
    for (size_t i = 0; i < idle->v->devices.n; i++) {
        struct gp_hta_idle_device *from = &idle->devices[i];
        struct gp_hta_device *to = &h->devices.at[i];
        memcpy(to->idle_cause_ns, from->cause_ns, sizeof to->idle_cause_ns);
        memcpy(to->culprit_rest_ns, from->rest_ns, sizeof to->culprit_rest_ns);
        gp_histogram_merge(&to->gaps, &from->gaps);
        gp_rows_move(&gp_hta_culprits, &to->culprits, &h->strings, &from->culprits, &idle->strings);
        gp_histogram_release(&from->gaps);
    }
    free(idle->devices);
    gp_strings_release(&idle->strings);
}
