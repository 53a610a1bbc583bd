/* log_lines.h -- a log of torch.compile as records: a line with the prefix that glog made common (level,
 * date, time, process, place), the rest of the line, and the lines below that begin with a tab.
 * Streaming: memory is that of the longest record. Damage is counted and located, never an error. Knows
 * nothing of the meaning of records.
 *
 *     struct gp_log_lines l;
 *     struct gp_log_line r;
 *     gp_log_lines_init(&l, in);
 *     while (gp_log_lines_next(&l, &r)) use(r.text, r.payload);
 *     gp_log_lines_release(&l);
 */
#ifndef GP_FORMATS_LOG_LINES_H
#define GP_FORMATS_LOG_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/base/buf.h"

struct gp_input; /* formats/base/input.h */

/* Longer records are cut there and counted. */
enum { GP_LOG_RECORD_MAX = 64 << 20 };

/* A record. What it points to is valid until the next call. */
struct gp_log_line {
    int64_t offset;    /* of its first byte in the decompressed input */
    char level;        /* V I W E C */
    uint64_t process;  /* the number in the prefix: process id, in old logs a thread's address */
    int64_t of_day_us; /* local time of the prefix since midnight */
    const char *place; /* "torch/_dynamo/guards.py:4760" */
    size_t place_n;
    const char *text; /* behind the prefix, without the end of the line; GP_JSON_PAD zeros follow */
    size_t text_n;
    const char *payload; /* lines below, as they stand; NULL: none */
    size_t payload_n;
    bool complete; /* a newline ends it */
};

/* What was not a record. */
struct gp_log_stats {
    uint64_t lines;                                    /* lines with a prefix: records that were handed out */
    uint64_t noise;                                    /* other lines that are not blank: of other loggers */
    uint64_t orphans;                                  /* payload lines without a record before them */
    uint64_t too_long;                                 /* records beyond GP_LOG_RECORD_MAX */
    int64_t first_noise, first_orphan, first_too_long; /* offsets; -1: none */
    uint64_t bytes;                                    /* read so far, decompressed */
};

struct gp_log_lines {
    struct gp_input *in;
    char *data; /* the window: bytes [at, n) are unread */
    size_t at, n, cap;
    int64_t base; /* offset of data[0] */
    bool ended;
    /* Called now and then with the bytes of the file read so far; NULL: not at all. Set after init. */
    void (*progress)(void *ctx, uint64_t bytes);
    void *progress_ctx;
    struct gp_buf text; /* of the record, with zeros behind */
    struct gp_log_stats stats;
};

/* IN is borrowed. Any content of L is overwritten. */
void gp_log_lines_init(struct gp_log_lines *l, struct gp_input *in);
/* The next record; false at the end. */
bool gp_log_lines_next(struct gp_log_lines *l, struct gp_log_line *r);
void gp_log_lines_release(struct gp_log_lines *l);

/* The payload without its tabs, appended to TO, lines joined by newlines. Blank lines between them and
 * carriage returns at their ends are left out. */
void gp_log_payload(const struct gp_log_line *r, struct gp_buf *to);

/* Do N bytes look like such a log: do the first lines hold any record? */
bool gp_log_sniff(const uint8_t *head, size_t n);

#endif
