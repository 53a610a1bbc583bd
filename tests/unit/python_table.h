/* python_table.h -- what a CPython interpreter from 3.13 on begins with, as tests make it up: the table of
 * where things lie in it.
 *
 *     uint64_t t[GP_PY_TABLE_BYTES / 8];
 *     gp_python_table_make(t, 14, true);       // of 3.14 without the GIL
 */
#ifndef GP_TESTS_PYTHON_TABLE_H
#define GP_TESTS_PYTHON_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "collect/cpython/python_layout.h"

/* The lengths of its groups, in words. */
struct gp_python_table_groups {
    unsigned interp, thread, frame, code, objects, string, gc;
};

static inline struct gp_python_table_groups gp_python_table_groups(unsigned minor)
{
    static const struct gp_python_table_groups groups[] = {
        {13, 9, 6, 10, 20, 4, 2}, {16, 9, 8, 11, 24, 4, 2}, {16, 17, 8, 11, 28, 5, 5}};
    return groups[minor - 13];
}

/* The word that says how large the state of a thread is. */
static inline unsigned gp_python_table_thread(unsigned minor)
{
    return 6 + gp_python_table_groups(minor).interp;
}

/* Of 3.MINOR, 13 to 15. */
static inline void gp_python_table_make(uint64_t t[GP_PY_TABLE_BYTES / 8], unsigned minor, bool free_threaded)
{
    struct gp_python_table_groups g = gp_python_table_groups(minor);
    unsigned main = minor > 13;
    uint64_t *interp = t + 6, *thread = interp + g.interp, *id = thread + (minor > 14 ? 8 : 5),
             *frame = thread + g.thread, *code = frame + g.frame, *object = code + g.code;
    uint64_t *bytes = object + g.objects, *string = bytes + 3, *gc = string + g.string;
    uint64_t *generator = gc + g.gc, more = free_threaded ? 16 : 0;
    memset(t, 0, GP_PY_TABLE_BYTES);
    memcpy(t, "xdebugpy", 8);
    t[1] = 0x030000f0 + ((uint64_t)minor << 16), t[2] = free_threaded;
    t[4] = 1000, t[5] = 1024; /* beyond the table */
    interp[2] = 7264, interp[3] = 7344, interp[4 + main] = 7500, interp[8 + main] = 16;
    interp[9 + main] = 9000, interp[11 + main] = 9016 + more / 2, interp[12 + main] = 9008 + more / 2;
    thread[0] = 304, thread[2] = 8, thread[3] = 16, thread[4] = 72;
    id[0] = 152, id[1] = 160, id[2] = 232, id[3] = 32;
    frame[0] = 88, frame[1] = 8, frame[2] = 0, frame[3] = 56, frame[5] = 70;
    code[0] = 240, code[1] = 112 + more, code[3] = 128 + more, code[4] = 136 + more, code[5] = 68 + more;
    code[9] = 200 + more;
    if (main) code[10] = free_threaded ? 208 : UINT64_MAX;
    object[0] = 16 + more, object[1] = 8 + more;
    bytes[1] = 16 + more, bytes[2] = 32 + more;
    string[1] = 32 + more, string[2] = 16 + more, string[3] = 40 + more;
    gc[1] = 100;
    if (main) generator[2] = 72, generator[3] = 66;
    uint64_t *asked = generator + 6; /* behind the links of lists */
    if (main) interp[4] = 7360, asked[0] = 24, asked[1] = 304, asked[2] = 8076, asked[4] = 4, asked[5] = 512;
}

#endif
