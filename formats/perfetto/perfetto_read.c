/* The reader of Perfetto's native protobuf: packets, one after the other. */
#include <zlib.h>
#include "formats/base/err.h"
#include "formats/base/input.h"
#include "formats/gpt/gpt.h"
#include "formats/model/format.h"
#include "formats/perfetto/perfetto_read_priv.h"

/* No writer compresses packets to less than a part in MOST_RATIO: memory stays in proportion to the file. */
enum { HEAD = 16, WINDOW = 1 << 20, MOST_PACKET = 64 << 20, MOST_RATIO = 256 };

/* ---- is it the format? ---- */

/* Fields of packets, with their types: one of these comes first. Other formats begin with a message of field
 * 1, too, but with other fields in it. */
static const uint32_t usual[] = {
    GP_PF_TAG(2, 2),   GP_PF_TAG(3, 0),   GP_PF_CLOCK_SNAPSHOT, GP_PF_TIMESTAMP,     GP_PF_SEQUENCE,
    GP_PF_TRACK_EVENT, GP_PF_INTERNED,    GP_PF_FLAGS,          GP_PF_TAG(33, 2),    GP_PF_TAG(35, 2),
    GP_PF_TAG(36, 2),  GP_PF_CLEARED_OLD, GP_PF_DROPPED,        GP_PF_TAG(43, 2),    GP_PF_TAG(44, 2),
    GP_PF_TAG(45, 2),  GP_PF_COMPRESSED,  GP_PF_STAGE,          GP_PF_CLOCK_OF_TIME, GP_PF_DEFAULTS,
    GP_PF_TRACK,       GP_PF_TAG(79, 0),  GP_PF_TAG(87, 0),     GP_PF_TAG(89, 2),    GP_PF_TAG(98, 0),
    GP_PF_TAG(126, 2), GP_PF_ZSTD,        GP_PF_REST,
};

static bool sniff(const uint8_t *head, size_t n)
{
    struct gp_wire w = gp_wire_begin(head, n);
    uint64_t tag, size;
    if (!gp_wire_varint(&w, &tag) || tag != GP_PF_PACKET || !gp_wire_varint(&w, &size) || !size) return false;
    if (size < (size_t)(w.end - w.p)) w.end = w.p + size;
    struct gp_wire first = w;
    bool known = false;
    if (!gp_wire_varint(&first, &tag)) return false;
    for (size_t i = 0; i < GP_COUNT(usual); i++) known = known || tag == usual[i];
    for (struct gp_wire_field f; gp_wire_next(&w, &f);) continue;
    return known && (!w.broken || w.end == head + n); /* the packet may be longer than the head */
}

/* ---- packets ---- */

/* The members of TracePacket, in whatever order. */
struct packet {
    struct gp_wire_field event, stage, interned, snapshot, defaults, track, compressed, zstd, rest;
    uint64_t sequence, flags, dropped, time, clock;
    bool has_time, has_clock;
};

static bool read_packet(struct gp_wire w, struct packet *p)
{
    for (struct gp_wire_field f; gp_wire_next(&w, &f);) {
        if (f.tag == GP_PF_TIMESTAMP) p->time = f.value, p->has_time = true;
        if (f.tag == GP_PF_CLOCK_OF_TIME) p->clock = f.value, p->has_clock = true;
        if (f.tag == GP_PF_SEQUENCE) p->sequence = f.value;
        if (f.tag == GP_PF_FLAGS) p->flags |= f.value;
        if (f.tag == GP_PF_CLEARED_OLD && f.value) p->flags |= GP_PF_CLEARED;
        if (f.tag == GP_PF_DROPPED) p->dropped = f.value;
        if (f.tag == GP_PF_TRACK_EVENT) p->event = f;
        if (f.tag == GP_PF_STAGE) p->stage = f;
        if (f.tag == GP_PF_INTERNED) p->interned = f;
        if (f.tag == GP_PF_CLOCK_SNAPSHOT) p->snapshot = f;
        if (f.tag == GP_PF_DEFAULTS) p->defaults = f;
        if (f.tag == GP_PF_TRACK) p->track = f;
        if (f.tag == GP_PF_COMPRESSED) p->compressed = f;
        if (f.tag == GP_PF_ZSTD) p->zstd = f;
        if (f.tag == GP_PF_REST) p->rest = f;
    }
    return !w.broken;
}

static void read_packets(struct gp_pr *r, const void *data, size_t n, int depth)
{
    struct gp_wire w = gp_wire_begin(data, n);
    for (struct gp_wire_field f; gp_wire_next(&w, &f);)
        if (f.tag == GP_PF_PACKET) gp_pr_packet(r, gp_wire_message(&f), depth);
    if (w.broken) gp_trace_issue(r->t, GP_Q_BAD_BLOCK, 1, (int64_t)r->offset);
}

/* What can be decompressed of F is read. */
static void read_deflated(struct gp_pr *r, const struct gp_wire_field *f, int depth)
{
    struct gp_buf plain = {0};
    z_stream z = {.next_in = (Bytef *)(uintptr_t)f->data, .avail_in = (uInt)f->value};
    int result = inflateInit(&z);
    size_t most = f->value < MOST_PACKET / MOST_RATIO ? WINDOW + f->value * MOST_RATIO : MOST_PACKET;
    while (result == Z_OK && plain.n < most) {
        z.next_out = (Bytef *)gp_buf_reserve(&plain, WINDOW);
        z.avail_out = WINDOW;
        result = inflate(&z, Z_NO_FLUSH);
        plain.n += WINDOW - z.avail_out;
        if (result == Z_OK && !z.avail_in && z.avail_out) break; /* cut */
    }
    inflateEnd(&z);
    if (result != Z_STREAM_END)
        gp_trace_issue(r->t, plain.n < most ? GP_Q_COMPRESSION : GP_Q_LIMIT, 1, (int64_t)r->offset);
    if (plain.n) read_packets(r, plain.data, plain.n, depth + 1);
    gp_buf_release(&plain);
}

static void read_zstd(struct gp_pr *r, const struct gp_wire_field *f, int depth)
{
    struct gp_buf plain = {0};
    struct gp_err err = {0};
    struct gp_input *in = gp_input_memory(f->data, f->value, 1);
    if (gp_input_rest(in, MOST_PACKET, &plain, &err))
        gp_trace_issue(r->t, GP_Q_COMPRESSION, 1, (int64_t)r->offset);
    gp_input_close(in);
    if (plain.n) read_packets(r, plain.data, plain.n, depth + 1);
    gp_buf_release(&plain);
}

/* What Perfetto has no words for; only before everything else. */
static void read_rest(struct gp_pr *r, struct gp_wire w)
{
    struct gp_trace *t = r->t;
    struct gp_err err = {0};
    const struct gp_read_opts opts = {.threads = 1};
    uint32_t need = t->need;
    uint64_t shift = 0;
    bool read = false;
    if (r->packets != 1) return;
    for (struct gp_wire_field f; gp_wire_next(&w, &f);) {
        if (f.tag == GP_PF_REST_SHIFT) shift = f.value;
        if (f.tag != GP_PF_REST_TRACE || read) continue;
        struct gp_input *in = gp_input_memory(f.data, f.value, 1);
        t->need &= ~GP_NEED_FEW_ARROWS; /* who launched what is not in it */
        read = gp_reader_gpt.sniff(f.data, f.value) && !gp_reader_gpt.read(t, in, &opts, &err);
        t->need = need;
        gp_input_close(in);
    }
    r->ours = read;
    for (int i = 0; i < GP_TABLE_COUNT; i++) r->first_row[i] = t->events[i].n;
    if (read && shift <= GP_TIME_MOST) r->shift_ns = (int64_t)shift;
    if (!read) gp_trace_issue(t, GP_Q_BAD_BLOCK, 1, (int64_t)r->offset);
}

static void read_defaults(struct gp_pr_sequence *s, struct gp_wire w)
{
    for (struct gp_wire_field f; gp_wire_next(&w, &f);) {
        if (f.tag == GP_PF_DEFAULT_CLOCK) s->clock = f.value;
        if (f.tag != GP_PF_DEFAULT_EVENT) continue;
        struct gp_wire event = gp_wire_message(&f);
        for (struct gp_wire_field g; gp_wire_next(&event, &g);)
            if (g.tag == GP_PF_DEFAULT_TRACK) s->track = g.value;
    }
}

/* The state of the sequence that P belongs to; NULL: P needs what was lost. */
static struct gp_pr_sequence *state_for(struct gp_pr *r, const struct packet *p)
{
    struct gp_pr_sequence *s = gp_pr_sequence(r, p->sequence);
    if (p->dropped && s->seen) {
        gp_trace_issue(r->t, GP_Q_MISSING_BLOCK, 1, (int64_t)r->offset);
        s->valid = false;
    }
    s->seen = true;
    if (p->flags & GP_PF_CLEARED) gp_pr_clear(s);
    if (p->flags & GP_PF_NEEDS && !s->valid) {
        gp_trace_issue(r->t, GP_Q_BAD_BLOCK, 1, (int64_t)r->offset);
        return NULL;
    }
    return s;
}

void gp_pr_packet(struct gp_pr *r, struct gp_wire w, int depth)
{
    struct packet p = {0};
    bool whole = read_packet(w, &p);
    if (!whole) gp_trace_issue(r->t, GP_Q_SYNTAX, 1, (int64_t)r->offset);
    if ((p.compressed.data || p.zstd.data) && depth) { /* nobody writes that */
        gp_trace_issue(r->t, GP_Q_SYNTAX, 1, (int64_t)r->offset);
        return;
    }
    if (p.compressed.data) read_deflated(r, &p.compressed, depth);
    if (p.zstd.data) read_zstd(r, &p.zstd, depth);
    if (p.compressed.data || p.zstd.data) return;
    r->packets++;
    if (p.rest.data) read_rest(r, gp_wire_message(&p.rest));
    struct gp_pr_sequence *s = state_for(r, &p);
    if (!s) return;
    if (p.snapshot.data) gp_pr_snapshot(r, s, gp_wire_message(&p.snapshot));
    if (p.defaults.data) read_defaults(s, gp_wire_message(&p.defaults));
    if (p.interned.data) gp_pr_intern(r, s, gp_wire_message(&p.interned));
    if (p.track.data) gp_pr_describe(r, gp_wire_message(&p.track));
    if (!p.event.data && !p.stage.data) return;
    int64_t at_ns = 0;
    if (!p.has_time || !gp_pr_time(r, s, p.has_clock ? p.clock : s->clock, p.time, &at_ns)) {
        gp_trace_issue(r->t, GP_Q_BAD_TIME, 1, (int64_t)r->offset);
        return;
    }
    if (p.event.data) gp_pr_track_event(r, s, at_ns, gp_wire_message(&p.event));
    if (p.stage.data) gp_pr_stage(r, s, at_ns, gp_wire_message(&p.stage));
}

/* ---- the file ---- */

struct stream {
    struct gp_input *in;
    struct gp_buf window;
    size_t at;     /* in the window */
    uint64_t base; /* offset of the window in the file */
};

/* Have N bytes at S->at, or what is left of the file. Returns how many there are. */
static size_t fill(struct stream *s, size_t n)
{
    size_t have = s->window.n - s->at;
    if (have >= n) return have;
    if (have) memmove(s->window.data, s->window.data + s->at, have);
    s->base += s->at;
    s->window.n = have;
    s->at = 0;
    size_t want = (n > WINDOW ? n : WINDOW) - have;
    char *to = gp_buf_reserve(&s->window, want);
    s->window.n += gp_input_read(s->in, to, want);
    return s->window.n;
}

/* Pass over N bytes, however many. False: the file ends before. */
static bool skip(struct stream *s, uint64_t n)
{
    while (n) {
        size_t have = fill(s, 1), step = n < have ? (size_t)n : have;
        if (!have) return false;
        s->at += step;
        n -= step;
    }
    return true;
}

/* The next field of the file. False: at its end, or nothing more can be made of it. */
static bool next_packet(struct gp_pr *r, struct stream *s)
{
    uint64_t tag, size = 0;
    size_t have = fill(s, HEAD), head;
    struct gp_wire w = gp_wire_begin(s->window.data + s->at, have);
    r->offset = s->base + s->at;
    if (!have) return false;
    bool good = gp_wire_varint(&w, &tag) && (tag & 7) == 2 && gp_wire_varint(&w, &size);
    head = (size_t)(w.p - (const uint8_t *)(s->window.data + s->at));
    if (!good) {
        gp_trace_issue(r->t, have < HEAD ? GP_Q_TRUNCATED : GP_Q_SYNTAX, 1, (int64_t)r->offset);
        if (have >= HEAD) gp_trace_issue(r->t, GP_Q_TRUNCATED, 1, (int64_t)r->offset);
        return false;
    }
    s->at += head;
    if (tag != GP_PF_PACKET || size > MOST_PACKET) {
        if (tag == GP_PF_PACKET) gp_trace_issue(r->t, GP_Q_LIMIT, 1, (int64_t)r->offset);
        if (skip(s, size)) return true;
        gp_trace_issue(r->t, GP_Q_TRUNCATED, 1, (int64_t)r->offset);
        return false;
    }
    if (fill(s, (size_t)size) < size) {
        gp_trace_issue(r->t, GP_Q_TRUNCATED, 1, (int64_t)r->offset);
        return false;
    }
    const char *packet = s->window.data + s->at;
    s->at += (size_t)size;
    gp_pr_packet(r, gp_wire_begin(packet, (size_t)size), 0);
    return true;
}

static void release(struct gp_pr *r)
{
    gp_pr_sequences_release(r);
    GP_RELEASE(gp_vec_free, &r->tracks, &r->markers, &r->key_of);
    GP_RELEASE(gp_map_release, &r->track_at, &r->flows, &r->processes);
    GP_RELEASE(gp_buf_release, &r->event.members, &r->text);
}

static int read_perfetto(struct gp_trace *t, struct gp_input *in, const struct gp_read_opts *opts,
                         struct gp_err *err)
{
    struct gp_pr r = {.t = t, .primary_clock = GP_PF_BOOTTIME, .gpu_pid = -1, .last_ns = INT64_MIN};
    struct stream s = {.in = in};
    uint64_t told = 0;
    (void)err;
    while (next_packet(&r, &s)) {
        if (!opts->progress || s.base == told) continue;
        told = s.base;
        opts->progress(opts->progress_ctx, told);
    }
    t->input.bytes = s.base + s.at;
    gp_pr_pair(&r);
    gp_pr_place(&r);
    gp_buf_release(&s.window);
    release(&r);
    return 0;
}

const struct gp_reader gp_reader_perfetto = {
    "perfetto", "a trace in Perfetto's protobuf", sniff, read_perfetto, {NULL}};
