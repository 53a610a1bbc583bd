/* input_priv.h -- private to input.c and the decoders: bytes as they come from the system, and what
 * decompresses them.
 *
 *     const struct gp_decoder *d = gp_decoder_find(raw.at, raw.n);
 *     void *state = d->open();
 *     while ((n = d->run(state, &raw, to, cap, &err)) == cap) ...
 *     d->close(state);
 */
#ifndef GP_BASE_INPUT_PRIV_H
#define GP_BASE_INPUT_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/base/declare.h"

/* Compressed (or plain) bytes, from a descriptor through a buffer, or from memory. */
struct gp_raw {
    int fd;       /* -1: memory */
    int wake_fd;  /* a waiting read ends when this becomes readable; -1: nothing ends it */
    uint8_t *buf; /* `cap` bytes, for a descriptor */
    size_t cap;
    const uint8_t *at; /* the unread bytes, `n` of them */
    size_t n;
    uint64_t offset; /* of `at` in the input */
    bool ended;      /* nothing follows the unread bytes */
    int error;       /* errno of a failed read */
};

/* Make at least WANT unread bytes available unless the input ends; WANT is at most raw->cap. Returns the
 * number available. Moves `at`. */
size_t gp_raw_need(struct gp_raw *raw, size_t want);
/* N bytes at raw->at were used. */
void gp_raw_skip(struct gp_raw *raw, size_t n);
/* Read at most N bytes directly into TO, bypassing the buffer, which must be empty. 0 at the end. */
size_t gp_raw_read(struct gp_raw *raw, void *to, size_t n);

struct gp_decoder {
    const char *name; /* as gp_input_compression() returns it */
    bool (*matches)(const uint8_t *head, size_t n);
    void *(*open)(void);
    /* Put up to N bytes to TO. Fewer than N: the end; ERR is filled if the input was cut or damaged. */
    size_t (*run)(void *state, struct gp_raw *raw, uint8_t *to, size_t n, struct gp_err *err);
    void (*close)(void *state);
};

/* The decoder for input that begins with N bytes at HEAD (8 are enough), NULL for plain input. */
const struct gp_decoder *gp_decoder_find(const uint8_t *head, size_t n);

#endif
