/* make_metrics.c -- writes a trace with hardware counters: "make_metrics OUT" the one of tests/unit/metrics_make.h, of which
 * everything is known, "make_metrics OUT N" one of N measured launches. */
#include <stdlib.h>
#include "formats/gpt/gpt_write.h"
#include "tests/unit/metrics_make.h"

static int to_file(void *ctx, const void *data, size_t n)
{
    return fwrite(data, 1, n, ctx) == n ? 0 : -1;
}

int main(int argc, char **argv)
{
    struct gp_trace t;
    if (argc < 2) return 2;
    if (argc > 2) mm_many(&t, strtoull(argv[2], NULL, 10));
    else mm_trace(&t);
    FILE *f = fopen(argv[1], "wb");
    if (!f) return 2;
    struct gp_gpt_writer *w = gp_gpt_writer_new(NULL, to_file, f);
    int failed = gp_gpt_begin(w) || gp_gpt_end(w, &t);
    gp_gpt_writer_free(w);
    gp_trace_release(&t);
    return fclose(f) || failed ? 2 : 0;
}
