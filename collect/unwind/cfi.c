#include "collect/unwind/cfi.h"
#include "formats/base/order.h"

#include <string.h>

enum {
    REMEMBERED_MOST = 4,
    ENTRY_BYTES_MOST = 1 << 20,
    /* encodings of pointers */
    ENC_OMIT = 0xff,
    ENC_FORMAT = 0x0f,
    ENC_RELATIVE = 0x70,
    ENC_PC = 0x10,
    ENC_DATA = 0x30,
    ENC_INDIRECT = 0x80,
    ENC_TABLE = 0x3b /* of search tables: signed 4 bytes from the table's begin */
};

uint64_t gp_cfi_fixed(struct gp_cfi_bytes *b, unsigned n)
{
    uint64_t v = 0;
    if ((size_t)(b->end - b->p) < n) {
        b->bad = true;
        b->p = b->end;
        return 0;
    }
    for (unsigned i = 0; i < n; i++) v |= (uint64_t)b->p[i] << 8 * i;
    b->p += n;
    return v;
}

int64_t gp_cfi_fixed_signed(struct gp_cfi_bytes *b, unsigned n)
{
    uint64_t v = gp_cfi_fixed(b, n), sign = UINT64_C(1) << (8 * n - 1);
    return (int64_t)((v ^ sign) - sign);
}

static uint64_t leb(struct gp_cfi_bytes *b, bool is_signed)
{
    uint64_t v = 0;
    for (unsigned shift = 0; b->p < b->end; shift += 7) {
        uint8_t byte = *b->p++;
        if (shift < 64) v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte & 0x80) continue;
        if (is_signed && byte & 0x40 && shift + 7 < 64) v |= ~UINT64_C(0) << (shift + 7);
        return v;
    }
    b->bad = true;
    return 0;
}

uint64_t gp_cfi_uleb(struct gp_cfi_bytes *b) { return leb(b, false); }

int64_t gp_cfi_sleb(struct gp_cfi_bytes *b) { return (int64_t)leb(b, true); }

static uint64_t pointer(struct gp_cfi_bytes *b, uint8_t encoding, uint64_t data)
{
    enum { ULEB = 1, SLEB = 9 };
    static const int8_t bytes[16] = {[0] = 8, [2] = 2, [3] = 4, [4] = 8, [10] = -2, [11] = -4, [12] = -8};
    uint64_t here = (uintptr_t)b->p, v = 0;
    uint8_t format = encoding & ENC_FORMAT, relative = encoding & ENC_RELATIVE;
    if (format == ULEB) v = gp_cfi_uleb(b);
    else if (format == SLEB) v = (uint64_t)gp_cfi_sleb(b);
    else if (bytes[format] > 0) v = gp_cfi_fixed(b, (unsigned)bytes[format]);
    else if (bytes[format] < 0) v = (uint64_t)gp_cfi_fixed_signed(b, (unsigned)-bytes[format]);
    else b->bad = true;
    if (relative && relative != ENC_PC && relative != ENC_DATA) b->bad = true;
    return v + (relative == ENC_PC ? here : relative == ENC_DATA ? data : 0);
}

/* ---- entries ---- */

struct entry { /* a CIE, and what an FDE adds */
    struct gp_cfi_bytes cie, fde;
    uint64_t begin, size, code_align;
    int64_t data_align;
    uint8_t encoding, ra_reg;
    bool has_length, signal;
};

static struct gp_cfi_bytes bytes_at(uint64_t begin, uint64_t end, uint64_t at)
{
    struct gp_cfi_bytes b = {.bad = at < begin || at >= end};
    if (b.bad) return b;
    b.p = (const uint8_t *)(uintptr_t)at;
    b.end = (const uint8_t *)(uintptr_t)end;
    return b;
}

/* Cuts B to the entry that it begins with. */
static void cut(struct gp_cfi_bytes *b)
{
    uint64_t n = gp_cfi_fixed(b, 4);
    if (!n || n > ENTRY_BYTES_MOST || n > (uint64_t)(b->end - b->p)) b->bad = true;
    else b->end = b->p + n;
}

static void augmentation(struct entry *e, const char *letters)
{
    struct gp_cfi_bytes *b = &e->cie;
    for (; *letters && !b->bad; letters++)
        if (*letters == 'R') e->encoding = (uint8_t)gp_cfi_fixed(b, 1);
        else if (*letters == 'L') gp_cfi_fixed(b, 1);
        else if (*letters == 'P') pointer(b, (uint8_t)(gp_cfi_fixed(b, 1) & (ENC_FORMAT | ENC_PC)), 0);
        else if (*letters == 'S') e->signal = true;
        else if (*letters == 'z') {
            e->has_length = true;
            gp_cfi_uleb(b);
        } else if (*letters != 'B' && *letters != 'G') /* keys of pointer authentication, tagged stacks */
            b->bad = true;
}

static bool read_cie(struct entry *e)
{
    struct gp_cfi_bytes *b = &e->cie;
    cut(b);
    if (b->bad || gp_cfi_fixed(b, 4) != 0) return false;
    uint64_t version = gp_cfi_fixed(b, 1);
    const char *letters = (const char *)b->p;
    const uint8_t *nul = b->p < b->end ? memchr(b->p, 0, (size_t)(b->end - b->p)) : NULL;
    if (b->bad || !nul || (version != 1 && version != 3)) return false;
    b->p = nul + 1;
    e->code_align = gp_cfi_uleb(b);
    e->data_align = gp_cfi_sleb(b);
    uint64_t ra = version == 1 ? gp_cfi_fixed(b, 1) : gp_cfi_uleb(b);
    if (ra >= GP_UNWIND_REGISTERS) return false;
    e->ra_reg = (uint8_t)ra;
    augmentation(e, letters);
    return !b->bad;
}

static bool read_fde(struct entry *e, uint64_t begin, uint64_t end, uint64_t at, uint64_t hdr)
{
    struct gp_cfi_bytes *b = &e->fde;
    *b = bytes_at(begin, end, at);
    if (b->bad) return false;
    cut(b);
    uint64_t here = (uintptr_t)b->p, back = gp_cfi_fixed(b, 4);
    if (b->bad || !back) return false;
    e->cie = bytes_at(begin, end, here - back);
    if (e->cie.bad || !read_cie(e) || e->encoding & ENC_INDIRECT) return false;
    e->begin = pointer(b, e->encoding, hdr);
    e->size = pointer(b, e->encoding & ENC_FORMAT, hdr);
    if (e->has_length) {
        uint64_t skip = gp_cfi_uleb(b);
        if (skip > (uint64_t)(b->end - b->p)) return false;
        b->p += skip;
    }
    return !b->bad;
}

static int64_t table_word(const uint8_t *p)
{
    int32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* The address of the FDE that may cover PC, 0: none. */
static uint64_t search(uint64_t begin, uint64_t end, uint64_t hdr, uint64_t pc, bool *bad)
{
    struct gp_cfi_bytes b = bytes_at(begin, end, hdr);
    uint64_t head = gp_cfi_fixed(&b, 4);
    uint8_t frame_enc = head >> 8 & 0xff, count_enc = head >> 16 & 0xff;
    *bad = true;
    if (b.bad || (head & 0xff) != 1 || head >> 24 != ENC_TABLE || count_enc == ENC_OMIT) return 0;
    if (frame_enc != ENC_OMIT) pointer(&b, frame_enc, hdr);
    uint64_t n = pointer(&b, count_enc, hdr);
    if (b.bad || n > (uint64_t)(b.end - b.p) / 8) return 0;
    *bad = false;
    int64_t from_hdr = (int64_t)(pc - hdr);
    GP_SEARCH(low, 0, n, middle, table_word(b.p + 8 * middle) <= from_hdr);
    return low ? hdr + (uint64_t)table_word(b.p + 8 * (low - 1) + 4) : 0;
}

/* ---- programs ---- */

struct rules {
    struct gp_cfi_rule cfa, reg[GP_UNWIND_REGISTERS];
    uint8_t cfa_reg;
    bool ra_signed;
};

struct program {
    struct rules now, first, kept[REMEMBERED_MOST];
    unsigned kept_n;
    const struct entry *e;
    uint64_t at, pc;
    bool past; /* what follows holds behind PC */
};

static void set(struct program *p, uint64_t reg, enum gp_cfi_kind kind, int64_t n)
{
    if (reg < GP_UNWIND_REGISTERS) p->now.reg[reg] = (struct gp_cfi_rule){.kind = (uint8_t)kind, .n = n};
}

static struct gp_cfi_rule expression(struct gp_cfi_bytes *b, enum gp_cfi_kind kind)
{
    uint64_t n = gp_cfi_uleb(b);
    if (n > (uint64_t)(b->end - b->p)) {
        b->bad = true;
        n = 0;
    }
    struct gp_cfi_rule r = {.kind = (uint8_t)kind, .expr_n = (uint32_t)n, .expr = b->p};
    b->p += n;
    return r;
}

static void advance(struct program *p, uint64_t by)
{
    p->at += by * p->e->code_align;
    p->past = p->at > p->pc;
}

static int64_t scaled(const struct program *p, int64_t n)
{
    return (int64_t)((uint64_t)n * (uint64_t)p->e->data_align);
}

static void cfa_register(struct program *p, struct gp_cfi_bytes *b, uint64_t reg)
{
    if (reg >= GP_UNWIND_REGISTERS) b->bad = true;
    else p->now.cfa_reg = (uint8_t)reg;
}

static void cfa_offset(struct program *p, int64_t n)
{
    p->now.cfa = (struct gp_cfi_rule){.kind = GP_CFI_OFFSET, .n = n};
}

/* Instructions about the CFA; false: OP is another one. */
static bool run_cfa(struct program *p, struct gp_cfi_bytes *b, uint8_t op)
{
    enum { DEF_CFA = 0x0c, REGISTER, OFFSET, EXPRESSION, DEF_CFA_SF = 0x12, OFFSET_SF };
    if (op == DEF_CFA || op == REGISTER || op == DEF_CFA_SF) cfa_register(p, b, gp_cfi_uleb(b));
    if (op == DEF_CFA || op == OFFSET) cfa_offset(p, (int64_t)gp_cfi_uleb(b));
    else if (op == DEF_CFA_SF || op == OFFSET_SF) cfa_offset(p, scaled(p, gp_cfi_sleb(b)));
    else if (op == EXPRESSION) p->now.cfa = expression(b, GP_CFI_EXPR);
    else return op == REGISTER;
    return true;
}

static bool run_state(struct program *p, struct gp_cfi_bytes *b, uint8_t op)
{
    enum { NOP, SET_LOC, ADVANCE_1, ADVANCE_2, ADVANCE_4, REMEMBER = 0x0a, RESTORE };
    enum { NEGATE_RA_STATE = 0x2d /* of aarch64 */, GNU_ARGS_SIZE };
    if (op == SET_LOC) {
        p->at = pointer(b, p->e->encoding, 0);
        p->past = p->at > p->pc;
    } else if (op >= ADVANCE_1 && op <= ADVANCE_4) advance(p, gp_cfi_fixed(b, 1u << (op - ADVANCE_1)));
    else if (op == REMEMBER && p->kept_n < REMEMBERED_MOST) p->kept[p->kept_n++] = p->now;
    else if (op == RESTORE && p->kept_n) p->now = p->kept[--p->kept_n];
    else if (op == REMEMBER || op == RESTORE) b->bad = true;
    else if (op == NEGATE_RA_STATE) p->now.ra_signed = !p->now.ra_signed;
    else if (op == GNU_ARGS_SIZE) gp_cfi_uleb(b);
    else return op == NOP;
    return true;
}

static void run_register(struct program *p, struct gp_cfi_bytes *b, uint8_t op)
{
    enum { OFFSET_EXTENDED = 0x05, RESTORE_EXTENDED, UNDEFINED, SAME_VALUE, REGISTER, EXPRESSION = 0x10 };
    enum { OFFSET_SF = 0x11, VAL_OFFSET = 0x14, VAL_OFFSET_SF, VAL_EXPRESSION, NEGATIVE_OFFSET = 0x2f };
    uint64_t reg = gp_cfi_uleb(b);
    if (op == OFFSET_EXTENDED) set(p, reg, GP_CFI_OFFSET, scaled(p, (int64_t)gp_cfi_uleb(b)));
    else if (op == OFFSET_SF) set(p, reg, GP_CFI_OFFSET, scaled(p, gp_cfi_sleb(b)));
    else if (op == NEGATIVE_OFFSET) set(p, reg, GP_CFI_OFFSET, scaled(p, (int64_t)(0 - gp_cfi_uleb(b))));
    else if (op == UNDEFINED) set(p, reg, GP_CFI_UNDEFINED, 0);
    else if (op == SAME_VALUE) set(p, reg, GP_CFI_SAME, 0);
    else if (op == REGISTER) set(p, reg, GP_CFI_REGISTER, (int64_t)gp_cfi_uleb(b));
    else if (op == VAL_OFFSET) set(p, reg, GP_CFI_VAL_OFFSET, scaled(p, (int64_t)gp_cfi_uleb(b)));
    else if (op == VAL_OFFSET_SF) set(p, reg, GP_CFI_VAL_OFFSET, scaled(p, gp_cfi_sleb(b)));
    else if (op == EXPRESSION || op == VAL_EXPRESSION) {
        struct gp_cfi_rule r = expression(b, op == EXPRESSION ? GP_CFI_EXPR : GP_CFI_VAL_EXPR);
        if (reg < GP_UNWIND_REGISTERS) p->now.reg[reg] = r;
    } else if (op != RESTORE_EXTENDED) b->bad = true;
    else if (reg < GP_UNWIND_REGISTERS) p->now.reg[reg] = p->first.reg[reg];
}

static bool run(struct program *p, struct gp_cfi_bytes b)
{
    while (b.p < b.end && !b.bad && !p->past) {
        uint8_t op = *b.p++, low = op & 0x3f;
        switch (op >> 6) {
        case 1: advance(p, low); break;
        case 2: set(p, low, GP_CFI_OFFSET, scaled(p, (int64_t)gp_cfi_uleb(&b))); break;
        case 3:
            if (low < GP_UNWIND_REGISTERS) p->now.reg[low] = p->first.reg[low];
            break;
        default:
            if (!run_cfa(p, &b, op) && !run_state(p, &b, op)) run_register(p, &b, op);
        }
    }
    return !b.bad;
}

enum gp_cfi_found gp_cfi_find(uint64_t begin, uint64_t end, uint64_t hdr, uint64_t pc, struct gp_cfi_row *row)
{
    bool bad;
    uint64_t at = search(begin, end, hdr, pc, &bad);
    if (!at) return bad ? GP_CFI_BAD : GP_CFI_NONE;
    struct entry e = {0};
    if (!read_fde(&e, begin, end, at, hdr)) return GP_CFI_BAD;
    if (pc - e.begin >= e.size) return GP_CFI_NONE;
    struct program p;
    memset(&p.now, 0, sizeof p.now);
    memset(&p.first, 0, sizeof p.first);
    p.kept_n = 0;
    p.e = &e;
    p.at = 0;
    p.pc = UINT64_MAX;
    p.past = false;
    if (!run(&p, e.cie)) return GP_CFI_BAD;
    p.first = p.now;
    p.at = e.begin;
    p.pc = pc;
    if (!run(&p, e.fde)) return GP_CFI_BAD;
    row->cfa = p.now.cfa;
    row->cfa_reg = p.now.cfa_reg;
    memcpy(row->reg, p.now.reg, sizeof row->reg);
    row->ra_reg = e.ra_reg;
    row->signal = e.signal;
    row->ra_signed = p.now.ra_signed;
    return GP_CFI_FOUND;
}
