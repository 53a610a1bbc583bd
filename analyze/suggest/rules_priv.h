/* rules_priv.h -- private to suggest.c and rules_*.c: the facts that a rule can query, and how it adds a
 * suggestion. A rule examines facts about the replayed steps, decides, and adds a suggestion with the edits
 * of its low and its high end. It does not handle the replay, the priority or the order.
 *
 *     static void check_memory_access(struct gp_rule_ctx *c)
 *     {
 *         if (gp_pct(c->gpu_ns, c->plan_ns) < 2) return;
 *         struct gp_suggestion *s = gp_rule_suggest(c);
 *         GP_VEC_PUSH(&s->low, ((struct gp_edit){GP_EDIT_NO_WAIT, call, 0}));
 *         s->description = gp_rule_text(c, "... %s ...", gp_rule_ns(c, s->current_ns));
 *     }
 *     const struct gp_rule gp_rule_memory_access = {.action = "...", .run = check_memory_access};
 */
#ifndef GP_ANALYZE_RULES_PRIV_H
#define GP_ANALYZE_RULES_PRIV_H

#include "analyze/cost/counters.h"
#include "analyze/cost/regime.h"
#include "analyze/cost/work.h"
#include "analyze/metrics/stalls.h"
#include "analyze/suggest/unprofiled_priv.h"
#include "analyze/suggest/chains_priv.h"
#include "analyze/suggest/loops_priv.h"
#include "analyze/suggest/plan.h"
#include "analyze/suggest/suggest.h"
#include "analyze/view/host_stack.h"
#include "analyze/view/idle_cause.h"

/* The work of a GPU event of the plan. An operator's work counts once; its kernels share it in proportion
 * to their time. */
struct gp_item_work {
    struct gp_work share; /* zeroed if unknown; the product's sizes are those of the whole operator */
    struct gp_regime_answer bound;
    uint32_t tier; /* enum gp_work_tier */
    double part;   /* of its operator's work */
    double clock;  /* at which it ran, as part of the highest SM clock; 0: not known */
    bool alone;    /* no other kernel has a part of it */
    bool shaped;   /* type and size of the operands are known from shapes */
    /* Of tier GP_WORK_COUNTERS: the bytes are measured; where the operations are not, they are those of the
     * shapes, if any. */
    bool flops_measured, by_mean; /* the mean of other launches of the kernel, grid and block */
    uint32_t counted;             /* index in the context's counted; UINT32_MAX: not measured */
};

/* Facts about a GPU event of the plan. */
struct gp_rule_item {
    uint32_t kind;     /* enum gp_frame_kind */
    uint32_t config;   /* index into trace->configs: equal ones run the same */
    uint32_t op;       /* row of GP_OP: the innermost operator that launched it; UINT32_MAX */
    uint32_t position; /* in its step, in order of launches */
    bool backward;     /* launched by the autograd engine */
    bool compiled;     /* a kernel of torch.compile, by its name */
};

/* Facts about a call of the plan. */
struct gp_rule_call {
    const char *name;
    uint32_t node;     /* of the view's host stack; GP_HOST_NONE */
    uint32_t op;       /* row of GP_OP around it; UINT32_MAX */
    int64_t before_ns; /* host time since the previous call, not negative */
    int64_t held_ns;   /* of it what loading data or one long gap holds: gp_rule_find_held() */
};

/* Kernels next to each other whose work need not be done; found before the chains, which leave them out. */
enum gp_needless_kind { GP_JOINED = 1, GP_DISTANCES, GP_PRODUCTS, GP_UNREAD, GP_NEEDLESS_KINDS };
struct gp_needless {
    enum gp_needless_kind kind;
    uint32_t first, last;   /* items */
    int64_t elements, sums; /* of distances and products: what is written to be added up, and the sums */
};

struct gp_rule_ctx {
    const struct gp_rule *rule; /* the rule that runs */
    struct gp_suggest *s;
    const struct gp_trace *t;
    const struct gp_view *v;
    const struct gp_plan *p;
    struct gp_rule_item *items;        /* by item of the plan */
    const uint8_t *apart;              /* by item, while a rule runs that marks them */
    struct gp_rule_call *calls;        /* by call of the plan */
    struct gp_item_work *work;         /* by item of the plan */
    GP_VEC(struct gp_counted) counted; /* what counters say of the items that were measured */
    struct gp_stalls stalls;           /* by kernel, with names of the answer */
    GP_VEC(struct gp_needless) needless;
    uint8_t *needless_of; /* by item: its kind, if that takes long enough; 0: needed */
    const struct gp_chains *chains;
    const struct gp_loops *loops;
    const struct gp_device *props; /* of the device; NULL unknown */
    size_t n_steps;
    int64_t plan_ns;        /* length of all steps as recorded */
    int64_t replay_ns;      /* of all steps, unchanged */
    int64_t replay_step_ns; /* of one step, from its first item to the next step's first */
    /* Of the busiest device, over all steps. */
    uint32_t device; /* index into view->devices */
    int64_t busy_ns, gpu_ns, idle_ns[GP_IDLE_CAUSE_COUNT];
    int64_t compute_ns, exposed_communication_ns, exposed_memory_ns; /* as in struct gp_breakdown */
    uint8_t *launches_here; /* by track: a thread that launches items */
    uint8_t **beside;       /* by class, results of gp_rule_rows_beside; NULL: not computed yet */
    /* Elements of a vectorized elementwise kernel, of those that its grid shows: 1 or 0.5, by what the
     * trace shows of its PyTorch; 0: the device is of another vendor, whose grids show nothing. */
    double grid_part;
    double waits_pct; /* of the time, for another rank that comes later: set by the rule straggler */
    const struct gp_unprofiled *unprofiled; /* the steps without the recorder */
    int64_t noise_ns;                       /* of a step, between two runs of the program */
    int64_t ideal_ns;       /* a host that takes no time saves so much; where something is held */
    int64_t held_ns;        /* of all calls, per step */
    bool jax;               /* a program of JAX, which PyTorch's functions do not help */
    bool torch;             /* of PyTorch, by a kernel or an operator */
    bool single_ops;        /* of JAX run one by one, each compiled by itself */
    uint32_t first_product; /* item: the first product or attention; 0: there is none */
    bool same_steps;        /* every step runs the same kernels with the same grids in the same order */
};

/* Add a suggestion of the running rule, with the fixed texts of that rule. The pointer is valid until
 * the next one is added. */
struct gp_suggestion *gp_rule_suggest(struct gp_rule_ctx *c);
/* The same with the edits of EDITS, and its time now, of all steps, if that is ENOUGH; otherwise NULL, and
 * they are released. EDITS is zeroed. */
struct gp_suggestion *gp_rule_suggest_edits(struct gp_rule_ctx *c, bool enough, struct gp_suggestion *edits);
/* CALL and what it launches go for certain, BEFORE: with the host's time before it. */
void gp_rule_remove_call(const struct gp_rule_ctx *c, struct gp_suggestion *s, uint32_t call, bool before);

/* Where the program makes the calls that S is about: the innermost line of the user's own code that more than
 * half of them, of kernels to fuse by their time, are in, or else function, or the same of any code:
 * "apps.py:258 rollout, 64 times per step", "apps.py rollout". 0: their stacks are not known. */
gp_sid gp_rule_place(const struct gp_rule_ctx *c, const struct gp_suggestion *s);
/* Where the program is before and after the host time that BY_CALL has: "between apps.py:25 f and apps.py:31
 * g"; one of them where they are the same, or the other is not known. */
gp_sid gp_rule_place_between(struct gp_rule_ctx *c, const int64_t *by_call);
/* In whose code are most of these calls made: an installed library's other than PyTorch, or the user's?
 * Unknown without stacks. */
enum gp_code { GP_CODE_UNKNOWN, GP_CODE_OWN, GP_CODE_LIBRARY, GP_CODE_COUNT };
enum gp_code gp_rule_code_of(const struct gp_rule_ctx *c, const struct gp_suggestion *s);
enum gp_code gp_rule_code_of_call(const struct gp_rule_ctx *c, uint32_t call);
/* Does one line of the user's own make both calls, itself or by PyTorch or CuPy? */
bool gp_rule_same_line(const struct gp_rule_ctx *c, uint32_t one, uint32_t other);
/* Is LOOP in an installed library? False without stacks. O(calls). */
bool gp_rule_library_loops(const struct gp_rule_ctx *c, const struct gp_loop *loop);

/* An edit of the high end only; free of the resource, it holds as well. */
static inline void gp_rule_edit_high(struct gp_suggestion *s, enum gp_edit_kind kind, uint32_t index,
                                     int64_t ns)
{
    GP_VEC_PUSH(&s->high, ((struct gp_edit){kind, index, ns}));
    GP_VEC_PUSH(&s->free, ((struct gp_edit){kind, index, ns}));
}

/* The same of the low end as well. */
static inline void gp_rule_edit_all(struct gp_suggestion *s, enum gp_edit_kind kind, uint32_t index,
                                    int64_t ns)
{
    GP_VEC_PUSH(&s->low, ((struct gp_edit){kind, index, ns}));
    gp_rule_edit_high(s, kind, index, ns);
}

/* ITEM takes LOW_NS at the low end, HIGH_NS at the high one; free of the resource, no time. */
static inline void gp_rule_edit_dur(struct gp_suggestion *s, uint32_t item, int64_t low_ns, int64_t high_ns)
{
    GP_VEC_PUSH(&s->low, ((struct gp_edit){GP_EDIT_DUR, item, low_ns}));
    GP_VEC_PUSH(&s->high, ((struct gp_edit){GP_EDIT_DUR, item, high_ns}));
    GP_VEC_PUSH(&s->free, ((struct gp_edit){GP_EDIT_GONE, item, 0}));
}

/* At the high end CALL goes, with the host time before it, unless it launches something else as well. */
static inline void gp_rule_edit_launch(const struct gp_rule_ctx *c, struct gp_suggestion *s, uint32_t call)
{
    if (c->p->replay.calls.at[call].n != 1) return;
    gp_rule_edit_high(s, GP_EDIT_OWN, call, 0);
    gp_rule_edit_high(s, GP_EDIT_BEFORE, call, 0);
}

/* Recorded duration of an item, ns. */
static inline int64_t gp_rule_dur(const struct gp_rule_ctx *c, uint32_t item)
{
    return c->p->replay.items.at[item].dur_ns;
}

/* The blocks of its grid; 0 if that is not known. */
static inline int64_t gp_rule_blocks(const struct gp_rule_ctx *c, uint32_t item)
{
    const struct gp_config *k = &c->t->configs.at[c->items[item].config];
    return (int64_t)k->grid[0] * k->grid[1] * k->grid[2];
}

/* The name of an item as recorded. */
static inline const char *gp_rule_name(const struct gp_rule_ctx *c, uint32_t item)
{
    return gp_trace_str(c->t, gp_gpu_config(c->t, c->p->items.at[item].row)->name);
}

/* What a copy or a set moves; negative: not recorded. */
static inline int64_t gp_rule_bytes(const struct gp_rule_ctx *c, uint32_t item)
{
    return gp_get_bytes(&c->t->events[GP_GPU], c->p->items.at[item].row);
}

/* Does it compute, and neither communicate nor move memory? */
static inline bool gp_rule_computes(const struct gp_rule_ctx *c, uint32_t item)
{
    return gp_class_of((enum gp_frame_kind)c->items[item].kind) == GP_CLASS_COMPUTE;
}

/* What counters say of an item; NULL: it was not measured. */
static inline const struct gp_counted *gp_item_counted(const struct gp_rule_ctx *c, uint32_t item)
{
    return c->work[item].counted < c->counted.n ? &c->counted.at[c->work[item].counted] : NULL;
}

/* How many items are kernels, and neither copies nor sets; of all steps. */
int64_t gp_rule_kernels(const struct gp_rule_ctx *c);

/* Is it on the device that works most? */
static inline bool gp_rule_is_here(const struct gp_rule_ctx *c, uint32_t item)
{
    return c->v->device_of_row[c->p->items.at[item].row] == c->device;
}

/* May it belong to the start of the program, such as the copy of a model's weights? Without steps, what comes
 * before the first product may. */
static inline bool gp_rule_starts_up(const struct gp_rule_ctx *c, uint32_t item)
{
    return !c->p->found_steps && item < c->first_product;
}

/* Is it a copy between host and device, in either direction? */
bool gp_rule_crosses(const struct gp_rule_ctx *c, uint32_t item);

/* The most of an item's time that is lost to what the rule looks for, ns; not positive: none, or not for
 * this rule. */
typedef int64_t gp_rule_loss(const struct gp_rule_ctx *c, uint32_t item);
struct gp_rule_lost {
    int64_t count, total_ns, lost_ns; /* of the items that lose time */
    uint32_t worst;                   /* the item that loses most; UINT32_MAX none */
};
/* Add up what the items on the busiest device lose. If S is given, add edits that give it back: all of it
 * at the high end, nothing at the low end. */
struct gp_rule_lost gp_rule_find_lost(const struct gp_rule_ctx *c, gp_rule_loss *loss,
                                      struct gp_suggestion *s);

/* By row of GP_GPU: does it run while another event of CLASS runs on the busiest device? Borrowed from C.
 * O(rows of the device), once per class. */
const uint8_t *gp_rule_rows_beside(const struct gp_rule_ctx *c, enum gp_class class);

/* Does the rule look for events of this name? */
typedef bool gp_rule_match(const char *name);
/* The outermost event of one of TABLES (bits GP_NEED(table)), at NODE or around it, whose name matches;
 * GP_HOST_NONE. MEMO is for one TABLES and MATCH, with hs set; the caller releases it. Amortised O(1). */
uint32_t gp_rule_outermost(const struct gp_rule_ctx *c, struct gp_host_memo *memo, uint32_t node,
                           uint32_t tables, gp_rule_match *match);
/* By index into trace->configs: does the recorded name match? The caller frees the result. O(configs). */
uint8_t *gp_rule_match_configs(const struct gp_rule_ctx *c, gp_rule_match *match);
/* By item: is it a kernel whose plain (demangled) name matches? The caller frees the result. O(items). */
uint8_t *gp_rule_match_items(const struct gp_rule_ctx *c, gp_rule_match *match);
/* Does the recorded name of any kernel of the steps match? */
bool gp_rule_any_kernel(const struct gp_rule_ctx *c, gp_rule_match *match);
/* By item: is it one of the kernels of an optimizer that needs many? Known by its name, or by a range,
 * frame or operator around it. The caller frees the result. O(items). */
uint8_t *gp_rule_optimizer_pieces(const struct gp_rule_ctx *c);

/* Mark by item what runs as an attention in pieces, from its first product to its last. */
void gp_rule_mark_attention(const struct gp_rule_ctx *c, uint8_t *items);
/* Share of the device that one launch fills, 0..1; 0 if unknown, if it fills all of it, or if it cannot be
 * batched. */
double gp_rule_fills(const struct gp_rule_ctx *c, uint32_t item);
/* The running rule explains the launches of these CALLS better than the rules NAMES, " one two ": drop their
 * suggestions that are mostly about them. GRAPH, zeroed, becomes that of cuda_graph, if it is among them, or
 * else of compile; the caller releases it. May be NULL. */
void gp_rule_absorb(struct gp_rule_ctx *c, const uint8_t *calls, const char *names,
                    struct gp_suggestion *graph);

/* Is CALL within a function of PyTorch's GradScaler or optimizers? */
bool gp_rule_is_of_framework(const struct gp_rule_ctx *c, uint32_t call);
/* Is E a function that a person would look for: not one that only calls others, nor what a thread did? */
bool gp_rule_is_function(const struct gp_rule_ctx *c, const struct gp_host_event *e);
/* Is ITEM a copy of a value or two to the host? */
bool gp_rule_is_scalar_read(const struct gp_rule_ctx *c, uint32_t item);

/* TORCH, or JAX in a program of JAX, or OTHER where nothing shows either, as with CuPy or plain CUDA:
 * for all words that name functions of a framework. */
static inline const char *gp_rule_in(const struct gp_rule_ctx *c, const char *torch, const char *jax,
                                     const char *other)
{
    return c->jax ? jax : c->torch ? torch : other;
}
/* Does a tenth of the kernels come from a compiler? It could not reach the others. */
bool gp_rule_is_compiled(const struct gp_rule_ctx *c);
/* What compiles this program, by the names of its kernels: "torch.compile(model)". */
const char *gp_rule_compiler(const struct gp_rule_ctx *c);
/* Add to BY_CALL, which has one entry per call, the host time on the launching threads inside events of
 * TABLE whose names match, as far as it precedes a call of the plan; not that which waits for autograd's
 * thread, which launches meanwhile. Of nested matching events only the outermost counts. *COUNT grows by the
 * number of events but those made of samples, which do not show it. Returns the sum. O(rows of the table). */
int64_t gp_rule_host_time(const struct gp_rule_ctx *c, enum gp_table table, gp_rule_match *match,
                          int64_t *by_call, int64_t *count);
/* The same, only for the host time from BEGIN to END. */
int64_t gp_rule_time_before_calls(const struct gp_rule_ctx *c, int64_t begin_ns, int64_t end_ns,
                                  int64_t *by_call);
/* TOTAL of the device's idle time, per step: its share of all idle time, of which there is none before the
 * first step's first event. */
int64_t gp_rule_idle_per_step(const struct gp_rule_ctx *c, int64_t total);
/* How long the device was idle for CAUSE, as idle_walk.h has it. Adds to BY_CALL the part of that which
 * precedes each call; *WHERE becomes the label of the Python function in which most of it passed, 0 if none
 * was recorded. */
int64_t gp_rule_idle_time(struct gp_rule_ctx *c, enum gp_idle_cause cause, int64_t *by_call, gp_sid *where);
/* Of the idle time for CAUSE, what passes before the calls that have something in BY_CALL; per step. */
int64_t gp_rule_idle_in(struct gp_rule_ctx *c, enum gp_idle_cause cause, const int64_t *by_call);
/* Is CALL the first of a step, and most of the host time before it at the end of the step before, within its
 * range? */
bool gp_rule_ends_step(const struct gp_rule_ctx *c, uint32_t call);
/* The copy of more than a value to the host that the call before CALL waited for; GP_REPLAY_NONE. */
uint32_t gp_rule_result_before(const struct gp_rule_ctx *c, uint32_t call);
/* What is copied to the device soon after the host time before CALL, which prepared it; bytes. */
int64_t gp_rule_input_after(const struct gp_rule_ctx *c, uint32_t call);
/* Is an idle time of that much per step worth a rule about the host, of which it is the only saving? */
bool gp_rule_idle_matters(const struct gp_rule_ctx *c, int64_t idle_ns);
/* S is about so much idle time per step: its evidence. */
void gp_rule_evidence_idle(const struct gp_rule_ctx *c, struct gp_suggestion *s, int64_t idle_ns);
/* Add edits that subtract BY_CALL from the host time before each call. */
void gp_rule_save_host(const struct gp_rule_ctx *c, struct gp_suggestion *s, const int64_t *by_call);
/* The median host time before the calls that launch something, ns. */
int64_t gp_rule_usual_gap(const struct gp_rule_ctx *c);
/* How much longer than the median host time before a launch a gap is that is not spent on launching, and
 * the least. */
enum { GP_RULE_LONG_TIMES = 20, GP_RULE_LONG_NS = 1000000 };
/* Is the host time before CALL such a gap, and 5% of a step? Sets held_ns of all calls: the time before
 * them in which data is loaded, or the whole of such a gap but for a usual one; and their sum in C. Needs
 * c->calls. O(events). */
void gp_rule_find_held(struct gp_rule_ctx *c);
/* Add to BY_CALL the host time in Python functions that samples show, in pieces of 1 ms or more that a
 * device waits for. Those of several devices may overlap. O(n log n) for n events. */
void gp_rule_python_held(const struct gp_rule_ctx *c, int64_t *by_call);
/* Are Python functions recorded, or samples of them? */
static inline bool gp_rule_python_is_known(const struct gp_rule_ctx *c)
{
    return c->t->events[GP_PYTHON].n || c->t->events[GP_SAMPLE].n;
}
/* What makes the recorder of the trace record them: "gpuprof-collect --sample", "with_stack=True". */
const char *gp_rule_shows_python(const struct gp_rule_ctx *c);
/* Is the row made of samples? */
bool gp_rule_is_sampled(const struct gp_rule_ctx *c, enum gp_table table, size_t row);
/* Time lost because the host is late, in percent of the replayed time. */
double gp_rule_host_bound_pct(const struct gp_rule_ctx *c);
/* The same of the step as it is likely to be without the recorder. */
double gp_rule_host_bound_unrecorded_pct(const struct gp_rule_ctx *c);

/* The copy between host and device that CALL of the plan waits for, if the copy belongs to CALL itself or
 * to the previous call on its thread, as with a copy without non_blocking; otherwise GP_REPLAY_NONE. */
uint32_t gp_rule_copy_waited_for(const struct gp_rule_ctx *c, uint32_t call);

/* Format like printf and intern the text. If no steps were found, " per step" is cut from FORMAT. */
gp_sid gp_rule_text(struct gp_rule_ctx *c, const char *format, ...) GP_PRINTF(2, 3);
/* How often: "once per step", "3 times per step", or "7 times in 10 steps". */
const char *gp_rule_times(struct gp_rule_ctx *c, int64_t count);
/* NS in human-readable form, interned in the strings of the answer, for the arguments of a text. */
const char *gp_rule_ns(struct gp_rule_ctx *c, int64_t ns);
const char *gp_rule_size(struct gp_rule_ctx *c, int64_t bytes); /* the same for "38.5 MB" */
/* TOTAL over all steps, divided by their number and rounded. */
int64_t gp_rule_per_step(const struct gp_rule_ctx *c, int64_t total);

void gp_rule_evidence_ns(struct gp_suggestion *s, const char *name, int64_t ns);
void gp_rule_evidence_count(struct gp_suggestion *s, const char *name, int64_t count);
void gp_rule_evidence_bytes(struct gp_suggestion *s, const char *name, int64_t bytes);
void gp_rule_evidence_pct(struct gp_suggestion *s, const char *name, double pct);
void gp_rule_evidence_text(struct gp_suggestion *s, const char *name, gp_sid text);
/* How ITEM used the device, of what was counted: occupancy, issue slots, matrix units, what warps wait
 * for. */
void gp_rule_evidence_counted(struct gp_rule_ctx *c, struct gp_suggestion *s, uint32_t item);

/* Label of a kernel, operator or range, as in flame graphs, in the strings of the answer. */
gp_sid gp_rule_label(struct gp_rule_ctx *c, enum gp_table table, gp_sid name);
gp_sid gp_rule_full_name(struct gp_rule_ctx *c, uint32_t item); /* demangled */
gp_sid gp_rule_item_label(struct gp_rule_ctx *c, uint32_t item);

/* ---- the parts of gp_suggest_run() ---- */

/* Fill in the facts of C from its plan and view, and the step of the answer. The caller frees them with
 * gp_rule_release_facts(). O(events). */
void gp_rule_collect_facts(struct gp_rule_ctx *c);
void gp_rule_release_facts(struct gp_rule_ctx *c);
/* The step without the recorder, by the models of C. */
void gp_rule_unprofiled_step(struct gp_rule_ctx *c);
/* Note the host time before the first kernel of an only step. */
void gp_rule_note_lead(struct gp_rule_ctx *c);
/* Is the replayed step, without that time, near the step on the device? */
bool gp_rule_is_step_replayed(const struct gp_rule_ctx *c);

/* Find c->needless. O(items). */
void gp_rule_find_needless(struct gp_rule_ctx *c);
/* Fill c->work and the ceilings of the answer. Needs c->items, c->device and c->props. O(items + length of
 * their operators' shapes). */
void gp_item_work_find(struct gp_rule_ctx *c);
/* What bounds kernels, operators and the step, from what bounds each item, and the points of a roofline
 * plot: fills regime, kernels, ops and roofline of c->s. */
void gp_rule_sum_regimes(struct gp_rule_ctx *c);

/* From this percentage of the time on that a rank waits for another one, it would save nothing by itself. */
enum { GP_RULE_WAITS_PCT = 20 };
/* Estimate what the suggestions save, by themselves and together, drop those below opts.min_saving_ns, and
 * sort the others by what they are worth. */
void gp_rule_estimate(struct gp_rule_ctx *c);
/* An edit of a rule that leaves long gaps alone leaves them among those of rules that do not, too. */
struct gp_edit gp_rule_left_gap(const struct gp_rule_ctx *c, const struct gp_edit *e,
                                const struct gp_rule *rule);
void gp_suggestion_release(struct gp_suggestion *s);

static inline void gp_rule_note(struct gp_rule_ctx *c, gp_sid text) { GP_VEC_PUSH(&c->s->notes, text); }

#endif
