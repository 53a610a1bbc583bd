#include "collect/inject/select.h"

#include <stdlib.h>
#include <string.h>
#include "collect/wire/filter.h"

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

static enum gp_selected judge(const struct gp_select *s, const char *name)
{
    if (communicates(name)) return GP_SELECT_COMMUNICATION;
    return *s->opts->kernel && !gp_filter_name(s->opts->kernel, name) ? GP_SELECT_SKIP : GP_SELECT_MEASURE;
}

/* What NAME stands for, found once: names are long, and each launch asks. They lie in modules; when one is
 * unloaded, another name may come to lie there, so the text is compared. */
static enum gp_selected judged(struct gp_select *s, const char *name)
{
    uint32_t *at = gp_map_put(&s->known_at, (uint64_t)(uintptr_t)name, UINT32_MAX);
    if (*at != UINT32_MAX && !strcmp(s->known.at[*at].name, name)) return s->known.at[*at].verdict;
    struct gp_select_name k = {strdup(name), judge(s, name)};
    if (!k.name) return k.verdict;
    if (*at == UINT32_MAX) {
        *at = (uint32_t)s->known.n;
        GP_VEC_PUSH(&s->known, k);
    } else {
        free(s->known.at[*at].name);
        s->known.at[*at] = k;
    }
    return k.verdict;
}

enum gp_selected gp_select_launch(struct gp_select *s, const char *name, const uint32_t grid[3])
{
    enum gp_selected verdict = judged(s, name);
    if (verdict != GP_SELECT_MEASURE || s->opts->every <= 1) return verdict;
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
