/* reader.h -- any file or pipe in, one gp_trace out. Format and compression are detected from the content.
 * Damaged input is used as far as possible: the rest is counted in trace->issues with its byte
 * offset.
 *
 *     struct gp_trace t;
 *     struct gp_read_opts opts = {.need = GP_NEED(GP_GPU) | GP_NEED(GP_API)};
 *     if (gp_trace_read(&t, "a.json.gz", &opts, &err)) ...
 *     gp_trace_release(&t);
 */
#ifndef GP_FORMATS_READER_H
#define GP_FORMATS_READER_H

#include "formats/model/format.h"

/* X(NAME) for each trace format, in the order in which they are tried; its reader is gp_reader_NAME. */
#define GP_READERS(X) X(gpt) X(hatchet) X(chrome) X(sqlite) X(xplane) X(perfetto)

#define X(name) extern const struct gp_reader gp_reader_##name;
GP_READERS(X)
#undef X
/* The same as a list that ends with a NULL. */
extern const struct gp_reader *const gp_readers[];

/* Read PATH ("-" or NULL: standard input) into T, which is overwritten and, on success, finished and to be
 * released by the caller; on failure it is already released. Fails if the input cannot be opened, is empty or
 * has an unknown format, or, with opts->strict, if it has any issue. */
GP_MUST_CHECK int gp_trace_read(struct gp_trace *t, const char *path, const struct gp_read_opts *opts,
                                struct gp_err *err);

/* The same from N bytes in memory, which must stay valid during the call. For tests and fuzzers. */
GP_MUST_CHECK int gp_trace_read_memory(struct gp_trace *t, const void *data, size_t n,
                                       const struct gp_read_opts *opts, struct gp_err *err);

/* The same from an open input, whose format is detected by peeking; the caller closes IN. For tools that also
 * accept other content in the same operand (trace2flame looks for folded stacks first). */
GP_MUST_CHECK int gp_trace_read_input(struct gp_trace *t, struct gp_input *in,
                                      const struct gp_read_opts *opts, struct gp_err *err);

/* With --strict, the first issue is an error: 0 if T has none; -1 with its place and kind in ERR. */
GP_MUST_CHECK int gp_trace_refuse_damage(const struct gp_trace *t, struct gp_err *err);

#endif
