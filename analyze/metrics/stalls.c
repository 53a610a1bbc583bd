#include "analyze/metrics/stalls.h"

#include <math.h>
#include <stdlib.h>
#include "analyze/cost/ceilings.h"
#include "analyze/cost/occupancy.h"
#include "analyze/math/sums.h"
#include "analyze/metrics/code.h"
#include "analyze/metrics/measured.h"
#include "analyze/names/name_predicates.h"
#include "analyze/names/names.h"
#include "formats/base/buf.h"
#include "formats/base/count.h"
#include "formats/base/map.h"
#include "formats/base/order.h"
#include "formats/base/str.h"

/* README.md, "Stalls", has the sources of these. */
static const double REACHED = 0.8, HALF_FULL = 0.5;         /* of a peak, by good kernels; of issue slots */
static const double MEMORY_MOST = 0.93, MEMORY_LEAST = 0.5; /* of memory's, by the best and by short ones */
static const double ISSUE_CYCLES = 1.4, ISSUE_ERROR = 0.1; /* in which a sample sees one as issued; of that */
static const double MEMORY_START_NS = 20000;               /* until memory is busy, and after it */
static const double LAUNCH_LEAST_NS = 1000, LAUNCH_MOST_NS = 5000; /* that nothing saves */
static const double TIME_ERROR = 0.03;                             /* of the time that is left */
static const double MEMORY_CYCLES = 479;
static const double QUEUED = 2;                         /* times that: what waits longer waits for others */
static const double FEW_WARPS = 0.25;                   /* of those that fit, that hide little */
static const double IDLE_LEAST = 0.3, IDLE_ERROR = 0.1, /* of multiprocessors: blocks are too few */
    SAMPLES_MISSED = 1.5; /* times as many there were, where issue slots are full */
static const double NARROW = 0.18, WIDE = 0.4, SHIFT = 0.65, HIGH_ERROR = 0.1; /* of intervals */
static const double ERROR_MOST = 0.03, NORMAL_95 = 1.96;                       /* 3 points */
/* Where there are counters. */
static const double SPREAD = 1.5;          /* times the sectors that are needed: lanes lie apart */
static const double ALIKE = 0.8;           /* of the bytes that another line loads: the same ones */
static const double CONFLICTS_LEAST = 0.1; /* of what shared memory does */
static const double LANES_FULL = 0.75,
                    LANES_LEAST = 0.6; /* of lanes: nothing to mend; and once it is mended */
static const double BUSIEST_LEAST = 0.45,
                    SPILLS_LEAST = 0.4;                   /* of its peak, what is busiest once it is mended */
static const double CACHE_FACTOR = 4, CACHE_SLOWER = 2.2; /* than so many times memory, at least */
enum { OP_SAMPLES = 50, SECTOR = 32, ROOTS = 1024 };
enum { SCHEDULERS = 4, TAIL_WAVES = 4, SAMPLES_MOST = INT32_MAX, LANES = 32, WARPS_MOST = 64 };

#define X(id, name, ...) #name,
static const char *const cause_words[] = {GP_STALL_CAUSES(X) NULL};
#undef X
const char *gp_stall_cause_name(enum gp_stall_cause c) { return cause_words[c]; }
GP_WORD(gp_stall_cause_text, enum gp_stall_cause, GP_STALL_CAUSES, 2)
GP_WORD(gp_stall_cause_fix, enum gp_stall_cause, GP_STALL_CAUSES, 3)

static const struct {
    uint32_t reasons;
    double cycles;
} causes[] = {
#define X(id, name, text, fix, reasons, cycles) {reasons, cycles},
    GP_STALL_CAUSES(X)
#undef X
};

/* What stalls is at the instruction that it waits for, where the code is known. */
struct sample {
    uint32_t kernel, reason;
    uint64_t line; /* index in trace->stacks; without a line the offset, and NO_LINE */
    uint64_t offset;
    int64_t total, latency;
    uint32_t op, bytes; /* enum gp_op, GP_OP_COUNT: not known; BYTES: that the warp accesses */
    uint32_t loop;      /* the innermost around it; 0: none, or not known */
    uint32_t root;      /* the argument that points to what it accesses; 0: not known */
    bool diverges;      /* lanes take different numbers of its turns */
    bool chained;       /* its address was loaded through the same argument, in the same loop */
};
#define NO_LINE (UINT64_C(1) << 63)

struct find {
    struct gp_stalls *s;
    const struct gp_trace *t;
    struct gp_map kernel_of; /* by name in the trace */
    struct gp_cubins cubins;
    struct sample *samples;
    size_t n;
    const struct gp_device *device; /* NULL: not known */
};

void gp_kernel_names(struct gp_strings *strings, gp_sid name, gp_sid *label, gp_sid *brief)
{
    struct gp_buf full = {0}, shorter = {0};
    gp_name_demangle(&full, gp_string(strings, name), gp_string_len(strings, name));
    gp_name_kernel_label(&shorter, gp_buf_str(&full), full.n);
    *label = gp_intern(strings, gp_buf_str(&full), full.n);
    *brief = gp_intern(strings, gp_buf_str(&shorter), shorter.n);
    gp_buf_release(&full);
    gp_buf_release(&shorter);
}

/* ---- reading ---- */

/* CUPTI's name of a reason; GP_STALL_COUNT for what issued. */
static uint32_t reason_of(const char *name)
{
    if (!strcmp(name, "selected")) return GP_STALL_COUNT;
    if (!strcmp(name, "no_instructions")) return GP_STALL_INSTRUCTION;
    for (uint32_t r = 0; r < GP_STALL_COUNT; r++)
        if (!strcmp(name, gp_stall_name((enum gp_stall)r))) return r;
    return GP_STALL_MISC;
}

static uint32_t kernel_of(struct find *f, gp_sid name)
{
    uint32_t *at = gp_map_put(&f->kernel_of, name, (uint32_t)f->s->kernels.n);
    if (*at < f->s->kernels.n) return *at;
    const struct gp_stalled one = {
        .name = gp_intern(f->s->strings, gp_trace_str(f->t, name), gp_string_len(&f->t->strings, name)),
        .begin_ns = INT64_MAX,
        .end_ns = INT64_MIN,
        .config = UINT32_MAX,
        .occupancy = NAN,
        .waves = NAN,
        .memory = NAN,
        .l1 = NAN,
        .lanes = NAN,
        .cause = GP_STALL_CAUSE_COUNT};
    GP_VEC_PUSH(&f->s->kernels, one);
    return *at;
}

/* The code of row I; NULL: not known. */
static struct gp_code *code_of(struct find *f, size_t i)
{
    static const char module[] = "cubin ";
    const struct gp_events *e = &f->t->events[GP_PC];
    const struct gp_stack *at = &f->t->stacks.at[gp_get_stack(e, i)];
    if (!f->cubins.cubins.n || !gp_get_stack(e, i) || !at->symbol) return NULL;
    const char *name = gp_trace_str(f->t, f->t->symbols.at[at->symbol].module);
    if (!gp_starts(name, module)) return NULL;
    struct gp_code *code =
        gp_code_of(&f->cubins, strtoull(name + sizeof module - 1, NULL, 16), gp_trace_str(f->t, e->name[i]));
    return code && gp_get_addr(e, i) / GP_OP_BYTES < code->n ? code : NULL;
}

/* Instructions have the lines of their samples. Those without, or of another file than that of the first one,
 * were inlined: they have the line that made their address, or else the line behind, which uses them. */
static void place_code(struct find *f)
{
    const struct gp_events *e = &f->t->events[GP_PC];
    const struct gp_stack *stacks = f->t->stacks.at;
    for (size_t i = 0; i < e->n; i++) {
        struct gp_code *code = code_of(f, i);
        if (code) code->ops[gp_get_addr(e, i) / GP_OP_BYTES].stack = gp_get_stack(e, i);
    }
    GP_EACH(struct gp_code, code, f->cubins.functions) {
        uint32_t first = 0, behind = 0;
        for (size_t i = 0; i < code->n && !first; i++) first = code->ops[i].stack;
        for (size_t i = code->n; i-- > 0;) {
            uint32_t *stack = &code->ops[i].stack;
            if (*stack && stacks[*stack].file == stacks[first].file) behind = *stack;
            else *stack = code->ops[i].address < i ? 0 : behind;
        }
        for (size_t i = 0; i < code->n; i++)
            if (!code->ops[i].stack) code->ops[i].stack = code->ops[code->ops[i].address].stack;
    }
}

/* The sample is of the instruction of row I, or of the one that it waits for. */
static void put_place(struct find *f, struct sample *x, size_t i)
{
    const struct gp_code *code = code_of(f, i);
    uint32_t stack = gp_get_stack(&f->t->events[GP_PC], i);
    if (code) {
        size_t at = x->offset / GP_OP_BYTES;
        if (x->reason < GP_STALL_COUNT) at = gp_code_awaited(code, at, (enum gp_stall)x->reason);
        const struct gp_code_op *op = &code->ops[at];
        x->op = op->kind;
        x->bytes = op->bytes;
        x->loop = op->loop;
        x->root = op->root % ROOTS;
        x->diverges = op->diverges;
        const struct gp_code_op *made = op->made ? &code->ops[op->made - 1] : NULL;
        x->chained = made && op->root && made->root == op->root && made->loop == op->loop;
        x->offset = at * GP_OP_BYTES;
        if (op->stack) stack = op->stack;
        f->s->kernels.at[x->kernel].local_bytes = code->frame_bytes;
    }
    x->line = stack ? stack : x->offset | NO_LINE;
}

static void read_samples(struct find *f)
{
    const struct gp_events *e = &f->t->events[GP_PC];
    f->samples = gp_zalloc((e->n + 1) * sizeof *f->samples);
    for (size_t i = 0; i < e->n; i++) {
        if (gp_get_total(e, i) <= 0) continue; /* code, or damaged */
        const uint32_t k = kernel_of(f, e->name[i]);
        struct gp_stalled *one = &f->s->kernels.at[k];
        const int64_t total = gp_get_total(e, i), end = e->start_ns[i] + e->dur_ns[i];
        const double latency = gp_get_value(e, i);
        if (e->start_ns[i] < one->begin_ns) one->begin_ns = e->start_ns[i];
        if (end > one->end_ns) one->end_ns = end;
        if (total > SAMPLES_MOST) continue; /* damaged */
        struct sample x = {.kernel = k,
                           .reason = reason_of(gp_trace_str(f->t, gp_get_series(e, i))),
                           .offset = gp_get_addr(e, i),
                           .total = total,
                           .latency = latency > 0 && latency <= (double)total ? (int64_t)latency : 0,
                           .op = GP_OP_COUNT};
        put_place(f, &x, i);
        f->samples[f->n++] = x;
        f->s->samples = gp_add_saturated(f->s->samples, total);
    }
}

GP_COMPARE(by_line, struct sample, GP_UP(kernel) GP_UP(line) GP_UP(offset) GP_UP(reason))

static void read_launches(struct find *f)
{
    const struct gp_trace *t = f->t;
    const struct gp_events *gpu = &t->events[GP_GPU];
    int64_t *ns = gp_zalloc((t->configs.n + 1) * sizeof *ns);
    for (size_t i = 0; i < gpu->n; i++) {
        const uint32_t config = gp_get_config(gpu, i);
        const uint32_t *k = gp_map_get(&f->kernel_of, t->configs.at[config].name);
        struct gp_stalled *one = k ? &f->s->kernels.at[*k] : NULL;
        if (!k || gpu->start_ns[i] > one->end_ns || gpu->start_ns[i] + gpu->dur_ns[i] < one->begin_ns)
            continue;
        one->count++;
        one->time_ns = gp_add_saturated(one->time_ns, gpu->dur_ns[i]);
        ns[config] = gp_add_saturated(ns[config], gpu->dur_ns[i]);
        if (one->config == UINT32_MAX || ns[config] > ns[one->config]) one->config = config, one->row = i;
    }
    free(ns);
    for (size_t k = 0; k < f->s->kernels.n; k++) {
        struct gp_stalled *one = &f->s->kernels.at[k];
        struct gp_occupancy o;
        if (one->config == UINT32_MAX) continue;
        const struct gp_config *c = &t->configs.at[one->config];
        gp_occupancy_of(&o, t, c, f->device);
        one->registers = c->has & GP_HAS_REGS ? c->registers : 0;
        if (!one->local_bytes) one->local_bytes = c->local_bytes;
        if (o.known) one->occupancy = o.achieved;
        if (o.waves > 0) one->waves = o.waves;
    }
}

static void read_counters(struct find *f, const struct gp_trace *counters)
{
    struct gp_measured m;
    if (!counters->events[GP_METRIC].n) return;
    gp_measured_init(&m, counters, f->t);
    GP_EACH(struct gp_stalled, k, f->s->kernels)
        if (k->config != UINT32_MAX) k->counted = gp_measured_parts(&m, k->row, k->counts);
    gp_measured_release(&m);
}

/* ---- parts ---- */

static double error_of(double part, int64_t samples)
{
    return NORMAL_95 * sqrt(part * (1 - part) / (double)samples);
}

static void add(struct gp_stall_part *p, const struct sample *x)
{
    p->samples += x->total;
    p->latency += x->latency;
    if (x->reason != GP_STALL_COUNT && x->reason != GP_STALL_NOT_SELECTED) p->stalled += x->total;
}

GP_COMPARE(by_samples, struct gp_stall_part, GP_DOWN(stalled) GP_DOWN(samples) GP_UP(offset) GP_UP(reason))
GP_COMPARE(by_turns, struct gp_stall_part, GP_DOWN(samples) GP_UP(offset))

static void finish(struct gp_stall_part *p, const struct gp_stalled *k)
{
    const double part = (double)p->samples / (double)k->samples;
    p->pct = 100 * part;
    p->error_pct = 100 * error_of(part, k->samples);
}

/* Cycles in which a warp issued, at least. */
static double least_issue(const struct gp_stalled *k)
{
    return 1 - pow((double)k->latency / (double)k->samples, 1 / ISSUE_CYCLES);
}

/* The N samples of one line. */
static void add_line(struct find *f, struct gp_stalled *k, const struct sample *x, size_t n)
{
    struct gp_stall_part p = {.offset = x->offset,
                              .reason = GP_STALL_COUNT,
                              .label = k->label,
                              .brief = k->brief,
                              .first = (size_t)(x - f->samples),
                              .n = n};
    if (!(x->line & NO_LINE)) {
        const struct gp_stack *at = &f->t->stacks.at[x->line];
        p.file =
            gp_intern(f->s->strings, gp_trace_str(f->t, at->file), gp_string_len(&f->t->strings, at->file));
        p.line = at->line;
    }
    for (size_t i = 0; i < n; i++) {
        add(&p, &x[i]);
        p.of[x[i].reason] += x[i].total;
        if (x[i].reason == GP_STALL_COUNT || x[i].reason == GP_STALL_NOT_SELECTED) continue;
        if (p.reason == GP_STALL_COUNT || p.of[x[i].reason] > p.of[p.reason]) p.reason = x[i].reason;
    }
    if (p.stalled) p.reason_pct = 100 * (double)p.of[p.reason] / (double)p.stalled;
    finish(&p, k);
    GP_VEC_PUSH(&k->lines, p);
}

static void add_parts(struct find *f, struct gp_stalled *k, const struct sample *x, size_t n)
{
    struct gp_stall_part of[GP_STALL_COUNT + 1] = {0};
    for (size_t i = 0; i < n; i++) {
        of[x[i].reason].reason = x[i].reason;
        add(&of[x[i].reason], &x[i]);
        k->samples += x[i].total;
        k->latency += x[i].latency;
    }
    k->issued = of[GP_STALL_COUNT].samples;
    for (size_t r = 0; r <= GP_STALL_COUNT; r++) {
        if (!of[r].samples) continue;
        of[r].stalled = of[r].samples; /* sorted by all of them */
        finish(&of[r], k);
        GP_VEC_PUSH(&k->reasons, of[r]);
    }
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && x[end].line == x[i].line;) end++;
        add_line(f, k, x + i, end - i);
    }
    qsort(k->reasons.at, k->reasons.n, sizeof *k->reasons.at, by_samples);
    qsort(k->lines.at, k->lines.n, sizeof *k->lines.at, least_issue(k) < REACHED ? by_samples : by_turns);
}

/* ---- what mending saves ---- */

/* The cause that a sample belongs to; GP_STALL_CAUSE_COUNT: none. */
static enum gp_stall_cause cause_of(const struct sample *x)
{
    enum gp_stall_cause c =
        x->reason < GP_STALL_COUNT ? gp_stall_cause_of((enum gp_stall)x->reason) : GP_STALL_CAUSE_COUNT;
    /* All accesses go through the queue of shared memory's. */
    if (x->reason == GP_STALL_MIO && x->op > GP_OP_OTHER && x->op < GP_OP_SHARED) c = GP_CAUSE_MEMORY;
    if (c == GP_CAUSE_MEMORY && x->op == GP_OP_LOCAL) return GP_CAUSE_SPILLS;
    if (c == GP_CAUSE_MEMORY &&
        (x->op == GP_OP_ATOMIC || (x->op < GP_OP_COUNT && x->reason == GP_STALL_MEMBAR)))
        return GP_CAUSE_ATOMICS;
    if (c == GP_CAUSE_CHAIN && x->op == GP_OP_DOUBLE) return GP_CAUSE_UNIT;
    if (c == GP_CAUSE_SHARED && x->op != GP_OP_SHARED && x->op != GP_OP_COUNT) return GP_CAUSE_UNIT;
    return c;
}

/* Stalls of one cause as shares of the kernel's samples. */
struct stall {
    double stalled;
    double left;         /* of it, if each wait takes the least cycles of its kind */
    double waits;        /* instructions that waited, each once; samples */
    double most, cycles; /* samples of the instruction with most of the stall, and its cycles per wait */
    uint32_t loop;       /* around that; 0: none */
    bool chained;        /* that */
};

static void add_stall(struct stall *s, const struct gp_stalled *k, const struct sample *x, size_t n,
                      enum gp_stall_cause cause)
{
    const double cycles = causes[cause].cycles, all = (double)k->samples;
    for (size_t i = 0, end; i < n; i = end) {
        double stalled = 0, issued = 0;
        for (end = i; end < n && x[end].offset == x[i].offset; end++) {
            if (x[end].reason == GP_STALL_COUNT) issued += (double)x[end].total;
            else if (cause_of(&x[end]) == cause) stalled += (double)x[end].total;
        }
        /* Nobody waits for a store, unless its queue is full. */
        double least = x[i].op == GP_OP_STORE ? 0 : cycles > 0 ? cycles * issued : stalled / 2;
        s->stalled += stalled / all;
        s->left += (least < stalled ? least : stalled) / all;
        if (stalled > 0) s->waits += issued;
        if (stalled <= s->most) continue;
        s->most = stalled;
        s->loop = x[i].loop, s->chained = x[i].chained;
        s->cycles = issued > 0 ? stalled / issued : INFINITY;
    }
}

/* Of all of a kernel's samples, as shares of them. */
struct sums {
    double behind, elsewhere, unselected;       /* stalls in the cause's queue; others of other lines; none */
    double local_issued, local_stalled;         /* instructions for local memory, and stalls for it */
    double here, of[GP_OP_COUNT];               /* instructions of the line; by what they do */
    double all[GP_OP_COUNT], wide[GP_OP_COUNT]; /* of all lines; times the bytes that they access */
    double around, diverging; /* with those of its loop; of loops that lanes leave one by one */
    double bytes, once;       /* per sample; once: what memory has to give or take, whatever caches have */
    double twice;             /* of these, at least, are read again */
    double bytes_error;       /* 95%, as a part of them; NAN: the code is not known */
    bool diverges;            /* half of the instructions and more are in such loops */
};

/* Does X wait in the queue of CAUSE? All that waits for memory goes through one queue of the multiprocessor,
 * with what that has to give besides. */
static bool waits_behind(const struct sample *x, enum gp_stall_cause cause)
{
    const uint32_t memory =
        1U << GP_CAUSE_MEMORY | 1U << GP_CAUSE_ATOMICS | 1U << GP_CAUSE_SPILLS | 1U << GP_CAUSE_SHARED;
    const enum gp_stall_cause own = cause_of(x);
    if (cause == GP_CAUSE_UNIT && (own == cause || own == GP_CAUSE_SHARED || own == GP_CAUSE_BARRIER))
        return true; /* and barriers are late by that */
    if (own == cause) return causes[cause].cycles > 0;
    return x->op < GP_OP_COUNT && memory >> cause & 1 &&
           (memory >> own & 1 || x->reason == GP_STALL_SHORT_SCOREBOARD || x->reason == GP_STALL_MIO);
}

/* Adds up what the N samples of a line load, by argument. */
static void add_loads(double *bytes, const struct sample *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (x[i].reason == GP_STALL_COUNT && x[i].op == GP_OP_LOAD)
            bytes[x[i].root] += (double)x[i].total * x[i].bytes;
}

/* Bytes per sample. ONCE: of the lines that load most from each argument, of those that wait for memory
 * itself, and of the one that stores most: other lines may access the same. TWICE: of lines that load as much
 * from an argument as another did in another loop. */
static void find_once(struct sums *s, const struct gp_stalled *k, const struct sample *x, size_t n)
{
    double of_line[ROOTS] = {0}, most[ROOTS] = {0}, all[ROOTS] = {0}, stored = 0, loaded = 0;
    uint32_t loop[ROOTS] = {0};
    for (int turn = 0; turn < 2; turn++) {
        for (size_t i = 0, end; i < n; i = end) {
            struct stall loads = {0};
            double stores = 0;
            for (end = i; end < n && x[end].line == x[i].line; end++)
                if (x[end].reason == GP_STALL_COUNT && x[end].op == GP_OP_STORE)
                    stores += (double)x[end].total * x[end].bytes;
            stored = fmax(stored, stores);
            add_loads(of_line, x + i, end - i);
            add_stall(&loads, k, x + i, end - i, GP_CAUSE_MEMORY);
            for (size_t at = i; at < end; at++) {
                const uint32_t root = x[at].root;
                const double bytes = of_line[root];
                if (!(bytes > 0)) continue;
                of_line[root] = 0;
                if (turn && root && bytes >= ALIKE * all[root]) {
                    if (loop[root] && x[at].loop && loop[root] != x[at].loop)
                        s->twice += bytes / (double)k->samples;
                    if (!loop[root]) loop[root] = x[at].loop;
                }
                if (turn) continue;
                all[root] = fmax(all[root], bytes);
                if (loads.cycles >= MEMORY_CYCLES) most[root] = fmax(most[root], bytes);
            }
        }
    }
    for (int root = 1; root < ROOTS; root++) loaded += most[root];
    s->once = (fmax(loaded, most[0]) + stored) / (double)k->samples;
}

static struct sums sums_of(const struct gp_stalled *k, const struct sample *x, size_t n, uint64_t line,
                           uint32_t loop, enum gp_stall_cause cause)
{
    struct sums s = {0};
    double accesses = 0;
    bool known = false;
    for (size_t i = 0; i < n; i++) {
        const double part = (double)x[i].total / (double)k->samples;
        if (waits_behind(&x[i], cause)) s.behind += part;
        else if (x[i].line != line && x[i].reason < GP_STALL_COUNT && x[i].reason != GP_STALL_NOT_SELECTED)
            s.elsewhere += part;
        if (x[i].reason == GP_STALL_NOT_SELECTED) s.unselected += part;
        if (cause_of(&x[i]) == GP_CAUSE_SPILLS) s.local_stalled += part;
        if (x[i].reason != GP_STALL_COUNT || x[i].op == GP_OP_COUNT) continue;
        if (x[i].op == GP_OP_LOCAL) s.local_issued += part;
        if (x[i].diverges) s.diverging += part;
        if (x[i].line == line) s.here += part, s.of[x[i].op] += part;
        if (x[i].line == line || (loop && x[i].loop == loop)) s.around += part;
        if (x[i].bytes) accesses += (double)x[i].total;
        s.all[x[i].op] += part;
        s.wide[x[i].op] += part * x[i].bytes;
        known = true;
    }
    s.bytes = s.wide[GP_OP_LOAD] + s.wide[GP_OP_STORE];
    s.diverges = 2 * s.diverging * (double)k->samples >= (double)k->issued;
    find_once(&s, k, x, n);
    s.bytes_error = !known ? NAN : accesses > 0 ? NORMAL_95 / sqrt(accesses) : 0;
    return s;
}

/* Cycles per second of all multiprocessors; 0: not known. */
static double cycles_of(const struct gp_device *d)
{
    return d && d->sms > 0 && d->core_clock_khz > 0 ? (double)d->sms * (double)d->core_clock_khz * 1e3 : 0;
}

/* The part of the multiprocessors' time in which they had no warps: each gives a sample per period. */
static double idle_part(const struct find *f, const struct gp_stalled *k)
{
    const char *period = gp_trace_get_meta(f->t, "pc.period_cycles"),
               *dropped = gp_trace_get_meta(f->t, "pc.dropped");
    const double cycles = cycles_of(f->device) * (double)k->time_ns / 1e9;
    if (!(cycles > 0) || !period || !dropped || strcmp(dropped, "0") != 0) return NAN;
    return 1 - (double)k->samples * strtod(period, NULL) / cycles;
}

/* The part of the time that memory needs at its peak for what instructions access, BYTES per sample. NAN: not
 * known. */
static double memory_part(const struct find *f, const struct gp_stalled *k, double bytes)
{
    struct gp_ceilings c;
    const double cycles = cycles_of(f->device), idle = least_issue(k) < REACHED ? idle_part(f, k) : NAN;
    if (!(cycles > 0) || !k->issued) return NAN;
    gp_ceilings_of_device(&c, gp_trace_str(f->t, f->device->name), f->device);
    const double issued = SCHEDULERS * cycles * least_issue(k) * (idle > 0 ? 1 - idle : 1),
                 per_s = issued * bytes * (double)k->samples / (double)k->issued;
    return c.memory.per_s > 0 ? per_s / c.memory.per_s : NAN;
}

static double larger(double a, double b) { return a > b ? a : b; }

/* The time of a round in a closed queue: WARPS take turns, each needs the issue slot for ISSUED of the time
 * that a round took, and is away for AWAY of it. By mean value analysis. */
static double round_of(double warps, double issued, double away)
{
    double queue = 0, time = 0;
    for (int n = 1; n - 0.5 <= larger(warps, 1) && n <= WARPS_MOST; n++) {
        time = away + issued * (1 + queue);
        queue = n * (time - away) / time;
    }
    return time;
}

static double per_ns(const struct gp_stalled *k) { return (double)k->count / fmax((double)k->time_ns, 1); }

/* The time becomes LEFT_LEAST to LEFT_MOST of what it was. */
static void bound(struct gp_stalled *k, enum gp_stall_cause cause, double left_least, double left_most)
{
    const double most = fmax(left_least, left_most), least = fmin(left_least, left_most);
    const double low = 1 - most / (1 - TIME_ERROR) - k->error - per_ns(k) * LAUNCH_MOST_NS,
                 high = 1 - least * (1 - TIME_ERROR) + k->error;
    k->cause = cause;
    k->saved_low = larger(low, 0);
    k->saved_high = larger((high < 1 ? high : 1) - per_ns(k) * LAUNCH_LEAST_NS, k->saved_low);
}

/* The last wave of blocks is as long as the others at most, and at least as long as its part of them. Beside
 * that, nothing is saved but the time in which multiprocessors have no blocks. */
static void judge_tail(const struct find *f, struct gp_stalled *k)
{
    const double idle = idle_part(f, k), more = least_issue(k) < REACHED ? 1 : SAMPLES_MISSED,
                 sure = 1 - more * (1 - idle);
    double high = idle, low = sure - IDLE_ERROR;
    if (k->waves > 1 && k->waves <= TAIL_WAVES) {
        const double whole = floor(k->waves),
                     fits = gp_occupancy_fits(&f->t->configs.at[k->config], f->device);
        const double last = ceil((k->waves - whole) * fits) / fits; /* on the busiest multiprocessor */
        high = 1 - k->waves / ceil(k->waves);
        low = 1 - k->waves / (whole + last);
        if (idle < high && idle > low) high = idle;
    } else if (!(sure >= IDLE_LEAST) || k->cause == GP_CAUSE_OCCUPANCY) return;
    if (high > k->saved_high) bound(k, GP_CAUSE_TAIL, 1 - high, 1 - REACHED * low);
    else if (sure >= IDLE_LEAST) k->saved_low = fmin(k->saved_low, REACHED * low); /* either is mended */
}

/* What counters say of a kernel, beside its code and samples, as parts of its time at each unit's peak. */
struct taken {
    bool known;                  /* all of these */
    double memory, cache, issue; /* now */
    double shared;               /* what the L1 gives, shared memory's as well; NAN: not known */
    double needed, needed_cache; /* of the first two, no more than what lanes access */
    double anew, once;           /* of NEEDED at most, and at least: lines may access what others did */
    bool spread;                 /* the lanes of a warp access more sectors than they need */
    bool crowded;                /* accesses of shared memory, without bank conflicts */
    double lanes, lanes_most;    /* that have work, of all; at least and at most */
};

static double per(double some, double all) { return all > 0 ? some / all : NAN; }

/* Of what all lanes of the executed instructions OP would access, the part that they did. 1: some lane of
 * each warp has work, or too few samples tell. */
static double worked(const struct gp_stalled *k, const struct sums *sums, enum gp_op op, double requests,
                     double sectors)
{
    const double samples = sums->all[op] * (double)k->samples,
                 executed = k->counts[GP_PART_INST] * samples / (double)k->issued;
    if (samples < OP_SAMPLES || !(requests < LANES_FULL * executed)) return 1;
    return fmin(sectors * SECTOR * sums->all[op] / (executed * sums->wide[op]), 1);
}

static struct taken taken_of(const struct find *f, const struct gp_stalled *k, const struct sums *sums)
{
    struct taken t = {.lanes = 1, .lanes_most = 1};
    struct gp_ceilings c;
    const double *n = k->counts, *all = sums->all, *wide = sums->wide, s = n[GP_PART_TIME] / 1e9;
    if (!k->counted || !f->device || isnan(sums->bytes_error)) return t;
    gp_ceilings_of_device(&c, gp_trace_str(f->t, f->device->name), f->device);
    double bytes = n[GP_PART_DRAM_READ] + n[GP_PART_DRAM_WRITE];
    if (isnan(bytes)) bytes = n[GP_PART_DRAM_OP_READ] + n[GP_PART_DRAM_OP_WRITE];
    const double cycles = s * cycles_of(f->device), memory = s * c.memory.per_s,
                 cache = s * gp_ceilings_cache_per_s(&c),
                 loaded = all[GP_OP_LOAD] > 0 ? n[GP_PART_LOADS] * wide[GP_OP_LOAD] / all[GP_OP_LOAD] : 0,
                 stored = all[GP_OP_STORE] > 0 ? n[GP_PART_STORES] * wide[GP_OP_STORE] / all[GP_OP_STORE] : 0;
    t.memory = per(bytes, memory);
    t.cache = per((n[GP_PART_L2_READ] + n[GP_PART_L2_WRITTEN]) * SECTOR, cache);
    t.issue = per(n[GP_PART_ISSUED], SCHEDULERS * cycles);
    t.shared = per(n[GP_PART_WAVEFRONTS], cycles);
    t.needed = fmin(t.memory, per(loaded + stored, memory));
    t.needed_cache = fmin(t.cache, per(loaded + stored, cache));
    t.anew = t.once = t.needed;
    if (sums->bytes > 0) {
        t.anew = fmin(t.needed, per(loaded + stored, memory) * (1 - sums->twice / sums->bytes));
        t.once = t.needed * sums->once / sums->bytes;
    }
    t.spread = n[GP_PART_LOAD_SECTORS] * SECTOR > SPREAD * loaded ||
               n[GP_PART_STORE_SECTORS] * SECTOR > SPREAD * stored;
    const double lanes = per(n[GP_PART_THREAD_INST], LANES * n[GP_PART_INST]),
                 loads = worked(k, sums, GP_OP_LOAD, n[GP_PART_LOADS], n[GP_PART_LOAD_SECTORS]),
                 stores = worked(k, sums, GP_OP_STORE, n[GP_PART_STORES], n[GP_PART_STORE_SECTORS]);
    t.known = !isnan(t.memory + t.cache + t.issue + loaded + stored + lanes);
    if (t.known) t.lanes = lanes * fmin(loads, stores), t.lanes_most = lanes * fmax(loads, stores);
    return t;
}

/* The stalls of a line that are mended, and what is known of them. */
struct mend {
    enum gp_stall_cause cause;
    const struct stall *s, *loads; /* of the line, in CAUSE and for memory */
    const struct sums *sums;
    const struct taken *taken;
    double issued, issue, slots; /* samples that issued; cycles in which a warp did; and at least */
    bool queued;                 /* loads wait for other loads */
    bool again;                  /* bytes are read again, as memory could not give as many */
    double least, most;          /* the time that is left, by other stalls and issue slots */
    double kept, turns;          /* instructions that stay; time in which lanes take turns in shared memory */
};

/* Without local memory only other instructions stay, of which fewer warps may fit. */
static void leave_spills(const struct gp_stalled *k, struct mend *m, double others)
{
    const struct sums *sums = m->sums;
    const double rest = m->issued - sums->local_issued + others + m->s->stalled - sums->local_stalled,
                 words = k->local_bytes / (double)sizeof(uint32_t);
    m->kept = m->issued > 0 ? 1 - sums->local_issued / m->issued : 0;
    m->least = m->slots * m->kept;
    m->most = larger(m->issue * m->kept / REACHED, rest * (k->registers ? 1 + words / k->registers : 1));
}

/* What other stalls and issue slots leave. */
static void leave_stalls(const struct gp_stalled *k, const struct sample *of, size_t n, struct mend *m)
{
    const enum gp_stall_cause cause = m->cause;
    const struct sums *sums = m->sums;
    double others = 1 - m->issued - sums->unselected - m->s->stalled;
    m->least = larger(m->slots, m->issued + others - larger(sums->behind - m->s->stalled, 0));
    if (m->again || cause == GP_CAUSE_UNIT || cause == GP_CAUSE_CODE || cause == GP_CAUSE_BARRIER)
        m->least = larger(m->slots * (1 - sums->here / larger(m->issued, sums->here)),
                          m->issued - sums->here + sums->elsewhere); /* the whole line may go */
    /* What waits behind the line no longer does. */
    if (cause == GP_CAUSE_ATOMICS || cause == GP_CAUSE_SHARED || (cause == GP_CAUSE_MEMORY && m->queued)) {
        struct stall queue = {0};
        add_stall(&queue, k, of, n, GP_CAUSE_MEMORY);
        if (cause != GP_CAUSE_SHARED) add_stall(&queue, k, of, n, GP_CAUSE_SHARED);
        others -= larger(queue.stalled - queue.left - (m->loads->stalled - m->loads->left), 0);
    }
    const double away = larger(others, 0) + m->s->left;
    m->most = m->issued > 0 ? round_of(least_issue(k) / m->issued, m->issued, away) : 1;
    m->most = larger(m->most, m->issue / REACHED);
    if (cause == GP_CAUSE_ATOMICS && m->issued > 0) /* in shared memory, the lanes of a warp take turns */
        m->turns = least_issue(k) * sums->of[GP_OP_ATOMIC] / m->issued * SCHEDULERS * LANES * m->taken->lanes;
    m->most += m->turns;
    if (cause == GP_CAUSE_UNIT && sums->all[GP_OP_DOUBLE] > m->issued / 4)
        m->most = fmin(m->most, m->issue / REACHED);
    if (cause == GP_CAUSE_SPILLS && sums->local_stalled > 0) leave_spills(k, m, others);
    if (cause == GP_CAUSE_MEMORY && k->occupancy <= FEW_WARPS && !m->queued) {
        /* More warps wait for as long, side by side, or more loads of each; several may do already. */
        const bool several = m->s->stalled < MEMORY_CYCLES * sums->of[GP_OP_LOAD]; /* at a time */
        m->cause = GP_CAUSE_OCCUPANCY;
        m->least = fmin(m->least, larger(m->slots, k->occupancy));
        m->most = larger(larger(m->issue / REACHED, m->issued + others),
                         several ? m->issued + others + m->s->stalled / 2 : 2 * k->occupancy);
    }
}

/* What bounds the time that is left, once the stalls of M are mended: that, and memory. */
static void bound_stall(const struct find *f, struct gp_stalled *k, const struct sample *of, size_t n,
                        struct mend *m)
{
    const struct sums *sums = m->sums;
    const struct taken *taken = m->taken;
    const bool memory =
        m->cause == GP_CAUSE_MEMORY || m->cause == GP_CAUSE_ATOMICS || m->cause == GP_CAUSE_SPILLS;
    const double type = m->cause == GP_CAUSE_UNIT ? 2 : 1; /* a narrower one has half as many bytes */
    double once = 0, part = memory_part(f, k, memory ? sums->bytes : sums->once);
    if (isnan(sums->bytes_error)) part = NAN;
    m->again = memory && part > 1;
    if (part <= 1) once = memory_part(f, k, sums->once) * (1 - sums->bytes_error) / MEMORY_MOST / type;
    else if (!memory) part = 0; /* the other stalls stay */
    if (part > 0) part *= 1 + sums->bytes_error;
    leave_stalls(k, of, n, m);
    const enum gp_stall_cause cause = m->cause;
    double cache = taken->cache, shared = 0, least = m->least;
    if (taken->known) {
        const bool apart = cause == GP_CAUSE_MEMORY && taken->spread, few = cause == GP_CAUSE_OCCUPANCY;
        once = part = taken->memory;
        if (memory && !few) once = taken->once, part = taken->needed, cache = taken->needed_cache;
        if (cause == GP_CAUSE_MEMORY) part = taken->anew;
        if (!apart && cause != GP_CAUSE_ATOMICS) shared = larger(taken->shared, 0); /* accesses stay */
        if (apart) once = taken->needed, least = taken->issue * (1 - ISSUE_ERROR);
        if (taken->crowded) least = taken->issue * (1 - sums->here / larger(m->issued, sums->here));
        else if (apart || few || !memory) once = larger(once, cache);
        once /= MEMORY_MOST * type;
    }
    const double added =
        cause == GP_CAUSE_ATOMICS ? memory_part(f, k, sums->wide[GP_OP_ATOMIC]) * taken->lanes : 0;
    const double by_memory =
        fmin((part + added) / MEMORY_LEAST, (part + added) / REACHED + per_ns(k) * MEMORY_START_NS);
    double most = !taken->known && (isnan(part) || m->again) ? 1 : larger(by_memory, m->most);
    if (cause == GP_CAUSE_SPILLS && !isnan(part)) /* memory gives it as fast as now, at least */
        most = fmin(most, larger(larger(m->issue * m->kept / SPILLS_LEAST, by_memory),
                                 part / larger(taken->memory, SPILLS_LEAST)));
    if (taken->known &&
        (cause == GP_CAUSE_MEMORY || cause == GP_CAUSE_OCCUPANCY || cause == GP_CAUSE_ATOMICS))
        most = fmin(most, larger(larger(part, (cache + added / CACHE_FACTOR) * CACHE_SLOWER),
                                 larger(taken->issue, shared)) /
                                  BUSIEST_LEAST +
                              m->turns);
    bound(k, cause, larger(once, least), most);
}

/* Of the kernel's samples, instructions that may go: those of the line, and turns where lanes may be idle. */
static double fewer_of(const struct sums *sums, const struct taken *taken)
{
    if (taken->known && taken->lanes >= LANES_FULL) return sums->here;
    return sums->diverges ? sums->diverging * (LANES - 1) / LANES : sums->around;
}

/* With full issue slots, only fewer instructions help, or that more lanes take part in them. */
static void judge_slots(struct gp_stalled *k, const struct sums *sums, const struct taken *taken)
{
    const double issued = (double)k->issued / (double)k->samples,
                 rest = least_issue(k) * (1 - ISSUE_ERROR) * (1 - fewer_of(sums, taken) / issued),
                 memory = taken->known ? taken->memory / MEMORY_MOST : 0;
    const bool idle = taken->lanes < LANES_FULL;
    bool divides = true; /* integers, which is most of such a line */
    for (int op = GP_OP_TO_FLOAT; op <= GP_OP_HIGH; op++) divides &= sums->of[op] > 0;
    bound(k, idle || sums->diverges ? GP_CAUSE_DIVERGENCE : GP_CAUSE_CODE,
          fmax(idle ? taken->lanes : rest, memory),
          taken->lanes_most < LANES_FULL ? taken->lanes_most / LANES_LEAST
          : divides                      ? 1 - sums->here / issued / 2
                                         : 1);
}

/* By the kernels of the samples, narrow intervals begin too high, and wide ones too low, unless the L1 is
 * busy. Where nothing is promised, that stays. */
static void correct(struct gp_stalled *k)
{
    const double high = k->saved_high, width = k->l1 > HALF_FULL ? NARROW : WIDE;
    if (k->saved_low > 0)
        k->saved_low = larger(k->saved_low + (fmin(high - k->saved_low, width) - NARROW) * SHIFT, 0);
    k->saved_high += high * (1 - high) * HIGH_ERROR;
}

static void judge(const struct find *f, struct gp_stalled *k, const struct sample *of, size_t n)
{
    const double all = (double)k->samples;
    const struct gp_stall_part *line = k->lines.at;
    const struct sample *x = f->samples + line->first;
    struct stall s[GP_STALL_CAUSE_COUNT] = {{0}};
    enum gp_stall_cause cause = GP_CAUSE_MEMORY;
    if (!line->stalled) return;
    for (int c = 0; c < GP_STALL_CAUSE_COUNT; c++) {
        add_stall(&s[c], k, x, line->n, (enum gp_stall_cause)c);
        if (s[c].stalled > s[cause].stalled) cause = (enum gp_stall_cause)c;
    }
    const bool crowded = cause == GP_CAUSE_SHARED &&
                         k->counts[GP_PART_CONFLICTS] < CONFLICTS_LEAST * k->counts[GP_PART_WAVEFRONTS];
    if (crowded) s[cause = GP_CAUSE_UNIT] = s[GP_CAUSE_SHARED]; /* without conflicts: too many accesses */
    const struct stall loads = s[GP_CAUSE_MEMORY];
    const bool queued = loads.stalled * all > QUEUED * MEMORY_CYCLES * loads.waits;
    if (cause == GP_CAUSE_MEMORY && loads.chained) /* each waits for the one before */
        s[cause = GP_CAUSE_CHAIN] = loads, s[cause].left = loads.stalled / 2;
    struct sums sums = sums_of(k, of, n, x->line, s[cause].loop, cause);
    if (cause == GP_CAUSE_MEMORY && queued && sums.of[GP_OP_ATOMIC] > 0) { /* loads wait behind them */
        add_stall(&s[GP_CAUSE_ATOMICS], k, x, line->n, GP_CAUSE_MEMORY);
        cause = GP_CAUSE_ATOMICS;
    }
    if (sums.local_stalled > s[cause].stalled) {
        cause = GP_CAUSE_SPILLS;
        s[cause].stalled = sums.local_stalled; /* of all lines */
    }
    if (cause == GP_CAUSE_MEMORY && isnan(sums.bytes_error) && k->local_bytes)
        s[cause = GP_CAUSE_SPILLS] = loads;
    k->stalled = s[cause].stalled;
    k->error = error_of(k->stalled, k->samples);
    struct taken taken = taken_of(f, k, &sums);
    taken.crowded = crowded;
    if (taken.known) k->memory = taken.memory, k->l1 = taken.shared, k->lanes = taken.lanes;
    const double issued = (double)k->issued / all;
    struct mend mend = {.cause = cause, .s = &s[cause], .loads = &loads, .sums = &sums, .taken = &taken};
    mend.issued = issued, mend.issue = 1 - (double)k->latency / all, mend.kept = 1;
    mend.slots = least_issue(k) * (1 - ISSUE_ERROR), mend.queued = queued;
    bound_stall(f, k, of, n, &mend);
    judge_tail(f, k);
    if (k->cause != GP_CAUSE_TAIL && k->issued) {
        if (least_issue(k) >= REACHED) judge_slots(k, &sums, &taken);
        else if (k->cause == GP_CAUSE_CHAIN && least_issue(k) >= HALF_FULL) /* fewer instructions help, too */
            k->saved_high = larger(k->saved_high, fewer_of(&sums, &taken) / issued);
    }
    correct(k);
}

bool gp_stalled_is_sure(const struct gp_stalled *k)
{
    return k->cause < GP_STALL_CAUSE_COUNT && k->saved_high > 0 && error_of(0.5, k->samples) <= ERROR_MOST;
}

bool gp_stalled_is_theirs(const struct gp_strings *strings, const struct gp_stalled *k)
{
    static const char of_libraries[] = " nvjet_ _xmma_ cudnn cublas cutlass_ at::native nccl ";
    bool known = k->lines.n && k->lines.at[0].file;
    return known || !gp_name_has_one_of(gp_string(strings, k->label), of_libraries);
}

/* ---- all ---- */

GP_COMPARE(by_kernel, struct gp_stalled, GP_DOWN(samples) GP_UP(name))

void gp_stalls_of(struct gp_stalls *s, const struct gp_trace *t, const struct gp_trace *counters,
                  struct gp_strings *strings)
{
    struct find f = {.s = s, .t = t, .device = t->devices.n ? &t->devices.at[0] : NULL};
    memset(s, 0, sizeof *s);
    s->strings = strings;
    if (!t->events[GP_PC].n) return;
    gp_cubins_of(&f.cubins, t);
    if (f.cubins.cubins.n) place_code(&f);
    read_samples(&f);
    qsort(f.samples, f.n, sizeof *f.samples, by_line);
    read_launches(&f);
    read_counters(&f, counters ? counters : t);
    for (size_t i = 0, end; i < f.n; i = end) {
        struct gp_stalled *k = &s->kernels.at[f.samples[i].kernel];
        for (end = i; end < f.n && f.samples[end].kernel == f.samples[i].kernel;) end++;
        gp_kernel_names(strings, k->name, &k->label, &k->brief);
        add_parts(&f, k, f.samples + i, end - i);
        judge(&f, k, f.samples + i, end - i);
    }
    if (s->kernels.n) qsort(s->kernels.at, s->kernels.n, sizeof *s->kernels.at, by_kernel);
    for (size_t k = 0; k < s->kernels.n; k++)
        for (size_t i = 0; i < s->kernels.at[k].lines.n && i < GP_STALL_HOTTEST; i++)
            GP_VEC_PUSH(&s->hottest, s->kernels.at[k].lines.at[i]);
    gp_cubins_release(&f.cubins);
    gp_map_release(&f.kernel_of);
    free(f.samples);
}

void gp_stalls_release(struct gp_stalls *s)
{
    for (size_t k = 0; k < s->kernels.n; k++) {
        GP_VEC_FREE(&s->kernels.at[k].reasons);
        GP_VEC_FREE(&s->kernels.at[k].lines);
    }
    GP_VEC_FREE(&s->kernels);
    GP_VEC_FREE(&s->hottest);
}

/* ---- the answer's rows ---- */

static void put_share(struct gp_cell *c, double share) { gp_cell_real(c, 100 * share); }

GP_GETTER(get_share) { put_share(c, *(const double *)gp_member_at(row, f)); }

/* Only where there are samples enough. */
GP_GETTER(get_saved) { put_share(c, gp_stalled_is_sure(row) ? *(const double *)gp_member_at(row, f) : NAN); }

GP_GETTER(get_issue)
{
    const struct gp_stalled *k = row;
    gp_cell_share(c, (double)(k->samples - k->latency), (double)k->samples);
}

GP_GETTER(get_known_u32)
{
    c->i = *(const uint32_t *)gp_member_at(row, f);
    c->none = !c->i;
}

static void put_reason(struct gp_cell *c, uint32_t reason)
{
    gp_cell_text(c, reason < GP_STALL_COUNT ? gp_stall_name((enum gp_stall)reason) : "issued");
}

GP_GETTER(get_reason) { put_reason(c, ((const struct gp_stall_part *)row)->reason); }

GP_GETTER(get_cause)
{
    const struct gp_stalled *k = row;
    c->none = k->cause >= GP_STALL_CAUSE_COUNT;
    if (!c->none) gp_cell_text(c, gp_stall_cause_name((enum gp_stall_cause)k->cause));
}

enum gp_stall_cause gp_stall_cause_of(enum gp_stall reason)
{
    int c = 0;
    while (c < GP_STALL_CAUSE_COUNT && !(causes[c].reasons & 1U << reason)) c++;
    return (enum gp_stall_cause)c;
}

void gp_stall_put_place(struct gp_buf *b, const struct gp_strings *strings, const struct gp_stall_part *p)
{
    if (p->line) gp_buf_printf(b, "%s:%u", gp_string(strings, p->file), (unsigned)p->line);
    else gp_buf_printf(b, "+0x%llx", (unsigned long long)p->offset);
}

/* People see no folder. */
GP_GETTER(get_place)
{
    struct gp_buf b = {0};
    gp_stall_put_place(&b, x->strings, row);
    gp_cell_take(c, &b, x);
    const char *slash = x->labels ? strrchr(c->text, '/') : NULL;
    if (slash) gp_cell_label(c, c->text, c->text_len, slash + 1, c->text_len - (size_t)(slash + 1 - c->text));
}

/* "long_scoreboard 62%, wait 12%": those of a twentieth or more. */
GP_GETTER(get_reasons)
{
    const struct gp_stalled *k = row;
    struct gp_buf b = {0};
    for (size_t i = 0; i < k->reasons.n && k->reasons.at[i].pct >= 5; i++) {
        struct gp_cell word = {0};
        put_reason(&word, k->reasons.at[i].reason);
        gp_buf_printf(&b, "%s%s %.0f%%", i ? ", " : "", word.text, k->reasons.at[i].pct);
    }
    gp_cell_take(c, &b, x);
}

GP_GETTER(get_hottest)
{
    const struct gp_stalled *k = row;
    c->none = !k->lines.n;
    if (k->lines.n) get_place(c, f, k->lines.at, x);
}

#define AT(member)      offsetof(struct gp_stall_part, member)
#define OR_NULL(others) .flags = GP_FIELD_NULL | (others)
#define HALF            "half of its 95% interval, in points: binomial, as if samples were independent"
#define WARPS           "of warps, issued or not"
#define LATENCY         "of these, when no warp of the scheduler could issue"
static const struct gp_field count_fields[] = {
    {"samples", "Samples", GP_CELL_COUNT, gp_member_i64, AT(samples), .help = WARPS,
     .flags = GP_COLUMN_SPARE},
    {"latency_samples", NULL, GP_CELL_COUNT, gp_member_i64, AT(latency), .help = LATENCY},
    {"pct", "of kernel", GP_CELL_PCT, gp_member_double, AT(pct), .help = "of the kernel's samples",
     .flags = GP_COLUMN_BAR},
    {"error_pct", "+-", GP_CELL_PCT, gp_member_double, AT(error_pct), .help = HALF},
};
static const struct gp_record counts = {"counts", NULL, GP_FIELDS(count_fields),
                                        .size = sizeof(struct gp_stall_part)};
static const struct gp_field reason_fields[] = {
    {"reason", NULL, GP_CELL_TEXT, get_reason, 0, .help = "as in CUPTI; issued: the warp did not stall"},
    {"counts", NULL, GP_CELL_PART, gp_member_row, 0, .rows = &counts},
};
static const struct gp_record reasons = {"reasons", NULL, GP_FIELDS(reason_fields),
                                         .size = sizeof(struct gp_stall_part)};
static const struct gp_field line_fields[] = {
    {"label", "Kernel", GP_CELL_NAME, gp_member_label, AT(label), .flags = GP_FIELD_TABLES},
    {"place", "Line", GP_CELL_TEXT, get_place, 0, .help = "file:line, or the offset in the function"},
    {"file", NULL, GP_CELL_TEXT, gp_member_name, AT(file), OR_NULL(0)},
    {"line", NULL, GP_CELL_COUNT, get_known_u32, AT(line), OR_NULL(0)},
    {"stalled_samples", NULL, GP_CELL_COUNT, gp_member_i64, AT(stalled),
     .help = "of warps that could not issue"},
    {"reason", "Reason", GP_CELL_TEXT, get_reason, 0, .help = "of most of these; issued: there are none"},
    {"reason_pct", "of stalls", GP_CELL_PCT, gp_member_double, AT(reason_pct), .help = "in that reason"},
    {"counts", NULL, GP_CELL_PART, gp_member_row, 0, .rows = &counts},
};
#undef AT
const struct gp_record gp_stalls_lines = {"lines", "Hottest lines", GP_FIELDS(line_fields),
                                          .size = sizeof(struct gp_stall_part)};

#define AT(member) offsetof(struct gp_stalled, member)
static const struct gp_field kernel_fields[] = {
    {"name", NULL, GP_CELL_NAME, gp_member_sid, AT(name), .help = "as recorded"},
    {"label", "Kernel", GP_CELL_NAME, gp_member_label, AT(label), .help = "full name, demangled"},
    {"place", "Hottest line", GP_CELL_TEXT, get_hottest, 0, .help = "where warps stall most", OR_NULL(0)},
    {"cause", "Waits for", GP_CELL_TEXT, get_cause, 0, .help = "what there is to mend", OR_NULL(0),
     .words = cause_words},
    {"stalled_pct", "Stalled", GP_CELL_PCT, get_share, AT(stalled), .help = "samples there, in its reasons"},
    {"error_pct", "+-", GP_CELL_PCT, get_share, AT(error), .help = HALF, .flags = GP_COLUMN_SPARE},
    {"saved_low_pct", "Saves", GP_CELL_PCT, get_saved, AT(saved_low),
     .help = "of the kernel's time, at least, if that is mended", OR_NULL(0)},
    {"saved_high_pct", "to", GP_CELL_PCT, get_saved, AT(saved_high), .help = "at most", OR_NULL(0)},
    {"samples", "Samples", GP_CELL_COUNT, gp_member_i64, AT(samples), .help = WARPS,
     .flags = GP_COLUMN_SPARE},
    {"latency_samples", NULL, GP_CELL_COUNT, gp_member_i64, AT(latency), .help = LATENCY},
    {"issue_pct", "Issue", GP_CELL_PCT, get_issue, 0, .help = "when a warp issued", OR_NULL(GP_COLUMN_SPARE)},
    {"count", "Launches", GP_CELL_COUNT, gp_member_u64, AT(count), .help = "meanwhile",
     .flags = GP_COLUMN_WIDE},
    {"time_ns", "GPU time", GP_CELL_NS, gp_member_i64, AT(time_ns), .help = "theirs",
     .flags = GP_COLUMN_SPARE},
    {"registers", "Registers", GP_CELL_COUNT, get_known_u32, AT(registers), .help = "per thread",
     OR_NULL(GP_COLUMN_SPARE)},
    {"local_bytes", "Local memory", GP_CELL_BYTES, get_known_u32, AT(local_bytes), .help = "per thread",
     OR_NULL(GP_COLUMN_WIDE)},
    {"occupancy_pct", "Occupancy", GP_CELL_PCT, get_share, AT(occupancy),
     .help = "by the launch, an estimate", OR_NULL(GP_COLUMN_SPARE)},
    {"memory_pct", "Memory", GP_CELL_PCT, get_share, AT(memory), .help = "of its peak, by counters",
     OR_NULL(GP_COLUMN_WIDE)},
    {"l1_pct", "L1", GP_CELL_PCT, get_share, AT(l1), .help = "of its peak, by counters",
     OR_NULL(GP_COLUMN_WIDE)},
    {"lanes_pct", "Lanes", GP_CELL_PCT, get_share, AT(lanes), .help = "with work, by counters",
     OR_NULL(GP_COLUMN_WIDE)},
    {"shares", "Reasons", GP_CELL_TEXT, get_reasons, 0, .help = "those of 5% of the samples or more",
     .flags = GP_FIELD_TABLES | GP_COLUMN_WIDE},
    {"reasons", NULL, GP_CELL_ROWS, gp_member_rows, AT(reasons), .help = "most first", .rows = &reasons},
    {"lines", NULL, GP_CELL_ROWS, gp_member_rows, AT(lines), .help = "hottest first",
     .rows = &gp_stalls_lines},
};
#undef AT
const struct gp_record gp_stalls_kernels = {
    "stalls", "Stalls", GP_FIELDS(kernel_fields), sizeof(struct gp_stalled),
    .note = "samples of the program counters of a kernel; what mending its hottest line saves is a model's "
            "interval"};
