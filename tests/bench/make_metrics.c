/* make_metrics.c -- writes a trace with hardware counters: "make_metrics OUT" the one of
 * tests/unit/metrics_make.h, of which everything is known, "make_metrics OUT N" one of N measured launches,
 * "make_metrics OUT hostile" the first with controls in all names, and "make_metrics OUT stalls" the samples
 * of program counters of tests/unit/pc_make.h. */
#include <stdlib.h>
#include <string.h>
#include "formats/gpt/gpt_write.h"
#include "tests/unit/metrics_make.h"
#include "tests/unit/pc_make.h"

static int to_file(void *ctx, const void *data, size_t n) { return fwrite(data, 1, n, ctx) == n ? 0 : -1; }

static gp_sid hostile(struct gp_trace *t, gp_sid name)
{
    char text[80];
    snprintf(text, sizeof text,
             "%.20s\x1b[31m\xc2\x9b"
             "31m\xe2\x80\xaegnp\xe2\x80\xa8\xc2\x85\x7f\n\xff",
             gp_trace_str(t, name));
    return gp_trace_intern(t, text, strlen(text));
}

static void make_hostile(struct gp_trace *t)
{
    for (size_t i = 0; i < t->configs.n; i++) t->configs.at[i].name = hostile(t, t->configs.at[i].name);
    for (int table = 0; table < GP_TABLE_COUNT; table++)
        for (size_t i = 0; i < t->events[table].n; i++)
            if (table == GP_GPU || table == GP_RANGE)
                t->events[table].name[i] = hostile(t, t->events[table].name[i]);
}

int main(int argc, char **argv)
{
    struct gp_trace t;
    if (argc < 2) return 2;
    bool odd = argc > 2 && !strcmp(argv[2], "hostile");
    if (argc > 2 && !strcmp(argv[2], "stalls")) pc_trace(&t);
    else if (argc > 2 && !odd) mm_many(&t, strtoull(argv[2], NULL, 10));
    else mm_trace(&t);
    if (odd) make_hostile(&t);
    FILE *f = fopen(argv[1], "wb");
    if (!f) return 2;
    struct gp_gpt_writer *w = gp_gpt_writer_new(NULL, to_file, f);
    int failed = gp_gpt_begin(w) || gp_gpt_end(w, &t);
    gp_gpt_writer_free(w);
    gp_trace_release(&t);
    return fclose(f) || failed ? 2 : 0;
}
