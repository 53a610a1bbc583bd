#include "collect/symbols/elf_symbols.h"
#include "formats/base/order.h"

#include <elf.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SECTIONS_MOST = 1 << 16,
    TABLE_BYTES_MOST = 1 << 29,
    SIZELESS_MOST = 4096, /* bytes of a function without a size */
    NESTED_MOST = 16      /* symbols that are looked at for one that contains an address */
};

struct file {
    int fd;
    uint64_t size;
    Elf64_Shdr *sections;
    size_t n;
    char *names;
    uint64_t names_n;
};

static bool read_at(const struct file *f, uint64_t at, void *to, uint64_t n)
{
    if (at > f->size || n > f->size - at) return false;
    for (uint64_t done = 0; done < n;) {
        ssize_t got = pread(f->fd, (char *)to + done, n - done, (off_t)(at + done));
        if (got <= 0) return false;
        done += (uint64_t)got;
    }
    return true;
}

/* The bytes of section I with a 0 behind them, for free(); NULL: none. */
static char *section(const struct file *f, size_t i, uint64_t *n)
{
    *n = 0;
    if (i >= f->n) return NULL;
    const Elf64_Shdr *s = &f->sections[i];
    if (s->sh_type == SHT_NOBITS || s->sh_size > TABLE_BYTES_MOST || s->sh_offset > f->size ||
        s->sh_size > f->size - s->sh_offset)
        return NULL;
    char *bytes = gp_alloc(s->sh_size + 1);
    if (!read_at(f, s->sh_offset, bytes, s->sh_size)) {
        free(bytes);
        return NULL;
    }
    bytes[s->sh_size] = 0;
    *n = s->sh_size;
    return bytes;
}

static bool open_file(struct file *f, int fd)
{
    Elf64_Ehdr head;
    struct stat st;
    *f = (struct file){.fd = fd};
    if (fstat(fd, &st) || st.st_size < 0) return false;
    f->size = (uint64_t)st.st_size;
    if (!read_at(f, 0, &head, sizeof head) || memcmp(head.e_ident, ELFMAG, SELFMAG) ||
        head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB)
        return false;
    if (!head.e_shnum || head.e_shentsize != sizeof(Elf64_Shdr)) return true;
    f->sections = gp_alloc(head.e_shnum * sizeof *f->sections);
    if (read_at(f, head.e_shoff, f->sections, head.e_shnum * sizeof *f->sections)) f->n = head.e_shnum;
    f->names = section(f, head.e_shstrndx, &f->names_n);
    return true;
}

static bool is_named(const struct file *f, size_t i, const char *name)
{
    uint32_t at = f->sections[i].sh_name;
    return f->names && at < f->names_n && !strcmp(f->names + at, name);
}

/* ---- what identifies a file ---- */

static void read_build_id(struct gp_elf_symbols *e, const struct file *f, size_t i)
{
    Elf64_Nhdr note;
    uint64_t n;
    char *bytes = section(f, i, &n);
    if (bytes && n >= sizeof note) {
        memcpy(&note, bytes, sizeof note);
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && note.n_descsz <= GP_BUILD_ID_MOST &&
            note.n_descsz + sizeof note + 4 <= n) {
            memcpy(e->build_id, bytes + sizeof note + 4, note.n_descsz);
            e->build_id_n = note.n_descsz;
        }
    }
    free(bytes);
}

static void read_debug_link(struct gp_elf_symbols *e, const struct file *f, size_t i)
{
    uint64_t n;
    char *bytes = section(f, i, &n);
    if (bytes && strlen(bytes) < GP_DEBUG_LINK_MOST && !strchr(bytes, '/')) strcpy(e->debug_link, bytes);
    free(bytes);
}

/* ---- symbols ---- */

GP_COMPARE(compare, struct gp_elf_symbol, GP_UP(begin) GP_DOWN(rank) GP_UP(name))

static void read_symbols(struct gp_elf_symbols *e, const struct file *f, size_t i)
{
    uint64_t n;
    char *table = section(f, i, &n);
    e->strings = table ? section(f, f->sections[i].sh_link, &e->strings_n) : NULL;
    for (uint64_t at = 0; e->strings && at + sizeof(Elf64_Sym) <= n; at += sizeof(Elf64_Sym)) {
        Elf64_Sym s;
        memcpy(&s, table + at, sizeof s);
        unsigned type = ELF64_ST_TYPE(s.st_info), bind = ELF64_ST_BIND(s.st_info);
        if ((type != STT_FUNC && type != STT_GNU_IFUNC) || s.st_shndx == SHN_UNDEF ||
            s.st_name >= e->strings_n || !e->strings[s.st_name])
            continue;
        uint8_t rank = bind == STB_LOCAL ? 0 : bind == STB_WEAK ? 1 : 2;
        GP_VEC_PUSH(&e->symbols, ((struct gp_elf_symbol){s.st_value, s.st_size, s.st_name, rank}));
    }
    free(table);
    if (e->symbols.n) {
        qsort(e->symbols.at, e->symbols.n, sizeof *e->symbols.at, compare);
    } else {
        free(e->strings);
        e->strings = NULL;
    }
}

bool gp_elf_symbols_read(struct gp_elf_symbols *e, int fd)
{
    struct file f;
    if (!open_file(&f, fd)) return false;
    for (size_t i = 0; i < f.n; i++) {
        if (f.sections[i].sh_type == SHT_NOTE && !e->build_id_n) read_build_id(e, &f, i);
        if (is_named(&f, i, ".gnu_debuglink")) read_debug_link(e, &f, i);
    }
    static const uint32_t kinds[] = {SHT_SYMTAB, SHT_DYNSYM};
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < f.n && !e->symbols.n; i++)
            if (f.sections[i].sh_type == kinds[k]) read_symbols(e, &f, i);
    free(f.sections);
    free(f.names);
    return true;
}

static bool contains(const struct gp_elf_symbols *e, size_t i, uint64_t address)
{
    const struct gp_elf_symbol *s = &e->symbols.at[i];
    uint64_t size = s->size;
    if (!size && (i + 1 == e->symbols.n || e->symbols.at[i + 1].begin > address)) size = SIZELESS_MOST;
    return address >= s->begin && address - s->begin < size;
}

const char *gp_elf_symbols_at(const struct gp_elf_symbols *e, uint64_t address)
{
    GP_SEARCH(low, 0, e->symbols.n, middle, e->symbols.at[middle].begin <= address);
    const struct gp_elf_symbol *found = NULL;
    for (size_t i = low, left = NESTED_MOST; i-- > 0 && left; left--) {
        const struct gp_elf_symbol *s = &e->symbols.at[i];
        if (found && s->begin != found->begin) break;
        if (contains(e, i, address)) found = s; /* the first of equal ones in their order */
    }
    return found ? e->strings + found->name : NULL;
}

void gp_elf_symbols_release(struct gp_elf_symbols *e)
{
    GP_VEC_FREE(&e->symbols);
    free(e->strings);
    *e = (struct gp_elf_symbols){.build_id_n = 0};
}
