/* keep.h -- saves, loads, merges, copies and releases rows as their records describe them: each member that a field keeps,
 * in the order of the fields.
 *
 *     GP_KEEP_VEC(x, &h->kernels, &gp_hta_kernels);               // saves or loads all rows
 *     gp_record_merge(&gp_hta_kernels, &to, &from);              // their names are equal
 *     GP_KEEP_FREE(&h->kernels, &gp_hta_kernels);
 */
#ifndef GP_ANALYZE_KEEP_H
#define GP_ANALYZE_KEEP_H

#include "analyze/math/xfer.h"
#include "analyze/result/field.h"

/* Save the row, or load it into a zeroed one; X->failed if what was loaded cannot be. */
void gp_record_xfer(struct gp_xfer *x, const struct gp_record *rec, void *row);
/* Add FROM to TO; strings stay those of TO. */
void gp_record_merge(const struct gp_record *rec, void *to, const void *from);
/* Overwrite TO with a row of its own, whose strings are in STRINGS and were in FROM_STRINGS. */
void gp_record_copy(const struct gp_record *rec, void *to, struct gp_strings *strings, const void *from,
                    const struct gp_strings *from_strings);
/* Free what N rows own. */
void gp_record_release(const struct gp_record *rec, void *rows, size_t n);

/* All of a GP_VEC of rows. */
#define GP_KEEP_VEC(x, vec, rec) GP_XFER_EACH(x, vec, gp_record_xfer((x), (rec), &(vec)->at[gp_i_]))
#define GP_KEEP_FREE(vec, rec)                                                                               \
    do {                                                                                                     \
        gp_record_release((rec), (vec)->at, (vec)->n);                                                       \
        GP_VEC_FREE(vec);                                                                                    \
    } while (0)

#endif
