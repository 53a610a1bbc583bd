/* notes.h -- the notes of a process's threads (ring.h) as sent to the launcher: any number of them in a
 * sequence of bytes, with the texts that they point at. What is read back is checked and points only at its
 * own copies.
 *
 *     gp_notes_put(&buf, tid, note);                                      // process, for each; then send buf
 *     gp_notes_set(&notes, payload, n);                                   // launcher
 *     while ((note = gp_notes_next(&notes, &tid))) gp_ranges_note(ranges, tid, note);
 *     if (notes.bad) ...                                                  // the rest is invalid
 */
#ifndef GP_COLLECT_RECORDS_NOTES_H
#define GP_COLLECT_RECORDS_NOTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "collect/wire/ring.h"
#include "formats/base/buf.h"
#include "formats/base/intern.h"

/* Zeroed it is ready for gp_notes_set(). */
struct gp_notes {
    const uint8_t *data;
    size_t left;
    bool bad;
    struct gp_buf note;        /* the one that was returned last */
    struct gp_strings domains; /* their names, which distinguish notes, live as long as this */
};

void gp_notes_put(struct gp_buf *to, int64_t tid, const struct gp_note *note);
/* A note that is in no ring: its args are at ARGS. It has a text. */
void gp_notes_put_with(struct gp_buf *to, int64_t tid, const struct gp_note *note, const char *args);
/* Continue with the N bytes at DATA, which are owned by the caller. */
void gp_notes_set(struct gp_notes *notes, const void *data, size_t n);
/* The next note, valid until the one after it; NULL at the end. */
const struct gp_note *gp_notes_next(struct gp_notes *notes, int64_t *tid);
void gp_notes_release(struct gp_notes *notes);

#endif
