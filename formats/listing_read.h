/* listing_read.h -- code that figures stand beside: the lines of a source, or the instructions of one
 * function as nvdisasm and cuobjdump print them. Opens no file.
 *
 *     struct gp_listing l = {0};
 *     if (gp_listing_lines(&l, &text)) row = gp_listing_row(&l, 57);
 *     gp_listing_release(&l);
 */
#ifndef GP_FORMATS_LISTING_READ_H
#define GP_FORMATS_LISTING_READ_H

#include <stdbool.h>
#include "formats/base/buf.h"
#include "formats/base/intern.h"
#include "formats/base/vec.h"

struct gp_listing_row {
    uint64_t at;    /* the number of a line, from 1, or the offset of an instruction */
    size_t from, n; /* its bytes in TEXT */
};

struct gp_listing {
    gp_sid of;   /* the file or the kernel: set by the caller */
    gp_sid path; /* the file that was read, likewise */
    int changed; /* after the recording began: 1, 0, or -1 for not known; likewise */
    struct gp_buf text;
    GP_VEC(struct gp_listing_row) rows; /* in ascending order */
};

/* The lines of TEXT, which becomes L's and is empty after. False for what is not text. */
bool gp_listing_lines(struct gp_listing *l, struct gp_buf *text);
/* The instructions of FUNCTION in the N bytes at TEXT, for the architecture ARCH ("sm_90"; "": the first
 * there). False without any. */
bool gp_listing_sass(struct gp_listing *l, const char *text, size_t n, const char *function,
                     const char *arch);
/* The row at AT; NULL: there is none. O(log n). */
const struct gp_listing_row *gp_listing_row(const struct gp_listing *l, uint64_t at);
void gp_listing_release(struct gp_listing *l);

#endif
