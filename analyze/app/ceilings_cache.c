#include "analyze/app/ceilings_cache.h"

#include <stdlib.h>
#include "formats/base/buf.h"

static bool is_kept(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.';
}

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
