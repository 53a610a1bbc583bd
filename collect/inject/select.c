#include "collect/inject/select.h"

#include <string.h>
#include "collect/filter.h"

/* Kernels that wait for others, on this device or another: without those they never end. */
static const char *const waiting[] = {
    "nccl",      "rccl",       "nvshmem",   "deep_ep",        "cross_device_reduce", "multimem", "msccl",
    "allreduce", "all_reduce", "allgather", "reduce_scatter", "all_to_all",          "one_shot", "two_shot"};

static bool communicates(const char *name)
{
    for (size_t i = 0; i < GP_COUNT(waiting); i++)
        if (strcasestr(name, waiting[i])) return true;
    return false;
}

static uint64_t hash_of(const char *name, const uint32_t grid[3])
{
    uint64_t h = 0xcbf29ce484222325u;
    for (; *name; name++) h = (h ^ (uint8_t)*name) * 0x100000001b3u;
    for (int i = 0; i < 3; i++) h = (h ^ grid[i]) * 0x100000001b3u;
    return h;
}

enum gp_selected gp_select_launch(struct gp_select *s, const char *name, const uint32_t grid[3])
{
    if (communicates(name)) return GP_SELECT_COMMUNICATION;
    if (*s->opts->kernel && !gp_filter_name(s->opts->kernel, name)) return GP_SELECT_SKIP;
    if (s->opts->every <= 1) return GP_SELECT_MEASURE;
    uint32_t *n = gp_map_put(&s->seen, hash_of(name, grid), 0);
    return (*n)++ % s->opts->every ? GP_SELECT_SKIP : GP_SELECT_MEASURE;
}

bool gp_select_range(const struct gp_measure_opts *opts, const char *domain, const char *text, unsigned open)
{
    size_t n = strlen(domain);
    if (!*opts->range) return !open;
    if (!strcmp(opts->range, text)) return true;
    return n && !strncmp(opts->range, domain, n) && opts->range[n] == ':' &&
           !strcmp(opts->range + n + 1, text);
}

void gp_select_release(struct gp_select *s)
{
    gp_map_release(&s->seen);
}
