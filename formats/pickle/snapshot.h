/* snapshot.h -- a snapshot of PyTorch's CUDA allocator: its segments with their blocks, and the
 * history of allocations and frees, entry by entry, with stacks. Columns, so that millions of entries
 * fit; everything belongs to the snapshot and dies with gp_snapshot_release().
 *
 *     struct gp_snapshot s;
 *     if (gp_snapshot_read(&s, in, NULL, NULL, &err)) ...
 *     const struct gp_snapshot_trace *t = &s.traces.at[device];
 *     for (size_t i = t->first; i < t->first + t->n; i++) use(s.rows.action[i], s.rows.size[i]);
 */
#ifndef GP_FORMATS_PICKLE_SNAPSHOT_H
#define GP_FORMATS_PICKLE_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/base/declare.h"
#include "formats/base/input.h"
#include "formats/base/intern.h"
#include "formats/base/map.h"
#include "formats/base/vec.h"
#include "formats/model/trace.h"

/* X(enum, name in the file) */
#define GP_SNAPSHOT_ACTIONS(X)                                                                               \
    X(GP_ACT_NONE, "") /* an entry that is not usable */                                                     \
    X(GP_ACT_ALLOC, "alloc")                                                                                 \
    X(GP_ACT_FREE_REQUESTED, "free_requested")                                                               \
    X(GP_ACT_FREE_COMPLETED, "free_completed")                                                               \
    X(GP_ACT_SEGMENT_ALLOC, "segment_alloc")                                                                 \
    X(GP_ACT_SEGMENT_FREE, "segment_free")                                                                   \
    X(GP_ACT_SEGMENT_MAP, "segment_map")                                                                     \
    X(GP_ACT_SEGMENT_UNMAP, "segment_unmap")                                                                 \
    X(GP_ACT_OOM, "oom") /* addr: free bytes of the device */                                                \
    X(GP_ACT_SNAPSHOT, "snapshot")

enum gp_snapshot_action { GP_SNAPSHOT_ACTIONS(GP_FIRST) GP_ACT_COUNT };

/* The history, by entry, in the order of the file. */
struct gp_snapshot_rows {
    size_t n, cap;
    uint8_t *action;   /* enum gp_snapshot_action */
    uint16_t *stream;  /* index into streams */
    uint16_t *context; /* index into contexts */
    uint32_t *stack;   /* index into stacks; 0: none was recorded */
    uint64_t *addr;
    int64_t *size;    /* as requested, not as rounded */
    int64_t *time_ns; /* Unix time */
};

/* What a frame is: a pickle holds code only; a history that was made of a trace the others, too. */
enum gp_snapshot_frame_kind { GP_SNAP_CODE, GP_SNAP_RANGE, GP_SNAP_OP, GP_SNAP_MODULE };

struct gp_snapshot_frame {
    gp_sid name, file;
    int32_t line;  /* -1 unknown */
    uint32_t kind; /* enum gp_snapshot_frame_kind */
};

/* Indices of frames, innermost first: stack_frames.at[first ...]. Equal stacks are one. */
struct gp_snapshot_stack {
    uint32_t first, n;
};

/* What entries repeat. */
struct gp_snapshot_context {
    gp_sid compiled; /* compile_context: "Torch-Compiled Region: 0/0"; "N/A" and nothing are 0 */
    gp_sid metadata, category;
};

struct gp_snapshot_trace {
    size_t first, n; /* slice of rows */
    int64_t base;    /* bytes that were allocated before, if that is known; otherwise -1 */
};

enum gp_block_state { GP_BLOCK_INACTIVE, GP_BLOCK_ACTIVE, GP_BLOCK_PENDING };

struct gp_snapshot_block {
    uint64_t address;
    int64_t size, requested_size;
    uint32_t stack;
    uint8_t state; /* enum gp_block_state */
};

struct gp_snapshot_segment {
    int32_t device;
    bool expandable, large;
    uint32_t pool[2];
    uint64_t address, stream;
    int64_t total_size, allocated_size, active_size, requested_size;
    uint32_t stack;
    size_t first_block, n_blocks; /* slice of blocks */
};

/* The beginning or the end of a range; they nest. */
struct gp_snapshot_mark {
    int64_t time_ns;
    gp_sid name;
    int32_t device;
    bool end;
};

enum { GP_ROUNDUPS = 16 };

struct gp_snapshot_settings {
    bool expandable;                /* expandable_segments */
    int64_t max_split_size;         /* -1: none */
    uint32_t roundups[GP_ROUNDUPS]; /* roundup_power2_divisions by power of two from 1 MiB on; 0: none */
};

struct gp_snapshot {
    struct gp_strings strings;
    struct gp_snapshot_rows rows;
    GP_VEC(struct gp_snapshot_trace) traces;     /* by device */
    GP_VEC(struct gp_snapshot_segment) segments; /* by device, otherwise as in the file */
    GP_VEC(struct gp_snapshot_block) blocks;
    GP_VEC(struct gp_snapshot_mark) marks;
    GP_VEC(struct gp_snapshot_frame) frames;
    GP_VEC(uint32_t) stack_frames;
    GP_VEC(struct gp_snapshot_stack) stacks; /* 0 is the empty one */
    GP_VEC(struct gp_snapshot_context) contexts;
    GP_VEC(uint64_t) streams;
    struct gp_snapshot_settings settings;
    bool sizes_are_real; /* sizes of entries are those of blocks: the history was made of a trace */
    bool sums_only; /* entries are sums by category over time: which blocks they are made of is not known */
    struct gp_issue issues[GP_ISSUE_COUNT];
    struct gp_input_info input; /* path and compression are borrowed from the input */
};

/* Read the pickle that IN holds into S, which is overwritten; the caller releases it, except on failure.
 * Fails when the pickle asks for anything but data, or holds no snapshot. PROGRESS may be NULL. */
GP_MUST_CHECK int gp_snapshot_read(struct gp_snapshot *s, struct gp_input *in,
                                   void (*progress)(void *ctx, uint64_t bytes), void *progress_ctx,
                                   struct gp_err *err);
void gp_snapshot_release(struct gp_snapshot *s);
/* The segments of DEVICE, N of them. */
const struct gp_snapshot_segment *gp_snapshot_segments(const struct gp_snapshot *s, int32_t device,
                                                       size_t *n);
/* A new entry with nothing in it, for histories of other things: its index. */
size_t gp_snapshot_add_row(struct gp_snapshot_rows *r);
/* The stack of the N frames, which IDS knows if it was there before: its index, 0 without frames. */
uint32_t gp_snapshot_stack(struct gp_snapshot *s, struct gp_map *ids, const uint32_t *frames, size_t n);

/* Is this a zip file, as torch.save writes it? It is not a snapshot, but often passed as one. */
bool gp_snapshot_is_zip(const uint8_t *head, size_t n);

/* ---- timelines that PyTorch exports ----
 * The memory time lines that torch.profiler exports (export_memory_timeline) as histories:
 * sums by category over time, or every change with its category. No addresses and no stacks; each category
 * stands for a frame.
 *
 *     if (gp_export_sniff(head, n) && gp_export_read(&snapshot, in, &err)) ...
 */

/* A list of lists of numbers? */
bool gp_export_sniff(const uint8_t *head, size_t n);
/* Read IN into S, which is overwritten; the caller releases it, except on failure. Damage ends the
 * reading and is an issue of S; nothing usable at all is a failure. */
GP_MUST_CHECK int gp_export_read(struct gp_snapshot *s, struct gp_input *in, struct gp_err *err);

#endif
