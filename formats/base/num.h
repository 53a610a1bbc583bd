/* num.h -- exact numbers from decimal text: no floating point between a file and an integer, no locale.
 * Knows nothing about JSON or traces; the text need not end in NUL.
 *
 *     int64_t ns;
 *     if (gp_ns_from_us(GP_TEXT("123.456"), &ns)) ...        // ns == 123456
 */
#ifndef GP_BASE_NUM_H
#define GP_BASE_NUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/base/declare.h"

/* Microseconds in decimal, with or without fraction and exponent ("1.5e3"), to nanoseconds, exactly; more
 * than three decimals are rounded half away from zero. False, and NS untouched, if the text is not a number
 * or does not fit. */
bool gp_ns_from_us(const char *s, size_t n, int64_t *ns);

/* Integers of digits only (and, for the signed one, a minus sign). False, and V untouched, for anything else
 * and on overflow. */
bool gp_u64_from_text(const char *s, size_t n, uint64_t *v);
bool gp_i64_from_text(const char *s, size_t n, int64_t *v);
/* "0x1F", upper or lower case. */
bool gp_u64_from_hex(const char *s, size_t n, uint64_t *v);

/* Any decimal number to the nearest double. False for text that is not a number or is longer than 400
 * bytes. */
bool gp_double_from_text(const char *s, size_t n, double *v);

/* ---- amounts as people write them ----
 * Amounts as people write them: durations, sizes and percentages. Independent of the locale.
 *
 *     int64_t ns;
 *     if (gp_parse_duration("1.5ms", &ns, &err)) ...          // 1500000
 */

/* All return 0, or -1 with ERR filled; its message quotes S and gives an example of a valid form. */
/* "10us", "1.5ms", "2s", "1h", "0"; a number without a unit is an error. */
GP_MUST_CHECK int gp_parse_duration(const char *s, int64_t *ns, struct gp_err *err);
/* The same, but a number without a unit is in seconds: for times that people wait for. */
GP_MUST_CHECK int gp_parse_seconds(const char *s, int64_t *ns, struct gp_err *err);
/* "10", "64K", "2m": powers of 1024. */
GP_MUST_CHECK int gp_parse_size(const char *s, uint64_t *bytes, struct gp_err *err);
/* "5%", "0.5". */
GP_MUST_CHECK int gp_parse_percent(const char *s, double *pct, struct gp_err *err);

/* "0.05": between 0 and 1, neither of them. */
GP_MUST_CHECK int gp_parse_probability(const char *s, double *p, struct gp_err *err);

#endif
