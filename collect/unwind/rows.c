#include "collect/unwind/rows.h"

#include <string.h>

_Static_assert(sizeof(struct gp_row) == 8 * GP_ROW_WORDS, "a row fills its words");

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
    int64_t offset = rule->n;
    unsigned base;
    if (row->saved_n == GP_ROW_SAVED) return false;
    if (rule->kind == GP_CFI_EXPR) {
        if (!base_of(rule, 0, &base, &offset) || base != row->reg) return false;
        row->from_reg |= (uint16_t)(1u << row->saved_n);
    } else if (rule->kind != GP_CFI_OFFSET) return false;
    if (offset % 8 || offset / 8 < INT16_MIN || offset / 8 > INT16_MAX) return false;
    row->at[row->saved_n] = (int16_t)(offset / 8);
    row->saved[row->saved_n++] = (uint8_t)reg;
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

static struct gp_rows_entry *entry_of(struct gp_rows *rows, uint64_t pc)
{
    return &rows->at[(pc * UINT64_C(0x9e3779b97f4a7c15)) >> 51];
}
_Static_assert(GP_ROWS == 1 << (64 - 51), "the shift makes a place");

bool gp_rows_get(struct gp_rows *rows, uint64_t pc, uint32_t tag, struct gp_row *row)
{
    struct gp_rows_entry *e = entry_of(rows, pc);
    uint64_t words[GP_ROW_WORDS];
    uint64_t before = atomic_load_explicit(&e->tag_sequence, memory_order_acquire);
    if (before >> 32 != tag || before & 1) return false;
    if (atomic_load_explicit(&e->pc, memory_order_acquire) != pc) return false;
    for (int i = 0; i < GP_ROW_WORDS; i++) words[i] = atomic_load_explicit(&e->row[i], memory_order_acquire);
    if (atomic_load_explicit(&e->tag_sequence, memory_order_relaxed) != before) return false;
    memcpy(row, words, sizeof *row);
    return true;
}

/* Who finds another writer there leaves it to that one. */
void gp_rows_put(struct gp_rows *rows, uint64_t pc, uint32_t tag, const struct gp_row *row)
{
    struct gp_rows_entry *e = entry_of(rows, pc);
    uint64_t words[GP_ROW_WORDS];
    uint64_t before = atomic_load_explicit(&e->tag_sequence, memory_order_relaxed);
    memcpy(words, row, sizeof words);
    if (before & 1 || !atomic_compare_exchange_strong_explicit(&e->tag_sequence, &before, before | 1,
                                                               memory_order_acq_rel, memory_order_relaxed))
        return;
    atomic_store_explicit(&e->pc, pc, memory_order_release);
    for (int i = 0; i < GP_ROW_WORDS; i++) atomic_store_explicit(&e->row[i], words[i], memory_order_release);
    atomic_store_explicit(&e->tag_sequence, (uint64_t)tag << 32 | (uint32_t)((uint32_t)before + 2),
                          memory_order_release);
}
