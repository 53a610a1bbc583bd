/* chrome_rows.h -- which pid and tid a track of the model gets in a Chrome trace, where only (pid, tid)
 * distinguishes rows and only a number connects events. Knows nothing about JSON.
 *
 * The rule. A track that was read from a Chrome trace keeps its pid and tid, and so does every host thread. A
 * stream recorded by gpuprof-collect belongs to the process that used it (such a trace has clock pairs, and
 * its processes have threads and streams); it gets the row that Kineto would give it: pid = device ordinal,
 * tid = stream. If that number is taken (another process, another producer's device, another context's
 * stream), 10,000,000 is added until it is free: system pids stay below 2^22. Of several producers, the first
 * one in the file keeps its correlation ids; K * 2^32 is added to those of the K-th after it.
 *
 *     struct gp_chrome_rows rows;
 *     gp_chrome_rows_make(&rows, &trace);
 *     printf("%lld\n", (long long)rows.tracks[e->track[i]].tid);
 *     gp_chrome_rows_release(&rows);
 */
#ifndef GP_FORMATS_CHROME_ROWS_H
#define GP_FORMATS_CHROME_ROWS_H

#include <stdbool.h>
#include <stdint.h>
#include "formats/model/trace.h"

#define GP_CHROME_ROW_STEP 10000000

struct gp_chrome_row {
    int64_t pid, tid;
    gp_sid pid_text, tid_text; /* 0: the number is used */
    uint32_t producer;         /* 0, 1, ...: in order of first appearance */
    bool placed_here;          /* the stream was in its process */
};

/* A row group for a device that is not in any process of the trace. */
struct gp_chrome_device {
    uint32_t producer, process; /* dense producer number; the process of the streams */
    int64_t device, pid;
};

struct gp_chrome_rows {
    struct gp_chrome_row *tracks; /* by index of the trace's tracks */
    int64_t *process_pids;        /* by index of the trace's processes; nothing if the pid is text */
    GP_VEC(struct gp_chrome_device) devices;
    uint32_t producers; /* how many there are */
};

/* Assign a row to every track of T. O(tracks + processes). */
void gp_chrome_rows_make(struct gp_chrome_rows *r, const struct gp_trace *t);
void gp_chrome_rows_release(struct gp_chrome_rows *r);

/* A correlation or External id that is unique in the file. GP_NO_ID does not change. */
static inline uint64_t gp_chrome_unique_id(const struct gp_chrome_row *row, uint64_t id)
{
    return id == GP_NO_ID ? id : id + ((uint64_t)row->producer << 32);
}

#endif
