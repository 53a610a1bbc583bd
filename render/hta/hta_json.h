/* hta_json.h -- the answer of trace-hta as one JSON object, as schemas/trace-hta.schema.json describes it.
 * Integers stay integers, unknown figures are null, every field's name ends in its unit.
 *
 *     gp_hta_json_write(&buf, &hta, &(struct gp_hta_json_opts){.version = "1.0", .top = 10});
 */
#ifndef GP_RENDER_HTA_JSON_H
#define GP_RENDER_HTA_JSON_H

#include "analyze/result/field.h"
#include "formats/base/declare.h"

struct gp_hta;

struct gp_hta_json_opts {
    const char *version; /* of the suite */
    const char *tool;    /* that writes; NULL: trace-hta. The document is the same. */
    size_t top;          /* elements of lists that grow with the number of names; 0: all */
    bool steps;          /* every step, not only their spread */
    bool whole;          /* findings about everything, not only the steps */
};

extern const struct gp_record gp_hta_ranks, gp_hta_matching; /* one: struct gp_hta */

/* H must be finished. Appends the object and a newline. */
void gp_hta_json_write(struct gp_buf *b, const struct gp_hta *h, const struct gp_hta_json_opts *o);

#endif
