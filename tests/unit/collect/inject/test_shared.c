// The memory that a process and the launcher share: its log, its slots, what it refuses, and the pool that
// hands out slots.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/inject/pool.h"
#include "collect/wire/shared.h"
#include "formats/base/count.h"
#include "formats/base/err.h"
#include "tests/unit/unit.h"

enum { BUFFER = 1 << 18 };

/* Both sides of one memory. */
struct both {
    struct gp_shared process, launcher;
};

static void begin(struct both *b, uint32_t slots)
{
    struct gp_shared_opts o = {slots, BUFFER};
    struct gp_err err = {0};
    int fd = gp_shared_make(&o, &err);
    assert_true(fd >= 0);
    assert_true(gp_shared_map(&b->process, fd, &o));
    assert_true(gp_shared_map(&b->launcher, fd, &o));
    assert_int_not_equal(ftruncate(fd, 4096), 0); /* it cannot be taken away from under us */
    close(fd);
}

static void end(struct both *b)
{
    gp_shared_unmap(&b->process);
    gp_shared_unmap(&b->launcher);
}

TEST(names_come_in_the_order_in_which_they_were_logged)
{
    struct both b;
    struct gp_name name;
    begin(&b, 2);
    assert_false(gp_shared_read_log(&b.launcher, UINT64_MAX, &name));
    assert_true(gp_shared_log(&b.process, GP_NAME_TEXT, 0x1000, "gemm"));
    uint64_t first = gp_shared_logged(&b.process);
    assert_true(gp_shared_log(&b.process, GP_NAME_THREAD, 77, ""));
    assert_true(gp_shared_read_log(&b.launcher, first, &name));
    assert_int_equal(name.kind, GP_NAME_TEXT);
    assert_int_equal(name.key, 0x1000);
    assert_int_equal(name.n, 4);
    assert_memory_equal(name.text, "gemm", 4);
    assert_false(gp_shared_read_log(&b.launcher, first, &name)); /* the rest is for later */
    assert_true(gp_shared_read_log(&b.launcher, UINT64_MAX, &name));
    assert_int_equal(name.kind, GP_NAME_THREAD);
    assert_int_equal(name.key, 77);
    assert_int_equal(name.n, 0);
    assert_false(gp_shared_read_log(&b.launcher, UINT64_MAX, &name));
    end(&b);
}

/* More than it has room for, many times over: texts of all lengths, none of which wraps round or is lost. */
TEST(the_log_goes_round_and_never_overtakes_its_reader)
{
    struct both b;
    struct gp_name name;
    static char text[GP_SHARED_TEXT + 100];
    memset(text, 'x', sizeof text - 1);
    begin(&b, 2);
    uint64_t written = 0, read = 0, refused = 0;
    while (read < 3000) {
        size_t n = (size_t)(written * 7919 % (sizeof text - 1)),
               kept = n < GP_SHARED_TEXT ? n : GP_SHARED_TEXT;
        text[n] = 0;
        bool ok = gp_shared_log(&b.process, GP_NAME_TEXT, written, text);
        text[n] = 'x';
        written += ok;
        if (ok) continue;
        refused++;
        for (int i = 0; i < 100 && gp_shared_read_log(&b.launcher, UINT64_MAX, &name); i++) {
            n = (size_t)(read * 7919 % (sizeof text - 1));
            kept = n < GP_SHARED_TEXT ? n : GP_SHARED_TEXT;
            assert_int_equal(name.key, read++);
            assert_int_equal(name.n, kept);
            assert_true(!kept || (name.text[0] == 'x' && name.text[kept - 1] == 'x'));
        }
    }
    assert_true(refused > 1);
    assert_true(gp_shared_logged(&b.process) > 2 * GP_SHARED_LOG);
    end(&b);
}

/* Whatever a process has written over the log: names that lie inside it come out, or none. */
TEST(a_log_that_makes_no_sense_ends)
{
    static const uint32_t sizes[] = {0, 4, 7, 8, 12, 24, 1 << 20, 0x80000000u, UINT32_MAX};
    for (size_t i = 0; i < GP_COUNT(sizes); i++) {
        struct both b;
        struct gp_name name;
        begin(&b, 2);
        assert_true(gp_shared_log(&b.process, GP_NAME_TEXT, 1, "a name"));
        memset(b.process.map + b.process.log_at, 0xff, 1 << 16);
        memcpy(b.process.map + b.process.log_at, &sizes[i], sizeof sizes[i]);
        for (int k = 0; k < 10 && gp_shared_read_log(&b.launcher, UINT64_MAX, &name); k++) {
            assert_true((const uint8_t *)name.text >= b.launcher.map + b.launcher.log_at);
            assert_true((const uint8_t *)name.text + name.n <= b.launcher.map + b.launcher.buffers_at);
        }
        memset(b.process.map, 0xff, 64); /* the counts of the log: nobody can have written that much */
        assert_false(gp_shared_read_log(&b.launcher, UINT64_MAX, &name));
        end(&b);
    }
}

TEST(sizes_of_records_are_told_and_checked)
{
    struct both b;
    begin(&b, 2);
    assert_int_equal(gp_shared_record_bytes(&b.launcher, 10), 0);
    gp_shared_learn(&b.process, 10, 216);
    gp_shared_learn(&b.process, 11, 217); /* no size of a record */
    gp_shared_learn(&b.process, 12, 1 << 20);
    gp_shared_learn(&b.process, 1 << 20, 216);
    assert_int_equal(gp_shared_record_bytes(&b.launcher, 10), 216);
    assert_int_equal(gp_shared_record_bytes(&b.launcher, 11), 0);
    assert_int_equal(gp_shared_record_bytes(&b.launcher, 12), 0);
    assert_int_equal(gp_shared_record_bytes(&b.launcher, 1 << 20), 0);
    memset(b.process.map, 0xff, 4096);
    assert_int_equal(gp_shared_record_bytes(&b.launcher, 10), 0);
    end(&b);
}

TEST(what_a_process_wrote_outlives_it)
{
    struct gp_shared_opts o = {4, BUFFER};
    struct gp_shared s;
    struct gp_err err = {0};
    int status, fd = gp_shared_make(&o, &err);
    pid_t pid = fork();
    if (!pid) {
        if (!gp_shared_map(&s, fd, &o) || !gp_shared_log(&s, GP_NAME_TEXT, 5, "kernel")) _exit(9);
        memset(gp_shared_buffer(&s, 3), 0x5a, 1000);
        atomic_store(&gp_shared_slot(&s, 3)->state, GP_SLOT_OUT);
        kill(getpid(), SIGKILL);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_true(gp_shared_map(&s, fd, &o));
    close(fd);
    struct gp_name name;
    assert_true(gp_shared_read_log(&s, UINT64_MAX, &name));
    assert_int_equal(name.key, 5);
    assert_int_equal(atomic_load(&gp_shared_slot(&s, 3)->state), GP_SLOT_OUT);
    assert_int_equal(gp_shared_buffer(&s, 3)[999], 0x5a);
    assert_int_equal(gp_shared_buffer(&s, 3)[1000], 0);
    gp_shared_unmap(&s);
}

TEST(a_fork_child_that_forgets_writes_to_its_own)
{
    struct both b;
    int status;
    begin(&b, 2);
    gp_shared_buffer(&b.process, 0)[0] = 1;
    pid_t pid = fork();
    if (!pid) {
        gp_shared_forget(&b.process);
        uint8_t was = gp_shared_buffer(&b.process, 0)[0];
        memset(gp_shared_buffer(&b.process, 0), 9, BUFFER);
        _exit(was);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(gp_shared_buffer(&b.launcher, 0)[0], 1);
    assert_int_equal(gp_shared_buffer(&b.launcher, 0)[1], 0);
    end(&b);
}

/* Whoever could take the memory away could end us with it. */
TEST(memory_that_can_shrink_is_not_mapped)
{
    struct gp_shared_opts o = {4, 65536};
    struct gp_shared s;
    int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_int_equal(ftruncate(fd, (off_t)gp_shared_bytes(&o)), 0);
    assert_false(gp_shared_map(&s, fd, &o));
    assert_int_equal(errno, EPERM);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    assert_true(gp_shared_map(&s, fd, &o));
    gp_shared_unmap(&s);
    close(fd);
    fd = open("/dev/null", O_RDWR);
    assert_false(gp_shared_map(&s, fd, &o));
    close(fd);
}

TEST(memory_of_another_shape_is_not_mapped)
{
    struct gp_shared_opts small = {2, BUFFER}, large = {3, BUFFER};
    struct gp_shared s;
    struct gp_err err = {0};
    int fd = gp_shared_make(&small, &err);
    assert_false(gp_shared_map(&s, fd, &large));
    assert_false(gp_shared_map(&s, -1, &small));
    close(fd);
}

TEST(there_are_slots_for_any_size_of_buffer)
{
    for (uint32_t bytes = 64 << 10; bytes <= 64 << 20; bytes *= 2) {
        struct gp_shared_opts o = gp_shared_size(bytes);
        assert_true(o.slots > GP_SHARED_WAITING / bytes + 200);
        assert_true((uint64_t)o.slots * bytes < UINT64_C(1) << 36);
    }
}

/* ---- the pool ---- */

static uint64_t count_bytes(uint8_t *data, size_t valid) { return data[0] + valid; }

static struct gp_pool *make_pool(struct both *b, size_t max_waiting)
{
    struct gp_pool_opts o = {&b->process, 2, max_waiting, count_bytes};
    return gp_pool_new(&o);
}

/* What the launcher does with a slot that was reported to it. */
static void read_slot(struct both *b, uint32_t i)
{
    struct gp_slot *slot = gp_shared_slot(&b->launcher, i);
    assert_int_equal(atomic_load(&slot->state), GP_SLOT_FILLED);
    gp_shared_clear(&b->launcher, i, slot->valid);
    atomic_store(&slot->state, GP_SLOT_DONE);
}

TEST(the_pool_hands_out_zeroed_buffers_and_bounds_what_waits)
{
    struct both b;
    begin(&b, 16);
    struct gp_pool *p = make_pool(&b, 2000);
    assert_true(gp_pool_prepare(p, 1));
    assert_false(gp_pool_prepare(p, 5));
    assert_int_equal(gp_pool_buffers(p), 2);
    uint8_t *buffer[3], *data;
    size_t valid, slot;
    for (int i = 0; i < 3; i++) {
        buffer[i] = gp_pool_take(p); /* the third one is made on the spot */
        assert_true(gp_shared_find(&b.process, buffer[i], &slot));
        assert_int_equal(atomic_load(&gp_shared_slot(&b.launcher, slot)->state), GP_SLOT_OUT);
        memset(buffer[i], 1, 1000);
    }
    assert_int_equal(gp_pool_buffers(p), 3);
    assert_true(gp_pool_fill(p, buffer[0], 1000));
    assert_true(gp_pool_fill(p, buffer[1], 1000));
    assert_false(gp_pool_fill(p, buffer[2], 1000)); /* dropped, and counted by the callback: 1 + 1000 */
    assert_int_equal(gp_pool_dropped(p), 1001);
    assert_true(gp_pool_next(p, &data, &valid));
    assert_ptr_equal(data, buffer[0]);
    assert_int_equal(valid, 1000);
    uint32_t first = gp_pool_deliver(p, 10);
    assert_int_equal(gp_shared_slot(&b.launcher, first)->records, 10);
    assert_int_equal(gp_shared_slot(&b.launcher, first)->seq, 1);
    assert_true(gp_pool_next(p, &data, &valid));
    assert_ptr_equal(data, buffer[1]);
    uint8_t *next = gp_pool_take(p);
    memset(next, 1, 1000);
    assert_false(gp_pool_fill(p, next, 1000)); /* what the launcher has not read yet waits as well */
    read_slot(&b, first);
    next = gp_pool_take(p);
    assert_true(gp_pool_fill(p, next, 8));
    for (int i = 0; i < 8; i++) { /* whoever gets it again: it is zeroed */
        data = gp_pool_take(p);
        for (size_t k = 0; k < 2000; k++) assert_int_equal(data[k], 0);
    }
    gp_pool_free(p);
    end(&b);
}

/* A flush hands back a buffer of each thread, however little is in it. */
TEST(what_waits_is_bounded_by_what_is_in_it)
{
    struct both b;
    begin(&b, 64);
    struct gp_pool *p = make_pool(&b, 40 * 100);
    uint8_t *buffer[41];
    for (int i = 0; i < 41; i++) buffer[i] = gp_pool_take(p);
    for (int i = 0; i < 41; i++) assert_int_equal(gp_pool_fill(p, buffer[i], 100), i < 40);
    gp_pool_free(p);
    end(&b);
}

TEST(more_buffers_than_slots_are_lost_but_counted)
{
    struct both b;
    begin(&b, 3);
    struct gp_pool *p = make_pool(&b, 1000);
    uint8_t *buffer[5];
    for (int i = 0; i < 5; i++) {
        buffer[i] = gp_pool_take(p);
        assert_non_null(buffer[i]);
        buffer[i][0] = 7;
        buffer[i][BUFFER - 1] = 7;
    }
    assert_int_equal(gp_pool_buffers(p), 5);
    for (int i = 0; i < 5; i++) assert_int_equal(gp_pool_fill(p, buffer[i], 100), i < 3);
    assert_int_equal(gp_pool_dropped(p), 2 * (7 + 100));
    assert_int_equal(gp_pool_buffers(p), 3);
    gp_pool_free(p);
    end(&b);
}

TEST(what_a_burst_made_is_given_back)
{
    struct both b;
    begin(&b, 16);
    struct gp_pool *p = make_pool(&b, 1 << 20);
    uint8_t *buffer[12], *data;
    size_t valid;
    for (int i = 0; i < 12; i++) {
        buffer[i] = gp_pool_take(p);
        memset(buffer[i], 3, 5000);
    }
    for (int i = 0; i < 12; i++) assert_true(gp_pool_fill(p, buffer[i], 5000));
    for (int i = 0; i < 12; i++) {
        assert_true(gp_pool_next(p, &data, &valid));
        read_slot(&b, gp_pool_deliver(p, 1));
    }
    assert_false(gp_pool_prepare(p, 0));
    assert_int_equal(gp_pool_buffers(p), 4); /* twice what is kept ready */
    for (int i = 0; i < 12; i++) assert_int_equal(gp_pool_take(p)[4999], 0);
    assert_int_equal(gp_pool_buffers(p), 12);
    gp_pool_free(p);
    end(&b);
}

TEST(what_nobody_will_read_is_given_back)
{
    struct both b;
    begin(&b, 8);
    struct gp_pool *p = make_pool(&b, 1 << 20);
    uint8_t *out = gp_pool_take(p), *data;
    size_t valid;
    for (int i = 0; i < 4; i++) assert_true(gp_pool_fill(p, gp_pool_take(p), 100));
    assert_true(gp_pool_next(p, &data, &valid));
    gp_pool_deliver(p, 1);
    gp_pool_abandon(p);
    assert_false(gp_pool_next(p, &data, &valid));
    assert_int_equal(gp_pool_buffers(p), 1);
    gp_pool_give(p, out, 100); /* one that CUPTI still had */
    gp_pool_free(p);
    end(&b);
}
