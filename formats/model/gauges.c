#include "formats/model/gauges.h"

#include <stdlib.h>
#include <string.h>
#include "formats/base/hash.h"
#include "formats/model/trace.h"

const struct gp_gauge_info gp_gauge_infos[GP_GAUGE_COUNT] = {
#define X(id, name, unit) [id] = {name, unit},
    GP_GAUGES(X)
#undef X
};

enum gp_gauge gp_gauge_find(const char *name)
{
    unsigned i = 0;
    while (i < GP_GAUGE_COUNT && strcmp(name, gp_gauge_infos[i].name) != 0) i++;
    return (enum gp_gauge)i;
}

void gp_gauge_put(struct gp_trace *t, int64_t at_ns, uint32_t track, enum gp_gauge g, const char *name,
                  double value)
{
    const struct gp_gauge_info *info = &gp_gauge_infos[g];
    struct gp_events *e = &t->events[GP_COUNTER];
    size_t row = gp_events_add(e, at_ns, 0, track, gp_intern_cstr(&t->strings, name ? name : info->name));
    gp_set_cat(e, row, gp_intern_cstr(&t->strings, GP_GAUGE_CATEGORY));
    gp_set_series(e, row, gp_intern_cstr(&t->strings, info->unit));
    gp_set_value(e, row, value);
}

uint32_t gp_gauge_gpu(const uint8_t uuid[16], uint64_t seed)
{
    static const uint8_t none[16];
    if (!memcmp(uuid, none, sizeof none)) return 0;
    uint32_t h = (uint32_t)gp_hash_place(uuid, 16, seed);
    return h ? h : 1;
}

uint32_t gp_gauge_number(const char *args)
{
    static const char key[] = "\"" GP_GAUGE_KEY_GPU "\":";
    const char *at = args ? strstr(args, key) : NULL;
    return at ? (uint32_t)strtoul(at + strlen(key), NULL, 10) : 0;
}
