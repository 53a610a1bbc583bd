// Text that is generated without a cache: for each new token the model reads all of it again.
#include <string.h>
#include "analyze/math/sums.h"
#include "analyze/names/name_predicates.h"
#include "analyze/suggest/rules_priv.h"
#include "analyze/suggest/rules_table.h"

enum {
    TOKENS_LEAST = 4,
    WITHIN = 8,        /* lookups after which the one of the next turn has come */
    PICKED_WITHIN = 6, /* launches from picking a token to joining it to the text */
    WEIGHT_ROWS = 512, /* a product of fewer rows takes about as long as its weights are read */
};

static const double SHARE_PCT = 5; /* of the steps, on the GPU */

/* Turns of one text: each begins with the lookup of all its tokens, so many more than the one before. */
struct text {
    uint32_t from, join; /* items of the turn: its lookup, and what joins the new token to the text */
    int64_t rows, more;  /* rows looked up; negative: MORE is not known yet */
};

struct sum {
    int64_t texts, tokens, most_rows, gpu_ns, before_ns;
};

/* The lookup after AT of as many more rows as TEXT grows by, and the join before it; UINT32_MAX: it ends. */
static uint32_t next_turn(const struct gp_rule_ctx *c, struct text *text)
{
    uint32_t picked = UINT32_MAX, lookups = 0, products = 0, step = c->p->items.at[text->from].step;
    text->join = UINT32_MAX;
    for (uint32_t i = text->from + 1; i < c->p->items.n && c->p->items.at[i].step == step; i++) {
        const char *name = gp_rule_name(c, i);
        if (c->items[i].backward) break;
        if (text->join == UINT32_MAX) {
            products += c->items[i].kind == GP_FRAME_GEMM;
            if (products &&
                gp_name_has_one_of(name, " MaxOps ArgMax TopK topk multinomial distribution_elem "))
                picked = i;
            if (picked != UINT32_MAX && i - picked <= PICKED_WITHIN && gp_kernel_joins(name)) text->join = i;
        }
        if (gp_kernel_joins(name) || strcmp(name, gp_rule_name(c, text->from)) != 0) continue;
        int64_t more = gp_rule_blocks(c, i) - text->rows;
        bool grows = text->more < 0 ? more > 0 && text->rows % more == 0 : more == text->more;
        if (grows && text->join != UINT32_MAX) return text->more = more, i;
        if (++lookups > WITHIN) break;
    }
    return UINT32_MAX;
}

/* A turn after the first one needs the new tokens only: their part of the rows, and of a product at least as
 * many as make it longer than its weights take. */
static void shorten(const struct gp_rule_ctx *c, const struct text *text, struct sum *sum,
                    struct gp_suggestion *s)
{
    double part = (double)text->more / (double)text->rows, most = (double)WEIGHT_ROWS / (double)text->rows;
    if (most < part) most = part;
    for (uint32_t i = text->from; i <= text->join; i++) {
        if (c->items[i].kind == GP_FRAME_MEMCPY) continue;
        int64_t dur = gp_rule_dur(c, i), empty = c->s->empty_ns < dur ? c->s->empty_ns : dur;
        int64_t low = most < 1 ? (int64_t)((double)dur * most) : dur, high = (int64_t)((double)dur * part);
        sum->gpu_ns += dur;
        gp_rule_edit_dur(s, i, low > empty ? low : empty, high > empty ? high : empty);
    }
}

/* What runs between a join and the next lookup is the same for all tokens, if it multiplies: an encoder. */
static void leave_out(const struct gp_rule_ctx *c, uint32_t from, uint32_t to, struct sum *sum,
                      struct gp_suggestion *s)
{
    int64_t ns = 0;
    bool multiplies = false;
    for (uint32_t i = from; i < to; i++)
        ns += gp_rule_dur(c, i), multiplies |= c->items[i].kind == GP_FRAME_GEMM;
    if (!multiplies) return;
    sum->before_ns += ns;
    for (uint32_t i = from; i < to; i++) {
        gp_rule_edit_high(s, GP_EDIT_GONE, i, 0);
        gp_rule_edit_launch(c, s, c->p->items.at[i].call);
    }
}

/* The text that begins with item FROM: returns its last item; FROM if it is none. */
static uint32_t follow(const struct gp_rule_ctx *c, uint32_t from, struct sum *sum, struct gp_suggestion *s)
{
    struct text text = {.from = from, .rows = gp_rule_blocks(c, from), .more = -1}, first = text;
    uint32_t turns = 1;
    for (uint32_t next; (next = next_turn(c, &text)) != UINT32_MAX; turns++)
        text.from = next, text.rows += text.more;
    if (turns < TOKENS_LEAST) return from;
    sum->texts++;
    sum->tokens += turns;
    sum->most_rows = text.rows > sum->most_rows ? text.rows : sum->most_rows;
    uint32_t last = text.from, next;
    for (text = first; text.from != last; text.from = next, text.rows += text.more) {
        next = next_turn(c, &text);
        if (text.from != from) shorten(c, &text, sum, s);
        leave_out(c, text.join + 1, next, sum, s);
    }
    return last;
}

static void check_no_cache(struct gp_rule_ctx *c)
{
    struct sum sum = {0};
    struct gp_suggestion edits = {0};
    for (uint32_t i = 0; i < c->p->items.n; i++) {
        const char *name = gp_rule_name(c, i);
        if (!c->items[i].backward && gp_kernel_gathers(name) && !gp_kernel_joins(name))
            i = follow(c, i, &sum, &edits);
    }
    edits.current_ns = sum.gpu_ns + sum.before_ns;
    bool enough = sum.texts >= (int64_t)c->n_steps && gp_pct(edits.current_ns, c->plan_ns) >= SHARE_PCT;
    struct gp_suggestion *s = gp_rule_suggest_edits(c, enough, &edits);
    if (!s) return;
    s->description = gp_rule_text(
        c,
        "The model reads all of a text again for each of %lld new tokens per step, up to %lld rows: %s on "
        "the GPU%s%s",
        (long long)gp_rule_per_step(c, sum.tokens), (long long)sum.most_rows,
        gp_rule_ns(c, gp_rule_per_step(c, sum.gpu_ns)),
        sum.before_ns ? ". Before each, the same launches run again, as those of an encoder do: " : "",
        sum.before_ns ? gp_rule_ns(c, gp_rule_per_step(c, sum.before_ns)) : "");
    if (sum.before_ns > sum.gpu_ns) {
        s->change = gp_rule_text(c, "encode the input once, before the loop over tokens");
        s->action = gp_rule_text(
            c, "encode the input once, before the loop over tokens (encoder_outputs), and keep keys "
               "and values of earlier tokens (use_cache=True, past_key_values)");
    }
    gp_rule_evidence_count(s, "tokens", gp_rule_per_step(c, sum.tokens));
}

const struct gp_rule gp_rule_no_cache = {
    .name = "no_cache",
    .type = GP_SUGGEST_CACHING,
    .summary = "a model reads a whole text again for each new token",
    .needs = "kernels with their launch calls; grids",
    .threshold = "four times or more in a row in a step, rows are looked up, each time as many more, a "
                 "divisor of all, a token is picked after a product, and joined to others; 5% of the time",
    .guard = "lookups of one size (a cache), or of sizes that grow by another number; turns without a token "
             "that is joined; the backward pass",
    .action =
        "keep keys and values of earlier tokens, so that each pass reads the new token only (use_cache=True, "
        "past_key_values)",
    .change = "keep keys and values of earlier tokens, so that each pass reads the new token only",
    .formula = "all turns but the first take the new tokens' part of the rows; at least 512 rows in a "
               "product, whose weights must be read. At most, what multiplies between two turns goes",
    .assumes = "the model can go on from keys and values that were kept, and memory holds them",
    .expect = "shorter kernels in all turns but the first",
    .run = check_no_cache,
    .frames = "which show the loop",
    .measured = true,
};
