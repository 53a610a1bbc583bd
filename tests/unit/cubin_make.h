/* cubin_make.h -- a cubin of one function "k", made instruction by instruction.
 *
 *     struct cubin c = {0};
 *     cubin_op(&c, 0x981, 2, 7, 0, 0);            // LDG, releases scoreboard 2
 *     cubin_op(&c, 0x221, 7, 7, 1 << 2, 0);       // FADD, waits for it
 *     cubin_put(&c, &pc, 0xc0de);                 // as code of pc's kernel
 *     cubin_release(&c);
 */
#ifndef GP_TESTS_CUBIN_MAKE_H
#define GP_TESTS_CUBIN_MAKE_H

#include <elf.h>
#include <stdio.h>
#include "formats/base/buf.h"
#include "formats/base/count.h"
#include "tests/unit/pc_make.h"

struct cubin {
    struct gp_buf code, elf;
    uint32_t frame_bytes;
    bool twice; /* a function "l" has the same bytes */
};

static inline void cubin_number(struct gp_buf *b, uint64_t v, size_t n)
{
    for (size_t i = 0; i < n; i++) gp_buf_putc(b, (char)(v >> 8 * i));
}

/* An instruction that releases scoreboards when it has WRITTEN and READ (7: none), and waits for those in
 * WAITS. Accesses are of four bytes; a branch goes BY bytes. */
static inline void cubin_op(struct cubin *c, uint64_t operation, uint64_t written, uint64_t read,
                            uint64_t waits, int64_t by)
{
    const uint64_t units = (uint64_t)(by / 4);
    cubin_number(&c->code, operation | (units & 0xff) << 16 | units >> 8 << 34, 8);
    cubin_number(&c->code, UINT64_C(4) << 9 | written << 46 | read << 49 | waits << 52, 8);
}

/* The ELF file. */
static inline const struct gp_buf *cubin_elf(struct cubin *c)
{
    enum { NULL_SECTION, NAMES, SYMBOLS, TEXT, INFO, AGAIN, SECTIONS };
    static const char names[] = "\0.shstrtab\0.symtab\0.text.k\0.nv.info\0.text.l";
    const Elf64_Sym symbols[2] = {{0}, {.st_shndx = TEXT}};
    struct gp_buf info = {0};
    cubin_number(&info, 0x1204, 2); /* something else */
    cubin_number(&info, 4, 2);
    cubin_number(&info, 0, 4);
    cubin_number(&info, 0x1104, 2);
    cubin_number(&info, 8, 2);
    cubin_number(&info, 1, 4);
    cubin_number(&info, c->frame_bytes, 4);
    const struct {
        const void *at;
        size_t n;
        const char *name;
    } of[SECTIONS] = {[NAMES] = {names, sizeof names, ".shstrtab"},
                      [SYMBOLS] = {symbols, sizeof symbols, ".symtab"},
                      [TEXT] = {c->code.data, c->code.n, ".text.k"},
                      [INFO] = {info.data, info.n, ".nv.info"},
                      [AGAIN] = {"", 0, ".text.l"}};
    Elf64_Ehdr h = {
        .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = SECTIONS, .e_shstrndx = NAMES, .e_shoff = sizeof h};
    Elf64_Shdr s[SECTIONS] = {{0}};
    memcpy(h.e_ident, ELFMAG, SELFMAG);
    h.e_ident[EI_CLASS] = ELFCLASS64;
    size_t at = sizeof h + sizeof s;
    for (size_t i = NAMES; i < SECTIONS; i++) {
        size_t name = 0;
        while (strcmp(names + name, of[i].name) != 0) name += strlen(names + name) + 1;
        s[i] = (Elf64_Shdr){
            .sh_name = (uint32_t)name, .sh_type = SHT_PROGBITS, .sh_offset = at, .sh_size = of[i].n};
        at += of[i].n;
    }
    if (c->twice) s[AGAIN].sh_offset = s[TEXT].sh_offset, s[AGAIN].sh_size = s[TEXT].sh_size;
    c->elf.n = 0;
    gp_buf_put(&c->elf, &h, sizeof h);
    gp_buf_put(&c->elf, s, sizeof s);
    for (size_t i = NAMES; i < SECTIONS; i++) gp_buf_put(&c->elf, of[i].at, of[i].n);
    gp_buf_release(&info);
    return &c->elf;
}

/* N bytes of it as rows of a trace, and the samples that follow are of its kernel. */
static inline void cubin_put_bytes(struct cubin *c, struct pc *pc, uint64_t crc, size_t n)
{
    enum { PART = 300 };
    struct gp_events *e = &pc->t->events[GP_PC];
    const struct gp_buf *elf = cubin_elf(c);
    for (size_t at = 0; at < n; at += PART) {
        struct gp_buf digits = {0};
        for (size_t i = at; i < n && i < at + PART; i++)
            gp_buf_printf(&digits, "%02x", (unsigned char)elf->data[i]);
        const size_t row = gp_events_add(e, pc->start_ns, pc->dur_ns, pc->track, mk_name(pc->t, pc->name));
        gp_set_series(e, row, gp_trace_intern(pc->t, digits.data, digits.n));
        gp_set_addr(e, row, at);
        gp_set_id(e, row, crc);
        gp_buf_release(&digits);
    }
    pc->crc = crc;
}

static inline void cubin_put(struct cubin *c, struct pc *pc, uint64_t crc)
{
    cubin_put_bytes(c, pc, crc, cubin_elf(c)->n);
}

static inline void cubin_release(struct cubin *c)
{
    gp_buf_release(&c->code);
    gp_buf_release(&c->elf);
}

#endif
