/* command.h -- the commands of gpuprof-measure: --calibrate, --compare, --op. Writes documents, tables and
 * pictures.
 *
 *     struct gp_calibrate_opts o = {.calibrate = "", .tolerance = 5};
 *     return gp_calibrate_command(&o, &io, &err);
 */
#ifndef GP_RENDER_MEASURE_COMMAND_H
#define GP_RENDER_MEASURE_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include "formats/base/declare.h"

/* Options as typed in; NULL where not given. */
struct gp_calibrate_opts {
    const char *calibrate; /* "", "quick", "full"; the same as "quick" without op */
    const char *compare;   /* a document, "sheet" or "siblings" */
    const char *device;    /* "0,2" */
    const char *op, *type, *sizes;
    const char *format; /* of --op: "text", "json", "svg", "html" */
    double tolerance;   /* percent */
    bool force;
};

/* Where results go. */
struct gp_calibrate_io {
    const char *output; /* NULL: standard output */
    bool quiet, color;
    size_t width;  /* of text */
    bool terminal; /* standard output is one */
    void (*progress)(const char *message);
};

/* 0 done, 1 slower than the base, 2 with ERR. */
int gp_calibrate_command(const struct gp_calibrate_opts *o, const struct gp_calibrate_io *io,
                         struct gp_err *err);

#endif
