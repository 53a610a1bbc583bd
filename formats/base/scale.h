/* scale.h -- numbers as a person reads them: "1.23 ms", "4.56 GB", "1,234,567", "40.5%".
 * Integer arithmetic only, so that the same value is the same text everywhere. Knows nothing about pictures.
 *
 *     gp_scale_put(&buf, GP_UNIT_NS, 1234567);            // "1.23 ms"
 *     gp_scale_put_share(&buf, part, whole);              // "40.5%"
 *     gp_buf_printf(&buf, "%s of %s", GP_SHARE(part, whole), GP_NS(whole));
 */
#ifndef GP_BASE_SCALE_H
#define GP_BASE_SCALE_H

#include <stdint.h>
#include "formats/base/declare.h"

enum gp_unit {
    GP_UNIT_NS,    /* "999 ns", "1.23 ms", "12.3 s" */
    GP_UNIT_BYTES, /* powers of 1000: "1.23 MB" */
    GP_UNIT_COUNT, /* "1,234" */
};

/* Append V (>= 0) in UNIT with three significant digits, rounded half up; counts are exact. Trailing zeros
 * after the point are kept, so that numbers in a column have one precision; values below the first step are
 * exact ("12 ns"). */
void gp_scale_put(struct gp_buf *b, enum gp_unit unit, int64_t v);
/* Append V with a comma between groups of three digits. */
void gp_scale_put_count(struct gp_buf *b, uint64_t v);
/* Append PART of WHOLE in percent: "100%", "40.5%", "0.12%", "<0.01%"; "0%" when PART or WHOLE is not
 * positive. */
void gp_scale_put_share(struct gp_buf *b, int64_t part, int64_t whole);

/* The same as a text for printf's %s, which lives until the end of the statement. */
struct gp_scaled {
    char s[48];
};
struct gp_scaled gp_scaled(enum gp_unit unit, int64_t v);
struct gp_scaled gp_scaled_share(int64_t part, int64_t whole);
#define GP_NS(v)              gp_scaled(GP_UNIT_NS, (v)).s
#define GP_BYTES(v)           gp_scaled(GP_UNIT_BYTES, (v)).s
#define GP_COUNTED(v)         gp_scaled(GP_UNIT_COUNT, (int64_t)(v)).s
#define GP_SHARE(part, whole) gp_scaled_share((part), (whole)).s

#endif
