/* names.h -- turns recorded names into readable ones: demangled, without template and parameter lists, step
 * numbers and addresses. Works on bytes, and knows of traces only which tables they have. The full name is
 * the caller's to keep.
 *
 *     struct gp_buf full = {0}, label = {0};
 *     gp_name_demangle(&full, name, n);            // "void at::native::reduce_kernel<512, 1,
 * at::native::ReduceOp<..." gp_name_kernel_label(&label, full.data, full.n); // "reduce_kernel<MeanOps>"
 *
 * All functions append to a buffer and never fail: what cannot be understood is appended as it is. */
#ifndef GP_ANALYZE_NAMES_H
#define GP_ANALYZE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include "formats/base/declare.h"
#include "formats/model/trace.h"

/* Longer mangled names stay mangled, and so do those whose plain form would pass the second limit: a few
 * hundred mangled bytes can stand for gigabytes. */
enum { GP_NAME_MANGLED_MAX = 8192, GP_NAME_PLAIN_MAX = 1 << 16 };

/* The C++ name that a "_Z..." name stands for, with parameters; any other name unchanged. */
void gp_name_demangle(struct gp_buf *to, const char *name, size_t n);

/* The function of a demangled kernel name with its namespaces, without return type, template arguments and
 * parameters: "at::native::reduce_kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL". Classes are based on
 * it. */
void gp_name_kernel_function(struct gp_buf *to, const char *name, size_t n);

/* The label of a demangled kernel name: the function, without at::native:: and anonymous namespaces, and
 * those template arguments (two at most) that name the code it runs:
 * "vectorized_elementwise_kernel<MulFunctor>". Scalars, arrays, iterators and policies are left out. If the
 * function is only a shell (cutlass::Kernel), the label is just the argument. Different functions have
 * different labels. */
void gp_name_kernel_label(struct gp_buf *to, const char *name, size_t n);

/* The label of a range: numbers of steps, iterations, epochs, batches and layers go, and so do lists of
 * numbers in parentheses after them: "ProfilerStep#12" -> "ProfilerStep", "iter_3" -> "iter", "step 17/100"
 * -> "step". */
void gp_name_range_label(struct gp_buf *to, const char *name, size_t n);

/* The label of an operator: the autograd engine's "evaluate_function: MulBackward0" is "MulBackward0". */
void gp_name_op_label(struct gp_buf *to, const char *name, size_t n);
/* Is this operator the autograd engine at work on one node of the backward pass? */
bool gp_name_is_backward(const char *name, size_t n);

/* The label of a Python frame: the number of an nn.Module's instance goes, as do addresses of objects and
 * what comes before the package in a path. */
void gp_name_python_label(struct gp_buf *to, const char *name, size_t n);

/* The label of an event of TABLE: of a kernel's recorded name, which is demangled, of a range, an operator
 * or a Python frame; any other name as it is. */
void gp_name_label(struct gp_buf *to, enum gp_table table, const char *name, size_t n);

/* Is this Python frame a "nn.Module: X" one? */
bool gp_name_is_module(const char *name, size_t n);
/* Is this Python frame only glue: a built-in, an import or launcher frame, _call_impl and the like? */
bool gp_name_is_glue(const char *name, size_t n);

/* ---- metrics ---- */

/* What people call the hardware counters that are sampled by default. */

/* Of a metric of PerfWorks with its rollup; NULL: it has no other name. */
const char *gp_metric_title(const char *name);

#endif
