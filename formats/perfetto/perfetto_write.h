/* perfetto_write.h -- writes a trace as Perfetto's native protobuf, which loses nothing that overlaps. Knows
 * nothing of files: the bytes go to a callback, and memory stays bounded by the number of events.
 *
 *     if (gp_perfetto_write(&trace, demangle, 4, sink, ctx)) ...     // the sink stopped
 *
 * README.md beside this file has the table of events.
 */
#ifndef GP_FORMATS_PERFETTO_WRITE_H
#define GP_FORMATS_PERFETTO_WRITE_H

#include "formats/base/declare.h"
#include "formats/model/trace.h"

struct gp_buf;

/* Appends the demangled form of a name to TO, or the name itself. */
typedef void gp_perfetto_plain_name(struct gp_buf *to, const char *name, size_t n);

/* Takes N bytes. Returns 0, or -1 to stop. */
typedef int gp_perfetto_sink(void *ctx, const void *data, size_t n);

/* Writes all of T, which is finished. PLAIN_NAME may be NULL: names as recorded. THREADS compress; the bytes
 * are the same for any number. -1 if the sink stopped. */
GP_MUST_CHECK int gp_perfetto_write(const struct gp_trace *t, gp_perfetto_plain_name *plain_name, int threads,
                                    gp_perfetto_sink *sink, void *ctx);

#endif
