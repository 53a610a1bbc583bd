/* fuzz_pickle.c -- hostile snapshots through the pickle machine and the whole analysis. What must always hold
 * is checked: holders sum to what is allocated, the peak is the highest point, segments are in use or free,
 * and nothing is executed, because there is nothing to execute. The first byte chooses what holders are
 * grouped by, and when. */
#include "analyze/memory/memory.h"
#include "formats/base/buf.h"
#include "formats/base/input.h"
#include "formats/pickle/snapshot.h"
#include "render/memory/memory_priv.h"
#include "tests/fuzz/help/fuzz.h"
#include "tests/fuzz/help/outputs.h"

static int64_t held(const gp_memory_holders *all)
{
    int64_t sum = 0;
    for (size_t i = 0; i < all->n; i++) sum += all->at[i].bytes;
    return sum;
}

static void check_lives(const struct gp_memory_device *d)
{
    for (size_t i = 0; i < d->lives.n; i++) {
        const struct gp_memory_life *l = &d->lives.at[i];
        FUZZ_CHECK(l->bytes >= 0 && l->requested >= 0);
        FUZZ_CHECK(l->begin <= d->rows && l->end <= d->rows + 1);
        FUZZ_CHECK(l->site < d->sites.n);
    }
}

static void check_device(struct gp_memory *m, uint32_t i, enum gp_memory_key by)
{
    const struct gp_memory_device *d = &m->devices.at[i];
    gp_memory_holders all = {0};
    gp_memory_holders_at(m, i, d->peak_position, by, &all);
    FUZZ_CHECK(held(&all) == d->peak_bytes);
    all.n = 0;
    int64_t highest = 0;
    for (size_t k = 0; k < d->series.n; k++)
        if (d->series.at[k].allocated > highest) highest = d->series.at[k].allocated;
    FUZZ_CHECK(highest == d->peak_bytes);
    gp_memory_holders_at(m, i, (uint32_t)d->rows, by, &all);
    FUZZ_CHECK(!d->series.n || held(&all) == d->series.at[d->series.n - 1].allocated);
    check_lives(d);
    GP_VEC_FREE(&all);
}

static void analyse(const uint8_t *data, size_t size, enum gp_memory_key by, enum gp_memory_at at)
{
    struct gp_snapshot s;
    struct gp_memory m;
    struct gp_buf json = {0};
    struct gp_input *in = gp_input_memory(data, size, 1);
    int failed = gp_snapshot_read(&s, in, NULL, NULL, NULL);
    gp_input_close(in);
    if (failed) return;
    s.input.path = s.input.compression = "";
    gp_memory_init(
        &m, &(struct gp_memory_opts){.by = by, .at = at, .at_ns = 1000, .device = -1, .min_bytes = 600});
    gp_memory_add_snapshot(&m, &s);
    FUZZ_CHECK(!gp_memory_finish(&m, NULL));
    m.opts.min_bytes = 0;
    for (uint32_t i = 0; i < m.devices.n; i++) check_device(&m, i, by);
    gp_memory_json_short(&json, &m, "0", SIZE_MAX);
    fuzz_check_output(FUZZ_JSON, json.data, json.n);
    gp_buf_release(&json);
    gp_memory_release(&m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size) return 0;
    analyse(data + 1, size - 1, (enum gp_memory_key)(data[0] % GP_MEMORY_KEY_COUNT),
            (enum gp_memory_at)(data[0] / 8 % 4));
    return 0;
}
