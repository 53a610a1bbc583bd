/* classify.h -- THE class table of the suite: the purpose of a kernel, copy or set. Copies and sets are
 * memory by their record kind, whatever their name. Kernels are classified by the name of their function, so
 * an elementwise kernel with a template argument "ReduceOp" stays elementwise.
 *
 *     struct gp_classes c = {0};                                  // the built-in table
 *     if (gp_classes_parse(&c, text, n, &err)) ...          // and the user's rules, which take precedence
 *     enum gp_frame_kind kind = gp_classify(&c, gp_gpu_config(&trace, row)->kind, name, n);
 *     if (gp_class_of(kind) == GP_CLASS_COMMUNICATION) ...
 *
 * A call searches the whole table: callers with many events cache the result per config.
 */
#ifndef GP_ANALYZE_CLASSIFY_H
#define GP_ANALYZE_CLASSIFY_H

#include <stddef.h>
#include <stdint.h>
#include "analyze/names/frame_kind.h"
#include "formats/base/declare.h"
#include "formats/model/trace.h"

enum gp_class { GP_CLASS_COMPUTE, GP_CLASS_COMMUNICATION, GP_CLASS_MEMORY, GP_CLASS_COUNT };

/* "compute", "communication", "memory" */
const char *gp_class_name(enum gp_class c);
/* The class of a kind of GPU frame. Kinds that are not GPU work are compute. */
enum gp_class gp_class_of(enum gp_frame_kind kind);
/* "gemm", "attention", "elementwise", "reduction", "compute", "communication", "memcpy", "memset"; the words
 * of the user's file are these and those of gp_class_name. NULL for kinds that are not GPU work. */
const char *gp_frame_kind_word(enum gp_frame_kind kind);
/* All words of either, NULL at the end. */
extern const char *const gp_class_words[], *const gp_frame_kind_words[];

/* The user's rules; zeroed: none. */
struct gp_classes {
    GP_VEC(struct gp_class_rule) rules;
};

/* Add the rules of a text: a line is a POSIX extended regular expression, which ignores case and looks for
 * its match anywhere in the full name, blanks, and a word for the class: "my_(all|reduce).*kernel
 * communication". Empty lines and lines that begin with '#' are skipped. Earlier rules win. On failure, -1
 * with ERR naming the line, nothing is added. */
GP_MUST_CHECK int gp_classes_parse(struct gp_classes *c, const char *text, size_t n, struct gp_err *err);
void gp_classes_release(struct gp_classes *c);

/* Classify a GPU event of that record kind and name. NAME is as recorded, mangled or not. C may be NULL. Only
 * a user's rule can class a kernel as memory, or a copy or set as anything else. */
enum gp_frame_kind gp_classify(const struct gp_classes *c, enum gp_gpu_kind kind, const char *name, size_t n);
/* The same of a configuration of T; where the name says nothing, XLA's category of the operation does. */
enum gp_frame_kind gp_classify_config(const struct gp_classes *c, const struct gp_trace *t,
                                      const struct gp_config *config);

#endif
