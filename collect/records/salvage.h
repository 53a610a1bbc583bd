/* salvage.h -- reads untrusted activity buffers: those that CUPTI still had when its process ended. They are
 * checked record by record: the kind must have a known size, the fields must be plausible, and the time must
 * lie in the life of the process. Everything after the first invalid record is ignored. Reads only its
 * arguments.
 *
 *     struct gp_salvage s = {.bytes = bytes_of, .pid = pid, .earliest_ns = a, .latest_ns = b, .take = take};
 *     gp_salvage_buffer(&s, data, n);
 *     printf("%llu records, %llu unfinished\n", s.taken, s.unfinished);
 */
#ifndef GP_COLLECT_RECORDS_SALVAGE_H
#define GP_COLLECT_RECORDS_SALVAGE_H

#include <stddef.h>
#include <stdint.h>

struct gp_salvage {
    /* Bytes of a record of that kind, 0 unknown. */
    size_t (*bytes)(void *ctx, uint32_t kind);
    /* Gets each valid record, of which GP_RECORD_BYTES may be read. */
    void (*take)(void *ctx, const void *record);
    void *ctx;
    uint32_t pid;                   /* of the recorded calls */
    int64_t earliest_ns, latest_ns; /* the life of the process; earliest 0: unknown on the records' clock */
    uint64_t taken;                 /* the sums of all calls */
    uint64_t unfinished;            /* GPU work that had not ended */
    uint64_t refused;               /* implausible: most likely torn */
};

/* Enough for everything that gp_records_add() reads of a record. */
enum { GP_RECORD_BYTES = 512 };

/* Walk the N bytes at DATA, which hold records from the beginning. */
void gp_salvage_buffer(struct gp_salvage *s, const uint8_t *data, size_t n);
/* The same for a buffer that CUPTI has returned with COUNT complete records: each of them is used. The kind
 * of the last one may have an unknown size. */
void gp_salvage_returned(struct gp_salvage *s, const uint8_t *data, size_t n, uint64_t count);

#endif
