/* shelf.h -- the traces in the folders that were given: found again whenever they are listed, and opened by
 * an id that is not a path. Files are reached only by handles of these folders, one part of a name after the
 * other and through no links, so that nothing leads outside. Safe in several threads. Reads no more of a file
 * than its first bytes.
 *
 *     struct gp_shelf *shelf = gp_shelf_new();
 *     if (gp_shelf_add(shelf, "runs", &err)) ...
 *     struct gp_shelf_list *l = gp_shelf_list(shelf);             // gp_shelf_drop() when done
 *     const struct gp_shelf_file *f = gp_shelf_find(l, id);
 *     int fd = f ? gp_shelf_open(shelf, f, &err) : -1;
 */
#ifndef GP_RENDER_SERVE_SHELF_H
#define GP_RENDER_SERVE_SHELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/base/declare.h"

enum { GP_SHELF_ID = 16, GP_SHELF_FILES = 5000 }; /* digits of an id; files in all folders */

/* What a file holds, as bits: questions are about some of them. */
enum gp_shelf_kind { GP_SHELF_TRACE = 1, GP_SHELF_SNAPSHOT = 2, GP_SHELF_COMPILE_LOG = 4 };

struct gp_shelf_file {
    char id[GP_SHELF_ID + 1]; /* of the folder and the name: the same as long as the file is there */
    const char *name; /* "h200/eager.json.gz", below the folder's own name where there are several folders */
    enum gp_shelf_kind kind;
    const char *format, *compression; /* "chrome", "gzip" */
    uint64_t size_bytes;
    int64_t modified_ns; /* since 1970 */
    /* private */
    size_t folder;
    const char *path; /* below the folder */
    uint64_t device, inode;
};

/* A state of all folders, newest file first; never changes. */
struct gp_shelf_list {
    const struct gp_shelf_file *at;
    size_t n;
    uint64_t left_out; /* files beyond the limit */
};

struct gp_shelf;

struct gp_shelf *gp_shelf_new(void);
/* Add a folder, or one file of a folder. -1 with ERR naming PATH. Not while others use the shelf. */
GP_MUST_CHECK int gp_shelf_add(struct gp_shelf *s, const char *path, struct gp_err *err);
/* What there is, at most a fifth of a second old, unless FRESH. */
struct gp_shelf_list *gp_shelf_list(struct gp_shelf *s, bool fresh);
void gp_shelf_drop(struct gp_shelf_list *l);
/* NULL if there is none. */
const struct gp_shelf_file *gp_shelf_find(const struct gp_shelf_list *l, const char *id);
/* A descriptor for reading; -1 with ERR filled if it is not there any more or is not a plain file. */
GP_MUST_CHECK int gp_shelf_open(struct gp_shelf *s, const struct gp_shelf_file *f, struct gp_err *err);
/* Append to S the folder with descriptor FD, which is then its own, unless it is there; NAME is put before
 * the names of its files. */
void gp_shelf_add_fd(struct gp_shelf *s, int fd, const char *name);
void gp_shelf_free(struct gp_shelf *s);

#endif
