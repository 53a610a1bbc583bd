// Logs as records: prefixes of all versions, payloads, damage, and digests.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/buf.h"
#include "formats/base/input.h"
#include "formats/compile_log/log_lines.h"
#include "formats/compile_log/compile_log_priv.h"
#include "tests/unit/unit.h"

#define P "V1122 12:05:49.468000 456 torch/_dynamo/utils.py:2126] "

/* Each record as TEXT(payload), with its process and offset. */
static struct gp_buf seen;
static struct gp_log_stats stats;

static void read_bytes(const char *text, size_t n)
{
    struct gp_input *in = gp_input_memory(text, n, 1);
    struct gp_log_lines l;
    struct gp_log_line r;
    struct gp_buf payload = {0};
    seen.n = 0;
    gp_log_lines_init(&l, in);
    while (gp_log_lines_next(&l, &r)) {
        payload.n = 0;
        gp_log_payload(&r, &payload);
        gp_buf_printf(&seen, "%llu/%d:%.*s", (unsigned long long)r.process, (int)r.offset, (int)r.text_n,
                      r.text);
        if (r.payload) gp_buf_printf(&seen, "(%.*s)", (int)payload.n, payload.n ? payload.data : "");
        gp_buf_puts(&seen, r.complete ? ";" : "?");
    }
    stats = l.stats;
    gp_buf_release(&payload);
    gp_log_lines_release(&l);
    gp_input_close(in);
}

static void expect(const char *text, const char *want)
{
    read_bytes(text, strlen(text));
    assert_string_equal(gp_buf_str(&seen), want);
    gp_buf_release(&seen);
}

TEST(records_have_payloads_without_tabs)
{
    expect(P "{\"a\": 1}\n\t{\n\t\"b\"\n\t\n\t}\n" P "{}\n", "456/0:{\"a\": 1}({\n\"b\"\n\n});456/77:{};");
    expect(P "{}\n\tx\n\n\ty\n\n", "456/0:{}(x\ny);");   /* blank lines are noise of log shippers */
    expect(P "{}\r\n\tx\r\n\ty\r\n", "456/0:{}(x\ny);"); /* CRLF */
    expect(P "{}\n\t\n", "456/0:{}();");                 /* one empty line */
}

TEST(decorated_prefixes_are_recognized)
{
    expect("[rank0]:" P "{}\n", "456/0:{};");
    expect("[rank12]: \033[32m" P "\033[0m{}\n", "456/0:{};");
    expect("W0101 00:00:00.000000 139872345678912 a.py:1] [0/0] [__x] y\n",
           "139872345678912/0:[0/0] [__x] y;");
}

TEST(what_is_no_record_is_counted)
{
    expect("hello\n\torphan\n" P "{}\nV1122 12:05 nothing\n", "456/14:{};");
    assert_int_equal(stats.noise, 2);
    assert_int_equal(stats.first_noise, 0);
    assert_int_equal(stats.orphans, 1);
    assert_int_equal(stats.first_orphan, 6);
    assert_int_equal(stats.lines, 1);
    expect("", "");
    expect("\n\n", "");
    assert_int_equal(stats.noise, 0);
}

TEST(a_cut_is_seen)
{
    expect(P "{\"a", "456/0:{\"a?");
    expect(P "{}\n\tx", "456/0:{}(x)?");
    expect(P "{}\n\tx\n", "456/0:{}(x);");
}

TEST(any_prefix_of_a_log_is_read)
{
    static const char log[] =
        "noise\n" P "{\"str\": [\"a\", 1]}\n" P "{}\n\t{\n\t\"b\": 2\n\t}\n[rank0]:" P "{}\n\tz\n";
    for (size_t n = 0; n < sizeof log; n++) {
        read_bytes(log, n);
        assert_true(stats.lines <= 3);
        assert_int_equal(stats.bytes, n);
        gp_buf_release(&seen);
    }
}

TEST(long_records_grow_the_window)
{
    struct gp_buf text = {0};
    enum { LINES = 200000 };
    for (int i = 0; i < 3; i++) {
        gp_buf_puts(&text, P "{}\n");
        for (int k = 0; k < LINES; k++) gp_buf_puts(&text, "\t\"key\": 1,\n");
    }
    struct gp_input *in = gp_input_memory(text.data, text.n, 1);
    struct gp_log_lines l;
    struct gp_log_line r;
    int n = 0;
    gp_log_lines_init(&l, in);
    while (gp_log_lines_next(&l, &r)) {
        assert_int_equal(r.payload_n, LINES * 11 - 1);
        n++;
    }
    assert_int_equal(n, 3);
    gp_log_lines_release(&l);
    gp_input_close(in);
    gp_buf_release(&text);
}

TEST(logs_are_told_from_other_text)
{
    assert_true(gp_log_sniff((const uint8_t *)"x\n" P "{}", strlen("x\n" P "{}")));
    assert_false(gp_log_sniff((const uint8_t *)"{\"traceEvents\": []}", 19));
    assert_false(gp_log_sniff((const uint8_t *)"a;b 12\n", 7));
    assert_false(gp_log_sniff((const uint8_t *)"", 0));
}

static void digest(const char *text, const char *want)
{
    uint8_t d[GP_MD5_BYTES];
    char hex[2 * GP_MD5_BYTES + 1];
    gp_md5(text, strlen(text), d);
    for (int i = 0; i < GP_MD5_BYTES; i++) snprintf(hex + 2 * i, 3, "%02x", d[i]);
    assert_string_equal(hex, want);
}

/* The suite of RFC 1321, and the lengths around a block. */
TEST(digests_are_md5)
{
    digest("", "d41d8cd98f00b204e9800998ecf8427e");
    digest("a", "0cc175b9c0f1b6a831c399e269772661");
    digest("abc", "900150983cd24fb0d6963f7d28e17f72");
    digest("message digest", "f96b697d7cb7938d525a2f31aaf161d0");
    digest("abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b");
    digest("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
           "d174ab98d277d9f5a5611c2c9f419d9f");
    digest("12345678901234567890123456789012345678901234567890123456789012345678901234567890",
           "57edf4a22be3c955ac49da2e2107b67a");
}
