/* chrome.h -- writes a trace as Chrome trace-event JSON, in the dialect of PyTorch's Kineto, so that
 * viewers (Perfetto, chrome://tracing) and programs made for Kineto's files read it. Knows nothing about
 * files and compression: the text goes to a callback, piece by piece, and memory stays bounded whatever the
 * size of the trace.
 *
 *     if (gp_chrome_write(&trace, NULL, sink, ctx)) ...     // the sink stopped
 *
 * What becomes of what (formats/chrome/README.md has the table of columns and arg names):
 *   - one object: metadata as recorded, deviceProperties, "traceEvents" with one event per line;
 *   - spans are X events, times in exact decimal microseconds; columns become args under Kineto's names,
 * `extra` args follow as written; allocations are "[memory]" instants, the rows of one counter sample one C
 * event, flows s, t and f events, f with "bp":"e";
 *   - pid and tid are those of chrome_rows.h. If a stream had no row of its own (traces of gpuprof-collect)
 * and the trace has no flows, ac2g flows from launch to GPU event are made from the correlation ids;
 *   - mangled kernel names of such traces are demangled, as Kineto does, if the caller passes a function;
 *   - losses are written as "gpuprofLosses"; the first clock pair gives baseTimeNanoseconds if none was
 * recorded. Strings are escaped, bytes that are not UTF-8 become U+FFFD, and `extra` text that is not a JSON
 * object is written as the string arg "extra": the output is valid JSON whatever the trace contains.
 */
#ifndef GP_FORMATS_CHROME_CHROME_H
#define GP_FORMATS_CHROME_CHROME_H

#include "formats/base/declare.h"
#include "formats/model/trace.h"
#include "formats/model/format.h"

/* Appends the demangled form of a name to TO, or the name itself. */
typedef void gp_chrome_plain_name(struct gp_buf *to, const char *name, size_t n);

/* Takes N bytes of text. Returns 0, or -1 to stop. */
typedef int gp_chrome_sink(void *ctx, const void *data, size_t n);

/* Writes all of T, which is finished. PLAIN_NAME may be NULL: names as recorded. Same trace, same bytes. -1
 * if the sink stopped. */
GP_MUST_CHECK int gp_chrome_write(const struct gp_trace *t, gp_chrome_plain_name *plain_name,
                                  gp_chrome_sink *sink, void *ctx);

/* ---- reading ----
 * The Chrome trace reader's entry for tests and fuzzers; all others use reader.h.
 *
 *     struct gp_input *in = gp_input_memory(text, n, 1);
 *     if (gp_chrome_read_chunked(&trace, in, &opts, 256, &err)) ...       // 256 bytes a chunk
 */

enum { GP_CHROME_CHUNK = 1 << 19, GP_CHROME_CHUNK_LEAST = 64 };

/* As gp_reader_chrome.read, with chunks of CHUNK bytes (at least GP_CHROME_CHUNK_LEAST). The result does not
 * depend on the number of threads; on damaged input it can depend on the size of the chunks. */
GP_MUST_CHECK int gp_chrome_read_chunked(struct gp_trace *t, struct gp_input *in,
                                         const struct gp_read_opts *opts, size_t chunk, struct gp_err *err);

#endif
