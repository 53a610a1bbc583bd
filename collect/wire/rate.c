#include "collect/wire/rate.h"

#include <string.h>

static const int64_t PART_NS = 100000000;

void gp_rate_init(struct gp_rate *r, uint64_t limit)
{
    memset(r, 0, sizeof *r);
    r->limit = limit;
}

bool gp_rate_add(struct gp_rate *r, int64_t now_ns, uint64_t n)
{
    int64_t part = now_ns / PART_NS;
    if (part - r->part >= GP_RATE_PARTS) {
        memset(r->n, 0, sizeof r->n);
        r->part = part;
    }
    while (r->part < part) r->n[++r->part % GP_RATE_PARTS] = 0;
    r->n[r->part % GP_RATE_PARTS] += n;
    uint64_t sum = 0;
    for (int i = 0; i < GP_RATE_PARTS; i++) sum += r->n[i];
    return sum > r->limit;
}
