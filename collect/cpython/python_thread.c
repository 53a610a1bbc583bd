#include "collect/cpython/python_thread.h"

#include <stdlib.h>
#include <string.h>
#include "formats/base/mem.h"

/* A part of the stack (a chunk) has a header, and the oldest one a free word before its first frame. */
enum { CHUNK_HEADER = 24, FIRST_FRAME = 32, CHUNK_BYTES = 16 << 10, AHEAD = 640, TURNS = 3 };
enum { OLDER_ODDS = 6 };
enum { OWNED_BY_GENERATOR = 1, OWNED_BY_C = 3, OWNER_MOST = 4 };
/* Before 3.11, the word in front of the instruction of a frame is the generator that it belongs to, or 0. */
enum { OLD_GENERATOR = 8 };

/* ---- the ranges to read ---- */

/* Of the part at AT: the one before it, and how much of it is in use once another one follows. */
static bool look_at_part(struct gp_py_reader *r, uint64_t at, uint64_t *previous, uint32_t *used)
{
    uint64_t head[3];
    if (!gp_is_address(at) || !gp_remote_get(r->remote, at, head, sizeof head)) return false;
    bool fits = head[2] <= GP_PY_PART_BYTES / 8 - 3;
    *previous = head[0];
    *used = fits ? (uint32_t)(CHUNK_HEADER + head[2] * 8) : 0;
    return true;
}

/* Is the part at AT, which has none before it, the oldest one of a stack whose newest is CHUNK? From 3.14 on
 * a part that was given back and is kept for later has none before it either, but then another one is the
 * newest. */
static bool is_root(struct gp_py_reader *r, const struct gp_py_thread *t, uint64_t chunk, uint64_t at)
{
    uint64_t newest = 0;
    return at == t->base ||
           (gp_remote_get(r->remote, t->at + r->layout->thread_chunk, &newest, sizeof newest) &&
            newest == chunk);
}

/* The older parts of the stack, which change rarely: mostly the newest one is gone, or another one follows
 * it. */
static void find_parts(struct gp_py_reader *r, struct gp_py_thread *t, uint64_t chunk)
{
    uint64_t at = chunk, known[GP_PY_PARTS];
    uint32_t known_n[GP_PY_PARTS], n = t->root ? t->parts : 0, used;
    memcpy(known, t->part, n * sizeof *known);
    memcpy(known_n, t->part_n, n * sizeof *known_n);
    t->root = 0;
    for (t->parts = 0; t->parts < GP_PY_PARTS; t->parts++) {
        uint64_t previous;
        uint32_t k = 1; /* how much of the newest one is in use has not been known */
        while (k < n && known[k] != at) k++;
        if (k < n && t->parts + (n - k) <= GP_PY_PARTS) {
            memcpy(t->part + t->parts, known + k, (n - k) * sizeof *known);
            memcpy(t->part_n + t->parts, known_n + k, (n - k) * sizeof *known_n);
            t->parts += n - k;
            t->root = t->part[t->parts - 1];
            return;
        }
        if (!look_at_part(r, at, &previous, &used) || (t->parts && !used)) break;
        t->part[t->parts] = at;
        t->part_n[t->parts] = used;
        if (!previous) {
            t->root = is_root(r, t, chunk, at) ? at : 0;
            t->parts++;
            return;
        }
        at = previous;
    }
    if (!t->parts) t->parts = 1; /* the newest one is tried again */
}

/* Next time read the newest part up to a bit above the frame at TOP. */
static void guess(struct gp_py_reader *r, struct gp_py_thread *t, uint64_t top)
{
    const struct gp_py_layout *o = r->layout;
    uint64_t chunk = o->thread_chunk == GP_PY_NONE ? 0 : gp_take_u64(r->state, o->thread_chunk);
    if (!gp_is_address(chunk)) {
        t->parts = 0;
        t->root = 0;
        return;
    }
    bool same = t->parts && t->part[0] == chunk && t->root;
    uint64_t used = top >= chunk && top < chunk + GP_PY_PART_BYTES ? top - chunk + AHEAD
                    : same                                         ? t->part_n[0]
                                                                   : CHUNK_BYTES;
    if (used > CHUNK_BYTES && top < chunk + CHUNK_BYTES) used = CHUNK_BYTES;
    if (used > GP_PY_PART_BYTES) used = GP_PY_PART_BYTES;
    if (!same) find_parts(r, t, chunk);
    t->part[0] = chunk;
    t->part_n[0] = (uint32_t)used;
    if (t->root) t->base = t->root;
}

/* Where a thread points at its innermost frame, or at the C frame that does. */
static uint32_t top_field(const struct gp_py_layout *o)
{
    return o->thread_frame != GP_PY_NONE ? o->thread_frame : o->thread_cframe;
}

static size_t add_copy(struct gp_py_reader *r, const struct gp_py_thread *t, struct gp_remote_range *to,
                       size_t n, int copy)
{
    const struct gp_py_layout *o = r->layout;
    /* the second time in another order: whatever both agree on was so for a while */
    if (!copy && t->cframe) to[n++] = (struct gp_remote_range){t->cframe, r->cframes[copy], 16};
    for (uint32_t i = 0; i < t->parts; i++)
        to[n++] = (struct gp_remote_range){t->part[i], r->parts[copy][i], t->part_n[i]};
    if (copy && t->cframe) to[n++] = (struct gp_remote_range){t->cframe, r->cframes[copy], 16};
    for (uint32_t i = 0; i < t->odds; i++)
        to[n++] =
            (struct gp_remote_range){t->odd[i] - GP_PY_HEAD, r->odds[copy][i], GP_PY_HEAD + o->frame_bytes};
    if (copy) to[n++] = (struct gp_remote_range){t->at + top_field(o), &r->again, sizeof r->again};
    return n;
}

/* Read the state of the thread and both copies of the guessed parts. False if even the state cannot be
 * read. */
static bool read_guessed(struct gp_py_reader *r, const struct gp_py_thread *t)
{
    struct gp_remote_range ranges[2 + 2 * (1 + GP_PY_PARTS + GP_PY_ODD)];
    ranges[0] = (struct gp_remote_range){t->at, r->state, r->layout->thread_bytes};
    r->cframe = t->cframe;
    size_t first = add_copy(r, t, ranges, 1, 0), all = add_copy(r, t, ranges, first, 1);
    size_t got = r->remote->read(r->remote->ctx, ranges, all);
    r->have[0] = got >= first;
    r->have[1] = got == all;
    return got >= 1;
}

/* ---- walking ---- */

struct walk {
    int copy;
    struct gp_py_frame *to;
    uint32_t n;
    uint8_t frame[GP_PY_HEAD + GP_PY_FRAME_MOST]; /* one that was not guessed */
};

/* The bytes of the frame at AT in that copy, or read now. *IN: it lies in the newest part of the stack; *ODD:
 * in none. */
static const uint8_t *frame_at(struct gp_py_reader *r, const struct gp_py_thread *t, struct walk *w,
                               uint64_t at, bool *in, bool *odd)
{
    uint32_t bytes = r->layout->frame_bytes;
    *in = *odd = false;
    for (uint32_t i = 0; i < t->parts && r->have[w->copy]; i++) {
        if (at < t->part[i] || at - t->part[i] + bytes > t->part_n[i]) continue;
        *in = !i;
        return r->parts[w->copy][i] + (at - t->part[i]);
    }
    /* just above the bytes read of the newest part is still the stack */
    *in = t->parts && at >= t->part[0] && at - t->part[0] < GP_PY_PART_BYTES;
    *odd = !*in;
    for (uint32_t i = 0; i < t->odds && r->have[w->copy]; i++)
        if (t->odd[i] == at) return r->odds[w->copy][i] + GP_PY_HEAD;
    r->singles++;
    return gp_remote_get(r->remote, at - GP_PY_HEAD, w->frame, GP_PY_HEAD + bytes) ? w->frame + GP_PY_HEAD
                                                                                   : NULL;
}

/* Follow the frames from AT. False if that is not a stack. */
static bool walk(struct gp_py_reader *r, const struct gp_py_thread *t, struct walk *w, uint64_t at)
{
    const struct gp_py_layout *o = r->layout;
    w->n = 0;
    r->new_odds = 0;
    r->top = 0;
    for (uint32_t depth = 0; at; depth++) {
        bool in, odd;
        if (depth >= GP_PY_DEPTH || !gp_is_address(at)) return false;
        const uint8_t *b = frame_at(r, t, w, at, &in, &odd);
        if (!b) return false;
        if (in && at > r->top) r->top = at;
        if (odd && r->new_odds < GP_PY_ODD) r->new_odds += (r->new_odd[r->new_odds] = at, 1);
        uint64_t previous = gp_take_u64(b, o->frame_previous),
                 code = gp_take_u64(b, o->frame_code) & ~UINT64_C(3);
        uint64_t ip = o->minor >= 11 ? gp_take_u64(b, o->frame_ip) : gp_take_u32(b, o->frame_ip);
        unsigned owner = o->frame_owner == GP_PY_NONE ? 0 : b[o->frame_owner];
        if (owner > OWNER_MOST) return false;
        if (owner == OWNED_BY_GENERATOR && odd && *(b - o->generator_state) != o->generator_runs)
            return false;                            /* it has ended, or waits */
        if (o->minor >= 12 && owner >= OWNED_BY_C) { /* stands for a call from C */
            at = previous;
            continue;
        }
        if (in && previous >= at && previous - t->part[0] < t->part_n[0])
            return false; /* callers lie below */
        if (!code || (!previous && o->minor < 11 && gp_take_u64(b, o->frame_ip - OLD_GENERATOR)))
            return false; /* a generator has a caller while it runs */
        w->to[w->n++] = (struct gp_py_frame){code, at, ip};
        at = previous;
    }
    if (!w->n) return true; /* from 3.15 on every thread has a frame that stands for C at its base */
    return !t->base || w->to[w->n - 1].at == t->base + FIRST_FRAME;
}

/* The innermost frame in that copy; 0: there is none. */
static uint64_t innermost(const struct gp_py_reader *r, int copy)
{
    const struct gp_py_layout *o = r->layout;
    uint64_t top = gp_take_u64(r->state, top_field(o));
    if (copy && r->again != top && o->thread_frame == GP_PY_NONE) return 0; /* another C frame */
    if (o->thread_frame != GP_PY_NONE) return copy ? r->again : top;
    return r->cframe ? gp_take_u64(r->cframes[copy], o->cframe_at) : 0;
}

/* ---- two copies ---- */

static bool equal(const struct gp_py_frame *a, const struct gp_py_frame *b, bool ip)
{
    return a->code == b->code && a->at == b->at && (!ip || a->ip == b->ip);
}

/* The innermost frame may have moved on. */
static bool copies_agree(const struct gp_py_reader *r)
{
    if (r->n != r->second_n) return false;
    for (uint32_t i = 0; i < r->n; i++)
        if (!equal(&r->stack[i], &r->second[i], i > 0)) return false;
    return true;
}

/* Leave the outer frames that both copies have; their number. */
static uint32_t keep_common(struct gp_py_reader *r)
{
    uint32_t n = 0;
    while (n < r->n && n < r->second_n &&
           equal(&r->stack[r->n - 1 - n], &r->second[r->second_n - 1 - n], true))
        n++;
    memmove(r->stack, r->stack + r->n - n, n * sizeof *r->stack);
    return r->n = n;
}

/* The bytes of the NTH frame of the latest whole stack, outermost first, in that copy. */
static const uint8_t *outer_frame(const struct gp_py_reader *r, const struct gp_py_thread *t, uint32_t nth,
                                  int copy)
{
    uint64_t at = t->last[t->last_n - 1 - nth].at;
    if (!t->base) return nth < t->odds ? r->odds[copy][nth] + GP_PY_HEAD : NULL;
    bool in = at >= t->base && at - t->base + r->layout->frame_bytes <= CHUNK_BYTES;
    return in ? r->parts[copy][0] + (at - t->base) : NULL;
}

/* The first frame of the stack has its place at the base. */
static uint32_t keep_outermost(struct gp_py_reader *r, const struct gp_py_thread *t)
{
    const struct gp_py_layout *o = r->layout;
    const uint8_t *a = r->parts[0][0] + FIRST_FRAME, *b = r->parts[1][0] + FIRST_FRAME;
    uint64_t code = gp_take_u64(a, o->frame_code) & ~UINT64_C(3);
    if (!gp_is_address(code) || memcmp(a + o->frame_code, b + o->frame_code, 8) != 0) return 0;
    r->stack[0] = (struct gp_py_frame){code, t->base + FIRST_FRAME, gp_take_u64(a, o->frame_ip)};
    return r->n = 1;
}

/* Where no copy could be followed: the outer frames of the latest whole stack that still stand, in both. */
static uint32_t keep_standing(struct gp_py_reader *r, struct gp_py_thread *t)
{
    const struct gp_py_layout *o = r->layout;
    uint32_t n = 0, ip_bytes = o->minor >= 11 ? 8 : 4;
    uint64_t previous = 0;
    /* Read only the part most likely to stand, the oldest one of the stack; before 3.11, the outermost
     * frames. */
    t->parts = t->base != 0;
    t->odds = 0;
    t->part[0] = t->base;
    t->part_n[0] = CHUNK_BYTES;
    for (uint32_t k = t->last_n; k-- > 0 && !t->base && t->odds < GP_PY_ODD;)
        t->odd[t->odds++] = t->last[k].at;
    if (!((t->parts || t->odds) && read_guessed(r, t) && r->have[0] && r->have[1])) return r->n = 0;
    for (uint32_t k = t->last_n; k-- > 0; n++) {
        const struct gp_py_frame *f = &t->last[k];
        const uint8_t *a = outer_frame(r, t, n, 0), *b = outer_frame(r, t, n, 1);
        if (!a || (gp_take_u64(a, o->frame_code) & ~UINT64_C(3)) != f->code) break;
        if (memcmp(a + o->frame_code, b + o->frame_code, 8) != 0 ||
            memcmp(a + o->frame_ip, b + o->frame_ip, ip_bytes) != 0 ||
            memcmp(a + o->frame_previous, b + o->frame_previous, 8) != 0)
            break;
        if (!t->base && gp_take_u64(a, o->frame_previous) != previous) break;
        previous = f->at;
        r->second[n] = *f;
        r->second[n].ip = ip_bytes == 8 ? gp_take_u64(a, o->frame_ip) : gp_take_u32(a, o->frame_ip);
    }
    for (uint32_t i = 0; i < n; i++) r->stack[i] = r->second[n - 1 - i];
    r->n = n;
    return n || !t->base ? n : keep_outermost(r, t);
}

/* One attempt: GP_PY_WHOLE, GP_PY_EMPTY, GP_PY_PARTIAL where the copies differ, or GP_PY_TORN. */
static enum gp_py_read attempt(struct gp_py_reader *r, struct gp_py_thread *t)
{
    struct walk first = {.copy = 0, .to = r->stack}, second = {.copy = 1, .to = r->second};
    uint64_t at = innermost(r, 0);
    r->n = r->second_n = 0;
    if (!at) return GP_PY_EMPTY;
    bool ok = walk(r, t, &first, at);
    r->n = first.n;
    if (!ok || !r->have[0] || !r->have[1]) return GP_PY_TORN;
    ok = walk(r, t, &second, innermost(r, 1));
    r->second_n = second.n;
    if (ok && !first.n && !second.n) return GP_PY_EMPTY;
    return !ok ? GP_PY_TORN : copies_agree(r) ? GP_PY_WHOLE : GP_PY_PARTIAL;
}

/* Frames outside of the stack: those of now, and some of before, since generators take turns. */
static void guess_odds(const struct gp_py_reader *r, struct gp_py_thread *t, uint32_t older)
{
    uint64_t odd[GP_PY_ODD];
    uint32_t n = r->new_odds, most = n + older < GP_PY_ODD ? n + older : GP_PY_ODD;
    memcpy(odd, r->new_odd, n * sizeof *odd);
    for (uint32_t i = 0; i < t->odds && n < most; i++) {
        uint32_t k = 0;
        while (k < n && odd[k] != t->odd[i]) k++;
        if (k == n) odd[n++] = t->odd[i];
    }
    memcpy(t->odd, odd, n * sizeof *odd);
    t->odds = n;
}

/* Were the bytes read the newest part of the stack, and the C frame that points at its innermost frame? */
static bool fits(const struct gp_py_reader *r, const struct gp_py_thread *t)
{
    const struct gp_py_layout *o = r->layout;
    if (o->thread_frame == GP_PY_NONE && gp_take_u64(r->state, o->thread_cframe) != t->cframe) return false;
    return o->thread_chunk == GP_PY_NONE ||
           (t->parts && gp_take_u64(r->state, o->thread_chunk) == t->part[0]);
}

enum gp_py_read gp_py_thread_read(struct gp_py_reader *r, struct gp_py_thread *t)
{
    enum gp_py_read got = GP_PY_TORN;
    for (int turn = 0; turn <= TURNS; turn++) {
        if (!read_guessed(r, t)) return GP_PY_GONE;
        if (!fits(r, t)) { /* it grew into another part, or this is the first time */
            uint64_t cframe =
                r->layout->thread_frame == GP_PY_NONE ? gp_take_u64(r->state, r->layout->thread_cframe) : 0;
            t->cframe = gp_is_address(cframe) ? cframe : 0;
            guess(r, t, 0);
            if (!read_guessed(r, t)) return GP_PY_GONE;
        }
        uint64_t singles = r->singles;
        got = attempt(r, t);
        if (got == GP_PY_EMPTY) break;
        if (got == GP_PY_TORN) t->root = 0; /* its parts may be others, too */
        guess(r, t, r->top);
        guess_odds(r, t, got == GP_PY_TORN ? 0 : OLDER_ODDS);
        /* bytes read later than the copies are in both: they must be seen with them */
        if (got == GP_PY_WHOLE && (r->singles == singles || r->new_odds == GP_PY_ODD)) break;
        r->retries++;
    }
    if (got != GP_PY_PARTIAL && got != GP_PY_TORN) return got;
    bool some = (got == GP_PY_PARTIAL && keep_common(r)) || keep_standing(r, t);
    return some ? GP_PY_PARTIAL : GP_PY_TORN;
}

/* ---- between samples ---- */

bool gp_py_thread_same(const struct gp_py_reader *r, const struct gp_py_thread *t)
{
    return r->n == t->last_n && !memcmp(r->stack, t->last, r->n * sizeof *r->stack);
}

void gp_py_thread_keep(const struct gp_py_reader *r, struct gp_py_thread *t)
{
    if (r->n != t->last_n) t->last = gp_realloc(t->last, (r->n ? r->n : 1) * sizeof *t->last);
    memcpy(t->last, r->stack, r->n * sizeof *t->last);
    t->last_n = r->n;
}

/* Can that piece of memory go on until the end of the frame AT? */
static bool fits_piece(const struct gp_remote_range *piece, uint64_t at, uint32_t bytes)
{
    return piece->to && at > piece->at && at + bytes - piece->at <= GP_PY_PART_BYTES;
}

bool gp_py_thread_stands(struct gp_py_reader *r, const struct gp_py_thread *t)
{
    enum { MOST = 256 };
    const struct gp_py_layout *o = r->layout;
    struct gp_remote_range ranges[2 + GP_PY_PARTS] = {{t->at + top_field(o), &r->again, sizeof r->again}};
    struct gp_remote_range *piece = &(struct gp_remote_range){0};
    const uint8_t *frame[MOST];
    uint64_t top = 0;
    size_t n = 1, pieces = 0;
    bool cframe = o->thread_frame == GP_PY_NONE;
    if (cframe) ranges[n++] = (struct gp_remote_range){t->cframe + o->cframe_at, &top, sizeof top};
    if (!t->last_n || t->last_n > MOST) return false;
    for (uint32_t i = t->last_n; i-- > 0;) { /* callers lie below */
        uint64_t at = t->last[i].at;
        if (!fits_piece(piece, at, o->frame_bytes)) {
            if (pieces == GP_PY_PARTS) return false;
            piece = &ranges[n++];
            *piece = (struct gp_remote_range){at, r->parts[0][pieces++], 0};
        }
        piece->n = at + o->frame_bytes - piece->at;
        frame[i] = (const uint8_t *)piece->to + (at - piece->at);
    }
    if (r->remote->read(r->remote->ctx, ranges, n) != n) return false;
    if (cframe ? r->again != t->cframe || top != t->last[0].at : r->again != t->last[0].at) return false;
    for (uint32_t i = 0; i < t->last_n; i++) {
        uint64_t code = gp_take_u64(frame[i], o->frame_code) & ~UINT64_C(3);
        uint64_t ip =
            o->minor >= 11 ? gp_take_u64(frame[i], o->frame_ip) : gp_take_u32(frame[i], o->frame_ip);
        if (code != t->last[i].code || ip != t->last[i].ip) return false;
    }
    return true;
}

void gp_py_thread_release(struct gp_py_thread *t)
{
    free(t->last);
    memset(t, 0, sizeof *t);
}
