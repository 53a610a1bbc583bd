/* records.h -- all records, by the tool whose answer has them: what schemas are made from. A record is known
 * here and in the part of the tool that fills and shows it.
 *
 *     const struct gp_record *rec = gp_schema_record("trace-hta", GP_TEXT("kernels"));
 */
#ifndef GP_RENDER_RECORDS_H
#define GP_RENDER_RECORDS_H

#include "analyze/result/field.h"

/* The record of TOOL with the id of N bytes; NULL if there is none. */
const struct gp_record *gp_schema_record(const char *tool, const char *id, size_t n);

#endif
