/* rows.h -- rows of call frame information in short, and a table of them that all threads of a process read
 * and write without a lock: an entry holds one row, a collision replaces it, and a sequence number tells a
 * reader that an entry changed under its eyes. A full row that does not fit into the short form is found
 * again each time.
 *
 *     union gp_row_words row;
 *     if (!gp_rows_get(rows, pc, tag, &row) && gp_row_from(&full, &row.row))
 *         gp_rows_put(rows, pc, tag, &row.row);
 */
#ifndef GP_COLLECT_ROWS_H
#define GP_COLLECT_ROWS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "collect/unwind/cfi.h"

enum {
    GP_ROWS = 8192,
#ifdef __aarch64__
    GP_ROW_SAVED = 12
#else
    GP_ROW_SAVED = 10
#endif
};

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
    struct gp_row_saved {
        int16_t at; /* in words from the CFA; FROM_REG: from what register REG of the row has */
        uint8_t reg, from_reg;
    } saved[GP_ROW_SAVED];
};

union gp_row_words {
    struct gp_row row;
    uint64_t word[1 + GP_ROW_SAVED / 2];
};

struct gp_rows {
    struct gp_rows_entry {
        _Atomic uint64_t pc, tag_sequence; /* the tag in the upper half; odd: being written */
        _Atomic uint64_t word[1 + GP_ROW_SAVED / 2];
    } at[GP_ROWS];
};

/* False: FULL needs its long form. */
bool gp_row_from(const struct gp_cfi_row *full, struct gp_row *row);
void gp_rows_put(struct gp_rows *rows, uint64_t pc, uint32_t tag, const struct gp_row *row);

static inline struct gp_rows_entry *gp_rows_entry(struct gp_rows *rows, uint64_t pc)
{
    _Static_assert(GP_ROWS == 1 << (64 - 51), "the shift makes a place");
    return &rows->at[(pc * UINT64_C(0x9e3779b97f4a7c15)) >> 51];
}

/* False: not there. Each load is ordered before the next, so that the sequence is looked at last. */
static inline bool gp_rows_get(struct gp_rows *rows, uint64_t pc, uint32_t tag, union gp_row_words *row)
{
    struct gp_rows_entry *e = gp_rows_entry(rows, pc);
    uint64_t before = atomic_load_explicit(&e->tag_sequence, memory_order_acquire);
    if (before >> 32 != tag || before & 1) return false;
    if (atomic_load_explicit(&e->pc, memory_order_acquire) != pc) return false;
    row->word[0] = atomic_load_explicit(&e->word[0], memory_order_acquire);
    for (unsigned i = 0; 2 * i < row->row.saved_n && i < GP_ROW_SAVED / 2; i++)
        row->word[1 + i] = atomic_load_explicit(&e->word[1 + i], memory_order_acquire);
    return atomic_load_explicit(&e->tag_sequence, memory_order_relaxed) == before;
}

#endif
