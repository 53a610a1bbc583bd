#include "collect/symbols/symbols.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "collect/symbols/debug_lines.h"
#include "collect/symbols/elf_symbols.h"
#include "formats/base/map.h"

enum { PATH_MOST = 4096 + 300 };

/* A file with code, and the one that has its debug information: the same, or a separate one. */
struct module {
    struct gp_elf_symbols own, separate;
    struct gp_debug_lines *lines;
    int own_fd, separate_fd; /* -1: none; lines read theirs while they are open */
};

struct gp_symbolizer {
    struct gp_strings strings;
    struct gp_map by_path; /* from sid to place */
    GP_VEC(struct module) modules;
};

struct gp_symbolizer *gp_symbolizer_new(void) { return gp_zalloc(sizeof(struct gp_symbolizer)); }

void gp_symbolizer_free(struct gp_symbolizer *s)
{
    if (!s) return;
    GP_EACH(struct module, m, s->modules) {
        gp_debug_lines_close(m->lines);
        gp_elf_symbols_release(&m->own);
        gp_elf_symbols_release(&m->separate);
        if (m->own_fd >= 0) close(m->own_fd);
        if (m->separate_fd >= 0) close(m->separate_fd);
    }
    GP_VEC_FREE(&s->modules);
    gp_map_release(&s->by_path);
    gp_strings_release(&s->strings);
    free(s);
}

/* A pipe or device in a module's place must not hold up the launcher. */
static int open_regular(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || (!fstat(fd, &st) && S_ISREG(st.st_mode))) return fd;
    close(fd);
    return -1;
}

/* ---- separate debug information ---- */

/* Takes the file at PATH if it belongs to M. */
static bool take_separate(struct module *m, const char *path)
{
    int fd = open_regular(path);
    if (fd < 0) return false;
    if (gp_elf_symbols_read(&m->separate, fd) && m->separate.build_id_n == m->own.build_id_n &&
        !memcmp(m->separate.build_id, m->own.build_id, m->own.build_id_n)) {
        m->separate_fd = fd;
        m->lines = gp_debug_lines_open(fd);
        return true;
    }
    gp_elf_symbols_release(&m->separate);
    close(fd);
    return false;
}

static bool by_build_id(struct module *m)
{
    char path[PATH_MOST];
    int n = snprintf(path, sizeof path, "/usr/lib/debug/.build-id/%02x/", m->own.build_id[0]);
    for (size_t i = 1; i < m->own.build_id_n; i++)
        n += snprintf(path + n, sizeof path - (size_t)n, "%02x", m->own.build_id[i]);
    snprintf(path + n, sizeof path - (size_t)n, ".debug");
    return take_separate(m, path);
}

static void by_link(struct module *m, const char *of)
{
    static const char *const places[][2] = {{"", ""}, {"", "/.debug"}, {"/usr/lib/debug", ""}};
    const char *slash = strrchr(of, '/');
    char path[PATH_MOST];
    if (!slash || !*m->own.debug_link) return;
    for (size_t i = 0; i < GP_COUNT(places); i++) {
        int n = snprintf(path, sizeof path, "%s%.*s%s/%s", places[i][0], (int)(slash - of), of, places[i][1],
                         m->own.debug_link);
        if (n > 0 && (size_t)n < sizeof path && take_separate(m, path)) return;
    }
}

/* ---- modules ---- */

static void open_module(struct module *m, const char *path)
{
    m->separate_fd = -1;
    m->own_fd = open_regular(path);
    if (m->own_fd < 0 || !gp_elf_symbols_read(&m->own, m->own_fd)) return;
    m->lines = gp_debug_lines_open(m->own_fd);
    /* Without a build id, nothing shows that a file of the same name is of this build. */
    if (!m->lines && m->own.build_id_n && !by_build_id(m)) by_link(m, path);
    if (m->lines && m->separate_fd < 0) return;
    close(m->own_fd);
    m->own_fd = -1;
}

static struct module *module_at(struct gp_symbolizer *s, const char *path)
{
    gp_sid sid = gp_intern(&s->strings, path, strlen(path));
    uint32_t place = *gp_map_put(&s->by_path, sid, (uint32_t)s->modules.n);
    if (place == s->modules.n) {
        struct module m = {.lines = NULL};
        open_module(&m, path);
        GP_VEC_PUSH(&s->modules, m);
    }
    return &s->modules.at[place];
}

size_t gp_symbolize(struct gp_symbolizer *s, const char *path, uint64_t return_address,
                    struct gp_code_name *at)
{
    struct module *m = module_at(s, path);
    uint64_t address = return_address - 1;
    size_t n = m->lines ? gp_debug_lines_at(m->lines, address, &s->strings, at) : 0;
    if (n && at[n - 1].name) return n;
    const char *name = gp_elf_symbols_at(&m->own, address);
    if (!name) name = gp_elf_symbols_at(&m->separate, address);
    if (!name) return n;
    if (!n) at[n++] = (struct gp_code_name){.file = NULL};
    at[n - 1].name = name;
    return n;
}
