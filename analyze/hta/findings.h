/* findings.h -- rows of trace-hta's answer: what to look at first, in words.
 *
 *     const struct gp_finding *f = &h.findings.at[0];                     // the largest
 *     use(gp_hta_str(&h, f->text), f->share_pct);
 */
#ifndef GP_ANALYZE_FINDINGS_H
#define GP_ANALYZE_FINDINGS_H

#include <stdint.h>
#include "analyze/result/field.h"
#include "formats/base/intern.h"

struct gp_finding {
    gp_sid id;        /* stable word: "idle_host", "exposed_communication", "short_kernels", ... */
    int32_t rank;     /* -1: all */
    int64_t time_ns;  /* what it concerns; never more than could be won */
    double share_pct; /* of the span of the devices concerned */
    gp_sid text;      /* one sentence with the numbers */
    gp_sid where;     /* where to look: op, range, Python frame, kernel; 0: none */
};

extern const struct gp_record gp_hta_findings; /* rows: struct gp_finding; of: struct gp_hta */

#endif
