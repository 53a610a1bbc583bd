// Graph networks that write a message for each edge: rows are looked up by the source of each edge, perhaps
// weighted, and added up by its target. A sparse matrix product does that without the messages.
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
        if (!s || i == lookup) continue;
        if (i == sum) gp_rule_edit_all(s, GP_EDIT_GONE, i, 0);
        else gp_rule_edit_high(s, GP_EDIT_GONE, i, 0);
        gp_rule_edit_launch(c, s, c->p->items.at[i].call);
    }
    if (s) gp_rule_edit_high(s, GP_EDIT_DUR, lookup, gp_rule_dur(c, lookup) / READS_PART);
    m->sums_ns += gp_rule_dur(c, sum);
    if (!m->count++ || gp_rule_dur(c, lookup) > gp_rule_dur(c, m->longest)) m->longest = lookup;
}

static struct messages find_messages(const struct gp_rule_ctx *c, uint8_t *calls, struct gp_suggestion *s)
{
    struct messages m = {.calls = calls};
    uint8_t *roles = gp_zalloc(c->t->configs.n + 1);
    for (size_t k = 0; k < c->t->configs.n; k++) roles[k] = (uint8_t)role_of(c, &c->t->configs.at[k]);
    for (uint32_t i = 0; i < c->p->items.n; i++) {
        uint32_t sum = roles[c->items[i].config] == LOOKUP ? sum_after(c, roles, i) : i;
        if (sum > i) add_message(c, &m, i, sum, s);
    }
    free(roles);
    return m;
}

static void check_graph_messages(struct gp_rule_ctx *c)
{
    uint8_t *calls = gp_zalloc(c->p->calls.n + 1);
    struct messages m = find_messages(c, calls, NULL);
    if (m.count >= (int64_t)c->n_steps && gp_pct(m.total_ns, c->busy_ns) >= SHARE_PCT) {
        gp_rule_absorb(c, calls, " fusion zero_fill ", NULL);
        struct gp_suggestion *s = gp_rule_suggest(c);
        find_messages(c, calls, s);
        s->operation = gp_rule_item_label(c, m.longest);
        s->current_ns = gp_rule_per_step(c, m.total_ns);
        s->resource_low_ns = gp_rule_per_step(c, m.sums_ns);
        s->resource_high_ns = s->current_ns;
        s->description = gp_rule_text(
            c,
            "Rows are looked up by index, written to memory, and added up by another index %s, as a graph "
            "network does with a message for each edge: %s",
            gp_rule_times(c, m.count), gp_rule_ns(c, s->current_ns));
        gp_rule_evidence_count(s, "sums", gp_rule_per_step(c, m.count));
        gp_rule_evidence_pct(s, "of_busy", gp_pct(m.total_ns, c->busy_ns));
    }
    free(calls);
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
