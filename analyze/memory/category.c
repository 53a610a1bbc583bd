/* What blocks hold: as recorded, otherwise a guess from the times of allocation and free. */
#include <string.h>
#include "analyze/memory/memory_priv.h"
#include "formats/base/str.h"

GP_WORD(gp_category_name, enum gp_category, GP_CATEGORIES, 1)
GP_WORD(gp_category_text, enum gp_category, GP_CATEGORIES, 2)

static enum gp_category recorded_as(const char *word)
{
    for (int c = GP_CAT_PARAMETER; c < GP_CAT_MIXED; c++) {
        const char *name = gp_category_name((enum gp_category)c);
        size_t i = 0;
        while (name[i] && (word[i] | 32) == (name[i] | 32)) i++;
        if (!name[i] && !word[i]) return (enum gp_category)c;
    }
    return GP_CAT_UNKNOWN;
}

/* The category from the range at a block's allocation or free, otherwise none. */
static enum gp_phase phase_of_span(const struct gp_memory_device *d, uint32_t span)
{
    enum gp_phase p = GP_PHASE_NONE;
    for (; span != GP_NO_SPAN && !p; span = d->spans.at[span].parent)
        p = (enum gp_phase)d->spans.at[span].phase;
    return p;
}

static enum gp_category guess(const struct gp_memory_device *d, const struct gp_memory_life *l)
{
    enum gp_phase made = phase_of_span(d, l->span), freed = phase_of_span(d, l->end_span);
    bool stays = l->end > d->rows, early = l->begin && d->steps.n && l->begin <= d->steps.at[0].begin;
    if (!made) made = (enum gp_phase)d->sites.at[l->site].phase;
    if (stays && (made == GP_PHASE_SETUP || (early && made != GP_PHASE_OPTIMIZER))) return GP_CAT_PARAMETER;
    switch (made) {
    case GP_PHASE_OPTIMIZER: return stays ? GP_CAT_OPTIMIZER : GP_CAT_TEMPORARY;
    case GP_PHASE_BACKWARD:
        if (freed == GP_PHASE_OPTIMIZER || (freed == GP_PHASE_NONE && l->end_span != l->span))
            return GP_CAT_GRADIENT;
        return freed == GP_PHASE_BACKWARD ? GP_CAT_TEMPORARY : GP_CAT_UNKNOWN;
    case GP_PHASE_FORWARD:
        if (freed == GP_PHASE_BACKWARD) return GP_CAT_ACTIVATION;
        return freed == GP_PHASE_FORWARD ? GP_CAT_TEMPORARY : GP_CAT_UNKNOWN;
    default: return GP_CAT_UNKNOWN;
    }
}

enum gp_category gp_memory_category(const struct gp_memory_device *d, const struct gp_memory_life *l,
                                    bool *recorded)
{
    gp_sid word = l->context ? d->s->contexts.at[l->context].category : 0;
    enum gp_category c = word ? recorded_as(gp_string(&d->s->strings, word)) : GP_CAT_UNKNOWN;
    *recorded = c != GP_CAT_UNKNOWN;
    return *recorded ? c : guess(d, l);
}
