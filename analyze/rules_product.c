// Products of matrices whose sizes are known: far below what the device can do, or of sizes that it does badly.
#include <stdlib.h>
#include <string.h>
#include "analyze/args.h"
#include "analyze/occupancy.h"
#include "analyze/rules.h"
#include "analyze/rules_table.h"

static const double PRODUCT_PCT = 5;  /* of the busy time */
static const double BELOW_ROOF = 0.6; /* of what can be reached */
static const double REACHED =
    0.8; /* of the data sheet's figure: 769 to 798 of 989 TFLOP/s were measured on an H200 */
static const double ODD_COST = 0.3; /* of the time of a product of odd sizes, at most */

enum {
    SIZES = 4,             /* dimensions of an operand that are kept */
    ROOF_NS_LEAST = 20000, /* what would take less is bound by its launch */
    ALIGNED = 8,           /* elements of 16 bits that are loaded at once */
    NARROW = 64,           /* a matrix of fewer columns is nearly a vector */
};

struct operand {
    int64_t size[SIZES];
    int n; /* dimensions; -1 more than are kept, or no matrix */
};

/* [B x] M x K times K x N, one kernel. */
struct product {
    int64_t m, n, k;
    double flops, bytes;
    bool half; /* 16 bits an element; else 32 */
};

static int64_t dur_of(const struct gp_rule_ctx *c, uint32_t item)
{
    return c->p->replay.items.at[item].dur_ns;
}

/* ---- sizes ---- */

/* The first COUNT operands of "[[64, 32], [], ...]", N characters. Returns how many there are. */
static int read_operands(const char *text, size_t n, struct operand *operands, int count)
{
    int depth = 0, found = 0;
    struct operand *o = NULL;
    for (size_t i = 0; i < n && found <= count; i++) {
        if (text[i] == '[') {
            if (++depth > 2) return 0; /* a list of tensors */
            if (depth < 2 || found == count) continue;
            o = &operands[found];
            memset(o, 0, sizeof *o);
        } else if (text[i] == ']') {
            if (depth-- == 2) found++;
        } else if (depth == 2 && text[i] >= '0' && text[i] <= '9' && o && found < count) {
            int64_t v = 0;
            for (; i < n && text[i] >= '0' && text[i] <= '9'; i++)
                if (v < INT32_MAX) v = v * 10 + (text[i] - '0');
            i--;
            if (o->n >= 0 && o->n < SIZES) o->size[o->n++] = v;
            else o->n = -1;
        }
    }
    return found < count ? found : count;
}

static bool contains(const char *text, size_t n, const char *word)
{
    size_t len = strlen(word);
    for (size_t i = 0; i + len <= n; i++)
        if (!memcmp(text + i, word, len)) return true;
    return false;
}

/* Which of its inputs an operator multiplies first; -1 for other operators. */
static int first_factor(const char *op)
{
    if (!strcmp(op, "aten::mm") || !strcmp(op, "aten::bmm")) return 0;
    if (!strcmp(op, "aten::addmm") || !strcmp(op, "aten::baddbmm")) return 1;
    return -1;
}

static bool multiply(const struct operand *a, const struct operand *b, struct product *p)
{
    if (a->n < 2 || a->n > 3 || b->n != a->n) return false;
    int64_t batch = a->n == 3 ? a->size[0] : 1;
    p->m = a->size[a->n - 2], p->k = a->size[a->n - 1], p->n = b->size[b->n - 1];
    double m = (double)p->m, n = (double)p->n, k = (double)p->k, width = p->half ? 2 : 4;
    if (b->size[b->n - 2] != p->k || batch < 1 || m < 1 || n < 1 || k < 1) return false;
    p->flops = 2 * (double)batch * m * n * k;
    p->bytes = (double)batch * (m * k + k * n + m * n) * width;
    return true;
}

/* An operator that needs several products, or a split one, cannot be charged to one kernel. Sets of a workspace to zero
 * take no part. */
static bool alone_in_operator(const struct gp_rule_ctx *c, uint32_t item)
{
    uint32_t op = c->items[item].op;
    for (uint32_t i = item; i-- > 0 && c->items[i].op == op;)
        if (c->items[i].kind != GP_FRAME_MEMSET) return false;
    for (uint32_t i = item + 1; i < c->p->items.n && c->items[i].op == op; i++)
        if (c->items[i].kind != GP_FRAME_MEMSET) return false;
    return true;
}

/* The product that an item is; false where that is not known. */
static bool product_of(const struct gp_rule_ctx *c, uint32_t item, struct product *p)
{
    struct operand operands[3] = {{{0}, 0}};
    struct gp_arg a;
    bool known_type = false;
    uint32_t op = c->items[item].op;
    if (c->items[item].kind != GP_FRAME_GEMM || op == UINT32_MAX || !alone_in_operator(c, item)) return false;
    int first = first_factor(gp_trace_str(c->t, c->t->events[GP_OP].name[op])), n = 0;
    if (first < 0) return false;
    const char *at = gp_trace_str(c->t, gp_get_extra(&c->t->events[GP_OP], op));
    while (gp_args_next(&at, &a)) {
        if (gp_arg_is(&a, "Input Dims")) n = read_operands(a.value, a.n, operands, first + 2);
        if (!gp_arg_is(&a, "Input type")) continue;
        p->half = contains(a.value, a.n, "BFloat16") || contains(a.value, a.n, "Half");
        known_type = p->half || contains(a.value, a.n, "float");
    }
    return n == first + 2 && known_type && multiply(&operands[first], &operands[first + 1], p);
}

/* ---- what the device can do ---- */

/* By the data sheets of A100, H200 and B200, dense, operations a second of 16 bits and TF32, bytes a second of the slowest
 * version. */
struct ceiling {
    int major, minor;
    double half, tf32, bytes;
};

static const struct ceiling *ceiling_of(const struct gp_device *d)
{
    static const struct ceiling ceilings[] = {{8, 0, 312e12, 156e12, 1.555e12},
                                              {9, 0, 989.4e12, 494.7e12, 3.35e12},
                                              {10, 0, 2250e12, 1125e12, 7.7e12}};
    for (size_t i = 0; d && i < sizeof ceilings / sizeof *ceilings; i++)
        if (d->cc_major == ceilings[i].major && d->cc_minor == ceilings[i].minor) return &ceilings[i];
    return NULL;
}

/* What a product takes where arithmetic and memory go as fast as they can be had, ns. */
static double roof_ns(const struct ceiling *top, const struct product *p)
{
    double compute = p->flops / (REACHED * (p->half ? top->half : top->tf32)) * 1e9;
    double memory = p->bytes / (REACHED * top->bytes) * 1e9;
    return compute > memory ? compute : memory;
}

struct products {
    int64_t count, total_ns, lost_ns, most_ns;
    uint32_t worst; /* item; UINT32_MAX none */
};

/* At most how much of an item's time goes, ns; 0: none, or it is not the rule's business. */
typedef int64_t lost_in_product(const struct gp_rule_ctx *c, uint32_t item, const struct product *p);

/* Of those that have the device that works most to themselves. */
static struct products find_products(const struct gp_rule_ctx *c, lost_in_product *lost,
                                     struct gp_suggestion *s)
{
    struct products sum = {.worst = UINT32_MAX};
    uint8_t *computing = gp_rule_rows_beside(c, GP_CLASS_COMPUTE);
    uint8_t *talking = gp_rule_rows_beside(c, GP_CLASS_COMMUNICATION);
    for (uint32_t i = 0; i < c->p->items.n; i++) {
        struct product p = {0};
        uint32_t row = c->p->items.at[i].row;
        if (c->v->device_of_row[row] != c->device || computing[row] || talking[row]) continue;
        int64_t ns = product_of(c, i, &p) ? lost(c, i, &p) : 0;
        if (ns <= 0) continue;
        sum.count++;
        sum.total_ns += dur_of(c, i);
        sum.lost_ns += ns;
        if (ns > sum.most_ns) sum.most_ns = ns, sum.worst = i;
        if (!s) continue;
        GP_VEC_PUSH(&s->high, ((struct gp_edit){GP_EDIT_DUR, i, dur_of(c, i) - ns}));
        GP_VEC_PUSH(&s->free, ((struct gp_edit){GP_EDIT_GONE, i, 0}));
    }
    free(computing);
    free(talking);
    return sum;
}

/* ---- sizes that are no multiples of 8 ---- */

/* Rows of K and N elements lie behind each other in memory: M counts rows and needs no multiple. */
static bool is_odd(const struct product *p)
{
    return p->half && p->k >= NARROW && p->n >= NARROW && (p->k % ALIGNED || p->n % ALIGNED);
}

static int64_t lost_to_odd(const struct gp_rule_ctx *c, uint32_t item, const struct product *p)
{
    const struct ceiling *top = ceiling_of(c->props);
    if (!top || !is_odd(p)) return 0;
    double dur = (double)dur_of(c, item), roof = roof_ns(top, p), least = dur * (1 - ODD_COST);
    return (int64_t)(dur - (roof > least ? roof : least));
}

static void ask_odd_dimensions(struct gp_rule_ctx *c)
{
    struct products sum = find_products(c, lost_to_odd, NULL);
    if (sum.worst == UINT32_MAX || gp_pct(sum.total_ns, c->busy_ns) < PRODUCT_PCT) return;
    struct gp_suggestion *s = gp_rule_suggest(c);
    struct product p = {0};
    find_products(c, lost_to_odd, s);
    product_of(c, sum.worst, &p);
    s->operation = gp_rule_item_label(c, sum.worst);
    s->current_ns = gp_rule_per_step(c, sum.total_ns);
    s->resource_high_ns = gp_rule_per_step(c, sum.lost_ns);
    s->description = gp_rule_text(
        c,
        "%lld products of 16 bits a step, %s, have sizes that are no multiples of 8; the worst one is "
        "%lld x %lld times %lld x %lld",
        (long long)gp_rule_per_step(c, sum.count), gp_rule_ns(c, s->current_ns), (long long)p.m,
        (long long)p.k, (long long)p.k, (long long)p.n);
    s->action =
        gp_rule_text(c, "pad these sizes (vocabulary, heads, features) to multiples of 8, or better of 64");
    s->formula = gp_rule_text(c, "nothing, up to 30%% of each product, and no further than the device goes");
    s->assumes = gp_rule_text(c, "the kernel that ran loads in smaller pieces because of them");
    s->check = gp_rule_text(c, "record again and run trace-diff: other kernels, which are faster");
    gp_rule_evidence_count(s, "products", gp_rule_per_step(c, sum.count));
    gp_rule_evidence_count(s, "k", p.k);
    gp_rule_evidence_count(s, "n", p.n);
}

const struct gp_rule gp_rule_odd_dimensions = {
    .name = "odd_dimensions",
    .type = GP_SUGGEST_ALGORITHM,
    .summary = "products of 16 bits whose sizes are no multiples of 8",
    .needs = "operators with shapes (record_shapes), the device's compute capability",
    .threshold = "K or N no multiple of 8; 5% of the busy time in such products",
    .guard = "matrices of fewer than 64 columns; the number of rows; what is at the roof already",
    .run = ask_odd_dimensions,
};

/* ---- far below the roof ---- */

/* Plain arithmetic is the business of another rule, and so are odd sizes. */
static int64_t lost_below_roof(const struct gp_rule_ctx *c, uint32_t item, const struct product *p)
{
    const struct ceiling *top = ceiling_of(c->props);
    const char *name = gp_trace_str(c->t, c->t->configs.at[c->items[item].config].name);
    if (!top || is_odd(p) || (!p->half && gp_matrix_use_of(name, strlen(name)) != GP_MATRIX_YES)) return 0;
    double roof = roof_ns(top, p);
    if (roof < ROOF_NS_LEAST || roof >= BELOW_ROOF * (double)dur_of(c, item)) return 0;
    return dur_of(c, item) - (int64_t)roof;
}

static void ask_gemm_roof(struct gp_rule_ctx *c)
{
    struct products sum = find_products(c, lost_below_roof, NULL);
    if (sum.worst == UINT32_MAX || gp_pct(sum.lost_ns, c->busy_ns) < PRODUCT_PCT) return;
    struct gp_suggestion *s = gp_rule_suggest(c);
    struct product p = {0};
    find_products(c, lost_below_roof, s);
    product_of(c, sum.worst, &p);
    s->operation = gp_rule_item_label(c, sum.worst);
    s->current_ns = gp_rule_per_step(c, sum.total_ns);
    s->resource_high_ns = gp_rule_per_step(c, sum.lost_ns);
    double tflops = p.flops / (double)dur_of(c, sum.worst) / 1e3;
    s->description = gp_rule_text(
        c,
        "%lld products a step, %s, are far below what the device can do; the worst one, %lld x %lld times "
        "%lld x %lld, runs at %.0f TFLOP/s",
        (long long)gp_rule_per_step(c, sum.count), gp_rule_ns(c, s->current_ns), (long long)p.m,
        (long long)p.k, (long long)p.k, (long long)p.n, tflops);
    s->action =
        gp_rule_text(c, "another layout or tile (max-autotune), larger batches, one product for several");
    s->formula =
        gp_rule_text(c, "nothing, up to 80%% of the data sheet's arithmetic or memory bandwidth, whichever "
                        "takes longer");
    s->assumes = gp_rule_text(c, "the device runs at the clocks and the power of its data sheet");
    s->check = gp_rule_text(c, "record again and run trace-diff: these products are faster");
    gp_rule_evidence_count(s, "products", gp_rule_per_step(c, sum.count));
    gp_rule_evidence_count(s, "m", p.m);
    gp_rule_evidence_count(s, "n", p.n);
    gp_rule_evidence_count(s, "k", p.k);
}

const struct gp_rule gp_rule_gemm_roof = {
    .name = "gemm_roof",
    .type = GP_SUGGEST_ALGORITHM,
    .summary = "large products far below what the device can do",
    .needs = "operators with shapes (record_shapes), the device's compute capability",
    .threshold = "less than 60% of what can be reached, 20 us or more at that; 5% of the busy time lost",
    .guard =
        "kernels beside others or beside communication; operators of several kernels; plain FP32; odd sizes",
    .run = ask_gemm_roof,
};
