/* fuzz_chrome.c -- hostile JSON. The first byte chooses the size of the chunks, and whether three threads
 * read them as well: the result must be the same. What is read must keep the promises of the model. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include "formats/base/err.h"
#include "formats/base/input.h"
#include "formats/chrome/chrome.h"
#include "tests/unit/trace_same.h"
#include "tests/fuzz/help/fuzz.h"
#include "tests/fuzz/help/mutate.h"
#include "tests/unit/trace_check.h"

static int read_with(struct gp_trace *t, const uint8_t *data, size_t size, int threads, size_t chunk)
{
    struct gp_read_opts opts = {.threads = threads, .need = GP_NEED_ALL};
    struct gp_err err = {0};
    struct gp_input *in = gp_input_memory(data, size, 1);
    gp_trace_init(t, GP_NEED_ALL);
    int failed = gp_chrome_read_chunked(t, in, &opts, chunk, &err);
    gp_input_close(in);
    gp_trace_finish(t);
    if (!gp_trace_check(t, &err)) return failed;
    fprintf(stderr, "fuzz_chrome: %s\n", err.msg);
    abort();
}

const struct fuzz_heads fuzz_heads = {2, 1};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gp_trace one, three;
    size_t chunk = size ? GP_CHROME_CHUNK_LEAST + data[0] * 4u : GP_CHROME_CHUNK;
    bool threads = !size || data[0] % 8 == 0; /* they cost more than what they read */
    if (size) data++, size--;
    int a = read_with(&one, data, size, 1, chunk);
    if (threads) {
        int b = read_with(&three, data, size, 3, chunk);
        if (a != b || !trace_same(&one, &three)) abort();
        gp_trace_release(&three);
    }
    gp_trace_release(&one);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    return fuzz_mutate(data, size, most, seed, fuzz_heads.size);
}
