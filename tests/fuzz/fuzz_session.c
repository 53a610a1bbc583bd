/* fuzz_session.c -- a hostile process: what it puts into the shared memory and sends, and when. Whatever
 * comes out is a valid trace. The input is a byte that says how the process ends, then steps: a byte WHAT,
 * two bytes N, N bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "collect/session.h"
#include "collect/wire/shared.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/gpt/gpt.h"
#include "formats/reader.h"
#include "tests/fuzz/help/fuzz.h"
#include "tests/unit/trace_check.h"

enum { BUFFER = 65536, SLOTS = 4, MAX_BYTES = 1 << 16 };
/* WHAT: below these it is the type of a frame. */
enum { SET_SLOT = 16, FILL_BUFFER, WRITE_LOG, WRITE_HEAD };

static int on_block(void *ctx, const void *block, size_t n)
{
    gp_buf_put(ctx, block, n);
    return 0;
}

/* The first byte says which slot, the second its state; then what the process says of it. */
static void set_slot(struct gp_shared *s, const uint8_t *p, size_t n)
{
    struct gp_slot *slot = gp_shared_slot(s, n ? p[0] % SLOTS : 0);
    uint32_t valid = BUFFER;
    uint64_t counts[2] = {100, UINT64_MAX};
    if (n >= 6) memcpy(&valid, p + 2, sizeof valid);
    if (n >= 6 + sizeof counts) memcpy(counts, p + 6, sizeof counts);
    slot->valid = valid;
    slot->records = counts[0];
    slot->names = counts[1];
    atomic_store(&slot->state, n > 1 ? p[1] % 8u : GP_SLOT_OUT);
}

/* A trace of a part of the process, where it does no harm. */
static void take_cut(struct gp_session *session, const uint8_t *p, size_t n)
{
    struct gp_wire_cut cut = {.id = 0};
    memcpy(&cut, p, n < sizeof cut ? n : sizeof cut);
    snprintf(cut.path, sizeof cut.path, "/dev/null/%u", n ? p[0] : 0);
    gp_session_take(session, GP_WIRE_CUT, &cut, sizeof cut);
}

static void step(struct gp_session *session, struct gp_shared *s, uint8_t what, const uint8_t *p, size_t n)
{
    switch (what) {
    case SET_SLOT: set_slot(s, p, n); break;
    case FILL_BUFFER:
        if (n) memcpy(gp_shared_buffer(s, p[0] % SLOTS), p + 1, n - 1);
        break;
    case WRITE_LOG: memcpy(s->map + s->log_at, p, n); break;
    case WRITE_HEAD: /* counts of the log, sizes of records */ memcpy(s->map, p, n < 4096 ? n : 4096); break;
    case GP_WIRE_CUT: take_cut(session, p, n); break;
    default: gp_session_take(session, what, p, n); break;
    }
}

static void check(const struct gp_buf *file)
{
    struct gp_read_opts opts = {.threads = 1};
    struct gp_trace t;
    struct gp_err err = {0};
    if (gp_trace_read_memory(&t, file->data, file->n, &opts, &err)) return; /* there may be nothing in it */
    if (t.issues[GP_Q_BAD_BLOCK].count || gp_trace_check(&t, &err)) {
        fprintf(stderr, "fuzz_session: %s\n", err.msg);
        abort();
    }
    gp_trace_release(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gp_buf file = {0};
    struct gp_err err = {0};
    uint8_t head[GP_GPT_HEADER_SIZE];
    struct gp_session_opts o = {.producer = 1,
                                .pid = 100,
                                .rank = -1,
                                .api = GP_API_LEVEL_ALL,
                                .memory = 1,
                                .buffer_bytes = BUFFER,
                                .now_ns = 1000,
                                .on_block = on_block,
                                .ctx = &file};
    struct gp_shared_opts shape = gp_shared_size(BUFFER);
    struct gp_shared shared;
    if (size < 1) return 0;
    gp_gpt_file_header(head);
    gp_buf_put(&file, head, sizeof head);
    struct gp_session *s = gp_session_new(&o, &err);
    if (!s || !gp_shared_map(&shared, gp_session_fd(s), &shape)) abort();
    gp_session_sent(s);
    for (size_t at = 1; size - at >= 3;) {
        size_t n = (size_t)data[at + 1] | (size_t)data[at + 2] << 8;
        uint8_t what = data[at];
        at += 3;
        if (n > size - at) n = size - at;
        step(s, &shared, what, data + at, n < MAX_BYTES ? n : MAX_BYTES);
        at += n;
    }
    gp_session_end(s, data[0] & 1 ? GP_END_CUT : GP_END_STOPPED, 1000000);
    gp_session_free(s);
    gp_shared_unmap(&shared);
    check(&file);
    gp_buf_release(&file);
    return 0;
}
