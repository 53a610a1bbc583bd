/* fuzz_values.c -- small things that are read everywhere: numbers, text as UTF-8, JSON that is scanned,
 * cleaned and checked, the args of events, and the shapes of tensors in them. What two of them say of one
 * text must agree. */
#include <inttypes.h>
#include <string.h>
#include "analyze/cost/shapes.h"
#include "analyze/names/args.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/base/json_scan.h"
#include "formats/base/json_write.h"
#include "formats/base/num.h"
#include "formats/base/utf8.h"
#include "tests/fuzz/help/fuzz.h"
#include "tests/fuzz/help/mutate.h"

static void check_numbers(const char *s, size_t n)
{
    int64_t i, ns;
    uint64_t u, hex;
    double d;
    if (gp_u64_from_text(s, n, &u) && u <= INT64_MAX)
        FUZZ_CHECK(gp_i64_from_text(s, n, &i) && (uint64_t)i == u);
    if (gp_i64_from_text(s, n, &i) && s[0] != '-') /* "-0" is one, too, but not of digits only */
        FUZZ_CHECK(gp_u64_from_text(s, n, &u) && u == (uint64_t)i);
    if (gp_i64_from_text(s, n, &i) && i < INT64_MAX / 1000 && i > INT64_MIN / 1000)
        FUZZ_CHECK(gp_ns_from_us(s, n, &ns) && ns == i * 1000);
    (void)gp_u64_from_hex(s, n, &hex);
    (void)gp_double_from_text(s, n, &d);
}

static void check_options(const char *s)
{
    struct gp_err err = {0};
    int64_t ns;
    uint64_t bytes;
    double pct;
    if (gp_parse_duration(s, &ns, &err)) FUZZ_CHECK(err.msg[0]);
    if (gp_parse_size(s, &bytes, &err)) FUZZ_CHECK(err.msg[0]);
    if (gp_parse_percent(s, &pct, &err)) FUZZ_CHECK(err.msg[0]);
}

static void check_utf8(const char *s, size_t n)
{
    struct gp_buf b = {0};
    size_t max = n ? (uint8_t)s[0] : 3;
    gp_utf8_repair(&b, s, n);
    FUZZ_CHECK(gp_utf8_valid(b.n ? b.data : "", b.n));
    if (gp_utf8_valid(s, n)) FUZZ_CHECK(b.n == n && (!n || !memcmp(b.data, s, n)));
    FUZZ_CHECK(gp_utf8_fit_bytes(s, n, max) <= (max < n ? max : n));
    gp_buf_release(&b);
}

/* PADDED: N bytes and GP_JSON_PAD zeros. */
static void check_json(const char *padded, size_t n)
{
    const char *end = padded + n, *at = padded;
    struct gp_json_value v;
    struct gp_buf clean = {0}, text = {0};
    unsigned changes = 0;
    bool valid = gp_json_is_valid(padded, n);
    const char *after = gp_json_value(padded, end, &v, &at);
    FUZZ_CHECK(after || (at >= padded && (at >= end || !valid))); /* a number may go on behind the end */
    if (after && after <= end && !gp_json_clean(&clean, padded, after, &changes)) {
        FUZZ_CHECK(gp_json_is_valid(clean.data, clean.n));
        if (valid) FUZZ_CHECK(!changes);
    } else if (after) {
        FUZZ_CHECK(!valid);
    }
    if (after && (v.kind == GP_JSON_STRING || v.kind == GP_JSON_ODD_STRING)) {
        gp_json_decode(&text, v.p, v.n);
        if (text.n) FUZZ_CHECK(gp_utf8_valid(text.data, text.n));
    }
    gp_buf_release(&clean);
    gp_buf_release(&text);
}

static void check_args(const char *text)
{
    struct gp_arg a;
    uint64_t u;
    for (const char *at = text; gp_args_next(&at, &a);) {
        FUZZ_CHECK(a.key >= text && a.value >= a.key && a.value + a.n <= text + strlen(text));
        (void)gp_arg_u64(&a, &u);
    }
    (void)gp_memory_device(text);
}

static void check_shapes(const char *text)
{
    struct gp_shapes s;
    int64_t v[8];
    bool b;
    if (!gp_shapes_read(&s, text)) return;
    FUZZ_CHECK(s.n >= 0 && s.n <= GP_SHAPE_INPUTS);
    for (int i = -1; i <= s.n; i++) {
        const struct gp_shape *t = gp_shapes_tensor(&s, i);
        for (int k = 0; t && k < t->n; k++) FUZZ_CHECK(t->size[k] >= 0);
        if (t) FUZZ_CHECK(t->n <= GP_SHAPE_DIMS && t->elements >= 0 && t->distinct <= t->elements);
        FUZZ_CHECK(gp_shapes_ints(&s, i, v, 8) <= 8);
        (void)gp_shapes_int(&s, i, v);
        (void)gp_shapes_bool(&s, i, &b);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + GP_JSON_PAD);
    if (size) memcpy(text, data, size);
    memset(text + size, 0, GP_JSON_PAD);
    check_numbers(text, size);
    check_options(text);
    check_utf8(text, size);
    check_json(text, size);
    if (gp_json_is_valid(text, size) && !memchr(text, 0, size)) { /* which readers have made sure of */
        check_args(text);
        check_shapes(text);
    }
    free(text);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    return fuzz_mutate(data, size, most, seed, 0);
}
