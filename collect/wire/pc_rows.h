/* pc_rows.h -- samples of program counters on their way from a process to its trace: the request, and the
 * payload of frames (wire.h). */
#ifndef GP_COLLECT_WIRE_PC_ROWS_H
#define GP_COLLECT_WIRE_PC_ROWS_H

#include <stdint.h>

/* The values of CUPTI. */
enum gp_pc_mode { GP_PC_OFF, GP_PC_CONTINUOUS, GP_PC_LAUNCHES };
/* Log2 of cycles. At CUPTI's own default, 11 on an H100, its buffer fills faster than CUPTI reads it. */
enum { GP_PC_PERIOD_LEAST = 5, GP_PC_PERIOD_MOST = 31, GP_PC_PERIOD_DEFAULT = 16 };

/* What is asked of a process; part of WELCOME. */
struct gp_pc_opts {
    uint32_t mode;   /* enum gp_pc_mode */
    uint32_t period; /* log2 of cycles */
};

/* PC_ROWS: this, TEXTS texts, each NUL-terminated and in TEXT_BYTES with padding to a multiple of 8, and ROWS
 * rows, which refer to all texts since the beginning by their numbers. */
struct gp_pc_head {
    int64_t start_ns, end_ns;
    uint64_t total, dropped, other, full; /* samples since the last frame; FULL: how often */
    uint32_t device, context;             /* their numbers; UINT32_MAX: unknown */
    uint32_t mode, period;                /* as struct gp_pc_opts has them */
    uint32_t texts, text_bytes, rows, reserved;
};
/* The first byte of a text. Paths are the program's own, names of functions and reasons are not. */
enum { GP_PC_TEXT_NAME = 'n', GP_PC_TEXT_FILE = 'f' };

/* A row without samples is a part of the cubin CRC, from OFFSET on: its REASON is these bytes, as hexadecimal
 * digits, and its FUNCTION the first in the cubin that was sampled. */
enum { GP_PC_CODE_BYTES = 16 << 10 };

struct gp_pc_row {
    uint64_t offset, crc;
    uint32_t function, reason, file, line; /* texts; LINE 0: unknown */
    uint32_t samples, stalled;             /* STALLED of them when no warp could issue */
    uint32_t corr, reserved;
};

#endif
