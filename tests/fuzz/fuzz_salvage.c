/* fuzz_salvage.c -- buffers of activity records that nobody vouches for. The first byte says how they are
 * read: as those of a process that is gone, or as returned ones that hold some records more or less. Then
 * come records of the right shape, with fields that the input changes, and raw bytes behind them. What is
 * taken lies in the time of the process, and what becomes of it is a valid trace. */
#include <string.h>
#include "collect/records/records.h"
#include "collect/records/salvage.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/gpt/gpt_write.h"
#include "formats/reader.h"
#include "tests/fuzz/help/fuzz.h"
#include "tests/fuzz/help/shaped.h"
#include "tests/unit/trace_check.h"

enum { PID = 100, ROOM = 1 << 14 };

struct reading {
    struct gp_records records;
    uint64_t taken;
};

static const char *text(void *ctx, uint64_t address)
{
    (void)ctx;
    return address % FUZZ_TEXT_AT ? NULL : address & FUZZ_TEXT_AT ? "_Z4gemmPfS_i" : "<\"\x1b&\xff";
}

static const char *call_name(void *ctx, bool driver, uint32_t cbid)
{
    static const char *const names[] = {"cudaLaunchKernel_v7000",
                                        "cudaMemcpyAsync_v3020",
                                        "cudaStreamSynchronize_v3020",
                                        "cudaMalloc_v3020",
                                        "cudaGraphLaunch_v10000",
                                        "cudaEventRecord_v3020",
                                        NULL};
    (void)ctx;
    return driver ? "cuLaunchKernel" : names[cbid % (sizeof names / sizeof *names)];
}

static void thread_name(void *ctx, int64_t tid, char *name, size_t size)
{
    (void)ctx;
    snprintf(name, size, "%lld", (long long)tid);
}

static size_t bytes_of(void *ctx, uint32_t kind)
{
    (void)ctx;
    return fuzz_shaped_bytes(kind);
}

static void take(void *ctx, const void *record)
{
    struct reading *r = ctx;
    uint8_t all[GP_RECORD_BYTES];
    memcpy(all, record, sizeof all); /* all of it may be read */
    r->taken++;
    gp_records_add(&r->records, all);
}

static int put_block(void *ctx, const void *data, size_t n)
{
    gp_buf_put(ctx, data, n);
    return 0;
}

static void write_and_read(struct gp_records *records)
{
    struct gp_buf file = {0};
    struct gp_read_opts opts = {.threads = 1};
    struct gp_trace t;
    struct gp_err err = {0};
    gp_records_commit(records, true);
    struct gp_gpt_writer *w = gp_gpt_writer_new(NULL, put_block, &file);
    FUZZ_CHECK(!gp_gpt_begin(w) && !gp_gpt_end(w, &records->trace));
    gp_gpt_writer_free(w);
    FUZZ_CHECK(!gp_trace_read_memory(&t, file.data, file.n, &opts, &err));
    FUZZ_CHECK(!t.issues[GP_Q_BAD_BLOCK].count && !gp_trace_check(&t, &err));
    gp_trace_release(&t);
    gp_buf_release(&file);
}

/* In a block of its own size, so that reading beyond it is noticed. */
static void read_buffer(struct reading *r, struct gp_salvage *s, struct fuzz_take *in, uint8_t how)
{
    static uint8_t room[ROOM];
    uint64_t count;
    size_t raw = how & 0x40 ? fuzz_take_number(in, 1) : 0,
           n = fuzz_shaped_records(room, ROOM, in, PID, &count);
    const uint8_t *tail = fuzz_take_bytes(in, &raw);
    uint8_t *exact = malloc(n + raw + 1);
    memcpy(exact, room, n);
    memcpy(exact + n, tail, raw);
    n += raw;
    if (how & 0x20 && n) n -= fuzz_take_number(in, 1) % n; /* cut */
    uint8_t *data = malloc(n ? n : 1);
    memcpy(data, exact, n);
    free(exact);
    if (how & 1) gp_salvage_returned(s, data, n, count + (how >> 1 & 3));
    else gp_salvage_buffer(s, data, n);
    FUZZ_CHECK(s->taken == r->taken);
    free(data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_take in = {data, data + size};
    struct reading r = {0};
    struct gp_records_opts o = {.pid = PID,
                                .rank = -1,
                                .cupti = 130000,
                                .api = GP_API_LEVEL_ALL,
                                .memory = true,
                                .text = text,
                                .call_name = call_name,
                                .thread_name = thread_name,
                                .ctx = &r};
    struct gp_salvage s = {.bytes = bytes_of,
                           .take = take,
                           .ctx = &r,
                           .pid = PID,
                           .earliest_ns = FUZZ_EARLIEST_NS,
                           .latest_ns = FUZZ_LATEST_NS};
    gp_records_init(&r.records, &o);
    for (unsigned tick = 1; in.at < in.end && tick < 16; tick++) {
        uint8_t how = (uint8_t)fuzz_take_number(&in, 1);
        read_buffer(&r, &s, &in, how);
        if (how & 0x10) gp_records_whole_graphs(&r.records, (int64_t)fuzz_take_any(&in));
        gp_records_tick(&r.records, 1000000 * tick);
        if (how & 8) gp_records_commit(&r.records, false);
    }
    write_and_read(&r.records);
    gp_records_release(&r.records);
    return 0;
}
