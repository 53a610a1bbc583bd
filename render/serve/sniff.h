/* sniff.h -- what a file holds, by its first bytes: a trace of any format that the readers know, a snapshot
 * of an allocator, a log of a compiler. Reads at most 64 KiB of it.
 *
 *     struct gp_sniffed found;
 *     if (gp_sniff_fd(fd, &found)) printf("%s, %s\n", found.format, found.compression);
 */
#ifndef GP_RENDER_SERVE_SNIFF_H
#define GP_RENDER_SERVE_SNIFF_H

#include <stdbool.h>
#include <stddef.h>

struct gp_sniffed {
    int kind;                         /* enum gp_shelf_kind */
    const char *format, *compression; /* static */
};

/* Is the N bytes at DATA the start of something for us, or what FD, from its start, holds? */
bool gp_sniff(const void *data, size_t n, struct gp_sniffed *found);
bool gp_sniff_fd(int fd, struct gp_sniffed *found);

#endif
