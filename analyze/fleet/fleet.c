
#include <stdlib.h>
#include <string.h>
#include "analyze/fleet/fleet_priv.h"
#include "analyze/math/sums.h"
#include "formats/base/order.h"
#include "formats/base/str.h"

enum { WORST_OTHER = 4, BEST = 2, SAMPLE = 16, LAZY = 4 * GP_FLEET_FEW };

GP_WORD(gp_fleet_metric_name, enum gp_fleet_metric, GP_FLEET_METRICS, 1)
GP_WORD(gp_fleet_metric_text, enum gp_fleet_metric, GP_FLEET_METRICS, 2)

/* ---- life ---- */

void gp_fleet_init(struct gp_fleet *f)
{
    memset(f, 0, sizeof *f);
    for (int m = 0; m < GP_FLEET_METRIC_COUNT; m++) f->worst[m].most = WORST_OTHER;
    f->worst[GP_FLEET_OWN].most = GP_TOPK_MOST;
    f->best.most = BEST;
    f->sample.most = SAMPLE;
    f->name_limit = UINT64_MAX;
    f->last_step = -1;
    f->last_rank = -1;
}

static void release_kernel(struct gp_fleet_kernel *k)
{
    gp_sketch_release(&k->step);
    gp_sketch_release(&k->call);
}

void gp_fleet_release(struct gp_fleet *f)
{
    for (int m = 0; m < GP_FLEET_METRIC_COUNT; m++) gp_sketch_release(&f->spread[m]);
    for (size_t i = 0; i < f->kept.n; i++) GP_VEC_FREE(&f->kept.at[i].kernels);
    for (size_t i = 0; i < f->kernels.n; i++) release_kernel(&f->kernels.at[i]);
    for (size_t i = 0; i < f->columns.n; i++) gp_fleet_column_release(&f->columns.at[i]);
    GP_RELEASE(gp_vec_free, &f->kept, &f->kernels, &f->columns, &f->skips);
    gp_strings_release(&f->strings);
    gp_map_release(&f->names);
    free(f->seen);
    free(f->twice);
    memset(f, 0, sizeof *f);
}

/* ---- ranks kept ---- */

static uint64_t hash_key(struct gp_fleet_key k)
{
    uint64_t h = ((uint64_t)(uint32_t)k.rank << 32 | k.tag) * 0x9e3779b97f4a7c15u;
    h = (h ^ h >> 31) * 0xbf58476d1ce4e5b9u;
    return h ^ h >> 29;
}

bool gp_fleet_keeps(const struct gp_fleet *f, struct gp_fleet_key key)
{
    if (f->members <= GP_FLEET_FEW) return true;
    for (int m = 0; m < GP_FLEET_METRIC_COUNT; m++)
        if (gp_topk_has(&f->worst[m], key)) return true;
    return gp_topk_has(&f->best, key) || gp_topk_has(&f->sample, key);
}

bool gp_fleet_shows_path(const struct gp_fleet *f, struct gp_fleet_key key)
{
    if (f->members <= GP_FLEET_FEW) return true;
    return gp_topk_has(&f->worst[GP_FLEET_OWN], key) || gp_topk_has(&f->sample, key);
}

static int by_key(const void *a, const void *b)
{
    const struct gp_fleet_member *x = a, *y = b;
    int order = gp_fleet_key_compare(x->key, y->key);
    if (order) return order;
    for (int m = 0; m < GP_FLEET_METRIC_COUNT; m++)
        if (x->ns[m] != y->ns[m]) return x->ns[m] < y->ns[m] ? -1 : 1;
    return 0;
}

static void settle_members(struct gp_fleet *f)
{
    size_t n = 0;
    for (size_t i = 0; i < f->kept.n; i++) {
        if (gp_fleet_keeps(f, f->kept.at[i].key)) f->kept.at[n++] = f->kept.at[i];
        else GP_VEC_FREE(&f->kept.at[i].kernels);
    }
    f->kept.n = n;
    if (n) qsort(f->kept.at, n, sizeof *f->kept.at, by_key);
}

const struct gp_fleet_member *gp_fleet_member(const struct gp_fleet *f, struct gp_fleet_key key)
{
    for (size_t i = 0; i < f->kept.n; i++)
        if (!gp_fleet_key_compare(f->kept.at[i].key, key)) return &f->kept.at[i];
    return NULL;
}

const struct gp_fleet_member *gp_fleet_median_member(const struct gp_fleet *f)
{
    const struct gp_fleet_member *nearest = NULL;
    int64_t middle = gp_sketch_median(&f->spread[GP_FLEET_OWN]), least = INT64_MAX;
    for (size_t i = 0; i < f->kept.n; i++) { /* by key: of equally near ones the lowest */
        const struct gp_fleet_member *m = &f->kept.at[i];
        if (!gp_topk_has(&f->sample, m->key)) continue;
        int64_t by = llabs((long long)(m->ns[GP_FLEET_OWN] - middle));
        if (by < least) {
            least = by;
            nearest = m;
        }
    }
    return nearest;
}

/* ---- kernels ---- */

static struct gp_fleet_kernel *kernel_of(struct gp_fleet *f, gp_sid name)
{
    uint32_t *known = gp_map_put(&f->names, name, (uint32_t)f->kernels.n);
    if (*known == f->kernels.n)
        GP_VEC_PUSH(&f->kernels,
                    ((struct gp_fleet_kernel){.name = name, .worst.most = GP_FLEET_WORST_KERNEL}));
    return &f->kernels.at[*known];
}

GP_COMPARE_IN(by_name, struct gp_fleet_kernel, struct gp_strings,
              GP_THEN(strcmp(gp_string(of, x->name), gp_string(of, y->name))))

GP_COMPARE_IN(by_hash, struct gp_fleet_kernel, struct gp_strings,
              GP_KEY(gp_string_hash(of, x->name), gp_string_hash(of, y->name)) GP_THEN(by_name(x, y, of)))

/* Which names are left out depends only on which there are: a prefix in the order of hashes is kept, and
 * where it was cut is remembered, because a merged fleet must cut there or earlier. */
static void settle_kernels(struct gp_fleet *f)
{
    struct gp_fleet_kernel *all = f->kernels.at;
    size_t n = f->kernels.n, kept = 0;
    uint64_t bytes = 0;
    if (!n) return;
    gp_sort_in(all, n, sizeof *all, by_hash, &f->strings);
    for (; kept < n && gp_string_hash(&f->strings, all[kept].name) < f->name_limit; kept++) {
        bytes += gp_string_len(&f->strings, all[kept].name);
        if (kept < GP_FLEET_NAMES && bytes <= GP_FLEET_NAME_BYTES) continue;
        f->name_limit = gp_string_hash(&f->strings, all[kept].name);
        while (kept && gp_string_hash(&f->strings, all[kept - 1].name) == f->name_limit) kept--;
        break;
    }
    for (size_t i = kept; i < n; i++) {
        f->names_left_out += all[i].step.n;
        release_kernel(&all[i]);
    }
    gp_sort_in(all, kept, sizeof *all, by_name, &f->strings);
    gp_map_release(&f->names);
    for (size_t i = 0; i < kept; i++) gp_map_put(&f->names, all[i].name, (uint32_t)i);
    f->kernels.n = kept;
}

static void add_kernel(struct gp_fleet *f, const struct gp_fleet_kernel_time *t, struct gp_fleet_key key)
{
    if (!t->name || gp_string_hash(&f->strings, t->name) >= f->name_limit) {
        f->names_left_out++;
        return;
    }
    struct gp_fleet_kernel *k = kernel_of(f, t->name);
    gp_sketch_add(&k->step, t->step_ns);
    gp_sketch_add(&k->call, t->call_ns);
    gp_topk_add(&k->worst, t->step_ns, key);
}

static void merge_kernels(struct gp_fleet *to, const struct gp_fleet *from)
{
    if (from->name_limit < to->name_limit) to->name_limit = from->name_limit;
    to->names_left_out += from->names_left_out;
    GP_EACH(const struct gp_fleet_kernel, k, from->kernels) {
        struct gp_fleet_kernel *into = kernel_of(to, gp_intern_from(&to->strings, &from->strings, k->name));
        gp_sketch_merge(&into->step, &k->step);
        gp_sketch_merge(&into->call, &k->call);
        gp_topk_merge(&into->worst, &k->worst);
    }
}

/* ---- ranks ---- */

bool gp_fleet_has_rank(const struct gp_fleet *f, int32_t rank)
{
    return f->seen && rank >= 0 && rank < GP_FLEET_BITS && f->seen[rank / 64] >> rank % 64 & 1;
}

bool gp_fleet_repeats_rank(const struct gp_fleet *f, int32_t rank)
{
    return f->twice && rank >= 0 && rank < GP_FLEET_BITS && f->twice[rank / 64] >> rank % 64 & 1;
}

static void need_bits(struct gp_fleet *f)
{
    if (f->seen) return;
    f->seen = gp_zalloc(GP_FLEET_BITS / 8);
    f->twice = gp_zalloc(GP_FLEET_BITS / 8);
}

static void see_rank(struct gp_fleet *f, int32_t rank)
{
    if (rank > f->last_rank) f->last_rank = rank;
    if (rank < 0 || rank >= GP_FLEET_BITS) return;
    need_bits(f);
    uint64_t bit = UINT64_C(1) << rank % 64;
    f->twice[rank / 64] |= f->seen[rank / 64] & bit;
    f->seen[rank / 64] |= bit;
}

static void merge_ranks(struct gp_fleet *to, const struct gp_fleet *from)
{
    if (from->last_rank > to->last_rank) to->last_rank = from->last_rank;
    if (!from->seen) return;
    need_bits(to);
    for (size_t i = 0; i < GP_FLEET_BITS / 64; i++) {
        to->twice[i] |= from->twice[i] | (to->seen[i] & from->seen[i]);
        to->seen[i] |= from->seen[i];
    }
}

/* ---- operands that could not be read ---- */

static int by_operand(const struct gp_fleet *f, const struct gp_fleet_skip *x, const struct gp_fleet_skip *y)
{
    int order = strcmp(gp_string(&f->strings, x->operand), gp_string(&f->strings, y->operand));
    return order ? order : strcmp(gp_string(&f->strings, x->reason), gp_string(&f->strings, y->reason));
}

static void add_skip(struct gp_fleet *f, struct gp_fleet_skip s)
{
    GP_VEC_PUSH(&f->skips, s);
    size_t at = f->skips.n - 1;
    for (; at && by_operand(f, &s, &f->skips.at[at - 1]) < 0; at--) f->skips.at[at] = f->skips.at[at - 1];
    f->skips.at[at] = s;
    if (f->skips.n > GP_FLEET_SKIPPED) f->skips.n--;
}

void gp_fleet_skip(struct gp_fleet *f, const char *operand, const char *reason)
{
    f->skipped++;
    add_skip(
        f, (struct gp_fleet_skip){gp_intern_cstr(&f->strings, operand), gp_intern_cstr(&f->strings, reason)});
}

/* ---- all together ---- */

static gp_sid bring(struct gp_fleet *f, const struct gp_strings *from, gp_sid sid)
{
    return gp_intern_from(&f->strings, from, sid);
}

/* A copy of M with the names of F. */
static struct gp_fleet_member copy_member(struct gp_fleet *f, const struct gp_fleet_member *m,
                                          const struct gp_strings *names)
{
    struct gp_fleet_member copy = *m;
    copy.gpu = bring(f, names, m->gpu);
    memset(&copy.kernels, 0, sizeof copy.kernels);
    GP_VEC_RESERVE(&copy.kernels, m->kernels.n);
    for (size_t i = 0; i < m->kernels.n && i < GP_FLEET_KERNELS; i++) {
        struct gp_fleet_kernel_time t = m->kernels.at[i];
        t.name = bring(f, names, t.name);
        GP_VEC_PUSH(&copy.kernels, t);
    }
    return copy;
}

static void keep(struct gp_fleet *f, struct gp_fleet_member m)
{
    GP_VEC_PUSH(&f->kept, m);
    if (f->kept.n > LAZY) settle_members(f);
}

void gp_fleet_add(struct gp_fleet *f, const struct gp_fleet_member *m, const struct gp_strings *names,
                  const struct gp_fleet_step *steps, size_t n)
{
    struct gp_fleet_member copy = copy_member(f, m, names);
    f->members++;
    f->stepped += m->steps != 0;
    for (int i = 0; i < GP_FLEET_METRIC_COUNT; i++) {
        gp_sketch_add(&f->spread[i], m->ns[i]);
        gp_topk_add(&f->worst[i], m->ns[i], m->key);
    }
    gp_topk_add(&f->best, -m->ns[GP_FLEET_OWN], m->key);
    gp_topk_add(&f->sample, (int64_t)(hash_key(m->key) >> 1), m->key);
    for (size_t i = 0; i < copy.kernels.n; i++) add_kernel(f, &copy.kernels.at[i], m->key);
    if (m->device >= 0 && m->device < GP_FLEET_ORDINALS) {
        f->ordinals[m->device].n++;
        f->ordinals[m->device].own_ns = gp_add_saturated(f->ordinals[m->device].own_ns, m->ns[GP_FLEET_OWN]);
    }
    see_rank(f, m->key.rank);
    gp_fleet_add_steps(f, m->key, steps, n);
    keep(f, copy);
}

void gp_fleet_merge(struct gp_fleet *to, const struct gp_fleet *from)
{
    to->members += from->members;
    to->stepped += from->stepped;
    to->by_device |= from->by_device;
    to->host_slowed |= from->host_slowed;
    for (int i = 0; i < GP_FLEET_METRIC_COUNT; i++) {
        gp_sketch_merge(&to->spread[i], &from->spread[i]);
        gp_topk_merge(&to->worst[i], &from->worst[i]);
    }
    gp_topk_merge(&to->best, &from->best);
    gp_topk_merge(&to->sample, &from->sample);
    merge_kernels(to, from);
    for (int i = 0; i < GP_FLEET_ORDINALS; i++) {
        to->ordinals[i].n += from->ordinals[i].n;
        to->ordinals[i].own_ns = gp_add_saturated(to->ordinals[i].own_ns, from->ordinals[i].own_ns);
    }
    merge_ranks(to, from);
    gp_fleet_merge_steps(to, from);
    for (size_t i = 0; i < from->kept.n; i++) keep(to, copy_member(to, &from->kept.at[i], &from->strings));
    to->skipped += from->skipped;
    for (size_t i = 0; i < from->skips.n; i++)
        add_skip(to, (struct gp_fleet_skip){bring(to, &from->strings, from->skips.at[i].operand),
                                            bring(to, &from->strings, from->skips.at[i].reason)});
    if (to->kernels.n > 2 * GP_FLEET_NAMES) settle_kernels(to);
}

void gp_fleet_settle(struct gp_fleet *f)
{
    settle_members(f);
    settle_kernels(f);
}
