/* fuzz_gpt.c -- hostile binary traces. An input whose first byte is odd gets right checksums before it is
 * read, or hardly any would come further than that. What is read must keep the promises of the model and
 * survive a round trip. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/gpt/gpt.h"
#include "formats/gpt/gpt_write.h"
#include "formats/reader.h"
#include "tests/fuzz/help/fuzz.h"
#include "tests/fuzz/help/mend.h"
#include "tests/fuzz/help/mutate.h"
#include "tests/unit/trace_check.h"

static int to_buf(void *ctx, const void *data, size_t n)
{
    gp_buf_put(ctx, data, n);
    return 0;
}

/* Does the trace keep what trace.h promises? */
static void check(const struct gp_trace *t)
{
    struct gp_err err = {0};
    if (!gp_trace_check(t, &err)) return;
    fprintf(stderr, "fuzz_gpt: %s\n", err.msg);
    abort();
}

static void write_and_read(struct gp_trace *t)
{
    struct gp_buf file = {0};
    struct gp_gpt_writer *w = gp_gpt_writer_new(NULL, to_buf, &file);
    struct gp_read_opts opts = {.threads = 1};
    struct gp_trace back;
    if (gp_gpt_begin(w) || gp_gpt_end(w, t)) abort();
    gp_gpt_writer_free(w);
    if (gp_trace_read_memory(&back, file.data, file.n, &opts, NULL)) abort();
    for (int i = 0; i < GP_TABLE_COUNT; i++)
        if (back.events[i].n != t->events[i].n) abort();
    if (back.issues[GP_Q_BAD_BLOCK].count) abort();
    if (back.stacks.n != t->stacks.n || back.symbols.n != t->symbols.n || back.paces.n != t->paces.n) abort();
    check(&back);
    gp_trace_release(&back);
    gp_buf_release(&file);
}

const struct fuzz_heads fuzz_heads = {2, 1};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gp_read_opts opts = {.threads = 1};
    struct gp_trace t;
    if (size < 1) return 0;
    uint8_t *copy = malloc(size);
    memcpy(copy, data + 1, size - 1);
    if (data[0] & 1) fuzz_mend(copy, size - 1);
    if (!gp_trace_read_memory(&t, copy, size - 1, &opts, NULL)) {
        check(&t);
        memset(t.issues, 0, sizeof t.issues);
        write_and_read(&t);
        gp_trace_release(&t);
    }
    free(copy);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    return fuzz_mutate(data, size, most, seed, fuzz_heads.size);
}
