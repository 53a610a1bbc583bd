/* pc_calls.h -- the calls of CUPTI that sample the program counters of kernels (PC sampling), found at run
 * time, and its line tables of cubins. The structs are declared here, as CUDA 12.6 has them: later ones only
 * grow at their ends, and `size` is as far as a caller knows them.
 *
 *     struct gp_pc_calls pc;
 *     const char *missing = gp_pc_calls_open(&pc, libcupti);
 *     struct gp_pc_context c = {sizeof c, NULL, context};
 *     if (!missing) code = pc.enable(&c);
 */
#ifndef GP_COLLECT_PC_CALLS_H
#define GP_COLLECT_PC_CALLS_H

#include "collect/counters/perfworks.h"

struct gp_pc_context { /* Enable, Disable */
    GP_PW_HEAD;
    void *context;
};
struct gp_pc_attribute {
    uint32_t type; /* enum gp_pc_attribute_type */
    int32_t status;
    union {
        uint32_t number;
        size_t bytes;
        void *buffer;
        uint64_t room[3];
    };
};
struct gp_pc_configuration {
    GP_PW_HEAD;
    void *context;
    size_t n;
    struct gp_pc_attribute *attributes;
};
struct gp_pc_count {
    GP_PW_HEAD;
    void *context;
    size_t *n;
};
struct gp_pc_reasons {
    GP_PW_HEAD;
    void *context;
    size_t n;
    uint32_t *index;
    char **names; /* of GP_PC_NAME bytes each */
};
struct gp_pc_stall {
    uint32_t reason, samples;
};
struct gp_pc_record {
    size_t size;
    uint64_t crc, offset;
    uint32_t function_index, pad;
    char *function;
    size_t n;
    struct gp_pc_stall *stalls;
    uint32_t corr;
};
struct gp_pc_data {
    size_t size, room;
    uint64_t total, dropped; /* since the last time */
    size_t n, left;
    uint64_t range;
    struct gp_pc_record *records;
    uint64_t other; /* of TOTAL: of kernels that are not the program's */
    uint8_t full;
};
struct gp_pc_get {
    GP_PW_HEAD;
    void *context;
    struct gp_pc_data *data;
};
struct gp_pc_source { /* has no member for CUPTI's own use, unlike the others */
    size_t size;
    const void *cubin;
    const char *function;
    size_t cubin_bytes;
    uint32_t line;
    uint64_t offset;
    char *file, *folder; /* the caller's to free */
};
struct gp_pc_crc {
    size_t size, cubin_bytes;
    const void *cubin;
    uint64_t crc;
};

enum gp_pc_attribute_type {
    GP_PC_PERIOD = 1, /* the number: log2 of cycles */
    GP_PC_SCRATCH_BYTES = 3,
    GP_PC_MODE = 5, /* enum gp_pc_mode */
    GP_PC_DATA = 8,
};
enum { GP_PC_NAME = 128, GP_PC_BUFFER_FULL = 8 /* a code: OUT_OF_MEMORY */ };

/* X(member, symbol, its parameter) */
#define GP_PC_CALLS(X)                                                                                       \
    X(enable, cuptiPCSamplingEnable, gp_pc_context)                                                          \
    X(disable, cuptiPCSamplingDisable, gp_pc_context)                                                        \
    X(set, cuptiPCSamplingSetConfigurationAttribute, gp_pc_configuration)                                    \
    X(reason_count, cuptiPCSamplingGetNumStallReasons, gp_pc_count)                                          \
    X(reasons, cuptiPCSamplingGetStallReasons, gp_pc_reasons)                                                \
    X(data, cuptiPCSamplingGetData, gp_pc_get)                                                               \
    X(source, cuptiGetSassToSourceCorrelation, gp_pc_source)                                                 \
    X(crc, cuptiGetCubinCrc, gp_pc_crc)

struct gp_pc_calls {
#define X(member, symbol, type) int (*member)(struct type *);
    GP_PC_CALLS(X)
#undef X
};

/* Find the calls in LIBRARY, an open libcupti. The name of one that it lacks, or NULL. */
const char *gp_pc_calls_open(struct gp_pc_calls *p, void *library);

#endif
