/* Operations: what is the same on both sides. Equal names match first; then, of names on only one side or
 * with different counts, those of one code, then those of one family (kernel_key.h). Lines of one function
 * are of one code. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/diff/diff_priv.h"
#include "analyze/names/kernel_key.h"
#include "analyze/names/names.h"
#include "formats/base/buf.h"
#include "formats/base/map.h"
#include "formats/base/order.h"
#include "formats/base/str.h"

#define NONE GP_PROFILE_NONE

/* A full name (of a kernel, operator or range) with its kind. */
struct name {
    gp_sid text, code, family; /* in d->strings; keys 0 until asked for */
    uint32_t kind;
    uint64_t calls[GP_DIFF_SIDES];
    int64_t ns[GP_DIFF_SIDES];
    uint32_t op; /* NONE: not matched yet */
};

struct matcher {
    struct gp_diff_work *w;
    struct gp_diff *d;
    struct gp_map of_text; /* kind << 32 | text -> index into names */
    GP_VEC(struct name) names;
    uint32_t **name_of[GP_DIFF_SIDES]; /* as op_of, into names */
};

/* ---- names ---- */

static uint32_t name_at(struct matcher *m, gp_sid text, uint32_t kind)
{
    uint32_t *at = gp_map_put(&m->of_text, (uint64_t)kind << 32 | text, (uint32_t)m->names.n);
    if (*at == m->names.n) {
        struct name n = {.text = text, .kind = kind, .op = NONE};
        GP_VEC_PUSH(&m->names, n);
    }
    return *at;
}

static uint32_t *names_of_kernels(struct matcher *m, const struct gp_profile *p)
{
    uint32_t *of = gp_alloc((p->kernels.n + 1) * sizeof *of);
    for (size_t i = 0; i < p->kernels.n; i++)
        of[i] = name_at(m, gp_intern_from(&m->d->strings, &p->strings, p->kernels.at[i].name),
                        p->kernels.at[i].kind);
    return of;
}

static uint32_t *names_of_places(struct matcher *m, const struct gp_profile *p)
{
    static const struct {
        const char *none;
        enum gp_frame_kind kind;
        size_t label; /* in struct gp_profile_place */
    } by[] = {
        [GP_DIFF_BY_OP] = {"[no operator]", GP_FRAME_OP, offsetof(struct gp_profile_place, op)},
        [GP_DIFF_BY_RANGE] = {"[no range]", GP_FRAME_RANGE, offsetof(struct gp_profile_place, range)},
        [GP_DIFF_BY_LINE] = {"[no stack]", GP_FRAME_PYTHON, offsetof(struct gp_profile_place, line)},
    };
    uint32_t *of = gp_alloc((p->places.n + 1) * sizeof *of);
    for (size_t i = 0; i < p->places.n; i++) {
        gp_sid label;
        memcpy(&label, (const char *)&p->places.at[i] + by[m->d->opts.by].label, sizeof label);
        gp_sid text = label ? gp_intern_from(&m->d->strings, &p->strings, label)
                            : gp_intern_cstr(&m->d->strings, by[m->d->opts.by].none);
        of[i] = name_at(m, text, label ? by[m->d->opts.by].kind : GP_FRAME_UNATTRIBUTED);
    }
    return of;
}

static void count_calls(struct matcher *m, int side)
{
    const struct gp_diff_group *g = &m->w->side[side];
    bool by_kernel = m->d->opts.by == GP_DIFF_BY_KERNEL;
    GP_EACH(const struct gp_diff_sample, sample, g->samples) {
        const struct gp_profile *p = g->profiles[sample->profile];
        const uint32_t *name_of = m->name_of[side][sample->profile];
        for (uint32_t k = sample->s->first; k < sample->s->first + sample->s->n; k++) {
            const struct gp_profile_event *e = &p->events.at[k];
            struct name *name = &m->names.at[name_of[by_kernel ? e->kernel : e->place]];
            name->calls[side]++;
            name->ns[side] += e->dur_ns;
        }
    }
}

/* ---- operations ---- */

static uint32_t add_op(struct matcher *m, gp_sid key, uint32_t kind, uint32_t match)
{
    struct gp_diff_op op = {.key = key, .kind = kind, .match = match, .block = NONE};
    op.change_pct = op.d.p = op.d.q = op.d.estimate_pct = op.d.ci_low_pct = op.d.ci_high_pct = NAN;
    GP_VEC_PUSH(&m->d->ops, op);
    return (uint32_t)m->d->ops.n - 1;
}

/* Numbers of calls per step, without division. */
static bool same_count(const struct gp_diff_work *w, const uint64_t calls[GP_DIFF_SIDES])
{
    uint64_t n_base = w->side[GP_DIFF_BASE].samples.n, n_cur = w->side[GP_DIFF_CUR].samples.n;
    return calls[GP_DIFF_BASE] * n_cur == calls[GP_DIFF_CUR] * n_base;
}

/* A name that both sides run equally often is matched by name. So is one that could not be matched
 * otherwise. */
static void match_by_name(struct matcher *m, bool all)
{
    GP_EACH(struct name, n, m->names) {
        bool used = n->calls[GP_DIFF_BASE] || n->calls[GP_DIFF_CUR];
        if (n->op != NONE || !used || (!all && !same_count(m->w, n->calls))) continue;
        n->op = add_op(m, n->text, n->kind, 0);
    }
}

/* "train.py:30 step" without its number. */
static void put_without_line(struct gp_buf *to, const char *name, size_t n)
{
    const char *space = memchr(name, ' ', n), *colon = space;
    while (colon && colon > name && gp_is_digit(colon[-1])) colon--;
    bool line = colon > name && colon < space && colon[-1] == ':';
    gp_buf_put(to, name, line ? (size_t)(colon - 1 - name) : n);
    if (line) gp_buf_put(to, space, n - (size_t)(space - name));
}

static gp_sid key_of(struct matcher *m, struct name *n, bool family)
{
    gp_sid *key = family ? &n->family : &n->code;
    if (*key) return *key;
    struct gp_buf text = {0};
    const char *name = gp_diff_str(m->d, n->text);
    size_t len = gp_string_len(&m->d->strings, n->text);
    gp_buf_puts(&text, family ? "family " : "code ");
    if (m->d->opts.by == GP_DIFF_BY_LINE) put_without_line(&text, name, len);
    else if (family) gp_kernel_family(&text, name, len);
    else gp_kernel_code(&text, name, len);
    return *key = gp_intern_buf(&m->d->strings, &text);
}

/* Names of one key that are still unmatched. */
struct bunch {
    uint64_t calls[GP_DIFF_SIDES];     /* of all of them */
    uint64_t one_sided[GP_DIFF_SIDES]; /* of those on only one side */
    gp_sid key;
    uint32_t kind, op;
};

static bool is_one_sided(const struct name *n) { return !n->calls[GP_DIFF_BASE] || !n->calls[GP_DIFF_CUR]; }

/* All of a bunch become one operation if both sides run them equally often in total; otherwise those on only
 * one side do, if each side has some. */
static bool joins(const struct matcher *m, const struct bunch *b, const struct name *n)
{
    bool all = b->calls[GP_DIFF_BASE] && b->calls[GP_DIFF_CUR] && same_count(m->w, b->calls);
    return all || (is_one_sided(n) && b->one_sided[GP_DIFF_BASE] && b->one_sided[GP_DIFF_CUR]);
}

static void match_by_key(struct matcher *m, bool family)
{
    struct gp_map of_key = {0};
    GP_VEC(struct bunch) bunches = {0};
    GP_EACH(struct name, n, m->names) {
        if (n->op != NONE || (!n->calls[GP_DIFF_BASE] && !n->calls[GP_DIFF_CUR])) continue;
        uint64_t key = (uint64_t)n->kind << 32 | key_of(m, n, family);
        uint32_t at = *gp_map_put(&of_key, key, (uint32_t)bunches.n);
        if (at == bunches.n)
            GP_VEC_PUSH(&bunches, ((struct bunch){.key = (gp_sid)key, .kind = n->kind, .op = NONE}));
        for (int side = 0; side < GP_DIFF_SIDES; side++) {
            bunches.at[at].calls[side] += n->calls[side];
            if (is_one_sided(n)) bunches.at[at].one_sided[side] += n->calls[side];
        }
    }
    GP_EACH(struct name, n, m->names) {
        if (n->op != NONE || (!n->calls[GP_DIFF_BASE] && !n->calls[GP_DIFF_CUR])) continue;
        uint64_t key = (uint64_t)n->kind << 32 | key_of(m, n, family);
        struct bunch *b = &bunches.at[*gp_map_get(&of_key, key)];
        if (!joins(m, b, n)) continue;
        if (b->op == NONE) b->op = add_op(m, b->key, b->kind, family ? 2 : 1);
        n->op = b->op;
    }
    GP_VEC_FREE(&bunches);
    gp_map_release(&of_key);
}

/* ---- what operations are called ---- */

/* Names by operation, then time on a side, largest first, then bytes. */
struct named {
    int64_t ns;
    const char *text;
    uint32_t op, name;
};

GP_COMPARE(compare_named, struct named, GP_UP(op) GP_DOWN(ns) GP_THEN(strcmp(x->text, y->text)))

static void list_names(struct matcher *m, int side)
{
    struct gp_diff *d = m->d;
    struct named *list = gp_alloc((m->names.n + 1) * sizeof *list);
    size_t n = 0;
    for (uint32_t i = 0; i < m->names.n; i++) {
        const struct name *name = &m->names.at[i];
        if (name->calls[side])
            list[n++] = (struct named){name->ns[side], gp_diff_str(d, name->text), name->op, i};
    }
    if (n) qsort(list, n, sizeof *list, compare_named);
    for (size_t i = 0; i < n; i++) {
        struct gp_diff_figure *f = &d->ops.at[list[i].op].side[side];
        if (!f->n_names++) f->names = (uint32_t)d->names.n;
        f->present = true;
        GP_VEC_PUSH(&d->names, m->names.at[list[i].name].text);
    }
    free(list);
}

static gp_sid label_of(struct gp_diff *d, const struct gp_diff_op *op)
{
    struct gp_buf label = {0};
    const char *name = gp_diff_str(d, op->name);
    size_t n = gp_string_len(&d->strings, op->name);
    bool kernel =
        d->opts.by == GP_DIFF_BY_KERNEL && op->kind != GP_FRAME_MEMCPY && op->kind != GP_FRAME_MEMSET;
    if (kernel) gp_name_kernel_label(&label, name, n);
    gp_sid sid = label.n ? gp_intern(&d->strings, label.data, label.n) : op->name;
    gp_buf_release(&label);
    return sid;
}

/* More names than this with one key are not useful as variants of one kernel. */
enum { NAMES_MOST = 64 };

static bool same_names(const struct gp_diff *d, const struct gp_diff_op *op)
{
    const struct gp_diff_figure *a = &op->side[GP_DIFF_BASE], *b = &op->side[GP_DIFF_CUR];
    if (a->n_names != b->n_names || a->n_names > NAMES_MOST) return false;
    for (uint32_t i = 0; i < a->n_names; i++) { /* few, and mostly in the same order */
        bool found = false;
        for (uint32_t k = 0; k < b->n_names && !found; k++)
            found = d->names.at[a->names + i] == d->names.at[b->names + (i + k) % b->n_names];
        if (!found) return false;
    }
    return true;
}

static void name_ops(struct matcher *m)
{
    struct gp_diff *d = m->d;
    for (int side = 0; side < GP_DIFF_SIDES; side++) list_names(m, side);
    GP_EACH(struct gp_diff_op, op, d->ops) {
        bool base = op->side[GP_DIFF_BASE].present, cur = op->side[GP_DIFF_CUR].present;
        op->name = d->names.at[op->side[base ? GP_DIFF_BASE : GP_DIFF_CUR].names];
        op->label = label_of(d, op);
        bool tiles = d->opts.by == GP_DIFF_BY_KERNEL;
        op->retiled = tiles && base && cur && op->match && !same_names(d, op);
    }
}

static void give_ops(struct matcher *m, int side)
{
    struct gp_diff_group *g = &m->w->side[side];
    g->op_of = m->name_of[side];
    for (size_t i = 0; i < g->n; i++) {
        const struct gp_profile *p = g->profiles[i];
        size_t n = m->d->opts.by == GP_DIFF_BY_KERNEL ? p->kernels.n : p->places.n;
        for (size_t k = 0; k < n; k++) g->op_of[i][k] = m->names.at[g->op_of[i][k]].op;
    }
}

void gp_diff_match(struct gp_diff_work *w)
{
    struct matcher m = {.w = w, .d = w->d};
    for (int side = 0; side < GP_DIFF_SIDES; side++) {
        const struct gp_diff_group *g = &m.w->side[side];
        m.name_of[side] = gp_zalloc((g->n + 1) * sizeof *m.name_of[side]);
        for (size_t i = 0; i < g->n; i++)
            m.name_of[side][i] = m.d->opts.by == GP_DIFF_BY_KERNEL ? names_of_kernels(&m, g->profiles[i])
                                                                   : names_of_places(&m, g->profiles[i]);
        count_calls(&m, side);
    }
    match_by_name(&m, false);
    if (w->d->opts.by == GP_DIFF_BY_KERNEL || w->d->opts.by == GP_DIFF_BY_LINE) match_by_key(&m, false);
    if (w->d->opts.by == GP_DIFF_BY_KERNEL) match_by_key(&m, true);
    match_by_name(&m, true);
    name_ops(&m);
    for (int side = 0; side < GP_DIFF_SIDES; side++) give_ops(&m, side);
    gp_map_release(&m.of_text);
    GP_VEC_FREE(&m.names);
}
