/* count_blocks.c -- counts the basic blocks that a program built with -fsanitize-coverage=trace-pc runs, and
 * writes the number to the file that GP_BLOCKS names. Each thread has a counter of its own: no two wait for
 * each other. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS_MOST = 4096 };

static struct {
    _Alignas(64) unsigned long long blocks;
} counters[THREADS_MOST];
static atomic_uint threads;
static _Thread_local unsigned long long *mine;

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
    if (!mine) {
        unsigned n = atomic_fetch_add(&threads, 1);
        if (n >= THREADS_MOST) abort();
        mine = &counters[n].blocks;
    }
    ++*mine;
}

__attribute__((destructor)) static void write_count(void)
{
    const char *path = getenv("GP_BLOCKS");
    FILE *f = path ? fopen(path, "w") : NULL;
    unsigned long long blocks = 0;
    if (!f) return;
    for (int i = 0; i < THREADS_MOST; i++) blocks += counters[i].blocks;
    fprintf(f, "%llu\n", blocks);
    fclose(f);
}
