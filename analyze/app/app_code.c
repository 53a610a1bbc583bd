#include "analyze/app/app_code.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include "analyze/app/operands.h"
#include "formats/base/err.h"
#include "formats/base/input.h"
#include "formats/base/map.h"
#include "formats/base/str.h"

enum { SOURCE_BYTES = 4 << 20, SASS_BYTES = 256 << 20, EM_CUDA = 190, FILES = 64, KERNELS = 16 };

/* ---- sources ---- */

/* The path without links of PATH is FOUND, a plain file below ROOT, which has none. */
static bool is_below(const char *root, const char *path, char *found, struct stat *st)
{
    const size_t n = strlen(root);
    return realpath(path, found) && !strncmp(found, root, n) && (n == 1 || found[n] == '/') &&
           !stat(found, st) && S_ISREG(st->st_mode) && st->st_size <= SOURCE_BYTES;
}

/* FILE itself, or what is below ROOT by the longest end of its path. */
static bool find_source(const char *root, const char *file, char *found, struct stat *st)
{
    struct gp_buf path = {0};
    bool is = is_below(root, file, found, st);
    for (const char *end = file; !is && *end; end += strcspn(end, "/")) {
        end += strspn(end, "/");
        path.n = 0;
        gp_buf_printf(&path, "%s/%s", root, end);
        is = *end && is_below(root, gp_buf_str(&path), found, st);
    }
    gp_buf_release(&path);
    return is;
}

static void add_source(struct gp_app_code *to, const struct gp_stalls *s, gp_sid file, const char *root,
                       int64_t began_ns)
{
    char found[PATH_MAX];
    struct gp_buf text = {0};
    struct stat st;
    struct gp_err err;
    if (to->all.n >= FILES || !find_source(root, gp_string(s->strings, file), found, &st)) return;
    const size_t n = strlen(root);
    struct gp_listing l = {
        .of = file, .path = gp_intern_cstr(s->strings, found + n + (n > 1)), .changed = -1}; /* below ROOT */
    if (began_ns > 0) l.changed = st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec > began_ns;
    if (!gp_input_all(found, NULL, SOURCE_BYTES, &text, &err) && gp_listing_lines(&l, &text))
        GP_VEC_PUSH(&to->all, l);
    gp_buf_release(&text);
}

static int add_sources(struct gp_app_code *to, const struct gp_trace *t, const struct gp_stalls *s,
                       const char *folder, struct gp_err *err)
{
    char root[PATH_MAX];
    struct stat st;
    const char *began = gp_trace_get_meta(t, "start_realtime_ns");
    struct gp_map asked = {0}; /* files, there or not */
    if (!realpath(folder, root) || stat(root, &st) || !S_ISDIR(st.st_mode))
        return gp_fail(err, GP_E_IO, -1, "--source %s: not a folder", folder);
    for (size_t k = 0; k < s->kernels.n; k++)
        for (size_t i = 0; i < s->kernels.at[k].lines.n; i++) {
            const gp_sid file = s->kernels.at[k].lines.at[i].file;
            if (file && !(*gp_map_put(&asked, file, 0))++)
                add_source(to, s, file, root, began ? atoll(began) : 0);
        }
    gp_map_release(&asked);
    return 0;
}

/* ---- instructions ---- */

static bool is_listing(const void *head, size_t n) { return !gp_begin(head, n, "\177ELF"); }

/* What CUDA's own program prints of the file at PATH, whose first bytes are in TEXT, takes their place. The
 * shell sees names from outside only as the values of variables. */
static int disassemble(const char *path, const struct gp_stalls *s, struct gp_buf *text, struct gp_err *err)
{
    const bool cubin = text->n >= 20 && (uint8_t)text->data[18] == EM_CUDA && !text->data[19];
    const char *command = cubin ? "exec timeout 60 nvdisasm -c \"$GP_FILE\""
                                : "exec timeout 60 cuobjdump -sass -fun \"$GP_FUNCTIONS\" \"$GP_FILE\"";
    char whole[PATH_MAX];
    struct gp_buf names = {0};
    int child;
    for (size_t k = 0; k < s->kernels.n && k < KERNELS; k++)
        gp_buf_printf(&names, "%s%s", k ? "," : "", gp_string(s->strings, s->kernels.at[k].name));
    setenv("GP_FUNCTIONS", gp_buf_str(&names), 1);
    setenv("GP_FILE", realpath(path, whole) ? whole : path, 1);
    gp_buf_release(&names);
    text->n = 0;
    int fd = gp_command_start(command, &child, err);
    if (fd < 0) return gp_err_context(err, "--sass %s", path);
    struct gp_input *in = gp_input_open_fd(fd, "its output", 1);
    int failed = gp_input_rest(in, SASS_BYTES, text, err);
    gp_input_close(in);
    failed = gp_command_end(child, failed ? NULL : err) || failed;
    if (!failed) return 0;
    return gp_err_context(err, "--sass %s: %s of the CUDA toolkit", path, cubin ? "nvdisasm" : "cuobjdump");
}

static int add_sass(struct gp_app_code *to, const struct gp_trace *t, const struct gp_stalls *s,
                    const char *path, struct gp_err *err)
{
    struct gp_buf text = {0};
    char arch[32] = "";
    const struct gp_device *d = t->devices.at;
    if (t->devices.n) snprintf(arch, sizeof arch, "sm_%d%d", (int)d->cc_major, (int)d->cc_minor);
    int failed = gp_input_all(path, is_listing, SASS_BYTES, &text, err);
    if (failed) (void)gp_err_context(err, "--sass");
    else if (!is_listing(text.data, text.n)) failed = disassemble(path, s, &text, err);
    for (size_t k = 0; k < s->kernels.n && k < KERNELS && !failed; k++) {
        struct gp_listing l = {.of = s->kernels.at[k].name, .path = gp_intern_cstr(s->strings, path)};
        if (gp_listing_sass(&l, text.data, text.n, gp_string(s->strings, l.of), arch))
            GP_VEC_PUSH(&to->all, l);
    }
    gp_buf_release(&text);
    return failed;
}

int gp_app_code(struct gp_app_code *to, const struct gp_trace *t, const struct gp_stalls *s,
                const char *source, const char *sass, struct gp_err *err)
{
    if (source && add_sources(to, t, s, source, err)) return -1;
    return sass ? add_sass(to, t, s, sass, err) : 0;
}

void gp_app_code_release(struct gp_app_code *c)
{
    for (size_t i = 0; i < c->all.n; i++) gp_listing_release(&c->all.at[i]);
    GP_VEC_FREE(&c->all);
}
