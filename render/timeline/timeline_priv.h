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

/* timeline_sections.c: deflate DATA into a new last section; drop those from FROM on; what all take in the
 * page. */
void gp_timeline_add(struct gp_timeline *tl, const char *id, const void *data, size_t n);
void gp_timeline_drop_sections(struct gp_timeline *tl, size_t from);
uint64_t gp_timeline_bytes(const struct gp_timeline *tl);

/* timeline_args.c: the args of events FROM to TO of the page; those of all configurations. */
void gp_timeline_put_args(const struct gp_timeline *tl, size_t from, size_t to, struct gp_buf *b);
void gp_timeline_put_configs(const struct gp_timeline *tl, struct gp_buf *b);
void gp_timeline_put_fields(struct gp_buf *b); /* JSON: their names; then those that are signed */
/* JSON: the ranges of captures by number */
void gp_timeline_put_captured(const struct gp_timeline *tl, struct gp_buf *b);

/* timeline_overview.c: only events that touch one of the first WINDOWS windows of the options stay; the
 * section that shows what is left out. */
void gp_timeline_keep_windows(struct gp_timeline *tl, size_t windows);
void gp_timeline_add_overview(struct gp_timeline *tl);

/* timeline_head.c: the JSON object that describes the contents of the page. */
void gp_timeline_put_head(const struct gp_timeline *tl, struct gp_buf *b);

/* timeline_counters.c: the section of all counters; what the values of one are multiplied by to be
 * integers. */
void gp_timeline_add_counters(struct gp_timeline *tl);
int64_t gp_timeline_scale(const struct gp_lanes_counter *c);

#endif
