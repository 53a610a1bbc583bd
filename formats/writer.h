/* writer.h -- one trace in, any file out: the table of formats that trace-convert can write.
 *
 *     const struct gp_writer *w = gp_writer_find("chrome");
 *     struct gp_write_opts opts = {.compression = "gzip"};
 *     if (gp_writer_accepts(w, opts.compression)) w->write(&trace, &opts, out);
 *     if (gp_output_close(out, true, &err)) ...                          // tells a failed write
 */
#ifndef GP_FORMATS_WRITER_H
#define GP_FORMATS_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include "formats/base/declare.h"
#include "formats/base/output.h"
#include "formats/model/trace.h"

struct gp_write_opts {
    const char *compression; /* one of the writer's `compression` */
    /* How to demangle kernel names, in formats whose readers expect that (chrome); NULL: keep them. */
    void (*plain_name)(struct gp_buf *to, const char *name, size_t n);
    /* for formats that can use several; 0: as many as there are processors, at most 8. The bytes are the
     * same. */
    int threads;
};

/* One format. */
struct gp_writer {
    const char *name;        /* "chrome" */
    const char *compression; /* the possible compressions, separated by '|', including "none" */
    bool binary;             /* not suitable for a terminal, whatever the compression */
    /* Write all of T, which is finished, to OUT. Stops early if OUT has failed; gp_output_close() reports
     * that. Same trace and options, same bytes. */
    void (*write)(struct gp_trace *t, const struct gp_write_opts *opts, struct gp_output *out);
};

/* All formats; ends with a NULL. */
extern const struct gp_writer *const gp_writers[];

/* NULL if there is no such format. */
const struct gp_writer *gp_writer_find(const char *name);
/* Does W support this compression? */
bool gp_writer_accepts(const struct gp_writer *w, const char *compression);

#endif
