// Cubins are ELF files of 64 bits, little-endian. Of what is cut or unknown there is no code.
#include "analyze/metrics/code.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include "formats/base/hash.h"
#include "formats/base/mem.h"
#include "formats/base/wire.h"

/* ---- cubins ---- */

static uint32_t digit_of(char c) { return (uint32_t)(c <= '9' ? c - '0' : c - 'a' + 10); }

/* A part belongs behind what is there: rows are in the order of their windows. */
void gp_cubins_of(struct gp_cubins *c, const struct gp_trace *t)
{
    const struct gp_events *e = &t->events[GP_PC];
    memset(c, 0, sizeof *c);
    for (size_t i = 0; i < e->n; i++) {
        const char *digits = gp_trace_str(t, gp_get_series(e, i));
        const uint64_t crc = gp_get_id(e, i);
        size_t k = 0;
        if (gp_get_total(e, i) || crc == GP_NO_ID) continue;
        while (k < c->cubins.n && c->cubins.at[k].crc != crc) k++;
        if (k == c->cubins.n) GP_VEC_PUSH(&c->cubins, (struct gp_cubin){.crc = crc});
        struct gp_buf *to = &c->cubins.at[k].bytes;
        if (gp_get_addr(e, i) != to->n) continue;
        for (; digits[0] && digits[1]; digits += 2)
            gp_buf_putc(to, (char)(digit_of(digits[0]) << 4 | (digit_of(digits[1]) & 15)));
    }
}

void gp_cubins_release(struct gp_cubins *c)
{
    GP_EACH(struct gp_cubin, one, c->cubins) gp_buf_release(&one->bytes);
    GP_EACH(struct gp_code, one, c->functions) free(one->ops);
    GP_VEC_FREE(&c->cubins);
    GP_VEC_FREE(&c->functions);
    gp_map_release(&c->known);
}

/* ---- sections ---- */

struct part {
    const uint8_t *at;
    size_t n;
    uint32_t number; /* of the section; 0: it is not there */
};

/* The section whose name is A and then B. */
static struct part section_of(const struct gp_buf *b, const char *a, const char *name)
{
    Elf64_Ehdr h;
    Elf64_Shdr names, s;
    const size_t n = strlen(a), all = n + strlen(name);
    if (b->n < sizeof h) return (struct part){0};
    memcpy(&h, b->data, sizeof h);
    if (memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 || h.e_shentsize != sizeof s || h.e_shoff > b->n ||
        h.e_shnum > (b->n - h.e_shoff) / sizeof s || h.e_shstrndx >= h.e_shnum)
        return (struct part){0};
    memcpy(&names, b->data + h.e_shoff + h.e_shstrndx * sizeof s, sizeof s);
    if (names.sh_offset > b->n || names.sh_size > b->n - names.sh_offset) return (struct part){0};
    for (uint32_t i = 1; i < h.e_shnum; i++) {
        memcpy(&s, b->data + h.e_shoff + i * sizeof s, sizeof s);
        const char *text = b->data + names.sh_offset + s.sh_name;
        if (s.sh_offset <= b->n && s.sh_size <= b->n - s.sh_offset && s.sh_name < names.sh_size &&
            all < names.sh_size - s.sh_name && !memcmp(text, a, n) && !memcmp(text + n, name, all - n + 1))
            return (struct part){(const uint8_t *)b->data + s.sh_offset, s.sh_size, i};
    }
    return (struct part){0};
}

/* Attributes are a byte of form, one of kind, and two of value, or of the length of what follows. That of a
 * frame has the number of the function's symbol. */
static uint32_t frame_of(const struct part *info, const struct part *symbols, uint32_t text)
{
    enum { HAS_VALUE = 4, FRAME_SIZE = 0x11, HEAD = 4, SYMBOL_AND_SIZE = 8 };
    Elf64_Sym s;
    for (size_t at = 0, n; at + HEAD <= info->n; at += HEAD + n) {
        const uint8_t *p = info->at + at;
        n = p[0] == HAS_VALUE ? gp_wire_fixed(p + 2, 2) : 0;
        if (n > info->n - at - HEAD) break;
        if (p[1] != FRAME_SIZE || n != SYMBOL_AND_SIZE) continue;
        const uint64_t symbol = gp_wire_fixed(p + HEAD, 4);
        if (symbol >= symbols->n / sizeof s) continue;
        memcpy(&s, symbols->at + symbol * sizeof s, sizeof s);
        if (s.st_shndx == text) return (uint32_t)gp_wire_fixed(p + HEAD + 4, 4);
    }
    return 0;
}

/* ---- instructions ---- */

static uint64_t word(const struct gp_code *code, size_t i, int k)
{
    return gp_wire_fixed(code->bytes + i * GP_OP_BYTES + 8 * k, 8);
}

/* The lowest bits are the operation; those above tell where its operands are. */
static uint32_t operation(const struct gp_code *code, size_t i) { return word(code, i, 0) & 0x1ff; }

/* The operations that count: LD, LDG, LDGSTS; ST, STG; ATOM, RED, REDG, ATOMG, also with CAS; LDL, STL; LDS,
 * STS, ATOMS, also with CAS. */
enum { BAR = 0x11d, BSYNC = 0x141, BRA = 0x147 };
static const uint8_t kinds[0x200] = {
    [0x180] = GP_OP_LOAD,   [0x181] = GP_OP_LOAD,   [0x1ae] = GP_OP_LOAD,   [0x185] = GP_OP_STORE,
    [0x186] = GP_OP_STORE,  [0x18a] = GP_OP_ATOMIC, [0x18b] = GP_OP_ATOMIC, [0x18e] = GP_OP_ATOMIC,
    [0x1a3] = GP_OP_ATOMIC, [0x1a6] = GP_OP_ATOMIC, [0x1a8] = GP_OP_ATOMIC, [0x1a9] = GP_OP_ATOMIC,
    [0x183] = GP_OP_LOCAL,  [0x187] = GP_OP_LOCAL,  [0x184] = GP_OP_SHARED, [0x188] = GP_OP_SHARED,
    [0x18c] = GP_OP_SHARED, [0x18d] = GP_OP_SHARED,
};

/* Of a branch: where it goes if that is not behind it, or what follows it. */
static size_t target_of(const struct gp_code *code, size_t i)
{
    const uint64_t low = word(code, i, 0);
    const uint64_t units = (low >> 16 & 0xff) | low >> 34 << 8; /* of four bytes; 38 bits */
    const int64_t to = (int64_t)i + 1 + ((int64_t)(units << 26) >> 26) / 4;
    return to >= 0 && to <= (int64_t)i ? (size_t)to : i + 1;
}

/* Of each instruction what it does, who wrote the register of its address, and its loop: of branches back the
 * closest behind it. In time linear in instructions, whatever they are. */
static void read_operations(struct gp_code *code)
{
    static const uint8_t bytes[] = {1, 1, 2, 2, 4, 8, 16, 16};
    enum { LANES = 32, SIZE_AT = 73 - 64, TO = 16, FROM = 24, NONE = 0xff };
    uint32_t *open = gp_alloc((code->n + 1) * sizeof *open), n = 0; /* those that no loop is known of */
    size_t writer[NONE + 1] = {0};                                  /* by register, and 1; 0: none */
    for (size_t i = 0; i < code->n; i++) {
        struct gp_code_op *op = &code->ops[i];
        const uint64_t low = word(code, i, 0), from = low >> FROM & NONE;
        op->kind = kinds[operation(code, i)];
        op->address = (uint32_t)(op->kind && from != NONE && writer[from] ? writer[from] - 1 : i);
        writer[low >> TO & NONE] = i + 1;
        open[n++] = (uint32_t)i;
        if (op->kind == GP_OP_LOAD || op->kind == GP_OP_STORE)
            op->bytes = LANES * bytes[word(code, i, 1) >> SIZE_AT & 7];
        if (!i || operation(code, i) != BRA) continue;
        const bool meets = i + 1 < code->n && operation(code, i + 1) == BSYNC;
        for (const size_t to = target_of(code, i); n && open[n - 1] >= to; n--)
            code->ops[open[n - 1]].loop = (uint32_t)i, code->ops[open[n - 1]].diverges = meets;
    }
    free(open);
}

struct gp_code *gp_code_of(struct gp_cubins *c, uint64_t crc, const char *function)
{
    const uint64_t key = gp_hash_bytes(function, strlen(function)) ^ crc;
    const uint32_t *known = gp_map_get(&c->known, key);
    if (known) return c->functions.at[*known].n ? &c->functions.at[*known] : NULL;
    GP_EACH(struct gp_cubin, cubin, c->cubins) {
        if (cubin->crc != crc) continue;
        const struct part text = section_of(&cubin->bytes, ".text.", function),
                          symbols = section_of(&cubin->bytes, ".symtab", ""),
                          info = section_of(&cubin->bytes, ".nv.info", "");
        struct gp_code one = {.bytes = text.at, .n = text.n / GP_OP_BYTES};
        one.ops = gp_zalloc((one.n + 1) * sizeof *one.ops);
        one.frame_bytes = frame_of(&info, &symbols, text.number);
        read_operations(&one);
        gp_map_put(&c->known, key, (uint32_t)c->functions.n);
        GP_VEC_PUSH(&c->functions, one);
        return one.n ? &c->functions.at[c->functions.n - 1] : NULL;
    }
    return NULL;
}

/* What others may wait for: the six scoreboards that an instruction releases, and what it does. */
enum { WAITED_AT = 116 - 64, SCOREBOARDS = 0x3f, IS_BARRIER = 0x100, WRITES = 0x200 };

static bool ends(const struct gp_code *code, size_t i, uint32_t what)
{
    enum { WRITTEN_AT = 110 - 64, READ_AT = 113 - 64 };
    const uint64_t control = word(code, i, 1);
    const uint32_t op = code->ops[i].kind;
    return what & (1U << (control >> WRITTEN_AT & 7) | 1U << (control >> READ_AT & 7) |
                   (operation(code, i) == BAR ? IS_BARRIER : 0) |
                   (op == GP_OP_STORE || op == GP_OP_ATOMIC ? WRITES : 0));
}

/* The closest before I, round its innermost loop, that ends WHAT; I: none. */
static size_t before(const struct gp_code *code, size_t i, uint32_t what)
{
    const size_t loop = code->ops[i].loop, head = loop ? target_of(code, loop) : 0;
    for (size_t k = i; k-- > head;)
        if (ends(code, k, what)) return k;
    for (size_t k = loop + 1; k-- > i + 1;)
        if (ends(code, k, what)) return k;
    for (size_t k = head; k-- > 0;)
        if (ends(code, k, what)) return k;
    return i;
}

size_t gp_code_awaited(const struct gp_code *code, size_t i, enum gp_stall reason)
{
    if (reason == GP_STALL_BARRIER) return ends(code, i, IS_BARRIER) ? i : before(code, i, IS_BARRIER);
    if (reason == GP_STALL_DRAIN) return before(code, i, WRITES);
    const bool waits = reason == GP_STALL_LONG_SCOREBOARD || reason == GP_STALL_SHORT_SCOREBOARD;
    return waits ? before(code, i, word(code, i, 1) >> WAITED_AT & SCOREBOARDS) : i;
}
