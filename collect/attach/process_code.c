#include <dlfcn.h>
#include <elf.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include "collect/attach/attach_priv.h"
#include "formats/base/count.h"

struct mapping {
    uint64_t begin, end, offset;
    unsigned long inode;
    bool code; /* of a file */
    char path[PATH_MAX];
};

static bool next_mapping(FILE *maps, struct mapping *m)
{
    char line[PATH_MAX + 128], rights[8] = "";
    m->path[0] = 0;
    if (!maps || !fgets(line, sizeof line, maps)) return false;
    sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %lu %4095[^\n]", &m->begin, &m->end, rights,
           &m->offset, &m->inode, m->path);
    m->code = rights[2] == 'x' && m->path[0] == '/';
    return true;
}

static FILE *open_maps(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/maps", (long)pid);
    return fopen(path, "re");
}

size_t gp_process_read(pid_t pid, uint64_t at, void *to, size_t n)
{
    struct iovec local = {to, n}, remote = {(void *)(uintptr_t)at, n};
    ssize_t got = process_vm_readv(pid, &local, 1, &remote, 1, 0);
    return got > 0 ? (size_t)got : 0;
}

bool gp_process_write(pid_t pid, uint64_t at, const void *from, size_t n)
{
    struct iovec local = {(void *)(uintptr_t)from, n}, remote = {(void *)(uintptr_t)at, n};
    return process_vm_writev(pid, &local, 1, &remote, 1, 0) == (ssize_t)n;
}

static const void *own_function(const char *function)
{
    static const char *const libraries[] = {"libc.so.6", "libdl.so.2"};
    const void *at = NULL;
    for (size_t i = 0; i < GP_COUNT(libraries) && !at; i++) {
        void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);
        at = library ? dlsym(library, function) : NULL;
    }
    return at;
}

/* Where process PID has what we have at AT in a mapped file; 0: it has not mapped that. */
static uint64_t find_there(pid_t pid, const void *at)
{
    struct mapping m;
    struct stat st;
    Dl_info here;
    uint64_t found = 0;
    if (!at || !dladdr(at, &here) || stat(here.dli_fname, &st)) return 0;
    FILE *maps = open_maps(pid);
    while (!found && next_mapping(maps, &m))
        if (m.inode == st.st_ino && !m.offset && strstr(m.path, strrchr(here.dli_fname, '/')))
            found = m.begin + (uint64_t)((const char *)at - (const char *)here.dli_fbase);
    if (maps) fclose(maps);
    return found;
}

uint64_t gp_process_function(pid_t pid, const char *function)
{
    return find_there(pid, own_function(function));
}

/* The rest of the last page of the C library's code, where an instruction may begin, if that is enough. */
static uint64_t find_room(pid_t pid, size_t room)
{
    Dl_info here;
    uint64_t end = 0;
    if (!dladdr(own_function("malloc"), &here)) return 0;
    const Elf64_Ehdr *h = here.dli_fbase;
    const Elf64_Phdr *p = (const Elf64_Phdr *)((const char *)here.dli_fbase + h->e_phoff);
    for (unsigned i = 0; i < h->e_phnum; i++)
        if (p[i].p_type == PT_LOAD && p[i].p_flags & PF_X)
            end = find_there(pid, (const char *)here.dli_fbase + p[i].p_vaddr + p[i].p_memsz - 1);
    if (end) end = (end + 16) & ~UINT64_C(15);
    return end && (-end & 4095) >= room ? end : 0;
}

bool gp_process_code(struct gp_process_code *c, pid_t pid, size_t room)
{
    static const char *const apart[] = {"/ld-", "jemalloc", "tcmalloc", "mimalloc"};
    struct mapping m;
    FILE *maps = open_maps(pid);
    *c = (struct gp_process_code){.dlopen = gp_process_function(pid, "dlopen"),
                                  .dlsym = gp_process_function(pid, "dlsym"),
                                  .error_location = gp_process_function(pid, "__errno_location"),
                                  .room = find_room(pid, room)};
    while (next_mapping(maps, &m))
        for (size_t i = 0; m.code && i < GP_COUNT(apart); i++)
            if (strstr(m.path, apart[i])) GP_VEC_PUSH(&c->critical, ((struct gp_code_range){m.begin, m.end}));
    if (maps) fclose(maps);
    return c->dlopen && c->dlsym && c->error_location && c->room;
}

bool gp_process_is_critical(const struct gp_process_code *c, uint64_t at)
{
    GP_EACH(const struct gp_code_range, r, c->critical)
        if (at >= r->begin && at < r->end) return true;
    return false;
}
