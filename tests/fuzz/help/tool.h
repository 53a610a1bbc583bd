/* tool.h -- runs the main of a tool over an input of a fuzzer, whole: options, reading, work, writing; then
 * checks what it wrote. The main is the tool's own, built under the name fuzz_main (gp_fuzz_tool() in
 * CMakeLists.txt).
 *
 *     static const struct fuzz_way ways[] = {{FUZZ_TEXT, {NULL}}, {FUZZ_JSON, {"-f", "json", NULL}}};
 *     static const struct fuzz_tool tool = {.name = "trace-hta", .ways = ways, .n = 2, .head = 3};
 *     int LLVMFuzzerTestOneInput(const uint8_t *d, size_t n) { return fuzz_tool_run(&tool, d, n); }
 *
 * An input is a byte that chooses the way, two more where the tool reads two traces (mutate.h says how), and
 * the traces. Their checksums are made right, unless the top bit of the first byte is set. With FUZZ_QUIET in
 * the environment what the tool prints on standard error is dropped: a fuzzer runs it many thousand times.
 */
#ifndef GP_TESTS_FUZZ_TOOL_H
#define GP_TESTS_FUZZ_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "tests/fuzz/help/outputs.h"

enum { FUZZ_MAX_ARGS = 10 };

struct fuzz_way {
    enum fuzz_form form;
    const char *args[FUZZ_MAX_ARGS]; /* ends with NULL */
};

/* What was read and written. */
struct fuzz_result {
    const struct fuzz_way *way;
    int status;
    const uint8_t *input; /* of one operand, or the first of two */
    size_t input_n;
    const char *output;
    size_t output_n;
};

struct fuzz_tool {
    const char *name;
    const struct fuzz_way *ways;
    unsigned n, head;
    bool pairs; /* two operands, which are the same file when there is but one */
    void (*check)(const struct fuzz_result *r); /* beyond the form, when the tool succeeded; may be NULL */
};

/* The main of the tool. */
int fuzz_main(int argc, char **argv);

/* Always 0. */
int fuzz_tool_run(const struct fuzz_tool *tool, const uint8_t *data, size_t size);

#endif
