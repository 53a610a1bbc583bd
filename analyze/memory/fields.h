/* fields.h -- for the records of this folder: cells that several of them have. Private to analyze/memory.
 *
 *     static const struct gp_field growth_fields[] = {
 *         GP_MEMORY_DEVICE(AT(device)),
 *         {"stack", NULL, GP_CELL_LIST, get_stack, 0, .rows = &gp_memory_frames},
 *     };
 */
#ifndef GP_ANALYZE_MEMORY_FIELDS_H
#define GP_ANALYZE_MEMORY_FIELDS_H

#include "analyze/memory/memory_priv.h"
#include "analyze/memory/records.h"

static inline struct gp_memory *gp_memory_of(const struct gp_row_of *x)
{
    return ((const struct gp_memory_of *)x->of)->m;
}
static inline const struct gp_memory_device *gp_memory_device_at(const struct gp_row_of *x, uint32_t device)
{
    return &gp_memory_of(x)->devices.at[device];
}

/* Are its segments recorded? What the driver gave has none, and traces need not have them. */
static inline bool gp_memory_has_segments(const struct gp_memory_device *d)
{
    return d->reserved_peak > 0 || d->fragmentation.known || !d->peak_bytes;
}

/* The device of a row that has its index in MEMBER. Labels may repeat, indices do not. */
#define GP_MEMORY_DEVICE(member)                                                                             \
    {"device", "Device", GP_CELL_TEXT, gp_memory_get_device, member, .help = "cuda:0; cpu for the host"},    \
    {                                                                                                        \
        "device_index", "Device index", GP_CELL_ID, gp_member_u32, member, .help = "index into devices",     \
                                                                           .flags = GP_COLUMN_RAW            \
    }
gp_field_get gp_memory_get_device;
gp_field_get gp_memory_get_ns; /* int64_t: INT64_MIN is unknown */

void gp_memory_cell_device(struct gp_cell *c, const struct gp_row_of *x, const struct gp_memory_device *d);
/* TEXT, and for people LABEL, which is released. */
void gp_memory_cell_label(struct gp_cell *c, const struct gp_row_of *x, const char *text,
                          struct gp_buf *label);
/* A time; INT64_MIN is unknown. V, if it is known. */
void gp_memory_cell_ns(struct gp_cell *c, int64_t ns);
void gp_memory_cell_known(struct gp_cell *c, bool known, uint64_t v);

extern const char *const gp_memory_froms[];          /* "recorded", "guess" */
extern const struct gp_record gp_memory_oom_holders; /* without their device */

/* LIST of frames, innermost first: of a stack, of a site. */
#define GP_MEMORY_STACK "frames as FILE:LINE NAME, innermost first; empty: none was recorded"
extern const struct gp_record gp_memory_frames;
void gp_memory_cell_stack(struct gp_cell *c, const struct gp_row_of *x, const struct gp_snapshot *s,
                          uint32_t stack);
void gp_memory_cell_site(struct gp_cell *c, const struct gp_row_of *x, const struct gp_memory_device *d,
                         uint32_t site);

#endif
