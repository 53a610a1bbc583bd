
#include <inttypes.h>
#include "analyze/compile/compile_priv.h"
#include "formats/base/buf.h"
#include "formats/base/num.h"
#include "formats/base/scale.h"
#include "formats/base/str.h"

enum { SHOWN_VALUES = 4 };

const char *gp_compile_short_path(const char *path)
{
    const char *p = strstr(path, "site-packages/");
    if (!p) p = strstr(path, "dist-packages/");
    return p ? p : path;
}

void gp_compile_put_place(struct gp_buf *to, const struct gp_compile *c, gp_sid file, int32_t line,
                          gp_sid function)
{
    const char *path = gp_compile_str(c, file), *f = gp_compile_str(c, function);
    gp_buf_puts(to, gp_base_name(path));
    if (line >= 0) gp_buf_printf(to, ":%" PRId32, line);
    if (*f) gp_buf_printf(to, "%s%s", *path ? " " : "", f);
    if (!*f && !*path) gp_buf_puts(to, "place unknown");
}

/* Are the values whole numbers, each one more than the one before? */
static bool is_run(const struct gp_compile *c, const struct gp_compile_recompile *r)
{
    int64_t v, last = 0;
    for (uint32_t i = 0; i < r->n_values; i++) {
        const char *s = gp_compile_str(c, c->values.at[r->first_value + i]);
        if (!gp_i64_from_text(s, strlen(s), &v) || (i && v != last + 1)) return false;
        last = v;
    }
    return r->n_values > 2;
}

void gp_compile_put_values(struct gp_buf *to, const struct gp_compile *c,
                           const struct gp_compile_recompile *r)
{
    if (is_run(c, r)) {
        gp_buf_printf(to, "%s..%s", gp_compile_str(c, c->values.at[r->first_value]),
                      gp_compile_str(c, c->values.at[r->first_value + r->n_values - 1]));
        return;
    }
    for (uint32_t i = 0; i < r->n_values && i < SHOWN_VALUES; i++)
        gp_buf_printf(to, "%s%s", i ? ", " : "", gp_compile_str(c, c->values.at[r->first_value + i]));
    if (r->n_values > SHOWN_VALUES) gp_buf_printf(to, " and %" PRIu32 " more", r->n_values - SHOWN_VALUES);
}

void gp_compile_put_count(struct gp_buf *to, uint64_t n, const char *one, const char *many)
{
    gp_scale_put_count(to, n);
    gp_buf_printf(to, " %s", n == 1 ? one : many);
}

void gp_compile_get_path(struct gp_cell *c, const struct gp_field *f, const void *row,
                         const struct gp_row_of *x)
{
    gp_member_name(c, f, row, x);
    if (!c->none) gp_cell_text(c, gp_compile_short_path(c->text));
}

void gp_compile_get_index(struct gp_cell *c, const struct gp_field *f, const void *row,
                          const struct gp_row_of *x)
{
    gp_member_u32(c, f, row, x);
    c->none = c->i == GP_CLOG_NONE;
}

struct gp_row_of gp_compile_rows_of(const struct gp_compile *c)
{
    return (struct gp_row_of){.of = c, .strings = &c->log->strings, .whole_ns = c->time.total_ns};
}
