/* input.h -- a sequential byte source: a file, a pipe or memory; plain, gzip (also with several members) or
 * zstd, detected from the first bytes. Decompression runs on its own thread, beside the reader's.
 *
 *     struct gp_input *in = gp_input_open("-", 0, &err);
 *     size_t n;
 *     while ((n = gp_input_read(in, buf, sizeof buf)) > 0) ...
 *     gp_input_close(in);
 */
#ifndef GP_BASE_INPUT_H
#define GP_BASE_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/base/declare.h"

struct gp_input;

/* Open PATH; "-" or NULL is standard input. NULL with ERR filled if it cannot be opened or is a directory.
 * With THREADS 1, decompression is on the caller's thread. */
struct gp_input *gp_input_open(const char *path, int threads, struct gp_err *err) GP_MUST_CHECK;
/* Read from FD, which is then the input's own; NAME is its path in messages and answers. */
struct gp_input *gp_input_open_fd(int fd, const char *name, int threads) GP_MUST_CHECK;
/* Read N bytes at DATA, which are borrowed until close. */
struct gp_input *gp_input_memory(const void *data, size_t n, int threads) GP_MUST_CHECK;
/* From now on, files are opened by OPENER only, which returns a descriptor, or -1 with ERR filled: for a
 * process that may see only some of them. CTX is borrowed. Once, before there are threads. */
void gp_input_confine(int (*opener)(void *ctx, const char *path, struct gp_err *err), void *ctx);
/* The next bytes without consuming them: sets *N to their number, at least WANT unless the input is shorter.
 * WANT is at most 64 KiB. The pointer is valid until the next read. */
const uint8_t *gp_input_peek(struct gp_input *in, size_t want, size_t *n);
/* Read up to N decompressed bytes; fills the buffer unless the input ends or is damaged. 0 at the end. */
size_t gp_input_read(struct gp_input *in, void *to, size_t n);
/* "none", "gzip" or "zstd". */
const char *gp_input_compression(const struct gp_input *in);
/* The path as given ("-" for standard input, "" for memory). */
const char *gp_input_path(const struct gp_input *in);
/* For plain regular files: the descriptor for pread() by several threads and the file's size; -1 otherwise.
 * What gp_input_read returns is not affected. */
int gp_input_fd(const struct gp_input *in, uint64_t *size);
/* How many bytes the file PATH has; 0 where that is not known before: standard input, pipes, anything not
 * there. */
uint64_t gp_input_total(const char *path);
/* How much of the file has been read when the reader has got BYTES of its contents: BYTES, or, if it is
 * compressed, how many compressed bytes. For progress; any thread may ask. */
uint64_t gp_input_done(const struct gp_input *in, uint64_t bytes);
/* After the end: was the compressed stream cut or damaged, or did the system fail to read? 0 no; -1 yes, with
 * the reason and the offset in the compressed input in ERR. */
int gp_input_status(const struct gp_input *in, struct gp_err *err);
/* Append all that is left of IN to TO. -1 with ERR filled if it is damaged or longer than MAX bytes. */
int gp_input_rest(struct gp_input *in, size_t max, struct gp_buf *to, struct gp_err *err) GP_MUST_CHECK;
/* Append all of PATH, decompressed, to TO. -1 with ERR naming PATH if it cannot be read or is longer than MAX
 * bytes. If IS_IT (may be NULL) does not accept the first bytes, only these are appended: a file
 * of another kind is refused by the caller without being read. */
int gp_input_all(const char *path, bool (*is_it)(const void *head, size_t n), size_t max, struct gp_buf *to,
                 struct gp_err *err) GP_MUST_CHECK;
/* Stops reading; may be called before the end. Accepts NULL. */
void gp_input_close(struct gp_input *in);

#endif
