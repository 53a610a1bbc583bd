/* live.h -- a recording that is still running, seen by way of the socket of gpuprof-collect --serve: every
 * second the last seconds are fetched as a trace and reported on by the tool that reports on any trace; all
 * who look share that. Safe in several threads.
 *
 *     struct gp_live_view *v = gp_live_view_new("/run/user/1000/train.sock", crew);
 *     struct gp_live_stream *s = gp_live_stream_open(v, &err);
 *     long n = gp_live_stream_read(s, buffer, sizeof buffer);       // waits; -1 at the end
 *     gp_live_stream_close(s);
 */
#ifndef GP_RENDER_SERVE_LIVE_H
#define GP_RENDER_SERVE_LIVE_H

#include <stddef.h>
#include <stdint.h>
#include "formats/base/declare.h"
#include "render/serve/child.h"

enum { GP_LIVE_STREAMS = 16 };

struct gp_live_view;
struct gp_live_stream;

/* SOCKET and CREW are borrowed. */
struct gp_live_view *gp_live_view_new(const char *socket, struct gp_crew *crew);
/* The last LAST_NS as a trace, in a descriptor that is the caller's. -1 with ERR filled. */
GP_MUST_CHECK int gp_live_fetch(const struct gp_live_view *v, int64_t last_ns, struct gp_err *err);
/* Server-sent events. NULL with ERR filled if too many look. */
struct gp_live_stream *gp_live_stream_open(struct gp_live_view *v, struct gp_err *err) GP_MUST_CHECK;
/* The next bytes, at most SIZE; waits for them, at most a few seconds. -1 when the server is shutting
 * down. */
long gp_live_stream_read(struct gp_live_stream *s, char *to, size_t size);
void gp_live_stream_close(struct gp_live_stream *s);
/* Ends all streams. Accepts NULL. */
void gp_live_view_stop(struct gp_live_view *v);
void gp_live_view_free(struct gp_live_view *v);

#endif
