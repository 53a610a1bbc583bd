#include "analyze/names/classify.h"

#include <ctype.h>
#include <regex.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/names/classify_table.h"
#include "analyze/names/names.h"
#include "analyze/names/pattern.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/base/str.h"

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
        const char *p = gp_class_patterns[i].text;
        bool hit = *p == '^' ? gp_starts(text, p + 1) : strstr(text, p) != NULL;
        if (!hit) continue;
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

const char *gp_class_name(enum gp_class c)
{
    return gp_class_words[c];
}

enum gp_class gp_class_of(enum gp_frame_kind kind)
{
    if (kind == GP_FRAME_COMMUNICATION) return GP_CLASS_COMMUNICATION;
    return kind == GP_FRAME_MEMCPY || kind == GP_FRAME_MEMSET ? GP_CLASS_MEMORY : GP_CLASS_COMPUTE;
}

const char *gp_frame_kind_word(enum gp_frame_kind kind)
{
    switch (kind) {
    case GP_FRAME_COMPUTE:
        return "compute";
    case GP_FRAME_GEMM:
        return "gemm";
    case GP_FRAME_ATTENTION:
        return "attention";
    case GP_FRAME_ELEMENTWISE:
        return "elementwise";
    case GP_FRAME_REDUCTION:
        return "reduction";
    case GP_FRAME_COMMUNICATION:
        return "communication";
    case GP_FRAME_MEMCPY:
        return "memcpy";
    case GP_FRAME_MEMSET:
        return "memset";
    default:
        return NULL;
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

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

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

enum gp_frame_kind gp_classify(const struct gp_classes *c, enum gp_gpu_kind kind, const char *name, size_t n)
{
    enum gp_frame_kind found = kind == GP_MEMCPY ? GP_FRAME_MEMCPY : GP_FRAME_MEMSET;
    if (kind != GP_KERNEL && (!c || !c->rules.n)) return found;
    struct gp_buf plain = {0};
    gp_name_demangle(&plain, name, n);
    const char *text = gp_buf_str(&plain);
    bool user = false;
    for (size_t i = 0; c && i < c->rules.n && !user; i++) {
        user = !regexec(&c->rules.at[i].regex, text, 0, NULL, 0);
        if (user) found = c->rules.at[i].kind;
    }
    if (!user && kind == GP_KERNEL) found = classify_kernel(text, plain.n);
    gp_buf_release(&plain);
    return found;
}
