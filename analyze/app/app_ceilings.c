#include "analyze/app/app_ceilings.h"

#include <string.h>
#include <unistd.h>
#include <stdlib.h>
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/ceilings_read.h"

static int parse(void *ctx, const char *text, size_t n, struct gp_err *err)
{
    struct gp_ceilings_file f;
    return gp_ceilings_read(&f, text, n, err) ? -1 : gp_ceilings_of_file(ctx, &f, err);
}

static void find_kept(const struct gp_app *f, const char *device, struct gp_ceilings *c, bool *measured)
{
    struct gp_buf path = {0};
    struct gp_err err = {0};
    if (gp_ceilings_cache_path(&path, device) && !access(gp_buf_str(&path), R_OK)) {
        *measured = !gp_app_file(path.data, GP_SMALL_FILE_BYTES, parse, c, &err);
        if (!*measured) gp_cli_warn(f->tool, "%s; not used", err.msg);
        else if (!f->opts->common.quiet)
            gp_cli_warn(f->tool, "ceilings: measured on this machine, %s", path.data);
    }
    gp_buf_release(&path);
}

int gp_app_ceilings(const struct gp_app *f, const char *path, const char *device, struct gp_ceilings *c,
                    bool *measured, struct gp_err *err)
{
    if (!path) find_kept(f, device, c, measured);
    if (!path || !strcmp(path, "none")) return 0;
    *measured = true;
    return gp_app_file(path, GP_SMALL_FILE_BYTES, parse, c, err);
}

/* ---- where they are kept ---- */

static bool is_kept(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.'; }

/* Letters and digits in lower case, with one '-' for what lies between them. */
static bool put_name(struct gp_buf *path, const char *name)
{
    size_t start = path->n;
    for (bool gap = false; *name; name++) {
        char c = *name >= 'A' && *name <= 'Z' ? (char)(*name + 32) : *name;
        if (is_kept(c) && (c != '.' || path->n > start)) {
            if (gap && path->n > start) gp_buf_putc(path, '-');
            gp_buf_putc(path, c);
            gap = false;
        } else {
            gap = true;
        }
    }
    return path->n > start;
}

bool gp_ceilings_cache_path(struct gp_buf *path, const char *name)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    size_t start = path->n;
    if (cache && *cache == '/') gp_buf_puts(path, cache);
    else if (home && *home == '/') gp_buf_printf(path, "%s/.cache", home);
    else return false;
    gp_buf_puts(path, "/gpuprof/ceilings/");
    if (put_name(path, name)) {
        gp_buf_puts(path, ".json");
        return true;
    }
    path->n = start;
    return false;
}
