#include "analyze/fleet/topk.h"

#include <string.h>
#include "analyze/result/keep.h"

int gp_fleet_key_compare(struct gp_fleet_key a, struct gp_fleet_key b)
{
    if (a.rank != b.rank) return a.rank < b.rank ? -1 : 1;
    return (a.tag > b.tag) - (a.tag < b.tag);
}

static bool comes_before(const struct gp_topk_entry *a, const struct gp_topk_entry *b)
{
    if (a->value != b->value) return a->value > b->value;
    return gp_fleet_key_compare(a->key, b->key) < 0;
}

void gp_topk_add(struct gp_topk *w, int64_t value, struct gp_fleet_key key)
{
    struct gp_topk_entry e = {value, key};
    uint32_t at = w->n;
    while (at && comes_before(&e, &w->at[at - 1])) at--;
    if (at >= w->most) return;
    uint32_t moved = w->n < w->most ? w->n - at : w->n - at - 1;
    memmove(w->at + at + 1, w->at + at, moved * sizeof *w->at);
    w->at[at] = e;
    if (w->n < w->most) w->n++;
}

void gp_topk_merge(struct gp_topk *to, const struct gp_topk *from)
{
    for (uint32_t i = 0; i < from->n; i++) gp_topk_add(to, from->at[i].value, from->at[i].key);
}

bool gp_topk_has(const struct gp_topk *w, struct gp_fleet_key key)
{
    for (uint32_t i = 0; i < w->n; i++)
        if (!gp_fleet_key_compare(w->at[i].key, key)) return true;
    return false;
}

/* ---- saving ---- */

static const struct gp_field key_fields[] = {
    {.at = offsetof(struct gp_fleet_key, rank), .keep = GP_KEEP_I32},
    {.at = offsetof(struct gp_fleet_key, tag), .keep = GP_KEEP_U32},
};
const struct gp_record gp_fleet_keys = {"keys", "Members", GP_FIELDS(key_fields),
                                        .size = sizeof(struct gp_fleet_key)};

static const struct gp_field entry_fields[] = {
    {.at = offsetof(struct gp_topk_entry, value), .keep = GP_KEEP_I64},
    {.type = GP_CELL_PART, .at = offsetof(struct gp_topk_entry, key), .rows = &gp_fleet_keys},
};
static const struct gp_record entries = {"entries", "Entries", GP_FIELDS(entry_fields),
                                         .size = sizeof(struct gp_topk_entry)};

void gp_topk_serialize(struct gp_serializer *x, struct gp_topk *w)
{
    uint32_t n = w->n;
    gp_serialize_u32(x, &n);
    if (n > w->most) x->failed = true;
    for (uint32_t i = 0; i < n && !x->failed; i++) {
        struct gp_topk_entry e = {0};
        if (x->save) e = w->at[i];
        gp_record_serialize(x, &entries, &e);
        if (!x->save) gp_topk_add(w, e.value, e.key);
    }
}
