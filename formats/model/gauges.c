#include "formats/model/gauges.h"

#include <stdlib.h>
#include <string.h>
#include "formats/base/hash.h"

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
