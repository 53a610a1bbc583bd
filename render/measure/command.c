#include "render/measure/command.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "analyze/app/app_ceilings.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/base/input.h"
#include "render/calibrate/calibrate_formats.h"
#include "render/measure/calibrate.h"

enum { DONE = 0, SLOWER = 1, FAILED = 2, DOCUMENT_MOST = 1 << 20 };

static int check(const struct gp_calibrate_opts *o, struct gp_err *err)
{
    if (!o->op && (o->type || o->sizes || o->format))
        return gp_fail(err, GP_E_USAGE, -1, "%s requires --op",
                       o->type    ? "--dtype"
                       : o->sizes ? "--sizes"
                                  : "--format");
    if (o->op && o->compare)
        return gp_fail(err, GP_E_USAGE, -1, "--compare compares ceilings, not operations (--op)");
    return 0;
}

/* ---- comparison ---- */

/* The base is read before anything is measured, so that a wrong name is reported at once. */
static int read_base(const struct gp_calibrate_opts *o, double *base, struct gp_err *err)
{
    if (!o->compare || !strcmp(o->compare, "sheet") || !strcmp(o->compare, "siblings")) return 0;
    struct gp_buf text = {0};
    int failed = gp_input_all(o->compare, NULL, DOCUMENT_MOST, &text, err) ||
                 (gp_compare_document(base, text.data ? text.data : "", text.n, err) &&
                  gp_err_context(err, "%s", o->compare));
    gp_buf_release(&text);
    return failed ? -1 : 0;
}

static int settle_base(const struct gp_calibrate_opts *o, const struct gp_calibration *c, double *base,
                       const char **name, struct gp_err *err)
{
    *name = o->compare;
    if (!strcmp(o->compare, "sheet")) {
        *name = "attainable share of the data sheet";
        if (!gp_compare_sheet(base, c->devices[0].device))
            return gp_fail(err, GP_E_USAGE, -1, "--compare sheet: no data sheet is known for '%s'",
                           c->devices[0].device);
    }
    if (!strcmp(o->compare, "siblings")) {
        *name = "the median of its siblings";
        if (c->n < 2) return gp_fail(err, GP_E_USAGE, -1, "--compare siblings: there is only one device");
        gp_compare_siblings(base, c->devices, c->n);
    }
    return 0;
}

/* ---- the cache ---- */

static int make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        int failed = mkdir(path, 0777) && errno != EEXIST;
        *slash = '/';
        if (failed) return -1;
    }
    return 0;
}

/* For trace-suggest, which looks there. That it cannot be kept spoils nothing else. */
static void keep(const struct gp_calibrate_answer *a, const struct gp_calibrate_io *io)
{
    struct gp_buf path = {0}, message = {0};
    struct gp_err err = {0};
    if (gp_ceilings_cache_path(&path, a->c->devices[0].device)) {
        (void)gp_buf_str(&path);
        if (make_folders(path.data) ||
            gp_answer_write(gp_ceilings_formats, (void *)(uintptr_t)a, path.data, &err))
            gp_buf_printf(&message, "%s: cannot be written, so trace-suggest will not find it", path.data);
        else gp_buf_printf(&message, "kept for trace-suggest in %s", path.data);
        io->progress(gp_buf_str(&message));
    }
    gp_buf_release(&path);
    gp_buf_release(&message);
}

/* ---- results ---- */

static int write_ceilings(const struct gp_calibrate_opts *o, const struct gp_calibrate_io *io,
                          struct gp_calibrate_answer *a, double *base, struct gp_err *err)
{
    struct gp_compare compare;
    struct gp_buf text = {0};
    bool document = io->output || (!io->terminal && !o->compare);
    if (o->compare) {
        if (settle_base(o, a->c, base, &a->base, err)) return FAILED;
        gp_compare_begin(&compare, a->c->devices, a->c->n, base, o->tolerance);
        a->compare = &compare;
    }
    keep(a, io);
    if (document && gp_answer_write(gp_ceilings_formats, a, io->output, err)) return FAILED;
    if (!document || io->output) {
        if (gp_answer_write(gp_answer_format(gp_ceilings_formats, "text"), a, NULL, err)) return FAILED;
    } else if (!io->quiet) { /* the document has standard output */
        gp_ceilings_text(&text, a);
        fwrite(text.data, 1, text.n, stderr);
        gp_buf_release(&text);
    }
    return a->compare && compare.worse ? SLOWER : DONE;
}

static int write_sweep(const struct gp_calibrate_opts *o, const struct gp_calibrate_io *io,
                       struct gp_calibrate_answer *a, struct gp_err *err)
{
    const struct gp_answer_format *f = gp_answer_format(gp_sweep_formats, o->format ? o->format : "text");
    return gp_answer_write(f, a, io->output, err) ? FAILED : DONE;
}

int gp_calibrate_command(const struct gp_calibrate_opts *o, const struct gp_calibrate_io *io,
                         struct gp_err *err)
{
    struct gp_calibration c = {0};
    double base[GP_FIGURE_COUNT] = {0};
    struct gp_calibrate_plan plan = {.full = o->calibrate && !strcmp(o->calibrate, "full"),
                                     .force = o->force,
                                     .devices = o->device,
                                     .ops = o->op,
                                     .type = o->type,
                                     .sizes = o->sizes};
    struct gp_calibrate_answer a = {.c = &c, .color = io->color, .width = io->width};
    int status = FAILED;
    if (!check(o, err) && !read_base(o, base, err) && !gp_calibrate(&c, &plan, io->progress, err))
        status = o->op ? write_sweep(o, io, &a, err) : write_ceilings(o, io, &a, base, err);
    gp_calibration_release(&c);
    return status;
}
