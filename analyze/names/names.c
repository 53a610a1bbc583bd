#include "analyze/names/names.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/names/cxx_name.h"
#include "formats/base/buf.h"
#include "formats/base/count.h"
#include "formats/base/mem.h"
#include "formats/base/str.h"

/* ---- clang ---- */

/* Names of newer versions of clang, made readable for demanglers that do not know them: a template argument
 * whose type depends on an argument before it has its type before it, after "Tn"; kernels of ROCm have it,
 * such as act_and_mul_kernel<T, T (*)(const T&)>. */

/* ---- mangled ---- */

/* "12identifier": how long it is, 0 if it would pass the end. */
static size_t identifier(const char *s)
{
    char *end;
    unsigned long n = strtoul(s, &end, 10);
    size_t digits = (size_t)(end - s);
    return n <= strlen(end) ? digits + n : 0;
}

/* "S12_", "T_": up to the underscore. */
static size_t reference(const char *s)
{
    size_t n = 1;
    while (isdigit((unsigned char)s[n]) || isupper((unsigned char)s[n])) n++;
    return s[n] == '_' ? n + 1 : 0;
}

/* The length of what begins at S and has no other meaning inside; 0 at the end, and if it cannot be
 * understood. */
static size_t token(const char *s)
{
    if (isdigit((unsigned char)*s)) return identifier(s);
    if (*s == 'S' && s[1]) return islower((unsigned char)s[1]) ? 2 : reference(s);
    if (*s == 'T' && s[1]) return s[1] == '_' || isdigit((unsigned char)s[1]) ? reference(s) : 2;
    if (*s == 'L' && s[1] == '_' && s[2] == 'Z') return 3;
    if (*s == 'L' && islower((unsigned char)s[1])) return strcspn(s, "E") + (strchr(s, 'E') != NULL);
    return *s != '\0';
}

/* Where "Tn" stands in NAME; NULL if it does not. */
static const char *next_typed(const char *s)
{
    for (size_t n; (n = token(s)); s += n)
        if (s[0] == 'T' && s[1] == 'n') return s;
    return NULL;
}

static bool clang_name_find(const char *name)
{
    const char *typed = gp_starts(name, "_Z") ? next_typed(name + 2) : NULL;
    return typed && !next_typed(typed + 2);
}

static void clang_name_head(struct gp_buf *to, const char *name)
{
    gp_buf_put(to, name, (size_t)(next_typed(name + 2) - name));
    gp_buf_puts(to, name[2] == 'N' ? "EEvv" : "Evv"); /* no result, no parameters */
}

/* ---- plain ---- */

/* How much of S is one template argument. */
static size_t argument(const char *s)
{
    int depth = 0;
    size_t n = 0;
    for (; s[n]; n++) {
        if (strchr("(<[{", s[n])) depth++;
        if (!depth && (s[n] == ',' || s[n] == '>')) break;
        if (strchr(")>]}", s[n])) depth--;
    }
    return n;
}

/* The part of "void ns::f<A, B>()" from ns to B. */
static const char *named(const char *plain, size_t *n)
{
    static const char no_result[] = "void ";
    const char *begin = gp_starts(plain, no_result) ? plain + strlen(no_result) : plain;
    *n = strlen(begin);
    if (*n < 3 || strcmp(begin + *n - 3, ">()") != 0) return NULL;
    *n -= 3;
    return begin;
}

/* The first template argument of the function. */
static const char *first_argument(const char *plain, size_t *n)
{
    const char *begin = named(plain, n);
    if (!begin) return NULL;
    int depth = 1;
    for (size_t i = *n; i--;) {
        if (begin[i] == '>') depth++;
        if (begin[i] != '<' || --depth) continue;
        *n = argument(begin + i + 1);
        return begin + i + 1;
    }
    return NULL;
}

static bool clang_name_plain(struct gp_buf *to, const char *name, const char *plain)
{
    size_t n, step;
    const char *first = first_argument(plain, &n), *s = next_typed(name + 2);
    if (!first) return false;
    gp_buf_put(to, name, (size_t)(s - name));
    for (s += 2; (step = token(s)) && *s != 'X' && *s != 'L'; s += step) {
        if (*s == 'T' && isdigit((unsigned char)s[1])) return false; /* of an argument after the first */
        /* Named here, since an argument list cannot refer to itself; as a type that later parts can refer to,
         * as to T_. */
        if (*s == 'T' && s[1] == '_') {
            gp_buf_printf(to, "u%zu", n);
            gp_buf_put(to, first, n);
        } else {
            gp_buf_put(to, s, step);
        }
    }
    gp_buf_puts(to, s);
    return *s == 'X' || *s == 'L'; /* the value after its type */
}

static void clang_name_drop(struct gp_buf *to, size_t begin, const char *plain)
{
    size_t n;
    const char *head = named(plain, &n);
    const char *at = head ? gp_buf_str(to) + begin : NULL;
    while (at && strncmp(at, head, n) != 0) at = *at ? at + 1 : NULL;
    if (!at || !gp_starts(at + n, ", ")) return;
    size_t from = (size_t)(at - to->data) + n, less = 2 + argument(at + n + 2);
    memmove(to->data + from, to->data + from + less, to->n - from - less);
    to->n -= less;
}

/* ---- demangling ---- */

struct plain {
    struct gp_buf *to;
    size_t begin;
    jmp_buf too_long;
};

/* The demangler has no way to stop; it holds no memory, so leaving it from here is safe. */
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

/* The same for names of newer versions of clang, in a form that the demangler knows. */
static bool demangle_clang_to(struct gp_buf *to, const char *mangled)
{
    if (!clang_name_find(mangled)) return false;
    struct gp_buf head = {0}, plain = {0}, known = {0};
    size_t begin = to->n;
    clang_name_head(&head, mangled);
    bool done = demangle_to(&plain, gp_buf_str(&head)) &&
                clang_name_plain(&known, mangled, gp_buf_str(&plain)) && demangle_to(to, gp_buf_str(&known));
    if (done) clang_name_drop(to, begin, gp_buf_str(&plain));
    GP_RELEASE(gp_buf_release, &head, &plain, &known);
    return done;
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
        if (demangle_clang_to(to, mangled) && to->n > begin) return;
        to->n = begin;
    }
    gp_buf_put(to, name, n);
}

/* ---- kernel labels ---- */

void gp_name_kernel_function(struct gp_buf *to, const char *name, size_t n)
{
    gp_cxx_function(to, gp_span_of(name, n));
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
    struct gp_span args = gp_cxx_function(to, gp_span_of(name, n));
    struct gp_span first = gp_cxx_distinctive(&args, NULL),
                   second = first.n ? gp_cxx_distinctive(&args, NULL) : gp_span_of(NULL, 0);
    if (first.n && gp_cxx_is_shell(gp_span_of(to->data + begin, to->n - begin))) {
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

static size_t skip_digits(struct gp_span t, size_t i)
{
    while (i < t.n && isdigit((unsigned char)t.s[i])) i++;
    return i;
}

/* Does the text before I end in a word whose number is irrelevant when adding up? */
static bool counts_something(struct gp_span t, size_t i)
{
    static const char *const words[] = {"step",       "iter",    "iteration", "epoch",      "batch",
                                        "microbatch", "layer",   "block",     "generation", "context",
                                        "execute",    "request", "req",       "token"};
    while (i && strchr(" #_:=-.", t.s[i - 1])) i--;
    size_t begin = i;
    while (begin && isalpha((unsigned char)t.s[begin - 1])) begin--;
    char word[16];
    if (i - begin >= sizeof word || i == begin) {
        return i - begin >= 4 && gp_span_ends(gp_span_of(t.s, i), "Step");
    }
    for (size_t k = begin; k < i; k++) word[k - begin] = (char)tolower((unsigned char)t.s[k]);
    word[i - begin] = '\0';
    for (size_t k = 0; k < GP_COUNT(words); k++)
        if (gp_span_ends(gp_span_of(word, i - begin), words[k])) return true;
    return false;
}

/* The position after a "(...)" at I that contains digits and no spaces: "(888_788544)". I itself if there is
 * none. */
static size_t skip_counts(struct gp_span t, size_t i)
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
    struct gp_span t = gp_span_of(name, n);
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
    return n > strlen(BACKWARD) && gp_span_starts(gp_span_of(name, n), BACKWARD);
}

void gp_name_op_label(struct gp_buf *to, const char *name, size_t n)
{
    size_t skip = gp_name_is_backward(name, n) ? strlen(BACKWARD) : 0;
    gp_buf_put(to, name + skip, n - skip);
}

/* ---- Python ---- */

bool gp_name_is_module(const char *name, size_t n)
{
    return gp_span_starts(gp_span_of(name, n), "nn.Module: ");
}

static const char DEVICE_STUB[] = "__device_stub__"; /* what nvcc makes of a kernel on the host */

bool gp_name_is_glue(const char *name, size_t n)
{
    /* Python's own and PyTorch's; how native threads begin, and how a kernel's launch ends. */
    static const char heads[] =
        "<built-in |<frozen |<string>(|runpy.py(|threading.py(|contextlib.py(|multiprocessing/|"
        "torch/nn/modules/|torch/utils/_contextlib.py(|torch/autograd/grad_mode.py(|torch/_ops.py(|"
        "torch/utils/_device.py(|torch/_dynamo/eval_frame.py(|torch/autograd/graph.py(|"
        "torch/_jit_internal.py(|torch/profiler/|torch/_compile.py(|torch/overrides.py(|importlib/|"
        "libc.so.6+0x|libstdc++.so.6+0x|libc-start.c(|libc_start_call_main.h(|pthread_create.c(|"
        "clone.S(|clone3.S(|__libc_start_|libcudart_static_|cudaLaunchKernel";
    static const char names[] = " _start start_thread clone __clone3 clone3 execute_native_thread_routine ";
    static const char tails[] =
        ": _call_impl|: _wrapped_call_impl|: decorate_context|: <module>|: profile_hook_step|"
        ": wrapper|: __call__|: _fn|: inner|.profile_hook_step|.<locals>.wrapper|.<locals>.inner|"
        ".<locals>._fn|.<locals>._use_grad|.<locals>.maybe_fallback|.<locals>.decorate_context|"
        ": __cudaLaunchKernel_helper";
    struct gp_span t = gp_span_of(name, n);
    char part[40];
    if (gp_is_one_of(name, n, names)) return true;
    const char *colon = memchr(name, ':', n); /* "app.cu(3): __device_stub__..." */
    size_t at = colon && n - (size_t)(colon - name) > 2 ? (size_t)(colon - name) + 2 : 0;
    if (gp_span_starts(gp_span_cut(t, at, n), "_Z"))
        for (at += 2; at < n && isdigit((unsigned char)name[at]);) at++;
    if (gp_span_starts(gp_span_cut(t, at, n), DEVICE_STUB)) return true;
    for (const char *head = heads; gp_next_of(&head, '|', part, sizeof part);)
        if (gp_span_starts(t, part)) return true;
    for (const char *tail = tails; gp_next_of(&tail, '|', part, sizeof part);)
        if (gp_span_ends(t, part)) return true;
    return false;
}

/* Where the package begins in "/usr/lib/python3/site-packages/torch/nn.py(3): f". */
static size_t package_of(struct gp_span t)
{
    static const char *const marks[] = {"/site-packages/", "/dist-packages/"};
    for (size_t k = 0; k < GP_COUNT(marks); k++)
        for (size_t i = 0, m = strlen(marks[k]); i + m < t.n; i++)
            if (!memcmp(t.s + i, marks[k], m)) return i + m;
    return 0;
}

/* Append T without its " at 0x7f..." addresses. */
static void put_without_addresses(struct gp_buf *to, struct gp_span t)
{
    for (size_t i = 0; i < t.n;) {
        if (gp_span_starts(gp_span_cut(t, i, t.n), " at 0x")) {
            i += strlen(" at 0x");
            while (i < t.n && isxdigit((unsigned char)t.s[i])) i++;
        } else gp_buf_putc(to, t.s[i++]);
    }
}

/* Where the mangled name of native code begins in "app.cu(3): _Z4stepv"; the length if there is none. */
static size_t mangled_in(struct gp_span t)
{
    static const char head[] = ": _Z";
    if (gp_span_starts(t, head + 2)) return 0;
    for (size_t i = 0; i < t.n; i++)
        if (gp_span_starts(gp_span_cut(t, i, t.n), head)) return i + 2;
    return t.n;
}

void gp_name_python_label(struct gp_buf *to, const char *name, size_t n)
{
    struct gp_span t = gp_span_of(name, n);
    if (gp_name_is_module(name, n)) {
        size_t digits = t.n;
        while (digits && isdigit((unsigned char)t.s[digits - 1])) digits--;
        if (digits < t.n && digits && t.s[digits - 1] == '_' && digits - 1 > strlen("nn.Module: "))
            t.n = digits - 1;
        gp_buf_put(to, t.s, t.n);
        return;
    }
    size_t at = mangled_in(t);
    if (at < t.n) {
        struct gp_buf full = {0};
        gp_buf_put(to, t.s, at);
        gp_name_demangle(&full, t.s + at, t.n - at);
        size_t n_full = full.n, constant = strlen(" const");
        if (n_full > constant && !memcmp(gp_buf_str(&full) + n_full - constant, " const", constant))
            n_full -= constant;
        gp_name_kernel_function(to, gp_buf_str(&full), n_full);
        gp_buf_release(&full);
        return;
    }
    put_without_addresses(to, gp_span_cut(t, package_of(t), t.n));
}

void gp_name_label(struct gp_buf *to, enum gp_table table, const char *name, size_t n)
{
    struct gp_buf plain = {0};
    switch (table) {
    case GP_GPU:
        gp_name_demangle(&plain, name, n);
        gp_name_kernel_label(to, plain.data, plain.n);
        break;
    case GP_OP: gp_name_op_label(to, name, n); break;
    case GP_RANGE: gp_name_range_label(to, name, n); break;
    case GP_PYTHON: gp_name_python_label(to, name, n); break;
    default: gp_buf_put(to, name, n);
    }
    gp_buf_release(&plain);
}

/* ---- metrics ---- */

static const struct {
    const char *metric, *title;
} titles[] = {
    {"gr__cycles_active.sum.pct_of_peak_sustained_elapsed", "GPU active"},
    {"sm__cycles_active.avg.pct_of_peak_sustained_elapsed", "SMs active"},
    {"sm__inst_executed_realtime.avg.pct_of_peak_sustained_elapsed", "Issue"},
    {"sm__pipe_tensor_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed", "Tensor"},
    {"dram__bytes_read.sum", "DRAM read"},
    {"dram__bytes_op_read.sum", "DRAM read"},
    {"dram__bytes_write.sum", "DRAM written"},
    {"dram__bytes_op_write.sum", "DRAM written"},
    {"pcie__read_bytes.sum", "PCIe read"},
    {"pcie__write_bytes.sum", "PCIe written"},
};

const char *gp_metric_title(const char *name)
{
    for (size_t i = 0; i < GP_COUNT(titles); i++)
        if (!strcmp(titles[i].metric, name)) return titles[i].title;
    return NULL;
}
