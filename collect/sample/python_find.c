#include "collect/sample/python_find.h"

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- one file ---- */

struct elf {
    const uint8_t *data;
    size_t n;
    Elf64_Ehdr head;
    uint64_t bias;
};

static bool get(const struct elf *e, uint64_t at, void *to, size_t n)
{
    if (at > e->n || n > e->n - at) return false;
    memcpy(to, e->data + at, n);
    return true;
}

/* Is the text at AT in the table of texts at TABLE the word? */
static bool is_text(const struct elf *e, uint64_t table, uint64_t at, const char *word)
{
    size_t n = strlen(word) + 1;
    return at < e->n && table < e->n && table + at <= e->n && n <= e->n - (table + at) &&
           !memcmp(e->data + table + at, word, n);
}

static bool section(const struct elf *e, unsigned i, Elf64_Shdr *s)
{
    return e->head.e_shentsize == sizeof *s && i < e->head.e_shnum &&
           get(e, e->head.e_shoff + (uint64_t)i * sizeof *s, s, sizeof *s);
}

static bool find_bias(struct elf *e, uint64_t base)
{
    uint64_t lowest = UINT64_MAX;
    for (unsigned i = 0; i < e->head.e_phnum; i++) {
        Elf64_Phdr p;
        if (e->head.e_phentsize != sizeof p ||
            !get(e, e->head.e_phoff + (uint64_t)i * sizeof p, &p, sizeof p))
            return false;
        if (p.p_type == PT_LOAD && p.p_vaddr < lowest) lowest = p.p_vaddr & ~UINT64_C(4095);
    }
    e->bias = base - lowest;
    return lowest != UINT64_MAX;
}

static void look_at_symbols(const struct elf *e, const Elf64_Shdr *s, uint64_t texts, struct gp_py_place *p)
{
    for (uint64_t i = 0; i < s->sh_size / sizeof(Elf64_Sym); i++) {
        Elf64_Sym y;
        if (!get(e, s->sh_offset + i * sizeof y, &y, sizeof y)) return;
        if (!y.st_shndx || !y.st_value) continue;
        if (!p->runtime && is_text(e, texts, y.st_name, "_PyRuntime")) p->runtime = y.st_value + e->bias;
        else if (!p->version && is_text(e, texts, y.st_name, "Py_Version")) p->version = y.st_value + e->bias;
        else if (!p->code_type && is_text(e, texts, y.st_name, "PyCode_Type"))
            p->code_type = y.st_value + e->bias;
    }
}

/* Symbols that are exported, then those for debuggers, then the section that 3.10 and later have for it. */
bool gp_py_find_elf(const uint8_t *file, size_t n, uint64_t base, struct gp_py_place *p)
{
    struct elf e = {.data = file, .n = n};
    Elf64_Shdr s, names, texts;
    if (!get(&e, 0, &e.head, sizeof e.head) || memcmp(e.head.e_ident, ELFMAG, SELFMAG) != 0 ||
        e.head.e_ident[EI_CLASS] != ELFCLASS64 || !find_bias(&e, base))
        return false;
    static const uint32_t types[] = {SHT_DYNSYM, SHT_SYMTAB};
    for (size_t k = 0; k < 2; k++)
        for (unsigned i = 0; section(&e, i, &s); i++)
            if (s.sh_type == types[k] && section(&e, s.sh_link, &texts))
                look_at_symbols(&e, &s, texts.sh_offset, p);
    bool named = section(&e, e.head.e_shstrndx, &names);
    for (unsigned i = 0; named && !p->runtime && section(&e, i, &s); i++)
        if (is_text(&e, names.sh_offset, s.sh_name, ".PyRuntime")) p->runtime = s.sh_addr + e.bias;
    return p->runtime != 0;
}

/* ---- one process ---- */

/* The file of a mapping at PATH. In another mount namespace that is a path of its own; of a program that only
 * changed its root it is one of ours. */
static int open_mapped(pid_t pid, const char *path)
{
    char full[PATH_MAX + 32];
    snprintf(full, sizeof full, "/proc/%ld/root%s", (long)pid, path);
    int fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe of that name must not stop us */
    return fd < 0 ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : fd;
}

static bool find_in_file(pid_t pid, const char *path, uint64_t base, struct gp_py_place *p)
{
    struct stat st;
    bool found = false;
    int fd = open_mapped(pid, path);
    if (fd < 0) return false;
    if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > (off_t)sizeof(Elf64_Ehdr)) {
        void *m = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (m != MAP_FAILED) {
            found = gp_py_find_elf(m, (size_t)st.st_size, base, p);
            munmap(m, (size_t)st.st_size);
        }
    }
    close(fd);
    return found;
}

static unsigned minor_of(const char *file)
{
    const char *at = strstr(file, "python3.");
    return at ? (unsigned)strtoul(at + strlen("python3."), NULL, 10) : 0;
}

/* The library is preferred: a program that is linked to it has little of its own. */
bool gp_py_find(pid_t pid, struct gp_py_place *p)
{
    char name[64], line[PATH_MAX + 128], exe[PATH_MAX] = "";
    bool found = false, library = false;
    snprintf(name, sizeof name, "/proc/%ld/exe", (long)pid);
    ssize_t k = readlink(name, exe, sizeof exe - 1);
    if (k > 0) exe[k] = 0;
    snprintf(name, sizeof name, "/proc/%ld/maps", (long)pid);
    FILE *f = fopen(name, "re");
    if (!f) return false;
    while (!library && fgets(line, sizeof line, f)) {
        uint64_t base, end, offset;
        int path = 0;
        line[strcspn(line, "\n")] = 0;
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %n", &base, &end, &offset, &path) <
                3 ||
            offset || !path || line[path] != '/')
            continue;
        const char *file = strrchr(line + path, '/');
        library = strstr(file, "/libpython3") != NULL;
        if (!library && (found || strcmp(line + path, exe) != 0)) continue;
        struct gp_py_place here = {.minor = minor_of(file)};
        bool ok = find_in_file(pid, line + path, base, &here);
        if (ok) *p = here;
        library &= ok;
        found |= ok;
    }
    fclose(f);
    return found;
}
