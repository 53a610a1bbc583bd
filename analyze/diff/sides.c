#include "analyze/diff/sides.h"

#include <stdlib.h>
#include <string.h>
#include "analyze/diff/baseline.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/base/mem.h"

static int usage(struct gp_err *err, const char *message)
{
    return gp_fail(err, GP_E_USAGE, -1, "%s", message);
}

static int check_asked(const struct gp_sides_asked *a, struct gp_err *err)
{
    bool listed = a->base.n || a->current.n;
    if ((a->save || a->against) && !a->folder)
        return gp_fail(err, GP_E_USAGE, -1, "--%s requires --baseline-dir", a->save ? "save" : "against");
    if (a->save && gp_baseline_check_name(a->save, err)) return gp_err_context(err, "--save");
    if (a->against && a->base.n)
        return usage(err, "--against and --base both name the baseline: use one of them");
    if (listed && a->args.n)
        return gp_fail(err, GP_E_USAGE, -1, "unexpected operand '%s' with --base/--current", a->args.at[0]);
    if (listed || a->against || (a->save && a->args.n == 1) || a->args.n == 2) return 0;
    return usage(err, "two traces are required, BASE and CUR; to compare several, use --base and --current");
}

static int check_sides(const struct gp_sides *s, bool save, struct gp_err *err)
{
    size_t dashes = 0;
    for (size_t i = 0; i < s->n; i++) dashes += !strcmp(s->paths[i], "-");
    if (s->n == s->n_base) return usage(err, "no trace to compare with the baseline");
    if (!gp_sides_compare(s) && !save) return usage(err, "no baseline: use --base or --against");
    if (dashes > 1) return usage(err, "only one trace can be read from standard input");
    return 0;
}

static void add_paths(struct gp_sides *s, const struct gp_paths *p)
{
    for (size_t i = 0; i < p->n; i++) s->paths[s->n++] = p->at[i];
}

int gp_sides_sort(struct gp_sides *s, const struct gp_sides_asked *a, struct gp_err *err)
{
    if (check_asked(a, err)) return -1;
    *s = (struct gp_sides){.against = a->against};
    s->paths = gp_zalloc((a->args.n + a->base.n + a->current.n + 1) * sizeof *s->paths);
    add_paths(s, &a->base);
    s->n_base = s->n;
    add_paths(s, &a->current);
    add_paths(s, &a->args); /* where they are given there are no others */
    if (a->args.n == 2 && !a->against) s->n_base = 1;
    if (!check_sides(s, a->save, err)) return 0;
    gp_sides_release(s);
    return -1;
}

bool gp_sides_compare(const struct gp_sides *s) { return s->n_base || s->against; }

static void put_side(struct gp_buf *b, const char *const *paths, size_t n)
{
    const char *path = n ? paths[0] : "", *slash = strrchr(path, '/');
    gp_buf_puts(b, slash && slash[1] ? slash + 1 : path);
    if (n > 1) gp_buf_printf(b, " and %zu more", n - 1);
}

void gp_sides_put_names(struct gp_buf *b, const struct gp_sides *s)
{
    const char *const *paths = (const char *const *)s->paths;
    if (s->against) gp_buf_puts(b, s->against);
    else put_side(b, paths, s->n_base);
    gp_buf_puts(b, " \xE2\x86\x92 ");
    put_side(b, paths + s->n_base, s->n - s->n_base);
}

void gp_sides_release(struct gp_sides *s)
{
    free(s->paths);
    *s = (struct gp_sides){0};
}
