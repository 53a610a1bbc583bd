// Attaching to interpreters in memory that is made up.
#include <stdlib.h>
#include <string.h>

#include "collect/sample/python.h"
#include "tests/unit/python_table.h"
#include "tests/unit/unit.h"

enum { RUNTIME = 0x100000, BYTES = 0x8000 };

static size_t read_memory(void *ctx, const struct gp_remote_range *r, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (r[i].at < RUNTIME || r[i].n > BYTES || r[i].at - RUNTIME > BYTES - r[i].n) return i;
        memcpy(r[i].to, (uint8_t *)ctx + (r[i].at - RUNTIME), r[i].n);
    }
    return n;
}

/* An interpreter of 3.15 with one thread, whose table says whether it has a GIL. */
static void make_runtime(uint64_t *m, uint64_t free_threaded)
{
    enum { HEAD = 1024, INTERP = RUNTIME + 0x1000, THREAD = RUNTIME + 0x4000 };
    gp_python_table_make(m, 15, free_threaded);
    m[HEAD / 8] = INTERP;
    m[(INTERP - RUNTIME + 7344) / 8] = THREAD;
    m[(THREAD - RUNTIME + 16) / 8] = INTERP;
}

/* With the GIL and without; a version that is not known is refused with the reason. */
TEST(interpreters_are_attached_to)
{
    for (uint64_t how = 0; how < 3; how++) {
        uint64_t *m = calloc(1, BYTES);
        struct gp_py_reader *reader = calloc(1, sizeof *reader);
        struct gp_stacks stacks = {0};
        struct gp_py_place place = {.runtime = RUNTIME};
        const char *why = NULL;
        make_runtime(m, how == 1);
        if (how == 2) m[1] = 0x036300f0;
        struct gp_py *p = gp_py_new(1, (struct gp_remote){read_memory, m}, reader, &stacks);
        assert_int_equal(gp_py_attach(p, &place, &why), how != 2);
        if (how == 2)
            assert_string_equal(why, "this version of Python is not supported, only " GP_PY_VERSIONS);
        else assert_null(why);
        gp_py_free(p);
        gp_stacks_release(&stacks);
        free(reader);
        free(m);
    }
}
