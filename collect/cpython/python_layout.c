#include "collect/cpython/python_layout.h"

#include <string.h>
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "formats/base/count.h"
#include "formats/base/str.h"

enum { NONE = -1, WORDS = GP_PY_TABLE_BYTES / 8, OFFSET_MOST = 1 << 20 };
#define NO     GP_PY_NONE
#define COOKIE "xdebugpy" /* begins the table */

/* What is the same in all versions unless their table says otherwise: from object_type on. */
#define USUAL 8, 16, 2, NO, NO, 5, 0, NO

/* In the order of struct gp_py_layout. */
static const struct gp_py_layout fixed[] = {
    {9,  32, 0,   8,  816, NO, 360, 368, 8,   16, NO,  176, 24, NO, 0,  NO, NO, 264,
     24, 32, 104, NO, 112, 40, 104, 112, 120, 48, 176, 16,  32, 48, 72, 16, 32, USUAL},
    {10, 32, 0,  8,  816, NO, 360, 368, 8,   16, NO,  176, 24, NO, 0,  NO, NO, 280,
     24, 32, 96, NO, 104, 40, 104, 112, 120, 48, 176, 16,  32, 48, 72, 16, 32, USUAL},
    {11, 40, 0,  16, 848, NO, 368, 376, 8,   16,  160, 152, NO, 56, 8,  296, 304, 360,
     48, 32, 56, 69, 80,  72, 112, 128, 136, 184, 192, 16,  32, 48, 72, 16,  32,  USUAL},
    {12, 40, 0,  72, 312, 384, 8,   16,  8,   16,  144, 136, NO, 56, 0,  232, 240, 288,
     8,  0,  56, 70, 80,  68,  112, 128, 136, 192, 200, 16,  32, 40, 56, 16,  32,  USUAL},
};

/* The words of the table from the group of interpreters on, in groups that have a size in front. */
static const struct groups {
    unsigned interp, thread, frame, code, objects, string, gc; /* how long they are */
    unsigned inserted;  /* in the group of threads, behind their frame */
    unsigned main;      /* in the group of interpreters, behind the list of threads */
    uint32_t generator; /* the state of one that runs */
} groups[] = {
    {13, 9, 6, 10, 20, 4, 2, 0, 0, 0},
    {16, 9, 8, 11, 24, 4, 2, 0, 1, 0},
    {16, 17, 8, 11, 28, 5, 5, 3, 1, 4},
};
enum { TABLE_SINCE = 13, BYTES_WORDS = 3 };

/* Where the groups begin, in words. */
struct positions {
    unsigned interp, threads, gc, gil_pointer, gil, gil_locked, gil_holder; /* in the group of interpreters */
    unsigned thread, thread_id, frame, code, objects, bytes, string, collecting, generator;
};

static struct positions positions_of(const struct groups *g)
{
    struct positions p = {.interp = 6, .threads = 9};
    p.gc = p.threads + 1 + g->main;
    p.gil_pointer = p.gc + 4;
    p.gil = p.gc + 5;
    p.gil_locked = p.gc + 7;
    p.gil_holder = p.gc + 8;
    p.thread = p.interp + g->interp;
    p.thread_id = p.thread + 5 + g->inserted;
    p.frame = p.thread + g->thread;
    p.code = p.frame + g->frame;
    p.objects = p.code + g->code;
    p.bytes = p.objects + g->objects;
    p.string = p.bytes + BYTES_WORDS;
    p.collecting = p.string + g->string;
    p.generator = p.collecting + g->gc;
    return p;
}

static bool take(uint32_t *to, const uint64_t *table, unsigned at)
{
    bool ok = at < WORDS && table[at] < OFFSET_MOST;
    if (ok) *to = (uint32_t)table[at];
    return ok;
}

/* Parts that only name things: those of the usual build if the table says nothing that can be. */
static void take_names(struct gp_py_layout *o, const uint64_t *t, const struct positions *p)
{
    o->bytes_size = 16;
    o->bytes_data = 32;
    o->str_length = 16;
    o->str_state = 32;
    o->str_ascii = 40;
    uint32_t size = 0, data = 0, state = 0, length = 0, ascii = 0, gc = 0, collecting = 0;
    bool ok = take(&size, t, p->bytes + 1) && take(&data, t, p->bytes + 2) &&
              take(&state, t, p->string + 1) && take(&length, t, p->string + 2) &&
              take(&ascii, t, p->string + 3);
    if (ok && size >= 16 && data >= size + 8 && data <= 64 && length >= 16 && state >= length + 8 &&
        ascii >= state + 4 && ascii <= 96) {
        o->bytes_size = size;
        o->bytes_data = data;
        o->str_length = length;
        o->str_state = state;
        o->str_ascii = ascii;
    }
    o->str_other = o->str_ascii + 16;
    ok = take(&gc, t, p->gc) && take(&collecting, t, p->collecting + 1);
    o->interp_collecting = ok && gc && collecting && collecting < 1024 ? gc + collecting : NO;
}

/* The lock, behind a pointer of the interpreter; the table has its offset there. */
static void take_lock(struct gp_py_layout *o, const uint64_t *t, const struct positions *p)
{
    uint32_t gil = 0, holder = 0, locked = 0;
    bool ok = take(&gil, t, p->gil) && take(&holder, t, p->gil_holder) && take(&locked, t, p->gil_locked) &&
              gil && holder > gil && locked > gil && holder - gil < 256 && locked - gil < 256;
    o->gil_holder = ok ? holder - gil : 8;
    o->gil_locked = ok ? locked - gil : 16;
}

static void take_without_lock(struct gp_py_layout *o, const uint64_t *t, const struct positions *p)
{
    uint32_t type = 0;
    if (take(&type, t, p->objects + 1) && type <= 64) {
        o->object_type = type;
        o->object_size = type + 8;
    }
    take(&o->thread_status, t, p->thread_id + 3);
    if (o->minor == TABLE_SINCE) return;
    take(&o->code_copies, t, p->code + 10);
    o->str_kind = 8;
}

static bool from_table(struct gp_py_layout *o, unsigned minor, const void *table, size_t n)
{
    uint64_t t[WORDS];
    const struct groups *g = &groups[minor - TABLE_SINCE];
    struct positions p = positions_of(g);
    if (n < sizeof t || memcmp(table, GP_TEXT(COOKIE)) != 0) return false;
    memcpy(t, table, sizeof t);
    *o = fixed[GP_COUNT(fixed) - 1]; /* the usual values */
    o->minor = minor;
    o->thread_cframe = NO;
    bool ok = take(&o->runtime_head, t, 5) && take(&o->interp_next, t, p.interp + 2) &&
              take(&o->interp_threads, t, p.threads) && take(&o->gil_pointer, t, p.gil_pointer) &&
              take(&o->thread_bytes, t, p.thread) && take(&o->thread_next, t, p.thread + 2) &&
              take(&o->thread_interp, t, p.thread + 3) && take(&o->thread_frame, t, p.thread + 4) &&
              take(&o->thread_pthread, t, p.thread_id) && take(&o->thread_native_id, t, p.thread_id + 1) &&
              take(&o->thread_chunk, t, p.thread_id + 2) && take(&o->frame_bytes, t, p.frame) &&
              take(&o->frame_previous, t, p.frame + 1) && take(&o->frame_code, t, p.frame + 2) &&
              take(&o->frame_ip, t, p.frame + 3) && take(&o->frame_owner, t, p.frame + 5) &&
              take(&o->code_bytes, t, p.code) && take(&o->code_file, t, p.code + 1) &&
              take(&o->code_name, t, p.code + 3) && take(&o->code_lines, t, p.code + 4) &&
              take(&o->code_first, t, p.code + 5) && take(&o->code_start, t, p.code + 9);
    if (!ok) return false;
    o->thread_top = o->thread_chunk + 8;
    take_lock(o, t, &p);
    take_names(o, t, &p);
    uint32_t frame = 0, state = 0;
    o->generator_runs = g->generator;
    if (o->minor > TABLE_SINCE && take(&frame, t, p.generator + 2) && take(&state, t, p.generator + 3) &&
        frame > state && frame - state <= 8)
        o->generator_state = frame - state;
    if (t[2]) take_without_lock(o, t, &p);
    return true;
}

/* Does every field lie in the part of its struct that is read? */
static bool is_sound(const struct gp_py_layout *o)
{
    const uint32_t thread[] = {o->thread_next,    o->thread_interp, o->thread_native_id,
                               o->thread_pthread, o->thread_frame,  o->thread_cframe,
                               o->thread_chunk,   o->thread_top,    o->thread_status};
    const uint32_t frame[] = {o->frame_previous, o->frame_code, o->frame_ip, o->frame_owner};
    const uint32_t code[] = {o->code_first, o->code_file, o->code_name, o->code_lines, o->object_size + 16};
    if (o->thread_bytes > GP_PY_THREAD_MOST || o->frame_bytes > GP_PY_FRAME_MOST ||
        o->code_bytes > GP_PY_CODE_MOST || o->thread_bytes < 64 || o->frame_bytes < 32 || o->code_bytes < 64)
        return false;
    if (o->code_copies != NO && o->code_copies + 8 > o->code_bytes) return false;
    if (o->code_version != NO && o->code_version + 4 > o->code_bytes) return false;
    for (size_t i = 0; i < GP_COUNT(thread); i++)
        if (thread[i] != NO && thread[i] + 8 > o->thread_bytes) return false;
    for (size_t i = 0; i < GP_COUNT(frame); i++)
        if (frame[i] != NO && frame[i] + (frame[i] == o->frame_owner ? 1 : 8) > o->frame_bytes) return false;
    for (size_t i = 0; i < GP_COUNT(code); i++)
        if (code[i] + 8 > o->code_bytes) return false;
    return o->minor >= 11 || o->code_start + 8 <= o->code_bytes;
}

bool gp_py_layout(struct gp_py_layout *o, uint32_t version, const void *table, size_t n)
{
    unsigned minor = version >> 16 & 255;
    if (version >> 24 != 3 || minor < GP_PY_FIRST_MINOR || minor > GP_PY_LAST_MINOR) return false;
    enum { VERSION_SINCE = 12, VERSION_AFTER_FIRST = 24 };
    if (minor < TABLE_SINCE) *o = fixed[minor - GP_PY_FIRST_MINOR];
    else if (!from_table(o, minor, table, n)) return false;
    o->code_version = minor < VERSION_SINCE ? GP_PY_NONE : o->code_first + VERSION_AFTER_FIRST;
    return is_sound(o);
}

bool gp_py_asking(struct gp_py_ask *a, const void *table, size_t n)
{
    enum { ASKING_SINCE = 14, BEHIND_GENERATOR = 6 };
    uint64_t t[WORDS];
    if (n < sizeof t || memcmp(table, GP_TEXT(COOKIE)) != 0) return false;
    memcpy(t, table, sizeof t);
    unsigned minor = t[1] >> 16 & 255;
    if (t[1] >> 24 != 3 || minor < ASKING_SINCE || minor > GP_PY_LAST_MINOR) return false;
    struct positions p = positions_of(&groups[minor - TABLE_SINCE]);
    unsigned at = p.generator + BEHIND_GENERATOR;
    uint32_t support = 0;
    bool ok = take(&a->runtime_head, t, 5) && take(&a->interp_main, t, p.threads + 1) &&
              take(&a->thread_breaks, t, at) && take(&support, t, at + 1) &&
              take(&a->interp_allows, t, at + 2) && take(&a->thread_asked, t, at + 3) &&
              take(&a->thread_path, t, at + 4) && take(&a->path_bytes, t, at + 5);
    a->thread_asked += support;
    a->thread_path += support;
    return ok && support && a->interp_main && a->interp_allows && a->path_bytes;
}

/* ---- where an interpreter has its state ---- */

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
