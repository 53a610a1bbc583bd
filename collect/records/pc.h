/* pc.h -- samples of program counters, as rows of a trace. Checks what a process sends.
 *
 *     struct gp_pc_taken pc = {.records = &records};
 *     if (!gp_pc_take(&pc, payload, n)) ...        // a frame of type PC_ROWS that is not valid
 */
#ifndef GP_COLLECT_RECORDS_PC_H
#define GP_COLLECT_RECORDS_PC_H

#include <stdbool.h>
#include "collect/wire/pc_rows.h"
#include "collect/records/records.h"

struct gp_pc_taken {
    struct gp_records *records;
    GP_VEC(gp_sid) texts; /* by number */
};

bool gp_pc_take(struct gp_pc_taken *p, const void *payload, size_t n);
/* The metadata that says how many there are, in S. */
void gp_pc_put_counts(struct gp_trace *t, const struct gp_wire_stats *s);

#endif
