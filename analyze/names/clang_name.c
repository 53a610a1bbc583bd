#include "analyze/names/clang_name.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/str.h"

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

bool gp_clang_name_find(const char *name)
{
    const char *typed = gp_starts(name, "_Z") ? next_typed(name + 2) : NULL;
    return typed && !next_typed(typed + 2);
}

void gp_clang_name_head(struct gp_buf *to, const char *name)
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

bool gp_clang_name_plain(struct gp_buf *to, const char *name, const char *plain)
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

void gp_clang_name_drop(struct gp_buf *to, size_t begin, const char *plain)
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
