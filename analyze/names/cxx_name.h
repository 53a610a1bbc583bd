/* cxx_name.h -- taking plain (demangled) C++ names of kernels apart. Knows nothing of labels, keys or traces;
 * works on bytes that may be anything.
 *
 *     struct gp_buf function = {0};
 *     struct gp_span args = gp_cxx_function(&function, gp_span_of(name, n)), arg, word;
 *     while ((word = gp_cxx_distinctive(&args, &arg)).n) ...      // "MulFunctor"
 *
 * Nothing is copied: spans are into the text that was given.
 */
#ifndef GP_ANALYZE_CXX_NAME_H
#define GP_ANALYZE_CXX_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include "formats/base/declare.h"

/* ---- parts of a text ---- */

struct gp_span {
    const char *s;
    size_t n;
};

static inline struct gp_span gp_span_of(const char *s, size_t n) { return (struct gp_span){s, n}; }

/* The bytes FROM to TO of T. */
static inline struct gp_span gp_span_cut(struct gp_span t, size_t from, size_t to)
{
    return (struct gp_span){from ? t.s + from : t.s, to - from}; /* T may be NULL */
}

/* T without blanks around it. */
static inline struct gp_span gp_span_trim(struct gp_span t)
{
    while (t.n && t.s[0] == ' ') t.s++, t.n--;
    while (t.n && t.s[t.n - 1] == ' ') t.n--;
    return t;
}

static inline bool gp_span_starts(struct gp_span t, const char *with)
{
    size_t n = strlen(with);
    return t.n >= n && !memcmp(t.s, with, n);
}

static inline bool gp_span_ends(struct gp_span t, const char *with)
{
    size_t n = strlen(with);
    return t.n >= n && !memcmp(t.s + t.n - n, with, n);
}

static inline bool gp_span_equals(struct gp_span t, const char *with)
{
    return t.n == strlen(with) && (!t.n || !memcmp(t.s, with, t.n));
}

/* ---- names ---- */

/* The place after the bracket that closes the one at I; the end of the text when none does. */
size_t gp_cxx_skip(struct gp_span t, size_t i);

/* Append the function of a kernel's name with its namespaces, without return type, parameters and anonymous
 * namespaces; all of T if it is not such a name. Returns the text of its template arguments; empty: none. */
struct gp_span gp_cxx_function(struct gp_buf *to, struct gp_span t);

/* Is this function only a shell (cutlass::Kernel)? What it runs is its first informative argument. */
bool gp_cxx_is_shell(struct gp_span function);

/* Cut the next argument off ARGS. False if there is none. */
bool gp_cxx_next(struct gp_span *args, struct gp_span *arg);

/* The next word of ARGS that shows which code runs, looking through wrapper types (BinaryFunctor) at any
 * depth; empty if there is none. The rest of a wrapper's list after its first informative word is ignored.
 * WHOLE (may be NULL) gets the argument of ARGS that contains the word. */
struct gp_span gp_cxx_distinctive(struct gp_span *args, struct gp_span *whole);

#endif
