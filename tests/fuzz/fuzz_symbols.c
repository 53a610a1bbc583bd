/* fuzz_symbols.c -- anything where an ELF file with symbols should be: a name that is found lies in the
 * strings of the file and ends there. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "collect/symbols/elf_symbols.h"
#include "tests/fuzz/help/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    struct gp_elf_symbols e = {.strings = NULL};
    if (fd < 0) fd = memfd_create("elf", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size) return 0;
    if (gp_elf_symbols_read(&e, fd)) {
        FUZZ_CHECK(e.build_id_n <= GP_BUILD_ID_MOST && memchr(e.debug_link, 0, sizeof e.debug_link));
        for (size_t i = 0; i < e.symbols.n && i < 1000; i++) {
            const struct gp_elf_symbol *s = &e.symbols.at[i];
            const char *name = gp_elf_symbols_at(&e, s->begin + s->size / 2);
            FUZZ_CHECK(!name ||
                       (name >= e.strings && name + strlen(name) <= e.strings + e.strings_n && *name));
        }
        gp_elf_symbols_at(&e, size);
    }
    gp_elf_symbols_release(&e);
    return 0;
}
