#include "analyze/metrics/stalls.h"

#include <math.h>
#include <stdlib.h>
#include "analyze/cost/ceilings.h"
#include "analyze/cost/occupancy.h"
#include "analyze/math/sums.h"
#include "analyze/names/names.h"
#include "formats/base/buf.h"
#include "formats/base/count.h"
#include "formats/base/map.h"
#include "formats/base/order.h"
#include "formats/base/str.h"

/* README.md, "Stalls", has the sources of these. */
static const double REACHED = 0.8;    /* of a peak, by good kernels */
static const double LINE_BYTES = 128; /* of a warp that reads 4 bytes per lane */
static const double LINES_MOST = 2;   /* as much is written as is read */
static const double MEMORY_CYCLES = 479;
static const double QUEUED = 2;        /* times that: what waits longer waits for others */
static const double ERROR_MOST = 0.03; /* 3 points */
static const double NORMAL_95 = 1.96;
enum { SCHEDULERS = 4, TAIL_WAVES = 4, SAMPLES_MOST = INT32_MAX };

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

struct sample {
    uint32_t kernel, reason;
    uint64_t line; /* index in trace->stacks; without a line the offset, and NO_LINE */
    uint64_t offset;
    int64_t total, latency;
};
#define NO_LINE (UINT64_C(1) << 63)

struct find {
    struct gp_stalls *s;
    const struct gp_trace *t;
    struct gp_map kernel_of; /* by name in the trace */
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
        .cause = GP_STALL_CAUSE_COUNT};
    GP_VEC_PUSH(&f->s->kernels, one);
    return *at;
}

static void read_samples(struct find *f)
{
    const struct gp_events *e = &f->t->events[GP_PC];
    f->samples = gp_zalloc((e->n + 1) * sizeof *f->samples);
    for (size_t i = 0; i < e->n; i++) {
        const uint32_t k = kernel_of(f, e->name[i]);
        struct gp_stalled *one = &f->s->kernels.at[k];
        const uint32_t stack = gp_get_stack(e, i);
        const int64_t total = gp_get_total(e, i), end = e->start_ns[i] + e->dur_ns[i];
        const double latency = gp_get_value(e, i);
        if (e->start_ns[i] < one->begin_ns) one->begin_ns = e->start_ns[i];
        if (end > one->end_ns) one->end_ns = end;
        if (total <= 0 || total > SAMPLES_MOST) continue; /* damaged */
        const struct sample x = {k,
                                 reason_of(gp_trace_str(f->t, gp_get_series(e, i))),
                                 stack ? stack : gp_get_addr(e, i) | NO_LINE,
                                 gp_get_addr(e, i),
                                 total,
                                 latency > 0 && latency <= (double)total ? (int64_t)latency : 0};
        f->samples[f->n++] = x;
        f->s->samples = gp_add_saturated(f->s->samples, total);
    }
}

GP_COMPARE(by_offset, struct sample, GP_UP(kernel) GP_UP(offset) GP_UP(reason))
GP_COMPARE(by_line, struct sample, GP_UP(kernel) GP_UP(line) GP_UP(offset) GP_UP(reason))

/* A warp that drains waits at its end for the stores before: they belong to the last line before that. */
static void settle_drains(struct find *f)
{
    uint64_t before = 0, here = 0;
    for (size_t i = 0; i < f->n; i++) {
        struct sample *x = &f->samples[i];
        if (!i || x->kernel != x[-1].kernel) before = here = x->line;
        else if (x->line != here) before = here, here = x->line;
        if (x->reason == GP_STALL_DRAIN) x->line = before;
    }
}

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
        if (one->config == UINT32_MAX || ns[config] > ns[one->config]) one->config = config;
    }
    free(ns);
    for (size_t k = 0; k < f->s->kernels.n; k++) {
        struct gp_stalled *one = &f->s->kernels.at[k];
        struct gp_occupancy o;
        if (one->config == UINT32_MAX) continue;
        const struct gp_config *c = &t->configs.at[one->config];
        gp_occupancy_of(&o, t, c, f->device);
        one->registers = c->has & GP_HAS_REGS ? c->registers : 0;
        one->local_bytes = c->local_bytes;
        if (o.known) one->occupancy = o.achieved;
        if (o.waves > 0) one->waves = o.waves;
    }
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

static void finish(struct gp_stall_part *p, const struct gp_stalled *k)
{
    const double part = (double)p->samples / (double)k->samples;
    p->pct = 100 * part;
    p->error_pct = 100 * error_of(part, k->samples);
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
    qsort(k->lines.at, k->lines.n, sizeof *k->lines.at, by_samples);
}

/* ---- what mending saves ---- */

/* The stall of one line as shares of the kernel's samples. */
struct stall {
    double stalled; /* in reasons of the cause */
    double left;    /* of it, if each wait takes the least cycles of its kind */
    double waits;   /* instructions that waited, each once; samples */
};

static struct stall stall_of(const struct gp_stalled *k, const struct sample *x, size_t n, uint32_t reasons,
                             double cycles)
{
    struct stall s = {0};
    for (size_t i = 0, end; i < n; i = end) {
        double stalled = 0, issued = 0;
        for (end = i; end < n && x[end].offset == x[i].offset; end++) {
            if (x[end].reason == GP_STALL_COUNT) issued += (double)x[end].total;
            else if (reasons & 1U << x[end].reason) stalled += (double)x[end].total;
        }
        double least = cycles > 0 ? cycles * issued : stalled / 2;
        s.stalled += stalled;
        s.left += least < stalled ? least : stalled;
        if (stalled > 0) s.waits += issued;
    }
    s.stalled /= (double)k->samples;
    s.left /= (double)k->samples;
    return s;
}

/* The part of the time that memory needs for the waits of a line, with a line of memory for each; of the L2
 * cache, if the device's memory would need longer than the kernel took. 0: not known. */
static double memory_part(const struct find *f, const struct gp_stalled *k, double waits)
{
    struct gp_ceilings c;
    const struct gp_device *d = f->device;
    if (!d || d->sms <= 0 || d->core_clock_khz <= 0 || !k->issued) return 0;
    gp_ceilings_of_device(&c, gp_trace_str(f->t, d->name), d);
    const double issued =
        (double)(k->samples - k->latency) / (double)k->samples; /* per cycle and scheduler */
    const double per_s = SCHEDULERS * (double)d->sms * (double)d->core_clock_khz * 1e3 * issued;
    const double bytes_per_s = per_s * waits / (double)k->issued * LINE_BYTES;
    if (!(c.memory.per_s > 0)) return 0;
    double part = bytes_per_s / c.memory.per_s;
    if (part > 1) part = bytes_per_s / gp_ceilings_cache_per_s(&c);
    return part < 1 ? part : 0;
}

static double largest(double a, double b, double c)
{
    double most = a > b ? a : b;
    return most > c ? most : c;
}

static void bound(struct gp_stalled *k, enum gp_stall_cause cause, double left_least, double left_most)
{
    const double low = 1 - left_most - k->error, high = 1 - left_least + k->error;
    k->cause = cause;
    k->saved_low = low > 0 ? low : 0;
    k->saved_high = high > k->saved_low ? (high < 1 ? high : 1) : k->saved_low;
}

/* The last wave of blocks is as long as the others at most, and at least as long as its part of them. */
static void judge_tail(const struct find *f, struct gp_stalled *k)
{
    if (!(k->waves > 1) || k->waves > TAIL_WAVES) return;
    const struct gp_config *c = &f->t->configs.at[k->config];
    const double whole = floor(k->waves), fits = gp_occupancy_fits(c, f->device);
    const double last = ceil((k->waves - whole) * fits) / fits; /* on the busiest multiprocessor */
    const double high = 1 - k->waves / ceil(k->waves), low = 1 - k->waves / (whole + last);
    if (high <= k->saved_high) return;
    bound(k, GP_CAUSE_TAIL, 1 - high, 1 - low);
}

static void judge(const struct find *f, struct gp_stalled *k)
{
    const double all = (double)k->samples, issue = 1 - (double)k->latency / all,
                 issued = (double)k->issued / all;
    double unselected = 0, most = 0, everywhere = 0;
    const struct gp_stall_part *line = k->lines.at;
    if (!line->stalled) return;
    for (size_t i = 0; i < k->reasons.n; i++)
        if (k->reasons.at[i].reason == GP_STALL_NOT_SELECTED)
            unselected = (double)k->reasons.at[i].samples / all;
    enum gp_stall_cause cause = GP_CAUSE_MEMORY;
    for (int c = 0; c < GP_STALL_CAUSE_COUNT; c++) {
        const struct stall s = stall_of(k, f->samples + line->first, line->n, causes[c].reasons, 0);
        if (s.stalled > most) most = s.stalled, cause = (enum gp_stall_cause)c;
    }
    const uint32_t reasons = causes[cause].reasons;
    if (cause == GP_CAUSE_MEMORY && k->local_bytes) cause = GP_CAUSE_SPILLS;
    const struct stall s = stall_of(k, f->samples + line->first, line->n, reasons, causes[cause].cycles);
    const double rest = 1 - issued - unselected - s.stalled;
    /* Other lines that wait for the same memory may do so behind this one. */
    for (size_t i = 0; i < k->reasons.n && causes[cause].cycles > 0; i++)
        if (reasons & 1U << k->reasons.at[i].reason) everywhere += (double)k->reasons.at[i].samples / all;
    const double behind = everywhere > s.stalled ? everywhere - s.stalled : 0;
    const double left_least = largest(issue, issued + rest - behind, 0);
    const double memory = cause == GP_CAUSE_MEMORY ? memory_part(f, k, s.waits) * LINES_MOST / REACHED : 0;
    k->stalled = s.stalled;
    k->error = error_of(s.stalled, k->samples);
    bound(k, cause, left_least, largest(issue / REACHED, issue + rest + s.left, memory));
    if (cause == GP_CAUSE_MEMORY && k->occupancy * QUEUED <= 1 &&
        s.stalled * all <= QUEUED * MEMORY_CYCLES * s.waits) {
        /* Without a queue, more warps wait for as long, side by side, or more loads of each. */
        bound(k, GP_CAUSE_OCCUPANCY, left_least, largest(issue / REACHED, QUEUED * k->occupancy, memory));
    }
    judge_tail(f, k);
}

bool gp_stalled_is_sure(const struct gp_stalled *k)
{
    return k->cause < GP_STALL_CAUSE_COUNT && k->saved_high > 0 && error_of(0.5, k->samples) <= ERROR_MOST;
}

/* ---- all ---- */

GP_COMPARE(by_kernel, struct gp_stalled, GP_DOWN(samples) GP_UP(name))

void gp_stalls_of(struct gp_stalls *s, const struct gp_trace *t, struct gp_strings *strings)
{
    struct find f = {.s = s, .t = t, .device = t->devices.n ? &t->devices.at[0] : NULL};
    memset(s, 0, sizeof *s);
    s->strings = strings;
    if (!t->events[GP_PC].n) return;
    read_samples(&f);
    qsort(f.samples, f.n, sizeof *f.samples, by_offset);
    settle_drains(&f);
    qsort(f.samples, f.n, sizeof *f.samples, by_line);
    read_launches(&f);
    for (size_t i = 0, end; i < f.n; i = end) {
        struct gp_stalled *k = &s->kernels.at[f.samples[i].kernel];
        for (end = i; end < f.n && f.samples[end].kernel == f.samples[i].kernel;) end++;
        gp_kernel_names(strings, k->name, &k->label, &k->brief);
        add_parts(&f, k, f.samples + i, end - i);
        judge(&f, k);
    }
    if (s->kernels.n) qsort(s->kernels.at, s->kernels.n, sizeof *s->kernels.at, by_kernel);
    for (size_t k = 0; k < s->kernels.n; k++)
        for (size_t i = 0; i < s->kernels.at[k].lines.n && i < GP_STALL_HOTTEST; i++)
            GP_VEC_PUSH(&s->hottest, s->kernels.at[k].lines.at[i]);
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

/* Label and brief form, which follow each other. */
GP_GETTER(get_label)
{
    const gp_sid *of = gp_member_at(row, f);
    gp_cell_label(c, gp_string(x->strings, of[0]), gp_string_len(x->strings, of[0]),
                  gp_string(x->strings, of[1]), gp_string_len(x->strings, of[1]));
}

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
    {"label", "Kernel", GP_CELL_NAME, get_label, AT(label), .flags = GP_FIELD_TABLES},
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
    {"label", "Kernel", GP_CELL_NAME, get_label, AT(label), .help = "full name, demangled"},
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
    {"shares", "Reasons", GP_CELL_TEXT, get_reasons, 0, .help = "those of 5% of the samples or more",
     .flags = GP_FIELD_TABLES | GP_COLUMN_WIDE},
    {"reasons", NULL, GP_CELL_ROWS, gp_member_rows, AT(reasons), .help = "most first", .rows = &reasons},
    {"lines", NULL, GP_CELL_ROWS, gp_member_rows, AT(lines), .help = "most stalled first",
     .rows = &gp_stalls_lines},
};
#undef AT
const struct gp_record gp_stalls_kernels = {
    "stalls", "Stalls", GP_FIELDS(kernel_fields), sizeof(struct gp_stalled),
    .note = "samples of the program counters of a kernel; what mending its hottest line saves is a model's "
            "interval"};
