/* fuzz_trace-hta.c -- one or two traces through trace-hta to each of its outputs, and saved partials through
 * --merge. */
#include <string.h>
#include "tests/fuzz/help/fuzz.h"
#include "tests/fuzz/help/mutate.h"
#include "tests/fuzz/help/tool.h"

static const struct fuzz_way ways[] = {
    {FUZZ_TEXT, {"--allow-empty", NULL}},
    {FUZZ_JSON, {"-f", "json", "--top", "0", "--each-step", "--allow-empty", NULL}},
    {FUZZ_HTML, {"-f", "html", "--each-step", NULL}},
    {FUZZ_DOT, {"-f", "dot", NULL}},
    {FUZZ_CSV, {"-f", "csv", NULL}},
    {FUZZ_CSV, {"-f", "csv", "-t", "launches", "--repair", "clip", NULL}},
    {FUZZ_TEXT, {"--top", "0", "--each-step", "--repair", "drop", "--step-marker", "Step|iter", NULL}},
    {FUZZ_JSON, {"-f", "json", "--repair", "clip", NULL}},
    {FUZZ_TEXT, {"--merge", "--allow-empty", NULL}},
    {FUZZ_JSON, {"--merge", "-f", "json", "--allow-empty", NULL}},
    {FUZZ_HTML, {"--merge", "-f", "html", NULL}},
    {FUZZ_CSV, {"--merge", "-f", "csv", NULL}},
};

/* What --merge reads need not hold sums that close: nobody measured it. */
static void check(const struct fuzz_result *r)
{
    if (r->way->form == FUZZ_JSON && strcmp(r->way->args[0], "--merge"))
        fuzz_check_hta_sums(r->output, r->output_n);
}

static const struct fuzz_tool tool = {
    .name = "trace-hta", .ways = ways, .n = sizeof ways / sizeof *ways, .head = 3, .check = check};
const struct fuzz_heads fuzz_heads = {8, 3};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return fuzz_tool_run(&tool, data, size); }

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    return fuzz_mutate(data, size, most, seed, tool.head);
}
