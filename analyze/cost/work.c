
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/cost/pointwise.h"
#include "analyze/cost/work_models_priv.h"
#include "analyze/names/args.h"
#include "analyze/names/name_predicates.h"
#include "formats/base/count.h"

/* Private to work.c: the family of each operator and the positions of its inputs. Positions follow ATen's
 * schemas, whose argument order has not changed since PyTorch 2.0. */

/* Sorted by name, without "aten::" and without the '_' of operators that work in place. */
/* clang-format off */
#define ELEMENTWISE(name, inputs_n, flops_n)                                                              \
    {name, gp_of_elementwise, .elementwise = {.inputs = inputs_n, .flops = flops_n}}
#define UNARY(name, n_flops)  ELEMENTWISE(name, 1, n_flops)
#define BINARY(name, n_flops) ELEMENTWISE(name, 2, n_flops)
#define COMPARE(name) {name, gp_of_elementwise, .elementwise = {.inputs = 2, .flops = 1, .out_bytes = 1}}
#define TEST(name)    {name, gp_of_elementwise, .elementwise = {.inputs = 1, .flops = 1, .out_bytes = 1}}
#define FILL(name)    {.op = name, .run = gp_of_fill}
#define REDUCE(name)  {name, gp_of_reduction, .reduction = {.reads = 1}}
#define REDUCE2(name) {name, gp_of_reduction, .reduction = {.reads = 2}}
#define SCAN(name)    {name, gp_of_reduction, .reduction = {.scans = true, .reads = 2}}
#define LISTS(name, n_flops) {name, gp_of_lists, .lists = {.written = 1, .others = 9, .flops = n_flops}}
static const struct gp_work_model gp_work_models[] = {
    LISTS("_amp_foreach_non_finite_check_and_unscale", 1),
    {"_convolution", gp_of_convolution,
     .convolution = {.input = 0, .weights = 1, .stride = 3, .padding = 4, .dilation = 5, .groups = 8}},
    {"_cudnn_attention_backward", gp_of_attention,
     .attention = {.query = 1, .causal = 14, .lengths = 9, .layout = GP_HEADS_FIRST, .backward = true}},
    {"_cudnn_attention_forward", gp_of_attention,
     .attention = {.query = 0, .causal = 10, .lengths = 4, .layout = GP_HEADS_FIRST}},
    {"_efficient_attention_backward", gp_of_attention,
     .attention = {.query = 1, .causal = 14, .lengths = 6, .layout = GP_ROWS_FIRST, .backward = true}},
    {"_efficient_attention_forward", gp_of_attention,
     .attention = {.query = 0, .causal = 9, .lengths = 4, .layout = GP_ROWS_FIRST}},
    {"_flash_attention_backward", gp_of_attention,
     .attention = {.query = 1, .causal = 11, .lengths = 6, .layout = GP_ROWS_FIRST, .backward = true}},
    {"_flash_attention_forward", gp_of_attention,
     .attention = {.query = 0, .causal = 8, .lengths = 3, .layout = GP_ROWS_FIRST}},
    LISTS("_foreach_abs", 1),
    LISTS("_foreach_add", 1),
    LISTS("_foreach_addcdiv", 3),
    LISTS("_foreach_addcmul", 3),
    LISTS("_foreach_clamp_max", 1),
    LISTS("_foreach_clamp_min", 1),
    {"_foreach_copy", gp_of_lists, .lists = {.written = 1, .others = 9, .flops = 0, .writes_first = true}},
    LISTS("_foreach_div", 1),
    LISTS("_foreach_exp", 1),
    LISTS("_foreach_lerp", 3),
    LISTS("_foreach_maximum", 1),
    LISTS("_foreach_mul", 1),
    LISTS("_foreach_neg", 1),
    {"_foreach_norm", gp_of_lists, .lists = {.written = 0, .others = 9, .flops = 2}},
    LISTS("_foreach_pow", 1),
    LISTS("_foreach_reciprocal", 1),
    LISTS("_foreach_sqrt", 1),
    LISTS("_foreach_sub", 1),
    {"_foreach_zero", gp_of_lists, .lists = {.written = 1, .others = 9, .flops = 0, .writes_first = true}},
    {"_fused_adam", gp_of_lists, .lists = {.written = 3, .others = 4, .flops = 12}},
    {"_fused_adamw", gp_of_lists, .lists = {.written = 3, .others = 4, .flops = 12}},
    {"_fused_rms_norm", gp_of_norm, .norm = {.input = 0, .least = 2, .most = 3, .flops = GP_NORM_FLOPS}},
    {"_fused_rms_norm_backward", gp_of_norm_backward, .norm_backward = {.input = 0, .mask = 5}},
    {"_fused_sgd", gp_of_lists, .lists = {.written = 2, .others = 3, .flops = 4}},
    {"_int_mm", gp_of_product, .product = {.left = 0, .right = 1, .added = -1}},
    {"_log_softmax", gp_of_softmax, .softmax = {.inputs = 1, .reads = 3}},
    {"_log_softmax_backward_data", gp_of_softmax, .softmax = {.inputs = 2, .reads = 4}},
    {"_scaled_dot_product_cudnn_attention", gp_of_attention,
     .attention = {.query = 0, .causal = 6, .lengths = -1, .layout = GP_HEADS_FIRST}},
    {"_scaled_dot_product_cudnn_attention_backward", gp_of_attention,
     .attention = {.query = 1, .causal = 14, .lengths = 9, .layout = GP_HEADS_FIRST, .backward = true}},
    {"_scaled_dot_product_efficient_attention", gp_of_attention,
     .attention = {.query = 0, .causal = 6, .lengths = -1, .layout = GP_HEADS_FIRST}},
    {"_scaled_dot_product_efficient_attention_backward", gp_of_attention,
     .attention = {.query = 1, .causal = 11, .lengths = -1, .layout = GP_HEADS_FIRST, .backward = true}},
    {"_scaled_dot_product_flash_attention", gp_of_attention,
     .attention = {.query = 0, .causal = 4, .lengths = -1, .layout = GP_HEADS_FIRST}},
    {"_scaled_dot_product_flash_attention_backward", gp_of_attention,
     .attention = {.query = 1, .causal = 11, .lengths = 6, .layout = GP_HEADS_FIRST, .backward = true}},
    {"_scaled_mm", gp_of_product, .product = {.left = 0, .right = 1, .added = -1}},
    {"_softmax", gp_of_softmax, .softmax = {.inputs = 1, .reads = 3}},
    {"_softmax_backward_data", gp_of_softmax, .softmax = {.inputs = 2, .reads = 4}},
    {.op = "_to_copy", .run = gp_of_copy},
    UNARY("abs", 1),
    BINARY("add", 1),
    ELEMENTWISE("addcdiv", 3, 3),
    ELEMENTWISE("addcmul", 3, 3),
    {"addmm", gp_of_product, .product = {.left = 1, .right = 2, .added = 0}},
    {"addmv", gp_of_matrix_vector, .matrix_vector = {.matrix = 1, .vector = 2}},
    REDUCE("all"),
    REDUCE("amax"),
    REDUCE("amin"),
    REDUCE("any"),
    REDUCE("argmax"),
    REDUCE("argmin"),
    {"baddbmm", gp_of_product, .product = {.left = 1, .right = 2, .added = 0}},
    {"batch_norm_backward_elemt", gp_of_norm,
     .norm = {.input = 0, .least = 3, .most = 3, .flops = GP_NORM_FLOPS}},
    {"batch_norm_backward_reduce", gp_of_norm,
     .norm = {.input = 0, .least = 2, .most = 2, .flops = GP_NORM_FLOPS}},
    {"batch_norm_elemt", gp_of_norm, .norm = {.input = 0, .least = 2, .most = 2, .flops = 2}},
    {"batch_norm_stats", gp_of_norm, .norm = {.input = 0, .least = 1, .most = 2, .flops = GP_NORM_FLOPS}},
    FILL("bernoulli"),
    BINARY("bitwise_and", 1),
    BINARY("bitwise_not", 1),
    BINARY("bitwise_or", 1),
    {"bmm", gp_of_product, .product = {.left = 0, .right = 1, .added = -1}},
    {.op = "cat", .run = gp_of_cat},
    UNARY("ceil", 1),
    UNARY("clamp", 2),
    UNARY("clamp_max", 1),
    UNARY("clamp_min", 1),
    {"conv1d", gp_of_convolution,
     .convolution = {.input = 0, .weights = 1, .stride = 3, .padding = 4, .dilation = 5, .groups = 6}},
    {"conv2d", gp_of_convolution,
     .convolution = {.input = 0, .weights = 1, .stride = 3, .padding = 4, .dilation = 5, .groups = 6}},
    {"conv3d", gp_of_convolution,
     .convolution = {.input = 0, .weights = 1, .stride = 3, .padding = 4, .dilation = 5, .groups = 6}},
    {"convolution", gp_of_convolution,
     .convolution = {.input = 0, .weights = 1, .stride = 3, .padding = 4, .dilation = 5, .groups = 8}},
    {.op = "convolution_backward", .run = gp_of_convolution_backward},
    {"convolution_overrideable", gp_of_convolution,
     .convolution = {.input = 0, .weights = 1, .stride = 3, .padding = 4, .dilation = 5, .groups = 8}},
    {.op = "copy", .run = gp_of_copy},
    UNARY("cos", 1),
    {"cudnn_batch_norm", gp_of_norm, .norm = {.input = 0, .least = 2, .most = 3, .flops = GP_NORM_FLOPS}},
    {"cudnn_batch_norm_backward", gp_of_norm_backward, .norm_backward = {.input = 0, .mask = -1}},
    {"cudnn_convolution", gp_of_convolution,
     .convolution = {.input = 0, .weights = 1, .stride = 3, .padding = 2, .dilation = 4, .groups = 5}},
    {"cudnn_convolution_add_relu", gp_of_convolution,
     .convolution = {.input = 0, .weights = 1, .stride = 5, .padding = 6, .dilation = 7, .groups = 8}},
    {"cudnn_convolution_relu", gp_of_convolution,
     .convolution = {.input = 0, .weights = 1, .stride = 3, .padding = 4, .dilation = 5, .groups = 6}},
    {"cudnn_convolution_transpose", gp_of_convolution,
     .convolution = {.input = 0, .weights = 1, .stride = 4, .padding = 2, .dilation = 5, .groups = 6,
                     .transposed = true}},
    SCAN("cumprod"),
    SCAN("cumsum"),
    BINARY("div", 1),
    UNARY("elu", 2),
    {.op = "embedding", .run = gp_of_embedding},
    COMPARE("eq"),
    UNARY("erf", 1),
    UNARY("exp", 1),
    FILL("exponential"),
    FILL("fill"),
    UNARY("floor", 1),
    {.op = "gather", .run = gp_of_gather},
    COMPARE("ge"),
    UNARY("gelu", 8),
    BINARY("gelu_backward", 8),
    BINARY("glu_backward", 4),
    COMPARE("gt"),
    BINARY("hardtanh_backward", 1),
    {"index_add", gp_of_scatter, .scatter = {.values = 3, .index = 2}},
    {"index_select", gp_of_gather, .gather = {.slices = true}},
    TEST("isfinite"),
    TEST("isinf"),
    TEST("isnan"),
    TEST("isneginf"),
    TEST("isposinf"),
    COMPARE("le"),
    UNARY("leaky_relu", 2),
    BINARY("leaky_relu_backward", 2),
    ELEMENTWISE("lerp", 3, 3),
    REDUCE("linalg_vector_norm"),
    {"linear", gp_of_linear, .linear = {.input = 0, .weights = 1, .bias = 2}},
    UNARY("log", 1),
    UNARY("log1p", 1),
    COMPARE("logical_and"),
    TEST("logical_not"),
    COMPARE("logical_or"),
    REDUCE2("logsumexp"),
    COMPARE("lt"),
    BINARY("masked_fill", 1),
    {"matmul", gp_of_matmul, .matmul = {.left = 0, .right = 1}},
    REDUCE("max"),
    BINARY("maximum", 1),
    REDUCE("mean"),
    REDUCE("min"),
    BINARY("minimum", 1),
    {"miopen_batch_norm", gp_of_norm, .norm = {.input = 0, .least = 2, .most = 3, .flops = GP_NORM_FLOPS}},
    {"miopen_batch_norm_backward", gp_of_norm_backward, .norm_backward = {.input = 0, .mask = -1}},
    {"miopen_convolution", gp_of_convolution,
     .convolution = {.input = 0, .weights = 1, .stride = 4, .padding = 3, .dilation = 5, .groups = 6}},
    {"miopen_convolution_transpose", gp_of_convolution,
     .convolution = {.input = 0, .weights = 1, .stride = 5, .padding = 3, .dilation = 6, .groups = 7,
                     .transposed = true}},
    {"miopen_depthwise_convolution", gp_of_convolution,
     .convolution = {.input = 0, .weights = 1, .stride = 4, .padding = 3, .dilation = 5, .groups = 6}},
    {"mm", gp_of_product, .product = {.left = 0, .right = 1, .added = -1}},
    ELEMENTWISE("mse_loss_backward", 3, 3),
    BINARY("mul", 1),
    {"mv", gp_of_matrix_vector, .matrix_vector = {.matrix = 0, .vector = 1}},
    {"native_batch_norm", gp_of_norm, .norm = {.input = 0, .least = 2, .most = 3, .flops = GP_NORM_FLOPS}},
    {"native_batch_norm_backward", gp_of_norm_backward, .norm_backward = {.input = 0, .mask = 9}},
    {"native_dropout", gp_of_elementwise, .elementwise = {.inputs = 1, .flops = 2, .more_bytes = 1}},
    BINARY("native_dropout_backward", 2),
    {"native_group_norm", gp_of_norm, .norm = {.input = 0, .least = 2, .most = 3, .flops = GP_NORM_FLOPS}},
    {"native_group_norm_backward", gp_of_norm_backward, .norm_backward = {.input = 0, .mask = 9}},
    {"native_layer_norm", gp_of_norm, .norm = {.input = 0, .least = 2, .most = 3, .flops = GP_NORM_FLOPS}},
    {"native_layer_norm_backward", gp_of_norm_backward, .norm_backward = {.input = 0, .mask = 7}},
    COMPARE("ne"),
    UNARY("neg", 1),
    {"nll_loss_backward", gp_of_rows, .rows = {.targets = 2, .scores = 1}},
    {"nll_loss_forward", gp_of_rows, .rows = {.targets = 1, .scores = 0}},
    REDUCE("norm"),
    FILL("normal"),
    BINARY("pow", 1),
    REDUCE("prod"),
    FILL("random"),
    UNARY("reciprocal", 1),
    UNARY("relu", 1),
    UNARY("rsqrt", 1),
    BINARY("rsub", 1),
    {"scatter_add", gp_of_scatter, .scatter = {.values = 3, .index = 2}},
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
    ELEMENTWISE("where", 3, 1),
    FILL("zero"),
};
#undef ELEMENTWISE
#undef UNARY
#undef BINARY
#undef COMPARE
#undef TEST
#undef FILL
#undef REDUCE
#undef REDUCE2
#undef SCAN
#undef LISTS
/* clang-format on */

enum { CHUNK = 65536 };                                   /* elements of a block of multi_tensor_apply */
static const double FLOPS_MOST = 1e24, BYTES_MOST = 1e21; /* more cannot come from a real recording */

const char *const gp_work_tier_words[] = {"kind", "name and grid", "shapes", "counters", NULL};

const char *gp_work_tier_name(enum gp_work_tier t) { return gp_work_tier_words[t]; }

/* ---- finding an operator ---- */

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
    return bsearch(&name, gp_work_models, GP_COUNT(gp_work_models), sizeof *gp_work_models, compare_op);
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

/* Bytes of an element of the tensors that a kernel works on, by "OpaqueType<2u>", or the first type of its
 * functor. */
static uint32_t size_in_name(const char *kernel)
{
    static const char opaque[] = "OpaqueType<", functor[] = "Functor";
    struct gp_dtype e;
    const char *at = strstr(kernel, opaque);
    long size = at ? strtol(at + sizeof opaque - 1, NULL, 10) : 0;
    if (size >= 1 && size <= 16) return (uint32_t)size;
    for (at = strstr(kernel, functor); at; at = strstr(at + 1, functor)) {
        const char *open = strpbrk(at, "<(>");
        if (open && *open == '<' && gp_dtype_at(&e, open + 1, strnlen(open + 1, 24))) return e.size;
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

/* Blocks work on 65536 elements each, the last one of each tensor on fewer. So many tensors fit one launch,
 * by lists. */
static bool of_multi_tensor(struct gp_work *w, const char *name, uint32_t blocks)
{
    static const uint32_t tensors[] = {110, 64, 48, 36, 30};
    long lists = 0, passes = passes_of(name, &lists);
    uint32_t size = size_in_name(name);
    if (!size || !blocks || !passes) return false;
    uint32_t most = lists <= 5 ? tensors[lists - 1] : tensors[4];
    double whole = blocks > most ? (double)(blocks - most) * CHUNK : 0, all = (double)blocks * CHUNK;
    double each = (double)size * (double)passes;
    gp_work_set_bytes(w, whole * each, all * each, -1);
    return true;
}

/* Its operands show whether a kernel only fills; a copy has no arithmetic. */
bool gp_work_of_kernel(struct gp_work *w, const char *name, uint32_t blocks)
{
    struct gp_pointwise p;
    memset(w, 0, sizeof *w);
    w->arith = GP_ARITH_NONE;
    w->written = -1;
    if (gp_kernel_is_multi_tensor(name)) return of_multi_tensor(w, name, blocks);
    if (!gp_pointwise_of(&p, name, blocks)) return false;
    double elements = (double)p.elements, written = elements * p.out_size;
    double read = elements * p.inputs * p.in_size;
    /* a broadcast operand is smaller than the longest one, which is all that the grid shows */
    bool may_broadcast = p.inputs > 1 && gp_kernel_is_strided(name);
    gp_work_set_bytes(w, (may_broadcast ? elements * p.in_size : read) + written, read + written, written);
    return true;
}

/* ---- all of it ---- */

/* The type of the largest input; for lists, the size only distinguishes FP32 from 16 bits. */
static struct gp_dtype main_element(const struct gp_shapes *s, uint32_t list_size)
{
    struct gp_dtype e = {list_size, list_size == 4 ? GP_ARITH_FP32 : GP_ARITH_NONE};
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
    w->written = -1;
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
    w->written = -1;
    return false;
}

bool gp_work_of_args(struct gp_work *w, const char *args, bool products)
{
    uint64_t flops = 0, bytes = 0;
    char type[8] = "";
    struct gp_arg a;
    memset(w, 0, sizeof *w);
    w->arith = GP_ARITH_NONE;
    w->written = -1;
    for (const char *at = args; gp_args_next(&at, &a);) {
        if (gp_arg_is(&a, "flops")) gp_arg_u64(&a, &flops);
        if (gp_arg_is(&a, "bytes_accessed")) gp_arg_u64(&a, &bytes);
        if (gp_arg_is(&a, "flops_type"))
            snprintf(type, sizeof type, "%.*s", (int)(a.n < 8 ? a.n : 7), a.value);
    }
    w->bytes_low = w->bytes_high = (double)bytes;
    w->arith = gp_arith_called(type);
    if (w->arith != GP_ARITH_NONE) w->flops = (double)flops;
    w->products = products && w->flops > 0;
    return bytes > 0;
}
