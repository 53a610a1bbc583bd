// Normalisations, softmax, elementwise operators, copies, reductions, gathers, and many tensors at once:
// operators that move memory.
#include <string.h>
#include "analyze/cost/work_models_priv.h"
#include "analyze/names/name_predicates.h"

enum { SECTOR = 32 }; /* bytes that memory gives at least */

/* ---- normalisation ---- */

bool gp_of_norm(struct gp_work *w, const struct gp_shapes *s, const struct gp_work_model *m)
{
    gp_tensor t = gp_shapes_tensor(s, m->norm.input);
    if (!t || !t->element.size || t->n < 1) return false;
    double one = t->elements * t->element.size;
    gp_work_set_bytes(w, m->norm.least * one, m->norm.most * one, one);
    w->flops = m->norm.flops * t->elements;
    w->arith = gp_work_vector_arith(t);
    return true;
}

/* Gradient and input are read once for the input's gradient, and once more for those of weight and bias. */
bool gp_of_norm_backward(struct gp_work *w, const struct gp_shapes *s, const struct gp_work_model *m)
{
    gp_tensor t = gp_shapes_tensor(s, m->norm_backward.input);
    int64_t mask[3] = {1, 1, 1};
    if (!t || !t->element.size || t->n < 1) return false;
    int known = gp_shapes_ints(s, m->norm_backward.mask, mask, 3);
    bool input = !known || mask[0], weight = !known || mask[1] || (known > 2 && mask[2]);
    double one = t->elements * t->element.size;
    if (!input && !weight) return false;
    gp_work_set_bytes(w, input ? 3 * one : 2 * one, (input ? 3 * one : 0) + (weight ? 2 * one : 0),
                      input ? one : 0);
    w->flops = (input + weight) * (double)GP_NORM_FLOPS * t->elements;
    w->arith = gp_work_vector_arith(t);
    return true;
}

/* ---- softmax: writes as many elements as an input has ---- */

bool gp_of_softmax(struct gp_work *w, const struct gp_shapes *s, const struct gp_work_model *m)
{
    gp_tensor t = gp_shapes_tensor(s, 0);
    bool to_float = false;
    if (!t || !t->element.size || t->n < 1) return false;
    if (m->softmax.inputs == 1) gp_shapes_bool(s, 2, &to_float);
    double one = t->elements * t->element.size, out = t->elements * (to_float ? 4 : t->element.size);
    gp_work_set_bytes(w, m->softmax.inputs * one + out, m->softmax.reads * one + out, out);
    w->flops = GP_SOFTMAX_FLOPS * t->elements;
    w->arith = gp_work_vector_arith(t);
    return true;
}

/* ---- elementwise ---- */

struct broadcast {
    double size[GP_SHAPE_DIMS];
    int n;
};

/* The larger of each dimension, from the last one on. */
static void broadcast(struct broadcast *b, gp_tensor t)
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

bool gp_of_elementwise(struct gp_work *w, const struct gp_shapes *s, const struct gp_work_model *m)
{
    struct broadcast all = {.n = 0};
    double read = 0;
    uint32_t widest = 0;
    bool known = false;
    gp_tensor first = gp_shapes_tensor(s, 0);
    w->arith = GP_ARITH_FP32;
    for (int i = 0; i < m->elementwise.inputs && i < s->n; i++) {
        gp_tensor t = gp_shapes_tensor(s, i);
        if (s->in[i].sort == GP_SHAPE_LIST || s->in[i].sort == GP_SHAPE_UNKNOWN_LIST) return false;
        if (!t) continue;
        if (t->n < 0 || !t->element.size) return false;
        broadcast(&all, t);
        if (!(m->elementwise.writes_first && i == 0)) read += gp_work_bytes_of(t);
        if (t->n && t->element.size > widest) widest = t->element.size;
        if (t->n && t->element.arith == GP_ARITH_FP64) w->arith = GP_ARITH_FP64;
        known = true;
    }
    if (!known || (m->in_place && !first)) return false;
    if (!widest) widest = 4; /* of nothing but single numbers */
    double out = m->in_place ? first->elements : elements_of(&all);
    double size = m->in_place ? first->element.size : widest;
    if (m->elementwise.out_bytes) size = m->elementwise.out_bytes;
    double written = out * (size + m->elementwise.more_bytes);
    gp_work_set_bytes(w, read + written, read + written, written);
    w->flops = m->elementwise.flops * out;
    if (m->elementwise.flops == 0) w->arith = GP_ARITH_NONE;
    return true;
}

/* The destination is first, and its values are not read. */
bool gp_of_copy(struct gp_work *w, const struct gp_shapes *s, const struct gp_work_model *m)
{
    gp_tensor to = gp_shapes_tensor(s, 0), from = gp_shapes_tensor(s, 1);
    (void)m;
    if (!to || !from || !to->element.size || !from->element.size) return false;
    double read = gp_work_bytes_of(from), written = to->elements * to->element.size;
    gp_work_set_bytes(w, read + written, read + written, written);
    return true;
}

/* Values are written, and none read. */
bool gp_of_fill(struct gp_work *w, const struct gp_shapes *s, const struct gp_work_model *m)
{
    gp_tensor t = gp_shapes_tensor(s, 0);
    (void)m;
    if (!t || !t->element.size) return false;
    gp_work_set_bytes(w, gp_work_bytes_of(t), gp_work_bytes_of(t), gp_work_bytes_of(t));
    return true;
}

/* Tensors of a list, read and written once. */
bool gp_of_cat(struct gp_work *w, const struct gp_shapes *s, const struct gp_work_model *m)
{
    if (s->n < 1 || s->in[0].sort != GP_SHAPE_LIST || !m->list_size) return false;
    double moved = 2 * s->in[0].elements * m->list_size;
    gp_work_set_bytes(w, moved, moved, moved / 2);
    return true;
}

/* ---- reductions ---- */

/* Elements left after reducing the dimensions of input 1, a number or a list; all dimensions if none are
 * given. */
static double reduced(const struct gp_shapes *s, gp_tensor t)
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

bool gp_of_reduction(struct gp_work *w, const struct gp_shapes *s, const struct gp_work_model *m)
{
    gp_tensor t = gp_shapes_tensor(s, 0);
    if (!t || !t->element.size || t->n < 1) return false;
    double read = gp_work_bytes_of(t),
           out = (m->reduction.scans ? t->elements : reduced(s, t)) * t->element.size;
    gp_work_set_bytes(w, read + out, m->reduction.reads * read + out, out);
    w->flops = t->elements;
    w->arith = gp_work_vector_arith(t);
    return true;
}

/* ---- gathers and scatters: only elements touched ---- */

/* self, dim, index: of the table, only the indexed rows are read: once at least, in sectors at most. */
bool gp_of_gather(struct gp_work *w, const struct gp_shapes *s, const struct gp_work_model *m)
{
    gp_tensor table = gp_shapes_tensor(s, 0), index = gp_shapes_tensor(s, 2);
    int64_t dim;
    if (!table || !index || !table->element.size || table->n < 1) return false;
    double out = index->elements, piece = table->element.size;
    if (m->gather.slices) { /* whole slices */
        if (!gp_shapes_int(s, 1, &dim)) return false;
        if (dim < 0) dim += table->n;
        if (dim < 0 || dim >= table->n || table->size[dim] <= 0) return false;
        out = table->elements / (double)table->size[dim] * index->elements;
    } else if (index->distinct == index->elements) {
        piece = SECTOR;
    }
    double written = out * table->element.size, indices = gp_work_bytes_of(index);
    gp_work_set_bytes(w, written + indices, written + indices + out * piece, written);
    return true;
}

/* weight, indices: rows of weight. */
bool gp_of_embedding(struct gp_work *w, const struct gp_shapes *s, const struct gp_work_model *m)
{
    gp_tensor weight = gp_shapes_tensor(s, 0), index = gp_shapes_tensor(s, 1);
    (void)m;
    if (!weight || !index || weight->n != 2 || !weight->element.size) return false;
    double rows = index->elements * (double)weight->size[1] * weight->element.size;
    gp_work_set_bytes(w, rows + gp_work_bytes_of(index), 2 * rows + gp_work_bytes_of(index), rows);
    return true;
}

/* Values and indices are read; where they go is read and written, in sectors at most. */
bool gp_of_scatter(struct gp_work *w, const struct gp_shapes *s, const struct gp_work_model *m)
{
    gp_tensor values = gp_shapes_tensor(s, m->scatter.values), index = gp_shapes_tensor(s, m->scatter.index);
    if (!values || !index || !values->element.size) return false;
    double read = gp_work_bytes_of(values) + gp_work_bytes_of(index);
    gp_work_set_bytes(w, read, read + 2 * values->elements * SECTOR, -1);
    w->flops = values->elements;
    w->arith = gp_work_vector_arith(values);
    return true;
}

/* The loss reads one class of each row, and its gradient writes one: a sector at most. */
bool gp_of_rows(struct gp_work *w, const struct gp_shapes *s, const struct gp_work_model *m)
{
    gp_tensor scores = gp_shapes_tensor(s, m->rows.scores), targets = gp_shapes_tensor(s, m->rows.targets);
    if (!scores || !targets || !scores->element.size) return false;
    double rows = targets->elements;
    gp_work_set_bytes(w, gp_work_bytes_of(targets) + rows * scores->element.size,
                      gp_work_bytes_of(targets) + rows * SECTOR, -1);
    w->flops = rows;
    w->arith = gp_work_vector_arith(scores);
    return true;
}

/* ---- many tensors at once ---- */

bool gp_of_lists(struct gp_work *w, const struct gp_shapes *s, const struct gp_work_model *m)
{
    double read = 0;
    int lists = 0;
    if (!m->list_size || s->n < 1 || s->in[0].sort != GP_SHAPE_LIST) return false;
    for (int i = 0; i < s->n && lists < m->lists.others; i++) {
        if (s->in[i].sort == GP_SHAPE_UNKNOWN_LIST) return false;
        if (s->in[i].sort != GP_SHAPE_LIST) continue;
        read += s->in[i].elements;
        lists++;
    }
    int writes = lists > 1 && m->lists.written > lists - 1
                     ? lists - 1
                     : m->lists.written; /* the gradient is never written */
    double written = writes * s->in[0].elements * m->list_size;
    if (m->lists.writes_first) read -= s->in[0].elements; /* the first input is only written */
    read *= m->list_size;
    gp_work_set_bytes(w, read + written, read + written, written);
    w->flops = m->lists.flops * s->in[0].elements;
    w->arith = m->list_size == 8 ? GP_ARITH_FP64 : GP_ARITH_FP32;
    return true;
}

/* ---- compiled kernels: every tensor is read or written once, or both ---- */

bool gp_of_triton(struct gp_work *w, const struct gp_shapes *s, const char *op)
{
    double moved = 0, most = 0;
    static const char in_part[] = " embedding index gather scatter slice "; /* touch part of their input */
    if (!gp_kernel_is_triton_fused(op) || gp_name_has_one_of(op, in_part)) return false;
    for (int i = 0; i < s->n; i++) {
        gp_tensor t = gp_shapes_tensor(s, i);
        if (!t) continue;
        if (!t->element.size) return false;
        moved += gp_work_bytes_of(t);
        most = gp_work_max2(most, gp_work_bytes_of(t));
    }
    if (moved <= 0) return false;
    gp_work_set_bytes(w, moved, moved + most, -1);
    return true;
}
