/* compile_log_priv.h -- shared by the parts of the reader of compile logs: the state of one file, fields of
 * JSON, and pieces of text. Private to formats/compile_log. */
#ifndef GP_FORMATS_COMPILE_LOG_PRIV_H
#define GP_FORMATS_COMPILE_LOG_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/base/buf.h"
#include "formats/base/json_scan.h"
#include "formats/base/str.h"
#include "formats/compile_log/compile_log.h"
#include "formats/compile_log/log_lines.h"

/* A piece of text. */
struct gp_span_text {
    const char *p;
    size_t n;
};

/* An open span of compile time. */
struct gp_clog_open {
    uint32_t span;
    int64_t offset;
};

/* Of one process while its file is read. */
struct gp_clog_state {
    uint32_t process; /* index into log->processes */
    uint64_t pid;
    GP_VEC(struct gp_clog_open) stack;
    int64_t last_ns;
    gp_sid graph_compile_id;  /* of the last graph that was handed to inductor */
    int64_t operators, views; /* in the graph */
};

/* What the metadata of a record says beside its name. */
struct gp_clog_context {
    gp_sid compile_id; /* 0: none */
    int32_t attempt;
    bool has_payload;
    struct gp_span_text digest;
};

/* Lines of a text log that belong together. */
struct gp_clog_message {
    struct gp_buf artifact, text;
    gp_sid compile_id;
    uint64_t process;
    int64_t at_us;
};

struct gp_clog_reader {
    struct gp_compile_log *log;
    uint32_t input; /* index into log->inputs */
    GP_VEC(struct gp_clog_state) states;
    struct gp_map files; /* interned file names: number -> sid */
    const struct gp_log_line *line;
    struct gp_clog_context context;
    struct gp_buf payload; /* without tabs, with zeros behind */
    size_t payload_n;
    struct gp_buf scratch;
    struct gp_clog_message message;
    bool last_damaged; /* the last record so far is cut */
};

/* ---- issues ---- */

/* N of them in IN, the first at OFFSET. */
void gp_clog_issues(struct gp_clog_input *in, enum gp_clog_issue_kind kind, uint64_t n, int64_t offset);
void gp_clog_issue(struct gp_clog_reader *rd, enum gp_clog_issue_kind kind, int64_t offset);

/* ---- the record at hand ---- */

/* The state of the process that wrote it; made when it is new. Valid until the next call. */
struct gp_clog_state *gp_clog_state_of(struct gp_clog_reader *rd);
/* Its payload, checked against its digest; counts when there is none, which is then empty. */
struct gp_span_text gp_clog_payload(struct gp_clog_reader *rd);
/* The first member of an object that is its payload, *END behind it; NULL, and counted, if it is none. */
const char *gp_clog_payload_object(struct gp_clog_reader *rd, const char **end);

/* ---- JSON ---- */

/* The members of V, which must be an object (elements: an array): where to start, or NULL. */
const char *gp_clog_inside(const struct gp_json_value *v, enum gp_json_kind kind);
/* A string, decoded; 0 for anything else. */
gp_sid gp_clog_sid(struct gp_clog_reader *rd, const struct gp_json_value *v);
/* Whole numbers, also written as a float; DFLT for anything else. */
int64_t gp_clog_int(const struct gp_json_value *v, int64_t dflt);
/* Microseconds (SHIFT 0), milliseconds (3) or seconds (6), with a fraction, as exact ns; -1 for anything
 * else. */
int64_t gp_clog_ns(const struct gp_json_value *v, int shift);
static inline bool gp_clog_true(const struct gp_json_value *v)
{
    return v->kind == GP_JSON_WORD && gp_is(v->p, v->n, "true");
}
/* A string that is JSON itself: decoded into rd->scratch. False for anything but a string. */
bool gp_clog_nested(struct gp_clog_reader *rd, const struct gp_json_value *v, struct gp_json_value *inner);
/* "0/0_1", "[0/0]", "!0/1/0": the compile id without brackets and attempt; 0 for "None" and other text. */
gp_sid gp_clog_compile_id(struct gp_clog_reader *rd, const char *s, size_t n, int32_t *attempt);

/* ---- text ---- */

/* Where WHAT stands in T, or NULL. */
const char *gp_text_find(struct gp_span_text t, const char *what);
bool gp_text_begins(struct gp_span_text t, const char *with);
/* Cut the first line off *REST; false, and an empty *LINE, when there is none. */
bool gp_text_line(struct gp_span_text *rest, struct gp_span_text *line);
struct gp_span_text gp_text_trim(struct gp_span_text t);
/* The text from P on. */
static inline struct gp_span_text gp_text_from(struct gp_span_text t, const char *p)
{
    return (struct gp_span_text){p, (size_t)(t.p + t.n - p)};
}
gp_sid gp_clog_text_sid(struct gp_clog_reader *rd, struct gp_span_text t);
/* `File "X", line N, in F`. False for other lines. */
bool gp_clog_frame_line(struct gp_span_text line, struct gp_span_text *file, int32_t *number,
                        struct gp_span_text *function);
/* Is it a file of Python or of an installed package? */
bool gp_clog_is_library(struct gp_span_text file);

/* ---- kinds of records: each is called with the record's value ---- */

void gp_clog_read_event(struct gp_clog_reader *rd, const struct gp_json_value *v);
void gp_clog_close_events(struct gp_clog_reader *rd);
void gp_clog_read_metrics(struct gp_clog_reader *rd, const struct gp_json_value *v,
                          enum gp_clog_metrics_kind kind);
void gp_clog_read_break(struct gp_clog_reader *rd, struct gp_span_text text, enum gp_clog_source source);
void gp_clog_read_failure(struct gp_clog_reader *rd, const struct gp_clog_metrics *m);
void gp_clog_read_recompiles(struct gp_clog_reader *rd);
void gp_clog_add_recompile(struct gp_clog_reader *rd, uint32_t process, gp_sid compile_id,
                           struct gp_span_text reason, int32_t order, enum gp_clog_source source);
void gp_clog_read_cache(struct gp_clog_reader *rd, enum gp_clog_cache_layer layer,
                        enum gp_clog_cache_state state);
void gp_clog_read_lowered(struct gp_clog_reader *rd);
void gp_clog_read_code(struct gp_clog_reader *rd, const struct gp_json_value *v);
void gp_clog_read_kernel_info(struct gp_clog_reader *rd);
void gp_clog_read_options(struct gp_clog_reader *rd);

/* A line of a text log; at the end of the file the last message is given out. */
void gp_clog_read_text(struct gp_clog_reader *rd);
void gp_clog_end_message(struct gp_clog_reader *rd);

/* ---- MD5 ----
 * The MD5 digest of bytes in memory, for checking the payloads of a log against what was written of
 * them. No protection against forgery. Knows nothing about logs.
 *
 *     uint8_t digest[GP_MD5_BYTES];
 *     gp_md5(GP_TEXT("abc"), digest);                        // 90 01 50 98 ...
 */

enum { GP_MD5_BYTES = 16 };

void gp_md5(const void *data, size_t n, uint8_t digest[GP_MD5_BYTES]);

#endif
