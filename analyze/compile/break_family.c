#include "analyze/compile/break_family.h"

#include <stddef.h>
#include <string.h>
#include "analyze/compile/break_ids_table.h"

static const char check_breaks[] = "run again with TORCH_TRACE and compare: the break is gone";
static const char check_sync[] =
    "the break is gone, and a GPU trace no longer has cudaStreamSynchronize at this place";
static const char check_recompiles[] = "run again with TORCH_TRACE: the function is compiled once or twice";

const struct gp_break_family_row gp_break_families[GP_BREAK_FAMILY_COUNT] = {
    [GP_FAMILY_OUTPUT] =
        {"output", "printing or logging", "guard or drop it",
         "Remove the output from the compiled function, guard it with torch.compiler.is_compiling(), or "
         "name the function in torch._dynamo.config.reorderable_logging_functions",
         check_breaks, "small"},
    [GP_FAMILY_SCALAR] =
        {"scalar", "scalar from a tensor", "keep it a tensor",
         "Keep the value a tensor; if Python needs the number, set "
         "torch._dynamo.config.capture_scalar_outputs. Reading it also makes the host wait for the GPU",
         check_sync, "medium"},
    [GP_FAMILY_BRANCH] =
        {"branch", "branch on data", "torch.where/cond",
         "Replace the branch by torch.where or torch.cond, or move it out of the compiled function; no "
         "setting removes this break",
         check_sync, "medium"},
    [GP_FAMILY_SHAPE] = {"shape", "data-dependent shape", "mask or pad",
                         "Mask or pad, so that shapes do not depend on values; otherwise set "
                         "torch._dynamo.config.capture_dynamic_output_shape_ops",
                         check_sync, "medium"},
    [GP_FAMILY_ASKED] =
        {"asked", "asked for in code", "remove if unused",
         "Remove the call of graph_break() or the disable() decorator if it is a leftover; if it is wanted, "
         "move it to the edge of the compiled function",
         check_breaks, "small"},
    [GP_FAMILY_FOREIGN] = {"foreign", "foreign function", "move or wrap it",
                           "Move the call out of the compiled function, or wrap it as a custom operator "
                           "(torch.library.custom_op); a Python version of it for the compiler works as well",
                           check_breaks, "medium"},
    [GP_FAMILY_RECOMPILES] = {"recompiles", "too many recompiles", "fix its guard",
                              "Fix the guard that fails at each call: see the recompiles of this function",
                              check_recompiles, "medium"},
    [GP_FAMILY_EXCEPTION] =
        {"exception", "exception", "run it eagerly",
         "Run the function without torch.compile first: it raises an exception; raise outside the "
         "compiled function",
         check_breaks, "small"},
    [GP_FAMILY_CONTEXT] =
        {"context", "context manager", "open it outside",
         "Open the context manager outside the compiled function, or close it before the place that "
         "breaks",
         check_breaks, "small"},
    [GP_FAMILY_AUTOGRAD] =
        {"autograd", "autograd inside", "backward outside",
         "Call backward() and register hooks outside the compiled function, or use compiled autograd",
         check_breaks, "medium"},
    [GP_FAMILY_TENSOR] =
        {"tensor", "tensor or module", "leave it out",
         "Leave this module or tensor operation (recurrent, sparse, nested, changed in place) out of the "
         "compiled function and compile what is around it",
         check_breaks, "medium"},
    [GP_FAMILY_HIGHER_ORDER] =
        {"higher_order", "higher-order operator", "make it pure",
         "Make the function that is passed to the operator pure: no side effects, and the same "
         "shapes and types on all paths",
         check_breaks, "medium"},
    [GP_FAMILY_OBJECT] =
        {"object", "Python object", "simplify it",
         "Give the object plain attributes and methods instead of special ones, or read what is needed "
         "before the call",
         check_breaks, "medium"},
    [GP_FAMILY_ITERATOR] =
        {"iterator", "iterator, generator", "use a list",
         "Make a list before the call instead of advancing a generator inside the compiled function",
         check_breaks, "small"},
    [GP_FAMILY_NUMPY] = {"numpy", "NumPy", "use torch ops",
                         "Use torch operators instead, or convert before the compiled function", check_breaks,
                         "medium"},
    [GP_FAMILY_DISTRIBUTED] =
        {"distributed", "distributed", "functional calls",
         "Use functional collectives inside the compiled function; for FSDP set use_orig_params",
         check_breaks, "medium"},
    [GP_FAMILY_TRITON] =
        {"triton", "own Triton kernel", "wrap it",
         "Wrap the kernel as torch.library.triton_op, with arguments that the compiler knows", check_breaks,
         "medium"},
    [GP_FAMILY_CAUSED] = {"caused", "after another break", "fix that first",
                          "Fix the break that comes before it first: this one is its consequence",
                          check_breaks, "small"},
    [GP_FAMILY_BACKEND] = {"backend", "no fake implementation", "register one",
                           "Register a fake implementation of the operator (torch.library.register_fake)",
                           check_breaks, "medium"},
    [GP_FAMILY_COMPILER] = {"compiler", "compiler failure", "leave it out",
                            "Exclude the function with torch.compiler.disable, and report the failure with "
                            "these lines of the log",
                            check_breaks, "small"},
    [GP_FAMILY_OTHER] = {"other", "not supported", "see its hint",
                         "See the hint in the log; otherwise move the line out of the compiled function",
                         check_breaks, "medium"},
};

static const struct gp_break_id_range by_number[] = {
#define X(first, last, family) {first, last, GP_FAMILY_##family},
    GP_BREAK_IDS(X)
#undef X
};

struct words {
    const char *words;
    enum gp_break_family family;
};

/* For kinds without a number in the table, and the prose of versions that had no kinds. The first that occurs
 * counts; all in lower case. */
static const struct words by_words[] = {
    {"recompile limit", GP_FAMILY_RECOMPILES},
    {"cache limit", GP_FAMILY_RECOMPILES},
    {"cache_size_limit", GP_FAMILY_RECOMPILES},
    {"builtin: print", GP_FAMILY_OUTPUT},
    {"builtin print", GP_FAMILY_OUTPUT},
    {"logging", GP_FAMILY_OUTPUT},
    {"logger", GP_FAMILY_OUTPUT},
    {"warnings.warn", GP_FAMILY_OUTPUT},
    {"numpy", GP_FAMILY_NUMPY},
    {"np.", GP_FAMILY_NUMPY},
    {".item", GP_FAMILY_SCALAR},
    {"tolist", GP_FAMILY_SCALAR},
    {"scalar", GP_FAMILY_SCALAR},
    {"dynamic shape operator", GP_FAMILY_SHAPE},
    {"dynamic shapes", GP_FAMILY_SHAPE},
    {"unbacked", GP_FAMILY_SHAPE},
    {"nonzero", GP_FAMILY_SHAPE},
    {"data-dependent", GP_FAMILY_BRANCH},
    {"data dependent", GP_FAMILY_BRANCH},
    {"generic_jump", GP_FAMILY_BRANCH},
    {"dynamic control flow", GP_FAMILY_BRANCH},
    {"graph_break()", GP_FAMILY_ASKED},
    {"graph_break", GP_FAMILY_ASKED},
    {"disable", GP_FAMILY_ASKED},
    {"graph break in loop", GP_FAMILY_CAUSED},
    {"cannot properly resume", GP_FAMILY_CAUSED},
    {"cannot resume", GP_FAMILY_CAUSED},
    {"higher order", GP_FAMILY_HIGHER_ORDER},
    {"higher-order", GP_FAMILY_HIGHER_ORDER},
    {"torch.cond", GP_FAMILY_HIGHER_ORDER},
    {"hop", GP_FAMILY_HIGHER_ORDER},
    {"context manager", GP_FAMILY_CONTEXT},
    {"contextwrapping", GP_FAMILY_CONTEXT},
    {"with block", GP_FAMILY_CONTEXT},
    {"backward", GP_FAMILY_AUTOGRAD},
    {"autograd", GP_FAMILY_AUTOGRAD},
    {"requires_grad", GP_FAMILY_AUTOGRAD},
    {"hook", GP_FAMILY_AUTOGRAD},
    {"generator", GP_FAMILY_ITERATOR},
    {"iterator", GP_FAMILY_ITERATOR},
    {"iterable", GP_FAMILY_ITERATOR},
    {"rnn", GP_FAMILY_TENSOR},
    {"lstm", GP_FAMILY_TENSOR},
    {"sparse", GP_FAMILY_TENSOR},
    {"nested", GP_FAMILY_TENSOR},
    {"distributed", GP_FAMILY_DISTRIBUTED},
    {"process group", GP_FAMILY_DISTRIBUTED},
    {"fsdp", GP_FAMILY_DISTRIBUTED},
    {"triton", GP_FAMILY_TRITON},
    {"fake tensor", GP_FAMILY_BACKEND},
    {"faketensor", GP_FAMILY_BACKEND},
    {"meta kernel", GP_FAMILY_BACKEND},
    {"backend compiler", GP_FAMILY_COMPILER},
    {"exception", GP_FAMILY_EXCEPTION},
    {"raise", GP_FAMILY_EXCEPTION},
    {"skipfiles", GP_FAMILY_FOREIGN},
    {"skip_files", GP_FAMILY_FOREIGN},
    {"marked as skipped", GP_FAMILY_FOREIGN},
    {"builtin operator", GP_FAMILY_FOREIGN},
    {"builtin", GP_FAMILY_FOREIGN},
    {"c function", GP_FAMILY_FOREIGN},
    {"super()", GP_FAMILY_OBJECT},
    {"__", GP_FAMILY_OBJECT},
    {"attribute", GP_FAMILY_OBJECT},
    {"method", GP_FAMILY_OBJECT},
    {"object", GP_FAMILY_OBJECT},
    {"class", GP_FAMILY_OBJECT},
    {"assertionerror", GP_FAMILY_COMPILER},
    {"internal", GP_FAMILY_COMPILER},
    {"error", GP_FAMILY_COMPILER},
};

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static int contains(const char *text, const char *words)
{
    size_t n = strlen(words);
    for (; *text; text++) {
        size_t i = 0;
        while (i < n && lower(text[i]) == words[i]) i++;
        if (i == n) return 1;
    }
    return 0;
}

/* The same kind stands for printing and for any other function of C. */
static enum gp_break_family of_builtin(const char *context)
{
    return contains(context, "builtin print") || contains(context, "warnings.warn") ? GP_FAMILY_OUTPUT
                                                                                    : GP_FAMILY_FOREIGN;
}

/* The row that holds the number, or NULL. */
static const struct gp_break_id_range *row_of(int32_t number)
{
    size_t low = 0, high = sizeof by_number / sizeof *by_number;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (number < by_number[mid].first) high = mid;
        else if (number > by_number[mid].last) low = mid + 1;
        else return &by_number[mid];
    }
    return NULL;
}

size_t gp_break_ids(const struct gp_break_id_range **to)
{
    *to = by_number;
    return sizeof by_number / sizeof *by_number;
}

enum gp_break_family gp_break_family_of(int32_t number, const char *kind, const char *context)
{
    enum { BUILTIN = 59 };
    const struct gp_break_id_range *row = row_of(number);
    if (number == BUILTIN) return of_builtin(context);
    if (row) return row->family;
    if (contains(kind, "builtin operator")) return of_builtin(context);
    for (size_t i = 0; i < sizeof by_words / sizeof *by_words; i++)
        if (contains(kind, by_words[i].words)) return by_words[i].family;
    return GP_FAMILY_OTHER;
}
