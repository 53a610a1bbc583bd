#include "collect/launcher/triggers.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "collect/records/pace.h"
#include "formats/base/err.h"
#include "formats/base/mem.h"
#include "formats/base/num.h"
#include "formats/base/order.h"
#include "formats/base/str.h"

enum {
    OPS_MOST = 1024, /* collectives of a process that may be under way */
    DEVICES = 32,
    CLOCKS_KEPT = 1200, /* busy samples of a GPU, those of a minute, */
    CLOCKS_LEAST = 40,  /* so many before it is judged, */
    CLOCKS_NOW = 10     /* by so many */
};
static const int64_t BUSY_NS = 500000000, SILENT_NS = 2000000000;

/* A collective, called by a thread whose next launch is its work. */
struct op {
    int64_t tid, start_ns;
    uint32_t corr; /* of that launch, 0: not seen */
    char name[24];
};

struct process {
    uint32_t producer;
    struct gp_pace_markers steps;
    int64_t reach_ns;  /* until when it has reported */
    int64_t judged_ns; /* the beginning of the step that was too long */
    GP_VEC(struct op) ops;
};

struct gpu {
    double clocks[CLOCKS_KEPT], now[CLOCKS_NOW];
    uint64_t n; /* busy samples */
    bool full, slow;
};

struct gp_triggers {
    const struct gp_dump_when *when;
    int64_t apart_ns, settle_ns, next_ns; /* no moment before that one counts */
    uint64_t most, n, passed;
    struct gp_dump dump; /* at_ns 0: none */
    int64_t worked_ns;   /* the end of the latest GPU work */
    GP_VEC(struct process) processes;
    struct gpu gpus[DEVICES];
};

/* ---- words ---- */

/* A number between two, with a unit behind it. */
static bool read_number(struct gp_dump_when *w, const char *word)
{
    const struct {
        const char *word;
        char unit;
        double least, most, one, *to;
    } numbers[] = {{"step:", 'x', 1, 1e6, 1, &w->step},
                   {"memory:", '%', 0, 100, 100, &w->memory},
                   {"clock:", '%', -100, 0, -100, &w->clock}};
    size_t n = strlen(word);
    for (size_t i = 0; i < GP_COUNT(numbers); i++) {
        size_t k = strlen(numbers[i].word);
        double v;
        if (!gp_starts(word, numbers[i].word) || word[n - 1] != numbers[i].unit ||
            !gp_double_from_text(word + k, n - k - 1, &v) || v <= numbers[i].least || v >= numbers[i].most)
            continue;
        *numbers[i].to = v / numbers[i].one;
        return true;
    }
    return false;
}

static bool read_word(struct gp_dump_when *w, const char *word)
{
    struct gp_trigger t;
    struct gp_err ignored = {0};
    int64_t *time = gp_starts(word, "idle:") ? &w->idle_ns : &w->collective_ns;
    if (gp_starts(word, "idle:") || gp_starts(word, "collective:"))
        return !gp_parse_seconds(strchr(word, ':') + 1, time, &ignored) && *time > 0;
    if (!gp_trigger_parse(word, &t) || t.when != GP_WHEN_SIGNAL) return read_number(w, word);
    w->signal |= UINT64_C(1) << t.signal;
    return true;
}

const char *gp_dump_when_parse(struct gp_dump_when *when, const char *text)
{
    static _Thread_local char word[64];
    for (const char *at = text; *word = 0, gp_next_of(&at, ',', word, sizeof word);)
        if (!read_word(when, word)) return word;
    return *text && text[strlen(text) - 1] != ',' ? NULL : word;
}

/* ---- moments ---- */

struct gp_triggers *gp_triggers_new(const struct gp_dump_when *when, int64_t apart_ns, int64_t settle_ns,
                                    uint64_t most)
{
    struct gp_triggers *t = gp_zalloc(sizeof *t);
    t->when = when;
    t->apart_ns = apart_ns;
    t->settle_ns = settle_ns;
    t->most = most;
    return t;
}

void gp_triggers_fire(struct gp_triggers *t, uint32_t producer, int64_t at_ns, const char *fmt, ...)
{
    va_list args;
    if (t->dump.at_ns || at_ns < t->next_ns || (t->most && t->n >= t->most)) {
        t->passed++;
        return;
    }
    t->n++;
    t->dump.at_ns = at_ns;
    t->dump.producer = producer;
    va_start(args, fmt);
    vsnprintf(t->dump.why, sizeof t->dump.why, fmt, args);
    va_end(args);
}

static struct process *process_of(struct gp_triggers *t, uint32_t producer)
{
    for (size_t i = 0; i < t->processes.n; i++)
        if (t->processes.at[i].producer == producer) return &t->processes.at[i];
    GP_VEC_PUSH(&t->processes, (struct process){.producer = producer});
    return &t->processes.at[t->processes.n - 1];
}

/* ---- steps ---- */

static void judge_step(struct gp_triggers *t, struct process *p, int64_t now_ns, bool runs)
{
    struct gp_pace_view v;
    if (!gp_pace_look(&p->steps, runs, &v) || v.start_ns == p->judged_ns) return;
    int64_t dur_ns = runs ? now_ns - v.start_ns : v.dur_ns;
    if ((double)dur_ns < t->when->step * (double)v.median_ns) return;
    p->judged_ns = v.start_ns;
    gp_triggers_fire(t, p->producer, v.start_ns + dur_ns,
                     "a step %s %.3f ms, %.2f times the median of those before (%.3f ms)",
                     runs ? "has been running for" : "took", (double)dur_ns / 1e6,
                     (double)dur_ns / (double)v.median_ns, (double)v.median_ns / 1e6);
}

/* ---- collectives ---- */

/* "ncclAllReduce", "ncclSend", but not "ncclCommInitRank". */
static bool is_collective(const struct gp_note *note)
{
    const char *name = gp_note_text(note),
               *words = "Reduce Gather Broadcast Bcast AllToAll AlltoAll Scatter Send Recv";
    char word[16];
    if (note->op != GP_NOTE_PUSH || strcmp(note->domain, "NCCL") != 0) return false;
    while (gp_next_of(&words, ' ', word, sizeof word))
        if (strstr(name, word)) return true;
    return false;
}

/* The thread launches at NS, with CORR, or a node of a graph that it captures (0). */
static void launched(struct process *p, int64_t tid, int64_t ns, uint32_t corr)
{
    size_t kept = 0;
    for (size_t i = 0; i < p->ops.n; i++) {
        struct op o = p->ops.at[i];
        bool its = !o.corr && o.tid == tid && o.start_ns <= ns;
        if (its) o.corr = corr;
        if (!its || corr) p->ops.at[kept++] = o;
    }
    p->ops.n = kept;
}

static void ended(struct process *p, uint32_t corr)
{
    size_t kept = 0;
    for (size_t i = 0; i < p->ops.n; i++)
        if (p->ops.at[i].corr != corr) p->ops.at[kept++] = p->ops.at[i];
    p->ops.n = kept;
}

static void look_at_collectives(struct gp_triggers *t, struct process *p, const struct gp_trace *trace)
{
    const struct gp_events *calls = &trace->events[GP_API], *work = &trace->events[GP_GPU];
    for (size_t i = 0; i < calls->n && p->ops.n; i++) {
        uint64_t corr = gp_get_corr(calls, i);
        const char *name = gp_trace_str(trace, calls->name[i]);
        if (corr != GP_NO_ID && strstr(name, "Launch"))
            launched(p, trace->tracks.at[calls->track[i]].tid, calls->start_ns[i], (uint32_t)corr);
    }
    for (size_t i = 0; i < work->n; i++) {
        uint64_t corr = gp_get_corr(work, i);
        if (corr != GP_NO_ID && p->ops.n) ended(p, (uint32_t)corr);
        if (work->dur_ns[i] >= t->when->collective_ns && strstr(gp_trace_str(trace, work->name[i]), "nccl"))
            gp_triggers_fire(t, p->producer, work->start_ns[i] + work->dur_ns[i], "a collective took %.3f s",
                             (double)work->dur_ns[i] / 1e9);
    }
}

/* The oldest; the others wait for it. */
static void judge_collective(struct gp_triggers *t, struct process *p, int64_t now_ns)
{
    const struct op *o = p->ops.at;
    if (!p->ops.n || now_ns - o->start_ns < t->when->collective_ns) return;
    gp_triggers_fire(t, p->producer, now_ns, "%s has not ended for %.3f s", o->name,
                     (double)(now_ns - o->start_ns) / 1e9);
    p->ops.n = 0;
}

/* ---- what processes report ---- */

void gp_triggers_note(struct gp_triggers *t, uint32_t producer, int64_t tid, const struct gp_note *note)
{
    bool begins = note->op == GP_NOTE_PUSH || note->op == GP_NOTE_START || note->op == GP_NOTE_MARK;
    if (t->when->step <= 0 && !t->when->collective_ns) return;
    struct process *p = process_of(t, producer);
    if (t->when->step > 0 && begins && gp_pace_begins(&p->steps, tid, gp_note_text(note), note->time_ns, 0))
        judge_step(t, p, note->time_ns, false);
    if (!t->when->collective_ns) return;
    if (note->op == GP_NOTE_NODE) launched(p, tid, note->time_ns, 0);
    if (!is_collective(note) || p->ops.n >= OPS_MOST) return;
    struct op o = {.tid = tid, .start_ns = note->time_ns};
    snprintf(o.name, sizeof o.name, "%s", gp_note_text(note));
    GP_VEC_PUSH(&p->ops, o);
}

void gp_triggers_events(struct gp_triggers *t, uint32_t producer, const struct gp_trace *trace)
{
    const struct gp_events *work = &trace->events[GP_GPU];
    if (work->n) t->worked_ns = work->start_ns[work->n - 1] + work->dur_ns[work->n - 1];
    if (t->when->collective_ns) look_at_collectives(t, process_of(t, producer), trace);
}

void gp_triggers_reach(struct gp_triggers *t, uint32_t producer, int64_t ns)
{
    process_of(t, producer)->reach_ns = ns;
}

/* ---- GPUs ---- */

static double median(const double *values, size_t n)
{
    double sorted[CLOCKS_KEPT];
    memcpy(sorted, values, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, gp_order_double);
    return sorted[n / 2];
}

static void judge_clock(struct gp_triggers *t, struct gpu *g, const struct gp_clock_sample *s)
{
    uint64_t n = g->n++;
    double *at = &g->now[n % CLOCKS_NOW];
    if (n >= CLOCKS_NOW) g->clocks[(n - CLOCKS_NOW) % CLOCKS_KEPT] = *at;
    *at = s->values[GP_GAUGE_SM_CLOCK];
    if (g->n < CLOCKS_LEAST + CLOCKS_NOW) return;
    uint64_t kept = g->n - CLOCKS_NOW < CLOCKS_KEPT ? g->n - CLOCKS_NOW : CLOCKS_KEPT;
    double before = median(g->clocks, kept), now = median(g->now, CLOCKS_NOW);
    bool slow = now <= before * (1 - t->when->clock);
    if (slow && !g->slow)
        gp_triggers_fire(t, 0, s->at_ns,
                         "SM clock of GPU %u: %.0f MHz, %.1f%% below its median before (%.0f MHz)",
                         (unsigned)s->device, now, 100 * (1 - now / before), before);
    g->slow = slow;
}

static void judge_memory(struct gp_triggers *t, struct gpu *g, const struct gp_clock_sample *s, double bytes)
{
    double part = s->values[GP_GAUGE_MEMORY_USED] / bytes;
    bool full = part >= t->when->memory;
    if (full && !g->full)
        gp_triggers_fire(t, 0, s->at_ns, "memory in use on GPU %u: %.1f%%", (unsigned)s->device, 100 * part);
    g->full = full;
}

void gp_triggers_sample(struct gp_triggers *t, const struct gp_clock_sample *s, double memory_bytes)
{
    enum { IDLE = 1 }; /* among the reasons */
    if (s->is_use || s->device >= DEVICES) return;
    struct gpu *g = &t->gpus[s->device];
    double reasons = s->values[GP_GAUGE_REASONS];
    bool idle = !isnan(reasons) && (uint64_t)reasons & IDLE;
    bool busy = !idle && s->at_ns - t->worked_ns < BUSY_NS && !isnan(s->values[GP_GAUGE_SM_CLOCK]);
    if (t->when->memory > 0 && memory_bytes > 0) judge_memory(t, g, s, memory_bytes);
    if (t->when->clock > 0 && busy) judge_clock(t, g, s);
}

/* ---- turns ---- */

bool gp_triggers_turn(struct gp_triggers *t, int64_t now_ns, struct gp_dump *dump)
{
    int64_t silent_ns = now_ns - t->settle_ns - SILENT_NS;
    GP_EACH(struct process, p, t->processes) {
        int64_t known_ns = p->reach_ns > silent_ns ? p->reach_ns : silent_ns;
        judge_step(t, p, known_ns, true);
        judge_collective(t, p, known_ns);
    }
    if (!t->dump.at_ns || now_ns < t->dump.at_ns + t->settle_ns) return false;
    *dump = t->dump;
    t->dump.at_ns = 0;
    t->next_ns = now_ns + t->apart_ns;
    return true;
}

uint64_t gp_triggers_passed(const struct gp_triggers *t) { return t ? t->passed : 0; }

void gp_triggers_free(struct gp_triggers *t)
{
    if (!t) return;
    for (size_t i = 0; i < t->processes.n; i++) {
        gp_pace_release(&t->processes.at[i].steps);
        GP_VEC_FREE(&t->processes.at[i].ops);
    }
    GP_VEC_FREE(&t->processes);
    free(t);
}
