/* python_code.h -- the code objects of a CPython process, read once each and recognised again: their
 * function, file and lines. A code object may be freed and another one made at its address, so its entry
 * is checked against a few fields of the object before it is used.
 *
 *     struct gp_py_codes codes = {.layout = &o, .remote = &remote, .strings = &stacks.strings};
 *     const struct gp_py_code *c = gp_py_code(&codes, address);       // NULL: it is none, or cannot be read
 *     line = gp_py_code_line(&codes, c, instruction, &ok);
 */
#ifndef GP_COLLECT_CPYTHON_PYTHON_CODE_H
#define GP_COLLECT_CPYTHON_PYTHON_CODE_H

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>
#include "collect/cpython/python_layout.h"
#include "collect/cpython/remote.h"
#include "formats/base/intern.h"
#include "formats/base/map.h"
#include "formats/base/vec.h"

enum { GP_PY_CODES_MOST = 1 << 16, GP_PY_MARKS = 7 };

struct gp_py_code {
    uint64_t at;
    uint64_t marks[GP_PY_MARKS]; /* fields of the object by which it is recognised */
    gp_sid name, file;
    int64_t first;         /* line */
    uint64_t start, bytes; /* of the instructions; before 3.11 they are counted from 0 */
    uint8_t *table;        /* of lines */
    uint32_t table_n;
    uint64_t *copies; /* without the GIL: the instructions that belong to threads, 0 none */
    uint32_t copies_n;
};

/* Fill the first five and zero the rest. */
struct gp_py_codes {
    const struct gp_py_layout *layout;
    const struct gp_remote *remote;
    struct gp_strings *strings;
    uint64_t code_type; /* address of PyCode_Type, 0 unknown */
    uint64_t loaded, stale;
    struct gp_map index; /* address -> index */
    GP_VEC(struct gp_py_code *) list;
};

/* Valid until gp_py_codes_trim(). */
const struct gp_py_code *gp_py_code(struct gp_py_codes *codes, uint64_t at);
/* The object at that address is another one than it was, whatever it looks like: read it anew. */
void gp_py_code_forget(struct gp_py_codes *codes, uint64_t at);
/* Are the N code objects still those that they were? What has changed is read again. False if one is none any
 * more. */
bool gp_py_codes_check(struct gp_py_codes *codes, const struct gp_py_code *const *list, size_t n);
/* The line of the instruction, 0 if it has none. *OK is false if it is not in the code. */
uint32_t gp_py_code_line(struct gp_py_codes *codes, const struct gp_py_code *c, uint64_t ip, bool *ok);
/* Forget everything if there is too much of it. Between samples. */
void gp_py_codes_trim(struct gp_py_codes *codes);
void gp_py_codes_release(struct gp_py_codes *codes);

/* ---- line tables ----
 * The line of an instruction, from the line table of its code object: three encodings, of
 * 3.9, 3.10, and 3.11 on. Pure; a table may hold anything.
 *
 *     int64_t line = gp_py_line(11, table, n, first_line, unit);
 */

/* The line of the instruction at UNIT, counted in units of 2 bytes, in code whose first line is FIRST; -1: it
 * has none. After the end of the table FIRST. */
int64_t gp_py_line(unsigned minor, const uint8_t *table, size_t n, int64_t first, uint32_t unit);

#endif
