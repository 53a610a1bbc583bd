/* gpt_columns.h -- the numbers of the binary trace above the stream level: block kinds, column ids,
 * predictors, and the tables that tie them to the members of the model. Shared by reader and writer;
 * schemas/gpt-1.md is the description. A number that was once assigned never changes its meaning. Only
 * constants.
 */
#ifndef GP_FORMATS_GPT_COLUMNS_H
#define GP_FORMATS_GPT_COLUMNS_H

#include <stdint.h>
#include "formats/model/trace.h"

enum gp_gpt_kind {
    GP_GPT_INFO = 1,
    GP_GPT_STRINGS = 2,
    GP_GPT_SCHEMA = 3,
    GP_GPT_PROCESS = 4,
    GP_GPT_TRACK = 5,
    GP_GPT_CONFIG = 6,
    GP_GPT_DEVICE = 7,
    GP_GPT_META = 8,
    GP_GPT_LOSS = 9,
    GP_GPT_CLOCK = 10,
    GP_GPT_ISSUE = 11,
    GP_GPT_NODES = 12,
    GP_GPT_METRICS =
        13, /* a set of metrics: its number is the base, its rows are in the order of the values */
    GP_GPT_STACKS = 14,
    GP_GPT_SYMBOLS = 15,
    GP_GPT_LAUNCH = 16, /* GPU events, each with the API call that launched it */
    GP_GPT_PACE = 17,
    GP_GPT_EVENTS = 32, /* + the number of the table, see GP_GPT_TABLES */
    GP_GPT_END = 63,
};

/* Numbers of the event tables in files: kind = GP_GPT_EVENTS + number. */
#define GP_GPT_TABLES(X)                                                                                     \
    X(0, GP_GPU)                                                                                             \
    X(1, GP_API)                                                                                             \
    X(2, GP_OP)                                                                                              \
    X(3, GP_PYTHON)                                                                                          \
    X(4, GP_RANGE)                                                                                           \
    X(5, GP_GPU_RANGE)                                                                                       \
    X(6, GP_SYNC)                                                                                            \
    X(7, GP_OVERHEAD)                                                                                        \
    X(8, GP_MEMORY)                                                                                          \
    X(9, GP_COUNTER)                                                                                         \
    X(10, GP_FLOW)                                                                                           \
    X(11, GP_MARK)                                                                                           \
    X(12, GP_OTHER)                                                                                          \
    X(13, GP_METRIC)                                                                                         \
    X(14, GP_SAMPLE)                                                                                         \
    X(15, GP_PC)
enum { GP_GPT_TABLE_COUNT = 16 };
/* Are the rows of a block of KIND events? */
#define GP_GPT_HAS_EVENTS(kind)                                                                              \
    ((kind) == GP_GPT_LAUNCH || (kind) == GP_GPT_CLOCK ||                                                    \
     ((kind) >= GP_GPT_EVENTS && (kind) < GP_GPT_EVENTS + GP_GPT_TABLE_COUNT))

/* The meaning of the numbers of a column. */
enum gp_gpt_type {
    GP_GPT_UINT = 0,
    GP_GPT_INT = 1, /* two's complement in the width of the model's cell for events, zigzag in dictionaries */
    GP_GPT_STRING = 2, /* number of a string */
    GP_GPT_TRACK_REF = 3,
    GP_GPT_CONFIG_REF = 4,
    GP_GPT_PROCESS_REF = 5,
    GP_GPT_FLOAT = 6,     /* bits of an IEEE double */
    GP_GPT_TEXT = 7,      /* bytes, only in STRINGS */
    GP_GPT_STACK_REF = 8, /* number of a stack, 0: none */
};

/* Column ids of event blocks: X(id, column, type). In a LAUNCH block the API call's columns have GP_GPT_SIDE
 * added. */
#define GP_GPT_EVENT_COLUMNS(X)                                                                              \
    X(1, GP_COL_START, GP_GPT_INT)                                                                           \
    X(2, GP_COL_DUR, GP_GPT_INT)                                                                             \
    X(3, GP_COL_TRACK, GP_GPT_TRACK_REF)                                                                     \
    X(4, GP_COL_NAME, GP_GPT_STRING)                                                                         \
    X(5, GP_COL_CONFIG, GP_GPT_CONFIG_REF)                                                                   \
    X(6, GP_COL_CAT, GP_GPT_STRING)                                                                          \
    X(7, GP_COL_CORR, GP_GPT_UINT)                                                                           \
    X(8, GP_COL_EXT, GP_GPT_UINT)                                                                            \
    X(9, GP_COL_BYTES, GP_GPT_INT)                                                                           \
    X(10, GP_COL_GRAPH, GP_GPT_UINT)                                                                         \
    X(11, GP_COL_NODE, GP_GPT_UINT)                                                                          \
    X(12, GP_COL_SEQ, GP_GPT_UINT)                                                                           \
    X(13, GP_COL_RECFN, GP_GPT_UINT)                                                                         \
    X(14, GP_COL_PYID, GP_GPT_UINT)                                                                          \
    X(15, GP_COL_PYPARENT, GP_GPT_UINT)                                                                      \
    X(16, GP_COL_PYMODULE, GP_GPT_UINT)                                                                      \
    X(17, GP_COL_ID, GP_GPT_UINT)                                                                            \
    X(18, GP_COL_ID_TEXT, GP_GPT_STRING)                                                                     \
    X(19, GP_COL_PHASE, GP_GPT_UINT)                                                                         \
    X(20, GP_COL_SERIES, GP_GPT_STRING)                                                                      \
    X(21, GP_COL_VALUE, GP_GPT_FLOAT)                                                                        \
    X(22, GP_COL_ADDR, GP_GPT_UINT)                                                                          \
    X(23, GP_COL_TOTAL, GP_GPT_INT)                                                                          \
    X(24, GP_COL_RESERVED, GP_GPT_INT)                                                                       \
    X(25, GP_COL_RET, GP_GPT_INT)                                                                            \
    X(26, GP_COL_EXTRA, GP_GPT_STRING)                                                                       \
    X(27, GP_COL_CAPTURED, GP_GPT_STRING)                                                                    \
    X(28, GP_COL_EVENT, GP_GPT_UINT)                                                                         \
    X(29, GP_COL_SOURCE, GP_GPT_UINT)                                                                        \
    X(30, GP_COL_SET, GP_GPT_UINT)                                                                           \
    X(31, GP_COL_STACK, GP_GPT_STACK_REF)                                                                    \
    X(32, GP_COL_WAITER, GP_GPT_TRACK_REF)
enum {
    GP_GPT_COLUMN_END = 33, /* one more than the largest event column id */
    GP_GPT_SIDE = 64,
    GP_GPT_VALUES = 64, /* metric blocks: + the place in the set, below GP_METRICS_MOST */
    GP_GPT_PAD = 127,   /* a column that only makes the block longer, see gpt-1.md "Limits" */
};

/* How a value is made from the number s in the stream and from already decoded values; zz() is the signed
 * number. */
enum gp_gpt_predictor {
    GP_PRED_PLAIN = 0, /* s */
    GP_PRED_DELTA = 1, /* value of the row before + zz(s) */
    /* s = 0: the column's default; otherwise the latest value that is not the default + zz(s - 1) */
    GP_PRED_LAST = 2,
    GP_PRED_KEYED = 3,       /* latest value of a row with the same key + zz(s) */
    GP_PRED_DICT = 4,        /* numbers into a dictionary of the block, with successor prediction */
    GP_PRED_OTHER = 5,       /* value of another column in this row + zz(s) */
    GP_PRED_TRACK_END = 6,   /* start: end of the latest row of the track + zz(s) */
    GP_PRED_TRACK_START = 7, /* start: start of the latest row of the track + zz(s) */
    GP_PRED_LAUNCH = 8, /* start: the later of (end on the track + g, start of the API call + l), + zz(s) */
    GP_PRED_FLOAT = 9,  /* bits of the double of (integer of the latest row with the same key + zz(s)) */
    GP_PRED_CONFIG_NAME = 10,  /* name of the row's config + zz(s) */
    GP_PRED_DICT_KEYED = 11,   /* a dictionary, predicted from the latest row with the same key */
    GP_PRED_DICT_CONFIG = 12,  /* launch blocks: the same with the config of the GPU event as key */
    GP_PRED_KEYED_CONFIG = 13, /* launch blocks: GP_PRED_KEYED with the config of the GPU event as key */
    GP_PRED_COUNT,
    GP_PRED_QUANTUM = 64, /* flag: zz(s) is zz(a) * quantum + zz(b), a and b in separate streams */
};

/* A member of one of the small structs of the model. Absent columns mean `dflt` (as the number in the file).
 */
struct gp_gpt_field {
    uint8_t id;
    uint8_t type;
    uint8_t width; /* of the member: 1, 4 or 8 bytes */
    uint16_t offset;
    uint64_t dflt;
    const char *name;
};

/* One kind of dictionary block. */
struct gp_gpt_dict {
    uint16_t kind;
    uint16_t nfields;
    uint32_t size; /* of the struct */
    const char *name;
    const struct gp_gpt_field *fields;
};

extern const struct gp_gpt_dict gp_gpt_process_dict, gp_gpt_track_dict, gp_gpt_config_dict,
    gp_gpt_device_dict, gp_gpt_meta_dict, gp_gpt_loss_dict, gp_gpt_clock_dict, gp_gpt_nodes_dict,
    gp_gpt_metric_dict, gp_gpt_stacks_dict, gp_gpt_symbols_dict, gp_gpt_pace_dict;
/* All of them. */
enum { GP_GPT_DICTS = 12 };
extern const struct gp_gpt_dict *const gp_gpt_dicts[GP_GPT_DICTS];

/* Model column of an event column id: index in the table by id; -1 if there is none. */
extern const int8_t gp_gpt_model_column[GP_GPT_COLUMN_END];
/* File id of a model column, its type, and the model table of a file table number. */
/* By column of the model; id 0: not stored. */
extern const uint8_t gp_gpt_column_id[GP_COLUMN_COUNT], gp_gpt_column_type[GP_COLUMN_COUNT];
extern const uint8_t gp_gpt_model_table[GP_GPT_TABLE_COUNT], gp_gpt_table_number[GP_TABLE_COUNT];

/* The number of a cell that is not there. */
static inline uint64_t gp_gpt_default(enum gp_column col)
{
    return gp_column_infos[col].width == 8 ? gp_column_infos[col].dflt : (uint32_t)gp_column_infos[col].dflt;
}

/* The number of a member in a file, and back. P points to the struct. */
uint64_t gp_gpt_field_get(const struct gp_gpt_field *f, const void *p);
void gp_gpt_field_set(const struct gp_gpt_field *f, void *p, uint64_t v);

#endif
