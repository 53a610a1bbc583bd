#include "analyze/names/classify.h"

#include <ctype.h>
#include <regex.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/names/args.h"
#include "analyze/names/name_predicates.h"
#include "analyze/names/names.h"
#include "analyze/names/pattern.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/base/str.h"

/* Private to classify.c: the patterns that give the class of a kernel. */

/* Tried from the top, in lower case. A pattern matches anywhere in the function's name; '^' ties it to the
 * beginning. The order matters: compilers name kernels after the operations that they fused, so their
 * prefixes go first; "wgrad" comes before "reduce" because split-k reductions are part of a GEMM. */
static const struct gp_class_patterns {
    enum gp_frame_kind kind;
    const char *words; /* for gp_name_has_one_of() */
} gp_class_patterns[] = {
    {GP_FRAME_ELEMENTWISE, " ^triton_poi_ "},
    {GP_FRAME_REDUCTION, " ^triton_red_ ^triton_per_ "},
    {GP_FRAME_GEMM, " ^triton_tem_ "},
    /* XLA: one operation, and several */
    {GP_FRAME_REDUCTION, " ^wrapped_reduce "},
    {GP_FRAME_ELEMENTWISE, " ^wrapped_ "},
    {GP_FRAME_REDUCTION, " ^input_ "},
    {GP_FRAME_ELEMENTWISE, " ^loop_ "},
    {GP_FRAME_REDUCTION, " ^cupy_sum ^cupy_mean ^cupy_amax ^cupy_amin "},
    {GP_FRAME_ELEMENTWISE, " ^cupy_ "},
    /* within one GPU */
    {GP_FRAME_REDUCTION, " warp_all_reduce block_all_reduce warpallreduce blockallreduce "},
    /* "shmem" alone is shared memory */
    {GP_FRAME_COMMUNICATION, " nccl rccl hccl oneccl msccl nvshmem rocshmem deep_ep deepep ^pplx "
                             "cross_device_reduce multimem symm_mem symmetric_memory userbuffers "
                             "one_shot_all two_shot_all oneshotall twoshotall allreduce all_reduce "
                             "quick_reduce quickreduce allgather all_gather reducescatter reduce_scatter "
                             "alltoall all_to_all all2all sendrecv send_recv "},
    /* of experts: histograms, scores, sorting */
    {GP_FRAME_COMPUTE, " routing "},
    {GP_FRAME_ELEMENTWISE, " reshape_and_cache rotary "},
    /* compute_dot_do_o: cuDNN's backward pass */
    {GP_FRAME_ATTENTION, " flash_fwd flash_bwd flashattn flash_attn flash_mla flash:: fmha attention attn "
                         "sdpa compute_dot_do_o batchdecodewith batchprefillwith "},
    /* "convert" is not a convolution */
    {GP_FRAME_ELEMENTWISE, " convert conversion tensortransform nchwtonhwc nhwctonchw "},
    /* computeoffsets: cuDNN's helpers around a convolution */
    {GP_FRAME_GEMM, " gemm gemv nvjet cutlass ^cijk_ xmma matmul triton_mm triton_bmm ^bmm_ splitk "
                    "scudnn hcudnn winograd wgrad dgrad fprop conv im2col col2im im2d "
                    "computeoffsets computeboffsets fft2d cublas ^dot_kernel marlin machete "},
    {GP_FRAME_REDUCTION, " softmax layer_norm layernorm rms_norm rmsnorm batch_norm batchnorm ::bn_fw "
                         "::bn_bw "},
    /* random numbers */
    {GP_FRAME_ELEMENTWISE, " normal_ "},
    {GP_FRAME_REDUCTION, " norm rowwisemoments gammabeta internalgradients reduce reduction cumsum argmax "
                         "argmin devicescan tensor_kernel_scan "},
    {GP_FRAME_ELEMENTWISE, " elementwise element_wise pointwise multi_tensor_apply dropout rope_ _rope silu "
                           "gelu relu act_and_mul activation quantize fp8_quant int8_quant catarray copy "
                           "fill transpose masked op_tensor optensor subtensorop scalepackedtensor "
                           "add_tensor "},
};

/* Functions whose name says less than the code they run. */
static const char *const gp_class_shells[] = {"kernel",        "kernel2",       "kentry",
                                              "device_kernel", "_kernel_agent", "globalkernel"};

/* Library names that a pattern would mistake for a class. */
static const char *const gp_class_libraries[] = {"fbgemm_gpu::", "flashinfer::"};

/* ---- the table ---- */

/* Functions whose name says less than the code they run: the label, which contains that code, is checked
 * first. */
static bool is_shell(const char *function)
{
    const char *word = function;
    for (const char *p; (p = strstr(word, "::"));) word = p + 2;
    for (size_t i = 0; i < GP_COUNT(gp_class_shells); i++)
        if (!strcmp(word, gp_class_shells[i])) return true;
    return false;
}

/* Names of libraries that would otherwise match the purpose of a function. */
static const char *without_library(const char *function)
{
    for (size_t i = 0; i < GP_COUNT(gp_class_libraries); i++)
        if (gp_starts(function, gp_class_libraries[i])) return function + strlen(gp_class_libraries[i]);
    return function;
}

static bool find(const char *text, enum gp_frame_kind *kind)
{
    for (size_t i = 0; i < GP_COUNT(gp_class_patterns); i++) {
        if (!gp_name_has_one_of(text, gp_class_patterns[i].words)) continue;
        *kind = gp_class_patterns[i].kind;
        return true;
    }
    return false;
}

static const char *lower(struct gp_buf *b)
{
    for (size_t i = 0; i < b->n; i++) b->data[i] = (char)tolower((unsigned char)b->data[i]);
    return gp_buf_str(b);
}

static enum gp_frame_kind classify_kernel(const char *plain, size_t n)
{
    struct gp_buf function = {0}, label = {0};
    enum gp_frame_kind kind = GP_FRAME_COMPUTE;
    gp_name_kernel_function(&function, plain, n);
    gp_name_kernel_label(&label, plain, n);
    const char *f = without_library(lower(&function)), *l = without_library(lower(&label));
    if (!is_shell(f) || !find(l, &kind)) find(f, &kind);
    gp_buf_release(&function);
    gp_buf_release(&label);
    return kind;
}

/* ---- names of classes ---- */

const char *const gp_class_words[] = {"compute", "communication", "memory", NULL};
const char *const gp_frame_kind_words[] = {
    "gemm", "attention", "elementwise", "reduction", "compute", "communication", "memcpy", "memset", NULL};

const char *gp_class_name(enum gp_class c) { return gp_class_words[c]; }

enum gp_class gp_class_of(enum gp_frame_kind kind)
{
    if (kind == GP_FRAME_COMMUNICATION) return GP_CLASS_COMMUNICATION;
    return kind == GP_FRAME_MEMCPY || kind == GP_FRAME_MEMSET ? GP_CLASS_MEMORY : GP_CLASS_COMPUTE;
}

const char *gp_frame_kind_word(enum gp_frame_kind kind)
{
    switch (kind) {
    case GP_FRAME_COMPUTE: return "compute";
    case GP_FRAME_GEMM: return "gemm";
    case GP_FRAME_ATTENTION: return "attention";
    case GP_FRAME_ELEMENTWISE: return "elementwise";
    case GP_FRAME_REDUCTION: return "reduction";
    case GP_FRAME_COMMUNICATION: return "communication";
    case GP_FRAME_MEMCPY: return "memcpy";
    case GP_FRAME_MEMSET: return "memset";
    default: return NULL;
    }
}

/* ---- the user's rules ---- */

struct gp_class_rule {
    regex_t regex;
    enum gp_frame_kind kind;
};

static bool kind_of_word(const char *word, size_t n, enum gp_frame_kind *kind)
{
    if (gp_is(word, n, "memory")) {
        *kind = GP_FRAME_MEMCPY;
        return true;
    }
    for (int k = 0; k < GP_FRAME_KIND_COUNT; k++) {
        const char *w = gp_frame_kind_word((enum gp_frame_kind)k);
        if (!w || strlen(w) != n || memcmp(w, word, n)) continue;
        *kind = (enum gp_frame_kind)k;
        return true;
    }
    return false;
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static int parse_line(struct gp_classes *c, const char *line, size_t n, size_t number, int64_t offset,
                      struct gp_err *err)
{
    while (n && is_blank(line[n - 1])) n--;
    while (n && is_blank(line[0])) line++, n--, offset++;
    if (!n || line[0] == '#') return 0;
    if (memchr(line, 0, n)) return gp_fail(err, GP_E_SYNTAX, offset, "line %zu: contains a NUL byte", number);
    size_t word = n;
    while (word && !is_blank(line[word - 1])) word--;
    struct gp_class_rule rule;
    size_t end = word;
    while (end && is_blank(line[end - 1])) end--;
    if (!end) return gp_fail(err, GP_E_SYNTAX, offset, "line %zu: expected a pattern and a class", number);
    if (!kind_of_word(line + word, n - word, &rule.kind))
        return gp_fail(err, GP_E_SYNTAX, offset + (int64_t)word, "line %zu: unknown class '%.*s'", number,
                       (int)(n - word > 40 ? 40 : n - word), line + word);
    struct gp_buf pattern = {0};
    gp_buf_put(&pattern, line, end);
    char why[GP_PATTERN_WHY];
    int failed = gp_pattern_compile(&rule.regex, gp_buf_str(&pattern), REG_ICASE, why);
    gp_buf_release(&pattern);
    if (failed) return gp_fail(err, GP_E_SYNTAX, offset, "line %zu: bad pattern: %s", number, why);
    GP_VEC_PUSH(&c->rules, rule);
    return 0;
}

static void drop_rules(struct gp_classes *c, size_t keep)
{
    while (c->rules.n > keep) regfree(&c->rules.at[--c->rules.n].regex);
}

int gp_classes_parse(struct gp_classes *c, const char *text, size_t n, struct gp_err *err)
{
    size_t before = c->rules.n, number = 1;
    for (size_t i = 0; i < n; number++) {
        const char *nl = memchr(text + i, '\n', n - i);
        size_t len = nl ? (size_t)(nl - (text + i)) : n - i;
        if (parse_line(c, text + i, len, number, (int64_t)i, err)) {
            drop_rules(c, before);
            return -1;
        }
        i += len + 1;
    }
    return 0;
}

void gp_classes_release(struct gp_classes *c)
{
    drop_rules(c, 0);
    GP_VEC_FREE(&c->rules);
}

/* ---- deciding ---- */

/* FOUND: what the name of a kernel says that no rule of the user names. */
static enum gp_frame_kind classify(const struct gp_classes *c, enum gp_gpu_kind kind, const char *name,
                                   size_t n, bool *user)
{
    enum gp_frame_kind found = kind == GP_MEMCPY ? GP_FRAME_MEMCPY : GP_FRAME_MEMSET;
    *user = false;
    if (kind != GP_KERNEL && (!c || !c->rules.n)) return found;
    struct gp_buf plain = {0};
    gp_name_demangle(&plain, name, n);
    const char *text = gp_buf_str(&plain);
    for (size_t i = 0; c && i < c->rules.n && !*user; i++) {
        *user = !regexec(&c->rules.at[i].regex, text, 0, NULL, 0);
        if (*user) found = c->rules.at[i].kind;
    }
    if (!*user && kind == GP_KERNEL) found = classify_kernel(text, plain.n);
    gp_buf_release(&plain);
    return found;
}

enum gp_frame_kind gp_classify(const struct gp_classes *c, enum gp_gpu_kind kind, const char *name, size_t n)
{
    bool user;
    return classify(c, kind, name, n, &user);
}

/* What XLA's categories of operations begin with. */
static enum gp_frame_kind kind_of_hlo(const char *category)
{
    static const struct {
        const char *begin;
        enum gp_frame_kind kind;
    } kinds[] = {
        {"convolution", GP_FRAME_GEMM},
        {"dot", GP_FRAME_GEMM},
        {"loop fusion", GP_FRAME_ELEMENTWISE},
        {"non-fusion elementwise", GP_FRAME_ELEMENTWISE},
        {"broadcast", GP_FRAME_ELEMENTWISE},
        {"copy", GP_FRAME_ELEMENTWISE},
        {"data formatting", GP_FRAME_ELEMENTWISE},
        {"reduce-scatter", GP_FRAME_COMMUNICATION},
        {"input fusion", GP_FRAME_REDUCTION},
        {"reduce", GP_FRAME_REDUCTION},
        {"all-", GP_FRAME_COMMUNICATION},
        {"collective-", GP_FRAME_COMMUNICATION},
        {"ragged-all-to-all", GP_FRAME_COMMUNICATION},
    };
    for (size_t i = 0; i < GP_COUNT(kinds); i++)
        if (gp_starts(category, kinds[i].begin)) return kinds[i].kind;
    return GP_FRAME_COMPUTE;
}

enum gp_frame_kind gp_classify_config(const struct gp_classes *c, const struct gp_trace *t,
                                      const struct gp_config *config)
{
    bool user;
    struct gp_arg a;
    enum gp_frame_kind found = classify(c, (enum gp_gpu_kind)config->kind, gp_trace_str(t, config->name),
                                        gp_string_len(&t->strings, config->name), &user);
    if (user || found != GP_FRAME_COMPUTE || !config->extra) return found;
    for (const char *at = gp_trace_str(t, config->extra); gp_args_next(&at, &a);)
        if (gp_arg_is(&a, "hlo_category")) return kind_of_hlo(a.value);
    return found;
}
