// Stacks out of memory that is made up, as CPython 3.11, 3.13 and 3.15 lay it out: whole ones, generators,
// stacks that change while they are read, and memory that leads nowhere.
#include <stdlib.h>
#include <string.h>

#include "collect/cpython/python_thread.h"
#include "tests/unit/unit.h"

enum {
    BASE = 0x100000,
    BYTES = 0x8000,
    THREAD = BASE,
    CFRAME = BASE + 0x800,
    CHUNK = BASE + 0x1000,
    ODD = BASE + 0xa00
};

/* Memory from BASE on. CHANGE is called before each range of a read. */
struct memory {
    uint8_t bytes[BYTES];
    void (*change)(struct memory *m, unsigned nth);
    unsigned reads, ranges;
};

static size_t read_memory(void *ctx, const struct gp_remote_range *r, size_t n)
{
    struct memory *m = ctx;
    m->reads++;
    for (size_t i = 0; i < n; i++) {
        if (m->change) m->change(m, m->ranges);
        m->ranges++;
        if (r[i].at < BASE || r[i].n > BYTES || r[i].at - BASE > BYTES - r[i].n) return i;
        memcpy(r[i].to, m->bytes + (r[i].at - BASE), r[i].n);
    }
    return n;
}

static void put(struct memory *m, uint64_t at, uint64_t value)
{
    memcpy(m->bytes + (at - BASE), &value, sizeof value);
}

struct fixture {
    struct memory m;
    struct gp_py_layout o;
    struct gp_remote remote;
    struct gp_py_reader reader;
    struct gp_py_thread thread;
};

static uint64_t frame_address(unsigned i) { return CHUNK + 32 + 0x80 * (uint64_t)i; }

static void put_frame(struct fixture *f, uint64_t at, uint64_t previous, uint64_t code, uint64_t ip)
{
    put(&f->m, at + f->o.frame_previous, previous);
    put(&f->m, at + f->o.frame_code, code);
    put(&f->m, at + f->o.frame_ip, ip);
}

static void set_top(struct fixture *f, uint64_t frame)
{
    if (f->o.thread_frame != GP_PY_NONE) put(&f->m, THREAD + f->o.thread_frame, frame);
    else put(&f->m, CFRAME + f->o.cframe_at, frame);
}

/* N frames, of codes 0x1000, 0x2000, ... from the outermost on. */
static struct fixture *begin(unsigned minor, unsigned n)
{
    struct fixture *f = calloc(1, sizeof *f);
    assert_true(gp_py_layout(&f->o, 3u << 24 | (minor < 13 ? minor : 12) << 16, NULL, 0));
    if (minor >= 13) { /* differs from 3.12 here: the thread points at its frame */
        f->o.minor = minor;
        f->o.generator_runs = minor > 14 ? 4 : 0;
        f->o.thread_frame = 72;
        f->o.thread_cframe = GP_PY_NONE;
    } else {
        put(&f->m, THREAD + f->o.thread_cframe, CFRAME);
    }
    put(&f->m, THREAD + f->o.thread_chunk, CHUNK);
    for (unsigned i = 0; i < n; i++)
        put_frame(f, frame_address(i), i ? frame_address(i - 1) : 0, 0x1000 * (uint64_t)(i + 1), 0x5000 + i);
    set_top(f, frame_address(n - 1));
    f->remote = (struct gp_remote){read_memory, &f->m};
    f->reader.layout = &f->o;
    f->reader.remote = &f->remote;
    f->thread.at = THREAD;
    return f;
}

static void end(struct fixture *f)
{
    gp_py_thread_release(&f->thread);
    free(f);
}

static void check_stack(const struct fixture *f, unsigned n)
{
    assert_int_equal(f->reader.n, n);
    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(f->reader.stack[i].code, 0x1000 * (uint64_t)(n - i));
        assert_int_equal(f->reader.stack[i].at, frame_address(n - 1 - i));
        assert_int_equal(f->reader.stack[i].ip, 0x5000 + n - 1 - i);
    }
}

TEST(a_stack_that_stands_still_is_read_whole)
{
    for (unsigned minor = 11; minor <= 13; minor++) {
        struct fixture *f = begin(minor, 20);
        assert_int_equal(gp_py_thread_read(&f->reader, &f->thread), GP_PY_WHOLE);
        check_stack(f, 20);
        assert_false(gp_py_thread_same(&f->reader, &f->thread));
        gp_py_thread_keep(&f->reader, &f->thread);
        f->m.reads = 0;
        assert_int_equal(gp_py_thread_read(&f->reader, &f->thread), GP_PY_WHOLE);
        assert_true(gp_py_thread_same(&f->reader, &f->thread));
        assert_int_equal(f->m.reads, 1); /* all in one call, once it is known */
        end(f);
    }
}

TEST(a_thread_without_python_code_is_empty)
{
    struct fixture *f = begin(13, 3);
    set_top(f, 0);
    assert_int_equal(gp_py_thread_read(&f->reader, &f->thread), GP_PY_EMPTY);
    f->thread.at = 0x10;
    assert_int_equal(gp_py_thread_read(&f->reader, &f->thread), GP_PY_GONE);
    end(f);
}

/* From 3.14 on, two low bits of the pointer to the code say how it is counted; from 3.15 on, the outermost
 * frame stands for C and is part of the thread, also of one that runs no Python code. */
TEST(frames_with_marks_and_a_base_are_read)
{
    struct fixture *f = begin(15, 20);
    put_frame(f, ODD, 0, 0x8000, 0);
    f->m.bytes[ODD - BASE + f->o.frame_owner] = 3;
    for (unsigned i = 0; i < 20; i++)
        put_frame(f, frame_address(i), i ? frame_address(i - 1) : ODD, 0x1000 * (uint64_t)(i + 1) + i % 4,
                  0x5000 + i);
    for (int turn = 0; turn < 2; turn++) {
        assert_int_equal(gp_py_thread_read(&f->reader, &f->thread), GP_PY_WHOLE);
        check_stack(f, 20);
    }
    set_top(f, ODD);
    assert_int_equal(gp_py_thread_read(&f->reader, &f->thread), GP_PY_EMPTY);
    end(f);
}

/* The frame of a generator lies elsewhere; 3.12 has frames that stand for a call from C. */
TEST(frames_of_generators_and_of_c_are_followed)
{
    struct fixture *f = begin(12, 3);
    put_frame(f, ODD, frame_address(1), 0x9000, 0x77);
    f->m.bytes[ODD - BASE + f->o.frame_owner] = 1;
    put_frame(f, ODD + 0x100, ODD, 0, 0);
    f->m.bytes[ODD + 0x100 - BASE + f->o.frame_owner] = 3;
    put_frame(f, frame_address(2), ODD + 0x100, 0x3000, 0x5002);
    for (int turn = 0; turn < 2; turn++) {
        assert_int_equal(gp_py_thread_read(&f->reader, &f->thread), GP_PY_WHOLE);
        assert_int_equal(f->reader.n, 4);
        assert_int_equal(f->reader.stack[1].code, 0x9000);
        assert_int_equal(f->reader.stack[2].code, 0x2000);
    }
    assert_int_equal(f->thread.odds, 2); /* guessed next time */
    end(f);
}

/* The innermost function is another one each time that memory is read. */
static void flutter(struct memory *m, unsigned nth)
{
    uint64_t code = 0x10000 + 0x1000 * (uint64_t)(nth % 7);
    memcpy(m->bytes + (frame_address(4) + 32 - BASE), &code, sizeof code); /* 3.11 */
}

TEST(what_changes_too_fast_keeps_the_outer_frames)
{
    struct fixture *f = begin(11, 5);
    assert_int_equal(gp_py_thread_read(&f->reader, &f->thread), GP_PY_WHOLE);
    gp_py_thread_keep(&f->reader, &f->thread);
    f->m.change = flutter;
    assert_int_equal(gp_py_thread_read(&f->reader, &f->thread), GP_PY_PARTIAL);
    assert_int_equal(f->reader.n, 4);
    for (unsigned i = 0; i < 4; i++) assert_int_equal(f->reader.stack[i].code, 0x1000 * (uint64_t)(4 - i));
    end(f);
}

/* The chain leads to where no stack begins. */
static void check_outermost(struct fixture *f)
{
    assert_int_equal(gp_py_thread_read(&f->reader, &f->thread), GP_PY_PARTIAL);
    assert_int_equal(f->reader.n, 1);
    assert_int_equal(f->reader.stack[0].code, 0x1000);
}

TEST(a_chain_that_misses_the_base_keeps_the_outermost_frame)
{
    struct fixture *f = begin(11, 5);
    put(&f->m, frame_address(2) + f->o.frame_previous, 0);
    check_outermost(f);
    put(&f->m, frame_address(2) + f->o.frame_previous, frame_address(4)); /* a circle */
    check_outermost(f);
    put(&f->m, frame_address(2) + f->o.frame_previous, 0x7fff00000000); /* nowhere */
    check_outermost(f);
    end(f);
}

/* What a generator does stands in front of its frame: one that does not run is left over from before. */
TEST(a_generator_that_has_ended_is_in_no_stack)
{
    for (unsigned minor = 11; minor <= 15; minor++) {
        struct fixture *f = begin(minor, 3);
        put_frame(f, ODD, frame_address(1), 0x9000, 0x77);
        f->m.bytes[ODD - BASE + f->o.frame_owner] = 1;
        f->m.bytes[ODD - BASE - f->o.generator_state] = (uint8_t)f->o.generator_runs;
        put_frame(f, frame_address(2), ODD, 0x3000, 0x5002);
        assert_int_equal(gp_py_thread_read(&f->reader, &f->thread), GP_PY_WHOLE);
        gp_py_thread_keep(&f->reader, &f->thread);
        f->m.bytes[ODD - BASE - f->o.generator_state] = (uint8_t)(4 - f->o.generator_runs);
        assert_int_equal(gp_py_thread_read(&f->reader, &f->thread), GP_PY_PARTIAL);
        assert_int_equal(f->reader.n, 2); /* those around it stand */
        end(f);
    }
}

enum { PARTS = 20, IN_PART = 3, PART_STRIDE = 0x200 };

static uint64_t part_address(unsigned i) { return CHUNK + PART_STRIDE * (uint64_t)i; }

/* The first N frames of a stack that is spread over many parts. */
static void set_depth(struct fixture *f, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        uint64_t at = part_address(i / IN_PART) + 32 + 0x80 * (uint64_t)(i % IN_PART);
        uint64_t before = part_address((i - 1) / IN_PART) + 32 + 0x80 * (uint64_t)((i - 1) % IN_PART);
        put_frame(f, at, i ? before : 0, 0x1000 * (uint64_t)(i + 1), 0x5000 + i);
        put(&f->m, part_address(i / IN_PART), i < IN_PART ? 0 : part_address(i / IN_PART - 1));
        put(&f->m, part_address(i / IN_PART) + 16, (32 + 0x80 * IN_PART - 24) / 8);
        if (i + 1 == n) set_top(f, at);
    }
    put(&f->m, THREAD + f->o.thread_chunk, part_address((n - 1) / IN_PART));
}

TEST(deep_stacks_that_grow_and_shrink_are_read_in_few_calls)
{
    static const unsigned depths[] = {PARTS * IN_PART, 10, 13, 1, 30};
    struct fixture *f = begin(13, 1);
    for (unsigned i = 0; i < 5; i++) {
        set_depth(f, depths[i]);
        f->m.reads = 0;
        assert_int_equal(gp_py_thread_read(&f->reader, &f->thread), GP_PY_WHOLE);
        assert_int_equal(f->reader.n, depths[i]);
        for (unsigned k = 0; k < depths[i]; k++)
            assert_int_equal(f->reader.stack[k].code, 0x1000 * (uint64_t)(depths[i] - k));
        if (i) assert_true(f->m.reads <= 3 + (depths[i] - 1) / IN_PART);
        if (i == 1) assert_int_equal(f->m.reads, 2); /* the parts below are known */
    }
    end(f);
}

/* The newest part of a deep stack is given back while it is read. */
static unsigned gone_from;

static size_t read_with_hole(void *ctx, const struct gp_remote_range *r, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (r[i].at >= part_address(gone_from) && r[i].at < BASE + BYTES) return read_memory(ctx, r, i);
    return read_memory(ctx, r, n);
}

TEST(the_oldest_part_stands_when_the_newest_is_gone)
{
    struct fixture *f = begin(13, 1);
    set_depth(f, PARTS * IN_PART);
    assert_int_equal(gp_py_thread_read(&f->reader, &f->thread), GP_PY_WHOLE);
    gp_py_thread_keep(&f->reader, &f->thread);
    gone_from = 5;
    f->remote.read = read_with_hole;
    assert_int_equal(gp_py_thread_read(&f->reader, &f->thread), GP_PY_PARTIAL);
    assert_true(f->reader.n >= IN_PART);
    for (unsigned i = 0; i < f->reader.n; i++)
        assert_int_equal(f->reader.stack[i].code, 0x1000 * (uint64_t)(f->reader.n - i));
    end(f);
}

enum { KEPT = BASE + 0x7000 };

/* Each time that the state of the thread is read, it gives back its newest part right after. */
static size_t read_before_it_is_given_back(void *ctx, const struct gp_remote_range *r, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        put(ctx, THREAD + 232, r[i].n > 8 && r[i].at == THREAD ? KEPT : CHUNK); /* 3.12 on */
        if (!read_memory(ctx, r + i, 1)) return i;
    }
    return n;
}

/* From 3.14 on, a part that was given back is kept, and has none before it, as the oldest one has. */
TEST(a_part_that_was_given_back_is_not_the_oldest)
{
    struct fixture *f = begin(14, 5);
    assert_int_equal(gp_py_thread_read(&f->reader, &f->thread), GP_PY_WHOLE);
    gp_py_thread_keep(&f->reader, &f->thread);
    f->remote.read = read_before_it_is_given_back;
    assert_int_equal(gp_py_thread_read(&f->reader, &f->thread), GP_PY_PARTIAL);
    assert_int_equal(f->thread.base, CHUNK);
    assert_true(f->reader.n >= 1);
    assert_int_equal(f->reader.stack[f->reader.n - 1].code, 0x1000);
    end(f);
}
