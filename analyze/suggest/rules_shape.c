// Kernels whose launch shape wastes multiprocessors or time to begin blocks, that share the device with
// communication, or that one launch could replace.
#include <stdlib.h>
#include <string.h>
#include "analyze/math/sums.h"
#include "analyze/names/args.h"
#include "analyze/cost/occupancy.h"
#include "analyze/names/name_predicates.h"
#include "analyze/suggest/rules_priv.h"
#include "analyze/suggest/rules_table.h"
#include "formats/base/str.h"

static const double SHAPE_PCT = 5;  /* of the busy time, lost at most */
static const double WAVES_MOST = 3; /* beyond this, the last wave hardly matters */
static const double WAVE_FILLED = 0.3;
static const double SLOWER = 1.2; /* beside communication */
static const double CONTENTION_PCT = 1;
static const double TINY_PCT = 30; /* of the kernels */
static const double GAPS_PCT = 1;  /* of the time */
/* Per us, 95% of the blocks that H100 and H200 begin at most at their highest clock: no kernel in samples/
 * passed 1,652, whatever its threads, and 45 kernels of 28 recordings reached 1,570. */
static const double BEGUN = 0.95 * 1650;

enum {
    SHORT_NS = 10000, /* shorter kernels are bound by their launch, not by their grid */
    TINY_NS = 5000,
    COMPARED_LEAST = 5, /* launches on each side */
};

static struct gp_occupancy occupancy_of(const struct gp_rule_ctx *c, uint32_t item)
{
    struct gp_occupancy o;
    gp_occupancy_of(&o, c->t, &c->t->configs.at[c->items[item].config], c->props);
    return o;
}

/* ---- cost of the launch shape ---- */

/* Does the item have the device to itself, and does it take long enough for its shape to matter? */
static bool shape_matters(const struct gp_rule_ctx *c, uint32_t item)
{
    return !gp_rule_rows_beside(c, GP_CLASS_COMPUTE)[c->p->items.at[item].row] && gp_rule_computes(c, item) &&
           gp_rule_dur(c, item) > SHORT_NS;
}

/* A suggestion with everything but its texts; NULL if too little is lost. */
static struct gp_suggestion *suggest_shape(struct gp_rule_ctx *c, gp_rule_loss *loss,
                                           struct gp_rule_lost *sum)
{
    *sum = gp_rule_find_lost(c, loss, NULL);
    if (sum->worst == UINT32_MAX || gp_pct(sum->lost_ns, c->busy_ns) < SHAPE_PCT) return NULL;
    struct gp_suggestion *s = gp_rule_suggest(c);
    gp_rule_find_lost(c, loss, s);
    s->operation = gp_rule_item_label(c, sum->worst);
    s->current_ns = gp_rule_per_step(c, sum->total_ns);
    s->resource_high_ns = gp_rule_per_step(c, sum->lost_ns);
    gp_rule_evidence_count(s, "kernels", gp_rule_per_step(c, sum->count));
    gp_rule_evidence_ns(s, "kernels", s->current_ns);
    gp_rule_evidence_count(s, "blocks", (int64_t)occupancy_of(c, sum->worst).blocks);
    gp_rule_evidence_count(s, "multiprocessors", c->props->sms);
    gp_rule_evidence_counted(c, s, sum->worst);
    return s;
}

/* ---- fewer blocks than multiprocessors ---- */

static int64_t lost_to_small_grid(const struct gp_rule_ctx *c, uint32_t item)
{
    if (!shape_matters(c, item) || gp_kernel_has_own_grid(gp_rule_name(c, item))) return 0;
    struct gp_occupancy o = occupancy_of(c, item);
    if (!c->props || c->props->sms <= 0 || !o.blocks || o.blocks >= (uint64_t)c->props->sms) return 0;
    /* Libraries share tiles evenly: of more than there are multiprocessors, among more than half of them. */
    bool shares = gp_name_has_one_of(gp_rule_name(c, item), " nvjet_ _warpgroupsize ");
    if (shares && o.blocks * 2 > (uint64_t)c->props->sms) return 0;
    int64_t dur = gp_rule_dur(c, item);
    return dur - (int64_t)((double)dur * (double)o.blocks / c->props->sms);
}

static void check_small_grid(struct gp_rule_ctx *c)
{
    struct gp_rule_lost sum;
    struct gp_suggestion *s = suggest_shape(c, lost_to_small_grid, &sum);
    if (!s) return;
    s->description = gp_rule_text(c,
                                  "Kernels (%lld per step, %s) run with nothing beside them and with fewer "
                                  "blocks than the device's %d multiprocessors; the worst has %lld",
                                  (long long)gp_rule_per_step(c, sum.count), gp_rule_ns(c, s->current_ns),
                                  c->props->sms, (long long)occupancy_of(c, sum.worst).blocks);
}

const struct gp_rule gp_rule_small_grid = {
    .name = "small_grid",
    .type = GP_SUGGEST_PARALLELIZATION,
    .summary = "kernels with fewer blocks than the device has multiprocessors",
    .needs = "grids, the device's multiprocessor count",
    .threshold = "kernels over 10 us that leave multiprocessors without a block; 5% of the busy time lost",
    .guard = "kernels that run beside others, and whose library shares tiles among blocks; the low end is "
             "nothing, as the trace does not show whether the kernels can be split",
    .action = "use larger batches, split-K or split reductions, or run independent kernels beside "
              "them on other streams",
    .formula = "between nothing and the share of each kernel's time that idle multiprocessors could "
               "have taken over",
    .assumes = "the work of a block can be split; it is not one long chain of loads",
    .expect = "larger grids and shorter kernels",
    .run = check_small_grid,
    .to_know = "record hardware counters (gpuprof-collect --metrics)",
};

/* ---- a last wave that is nearly empty ---- */

/* Blocks that wait for memory finish one by one, so no wave delays the next. */
static bool runs_in_waves(const struct gp_rule_ctx *c, uint32_t item)
{
    const struct gp_config *config = &c->t->configs.at[c->items[item].config];
    bool clusters = config->has & GP_HAS_CLUSTER &&
                    (config->cluster[0] > 1 || config->cluster[1] > 1 || config->cluster[2] > 1);
    return (c->items[item].kind == GP_FRAME_GEMM || c->items[item].kind == GP_FRAME_ATTENTION) && !clusters;
}

static int64_t lost_to_last_wave(const struct gp_rule_ctx *c, uint32_t item)
{
    if (!shape_matters(c, item) || !runs_in_waves(c, item)) return 0;
    double waves = occupancy_of(c, item).waves;
    if (waves <= 1 || waves >= WAVES_MOST) return 0;
    int64_t whole = (int64_t)waves;
    double filled = waves - (double)whole;
    if (filled <= 0 || filled >= WAVE_FILLED) return 0;
    int64_t dur = gp_rule_dur(c, item);
    return dur - (int64_t)((double)dur * waves / (double)(whole + 1));
}

static void check_wave_quantisation(struct gp_rule_ctx *c)
{
    struct gp_rule_lost sum;
    struct gp_suggestion *s = suggest_shape(c, lost_to_last_wave, &sum);
    if (!s) return;
    double waves = occupancy_of(c, sum.worst).waves;
    s->description =
        gp_rule_text(c,
                     "Matrix product or attention kernels (%lld per step, %s) need one more wave of blocks "
                     "that is nearly empty; the worst runs %.2f waves",
                     (long long)gp_rule_per_step(c, sum.count), gp_rule_ns(c, s->current_ns), waves);
    s->action = gp_rule_text(c, "choose a batch size%s whose blocks fill whole waves, or use split-K",
                             gp_rule_in(c, " or tile (max-autotune)", "", " or tile"));
}

const struct gp_rule gp_rule_wave_quantisation = {
    .name = "wave_quantisation",
    .type = GP_SUGGEST_PARALLELIZATION,
    .summary = "products whose last wave of blocks is nearly empty",
    .needs = "grids, blocks, registers and shared memory, the device's properties",
    .threshold = "1 to 3 waves, the last one less than 30% full; 5% of the busy time lost",
    .guard = "clusters; memory-bound kernels; kernels that run beside others",
    .formula = "between nothing and the empty part of the waves: each kernel keeps waves / whole "
               "waves of its time",
    .assumes = "all blocks take the same time",
    .expect = "other grids and shorter products",
    .run = check_wave_quantisation,
    .to_know = "record hardware counters (gpuprof-collect --metrics)",
};

/* ---- kernels that communication slows down ---- */

/* A hash of the input sizes of an item's operator; 0 if not recorded. The same kernel with the same grid
 * takes longer for a deeper product. */
static uint64_t sizes_of(const struct gp_rule_ctx *c, uint32_t item)
{
    struct gp_arg a;
    uint64_t hash = 0;
    if (c->items[item].op == UINT32_MAX) return 0;
    const char *at = gp_trace_str(c->t, gp_get_extra(&c->t->events[GP_OP], c->items[item].op));
    while (gp_args_next(&at, &a)) {
        if (!gp_arg_is(&a, "Input Dims")) continue;
        for (size_t i = 0; i < a.n; i++) hash = (hash ^ (unsigned char)a.value[i]) * UINT64_C(0x100000001b3);
        return hash;
    }
    return 0;
}

struct launch {
    uint32_t config, item;
    uint64_t sizes;
    int64_t dur_ns;
    bool beside; /* communication */
};

static int compare_launches(const void *a, const void *b)
{
    const struct launch *x = a, *y = b;
    if (x->config != y->config) return x->config < y->config ? -1 : 1;
    if (x->sizes != y->sizes) return x->sizes < y->sizes ? -1 : 1;
    if (x->beside != y->beside) return x->beside ? 1 : -1;
    if (x->dur_ns != y->dur_ns) return x->dur_ns < y->dur_ns ? -1 : 1;
    return x->item < y->item ? -1 : x->item > y->item;
}

struct contention {
    int64_t count, total_ns, excess_ns;
    int64_t alone_ns, beside_ns, most_ns; /* of the worst kernel: medians, and its excess */
    uint32_t worst;                       /* item; UINT32_MAX none */
};

/* N launches of one kernel with one grid, those without communication first. */
static void compare_one(const struct launch *at, size_t n, struct contention *sum, struct gp_suggestion *s)
{
    size_t alone = 0;
    int64_t excess = 0;
    while (alone < n && !at[alone].beside) alone++;
    if (alone < COMPARED_LEAST || n - alone < COMPARED_LEAST) return;
    /* Launches that differ even without communication do not do the same work. */
    if ((double)at[alone * 9 / 10].dur_ns >= SLOWER * (double)at[alone / 10].dur_ns) return;
    int64_t before = at[alone / 2].dur_ns, with = at[alone + (n - alone) / 2].dur_ns;
    if ((double)with < SLOWER * (double)before) return;
    for (size_t i = alone; i < n; i++) {
        if (at[i].dur_ns > before) excess += at[i].dur_ns - before;
        sum->total_ns += at[i].dur_ns;
        if (!s) continue;
        GP_VEC_PUSH(&s->high, ((struct gp_edit){GP_EDIT_DUR, at[i].item,
                                                at[i].dur_ns < before ? at[i].dur_ns : before}));
        GP_VEC_PUSH(&s->free, ((struct gp_edit){GP_EDIT_GONE, at[i].item, 0}));
    }
    sum->count += (int64_t)(n - alone);
    sum->excess_ns += excess;
    if (sum->worst != UINT32_MAX && excess <= sum->most_ns) return;
    sum->worst = at[alone].item;
    sum->alone_ns = before;
    sum->beside_ns = with;
    sum->most_ns = excess;
}

static struct contention find_contention(const struct gp_rule_ctx *c, struct gp_suggestion *s)
{
    struct contention sum = {.worst = UINT32_MAX};
    struct launch *all = gp_alloc((c->p->items.n + 1) * sizeof *all);
    const uint8_t *computing = gp_rule_rows_beside(c, GP_CLASS_COMPUTE),
                  *talking = gp_rule_rows_beside(c, GP_CLASS_COMMUNICATION);
    size_t n = 0;
    for (uint32_t i = 0; i < c->p->items.n; i++) {
        uint32_t row = c->p->items.at[i].row;
        if (c->v->device_of_row[row] == c->device && gp_rule_computes(c, i) && !computing[row])
            all[n++] =
                (struct launch){c->items[i].config, i, sizes_of(c, i), gp_rule_dur(c, i), talking[row]};
    }
    if (n) qsort(all, n, sizeof *all, compare_launches);
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from; to < n && all[to].config == all[from].config && all[to].sizes == all[from].sizes;)
            to++;
        compare_one(all + from, to - from, &sum, s);
    }
    free(all);
    return sum;
}

static bool communicates(const struct gp_rule_ctx *c)
{
    const struct gp_view_device *d = &c->v->devices.at[c->device];
    for (size_t i = d->first; i < d->first + d->n; i++)
        if (gp_view_class(c->v, c->v->rows[i]) == GP_CLASS_COMMUNICATION) return true;
    return false;
}

static void check_contention(struct gp_rule_ctx *c)
{
    if (!communicates(c)) return;
    struct contention sum = find_contention(c, NULL);
    if (sum.worst == UINT32_MAX || gp_pct(sum.excess_ns, c->busy_ns) < CONTENTION_PCT) return;
    struct gp_suggestion *s = gp_rule_suggest(c);
    find_contention(c, s);
    s->operation = gp_rule_item_label(c, sum.worst);
    s->current_ns = gp_rule_per_step(c, sum.total_ns);
    s->resource_high_ns = gp_rule_per_step(c, sum.excess_ns);
    s->description =
        gp_rule_text(c,
                     "Kernels are slower while the device communicates: %lld per step, by %s in all; the "
                     "worst takes %s instead of %s",
                     (long long)gp_rule_per_step(c, sum.count), gp_rule_ns(c, s->resource_high_ns),
                     gp_rule_ns(c, sum.beside_ns), gp_rule_ns(c, sum.alone_ns));
    gp_rule_evidence_count(s, "kernels", gp_rule_per_step(c, sum.count));
    gp_rule_evidence_ns(s, "median_alone", sum.alone_ns);
    gp_rule_evidence_ns(s, "median_beside", sum.beside_ns);
}

const struct gp_rule gp_rule_contention = {
    .name = "contention",
    .type = GP_SUGGEST_COMMUNICATION,
    .summary = "kernels that are slower while the device communicates",
    .needs = "kernel names and grids",
    .threshold = "20% slower than the same kernel and grid without communication, five launches of each; 1% "
                 "of the busy time",
    .guard = "kernels whose time varies even without communication; different sizes, where operators record "
             "them; the low end is nothing, as communication may then take longer",
    .action = "give communication fewer multiprocessors (NCCL_MAX_CTAS, copy engines), or run it "
              "beside kernels that need fewer",
    .formula = "between nothing and what exceeds the median time of the same launch without communication",
    .assumes = "the launches do the same work, as their equal grids suggest; communication with less "
               "of the device is still fast enough",
    .expect = "these kernels to be faster",
    .run = check_contention,
};

/* ---- blocks that do too little ---- */

/* Made by a library or a compiler, and not the program's own of Triton or CUDA: by its name as recorded. */
static bool is_of_others(const char *name)
{
    const char *scope = strstr(name, "::");
    return (scope && scope < name + strcspn(name, "<")) || gp_starts(name, "_ZN") ||
           gp_kernel_is_cupy(name) || gp_kernel_is_xla(name) || gp_kernel_is_compiled(name) ||
           gp_kernel_is_of_library(name);
}

static double begun_per_us(const struct gp_rule_ctx *c, uint32_t item)
{
    return 1000.0 * (double)gp_rule_blocks(c, item) / (double)gp_rule_dur(c, item);
}

/* A thread reads and writes two bytes at least; counters know better. */
static int64_t lost_to_tiny_blocks(const struct gp_rule_ctx *c, uint32_t item)
{
    const struct gp_config *k = &c->t->configs.at[c->items[item].config];
    double clock = c->work[item].clock > 0 ? c->work[item].clock : 1,
           bytes = 4.0 * (double)gp_rule_blocks(c, item) * k->block[0] * k->block[1] * k->block[2];
    if (!shape_matters(c, item) || begun_per_us(c, item) < BEGUN * clock) return 0;
    if (c->work[item].share.bytes_low > bytes) bytes = c->work[item].share.bytes_low;
    if (!c->props || c->props->cc_major != 9 || is_of_others(gp_rule_name(c, item))) return 0;
    return gp_rule_dur(c, item) - (int64_t)gp_ceilings_memory_ns(&c->s->ceilings, bytes, bytes / 2);
}

static void check_tiny_blocks(struct gp_rule_ctx *c)
{
    struct gp_rule_lost sum;
    struct gp_suggestion *s = suggest_shape(c, lost_to_tiny_blocks, &sum);
    if (!s) return;
    double rate = begun_per_us(c, sum.worst);
    int64_t moved = (int64_t)(gp_ceilings_memory_bytes(&c->s->ceilings, 1000, -1) / rate);
    s->description = gp_rule_text(
        c,
        "Kernels (%lld per step, %s) begin %.0f blocks per us, about as many as the device can: that bounds "
        "them, unless each block moves nearly the %s that memory can move meanwhile",
        (long long)gp_rule_per_step(c, sum.count), gp_rule_ns(c, s->current_ns), rate,
        gp_rule_size(c, moved));
    gp_rule_evidence_count(s, "blocks_per_us", (int64_t)rate);
}

const struct gp_rule gp_rule_tiny_blocks = {
    .name = "tiny_blocks",
    .type = GP_SUGGEST_PARALLELIZATION,
    .summary = "kernels whose blocks do so little that the device is busy beginning them",
    .needs = "grids, on a Hopper device: it is not known how many blocks others can begin",
    .threshold = "over 10 us, and 95% of 1,650 blocks begun per us at the highest clock; 5% of the busy time",
    .guard = "kernels of libraries and compilers, which choose their grids; kernels that run beside others",
    .action = "give each block more to do: several rows or tiles per program in Triton, a loop over the grid "
              "with a few blocks per multiprocessor in CUDA",
    .change = "give each block more to do, such as several rows",
    .formula = "between nothing, as the bytes are not known, and all but what two in and out per thread take",
    .assumes = "a block can take the work of several",
    .expect = "smaller grids and shorter kernels",
    .run = check_tiny_blocks,
    .to_know = "record hardware counters (gpuprof-collect --metrics)",
    .measured = true,
};

/* ---- many tiny kernels in a full queue ---- */

static bool is_tiny(const struct gp_rule_ctx *c, uint32_t item)
{
    return gp_rule_computes(c, item) && gp_rule_dur(c, item) < TINY_NS;
}

/* A tiny kernel right after another: fusing them saves at least the gap between them. */
static bool follows_tiny(const struct gp_rule_ctx *c, uint32_t item)
{
    const struct gp_plan *p = c->p;
    return item && is_tiny(c, item) && is_tiny(c, item - 1) &&
           p->items.at[item].step == p->items.at[item - 1].step &&
           p->replay.items.at[item].stream == p->replay.items.at[item - 1].stream;
}

struct tiny {
    int64_t count, following, gaps_ns, total_ns, compiled;
    uint32_t longest; /* item; UINT32_MAX none */
};

static struct tiny find_tiny(const struct gp_rule_ctx *c)
{
    struct tiny sum = {.longest = UINT32_MAX};
    for (uint32_t i = 0; i < c->p->items.n; i++) {
        sum.compiled += c->items[i].compiled;
        if (!is_tiny(c, i)) continue;
        sum.count++;
        sum.total_ns += gp_rule_dur(c, i);
        if (sum.longest == UINT32_MAX || gp_rule_dur(c, i) > gp_rule_dur(c, sum.longest)) sum.longest = i;
        if (!follows_tiny(c, i)) continue;
        sum.following++;
        sum.gaps_ns += c->p->replay.items.at[i].gap_ns;
    }
    return sum;
}

static void check_tiny_kernels(struct gp_rule_ctx *c)
{
    struct tiny sum = find_tiny(c);
    int64_t items = (int64_t)c->p->items.n;
    if (c->p->drained * 2 >= c->p->items.n || sum.compiled * 10 >= items) return;
    if (gp_pct(sum.count, items) <= TINY_PCT || gp_pct(sum.gaps_ns, c->plan_ns) < GAPS_PCT) return;
    struct gp_suggestion *s = gp_rule_suggest(c);
    for (uint32_t i = 0; i < c->p->items.n; i++) {
        if (!follows_tiny(c, i)) continue;
        GP_VEC_PUSH(&s->high, ((struct gp_edit){GP_EDIT_GAP, i, 0}));
        GP_VEC_PUSH(&s->free, ((struct gp_edit){GP_EDIT_GONE, i, 0}));
    }
    s->operation = gp_rule_item_label(c, sum.longest);
    s->current_ns = gp_rule_per_step(c, sum.total_ns);
    s->resource_high_ns = gp_rule_per_step(c, sum.gaps_ns);
    s->description =
        gp_rule_text(c,
                     "%lld of the %lld kernels per step take less than 5 us each; where the host launches "
                     "early enough, the GPU pauses for %s between them",
                     (long long)gp_rule_per_step(c, sum.count),
                     (long long)gp_rule_per_step(c, gp_rule_kernels(c)), gp_rule_ns(c, s->resource_high_ns));
    s->action = gp_rule_text(
        c, "fuse neighbouring kernels (%s, or by hand), or let one kernel process several tensors",
        gp_rule_compiler(c));
    s->formula = gp_rule_text(
        c,
        "between nothing and the gaps between %lld of them; what the kernels themselves save is not included",
        (long long)gp_rule_per_step(c, sum.following));
    gp_rule_evidence_count(s, "tiny", gp_rule_per_step(c, sum.count));
    gp_rule_evidence_count(s, "kernels", gp_rule_per_step(c, gp_rule_kernels(c)));
    gp_rule_evidence_ns(s, "gaps", s->resource_high_ns);
}

const struct gp_rule gp_rule_tiny_kernels = {
    .name = "tiny_kernels",
    .type = GP_SUGGEST_FUSION,
    .summary = "tiny kernels with gaps between them where the host launches early enough",
    .needs = "kernels with their launch calls",
    .threshold = "more than 30% of the kernels take less than 5 us; 1% of the time in gaps between them",
    .guard = "a late host (see compile and cuda_graph); a tenth of the kernels come from a compiler",
    .assumes = "neighbouring kernels can be fused",
    .expect = "less idle_kernel_gap and fewer kernels",
    .run = check_tiny_kernels,
    .to_know = "record operators with shapes",
    .sizes = true,
};

/* ---- equal kernels in a row ---- */

static const double BATCH_PCT = 1; /* of the busy time */

enum { RUN_LEAST = 10 }; /* equal kernels in a row */

/* Does ITEM run the same as the previous item in its step, on the same stream? */
static bool repeats(const struct gp_rule_ctx *c, uint32_t item)
{
    const struct gp_plan *p = c->p;
    return item && c->items[item].config == c->items[item - 1].config &&
           p->items.at[item].step == p->items.at[item - 1].step &&
           p->replay.items.at[item].stream == p->replay.items.at[item - 1].stream;
}

double gp_rule_fills(const struct gp_rule_ctx *c, uint32_t item)
{
    struct gp_occupancy o;
    const struct gp_config *config = &c->t->configs.at[c->items[item].config];
    if (gp_class_of((enum gp_frame_kind)c->items[item].kind) != GP_CLASS_COMPUTE) return 0;
    if (gp_kernel_is_multi_tensor(gp_trace_str(c->t, config->name))) return 0;
    gp_occupancy_of(&o, c->t, config, c->props);
    return o.waves < 1 ? o.waves : 0;
}

struct batches {
    int64_t runs, count, total_ns, saved_ns;
    int64_t elementwise_ns; /* of the total */
    uint32_t longest;       /* item that begins the longest run; UINT32_MAX none */
    uint32_t most;          /* kernels in it */
};

/* One launch for the run [FROM, TO): it takes as long as its longest kernel, or as its waves. */
static void batch_run(const struct gp_rule_ctx *c, uint32_t from, uint32_t to, struct batches *sum,
                      struct gp_suggestion *s)
{
    double part = gp_rule_fills(c, from);
    uint32_t n = to - from;
    int64_t total = 0, longest = 0;
    if (n < RUN_LEAST || part <= 0) return;
    for (uint32_t i = from; i < to; i++) {
        total += gp_rule_dur(c, i);
        if (gp_rule_dur(c, i) > longest) longest = gp_rule_dur(c, i);
    }
    int64_t empty = c->s->empty_ns < total / n ? c->s->empty_ns * n : total; /* begins and ends n times */
    int64_t batched = (int64_t)((double)(total - empty) * part);
    if (batched < longest) batched = longest;
    sum->runs++;
    sum->count += n;
    sum->total_ns += total;
    sum->elementwise_ns += c->items[from].kind == GP_FRAME_ELEMENTWISE ? total : 0;
    sum->saved_ns += total - batched;
    if (n > sum->most) sum->most = n, sum->longest = from;
    for (uint32_t i = from; i < to; i++) {
        gp_rule_edit_high(s, GP_EDIT_DUR, i, batched / n);
        if (i == from) continue;
        gp_rule_edit_high(s, GP_EDIT_GAP, i, 0);
        gp_rule_edit_launch(c, s, c->p->items.at[i].call);
    }
}

static void check_batching(struct gp_rule_ctx *c)
{
    struct batches sum = {.longest = UINT32_MAX};
    struct gp_suggestion edits = {0};
    for (uint32_t from = 0, to; from < c->p->items.n; from = to) {
        for (to = from + 1; to < c->p->items.n && repeats(c, to);) to++;
        batch_run(c, from, to, &sum, &edits);
    }
    bool enough = sum.runs >= (int64_t)c->n_steps && gp_pct(sum.total_ns, c->busy_ns) >= BATCH_PCT;
    edits.current_ns = sum.total_ns;
    struct gp_suggestion *s = gp_rule_suggest_edits(c, enough, &edits);
    if (!s) return;
    s->unsure = sum.elementwise_ns * 2 > sum.total_ns; /* each may change what the one before wrote */
    s->operation = gp_rule_item_label(c, sum.longest);
    s->resource_high_ns = gp_rule_per_step(c, sum.saved_ns);
    s->description = gp_rule_text(
        c,
        "Kernels (%lld per step, %s) are launched in runs of equal kernels with equal grids that "
        "fill only part of the device; the longest run has %u",
        (long long)gp_rule_per_step(c, sum.count), gp_rule_ns(c, s->current_ns), sum.most);
    const char *other =
        c->items[sum.longest].kind == GP_FRAME_GEMM
            ? "one batched product (torch.bmm, matmul of CuPy in three dimensions, or cuBLAS's batched GEMM)"
            : "one kernel that does the work of all";
    s->action = gp_rule_text(c, "replace each run of equal kernels with one launch: %s",
                             gp_rule_in(c, "bmm, torch.stack, torch.vmap, or a _foreach_ operator",
                                        "jax.vmap, or one batched product", other));
    gp_rule_evidence_count(s, "kernels", gp_rule_per_step(c, sum.count));
    gp_rule_evidence_count(s, "rows", gp_rule_per_step(c, sum.runs));
    gp_rule_evidence_count(s, "longest_row", sum.most);
}

const struct gp_rule gp_rule_batching = {
    .name = "batching",
    .type = GP_SUGGEST_BATCHING,
    .summary = "runs of equal kernels that one launch could replace",
    .needs = "grids, blocks, registers and shared memory, the device's properties",
    .threshold =
        "10 equal kernels with equal grids and nothing between them, in each step; 1% of the busy time",
    .guard = "kernels that fill the device or already process many tensors; the low end is nothing, as the "
             "trace does not show whether they depend on one another, and stays so for elementwise kernels, "
             "which may work on one tensor",
    .formula = "between nothing and all launches but one per run, with kernels running side by side "
               "until the device is full",
    .assumes = "the kernels do not need one another's results, which a trace does not show",
    .expect = "fewer launches and larger grids",
    .run = check_batching,
    .to_know = "record operators with shapes",
    .sizes = true,
    .measured = true,
    .least_pct = 40,
};
