/* Which names have rows of their own where there are too many. */
#include <stdlib.h>
#include <string.h>
#include "analyze/hta/hta_priv.h"

enum { NAMES_MOST = 768, NAME_BYTES_MOST = 96 << 10 };

static bool is_fixed(const struct gp_hta *h, gp_sid name)
{
    return !name || !strcmp(gp_hta_str(h, name), GP_HTA_OTHER);
}

/* Never 0 and never the largest: these mean no limit. */
static uint64_t hash_of(const struct gp_hta *h, gp_sid name, gp_sid shapes)
{
    uint64_t hash = gp_string_hash(&h->strings, name) ^
                    (shapes ? gp_string_hash(&h->strings, shapes) * 0x9e3779b97f4a7c15u : 0);
    return hash < 2 ? 2 : hash;
}

void gp_hta_names_add_pair(struct gp_hta_names *names, const struct gp_hta *h, gp_sid name, gp_sid shapes)
{
    if (is_fixed(h, name)) return;
    size_t bytes = gp_string_len(&h->strings, name) + gp_string_len(&h->strings, shapes);
    GP_VEC_PUSH(names, ((struct gp_hta_name_hash){hash_of(h, name, shapes), bytes}));
}

void gp_hta_names_add(struct gp_hta_names *names, const struct gp_hta *h, gp_sid name)
{
    gp_hta_names_add_pair(names, h, name, 0);
}

static int by_hash(const void *a, const void *b)
{
    const struct gp_hta_name_hash *x = a, *y = b;
    if (x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

bool gp_hta_names_cut(struct gp_hta_names *names, uint64_t *limit)
{
    size_t bytes = 0, kept = 0;
    uint64_t before = *limit;
    if (names->n) qsort(names->at, names->n, sizeof *names->at, by_hash);
    for (; kept < names->n && (!*limit || names->at[kept].hash < *limit); kept++) {
        bytes += names->at[kept].bytes;
        if (kept >= NAMES_MOST || bytes > NAME_BYTES_MOST) *limit = names->at[kept].hash;
    }
    bool any = *limit && names->n && names->at[names->n - 1].hash >= *limit;
    GP_VEC_FREE(names);
    return any || *limit != before;
}

bool gp_hta_pair_kept(const struct gp_hta *h, gp_sid name, gp_sid shapes, uint64_t limit)
{
    return is_fixed(h, name) || !limit || hash_of(h, name, shapes) < limit;
}

gp_sid gp_hta_names_kept(struct gp_hta *h, gp_sid name, uint64_t limit)
{
    return gp_hta_pair_kept(h, name, 0, limit) ? name : gp_intern_cstr(&h->strings, GP_HTA_OTHER);
}
