/* format.h -- a reader of traces: recognizes a file by its first bytes, and appends the events that the file
 * holds to a trace.
 *
 *     const struct gp_reader gp_reader_hatchet = {"hatchet", "Proton's JSON", sniff, read_proton, {NULL}};
 */
#ifndef GP_FORMATS_MODEL_FORMAT_H
#define GP_FORMATS_MODEL_FORMAT_H

#include "formats/base/declare.h"
#include "formats/model/trace.h"

struct gp_input; /* formats/base/input.h */

struct gp_read_opts {
    uint32_t need; /* GP_NEED(...) bits; 0 means GP_NEED_ALL */
    /* 0: as many as there are processors, at most 8; 1: only the caller's. The result is the same. */
    int threads;
    bool strict; /* damaged input is an error */
    /* Called now and then with the bytes of the file read so far (gp_input_done); may be NULL. */
    void (*progress)(void *ctx, uint64_t bytes);
    void *progress_ctx;
};

/* One format. */
struct gp_reader {
    const char *name; /* "chrome" */
    const char *what; /* for a message about input that is of no format: "Chrome trace JSON" */
    /* Is this the format? HEAD holds the first N decompressed bytes (at least 4096, or the whole input). */
    bool (*sniff)(const uint8_t *head, size_t n);
    /* Append everything to T, which is initialised. -1 only if nothing at all can be made of the input;
     * otherwise damage is an issue of T. gp_trace_finish() is called by gp_trace_read(), not here. */
    int (*read)(struct gp_trace *t, struct gp_input *in, const struct gp_read_opts *opts, struct gp_err *err);
    /* What read() sets gp_trace.input.format to, NULL at the end; {NULL}: always the name. */
    const char *formats[4];
};

#endif
