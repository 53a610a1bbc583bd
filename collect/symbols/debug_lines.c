#include "collect/symbols/debug_lines.h"

#ifdef GP_HAVE_ELFUTILS

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>
#include "formats/base/order.h"
#include "formats/base/vec.h"

enum { RANGES_MOST = 1 << 22, OVERLAPPING_MOST = 8 };

/* Code of a compilation unit. */
struct range {
    uint64_t begin, end, unit;
};

struct gp_debug_lines {
    Dwarf *dwarf;
    GP_VEC(struct range) ranges; /* by address */
};

GP_COMPARE(compare, struct range, GP_UP(begin) GP_UP(unit))

/* .debug_aranges is optional, so units themselves say where their code is. */
static void find_ranges(struct gp_debug_lines *d)
{
    Dwarf_CU *unit = NULL;
    Dwarf_Die die;
    while (d->ranges.n < RANGES_MOST && !dwarf_get_units(d->dwarf, unit, &unit, NULL, NULL, &die, NULL)) {
        Dwarf_Addr base, begin, end;
        ptrdiff_t at = 0;
        while (d->ranges.n < RANGES_MOST && (at = dwarf_ranges(&die, at, &base, &begin, &end)) > 0)
            if (begin && begin < end)
                GP_VEC_PUSH(&d->ranges, ((struct range){begin, end, dwarf_dieoffset(&die)}));
    }
    if (d->ranges.n) qsort(d->ranges.at, d->ranges.n, sizeof *d->ranges.at, compare);
}

struct gp_debug_lines *gp_debug_lines_open(int fd)
{
    Dwarf *dwarf = dwarf_begin(fd, DWARF_C_READ);
    if (!dwarf) return NULL;
    struct gp_debug_lines *d = gp_zalloc(sizeof *d);
    d->dwarf = dwarf;
    find_ranges(d);
    if (d->ranges.n) return d;
    gp_debug_lines_close(d);
    return NULL;
}

static bool find_unit(const struct gp_debug_lines *d, uint64_t address, Dwarf_Die *unit)
{
    GP_SEARCH(low, 0, d->ranges.n, middle, d->ranges.at[middle].begin <= address);
    for (size_t i = low, left = OVERLAPPING_MOST; i-- > 0 && left; left--)
        if (address < d->ranges.at[i].end) return dwarf_offdie(d->dwarf, d->ranges.at[i].unit, unit) != NULL;
    return false;
}

static const char *keep(struct gp_strings *strings, const char *text)
{
    return text && *text ? gp_string(strings, gp_intern(strings, text, strlen(text))) : NULL;
}

static const char *name_of(Dwarf_Die *die)
{
    static const unsigned kinds[] = {DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name};
    for (size_t i = 0; i < GP_COUNT(kinds); i++) {
        Dwarf_Attribute attribute;
        const char *name = dwarf_formstring(dwarf_attr_integrate(die, kinds[i], &attribute));
        if (name) return name;
    }
    return NULL;
}

static Dwarf_Word number_of(Dwarf_Die *die, unsigned kind)
{
    Dwarf_Attribute attribute;
    Dwarf_Word v = 0;
    return dwarf_formudata(dwarf_attr(die, kind, &attribute), &v) ? 0 : v;
}

static const char *call_file(Dwarf_Die *unit, Dwarf_Die *inlined)
{
    Dwarf_Files *files;
    size_t n;
    Dwarf_Word i = number_of(inlined, DW_AT_call_file);
    return dwarf_getsrcfiles(unit, &files, &n) || i >= n ? NULL : dwarf_filesrc(files, i, NULL, NULL);
}

/* Outwards from the innermost scope: each inlined function was called where it says. */
static size_t walk_scopes(Dwarf_Die *unit, Dwarf_Die *scopes, int scopes_n, struct gp_code_name here,
                          struct gp_strings *strings, struct gp_code_name *at)
{
    size_t n = 0;
    for (int i = 0; i < scopes_n && n < GP_SYMBOLS_MOST; i++) {
        int tag = dwarf_tag(&scopes[i]);
        if (tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine) continue;
        here.name = keep(strings, name_of(&scopes[i]));
        at[n++] = here;
        if (tag == DW_TAG_subprogram) break;
        here.file = keep(strings, call_file(unit, &scopes[i]));
        here.line = (uint32_t)number_of(&scopes[i], DW_AT_call_line);
    }
    return n;
}

size_t gp_debug_lines_at(struct gp_debug_lines *d, uint64_t address, struct gp_strings *strings,
                         struct gp_code_name *at)
{
    Dwarf_Die unit, *scopes = NULL, *chain = NULL;
    struct gp_code_name here = {0};
    size_t n = 0;
    int line_number = 0;
    if (!find_unit(d, address, &unit)) return 0;
    Dwarf_Line *line = dwarf_getsrc_die(&unit, address);
    if (line && !dwarf_lineno(line, &line_number) && line_number > 0) {
        here.file = keep(strings, dwarf_linesrc(line, NULL, NULL));
        here.line = (uint32_t)line_number;
    }
    if (dwarf_getscopes(&unit, address, &scopes) > 0) {
        int chain_n = dwarf_getscopes_die(&scopes[0], &chain);
        n = walk_scopes(&unit, chain, chain_n, here, strings, at);
    }
    if (!n && here.file) at[n++] = here;
    free(scopes);
    free(chain);
    return n;
}

void gp_debug_lines_close(struct gp_debug_lines *d)
{
    if (!d) return;
    dwarf_end(d->dwarf);
    GP_VEC_FREE(&d->ranges);
    free(d);
}

int gp_symbols_have_lines(void) { return 1; }

#else

struct gp_debug_lines *gp_debug_lines_open(int fd)
{
    (void)fd;
    return NULL;
}

size_t gp_debug_lines_at(struct gp_debug_lines *d, uint64_t address, struct gp_strings *strings,
                         struct gp_code_name *at)
{
    (void)d, (void)address, (void)strings, (void)at;
    return 0;
}

void gp_debug_lines_close(struct gp_debug_lines *d) { (void)d; }

int gp_symbols_have_lines(void) { return 0; }

#endif
