/* writer.h -- one trace in, any file out: the table of formats that trace-convert can write.
 *
 *     const struct gp_writer *w = gp_writer_find("chrome");
 *     if (gp_writer_accepts(w, "gzip")) w->write(&trace, "gzip", out);
 *     if (gp_output_close(out, true, &err)) ...                          // tells a failed write
 */
#ifndef GP_FORMATS_WRITER_H
#define GP_FORMATS_WRITER_H

#include <stdbool.h>
#include "formats/base/output.h"
#include "formats/trace.h"

/* One format. */
struct gp_writer {
    const char *name;        /* "chrome" */
    const char *compression; /* what it can be compressed with, separated by '|', "none" among them */
    bool binary;             /* nothing for a terminal, whatever the compression */
    /* Write all of T, which is finished, to OUT. COMPRESSION is one of `compression`. Stops early when OUT
     * has failed; the caller learns of that from gp_output_close(). Same trace and compression, same bytes.
     */
    void (*write)(struct gp_trace *t, const char *compression, struct gp_output *out);
};

/* All formats; ends with a NULL. */
extern const struct gp_writer *const gp_writers[];

/* NULL when there is no such format. */
const struct gp_writer *gp_writer_find(const char *name);
/* Can W compress that way? */
bool gp_writer_accepts(const struct gp_writer *w, const char *compression);

#endif
