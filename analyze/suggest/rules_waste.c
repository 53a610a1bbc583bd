// Operators that do more than is used. Graph networks that write a message for each edge: rows are looked up
// by the source of each edge, perhaps weighted, and added up by its target; a sparse matrix product does that
// without the messages. Rows that are sorted, of which a few values are used. Results of which little is
// read, arrays of all pairs that are only added up, tensors that are joined again and again, and gradients
// of embeddings that are nearly all zero.
#include <stdlib.h>
#include <string.h>
#include "analyze/math/sums.h"
#include "analyze/cost/pointwise.h"
#include "analyze/names/name_predicates.h"
#include "analyze/names/names.h"
#include "analyze/suggest/rules_priv.h"
#include "analyze/suggest/rules_table.h"
#include "formats/base/buf.h"

static const double SHARE_PCT = 5; /* of the busy time */

enum {
    BETWEEN_MOST = 8, /* kernels from a lookup to its sum: weights, fills, counts of edges */
    READS_PART = 4,   /* of a lookup's time, if it only reads, mostly from the cache */
    USED_WITHIN = 4,  /* launches after a sort, which work on its result */
    USED_PART = 64, /* of a sort's time, the most of each; to read all that was sorted takes a 25th or more */
    SORT_LOW = 2,
    FILLED_WITHIN = 16,     /* launches before the rows of a gradient are added */
    TOUCHED_PART = 16,      /* of a gradient */
    SPARSE_LAUNCHES = 64,   /* to sort rows, to join equal ones and to update them */
    PARAMETERS = 4 * 65536, /* bytes of a block of multi_tensor_apply */
    SORT_HIGH = 16,         /* parts of a sort's time that taking the largest values takes */
};

enum role { OTHER, BETWEEN, LOOKUP, SUM };

static enum role role_of(const struct gp_rule_ctx *c, const struct gp_config *config)
{
    const char *name = gp_trace_str(c->t, config->name);
    if (gp_name_has_one_of(name, " vectorized_gather_kernel indexSelect ")) return LOOKUP;
    if (strstr(name, "ReduceAdd") && gp_name_has_one_of(name, " scatter_gather indexFunc ")) return SUM;
    bool fits =
        config->kind == GP_MEMSET || gp_name_has_one_of(name, " FillFunctor MulFunctor clamp_scalar ");
    return fits ? BETWEEN : OTHER;
}

/* The item that adds up what the item LOOKUP read, with nothing between them but weights; LOOKUP itself:
 * there is none. ROLES: by config. */
static uint32_t sum_after(const struct gp_rule_ctx *c, const uint8_t *roles, uint32_t lookup)
{
    const struct gp_plan *p = c->p;
    uint32_t sum = lookup;
    for (uint32_t i = lookup + 1; i < p->items.n && i <= lookup + BETWEEN_MOST; i++) {
        uint8_t role = roles[c->items[i].config];
        if (role == OTHER || role == LOOKUP || p->items.at[i].step != p->items.at[lookup].step ||
            p->replay.items.at[i].stream != p->replay.items.at[lookup].stream)
            break;
        if (role == SUM) sum = i;
    }
    return sum;
}

struct messages {
    int64_t count, total_ns, sums_ns;
    uint32_t longest; /* lookup */
    uint8_t *calls;   /* by call: it is of them */
};

static void add_message(const struct gp_rule_ctx *c, struct messages *m, uint32_t lookup, uint32_t sum,
                        struct gp_suggestion *s)
{
    for (uint32_t i = lookup; i <= sum; i++) {
        m->total_ns += gp_rule_dur(c, i);
        m->calls[c->p->items.at[i].call] = 1;
        if (i == lookup) continue;
        if (i == sum) gp_rule_edit_all(s, GP_EDIT_GONE, i, 0);
        else gp_rule_edit_high(s, GP_EDIT_GONE, i, 0);
        gp_rule_edit_launch(c, s, c->p->items.at[i].call);
    }
    gp_rule_edit_high(s, GP_EDIT_DUR, lookup, gp_rule_dur(c, lookup) / READS_PART);
    m->sums_ns += gp_rule_dur(c, sum);
    if (!m->count++ || gp_rule_dur(c, lookup) > gp_rule_dur(c, m->longest)) m->longest = lookup;
}

static void check_graph_messages(struct gp_rule_ctx *c)
{
    struct messages m = {.calls = gp_zalloc(c->p->calls.n + 1)};
    struct gp_suggestion edits = {0};
    uint8_t *roles = gp_zalloc(c->t->configs.n + 1);
    for (size_t k = 0; k < c->t->configs.n; k++) roles[k] = (uint8_t)role_of(c, &c->t->configs.at[k]);
    for (uint32_t i = 0; i < c->p->items.n; i++) {
        uint32_t sum = roles[c->items[i].config] == LOOKUP ? sum_after(c, roles, i) : i;
        if (sum > i) add_message(c, &m, i, sum, &edits);
    }
    edits.current_ns = m.total_ns;
    if (m.count >= (int64_t)c->n_steps && gp_pct(m.total_ns, c->busy_ns) >= SHARE_PCT) {
        gp_rule_absorb(c, m.calls, " fusion zero_fill ", NULL);
        struct gp_suggestion *s = gp_rule_suggest_edits(c, true, &edits);
        s->operation = gp_rule_item_label(c, m.longest);
        s->resource_low_ns = gp_rule_per_step(c, m.sums_ns);
        s->description = gp_rule_text(
            c,
            "Rows are looked up by index, written to memory, and added up by another index %s, as a graph "
            "network does with a message for each edge: %s",
            gp_rule_times(c, m.count), gp_rule_ns(c, s->current_ns));
        gp_rule_evidence_count(s, "sums", gp_rule_per_step(c, m.count));
        gp_rule_evidence_pct(s, "of_busy", gp_pct(m.total_ns, c->busy_ns));
    }
    gp_suggestion_release(&edits);
    free(roles), free(m.calls);
}

const struct gp_rule gp_rule_graph_messages = {
    .name = "graph_messages",
    .type = GP_SUGGEST_FUSION,
    .summary = "a row for each edge of a graph is written to memory, to be added up by index",
    .needs = "kernel names",
    .threshold = "a lookup of rows, then a sum by index, in each step; 5% of the busy time",
    .guard =
        "other kernels between them than weights, fills and counts of edges, such as a product (experts) "
        "or a function of more than the row; sums by maximum",
    .action = "pass the graph as a sparse matrix, whose product needs no messages (in torch_geometric "
              "to_torch_csr_tensor(edge_index.flip(0)), otherwise torch.sparse_csr_tensor @ rows; "
              "for lookups of embeddings, EmbeddingBag), or compile lookup and sum as one kernel",
    .change = "pass the graph as a sparse matrix, whose product needs no messages",
    .formula = "at least the sums go, and the lookups take as long as now; at most, of the lookups only a "
               "quarter stays, and nothing of what lies between",
    .assumes = "the indices are the same for the whole row, and the graph's matrix is made once",
    .expect = "a product of a sparse matrix in place of lookups and sums",
    .run = check_graph_messages,
    .frames = "which show the layer",
};

/* ---- rows that are sorted for a few of their values ---- */

static bool is_sort(const struct gp_rule_ctx *c, uint32_t item)
{
    return !c->items[item].backward &&
           gp_name_has_one_of(gp_rule_name(c, item),
                              " RadixSort radixSort bitonicSort MergeSort merge_sort ");
}

static bool is_in_step(const struct gp_rule_ctx *c, uint32_t item, uint32_t of)
{
    return item < c->p->items.n && c->p->items.at[item].step == c->p->items.at[of].step;
}

/* Does the sort that ended before item TO and took NS lead to work on little of what it sorted? */
static bool uses_few(const struct gp_rule_ctx *c, uint32_t to, int64_t ns)
{
    uint32_t i = to;
    for (; i < to + USED_WITHIN && is_in_step(c, i, to - 1); i++)
        if (gp_rule_dur(c, i) > ns / USED_PART) return false;
    return i > to;
}

/* The sort that begins with item FROM, with the copy and the indices made for it. Returns its end. */
static uint32_t add_sort(const struct gp_rule_ctx *c, uint32_t from, int64_t *count, struct gp_suggestion *s)
{
    uint32_t to = from;
    int64_t ns = 0;
    while (is_in_step(c, to, from) && (is_sort(c, to) || c->items[to].kind == GP_FRAME_MEMSET)) to++;
    while (from && is_in_step(c, from - 1, from) &&
           (gp_copy_on_device(gp_rule_name(c, from - 1)) ||
            gp_name_has_one_of(gp_rule_name(c, from - 1), " fill_reverse_indices arange ")))
        from--;
    for (uint32_t i = from; i < to; i++) ns += gp_rule_dur(c, i);
    if (!uses_few(c, to, ns)) return to;
    for (uint32_t i = from; i < to; i++)
        gp_rule_edit_dur(s, i, gp_rule_dur(c, i) / SORT_LOW, gp_rule_dur(c, i) / SORT_HIGH);
    s->current_ns += ns;
    ++*count;
    return to;
}

static void check_full_sort(struct gp_rule_ctx *c)
{
    struct gp_suggestion edits = {0};
    int64_t count = 0;
    for (uint32_t i = 0; i < c->p->items.n;) i = is_sort(c, i) ? add_sort(c, i, &count, &edits) : i + 1;
    double pct = gp_pct(edits.current_ns, c->busy_ns);
    bool enough = count >= (int64_t)c->n_steps && pct >= SHARE_PCT;
    struct gp_suggestion *s = gp_rule_suggest_edits(c, enough, &edits);
    if (!s) return;
    s->operation = gp_rule_item_label(c, s->high.at[s->high.n - 1].index);
    s->resource_low_ns = s->current_ns - s->current_ns / SORT_LOW;
    s->resource_high_ns = s->current_ns - s->current_ns / SORT_HIGH;
    s->description = gp_rule_text(
        c, "Values are sorted %s, %s, and what runs next is too short to read more than a few of them",
        gp_rule_times(c, count), gp_rule_ns(c, s->current_ns));
    if (!c->torch)
        s->action = s->change =
            gp_rule_text(c, "take the few values that are used without sorting all: %s",
                         c->jax ? "jax.lax.top_k, or jax.lax.approx_max_k" : "a selection of the largest");
    gp_rule_evidence_pct(s, "of_busy", pct);
}

const struct gp_rule gp_rule_full_sort = {
    .name = "full_sort",
    .type = GP_SUGGEST_ALGORITHM,
    .summary = "rows are sorted to take a few of their values",
    .needs = "kernel names",
    .threshold =
        "a sort in each step, and none of the four launches after it takes a 64th of its time; 5% of "
        "the busy time",
    .guard = "sorts whose result is read by what follows, as in nucleus sampling, unique() and randperm(); "
             "those of the backward pass; nothing launched after it in the step",
    .action = "take the few values that are used without sorting all: torch.topk(x, k) in place of sort or "
              "argsort and a slice, kthvalue or median in place of one value of the sorted ones",
    .change = "take the few values that are used without sorting all, with torch.topk",
    .formula =
        "the sort, with the copy and the indices made for it, takes a half of its time, at most a 16th",
    .assumes = "the rest of what is sorted is not used later",
    .expect = "shorter kernels in place of those that sort",
    .run = check_full_sort,
    .frames = "which show where",
    .measured = true,
};

/* ---- kernels whose work need not be done ---- */

enum {
    TURNS_LEAST = 4,   /* per step, in which tensors are joined again */
    OLD_PART = 32,     /* of a join's time; to write a half of what is joined takes a 25th or more */
    SUMS_LEAST = 1024, /* fewer may be a loss */
    AGAIN_WITHIN = 8,  /* launches after sums that may read the same array again, */
    AGAIN_PART = 4,    /* which takes that part of the time to write it */
    LATER_PART = 16,   /* of the time that a result takes to make; to read it takes a fifth or more */
    ROWS_PART = 16,    /* fewer values than that part of the rows are not of all rows */
    THREAD_READS = 8,  /* values, at most */
};
static const double RESULT_PCT = 1; /* of the busy time, to look at a result */
static const double EMBEDDED = 0.5; /* of the parameters */

enum part { PART_OTHER, PART_ADD, PART_MULTIPLY, PART_SQUARE, PART_SUM, PART_NORM, PART_ROWS };
struct part_of {
    enum part part;
    bool pointwise, joins_two;
    int64_t elements; /* of pointwise kernels; 0: not known */
};
struct needless {
    struct gp_rule_ctx *c;
    struct part_of *parts; /* by config */
    int64_t ns[GP_NEEDLESS_KINDS];
};

static enum part part_by_name(const char *name)
{
    bool sums = strstr(name, "reduce_kernel<") != NULL;
    if (gp_kernel_is_strided(name) && strstr(name, "CUDAFunctor_add")) return PART_ADD;
    if (gp_kernel_is_strided(name)) return strstr(name, "MulFunctor") ? PART_MULTIPLY : PART_OTHER;
    if (sums && gp_name_has_one_of(name, " sum_functor MeanOps ")) return PART_SUM;
    if (sums && gp_name_has_one_of(name, " NormTwoOps NormOneOps ")) return PART_NORM;
    if (gp_kernel_is_softmax(name)) return PART_ROWS;
    return gp_name_has_one_of(name, " pow_tensor_scalar MulFunctor abs_kernel ") ? PART_SQUARE : PART_OTHER;
}

static struct part_of part_of_config(const struct gp_rule_ctx *c, const struct gp_config *config,
                                     struct gp_buf *plain)
{
    static const char strided[] = "::elementwise_kernel<128, ";
    struct gp_pointwise size;
    if (config->kind != GP_KERNEL) return (struct part_of){PART_OTHER, false, false, 0};
    plain->n = 0;
    gp_name_demangle(plain, gp_trace_str(c->t, config->name), gp_string_len(&c->t->strings, config->name));
    const char *name = gp_buf_str(plain), *at = strstr(name, strided);
    struct part_of p = {part_by_name(name), gp_kernel_is_elementwise(name),
                        gp_kernel_joins(name) && config->grid[1] == 2, 0};
    long a_thread = at ? strtol(at + sizeof strided - 1, NULL, 10) : 0;
    if (a_thread > 0 && a_thread <= 16) p.elements = (int64_t)config->grid[0] * 128 * a_thread;
    else if (gp_pointwise_of(&size, name, config->grid[0])) p.elements = size.elements;
    if (gp_pointwise_is_vectorized(name)) p.elements = (int64_t)((double)p.elements * c->grid_part);
    return p;
}

static const struct part_of *part_at(const struct needless *n, uint32_t item)
{
    return &n->parts[n->c->items[item].config];
}

static void add_needless(struct needless *n, struct gp_needless one)
{
    GP_VEC_PUSH(&n->c->needless, one);
    for (uint32_t i = one.first; i <= one.last; i++) n->ns[one.kind] += gp_rule_dur(n->c, i);
}

/* Two tensors are joined again and again after products, and nothing since attention or the join before took
 * long enough to write a half of what is joined: that was there, and is copied once more. */
static void find_joined(struct needless *n, const struct gp_plan_step *step)
{
    const struct gp_rule_ctx *c = n->c;
    int64_t others = 0, ns = n->ns[GP_JOINED];
    uint32_t turns = 0, to = step->first_item + step->n_items;
    size_t before = c->needless.n;
    bool product = false, again = false;
    for (uint32_t i = step->first_item; i < to; i++) {
        bool joins = part_at(n, i)->joins_two && !c->items[i].backward;
        if (joins && (product || again) && others < gp_rule_dur(c, i) / OLD_PART) {
            add_needless(n, (struct gp_needless){GP_JOINED, i, i, 0, 0});
            turns += product;
            product = false, again = true, others = 0;
        } else if (c->items[i].kind == GP_FRAME_ATTENTION) {
            others = 0;
        } else {
            if (c->items[i].kind == GP_FRAME_GEMM) product = true, again = false;
            if (gp_rule_dur(c, i) > others) others = gp_rule_dur(c, i);
        }
    }
    if (turns < TURNS_LEAST) n->c->needless.n = before, n->ns[GP_JOINED] = ns;
}

/* Do kernels after the sums SUM read the array that item FIRST wrote as well? */
static bool is_read_again(const struct needless *n, uint32_t first, uint32_t sum)
{
    const struct gp_rule_ctx *c = n->c;
    for (uint32_t i = sum + 1; i <= sum + AGAIN_WITHIN && is_in_step(c, i, sum); i++) {
        int64_t elements = part_at(n, i)->elements;
        if (c->items[i].backward || c->items[i].config == c->items[first].config) break;
        if (elements ? elements >= part_at(n, first)->elements / 2
                     : gp_rule_dur(c, i) > gp_rule_dur(c, first) / AGAIN_PART)
            return true;
    }
    return false;
}

/* The sums of item SUM over an array of all pairs: a kernel with broadcast operands wrote it, and perhaps
 * another one squared it. */
static void find_pairs(struct needless *n, uint32_t sum)
{
    const struct gp_rule_ctx *c = n->c;
    const struct gp_config *of = &c->t->configs.at[c->items[sum].config];
    bool norm = part_at(n, sum)->part == PART_NORM,
         square = sum > 1 && part_at(n, sum - 1)->part == PART_SQUARE;
    int64_t sums = (int64_t)of->grid[0] * of->block[1];
    uint32_t first = sum - 1 - square;
    if ((!norm && part_at(n, sum)->part != PART_SUM) || c->items[sum].backward || of->grid[1] > 1 ||
        sum < 2 || !is_in_step(c, first, sum) || sums < SUMS_LEAST || of->block[1] > 1024)
        return;
    int64_t elements = part_at(n, first)->elements, squared = part_at(n, sum - 1)->elements;
    bool distances = part_at(n, first)->part == PART_ADD && (square || norm);
    if (!distances && (part_at(n, first)->part != PART_MULTIPLY || square || norm)) return;
    if (squared < elements - elements / 8 || squared / 2 > elements || elements / sums < 2) return;
    bool centred = first && c->items[first - 1].kind == GP_FRAME_REDUCTION &&
                   !memcmp(c->t->configs.at[c->items[first - 1].config].grid, of->grid, sizeof of->grid);
    if (centred || is_read_again(n, first, sum)) return;
    enum gp_needless_kind kind = distances ? GP_DISTANCES : GP_PRODUCTS;
    add_needless(n, (struct gp_needless){kind, first, sum, elements, sums});
}

/* Does ITEM, which is short, read more than MOST values, as far as is known? */
static bool reads_more(const struct needless *n, uint32_t item, int64_t most)
{
    const struct gp_config *config = &n->c->t->configs.at[n->c->items[item].config];
    int64_t threads =
        gp_mul_saturated(gp_mul_saturated(config->block[0], config->block[1]), config->block[2]);
    int64_t values = part_at(n, item)->elements;
    if (config->kind == GP_MEMCPY) values = gp_rule_bytes(n->c, item);
    else if (!values)
        values = gp_mul_saturated(gp_rule_blocks(n->c, item), gp_mul_saturated(threads, THREAD_READS));
    return values <= 0 || values > most;
}

/* Are fewer values read than there are ROWS in what the items FIRST to LAST made in NS? Until FIRST runs
 * again, nothing takes long enough to read it, and no step begins with a product, perhaps of it. */
static bool is_unread(const struct needless *n, uint32_t first, uint32_t last, int64_t ns, int64_t rows)
{
    const struct gp_rule_ctx *c = n->c;
    uint32_t products = 0, readers = 0, next = 0, step = c->p->items.at[last].step;
    for (uint32_t i = last + 1; i < c->p->items.n && c->p->items.at[i].step <= step + 1; i++) {
        int64_t dur = gp_rule_dur(c, i);
        uint32_t kind = c->items[i].kind;
        bool same = c->p->items.at[i].step == step;
        bool product = kind == GP_FRAME_GEMM || kind == GP_FRAME_ATTENTION;
        if (kind == GP_FRAME_MEMSET) continue;
        if (!same && product && !next) return false;
        if (c->items[i].config == c->items[first].config) return products && readers;
        if (same && !products && (c->items[i].backward || dur > ns / USED_PART)) return false;
        if (!product && dur > ns / LATER_PART) return false;
        products += product;
        next += !same;
        if (!same || products) continue;
        if (reads_more(n, i, rows / ROWS_PART)) return false;
        readers++;
    }
    return readers > 0;
}

/* The result of item PRODUCT and of what follows, elementwise or by rows. */
static void find_unread(struct needless *n, uint32_t product)
{
    const struct gp_rule_ctx *c = n->c;
    int64_t ns = 0, rows = INT64_MAX;
    uint32_t last = product;
    if (c->items[product].kind != GP_FRAME_GEMM || c->items[product].backward) return;
    for (uint32_t i = product + 1; is_in_step(c, i, product); last = i++) {
        const struct part_of *p = part_at(n, i);
        bool by_rows = p->part == PART_ROWS;
        int64_t of = by_rows ? gp_rule_blocks(c, i) : p->elements;
        if ((!by_rows && !p->pointwise) || gp_rule_dur(c, i) < ns / LATER_PART) break;
        rows = of < rows ? of : rows;
        ns += gp_rule_dur(c, i);
    }
    int64_t all = (ns + gp_rule_dur(c, product)) * (int64_t)c->n_steps;
    if (last > product && gp_pct(all, c->busy_ns) >= RESULT_PCT && is_unread(n, product, last, ns, rows))
        add_needless(n, (struct gp_needless){GP_UNREAD, product, last, 0, 0});
}

void gp_rule_find_needless(struct gp_rule_ctx *c)
{
    struct needless n = {.c = c, .parts = gp_zalloc((c->t->configs.n + 1) * sizeof *n.parts)};
    struct gp_buf plain = {0};
    for (size_t k = 0; k < c->t->configs.n; k++) n.parts[k] = part_of_config(c, &c->t->configs.at[k], &plain);
    for (size_t k = 0; k < c->p->steps.n; k++) find_joined(&n, &c->p->steps.at[k]);
    for (uint32_t i = 0; i < c->p->items.n; i++) find_pairs(&n, i), find_unread(&n, i);
    c->needless_of = gp_zalloc(c->p->items.n + 1);
    for (size_t k = 0; k < c->needless.n; k++) {
        struct gp_needless *one = &c->needless.at[k];
        if (gp_pct(n.ns[one->kind], c->busy_ns) < SHARE_PCT) continue; /* fusion may still speak of it */
        memset(c->needless_of + one->first, (int)one->kind, one->last - one->first + 1);
    }
    gp_buf_release(&plain);
    free(n.parts);
}

/* Suggest ACTION, if there is enough of KIND: "WHAT 3 times per step, 1 ms, THEN". */
static void spare(struct gp_rule_ctx *c, enum gp_needless_kind kind, const char *what, const char *then,
                  const char *action)
{
    struct gp_suggestion edits = {0};
    int64_t most = 0, count = 0, kept_low = 0, kept_high = 0;
    uint32_t longest = 0;
    for (uint32_t k = 0, i; k < c->needless.n; k++) {
        const struct gp_needless *one = &c->needless.at[k];
        int64_t before = edits.current_ns;
        if (one->kind != kind || c->needless_of[one->first] != kind) continue;
        for (i = one->first; i <= one->last; i++) {
            int64_t dur = gp_rule_dur(c, i), low = dur, high = dur / ROWS_PART;
            if (kind != GP_UNREAD) high = gp_part(dur, 2 * one->sums, one->elements);
            if (kind == GP_UNREAD ? i > one->first : i > one->first && i < one->last) low = high;
            else if (kind != GP_UNREAD && i == one->first) low = dur - dur / 3; /* it reads twice */
            gp_rule_edit_dur(&edits, i, low, high);
            kept_low += low, kept_high += high;
            edits.current_ns += dur;
        }
        count++;
        if (edits.current_ns - before > most) most = edits.current_ns - before, longest = one->first;
    }
    struct gp_suggestion *s = gp_rule_suggest_edits(c, count >= (int64_t)c->n_steps, &edits);
    if (!s) return;
    s->operation = gp_rule_item_label(c, longest);
    s->resource_low_ns = s->current_ns - gp_rule_per_step(c, kept_low);
    s->resource_high_ns = s->current_ns - gp_rule_per_step(c, kept_high);
    s->description =
        gp_rule_text(c, "%s %s, %s, %s", what, gp_rule_times(c, count), gp_rule_ns(c, s->current_ns), then);
    s->action = gp_rule_text(c, "%s", action);
    gp_rule_evidence_count(s, "times", gp_rule_per_step(c, count));
}

static void check_pairwise_sums(struct gp_rule_ctx *c)
{
    static const char then[] = "to be added up and not read again";
    spare(c, GP_DISTANCES, "The differences of all pairs of rows are written to memory", then,
          "compute distances by a matrix product, with torch.cdist or as |x|^2 + |y|^2 - 2 x @ y.T; for few "
          "columns, compile difference and sum as one kernel");
    spare(c, GP_PRODUCTS, "Products of single values are written to memory", then,
          "add up by a matrix product, such as x @ y.T, torch.bmm or torch.einsum");
}

const struct gp_rule gp_rule_pairwise_sums = {
    .name = "pairwise_sums",
    .type = GP_SUGGEST_ALGORITHM,
    .summary = "differences or products of all pairs are written to memory, to be added up",
    .needs = "kernel names and grids of PyTorch",
    .threshold =
        "a kernel with broadcast operands, at most one that squares, and 1024 sums or more of what they "
        "wrote; 5% of the busy time",
    .guard = "a single sum, as of a loss; sums of rows that were centred by their own mean; arrays that "
             "something else reads within eight launches; the backward pass",
    .formula = "at least, the array is not written, nor squared by a kernel of its own; at most, each kernel "
               "takes twice the sums' part of the array",
    .assumes = "the operands are smaller than the array, which nothing reads later",
    .expect = "one or two products in place of these kernels",
    .run = check_pairwise_sums,
    .frames = "which show the line",
    .measured = true,
};

static void check_unread_result(struct gp_rule_ctx *c)
{
    spare(c, GP_UNREAD, "A product and what follows it run for all rows",
          "and what runs next reads fewer values than there are rows",
          "take the rows that are read before the product (of the last token x[:, -1:], in transformers "
          "logits_to_keep=1), not after it");
}

const struct gp_rule gp_rule_unread_result = {
    .name = "unread_result",
    .type = GP_SUGGEST_ALGORITHM,
    .summary = "a product and what follows it run for all rows, of which a few are read",
    .needs = "kernel names and grids of PyTorch",
    .threshold =
        "a product, then elementwise kernels or softmax, then until the next product only kernels that "
        "read fewer values than a 16th of the rows, in a 64th of the time; 5% of the busy time",
    .guard =
        "a value of each row, as for a loss; gradients; nothing in the step that reads it; later kernels, "
        "until the same product runs again, that take a 16th of the time",
    .change = "take the rows that are read before the product, not after it",
    .formula = "what follows the product takes a 16th of its time; at most, the product as well",
    .assumes = "nothing reads the rest later, as in the next step",
    .expect = "shorter kernels from that product on",
    .run = check_unread_result,
    .frames = "which show where it is read",
    .measured = true,
};

/* ---- gradients of embeddings that are nearly all zero ---- */

/* The item that filled the gradient of an embedding with zeros, if item SCATTER then adds to less than a 16th
 * of it, a thread for each element; UINT32_MAX. */
static uint32_t filled_for(const struct gp_rule_ctx *c, uint32_t scatter)
{
    const uint32_t *block = c->t->configs.at[c->items[scatter].config].block;
    double written = 4.0 * (double)gp_rule_blocks(c, scatter) * block[0] * block[1];
    if (!strstr(gp_rule_name(c, scatter), "sum_and_scatter<") || !c->items[scatter].backward)
        return UINT32_MAX;
    for (uint32_t i = scatter; i-- && i + FILLED_WITHIN >= scatter && is_in_step(c, i, scatter);)
        if (gp_pointwise_fills(gp_rule_name(c, i)))
            return c->work[i].share.bytes_high >= TOUCHED_PART * written ? i : UINT32_MAX;
    return UINT32_MAX;
}

static bool updates(const struct gp_rule_ctx *c, uint32_t item)
{
    return gp_kernel_is_multi_tensor(gp_rule_name(c, item)) && !c->items[item].backward;
}

struct dense {
    int64_t count;
    double filled, least, all; /* bytes of the gradients, of the smallest, of all parameters */
    uint32_t longest;          /* item of the optimizer */
};

/* False: there are none, or all of them is needed: by other ranks, or to be added to another gradient of the
 * same weights. */
static bool find_dense(const struct gp_rule_ctx *c, struct dense *d, struct gp_suggestion *edits)
{
    *d = (struct dense){.longest = UINT32_MAX};
    for (uint32_t i = 0; i < c->p->items.n; i++) {
        uint32_t fill = filled_for(c, i);
        if (gp_class_of((enum gp_frame_kind)c->items[i].kind) == GP_CLASS_COMMUNICATION) return false;
        if (updates(c, i) && (d->longest == UINT32_MAX || gp_rule_dur(c, i) > gp_rule_dur(c, d->longest)))
            d->longest = i;
        if (fill == UINT32_MAX) continue;
        double bytes = c->work[fill].share.bytes_high;
        if (!d->count++ || bytes < d->least) d->least = bytes;
        d->filled += bytes;
        edits->current_ns += gp_rule_dur(c, fill);
        gp_rule_edit_all(edits, GP_EDIT_GONE, fill, 0);
    }
    if (!d->count || d->count < (int64_t)c->n_steps || d->longest == UINT32_MAX) return false;
    for (uint32_t i = 0; i < c->p->items.n; i++) {
        const char *name = gp_rule_name(c, i);
        bool adds = c->items[i].backward && strstr(name, "CUDAFunctor_add<");
        if (adds && c->work[i].share.bytes_high >= 2 * d->least) return false;
        if (!strcmp(name, gp_rule_name(c, d->longest))) d->all += PARAMETERS * (double)gp_rule_blocks(c, i);
    }
    return d->all > 0;
}

static void check_dense_gradient(struct gp_rule_ctx *c)
{
    struct gp_suggestion edits = {0};
    struct dense d;
    bool found = find_dense(c, &d, &edits);
    double part = found && d.filled < d.all ? d.filled / d.all : 1;
    uint8_t *calls = gp_zalloc(c->p->calls.n + 1);
    uint32_t step = UINT32_MAX;
    int64_t steps = (int64_t)c->n_steps, more = 0; /* host time in each step */
    if (found)
        more = gp_mul_saturated(gp_rule_usual_gap(c) +
                                    c->p->replay.calls.at[c->p->items.at[d.longest].call].own_ns,
                                SPARSE_LAUNCHES * d.count / steps);
    for (uint32_t i = 0; i < c->p->items.n && found; i++) {
        int64_t dur = gp_rule_dur(c, i), gone = (int64_t)((double)dur * part);
        uint32_t call = c->p->items.at[i].call;
        if (!updates(c, i)) continue;
        calls[call] = 1;
        edits.current_ns += gone;
        gp_rule_edit_dur(&edits, i, dur - gone / 2, dur - gone);
        if (c->p->items.at[i].step != step)
            GP_VEC_PUSH(&edits.low, ((struct gp_edit){GP_EDIT_BEFORE, call,
                                                      gp_add_saturated(c->calls[call].before_ns, more)}));
        step = c->p->items.at[i].step;
    }
    bool enough =
        found && edits.current_ns / steps > more && gp_pct(edits.current_ns, c->busy_ns) >= SHARE_PCT;
    size_t others = c->s->suggestions.n;
    if (enough && part > EMBEDDED) gp_rule_absorb(c, calls, " optimizer ", NULL);
    bool absorbed = c->s->suggestions.n < others;
    free(calls);
    struct gp_suggestion *s = gp_rule_suggest_edits(c, enough, &edits);
    if (!s) return;
    s->operation = gp_rule_item_label(c, d.longest);
    s->description = gp_rule_text(
        c,
        "Gradients of embeddings are filled with zeros and updated as a whole, %s: %s, where a batch "
        "changes less than a 16th of them",
        gp_rule_times(c, d.count), gp_rule_ns(c, s->current_ns));
    if (absorbed)
        s->action =
            gp_rule_text(c, "%s; where all rows need their update, construct the optimizer with fused=True",
                         gp_suggest_str(c->s, s->action));
    gp_rule_evidence_count(s, "gradients", gp_rule_per_step(c, d.count));
    gp_rule_evidence_pct(s, "of_parameters", 100 * part);
}

const struct gp_rule gp_rule_dense_gradient = {
    .name = "dense_gradient",
    .type = GP_SUGGEST_ALGORITHM,
    .summary = "an optimizer updates whole embeddings, of which a batch reads few rows",
    .needs = "kernel names and grids of PyTorch",
    .threshold = "a gradient of 16 times what is added to it; 5% of the busy time, and more than 64 launches "
                 "take",
    .guard = "gradients that are added to others of their size, as of weights that the last product shares; "
             "several ranks",
    .action = "construct the embeddings with sparse=True, and update them with torch.optim.SparseAdam or SGD",
    .change = "construct the embeddings with sparse=True",
    .formula =
        "the zeros go, and of the optimizer's time the part that these parameters are of all; at least "
        "half of that, with 64 launches more for each embedding",
    .assumes = "rows that a batch does not read need no update, which Adam and weight decay give them",
    .expect = "shorter kernels of the optimizer",
    .run = check_dense_gradient,
    .frames = "which show the line",
};
