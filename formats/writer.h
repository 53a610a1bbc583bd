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
#include "formats/base/buf.h"
#include "formats/base/output.h"
#include "formats/trace.h"

struct gp_write_opts {
    const char *compression; /* one of the writer's `compression` */
    /* How mangled kernel names are made plain, in formats where people expect that (chrome); NULL: they stay. */
    void (*plain_name)(struct gp_buf *to, const char *name, size_t n);
    int threads; /* where a format can use several; 0: as many as the machine has, at most 8. The bytes are the same. */
};

/* One format. */
struct gp_writer {
    const char *name;        /* "chrome" */
    const char *compression; /* what it can be compressed with, separated by '|', "none" among them */
    bool binary;             /* nothing for a terminal, whatever the compression */
    /* Write all of T, which is finished, to OUT. Stops early when OUT has failed; the caller learns of that
     * from gp_output_close(). Same trace and options, same bytes. */
    void (*write)(struct gp_trace *t, const struct gp_write_opts *opts, struct gp_output *out);
};

/* All formats; ends with a NULL. */
extern const struct gp_writer *const gp_writers[];

/* The name of the I-th format; NULL behind the last. */
const char *gp_writer_name(size_t i);
/* NULL when there is no such format. */
const struct gp_writer *gp_writer_find(const char *name);
/* Can W compress that way? */
bool gp_writer_accepts(const struct gp_writer *w, const char *compression);

#endif
