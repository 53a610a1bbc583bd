#include "analyze/suggest/chains_priv.h"

#include <stdlib.h>
#include <string.h>
#include "analyze/math/sums.h"
#include "analyze/names/name_predicates.h"
#include "analyze/names/names.h"
#include "analyze/cost/pointwise.h"
#include "analyze/suggest/rules_priv.h"
#include "formats/base/buf.h"
#include "formats/base/map.h"

enum {
    CHAIN_MOST = 64,           /* compilers make no larger kernels */
    SHORT_NS = 10000,          /* a shorter kernel is bound by its launch, whatever its grid */
    COPY_NS = 3000,            /* a copy within the device that is shorter stops no chain */
    ROW_LEAST = 8,             /* elements of a row that is normalised */
    BANDWIDTH_NS = 5000,       /* a kernel must last for its bandwidth to count, */
    BANDWIDTH_BYTES = 1000000, /* and move that much */
    OFTEN = 3,                 /* times per step */
};
static const double BUSY_PCT = 0.5;

/* What a kernel is to a chain, of each config. */
enum role { ROLE_STOP, ROLE_POINTWISE, ROLE_ROWS, ROLE_REDUCTION, ROLE_MOVE, ROLE_ASIDE };

struct kernel_facts {
    enum role role;
    bool done, fills, copies, joins, softmax, of_others;
    struct gp_pointwise size; /* zeroed: not known */
    uint32_t rows;            /* blocks of a kernel that has one block per row, or per few rows */
};

struct find {
    struct gp_chains *out;
    const struct gp_rule_ctx *c;
    struct kernel_facts *known; /* by config */
    struct gp_buf name;
    int64_t elements; /* of the member before; 0 not known */
};

/* ---- kernels ---- */

static enum role role_of(uint32_t kind, const char *name)
{
    static const char rows[] =
        " layer_norm_kernel layer_norm_grad_input SoftMax softmax_warp RMSNorm rms_norm ";
    if (gp_kernel_joins(name) || gp_name_has_one_of(name, " gather_kernel index_elementwise "))
        return ROLE_MOVE;
    if (kind == GP_FRAME_ELEMENTWISE) return ROLE_POINTWISE;
    if (kind != GP_FRAME_REDUCTION) return ROLE_STOP;
    return gp_name_has_one_of(name, rows) ? ROLE_ROWS : ROLE_REDUCTION;
}

static const struct kernel_facts *facts_of(struct find *f, uint32_t item)
{
    struct kernel_facts *k = &f->known[f->c->items[item].config];
    if (k->done) return k;
    const struct gp_config *config = gp_gpu_config(f->c->t, f->c->p->items.at[item].row);
    k->done = true;
    if (config->kind != GP_KERNEL) {
        k->role = config->kind == GP_MEMSET ? ROLE_ASIDE : ROLE_STOP;
        return k;
    }
    f->name.n = 0;
    gp_name_demangle(&f->name, gp_trace_str(f->c->t, config->name),
                     gp_string_len(&f->c->t->strings, config->name));
    const char *name = gp_buf_str(&f->name);
    /* A library's are parts of a larger operation, an optimizer's work on many tensors, and compiled ones are
     * already fused as far as the compiler wants. */
    k->of_others =
        gp_kernel_is_of_library(name) || gp_kernel_is_multi_tensor(name) || gp_kernel_is_compiled(name);
    k->role = k->of_others ? ROLE_STOP : role_of(f->c->items[item].kind, name);
    k->fills = gp_pointwise_fills(name);
    k->copies = gp_pointwise_copies(name);
    k->joins = gp_kernel_joins(name);
    k->softmax = gp_kernel_is_softmax(name);
    k->rows = k->role == ROLE_ROWS ? config->grid[0] : 0;
    if (config->grid[1] <= 1 && config->grid[2] <= 1 && f->c->grid_part > 0)
        gp_pointwise_of(&k->size, name, config->grid[0]);
    if (gp_pointwise_is_vectorized(name))
        k->size.elements = (int64_t)((double)k->size.elements * f->c->grid_part);
    return k;
}

static bool is_member(const struct kernel_facts *k) { return k->role != ROLE_STOP && k->role != ROLE_ASIDE; }

static int64_t bytes_read(const struct gp_pointwise *p) { return p->elements * p->inputs * p->in_size; }

/* ---- chains ---- */

/* Has a kernel that works on rows, of so many elements that a pointwise one next to it has, a whole number of
 * them, and no other size already? Casts next to a normalisation are as often of weights as of what it reads
 * or writes. */
static bool rows_fit(const struct kernel_facts *rows, int64_t known_elements,
                     const struct kernel_facts *pointwise)
{
    int64_t n = pointwise->size.elements;
    if (known_elements) return n == known_elements;
    return rows->rows && n / rows->rows >= ROW_LEAST && (rows->softmax || !pointwise->copies);
}

/* Bytes that FROM writes and the next kernel TO reads, where names and sizes make that certain. FROM works on
 * ELEMENTS, 0 if unknown. Two runs of the same kernel may work on two tensors. */
static int64_t passed(const struct kernel_facts *from, int64_t elements, const struct kernel_facts *to)
{
    const struct gp_pointwise *a = &from->size, *b = &to->size;
    if (from == to || from->fills || to->fills) return 0;
    if (from->role == ROLE_POINTWISE && to->role == ROLE_POINTWISE)
        return a->elements == b->elements && a->out_size == b->in_size ? a->elements * a->out_size : 0;
    if (from->role == ROLE_POINTWISE && to->role == ROLE_ROWS)
        return rows_fit(to, 0, from) ? a->elements * a->out_size : 0;
    if (from->role == ROLE_ROWS && to->role == ROLE_POINTWISE)
        return rows_fit(from, elements, to) ? b->elements * b->in_size : 0;
    return 0;
}

static void add_kernel(struct find *f, uint32_t item, const struct kernel_facts *before)
{
    const struct kernel_facts *k = facts_of(f, item);
    struct gp_chain_kernel one = {.item = item, .elements = k->size.elements};
    one.read_bytes = bytes_read(&k->size);
    one.written_bytes = k->size.elements * k->size.out_size;
    one.passed_bytes = before ? passed(before, f->elements, k) : 0;
    bool learned = k->role == ROLE_ROWS && one.passed_bytes;
    f->elements = learned ? before->size.elements : k->size.elements;
    GP_VEC_PUSH(&f->out->kernels, one);
}

static bool follows(const struct find *f, uint32_t from, uint32_t to)
{
    const struct gp_plan *p = f->c->p;
    return p->items.at[from].step == p->items.at[to].step &&
           p->replay.items.at[from].stream == p->replay.items.at[to].stream &&
           p->replay.items.at[to].after == GP_REPLAY_NONE &&
           f->c->items[from].backward == f->c->items[to].backward && !gp_plan_waits_between(p, from, to);
}

static void close_chain(struct find *f, uint32_t first)
{
    struct gp_chains *out = f->out;
    uint32_t n = (uint32_t)out->kernels.n - first;
    if (n < 2) out->kernels.n = first;
    else GP_VEC_PUSH(&out->all, ((struct gp_chain){.first = first, .n = n}));
}

static bool is_short_copy(const struct find *f, uint32_t item)
{
    const struct gp_config *config = gp_gpu_config(f->c->t, f->c->p->items.at[item].row);
    return config->kind == GP_MEMCPY && gp_rule_dur(f->c, item) < COPY_NS &&
           strstr(gp_trace_str(f->c->t, config->name), "DtoD");
}

/* Has it fewer blocks than the device has multiprocessors, for long? Its grid bounds it then, and not what it
 * reads and writes (see the rule small_grid). */
static bool is_bound_by_grid(const struct find *f, uint32_t item)
{
    int64_t blocks = gp_rule_blocks(f->c, item);
    return f->c->props && blocks > 0 && blocks < f->c->props->sms && gp_rule_dur(f->c, item) > SHORT_NS;
}

static bool same_division(const struct find *f, uint32_t a, uint32_t b)
{
    const struct gp_config *x = &f->c->t->configs.at[f->c->items[a].config],
                           *y = &f->c->t->configs.at[f->c->items[b].config];
    return x->kind == GP_KERNEL && (x->has & y->has & GP_HAS_GRID) &&
           !memcmp(x->grid, y->grid, sizeof x->grid) && !memcmp(x->block, y->block, sizeof x->block);
}

/* Is ITEM, a kernel of which nothing is known by name, divided like its neighbour OTHER, which is a member?
 * Without shared memory, its blocks hardly reduce or multiply. */
static bool is_like(struct find *f, uint32_t item, uint32_t other)
{
    const struct gp_config *config = gp_gpu_config(f->c->t, f->c->p->items.at[item].row);
    return f->c->items[item].kind == GP_FRAME_COMPUTE && (config->has & GP_HAS_SHARED) &&
           !config->shared_bytes && !facts_of(f, item)->of_others && same_division(f, item, other);
}

static void find_chains(struct find *f)
{
    uint32_t first = 0, previous = UINT32_MAX;
    for (uint32_t i = 0; i < f->c->p->items.n; i++) {
        const struct kernel_facts *k = facts_of(f, i);
        if (k->role == ROLE_ASIDE || is_short_copy(f, i)) continue;
        bool open = previous != UINT32_MAX, known = is_member(k);
        bool next = i + 1 < f->c->p->items.n && is_member(facts_of(f, i + 1));
        bool member = (known || (open && is_like(f, i, previous)) || (next && is_like(f, i, i + 1))) &&
                      !is_bound_by_grid(f, i) && !f->c->needless_of[i];
        bool parted = open && k->joins && facts_of(f, previous)->joins; /* neither reads the other's result */
        if (open &&
            (!member || parted || !follows(f, previous, i) || f->out->kernels.n - first >= CHAIN_MOST)) {
            close_chain(f, first);
            open = false;
        }
        if (!open) first = (uint32_t)f->out->kernels.n;
        if (member) add_kernel(f, i, open ? facts_of(f, previous) : NULL);
        previous = member ? i : UINT32_MAX;
    }
    if (previous != UINT32_MAX) close_chain(f, first);
}

/* ---- what a chain takes, and would take ---- */

static void measure_bandwidth(struct find *f)
{
    for (uint32_t i = 0; i < f->c->p->items.n; i++) {
        const struct kernel_facts *k = facts_of(f, i);
        int64_t bytes = bytes_read(&k->size) + k->size.elements * k->size.out_size,
                dur = gp_rule_dur(f->c, i);
        if (bytes < BANDWIDTH_BYTES || dur < BANDWIDTH_NS) continue;
        if ((double)bytes / (double)dur > f->out->bytes_ns) f->out->bytes_ns = (double)bytes / (double)dur;
    }
}

int64_t gp_chain_not_read(const struct gp_chains *chains, const struct gp_chain_kernel *k, int64_t dur_ns)
{
    if (!k->passed_bytes || chains->bytes_ns <= 0) return 0;
    double saved = (double)k->passed_bytes / chains->bytes_ns,
           moved = (double)(k->read_bytes + k->written_bytes);
    double most = (double)dur_ns * (moved > 0 ? (double)k->passed_bytes / moved : 0.5);
    if (most > (double)dur_ns) most = (double)dur_ns;
    return (int64_t)(saved < most ? saved : most);
}

/* Does the time of item K depend only on its bytes? Reductions are slow for other reasons; elementwise
 * kernels far from the bandwidth, such as those that repeat a row, come nearer to it as part of another
 * kernel. */
static bool only_moves(const struct find *f, const struct gp_chain_kernel *k)
{
    return k->elements && f->c->items[k->item].kind == GP_FRAME_ELEMENTWISE;
}

static int64_t longest_of(const struct find *f, const struct gp_chain *chain)
{
    int64_t longest = 0;
    for (uint32_t i = chain->first; i < chain->first + chain->n; i++)
        if (gp_rule_dur(f->c, f->out->kernels.at[i].item) > longest)
            longest = gp_rule_dur(f->c, f->out->kernels.at[i].item);
    return longest;
}

/* Between two kernels, a tensor is written and read: of kernels that are all divided alike, the shortest
 * does at least as much. INT64_MAX: they are not. */
static int64_t most_between(const struct find *f, const struct gp_chain *chain)
{
    const struct gp_chain_kernel *of = &f->out->kernels.at[chain->first];
    int64_t shortest = gp_rule_dur(f->c, of->item);
    for (uint32_t i = 1; i < chain->n; i++) {
        if (!same_division(f, of->item, of[i].item)) return INT64_MAX;
        if (gp_rule_dur(f->c, of[i].item) < shortest) shortest = gp_rule_dur(f->c, of[i].item);
    }
    return gp_mul_saturated(shortest, chain->n - 1);
}

static void measure(struct find *f, struct gp_chain *chain)
{
    int64_t longest = 0, bytes = 0;
    bool known = f->out->bytes_ns > 0;
    for (uint32_t i = 0; i < chain->n; i++) {
        const struct gp_chain_kernel *k = &f->out->kernels.at[chain->first + i];
        int64_t dur = gp_rule_dur(f->c, k->item);
        chain->total_ns = gp_add_saturated(chain->total_ns, dur);
        chain->low_ns = gp_add_saturated(chain->low_ns, gp_chain_not_read(f->out, k, dur));
        if (dur > longest && !only_moves(f, k)) longest = dur;
        known = known && k->elements;
        bytes += k->read_bytes - k->passed_bytes + (i + 1 == chain->n ? k->written_bytes : 0);
    }
    double moved = known ? (double)bytes / f->out->bytes_ns : 0;
    if (!known) longest = longest_of(f, chain);
    int64_t between = known ? INT64_MAX : most_between(f, chain);
    int64_t least = moved < (double)chain->total_ns ? (int64_t)moved : chain->total_ns;
    if (least < longest) least = longest;
    chain->high_ns = chain->total_ns > least ? chain->total_ns - least : 0;
    if (chain->high_ns > between) chain->high_ns = between;
    if (chain->low_ns > chain->high_ns) chain->low_ns = chain->high_ns;
}

static uint64_t mix(uint64_t h, uint64_t v) { return (h ^ v) * 0x100000001b3u; }

/* Of names and grids, so that it is the same in another trace. */
static uint64_t signature_of(const struct find *f, const struct gp_chain *chain)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (uint32_t i = 0; i < chain->n; i++) {
        const struct gp_config *config =
            gp_gpu_config(f->c->t, f->c->p->items.at[f->out->kernels.at[chain->first + i].item].row);
        h = mix(h, gp_hash_bytes(gp_trace_str(f->c->t, config->name),
                                 gp_string_len(&f->c->t->strings, config->name)));
        for (int d = 0; d < 3; d++) h = mix(h, config->grid[d]);
    }
    return h;
}

static int by_total(const void *a, const void *b)
{
    const struct gp_chain_kind *x = a, *y = b;
    if (x->total_ns != y->total_ns) return x->total_ns > y->total_ns ? -1 : 1;
    return x->signature < y->signature ? -1 : x->signature > y->signature;
}

/* Longest first; a chain finds the new place of its kind through the kind's example. */
static void sort_kinds(struct gp_chains *out)
{
    if (!out->kinds.n) return;
    uint32_t *place = gp_alloc(out->all.n * sizeof *place);
    for (size_t i = 0; i < out->all.n; i++) out->all.at[i].kind = out->kinds.at[out->all.at[i].kind].example;
    qsort(out->kinds.at, out->kinds.n, sizeof *out->kinds.at, by_total);
    for (uint32_t k = 0; k < out->kinds.n; k++) place[out->kinds.at[k].example] = k;
    for (size_t i = 0; i < out->all.n; i++) out->all.at[i].kind = place[out->all.at[i].kind];
    free(place);
}

static void find_kinds(struct find *f)
{
    struct gp_chains *out = f->out;
    struct gp_map at = {0};
    for (uint32_t i = 0; i < out->all.n; i++) {
        struct gp_chain *chain = &out->all.at[i];
        measure(f, chain);
        uint64_t signature = signature_of(f, chain);
        uint32_t *k = gp_map_put(&at, signature, UINT32_MAX);
        if (*k == UINT32_MAX) {
            *k = (uint32_t)out->kinds.n;
            GP_VEC_PUSH(&out->kinds, ((struct gp_chain_kind){.signature = signature, .example = i}));
        }
        struct gp_chain_kind *kind = &out->kinds.at[*k];
        chain->kind = *k;
        kind->count++;
        kind->total_ns = gp_add_saturated(kind->total_ns, chain->total_ns);
        kind->low_ns = gp_add_saturated(kind->low_ns, chain->low_ns);
        kind->high_ns = gp_add_saturated(kind->high_ns, chain->high_ns);
    }
    gp_map_release(&at);
    for (size_t i = 0; i < out->kinds.n; i++) {
        struct gp_chain_kind *kind = &out->kinds.at[i];
        kind->counts = kind->count >= OFTEN * f->c->n_steps ||
                       (kind->count >= f->c->n_steps && gp_pct(kind->total_ns, f->c->busy_ns) >= BUSY_PCT);
    }
}

void gp_chains_find(struct gp_chains *chains, const struct gp_rule_ctx *c)
{
    struct find f = {.out = chains, .c = c};
    f.known = gp_zalloc((c->t->configs.n + 1) * sizeof *f.known);
    measure_bandwidth(&f);
    find_chains(&f);
    find_kinds(&f);
    sort_kinds(chains);
    free(f.known);
    gp_buf_release(&f.name);
}

void gp_chains_release(struct gp_chains *chains)
{
    GP_VEC_FREE(&chains->kernels);
    GP_VEC_FREE(&chains->all);
    GP_VEC_FREE(&chains->kinds);
}
