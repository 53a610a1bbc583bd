/* Blocks: what replaced what, in one representative step of each side (align.h), and which operations that
 * explains. */
#include <stdlib.h>
#include <string.h>
#include "analyze/diff/align.h"
#include "analyze/diff/diff_priv.h"
#include "analyze/math/sums.h"
#include "analyze/names/kernel_key.h"
#include "analyze/names/names.h"
#include "formats/base/buf.h"
#include "formats/base/map.h"
#include "formats/base/order.h"
#include "formats/base/str.h"

#define NONE GP_PROFILE_NONE

enum {
    NAMES_MOST = 200, /* of one side of a block; nobody reads a longer sequence */
    LABEL_NAMES = 3,
    LEVELS_MOST = 256, /* that are looked at, from a launch upwards */
};

/* The texts of keys, and the numbers that stand for them: in the order of bytes, so that they do not depend
 * on which side is the baseline. */
struct keys {
    struct gp_strings strings;
    uint32_t *rank; /* by sid */
};

/* A kernel's keys, as sids of `keys`. */
struct kernel_keys {
    uint32_t code, form;
    bool fused, helper;
};

/* One side: its step that stands for all. */
struct side {
    const struct gp_diff_group *g;
    const struct gp_diff_sample *sample;
    const struct gp_profile *p;
    const struct gp_profile_event *event; /* of the step */
    struct gp_align_item *item;
    uint32_t n;
};

struct blocks {
    struct gp_diff_work *w;
    struct gp_diff *d;
    struct keys keys;
    struct side side[GP_DIFF_SIDES];
    struct gp_align al;
    uint32_t *block_of_group[GP_DIFF_SIDES]; /* the block that lists a group's kernels of that side */
};

/* ---- the step that stands for all ---- */

/* The first sample of the sequence that most have. */
static const struct gp_diff_sample *usual_sample(const struct gp_diff_group *g)
{
    struct gp_map of = {0};
    const struct gp_diff_sample *best = NULL;
    uint32_t most = 0;
    for (size_t i = 0; i < g->samples.n; i++) ++*gp_map_put(&of, g->samples.at[i].s->sequence, 0);
    for (size_t i = 0; i < g->samples.n; i++) {
        uint32_t times = *gp_map_get(&of, g->samples.at[i].s->sequence);
        if (times > most) most = times, best = &g->samples.at[i];
    }
    gp_map_release(&of);
    return best;
}

/* The sample with that sequence and the median GPU time. */
static const struct gp_diff_sample *middle_sample(const struct gp_diff_group *g)
{
    const struct gp_diff_sample *usual = usual_sample(g), *found = NULL;
    int64_t *ns = gp_alloc((g->samples.n + 1) * sizeof *ns);
    size_t n = 0;
    for (size_t i = 0; i < g->samples.n; i++)
        if (g->samples.at[i].s->sequence == usual->s->sequence) ns[n++] = g->samples.at[i].s->gpu_ns;
    qsort(ns, n, sizeof *ns, gp_order_i64);
    for (size_t i = 0; i < g->samples.n && !found; i++) {
        const struct gp_profile_step *s = g->samples.at[i].s;
        if (s->sequence == usual->s->sequence && s->gpu_ns == ns[(n - 1) / 2]) found = &g->samples.at[i];
    }
    free(ns);
    return found;
}

/* ---- keys ---- */

static uint32_t key_of(struct keys *k, const struct gp_buf *text)
{
    return gp_intern(&k->strings, text->data, text->n);
}

static struct kernel_keys keys_of_kernel(struct keys *k, const char *name, size_t n)
{
    struct gp_buf text = {0};
    struct kernel_keys keys = {.fused = gp_kernel_is_fused(name, n), .helper = gp_kernel_is_helper(name, n)};
    gp_kernel_code(&text, name, n);
    keys.code = key_of(k, &text);
    text.n = 0;
    gp_kernel_form(&text, name, n);
    keys.form = key_of(k, &text);
    gp_buf_release(&text);
    return keys;
}

/* The phase of a training step, from the innermost frame around the launch that shows it. */
static enum gp_phase phase_of(const struct gp_profile *p, uint32_t place)
{
    bool op = false;
    for (int up = 0; place && up < LEVELS_MOST; up++, place = p->places.at[place].parent) {
        const char *label = gp_profile_str(p, p->places.at[place].label);
        if (strstr(label, "Backward")) return GP_PHASE_BACKWARD;
        if (gp_starts(label, "Optimizer.")) return GP_PHASE_OPTIMIZER;
        op |= p->places.at[place].kind == GP_FRAME_OP;
    }
    return op ? GP_PHASE_FORWARD : GP_PHASE_UNKNOWN;
}

/* 0 where the operator is not known. */
static uint32_t role_of(struct keys *k, const struct gp_profile *p, const struct gp_profile_event *e)
{
    gp_sid op = p->places.at[e->place].op;
    if (!op) return 0;
    struct gp_buf text = {0};
    gp_kernel_role(&text, (enum gp_frame_kind)p->kernels.at[e->kernel].kind, gp_profile_str(p, op),
                   gp_string_len(&p->strings, op), phase_of(p, e->place));
    uint32_t key = key_of(k, &text);
    gp_buf_release(&text);
    return key;
}

static void make_items(struct blocks *b, struct side *s)
{
    struct kernel_keys *of_name = gp_zalloc((s->p->strings.n + 1) * sizeof *of_name);
    struct gp_map roles = {0}; /* place << 8 | kind */
    s->item = gp_zalloc(((size_t)s->n + 1) * sizeof *s->item);
    for (uint32_t i = 0; i < s->n; i++) {
        const struct gp_profile_event *e = &s->event[i];
        const struct gp_profile_kernel *kernel = &s->p->kernels.at[e->kernel];
        struct kernel_keys *keys = &of_name[kernel->name];
        if (!keys->code)
            *keys = keys_of_kernel(&b->keys, gp_profile_str(s->p, kernel->name),
                                   gp_string_len(&s->p->strings, kernel->name));
        uint32_t *role = gp_map_put(&roles, (uint64_t)e->place << 8 | kernel->kind, NONE);
        if (*role == NONE) *role = role_of(&b->keys, s->p, e);
        s->item[i] = (struct gp_align_item){.key = keys->code,
                                            .family = keys->form,
                                            .role = *role,
                                            .kind = keys->helper ? GP_FRAME_COMPUTE : kernel->kind,
                                            .fused = keys->fused,
                                            .dur_ns = e->dur_ns};
    }
    gp_map_release(&roles);
    free(of_name);
}

struct ranked {
    const char *text;
    uint32_t sid;
};

GP_COMPARE(compare_ranked, struct ranked, GP_THEN(strcmp(x->text, y->text)))

/* Sids become ranks. Texts hold no NUL bytes that matter: equal C strings share a rank only where names hold
 * such. */
static void rank_keys(struct blocks *b)
{
    size_t n = b->keys.strings.n;
    struct ranked *list = gp_alloc((n + 1) * sizeof *list);
    b->keys.rank = gp_zalloc((n + 1) * sizeof *b->keys.rank);
    for (uint32_t i = 0; i < n; i++) list[i] = (struct ranked){gp_string(&b->keys.strings, i), i};
    if (n) qsort(list, n, sizeof *list, compare_ranked);
    for (uint32_t i = 0; i < n; i++) b->keys.rank[list[i].sid] = i + 1;
    free(list);
    for (int side = 0; side < GP_DIFF_SIDES; side++)
        GP_EACH_OF(struct gp_align_item, item, b->side[side].item, b->side[side].n) {
            item->key = b->keys.rank[item->key];
            item->family = b->keys.rank[item->family];
            item->role = item->role ? b->keys.rank[item->role] : 0;
        }
}

/* The durations of a step are those of all samples with its sequence, place by place: the mean, to the
 * nearest ns. Damaged ones are cut so that sums fit: to hours, for as many kernels as a step has. */
static void average(struct side *s)
{
    int64_t *sum = gp_zalloc(((size_t)s->n + 1) * sizeof *sum);
    uint64_t steps = 0;
    GP_EACH(const struct gp_diff_sample, other, s->g->samples) {
        if (other->s->sequence != s->sample->s->sequence || other->s->n != s->n) continue;
        const struct gp_profile_event *e =
            GP_VEC_FROM(&s->g->profiles[other->profile]->events, other->s->first);
        for (uint32_t k = 0; k < s->n; k++) sum[k] = gp_add_saturated(sum[k], e[k].dur_ns);
        steps++;
    }
    int64_t most = INT64_MAX / 4 / ((int64_t)s->n + 1);
    for (uint32_t k = 0; k < s->n; k++) {
        int64_t mean = gp_diff_mean(sum[k], steps);
        s->item[k].dur_ns = mean < most ? mean : most;
    }
    free(sum);
}

static void choose_side(struct blocks *b, int side)
{
    struct side *s = &b->side[side];
    s->g = &b->w->side[side];
    s->sample = middle_sample(s->g);
    s->p = s->g->profiles[s->sample->profile];
    s->event = GP_VEC_FROM(&s->p->events, s->sample->s->first);
    s->n = s->sample->s->n;
    make_items(b, s);
    average(s);
}

/* ---- names of blocks ---- */

static gp_sid label_of(struct blocks *b, const struct side *s, uint32_t i)
{
    const struct gp_profile_kernel *kernel = &s->p->kernels.at[s->event[i].kernel];
    const char *name = gp_profile_str(s->p, kernel->name);
    size_t n = gp_string_len(&s->p->strings, kernel->name);
    struct gp_buf label = {0};
    if (kernel->kind != GP_FRAME_MEMCPY && kernel->kind != GP_FRAME_MEMSET)
        gp_name_kernel_label(&label, name, n);
    else gp_buf_put(&label, name, n);
    return gp_intern_buf(&b->d->strings, &label);
}

static void put_names(struct blocks *b, struct gp_diff_block *k, int side, uint32_t first, uint32_t n)
{
    k->first_name[side] = (uint32_t)b->d->names.n;
    for (uint32_t i = 0; i < n && i < NAMES_MOST; i++) {
        gp_sid label = label_of(b, &b->side[side], first + i);
        GP_VEC_PUSH(&b->d->names, label);
        k->n_names[side]++;
    }
}

/* What a label runs: "CUDAFunctor_add" of "vectorized_elementwise_kernel<CUDAFunctor_add>". */
static void put_short(struct gp_buf *to, const char *label)
{
    const char *open = strchr(label, '<'), *home;
    size_t n = strcspn(label, "<(");
    while (n && label[n - 1] == ' ') n--; /* "Memcpy DtoD (Device -> Device)" */
    if (open && open[1] && strchr(open, '>')) label = open + 1, n = strcspn(label, ",>");
    while ((home = memchr(label, ':', n))) n -= (size_t)(home + 1 - label), label = home + 1;
    gp_buf_put(to, label, n);
}

/* "CatArrayBatchedCopy + direct_copy_kernel_cuda + 4 more" of the side that has any, the baseline first. */
static gp_sid block_label(struct blocks *b, const struct gp_diff_block *k)
{
    struct gp_buf text = {0};
    int side = k->n_names[GP_DIFF_BASE] ? GP_DIFF_BASE : GP_DIFF_CUR;
    uint32_t shown = 0, reported = 0;
    for (uint32_t i = 0; i < k->n_names[side] && shown < LABEL_NAMES; i++) {
        gp_sid name = b->d->names.at[k->first_name[side] + i];
        reported++;
        if (i && name == b->d->names.at[k->first_name[side] + i - 1])
            continue; /* once for a run of equal ones */
        if (shown++) gp_buf_puts(&text, " + ");
        put_short(&text, gp_diff_str(b->d, name));
    }
    double all = k->kernels[side];
    if (all > reported) gp_buf_printf(&text, " + %.0f more", all - reported);
    return gp_intern_buf(&b->d->strings, &text);
}

/* ---- blocks ---- */

static bool any_fused(const struct side *s, uint32_t first, uint32_t n)
{
    for (uint32_t i = first; i < first + n; i++)
        if (s->item[i].fused) return true;
    return false;
}

/* Between the same barriers both sides compute the same, so the kernels of one replace those of the other. A
 * fusing compiler does not split kernels, however it organises the work. */
static enum gp_change change_of_work(const struct blocks *b, const struct gp_align_group *g)
{
    const struct gp_align_block *k = &b->al.blocks.at[g->first];
    bool was = any_fused(&b->side[GP_DIFF_BASE], k->a, k->na),
         is = any_fused(&b->side[GP_DIFF_CUR], k->b, k->nb);
    if (g->na > g->nb && (is || !was)) return GP_CHANGE_FUSED;
    if (g->na < g->nb && (was || !is)) return GP_CHANGE_DEFUSED;
    return GP_CHANGE_RETILED;
}

static enum gp_change change_of(const struct blocks *b, const struct gp_align_group *g)
{
    switch ((enum gp_align_change)g->change) {
    case GP_ALIGN_ADDED: return GP_CHANGE_NEW;
    case GP_ALIGN_REMOVED: return GP_CHANGE_REMOVED;
    case GP_ALIGN_REORDERED: return GP_CHANGE_NONE;
    case GP_ALIGN_RETILED: return GP_CHANGE_RETILED;
    case GP_ALIGN_FUSED: return GP_CHANGE_FUSED;
    case GP_ALIGN_DEFUSED: return GP_CHANGE_DEFUSED;
    case GP_ALIGN_CHANGED: break;
    }
    return change_of_work(b, g);
}

/* Append a block with those sides of a group that SIDES has bits for. */
static void put_block(struct blocks *b, uint32_t group, enum gp_change change, unsigned sides, bool segment)
{
    const struct gp_align_group *g = &b->al.groups.at[group];
    const struct gp_align_block *first = &b->al.blocks.at[g->first], *other = first;
    struct gp_diff_block k = {.change = change, .segment = segment, .times = g->times};
    if (!first->na != !first->nb && g->change == GP_ALIGN_REORDERED) /* it moved: to another block */
        for (other = first + 1; other->group != group || !other->nb == !first->nb;) other++;
    for (int side = 0; side < GP_DIFF_SIDES; side++) {
        if (!(sides >> side & 1)) continue;
        const struct gp_align_block *at = (side == GP_DIFF_BASE ? first->na : first->nb) ? first : other;
        put_names(b, &k, side, side == GP_DIFF_BASE ? at->a : at->b, side == GP_DIFF_BASE ? at->na : at->nb);
        k.kernels[side] = (double)(side == GP_DIFF_BASE ? g->na : g->nb) / g->times;
        k.side_ns[side] = side == GP_DIFF_BASE ? g->a_ns : g->b_ns;
        b->block_of_group[side][group] = (uint32_t)b->d->blocks.n;
    }
    k.change_ns = k.side_ns[GP_DIFF_CUR] - k.side_ns[GP_DIFF_BASE];
    k.label = block_label(b, &k);
    GP_VEC_PUSH(&b->d->blocks, k);
}

enum { BASE_ALONE = 1 << GP_DIFF_BASE, CUR_ALONE = 1 << GP_DIFF_CUR, BOTH = BASE_ALONE | CUR_ALONE };

static void put_blocks(struct blocks *b)
{
    for (uint32_t i = 0; i < b->al.groups.n; i++) {
        const struct gp_align_group *g = &b->al.groups.at[i];
        const struct gp_align_segment *s = &b->al.segments.at[b->al.blocks.at[g->first].segment];
        if (g->change == GP_ALIGN_CHANGED && !s->same_order) { /* not known to be the same work */
            put_block(b, i, GP_CHANGE_REMOVED, BASE_ALONE, true);
            put_block(b, i, GP_CHANGE_NEW, CUR_ALONE, true);
            continue;
        }
        unsigned sides = g->change == GP_ALIGN_ADDED     ? CUR_ALONE
                         : g->change == GP_ALIGN_REMOVED ? BASE_ALONE
                                                         : BOTH;
        put_block(b, i, change_of(b, g), sides, g->whole);
    }
}

/* ---- in order ---- */

struct sorted {
    struct gp_diff_block block;
    uint32_t was;
};

GP_COMPARE(compare_blocks, struct sorted,
           GP_KEY(llabs(y->block.change_ns), llabs(x->block.change_ns)) GP_UP(was))

static void sort_blocks(struct blocks *b)
{
    size_t n = b->d->blocks.n;
    struct sorted *list = gp_alloc((n + 1) * sizeof *list);
    uint32_t *now = gp_alloc((n + 1) * sizeof *now);
    for (uint32_t i = 0; i < n; i++) list[i] = (struct sorted){b->d->blocks.at[i], i};
    if (n) qsort(list, n, sizeof *list, compare_blocks);
    for (uint32_t i = 0; i < n; i++) {
        b->d->blocks.at[i] = list[i].block;
        now[list[i].was] = i;
    }
    for (int side = 0; side < GP_DIFF_SIDES; side++)
        for (uint32_t i = 0; i < b->al.groups.n; i++)
            if (b->block_of_group[side][i] != NONE)
                b->block_of_group[side][i] = now[b->block_of_group[side][i]];
    free(list);
    free(now);
}

/* ---- which operations they explain ---- */

/* The time of an operation of one side in one block. */
struct part {
    uint32_t op, block;
    int64_t ns;
};

/* Where an operation's time on one side is: in total, by the change of the block, and in the block with the
 * most. */
struct whereabouts {
    int64_t all_ns, of_change_ns[GP_CHANGE_COUNT], best_ns;
    uint32_t best; /* block; NONE: in none */
};

static void look_at(struct blocks *b, int side, struct whereabouts *of_op)
{
    const struct side *s = &b->side[side];
    struct gp_map of = {0}; /* operation << 32 | block */
    GP_VEC(struct part) parts = {0};
    for (uint32_t i = 0; i < s->n; i++)
        of_op[gp_diff_op_of(b->w, side, s->sample->profile, &s->event[i])].all_ns += s->item[i].dur_ns;
    GP_EACH(const struct gp_align_block, x, b->al.blocks) {
        uint32_t first = side == GP_DIFF_BASE ? x->a : x->b, n = side == GP_DIFF_BASE ? x->na : x->nb;
        uint32_t block = b->block_of_group[side][x->group];
        for (uint32_t i = first; i < first + n; i++) {
            uint32_t op = gp_diff_op_of(b->w, side, s->sample->profile, &s->event[i]);
            uint32_t at = *gp_map_put(&of, (uint64_t)op << 32 | block, (uint32_t)parts.n);
            if (at == parts.n) GP_VEC_PUSH(&parts, (struct part){op, block, 0});
            parts.at[at].ns += s->item[i].dur_ns;
        }
    }
    for (size_t i = 0; i < parts.n; i++) {
        struct whereabouts *o = &of_op[parts.at[i].op];
        o->of_change_ns[b->d->blocks.at[parts.at[i].block].change] += parts.at[i].ns;
        if (o->best == NONE || parts.at[i].ns > o->best_ns)
            o->best = parts.at[i].block, o->best_ns = parts.at[i].ns;
    }
    GP_VEC_FREE(&parts);
    gp_map_release(&of);
}

/* An operation on only one side was not added or removed if nine tenths of it are in blocks that changed into
 * others. */
static void explain_op(const struct blocks *b, struct gp_diff_op *op, const struct whereabouts *where)
{
    static const enum gp_change changes[] = {GP_CHANGE_FUSED, GP_CHANGE_DEFUSED, GP_CHANGE_RETILED};
    int64_t explained = 0, most = -1;
    enum gp_change change = GP_CHANGE_NONE;
    for (size_t i = 0; i < GP_COUNT(changes); i++) {
        int64_t ns = where->of_change_ns[changes[i]];
        explained += ns;
        if (ns > most) most = ns, change = changes[i];
    }
    op->block = where->best;
    if (b->d->opts.mode == GP_DIFF_TEST && explained >= where->all_ns - where->all_ns / 10)
        op->change = change;
}

static void explain(struct blocks *b)
{
    struct gp_diff *d = b->d;
    struct whereabouts *of_op = gp_alloc((d->ops.n + 1) * sizeof *of_op);
    for (int side = 0; side < GP_DIFF_SIDES; side++) {
        for (size_t i = 0; i < d->ops.n; i++) of_op[i] = (struct whereabouts){.best = NONE};
        look_at(b, side, of_op);
        uint32_t alone = side == GP_DIFF_BASE ? GP_CHANGE_REMOVED : GP_CHANGE_NEW;
        for (size_t i = 0; i < d->ops.n; i++)
            if (d->ops.at[i].change == alone && of_op[i].best != NONE)
                explain_op(b, &d->ops.at[i], &of_op[i]);
    }
    free(of_op);
}

void gp_diff_blocks(struct gp_diff_work *w)
{
    struct blocks b = {.w = w, .d = w->d};
    if (!w->side[GP_DIFF_BASE].samples.n || !w->side[GP_DIFF_CUR].samples.n || w->d->identical) return;
    for (int side = 0; side < GP_DIFF_SIDES; side++) choose_side(&b, side);
    rank_keys(&b);
    gp_align_run(&b.al, b.side[GP_DIFF_BASE].item, b.side[GP_DIFF_BASE].n, b.side[GP_DIFF_CUR].item,
                 b.side[GP_DIFF_CUR].n);
    for (int side = 0; side < GP_DIFF_SIDES; side++) {
        b.block_of_group[side] = gp_alloc((b.al.groups.n + 1) * sizeof *b.block_of_group[side]);
        for (size_t i = 0; i < b.al.groups.n; i++) b.block_of_group[side][i] = NONE;
    }
    put_blocks(&b);
    sort_blocks(&b);
    explain(&b);
    for (int side = 0; side < GP_DIFF_SIDES; side++) {
        free(b.block_of_group[side]);
        free(b.side[side].item);
    }
    free(b.keys.rank);
    gp_strings_release(&b.keys.strings);
    gp_align_release(&b.al);
}
