// Cubins are ELF files of 64 bits, little-endian. Of what is cut or unknown there is no code.
#include "analyze/metrics/code.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include "formats/base/hash.h"
#include "formats/base/mem.h"
#include "formats/base/wire.h"

static uint64_t key_of(uint64_t crc, const char *name, size_t n) { return gp_hash_bytes(name, n) ^ crc; }

/* ---- sections ---- */

static struct gp_section section_of(const struct gp_cubins *c, uint64_t crc, const char *kind, const char *of)
{
    struct gp_buf name = {0};
    gp_buf_printf(&name, "%s%s", kind, of);
    const uint32_t *at = gp_map_get(&c->section_of, key_of(crc, name.data, name.n));
    gp_buf_release(&name);
    return at ? c->sections.at[*at] : (struct gp_section){0};
}

/* Attributes are a byte of form, one of kind, and two of value, or of the length of what follows. That of a
 * frame has the number of the function's symbol, which has that of one of the N sections at TEXT. */
static void read_frames(const struct gp_section *info, const struct gp_section *symbols,
                        struct gp_section *text, size_t n)
{
    enum { HAS_VALUE = 4, FRAME_SIZE = 0x11, HEAD = 4, SYMBOL_AND_SIZE = 8 };
    Elf64_Sym s;
    for (size_t at = 0, more; at + HEAD <= info->n; at += HEAD + more) {
        const uint8_t *p = info->at + at;
        more = p[0] == HAS_VALUE ? gp_wire_fixed(p + 2, 2) : 0;
        if (more > info->n - at - HEAD) break;
        if (p[1] != FRAME_SIZE || more != SYMBOL_AND_SIZE) continue;
        const uint64_t symbol = gp_wire_fixed(p + HEAD, 4);
        if (symbol >= symbols->n / sizeof s) continue;
        memcpy(&s, symbols->at + symbol * sizeof s, sizeof s);
        if (s.st_shndx < n) text[s.st_shndx].frame_bytes = (uint32_t)gp_wire_fixed(p + HEAD + 4, 4);
    }
}

/* In time linear in the cubin's bytes: sections and names do not overlap in what a compiler makes. */
static void read_sections(struct gp_cubins *c, const struct gp_cubin *cubin)
{
    const struct gp_buf *b = &cubin->bytes;
    const size_t first = c->sections.n;
    Elf64_Ehdr h;
    Elf64_Shdr names, s;
    if (b->n < sizeof h) return;
    memcpy(&h, b->data, sizeof h);
    if (memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 || h.e_shentsize != sizeof s || h.e_shoff > b->n ||
        h.e_shnum > (b->n - h.e_shoff) / sizeof s || h.e_shstrndx >= h.e_shnum)
        return;
    memcpy(&names, b->data + h.e_shoff + h.e_shstrndx * sizeof s, sizeof s);
    if (names.sh_offset > b->n || names.sh_size > b->n - names.sh_offset) return;
    for (size_t i = 0, left = b->n, letters = b->n; i < h.e_shnum; i++) {
        memcpy(&s, b->data + h.e_shoff + i * sizeof s, sizeof s);
        GP_VEC_PUSH(&c->sections, (struct gp_section){0});
        if (!i || s.sh_type == SHT_NOBITS || s.sh_offset > b->n || s.sh_size > b->n - s.sh_offset ||
            s.sh_name >= names.sh_size)
            continue;
        const char *name = b->data + names.sh_offset + s.sh_name;
        const size_t most = names.sh_size - s.sh_name, n = strnlen(name, most < letters ? most : letters);
        letters -= n;
        left -= s.sh_size < left ? s.sh_size : left;
        if (!left || !letters) break;
        c->sections.at[first + i].at = (const uint8_t *)b->data + s.sh_offset;
        c->sections.at[first + i].n = s.sh_size;
        (void)gp_map_put(&c->section_of, key_of(cubin->crc, name, n), (uint32_t)(first + i));
    }
    const struct gp_section info = section_of(c, cubin->crc, ".nv.info", ""),
                            symbols = section_of(c, cubin->crc, ".symtab", "");
    read_frames(&info, &symbols, c->sections.at + first, c->sections.n - first);
}

/* ---- cubins ---- */

static uint32_t digit_of(char c) { return (uint32_t)(c <= '9' ? c - '0' : c - 'a' + 10); }

/* A part belongs behind what is there: rows are in the order of their windows. */
void gp_cubins_of(struct gp_cubins *c, const struct gp_trace *t)
{
    const struct gp_events *e = &t->events[GP_PC];
    struct gp_map cubin_of = {0};
    memset(c, 0, sizeof *c);
    for (size_t i = 0; i < e->n; i++) {
        const char *digits = gp_trace_str(t, gp_get_series(e, i));
        const uint64_t crc = gp_get_id(e, i);
        if (gp_get_total(e, i) || crc == GP_NO_ID) continue;
        const uint32_t k = *gp_map_put(&cubin_of, crc, (uint32_t)c->cubins.n);
        if (k == c->cubins.n) GP_VEC_PUSH(&c->cubins, (struct gp_cubin){.crc = crc});
        struct gp_buf *to = &c->cubins.at[k].bytes;
        if (gp_get_addr(e, i) != to->n) continue;
        for (; digits[0] && digits[1]; digits += 2)
            gp_buf_putc(to, (char)(digit_of(digits[0]) << 4 | (digit_of(digits[1]) & 15)));
    }
    GP_EACH(struct gp_cubin, one, c->cubins) read_sections(c, one);
    gp_map_release(&cubin_of);
}

void gp_cubins_release(struct gp_cubins *c)
{
    GP_EACH(struct gp_cubin, one, c->cubins) gp_buf_release(&one->bytes);
    GP_EACH(struct gp_code, one, c->functions) free(one->ops);
    GP_VEC_FREE(&c->cubins);
    GP_VEC_FREE(&c->sections);
    GP_VEC_FREE(&c->functions);
    gp_map_release(&c->section_of);
    gp_map_release(&c->function_of);
}

/* ---- instructions ---- */

static uint64_t word(const struct gp_code *code, size_t i, int k)
{
    return gp_wire_fixed(code->bytes + i * GP_OP_BYTES + 8 * k, 8);
}

/* The lowest bits are the operation; those above tell where its operands are. */
static uint32_t operation(const struct gp_code *code, size_t i) { return word(code, i, 0) & 0x1ff; }

/* The operations that count: LD, LDG, LDGSTS; ST, STG; ATOM, RED, REDG, ATOMG, also with CAS; LDL, STL; LDS,
 * STS, ATOMS, also with CAS, LDSM, STSM; DMUL, DADD, DSETP, DFMA; I2F, also of 64 bits; MUFU; F2I;
 * IMAD.HI. */
enum { BAR = 0x11d, BSYNC = 0x141, BRA = 0x147 };
static const uint8_t kinds[0x200] = {
    [0x180] = GP_OP_LOAD,     [0x181] = GP_OP_LOAD,     [0x1ae] = GP_OP_LOAD,       [0x185] = GP_OP_STORE,
    [0x186] = GP_OP_STORE,    [0x18a] = GP_OP_ATOMIC,   [0x18b] = GP_OP_ATOMIC,     [0x18e] = GP_OP_ATOMIC,
    [0x1a3] = GP_OP_ATOMIC,   [0x1a6] = GP_OP_ATOMIC,   [0x1a8] = GP_OP_ATOMIC,     [0x1a9] = GP_OP_ATOMIC,
    [0x183] = GP_OP_LOCAL,    [0x187] = GP_OP_LOCAL,    [0x184] = GP_OP_SHARED,     [0x188] = GP_OP_SHARED,
    [0x18c] = GP_OP_SHARED,   [0x18d] = GP_OP_SHARED,   [0x03b] = GP_OP_SHARED,     [0x044] = GP_OP_SHARED,
    [0x028] = GP_OP_DOUBLE,   [0x029] = GP_OP_DOUBLE,   [0x02a] = GP_OP_DOUBLE,     [0x02b] = GP_OP_DOUBLE,
    [0x106] = GP_OP_TO_FLOAT, [0x112] = GP_OP_TO_FLOAT, [0x108] = GP_OP_RECIPROCAL, [0x105] = GP_OP_TO_INT,
    [0x111] = GP_OP_TO_INT,   [0x027] = GP_OP_HIGH,
};

/* Of a branch: where it goes if that is not behind it, or what follows it. */
static size_t target_of(const struct gp_code *code, size_t i)
{
    const uint64_t low = word(code, i, 0);
    const uint64_t units = (low >> 16 & 0xff) | low >> 34 << 8; /* of four bytes; 38 bits */
    const int64_t to = (int64_t)i + 1 + ((int64_t)(units << 26) >> 26) / 4;
    return to >= 0 && to <= (int64_t)i ? (size_t)to : i + 1;
}

/* What others may wait for, as bits: the six scoreboards that an instruction releases, and what it does. */
enum { BARRIER = 6, WRITES, ENDS, SCOREBOARDS = 0x3f };
enum { FOR_SCOREBOARD, FOR_BARRIER, FOR_WRITE, AWAITED };

static uint32_t ended_by(const struct gp_code *code, size_t i)
{
    enum { WRITTEN_AT = 110 - 64, READ_AT = 113 - 64 };
    const uint64_t control = word(code, i, 1);
    const uint32_t kind = code->ops[i].kind;
    return ((1U << (control >> WRITTEN_AT & 7) | 1U << (control >> READ_AT & 7)) & SCOREBOARDS) |
           (uint32_t)(operation(code, i) == BAR) << BARRIER |
           (uint32_t)(kind == GP_OP_STORE || kind == GP_OP_ATOMIC) << WRITES;
}

/* Instruction I waits for the latest of LAST, indices and 1, that ends what it may wait for: where there is
 * none yet from HEAD on, and if it is behind FROM. */
static void await(const struct gp_code *code, size_t i, const uint32_t last[ENDS], size_t head, size_t from)
{
    enum { WAITED_AT = 116 - 64 };
    const uint32_t what[AWAITED] = {[FOR_SCOREBOARD] = word(code, i, 1) >> WAITED_AT & SCOREBOARDS,
                                    [FOR_BARRIER] = operation(code, i) == BAR ? 0 : 1U << BARRIER,
                                    [FOR_WRITE] = 1U << WRITES};
    for (int w = 0; w < AWAITED; w++) {
        uint32_t latest = 0, *at = &code->ops[i].awaited[w];
        for (int b = 0; b < ENDS; b++)
            if (what[w] >> b & 1 && last[b] > latest) latest = last[b];
        if ((*at == i || *at < head) && latest > from) *at = latest - 1;
    }
}

/* Of each register, and each uniform one, which argument its value was made of, and of which load, and 1; of
 * each predicate, which load. */
struct roots {
    uint32_t of[2][0x100], loaded[2][0x100], tested[8];
};

/* What instruction I reads: two registers, and a third, a uniform one or a constant between them. The pointer
 * comes last. */
static void follow_root(const struct gp_code *code, size_t i, struct roots *r)
{
    enum { IADD3 = 0x10, LEA, IMAD_WIDE = 0x25, ULDC = 0xb9, ALU = 0x100, LDC = 0x182, WIDE = 5 };
    enum { SEL = 0x7, FSETP = 0xb, ISETP };
    enum { ALL = 1, CONSTANT_LAST = 3, CONSTANT = 5, UNIFORM, UNIFORM_LAST, ARGUMENTS = 0x160, BANK_AT = 54 };
    const uint64_t low = word(code, i, 0), high = word(code, i, 1);
    const uint32_t what = operation(code, i), form = low >> 9 & 7, place = low >> 38 & 0xffff;
    const bool uniform = what >= 0x80 && what < 0xc0, load = what == LDC || what == ULDC;
    const bool points = load ? (high >> 9 & 7) == WIDE : what == IADD3 || what == LEA || what == IMAD_WIDE;
    const uint32_t *of = r->of[uniform];
    uint32_t root = load ? 0 : of[high & 0xff];
    if (!root && (load || form == CONSTANT || form == CONSTANT_LAST) && points && place >= ARGUMENTS &&
        !(low >> BANK_AT & 31))
        root = place;
    if (!root && !load && form == ALL) root = of[low >> 32 & 0xff];
    if (!root && (form == UNIFORM || form == UNIFORM_LAST)) root = r->of[1][low >> 32 & 0xff];
    if (!root && !load) root = of[low >> 24 & 0xff];
    const bool loads = code->ops[i].kind == GP_OP_LOAD;
    const uint32_t to = low >> 16 & 0xff, from[] = {high & 0xff, low >> 24 & 0xff, low >> 32 & 0xff};
    uint32_t *made = r->loaded[uniform], loaded = 0;
    for (int k = 0; k < (form == ALL ? 3 : 2); k++)
        if (made[from[k]] > loaded) loaded = made[from[k]];
    const uint32_t guard = low >> 12 & 7, chosen = what == SEL ? r->tested[high >> 23 & 7] : 0;
    if (r->tested[guard] > loaded) loaded = r->tested[guard]; /* so its value depends on that load */
    if (chosen > loaded) loaded = chosen;
    if (what == FSETP || what == ISETP) r->tested[high >> 17 & 7] = loaded;
    else if (what < ALU || load || loads)
        r->of[uniform][to] = loads ? 0 : root, made[to] = loads ? (uint32_t)i + 1 : loaded;
    r->of[0][0xff] = r->of[1][0x3f] = r->of[1][0xff] = r->loaded[0][0xff] = r->tested[7] = 0; /* none */
}

/* Of each instruction what it does, who wrote the register of its address, its loop (of branches back the
 * closest behind it), and what it waits for: the closest before it in its loop, then round from the loop's
 * end, then before the loop. In time linear in instructions, whatever they are. */
static void read_operations(struct gp_code *code)
{
    static const uint8_t bytes[] = {1, 1, 2, 2, 4, 8, 16, 16}, added[] = {4, 4, 8, 16, 4, 8, 8, 4};
    enum { LANES = 32, SIZE_AT = 73 - 64, TO = 16, FROM = 24, NONE = 0xff };
    uint32_t *open = gp_alloc((code->n + 1) * sizeof *open), n = 0; /* those that no loop is known of */
    uint32_t last[ENDS] = {0};
    size_t writer[NONE + 1] = {0}; /* by register, and 1; 0: none */
    struct roots roots = {0};
    for (size_t i = 0; i < code->n; i++) {
        struct gp_code_op *op = &code->ops[i];
        const uint64_t low = word(code, i, 0), from = low >> FROM & NONE;
        op->kind = kinds[operation(code, i)];
        op->address =
            (uint32_t)(op->kind && op->kind <= GP_OP_SHARED && from != NONE && writer[from] ? writer[from] - 1
                                                                                            : i);
        writer[low >> TO & NONE] = i + 1;
        op->root = op->kind ? roots.of[0][from] : 0;
        op->made = op->kind ? roots.loaded[0][from] : 0;
        follow_root(code, i, &roots);
        open[n++] = (uint32_t)i;
        if (op->kind == GP_OP_LOAD || op->kind == GP_OP_STORE)
            op->bytes = LANES * bytes[word(code, i, 1) >> SIZE_AT & 7];
        if (op->kind == GP_OP_ATOMIC) op->bytes = 2 * LANES * added[word(code, i, 1) >> SIZE_AT & 7];
        for (int w = 0; w < AWAITED; w++) op->awaited[w] = (uint32_t)i;
        await(code, i, last, 0, 0);
        for (uint32_t ended = ended_by(code, i), b = 0; b < ENDS; b++)
            if (ended >> b & 1) last[b] = (uint32_t)i + 1;
        if (!i || operation(code, i) != BRA) continue;
        const bool meets = i + 1 < code->n && operation(code, i + 1) == BSYNC;
        for (const size_t to = target_of(code, i); n && open[n - 1] >= to; n--) {
            const uint32_t in = open[n - 1];
            code->ops[in].loop = (uint32_t)i, code->ops[in].diverges = meets;
            await(code, in, last, to, in + 1);
        }
    }
    free(open);
}

struct gp_code *gp_code_of(struct gp_cubins *c, uint64_t crc, const char *function)
{
    const uint64_t key = key_of(crc, function, strlen(function));
    const uint32_t next = (uint32_t)c->functions.n, at = *gp_map_put(&c->function_of, key, next);
    if (at == next) {
        const struct gp_section text = section_of(c, crc, ".text.", function);
        struct gp_code one = {.bytes = text.at, .n = text.n / GP_OP_BYTES, .frame_bytes = text.frame_bytes};
        one.ops = gp_zalloc((one.n + 1) * sizeof *one.ops);
        read_operations(&one);
        GP_VEC_PUSH(&c->functions, one);
    }
    return c->functions.at[at].n ? &c->functions.at[at] : NULL;
}

size_t gp_code_awaited(const struct gp_code *code, size_t i, enum gp_stall reason)
{
    if (reason == GP_STALL_BARRIER) return code->ops[i].awaited[FOR_BARRIER];
    if (reason == GP_STALL_DRAIN) return code->ops[i].awaited[FOR_WRITE];
    const bool waits = reason == GP_STALL_LONG_SCOREBOARD || reason == GP_STALL_SHORT_SCOREBOARD;
    return waits ? code->ops[i].awaited[FOR_SCOREBOARD] : i;
}
