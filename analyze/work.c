// One function a family of operators; the table says which operator is of which, and where its inputs stand. Shapes are
// of ATen's schemas, whose order of arguments has not changed since PyTorch 2.0.
#include "analyze/work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/pointwise.h"

/* FLOPs of an element, roughly: they only have to be far below what memory allows, and are. */
enum { SOFTMAX_FLOPS = 5, NORM_FLOPS = 8 };
enum {
    SECTOR = 32,           /* bytes that memory gives at least */
    CHUNK = 65536,         /* elements of a block of multi_tensor_apply */
    SPATIAL = 3,           /* dimensions of a convolution besides batch and channels, at most */
    DEFAULT_LOGSUMEXP = 4, /* bytes of a row of attention */
};
static const double FLOPS_MOST = 1e24, BYTES_MOST = 1e21; /* more is no recording */

const char *gp_work_tier_name(enum gp_work_tier t)
{
    static const char *const names[] = {"kind", "name and grid", "shapes"};
    return names[t];
}

typedef const struct gp_shape *tensor;

struct model;
typedef bool work_of(struct gp_work *w, const struct gp_shapes *s, const struct model *m);

/* What is known of an operator. The meaning of A to F is that of its family. */
struct model {
    const char *op;
    work_of *run;
    int a, b, c, d, e, f;
    bool transposed;
    /* Filled in for the one that is asked for. */
    bool in_place;      /* its name ends with '_' */
    uint32_t list_size; /* bytes of an element of its lists; 0 unknown */
};

static double bytes_of(tensor t)
{
    return t ? t->distinct * t->element.size : 0;
}

static double max2(double a, double b)
{
    return a > b ? a : b;
}

/* Vectors are worked on in FP32, but for doubles. */
static enum gp_arith vector_arith(tensor t)
{
    return t->element.arith == GP_ARITH_FP64 ? GP_ARITH_FP64 : GP_ARITH_FP32;
}

static void set_bytes(struct gp_work *w, double low, double high)
{
    w->bytes_low = low;
    w->bytes_high = high;
}

/* ---- products: A and B are the factors, C is what is added (-1 nothing) ---- */

static bool set_product(struct gp_work *w, tensor a, struct gp_work_product p, double a_bytes, double b_bytes)
{
    double out = (double)p.batch * (double)p.m * (double)p.n;
    if (a->element.size == 0 || out <= 0 || p.k <= 0) return false;
    /* of complex numbers: four products and four sums */
    bool complex = (a->element.arith == GP_ARITH_FP32 && a->element.size == 8) || a->element.size == 16;
    w->flops = (complex ? 8 : 2) * out * (double)p.k;
    /* what comes out of 8 bits has 16 or 32 */
    double size = a->element.size == 1 ? 2 : a->element.size;
    set_bytes(w, a_bytes + b_bytes + out * size, a_bytes + b_bytes + out * size);
    w->arith = a->element.arith;
    w->products = true;
    w->product = p;
    return true;
}

static void add_input(struct gp_work *w, const struct gp_shapes *s, int i)
{
    tensor t = gp_shapes_tensor(s, i);
    if (!t) return;
    w->flops += (double)w->product.batch * (double)w->product.m * (double)w->product.n;
    w->bytes_low += bytes_of(t);
    w->bytes_high += bytes_of(t);
}

static bool of_product(struct gp_work *w, const struct gp_shapes *s, const struct model *m)
{
    tensor a = gp_shapes_tensor(s, m->a), b = gp_shapes_tensor(s, m->b);
    if (!a || !b || a->n < 2 || a->n > 3 || b->n != a->n) return false;
    int last = a->n - 1;
    struct gp_work_product p = {.batch = a->n == 3 ? a->size[0] : 1};
    p.m = a->size[last - 1], p.k = a->size[last], p.n = b->size[last];
    if (b->size[last - 1] != p.k || (a->n == 3 && b->size[0] != p.batch)) return false;
    if (!set_product(w, a, p, bytes_of(a), bytes_of(b))) return false;
    if (m->c >= 0) add_input(w, s, m->c);
    return true;
}

/* Any number of dimensions: those before the last two are a batch, and broadcast. */
static bool of_matmul(struct gp_work *w, const struct gp_shapes *s, const struct model *m)
{
    tensor a = gp_shapes_tensor(s, m->a), b = gp_shapes_tensor(s, m->b);
    if (!a || !b || a->n < 1 || b->n < 1) return false;
    struct gp_work_product p = {.batch = 1, .m = 1, .n = 1, .k = a->size[a->n - 1]};
    if (a->n > 1) p.m = a->size[a->n - 2];
    if (b->n > 1) p.n = b->size[b->n - 1];
    if ((b->n > 1 ? b->size[b->n - 2] : b->size[0]) != p.k || p.m <= 0 || p.n <= 0 || p.k <= 0) return false;
    double batch_a = a->elements / ((double)p.m * (double)p.k),
           batch_b = b->elements / ((double)p.n * (double)p.k);
    double batch = max2(batch_a, batch_b);
    if (!(batch >= 1 && batch < 1e15)) return false;
    p.batch = (int64_t)batch;
    return set_product(w, a, p, bytes_of(a), bytes_of(b));
}

/* Weights are N x K; inputs have any number of dimensions. */
static bool of_linear(struct gp_work *w, const struct gp_shapes *s, const struct model *m)
{
    tensor a = gp_shapes_tensor(s, m->a), b = gp_shapes_tensor(s, m->b);
    if (!a || !b || a->n < 1 || b->n != 2) return false;
    struct gp_work_product p = {.batch = 1, .n = b->size[0], .k = b->size[1]};
    if (a->size[a->n - 1] != p.k || p.k <= 0) return false;
    double rows = a->elements / (double)p.k;
    if (!(rows >= 1 && rows < 1e18)) return false;
    p.m = (int64_t)rows;
    if (!set_product(w, a, p, bytes_of(a), bytes_of(b))) return false;
    add_input(w, s, m->c);
    return true;
}

/* A matrix and a vector: A is the matrix, B the vector. */
static bool of_matrix_vector(struct gp_work *w, const struct gp_shapes *s, const struct model *m)
{
    tensor a = gp_shapes_tensor(s, m->a), b = gp_shapes_tensor(s, m->b);
    if (!a || !b || a->n != 2 || b->n != 1 || a->size[1] != b->size[0]) return false;
    struct gp_work_product p = {1, a->size[0], 1, a->size[1]};
    return set_product(w, a, p, bytes_of(a), bytes_of(b));
}

/* ---- convolutions: A to F are the places of input, weights, stride, padding, dilation, groups ---- */

struct convolution {
    tensor in, weight;
    int64_t stride[SPATIAL], padding[SPATIAL], dilation[SPATIAL], groups;
    int spatial;
    bool transposed;
};

/* One value for all dimensions is as good as one for each. */
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

static bool read_convolution(struct convolution *c, const struct gp_shapes *s, const struct model *m)
{
    if (!c->in || !c->weight) return false;
    c->spatial = c->in->n - 2;
    if (c->spatial < 1 || c->spatial > SPATIAL || c->weight->n != c->in->n || !c->in->element.size)
        return false;
    if (!read_spatial(s, m->c, c->spatial, 1, c->stride) || !read_spatial(s, m->d, c->spatial, 0, c->padding))
        return false;
    for (int k = 0; k < SPATIAL; k++) c->dilation[k] = 1;
    if (m->e >= 0 && !read_spatial(s, m->e, c->spatial, 1, c->dilation)) return false;
    c->groups = 1;
    if (m->f >= 0 && (!gp_shapes_int(s, m->f, &c->groups) || c->groups < 1)) return false;
    return true;
}

/* Elements that the convolution gives; 0 where its sizes do not fit. */
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

/* Elements that a transposed one gives, without what is padded at the end. */
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

/* Multiplications and additions: each element of the output (of the input, where transposed) meets all weights of its
 * channel. Weights are out x in / groups x kernel, or in x out / groups x kernel. */
static double convolution_flops(const struct convolution *c, double positions)
{
    double taps = c->weight->size[0] > 0 ? c->weight->elements / (double)c->weight->size[0] : 0;
    return 2 * positions * taps;
}

static bool of_convolution(struct gp_work *w, const struct gp_shapes *s, const struct model *m)
{
    struct convolution c = {.in = gp_shapes_tensor(s, m->a), .weight = gp_shapes_tensor(s, m->b)};
    if (!read_convolution(&c, s, m)) return false;
    c.transposed = m->transposed;
    bool flag;
    /* ATen's own operators have a flag behind the dilation. */
    if (!strcmp(m->op, "_convolution") || !strcmp(m->op, "convolution") ||
        !strcmp(m->op, "convolution_overrideable"))
        c.transposed = gp_shapes_bool(s, 6, &flag) && flag;
    double out = c.transposed ? transposed_output_of(&c) : output_of(&c);
    if (out <= 0) return false;
    w->flops = convolution_flops(&c, c.transposed ? c.in->elements : out);
    double moved = bytes_of(c.in) + bytes_of(c.weight) + out * c.in->element.size;
    set_bytes(w, moved, moved);
    w->arith = c.in->element.arith;
    w->products = true;
    return true;
}

/* grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, output_mask */
static bool of_convolution_backward(struct gp_work *w, const struct gp_shapes *s, const struct model *m)
{
    tensor grad = gp_shapes_tensor(s, 0), in = gp_shapes_tensor(s, 1), weight = gp_shapes_tensor(s, 2);
    int64_t mask[3];
    bool transposed = false;
    (void)m;
    if (!grad || !in || !weight || grad->n < 3 || weight->n != grad->n || in->n != grad->n) return false;
    if (!grad->element.size || weight->size[0] <= 0 || gp_shapes_ints(s, 10, mask, 3) != 3) return false;
    gp_shapes_bool(s, 7, &transposed);
    double taps = weight->elements / (double)weight->size[0];
    double one = 2 * (transposed ? in->elements : grad->elements) * taps, moved = 0;
    if (mask[0]) w->flops += one, moved += bytes_of(grad) + bytes_of(weight) + bytes_of(in);
    if (mask[1]) w->flops += one, moved += bytes_of(grad) + bytes_of(weight) + bytes_of(in);
    if (mask[2]) w->flops += grad->elements, moved += bytes_of(grad);
    if (moved <= 0) return false;
    set_bytes(w, moved, moved);
    w->arith = grad->element.arith;
    w->products = true;
    return true;
}

/* ---- attention: query at A, key and value behind it; B causal (a flag, or a number that is not 0), C sums of lengths
 * (-1 none), D layout, E 1: backward ---- */

enum { HEADS_FIRST = 1, ROWS_FIRST = 2 }; /* [B, H, S, D] or [B, S, H, D] */

static bool is_causal(const struct gp_shapes *s, int i, bool *causal)
{
    int64_t v;
    if (gp_shapes_bool(s, i, causal)) return true;
    if (!gp_shapes_int(s, i, &v)) return false;
    *causal = v != 0;
    return true;
}

/* What part of the scores is worked out: under a causal mask whose last row sees all. */
static double part_of_scores(double q, double k, bool causal)
{
    if (!causal) return 1;
    return k >= q ? 1 - q / (2 * k) : k / (2 * q);
}

static bool of_attention(struct gp_work *w, const struct gp_shapes *s, const struct model *m)
{
    tensor q = gp_shapes_tensor(s, m->a), k = gp_shapes_tensor(s, m->a + 1),
           v = gp_shapes_tensor(s, m->a + 2);
    bool causal = false;
    if (!q || !k || !v || q->n != 4 || k->n != 4 || v->n != 4 || !q->element.size) return false;
    if (m->c >= 0 && gp_shapes_tensor(s, m->c)) return false; /* of many lengths: nobody knows which */
    if (!is_causal(s, m->b, &causal)) return false;
    int rows = m->d == HEADS_FIRST ? 2 : 1, heads = m->d == HEADS_FIRST ? 1 : 2;
    double sq = (double)q->size[rows], sk = (double)k->size[rows];
    double scores = (double)q->size[0] * (double)q->size[heads] * sq * sk * part_of_scores(sq, sk, causal);
    if (!(scores > 0)) return false;
    w->flops = 2 * scores * ((double)q->size[3] + (double)v->size[3]);
    double out = q->size[3] > 0 ? q->elements / (double)q->size[3] * (double)v->size[3] : 0;
    double in_bytes = bytes_of(q) + bytes_of(k) + bytes_of(v), out_bytes = out * q->element.size;
    double sums = (double)q->size[0] * (double)q->size[heads] * sq * DEFAULT_LOGSUMEXP;
    if (m->e) {
        w->flops *= 2.5;
        /* reads all that forward had, and the gradient; writes three. The query's is summed up in FP32 first. */
        double moved = 2 * in_bytes + 2 * out_bytes + sums;
        set_bytes(w, moved, moved + 2 * 4 * q->elements + out_bytes * 2);
    } else {
        set_bytes(w, in_bytes + out_bytes, in_bytes + out_bytes + sums);
    }
    w->arith = q->element.arith;
    w->products = true;
    return true;
}

/* ---- normalisation: A an input of full size; B times it is read or written at least, C at most; D: FLOPs ---- */

static bool of_norm(struct gp_work *w, const struct gp_shapes *s, const struct model *m)
{
    tensor t = gp_shapes_tensor(s, m->a);
    if (!t || !t->element.size || t->n < 1) return false;
    double one = t->elements * t->element.size;
    set_bytes(w, m->b * one, m->c * one);
    w->flops = m->d * t->elements;
    w->arith = vector_arith(t);
    return true;
}

/* Gradient and input are read once for the input's gradient, and once more for those of weight and bias. E: place of the
 * mask of what is asked for. */
static bool of_norm_backward(struct gp_work *w, const struct gp_shapes *s, const struct model *m)
{
    tensor t = gp_shapes_tensor(s, m->a);
    int64_t mask[3] = {1, 1, 1};
    if (!t || !t->element.size || t->n < 1) return false;
    int known = gp_shapes_ints(s, m->e, mask, 3);
    bool input = !known || mask[0], weight = !known || mask[1] || (known > 2 && mask[2]);
    double one = t->elements * t->element.size;
    if (!input && !weight) return false;
    set_bytes(w, input ? 3 * one : 2 * one, (input ? 3 * one : 0) + (weight ? 2 * one : 0));
    w->flops = (input + weight) * (double)NORM_FLOPS * t->elements;
    w->arith = vector_arith(t);
    return true;
}

/* ---- softmax: reads its A inputs once, or B times, and writes as many elements ---- */

static bool of_softmax(struct gp_work *w, const struct gp_shapes *s, const struct model *m)
{
    tensor t = gp_shapes_tensor(s, 0);
    bool to_float = false;
    if (!t || !t->element.size || t->n < 1) return false;
    if (m->a == 1) gp_shapes_bool(s, 2, &to_float);
    double one = t->elements * t->element.size, out = t->elements * (to_float ? 4 : t->element.size);
    set_bytes(w, m->a * one + out, m->b * one + out);
    w->flops = SOFTMAX_FLOPS * t->elements;
    w->arith = vector_arith(t);
    return true;
}

/* ---- elementwise: the first A inputs; B FLOPs an element; C bytes of an element that comes out, 0 as of the widest input;
 * D: more bytes that are written an element; E 1: the first one is written alone ---- */

struct broadcast {
    double size[GP_SHAPE_DIMS];
    int n;
};

/* The larger of each dimension, from the last one on. */
static void broadcast(struct broadcast *b, tensor t)
{
    if (t->n > b->n) {
        memmove(b->size + (t->n - b->n), b->size, (size_t)b->n * sizeof *b->size);
        for (int i = 0; i < t->n - b->n; i++) b->size[i] = 1;
        b->n = t->n;
    }
    for (int i = 0; i < t->n; i++) {
        double *size = &b->size[b->n - t->n + i];
        if (*size == 1) *size = (double)t->size[i];
    }
}

static double elements_of(const struct broadcast *b)
{
    double n = 1;
    for (int i = 0; i < b->n; i++) n *= b->size[i];
    return n;
}

static bool of_elementwise(struct gp_work *w, const struct gp_shapes *s, const struct model *m)
{
    struct broadcast all = {.n = 0};
    double read = 0;
    uint32_t widest = 0;
    bool known = false;
    tensor first = gp_shapes_tensor(s, 0);
    w->arith = GP_ARITH_FP32;
    for (int i = 0; i < m->a && i < s->n; i++) {
        tensor t = gp_shapes_tensor(s, i);
        if (s->in[i].sort == GP_SHAPE_LIST || s->in[i].sort == GP_SHAPE_UNKNOWN_LIST) return false;
        if (!t) continue;
        if (t->n < 0 || !t->element.size) return false;
        broadcast(&all, t);
        if (!(m->e && i == 0)) read += bytes_of(t);
        if (t->n && t->element.size > widest) widest = t->element.size;
        if (t->n && t->element.arith == GP_ARITH_FP64) w->arith = GP_ARITH_FP64;
        known = true;
    }
    if (!known || (m->in_place && !first)) return false;
    if (!widest) widest = 4; /* of nothing but single numbers */
    double out = m->in_place ? first->elements : elements_of(&all);
    double size = m->in_place ? first->element.size : widest;
    if (m->c) size = m->c;
    double moved = read + out * (size + m->d);
    set_bytes(w, moved, moved);
    w->flops = m->b * out;
    if (m->b == 0) w->arith = GP_ARITH_NONE;
    return true;
}

/* The destination is first, and its values are not read. */
static bool of_copy(struct gp_work *w, const struct gp_shapes *s, const struct model *m)
{
    tensor to = gp_shapes_tensor(s, 0), from = gp_shapes_tensor(s, 1);
    (void)m;
    if (!to || !from || !to->element.size || !from->element.size) return false;
    double moved = bytes_of(from) + to->elements * to->element.size;
    set_bytes(w, moved, moved);
    return true;
}

/* Values are written, and none read. */
static bool of_fill(struct gp_work *w, const struct gp_shapes *s, const struct model *m)
{
    tensor t = gp_shapes_tensor(s, 0);
    (void)m;
    if (!t || !t->element.size) return false;
    set_bytes(w, bytes_of(t), bytes_of(t));
    return true;
}

/* Tensors of a list, read and written once. */
static bool of_cat(struct gp_work *w, const struct gp_shapes *s, const struct model *m)
{
    if (s->n < 1 || s->in[0].sort != GP_SHAPE_LIST || !m->list_size) return false;
    double moved = 2 * s->in[0].elements * m->list_size;
    set_bytes(w, moved, moved);
    return true;
}

/* ---- reductions: B reads of the input, at most; A 1: as much is written (sums of all before it) ---- */

/* What is left when the dimensions of input 1, a number or a list of them, are gone; all of them where none are told. */
static double reduced(const struct gp_shapes *s, tensor t)
{
    int64_t dims[GP_SHAPE_DIMS];
    int n = gp_shapes_ints(s, 1, dims, GP_SHAPE_DIMS);
    if (!n && gp_shapes_int(s, 1, dims)) n = 1;
    if (!n || t->n <= 0) return 1;
    double out = t->elements;
    for (int i = 0; i < n; i++) {
        int64_t d = dims[i] < 0 ? dims[i] + t->n : dims[i];
        if (d >= 0 && d < t->n && t->size[d] > 0) out /= (double)t->size[d];
    }
    return out;
}

static bool of_reduction(struct gp_work *w, const struct gp_shapes *s, const struct model *m)
{
    tensor t = gp_shapes_tensor(s, 0);
    if (!t || !t->element.size || t->n < 1) return false;
    double read = bytes_of(t), out = (m->a ? t->elements : reduced(s, t)) * t->element.size;
    set_bytes(w, read + out, m->b * read + out);
    w->flops = t->elements;
    w->arith = vector_arith(t);
    return true;
}

/* ---- gathers and scatters: what is touched, and not what is there ---- */

/* self, dim, index: of the table only what the indices name is read, once at least, in sectors at most. */
static bool of_gather(struct gp_work *w, const struct gp_shapes *s, const struct model *m)
{
    tensor table = gp_shapes_tensor(s, 0), index = gp_shapes_tensor(s, 2);
    int64_t dim;
    if (!table || !index || !table->element.size || table->n < 1) return false;
    double out = index->elements, piece = table->element.size;
    if (m->a) { /* whole slices */
        if (!gp_shapes_int(s, 1, &dim)) return false;
        if (dim < 0) dim += table->n;
        if (dim < 0 || dim >= table->n || table->size[dim] <= 0) return false;
        out = table->elements / (double)table->size[dim] * index->elements;
    } else if (index->distinct == index->elements) {
        piece = SECTOR;
    }
    double written = out * table->element.size, indices = bytes_of(index);
    set_bytes(w, written + indices, written + indices + out * piece);
    return true;
}

/* weight, indices: rows of weight. */
static bool of_embedding(struct gp_work *w, const struct gp_shapes *s, const struct model *m)
{
    tensor weight = gp_shapes_tensor(s, 0), index = gp_shapes_tensor(s, 1);
    (void)m;
    if (!weight || !index || weight->n != 2 || !weight->element.size) return false;
    double rows = index->elements * (double)weight->size[1] * weight->element.size;
    set_bytes(w, rows + bytes_of(index), 2 * rows + bytes_of(index));
    return true;
}

/* Values at A and indices at B are read; where they go is read and written, in sectors at most. */
static bool of_scatter(struct gp_work *w, const struct gp_shapes *s, const struct model *m)
{
    tensor values = gp_shapes_tensor(s, m->a), index = gp_shapes_tensor(s, m->b);
    if (!values || !index || !values->element.size) return false;
    double read = bytes_of(values) + bytes_of(index);
    set_bytes(w, read, read + 2 * values->elements * SECTOR);
    w->flops = values->elements;
    w->arith = vector_arith(values);
    return true;
}

/* The loss reads one class of each row, and its gradient writes one: a sector at most. A: the place of the targets. */
static bool of_rows(struct gp_work *w, const struct gp_shapes *s, const struct model *m)
{
    tensor scores = gp_shapes_tensor(s, m->b), targets = gp_shapes_tensor(s, m->a);
    if (!scores || !targets || !scores->element.size) return false;
    double rows = targets->elements;
    set_bytes(w, bytes_of(targets) + rows * scores->element.size, bytes_of(targets) + rows * SECTOR);
    w->flops = rows;
    w->arith = vector_arith(scores);
    return true;
}

/* ---- many tensors at once: A lists are written (besides the reading of all); B: lists that are no tensors to work on ---- */

static bool of_lists(struct gp_work *w, const struct gp_shapes *s, const struct model *m)
{
    double read = 0;
    int lists = 0;
    if (!m->list_size || s->n < 1 || s->in[0].sort != GP_SHAPE_LIST) return false;
    for (int i = 0; i < s->n && lists < m->b; i++) {
        if (s->in[i].sort == GP_SHAPE_UNKNOWN_LIST) return false;
        if (s->in[i].sort != GP_SHAPE_LIST) continue;
        read += s->in[i].elements;
        lists++;
    }
    int writes = lists > 1 && m->a > lists - 1 ? lists - 1 : m->a; /* the gradient is never written */
    double written = writes * s->in[0].elements;
    if (m->e) read -= s->in[0].elements; /* the first one is written alone */
    set_bytes(w, (read + written) * m->list_size, (read + written) * m->list_size);
    w->flops = m->d * s->in[0].elements;
    w->arith = m->list_size == 8 ? GP_ARITH_FP64 : GP_ARITH_FP32;
    return true;
}

/* ---- what compilers made: every tensor is read or written once, or both ---- */

static bool of_triton(struct gp_work *w, const struct gp_shapes *s, const char *op)
{
    double moved = 0, most = 0;
    static const char *const parts[] = {"embedding", "index", "gather", "scatter", "slice"};
    if (strncmp(op, "triton_poi_fused_", 17) != 0 && strncmp(op, "triton_red_fused_", 17) != 0 &&
        strncmp(op, "triton_per_fused_", 17) != 0)
        return false;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strstr(op, parts[i])) return false; /* touches part of what it is given */
    for (int i = 0; i < s->n; i++) {
        tensor t = gp_shapes_tensor(s, i);
        if (!t) continue;
        if (!t->element.size) return false;
        moved += bytes_of(t);
        most = max2(most, bytes_of(t));
    }
    if (moved <= 0) return false;
    set_bytes(w, moved, moved + most);
    return true;
}

/* ---- the table ---- */

/* Sorted by name, without "aten::" and without the '_' of operators that work in place. */
/* clang-format off */
static const struct model models[] = {
#define UNARY(name, flops)  {name, of_elementwise, 1, flops, 0, 0, 0, 0, false, false, 0}
#define BINARY(name, flops) {name, of_elementwise, 2, flops, 0, 0, 0, 0, false, false, 0}
#define COMPARE(name)       {name, of_elementwise, 2, 1, 1, 0, 0, 0, false, false, 0}
#define TEST(name)          {name, of_elementwise, 1, 1, 1, 0, 0, 0, false, false, 0}
#define FILL(name)          {name, of_fill, 0, 0, 0, 0, 0, 0, false, false, 0}
#define REDUCE(name)        {name, of_reduction, 0, 1, 0, 0, 0, 0, false, false, 0}
#define REDUCE2(name)       {name, of_reduction, 0, 2, 0, 0, 0, 0, false, false, 0}
#define SCAN(name)          {name, of_reduction, 1, 2, 0, 0, 0, 0, false, false, 0}
#define LISTS(name, flops)  {name, of_lists, 1, 9, 0, flops, 0, 0, false, false, 0}
    LISTS("_amp_foreach_non_finite_check_and_unscale", 1),
    {"_convolution", of_convolution, 0, 1, 3, 4, 5, 8, false, false, 0},
    {"_cudnn_attention_backward", of_attention, 1, 14, 9, HEADS_FIRST, 1, 0, false, false, 0},
    {"_cudnn_attention_forward", of_attention, 0, 10, 4, HEADS_FIRST, 0, 0, false, false, 0},
    {"_efficient_attention_backward", of_attention, 1, 14, 6, ROWS_FIRST, 1, 0, false, false, 0},
    {"_efficient_attention_forward", of_attention, 0, 9, 4, ROWS_FIRST, 0, 0, false, false, 0},
    {"_flash_attention_backward", of_attention, 1, 11, 6, ROWS_FIRST, 1, 0, false, false, 0},
    {"_flash_attention_forward", of_attention, 0, 8, 3, ROWS_FIRST, 0, 0, false, false, 0},
    LISTS("_foreach_abs", 1),
    LISTS("_foreach_add", 1),
    LISTS("_foreach_addcdiv", 3),
    LISTS("_foreach_addcmul", 3),
    LISTS("_foreach_clamp_max", 1),
    LISTS("_foreach_clamp_min", 1),
    {"_foreach_copy", of_lists, 1, 9, 0, 0, 1, 0, false, false, 0},
    LISTS("_foreach_div", 1),
    LISTS("_foreach_exp", 1),
    LISTS("_foreach_lerp", 3),
    LISTS("_foreach_maximum", 1),
    LISTS("_foreach_mul", 1),
    LISTS("_foreach_neg", 1),
    {"_foreach_norm", of_lists, 0, 9, 0, 2, 0, 0, false, false, 0},
    LISTS("_foreach_pow", 1),
    LISTS("_foreach_reciprocal", 1),
    LISTS("_foreach_sqrt", 1),
    LISTS("_foreach_sub", 1),
    {"_foreach_zero", of_lists, 1, 9, 0, 0, 1, 0, false, false, 0},
    {"_fused_adam", of_lists, 3, 4, 0, 12, 0, 0, false, false, 0},
    {"_fused_adamw", of_lists, 3, 4, 0, 12, 0, 0, false, false, 0},
    {"_fused_rms_norm", of_norm, 0, 2, 3, NORM_FLOPS, 0, 0, false, false, 0},
    {"_fused_rms_norm_backward", of_norm_backward, 0, 0, 0, 0, 5, 0, false, false, 0},
    {"_fused_sgd", of_lists, 2, 3, 0, 4, 0, 0, false, false, 0},
    {"_int_mm", of_product, 0, 1, -1, 0, 0, 0, false, false, 0},
    {"_log_softmax", of_softmax, 1, 3, 0, 0, 0, 0, false, false, 0},
    {"_log_softmax_backward_data", of_softmax, 2, 4, 0, 0, 0, 0, false, false, 0},
    {"_scaled_dot_product_cudnn_attention", of_attention, 0, 6, -1, HEADS_FIRST, 0, 0, false, false, 0},
    {"_scaled_dot_product_cudnn_attention_backward", of_attention, 1, 14, 9, HEADS_FIRST, 1, 0, false, false, 0},
    {"_scaled_dot_product_efficient_attention", of_attention, 0, 6, -1, HEADS_FIRST, 0, 0, false, false, 0},
    {"_scaled_dot_product_efficient_attention_backward", of_attention, 1, 11, -1, HEADS_FIRST, 1, 0, false, false, 0},
    {"_scaled_dot_product_flash_attention", of_attention, 0, 4, -1, HEADS_FIRST, 0, 0, false, false, 0},
    {"_scaled_dot_product_flash_attention_backward", of_attention, 1, 11, 6, HEADS_FIRST, 1, 0, false, false, 0},
    {"_scaled_mm", of_product, 0, 1, -1, 0, 0, 0, false, false, 0},
    {"_softmax", of_softmax, 1, 3, 0, 0, 0, 0, false, false, 0},
    {"_softmax_backward_data", of_softmax, 2, 4, 0, 0, 0, 0, false, false, 0},
    {"_to_copy", of_copy, 0, 0, 0, 0, 0, 0, false, false, 0},
    UNARY("abs", 1),
    BINARY("add", 1),
    {"addcdiv", of_elementwise, 3, 3, 0, 0, 0, 0, false, false, 0},
    {"addcmul", of_elementwise, 3, 3, 0, 0, 0, 0, false, false, 0},
    {"addmm", of_product, 1, 2, 0, 0, 0, 0, false, false, 0},
    {"addmv", of_matrix_vector, 1, 2, 0, 0, 0, 0, false, false, 0},
    REDUCE("all"),
    REDUCE("amax"),
    REDUCE("amin"),
    REDUCE("any"),
    REDUCE("argmax"),
    REDUCE("argmin"),
    {"baddbmm", of_product, 1, 2, 0, 0, 0, 0, false, false, 0},
    {"batch_norm_backward_elemt", of_norm, 0, 3, 3, NORM_FLOPS, 0, 0, false, false, 0},
    {"batch_norm_backward_reduce", of_norm, 0, 2, 2, NORM_FLOPS, 0, 0, false, false, 0},
    {"batch_norm_elemt", of_norm, 0, 2, 2, 2, 0, 0, false, false, 0},
    {"batch_norm_stats", of_norm, 0, 1, 2, NORM_FLOPS, 0, 0, false, false, 0},
    FILL("bernoulli"),
    BINARY("bitwise_and", 1),
    BINARY("bitwise_not", 1),
    BINARY("bitwise_or", 1),
    {"bmm", of_product, 0, 1, -1, 0, 0, 0, false, false, 0},
    {"cat", of_cat, 0, 0, 0, 0, 0, 0, false, false, 0},
    UNARY("ceil", 1),
    UNARY("clamp", 2),
    UNARY("clamp_max", 1),
    UNARY("clamp_min", 1),
    {"conv1d", of_convolution, 0, 1, 3, 4, 5, 6, false, false, 0},
    {"conv2d", of_convolution, 0, 1, 3, 4, 5, 6, false, false, 0},
    {"conv3d", of_convolution, 0, 1, 3, 4, 5, 6, false, false, 0},
    {"convolution", of_convolution, 0, 1, 3, 4, 5, 8, false, false, 0},
    {"convolution_backward", of_convolution_backward, 0, 0, 0, 0, 0, 0, false, false, 0},
    {"convolution_overrideable", of_convolution, 0, 1, 3, 4, 5, 8, false, false, 0},
    {"copy", of_copy, 0, 0, 0, 0, 0, 0, false, false, 0},
    UNARY("cos", 1),
    {"cudnn_batch_norm", of_norm, 0, 2, 3, NORM_FLOPS, 0, 0, false, false, 0},
    {"cudnn_batch_norm_backward", of_norm_backward, 0, 0, 0, 0, -1, 0, false, false, 0},
    {"cudnn_convolution", of_convolution, 0, 1, 3, 2, 4, 5, false, false, 0},
    {"cudnn_convolution_add_relu", of_convolution, 0, 1, 5, 6, 7, 8, false, false, 0},
    {"cudnn_convolution_relu", of_convolution, 0, 1, 3, 4, 5, 6, false, false, 0},
    {"cudnn_convolution_transpose", of_convolution, 0, 1, 4, 2, 5, 6, true, false, 0},
    SCAN("cumprod"),
    SCAN("cumsum"),
    BINARY("div", 1),
    UNARY("elu", 2),
    {"embedding", of_embedding, 0, 0, 0, 0, 0, 0, false, false, 0},
    COMPARE("eq"),
    UNARY("erf", 1),
    UNARY("exp", 1),
    FILL("exponential"),
    FILL("fill"),
    UNARY("floor", 1),
    {"gather", of_gather, 0, 0, 0, 0, 0, 0, false, false, 0},
    COMPARE("ge"),
    UNARY("gelu", 8),
    BINARY("gelu_backward", 8),
    BINARY("glu_backward", 4),
    COMPARE("gt"),
    BINARY("hardtanh_backward", 1),
    {"index_add", of_scatter, 3, 2, 0, 0, 0, 0, false, false, 0},
    {"index_select", of_gather, 1, 0, 0, 0, 0, 0, false, false, 0},
    TEST("isfinite"),
    TEST("isinf"),
    TEST("isnan"),
    TEST("isneginf"),
    TEST("isposinf"),
    COMPARE("le"),
    UNARY("leaky_relu", 2),
    BINARY("leaky_relu_backward", 2),
    {"lerp", of_elementwise, 3, 3, 0, 0, 0, 0, false, false, 0},
    REDUCE("linalg_vector_norm"),
    {"linear", of_linear, 0, 1, 2, 0, 0, 0, false, false, 0},
    UNARY("log", 1),
    UNARY("log1p", 1),
    COMPARE("logical_and"),
    TEST("logical_not"),
    COMPARE("logical_or"),
    REDUCE2("logsumexp"),
    COMPARE("lt"),
    BINARY("masked_fill", 1),
    {"matmul", of_matmul, 0, 1, 0, 0, 0, 0, false, false, 0},
    REDUCE("max"),
    BINARY("maximum", 1),
    REDUCE("mean"),
    REDUCE("min"),
    BINARY("minimum", 1),
    {"miopen_batch_norm", of_norm, 0, 2, 3, NORM_FLOPS, 0, 0, false, false, 0},
    {"miopen_batch_norm_backward", of_norm_backward, 0, 0, 0, 0, -1, 0, false, false, 0},
    {"miopen_convolution", of_convolution, 0, 1, 4, 3, 5, 6, false, false, 0},
    {"miopen_convolution_transpose", of_convolution, 0, 1, 5, 3, 6, 7, true, false, 0},
    {"miopen_depthwise_convolution", of_convolution, 0, 1, 4, 3, 5, 6, false, false, 0},
    {"mm", of_product, 0, 1, -1, 0, 0, 0, false, false, 0},
    {"mse_loss_backward", of_elementwise, 3, 3, 0, 0, 0, 0, false, false, 0},
    BINARY("mul", 1),
    {"mv", of_matrix_vector, 0, 1, 0, 0, 0, 0, false, false, 0},
    {"native_batch_norm", of_norm, 0, 2, 3, NORM_FLOPS, 0, 0, false, false, 0},
    {"native_batch_norm_backward", of_norm_backward, 0, 0, 0, 0, 9, 0, false, false, 0},
    {"native_dropout", of_elementwise, 1, 2, 0, 1, 0, 0, false, false, 0},
    BINARY("native_dropout_backward", 2),
    {"native_group_norm", of_norm, 0, 2, 3, NORM_FLOPS, 0, 0, false, false, 0},
    {"native_group_norm_backward", of_norm_backward, 0, 0, 0, 0, 9, 0, false, false, 0},
    {"native_layer_norm", of_norm, 0, 2, 3, NORM_FLOPS, 0, 0, false, false, 0},
    {"native_layer_norm_backward", of_norm_backward, 0, 0, 0, 0, 7, 0, false, false, 0},
    COMPARE("ne"),
    UNARY("neg", 1),
    {"nll_loss_backward", of_rows, 2, 1, 0, 0, 0, 0, false, false, 0},
    {"nll_loss_forward", of_rows, 1, 0, 0, 0, 0, 0, false, false, 0},
    REDUCE("norm"),
    FILL("normal"),
    BINARY("pow", 1),
    REDUCE("prod"),
    FILL("random"),
    UNARY("reciprocal", 1),
    UNARY("relu", 1),
    UNARY("rsqrt", 1),
    BINARY("rsub", 1),
    {"scatter_add", of_scatter, 3, 2, 0, 0, 0, 0, false, false, 0},
    UNARY("sigmoid", 4),
    BINARY("sigmoid_backward", 3),
    UNARY("sign", 1),
    UNARY("silu", 5),
    BINARY("silu_backward", 7),
    UNARY("sin", 1),
    UNARY("sqrt", 1),
    REDUCE2("std"),
    BINARY("sub", 1),
    REDUCE("sum"),
    UNARY("tanh", 1),
    BINARY("tanh_backward", 3),
    BINARY("threshold_backward", 1),
    UNARY("tril", 0),
    UNARY("triu", 0),
    FILL("uniform"),
    REDUCE2("var"),
    REDUCE2("var_mean"),
    {"where", of_elementwise, 3, 1, 0, 0, 0, 0, false, false, 0},
    FILL("zero"),
#undef UNARY
#undef BINARY
#undef COMPARE
#undef TEST
#undef FILL
#undef REDUCE
#undef REDUCE2
#undef SCAN
#undef LISTS
};
/* clang-format on */

struct op_name {
    const char *at;
    size_t n;
};

static int compare_op(const void *key, const void *element)
{
    const struct op_name *name = key;
    const struct model *m = element;
    int order = strncmp(name->at, m->op, name->n);
    return order ? order : m->op[name->n] ? -1 : 0;
}

static const struct model *find_model(const char *op, size_t n)
{
    struct op_name name = {op, n};
    return bsearch(&name, models, sizeof models / sizeof *models, sizeof *models, compare_op);
}

/* *IN_PLACE: told by the name. */
static const struct model *model_of(const char *op, bool *in_place)
{
    static const char prefix[] = "aten::";
    *in_place = false;
    if (strncmp(op, prefix, sizeof prefix - 1) != 0) return NULL;
    op += sizeof prefix - 1;
    size_t n = strlen(op);
    *in_place = n > 1 && op[n - 1] == '_';
    return find_model(op, n - *in_place);
}

bool gp_work_knows_op(const char *op)
{
    bool in_place;
    return !strncmp(op, "triton_", 7) || model_of(op, &in_place);
}

/* ---- names of kernels ---- */

/* Bytes of an element of the tensors that a kernel works on, by "OpaqueType<2u>", or the first type of its functor. */
static uint32_t size_in_name(const char *kernel)
{
    static const char opaque[] = "OpaqueType<", functor[] = "Functor";
    struct gp_element e;
    const char *at = strstr(kernel, opaque);
    long size = at ? strtol(at + sizeof opaque - 1, NULL, 10) : 0;
    if (size >= 1 && size <= 16) return (uint32_t)size;
    for (at = strstr(kernel, functor); at; at = strstr(at + 1, functor)) {
        const char *open = strpbrk(at, "<(>");
        if (open && *open == '<' && gp_element_at(&e, open + 1, strnlen(open + 1, 24))) return e.size;
    }
    return 0;
}

/* The numbers among the first arguments of a template whose bracket AT is behind: "float, 2, 1, 1>". */
static int template_numbers(const char *at, long *v, int cap)
{
    int n = 0;
    for (bool fresh = true; *at && *at != '>' && *at != '<' && n < cap; at++) {
        if (fresh && *at >= '0' && *at <= '9') v[n++] = strtol(at, NULL, 10);
        fresh = *at == ' ' || *at == ',';
    }
    return n;
}

/* How often an element of one list is read or written: "TensorListMetadata<2>, UnaryOpFunctor<float, 2, 1, 1>" has two lists
 * and reads one of them. 0: not told. */
static long passes_of(const char *name, long *lists)
{
    const char *metadata = strstr(name, "Metadata<"), *functor = strstr(name, "Functor<");
    long v[2];
    if (!metadata || template_numbers(metadata + strlen("Metadata<"), lists, 1) != 1) return 0;
    if (!functor || *lists < 1 || *lists > 8) return 0;
    if (strstr(name, "LpNorm")) return 1;
    if (strstr(name, "FusedAdam")) return 2 * *lists - 1; /* all but the gradient are written */
    int n = template_numbers(functor + strlen("Functor<"), v, 2);
    return (n == 2 && v[1] >= 0 && v[1] <= *lists ? v[1] : *lists) + 1;
}

/* Blocks work on 65536 elements each, the last one of each tensor on fewer. So many tensors fit one launch, by lists. */
static bool of_multi_tensor(struct gp_work *w, const char *name, uint32_t blocks)
{
    static const uint32_t tensors[] = {110, 64, 48, 36, 30};
    long lists = 0, passes = passes_of(name, &lists);
    uint32_t size = size_in_name(name);
    if (!size || !blocks || !passes) return false;
    uint32_t most = lists <= 5 ? tensors[lists - 1] : tensors[4];
    double whole = blocks > most ? (double)(blocks - most) * CHUNK : 0, all = (double)blocks * CHUNK;
    double each = (double)size * (double)passes;
    set_bytes(w, whole * each, all * each);
    return true;
}

/* What fills is told by its operands; a copy has no arithmetic. */
bool gp_work_of_kernel(struct gp_work *w, const char *name, uint32_t blocks)
{
    struct gp_pointwise p;
    memset(w, 0, sizeof *w);
    w->arith = GP_ARITH_NONE;
    if (strstr(name, "multi_tensor_apply_kernel<")) return of_multi_tensor(w, name, blocks);
    if (!gp_pointwise_of(&p, name, blocks)) return false;
    double elements = (double)p.elements, written = elements * p.out_size;
    double read = elements * p.inputs * p.in_size;
    /* what broadcasts is smaller than the longest operand, which is all that the grid tells */
    bool may_broadcast = p.inputs > 1 && strstr(name, "::elementwise_kernel<");
    set_bytes(w, (may_broadcast ? elements * p.in_size : read) + written, read + written);
    return true;
}

/* ---- all of it ---- */

/* The type of the largest input; of lists the size tells FP32 from 16 bits, and nothing else. */
static struct gp_element main_element(const struct gp_shapes *s, uint32_t list_size)
{
    struct gp_element e = {list_size, list_size == 4 ? GP_ARITH_FP32 : GP_ARITH_NONE};
    double most = 0;
    for (int i = 0; i < s->n; i++) {
        tensor t = gp_shapes_tensor(s, i);
        if (!t || bytes_of(t) <= most) continue;
        most = bytes_of(t);
        e = t->element;
    }
    return e;
}

bool gp_work_of_op(struct gp_work *w, const char *op, const struct gp_shapes *s, const char *kernel)
{
    bool in_place, known;
    uint32_t list_size = kernel ? size_in_name(kernel) : 0;
    const struct model *m = model_of(op, &in_place);
    memset(w, 0, sizeof *w);
    w->arith = GP_ARITH_NONE;
    if (m) {
        struct model one = *m;
        one.in_place |= in_place;
        one.list_size = list_size;
        known = one.run(w, s, &one);
    } else {
        known = !strncmp(op, "triton_", 7) && of_triton(w, s, op);
    }
    /* written so that what is no number does not pass */
    known = known && w->flops >= 0 && w->flops < FLOPS_MOST && w->bytes_low >= 0 &&
            w->bytes_high < BYTES_MOST && w->bytes_high > 0 && w->bytes_low <= w->bytes_high;
    w->element = main_element(s, list_size);
    if (known) return true;
    memset(w, 0, sizeof *w);
    w->arith = GP_ARITH_NONE;
    return false;
}
