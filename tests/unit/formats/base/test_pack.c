// Compressing on the way out: what the input side unpacks is what went in, however it was cut.
#include <stdlib.h>
#include <unistd.h>

#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/base/input.h"
#include "formats/base/output.h"
#include "tests/unit/unit.h"

static int to_buf(void *ctx, const void *data, size_t n)
{
    gp_buf_put(ctx, data, n);
    return 0;
}

/* TEXT packed in pieces of PIECE bytes. */
static struct gp_buf packed(enum gp_packing packing, const struct gp_buf *text, size_t piece)
{
    struct gp_buf b = {0};
    struct gp_pack *p = gp_pack_new(packing, to_buf, &b);
    for (size_t i = 0; i < text->n; i += piece)
        assert_int_equal(gp_pack_write(p, text->data + i, text->n - i < piece ? text->n - i : piece), 0);
    assert_int_equal(gp_pack_end(p), 0);
    gp_pack_free(p);
    return b;
}

/* About 300 kB that compress, with some that do not. */
static struct gp_buf sample(void)
{
    struct gp_buf b = {0};
    uint64_t x = 1;
    for (int i = 0; i < 10000; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        gp_buf_printf(&b, "{\"ts\": %d, \"id\": %llx}\n", i, (unsigned long long)x);
    }
    return b;
}

static void check(enum gp_packing packing, const char *compression)
{
    struct gp_buf text = sample(), back = {0};
    struct gp_buf whole = packed(packing, &text, text.n), cut = packed(packing, &text, 777);
    assert_int_equal(whole.n, cut.n);
    assert_memory_equal(whole.data, cut.data, cut.n);
    if (packing != GP_PACK_NONE) assert_true(whole.n < text.n / 2);
    struct gp_input *in = gp_input_memory(whole.data, whole.n, 1);
    gp_buf_reserve(&back, text.n + 1);
    back.n = gp_input_read(in, back.data, text.n + 1);
    assert_string_equal(gp_input_compression(in), compression);
    assert_int_equal(gp_input_status(in, NULL), 0);
    gp_input_close(in);
    assert_int_equal(back.n, text.n);
    assert_memory_equal(back.data, text.data, text.n);
    gp_buf_release(&text);
    gp_buf_release(&back);
    gp_buf_release(&whole);
    gp_buf_release(&cut);
}

TEST(plain_text_passes_through) { check(GP_PACK_NONE, "none"); }

TEST(gzip_is_read_back) { check(GP_PACK_GZIP, "gzip"); }

TEST(zstd_is_read_back) { check(GP_PACK_ZSTD, "zstd"); }

static int refuse(void *ctx, const void *data, size_t n)
{
    (void)data;
    (void)n;
    ++*(int *)ctx;
    return -1;
}

TEST(a_sink_that_refuses_is_asked_once)
{
    struct gp_buf text = sample();
    for (int packing = GP_PACK_NONE; packing <= GP_PACK_ZSTD; packing++) {
        int calls = 0, failed = 0;
        struct gp_pack *p = gp_pack_new((enum gp_packing)packing, refuse, &calls);
        for (int i = 0; i < 3; i++) failed |= gp_pack_write(p, text.data, text.n);
        failed |= gp_pack_end(p);
        assert_int_equal(failed, -1);
        assert_int_equal(calls, 1);
        gp_pack_free(p);
    }
    gp_buf_release(&text);
}

/* A file NAME of TEXT, as it is after compression, and what readers get of it. */
static void check_named(const char *name, const struct gp_buf *text, const char *compression)
{
    struct gp_err err = {0};
    struct gp_buf back = {0};
    struct gp_output *out = gp_output_open(name, &err);
    assert_non_null(out);
    gp_output_write(out, text->data, text->n);
    assert_int_equal(gp_output_close(out, true, &err), 0);
    struct gp_input *in = gp_input_open(name, 1, &err);
    assert_non_null(in);
    assert_int_equal(gp_input_rest(in, 1 << 20, &back, &err), 0);
    assert_string_equal(gp_input_compression(in), compression);
    gp_input_close(in);
    assert_int_equal(back.n, text->n);
    if (text->n) assert_memory_equal(back.data, text->data, text->n);
    gp_buf_release(&back);
    unlink(name);
}

TEST(names_of_files_ask_for_compression)
{
    struct gp_buf text = sample(), none = {0}, few = {0};
    gp_buf_puts(&few, "few");
    check_named("packed.json.gz", &text, "gzip");
    check_named("packed.gz", &few, "gzip");
    check_named("packed.zst", &text, "zstd");
    check_named("packed.gz.txt", &text, "none");
    check_named("packed.gz", &none, "gzip");
    gp_buf_release(&text);
    gp_buf_release(&few);
}

TEST(compressed_bytes_are_not_compressed_again)
{
    struct gp_buf text = sample(), gzip = packed(GP_PACK_GZIP, &text, text.n), back = {0};
    struct gp_err err = {0};
    struct gp_output *out = gp_output_open("twice.gz", &err);
    assert_non_null(out);
    gp_output_write(out, gzip.data, gzip.n);
    assert_int_equal(gp_output_close(out, true, &err), 0);
    assert_int_equal(gp_input_all("twice.gz", NULL, 1 << 20, &back, &err), 0);
    assert_int_equal(back.n, text.n);
    assert_memory_equal(back.data, text.data, text.n);
    unlink("twice.gz");
    gp_buf_release(&text);
    gp_buf_release(&gzip);
    gp_buf_release(&back);
}
