/* keep.h -- saves, loads, merges, moves, copies and releases rows as their records describe them: each member
 * that a field keeps, in the order of the fields. Of several rows at once, VEC is a GP_VEC of what the record
 * describes.
 *
 *     gp_rows_serialize(x, &gp_hta_kernels, &h->kernels);             // saves or loads all of them
 *     gp_record_merge(&gp_hta_kernels, &to, &from);              // their names are equal
 *     gp_rows_release(&gp_hta_kernels, &h->kernels);
 */
#ifndef GP_ANALYZE_KEEP_H
#define GP_ANALYZE_KEEP_H

#include "analyze/math/serialize.h"
#include "analyze/result/field.h"

/* ---- one row ---- */

/* Save it, or load it into a zeroed one; X->failed if what was loaded cannot be. */
void gp_record_serialize(struct gp_serializer *x, const struct gp_record *rec, void *row);
/* Add FROM to TO; strings stay those of TO. */
void gp_record_merge(const struct gp_record *rec, void *to, const void *from);
/* Its strings, which are in FROM, are then in TO. */
void gp_record_move(const struct gp_record *rec, void *row, struct gp_strings *to,
                    const struct gp_strings *from);
/* Overwrite TO with a row of its own, whose strings are in STRINGS and were in FROM_STRINGS. */
void gp_record_copy(const struct gp_record *rec, void *to, struct gp_strings *strings, const void *from,
                    const struct gp_strings *from_strings);
/* Free its memory. */
void gp_record_release(const struct gp_record *rec, void *row);
/* By what rows are found that merge: its fields with GP_MERGE_KEY. Strings of other tables have other
 * keys. */
uint64_t gp_record_key(const struct gp_record *rec, const void *row);
bool gp_record_has_key(const struct gp_record *rec);

/* ---- all of a GP_VEC ---- */

void gp_rows_serialize(struct gp_serializer *x, const struct gp_record *rec, void *vec);
/* Append all of FROM to TO, by moving them: FROM is then empty. */
void gp_rows_move(const struct gp_record *rec, void *to, struct gp_strings *strings, void *from,
                  const struct gp_strings *from_strings);
/* The same by copying them. */
void gp_rows_copy(const struct gp_record *rec, void *to, struct gp_strings *strings, const void *from,
                  const struct gp_strings *from_strings);
/* Append a copy of the bytes of ROW, and return it. */
void *gp_rows_push(const struct gp_record *rec, void *vec, const void *row);
/* Free them and their memory. */
void gp_rows_release(const struct gp_record *rec, void *vec);

#endif
