#include "analyze/compile/break_family.h"

#include "formats/base/str.h"

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
         "Open the context manager outside the compiled function, or close it before the place that breaks",
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

static const struct id_range {
    int32_t first, last;
    enum gp_break_family family;
} by_number[] = {
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
    {"recompile limit,cache limit,cache_size_limit", GP_FAMILY_RECOMPILES},
    {"builtin: print,builtin print,logging,logger,warnings.warn", GP_FAMILY_OUTPUT},
    {"numpy,np.", GP_FAMILY_NUMPY},
    {".item,tolist,scalar", GP_FAMILY_SCALAR},
    {"dynamic shape operator,dynamic shapes,unbacked,nonzero", GP_FAMILY_SHAPE},
    {"data-dependent,data dependent,generic_jump,dynamic control flow", GP_FAMILY_BRANCH},
    {"graph_break(),graph_break,disable", GP_FAMILY_ASKED},
    {"graph break in loop,cannot properly resume,cannot resume", GP_FAMILY_CAUSED},
    {"higher order,higher-order,torch.cond,hop", GP_FAMILY_HIGHER_ORDER},
    {"context manager,contextwrapping,with block", GP_FAMILY_CONTEXT},
    {"backward,autograd,requires_grad,hook", GP_FAMILY_AUTOGRAD},
    {"generator,iterator,iterable", GP_FAMILY_ITERATOR},
    {"rnn,lstm,sparse,nested", GP_FAMILY_TENSOR},
    {"distributed,process group,fsdp", GP_FAMILY_DISTRIBUTED},
    {"triton", GP_FAMILY_TRITON},
    {"fake tensor,faketensor,meta kernel", GP_FAMILY_BACKEND},
    {"backend compiler", GP_FAMILY_COMPILER},
    {"exception,raise", GP_FAMILY_EXCEPTION},
    {"skipfiles,skip_files,marked as skipped,builtin operator,builtin,c function", GP_FAMILY_FOREIGN},
    {"super(),__,attribute,method,object,class", GP_FAMILY_OBJECT},
    {"assertionerror,internal,error", GP_FAMILY_COMPILER},
};

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

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
static const struct id_range *row_of(int32_t number)
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

enum gp_break_family gp_break_family_of(int32_t number, const char *kind, const char *context)
{
    enum { BUILTIN = 59 };
    const struct id_range *row = row_of(number);
    if (number == BUILTIN) return of_builtin(context);
    if (row) return row->family;
    if (contains(kind, "builtin operator")) return of_builtin(context);
    char words[64];
    for (size_t i = 0; i < sizeof by_words / sizeof *by_words; i++)
        for (const char *at = by_words[i].words; gp_next_of(&at, ',', words, sizeof words);)
            if (contains(kind, words)) return by_words[i].family;
    return GP_FAMILY_OTHER;
}
