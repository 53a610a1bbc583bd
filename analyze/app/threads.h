/* threads.h -- how the threads of a tool are shared among its inputs: as many inputs at once as there are
 * threads, and the threads that are left for the inside of each.
 *
 *     struct gp_threads t = gp_threads_share(opts.threads, 3);  // of 8: 3 inputs at once, 2 threads in each
 */
#ifndef GP_ANALYZE_APP_THREADS_H
#define GP_ANALYZE_APP_THREADS_H

#include <stddef.h>
#include <stdint.h>

enum { GP_MOST_WORKERS = 8, GP_MOST_THREADS = 64 };

struct gp_threads {
    size_t workers; /* inputs that are read at once, 1 to GP_MOST_WORKERS */
    int each;       /* threads of each, at least 1 */
};

/* ASKED is the value of --threads: 0 means one per processor, at most GP_MOST_WORKERS; more than
 * GP_MOST_THREADS means as many as that. INPUTS may be 0, which counts as 1. */
struct gp_threads gp_threads_share(uint64_t asked, size_t inputs);

#endif
