#include "render/report/step_time.h"

#include "formats/base/buf.h"
#include "formats/base/scale.h"

void gp_step_time_put(struct gp_buf *b, int64_t mean_ns, int64_t median_ns, uint64_t timed, bool whole)
{
    gp_scale_put(b, GP_UNIT_NS, mean_ns);
    gp_buf_puts(b, timed > 1 ? " (mean of " : " (");
    gp_scale_put_count(b, timed);
    gp_buf_puts(b, whole ? " whole step" : " partial step");
    if (timed > 1) gp_buf_putc(b, 's');
    if (timed <= 2) return;
    gp_buf_puts(b, "; median ");
    gp_scale_put(b, GP_UNIT_NS, median_ns);
}
