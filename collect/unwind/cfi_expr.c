#include "collect/unwind/cfi.h"

enum { STACK_MOST = 32 };

struct stack {
    uint64_t at[STACK_MOST];
    unsigned n;
    bool bad;
};

static void push(struct stack *s, uint64_t v)
{
    if (s->n == STACK_MOST) s->bad = true;
    else s->at[s->n++] = v;
}

static uint64_t pop(struct stack *s)
{
    if (s->n) return s->at[--s->n];
    s->bad = true;
    return 0;
}

/* The value I places below the top. */
static uint64_t peek(struct stack *s, uint64_t i)
{
    if (i < s->n) return s->at[s->n - 1 - i];
    s->bad = true;
    return 0;
}

/* Operations on the two topmost values; false: OP is another one. Compilers divide in no expression. */
static bool two(struct stack *s, uint8_t op)
{
    enum {
        AND = 0x1a,
        MINUS = 0x1c,
        MUL = 0x1e,
        OR = 0x21,
        PLUS,
        SHL = 0x24,
        SHR,
        SHRA,
        XOR,
        EQ = 0x29,
        GE,
        GT
    };
    enum { LE = 0x2c, LT, NE };
    static const uint64_t all =
        1ULL << AND | 1ULL << MINUS | 1ULL << MUL | 3ULL << OR | 15ULL << SHL | 63ULL << EQ;
    if (op > NE || !(all >> op & 1)) return false;
    uint64_t b = pop(s), a = pop(s), v;
    int64_t sa = (int64_t)a, sb = (int64_t)b;
    if (op == AND) v = a & b;
    else if (op == MINUS) v = a - b;
    else if (op == MUL) v = a * b;
    else if (op == OR) v = a | b;
    else if (op == PLUS) v = a + b;
    else if (op == SHL) v = b > 63 ? 0 : a << b;
    else if (op == SHR) v = b > 63 ? 0 : a >> b;
    else if (op == SHRA) v = (uint64_t)(sa < 0 ? ~(~sa >> (b > 63 ? 63 : b)) : sa >> (b > 63 ? 63 : b));
    else if (op == XOR) v = a ^ b;
    else if (op == EQ) v = sa == sb;
    else if (op == GE) v = sa >= sb;
    else if (op == GT) v = sa > sb;
    else if (op == LE) v = sa <= sb;
    else if (op == LT) v = sa < sb;
    else v = sa != sb;
    push(s, v);
    return true;
}

static bool constant(struct stack *s, struct gp_cfi_bytes *b, uint8_t op)
{
    if (op >= 0x30 && op <= 0x4f) push(s, op - 0x30u); /* lit0 to lit31 */
    else if (op == 0x03) push(s, gp_cfi_fixed(b, 8));  /* addr */
    else if (op >= 0x08 && op <= 0x0f && op % 2 == 0) push(s, gp_cfi_fixed(b, 1u << (op - 0x08) / 2));
    else if (op >= 0x09 && op <= 0x0f) push(s, (uint64_t)gp_cfi_fixed_signed(b, 1u << (op - 0x09) / 2));
    else if (op == 0x10) push(s, gp_cfi_uleb(b));
    else if (op == 0x11) push(s, (uint64_t)gp_cfi_sleb(b));
    else return false;
    return true;
}

static bool arrange(struct stack *s, struct gp_cfi_bytes *b, uint8_t op)
{
    enum { DUP = 0x12, DROP, OVER, PICK, SWAP, NEG = 0x1f, NOT, PLUS_UCONST = 0x23, NOP = 0x96 };
    if (op == SWAP) {
        uint64_t top = pop(s), next = pop(s);
        push(s, top);
        push(s, next);
    } else if (op == DUP) push(s, peek(s, 0));
    else if (op == DROP) pop(s);
    else if (op == OVER) push(s, peek(s, 1));
    else if (op == PICK) push(s, peek(s, gp_cfi_fixed(b, 1)));
    else if (op == NEG) push(s, 0 - pop(s));
    else if (op == NOT) push(s, ~pop(s));
    else if (op == PLUS_UCONST) push(s, pop(s) + gp_cfi_uleb(b));
    else return op == NOP;
    return true;
}

/* Memory and registers. */
static bool outside(const struct gp_cfi_machine *m, struct stack *s, struct gp_cfi_bytes *b, uint8_t op)
{
    enum { DEREF = 0x06, BREG0 = 0x70, BREG31 = 0x8f, BREGX = 0x92, DEREF_SIZE = 0x94 };
    uint64_t v = 0;
    if (op == DEREF || op == DEREF_SIZE) {
        uint64_t n = op == DEREF_SIZE ? gp_cfi_fixed(b, 1) : 8;
        if (!n || n > 8 || !m->load(m->ctx, pop(s), &v)) return false;
        push(s, n < 8 ? v & ((UINT64_C(1) << 8 * n) - 1) : v);
        return true;
    }
    if ((op < BREG0 || op > BREG31) && op != BREGX) return false;
    uint64_t reg = op == BREGX ? gp_cfi_uleb(b) : (uint64_t)(op - BREG0);
    if (!m->reg(m->ctx, reg, &v)) return false;
    push(s, v + (uint64_t)gp_cfi_sleb(b));
    return true;
}

/* There are no jumps, so an expression ends with its bytes. */
bool gp_cfi_eval(const struct gp_cfi_machine *m, const uint8_t *expr, uint32_t n, const uint64_t *first,
                 uint64_t *value)
{
    struct gp_cfi_bytes b = {.p = expr, .end = expr + n};
    struct stack s = {.n = 0};
    if (first) push(&s, *first);
    while (b.p < b.end && !b.bad && !s.bad) {
        uint8_t op = *b.p++;
        if (!two(&s, op) && !constant(&s, &b, op) && !arrange(&s, &b, op) && !outside(m, &s, &b, op))
            return false;
    }
    *value = pop(&s);
    return !b.bad && !s.bad;
}
