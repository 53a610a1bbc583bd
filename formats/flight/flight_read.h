/* flight_read.h -- logs of collectives, one per rank: pickles of PyTorch's flight recorder, and the JSON
 * objects of NCCL Inspector. They are not traces: only trace-hta reads them, to see where a job hangs.
 *
 *     struct gp_flight f = {0};
 *     if (gp_flight_sniff(head, n)) failed = gp_flight_read(&f, in, &err);
 *     gp_flight_release(&f);
 */
#ifndef GP_FORMATS_FLIGHT_FLIGHT_READ_H
#define GP_FORMATS_FLIGHT_FLIGHT_READ_H

#include <stdbool.h>
#include <stdint.h>
#include "formats/base/declare.h"
#include "formats/base/input.h"
#include "formats/base/intern.h"
#include "formats/base/vec.h"

enum gp_flight_state { GP_FLIGHT_SCHEDULED, GP_FLIGHT_STARTED, GP_FLIGHT_COMPLETED };

/* A collective of the rank that wrote the log. */
struct gp_flight_entry {
    gp_sid group, op, sizes; /* SIZES: of inputs and outputs, as text */
    uint64_t seq;            /* its number in the group */
    int64_t time_ns;         /* when it was called; 0: unknown */
    int32_t rank;            /* -1: that of the file */
    uint32_t state;          /* enum gp_flight_state */
    bool is_p2p;
};

struct gp_flight_group {
    gp_sid name, ranks; /* RANKS: "[0, 1]", as text; 0: all up to SIZE */
    uint32_t size;
};

struct gp_flight {
    struct gp_strings strings;
    GP_VEC(struct gp_flight_entry) entries;
    GP_VEC(struct gp_flight_group) groups;
    int32_t rank; /* the last number in the name of the file; -1: none */
};

bool gp_flight_sniff(const void *head, size_t n);
/* Append the log in IN. -1 if it is none; one that was cut is read up to the cut. */
GP_MUST_CHECK int gp_flight_read(struct gp_flight *f, struct gp_input *in, struct gp_err *err);
void gp_flight_release(struct gp_flight *f);

#endif
