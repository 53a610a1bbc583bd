/* fleet_lines.h -- what trace-fleet prints: events as lines of text or JSON, and the state as OpenMetrics.
 *
 *     gp_watch_line(&buf, &event, json);
 *     gp_watch_openmetrics(&buf, &state);
 */
#ifndef GP_RENDER_WATCH_LINES_H
#define GP_RENDER_WATCH_LINES_H

#include "analyze/live/watch.h"
#include "formats/base/declare.h"

/* One line, described by schemas/trace-fleet.schema.json where JSON. */
void gp_watch_line(struct gp_buf *b, const struct gp_watch_event *e, bool json);
void gp_watch_openmetrics(struct gp_buf *b, const struct gp_watch_state *s);

#endif
