#include "analyze/app/threads.h"

#include <unistd.h>

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

struct gp_threads gp_threads_share(uint64_t asked, size_t inputs)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t threads =
        asked ? smaller(asked, GP_MOST_THREADS) : smaller(online < 1 ? 1 : (uint64_t)online, GP_MOST_WORKERS);
    uint64_t workers = smaller(smaller(threads, inputs ? inputs : 1), GP_MOST_WORKERS);
    return (struct gp_threads){(size_t)workers, (int)(threads / workers)};
}
