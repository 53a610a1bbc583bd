// Operators that do more than is used. Graph networks that write a message for each edge: rows are looked up
// by the source of each edge, perhaps weighted, and added up by its target; a sparse matrix product does that
// without the messages. Rows that are sorted, of which a few values are used.
#include <stdlib.h>
#include <string.h>
#include "analyze/math/sums.h"
#include "analyze/names/name_predicates.h"
#include "analyze/suggest/rules_priv.h"
#include "analyze/suggest/rules_table.h"

static const double SHARE_PCT = 5; /* of the busy time */

enum {
    BETWEEN_MOST = 8, /* kernels from a lookup to its sum: weights, fills, counts of edges */
    READS_PART = 4,   /* of a lookup's time, if it only reads, mostly from the cache */
    USED_WITHIN = 4,  /* launches after a sort, which work on its result */
    USED_PART = 64, /* of a sort's time, the most of each; to read all that was sorted takes a 25th or more */
    SORT_LOW = 2,
    SORT_HIGH = 16, /* parts of a sort's time that taking the largest values takes */
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
};
