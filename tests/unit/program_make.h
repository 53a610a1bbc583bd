/* program_make.h -- programs for the tests of rules: steps that are written call by call, and what
 * trace-suggest's rules say of ten of them.
 *
 *     static void step(struct program *p) { host(p, 30 * US), kernel(p, "gemm", 10 * US); }
 *     speaks(step, "compile", 90 * US, 102 * US);
 */
#ifndef GP_TESTS_PROGRAM_MAKE_H
#define GP_TESTS_PROGRAM_MAKE_H

#include <stdio.h>
#include <string.h>

#include "analyze/suggest/suggest.h"
#include "formats/base/err.h"
#include "tests/unit/trace_make.h"
#include "tests/unit/unit.h"

/* A program that is written call by call: the host's clock moves on, a kernel starts 7 us after its call or
 * when the one before it is over. */
struct program {
    struct gp_trace t;
    uint32_t main, stream;
    int64_t now, gpu_free;
    uint64_t corr;
    int steps;
    struct gp_suggest s;
};

enum { US = 1000, MS = 1000000 };

static inline void begin(struct program *p)
{
    memset(p, 0, sizeof *p);
    gp_trace_init(&p->t, GP_NEED_ALL);
    uint32_t process = mk_process(&p->t, 1, 0);
    p->main = mk_thread(&p->t, process, 100);
    p->stream = mk_stream(&p->t, process, 0, 7);
}

static inline void host(struct program *p, int64_t ns) { p->now += ns; }

static inline int64_t enqueue(struct program *p, int64_t dur, enum gp_gpu_kind kind, const char *name,
                              int64_t bytes)
{
    int64_t start = p->now + 7 * US;
    if (start < p->gpu_free + 1 * US) start = p->gpu_free + 1 * US;
    size_t row = mk_gpu(&p->t, p->stream, start, start + dur, kind, name, p->corr);
    if (bytes) gp_set_bytes(&p->t.events[GP_GPU], row, bytes);
    p->gpu_free = start + dur;
    return p->gpu_free;
}

static inline void kernel(struct program *p, const char *name, int64_t dur)
{
    p->corr++;
    enqueue(p, dur, GP_KERNEL, name, 0);
    mk_call(&p->t, p->main, p->now, p->now + 4 * US, "cudaLaunchKernel", p->corr);
    host(p, 4 * US);
}

/* The same with a grid of BLOCKS. */
static inline void kernel_of(struct program *p, const char *name, uint32_t blocks, int64_t dur)
{
    int64_t start = p->now + 7 * US;
    if (start < p->gpu_free + 1 * US) start = p->gpu_free + 1 * US;
    mk_grid(&p->t, p->stream, start, start + dur, name, blocks, ++p->corr);
    p->gpu_free = start + dur;
    mk_call(&p->t, p->main, p->now, p->now + 4 * US, "cudaLaunchKernel", p->corr);
    host(p, 4 * US);
}

/* The call returns at once, or when the copy is over. */
static inline void copy(struct program *p, const char *name, int64_t dur, int64_t bytes, bool blocks)
{
    p->corr++;
    int64_t over = enqueue(p, dur, GP_MEMCPY, name, bytes);
    int64_t back = blocks ? over + 3 * US : p->now + 5 * US;
    mk_call(&p->t, p->main, p->now, back, blocks ? "cudaMemcpy" : "cudaMemcpyAsync", p->corr);
    p->now = back;
}

static inline void wait(struct program *p, const char *name)
{
    int64_t back = p->gpu_free + 3 * US > p->now + 2 * US ? p->gpu_free + 3 * US : p->now + 2 * US;
    mk_call(&p->t, p->main, p->now, back, name, ++p->corr);
    p->now = back;
}

static inline void call(struct program *p, const char *name, int64_t dur)
{
    mk_call(&p->t, p->main, p->now, p->now + dur, name, ++p->corr);
    host(p, dur);
}

/* Add a function to the stack of the last call, inside those that it has unless it is the FIRST. */
static inline void frame(struct program *p, const char *name, const char *file, uint32_t line, bool first)
{
    struct gp_trace *t = &p->t;
    if (!t->stacks.n) GP_VEC_PUSH(&t->stacks, (struct gp_stack){0});
    struct gp_stack k = {.parent = first ? 0 : (uint32_t)t->stacks.n - 1, .line = line};
    k.name = mk_name(t, name);
    k.file = mk_name(t, file);
    GP_VEC_PUSH(&t->stacks, k);
    gp_set_stack(&t->events[GP_API], t->events[GP_API].n - 1, (uint32_t)t->stacks.n - 1);
}

/* Ten steps, each written by STEP; COLLECTOR is the value of that metadata, as JSON text, or NULL. */
static inline void write_steps(struct program *p, void (*step)(struct program *), const char *collector)
{
    begin(p);
    if (collector) gp_trace_set_meta(&p->t, "collector", collector, strlen(collector));
    for (p->steps = 0; p->steps < 10; p->steps++) {
        char name[32];
        int64_t from = p->now;
        snprintf(name, sizeof name, "ProfilerStep#%d", p->steps);
        step(p);
        mk_host(&p->t, GP_RANGE, p->main, from, p->now, name);
    }
    gp_trace_finish(&p->t);
}

/* The same, examined with OPTS. */
static inline void run_with(struct program *p, void (*step)(struct program *),
                            const struct gp_suggest_opts *opts, const char *collector)
{
    struct gp_err err;
    write_steps(p, step, collector);
    gp_suggest_init(&p->s, opts);
    assert_int_equal(gp_suggest_run(&p->s, &p->t, &err), 0);
    assert_true(p->s.step.found);
    assert_true(p->s.step.trusted);
}

/* The same on a device of which these ceilings were MEASURED; may be NULL. */
static inline void run_on(struct program *p, void (*step)(struct program *),
                          const struct gp_ceilings *measured)
{
    run_with(p, step, &(struct gp_suggest_opts){.ceilings = measured}, NULL);
}

static inline void run(struct program *p, void (*step)(struct program *)) { run_on(p, step, NULL); }

static inline void end(struct program *p)
{
    gp_suggest_release(&p->s);
    gp_trace_release(&p->t);
}

static inline const struct gp_suggestion *said(const struct program *p, const char *rule)
{
    assert_non_null(gp_rule_find(rule));
    for (size_t i = 0; i < p->s.suggestions.n; i++)
        if (!strcmp(p->s.suggestions.at[i].rule->name, rule)) return &p->s.suggestions.at[i];
    return NULL;
}

/* The evidence NAME of S; -1: it has none. */
static inline int64_t evidence_ns(const struct gp_suggestion *s, const char *name)
{
    for (size_t i = 0; i < s->evidence.n; i++)
        if (!strcmp(s->evidence.at[i].name, name)) return s->evidence.at[i].value;
    return -1;
}

/* By how much two runs of a program differ, but no more than HIGH ns: 1 % of a step, and if the GPU waits for
 * launches only (ALL), 3 % of that. */
static inline int64_t noise_of(const struct program *p, int64_t high, bool all)
{
    int64_t step = p->s.step.unprofiled_high_ns, waits = all ? step - p->s.step.busy_ns : 0;
    int64_t noise = step / 100 + waits / 100 * 3;
    return noise < high ? noise : high;
}

static inline int64_t less_noise(int64_t ns, int64_t noise) { return ns > noise ? ns - noise : 0; }

/* HIGH ns, 25 % and NOISE more, but at most four fifths of what is left. */
static inline int64_t most_of(const struct program *p, int64_t high, int64_t noise)
{
    int64_t most = high + (p->s.step.step_ns - high) * 4 / 5;
    return high * 125 / 100 + noise < most ? high * 125 / 100 + noise : most;
}

/* STEP makes RULE say that LOW to HIGH ns of each step are saved; the model's own 15 %, or 30 of what hosts
 * save at least, 25 % at the high end, and what runs differ by are added here, at most four fifths of what
 * is left. */
static inline void speaks(void (*step)(struct program *), const char *rule, int64_t low, int64_t high)
{
    struct program p;
    run(&p, step);
    const struct gp_suggestion *s = said(&p, rule);
    assert_non_null(s);
    int64_t copied = s->rule->type == GP_SUGGEST_TRANSFER ? s->current_ns * 3 / 100
                                                          : 0; /* by the host, which differs, too */
    int64_t noise = noise_of(&p, high, true) + copied, less = noise_of(&p, high, false) + copied;
    int64_t least = less_noise(low * 85 / 100, less), share = s->saving_high_ns / 100 * s->rule->least_pct;
    assert_in_range(s->saving_low_ns, less_noise(less_noise(low * 70 / 100, noise), 200),
                    (least > share ? least : share) + 200);
    int64_t most = most_of(&p, high, noise);
    if (s->limit_ns > 0 && most > s->limit_ns) most = s->limit_ns;
    /* no more than there is to gain: test_unprofiled.c has the bounds */
    assert_in_range(s->saving_high_ns, high > most ? most - 200 : high > 200 ? high - 200 : 0, most + 200);
    assert_true(s->saving_low_ns <= s->saving_high_ns &&
                s->saving_high_ns <= s->ceiling_ns * 126 / 100 + noise);
    assert_true(*gp_suggest_str(&p.s, s->description) && *gp_suggest_str(&p.s, s->action) &&
                *gp_suggest_str(&p.s, s->formula) && *gp_suggest_str(&p.s, s->check));
    assert_true(s->evidence.n > 0);
    end(&p);
}

static inline void is_silent(void (*step)(struct program *), const char *rule)
{
    struct program p;
    run(&p, step);
    assert_null(said(&p, rule));
    end(&p);
}

#endif
