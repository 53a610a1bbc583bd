// Code objects in memory that is made up, as builds of CPython without the GIL lay them out: names with
// rubbish beside the bits that count, and instructions that threads have copies of.
#include <stdlib.h>
#include <string.h>

#include "collect/cpython/python_code.h"
#include "tests/unit/unit.h"

enum {
    BASE = 0x100000,
    BYTES = 0x4000,
    CODE = BASE,
    NAME = BASE + 0x400,
    LINES = BASE + 0x600,
    LIST = BASE + 0x800
};
enum { COPY = BASE + 0x1000, OTHER = BASE + 0x2000 };

static size_t read_memory(void *ctx, const struct gp_remote_range *r, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (r[i].at < BASE || r[i].n > BYTES || r[i].at - BASE > BYTES - r[i].n) return i;
        memcpy(r[i].to, (uint8_t *)ctx + (r[i].at - BASE), r[i].n);
    }
    return n;
}

static void put(uint8_t *m, uint64_t at, uint64_t value) { memcpy(m + (at - BASE), &value, sizeof value); }

static struct gp_py_layout without_lock(void)
{
    return (struct gp_py_layout){.minor = 14,
                                 .object_type = 24,
                                 .object_size = 32,
                                 .code_first = 84,
                                 .code_file = 128,
                                 .code_name = 144,
                                 .code_lines = 152,
                                 .code_start = 224,
                                 .code_bytes = 240,
                                 .code_copies = 216,
                                 .str_length = 32,
                                 .str_state = 48,
                                 .str_ascii = 56,
                                 .str_other = 72,
                                 .str_kind = 8,
                                 .bytes_size = 32,
                                 .bytes_data = 48};
}

/* Four instructions of the lines 10, 11, 12 and 13, and room for two threads. */
static void make_code(uint8_t *m, const struct gp_py_layout *o)
{
    put(m, CODE + o->object_type, 0x7000);
    put(m, CODE + o->object_size, 4);
    put(m, CODE + o->code_first, 10);
    put(m, CODE + o->code_file, NAME);
    put(m, CODE + o->code_name, NAME);
    put(m, CODE + o->code_lines, LINES);
    put(m, CODE + o->code_copies, LIST);
    put(m, NAME + o->str_length, 4);
    put(m, NAME + o->str_state, 0xdead0000 | 1 << 8 | 1 << 11 | 1 << 12); /* one byte each, compact, ASCII */
    memcpy(m + (NAME + o->str_ascii - BASE), "step", 4);
    /* entries without columns: 1 1101 000, and the line as a signed number */
    static const uint8_t table[] = {0xe8, 0, 0xe8, 2, 0xe8, 2, 0xe8, 2};
    put(m, LINES + o->bytes_size, sizeof table);
    memcpy(m + (LINES + o->bytes_data - BASE), table, sizeof table);
    put(m, LIST, 3);
    put(m, LIST + 8, CODE + o->code_start);
    put(m, LIST + 24, COPY);
}

TEST(each_copy_of_the_instructions_has_the_lines)
{
    uint8_t *m = calloc(1, BYTES);
    struct gp_py_layout o = without_lock();
    struct gp_remote remote = {read_memory, m};
    struct gp_strings strings = {0};
    struct gp_py_codes codes = {.layout = &o, .remote = &remote, .strings = &strings, .code_type = 0x7000};
    bool ok;
    make_code(m, &o);
    const struct gp_py_code *c = gp_py_code(&codes, CODE);
    assert_non_null(c);
    assert_string_equal(gp_string(&strings, c->name), "step");
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(gp_py_code_line(&codes, c, CODE + o.code_start + 2 * i, &ok), 10 + i);
        assert_true(ok);
        assert_int_equal(gp_py_code_line(&codes, c, COPY + 2 * i, &ok), 10 + i);
        assert_true(ok);
    }
    gp_py_code_line(&codes, c, OTHER, &ok);
    assert_false(ok);
    put(m, LIST + 16, OTHER); /* another thread has its own now */
    assert_int_equal(gp_py_code_line(&codes, c, OTHER + 4, &ok), 12);
    assert_true(ok);
    put(m, LIST, UINT64_MAX); /* a list that is longer than what there is */
    gp_py_code_line(&codes, c, OTHER + 0x800, &ok);
    assert_false(ok);
    gp_py_codes_release(&codes);
    gp_strings_release(&strings);
    free(m);
}
