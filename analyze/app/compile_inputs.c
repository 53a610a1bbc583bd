#include "analyze/app/compile_inputs.h"

#include <stdlib.h>
#include <string.h>
#include "formats/base/err.h"
#include "formats/base/input.h"
#include "formats/base/mem.h"

enum { HEAD = 1 << 16 };

/* A log, or otherwise what gp_app_trace_input() reads. Among others an empty file is the log of a process
 * that compiled nothing. */
static int sort_input(struct gp_compile_inputs *j, const char *path, struct gp_err *err)
{
    size_t n;
    struct gp_input *in = gp_input_open(path, j->app->threads.each, err);
    if (!in) return -1;
    const uint8_t *head = gp_input_peek(in, HEAD, &n);
    if (!n && !j->files.at.n && j->app->n == 1) {
        gp_input_close(in);
        return gp_fail(err, GP_E_FORMAT, -1, "%s: the file is empty", path);
    }
    bool log = !n || gp_compile_log_sniff(head, n);
    if (log) {
        struct gp_app_meter meter = {.app = j->app};
        j->log->progress = gp_app_bytes;
        j->log->progress_ctx = &meter;
        gp_compile_log_read(j->log, in, path);
        j->log->progress = NULL;
    } else if (!strcmp(path, "-")) { /* it cannot be opened again */
        struct gp_trace t;
        int failed = gp_app_trace_input(j->app, in, GP_COMPILE_NEED, &t, err);
        if (!failed) {
            failed = gp_compile_add_trace(j->c, GP_COMPILE_RUN, NULL, &t, err);
            gp_trace_release(&t);
        }
        gp_input_close(in);
        return failed;
    } else {
        GP_VEC_PUSH(&j->traces, (struct gp_compile_input_trace){.path = path, .role = GP_COMPILE_RUN});
    }
    gp_input_close(in);
    return 0;
}

static int sort_operand(struct gp_compile_inputs *j, const char *path, struct gp_err *err)
{
    if (!strcmp(path, "-") || !gp_log_is_folder(path)) return sort_input(j, path, err);
    size_t from = j->files.at.n;
    int failed = gp_log_folder(path, &j->files, err);
    for (size_t i = from; i < j->files.at.n && !failed; i++) failed = sort_input(j, j->files.at.at[i], err);
    return failed;
}

/* "NAME=TRACE" */
static int add_mode(struct gp_compile_inputs *j, const char *text, struct gp_err *err)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || !equals[1])
        return gp_fail(err, GP_E_USAGE, -1, "--other-mode: '%.100s' is not NAME=TRACE", text);
    char *name = gp_alloc((size_t)(equals - text) + 1);
    memcpy(name, text, (size_t)(equals - text));
    name[equals - text] = '\0';
    GP_VEC_PUSH(&j->names, name);
    GP_VEC_PUSH(&j->traces,
                (struct gp_compile_input_trace){.path = equals + 1, .name = name, .role = GP_COMPILE_MODE});
    return 0;
}

static int read_trace(struct gp_compile_inputs *j, const struct gp_compile_input_trace *one,
                      struct gp_err *err)
{
    struct gp_trace t;
    struct gp_input *in = gp_input_open(one->path, j->app->threads.each, err);
    if (!in) return -1;
    int failed = gp_app_trace_input(j->app, in, GP_COMPILE_NEED, &t, err);
    gp_input_close(in);
    if (failed) return gp_err_context(err, "%s", one->path);
    if (!t.events[GP_GPU].n) failed = gp_fail(err, GP_E_FORMAT, -1, "%s: no GPU events", one->path);
    if (!failed) failed = gp_compile_add_trace(j->c, one->role, one->name, &t, err);
    gp_trace_release(&t);
    return failed;
}

int gp_compile_inputs_read(struct gp_compile_inputs *j, const char *eager, const char *const *modes, size_t n,
                           struct gp_err *err)
{
    for (size_t i = 0; i < j->app->n; i++)
        if (sort_operand(j, j->app->paths[i], err)) return -1;
    if (eager)
        GP_VEC_PUSH(&j->traces,
                    (struct gp_compile_input_trace){.path = eager, .role = GP_COMPILE_EAGER_TRACE});
    for (size_t i = 0; i < n; i++)
        if (add_mode(j, modes[i], err)) return -1;
    for (size_t i = 0; i < j->traces.n; i++)
        if (read_trace(j, &j->traces.at[i], err)) return -1;
    return 0;
}

void gp_compile_inputs_release(struct gp_compile_inputs *j)
{
    gp_log_files_release(&j->files);
    for (size_t i = 0; i < j->names.n; i++) free(j->names.at[i]);
    GP_VEC_FREE(&j->names);
    GP_VEC_FREE(&j->traces);
}
