#include "collect/sample/python_layout.h"

#include <string.h>
#include "formats/base/count.h"
#include "formats/base/str.h"

enum { NONE = -1, WORDS = GP_PY_TABLE_BYTES / 8, OFFSET_MOST = 1 << 20 };
#define NO     GP_PY_NONE
#define COOKIE "xdebugpy" /* what the table begins with */

/* What is the same in all versions unless their table says otherwise: from object_type on. */
#define USUAL 8, 16, 2, NO, NO, 5, 0

/* In the order of struct gp_py_layout. */
static const struct gp_py_layout fixed[] = {
    {9,  32, 0,   8,  816, NO, 360, 368, 8,   16, NO,  176, 24, NO, 0,  NO, NO, 264,
     24, 32, 104, NO, 112, 40, 104, 112, 120, 48, 176, 16,  32, 48, 72, 16, 32, USUAL},
    {10, 32, 0,  8,  816, NO, 360, 368, 8,   16, NO,  176, 24, NO, 0,  NO, NO, 280,
     24, 32, 96, NO, 104, 40, 104, 112, 120, 48, 176, 16,  32, 48, 72, 16, 32, USUAL},
    {11, 40, 0,  16, 848, NO, 368, 376, 8,   16,  160, 152, NO, 56, 8,  296, 304, 360,
     48, 32, 56, 69, 80,  72, 112, 128, 136, 184, 192, 16,  32, 48, 72, 16,  32,  USUAL},
    {12, 40, 0,  72, 312, 384, 8,   16,  8,   16,  144, 136, NO, 56, 0,  232, 240, 288,
     8,  0,  56, 70, 80,  68,  112, 128, 136, 192, 200, 16,  32, 40, 56, 16,  32,  USUAL},
};

/* The words of the table from the group of interpreters on, in groups that have a size in front. */
static const struct groups {
    unsigned interp, thread, frame, code, objects, string, gc; /* how long they are */
    unsigned inserted;  /* in the group of threads, behind their frame */
    unsigned main;      /* in the group of interpreters, behind the list of threads */
    uint32_t generator; /* the state of one that runs */
} groups[] = {
    {13, 9, 6, 10, 20, 4, 2, 0, 0, 0},
    {16, 9, 8, 11, 24, 4, 2, 0, 1, 0},
    {16, 17, 8, 11, 28, 5, 5, 3, 1, 4},
};
enum { TABLE_SINCE = 13, BYTES_WORDS = 3 };

/* Where the groups begin, in words. */
struct positions {
    unsigned interp, threads, gc, gil_pointer, gil, gil_locked, gil_holder; /* in the group of interpreters */
    unsigned thread, thread_id, frame, code, objects, bytes, string, collecting, generator;
};

static struct positions positions_of(const struct groups *g)
{
    struct positions p = {.interp = 6, .threads = 9};
    p.gc = p.threads + 1 + g->main;
    p.gil_pointer = p.gc + 4;
    p.gil = p.gc + 5;
    p.gil_locked = p.gc + 7;
    p.gil_holder = p.gc + 8;
    p.thread = p.interp + g->interp;
    p.thread_id = p.thread + 5 + g->inserted;
    p.frame = p.thread + g->thread;
    p.code = p.frame + g->frame;
    p.objects = p.code + g->code;
    p.bytes = p.objects + g->objects;
    p.string = p.bytes + BYTES_WORDS;
    p.collecting = p.string + g->string;
    p.generator = p.collecting + g->gc;
    return p;
}

static bool take(uint32_t *to, const uint64_t *table, unsigned at)
{
    bool ok = at < WORDS && table[at] < OFFSET_MOST;
    if (ok) *to = (uint32_t)table[at];
    return ok;
}

/* Parts that only name things: those of the usual build if the table says nothing that can be. */
static void take_names(struct gp_py_layout *o, const uint64_t *t, const struct positions *p)
{
    o->bytes_size = 16;
    o->bytes_data = 32;
    o->str_length = 16;
    o->str_state = 32;
    o->str_ascii = 40;
    uint32_t size = 0, data = 0, state = 0, length = 0, ascii = 0, gc = 0, collecting = 0;
    bool ok = take(&size, t, p->bytes + 1) && take(&data, t, p->bytes + 2) &&
              take(&state, t, p->string + 1) && take(&length, t, p->string + 2) &&
              take(&ascii, t, p->string + 3);
    if (ok && size >= 16 && data >= size + 8 && data <= 64 && length >= 16 && state >= length + 8 &&
        ascii >= state + 4 && ascii <= 96) {
        o->bytes_size = size;
        o->bytes_data = data;
        o->str_length = length;
        o->str_state = state;
        o->str_ascii = ascii;
    }
    o->str_other = o->str_ascii + 16;
    ok = take(&gc, t, p->gc) && take(&collecting, t, p->collecting + 1);
    o->interp_collecting = ok && gc && collecting && collecting < 1024 ? gc + collecting : NO;
}

/* The lock, in what the interpreter points at: the table says where it is in the interpreter. */
static void take_lock(struct gp_py_layout *o, const uint64_t *t, const struct positions *p)
{
    uint32_t gil = 0, holder = 0, locked = 0;
    bool ok = take(&gil, t, p->gil) && take(&holder, t, p->gil_holder) && take(&locked, t, p->gil_locked) &&
              gil && holder > gil && locked > gil && holder - gil < 256 && locked - gil < 256;
    o->gil_holder = ok ? holder - gil : 8;
    o->gil_locked = ok ? locked - gil : 16;
}

static void take_generators(struct gp_py_layout *o, const uint64_t *t, const struct positions *p,
                            const struct groups *g)
{
    uint32_t frame = 0, state = 0;
    o->generator_runs = g->generator;
    if (o->minor > TABLE_SINCE && take(&frame, t, p->generator + 2) && take(&state, t, p->generator + 3) &&
        frame > state && frame - state <= 8)
        o->generator_state = frame - state;
}

static void take_without_lock(struct gp_py_layout *o, const uint64_t *t, const struct positions *p)
{
    uint32_t type = 0;
    if (take(&type, t, p->objects + 1) && type <= 64) {
        o->object_type = type;
        o->object_size = type + 8;
    }
    take(&o->thread_status, t, p->thread_id + 3);
    if (o->minor == TABLE_SINCE) return;
    take(&o->code_copies, t, p->code + 10);
    o->str_kind = 8;
}

static bool from_table(struct gp_py_layout *o, unsigned minor, const void *table, size_t n)
{
    uint64_t t[WORDS];
    const struct groups *g = &groups[minor - TABLE_SINCE];
    struct positions p = positions_of(g);
    if (n < sizeof t || memcmp(table, GP_TEXT(COOKIE)) != 0) return false;
    memcpy(t, table, sizeof t);
    *o = fixed[GP_COUNT(fixed) - 1]; /* for what is usual */
    o->minor = minor;
    o->thread_cframe = NO;
    bool ok = take(&o->runtime_head, t, 5) && take(&o->interp_next, t, p.interp + 2) &&
              take(&o->interp_threads, t, p.threads) && take(&o->gil_pointer, t, p.gil_pointer) &&
              take(&o->thread_bytes, t, p.thread) && take(&o->thread_next, t, p.thread + 2) &&
              take(&o->thread_interp, t, p.thread + 3) && take(&o->thread_frame, t, p.thread + 4) &&
              take(&o->thread_pthread, t, p.thread_id) && take(&o->thread_native_id, t, p.thread_id + 1) &&
              take(&o->thread_chunk, t, p.thread_id + 2) && take(&o->frame_bytes, t, p.frame) &&
              take(&o->frame_previous, t, p.frame + 1) && take(&o->frame_code, t, p.frame + 2) &&
              take(&o->frame_ip, t, p.frame + 3) && take(&o->frame_owner, t, p.frame + 5) &&
              take(&o->code_bytes, t, p.code) && take(&o->code_file, t, p.code + 1) &&
              take(&o->code_name, t, p.code + 3) && take(&o->code_lines, t, p.code + 4) &&
              take(&o->code_first, t, p.code + 5) && take(&o->code_start, t, p.code + 9);
    if (!ok) return false;
    o->thread_top = o->thread_chunk + 8;
    take_lock(o, t, &p);
    take_names(o, t, &p);
    take_generators(o, t, &p, g);
    if (t[2]) take_without_lock(o, t, &p);
    return true;
}

/* Does every field that is read lie in what is read of its struct? */
static bool is_sound(const struct gp_py_layout *o)
{
    const uint32_t thread[] = {o->thread_next,    o->thread_interp, o->thread_native_id,
                               o->thread_pthread, o->thread_frame,  o->thread_cframe,
                               o->thread_chunk,   o->thread_top,    o->thread_status};
    const uint32_t frame[] = {o->frame_previous, o->frame_code, o->frame_ip, o->frame_owner};
    const uint32_t code[] = {o->code_first, o->code_file, o->code_name, o->code_lines, o->object_size + 16};
    if (o->thread_bytes > GP_PY_THREAD_MOST || o->frame_bytes > GP_PY_FRAME_MOST ||
        o->code_bytes > GP_PY_CODE_MOST || o->thread_bytes < 64 || o->frame_bytes < 32 || o->code_bytes < 64)
        return false;
    if (o->code_copies != NO && o->code_copies + 8 > o->code_bytes) return false;
    for (size_t i = 0; i < GP_COUNT(thread); i++)
        if (thread[i] != NO && thread[i] + 8 > o->thread_bytes) return false;
    for (size_t i = 0; i < GP_COUNT(frame); i++)
        if (frame[i] != NO && frame[i] + (frame[i] == o->frame_owner ? 1 : 8) > o->frame_bytes) return false;
    for (size_t i = 0; i < GP_COUNT(code); i++)
        if (code[i] + 8 > o->code_bytes) return false;
    return o->minor >= 11 || o->code_start + 8 <= o->code_bytes;
}

bool gp_py_layout(struct gp_py_layout *o, uint32_t version, const void *table, size_t n)
{
    unsigned minor = version >> 16 & 255;
    if (version >> 24 != 3 || minor < GP_PY_FIRST_MINOR || minor > GP_PY_LAST_MINOR) return false;
    if (minor >= TABLE_SINCE) return from_table(o, minor, table, n) && is_sound(o);
    *o = fixed[minor - GP_PY_FIRST_MINOR];
    return is_sound(o);
}
