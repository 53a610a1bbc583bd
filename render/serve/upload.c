#include "render/serve/upload.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include "formats/base/err.h"
#include "formats/base/input.h"
#include "formats/base/mem.h"
#include "render/serve/cache.h"
#include "render/catalog/catalog.h"
#include "render/serve/request.h"

enum { TRIES = 1000, CHUNK = 256 << 10, HIDDEN_NAME = 64, FREE_PCT = 5 };
static const uint64_t EXPANSION_FREE = 64 << 20;

struct gp_upload {
    struct gp_upload_limits limits;
    int fd;
    pthread_mutex_t lock;
    unsigned running;
};

struct gp_upload_job {
    struct gp_upload *u;
    int fd;
    uint64_t n;
    char hidden[HIDDEN_NAME], name[GP_UPLOAD_NAME];
};

struct gp_upload *gp_upload_new(const char *dir, const struct gp_upload_limits *limits, struct gp_err *err)
{
    if (mkdir(dir, 0700) && errno != EEXIST) {
        gp_fail(err, GP_E_IO, -1, "%s: %s", dir, strerror(errno));
        return NULL;
    }
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || faccessat(fd, ".", W_OK, 0)) {
        gp_fail(err, GP_E_IO, -1, "%s: %s", dir, strerror(errno));
        if (fd >= 0) close(fd);
        return NULL;
    }
    struct gp_upload *u = gp_zalloc(sizeof *u);
    u->limits = *limits;
    u->fd = fd;
    pthread_mutex_init(&u->lock, NULL);
    return u;
}

int gp_upload_folder(const struct gp_upload *u)
{
    return openat(u->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

void gp_upload_free(struct gp_upload *u)
{
    if (!u) return;
    close(u->fd);
    pthread_mutex_destroy(&u->lock);
    free(u);
}

/* ---- beginning ---- */

static uint64_t count_files(const struct gp_upload *u)
{
    int fd = gp_upload_folder(u);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    uint64_t n = 0;
    while (d && readdir(d)) n++;
    if (d) closedir(d);
    return n > 2 ? n - 2 : 0;
}

/* Would N more bytes leave enough for others? */
static bool has_room(const struct gp_upload *u, uint64_t n)
{
    struct statvfs v;
    if (fstatvfs(u->fd, &v)) return true;
    uint64_t left = (uint64_t)v.f_bavail * v.f_frsize, all = (uint64_t)v.f_blocks * v.f_frsize;
    return n <= left && left - n >= all / 100 * FREE_PCT;
}

/* A sender's name without folders or a leading dot, and only characters that every file system takes. */
static void clean_name(const char *name, char *to)
{
    const char *slash = name ? strrchr(name, '/') : NULL, *back = name ? strrchr(name, '\\') : NULL;
    if (slash && (!back || slash > back)) name = slash + 1;
    else if (back) name = back + 1;
    size_t n = 0;
    for (const char *p = name ? name : ""; *p && n < GP_UPLOAD_NAME - 16; p++) {
        bool fine = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') ||
                    *p == '-' || *p == '_' || *p == '.';
        if (n || (fine && *p != '.' && *p != '-')) to[n++] = fine ? *p : '_';
    }
    to[n] = 0;
    if (!n) strcpy(to, "trace");
}

static int refuse(struct gp_err *err, int status, const char *why)
{
    gp_fail(err, GP_E_LIMIT, -1, "%s", why);
    return status;
}

static int check(struct gp_upload *u, uint64_t size, struct gp_err *err)
{
    if (size != UINT64_MAX && size > u->limits.bytes)
        return refuse(err, 413, "the file is larger than --upload-size");
    if (count_files(u) >= u->limits.files)
        return refuse(err, 507, "the folder of uploads is full: it has too many files");
    if (!has_room(u, size == UINT64_MAX ? 0 : size))
        return refuse(err, 507, "the disk of the folder of uploads is full");
    return 0;
}

static bool take_place(struct gp_upload *u)
{
    pthread_mutex_lock(&u->lock);
    bool free_place = u->running < u->limits.at_once;
    if (free_place) u->running++;
    pthread_mutex_unlock(&u->lock);
    return free_place;
}

static void give_place(struct gp_upload *u)
{
    pthread_mutex_lock(&u->lock);
    u->running--;
    pthread_mutex_unlock(&u->lock);
}

int gp_upload_begin(struct gp_upload *u, const char *name, uint64_t size, struct gp_upload_job **job,
                    struct gp_err *err)
{
    char random[GP_TOKEN_TEXT];
    int status = check(u, size, err);
    if (status) return status;
    if (!take_place(u)) return refuse(err, 503, "too many uploads at once: try again later");
    struct gp_upload_job *j = gp_zalloc(sizeof *j);
    j->u = u;
    j->fd = -1;
    clean_name(name, j->name);
    if (!gp_guard_random(random, err)) {
        snprintf(j->hidden, sizeof j->hidden, ".upload-%s", random);
        j->fd = openat(u->fd, j->hidden, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    }
    if (j->fd >= 0) {
        *job = j;
        return 0;
    }
    gp_fail(err, GP_E_IO, -1, "the folder of uploads: %s", strerror(errno));
    give_place(u);
    free(j);
    return 507;
}

/* ---- its bytes ---- */

static int write_failed(struct gp_err *err)
{
    gp_fail(err, GP_E_IO, -1, "the file could not be written: %s", strerror(errno));
    return 507;
}

int gp_upload_put(struct gp_upload_job *j, const void *data, size_t n, struct gp_err *err)
{
    if (n > j->u->limits.bytes - j->n) return refuse(err, 413, "the file is larger than --upload-size");
    if (gp_blob_write(j->fd, data, n)) return write_failed(err);
    uint64_t before = j->n;
    j->n += n;
    if (before >> 26 != j->n >> 26 && !has_room(j->u, 0))
        return refuse(err, 507, "the disk of the folder of uploads is full");
    return 0;
}

/* ---- the end ---- */

/* Does it unpack to at most so much? */
static int check_expansion(const struct gp_upload_job *j, struct gp_err *err)
{
    char path[40];
    uint64_t most = j->n * j->u->limits.expansion, n = 0;
    size_t got;
    if (most < EXPANSION_FREE) most = EXPANSION_FREE;
    snprintf(path, sizeof path, "/proc/self/fd/%d", j->fd);
    struct gp_input *in = gp_input_open(path, 1, err);
    if (!in) return 507;
    char *chunk = gp_alloc(CHUNK);
    while (n <= most && (got = gp_input_read(in, chunk, CHUNK)) > 0) n += got;
    free(chunk);
    gp_input_close(in);
    return n > most ? refuse(err, 413, "the file expands to far more than a trace would") : 0;
}

static int check_content(const struct gp_upload_job *j, struct gp_err *err)
{
    struct gp_sniffed found;
    if (!gp_sniff_fd(j->fd, &found))
        return refuse(err, 415,
                      "the file is neither a trace, a snapshot of an allocator, nor a log of a compiler");
    return strcmp(found.compression, "none") ? check_expansion(j, err) : 0;
}

/* Under its own name, or the first of name-2, name-3 that is free. */
static int publish(struct gp_upload_job *j, char *name, struct gp_err *err)
{
    for (int i = 1; i < TRIES; i++) {
        const char *dot = strchr(j->name, '.');
        size_t stem = dot ? (size_t)(dot - j->name) : strlen(j->name);
        if (i == 1) strcpy(name, j->name);
        else snprintf(name, GP_UPLOAD_NAME, "%.*s-%d%s", (int)stem, j->name, i, j->name + stem);
        if (!renameat2(j->u->fd, j->hidden, j->u->fd, name, RENAME_NOREPLACE)) return 0;
        if (errno != EEXIST) break;
    }
    return write_failed(err);
}

int gp_upload_end(struct gp_upload_job *j, char name[GP_UPLOAD_NAME], struct gp_err *err)
{
    int status = check_content(j, err);
    if (!status && fsync(j->fd)) status = write_failed(err);
    if (!status) status = publish(j, name, err);
    if (!status) *j->hidden = 0;
    gp_upload_abort(j);
    return status;
}

void gp_upload_abort(struct gp_upload_job *j)
{
    if (!j) return;
    if (*j->hidden) unlinkat(j->u->fd, j->hidden, 0);
    close(j->fd);
    give_place(j->u);
    free(j);
}
