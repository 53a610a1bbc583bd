/* calibration.h -- all that was measured of a machine: its devices, what lies between them, and operations
 * over their sizes. Takes in lines of gpuprof-bench; starts nothing, writes nothing.
 *
 *     struct gp_calibration c = {0};
 *     gp_calibration_devices(&c, ids, n);
 *     gp_calibration_line(&c, 0, "figure bf16 7.9e14");      // of the first of them
 *     gp_calibration_settle(&c);
 *     gp_calibration_release(&c);
 */
#ifndef GP_ANALYZE_CALIBRATION_H
#define GP_ANALYZE_CALIBRATION_H

#include <stddef.h>
#include "analyze/calibrate/figures.h"
#include "analyze/calibrate/sweep.h"

struct gp_calibration {
    size_t n; /* devices */
    int *ids; /* their numbers, as CUDA counts them */
    struct gp_figures *devices;
    double *peer; /* n * n, bytes per second from row to column; 0 not measured; NULL for one device */
    struct gp_sweep sweep;
    bool full;
    size_t strange; /* lines that were none of ours */
};

extern const struct gp_record gp_calibrated_devices; /* struct gp_figures of a struct gp_calibration */
/* Room for N devices. */
void gp_calibration_devices(struct gp_calibration *c, const int *ids, size_t n);
/* A line about device I. Lines that cannot be read are counted. */
void gp_calibration_line(struct gp_calibration *c, size_t i, const char *line);
void gp_calibration_settle(struct gp_calibration *c);
void gp_calibration_release(struct gp_calibration *c);
/* Was anything measured of any device? */
bool gp_calibration_any(const struct gp_calibration *c);

#endif
