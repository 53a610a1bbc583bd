/* symbols.h -- what stands in a program's source at addresses of its files: functions, files, lines, and
 * which functions were inlined there. On the launcher's side, after a run. Knows files only: neither
 * processes nor where their modules were loaded, nor the network.
 *
 *     struct gp_symbolizer *s = gp_symbolizer_new();
 *     struct gp_code_name at[GP_SYMBOLS_MOST];
 *     size_t n = gp_symbolize(s, "/usr/bin/app", return_address - bias, at);
 *     for (size_t i = 0; i < n; i++) use(at[i].name, at[i].file, at[i].line);
 *     gp_symbolizer_free(s);
 *
 * With elfutils, debug information is read: of the file, or of a separate file with the same build id, in
 * /usr/lib/debug/.build-id, or under the name in .gnu_debuglink beside the file, in .debug there, and in the
 * same folder below /usr/lib/debug. Without both, .symtab or .dynsym name the function. Split DWARF (.dwo)
 * is not opened: its lines are known, its inlined functions are not. */
#ifndef GP_COLLECT_SYMBOLS_H
#define GP_COLLECT_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

enum { GP_SYMBOLS_MOST = 64 };

/* A function at an address. All texts are the symbolizer's. */
struct gp_code_name {
    const char *name; /* as it is linked, so of C++ mangled; NULL: not known */
    const char *file; /* NULL: not known */
    uint32_t line;    /* 0: not known */
};

struct gp_symbolizer;

struct gp_symbolizer *gp_symbolizer_new(void);
void gp_symbolizer_free(struct gp_symbolizer *s);

/* The functions at RETURN_ADDRESS, an address of the file at PATH behind a call: innermost first, each
 * inlined into the next; the last one is the function that the code belongs to. 0: nothing is known, or the
 * file cannot be read. AT has room for GP_SYMBOLS_MOST. A file is opened once. */
size_t gp_symbolize(struct gp_symbolizer *s, const char *path, uint64_t return_address,
                    struct gp_code_name *at);

/* Whether this build reads debug information. */
int gp_symbols_have_lines(void);

#endif
