/* compile_inputs.h -- the inputs of trace-compile: logs, folders of logs and GPU traces, in any order. Logs
 * are read first, because traces join them.
 *
 *     struct gp_compile_inputs in = {.app = &front, .log = &log, .c = &compile};
 *     int failed = gp_compile_inputs_read(&in, NULL, NULL, 0, &err);
 *     gp_compile_inputs_release(&in);
 */
#ifndef GP_ANALYZE_APP_COMPILE_INPUTS_H
#define GP_ANALYZE_APP_COMPILE_INPUTS_H

#include "analyze/compile/compile.h"
#include "analyze/app/app.h"
#include "formats/base/vec.h"
#include "formats/compile_log/compile_log.h"

/* A trace that is read once all logs are. */
struct gp_compile_input_trace {
    const char *path, *name; /* name: of the mode, NULL for other roles */
    enum gp_compile_role role;
};

struct gp_compile_inputs {
    struct gp_app *app;         /* whose inputs are read; borrowed, like the next two */
    struct gp_compile_log *log; /* what logs are read into */
    struct gp_compile *c;       /* what traces are added to */
    /* private */
    struct gp_log_files files; /* of folders */
    GP_VEC(struct gp_compile_input_trace) traces;
    GP_VEC(char *) names; /* of modes */
};

/* Read all inputs of the front, then the trace EAGER, NULL for none, and those of the N MODES, "NAME=TRACE"
 * each. The rest of J is zero before. On failure, -1, J is to be released as well. */
GP_MUST_CHECK int gp_compile_inputs_read(struct gp_compile_inputs *j, const char *eager,
                                         const char *const *modes, size_t n, struct gp_err *err);
void gp_compile_inputs_release(struct gp_compile_inputs *j);

#endif
