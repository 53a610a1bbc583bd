/* rows.h -- rows of call frame information in 48 bytes, and a table of them that all threads of a process
 * read and write without a lock: an entry holds one row, a collision replaces it, and a sequence number tells
 * a reader that an entry changed under its eyes. A full row that does not fit into the short form is found
 * again each time.
 *
 *     struct gp_row row;
 *     if (!gp_rows_get(rows, pc, tag, &row) && gp_row_from(&full, &row)) gp_rows_put(rows, pc, tag, &row);
 */
#ifndef GP_COLLECT_ROWS_H
#define GP_COLLECT_ROWS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "collect/unwind/cfi.h"

enum { GP_ROWS = 8192, GP_ROW_WORDS = 6, GP_ROW_SAVED = 12 };

enum gp_row_kind {
    GP_ROW_OFFSET,    /* CFA: register + offset */
    GP_ROW_DEREF,     /* CFA: the word at register + offset */
    GP_ROW_OUTERMOST, /* there is no caller */
    GP_ROW_NONE       /* no CFI here */
};

struct gp_row {
    int32_t offset;
    uint8_t kind, reg, ra_reg;
    uint8_t saved_n : 4, signal : 1, ra_signed : 1;
    int16_t at[GP_ROW_SAVED]; /* where they are, in words from the CFA or from what REG has (FROM_REG) */
    uint8_t saved[GP_ROW_SAVED];
    uint16_t from_reg; /* bits of SAVED */
    uint8_t unused[2];
};

struct gp_rows {
    struct gp_rows_entry {
        _Atomic uint64_t pc, tag_sequence; /* the tag in the upper half; odd: being written */
        _Atomic uint64_t row[GP_ROW_WORDS];
    } at[GP_ROWS];
};

/* False: FULL needs its long form. */
bool gp_row_from(const struct gp_cfi_row *full, struct gp_row *row);
bool gp_rows_get(struct gp_rows *rows, uint64_t pc, uint32_t tag, struct gp_row *row);
void gp_rows_put(struct gp_rows *rows, uint64_t pc, uint32_t tag, const struct gp_row *row);

#endif
