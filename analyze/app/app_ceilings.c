#include "analyze/app/app_ceilings.h"

#include <string.h>
#include <unistd.h>
#include "analyze/app/ceilings_cache.h"
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
