/* fuzz_hta.c -- hostile traces through the whole analysis, and hostile partial results. The first byte
 * chooses: odd, the rest follows the head of a saved result, with the right hash; even, it is a trace, and
 * its next two bits the repair. What must always hold is checked: the partition, the causes of idle time, and
 * that saving does not show. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/hta/hta.h"
#include "analyze/hta/hta_rows.h"
#include "formats/base/buf.h"
#include "formats/reader.h"
#include "tests/fuzz/help/fuzz.h"
#include "tests/fuzz/help/mutate.h"

static void put_number(uint8_t *to, uint64_t v, int width)
{
    for (int i = 0; i < width; i++) to[i] = (uint8_t)(v >> 8 * i);
}

/* Bytes behind the head of an empty result. */
static void load(const uint8_t *data, size_t size)
{
    enum { HEAD = 28, SIZE_AT = 12, HASH_AT = 20 };
    struct gp_hta h;
    struct gp_buf b = {0};
    gp_hta_init(&h, NULL);
    gp_hta_save(&h, &b);
    b.n = HEAD;
    gp_buf_put(&b, data, size);
    put_number((uint8_t *)b.data + SIZE_AT, size, 8);
    put_number((uint8_t *)b.data + HASH_AT, gp_hash_bytes(b.data + HEAD, size), 8);
    if (!gp_hta_load(&h, b.data, b.n, NULL)) gp_hta_finish(&h);
    gp_hta_release(&h);
    gp_buf_release(&b);
}

static void check_device(const struct gp_hta_device *d)
{
    const struct gp_breakdown *b = &d->b;
    int64_t idle = 0;
    for (int i = 0; i < GP_IDLE_CAUSE_COUNT; i++) idle += d->idle_cause_ns[i];
    FUZZ_CHECK(idle == b->idle_ns);
    FUZZ_CHECK(b->compute_ns + b->exposed_communication_ns + b->exposed_memory_ns + b->idle_ns == b->span_ns);
    FUZZ_CHECK(b->exposed_communication_ns >= 0 && b->exposed_memory_ns >= 0 && b->idle_ns >= 0 &&
               b->overlap_ns >= 0);
}

static void analyse(const uint8_t *data, size_t size, enum gp_repair repair)
{
    struct gp_trace t;
    struct gp_read_opts read = {.threads = 1, .need = GP_HTA_NEED};
    if (gp_trace_read_memory(&t, data, size, &read, NULL)) return;
    struct gp_hta h, copy;
    struct gp_hta_opts opts = {.repair = repair};
    gp_hta_init(&h, &opts);
    gp_hta_init(&copy, &opts);
    FUZZ_CHECK(!gp_hta_add_trace(&h, &t, NULL));
    uint64_t events = 0, expected = t.events[GP_GPU].n;
    gp_trace_release(&t);
    struct gp_buf saved = {0}, again = {0};
    gp_hta_save(&h, &saved);
    FUZZ_CHECK(!gp_hta_load(&copy, saved.data, saved.n, NULL));
    gp_hta_save(&copy, &again);
    FUZZ_CHECK(saved.n == again.n && !memcmp(saved.data, again.data, saved.n));
    gp_hta_finish(&h);
    for (size_t i = 0; i < h.devices.n; i++) check_device(&h.devices.at[i]);
    for (size_t i = 0; i < h.kernels.n; i++) events += h.kernels.at[i].dur.n;
    FUZZ_CHECK(events == expected);
    gp_hta_merge(&copy, &h);
    gp_hta_release(&h);
    gp_hta_release(&copy);
    gp_buf_release(&saved);
    gp_buf_release(&again);
}

const struct fuzz_heads fuzz_heads = {1, 1};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size) return 0;
    if (data[0] & 1) load(data + 1, size - 1);
    else analyse(data + 1, size - 1, (enum gp_repair)((data[0] >> 1) % 3));
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    return fuzz_mutate(data, size, most, seed, fuzz_heads.size);
}
