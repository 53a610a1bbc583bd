/* elf_symbols.h -- the functions that a 64-bit ELF file names, and what identifies the file. The file may be
 * anything: what does not fit is left out.
 *
 *     struct gp_elf_symbols e = {0};
 *     if (gp_elf_symbols_read(&e, fd)) name = gp_elf_symbols_at(&e, address);
 *     gp_elf_symbols_release(&e);
 */
#ifndef GP_COLLECT_ELF_SYMBOLS_H
#define GP_COLLECT_ELF_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/base/vec.h"

enum { GP_BUILD_ID_MOST = 64, GP_DEBUG_LINK_MOST = 256 };

struct gp_elf_symbol {
    uint64_t begin, size;
    uint32_t name; /* in the strings */
    uint8_t rank;  /* 0 local, 1 weak, 2 global */
};

struct gp_elf_symbols {
    GP_VEC(struct gp_elf_symbol) symbols; /* by address */
    char *strings;
    uint64_t strings_n;
    uint8_t build_id[GP_BUILD_ID_MOST];
    size_t build_id_n; /* 0: none */
    char debug_link[GP_DEBUG_LINK_MOST];
};

/* .symtab, or .dynsym where that names no function. False: no such file. Keeps nothing of FD. */
bool gp_elf_symbols_read(struct gp_elf_symbols *e, int fd);
/* The function that ADDRESS lies in; NULL: none is named. Valid until release. */
const char *gp_elf_symbols_at(const struct gp_elf_symbols *e, uint64_t address);
void gp_elf_symbols_release(struct gp_elf_symbols *e);

#endif
