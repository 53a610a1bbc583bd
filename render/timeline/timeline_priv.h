/* timeline_priv.h -- private to timeline_*.c: the pieces of a packed timeline. */
#ifndef GP_RENDER_TIMELINE_PRIV_H
#define GP_RENDER_TIMELINE_PRIV_H

#include "render/timeline/timeline_pack.h"

/* The event of the lanes that event I of the page is. */
static inline size_t gp_timeline_event(const struct gp_timeline *tl, size_t i)
{
    return tl->shown ? tl->shown[i] : i;
}
/* The event of the page that event I of the lanes is; SIZE_MAX: none. */
static inline size_t gp_timeline_number(const struct gp_timeline *tl, size_t i)
{
    return !tl->number ? i : tl->number[i] ? tl->number[i] - 1 : SIZE_MAX;
}

/* Deflate DATA into a new last section. */
void gp_timeline_add(struct gp_timeline *tl, const char *id, const void *data, size_t n);

/* timeline_args.c: the args of events FROM to TO of the page; those of all configurations. */
void gp_timeline_put_args(const struct gp_timeline *tl, size_t from, size_t to, struct gp_buf *b);
void gp_timeline_put_configs(const struct gp_timeline *tl, struct gp_buf *b);
void gp_timeline_put_fields(struct gp_buf *b); /* JSON: their names; then those that are signed */
void gp_timeline_put_captured(const struct gp_timeline *tl,
                              struct gp_buf *b); /* JSON: the ranges of captures by number */

/* timeline_overview.c: only events that touch one of the first WINDOWS windows of the options stay; the section that shows
 * what is left out. */
void gp_timeline_keep_windows(struct gp_timeline *tl, size_t windows);
void gp_timeline_add_overview(struct gp_timeline *tl);

/* timeline_head.c: the JSON object that tells what the page holds. */
void gp_timeline_put_head(const struct gp_timeline *tl, struct gp_buf *b);
/* What a counter's values are multiplied with to be integers. */
int64_t gp_timeline_scale(const struct gp_lanes_counter *c);

#endif
