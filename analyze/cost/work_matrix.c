// Matrix products, convolutions and attention: the work of matrix units.
#include <math.h>
#include <string.h>
#include "analyze/cost/work_models_priv.h"

enum {
    SPATIAL = 3, /* dimensions of a convolution besides batch and channels, at most */
    ROW_SUM = 4, /* bytes of a row's sum in attention */
};

/* ---- products ---- */

static bool set_product(struct gp_work *w, gp_tensor a, struct gp_work_product p, double a_bytes,
                        double b_bytes)
{
    double out = (double)p.batch * (double)p.m * (double)p.n;
    if (a->element.size == 0 || out <= 0 || p.k <= 0) return false;
    /* of complex numbers: four products and four sums */
    bool complex = (a->element.arith == GP_ARITH_FP32 && a->element.size == 8) || a->element.size == 16;
    w->flops = (complex ? 8 : 2) * out * (double)p.k;
    /* results of 8-bit operands have 16 or 32 bits */
    double size = a->element.size == 1 ? 2 : a->element.size;
    gp_work_set_bytes(w, a_bytes + b_bytes + out * size, a_bytes + b_bytes + out * size, out * size);
    w->arith = a->element.arith;
    w->products = true;
    w->product = p;
    return true;
}

static void add_input(struct gp_work *w, const struct gp_shapes *s, int i)
{
    gp_tensor t = gp_shapes_tensor(s, i);
    if (!t) return;
    w->flops += (double)w->product.batch * (double)w->product.m * (double)w->product.n;
    w->bytes_low += gp_work_bytes_of(t);
    w->bytes_high += gp_work_bytes_of(t);
}

bool gp_of_product(struct gp_work *w, const struct gp_shapes *s, const struct gp_work_model *m)
{
    gp_tensor a = gp_shapes_tensor(s, m->product.left), b = gp_shapes_tensor(s, m->product.right);
    if (!a || !b || a->n < 2 || a->n > 3 || b->n != a->n) return false;
    int last = a->n - 1;
    struct gp_work_product p = {.batch = a->n == 3 ? a->size[0] : 1};
    p.m = a->size[last - 1], p.k = a->size[last], p.n = b->size[last];
    if (b->size[last - 1] != p.k || (a->n == 3 && b->size[0] != p.batch)) return false;
    if (!set_product(w, a, p, gp_work_bytes_of(a), gp_work_bytes_of(b))) return false;
    if (m->product.added >= 0) add_input(w, s, m->product.added);
    return true;
}

/* Any number of dimensions: those before the last two are a batch, and broadcast. */
bool gp_of_matmul(struct gp_work *w, const struct gp_shapes *s, const struct gp_work_model *m)
{
    gp_tensor a = gp_shapes_tensor(s, m->matmul.left), b = gp_shapes_tensor(s, m->matmul.right);
    if (!a || !b || a->n < 1 || b->n < 1) return false;
    struct gp_work_product p = {.batch = 1, .m = 1, .n = 1, .k = a->size[a->n - 1]};
    if (a->n > 1) p.m = a->size[a->n - 2];
    if (b->n > 1) p.n = b->size[b->n - 1];
    if ((b->n > 1 ? b->size[b->n - 2] : b->size[0]) != p.k || p.m <= 0 || p.n <= 0 || p.k <= 0) return false;
    double batch_a = a->elements / ((double)p.m * (double)p.k),
           batch_b = b->elements / ((double)p.n * (double)p.k);
    double batch = gp_work_max2(batch_a, batch_b);
    if (!(batch >= 1 && batch < 1e15)) return false;
    p.batch = (int64_t)batch;
    return set_product(w, a, p, gp_work_bytes_of(a), gp_work_bytes_of(b));
}

/* Weights are N x K; inputs have any number of dimensions. */
bool gp_of_linear(struct gp_work *w, const struct gp_shapes *s, const struct gp_work_model *m)
{
    gp_tensor a = gp_shapes_tensor(s, m->linear.input), b = gp_shapes_tensor(s, m->linear.weights);
    if (!a || !b || a->n < 1 || b->n != 2) return false;
    struct gp_work_product p = {.batch = 1, .n = b->size[0], .k = b->size[1]};
    if (a->size[a->n - 1] != p.k || p.k <= 0) return false;
    double rows = a->elements / (double)p.k;
    if (!(rows >= 1 && rows < 1e18)) return false;
    p.m = (int64_t)rows;
    if (!set_product(w, a, p, gp_work_bytes_of(a), gp_work_bytes_of(b))) return false;
    add_input(w, s, m->linear.bias);
    return true;
}

bool gp_of_matrix_vector(struct gp_work *w, const struct gp_shapes *s, const struct gp_work_model *m)
{
    gp_tensor a = gp_shapes_tensor(s, m->matrix_vector.matrix),
              b = gp_shapes_tensor(s, m->matrix_vector.vector);
    if (!a || !b || a->n != 2 || b->n != 1 || a->size[1] != b->size[0]) return false;
    struct gp_work_product p = {1, a->size[0], 1, a->size[1]};
    return set_product(w, a, p, gp_work_bytes_of(a), gp_work_bytes_of(b));
}

/* ---- convolutions ---- */

struct convolution {
    gp_tensor in, weight;
    int64_t stride[SPATIAL], padding[SPATIAL], dilation[SPATIAL], groups;
    int spatial;
    bool transposed;
};

/* A single value may stand for all dimensions. */
static bool read_spatial(const struct gp_shapes *s, int i, int n, int64_t least, int64_t *v)
{
    int known = gp_shapes_ints(s, i, v, n);
    if (!known && gp_shapes_int(s, i, v)) known = 1;
    if (!known || (known != n && known != 1)) return false;
    for (int k = known; k < n; k++) v[k] = v[0];
    for (int k = 0; k < n; k++)
        if (v[k] < least || v[k] > INT32_MAX) return false;
    return true;
}

static bool read_convolution(struct convolution *c, const struct gp_shapes *s, const struct gp_work_model *m)
{
    if (!c->in || !c->weight) return false;
    c->spatial = c->in->n - 2;
    if (c->spatial < 1 || c->spatial > SPATIAL || c->weight->n != c->in->n || !c->in->element.size)
        return false;
    if (!read_spatial(s, m->convolution.stride, c->spatial, 1, c->stride) ||
        !read_spatial(s, m->convolution.padding, c->spatial, 0, c->padding))
        return false;
    for (int k = 0; k < SPATIAL; k++) c->dilation[k] = 1;
    if (m->convolution.dilation >= 0 && !read_spatial(s, m->convolution.dilation, c->spatial, 1, c->dilation))
        return false;
    c->groups = 1;
    if (m->convolution.groups >= 0 && (!gp_shapes_int(s, m->convolution.groups, &c->groups) || c->groups < 1))
        return false;
    return true;
}

/* Output elements of the convolution; 0 if its sizes do not match. */
static double output_of(const struct convolution *c)
{
    double out = (double)c->in->size[0] * (double)c->weight->size[0];
    for (int k = 0; k < c->spatial; k++) {
        double reach = (double)c->dilation[k] * ((double)c->weight->size[k + 2] - 1) + 1;
        double room = (double)c->in->size[k + 2] + 2 * (double)c->padding[k] - reach;
        if (room < 0) return 0;
        out *= floor(room / (double)c->stride[k]) + 1;
    }
    return out;
}

/* Output elements of a transposed convolution, without the padding at the end. */
static double transposed_output_of(const struct convolution *c)
{
    double out = (double)c->in->size[0] * (double)c->weight->size[1] * (double)c->groups;
    for (int k = 0; k < c->spatial; k++) {
        double length = ((double)c->in->size[k + 2] - 1) * (double)c->stride[k] - 2 * (double)c->padding[k] +
                        (double)c->dilation[k] * ((double)c->weight->size[k + 2] - 1) + 1;
        if (length < 0) return 0;
        out *= length;
    }
    return out;
}

/* Multiplications and additions: each element of the output (of the input, where transposed) meets all
 * weights of its channel. Weights are out x in / groups x kernel, or in x out / groups x kernel. */
static double convolution_flops(const struct convolution *c, double positions)
{
    double taps = c->weight->size[0] > 0 ? c->weight->elements / (double)c->weight->size[0] : 0;
    return 2 * positions * taps;
}

bool gp_of_convolution(struct gp_work *w, const struct gp_shapes *s, const struct gp_work_model *m)
{
    struct convolution c = {.in = gp_shapes_tensor(s, m->convolution.input),
                            .weight = gp_shapes_tensor(s, m->convolution.weights)};
    if (!read_convolution(&c, s, m)) return false;
    c.transposed = m->convolution.transposed;
    bool flag;
    /* ATen's own operators have a flag after the dilation. */
    if (!strcmp(m->op, "_convolution") || !strcmp(m->op, "convolution") ||
        !strcmp(m->op, "convolution_overrideable"))
        c.transposed = gp_shapes_bool(s, 6, &flag) && flag;
    double out = c.transposed ? transposed_output_of(&c) : output_of(&c);
    if (out <= 0) return false;
    w->flops = convolution_flops(&c, c.transposed ? c.in->elements : out);
    double moved = gp_work_bytes_of(c.in) + gp_work_bytes_of(c.weight) + out * c.in->element.size;
    gp_work_set_bytes(w, moved, moved, out * c.in->element.size);
    w->arith = c.in->element.arith;
    w->products = true;
    return true;
}

/* grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups,
 * output_mask */
bool gp_of_convolution_backward(struct gp_work *w, const struct gp_shapes *s, const struct gp_work_model *m)
{
    gp_tensor grad = gp_shapes_tensor(s, 0), in = gp_shapes_tensor(s, 1), weight = gp_shapes_tensor(s, 2);
    int64_t mask[3];
    bool transposed = false;
    (void)m;
    if (!grad || !in || !weight || grad->n < 3 || weight->n != grad->n || in->n != grad->n) return false;
    if (!grad->element.size || weight->size[0] <= 0 || gp_shapes_ints(s, 10, mask, 3) != 3) return false;
    gp_shapes_bool(s, 7, &transposed);
    double taps = weight->elements / (double)weight->size[0];
    double one = 2 * (transposed ? in->elements : grad->elements) * taps, moved = 0;
    if (mask[0])
        w->flops += one, moved += gp_work_bytes_of(grad) + gp_work_bytes_of(weight) + gp_work_bytes_of(in);
    if (mask[1])
        w->flops += one, moved += gp_work_bytes_of(grad) + gp_work_bytes_of(weight) + gp_work_bytes_of(in);
    if (mask[2]) w->flops += grad->elements, moved += gp_work_bytes_of(grad);
    if (moved <= 0) return false;
    gp_work_set_bytes(w, moved, moved, -1);
    w->arith = grad->element.arith;
    w->products = true;
    return true;
}

/* ---- attention ---- */

static bool is_causal(const struct gp_shapes *s, int i, bool *causal)
{
    int64_t v;
    if (gp_shapes_bool(s, i, causal)) return true;
    if (!gp_shapes_int(s, i, &v)) return false;
    *causal = v != 0;
    return true;
}

/* The computed share of the scores under a causal mask whose last row sees everything. */
static double part_of_scores(double q, double k, bool causal)
{
    if (!causal) return 1;
    return k >= q ? 1 - q / (2 * k) : k / (2 * q);
}

bool gp_of_attention(struct gp_work *w, const struct gp_shapes *s, const struct gp_work_model *m)
{
    gp_tensor q = gp_shapes_tensor(s, m->attention.query), k = gp_shapes_tensor(s, m->attention.query + 1),
              v = gp_shapes_tensor(s, m->attention.query + 2);
    bool causal = false;
    if (!q || !k || !v || q->n != 4 || k->n != 4 || v->n != 4 || !q->element.size) return false;
    if (m->attention.lengths >= 0 && gp_shapes_tensor(s, m->attention.lengths))
        return false; /* many lengths, of unknown sizes */
    if (!is_causal(s, m->attention.causal, &causal)) return false;
    int rows = m->attention.layout == GP_HEADS_FIRST ? 2 : 1,
        heads = m->attention.layout == GP_HEADS_FIRST ? 1 : 2;
    double sq = (double)q->size[rows], sk = (double)k->size[rows];
    double scores = (double)q->size[0] * (double)q->size[heads] * sq * sk * part_of_scores(sq, sk, causal);
    if (!(scores > 0)) return false;
    w->flops = 2 * scores * ((double)q->size[3] + (double)v->size[3]);
    double out = q->size[3] > 0 ? q->elements / (double)q->size[3] * (double)v->size[3] : 0;
    double in_bytes = gp_work_bytes_of(q) + gp_work_bytes_of(k) + gp_work_bytes_of(v),
           out_bytes = out * q->element.size;
    double sums = (double)q->size[0] * (double)q->size[heads] * sq * ROW_SUM;
    if (m->attention.backward) {
        w->flops *= 2.5;
        /* reads everything that forward had, plus the gradient; writes three. The query's is first summed in
         * FP32. */
        double moved = 2 * in_bytes + 2 * out_bytes + sums;
        gp_work_set_bytes(w, moved, moved + 2 * 4 * q->elements + out_bytes * 2, -1);
    } else {
        gp_work_set_bytes(w, in_bytes + out_bytes, in_bytes + out_bytes + sums, out_bytes);
    }
    w->arith = q->element.arith;
    w->products = true;
    return true;
}
