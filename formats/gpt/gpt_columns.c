#include "formats/gpt/gpt_columns.h"

#include <string.h>
#include "formats/gpt/gpt_codec.h"

#define COUNT_ONE(...) +1
_Static_assert(0 GP_GPT_EVENT_COLUMNS(COUNT_ONE) == GP_COLUMN_COUNT - 2,
               "every column of the model but place and values needs a file id");
_Static_assert(0 GP_GPT_TABLES(COUNT_ONE) == GP_TABLE_COUNT, "every table of the model needs a file number");

const int8_t gp_gpt_model_column[GP_GPT_COLUMN_END] = {[0] = -1,
#define X(id, col, type) [id] = col,
                                                       GP_GPT_EVENT_COLUMNS(X)
#undef X
};

const uint8_t gp_gpt_column_id[GP_COLUMN_COUNT] = {
#define X(id, col, type) [col] = id,
    GP_GPT_EVENT_COLUMNS(X)
#undef X
};

const uint8_t gp_gpt_column_type[GP_COLUMN_COUNT] = {
#define X(id, col, type) [col] = type,
    GP_GPT_EVENT_COLUMNS(X)
#undef X
};

const uint8_t gp_gpt_model_table[GP_GPT_TABLE_COUNT] = {
#define X(number, table) [number] = table,
    GP_GPT_TABLES(X)
#undef X
};

const uint8_t gp_gpt_table_number[GP_TABLE_COUNT] = {
#define X(number, table) [table] = number,
    GP_GPT_TABLES(X)
#undef X
};

/* Member M of struct S in a file: id, type, default as the number in the file. */
#define FIELD(id, type, s, m, dflt)                                                                          \
    {                                                                                                        \
        id, type, sizeof(((struct s *)0)->m), offsetof(struct s, m), dflt, #m                                \
    }
/* The number of -1. */
#define MINUS_1 1
#define DICT(kind, name, s, fields)                                                                          \
    {                                                                                                        \
        kind, GP_COUNT(fields), sizeof(struct s), name, fields                                               \
    }

static const struct gp_gpt_field process_fields[] = {
    FIELD(1, GP_GPT_INT, gp_process, pid, 0),        FIELD(2, GP_GPT_STRING, gp_process, pid_text, 0),
    FIELD(3, GP_GPT_STRING, gp_process, name, 0),    FIELD(4, GP_GPT_STRING, gp_process, labels, 0),
    FIELD(5, GP_GPT_INT, gp_process, sort_index, 0), FIELD(6, GP_GPT_UINT, gp_process, has_sort_index, 0),
    FIELD(7, GP_GPT_INT, gp_process, rank, MINUS_1), FIELD(8, GP_GPT_UINT, gp_process, producer, 0),
};
const struct gp_gpt_dict gp_gpt_process_dict = DICT(GP_GPT_PROCESS, "process", gp_process, process_fields);

static const struct gp_gpt_field track_fields[] = {
    FIELD(1, GP_GPT_UINT, gp_track, kind, 0),        FIELD(2, GP_GPT_PROCESS_REF, gp_track, process, 0),
    FIELD(3, GP_GPT_INT, gp_track, tid, 0),          FIELD(4, GP_GPT_STRING, gp_track, tid_text, 0),
    FIELD(5, GP_GPT_INT, gp_track, device, MINUS_1), FIELD(6, GP_GPT_INT, gp_track, context, MINUS_1),
    FIELD(7, GP_GPT_INT, gp_track, stream, MINUS_1), FIELD(8, GP_GPT_STRING, gp_track, name, 0),
    FIELD(9, GP_GPT_INT, gp_track, sort_index, 0),   FIELD(10, GP_GPT_UINT, gp_track, has_sort_index, 0),
};
const struct gp_gpt_dict gp_gpt_track_dict = DICT(GP_GPT_TRACK, "track", gp_track, track_fields);

static const struct gp_gpt_field config_fields[] = {
    FIELD(1, GP_GPT_STRING, gp_config, name, 0),
    FIELD(2, GP_GPT_UINT, gp_config, kind, 0),
    FIELD(3, GP_GPT_UINT, gp_config, has, 0),
    {4, GP_GPT_UINT, 4, offsetof(struct gp_config, grid), 0, "grid_x"},
    {5, GP_GPT_UINT, 4, offsetof(struct gp_config, grid) + 4, 0, "grid_y"},
    {6, GP_GPT_UINT, 4, offsetof(struct gp_config, grid) + 8, 0, "grid_z"},
    {7, GP_GPT_UINT, 4, offsetof(struct gp_config, block), 0, "block_x"},
    {8, GP_GPT_UINT, 4, offsetof(struct gp_config, block) + 4, 0, "block_y"},
    {9, GP_GPT_UINT, 4, offsetof(struct gp_config, block) + 8, 0, "block_z"},
    {10, GP_GPT_UINT, 4, offsetof(struct gp_config, cluster), 0, "cluster_x"},
    {11, GP_GPT_UINT, 4, offsetof(struct gp_config, cluster) + 4, 0, "cluster_y"},
    {12, GP_GPT_UINT, 4, offsetof(struct gp_config, cluster) + 8, 0, "cluster_z"},
    FIELD(13, GP_GPT_UINT, gp_config, registers, 0),
    FIELD(14, GP_GPT_UINT, gp_config, shared_bytes, 0),
    FIELD(15, GP_GPT_UINT, gp_config, shared_static_bytes, 0),
    FIELD(16, GP_GPT_UINT, gp_config, local_bytes, 0),
    FIELD(17, GP_GPT_UINT, gp_config, copy_kind, 0),
    FIELD(18, GP_GPT_UINT, gp_config, src_kind, 0),
    FIELD(19, GP_GPT_UINT, gp_config, dst_kind, 0),
    FIELD(20, GP_GPT_STRING, gp_config, cat, 0),
    FIELD(21, GP_GPT_STRING, gp_config, extra, 0),
};
const struct gp_gpt_dict gp_gpt_config_dict = DICT(GP_GPT_CONFIG, "config", gp_config, config_fields);

static const struct gp_gpt_field device_fields[] = {
    FIELD(1, GP_GPT_INT, gp_device, id, 0),
    FIELD(2, GP_GPT_STRING, gp_device, name, 0),
    FIELD(3, GP_GPT_INT, gp_device, cc_major, 0),
    FIELD(4, GP_GPT_INT, gp_device, cc_minor, 0),
    FIELD(5, GP_GPT_INT, gp_device, sms, 0),
    FIELD(6, GP_GPT_INT, gp_device, warp_size, 0),
    FIELD(7, GP_GPT_INT, gp_device, max_threads_per_sm, 0),
    FIELD(8, GP_GPT_INT, gp_device, max_threads_per_block, 0),
    FIELD(9, GP_GPT_INT, gp_device, regs_per_sm, 0),
    FIELD(10, GP_GPT_INT, gp_device, regs_per_block, 0),
    FIELD(11, GP_GPT_INT, gp_device, shared_per_sm, 0),
    FIELD(12, GP_GPT_INT, gp_device, shared_per_block, 0),
    FIELD(13, GP_GPT_INT, gp_device, shared_per_block_optin, 0),
    FIELD(14, GP_GPT_INT, gp_device, memory_bytes, 0),
    FIELD(15, GP_GPT_INT, gp_device, l2_bytes, 0),
    FIELD(16, GP_GPT_INT, gp_device, core_clock_khz, 0),
    FIELD(17, GP_GPT_INT, gp_device, memory_clock_khz, 0),
    FIELD(18, GP_GPT_INT, gp_device, memory_bandwidth_bps, 0),
    FIELD(19, GP_GPT_STRING, gp_device, extra, 0),
    FIELD(20, GP_GPT_UINT, gp_device, producer, 0),
};
const struct gp_gpt_dict gp_gpt_device_dict = DICT(GP_GPT_DEVICE, "device", gp_device, device_fields);

static const struct gp_gpt_field meta_fields[] = {
    FIELD(1, GP_GPT_STRING, gp_meta, key, 0),
    FIELD(2, GP_GPT_STRING, gp_meta, value, 0),
};
const struct gp_gpt_dict gp_gpt_meta_dict = DICT(GP_GPT_META, "meta", gp_meta, meta_fields);

static const struct gp_gpt_field loss_fields[] = {
    FIELD(1, GP_GPT_STRING, gp_loss, what, 0),
    FIELD(2, GP_GPT_STRING, gp_loss, reason, 0),
    FIELD(3, GP_GPT_UINT, gp_loss, count, 0),
    FIELD(4, GP_GPT_PROCESS_REF, gp_loss, process, UINT32_MAX),
};
const struct gp_gpt_dict gp_gpt_loss_dict = DICT(GP_GPT_LOSS, "loss", gp_loss, loss_fields);

static const struct gp_gpt_field clock_fields[] = {
    FIELD(1, GP_GPT_INT, gp_clock, trace_ns, 0),
    FIELD(2, GP_GPT_INT, gp_clock, realtime_ns, 0),
    FIELD(3, GP_GPT_UINT, gp_clock, producer, 0),
};
const struct gp_gpt_dict gp_gpt_clock_dict = DICT(GP_GPT_CLOCK, "clock", gp_clock, clock_fields);

static const struct gp_gpt_field nodes_fields[] = {
    FIELD(1, GP_GPT_UINT, gp_node_run, first, 0),      FIELD(2, GP_GPT_UINT, gp_node_run, count, 1),
    FIELD(3, GP_GPT_STRING, gp_node_run, captured, 0), FIELD(4, GP_GPT_UINT, gp_node_run, producer, 0),
    FIELD(5, GP_GPT_UINT, gp_node_run, original, 0),   FIELD(6, GP_GPT_STACK_REF, gp_node_run, stack, 0),
};
const struct gp_gpt_dict gp_gpt_nodes_dict = DICT(GP_GPT_NODES, "nodes", gp_node_run, nodes_fields);

static const struct gp_gpt_field metric_fields[] = {
    FIELD(1, GP_GPT_STRING, gp_metric, name, 0), FIELD(2, GP_GPT_STRING, gp_metric, unit, 0),
    FIELD(3, GP_GPT_UINT, gp_metric, type, 0),   FIELD(4, GP_GPT_UINT, gp_metric, reduce, 0),
    FIELD(5, GP_GPT_UINT, gp_metric, passes, 1), FIELD(6, GP_GPT_STRING, gp_metric, chip, 0),
};
const struct gp_gpt_dict gp_gpt_metric_dict = DICT(GP_GPT_METRICS, "metrics", gp_metric, metric_fields);

static const struct gp_gpt_field stacks_fields[] = {
    FIELD(1, GP_GPT_STACK_REF, gp_stack, parent, 0), FIELD(2, GP_GPT_STRING, gp_stack, name, 0),
    FIELD(3, GP_GPT_STRING, gp_stack, file, 0),      FIELD(4, GP_GPT_UINT, gp_stack, line, 0),
    FIELD(5, GP_GPT_UINT, gp_stack, symbol, 0),
};
const struct gp_gpt_dict gp_gpt_stacks_dict = DICT(GP_GPT_STACKS, "stacks", gp_stack, stacks_fields);

static const struct gp_gpt_field symbols_fields[] = {
    FIELD(1, GP_GPT_STRING, gp_symbol, module, 0), FIELD(2, GP_GPT_UINT, gp_symbol, offset, 0),
    FIELD(3, GP_GPT_STRING, gp_symbol, name, 0),   FIELD(4, GP_GPT_STRING, gp_symbol, file, 0),
    FIELD(5, GP_GPT_UINT, gp_symbol, line, 0),     FIELD(6, GP_GPT_UINT, gp_symbol, caller, 0),
};
const struct gp_gpt_dict gp_gpt_symbols_dict = DICT(GP_GPT_SYMBOLS, "symbols", gp_symbol, symbols_fields);

static const struct gp_gpt_field pace_fields[] = {
    FIELD(1, GP_GPT_INT, gp_pace, start_ns, 0),
    FIELD(2, GP_GPT_INT, gp_pace, dur_ns, 0),
    FIELD(3, GP_GPT_UINT, gp_pace, how, 0),
    FIELD(4, GP_GPT_PROCESS_REF, gp_pace, process, 0),
};
const struct gp_gpt_dict gp_gpt_pace_dict = DICT(GP_GPT_PACE, "pace", gp_pace, pace_fields);

const struct gp_gpt_dict *const gp_gpt_dicts[GP_GPT_DICTS] = {
    &gp_gpt_process_dict, &gp_gpt_track_dict,  &gp_gpt_config_dict,  &gp_gpt_device_dict,
    &gp_gpt_meta_dict,    &gp_gpt_loss_dict,   &gp_gpt_clock_dict,   &gp_gpt_nodes_dict,
    &gp_gpt_metric_dict,  &gp_gpt_stacks_dict, &gp_gpt_symbols_dict, &gp_gpt_pace_dict};

uint64_t gp_gpt_field_get(const struct gp_gpt_field *f, const void *p)
{
    const char *at = (const char *)p + f->offset;
    bool is_signed = f->type == GP_GPT_INT;
    uint64_t v64;
    uint32_t v32;
    switch (f->width) {
    case 1: return *(const uint8_t *)at;
    case 4: memcpy(&v32, at, 4); return is_signed ? gp_zigzag((int32_t)v32) : v32;
    default: memcpy(&v64, at, 8); return is_signed ? gp_zigzag((int64_t)v64) : v64;
    }
}

void gp_gpt_field_set(const struct gp_gpt_field *f, void *p, uint64_t v)
{
    char *at = (char *)p + f->offset;
    if (f->type == GP_GPT_INT) v = (uint64_t)gp_unzigzag(v);
    uint32_t v32 = (uint32_t)v;
    bool flag = v != 0;
    switch (f->width) {
    case 1: memcpy(at, &flag, 1); break;
    case 4: memcpy(at, &v32, 4); break;
    default: memcpy(at, &v, 8); break;
    }
}
