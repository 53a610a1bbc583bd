/* fuzz_flight.c -- hostile logs of collectives: what two ranks say must end in a sentence. */
#include "analyze/hang/hang.h"
#include "formats/base/err.h"
#include "tests/fuzz/help/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gp_hang h = {0};
    struct gp_err err = {0};
    struct gp_flight f = {0};
    struct gp_input *in = gp_input_memory(data, size, 1);
    bool read = !gp_flight_read(&f, in, &err);
    for (int rank = 0; read && rank < 2; rank++) {
        f.rank = rank;
        gp_hang_add(&h, &f);
        if (f.entries.n) f.entries.n--; /* the second rank lacks the last one */
    }
    if (read) gp_hang_find(&h);
    if (read) FUZZ_CHECK(h.summary.n > 0 && h.summary.data[h.summary.n - 1] == '.');
    gp_input_close(in);
    gp_flight_release(&f);
    gp_hang_release(&h);
    return 0;
}
