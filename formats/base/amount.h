/* amount.h -- amounts as people write them: durations, sizes and percentages. Independent of the locale.
 *
 *     int64_t ns;
 *     if (gp_parse_duration("1.5ms", &ns, &err)) ...          // 1500000
 */
#ifndef GP_BASE_AMOUNT_H
#define GP_BASE_AMOUNT_H

#include <stdint.h>
#include "formats/base/declare.h"

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
