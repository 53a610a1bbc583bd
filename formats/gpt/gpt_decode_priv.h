/* gpt_decode_priv.h -- decodes payloads of the binary trace's blocks into rows; private to the reader. Every
 * byte may be hostile. Knows one block at a time and the dictionaries of the process that wrote it; does not
 * know files or threads.
 *
 *     struct gp_block_decoder *d = gp_block_decoder_new();
 *     switch (gp_block_get_events(d, &job, trace)) ...
 *     gp_block_decoder_free(d);
 */
#ifndef GP_FORMATS_GPT_DECODE_PRIV_H
#define GP_FORMATS_GPT_DECODE_PRIV_H

#include "formats/gpt/gpt.h"
#include "formats/gpt/gpt_columns.h"

/* Numbers of one dictionary of one producer -> numbers in the trace; UINT32_MAX if an entry is missing. */
struct gp_id_map {
    uint32_t *at;
    size_t n, cap;
};

#define GP_ID_MISSING UINT32_MAX

static inline uint32_t gp_id_map_get(const struct gp_id_map *m, uint64_t id)
{
    return id < m->n ? m->at[id] : GP_ID_MISSING;
}

/* One column of a block. */
struct gp_block_column {
    const uint8_t *p;
    size_t len;
    uint8_t pred;
};

/* What one producer has defined so far. */
struct gp_gpt_names {
    uint32_t producer;
    struct gp_id_map strings, processes, tracks, configs, devices, losses, clocks, nodes, metric_sets, stacks;
    struct gp_id_map symbols, paces;
    GP_VEC(uint32_t) native;       /* stacks of the trace whose symbol is still a number of the file */
    struct gp_id_map config_names; /* by config, the name as a number of the file */
    uint32_t lost;                 /* entries that were made up because they are not defined */
};

void gp_gpt_names_release(struct gp_gpt_names *names);

/* An event block to decode: GP_GPT_LAUNCH or one of the tables. */
struct gp_block_job {
    struct gp_gpt_block_header header;
    const uint8_t *payload; /* raw_len bytes; GP_STREAM_SLACK more are readable */
    struct gp_gpt_names *names;
    size_t row[2];  /* where its rows go: the table's, or GPU and API for a launch block */
    size_t value;   /* metric blocks: where their values go in the trace's metric_values */
    int64_t offset; /* in the input, for messages */
};

/* The N values V of a column of TYPE, numbers of the file, become numbers of T. Undefined ones become 0;
 * with DEFINE an entry of T, "[lost name 7]" and the like. True if it would have needed that. */
bool gp_gpt_map_values(const struct gp_block_job *job, struct gp_trace *t, bool define, int type, uint64_t *v,
                       size_t n);

enum gp_block_result {
    GP_BLOCK_OK,
    GP_BLOCK_BAD,   /* not decodable: its rows are undefined */
    GP_BLOCK_NAMES, /* refers to missing dictionary entries: try again with DEFINE */
};

struct gp_block_decoder;
struct gp_block_decoder *gp_block_decoder_new(void);
void gp_block_decoder_free(struct gp_block_decoder *d);

/* Columns that the block has, one bit per model column: [0] of the table or the GPU events, [1] of the API
 * calls. False if the payload is not a sequence of columns. */
bool gp_block_columns(const struct gp_block_job *job, uint64_t columns[2]);
/* Of a metric block: the set of T that all of its rows have. False if there is none. */
bool gp_block_metric_set(const struct gp_block_job *job, const struct gp_trace *t, uint32_t *set);
/* Decode into the tables of T, whose rows and columns exist; tables that T does not need are not touched.
 * Without DEFINE, the trace's dictionaries are only read, so that blocks can be decoded at the same time;
 * with it, undefined entries that the block refers to become "[lost name 7]" and the like. */
enum gp_block_result gp_block_get_events(struct gp_block_decoder *d, const struct gp_block_job *job,
                                         struct gp_trace *t, bool define);
/* Had the block of the last call a time, or a duration, that gp_trace_finish() does not let pass? */
bool gp_block_bad_times(const struct gp_block_decoder *d, enum gp_issue_kind kind);

/* Dictionary, metadata and other small blocks. -1 if the block is not decodable; it is then left out. Entry
 * numbers must be below LIMIT. Unknown kinds are not errors. */
int gp_block_get_small(const struct gp_block_job *job, uint64_t limit, struct gp_trace *t);

/* After all small blocks, for each producer: what its symbols and native frames refer to by a number of the
 * file. Then, once, gp_gpt_name_native(): native frames without a name get that of their symbol, and the
 * functions that it was inlined into become frames above. Returns where each stack is now, to be freed by the
 * caller and passed to gp_gpt_move_stacks() for each producer; NULL: nothing has moved. Any numbers are
 * accepted, and memory stays in proportion to the input. O(stacks + symbols). */
void gp_gpt_link_symbols(struct gp_gpt_names *names, struct gp_trace *t);
uint32_t *gp_gpt_name_native(struct gp_trace *t);
void gp_gpt_move_stacks(struct gp_gpt_names *names, const uint32_t *moved);

#endif
