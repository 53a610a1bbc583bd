/* chrome_producers_priv.h -- private to formats/chrome: which process of a file is of which producer and
 * rank, and which of them has which ids, as two members of the outer object. A Chrome trace has no place for
 * them.
 *
 *     gp_chrome_put_producers(&buf, &trace, &rows);        // "gpuprofProcesses":[[PID,IDS,PRODUCER,RANK],...],
 *     gp_chrome_take_producers(&trace);                    // after all events were read: undoes what the writer did to ids
 */
#ifndef GP_FORMATS_CHROME_PRODUCERS_PRIV_H
#define GP_FORMATS_CHROME_PRODUCERS_PRIV_H

#include "formats/base/declare.h"
#include "formats/chrome/chrome_rows.h"
#include "formats/model/trace.h"

#define GP_CHROME_PROCESSES "gpuprofProcesses" /* IDS * 2^32 was added to the ids of the process */
#define GP_CHROME_DEVICES   "gpuprofDevices"   /* the producer of each of deviceProperties */

/* Nothing if T has one producer, number 0, and no ranks of processes. */
void gp_chrome_put_producers(struct gp_buf *b, const struct gp_trace *t, const struct gp_chrome_rows *rows);
/* Give T, which is not finished yet, what its metadata says of that, which is then removed. */
void gp_chrome_take_producers(struct gp_trace *t);

#endif
