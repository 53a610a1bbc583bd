/* activity.h -- how much of the time the host worked, a GPU worked, and both did. Knows nothing of tracks and
 * pictures.
 *
 *     struct gp_activity a = gp_activity_of(&view, begin_ns, end_ns);
 *     ... a.both_ns of a.span_ns ...
 */
#ifndef GP_ANALYZE_ACTIVITY_H
#define GP_ANALYZE_ACTIVITY_H

#include <stdint.h>
#include "analyze/view/view.h"

struct gp_activity {
    int64_t span_ns;
    int64_t cpu_ns;  /* some host thread was in an operator or a call of the runtime */
    int64_t gpu_ns;  /* some device was at work */
    int64_t both_ns; /* both at once; never more than either */
};

/* Activity in [BEGIN, END), whose difference must not overflow. O(n) for sorted events, otherwise O(n log
 * n). */
struct gp_activity gp_activity_of(const struct gp_view *v, int64_t begin_ns, int64_t end_ns);

#endif
