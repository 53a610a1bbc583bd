#include "analyze/names/kernel_key.h"

#include <ctype.h>
#include <string.h>
#include "analyze/names/classify.h"
#include "analyze/names/cxx_name.h"
#include "analyze/names/kernel_key_table.h"
#include "analyze/names/name_predicates.h"
#include "analyze/names/names.h"
#include "formats/base/buf.h"
#include "formats/base/str.h"

static struct gp_span text(const char *s) { return gp_span_of(s, strlen(s)); }

static bool digit(char c) { return isdigit((unsigned char)c) != 0; }

static size_t skip_digits(struct gp_span t, size_t i)
{
    while (i < t.n && digit(t.s[i])) i++;
    return i;
}

static void put(struct gp_buf *to, struct gp_span t) { gp_buf_put(to, t.s, t.n); }

/* ---- types of data ---- */

/* The types that template arguments name: the reals in order, or otherwise the first of the others. Index
 * types appear beside reals everywhere and are not informative there. */
struct types {
    const char *reals[3];
    size_t n;
    const char *whole; /* NULL: none seen */
    /* of "OpaqueType<4>", which stands for any type of that size; counts as a real; 0: none */
    unsigned bytes;
};

static const struct type_word {
    const char *type;
    bool real;
    const char *words; /* each between blanks */
} type_words[] = {
    {"f32", true, " float "},
    {"f64", true, " double "},
    {"f16", true, " half Half __half __half2 half2 half_t nv_half "},
    {"bf16", true, " BFloat16 bfloat16 __nv_bfloat16 nv_bfloat16 bfloat16_t __hip_bfloat16 hip_bfloat16 "},
    {"tf32", true, " tfloat32_t "},
    {"f8e4m3", true, " Float8_e4m3fn __nv_fp8_e4m3 float_e4m3_t "},
    {"f8e5m2", true, " Float8_e5m2 __nv_fp8_e5m2 float_e5m2_t "},
    {"f32x2", true, " float2 "},
    {"f32x4", true, " float4 "},
    {"bool", false, " bool "},
    {"i8", false, " char int8_t "},
    {"u8", false, " uint8_t "},
    {"i16", false, " short "},
    {"i32", false, " int int32_t "},
    {"u32", false, " uint32_t "},
    {"i64", false, " long int64_t "},
    {"u64", false, " uint64_t "},
};

static const struct type_word *find_type(struct gp_span word)
{
    for (size_t i = 0; i < GP_COUNT(type_words) && word.n; i++)
        if (gp_is_one_of(word.s, word.n, type_words[i].words)) return &type_words[i];
    return NULL;
}

static void add_type(struct types *t, const struct type_word *w, bool is_complex, bool is_unsigned)
{
    const char *type = w->type;
    if (is_complex && !strcmp(type, "f32")) type = "c64";
    if (is_complex && !strcmp(type, "f64")) type = "c128";
    if (!w->real) {
        if (is_unsigned)
            type = !strcmp(type, "i8")    ? "u8"
                   : !strcmp(type, "i16") ? "u16"
                   : !strcmp(type, "i64") ? "u64"
                                          : "u32";
        if (!t->whole) t->whole = type;
        return;
    }
    for (size_t i = 0; i < t->n; i++)
        if (!strcmp(t->reals[i], type)) return;
    if (t->n < sizeof t->reals / sizeof *t->reals) t->reals[t->n++] = type;
}

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* Search template arguments and the parameters of lambdas, but not those of functions, which are the same for
 * all data types. */
static void find_types(struct types *t, struct gp_span s)
{
    bool is_complex = false, is_unsigned = false, lambda = false;
    for (size_t i = 0; i < s.n;) {
        if (s.s[i] == '(' && !lambda) {
            i = gp_cxx_skip(s, i);
            continue;
        }
        if (!is_word(s.s[i])) {
            i++;
            continue;
        }
        size_t begin = i;
        while (i < s.n && is_word(s.s[i])) i++;
        struct gp_span word = gp_span_cut(s, begin, i);
        if (gp_span_equals(word, "OpaqueType") && i + 1 < s.n && s.s[i] == '<' && digit(s.s[i + 1]) &&
            !t->bytes)
            t->bytes = (unsigned)(s.s[i + 1] - '0');
        const struct type_word *w = find_type(word);
        if (w) add_type(t, w, is_complex, is_unsigned);
        is_complex = gp_span_equals(word, "complex") || (is_complex && !w);
        is_unsigned = gp_span_equals(word, "unsigned");
        lambda = gp_span_equals(word, "lambda");
    }
}

static bool found(const struct types *t) { return t->n || t->whole || t->bytes; }

/* ---- code: C++ ---- */

enum { WORDS_MAX = 6 };

/* What template arguments come to. */
struct arguments {
    struct gp_span words[WORDS_MAX];
    bool scalar[WORDS_MAX]; /* one operand of the functor is a number */
    size_t n;
    struct types types;
};

static void add_word(struct arguments *t, struct gp_span word, struct gp_span whole)
{
    bool scalar =
        gp_contains(whole.s, whole.n, "AUnaryFunctor<") || gp_contains(whole.s, whole.n, "BUnaryFunctor<");
    for (size_t i = 0; i < t->n; i++)
        if (t->words[i].n == word.n && !memcmp(t->words[i].s, word.s, word.n)) return;
    if (t->n == WORDS_MAX) return;
    t->words[t->n] = word;
    t->scalar[t->n++] = scalar;
}

/* Is this argument the type of some data, not a structure that happens to be made of such? */
static bool is_type(struct gp_span arg)
{
    if (gp_contains(arg.s, arg.n, "OpaqueType<") || gp_contains(arg.s, arg.n, "complex<")) return true;
    return !memchr(arg.s, '(', arg.n) && !memchr(arg.s, '<', arg.n);
}

/* Types come from the informative arguments; failing that, from arguments that are types; failing that, from
 * any real type named anywhere. */
static struct arguments read_arguments(struct gp_span args)
{
    struct arguments t = {0};
    struct gp_span rest = args, whole, word, arg;
    while ((word = gp_cxx_distinctive(&rest, &whole)).n) {
        add_word(&t, word, whole);
        find_types(&t.types, whole);
    }
    bool typed = found(&t.types);
    for (rest = args; !typed && gp_cxx_next(&rest, &arg);)
        if (is_type(arg)) find_types(&t.types, arg);
    if (!found(&t.types)) {
        struct types any = {0};
        find_types(&any, args);
        any.whole = NULL;
        t.types = any;
    }
    return t;
}

static void put_item(struct gp_buf *to, struct gp_span item, bool *any)
{
    gp_buf_puts(to, *any ? ", " : "<");
    put(to, item);
    *any = true;
}

static void put_arguments(struct gp_buf *to, const struct arguments *t, size_t from)
{
    bool any = false;
    for (size_t i = from; i < t->n; i++) {
        put_item(to, t->words[i], &any);
        if (t->scalar[i]) gp_buf_puts(to, " scalar");
    }
    for (size_t i = 0; i < t->types.n; i++) put_item(to, text(t->types.reals[i]), &any);
    if (t->types.bytes) {
        const char opaque[] = {(char)('0' + t->types.bytes), 'B'};
        put_item(to, gp_span_of(opaque, sizeof opaque), &any);
    } else if (!t->types.n && t->types.whole) put_item(to, text(t->types.whole), &any);
    if (any) gp_buf_putc(to, '>');
}

/* All of PyTorch's kernels are in "at::native::", and copies of a library have different names in each of its
 * users. */
static struct gp_span without_home(struct gp_span function)
{
    for (size_t i = 0; i < GP_COUNT(gp_key_homes); i++) {
        size_t n = strlen(gp_key_homes[i]);
        if (gp_span_starts(function, gp_key_homes[i]) && function.n > n)
            return gp_span_cut(function, n, function.n);
    }
    return function;
}

static void put_plain_code(struct gp_buf *to, struct gp_span name);

/* Words that only a flag or a deeply nested name shows: the logarithm of a softmax, the direction of data. */
static void add_hidden_words(struct arguments *t, struct gp_span function, struct gp_span args)
{
    static const char *const directions[][2] = {
        {"2dFprop", "fprop"}, {"2dDgrad", "dgrad"}, {"2dWgrad", "wgrad"},
        {"3dFprop", "fprop"}, {"3dDgrad", "dgrad"}, {"3dWgrad", "wgrad"},
    };
    if (gp_contains(function.s, function.n, "softmax_warp_")) {
        struct gp_span rest = args, arg = {0};
        for (int i = 0; i < 5 && gp_cxx_next(&rest, &arg); i++) continue;
        if (gp_span_equals(arg, "true")) add_word(t, text("log"), arg);
    }
    if (gp_contains(function.s, function.n, "_scatter_gather_")) {
        add_word(t, text(gp_contains(args.s, args.n, "internal_kernel<true") ? "scatter" : "gather"), args);
        if (gp_contains(args.s, args.n, "ReduceAdd")) add_word(t, text("add"), args);
    }
    if (!t->n || !gp_span_equals(t->words[0], "ImplicitGemmConvolution")) return;
    for (size_t i = 0; i < GP_COUNT(directions); i++)
        if (gp_contains(args.s, args.n, directions[i][0])) add_word(t, text(directions[i][1]), args);
}

static void put_cxx_code(struct gp_buf *to, struct gp_span plain)
{
    struct gp_buf function = {0};
    struct gp_span args = gp_cxx_function(&function, plain);
    struct arguments t = read_arguments(args);
    struct gp_span f = gp_span_of(function.data, function.n);
    bool shell = t.n && gp_cxx_is_shell(f);
    add_hidden_words(&t, f, args);
    put_plain_code(to, shell ? t.words[0] : without_home(f));
    put_arguments(to, &t, shell);
    gp_buf_release(&function);
}

/* ---- code: names that stayed mangled ---- */

/* Cut an identifier with its length before it off T, from the first place where there is one. */
static bool next_identifier(struct gp_span *t, struct gp_span *id, bool *args_before)
{
    for (size_t i = 0; i < t->n; i++) {
        if (t->s[i] == 'I') *args_before = true;
        if (t->s[i] == 'L') { /* a literal: its digits are not a length */
            while (i < t->n && t->s[i] != 'E') i++;
            continue;
        }
        if (!digit(t->s[i]) || t->s[i] == '0') continue;
        size_t n = 0, end = skip_digits(*t, i);
        for (size_t k = i; k < end && n < t->n; k++) n = n * 10 + (size_t)(t->s[k] - '0');
        if (n > t->n - end) return false; /* cut off */
        *id = gp_span_cut(*t, end, end + n);
        *t = gp_span_cut(*t, end + n, t->n);
        return true;
    }
    return false;
}

/* The demangler has failed, mostly because the name was cut: what can be read is the function and the first
 * types that are not mere namespaces. */
static void put_mangled_code(struct gp_buf *to, struct gp_span t)
{
    struct gp_span id, rest = gp_span_cut(t, 2, t.n);
    bool args = false, any = false, listed = false;
    size_t shown = 0;
    while (shown < 2 && next_identifier(&rest, &id, &args)) {
        if (gp_span_starts(id, "_GLOBAL__N")) continue;
        if (!args) {
            if (any) gp_buf_puts(to, "::");
            put(to, id);
            any = true;
        } else if (isupper((unsigned char)id.s[0]) && any) {
            put_item(to, id, &listed);
            shown++;
        }
    }
    if (listed) gp_buf_putc(to, '>');
    if (!any) put(to, t);
}

/* ---- code: plain names ---- */

/* T without "_12" at its end. */
static struct gp_span without_number(struct gp_span t)
{
    size_t i = t.n;
    while (i && digit(t.s[i - 1])) i--;
    return i > 1 && i < t.n && t.s[i - 1] == '_' ? gp_span_cut(t, 0, i - 1) : t;
}

/* T without a trailing "_0d1d2de3c", Triton's specialisation of parameters. */
static struct gp_span without_specialisation(struct gp_span t)
{
    size_t i = t.n, letters = 0;
    while (i && (digit(t.s[i - 1]) || strchr("dec", t.s[i - 1]))) letters += t.s[--i] == 'd';
    bool is_one = i > 1 && letters && t.s[i - 1] == '_' && t.s[i] == '0';
    /* "triton__0d1d" contains nothing else */
    return is_one && t.s[i - 2] != '_' ? gp_span_cut(t, 0, i - 1) : t;
}

/* Did a compiler make this name of what it joined, and a number? Triton in PyTorch, nvFuser, TorchScript,
 * XLA. */
static bool is_numbered(struct gp_span t)
{
    struct gp_span word = without_number(t);
    if (word.n == t.n || gp_span_ends(word, "_")) return false;
    return gp_span_starts(t, GP_KERNEL_TRITON) || gp_span_starts(t, "fused_") ||
           gp_span_starts(t, "nvfuser_") || gp_span_ends(word, "fusion");
}

static void put_plain_code(struct gp_buf *to, struct gp_span t)
{
    if (gp_span_ends(t, ".kd")) t.n -= 3;
    t = without_specialisation(t);
    if (is_numbered(t)) t = without_number(t);
    for (size_t i = 0; i < t.n;) {
        if (t.n - i > 7 && t.s[i] == '0' && t.s[i + 1] == 'x') { /* an address */
            size_t end = i + 2;
            while (end < t.n && isxdigit((unsigned char)t.s[end])) end++;
            if (end - i > 7) {
                i = end;
                continue;
            }
        }
        gp_buf_putc(to, t.s[i++]);
    }
}

/* ---- code ---- */

static bool is_copy(struct gp_span t) { return gp_span_starts(t, "Memcpy ") || gp_span_starts(t, "Memset "); }

void gp_kernel_code(struct gp_buf *to, const char *name, size_t n)
{
    struct gp_buf plain = {0};
    gp_name_demangle(&plain, name, n);
    struct gp_span t = gp_span_of(plain.data, plain.n);
    size_t begin = to->n;
    if (is_copy(t)) put(to, t);
    else if (gp_span_starts(t, "_Z")) put_mangled_code(to, t);
    else if (t.n) put_cxx_code(to, t);
    if (to->n == begin) put(to, t);
    gp_buf_release(&plain);
}

/* ---- family ---- */

/* Does the word consist of PATTERN, where '#' stands for a number? */
static bool fits(struct gp_span word, const char *pattern, size_t n)
{
    size_t i = 0;
    for (size_t k = 0; k < n; k++) {
        if (pattern[k] == '#') {
            size_t end = skip_digits(word, i);
            if (end == i) return false;
            i = end;
        } else if (i >= word.n || word.s[i++] != pattern[k]) return false;
    }
    return i == word.n;
}

/* Is WORD one of a list of patterns with blanks between them? */
static bool is_listed(struct gp_span word, const char *list)
{
    while (*list) {
        size_t n = strcspn(list, " ");
        if (fits(word, list, n)) return true;
        list += n;
        while (*list == ' ') list++;
    }
    return false;
}

/* "128x64", "64x32x16", with one of these words before it, and "u2" after it. */
static bool is_tile(struct gp_span word, const char *heads)
{
    size_t head = 0;
    while (head < word.n && isalpha((unsigned char)word.s[head])) head++;
    if (head && !is_listed(gp_span_cut(word, 0, head), heads)) return false;
    size_t i = skip_digits(word, head), sides = 1;
    if (i == head) return false;
    while (i + 1 < word.n && word.s[i] == 'x' && digit(word.s[i + 1])) i = skip_digits(word, i + 1), sides++;
    if (i + 1 < word.n && word.s[i] == 'u' && digit(word.s[i + 1])) i = skip_digits(word, i + 1);
    return sides > 1 && i == word.n;
}

static const struct gp_key_library *library_of(struct gp_span t)
{
    GP_EACH_OF(const struct gp_key_library, l, gp_key_libraries, GP_COUNT(gp_key_libraries))
        if (gp_span_starts(t, l->begin) && (!l->inside || gp_contains(t.s, t.n, l->inside))) return l;
    return NULL;
}

/* The words of T except for those that L drops. Without a library, only tiles are dropped:
 * "batched_transpose_32x16_half". */
static void put_words(struct gp_buf *to, struct gp_span t, const struct gp_key_library *l)
{
    for (size_t i = 0, end; i <= t.n; i = end + 1) {
        for (end = i; end < t.n && t.s[end] != '_';) end++;
        struct gp_span word = gp_span_cut(t, i, end);
        if (i && (is_tile(word, l ? l->tiles : "") || (l && (!word.n || is_listed(word, l->drop))))) continue;
        if (i) gp_buf_putc(to, '_');
        put(to, word);
    }
}

/* Collectives: "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", before NCCL 2.19
 * "ncclKernel_AllReduce_RING_LL_Sum_float". Those that only move bytes have an operation and a type as well
 * in old names, which are not theirs. */
static void put_collective(struct gp_buf *to, struct gp_span t)
{
    static const char drop[] =
        "RING TREE COLLNET COLLNETDIRECT COLLNETCHAIN COLLNET_DIRECT NVLS NVLSTREE PAT LL LL128 SIMPLE "
        "DIRECT CHAIN";
    bool reduces = gp_contains(t.s, t.n, "Reduce");
    gp_buf_puts(to, "nccl");
    size_t i = 0;
    while (i < t.n && t.s[i] != '_') i++;
    for (size_t end, at = 0; i < t.n; i = end, at++) {
        for (end = ++i; end < t.n && t.s[end] != '_';) end++;
        struct gp_span word = gp_span_cut(t, i, end);
        if (!word.n || is_listed(word, drop) || (at && !reduces)) continue;
        gp_buf_putc(to, '_');
        const struct type_word *type = find_type(word);
        if (type) gp_buf_puts(to, type->type);
        else put(to, word);
    }
}

/* AMD's names: everything after the tile is implementation; "igemm_fwd_gtcx3_nhwc_bf16_bx0..." names the
 * operation in its first words. */
static bool put_amd(struct gp_buf *to, struct gp_span t)
{
    if (gp_span_starts(t, "Cijk_")) {
        struct gp_buf what = {0};
        for (size_t i = 0; i < t.n && !gp_span_starts(gp_span_cut(t, i, t.n), "_MT"); i++)
            gp_buf_putc(&what, t.s[i]);
        struct gp_span w = gp_span_of(what.data, what.n);
        if (gp_span_ends(w, "_UserArgs")) w.n -= strlen("_UserArgs");
        put(to, w);
        gp_buf_release(&what);
        return true;
    }
    if (!gp_span_starts(t, "igemm_")) return false;
    size_t i = 0;
    for (int words = 0; i < t.n; i++)
        if (t.s[i] == '_' && ++words == 5) break;
    static const struct gp_key_library igemm = {.tiles = "", .drop = "gtc gtcx gtcx#"};
    put_words(to, gp_span_cut(t, 0, i), &igemm);
    return true;
}

static struct gp_span family_of(struct gp_span function)
{
    for (size_t i = 0; i < GP_COUNT(gp_key_variants) && function.n; i++)
        if (gp_is_one_of(function.s, function.n, gp_key_variants[i].names))
            return text(gp_key_variants[i].family);
    return function;
}

/* The family of a code: of its function and then, unchanged, its arguments. */
static void put_family(struct gp_buf *to, struct gp_span code)
{
    size_t end = 0;
    while (end < code.n && code.s[end] != '<' && code.s[end] != '(') end++;
    struct gp_span function = gp_span_cut(code, 0, end), args = gp_span_cut(code, end, code.n);
    if (is_copy(code)) {
        put(to, gp_span_trim(function)); /* without "(Device -> Pageable)" */
        return;
    }
    if (gp_span_starts(function, "nccl") && memchr(function.s, '_', function.n)) put_collective(to, function);
    else if (gp_span_starts(function, "triton_per_")) {
        gp_buf_puts(to, "triton_red_"); /* the same with the whole row at once */
        put(to, gp_span_cut(function, strlen("triton_per_"), function.n));
    } else if (gp_span_starts(function, GP_KERNEL_TRITON)) put(to, function);
    else if (!put_amd(to, function)) {
        struct gp_span family = family_of(function);
        if (family.s != function.s) put(to, family);
        else put_words(to, function, library_of(function));
    }
    put(to, args);
}

void gp_kernel_family(struct gp_buf *to, const char *name, size_t n)
{
    struct gp_buf code = {0};
    gp_kernel_code(&code, name, n);
    size_t begin = to->n;
    put_family(to, gp_span_of(code.data, code.n));
    if (to->n == begin) gp_buf_put(to, code.data, code.n);
    gp_buf_release(&code);
}

/* ---- form ---- */

/* Words that libraries use for their compute types. */
static bool is_type_word(struct gp_span word) { return is_listed(word, gp_key_types); }

/* "sgemm", "hgemm", "dgemm" and so on are gemm. */
static struct gp_span without_precision(struct gp_span word)
{
    bool one = word.n == strlen("sgemm") && strchr("sdhcz", word.s[0]) && gp_span_ends(word, "gemm");
    return one ? gp_span_cut(word, 1, word.n) : word;
}

static void put_form(struct gp_buf *to, struct gp_span family)
{
    size_t end = 0, begin = to->n;
    while (end < family.n && family.s[end] != '<') end++;
    for (size_t i = 0, stop; i <= end; i = stop + 1) {
        for (stop = i; stop < end && family.s[stop] != '_';) stop++;
        struct gp_span word = gp_span_cut(family, i, stop);
        if (i && is_type_word(word)) continue;
        if (i) gp_buf_putc(to, '_');
        put(to, without_precision(word));
    }
    if (end == family.n || to->n == begin) return;
    struct gp_span rest = gp_span_cut(family, end + 1, family.n - (family.s[family.n - 1] == '>')), arg;
    bool any = false;
    while (gp_cxx_next(&rest, &arg))
        if (!is_type_word(arg) && !find_type(arg)) put_item(to, arg, &any);
    if (any) gp_buf_putc(to, '>');
}

void gp_kernel_form(struct gp_buf *to, const char *name, size_t n)
{
    struct gp_buf family = {0};
    gp_kernel_family(&family, name, n);
    size_t begin = to->n;
    if (family.n) put_form(to, gp_span_of(family.data, family.n));
    if (to->n == begin) gp_buf_put(to, family.data, family.n);
    gp_buf_release(&family);
}

bool gp_kernel_is_helper(const char *name, size_t n)
{
    struct gp_span t = gp_span_of(name, n);
    for (size_t i = 0; i < GP_COUNT(gp_key_helpers); i++)
        if (gp_contains(t.s, t.n, gp_key_helpers[i])) return true;
    return false;
}

/* ---- role ---- */

/* "", "forward", "backward", "optimizer" */
static const char *phase_word(enum gp_phase phase)
{
    static const char *const words[] = {"", "forward", "backward", "optimizer"};
    return words[phase];
}

/* "aten::add_" is add in place; "AddmmBackward0" is the backward pass of addmm. */
static void put_operator(struct gp_buf *to, struct gp_span op)
{
    size_t i = op.n;
    while (i && op.s[i - 1] != ':') i--;
    op = without_number(gp_span_cut(op, i, op.n));
    size_t n = op.n;
    while (n && digit(op.s[n - 1])) n--;
    bool backward = n > strlen("Backward") && gp_span_ends(gp_span_cut(op, 0, n), "Backward");
    n = backward ? n - strlen("Backward") : op.n;
    while (n > 1 && op.s[n - 1] == '_') n--;
    for (size_t k = 0; k < n; k++)
        gp_buf_putc(to, k || !backward ? op.s[k] : (char)tolower((unsigned char)op.s[0]));
}

void gp_kernel_role(struct gp_buf *to, enum gp_frame_kind kind, const char *op, size_t n, enum gp_phase phase)
{
    const char *word = gp_frame_kind_word(kind);
    gp_buf_puts(to, word ? word : "other");
    if (n) {
        gp_buf_putc(to, ' ');
        put_operator(to, gp_span_of(op, n));
    }
    if (phase != GP_PHASE_UNKNOWN) {
        gp_buf_putc(to, ' ');
        gp_buf_puts(to, phase_word(phase));
    }
}

bool gp_kernel_is_fused(const char *name, size_t n)
{
    struct gp_span t = gp_span_of(name, n);
    if (gp_span_starts(t, GP_KERNEL_TRITON)) return gp_contains(t.s, t.n, "_fused");
    if (gp_span_starts(t, "fused_")) return without_number(t).n < n;
    return gp_span_starts(t, "nvfuser_") || gp_span_ends(without_number(t), "fusion");
}
