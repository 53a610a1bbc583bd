/* steps_device.h -- THE definition of when the steps of a program ran on one device, and of the step window:
 * the time that the headlines of all tools are about. Knows nothing of figures.
 *
 *     struct gp_device_steps s;
 *     struct gp_step_sharing sharing = {0};
 *     gp_device_steps_find(&s, &sharing, &view, &view.devices.at[0], gp_steps_of(&steps, view.devices.at[0].producer));
 *     struct gp_step_stretch window = gp_device_steps_window(&s);
 *     ... window.begin_ns, window.mean_ns ...; gp_device_steps_release(&s); gp_step_sharing_release(&sharing);
 *
 * A step's time on a device runs from the first GPU event that it launched there to the first one of the next
 * step; that of the last to the end of its last GPU event. A step is whole unless its window is partial or no
 * step follows it. Whole steps that come first and take much longer than those after them are warm-up
 * (gp_steps_program.steady).
 *
 * The step window runs from the begin of the first step that is not warm-up to the end of the last one. The
 * step time is the mean of the whole steps in it; if none is whole, of all of them. All times are ns on the
 * trace's clock.
 */
#ifndef GP_ANALYZE_STEPS_DEVICE_H
#define GP_ANALYZE_STEPS_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/view/steps.h"
#include "analyze/view/view.h"

struct gp_device_step {
    uint32_t window;           /* index into the program's windows */
    bool partial;              /* not whole */
    bool warm_up;              /* comes before the first steady one */
    int64_t begin_ns, end_ns;  /* on the GPU; end >= begin */
    uint64_t events, launches; /* GPU events, and the calls that launched them; a graph launch is one */
};

struct gp_device_steps {
    GP_VEC(struct gp_device_step) v; /* by window */
};

/* A stretch of steps that follow each other. */
struct gp_step_stretch {
    size_t first, end; /* steps [first, end); equal: there are none */
    size_t whole;      /* of them, whole ones; 0: the times below are those of partial ones */
    size_t timed;      /* steps that the times are of; at least 1 unless there are none */
    int64_t begin_ns, end_ns;
    int64_t mean_ns, median_ns; /* rounded down; of an even number the lower one */
};

/* Scratch that is shared between the devices of a trace. Zeroed before the first use. */
struct gp_step_share {
    int64_t begin_ns, last_ns;
    uint64_t events, launches;
};
struct gp_step_sharing {
    GP_VEC(struct gp_step_share) of_window;
    GP_VEC(uint32_t) touched;
    uint8_t *seen;
};

/* The steps of program P on device D of V. Overwrites S. O(n log n). */
void gp_device_steps_find(struct gp_device_steps *s, struct gp_step_sharing *sharing, const struct gp_view *v,
                          const struct gp_view_device *d, const struct gp_steps_program *p);
void gp_device_steps_release(struct gp_device_steps *s);
void gp_step_sharing_release(struct gp_step_sharing *sharing);

/* The step window of a device. */
struct gp_step_stretch gp_device_steps_window(const struct gp_device_steps *s);

#endif
