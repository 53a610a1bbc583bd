#include "analyze/names.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <libiberty/demangle.h>

/* ---- demangling ---- */

struct plain {
    struct gp_buf *to;
    size_t begin;
    jmp_buf too_long;
};

/* The demangler cannot be told to stop; it holds no memory, so leaving it from here is clean. */
static void take_plain(const char *s, size_t n, void *ctx)
{
    struct plain *p = ctx;
    if (n > GP_NAME_PLAIN_MAX - (p->to->n - p->begin)) longjmp(p->too_long, 1);
    gp_buf_put(p->to, s, n);
}

static bool demangle_to(struct gp_buf *to, const char *mangled)
{
    struct plain p = {.to = to, .begin = to->n};
    if (setjmp(p.too_long)) return false;
    int flags = DMGL_PARAMS | DMGL_ANSI | DMGL_NO_RECURSE_LIMIT;
    return cplus_demangle_v3_callback(mangled, flags, take_plain, &p) != 0;
}

void gp_name_demangle(struct gp_buf *to, const char *name, size_t n)
{
    size_t begin = to->n;
    if (n > 2 && n <= GP_NAME_MANGLED_MAX && name[0] == '_' && name[1] == 'Z' && !memchr(name, 0, n)) {
        char mangled[GP_NAME_MANGLED_MAX + 1];
        memcpy(mangled, name, n);
        mangled[n] = '\0';
        if (demangle_to(to, mangled) && to->n > begin) return;
        to->n = begin;
    }
    gp_buf_put(to, name, n);
}

/* ---- reading C++ names ---- */

/* A part of a text. */
struct span {
    const char *s;
    size_t n;
};

static struct span span_of(const char *s, size_t n)
{
    return (struct span){s, n};
}

static struct span span_from(struct span t, size_t from, size_t to)
{
    return span_of(t.s + from, to - from);
}

static struct span trim(struct span t)
{
    while (t.n && t.s[0] == ' ') t.s++, t.n--;
    while (t.n && t.s[t.n - 1] == ' ') t.n--;
    return t;
}

static bool starts(struct span t, const char *with)
{
    size_t n = strlen(with);
    return t.n >= n && !memcmp(t.s, with, n);
}

static bool ends(struct span t, const char *with)
{
    size_t n = strlen(with);
    return t.n >= n && !memcmp(t.s + t.n - n, with, n);
}

static bool equals(struct span t, const char *with)
{
    return t.n == strlen(with) && !memcmp(t.s, with, t.n);
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '~' || (unsigned char)c >= 0x80;
}

/* Deeper nesting than this is no name that a person would read. */
enum { NESTING_MAX = 250 };

/* The place after the bracket that closes the one at I; the end of the text when none does. Angle brackets are also
 * comparisons, which other brackets then enclose: "enable_if<((8)>(0)), void>". */
static size_t skip_nested(struct span t, size_t i)
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
    struct span word; /* "reduce_kernel"; empty for lambdas, operators and anonymous namespaces */
    struct span args; /* the text inside <...>; empty: none */
    size_t end;       /* of the part in the text */
};

/* "operator" and its sign, as far as the parameters or template arguments. */
static size_t skip_operator(struct span t, size_t i)
{
    i += strlen("operator");
    if (i + 1 < t.n && (t.s[i] == '(' || t.s[i] == '[')) return i + 2;
    while (i < t.n && strchr("<>=!+-*/%&|^~,", t.s[i])) i++;
    return i;
}

static struct part read_part(struct span t, size_t i)
{
    struct part p = {0};
    size_t begin = i;
    if (i < t.n && t.s[i] == '{') i = skip_nested(t, i);
    else if (starts(span_from(t, i, t.n), "(anonymous namespace)")) {
        p.end = i + strlen("(anonymous namespace)");
        return p;
    } else if (starts(span_from(t, i, t.n), "operator") && i + 8 < t.n && !is_word(t.s[i + 8]))
        i = skip_operator(t, i);
    else {
        while (i < t.n && is_word(t.s[i])) i++;
        p.word = span_from(t, begin, i);
    }
    if (i < t.n && t.s[i] == '<') {
        size_t close = skip_nested(t, i);
        p.args = span_from(t, i + 1, close > i + 1 ? close - 1 : i + 1);
        i = close;
    }
    if (i < t.n && t.s[i] == '[') i = skip_nested(t, i); /* [clone .1], [abi:cxx11] */
    if (i < t.n && t.s[i] == '(') {
        i = skip_nested(t, i);
        if (starts(span_from(t, i, t.n), " const::")) i += strlen(" const");
    }
    p.end = i;
    return p;
}

static bool joined(struct span t, size_t i)
{
    return i + 2 <= t.n && t.s[i] == ':' && t.s[i + 1] == ':';
}

/* A name with its namespaces. `last` is the innermost part with a word: for a lambda the function it is
 * written in. */
struct qualified {
    struct part last;
    size_t end; /* of all parts */
};

static struct qualified read_qualified(struct span t, size_t i)
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
static size_t skip_return_type(struct span t)
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
static struct span put_function(struct gp_buf *to, struct span t, size_t i)
{
    struct span args = {0};
    bool any = false;
    for (;;) {
        struct part p = read_part(t, i);
        if (p.word.n) {
            if (any) gp_buf_put(to, "::", 2);
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

static struct span function_of(struct gp_buf *to, struct span t)
{
    size_t begin = to->n;
    struct span args = {0};
    if (has_cxx(t.s, t.n)) args = put_function(to, t, skip_return_type(t));
    if (to->n == begin) gp_buf_put(to, t.s, t.n);
    return args;
}

void gp_name_kernel_function(struct gp_buf *to, const char *name, size_t n)
{
    function_of(to, span_of(name, n));
}

/* ---- kernel labels ---- */

/* Arguments that say nothing about what a kernel does. */
static bool is_dull(struct span word)
{
    static const char *const words[] = {
        "bool",
        "char",
        "short",
        "int",
        "long",
        "float",
        "double",
        "unsigned",
        "signed",
        "void",
        "true",
        "false",
        "const",
        "half",
        "__half",
        "__half2",
        "half2",
        "float2",
        "float4",
        "uint",
        "size_t",
        "BFloat16",
        "Half",
        "Float8_e4m3fn",
        "complex",
        "nv_bfloat16",
        "Array",
        "array",
        "tuple",
        "OpaqueType",
        "decltype",
        "integral_constant",
        "Params",
        "__nv_bfloat16",
        "__int128",
        "Float8_e5m2",
        "Tuple",
        "Layout",
        "nv_half",
        "bfloat16_t",
        "half_t",
        "ulong",
        "int8_t",
        "uint8_t",
        "int32_t",
        "uint32_t",
        "int64_t",
        "uint64_t",
        "LoadWithoutCast",
        "StoreWithoutCast",
        "LoadWithCast",
        "StoreWithCast",
        "nullptr",
        "OpMathType",
        "enable_if",
        "int4",
        "__nv_fp8_e4m3",
        "__nv_fp8_e5m2",
        "tfloat32_t",
        "Var",
        "NullType",
        "PassThrough",
        "NoOp",
        "__hip_bfloat16",
        "CUDAGeneratorImpl",
        "VSMemHelper",
        "InputValue",
        "identity_decomposer_t",
        "adamMode_t",
        "TensorDescriptor",
        "cublasGemvTensorStridedBatched",
        "Kargs",
    };
    static const char *const tails[] = {"Policy",    "Iterator",  "Metadata", "Calculator",   "Accessor",
                                        "Traits",    "Params",    "State",    "Storage",      "Tag",
                                        "_iterator", "_tag",      "_traits",  "StridedBatch", "_ptr",
                                        "Type",      "policy_hub"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (equals(word, words[i])) return true;
    while (word.n && isdigit((unsigned char)word.s[word.n - 1])) word.n--; /* Policy800 */
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++)
        if (ends(word, tails[i])) return true;
    return !word.n;
}

/* Types that only carry another one, which tells. */
static bool is_carrier(struct span word)
{
    static const char *const words[] = {
        "BinaryFunctor",
        "UnaryFunctor",
        "AUnaryFunctor",
        "BUnaryFunctor",
        "ReduceOp",
        "func_wrapper_t",
        "gpu_kernel_impl",
        "gpu_kernel_impl_nocast",
        "gpu_index_kernel",
        "ParallelForAgent",
        "device_unary_transform_f",
        "unary_transform_f",
        "binary_transform_f",
        "AgentReduce",
        "_kernel_agent",
        "UnaryOpFunctor",
        "BinaryOpListAlphaFunctor",
        "BinaryOpScalarFunctor",
        "PointwiseOpScalarListFunctor",
        "PointwiseOpScalarFunctor",
        "GemmUniversalAdapter",
        "uniform_and_transform",
        "normal_and_transform",
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (equals(word, words[i])) return true;
    return false;
}

/* Functions that are mere shells: what they run is their first telling argument. */
static bool is_shell(struct span function)
{
    return equals(function, "cutlass::Kernel") || equals(function, "cutlass::Kernel2") ||
           ends(function, "::device_kernel") || equals(function, "cutlass_cudnn_infer::Kernel") ||
           equals(function, "cutlass_cudnn_train::Kernel") || equals(function, "cutlass_cudnn::Kernel") ||
           ends(function, "::_kernel_agent");
}

/* Cut the next argument off ARGS. False when there is none. */
static bool next_arg(struct span *args, struct span *arg)
{
    if (!args->n) return false;
    size_t i = 0;
    while (i < args->n && args->s[i] != ',') i = strchr("<({[", args->s[i]) ? skip_nested(*args, i) : i + 1;
    *arg = trim(span_from(*args, 0, i));
    *args = span_from(*args, i < args->n ? i + 1 : i, args->n);
    return true;
}

/* The next word of ARGS that tells something, through carriers as deep as they go; empty when there is none.
 * What is left of a carrier's list after its first telling word is not looked at. */
static struct span telling_word(struct span *args)
{
    for (struct span arg; next_arg(args, &arg);) {
        if (!arg.n || !(is_word(arg.s[0]) || arg.s[0] == '(' || arg.s[0] == '{') ||
            isdigit((unsigned char)arg.s[0]))
            continue;
        struct part last = read_qualified(arg, 0).last;
        if (is_dull(last.word)) continue;
        while (is_carrier(last.word)) {
            struct span inner = last.args, found = {0}, a;
            struct part next = {0};
            while (!found.n && next_arg(&inner, &a)) {
                if (!a.n || isdigit((unsigned char)a.s[0])) continue;
                next = read_qualified(a, 0).last;
                if (!is_dull(next.word)) found = next.word;
            }
            if (!found.n) break;
            last = next;
        }
        return last.word;
    }
    return span_of(NULL, 0);
}

static void drop_prefix(struct gp_buf *b, size_t begin, const char *prefix)
{
    size_t n = strlen(prefix);
    if (b->n - begin <= n || memcmp(b->data + begin, prefix, n)) return;
    memmove(b->data + begin, b->data + begin + n, b->n - begin - n);
    b->n -= n;
}

void gp_name_kernel_label(struct gp_buf *to, const char *name, size_t n)
{
    size_t begin = to->n;
    struct span args = function_of(to, span_of(name, n));
    struct span first = telling_word(&args), second = first.n ? telling_word(&args) : span_of(NULL, 0);
    if (first.n && is_shell(span_of(to->data + begin, to->n - begin))) {
        to->n = begin;
        gp_buf_put(to, first.s, first.n);
        return;
    }
    drop_prefix(to, begin, "at::native::");
    drop_prefix(to, begin, "at_cuda_detail::");
    if (!first.n) return;
    gp_buf_putc(to, '<');
    gp_buf_put(to, first.s, first.n);
    if (second.n && !(second.n == first.n && !memcmp(second.s, first.s, first.n))) {
        gp_buf_puts(to, ", ");
        gp_buf_put(to, second.s, second.n);
    }
    gp_buf_putc(to, '>');
}

/* ---- ranges ---- */

static size_t skip_digits(struct span t, size_t i)
{
    while (i < t.n && isdigit((unsigned char)t.s[i])) i++;
    return i;
}

/* Does the text before I end in a word whose number is worth nothing to somebody who adds up? */
static bool counts_something(struct span t, size_t i)
{
    static const char *const words[] = {"step",       "iter",    "iteration", "epoch",      "batch",
                                        "microbatch", "layer",   "block",     "generation", "context",
                                        "execute",    "request", "req",       "token"};
    while (i && strchr(" #_:=-.", t.s[i - 1])) i--;
    size_t begin = i;
    while (begin && isalpha((unsigned char)t.s[begin - 1])) begin--;
    char word[16];
    if (i - begin >= sizeof word || i == begin) {
        return i - begin >= 4 && ends(span_of(t.s, i), "Step");
    }
    for (size_t k = begin; k < i; k++) word[k - begin] = (char)tolower((unsigned char)t.s[k]);
    word[i - begin] = '\0';
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (ends(span_of(word, i - begin), words[k])) return true;
    return false;
}

/* The place after a "(...)" at I that holds digits and no space: "(888_788544)". I itself when there is none. */
static size_t skip_counts(struct span t, size_t i)
{
    bool digits = false;
    if (i >= t.n || t.s[i] != '(') return i;
    for (size_t k = i + 1; k < t.n && t.s[k] != ' ' && t.s[k] != '('; k++) {
        if (t.s[k] == ')') return digits ? k + 1 : i;
        digits |= isdigit((unsigned char)t.s[k]) != 0;
    }
    return i;
}

void gp_name_range_label(struct gp_buf *to, const char *name, size_t n)
{
    struct span t = span_of(name, n);
    size_t begin = to->n;
    for (size_t i = 0; i < n;) {
        bool number = isdigit((unsigned char)name[i]) && i && !isalnum((unsigned char)name[i - 1]);
        if (!number || !(counts_something(t, i) || name[i - 1] == '#')) {
            gp_buf_putc(to, name[i++]);
            continue;
        }
        while (to->n > begin && strchr(" #_:=-.", to->data[to->n - 1])) to->n--;
        i = skip_digits(t, i);
        if (i + 1 < n && name[i] == '/' && isdigit((unsigned char)name[i + 1])) i = skip_digits(t, i + 1);
        i = skip_counts(t, i);
    }
    if (to->n == begin) gp_buf_put(to, name, n);
}

/* ---- operators ---- */

static const char BACKWARD[] = "autograd::engine::evaluate_function: ";

bool gp_name_is_backward(const char *name, size_t n)
{
    return n > strlen(BACKWARD) && starts(span_of(name, n), BACKWARD);
}

void gp_name_op_label(struct gp_buf *to, const char *name, size_t n)
{
    size_t skip = gp_name_is_backward(name, n) ? strlen(BACKWARD) : 0;
    gp_buf_put(to, name + skip, n - skip);
}

/* ---- Python ---- */

bool gp_name_is_module(const char *name, size_t n)
{
    return starts(span_of(name, n), "nn.Module: ");
}

bool gp_name_is_glue(const char *name, size_t n)
{
    static const char *const heads[] = {
        "<built-in ",
        "<frozen ",
        "<string>(",
        "runpy.py(",
        "threading.py(",
        "contextlib.py(",
        "multiprocessing/",
        "torch/nn/modules/",
        "torch/utils/_contextlib.py(",
        "torch/autograd/grad_mode.py(",
        "torch/_ops.py(",
        "torch/utils/_device.py(",
        "torch/_dynamo/eval_frame.py(",
        "torch/autograd/graph.py(",
        "torch/_jit_internal.py(",
        "torch/profiler/",
        "torch/_compile.py(",
        "torch/overrides.py(",
        "importlib/",
    };
    static const char *const tails[] = {": _call_impl",
                                        ": _wrapped_call_impl",
                                        ": decorate_context",
                                        ": <module>",
                                        ": profile_hook_step",
                                        ": wrapper",
                                        ": __call__",
                                        ": _fn",
                                        ": inner"};
    struct span t = span_of(name, n);
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        if (starts(t, heads[i])) return true;
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++)
        if (ends(t, tails[i])) return true;
    return false;
}

/* Where the package begins in "/usr/lib/python3/site-packages/torch/nn.py(3): f". */
static size_t package_of(struct span t)
{
    static const char *const marks[] = {"/site-packages/", "/dist-packages/"};
    for (size_t k = 0; k < sizeof marks / sizeof *marks; k++)
        for (size_t i = 0, m = strlen(marks[k]); i + m < t.n; i++)
            if (!memcmp(t.s + i, marks[k], m)) return i + m;
    return 0;
}

/* Append T without its " at 0x7f..." addresses. */
static void put_without_addresses(struct gp_buf *to, struct span t)
{
    for (size_t i = 0; i < t.n;) {
        if (starts(span_from(t, i, t.n), " at 0x")) {
            i += strlen(" at 0x");
            while (i < t.n && isxdigit((unsigned char)t.s[i])) i++;
        } else gp_buf_putc(to, t.s[i++]);
    }
}

void gp_name_python_label(struct gp_buf *to, const char *name, size_t n)
{
    struct span t = span_of(name, n);
    if (gp_name_is_module(name, n)) {
        size_t digits = t.n;
        while (digits && isdigit((unsigned char)t.s[digits - 1])) digits--;
        if (digits < t.n && digits && t.s[digits - 1] == '_' && digits - 1 > strlen("nn.Module: "))
            t.n = digits - 1;
        gp_buf_put(to, t.s, t.n);
        return;
    }
    put_without_addresses(to, span_from(t, package_of(t), t.n));
}
