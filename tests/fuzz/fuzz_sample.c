/* fuzz_sample.c -- the memory of a process that holds anything where a Python interpreter should be: every
 * address leads somewhere in it. The first byte says what is looked at: an ELF file, or the threads of
 * version 3.9 to 3.15, with the GIL or without, with words that look like addresses or as they are, and with
 * a table of where things lie or not. The reader ends, and says of each sample a stack that there is. */
#include <stdlib.h>
#include <string.h>
#include "collect/sample/python.h"
#include "tests/fuzz/help/fuzz.h"
#include "tests/unit/python_table.h"

enum {
    ELF = 0x80,
    ADDRESSES = 0x40,
    TABLE = 0x20,
    WITHOUT_GIL = 0x10,
    VERSIONS = 7,
    RUNTIME = 0x100000,
    ROOM = 1 << 14,
    TURNS = 3,
    READS_MOST = 200000
};

struct memory {
    uint8_t bytes[ROOM + GP_PY_PART_BYTES];
    size_t n, reads;
};

static size_t read_memory(void *ctx, const struct gp_remote_range *ranges, size_t n)
{
    struct memory *m = ctx;
    for (size_t i = 0; i < n; i++) {
        if (ranges[i].n > GP_PY_PART_BYTES) return i;
        memcpy(ranges[i].to, m->bytes + ranges[i].at % m->n, ranges[i].n);
    }
    m->reads += n;
    return n;
}

static unsigned minor_of(uint8_t how) { return 9 + (how & 15) % VERSIONS; }

static void take(void *ctx, const struct gp_py_sample *s)
{
    const struct gp_stacks *stacks = ctx;
    FUZZ_CHECK(s->stack < stacks->nodes.n);
    FUZZ_CHECK(s->tid > 0);
    for (uint32_t k = s->stack; k; k = stacks->nodes.at[k].parent) FUZZ_CHECK(stacks->nodes.at[k].parent < k);
}

static void sample(struct memory *m, uint8_t how)
{
    struct gp_stacks stacks = {0};
    struct gp_py_reader *reader = calloc(1, sizeof *reader);
    struct gp_py_place place = {.runtime = RUNTIME, .minor = minor_of(how)};
    const char *why;
    struct gp_py *p = gp_py_new(1, (struct gp_remote){read_memory, m}, reader, &stacks);
    if (gp_py_attach(p, &place, &why))
        for (int turn = 0; turn < TURNS && m->reads < READS_MOST; turn++)
            if (!gp_py_sample(p, take, &stacks)) break;
    gp_py_free(p);
    gp_stacks_release(&stacks);
    free(reader);
}

/* The table of a version that has one, where the interpreter begins; the eight bytes that the input begins
 * with change it. */
static void put_table(struct memory *m, const uint8_t *data)
{
    uint64_t t[GP_PY_TABLE_BYTES / 8];
    unsigned minor = minor_of(*data);
    if (minor < 13) return;
    gp_python_table_make(t, minor, *data & WITHOUT_GIL);
    for (int i = 2; i < 8; i += 2) t[data[i] % (GP_PY_TABLE_BYTES / 8)] ^= data[i + 1];
    memcpy(m->bytes + RUNTIME % m->n, t, sizeof t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gp_py_place place = {0};
    if (size < 16) return 0;
    if (*data & ELF) {
        gp_py_find_elf(data + 8, size - 8, 0x400000, &place);
        return 0;
    }
    struct memory *m = calloc(1, sizeof *m);
    m->n = size - 8 < ROOM ? size - 8 : ROOM;
    for (size_t i = 0; i < sizeof m->bytes; i++) m->bytes[i] = data[8 + i % m->n];
    for (size_t i = 0; *data & ADDRESSES && i + 8 <= sizeof m->bytes; i += 8) {
        m->bytes[i] &= 0xf8;
        memset(m->bytes + i + 3, 0, 5);
    }
    if (*data & TABLE) put_table(m, data);
    sample(m, *data);
    free(m);
    return 0;
}
