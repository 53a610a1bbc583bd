#include "formats/base/err.h"
#include "formats/sqlite/sqlite_file_priv.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "formats/base/input.h"

enum {
    IN_MEMORY = 8 << 20, /* more than this goes to a temporary file */
    PIECE = 1 << 20,
    HEADER = 100,
    AT_PAGE_SIZE = 16,
    AT_VERSIONS = 18, /* 1: rollback journal, 2: write-ahead log */
    AT_CHANGES = 24,
    AT_PAGES = 28,
    AT_CHANGES_OF_PAGES = 92,
};

/* ---- a file, for SQLite ---- */

struct handle {
    sqlite3_file base;
    struct gp_sqlite_file *file;
};

static int vfs_close(GP_UNUSED sqlite3_file *f) { return SQLITE_OK; }

static size_t read_at(struct gp_sqlite_file *file, uint8_t *to, size_t n, uint64_t at)
{
    size_t done = 0;
    if (file->fd < 0) {
        if (at >= file->memory.n) return 0;
        done = n < file->memory.n - at ? n : file->memory.n - (size_t)at;
        memcpy(to, file->memory.data + at, done);
        return done;
    }
    while (done < n) {
        ssize_t got = pread(file->fd, to + done, n - done, (off_t)(at + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) file->error = errno;
        if (got <= 0) break;
        done += (size_t)got;
    }
    return done;
}

/* What is not there reads as zeros, which no page of a table begins with. The file is read as if it had no
 * write-ahead log. */
static int vfs_read(sqlite3_file *f, void *to, int n, sqlite3_int64 at)
{
    struct gp_sqlite_file *file = ((struct handle *)f)->file;
    size_t want = (size_t)n, done = at < 0 ? 0 : read_at(file, to, want, (uint64_t)at);
    memset((uint8_t *)to + done, 0, want - done);
    file->bytes_read += done;
    for (int i = AT_VERSIONS; i < AT_VERSIONS + 2; i++)
        if (at <= i && at + n > i && ((uint8_t *)to)[i - at] == 2) ((uint8_t *)to)[i - at] = 1;
    if (done == want) return SQLITE_OK;
    return file->error ? SQLITE_IOERR_READ : SQLITE_IOERR_SHORT_READ;
}

static int vfs_write(sqlite3_file *f, const void *from, int n, sqlite3_int64 at)
{
    (void)f, (void)from, (void)n, (void)at;
    return SQLITE_READONLY;
}

static int vfs_truncate(GP_UNUSED sqlite3_file *f, GP_UNUSED sqlite3_int64 size) { return SQLITE_READONLY; }

static int vfs_ignore(GP_UNUSED sqlite3_file *f, GP_UNUSED int flags) { return SQLITE_OK; }

static int vfs_size(sqlite3_file *f, sqlite3_int64 *size)
{
    *size = (sqlite3_int64)((struct handle *)f)->file->claimed;
    return SQLITE_OK;
}

static int vfs_is_reserved(GP_UNUSED sqlite3_file *f, int *reserved)
{
    *reserved = 0;
    return SQLITE_OK;
}

static int vfs_control(GP_UNUSED sqlite3_file *f, GP_UNUSED int op, GP_UNUSED void *arg)
{
    return SQLITE_NOTFOUND;
}

static int vfs_sector(GP_UNUSED sqlite3_file *f) { return 4096; }

static int vfs_traits(GP_UNUSED sqlite3_file *f) { return SQLITE_IOCAP_IMMUTABLE; }

static const sqlite3_io_methods methods = {
    .iVersion = 1,
    .xClose = vfs_close,
    .xRead = vfs_read,
    .xWrite = vfs_write,
    .xTruncate = vfs_truncate,
    .xSync = vfs_ignore,
    .xFileSize = vfs_size,
    .xLock = vfs_ignore,
    .xUnlock = vfs_ignore,
    .xCheckReservedLock = vfs_is_reserved,
    .xFileControl = vfs_control,
    .xSectorSize = vfs_sector,
    .xDeviceCharacteristics = vfs_traits,
};

/* ---- a file system of one file, for SQLite ---- */

static int vfs_open(sqlite3_vfs *vfs, GP_UNUSED const char *name, sqlite3_file *f, int flags, int *out)
{
    f->pMethods = NULL;
    if (!(flags & SQLITE_OPEN_MAIN_DB)) return SQLITE_CANTOPEN;
    ((struct handle *)f)->file = vfs->pAppData;
    f->pMethods = &methods;
    if (out) *out = SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB;
    return SQLITE_OK;
}

static int vfs_delete(GP_UNUSED sqlite3_vfs *vfs, GP_UNUSED const char *name, GP_UNUSED int sync)
{
    return SQLITE_IOERR_DELETE;
}

static int vfs_access(GP_UNUSED sqlite3_vfs *vfs, GP_UNUSED const char *name, GP_UNUSED int flags, int *out)
{
    *out = 0;
    return SQLITE_OK;
}

static int vfs_full_path(GP_UNUSED sqlite3_vfs *vfs, const char *name, int n, char *out)
{
    snprintf(out, (size_t)n, "%s", name);
    return SQLITE_OK;
}

static int vfs_randomness(GP_UNUSED sqlite3_vfs *vfs, int n, char *out)
{
    memset(out, 0, (size_t)n);
    return n;
}

static int vfs_sleep(GP_UNUSED sqlite3_vfs *vfs, int us) { return us; }

static int vfs_time(GP_UNUSED sqlite3_vfs *vfs, double *days)
{
    *days = 0;
    return SQLITE_OK;
}

static int vfs_error(GP_UNUSED sqlite3_vfs *vfs, GP_UNUSED int n, GP_UNUSED char *text) { return 0; }

/* ---- content ---- */

static uint64_t get_be32(const uint8_t *p)
{
    return (uint64_t)p[0] << 24 | (uint64_t)p[1] << 16 | (uint64_t)p[2] << 8 | p[3];
}

/* The size that the header names, if it is in use: the file was last written by a version that keeps it. */
static uint64_t claimed_size(struct gp_sqlite_file *file)
{
    uint8_t h[HEADER];
    if (read_at(file, h, sizeof h, 0) < sizeof h) return 0;
    uint64_t page = (uint64_t)h[AT_PAGE_SIZE] << 8 | h[AT_PAGE_SIZE + 1];
    if (page == 1) page = 1 << 16;
    if (get_be32(h + AT_CHANGES) != get_be32(h + AT_CHANGES_OF_PAGES)) return 0;
    return page * get_be32(h + AT_PAGES);
}

static bool is_file_with_content(const char *path, const char *suffix)
{
    struct gp_buf b = {0};
    struct stat st;
    gp_buf_printf(&b, "%s%s", path, suffix);
    bool is = !stat(gp_buf_str(&b), &st) && S_ISREG(st.st_mode) && st.st_size > 0;
    gp_buf_release(&b);
    return is;
}

static int fail_spool(struct gp_err *err)
{
    char why[128] = "";
    if (strerror_r(errno, why, sizeof why)) why[0] = '\0';
    return gp_fail(err, GP_E_IO, -1, "the temporary file for an SQLite database cannot be written: %s", why);
}

static int spool(struct gp_sqlite_file *file, struct gp_input *in, struct gp_err *err)
{
    file->spool = tmpfile();
    if (!file->spool) return fail_spool(err);
    for (size_t n = 1; n;) {
        if (file->memory.n && fwrite(file->memory.data, 1, file->memory.n, file->spool) < file->memory.n)
            return fail_spool(err);
        file->size += file->memory.n;
        file->memory.n = 0;
        n = file->memory.n = gp_input_read(in, gp_buf_reserve(&file->memory, PIECE), PIECE);
    }
    if (fflush(file->spool)) return fail_spool(err);
    gp_buf_release(&file->memory);
    file->fd = fileno(file->spool);
    return 0;
}

static int take_content(struct gp_sqlite_file *file, struct gp_input *in, struct gp_err *err)
{
    file->fd = gp_input_fd(in, &file->size);
    if (file->fd >= 0) {
        const char *path = gp_input_path(in);
        file->unwritten = is_file_with_content(path, "-wal") || is_file_with_content(path, "-journal");
        return 0;
    }
    for (size_t n = 1; n && file->memory.n < IN_MEMORY; file->memory.n += n)
        n = gp_input_read(in, gp_buf_reserve(&file->memory, PIECE), PIECE);
    file->size = file->memory.n;
    if (file->memory.n < IN_MEMORY) return 0;
    file->size = 0;
    return spool(file, in, err);
}

int gp_sqlite_file_open(struct gp_sqlite_file *file, struct gp_input *in, struct gp_err *err)
{
    memset(file, 0, sizeof *file);
    if (take_content(file, in, err)) {
        gp_sqlite_file_close(file);
        return -1;
    }
    file->claimed = claimed_size(file);
    if (file->claimed < file->size) file->claimed = file->size;
    snprintf(file->name, sizeof file->name, "gpuprof-%p", (void *)file);
    file->vfs = (sqlite3_vfs){
        .iVersion = 1,
        .szOsFile = sizeof(struct handle),
        .mxPathname = 64,
        .zName = file->name,
        .pAppData = file,
        .xOpen = vfs_open,
        .xDelete = vfs_delete,
        .xAccess = vfs_access,
        .xFullPathname = vfs_full_path,
        .xRandomness = vfs_randomness,
        .xSleep = vfs_sleep,
        .xCurrentTime = vfs_time,
        .xGetLastError = vfs_error,
    };
    if (sqlite3_vfs_register(&file->vfs, 0) == SQLITE_OK) return 0;
    gp_sqlite_file_close(file);
    return gp_fail(err, GP_E_IO, -1, "cannot initialise SQLite");
}

void gp_sqlite_file_close(struct gp_sqlite_file *file)
{
    if (file->vfs.zName) sqlite3_vfs_unregister(&file->vfs);
    if (file->spool) fclose(file->spool);
    gp_buf_release(&file->memory);
}
