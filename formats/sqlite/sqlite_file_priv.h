/* sqlite_file_priv.h -- the only file that SQLite can see: bytes of a descriptor or of memory, read-only,
 * without locks, without neighbours. Private to this wing.
 *
 *     struct gp_sqlite_file file;
 *     if (gp_sqlite_file_open(&file, in, &err)) return NULL;
 *     sqlite3_open_v2("trace", &db, SQLITE_OPEN_READONLY, file.name);
 *     sqlite3_close(db);
 *     gp_sqlite_file_close(&file);
 */
#ifndef GP_FORMATS_SQLITE_FILE_PRIV_H
#define GP_FORMATS_SQLITE_FILE_PRIV_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "formats/base/buf.h"

struct gp_input;

struct gp_sqlite_file {
    struct gp_buf memory; /* the bytes, unless `fd` is used */
    int fd;               /* -1: memory */
    FILE *spool;          /* a temporary file without a name that `fd` is of; NULL: none */
    uint64_t size;        /* bytes that there are */
    uint64_t claimed;     /* bytes that the header names, at least `size`: bytes beyond it read as 0 */
    uint64_t bytes_read;
    int error;      /* errno of a failed read */
    bool unwritten; /* changes lie in a journal beside the file */
    sqlite3_vfs vfs;
    char name[40]; /* of the vfs */
};

/* Make FILE the content of IN, which must stay open, and tell SQLite of it. -1 if there is no room for a
 * temporary file. */
GP_MUST_CHECK int gp_sqlite_file_open(struct gp_sqlite_file *file, struct gp_input *in, struct gp_err *err);
/* Call it once everything that uses FILE is closed. */
void gp_sqlite_file_close(struct gp_sqlite_file *file);

#endif
