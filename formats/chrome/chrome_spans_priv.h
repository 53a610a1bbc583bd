/* chrome_spans_priv.h -- private to the Chrome reader: what only the whole input decides. Spans from B and E
 * events, and the meaning of the members of the outer object.
 */
#ifndef GP_FORMATS_CHROME_SPANS_PRIV_H
#define GP_FORMATS_CHROME_SPANS_PRIV_H

#include "formats/model/trace.h"

/* Makes spans of the B and E events in OPEN (see struct gp_chrome_chunk) and adds them to T. On each track,
 * an E without a name ends the span that began last, and one with a name the last one of that name. Spans
 * that never end are ended at LAST_NS. */
void gp_chrome_pair_spans(struct gp_trace *t, const struct gp_events *open, int64_t last_ns);

/* A member of the outer object: devices, rank, or metadata as written. VALUE is valid JSON. */
void gp_chrome_take_meta(struct gp_trace *t, const char *key, const char *value, size_t n);

#endif
