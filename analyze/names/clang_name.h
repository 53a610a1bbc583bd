/* clang_name.h -- mangled names of newer versions of clang, made readable for demanglers that do not know
 * them. A template argument whose type depends on an argument before it has its type before it, after "Tn";
 * kernels of ROCm have it, such as act_and_mul_kernel<T, T (*)(const T&)>. Works on bytes; demangles nothing
 * itself.
 *
 *     if (gp_clang_name_find(name)) {
 *         gp_clang_name_head(&head, name);             // demangle that: "void ns::f<short>()"
 *         gp_clang_name_plain(&name2, name, plain);    // and that: "void ns::f<short, short (*)(int), &g>(int)"
 *         gp_clang_name_drop(&plain2, begin, plain);   // "void ns::f<short, &g>(int)"
 *     }
 */
#ifndef GP_ANALYZE_CLANG_NAME_H
#define GP_ANALYZE_CLANG_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include "formats/base/declare.h"

/* Does the mangled NAME have a template argument with its type, and only one? */
bool gp_clang_name_find(const char *name);
/* The same function with the template arguments before that one, without parameters. */
void gp_clang_name_head(struct gp_buf *to, const char *name);
/* NAME with that type as an argument of its own, in which PLAIN, what gp_clang_name_head() stands for, gives
 * the first argument. Returns false if it cannot be written so. */
bool gp_clang_name_plain(struct gp_buf *to, const char *name, const char *plain);
/* Take that argument out of what was demangled, the bytes of TO from BEGIN on. */
void gp_clang_name_drop(struct gp_buf *to, size_t begin, const char *plain);

#endif
