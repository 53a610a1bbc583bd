#include "formats/base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include "formats/base/err.h"
#include "formats/base/mem.h"

enum { BUFFER_BYTES = 256 << 10, TEMP_NAMES = 10000 };

struct gp_output {
    int fd;
    char *path;              /* for messages; NULL: standard output */
    char *target;            /* the final name, given on commit; NULL: written directly */
    char *temp;              /* the temporary name until then */
    int error;               /* errno of the first failed write */
    enum gp_packing packing; /* as the name says */
    struct gp_pack *pack;
    bool begun; /* something was written, so PACK is known */
    size_t n;
    char buf[BUFFER_BYTES];
};

static int fail_with_errno(struct gp_err *err, const char *path, const char *what, int number)
{
    char why[128] = "";
    if (strerror_r(number, why, sizeof why)) why[0] = '\0';
    return gp_fail(err, GP_E_IO, -1, "%s: %s: %s", path ? path : "standard output", what, why);
}

/* Create a file beside TARGET with an unused name; `temp` and `fd` are set. -1 with errno. */
static int create_beside(struct gp_output *out, const char *target)
{
    size_t room = strlen(target) + 40;
    char *name = gp_alloc(room);
    for (int i = 0; i < TEMP_NAMES; i++) {
        snprintf(name, room, "%s.%ld-%d.tmp", target, (long)getpid(), i);
        do out->fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        while (out->fd < 0 && errno == EINTR);
        if (out->fd >= 0) {
            out->temp = name;
            out->target = gp_strdup(target);
            return 0;
        }
        if (errno != EEXIST) break;
    }
    free(name);
    return -1;
}

/* Devices, pipes and links to nothing are written in place: renaming would replace them with a file. */
static int open_resolved(struct gp_output *out, const char *path)
{
    struct stat st;
    bool exists = lstat(path, &st) == 0;
    if (!exists || S_ISREG(st.st_mode)) {
        if (exists && access(path, W_OK)) return -1; /* a rename would bypass the protection of the file */
        if (create_beside(out, path) == 0) {
            if (exists && fchmod(out->fd, st.st_mode & 0777)) errno = 0; /* the mode is best effort */
            return 0;
        }
        if (errno != EACCES || !exists)
            return -1; /* a writable file in a folder that is not: write it directly */
    }
    do out->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    while (out->fd < 0 && errno == EINTR);
    return out->fd < 0 ? -1 : 0;
}

/* A symbolic link stays, and the file that it names is replaced. */
static int open_file(struct gp_output *out, const char *path)
{
    struct stat st;
    if (!*path) {
        errno = ENOENT;
        return -1;
    }
    char *target = !lstat(path, &st) && S_ISLNK(st.st_mode) ? realpath(path, NULL) : NULL;
    int failed = open_resolved(out, target ? target : path), why = errno;
    free(target);
    errno = why;
    return failed;
}

static bool ends_with(const char *path, const char *ending)
{
    size_t n = strlen(path), k = strlen(ending);
    return n > k && !strcmp(path + n - k, ending);
}

struct gp_output *gp_output_open(const char *path, struct gp_err *err)
{
    struct gp_output *out = gp_alloc(sizeof *out);
    memset(out, 0, offsetof(struct gp_output, buf));
    out->fd = STDOUT_FILENO;
    if (!path || !strcmp(path, "-")) return out;
    if (open_file(out, path)) {
        fail_with_errno(err, path, "cannot write", errno);
        free(out);
        return NULL;
    }
    out->path = gp_strdup(path);
    out->packing = ends_with(path, ".gz")    ? GP_PACK_GZIP
                   : ends_with(path, ".zst") ? GP_PACK_ZSTD
                                             : GP_PACK_NONE;
    return out;
}

static void write_all(struct gp_output *out, const char *data, size_t n)
{
    while (n > 0 && !out->error) {
        ssize_t k = write(out->fd, data, n);
        if (k >= 0) {
            data += k;
            n -= (size_t)k;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) { /* the descriptor was left non-blocking */
            struct pollfd p = {.fd = out->fd, .events = POLLOUT};
            poll(&p, 1, -1);
        } else if (errno != EINTR) {
            out->error = errno;
        }
    }
}

static int write_packed(void *out, const void *data, size_t n)
{
    write_all(out, data, n);
    return gp_output_failed(out) ? -1 : 0;
}

/* A writer may have compressed its bytes itself. */
static bool is_packed(const unsigned char *p, size_t n, enum gp_packing packing)
{
    static const unsigned char gzip[] = {0x1f, 0x8b}, zstd[] = {0x28, 0xb5, 0x2f, 0xfd};
    const unsigned char *magic = packing == GP_PACK_GZIP ? gzip : zstd;
    size_t size = packing == GP_PACK_GZIP ? sizeof gzip : sizeof zstd;
    return n >= size && !memcmp(p, magic, size);
}

static void put(struct gp_output *out, const void *data, size_t n)
{
    if (!out->begun && out->packing && !is_packed(data, n, out->packing))
        out->pack = gp_pack_new(out->packing, write_packed, out);
    out->begun = true;
    if (out->pack) gp_pack_write(out->pack, data, n);
    else write_all(out, data, n);
}

void gp_output_flush(struct gp_output *out)
{
    if (out->n) put(out, out->buf, out->n);
    out->n = 0;
}

void gp_output_write(struct gp_output *out, const void *data, size_t n)
{
    if (n >= BUFFER_BYTES) {
        gp_output_flush(out);
        put(out, data, n);
        return;
    }
    if (n > BUFFER_BYTES - out->n) gp_output_flush(out);
    if (n > 0) memcpy(out->buf + out->n, data, n);
    out->n += n;
}

bool gp_output_failed(const struct gp_output *out) { return out->error != 0; }

int gp_output_close(struct gp_output *out, bool commit, struct gp_err *err)
{
    bool whole = commit || !out->target;
    if (whole) put(out, out->buf, out->n);
    if (whole && out->pack) gp_pack_end(out->pack);
    if (out->pack) gp_pack_free(out->pack);
    int result = 0;
    if (close(out->fd) && !out->error && errno != EINTR) out->error = errno;
    if (out->error) result = fail_with_errno(err, out->path, "write failed", out->error);
    if (out->target && commit && !out->error && rename(out->temp, out->target))
        result = fail_with_errno(err, out->path, "cannot rename the finished file", errno);
    if (out->target && (!commit || result)) unlink(out->temp);
    GP_RELEASE(free, out->temp, out->target, out->path, out);
    return result;
}

/* ---- compression ---- */

/* Traces repeat themselves: higher levels cost several times the time and save a few percent. */
enum { GZIP_LEVEL = 4, ZSTD_LEVEL = 3, PIECE = 64 << 10 };

struct gp_pack {
    enum gp_packing packing;
    gp_pack_sink *sink;
    void *ctx;
    bool stopped;
    z_stream gzip;
    ZSTD_CCtx *zstd;
    unsigned char out[PIECE];
};

struct gp_pack *gp_pack_new(enum gp_packing packing, gp_pack_sink *sink, void *ctx)
{
    struct gp_pack *p = gp_zalloc(sizeof *p);
    p->packing = packing;
    p->sink = sink;
    p->ctx = ctx;
    /* window bits 15, and 16 for a gzip header, which zlib leaves without name and time */
    if (packing == GP_PACK_GZIP &&
        deflateInit2(&p->gzip, GZIP_LEVEL, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY) != Z_OK)
        gp_out_of_memory(0);
    if (packing == GP_PACK_ZSTD) {
        p->zstd = ZSTD_createCCtx();
        if (!p->zstd) gp_out_of_memory(0);
        ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
        ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_checksumFlag, 1);
    }
    return p;
}

static void pass_on(struct gp_pack *p, const void *data, size_t n)
{
    if (!p->stopped && n && p->sink(p->ctx, data, n)) p->stopped = true;
}

static void deflate_all(struct gp_pack *p, int mode)
{
    int rc;
    do {
        p->gzip.next_out = p->out;
        p->gzip.avail_out = PIECE;
        rc = deflate(&p->gzip, mode);
        pass_on(p, p->out, PIECE - p->gzip.avail_out);
    } while (!p->stopped && (mode == Z_FINISH ? rc == Z_OK || rc == Z_BUF_ERROR : !p->gzip.avail_out));
}

static void gzip_some(struct gp_pack *p, const void *data, size_t n)
{
    const unsigned char *from = data;
    while (n && !p->stopped) {
        size_t part = n < (1u << 30) ? n : 1u << 30; /* zlib counts in 32 bits */
        p->gzip.next_in =
            (unsigned char *)(uintptr_t)from; /* zlib does not write there, but its type lacks const */
        p->gzip.avail_in = (unsigned)part;
        deflate_all(p, Z_NO_FLUSH);
        from += part;
        n -= part;
    }
}

static void zstd_some(struct gp_pack *p, const void *data, size_t n, ZSTD_EndDirective mode)
{
    ZSTD_inBuffer in = {data, n, 0};
    size_t left;
    do {
        ZSTD_outBuffer out = {p->out, PIECE, 0};
        left = ZSTD_compressStream2(p->zstd, &out, &in, mode);
        if (ZSTD_isError(left)) gp_out_of_memory(0); /* no other error is possible here */
        pass_on(p, p->out, out.pos);
    } while (!p->stopped && (mode == ZSTD_e_end ? left > 0 : in.pos < in.size));
}

int gp_pack_write(void *pack, const void *data, size_t n)
{
    struct gp_pack *p = pack;
    switch (p->packing) {
    case GP_PACK_NONE: pass_on(p, data, n); break;
    case GP_PACK_GZIP: gzip_some(p, data, n); break;
    case GP_PACK_ZSTD: zstd_some(p, data, n, ZSTD_e_continue); break;
    }
    return p->stopped ? -1 : 0;
}

int gp_pack_end(struct gp_pack *p)
{
    if (p->packing == GP_PACK_GZIP) deflate_all(p, Z_FINISH);
    if (p->packing == GP_PACK_ZSTD) zstd_some(p, NULL, 0, ZSTD_e_end);
    return p->stopped ? -1 : 0;
}

void gp_pack_free(struct gp_pack *p)
{
    if (!p) return;
    if (p->packing == GP_PACK_GZIP) deflateEnd(&p->gzip);
    ZSTD_freeCCtx(p->zstd);
    free(p);
}
