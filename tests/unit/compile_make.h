/* compile_make.h -- logs of torch.compile for tests, record by record, and the answer about them.
 *
 *     struct gp_compile c;
 *     struct gp_compile_log log =
 *         compile_log_of(EVENT("0/0", "dynamo", "B", "1000") EVENT("0/0", "dynamo", "E", "1500"));
 *     compile_finish(&c, &log);
 *     assert_int_equal(c.time.total_ns, 500000);
 *     compile_release(&c, &log);
 */
#ifndef GP_TESTS_COMPILE_MAKE_H
#define GP_TESTS_COMPILE_MAKE_H

#include <string.h>
#include "analyze/compile/compile.h"
#include "formats/base/input.h"

#define P "V1122 12:05:49.468000 456 t.py:1] "
#define EVENT(id, name, ph, ts)                                                                              \
    P "{\"chromium_event\": {}, \"has_payload\": \"\"}\n\t{\"name\": \"" name "\", \"ts\": " ts              \
      ", \"args\": {\"compile_id\": \"" id "\"}, \"ph\": \"" ph "\"}\n"
#define METRICS(frame, compile, more)                                                                        \
    P "{\"compilation_metrics\": {" more "}, \"frame_id\": " frame ", \"frame_compile_id\": " compile        \
      ", \"attempt\": 0}\n"
#define BREAK(frame, compile, number, line)                                                                  \
    P "{\"artifact\": {\"name\": \"dynamo_graph_break_reason\"}, \"frame_id\": " frame                       \
      ", \"frame_compile_id\": " compile ", \"has_payload\": \"\"}\n"                                        \
      "\tGraph break in user code at a.py:" line "\n\tGraph Break Reason: k" number                          \
      "\n\t  Explanation: x\n\t\n\t /gb/gb" number ".html\n\t\n"                                             \
      "\tUser code traceback:\n\t  File \"a.py\", line " line ", in f\n\t    x\n"
#define RECOMPILE(frame, compile, text)                                                                      \
    P "{\"artifact\": {\"name\": \"recompile_reasons\"}, \"frame_id\": " frame                               \
      ", \"frame_compile_id\": " compile ", \"has_payload\": \"\"}\n\t" text "\n"

static inline struct gp_compile_log compile_log_of(const char *text)
{
    struct gp_compile_log log = {0};
    struct gp_input *in = gp_input_memory(text, strlen(text), 1);
    gp_compile_log_read(&log, in, "log");
    gp_input_close(in);
    return log;
}

static inline void compile_finish(struct gp_compile *c, struct gp_compile_log *log)
{
    gp_compile_init(c, log, NULL);
    gp_compile_finish(c);
}

static inline void compile_release(struct gp_compile *c, struct gp_compile_log *log)
{
    gp_compile_release(c);
    gp_compile_log_release(log);
}

#endif
