#include "analyze/names/cxx_name.h"

#include <ctype.h>
#include "formats/base/buf.h"
#include "formats/base/str.h"
#include "formats/base/vec.h"

/* Private to cxx_name.c: words in C++ names that carry little information. */

/* Template arguments that show nothing about the code: scalars, containers, casts, policies. */
static const char gp_cxx_dull[] =
    " bool char short int long float double unsigned signed void true false const half __half __half2 "
    "half2 float2 float4 uint size_t BFloat16 Half Float8_e4m3fn complex nv_bfloat16 Array array tuple "
    "OpaqueType decltype integral_constant Params __nv_bfloat16 __int128 Float8_e5m2 Tuple Layout nv_half "
    "bfloat16_t half_t ulong int8_t uint8_t int32_t uint32_t int64_t uint64_t LoadWithoutCast "
    "StoreWithoutCast LoadWithCast StoreWithCast nullptr OpMathType enable_if int4 __nv_fp8_e4m3 "
    "__nv_fp8_e5m2 tfloat32_t Var NullType PassThrough NoOp __hip_bfloat16 CUDAGeneratorImpl VSMemHelper "
    "InputValue identity_decomposer_t adamMode_t TensorDescriptor cublasGemvTensorStridedBatched Kargs ";

/* Endings of such arguments, before any digits. */
static const char *const gp_cxx_dull_ends[] = {
    "Policy",  "Iterator",     "Metadata", "Calculator", "Accessor",  "Traits",
    "Params",  "State",        "Storage",  "Tag",        "_iterator", "_tag",
    "_traits", "StridedBatch", "_ptr",     "Type",       "policy_hub"};

/* Types that only wrap the type that matters. */
static const char gp_cxx_carriers[] =
    " BinaryFunctor UnaryFunctor AUnaryFunctor BUnaryFunctor ReduceOp func_wrapper_t gpu_kernel_impl "
    "gpu_kernel_impl_nocast gpu_index_kernel ParallelForAgent device_unary_transform_f unary_transform_f "
    "binary_transform_f AgentReduce _kernel_agent UnaryOpFunctor BinaryOpListAlphaFunctor "
    "BinaryOpScalarFunctor PointwiseOpScalarListFunctor PointwiseOpScalarFunctor GemmUniversalAdapter "
    "uniform_and_transform normal_and_transform ";

/* Functions that only run their first argument: whole names, then endings. */
static const char gp_cxx_shells[] =
    " cutlass::Kernel cutlass::Kernel2 cutlass_cudnn::Kernel cutlass_cudnn_infer::Kernel "
    "cutlass_cudnn_train::Kernel ";
static const char *const gp_cxx_shell_ends[] = {"::device_kernel", "::_kernel_agent"};

/* ---- the parts of a name ---- */

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '~' || (unsigned char)c >= 0x80;
}

/* A name with deeper nesting than this is unreadable. */
enum { NESTING_MAX = 250 };

/* Angle brackets are also comparisons, which other brackets then enclose: "enable_if<((8)>(0)), void>". */
size_t gp_cxx_skip(struct gp_span t, size_t i)
{
    char open[NESTING_MAX];
    size_t depth = 0;
    for (; i < t.n; i++) {
        char c = t.s[i];
        if (c == '<' || c == '(' || c == '{' || c == '[') {
            if (depth == NESTING_MAX) return t.n;
            open[depth++] = c;
        } else if (c == '>') {
            if (depth && open[depth - 1] == '<' && t.s[i - 1] != '-') depth--;
        } else if (c == ')' || c == '}' || c == ']') {
            while (depth && open[depth - 1] == '<') depth--;
            if (depth) depth--;
        } else continue;
        if (!depth) return i + 1;
    }
    return t.n;
}

/* One name between "::": "reduce_kernel<512, 1>", "foo(int) const", "{lambda(float)#1}", "operator()(int)".
 */
struct part {
    struct gp_span word; /* "reduce_kernel"; empty for lambdas, operators and anonymous namespaces */
    struct gp_span args; /* the text inside <...>; empty: none */
    size_t end;          /* of the part in the text */
};

/* "operator" and its sign, as far as the parameters or template arguments. */
static size_t skip_operator(struct gp_span t, size_t i)
{
    i += strlen("operator");
    if (i + 1 < t.n && (t.s[i] == '(' || t.s[i] == '[')) return i + 2;
    while (i < t.n && strchr("<>=!+-*/%&|^~,", t.s[i])) i++;
    return i;
}

static struct part read_part(struct gp_span t, size_t i)
{
    struct part p = {0};
    size_t begin = i;
    if (i < t.n && t.s[i] == '{') i = gp_cxx_skip(t, i);
    else if (gp_span_starts(gp_span_cut(t, i, t.n), "(anonymous namespace)")) {
        p.end = i + strlen("(anonymous namespace)");
        return p;
    } else if (gp_span_starts(gp_span_cut(t, i, t.n), "operator") && i + 8 < t.n && !is_word(t.s[i + 8]))
        i = skip_operator(t, i);
    else {
        while (i < t.n && is_word(t.s[i])) i++;
        p.word = gp_span_cut(t, begin, i);
    }
    if (i < t.n && t.s[i] == '<') {
        size_t close = gp_cxx_skip(t, i);
        p.args = gp_span_cut(t, i + 1, close > i + 1 ? close - 1 : i + 1);
        i = close;
    }
    if (i < t.n && t.s[i] == '[') i = gp_cxx_skip(t, i); /* [clone .1], [abi:cxx11] */
    if (i < t.n && t.s[i] == '(') {
        i = gp_cxx_skip(t, i);
        if (gp_span_starts(gp_span_cut(t, i, t.n), " const::")) i += strlen(" const");
    }
    p.end = i;
    return p;
}

static bool joined(struct gp_span t, size_t i) { return i + 2 <= t.n && t.s[i] == ':' && t.s[i + 1] == ':'; }

/* A name with its namespaces. `last` is the innermost part with a word: for a lambda the function it is
 * written in. */
struct qualified {
    struct part last;
    size_t end; /* of all parts */
};

static struct qualified read_qualified(struct gp_span t, size_t i)
{
    struct qualified q = {0};
    for (;;) {
        struct part p = read_part(t, i);
        if (p.word.n) q.last = p;
        q.end = p.end;
        if (!joined(t, p.end)) return q;
        i = p.end + 2;
    }
}

/* Where the name of the function begins: after the return type, if there is one. */
static size_t skip_return_type(struct gp_span t)
{
    size_t i = 0;
    for (;;) {
        struct qualified q = read_qualified(t, i);
        size_t next = q.end;
        if (next == i) return i;
        while (next < t.n && strchr(" *&", t.s[next])) next++;
        if (next == q.end || next >= t.n || !(is_word(t.s[next]) || t.s[next] == '(' || t.s[next] == '{'))
            return i;
        i = next;
    }
}

/* Append the words of the name at I with "::" between them. Returns the template arguments of the last. */
static struct gp_span put_function(struct gp_buf *to, struct gp_span t, size_t i)
{
    struct gp_span args = {0};
    bool any = false;
    for (;;) {
        struct part p = read_part(t, i);
        if (p.word.n) {
            if (any) gp_buf_put(to, GP_TEXT("::"));
            gp_buf_put(to, p.word.s, p.word.n);
            args = p.args;
            any = true;
        }
        if (!joined(t, p.end)) return args;
        i = p.end + 2;
    }
}

/* Is this plain C++ that was taken apart with nothing left over but qualifiers? */
static bool has_cxx(const char *name, size_t n)
{
    return n && (memchr(name, '<', n) || memchr(name, '(', n) || memchr(name, ':', n)); /* NAME may be NULL */
}

struct gp_span gp_cxx_function(struct gp_buf *to, struct gp_span t)
{
    size_t begin = to->n;
    struct gp_span args = {0};
    if (has_cxx(t.s, t.n)) args = put_function(to, t, skip_return_type(t));
    if (to->n == begin) gp_buf_put(to, t.s, t.n);
    return args;
}

/* ---- template arguments ---- */

static bool ends_in_one(struct gp_span word, const char *const *ends, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (gp_span_ends(word, ends[i])) return true;
    return false;
}

/* Arguments that say nothing about a kernel's work. */
static bool is_generic(struct gp_span word)
{
    if (gp_is_one_of(word.s, word.n, gp_cxx_dull)) return true;
    while (word.n && isdigit((unsigned char)word.s[word.n - 1])) word.n--; /* Policy800 */
    return !word.n || ends_in_one(word, gp_cxx_dull_ends, GP_COUNT(gp_cxx_dull_ends));
}

/* Types that only wrap another, informative type. */
static bool is_carrier(struct gp_span word) { return gp_is_one_of(word.s, word.n, gp_cxx_carriers); }

bool gp_cxx_is_shell(struct gp_span function)
{
    return gp_is_one_of(function.s, function.n, gp_cxx_shells) ||
           ends_in_one(function, gp_cxx_shell_ends, GP_COUNT(gp_cxx_shell_ends));
}

bool gp_cxx_next(struct gp_span *args, struct gp_span *arg)
{
    if (!args->n) return false;
    size_t i = 0;
    while (i < args->n && args->s[i] != ',') i = strchr("<({[", args->s[i]) ? gp_cxx_skip(*args, i) : i + 1;
    *arg = gp_span_trim(gp_span_cut(*args, 0, i));
    *args = gp_span_cut(*args, i < args->n ? i + 1 : i, args->n);
    return true;
}

struct gp_span gp_cxx_distinctive(struct gp_span *args, struct gp_span *whole)
{
    for (struct gp_span arg; gp_cxx_next(args, &arg);) {
        if (!arg.n || !(is_word(arg.s[0]) || arg.s[0] == '(' || arg.s[0] == '{') ||
            isdigit((unsigned char)arg.s[0]))
            continue;
        struct part last = read_qualified(arg, 0).last;
        if (is_generic(last.word)) continue;
        while (is_carrier(last.word)) {
            struct gp_span inner = last.args, found = {0}, a;
            struct part next = {0};
            while (!found.n && gp_cxx_next(&inner, &a)) {
                if (!a.n || isdigit((unsigned char)a.s[0])) continue;
                next = read_qualified(a, 0).last;
                if (!is_generic(next.word)) found = next.word;
            }
            if (!found.n) break;
            last = next;
        }
        if (whole) *whole = arg;
        return last.word;
    }
    return gp_span_of(NULL, 0);
}
