/* salvage.h -- reads activity buffers that nobody vouches for: those that CUPTI still had when its process ended. What is
 * in them is believed record by record: of a kind whose size is known, with fields that can be, at a time at which the
 * process was there. Everything behind the first thing that is no record is left alone. Reads nothing but its arguments.
 *
 *     struct gp_salvage s = {.bytes = bytes_of, .pid = pid, .earliest_ns = a, .latest_ns = b, .take = take, .ctx = c};
 *     gp_salvage_buffer(&s, data, n);
 *     printf("%llu records, %llu unfinished\n", s.taken, s.unfinished);
 */
#ifndef GP_COLLECT_SALVAGE_H
#define GP_COLLECT_SALVAGE_H

#include <stddef.h>
#include <stdint.h>

struct gp_salvage {
    /* Bytes of a record of that kind, 0 not known. */
    size_t (*bytes)(void *ctx, uint32_t kind);
    /* Gets each record that is believed, GP_RECORD_BYTES of it that may be read. */
    void (*take)(void *ctx, const void *record);
    void *ctx;
    uint32_t pid;                   /* that calls are recorded with */
    int64_t earliest_ns, latest_ns; /* when it was there; earliest 0: not known on the records' clock */
    uint64_t taken;                 /* the sums of all calls */
    uint64_t unfinished;            /* GPU work that had not ended */
    uint64_t refused;               /* cannot be true: torn, most likely */
};

/* Enough for all that gp_records_add() reads of a record. */
enum { GP_RECORD_BYTES = 512 };

/* Go through N bytes at DATA that hold records from the beginning on. */
void gp_salvage_buffer(struct gp_salvage *s, const uint8_t *data, size_t n);
/* The same for a buffer that CUPTI has returned with COUNT whole records in it: each of them is taken. The last one may be of
 * a kind whose size is not known. */
void gp_salvage_returned(struct gp_salvage *s, const uint8_t *data, size_t n, uint64_t count);

#endif
