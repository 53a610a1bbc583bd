#include "analyze/diff/baseline.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/base/input.h"
#include "formats/base/output.h"

enum { DIGITS = 6, MOST_DIGITS = 18, MOST_FILES = 100000, LEVEL = 9 };
#define MAX_PROFILE ((size_t)1 << 28)
static const char suffix[] = ".profile";

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

int gp_baseline_check_name(const char *name, struct gp_err *err)
{
    size_t n = strlen(name);
    bool good = n && n <= GP_BASELINE_NAME_MAX && is_letter(name[0]);
    for (size_t i = 0; i < n; i++)
        good = good && (is_letter(name[i]) || name[i] == '.' || name[i] == '_' || name[i] == '-');
    if (good) return 0;
    return gp_fail(err, GP_E_USAGE, -1,
                   "'%.100s' is not a valid baseline name: use letters, digits, '.', '_' and '-', with a "
                   "letter or digit first",
                   name);
}

/* ---- the files of a name ---- */

typedef GP_VEC(char *) names;

static void release_names(names *all)
{
    for (size_t i = 0; i < all->n; i++) free(all->at[i]);
    GP_VEC_FREE(all);
}

/* Digits at the beginning: the number of a save. */
static size_t digits(const char *s) { return strspn(s, "0123456789"); }

/* "000012-0123456789abcdef.profile"; after 999999 comes 1000000. */
static bool is_ours(const char *s)
{
    size_t n = strlen(s), end = sizeof suffix - 1, number = digits(s);
    if (n <= number + end || strcmp(s + n - end, suffix) != 0) return false;
    return number >= DIGITS && number <= MOST_DIGITS && s[number] == '-';
}

static int by_name(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    size_t nx = digits(x), ny = digits(y);
    return nx != ny ? (nx > ny) - (nx < ny) : strcmp(x, y);
}

/* Sorted, so oldest first. A folder that is not there has none. */
static int list_files(names *to, const char *path, struct gp_err *err)
{
    DIR *dir = opendir(path);
    if (!dir && errno == ENOENT) return 0;
    if (!dir) return gp_fail(err, GP_E_IO, -1, "%s: %s", path, strerror(errno));
    for (struct dirent *e; to->n < MOST_FILES && (e = readdir(dir));) {
        if (!is_ours(e->d_name)) continue;
        size_t n = strlen(e->d_name) + 1;
        char *copy = gp_alloc(n);
        memcpy(copy, e->d_name, n);
        GP_VEC_PUSH(to, copy);
    }
    closedir(dir);
    if (to->n) qsort(to->at, to->n, sizeof *to->at, by_name);
    return 0;
}

static void put_path(struct gp_buf *b, const char *folder, const char *name, const char *file)
{
    b->n = 0;
    gp_buf_printf(b, "%s/%s%s%s", folder, name, file ? "/" : "", file ? file : "");
}

/* ---- loading ---- */

static int load_one(gp_baseline_profiles *to, const char *path, struct gp_err *err)
{
    struct gp_buf bytes = {0};
    struct gp_profile p;
    struct stat st;
    if (stat(path, &st)) return gp_fail(err, GP_E_IO, -1, "%s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode)) return gp_fail(err, GP_E_IO, -1, "%s: is not a regular file", path);
    if (gp_input_all(path, gp_profile_is_saved, MAX_PROFILE, &bytes, err)) {
        gp_buf_release(&bytes);
        return -1;
    }
    gp_profile_init(&p, NULL);
    int failed = gp_profile_load(&p, bytes.n ? bytes.data : "", bytes.n, err);
    gp_buf_release(&bytes);
    if (failed) return gp_err_context(err, "%s", path);
    GP_VEC_PUSH(to, p);
    return 0;
}

int gp_baseline_load(gp_baseline_profiles *to, const char *folder, const char *name, struct gp_err *err)
{
    names files = {0};
    struct gp_buf path = {0};
    put_path(&path, folder, name, NULL);
    int failed = gp_baseline_check_name(name, err);
    if (!failed) failed = list_files(&files, gp_buf_str(&path), err);
    if (!failed && !files.n)
        failed = gp_fail(err, GP_E_IO, -1, "%s: no baseline of that name was saved", gp_buf_str(&path));
    for (size_t i = 0; i < files.n && !failed; i++) {
        put_path(&path, folder, name, files.at[i]);
        failed = load_one(to, gp_buf_str(&path), err);
    }
    release_names(&files);
    gp_buf_release(&path);
    return failed;
}

int gp_baseline_save_all(const char *folder, const char *name, struct gp_profile *p, size_t n,
                         struct gp_err *err)
{
    for (size_t i = 0; i < n; i++)
        if (!p[i].events.n)
            return gp_fail(err, GP_E_FORMAT, -1, "%s: no GPU events, so it cannot be a baseline",
                           gp_string(&p[i].strings, p[i].input.path));
    for (size_t i = 0; i < n; i++)
        if (gp_baseline_save(folder, name, &p[i], err)) return -1;
    return 0;
}

void gp_baseline_release(gp_baseline_profiles *all)
{
    for (size_t i = 0; i < all->n; i++) gp_profile_release(&all->at[i]);
    GP_VEC_FREE(all);
}

/* ---- saving ---- */

static int make_folder(const char *path, struct gp_err *err)
{
    if (!mkdir(path, 0777) || errno == EEXIST) return 0;
    return gp_fail(err, GP_E_IO, -1, "%s: %s", path, strerror(errno));
}

/* Compressed: reading decompresses whatever the file name is. */
static int pack(struct gp_buf *to, struct gp_profile *p, struct gp_err *err)
{
    struct gp_buf bytes = {0};
    gp_profile_save(p, &bytes);
    size_t room = ZSTD_compressBound(bytes.n);
    size_t n = ZSTD_compress(gp_buf_reserve(to, room), room, bytes.data, bytes.n, LEVEL);
    gp_buf_release(&bytes);
    if (ZSTD_isError(n)) return gp_fail(err, GP_E_LIMIT, -1, "compression failed");
    to->n = n;
    return 0;
}

static int write_file(const char *path, struct gp_profile *p, struct gp_err *err)
{
    struct gp_buf bytes = {0};
    struct gp_output *out = pack(&bytes, p, err) ? NULL : gp_output_open(path, err);
    if (out) gp_output_write(out, bytes.data, bytes.n);
    gp_buf_release(&bytes);
    return out ? gp_output_close(out, true, err) : -1;
}

/* An old file that stays is not a failure: the next save tries again. */
static void drop_oldest(const names *files, const char *folder, const char *name)
{
    struct gp_buf path = {0};
    for (size_t i = 0; i + GP_BASELINE_KEEP < files->n + 1; i++) {
        put_path(&path, folder, name, files->at[i]);
        (void)unlink(gp_buf_str(&path));
    }
    gp_buf_release(&path);
}

int gp_baseline_save(const char *folder, const char *name, struct gp_profile *p, struct gp_err *err)
{
    names files = {0};
    struct gp_buf path = {0};
    char file[64];
    int failed = gp_baseline_check_name(name, err);
    put_path(&path, folder, name, NULL);
    if (!failed) failed = make_folder(folder, err) || make_folder(gp_buf_str(&path), err);
    if (!failed) failed = list_files(&files, gp_buf_str(&path), err);
    unsigned long next = files.n ? strtoul(files.at[files.n - 1], NULL, 10) + 1 : 1;
    snprintf(file, sizeof file, "%0*lu-%016" PRIx64 "%s", DIGITS, next, p->content, suffix);
    put_path(&path, folder, name, file);
    if (!failed) failed = write_file(gp_buf_str(&path), p, err);
    if (!failed) drop_oldest(&files, folder, name);
    release_names(&files);
    gp_buf_release(&path);
    return failed ? -1 : 0;
}
