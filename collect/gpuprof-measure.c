/* gpuprof-measure -- measures the ceilings of a GPU, or operations over their sizes. */
#include <unistd.h>
#include "formats/base/err.h"
#include "render/measure/command.h"
#include "formats/base/cli.h"

struct opts {
    const char *output;
    bool quiet;
    struct gp_calibrate_opts measure;
};

static const struct gp_option options[] = {
    {'o', "output", "FILE", "write the document to FILE instead of standard output", GP_OPT_STRING,
     offsetof(struct opts, output)},
    {'f', "format", "text|json|svg|html", "with --op: output format (default: text)", GP_OPT_CHOICE,
     offsetof(struct opts, measure.format)},
    {'q', "quiet", NULL, "print errors only", GP_OPT_FLAG, offsetof(struct opts, quiet)},
    {0, "calibrate", "quick|full",
     "measure the ceilings of the device; write JSON to standard output or FILE, and a table to the terminal "
     "(default: quick, without --op)",
     GP_OPT_MAYBE, offsetof(struct opts, measure.calibrate)},
    {0, "compare", "FILE|sheet|siblings",
     "exit with 1 if a ceiling is lower than in FILE, in the data sheet, or on the other devices",
     GP_OPT_STRING, offsetof(struct opts, measure.compare)},
    {0, "tolerance", "PERCENT", "with --compare: how much lower a figure may be (default: 5%)",
     GP_OPT_PERCENT, offsetof(struct opts, measure.tolerance)},
    {0, "device", "LIST", "measure only these devices (default: all; --op: 0)", GP_OPT_STRING,
     offsetof(struct opts, measure.device)},
    {0, "force", NULL, "measure even a device that is in use, partitioned or capped", GP_OPT_FLAG,
     offsetof(struct opts, measure.force)},
    {0, "op", "NAME[,NAME...]",
     "measure operations over their sizes: copy, fill, add, exp, cos, sum, softmax, layernorm, transpose, "
     "matmul",
     GP_OPT_STRING, offsetof(struct opts, measure.op)},
    {0, "sizes", "SIZES",
     "with --op: numbers of elements, FROM:TO:xFACTOR, FROM:TO:+STEP or a list (default: 1K:1G:x2)",
     GP_OPT_STRING, offsetof(struct opts, measure.sizes)},
    {0, "dtype", "TYPE", "with --op: fp32, fp16, bf16; matmul also: tf32, fp64, fp8, int8 (default: fp32)",
     GP_OPT_STRING, offsetof(struct opts, measure.type)},
    {0},
};

static const char name[] = "gpuprof-measure";

static void say(const char *message) { gp_cli_warn(&(struct gp_tool){.name = name}, "%s", message); }

static void stay_silent(const char *message) { (void)message; }

int main(int argc, char **argv)
{
    struct gp_tool tool = {
        .name = name,
        .summary = "measure what a GPU can do: its ceilings, or operations over their sizes",
        .operands = "",
        .example = "gpuprof-measure -o ceilings.json\n"
                   "gpuprof-measure --compare last-month.json\n"
                   "gpuprof-measure --op copy,softmax --dtype bf16 -f html > sweep.html\n",
        .options = options,
    };
    struct opts opts = {.measure = {.tolerance = 5}};
    struct gp_common_opts common = {.color = "auto"};
    struct gp_err err = {0};
    if (gp_cli_parse(&tool, argc, argv, &opts)) return tool.status;
    struct gp_calibrate_io io = {.output = opts.output,
                                 .quiet = opts.quiet,
                                 .color = gp_cli_color(&common, STDOUT_FILENO),
                                 .width = gp_cli_width(0, STDOUT_FILENO),
                                 .terminal = isatty(STDOUT_FILENO),
                                 .progress = opts.quiet ? stay_silent : say};
    int status = gp_calibrate_command(&opts.measure, &io, &err);
    if (err.code) gp_cli_error(&tool, &err);
    return status;
}
