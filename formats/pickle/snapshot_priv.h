/* snapshot_priv.h -- the state of the pickle machine's sink while a snapshot is filled. Private to
 * snapshot*.c. */
#ifndef GP_FORMATS_PICKLE_SNAPSHOT_PRIV_H
#define GP_FORMATS_PICKLE_SNAPSHOT_PRIV_H

#include "formats/pickle/pickle.h"
#include "formats/pickle/snapshot.h"

/* Keys that mean something; their sids are their numbers. */
#define GP_SNAPSHOT_KEYS(X)                                                                                  \
    X(ACTION, "action")                                                                                      \
    X(ADDR, "addr")                                                                                          \
    X(SIZE, "size")                                                                                          \
    X(STREAM, "stream")                                                                                      \
    X(TIME_US, "time_us")                                                                                    \
    X(COMPILE_CONTEXT, "compile_context")                                                                    \
    X(USER_METADATA, "user_metadata")                                                                        \
    X(FRAMES, "frames")                                                                                      \
    X(CATEGORY, "category")                                                                                  \
    X(DEVICE_FREE, "device_free")                                                                            \
    X(FILENAME, "filename")                                                                                  \
    X(LINE, "line")                                                                                          \
    X(NAME, "name")                                                                                          \
    X(DEVICE, "device")                                                                                      \
    X(ADDRESS, "address")                                                                                    \
    X(TOTAL_SIZE, "total_size")                                                                              \
    X(ALLOCATED_SIZE, "allocated_size")                                                                      \
    X(ACTIVE_SIZE, "active_size")                                                                            \
    X(REQUESTED_SIZE, "requested_size")                                                                      \
    X(SEGMENT_TYPE, "segment_type")                                                                          \
    X(SEGMENT_POOL_ID, "segment_pool_id")                                                                    \
    X(IS_EXPANDABLE, "is_expandable")                                                                        \
    X(BLOCKS, "blocks")                                                                                      \
    X(STATE, "state")                                                                                        \
    X(STAGE, "stage")                                                                                        \
    X(SEGMENTS, "segments")                                                                                  \
    X(DEVICE_TRACES, "device_traces")                                                                        \
    X(SETTINGS, "allocator_settings")                                                                        \
    X(ANNOTATIONS, "external_annotations")                                                                   \
    X(MAX_SPLIT_SIZE, "max_split_size")                                                                      \
    X(EXPANDABLE_SEGMENTS, "expandable_segments")                                                            \
    X(ROUNDUPS, "roundup_power2_divisions")

enum gp_snapshot_key {
    GP_KEY_NONE, /* sid 0, the empty string */
#define X(id, name) GP_KEY_##id,
    GP_SNAPSHOT_KEYS(X)
#undef X
        GP_KEY_COUNT
};

/* Words that are values; their sids follow those of the keys. */
enum gp_snapshot_word {
    GP_WORD_ACTIVE = GP_KEY_COUNT, /* "active_allocated" */
    GP_WORD_PENDING,               /* "active_pending_free" */
    GP_WORD_AWAITING,              /* "active_awaiting_free" */
    GP_WORD_LARGE,                 /* "large" */
    GP_WORD_END,                   /* "END" */
    GP_WORD_NOT_COMPILED,          /* "N/A" */
    GP_WORD_ACTIONS,               /* "alloc" and so on, in the order of GP_ACT_* from 1 */
};

/* Kinds of values of the machine with a meaning here: dicts with an index into a table,
 * lists. */
enum gp_snapshot_kind {
    GP_KIND_ROW = GP_PICKLE_OWN,
    GP_KIND_FRAME,
    GP_KIND_SEGMENT,
    GP_KIND_BLOCK,
    GP_KIND_MARK,
    GP_KIND_SETTINGS,
    GP_KIND_ROUNDUPS,
    GP_KIND_TOP,
    GP_KIND_STACK, /* a list of frames: an index into stacks */
    GP_KIND_ROWS,  /* lists of these dicts, and a list of such lists: an index into runs */
    GP_KIND_SEGMENTS,
    GP_KIND_BLOCKS,
    GP_KIND_MARKS,
    GP_KIND_TRACES,
    GP_KIND_END
};
#define GP_KIND_DICTS                                                                                        \
    (1u << GP_KIND_ROW | 1u << GP_KIND_FRAME | 1u << GP_KIND_SEGMENT | 1u << GP_KIND_BLOCK |                 \
     1u << GP_KIND_MARK | 1u << GP_KIND_SETTINGS | 1u << GP_KIND_ROUNDUPS | 1u << GP_KIND_TOP)

/* Elements of a table that a list holds: they lie together. */
struct gp_run {
    size_t first, n;
};

struct gp_builder {
    struct gp_snapshot *s;
    GP_VEC(struct gp_run) runs;
    struct gp_map frame_ids, stack_ids, stream_ids, context_ids; /* hash -> index */
    uint32_t tops;
    struct gp_run segments, traces, marks; /* of the last snapshot in the file */
    int64_t total, held;                   /* sizes of entries; of segments and blocks */
    uint64_t last_stream;
    uint16_t last_stream_index;
    void (*progress)(void *ctx, uint64_t bytes);
    void *progress_ctx;
};

/* Count an issue at OFFSET. */
void gp_builder_issue(struct gp_builder *b, enum gp_issue_kind kind, uint64_t offset);
/* Put N pairs into entry, frame, segment ... number INDEX of its table (snapshot_fields.c). A frame gets
 * another index. */
void gp_fields_row(struct gp_builder *b, size_t index, const struct gp_pickle_value *pairs, size_t n,
                   uint64_t offset);
size_t gp_fields_frame(struct gp_builder *b, size_t index, const struct gp_pickle_value *pairs, size_t n);
void gp_fields_segment(struct gp_builder *b, size_t index, const struct gp_pickle_value *pairs, size_t n,
                       uint64_t offset);
void gp_fields_block(struct gp_builder *b, size_t index, const struct gp_pickle_value *pairs, size_t n,
                     uint64_t offset);
void gp_fields_mark(struct gp_builder *b, size_t index, const struct gp_pickle_value *pairs, size_t n,
                    uint64_t offset);
void gp_fields_settings(struct gp_builder *b, const struct gp_pickle_value *pairs, size_t n);
void gp_fields_roundups(struct gp_builder *b, const struct gp_pickle_value *pairs, size_t n);
void gp_fields_top(struct gp_builder *b, const struct gp_pickle_value *pairs, size_t n);

/* The key of a pair; GP_KEY_NONE for keys that mean nothing here. */
static inline uint32_t gp_key_of(const struct gp_pickle_value *v)
{
    return v->kind == GP_PICKLE_TEXT && v->u < GP_KEY_COUNT ? (uint32_t)v->u : GP_KEY_NONE;
}

#endif
