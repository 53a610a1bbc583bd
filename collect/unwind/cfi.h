/* cfi.h -- call frame information: the row of rules that holds at one instruction, from the bytes of
 * .eh_frame_hdr and .eh_frame in memory. The bytes may be anything: nothing outside of a range is read, and
 * every loop has a limit.
 *
 *     struct gp_cfi_row row;
 *     if (gp_cfi_find(begin, end, hdr, pc, &row) == GP_CFI_FOUND && row.cfa.kind == GP_CFI_OFFSET)
 *         cfa = value_of(row.cfa_reg) + (uint64_t)row.cfa.n;
 */
#ifndef GP_COLLECT_CFI_H
#define GP_COLLECT_CFI_H

#include <stdbool.h>
#include <stdint.h>
#include "collect/unwind/unwind.h"

/* Where the value of a register of the caller is. */
enum gp_cfi_kind {
    GP_CFI_SAME, /* not saved */
    GP_CFI_UNDEFINED,
    GP_CFI_OFFSET,     /* at CFA + N; of a CFA: register + N */
    GP_CFI_VAL_OFFSET, /* CFA + N itself */
    GP_CFI_REGISTER,   /* in register N */
    GP_CFI_EXPR,       /* at the address that an expression gives; of a CFA: its value */
    GP_CFI_VAL_EXPR
};

struct gp_cfi_rule {
    uint8_t kind;
    uint32_t expr_n;
    int64_t n;
    const uint8_t *expr;
};

struct gp_cfi_row {
    struct gp_cfi_rule cfa, reg[GP_UNWIND_REGISTERS];
    uint8_t cfa_reg, ra_reg;
    bool signal;    /* the caller was interrupted: its address is that of an instruction that has not run */
    bool ra_signed; /* the return address carries a pointer authentication code */
};

enum gp_cfi_found { GP_CFI_FOUND, GP_CFI_NONE, GP_CFI_BAD };

/* The row at PC of the table at HDR; reads only between BEGIN and END. GP_CFI_NONE: the table does not cover
 * PC. */
enum gp_cfi_found gp_cfi_find(uint64_t begin, uint64_t end, uint64_t hdr, uint64_t pc,
                              struct gp_cfi_row *row);

/* What expressions see; both return false for what cannot be read. */
struct gp_cfi_machine {
    bool (*reg)(void *ctx, uint64_t reg, uint64_t *value);
    bool (*load)(void *ctx, uint64_t at, uint64_t *value);
    void *ctx;
};

/* The value of the N bytes at EXPR, which begins with FIRST on its stack if that is not NULL. */
bool gp_cfi_eval(const struct gp_cfi_machine *m, const uint8_t *expr, uint32_t n, const uint64_t *first,
                 uint64_t *value);

/* ---- bytes ---- */

struct gp_cfi_bytes {
    const uint8_t *p, *end;
    bool bad; /* something did not fit; what was read is 0 */
};

uint64_t gp_cfi_fixed(struct gp_cfi_bytes *b, unsigned n);
int64_t gp_cfi_fixed_signed(struct gp_cfi_bytes *b, unsigned n);
uint64_t gp_cfi_uleb(struct gp_cfi_bytes *b);
int64_t gp_cfi_sleb(struct gp_cfi_bytes *b);

#endif
