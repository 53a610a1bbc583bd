#include "formats/base/scale.h"

#include <stdbool.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/count.h"

struct step {
    int64_t size; /* in the base unit */
    const char *suffix;
};

static const struct step ns_steps[] = {
    {1000000000, " s"}, {1000000, " ms"}, {1000, " \xC2\xB5s"}, {1, " ns"}};
static const struct step byte_steps[] = {
    {1000000000000000, " PB"}, {1000000000000, " TB"}, {1000000000, " GB"},
    {1000000, " MB"},          {1000, " kB"},          {1, " B"}};

/* V / SIZE with three significant digits. Sets *CARRIED when rounding reaches 1000. */
static void put_three_digits(struct gp_buf *b, int64_t v, int64_t size, bool *carried)
{
    int64_t whole = v / size;
    int digits = whole >= 100 ? 0 : whole >= 10 ? 1 : 2;
    int64_t scale = digits == 2 ? 100 : digits == 1 ? 10 : 1;
    /* size is a power of ten and at least 1000 here, so size / scale is exact */
    int64_t unit = size / scale;
    int64_t rounded = v / unit + (v % unit >= unit - unit / 2);
    if (digits && rounded / scale >= (digits == 2 ? 10 : 100)) { /* 9.995 is "10.0", not "10.00" */
        digits--;
        scale /= 10;
        rounded /= 10;
    }
    *carried = rounded / scale >= 1000;
    if (*carried) return;
    gp_buf_put_i64(b, rounded / scale);
    if (digits) gp_buf_printf(b, ".%0*d", digits, (int)(rounded % scale));
}

static void put_scaled(struct gp_buf *b, int64_t v, const struct step *s, size_t n)
{
    size_t i = 0;
    while (i + 1 < n && v < s[i].size) i++;
    if (s[i].size == 1) {
        gp_buf_put_i64(b, v);
        gp_buf_puts(b, s[i].suffix);
        return;
    }
    if (v / s[i].size >= 1000 && i == 0) { /* beyond the largest unit */
        gp_scale_put_count(b, (uint64_t)(v / s[i].size) + (v % s[i].size >= s[i].size / 2));
        gp_buf_puts(b, s[i].suffix);
        return;
    }
    bool carried = false;
    put_three_digits(b, v, s[i].size, &carried);
    if (carried) { /* 999,999 ns is "1.00 ms" */
        if (i == 0) {
            gp_buf_puts(b, "1,000");
        } else {
            gp_buf_puts(b, "1.00");
            i--;
        }
    }
    gp_buf_puts(b, s[i].suffix);
}

void gp_scale_put(struct gp_buf *b, enum gp_unit unit, int64_t v)
{
    switch (unit) {
    case GP_UNIT_NS: put_scaled(b, v, ns_steps, GP_COUNT(ns_steps)); break;
    case GP_UNIT_BYTES: put_scaled(b, v, byte_steps, GP_COUNT(byte_steps)); break;
    case GP_UNIT_COUNT: gp_scale_put_count(b, (uint64_t)v); break;
    }
}

void gp_scale_put_count(struct gp_buf *b, uint64_t v)
{
    char text[32];
    size_t n = 0;
    do {
        if (n % 4 == 3) text[n++] = ',';
        text[n++] = (char)('0' + v % 10);
        v /= 10;
    } while (v);
    while (n) gp_buf_putc(b, text[--n]);
}

void gp_scale_put_share(struct gp_buf *b, int64_t part, int64_t whole)
{
    if (part <= 0 || whole <= 0) {
        gp_buf_puts(b, "0%");
        return;
    }
    while (whole > INT64_MAX / 20000) { /* six digits are left either way */
        whole /= 2;
        part /= 2;
    }
    /* rounded once, to the digits printed */
    int64_t hundredths = part > whole ? 10000 : (part * 20000 / whole + 1) / 2;
    int64_t tenths = part > whole ? 1000 : (part * 2000 / whole + 1) / 2;
    if (hundredths == 0) {
        gp_buf_puts(b, "<0.01%");
    } else if (part == whole) {
        gp_buf_puts(b, "100%");
    } else if (hundredths < 1000) {
        gp_buf_printf(b, "%d.%02d%%", (int)(hundredths / 100), (int)(hundredths % 100));
    } else {
        if (tenths > 999) tenths = 999; /* only the whole is 100% */
        gp_buf_printf(b, "%d.%d%%", (int)(tenths / 10), (int)(tenths % 10));
    }
}

/* The text of B, which is released. */
static struct gp_scaled take(struct gp_buf *b)
{
    struct gp_scaled text = {""};
    memcpy(text.s, b->data, b->n < sizeof text.s ? b->n : sizeof text.s - 1);
    gp_buf_release(b);
    return text;
}

struct gp_scaled gp_scaled(enum gp_unit unit, int64_t v)
{
    struct gp_buf b = {0};
    gp_scale_put(&b, unit, v);
    return take(&b);
}

struct gp_scaled gp_scaled_share(int64_t part, int64_t whole)
{
    struct gp_buf b = {0};
    gp_scale_put_share(&b, part, whole);
    return take(&b);
}
