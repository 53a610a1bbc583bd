#include "collect/unwind/rows.h"

#include <string.h>

_Static_assert(sizeof(struct gp_row) == sizeof(union gp_row_words), "a row fills its words");

/* An expression that begins with register + offset; what follows it is LAST, 0: nothing. */
static bool base_of(const struct gp_cfi_rule *rule, uint8_t last, unsigned *reg, int64_t *offset)
{
    struct gp_cfi_bytes b = {.p = rule->expr, .end = rule->expr + rule->expr_n};
    uint64_t op = gp_cfi_fixed(&b, 1);
    *reg = (unsigned)op - 0x70; /* breg0 */
    *offset = gp_cfi_sleb(&b);
    if (last && gp_cfi_fixed(&b, 1) != last) return false;
    return op >= 0x70 && op <= 0x8f && !b.bad && b.p == b.end;
}

static bool cfa_from(const struct gp_cfi_row *full, struct gp_row *row)
{
    int64_t offset = full->cfa.n;
    unsigned reg = full->cfa_reg;
    row->kind = GP_ROW_OFFSET;
    if (full->cfa.kind == GP_CFI_EXPR) { /* of a realigned stack */
        enum { DEREF = 0x06 };
        row->kind = GP_ROW_DEREF;
        if (!base_of(&full->cfa, DEREF, &reg, &offset)) return false;
    } else if (full->cfa.kind != GP_CFI_OFFSET) return false;
    row->reg = (uint8_t)reg;
    row->offset = (int32_t)offset;
    return row->offset == offset;
}

static bool save(struct gp_row *row, unsigned reg, const struct gp_cfi_rule *rule)
{
    struct gp_row_saved *saved = &row->saved[row->saved_n];
    int64_t offset = rule->n;
    unsigned base;
    if (row->saved_n == GP_ROW_SAVED) return false;
    if (rule->kind == GP_CFI_EXPR) {
        if (!base_of(rule, 0, &base, &offset) || base != row->reg) return false;
        saved->from_reg = 1;
    } else if (rule->kind != GP_CFI_OFFSET) return false;
    if (offset % 8 || offset / 8 < INT16_MIN || offset / 8 > INT16_MAX) return false;
    saved->at = (int16_t)(offset / 8);
    saved->reg = (uint8_t)reg;
    row->saved_n++;
    return true;
}

bool gp_row_from(const struct gp_cfi_row *full, struct gp_row *row)
{
    memset(row, 0, sizeof *row);
    if (!cfa_from(full, row)) return false;
    row->ra_reg = full->ra_reg;
    row->signal = full->signal;
    row->ra_signed = full->ra_signed;
    if (full->reg[full->ra_reg].kind == GP_CFI_UNDEFINED) {
        row->kind = GP_ROW_OUTERMOST;
        return true;
    }
    for (unsigned r = 0; r < GP_UNWIND_REGISTERS; r++)
        if (full->reg[r].kind != GP_CFI_SAME && !save(row, r, &full->reg[r])) return false;
    return true;
}

/* Who finds another writer there leaves it to that one. */
void gp_rows_put(struct gp_rows *rows, uint64_t pc, uint32_t tag, const struct gp_row *row)
{
    struct gp_rows_entry *e = gp_rows_entry(rows, pc);
    union gp_row_words words = {.row = *row};
    uint64_t before = atomic_load_explicit(&e->tag_sequence, memory_order_relaxed);
    if (before & 1 || !atomic_compare_exchange_strong_explicit(&e->tag_sequence, &before, before | 1,
                                                               memory_order_acq_rel, memory_order_relaxed))
        return;
    atomic_store_explicit(&e->pc, pc, memory_order_release);
    for (unsigned i = 0; i < 1 + GP_ROW_SAVED / 2; i++)
        atomic_store_explicit(&e->word[i], words.word[i], memory_order_release);
    atomic_store_explicit(&e->tag_sequence, (uint64_t)tag << 32 | (uint32_t)((uint32_t)before + 2),
                          memory_order_release);
}
