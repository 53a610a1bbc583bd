#include "collect/unwind/cfi.h"

enum { STACK_MOST = 32, STEPS_MOST = 1000 };

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

static uint64_t divided(struct stack *s, int64_t a, int64_t b)
{
    if (!b || (a == INT64_MIN && b == -1)) {
        s->bad = true;
        return 0;
    }
    return (uint64_t)(a / b);
}

static uint64_t shifted(uint8_t op, uint64_t a, uint64_t by)
{
    bool minus = op == 0x26 && a >> 63;
    if (by > 63) return minus ? UINT64_MAX : 0;
    if (op == 0x24) return a << by;
    return a >> by | (minus && by ? ~UINT64_C(0) << (64 - by) : 0);
}

/* Operations on the two topmost values; false: OP is another one. */
static bool two(struct stack *s, uint8_t op)
{
    if (!(op == 0x1a || (op >= 0x1b && op <= 0x1e) || op == 0x21 || op == 0x22 ||
          (op >= 0x24 && op <= 0x27) || (op >= 0x29 && op <= 0x2e)))
        return false;
    uint64_t b = pop(s), a = pop(s);
    int64_t sa = (int64_t)a, sb = (int64_t)b;
    switch (op) {
    case 0x1a:
        push(s, a & b);
        break;
    case 0x1b:
        push(s, divided(s, sa, sb));
        break;
    case 0x1c:
        push(s, a - b);
        break;
    case 0x1d: /* mod */
        if (!b) s->bad = true;
        else push(s, a % b);
        break;
    case 0x1e:
        push(s, a * b);
        break;
    case 0x21:
        push(s, a | b);
        break;
    case 0x22:
        push(s, a + b);
        break;
    case 0x27:
        push(s, a ^ b);
        break;
    case 0x29:
        push(s, sa == sb);
        break;
    case 0x2a:
        push(s, sa >= sb);
        break;
    case 0x2b:
        push(s, sa > sb);
        break;
    case 0x2c:
        push(s, sa <= sb);
        break;
    case 0x2d:
        push(s, sa < sb);
        break;
    case 0x2e:
        push(s, sa != sb);
        break;
    default:
        push(s, shifted(op, a, b)); /* shl, shr, shra */
    }
    return true;
}

static bool constant(struct stack *s, struct gp_cfi_bytes *b, uint8_t op)
{
    if (op >= 0x30 && op <= 0x4f) push(s, op - 0x30u);
    else if (op == 0x03) push(s, gp_cfi_fixed(b, 8));
    else if (op >= 0x08 && op <= 0x0f && op % 2 == 0) push(s, gp_cfi_fixed(b, 1u << (op - 0x08) / 2));
    else if (op >= 0x09 && op <= 0x0f) push(s, (uint64_t)gp_cfi_fixed_signed(b, 1u << (op - 0x09) / 2));
    else if (op == 0x10) push(s, gp_cfi_uleb(b));
    else if (op == 0x11) push(s, (uint64_t)gp_cfi_sleb(b));
    else return false;
    return true;
}

static bool arrange(struct stack *s, struct gp_cfi_bytes *b, uint8_t op)
{
    uint64_t a, c, d;
    switch (op) {
    case 0x12:
        push(s, peek(s, 0));
        return true;
    case 0x13:
        pop(s);
        return true;
    case 0x14:
        push(s, peek(s, 1));
        return true;
    case 0x15:
        push(s, peek(s, gp_cfi_fixed(b, 1)));
        return true;
    case 0x16:
        a = pop(s), c = pop(s), push(s, a), push(s, c);
        return true;
    case 0x17:
        a = pop(s), c = pop(s), d = pop(s), push(s, a), push(s, d), push(s, c);
        return true;
    case 0x19:
        a = pop(s), push(s, a >> 63 ? 0 - a : a);
        return true;
    case 0x1f:
        push(s, 0 - pop(s));
        return true;
    case 0x20:
        push(s, ~pop(s));
        return true;
    case 0x23:
        push(s, pop(s) + gp_cfi_uleb(b));
        return true;
    case 0x96:
        return true;
    default:
        return false;
    }
}

static void jump(struct gp_cfi_bytes *b, const uint8_t *begin, bool is_taken)
{
    int64_t by = gp_cfi_fixed_signed(b, 2);
    if (!is_taken) return;
    if (by < begin - b->p || by > b->end - b->p) b->bad = true;
    else b->p += by;
}

static bool outside(const struct gp_cfi_machine *m, struct stack *s, struct gp_cfi_bytes *b, uint8_t op)
{
    uint64_t v = 0;
    if (op == 0x06 || op == 0x94) { /* deref, deref_size */
        uint64_t n = op == 0x94 ? gp_cfi_fixed(b, 1) : 8;
        if (!n || n > 8 || !m->load(m->ctx, pop(s), &v)) return false;
        push(s, n < 8 ? v & ((UINT64_C(1) << 8 * n) - 1) : v);
        return true;
    }
    uint64_t reg = op == 0x92 ? gp_cfi_uleb(b) : op - 0x70u;
    if ((op < 0x70 || op > 0x8f) && op != 0x92) return false;
    if (!m->reg(m->ctx, reg, &v)) return false;
    push(s, v + (uint64_t)gp_cfi_sleb(b));
    return true;
}

bool gp_cfi_eval(const struct gp_cfi_machine *m, const uint8_t *expr, uint32_t n, const uint64_t *first,
                 uint64_t *value)
{
    struct gp_cfi_bytes b = {.p = expr, .end = expr + n};
    struct stack s = {.n = 0};
    if (first) push(&s, *first);
    for (int steps = 0; b.p < b.end; steps++) {
        if (b.bad || s.bad || steps == STEPS_MOST) return false;
        uint8_t op = *b.p++;
        if (op == 0x2f) jump(&b, expr, true);
        else if (op == 0x28) jump(&b, expr, pop(&s) != 0);
        else if (!two(&s, op) && !constant(&s, &b, op) && !arrange(&s, &b, op) && !outside(m, &s, &b, op))
            return false;
    }
    *value = pop(&s);
    return !b.bad && !s.bad;
}
