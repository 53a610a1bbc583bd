#include "render/serve/shelf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/base/intern.h"
#include "formats/base/map.h"
#include "formats/base/str.h"
#include "formats/base/vec.h"
#include "render/serve/sniff.h"

enum { DEPTH = 8, ENTRIES = 100000, KEEP_MS = 200 };

struct folder {
    int fd;
    char *name; /* before the names of its files; "" where there is only one folder */
    char *only; /* the one file of it that was given, NULL: all */
};

/* The public list comes first. */
struct list {
    struct gp_shelf_list public;
    GP_VEC(struct gp_shelf_file) files, others; /* OTHERS hold nothing for us: to be read only once */
    struct gp_arena texts;
    unsigned users; /* guarded by the shelf's lock */
    struct gp_shelf *shelf;
};

struct gp_shelf {
    pthread_mutex_t lock;
    GP_VEC(struct folder) folders;
    struct list *last; /* the newest state, NULL: none yet */
    int64_t looked_ms;
};

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

struct gp_shelf *gp_shelf_new(void)
{
    struct gp_shelf *s = gp_zalloc(sizeof *s);
    pthread_mutex_init(&s->lock, NULL);
    return s;
}

/* ---- folders ---- */

static char *copy(const char *text, size_t n)
{
    char *to = gp_alloc(n + 1);
    memcpy(to, text, n);
    to[n] = 0;
    return to;
}

static const char *last_part(const char *path, size_t *n)
{
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/') end--;
    size_t from = end;
    while (from && path[from - 1] != '/') from--;
    *n = end - from;
    return path + from;
}

void gp_shelf_add_fd(struct gp_shelf *s, int fd, const char *name)
{
    struct stat a, b;
    for (size_t i = 0; i < s->folders.n; i++)
        if (!s->folders.at[i].only && !fstat(fd, &a) && !fstat(s->folders.at[i].fd, &b) &&
            a.st_dev == b.st_dev && a.st_ino == b.st_ino) {
            close(fd);
            return;
        }
    struct folder f = {fd, copy(name, strlen(name)), NULL};
    GP_VEC_PUSH(&s->folders, f);
}

/* The folder of file PATH, in which only that file counts. A link that the user names is followed, once,
 * here. */
static int add_file(struct gp_shelf *s, const char *path, struct gp_err *err)
{
    char *whole = realpath(path, NULL);
    if (!whole) return gp_fail(err, GP_E_IO, -1, "%s: %s", path, strerror(errno));
    size_t n;
    const char *name = last_part(whole, &n);
    char *parent = copy(whole, (size_t)(name - whole)), *only = copy(name, n);
    int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) gp_fail(err, GP_E_IO, -1, "%s: %s", path, strerror(errno));
    struct folder f = {fd, copy("", 0), only};
    if (fd >= 0) GP_VEC_PUSH(&s->folders, f);
    else {
        free(f.name);
        free(only);
    }
    free(parent);
    free(whole);
    return fd < 0 ? -1 : 0;
}

int gp_shelf_add(struct gp_shelf *s, const char *path, struct gp_err *err)
{
    struct stat st;
    if (stat(path, &st)) return gp_fail(err, GP_E_IO, -1, "%s: %s", path, strerror(errno));
    if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
        return gp_fail(err, GP_E_IO, -1, "%s: neither a folder nor a file", path);
    if (!S_ISDIR(st.st_mode)) return add_file(s, path, err);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return gp_fail(err, GP_E_IO, -1, "%s: %s", path, strerror(errno));
    char *whole = realpath(path, NULL); /* "." has a better name */
    size_t n;
    const char *name = last_part(whole ? whole : path, &n);
    struct folder f = {fd, copy(name, n), NULL};
    GP_VEC_PUSH(&s->folders, f);
    free(whole);
    return 0;
}

/* ---- what is in them ---- */

struct scan {
    struct list *to;
    const struct list *before; /* files that are as they were are not read again */
    struct gp_map old;         /* from inode to place in its files, or, behind those, its others */
    struct gp_strings seen;    /* ids */
    size_t folder, entries;
    const char *prefix;
};

static int64_t time_of(const struct stat *st)
{
    return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

static void make_id(char *to, const char *prefix, const char *path, size_t folder)
{
    uint64_t h = gp_hash_bytes(path, strlen(path)) ^ gp_hash_bytes(prefix, strlen(prefix)) * 3 ^ folder * 7;
    h = gp_hash_bytes(&h, sizeof h);
    for (int i = 0; i < GP_SHELF_ID; i++, h >>= 4) to[i] = "0123456789abcdef"[h & 15];
    to[GP_SHELF_ID] = 0;
}

/* What F holds, as it was found last time or by its first bytes. False: nothing for us. */
static bool know(struct scan *sc, struct gp_shelf_file *f, int folder_fd, const char *name,
                 const struct stat *st)
{
    const uint32_t *place = gp_map_get(&sc->old, f->inode);
    if (place) {
        size_t n = sc->before->files.n;
        const struct gp_shelf_file *b =
            *place < n ? &sc->before->files.at[*place] : &sc->before->others.at[*place - n];
        if (b->device == f->device && b->size_bytes == f->size_bytes && b->modified_ns == f->modified_ns) {
            f->kind = b->kind;
            f->format = b->format;
            f->compression = b->compression;
            return b->kind != 0;
        }
    }
    struct gp_sniffed found;
    int fd = openat(folder_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) return false;
    struct stat now;
    bool is = !fstat(fd, &now) && S_ISREG(now.st_mode) && now.st_ino == st->st_ino && gp_sniff_fd(fd, &found);
    close(fd);
    if (!is) return false;
    f->kind = (enum gp_shelf_kind)found.kind;
    f->format = found.format;
    f->compression = found.compression;
    return true;
}

static void take_file(struct scan *sc, int folder_fd, const char *name, const char *path,
                      const struct stat *st)
{
    struct list *l = sc->to;
    struct gp_shelf_file f = {.size_bytes = (uint64_t)st->st_size,
                              .modified_ns = time_of(st),
                              .device = st->st_dev,
                              .inode = st->st_ino,
                              .folder = sc->folder};
    if (!st->st_size) return;
    if (!know(sc, &f, folder_fd, name, st)) {
        f.kind = (enum gp_shelf_kind)0;
        GP_VEC_PUSH(&l->others, f);
        return;
    }
    if (l->files.n == GP_SHELF_FILES) {
        l->public.left_out++;
        return;
    }
    make_id(f.id, sc->prefix, path, sc->folder);
    if (gp_intern_find(&sc->seen, f.id, GP_SHELF_ID) != UINT32_MAX) return;
    gp_intern(&sc->seen, f.id, GP_SHELF_ID);
    f.path = gp_arena_strndup(&l->texts, path, strlen(path));
    f.name = f.path;
    if (*sc->prefix) {
        struct gp_buf b = {0};
        gp_buf_printf(&b, "%s/%s", sc->prefix, path);
        f.name = gp_arena_strndup(&l->texts, b.data, b.n);
        gp_buf_release(&b);
    }
    GP_VEC_PUSH(&l->files, f);
}

/* FD is closed. ONLY: the one name that counts, NULL for all. */
static void scan_folder(struct scan *sc, int fd, const char *below, const char *only, int depth)
{
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    struct gp_buf path = {0};
    if (!d && fd >= 0) close(fd);
    for (struct dirent *e; d && (e = readdir(d));) {
        struct stat st;
        if ((only ? strcmp(e->d_name, only) != 0 : *e->d_name == '.') || sc->entries >= ENTRIES) continue;
        sc->entries++;
        if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW)) continue;
        path.n = 0;
        gp_buf_printf(&path, "%s%s%s", below, *below ? "/" : "", e->d_name);
        if (S_ISREG(st.st_mode)) take_file(sc, dirfd(d), e->d_name, gp_buf_str(&path), &st);
        if (!S_ISDIR(st.st_mode) || depth == DEPTH) continue;
        int inner = openat(dirfd(d), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        char *text = copy(path.data, path.n);
        scan_folder(sc, inner, text, NULL, depth + 1);
        free(text);
    }
    if (d) closedir(d);
    gp_buf_release(&path);
}

static int newest_first(const void *a, const void *b)
{
    const struct gp_shelf_file *x = a, *y = b;
    if (x->modified_ns != y->modified_ns) return x->modified_ns > y->modified_ns ? -1 : 1;
    return strcmp(x->name, y->name);
}

static struct list *scan_all(struct gp_shelf *s, const struct list *before)
{
    struct scan sc = {.to = gp_zalloc(sizeof *sc.to), .before = before};
    size_t n = before ? before->files.n : 0;
    for (size_t i = 0; i < n; i++) gp_map_put(&sc.old, before->files.at[i].inode, (uint32_t)i);
    for (size_t i = 0; before && i < before->others.n; i++)
        gp_map_put(&sc.old, before->others.at[i].inode, (uint32_t)(n + i));
    bool several = s->folders.n > 1;
    for (size_t i = 0; i < s->folders.n; i++) {
        const struct folder *f = &s->folders.at[i];
        sc.folder = i;
        sc.prefix = several && !f->only ? f->name : "";
        scan_folder(&sc, openat(f->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), "", f->only, 0);
    }
    struct list *l = sc.to;
    if (l->files.n) qsort(l->files.at, l->files.n, sizeof *l->files.at, newest_first);
    l->public.at = l->files.at;
    l->public.n = l->files.n;
    l->shelf = s;
    gp_map_release(&sc.old);
    gp_strings_release(&sc.seen);
    return l;
}

static void drop_locked(struct list *l)
{
    if (!l || --l->users) return;
    GP_VEC_FREE(&l->files);
    GP_VEC_FREE(&l->others);
    gp_arena_release(&l->texts);
    free(l);
}

struct gp_shelf_list *gp_shelf_list(struct gp_shelf *s, bool fresh)
{
    pthread_mutex_lock(&s->lock); /* so that only one of many clients looks */
    int64_t now = now_ms();
    if (!s->last || fresh || now - s->looked_ms >= KEEP_MS) {
        struct list *l = scan_all(s, s->last);
        l->users = 1;
        drop_locked(s->last);
        s->last = l;
        s->looked_ms = now;
    }
    s->last->users++;
    struct gp_shelf_list *l = &s->last->public;
    pthread_mutex_unlock(&s->lock);
    return l;
}

void gp_shelf_drop(struct gp_shelf_list *l)
{
    if (!l) return;
    struct list *own = (struct list *)(void *)l;
    struct gp_shelf *s = own->shelf;
    pthread_mutex_lock(&s->lock);
    drop_locked(own);
    pthread_mutex_unlock(&s->lock);
}

const struct gp_shelf_file *gp_shelf_find(const struct gp_shelf_list *l, const char *id)
{
    for (size_t i = 0; i < l->n; i++)
        if (!strcmp(l->at[i].id, id)) return &l->at[i];
    return NULL;
}

/* ---- opening ---- */

/* PATH below the folder with descriptor FD: each part by a handle of the one before, and no links. */
static int open_below(int fd, const char *path)
{
    int at = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    for (const char *s = path; at >= 0;) {
        const char *slash = strchr(s, '/');
        size_t n = slash ? (size_t)(slash - s) : strlen(s);
        char part[NAME_MAX + 1];
        if (n > NAME_MAX || !n || gp_is(s, n, "..") || gp_is(s, n, ".")) {
            close(at);
            errno = EINVAL;
            return -1;
        }
        memcpy(part, s, n);
        part[n] = 0;
        int kind = slash ? O_DIRECTORY : O_NONBLOCK | O_NOCTTY;
        int next = openat(at, part, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | kind);
        int why = errno;
        close(at);
        errno = why;
        at = next;
        if (!slash) break;
        s = slash + 1;
    }
    return at;
}

int gp_shelf_open(struct gp_shelf *s, const struct gp_shelf_file *f, struct gp_err *err)
{
    struct stat st;
    int fd = open_below(s->folders.at[f->folder].fd, f->path);
    if (fd < 0) return gp_fail(err, GP_E_IO, -1, "%s: %s", f->name, strerror(errno));
    if (!fstat(fd, &st) && S_ISREG(st.st_mode)) return fd;
    close(fd);
    return gp_fail(err, GP_E_IO, -1, "%s: not a plain file", f->name);
}

void gp_shelf_free(struct gp_shelf *s)
{
    if (!s) return;
    drop_locked(s->last);
    for (size_t i = 0; i < s->folders.n; i++) {
        close(s->folders.at[i].fd);
        free(s->folders.at[i].name);
        free(s->folders.at[i].only);
    }
    GP_VEC_FREE(&s->folders);
    pthread_mutex_destroy(&s->lock);
    free(s);
}
