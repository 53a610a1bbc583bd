#include "collect/unwind/places.h"
#include "formats/base/order.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { HEAD_BYTES = 64, TABLE_HEAD_BYTES = 16, MODULES_MOST = 1 << 16, HEADERS_MOST = 64 };

/* A module at the last refresh, and copies of bytes by which it is known again. */
struct indexed {
    struct gp_unwind_place place;
    uint8_t head[HEAD_BYTES], table_head[TABLE_HEAD_BYTES];
    char *path;
};

struct gp_place_index {
    struct gp_place_index *next; /* of those that are retired */
    size_t n, room;
    struct indexed at[];
};

/* ---- reading what may not be there ---- */

static bool copy_if_there(uint64_t at, void *to, size_t n)
{
    struct iovec local = {to, n}, remote = {(void *)(uintptr_t)at, n};
    int kept = errno;
    bool whole = process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)n;
    errno = kept;
    return whole;
}

bool gp_page_is_there(uint64_t at)
{
    char byte;
    return copy_if_there(at, &byte, 1);
}

/* ---- tags ---- */

static uint64_t mixed(uint64_t h, uint64_t v)
{
    h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 29;
}

static uint32_t tag_of(uint32_t generation, const struct gp_unwind_place *place, uint64_t map,
                       const void *table_head)
{
    uint64_t words[2] = {0, 0}, id = 0;
    if (table_head) memcpy(words, table_head, sizeof words);
    if (place->id) memcpy(&id, (const void *)(uintptr_t)place->id, sizeof id);
    uint64_t h = mixed(mixed(generation, place->begin), place->end);
    h = mixed(mixed(h, map), place->hdr);
    h = mixed(mixed(mixed(h, words[0]), words[1]), id);
    uint32_t tag = (uint32_t)(h >> 32);
    return tag ? tag : 1;
}

/* ---- headers of a module ---- */

enum { FIRST_PAGE = 4096 };

/* The program headers, which must lie in the first page; NULL: it does not begin with any. */
static const Elf64_Phdr *headers_of(const struct gp_unwind_place *place, unsigned *n)
{
    const Elf64_Ehdr *head = (const Elf64_Ehdr *)(uintptr_t)place->begin;
    if (place->end - place->begin < FIRST_PAGE || place->begin % FIRST_PAGE ||
        memcmp(head, ELFMAG, SELFMAG) || head->e_phentsize != sizeof(Elf64_Phdr) || head->e_phoff % 8 ||
        head->e_phnum > HEADERS_MOST || head->e_phoff > FIRST_PAGE - HEADERS_MOST * sizeof(Elf64_Phdr))
        return NULL;
    *n = head->e_phnum;
    return (const Elf64_Phdr *)(uintptr_t)(place->begin + head->e_phoff);
}

/* Eight bytes of the build id, if they are in the first page, which is there as long as the module is. */
static uint64_t find_id(const struct gp_unwind_place *place)
{
    unsigned n = 0;
    const Elf64_Phdr *ph = headers_of(place, &n);
    for (unsigned i = 0; ph && i < n; i++) {
        uint64_t at = place->bias + ph[i].p_vaddr - place->begin, end = at + ph[i].p_memsz;
        if (ph[i].p_type != PT_NOTE || at % 4 || at > end || end > FIRST_PAGE) continue;
        while (end - at >= sizeof(Elf64_Nhdr) + 12) {
            const Elf64_Nhdr *note = (const Elf64_Nhdr *)(uintptr_t)(place->begin + at);
            uint64_t size =
                sizeof *note + ((note->n_namesz + 3ULL) & ~3ULL) + ((note->n_descsz + 3ULL) & ~3ULL);
            if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && note->n_descsz >= 8)
                return place->begin + at + sizeof *note + 4;
            if (size > end - at) break;
            at += size;
        }
    }
    return 0;
}

/* ---- finding ---- */

static const struct indexed *find_indexed(struct gp_places *p, uint64_t pc)
{
    const struct gp_place_index *index = atomic_load(&p->index);
    GP_SEARCH(low, 0, index ? index->n : 0, middle, index->at[middle].place.begin <= pc);
    return low && pc < index->at[low - 1].place.end ? &index->at[low - 1] : NULL;
}

/* If PLACE is where PC was found before, the build id is not looked for again: another module has other bytes
 * there. */
static bool find_loaded(struct gp_places *p, uint64_t pc, struct gp_unwind_place *place)
{
    const struct gp_unwind_place before = *place;
    struct gp_dl_object found;
    if (p->dl_find((void *)(uintptr_t)pc, &found)) return false;
    const struct link_map *map = found.link_map;
    place->begin = (uintptr_t)found.map_start;
    place->end = (uintptr_t)found.map_end;
    place->hdr = (uintptr_t)found.eh_frame;
    place->bias = map ? map->l_addr : 0;
    bool known = before.tag && place->begin == before.begin && place->end == before.end;
    if (!known) place->id = find_id(place);
    place->tag = tag_of(atomic_load_explicit(&p->generation, memory_order_relaxed), place, (uintptr_t)map,
                        found.eh_frame);
    return true;
}

bool gp_places_find(struct gp_places *p, uint64_t pc, struct gp_unwind_place *place)
{
    bool found = false;
    if (p->find) found = p->find(p->ctx, pc, place);
    else if (p->dl_find) found = find_loaded(p, pc, place);
    else {
        const struct indexed *i = find_indexed(p, pc);
        if (i) *place = i->place;
        found = i != NULL;
    }
    if (!found) *place = (struct gp_unwind_place){.begin = pc, .end = pc + 1};
    place->pc = pc;
    return found;
}

bool gp_places_are_same(struct gp_places *p, const struct gp_unwind_place *place)
{
    struct gp_unwind_place now = *place;
    gp_places_find(p, place->pc, &now);
    return now.tag == place->tag;
}

bool gp_place_is_there(struct gp_places *p, const struct gp_unwind_place *place)
{
    uint8_t head[HEAD_BYTES], table_head[TABLE_HEAD_BYTES];
    if (p->find || p->dl_find) return true;
    const struct indexed *i = find_indexed(p, place->pc);
    return i && copy_if_there(i->place.begin, head, sizeof head) && !memcmp(head, i->head, sizeof head) &&
           (!i->place.hdr || (copy_if_there(i->place.hdr, table_head, sizeof table_head) &&
                              !memcmp(table_head, i->table_head, sizeof table_head)));
}

bool gp_place_segment(const struct gp_unwind_place *place, uint64_t at, struct gp_place_segment *s)
{
    unsigned headers = 0;
    *s = (struct gp_place_segment){place->begin, place->end, true};
    if (at < place->begin || at >= place->end) return false;
    const Elf64_Phdr *ph = headers_of(place, &headers);
    for (unsigned i = 0; ph && i < headers; i++) {
        uint64_t from = place->bias + ph[i].p_vaddr;
        if (ph[i].p_type != PT_LOAD || at - from >= ph[i].p_memsz) continue;
        uint64_t n = ph[i].p_memsz < place->end - from ? ph[i].p_memsz : place->end - from;
        *s = (struct gp_place_segment){from, from + n, ph[i].p_flags & PF_X};
        return from >= place->begin && from < place->end;
    }
    return !ph;
}

/* Names are made absolute while the folder they are relative to can be known. */
static void put_path(char *path, const char *name)
{
    ssize_t n = 0;
    if (!*name) n = readlink("/proc/self/exe", path, GP_UNWIND_PATH - 1);
    else if (*name != '/' && strchr(name, '/')) {
        n = readlink("/proc/self/cwd", path, GP_UNWIND_PATH - 2);
        if (n > 0) path[n++] = '/';
    }
    if (n < 0) n = 0;
    size_t more = strlen(name);
    if (more > GP_UNWIND_PATH - 1 - (size_t)n) more = 0;
    memcpy(path + n, name, more);
    path[(size_t)n + more] = 0;
}

bool gp_place_path(struct gp_places *p, uint64_t pc, char *path)
{
    struct gp_dl_object found;
    *path = 0;
    if (p->dl_find) {
        if (p->dl_find((void *)(uintptr_t)pc, &found)) return false;
        const struct link_map *map = found.link_map;
        put_path(path, map && map->l_name ? map->l_name : "");
        return true;
    }
    const struct indexed *i = find_indexed(p, pc);
    if (i) put_path(path, i->path);
    return i != NULL;
}

/* ---- the index ---- */

struct listing {
    struct gp_places *p;
    struct gp_place_index *index;
    uint64_t adds, subs;
    bool changed, failed;
};

static bool describe(const struct dl_phdr_info *info, uint32_t generation, struct indexed *to)
{
    uint64_t begin = UINT64_MAX, end = 0, hdr = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        uint64_t from = info->dlpi_addr + ph->p_vaddr;
        if (ph->p_type == PT_GNU_EH_FRAME) hdr = from;
        if (ph->p_type != PT_LOAD) continue;
        if (from < begin) begin = from & ~UINT64_C(4095);
        if (from + ph->p_memsz > end) end = from + ph->p_memsz;
    }
    *to = (struct indexed){.place = {.begin = begin, .end = end, .bias = info->dlpi_addr, .hdr = hdr}};
    if (begin >= end || !copy_if_there(begin, to->head, HEAD_BYTES)) return false;
    if (hdr && !copy_if_there(hdr, to->table_head, TABLE_HEAD_BYTES)) return false;
    to->place.tag = tag_of(generation, &to->place, 0, hdr ? to->table_head : NULL);
    to->path = strdup(info->dlpi_name ? info->dlpi_name : "");
    return to->path != NULL;
}

static int look(struct dl_phdr_info *info, size_t size, void *ctx)
{
    struct listing *l = ctx;
    (void)size;
    if (!l->changed) {
        struct gp_places *p = l->p;
        l->adds = info->dlpi_adds;
        l->subs = info->dlpi_subs;
        l->changed = l->adds != p->adds || l->subs != p->subs;
        if (!l->changed) return 1;
        if (l->subs != p->subs && p->adds) atomic_fetch_add(&p->generation, 1);
    }
    if (l->p->dl_find) return 1;
    struct gp_place_index *index = l->index;
    if (!index || index->n == index->room) {
        size_t room = index ? index->room * 2 : 64;
        struct gp_place_index *larger = realloc(index, sizeof *index + room * sizeof *index->at);
        l->failed = !larger || room > MODULES_MOST;
        if (larger && !index) *larger = (struct gp_place_index){.n = 0};
        if (larger) larger->room = room, l->index = index = larger;
        if (l->failed) return 1;
    }
    if (describe(info, atomic_load(&l->p->generation), &index->at[index->n])) index->n++;
    return 0;
}

GP_COMPARE(by_begin, struct indexed, GP_UP(place.begin))

static void free_index(struct gp_place_index *index)
{
    for (size_t i = 0; index && i < index->n; i++) free(index->at[i].path);
    free(index);
}

static void free_retired(struct gp_places *p)
{
    while (p->retired) {
        struct gp_place_index *next = p->retired->next;
        free_index(p->retired);
        p->retired = next;
    }
}

void gp_places_refresh(struct gp_places *p)
{
    struct listing l = {.p = p};
    dl_iterate_phdr(look, &l);
    if (l.changed && !l.failed) {
        p->adds = l.adds;
        p->subs = l.subs;
    }
    if (l.index && l.failed) free_index(l.index);
    else if (l.index) {
        qsort(l.index->at, l.index->n, sizeof *l.index->at, by_begin);
        struct gp_place_index *old = atomic_exchange(&p->index, l.index);
        if (old) old->next = p->retired, p->retired = old;
    }
    /* Who enters from now on reads the new one. */
    if (!atomic_load(&p->readers)) free_retired(p);
}

void gp_places_enter(struct gp_places *p)
{
    if (!p->dl_find) atomic_fetch_add(&p->readers, 1);
}

void gp_places_leave(struct gp_places *p)
{
    if (!p->dl_find) atomic_fetch_sub(&p->readers, 1);
}

void gp_places_init(struct gp_places *p, bool own_index)
{
    void *found = own_index ? NULL : dlsym(RTLD_DEFAULT, "_dl_find_object");
    memcpy(&p->dl_find, &found, sizeof found); /* C has no cast for it */
    gp_places_refresh(p);
}

void gp_places_release(struct gp_places *p)
{
    free_index(atomic_load(&p->index));
    free_retired(p);
}
