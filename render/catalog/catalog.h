/* catalog.h -- the traces in the folders that were given: found again whenever they are listed, and opened by
 * an id that is not a path. Files are reached only by handles of these folders, one part of a name after the
 * other and through no links, so that nothing leads outside. Reads no more of a file than its first bytes.
 * Also the kind of a file and the hash of its content. Safe in several threads.
 *
 *     struct gp_catalog *c = gp_catalog_new(GP_CATALOG_TRACE);
 *     if (gp_catalog_add(c, "runs", &err)) ...
 *     struct gp_catalog_list *l = gp_catalog_list(c, false);      // gp_catalog_drop() when done
 *     const struct gp_catalog_file *f = gp_catalog_find(l, id);
 *     int fd = f ? gp_catalog_open(c, f, &err) : -1;
 */
#ifndef GP_RENDER_CATALOG_CATALOG_H
#define GP_RENDER_CATALOG_CATALOG_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/base/declare.h"

enum { GP_CATALOG_ID = 16, GP_CATALOG_FILES = 5000 }; /* digits of an id; files in all folders */

/* The kinds of files, as bits: a query takes some of them. */
enum gp_catalog_kind {
    GP_CATALOG_TRACE = 1,
    GP_CATALOG_SNAPSHOT = 2,
    GP_CATALOG_COMPILE_LOG = 4,
    GP_CATALOG_TRIALS = 8,
};

struct gp_catalog_file {
    char id[GP_CATALOG_ID + 1]; /* of the folder and the name: the same as long as the file is there */
    const char *name; /* "h200/eager.json.gz", below the folder's own name where there are several folders */
    enum gp_catalog_kind kind;
    const char *format, *compression; /* "chrome", "gzip" */
    uint64_t size_bytes;
    int64_t modified_ns; /* since 1970 */
    const char *given;   /* its path, from the folder as that was given */
    /* private */
    size_t folder;
    const char *path; /* below the folder */
    uint64_t device, inode;
};

/* A state of all folders, newest file first; never changes. */
struct gp_catalog_list {
    const struct gp_catalog_file *at;
    size_t n;
    uint64_t left_out; /* files beyond the limit */
};

struct gp_catalog;

/* Of files of these KINDS. */
struct gp_catalog *gp_catalog_new(int kinds);
/* Add a folder, or one file of a folder. -1 with ERR naming PATH. Not while others use the catalog. */
GP_MUST_CHECK int gp_catalog_add(struct gp_catalog *s, const char *path, struct gp_err *err);
/* What there is, at most a fifth of a second old, unless FRESH. */
struct gp_catalog_list *gp_catalog_list(struct gp_catalog *s, bool fresh);
void gp_catalog_drop(struct gp_catalog_list *l);
/* NULL if there is none. */
const struct gp_catalog_file *gp_catalog_find(const struct gp_catalog_list *l, const char *id);
/* A descriptor for reading; -1 with ERR filled if it is not there any more or is not a plain file. */
GP_MUST_CHECK int gp_catalog_open(struct gp_catalog *s, const struct gp_catalog_file *f, struct gp_err *err);
/* The same of a path as `given` is, whether the last list has it or not. CATALOG is a struct gp_catalog *:
 * this may be an opener of gp_input_confine(). */
GP_MUST_CHECK int gp_catalog_open_given(void *catalog, const char *path, struct gp_err *err);
/* Append to S the folder with descriptor FD, which is then its own, unless it is there; NAME is put before
 * the names of its files. */
void gp_catalog_add_fd(struct gp_catalog *s, int fd, const char *name);
void gp_catalog_free(struct gp_catalog *s);

/* ---- the kind of a file, by at most 64 KiB of it ---- */

struct gp_sniffed {
    int kind;                         /* enum gp_catalog_kind */
    const char *format, *compression; /* static */
};

/* Do the N bytes at DATA, or those of FD from its start, begin a trace of a format that the readers know, a
 * snapshot of an allocator, or a log of a compiler? */
bool gp_sniff_fd(int fd, struct gp_sniffed *found);

/* ---- the content of an open file, remembered until the file changes ---- */

enum { GP_CONTENT_TAG = 64, GP_CONTENTS_KNOWN = 1024 };

/* A file in one state. */
struct gp_content_state {
    uint64_t device, inode, size_bytes;
    int64_t modified_ns, changed_ns;
};

struct gp_contents {
    pthread_mutex_t lock;
    struct {
        struct gp_content_state state;
        char tag[GP_CONTENT_TAG];
    } known[GP_CONTENTS_KNOWN]; /* by a hash of the state */
};

void gp_contents_init(struct gp_contents *c);
/* The state of FD; -1 with ERR filled. */
GP_MUST_CHECK int gp_content_state(int fd, struct gp_content_state *s, struct gp_err *err);
bool gp_content_same(const struct gp_content_state *a, const struct gp_content_state *b);
/* TAG becomes the hash of the content of FD. Of files over 256 MiB it is the hash of their state. */
GP_MUST_CHECK int gp_contents_tag(struct gp_contents *c, int fd, char tag[GP_CONTENT_TAG],
                                  struct gp_err *err);
void gp_contents_release(struct gp_contents *c);

#endif
