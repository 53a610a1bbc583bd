/* break_family.h -- kinds of graph breaks: what we say about each, how much work it takes, and how to check
 * that it is gone. The numbers of the compiler's registry map to them, because a kind's text changes while
 * its number stays; a kind that has no number, or a new one, is recognized by words in its text. Nothing of
 * the registry's texts is kept here.
 *
 *     enum gp_break_family f = gp_break_family_of(124, "Unsupported Tensor.item() call", "");
 *     puts(gp_break_families[f].action);
 */
#ifndef GP_ANALYZE_BREAK_FAMILY_H
#define GP_ANALYZE_BREAK_FAMILY_H

#include <stddef.h>
#include <stdint.h>
#include "formats/base/declare.h"

/* X(enum, JSON name) */
#define GP_BREAK_FAMILIES(X)                                                                                 \
    X(GP_FAMILY_OUTPUT, "output")                                                                            \
    X(GP_FAMILY_SCALAR, "scalar")                                                                            \
    X(GP_FAMILY_BRANCH, "branch")                                                                            \
    X(GP_FAMILY_SHAPE, "shape")                                                                              \
    X(GP_FAMILY_ASKED, "asked")                                                                              \
    X(GP_FAMILY_FOREIGN, "foreign")                                                                          \
    X(GP_FAMILY_RECOMPILES, "recompiles")                                                                    \
    X(GP_FAMILY_EXCEPTION, "exception")                                                                      \
    X(GP_FAMILY_CONTEXT, "context")                                                                          \
    X(GP_FAMILY_AUTOGRAD, "autograd")                                                                        \
    X(GP_FAMILY_TENSOR, "tensor")                                                                            \
    X(GP_FAMILY_HIGHER_ORDER, "higher_order")                                                                \
    X(GP_FAMILY_OBJECT, "object")                                                                            \
    X(GP_FAMILY_ITERATOR, "iterator")                                                                        \
    X(GP_FAMILY_NUMPY, "numpy")                                                                              \
    X(GP_FAMILY_DISTRIBUTED, "distributed")                                                                  \
    X(GP_FAMILY_TRITON, "triton")                                                                            \
    X(GP_FAMILY_CAUSED, "caused")                                                                            \
    X(GP_FAMILY_BACKEND, "backend")                                                                          \
    X(GP_FAMILY_COMPILER, "compiler")                                                                        \
    X(GP_FAMILY_OTHER, "other")

enum gp_break_family { GP_BREAK_FAMILIES(GP_FIRST) GP_BREAK_FAMILY_COUNT };

struct gp_break_family_row {
    const char *name;   /* "branch" */
    const char *title;  /* "branch on data" */
    const char *brief;  /* what to do, in a few words */
    const char *action; /* the same in a sentence */
    const char *check;  /* how to see that it is gone */
    const char *effort; /* "small", "medium", "large" */
};
extern const struct gp_break_family_row gp_break_families[GP_BREAK_FAMILY_COUNT];

/* NUMBER is that of the registry, -1 for none; KIND and CONTEXT are the log's words, never NULL. */
enum gp_break_family gp_break_family_of(int32_t number, const char *kind, const char *context);

#endif
