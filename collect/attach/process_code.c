#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "collect/attach/attach_priv.h"
#include "collect/symbols/elf_symbols.h"
#include "formats/base/count.h"
#include "formats/base/str.h"

/* A piece of a file that is mapped to be run. */
struct mapping {
    uint64_t begin, end, offset;
    const char *path, *file; /* FILE: from its last "/" on */
};

/* The next mapping with code in a file; LINE holds its text. False at the end. */
static bool next_mapping(FILE *maps, char *line, int size, struct mapping *m)
{
    while (fgets(line, size, maps)) {
        char rights[8];
        int at = 0;
        line[strcspn(line, "\n")] = 0;
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %n", &m->begin, &m->end, rights,
                   &m->offset, &at) < 4 ||
            !at || line[at] != '/' || rights[2] != 'x')
            continue;
        m->path = line + at;
        m->file = strrchr(m->path, '/');
        return true;
    }
    return false;
}

static FILE *open_maps(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/maps", (long)pid);
    return fopen(path, "re");
}

/* Of the segment that M is: what is added to its addresses, and where it ends. */
static bool find_segment(int fd, const struct mapping *m, uint64_t *bias, uint64_t *end)
{
    Elf64_Ehdr h;
    if (pread(fd, &h, sizeof h, 0) != (ssize_t)sizeof h || memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 ||
        h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_phentsize != sizeof(Elf64_Phdr))
        return false;
    for (unsigned i = 0; i < h.e_phnum; i++) {
        Elf64_Phdr p;
        if (pread(fd, &p, sizeof p, (off_t)(h.e_phoff + i * sizeof p)) != (ssize_t)sizeof p) return false;
        if (p.p_type != PT_LOAD || !(p.p_flags & PF_X) || (p.p_offset & ~UINT64_C(4095)) != m->offset)
            continue;
        *bias = m->begin - (p.p_vaddr & ~UINT64_C(4095));
        *end = *bias + p.p_vaddr + p.p_memsz;
        return true;
    }
    return false;
}

static void look_at_symbols(struct gp_process_code *c, const struct gp_elf_symbols *e, uint64_t bias)
{
    enum { AROUND = 16 << 10 }; /* functions that are not exported lie beside those that are */
    static const char heap[] = " malloc free calloc realloc memalign malloc_trim malloc_usable_size ";
    struct gp_code_range r = {UINT64_MAX, 0};
    for (size_t i = 0; i < e->symbols.n; i++) {
        const struct gp_elf_symbol *s = &e->symbols.at[i];
        const char *name = e->strings + s->name;
        uint64_t at = bias + s->begin;
        if (!strcmp(name, "dlopen")) c->dlopen = at;
        else if (!strcmp(name, "dlsym")) c->dlsym = at;
        else if (!strcmp(name, "__errno_location")) c->error_location = at;
        else if (!gp_is_one_of(name, strlen(name), heap)) continue;
        else if (at < r.begin) r.begin = at;
        if (gp_is_one_of(name, strlen(name), heap) && at + s->size > r.end) r.end = at + s->size;
    }
    if (r.end) GP_VEC_PUSH(&c->critical, ((struct gp_code_range){r.begin - AROUND, r.end + AROUND}));
}

static void look_at(struct gp_process_code *c, pid_t pid, const struct mapping *m, size_t room)
{
    static const char *const libraries[] = {"/libc.so", "/libc-", "/libdl.so", "/libdl-", "/ld-musl"};
    static const char *const apart[] = {"/ld-", "jemalloc", "tcmalloc", "mimalloc"};
    char path[PATH_MAX + 32];
    uint64_t bias, end;
    snprintf(path, sizeof path, "/proc/%ld/root%s", (long)pid, m->path);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe of that name must not stop us */
    bool known = fd >= 0 && find_segment(fd, m, &bias, &end);
    for (size_t i = 0; i < GP_COUNT(apart); i++)
        if (strstr(m->file, apart[i])) GP_VEC_PUSH(&c->critical, ((struct gp_code_range){m->begin, m->end}));
    if (known && !c->room && m->end - end >= room && m->end > end) c->room = end;
    for (size_t i = 0; known && i < GP_COUNT(libraries); i++) {
        struct gp_elf_symbols e = {.build_id_n = 0};
        if (!gp_starts(m->file, libraries[i])) continue;
        if (gp_elf_symbols_read(&e, fd)) look_at_symbols(c, &e, bias);
        gp_elf_symbols_release(&e);
        break;
    }
    if (fd >= 0) close(fd);
}

bool gp_process_code(struct gp_process_code *c, pid_t pid, size_t room)
{
    char line[PATH_MAX + 128];
    struct mapping m;
    FILE *maps = open_maps(pid);
    memset(c, 0, sizeof *c);
    while (maps && next_mapping(maps, line, sizeof line, &m)) look_at(c, pid, &m, room);
    if (maps) fclose(maps);
    return c->dlopen && c->dlsym && c->error_location && c->room;
}
