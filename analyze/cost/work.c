// The table gives the family of each operator and the positions of its inputs. Shapes follow ATen's schemas,
// whose argument order has not changed since PyTorch 2.0.
#include "analyze/cost/work.h"

#include <stdlib.h>
#include <string.h>
#include "analyze/cost/pointwise.h"
#include "analyze/cost/work_models.h"
#include "analyze/names/known.h"

enum { CHUNK = 65536 };                                   /* elements of a block of multi_tensor_apply */
static const double FLOPS_MOST = 1e24, BYTES_MOST = 1e21; /* more cannot come from a real recording */

const char *gp_work_tier_name(enum gp_work_tier t)
{
    static const char *const names[] = {"kind", "name and grid", "shapes"};
    return names[t];
}

/* ---- the table ---- */

/* Sorted by name, without "aten::" and without the '_' of operators that work in place. */
/* clang-format off */
static const struct gp_work_model models[] = {
#define UNARY(name, flops)  {name, gp_of_elementwise, 1, flops, 0, 0, 0, 0, false, false, 0}
#define BINARY(name, flops) {name, gp_of_elementwise, 2, flops, 0, 0, 0, 0, false, false, 0}
#define COMPARE(name)       {name, gp_of_elementwise, 2, 1, 1, 0, 0, 0, false, false, 0}
#define TEST(name)          {name, gp_of_elementwise, 1, 1, 1, 0, 0, 0, false, false, 0}
#define FILL(name)          {name, gp_of_fill, 0, 0, 0, 0, 0, 0, false, false, 0}
#define REDUCE(name)        {name, gp_of_reduction, 0, 1, 0, 0, 0, 0, false, false, 0}
#define REDUCE2(name)       {name, gp_of_reduction, 0, 2, 0, 0, 0, 0, false, false, 0}
#define SCAN(name)          {name, gp_of_reduction, 1, 2, 0, 0, 0, 0, false, false, 0}
#define LISTS(name, flops)  {name, gp_of_lists, 1, 9, 0, flops, 0, 0, false, false, 0}
    LISTS("_amp_foreach_non_finite_check_and_unscale", 1),
    {"_convolution", gp_of_convolution, 0, 1, 3, 4, 5, 8, false, false, 0},
    {"_cudnn_attention_backward", gp_of_attention, 1, 14, 9, GP_HEADS_FIRST, 1, 0, false, false, 0},
    {"_cudnn_attention_forward", gp_of_attention, 0, 10, 4, GP_HEADS_FIRST, 0, 0, false, false, 0},
    {"_efficient_attention_backward", gp_of_attention, 1, 14, 6, GP_ROWS_FIRST, 1, 0, false, false, 0},
    {"_efficient_attention_forward", gp_of_attention, 0, 9, 4, GP_ROWS_FIRST, 0, 0, false, false, 0},
    {"_flash_attention_backward", gp_of_attention, 1, 11, 6, GP_ROWS_FIRST, 1, 0, false, false, 0},
    {"_flash_attention_forward", gp_of_attention, 0, 8, 3, GP_ROWS_FIRST, 0, 0, false, false, 0},
    LISTS("_foreach_abs", 1),
    LISTS("_foreach_add", 1),
    LISTS("_foreach_addcdiv", 3),
    LISTS("_foreach_addcmul", 3),
    LISTS("_foreach_clamp_max", 1),
    LISTS("_foreach_clamp_min", 1),
    {"_foreach_copy", gp_of_lists, 1, 9, 0, 0, 1, 0, false, false, 0},
    LISTS("_foreach_div", 1),
    LISTS("_foreach_exp", 1),
    LISTS("_foreach_lerp", 3),
    LISTS("_foreach_maximum", 1),
    LISTS("_foreach_mul", 1),
    LISTS("_foreach_neg", 1),
    {"_foreach_norm", gp_of_lists, 0, 9, 0, 2, 0, 0, false, false, 0},
    LISTS("_foreach_pow", 1),
    LISTS("_foreach_reciprocal", 1),
    LISTS("_foreach_sqrt", 1),
    LISTS("_foreach_sub", 1),
    {"_foreach_zero", gp_of_lists, 1, 9, 0, 0, 1, 0, false, false, 0},
    {"_fused_adam", gp_of_lists, 3, 4, 0, 12, 0, 0, false, false, 0},
    {"_fused_adamw", gp_of_lists, 3, 4, 0, 12, 0, 0, false, false, 0},
    {"_fused_rms_norm", gp_of_norm, 0, 2, 3, GP_NORM_FLOPS, 0, 0, false, false, 0},
    {"_fused_rms_norm_backward", gp_of_norm_backward, 0, 0, 0, 0, 5, 0, false, false, 0},
    {"_fused_sgd", gp_of_lists, 2, 3, 0, 4, 0, 0, false, false, 0},
    {"_int_mm", gp_of_product, 0, 1, -1, 0, 0, 0, false, false, 0},
    {"_log_softmax", gp_of_softmax, 1, 3, 0, 0, 0, 0, false, false, 0},
    {"_log_softmax_backward_data", gp_of_softmax, 2, 4, 0, 0, 0, 0, false, false, 0},
    {"_scaled_dot_product_cudnn_attention", gp_of_attention, 0, 6, -1, GP_HEADS_FIRST, 0, 0, false, false, 0},
    {"_scaled_dot_product_cudnn_attention_backward", gp_of_attention, 1, 14, 9, GP_HEADS_FIRST, 1, 0, false, false, 0},
    {"_scaled_dot_product_efficient_attention", gp_of_attention, 0, 6, -1, GP_HEADS_FIRST, 0, 0, false, false, 0},
    {"_scaled_dot_product_efficient_attention_backward", gp_of_attention, 1, 11, -1, GP_HEADS_FIRST, 1, 0, false, false, 0},
    {"_scaled_dot_product_flash_attention", gp_of_attention, 0, 4, -1, GP_HEADS_FIRST, 0, 0, false, false, 0},
    {"_scaled_dot_product_flash_attention_backward", gp_of_attention, 1, 11, 6, GP_HEADS_FIRST, 1, 0, false, false, 0},
    {"_scaled_mm", gp_of_product, 0, 1, -1, 0, 0, 0, false, false, 0},
    {"_softmax", gp_of_softmax, 1, 3, 0, 0, 0, 0, false, false, 0},
    {"_softmax_backward_data", gp_of_softmax, 2, 4, 0, 0, 0, 0, false, false, 0},
    {"_to_copy", gp_of_copy, 0, 0, 0, 0, 0, 0, false, false, 0},
    UNARY("abs", 1),
    BINARY("add", 1),
    {"addcdiv", gp_of_elementwise, 3, 3, 0, 0, 0, 0, false, false, 0},
    {"addcmul", gp_of_elementwise, 3, 3, 0, 0, 0, 0, false, false, 0},
    {"addmm", gp_of_product, 1, 2, 0, 0, 0, 0, false, false, 0},
    {"addmv", gp_of_matrix_vector, 1, 2, 0, 0, 0, 0, false, false, 0},
    REDUCE("all"),
    REDUCE("amax"),
    REDUCE("amin"),
    REDUCE("any"),
    REDUCE("argmax"),
    REDUCE("argmin"),
    {"baddbmm", gp_of_product, 1, 2, 0, 0, 0, 0, false, false, 0},
    {"batch_norm_backward_elemt", gp_of_norm, 0, 3, 3, GP_NORM_FLOPS, 0, 0, false, false, 0},
    {"batch_norm_backward_reduce", gp_of_norm, 0, 2, 2, GP_NORM_FLOPS, 0, 0, false, false, 0},
    {"batch_norm_elemt", gp_of_norm, 0, 2, 2, 2, 0, 0, false, false, 0},
    {"batch_norm_stats", gp_of_norm, 0, 1, 2, GP_NORM_FLOPS, 0, 0, false, false, 0},
    FILL("bernoulli"),
    BINARY("bitwise_and", 1),
    BINARY("bitwise_not", 1),
    BINARY("bitwise_or", 1),
    {"bmm", gp_of_product, 0, 1, -1, 0, 0, 0, false, false, 0},
    {"cat", gp_of_cat, 0, 0, 0, 0, 0, 0, false, false, 0},
    UNARY("ceil", 1),
    UNARY("clamp", 2),
    UNARY("clamp_max", 1),
    UNARY("clamp_min", 1),
    {"conv1d", gp_of_convolution, 0, 1, 3, 4, 5, 6, false, false, 0},
    {"conv2d", gp_of_convolution, 0, 1, 3, 4, 5, 6, false, false, 0},
    {"conv3d", gp_of_convolution, 0, 1, 3, 4, 5, 6, false, false, 0},
    {"convolution", gp_of_convolution, 0, 1, 3, 4, 5, 8, false, false, 0},
    {"convolution_backward", gp_of_convolution_backward, 0, 0, 0, 0, 0, 0, false, false, 0},
    {"convolution_overrideable", gp_of_convolution, 0, 1, 3, 4, 5, 8, false, false, 0},
    {"copy", gp_of_copy, 0, 0, 0, 0, 0, 0, false, false, 0},
    UNARY("cos", 1),
    {"cudnn_batch_norm", gp_of_norm, 0, 2, 3, GP_NORM_FLOPS, 0, 0, false, false, 0},
    {"cudnn_batch_norm_backward", gp_of_norm_backward, 0, 0, 0, 0, -1, 0, false, false, 0},
    {"cudnn_convolution", gp_of_convolution, 0, 1, 3, 2, 4, 5, false, false, 0},
    {"cudnn_convolution_add_relu", gp_of_convolution, 0, 1, 5, 6, 7, 8, false, false, 0},
    {"cudnn_convolution_relu", gp_of_convolution, 0, 1, 3, 4, 5, 6, false, false, 0},
    {"cudnn_convolution_transpose", gp_of_convolution, 0, 1, 4, 2, 5, 6, true, false, 0},
    SCAN("cumprod"),
    SCAN("cumsum"),
    BINARY("div", 1),
    UNARY("elu", 2),
    {"embedding", gp_of_embedding, 0, 0, 0, 0, 0, 0, false, false, 0},
    COMPARE("eq"),
    UNARY("erf", 1),
    UNARY("exp", 1),
    FILL("exponential"),
    FILL("fill"),
    UNARY("floor", 1),
    {"gather", gp_of_gather, 0, 0, 0, 0, 0, 0, false, false, 0},
    COMPARE("ge"),
    UNARY("gelu", 8),
    BINARY("gelu_backward", 8),
    BINARY("glu_backward", 4),
    COMPARE("gt"),
    BINARY("hardtanh_backward", 1),
    {"index_add", gp_of_scatter, 3, 2, 0, 0, 0, 0, false, false, 0},
    {"index_select", gp_of_gather, 1, 0, 0, 0, 0, 0, false, false, 0},
    TEST("isfinite"),
    TEST("isinf"),
    TEST("isnan"),
    TEST("isneginf"),
    TEST("isposinf"),
    COMPARE("le"),
    UNARY("leaky_relu", 2),
    BINARY("leaky_relu_backward", 2),
    {"lerp", gp_of_elementwise, 3, 3, 0, 0, 0, 0, false, false, 0},
    REDUCE("linalg_vector_norm"),
    {"linear", gp_of_linear, 0, 1, 2, 0, 0, 0, false, false, 0},
    UNARY("log", 1),
    UNARY("log1p", 1),
    COMPARE("logical_and"),
    TEST("logical_not"),
    COMPARE("logical_or"),
    REDUCE2("logsumexp"),
    COMPARE("lt"),
    BINARY("masked_fill", 1),
    {"matmul", gp_of_matmul, 0, 1, 0, 0, 0, 0, false, false, 0},
    REDUCE("max"),
    BINARY("maximum", 1),
    REDUCE("mean"),
    REDUCE("min"),
    BINARY("minimum", 1),
    {"miopen_batch_norm", gp_of_norm, 0, 2, 3, GP_NORM_FLOPS, 0, 0, false, false, 0},
    {"miopen_batch_norm_backward", gp_of_norm_backward, 0, 0, 0, 0, -1, 0, false, false, 0},
    {"miopen_convolution", gp_of_convolution, 0, 1, 4, 3, 5, 6, false, false, 0},
    {"miopen_convolution_transpose", gp_of_convolution, 0, 1, 5, 3, 6, 7, true, false, 0},
    {"miopen_depthwise_convolution", gp_of_convolution, 0, 1, 4, 3, 5, 6, false, false, 0},
    {"mm", gp_of_product, 0, 1, -1, 0, 0, 0, false, false, 0},
    {"mse_loss_backward", gp_of_elementwise, 3, 3, 0, 0, 0, 0, false, false, 0},
    BINARY("mul", 1),
    {"mv", gp_of_matrix_vector, 0, 1, 0, 0, 0, 0, false, false, 0},
    {"native_batch_norm", gp_of_norm, 0, 2, 3, GP_NORM_FLOPS, 0, 0, false, false, 0},
    {"native_batch_norm_backward", gp_of_norm_backward, 0, 0, 0, 0, 9, 0, false, false, 0},
    {"native_dropout", gp_of_elementwise, 1, 2, 0, 1, 0, 0, false, false, 0},
    BINARY("native_dropout_backward", 2),
    {"native_group_norm", gp_of_norm, 0, 2, 3, GP_NORM_FLOPS, 0, 0, false, false, 0},
    {"native_group_norm_backward", gp_of_norm_backward, 0, 0, 0, 0, 9, 0, false, false, 0},
    {"native_layer_norm", gp_of_norm, 0, 2, 3, GP_NORM_FLOPS, 0, 0, false, false, 0},
    {"native_layer_norm_backward", gp_of_norm_backward, 0, 0, 0, 0, 7, 0, false, false, 0},
    COMPARE("ne"),
    UNARY("neg", 1),
    {"nll_loss_backward", gp_of_rows, 2, 1, 0, 0, 0, 0, false, false, 0},
    {"nll_loss_forward", gp_of_rows, 1, 0, 0, 0, 0, 0, false, false, 0},
    REDUCE("norm"),
    FILL("normal"),
    BINARY("pow", 1),
    REDUCE("prod"),
    FILL("random"),
    UNARY("reciprocal", 1),
    UNARY("relu", 1),
    UNARY("rsqrt", 1),
    BINARY("rsub", 1),
    {"scatter_add", gp_of_scatter, 3, 2, 0, 0, 0, 0, false, false, 0},
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
    {"where", gp_of_elementwise, 3, 1, 0, 0, 0, 0, false, false, 0},
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
    const struct gp_work_model *m = element;
    int order = strncmp(name->at, m->op, name->n);
    return order ? order : m->op[name->n] ? -1 : 0;
}

static const struct gp_work_model *find_model(const char *op, size_t n)
{
    struct op_name name = {op, n};
    return bsearch(&name, models, sizeof models / sizeof *models, sizeof *models, compare_op);
}

/* Sets *IN_PLACE from the name. */
static const struct gp_work_model *model_of(const char *op, bool *in_place)
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
    return gp_kernel_is_triton(op) || model_of(op, &in_place);
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

/* The numbers among the first arguments of a template; AT is after its opening bracket: "float, 2, 1, 1>". */
static int template_numbers(const char *at, long *v, int cap)
{
    int n = 0;
    for (bool fresh = true; *at && *at != '>' && *at != '<' && n < cap; at++) {
        if (fresh && *at >= '0' && *at <= '9') v[n++] = strtol(at, NULL, 10);
        fresh = *at == ' ' || *at == ',';
    }
    return n;
}

/* How often an element of one list is read or written: "TensorListMetadata<2>, UnaryOpFunctor<float, 2, 1,
 * 1>" has two lists and reads one of them. 0: unknown. */
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
    gp_work_set_bytes(w, whole * each, all * each);
    return true;
}

/* Its operands show whether a kernel only fills; a copy has no arithmetic. */
bool gp_work_of_kernel(struct gp_work *w, const char *name, uint32_t blocks)
{
    struct gp_pointwise p;
    memset(w, 0, sizeof *w);
    w->arith = GP_ARITH_NONE;
    if (gp_kernel_is_multi_tensor(name)) return of_multi_tensor(w, name, blocks);
    if (!gp_pointwise_of(&p, name, blocks)) return false;
    double elements = (double)p.elements, written = elements * p.out_size;
    double read = elements * p.inputs * p.in_size;
    /* a broadcast operand is smaller than the longest one, which is all that the grid shows */
    bool may_broadcast = p.inputs > 1 && gp_kernel_is_strided(name);
    gp_work_set_bytes(w, (may_broadcast ? elements * p.in_size : read) + written, read + written);
    return true;
}

/* ---- all of it ---- */

/* The type of the largest input; for lists, the size only distinguishes FP32 from 16 bits. */
static struct gp_element main_element(const struct gp_shapes *s, uint32_t list_size)
{
    struct gp_element e = {list_size, list_size == 4 ? GP_ARITH_FP32 : GP_ARITH_NONE};
    double most = 0;
    for (int i = 0; i < s->n; i++) {
        gp_tensor t = gp_shapes_tensor(s, i);
        if (!t || gp_work_bytes_of(t) <= most) continue;
        most = gp_work_bytes_of(t);
        e = t->element;
    }
    return e;
}

bool gp_work_of_op(struct gp_work *w, const char *op, const struct gp_shapes *s, const char *kernel)
{
    bool in_place, known;
    uint32_t list_size = kernel ? size_in_name(kernel) : 0;
    const struct gp_work_model *m = model_of(op, &in_place);
    memset(w, 0, sizeof *w);
    w->arith = GP_ARITH_NONE;
    if (m) {
        struct gp_work_model one = *m;
        one.in_place |= in_place;
        one.list_size = list_size;
        known = one.run(w, s, &one);
    } else {
        known = gp_kernel_is_triton(op) && gp_of_triton(w, s, op);
    }
    /* written so that NaN does not pass */
    known = known && w->flops >= 0 && w->flops < FLOPS_MOST && w->bytes_low >= 0 &&
            w->bytes_high < BYTES_MOST && w->bytes_high > 0 && w->bytes_low <= w->bytes_high;
    w->element = main_element(s, list_size);
    if (known) return true;
    memset(w, 0, sizeof *w);
    w->arith = GP_ARITH_NONE;
    return false;
}
