/* Machine code of a made cubin: lines, what instructions do, and what a stall waits for. */
#include "analyze/metrics/code.h"
#include "tests/unit/cubin_make.h"
#include "tests/unit/unit.h"

enum {
    LDG = 0x981,
    STG = 0x986,
    LDL = 0x983,
    LDS = 0x984,
    RED = 0x98e,
    BAR = 0xb1d,
    BRA = 0x947,
    FADD = 0x221,
    EXIT = 0x94d,
    BSYNC = 0x941,
    NONE = 7,
    CRC = 0xc0de
};

struct made {
    struct gp_trace t;
    struct gp_strings strings;
    struct gp_cubins cubins;
    struct cubin c;
    struct pc pc;
};

static void begin(struct made *m)
{
    memset(m, 0, sizeof *m);
    gp_trace_init(&m->t, GP_NEED_ALL);
    gp_intern(&m->strings, "", 0);
    m->pc = (struct pc){
        .t = &m->t, .track = mk_thread(&m->t, mk_process(&m->t, 1, 0), 1), .name = "k", .dur_ns = 1000};
}

static const struct gp_code *finish(struct made *m)
{
    gp_trace_finish(&m->t);
    gp_cubins_of(&m->cubins, &m->t);
    return gp_code_of(&m->cubins, CRC, "k");
}

static void end(struct made *m)
{
    gp_cubins_release(&m->cubins);
    cubin_release(&m->c);
    gp_strings_release(&m->strings);
    gp_trace_release(&m->t);
}

static void op(struct made *m, uint64_t operation) { cubin_op(&m->c, operation, NONE, NONE, 0, 0); }

/* A loop of a load into scoreboard 2, one into 3, and their uses; a barrier, a store, and the end. */
static void put_loop(struct made *m)
{
    op(m, FADD);
    cubin_op(&m->c, LDG, 2, NONE, 0, 0);          /* 1 */
    cubin_op(&m->c, LDS, 3, NONE, 0, 0);          /* 2: inlined into line 7 */
    cubin_op(&m->c, FADD, NONE, NONE, 1 << 2, 0); /* 3 */
    cubin_op(&m->c, FADD, NONE, NONE, 1 << 3, 0); /* 4 */
    cubin_op(&m->c, FADD, NONE, NONE, 1 << 4, 0); /* 5: waits for the end of the loop before */
    cubin_op(&m->c, STG, NONE, 4, 0, 0);          /* 6 */
    cubin_op(&m->c, BRA, NONE, NONE, 0, -7 * 16); /* 7: to 1 */
    op(m, BSYNC);
    op(m, BAR); /* 9 */
    op(m, FADD);
    op(m, EXIT); /* 11 */
    cubin_put(&m->c, &m->pc, CRC);
}

TEST(functions_of_cubins)
{
    struct made m;
    begin(&m);
    m.c.frame_bytes = 96;
    put_loop(&m);
    const struct gp_code *code = finish(&m);
    assert_non_null(code);
    assert_int_equal(code->n, 12);
    assert_int_equal(code->frame_bytes, 96);
    assert_ptr_equal(gp_code_of(&m.cubins, CRC, "k"), code);
    assert_null(gp_code_of(&m.cubins, CRC, "l"));
    assert_null(gp_code_of(&m.cubins, CRC + 1, "k"));
    end(&m);
}

TEST(stalls_are_of_the_instruction_that_is_waited_for)
{
    struct made m;
    begin(&m);
    put_loop(&m);
    const struct gp_code *code = finish(&m);
    assert_int_equal(gp_code_awaited(code, 3, GP_STALL_LONG_SCOREBOARD), 1);
    assert_int_equal(gp_code_awaited(code, 4, GP_STALL_SHORT_SCOREBOARD), 2);
    assert_int_equal(gp_code_awaited(code, 5, GP_STALL_LONG_SCOREBOARD), 6);
    assert_int_equal(gp_code_awaited(code, 3, GP_STALL_WAIT), 3);
    assert_int_equal(gp_code_awaited(code, 1, GP_STALL_LONG_SCOREBOARD), 1); /* it waits for nothing */
    assert_int_equal(gp_code_awaited(code, 10, GP_STALL_BARRIER), 9);
    assert_int_equal(gp_code_awaited(code, 9, GP_STALL_BARRIER), 9);
    assert_int_equal(gp_code_awaited(code, 11, GP_STALL_DRAIN), 6);
    assert_true(code->ops[3].diverges);
    assert_false(code->ops[0].diverges);
    assert_false(code->ops[10].diverges);
    end(&m);
}

TEST(an_instruction_is_in_the_innermost_loop_around_it)
{
    static const uint32_t loops[] = {5, 3, 3, 3, 5, 5, 0};
    struct made m;
    begin(&m);
    op(&m, FADD);
    op(&m, FADD); /* 1 */
    cubin_op(&m.c, LDG, 2, NONE, 0, 0);
    cubin_op(&m.c, BRA, NONE, NONE, 0, -3 * 16); /* 3: to 1 */
    op(&m, FADD);
    cubin_op(&m.c, BRA, NONE, NONE, 0, -6 * 16); /* 5: to 0 */
    op(&m, EXIT);
    cubin_put(&m.c, &m.pc, CRC);
    const struct gp_code *code = finish(&m);
    for (size_t i = 0; i < GP_COUNT(loops); i++) assert_int_equal(code->ops[i].loop, loops[i]);
    end(&m);
}

/* The rule in another way: what waits for WHAT goes back through the code, instruction by instruction. */
static size_t back(const uint32_t *ends, size_t i, size_t head, size_t loop, uint32_t what)
{
    for (size_t k = i; k-- > head;)
        if (ends[k] & what) return k;
    for (size_t k = loop + 1; k-- > i + 1;)
        if (ends[k] & what) return k;
    for (size_t k = head; k-- > 0;)
        if (ends[k] & what) return k;
    return i;
}

/* Of any code, with loops in loops and across each other. */
TEST(what_is_awaited_in_any_code)
{
    enum { OPS = 150, IS_BARRIER = 0x100, IS_WRITE = 0x200 };
    static const uint64_t operations[] = {LDG, STG, LDS, RED, BAR, BRA, BRA, FADD, FADD, FADD};
    uint32_t random = 1;
    for (int round = 0; round < 200; round++) {
        struct made m;
        uint32_t ends[OPS], waits[OPS];
        size_t head[OPS] = {0};
        begin(&m);
        for (size_t i = 0; i < OPS; i++) {
            uint32_t r[5];
            for (int k = 0; k < 5; k++) r[k] = (random = random * 1664525 + 1013904223) >> 16;
            const uint64_t operation = operations[r[0] % GP_COUNT(operations)];
            const uint32_t written = r[1] % 8, read = r[2] % 4 ? NONE : r[2] % 6;
            head[i] = operation == BRA ? r[4] % (i + 1) : i;
            waits[i] = r[3] % 3 ? 0 : r[3] & 0x3f;
            ends[i] = ((1U << written | 1U << read) & 0x3f) | (operation == BAR) * IS_BARRIER |
                      (operation == STG || operation == RED) * IS_WRITE;
            const int64_t by = operation == BRA ? ((int64_t)head[i] - (int64_t)i - 1) * 16 : 0;
            cubin_op(&m.c, operation, written, read, waits[i], by);
        }
        cubin_put(&m.c, &m.pc, CRC);
        const struct gp_code *code = finish(&m);
        assert_int_equal(code->n, OPS);
        for (size_t i = 0; i < OPS; i++) {
            const size_t loop = code->ops[i].loop, from = loop ? head[loop] : 0;
            assert_int_equal(gp_code_awaited(code, i, GP_STALL_LONG_SCOREBOARD),
                             back(ends, i, from, loop, waits[i]));
            assert_int_equal(gp_code_awaited(code, i, GP_STALL_DRAIN), back(ends, i, from, loop, IS_WRITE));
            assert_int_equal(gp_code_awaited(code, i, GP_STALL_BARRIER),
                             ends[i] & IS_BARRIER ? i : back(ends, i, from, loop, IS_BARRIER));
        }
        end(&m);
    }
}

/* Sections have no more bytes than the file. */
TEST(functions_that_overlap)
{
    for (int n = 10; n < 100; n += 50) {
        struct made m;
        begin(&m);
        m.c.twice = true;
        for (int i = 0; i < n; i++) op(&m, FADD);
        cubin_put(&m.c, &m.pc, CRC);
        assert_non_null(finish(&m));
        const struct gp_code *code = gp_code_of(&m.cubins, CRC, "l");
        assert_int_equal(code ? code->n : 0, n == 10 ? 10 : 0); /* 60 are more than half of the file */
        assert_ptr_equal(gp_code_of(&m.cubins, CRC, "l"), code);
        end(&m);
    }
}

TEST(what_instructions_do)
{
    static const struct {
        uint64_t operation;
        enum gp_op op;
    } known[] = {{LDG, GP_OP_LOAD},       {STG, GP_OP_STORE},      {LDL, GP_OP_LOCAL},
                 {0x387, GP_OP_LOCAL},    {LDS, GP_OP_SHARED},     {0x388, GP_OP_SHARED},
                 {RED, GP_OP_ATOMIC},     {0xf8c, GP_OP_SHARED},   {BAR, GP_OP_OTHER},
                 {FADD, GP_OP_OTHER},     {0x9a8, GP_OP_ATOMIC},   {0x83b, GP_OP_SHARED},
                 {0x844, GP_OP_SHARED},   {0xc2b, GP_OP_DOUBLE},   {0x229, GP_OP_DOUBLE},
                 {0x306, GP_OP_TO_FLOAT}, {0x312, GP_OP_TO_FLOAT}, {0x308, GP_OP_RECIPROCAL},
                 {0x305, GP_OP_TO_INT},   {0x311, GP_OP_TO_INT},   {0x227, GP_OP_HIGH}};
    struct made m;
    begin(&m);
    for (size_t i = 0; i < GP_COUNT(known); i++) op(&m, known[i].operation);
    cubin_put(&m.c, &m.pc, CRC);
    const struct gp_code *code = finish(&m);
    for (size_t i = 0; i < GP_COUNT(known); i++) assert_int_equal(code->ops[i].kind, known[i].op);
    assert_int_equal(code->ops[0].bytes, 128);
    end(&m);
}

/* A pointer is an argument of eight bytes, or the one of an addition; a value that was loaded is none. */
TEST(arguments_that_pointers_come_from)
{
    enum { IADD3 = 0x10, UNIFORM = 6 << 9, CONSTANT = 5 << 9, LDC = 0xb82 };
#define TO(r)     ((uint64_t)(r) << 16)
#define FROM(r)   ((uint64_t)(r) << 24)
#define BESIDE(v) ((uint64_t)(v) << 32)
#define PLACE(v)  ((uint64_t)(v) << 38)
    static const struct {
        uint64_t operation;
        uint32_t root;
    } known[] = {
        {IADD3 | CONSTANT | TO(4) | FROM(9) | PLACE(0x210), 0},
        {LDG | TO(6) | FROM(4), 0x210},
        {0x224 | TO(8) | FROM(9) | BESIDE(4), 0}, /* from a register between */
        {LDG | FROM(8), 0x210},
        {LDG | FROM(6), 0},               /* loaded */
        {LDC | TO(10) | PLACE(0x218), 0}, /* of four bytes: a number */
        {LDG | FROM(10), 0},
        {IADD3 | CONSTANT | TO(4) | FROM(9) | PLACE(0x28), 0}, /* not an argument */
        {LDG | FROM(4), 0},
        {IADD3 | UNIFORM | TO(8) | FROM(8) | BESIDE(7),
         0}, /* of an argument, and a uniform register of none */
        {LDG | FROM(8), 0x210},
        {0x20c | TO(8) | FROM(3), 0}, /* ISETP writes no register */
        {STG | FROM(8), 0x210},
    };
    struct made m;
    begin(&m);
    for (size_t i = 0; i < GP_COUNT(known); i++) op(&m, known[i].operation);
    cubin_put(&m.c, &m.pc, CRC);
    const struct gp_code *code = finish(&m);
    for (size_t i = 0; i < GP_COUNT(known); i++) assert_int_equal(code->ops[i].root, known[i].root);
    assert_int_equal(code->ops[3].made, 0);
    assert_int_equal(code->ops[4].made, 1 + 1); /* of what the second one loaded */
    end(&m);
}

/* A value that is chosen by what was loaded depends on that load: under a predicate, or by SEL. */
TEST(values_that_depend_on_a_load)
{
    enum { IADD3 = 0x210, FSETP = 0x20b, SEL = 0x207, ALWAYS = 7 << 12, OTHER = 1 << 12 };
    static const uint64_t choices[] = {IADD3, SEL | ALWAYS, IADD3 | ALWAYS, IADD3 | OTHER};
    for (size_t i = 0; i < GP_COUNT(choices); i++) {
        struct made m;
        begin(&m);
        op(&m, LDG | ALWAYS | TO(6) | FROM(4));
        op(&m, FSETP | ALWAYS | FROM(6) | BESIDE(9)); /* into predicate 0, which SEL reads here */
        op(&m, choices[i] | TO(8) | FROM(8) | BESIDE(9));
        op(&m, LDG | ALWAYS | FROM(8));
        cubin_put(&m.c, &m.pc, CRC);
        assert_int_equal(finish(&m)->ops[3].made, i < 2 ? 1 : 0);
        end(&m);
    }
}

/* Words that lanes add to are read and written: one each, or four. */
TEST(bytes_of_additions)
{
    enum { TYPE_AT = 9, FLOATS = 3 };
    struct made m;
    begin(&m);
    op(&m, 0x98e);
    cubin_number(&m.c.code, 0x9a3, 8);
    cubin_number(&m.c.code, (uint64_t)FLOATS << TYPE_AT, 8);
    cubin_put(&m.c, &m.pc, CRC);
    const struct gp_code *code = finish(&m);
    assert_int_equal(code->ops[0].bytes, 2 * 32 * 4);
    assert_int_equal(code->ops[1].bytes, 2 * 32 * 16);
    end(&m);
}

/* Whatever is cut is not there, and nothing is read beyond the end. */
TEST(cut_and_damaged_cubins)
{
    struct made whole;
    begin(&whole);
    put_loop(&whole);
    const size_t n = cubin_elf(&whole.c)->n;
    for (size_t cut = 0; cut < n; cut += 1 + (cut > 700) * 6) {
        struct made m;
        begin(&m);
        cubin_put_bytes(&whole.c, &m.pc, CRC, cut);
        const struct gp_code *code = finish(&m);
        assert_true(!code || code->n <= 12);
        end(&m);
    }
    end(&whole);
    for (size_t at = 0; at < n; at++) {
        struct made m;
        begin(&m);
        put_loop(&m);
        struct gp_events *e = &m.t.events[GP_PC];
        const size_t part = at / 300;
        char *digits = strdup(gp_trace_str(&m.t, e->series[part]));
        digits[at % 300 * 2] = digits[at % 300 * 2] == 'f' ? '0' : 'f';
        gp_set_series(e, part, mk_name(&m.t, digits));
        free(digits);
        const struct gp_code *code = finish(&m);
        for (size_t i = 0; code && i < code->n; i++)
            assert_true(gp_code_awaited(code, i, GP_STALL_LONG_SCOREBOARD) < code->n);
        end(&m);
    }
}
