/* chrome_read.h -- the Chrome trace reader's entry for tests and fuzzers; all others use reader.h.
 *
 *     struct gp_input *in = gp_input_memory(text, n, 1);
 *     if (gp_chrome_read_chunked(&trace, in, &opts, 256, &err)) ...       // 256 bytes a chunk
 */
#ifndef GP_FORMATS_CHROME_READ_H
#define GP_FORMATS_CHROME_READ_H

#include "formats/model/format.h"

enum { GP_CHROME_CHUNK = 1 << 19, GP_CHROME_CHUNK_LEAST = 64 };

/* As gp_reader_chrome.read, with chunks of CHUNK bytes (at least GP_CHROME_CHUNK_LEAST). The result does not
 * depend on the number of threads; on damaged input it can depend on the size of the chunks. */
GP_MUST_CHECK int gp_chrome_read_chunked(struct gp_trace *t, struct gp_input *in,
                                         const struct gp_read_opts *opts, size_t chunk, struct gp_err *err);

#endif
