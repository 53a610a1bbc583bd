#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include "formats/base/buf.h"
#include "formats/base/count.h"
#include "formats/base/err.h"
#include "formats/base/input.h"
#include "formats/base/mem.h"
#include "tests/unit/lacks.h"
#include "tests/unit/unit.h"

/* The tests compress with zlib and zstd and read with whatever input.c was built with; test_input_zlib is
 * this file with the reading side made of zlib, too. */

enum { HANG_SECONDS = 60 };

/* ---- making input ---- */

/* Text that compresses about as well as a trace does, the same in every run. */
static struct gp_buf make_text(size_t n)
{
    struct gp_buf b = {0};
    uint32_t seed = 1;
    while (b.n < n) {
        seed = seed * 1664525 + 1013904223;
        gp_buf_printf(&b, "{\"name\":\"kernel_%u\",\"dur\":%u},\n", seed >> 28, seed >> 12);
    }
    b.n = n;
    return b;
}

static void put_gzip(struct gp_buf *to, const void *data, size_t n, int level)
{
    z_stream s = {0};
    assert_int_equal(deflateInit2(&s, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    s.next_in = (Bytef *)(uintptr_t)data;
    s.avail_in = (uInt)n;
    uLong room = deflateBound(&s, (uLong)n);
    s.next_out = (Bytef *)gp_buf_reserve(to, room);
    s.avail_out = (uInt)room;
    assert_int_equal(deflate(&s, Z_FINISH), Z_STREAM_END);
    to->n += s.total_out;
    deflateEnd(&s);
}

/* A member whose header has all that there can be in one. */
static void put_gzip_with_header(struct gp_buf *to, const void *data, size_t n)
{
    z_stream s = {0};
    static Bytef extra[3000], name[] = "a rather long name.json", comment[] = "and a comment";
    gz_header h = {.text = 1,
                   .time = 12345,
                   .extra = extra,
                   .extra_len = sizeof extra,
                   .name = name,
                   .comment = comment,
                   .hcrc = 1};
    assert_int_equal(deflateInit2(&s, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflateSetHeader(&s, &h), Z_OK);
    s.next_in = (Bytef *)(uintptr_t)data;
    s.avail_in = (uInt)n;
    size_t room = 10000 + 2 * n;
    s.next_out = (Bytef *)gp_buf_reserve(to, room);
    s.avail_out = (uInt)room;
    assert_int_equal(deflate(&s, Z_FINISH), Z_STREAM_END);
    to->n += s.total_out;
    deflateEnd(&s);
}

static void put_zstd(struct gp_buf *to, const void *data, size_t n, int level)
{
    ZSTD_CCtx *c = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
    ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, level);
    size_t room = ZSTD_compressBound(n);
    size_t k = ZSTD_compress2(c, gp_buf_reserve(to, room), room, data, n);
    assert_false(ZSTD_isError(k));
    to->n += k;
    ZSTD_freeCCtx(c);
}

typedef void (*put_fn)(struct gp_buf *, const void *, size_t, int);
static const struct {
    const char *name;
    put_fn put;
} codecs[] = {{"gzip", put_gzip}, {"zstd", put_zstd}};

/* ---- reading ---- */

static struct gp_buf read_all(struct gp_input *in, size_t step)
{
    struct gp_buf b = {0};
    for (size_t n = step; n == step; b.n += n) n = gp_input_read(in, gp_buf_reserve(&b, step), step);
    assert_int_equal(gp_input_read(in, gp_buf_reserve(&b, 1), 1), 0);
    return b;
}

static void assert_same(const struct gp_buf *got, const void *want, size_t n)
{
    assert_int_equal(got->n, n);
    if (n > 0) assert_memory_equal(got->data, want, n);
}

/* The N bytes at FILE must read as WANT without complaint, in small and large steps, with and without a
 * thread. */
static void assert_reads_as(const struct gp_buf *file, const void *want, size_t n, const char *compression)
{
    for (int threads = 0; threads <= 1; threads++) {
        for (size_t step = 1000; step <= 1000000; step *= 1000) {
            struct gp_input *in = gp_input_memory(file->data, file->n, threads);
            struct gp_buf got = read_all(in, step);
            struct gp_err err = {0};
            assert_string_equal(gp_input_compression(in), compression);
            assert_same(&got, want, n);
            assert_int_equal(gp_input_status(in, &err), 0);
            assert_int_equal(err.code, GP_E_NONE);
            gp_buf_release(&got);
            gp_input_close(in);
        }
    }
}

/* ---- files ---- */

static char folder[] = "/tmp/gp_input_XXXXXX";
static char path[64];

static int make_folder(GP_UNUSED void **state)
{
    alarm(HANG_SECONDS);
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/file", folder);
    return 0;
}

static int remove_folder(GP_UNUSED void **state)
{
    unlink(path);
    return rmdir(folder);
}

TESTS_BETWEEN(make_folder, remove_folder);

static void write_file(const void *data, size_t n)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

TEST(sizes_around_the_buffers_come_back_whole)
{
    static const size_t sizes[] = {0,     1,      2,      7,       8,       65535,  65536,
                                   65537, 262143, 262145, 1048576, 1048577, 5000000};
    for (size_t i = 0; i < GP_COUNT(sizes); i++) {
        struct gp_buf text = make_text(sizes[i]), packed = {0};
        assert_reads_as(&text, text.data, text.n, "none");
        for (size_t k = 0; k < 2; k++) {
            packed.n = 0;
            codecs[k].put(&packed, text.data, text.n, 1);
            assert_reads_as(&packed, text.data, text.n, codecs[k].name);
        }
        gp_buf_release(&packed);
        gp_buf_release(&text);
    }
}

TEST(stored_blocks_and_the_best_compression_are_read)
{
    struct gp_buf text = make_text(300000), packed = {0};
    put_gzip(&packed, text.data, text.n, 0);
    assert_reads_as(&packed, text.data, text.n, "gzip");
    packed.n = 0;
    put_gzip(&packed, text.data, text.n, 9);
    assert_reads_as(&packed, text.data, text.n, "gzip");
    packed.n = 0;
    put_zstd(&packed, text.data, text.n, 19);
    assert_reads_as(&packed, text.data, text.n, "zstd");
    gp_buf_release(&packed);
    gp_buf_release(&text);
}

TEST(members_follow_one_another)
{
    struct gp_buf text = make_text(200000);
    static const size_t parts[] = {0, 1, 70000, 3, 0, 129996};
    for (size_t k = 0; k < 2; k++) {
        struct gp_buf packed = {0};
        size_t at = 0;
        for (size_t i = 0; i < GP_COUNT(parts); at += parts[i++])
            codecs[k].put(&packed, text.data + at, parts[i], 6);
        assert_int_equal(at, text.n);
        assert_reads_as(&packed, text.data, text.n, codecs[k].name);
        gp_buf_release(&packed);
    }
    gp_buf_release(&text);
}

TEST(skippable_zstd_frames_are_skipped)
{
    struct gp_buf packed = {0};
    gp_buf_put(&packed, "\x50\x2a\x4d\x18\x03\x00\x00\x00xyz", 11);
    put_zstd(&packed, "hello", 5, 1);
    gp_buf_put(&packed, "\x5f\x2a\x4d\x18\x00\x00\x00\x00", 8);
    assert_reads_as(&packed, "hello", 5, "zstd");
    gp_buf_release(&packed);
}

TEST(zero_padding_is_no_damage_and_anything_else_is_told)
{
    struct gp_buf zeros = {0};
    memset(gp_buf_reserve(&zeros, 300000), 0, 300000);
    zeros.n = 300000;
    for (size_t k = 0; k < 2; k++) {
        struct gp_buf packed = {0};
        codecs[k].put(&packed, "hello", 5, 1);
        size_t end = packed.n;
        gp_buf_put(&packed, zeros.data, zeros.n);
        assert_reads_as(&packed, "hello", 5, codecs[k].name);
        codecs[k].put(&packed, " again", 6, 1);
        assert_reads_as(&packed, "hello again", 11, codecs[k].name);
        packed.n = end;
        gp_buf_puts(&packed, "rubbish that is not a member");
        struct gp_input *in = gp_input_memory(packed.data, packed.n, 0);
        struct gp_buf got = read_all(in, 100);
        struct gp_err err = {0};
        assert_same(&got, "hello", 5);
        assert_int_equal(gp_input_status(in, &err), -1);
        assert_int_equal(err.offset, end);
        gp_buf_release(&got);
        gp_input_close(in);
        gp_buf_release(&packed);
    }
    gp_buf_release(&zeros);
}

/* How much of a cut gzip file can be decoded at all: zlib, called directly, one byte at a time. */
static size_t decodable(const struct gp_buf *packed, size_t cut)
{
    static uint8_t sink[100000];
    z_stream s = {0};
    assert_int_equal(inflateInit2(&s, 15 + 16), Z_OK);
    s.next_in = (Bytef *)packed->data;
    s.avail_in = (uInt)cut;
    s.next_out = sink;
    s.avail_out = sizeof sink;
    inflate(&s, Z_SYNC_FLUSH);
    size_t n = s.total_out;
    inflateEnd(&s);
    return n;
}

TEST(a_cut_gzip_file_gives_all_that_can_be_decoded)
{
    struct gp_buf text = make_text(3000), packed = {0};
    put_gzip(&packed, text.data, text.n, 6);
    for (size_t cut = 3; cut < packed.n; cut++) {
        struct gp_input *in = gp_input_memory(packed.data, cut, (int)(cut % 2));
        struct gp_buf got = read_all(in, 700);
        struct gp_err err = {0};
        assert_same(&got, text.data, decodable(&packed, cut));
        assert_int_equal(gp_input_status(in, &err), -1);
        assert_int_equal(err.code, GP_E_SYNTAX);
        assert_int_equal(err.offset, cut);
        gp_buf_release(&got);
        gp_input_close(in);
    }
    gp_buf_release(&packed);
    gp_buf_release(&text);
}

/* Behind a decoder of the same size, which leaves a text of PATTERN on the heap. */
static struct gp_buf decode_after(char pattern, const uint8_t *packed, size_t n)
{
    struct gp_buf text = {0}, before = {0};
    for (int i = 0; i < 100000; i++) gp_buf_putc(&text, pattern);
    put_gzip(&before, text.data, text.n, 6);
    struct gp_input *in = gp_input_memory(before.data, before.n, 1);
    struct gp_buf got = read_all(in, 700);
    assert_int_equal(got.n, text.n);
    gp_buf_release(&got);
    gp_input_close(in);
    in = gp_input_memory(packed, n, 1);
    got = read_all(in, 700);
    assert_int_equal(gp_input_status(in, NULL), -1);
    gp_input_close(in);
    gp_buf_release(&text);
    gp_buf_release(&before);
    return got;
}

/* Found by the fuzzer: "main;f;k", and a distance that reaches before the first byte. */
TEST(what_lies_before_the_data_does_not_come_out)
{
    static const uint8_t packed[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03,
                                     0xcb, 0x4d, 0x34, 0xe2, 0xca, 0x1d, 0x65, 0x0f, 0x56, 0x30,
                                     0x00, 0x00, 0x60, 0x6d, 0x61, 0x69, 0x6e, 0x3b, 0x66, 0x3b,
                                     0x6b, 0x73, 0x3e, 0xe0, 0x01, 0x00, 0x00};
    struct gp_buf a = decode_after('a', packed, sizeof packed), b = decode_after('b', packed, sizeof packed);
    assert_int_equal(a.n, b.n);
    assert_true(!a.n || !memcmp(a.data, b.data, a.n));
    gp_buf_release(&a);
    gp_buf_release(&b);
}

TEST(a_cut_zstd_file_gives_the_frames_before_the_cut)
{
    struct gp_buf text = make_text(3000), packed = {0};
    size_t ends[3];
    for (size_t i = 0; i < 3; i++) {
        put_zstd(&packed, text.data + 1000 * i, 1000, 3);
        ends[i] = packed.n;
    }
    for (size_t cut = 4; cut < packed.n; cut++) {
        struct gp_input *in = gp_input_memory(packed.data, cut, (int)(cut % 2));
        struct gp_buf got = read_all(in, 700);
        size_t whole = 0;
        while (ends[whole] <= cut) whole++;
        assert_true(got.n >= 1000 * whole);
        assert_memory_equal(got.data ? got.data : "", text.data, got.n);
        assert_int_equal(gp_input_status(in, NULL), whole > 0 && cut == ends[whole - 1] ? 0 : -1);
        gp_buf_release(&got);
        gp_input_close(in);
    }
    gp_buf_release(&packed);
    gp_buf_release(&text);
}

/* Whatever bit is wrong, either the data is right all the same (a bit of the time stamp, say) or it is
 * reported.
 */
TEST(no_flipped_bit_goes_unnoticed)
{
    struct gp_buf text = make_text(600);
    for (size_t k = 0; k < 2; k++) {
        struct gp_buf packed = {0};
        codecs[k].put(&packed, text.data, 300, 6);
        codecs[k].put(&packed, text.data + 300, 300, 6);
        for (size_t bit = 0; bit < packed.n * 8; bit++) {
            packed.data[bit / 8] ^= (char)(1 << bit % 8);
            struct gp_input *in = gp_input_memory(packed.data, packed.n, 1);
            struct gp_buf got = read_all(in, 4096);
            bool same = got.n == text.n && !memcmp(got.data, text.data, text.n);
            bool plain = !strcmp(gp_input_compression(in), "none");
            assert_true(same || plain || gp_input_status(in, NULL) == -1);
            packed.data[bit / 8] ^= (char)(1 << bit % 8);
            gp_buf_release(&got);
            gp_input_close(in);
        }
        gp_buf_release(&packed);
    }
    gp_buf_release(&text);
}

TEST(damage_deep_inside_gives_what_is_before_it)
{
    struct gp_buf text = make_text(3000000);
    for (size_t k = 0; k < 2; k++) {
        struct gp_buf packed = {0};
        codecs[k].put(&packed, text.data, text.n, 1);
        size_t hurt = packed.n / 2;
        memset(packed.data + hurt, 0xff, 64);
        struct gp_input *in = gp_input_memory(packed.data, packed.n, 0);
        struct gp_buf got = read_all(in, 65536);
        struct gp_err err = {0};
        assert_int_equal(gp_input_status(in, &err), -1);
        assert_true(err.offset > 0 && (size_t)err.offset <= packed.n);
        /* The text compresses evenly. What is spoilt before the damage is at most one block of 128 KiB. */
        assert_true(got.n > text.n / 2 - 150000);
        assert_memory_equal(got.data, text.data, text.n / 2 - 150000);
        gp_buf_release(&got);
        gp_input_close(in);
        gp_buf_release(&packed);
    }
    gp_buf_release(&text);
}

TEST(peeking_shows_what_reading_then_gives)
{
    struct gp_buf text = make_text(3000000);
    for (int k = -1; k < 2; k++) {
        struct gp_buf packed = {0};
        if (k < 0) gp_buf_put(&packed, text.data, text.n);
        else codecs[k].put(&packed, text.data, text.n, 1);
        struct gp_input *in = gp_input_memory(packed.data, packed.n, k == 0);
        char *buf = gp_alloc(text.n);
        size_t at = 0;
        while (at < text.n) {
            size_t n, left = text.n - at, want = left < 65536 ? left : 65536;
            const uint8_t *p = gp_input_peek(in, 65536, &n);
            assert_true(n >= want);
            assert_memory_equal(p, text.data + at, want);
            size_t step = gp_input_read(in, buf, 50000 + at % 7777 * 20);
            assert_memory_equal(buf, text.data + at, step);
            at += step;
        }
        size_t n;
        gp_input_peek(in, 10, &n);
        assert_int_equal(n, 0);
        assert_int_equal(gp_input_read(in, buf, 10), 0);
        free(buf);
        gp_input_close(in);
        gp_buf_release(&packed);
    }
    gp_buf_release(&text);
}

/* ---- pipes ---- */

struct feed {
    int fd;
    const struct gp_buf *data;
    size_t most; /* bytes a write; 0: all at once */
};

static void *feed(void *arg)
{
    const struct feed *f = arg;
    int fd = f->fd >= 0 ? f->fd : open(path, O_WRONLY);
    for (size_t at = 0; at < f->data->n;) {
        size_t n = f->data->n - at;
        if (f->most && n > f->most) n = f->most;
        ssize_t k = write(fd, f->data->data + at, n);
        if (k < 0) break;
        at += (size_t)k;
    }
    close(fd);
    return NULL;
}

static void with_stdin(int fd, int *saved)
{
    *saved = dup(STDIN_FILENO);
    assert_true(*saved >= 0);
    assert_int_equal(dup2(fd, STDIN_FILENO), STDIN_FILENO);
}

static void restore_stdin(int saved)
{
    assert_int_equal(dup2(saved, STDIN_FILENO), STDIN_FILENO);
    close(saved);
}

TEST(a_pipe_with_short_reads_gives_the_same)
{
    struct gp_buf text = make_text(40000);
    for (int k = -1; k < 2; k++) {
        for (size_t most = 1; most < 4000; most = most * 7 + 3) {
            struct gp_buf packed = {0};
            size_t half = text.n / 2;
            if (k < 0) gp_buf_put(&packed, text.data, text.n);
            else
                codecs[k].put(&packed, text.data, half, 6), codecs[k].put(&packed, text.data + half, half, 6);
            int fds[2], saved;
            assert_int_equal(pipe(fds), 0);
            with_stdin(fds[0], &saved);
            struct feed f = {fds[1], &packed, most};
            pthread_t t;
            assert_int_equal(pthread_create(&t, NULL, feed, &f), 0);
            struct gp_err err = {0};
            struct gp_input *in = gp_input_open("-", (int)(most % 2), &err);
            assert_non_null(in);
            struct gp_buf got = read_all(in, 3000);
            assert_same(&got, text.data, text.n);
            assert_int_equal(gp_input_status(in, &err), 0);
            uint64_t size;
            assert_int_equal(gp_input_fd(in, &size), -1);
            assert_string_equal(gp_input_path(in), "-");
            pthread_join(t, NULL);
            gp_buf_release(&got);
            gp_input_close(in);
            restore_stdin(saved);
            close(fds[0]);
            gp_buf_release(&packed);
        }
    }
    gp_buf_release(&text);
}

TEST(a_fifo_is_read_like_a_pipe)
{
    struct gp_buf text = make_text(300000), packed = {0};
    put_gzip(&packed, text.data, text.n, 6);
    assert_int_equal(mkfifo(path, 0600), 0);
    struct feed f = {-1, &packed, 0};
    pthread_t t;
    assert_int_equal(pthread_create(&t, NULL, feed, &f), 0);
    struct gp_err err = {0};
    struct gp_input *in = gp_input_open(path, 0, &err);
    assert_non_null(in);
    struct gp_buf got = read_all(in, 65536);
    assert_same(&got, text.data, text.n);
    pthread_join(t, NULL);
    gp_input_close(in);
    gp_buf_release(&got);
    gp_buf_release(&packed);
    gp_buf_release(&text);
    unlink(path);
}

TEST(closing_early_ends_a_thread_that_waits_for_input)
{
    struct gp_buf text = make_text(100000), packed = {0};
    put_gzip(&packed, text.data, text.n, 1);
    int fds[2], saved;
    assert_int_equal(pipe(fds), 0);
    with_stdin(fds[0], &saved);
    assert_int_equal(write(fds[1], packed.data, 1000), 1000); /* and the writer stays, silent */
    struct gp_err err = {0};
    struct gp_input *in = gp_input_open("-", 0, &err);
    assert_non_null(in);
    gp_input_close(in); /* alarm() would end a hang */
    restore_stdin(saved);
    close(fds[0]);
    close(fds[1]);
    gp_buf_release(&packed);
    gp_buf_release(&text);
}

TEST(closing_early_ends_a_thread_that_is_far_ahead)
{
    struct gp_buf text = make_text(12000000), packed = {0};
    put_zstd(&packed, text.data, text.n, 1);
    for (int i = 0; i < 20; i++) {
        struct gp_input *in = gp_input_memory(packed.data, packed.n, 0);
        char c;
        if (i % 2) assert_int_equal(gp_input_read(in, &c, 1), 1);
        gp_input_close(in);
    }
    gp_input_close(NULL);
    gp_buf_release(&packed);
    gp_buf_release(&text);
}

TEST(headers_with_everything_in_them_are_skipped)
{
    struct gp_buf packed = {0};
    put_gzip_with_header(&packed, "hello", 5);
    put_gzip_with_header(&packed, " again", 6);
    assert_reads_as(&packed, "hello again", 11, "gzip");
    for (size_t most = 1; most < 3000; most = most * 5 + 2) {
        int fds[2], saved;
        assert_int_equal(pipe(fds), 0);
        with_stdin(fds[0], &saved);
        struct feed f = {fds[1], &packed, most};
        pthread_t t;
        assert_int_equal(pthread_create(&t, NULL, feed, &f), 0);
        struct gp_input *in = gp_input_open("-", 1, NULL);
        assert_non_null(in);
        struct gp_buf got = read_all(in, 100);
        assert_same(&got, "hello again", 11);
        assert_int_equal(gp_input_status(in, NULL), 0);
        pthread_join(t, NULL);
        gp_buf_release(&got);
        gp_input_close(in);
        restore_stdin(saved);
        close(fds[0]);
    }
    gp_buf_release(&packed);
}

/* ---- files and what is none ---- */

TEST(a_plain_file_lends_its_descriptor)
{
    write_file("0123456789", 10);
    struct gp_err err = {0};
    struct gp_input *in = gp_input_open(path, 0, &err);
    assert_non_null(in);
    uint64_t size = 0;
    int fd = gp_input_fd(in, &size);
    char c[4];
    assert_true(fd >= 0);
    assert_int_equal(size, 10);
    assert_int_equal(gp_input_read(in, c, 2), 2);
    assert_int_equal(pread(fd, c, 3, 6), 3);
    assert_memory_equal(c, "678", 3);
    assert_int_equal(gp_input_read(in, c, 2), 2);
    assert_memory_equal(c, "23", 2);
    gp_input_close(in);
    struct gp_buf packed = {0};
    put_gzip(&packed, "x", 1, 1);
    write_file(packed.data, packed.n);
    in = gp_input_open(path, 0, &err);
    assert_non_null(in);
    assert_int_equal(gp_input_fd(in, &size), -1);
    gp_input_close(in);
    gp_buf_release(&packed);
}

TEST(sizes_are_known_of_files)
{
    write_file("0123456789", 10);
    assert_int_equal(gp_input_total(path), 10);
    assert_int_equal(gp_input_total("-"), 0);
    assert_int_equal(gp_input_total("/dev/null"), 0);
    assert_int_equal(gp_input_total("/no/such/file"), 0);
}

/* Progress counts compressed bytes: it never goes back, and ends with the size of the file. */
TEST(how_much_is_read_is_known_of_compressed_files)
{
    enum { TEXT = 6 << 20, STEP = 100000 };
    static char text[TEXT], got[STEP];
    struct gp_buf packed = {0};
    struct gp_err err;
    for (size_t i = 0; i < TEXT; i++) text[i] = (char)(i * i >> 7);
    put_gzip(&packed, text, TEXT, 1);
    write_file(packed.data, packed.n);
    for (int threads = 1; threads <= 2; threads++) {
        struct gp_input *in = gp_input_open(path, threads, &err);
        uint64_t last = 0, between = 0;
        assert_non_null(in);
        while (gp_input_read(in, got, STEP) == STEP) {
            uint64_t now = gp_input_done(in, 0);
            assert_true(now >= last);
            between += now > 0 && now < packed.n;
            last = now;
        }
        assert_true(between > 0);
        assert_int_equal(gp_input_done(in, 0), packed.n);
        gp_input_close(in);
    }
    write_file(text, STEP);
    struct gp_input *in = gp_input_open(path, 1, &err);
    assert_int_equal(gp_input_done(in, 1234), 1234);
    gp_input_close(in);
    gp_buf_release(&packed);
}

TEST(standard_input_that_was_read_from_is_not_lent)
{
    write_file("0123456789", 10);
    int fd = open(path, O_RDONLY), saved;
    assert_true(fd >= 0);
    with_stdin(fd, &saved);
    struct gp_err err = {0};
    struct gp_input *in = gp_input_open(NULL, 0, &err);
    uint64_t size = 0;
    assert_non_null(in);
    assert_true(gp_input_fd(in, &size) >= 0);
    gp_input_close(in);
    assert_int_equal(lseek(STDIN_FILENO, 4, SEEK_SET), 4); /* also: close left it open */
    in = gp_input_open(NULL, 0, &err);
    assert_non_null(in);
    assert_int_equal(gp_input_fd(in, &size), -1);
    struct gp_buf got = read_all(in, 100);
    assert_same(&got, "456789", 6);
    gp_buf_release(&got);
    gp_input_close(in);
    restore_stdin(saved);
    close(fd);
}

TEST(what_cannot_be_read_is_told_with_its_name)
{
    struct gp_err err = {0};
    assert_null(gp_input_open("/nonexistent/a.json", 0, &err));
    assert_int_equal(err.code, GP_E_IO);
    assert_non_null(strstr(err.msg, "/nonexistent/a.json: "));
    err = (struct gp_err){0};
    assert_null(gp_input_open(folder, 0, &err));
    assert_int_equal(err.code, GP_E_IO);
    assert_non_null(strstr(err.msg, "is a directory"));
    assert_null(gp_input_open("/nonexistent", 0, NULL));
}

TEST(a_read_error_is_told_after_the_end)
{
    struct gp_err err = {0};
    struct gp_input *in = gp_input_open("/proc/self/mem", 0, &err); /* nothing is mapped at 0 */
    if (gp_lacks(!in, "/proc/self/mem")) return;
    char c;
    assert_int_equal(gp_input_read(in, &c, 1), 0);
    assert_int_equal(gp_input_status(in, &err), -1);
    assert_int_equal(err.code, GP_E_IO);
    gp_input_close(in);
}
