#include "collect/sample/python_layout.h"

#include <string.h>
#include "formats/base/count.h"
#include "formats/base/str.h"

enum { NONE = -1, WORDS = GP_PY_TABLE_BYTES / 8, OFFSET_MOST = 1 << 20 };
#define NO     GP_PY_NONE
#define COOKIE "xdebugpy" /* what the table begins with */

/* In the order of struct gp_py_layout. */
static const struct gp_py_layout fixed[] = {
    {9,   false, 32, 0,   8,  816, NO, 360, 368, 8,   16, NO,  176, 24, NO, 0,  NO, NO,
     264, 24,    32, 104, NO, 112, 40, 104, 112, 120, 48, 176, 16,  32, 48, 72, 16, 32},
    {10,  false, 32, 0,  8,  816, NO, 360, 368, 8,   16, NO,  176, 24, NO, 0,  NO, NO,
     280, 24,    32, 96, NO, 104, 40, 104, 112, 120, 48, 176, 16,  32, 48, 72, 16, 32},
    {11,  false, 40, 0,  16, 848, NO, 368, 376, 8,   16,  160, 152, NO, 56, 8,  296, 304,
     360, 48,    32, 56, 69, 80,  72, 112, 128, 136, 184, 192, 16,  32, 48, 72, 16,  32},
    {12,  false, 40, 0,  72, 312, 384, 8,   16,  8,   16,  144, 136, NO, 56, 0,  232, 240,
     288, 8,     0,  56, 70, 80,  68,  112, 128, 136, 192, 200, 16,  32, 40, 56, 16,  32},
};

/* Where the groups of the table begin, in words, and how long they are: they have a size in front, and some
 * grew in 3.14. */
struct positions {
    unsigned interp, threads, gc, gil_pointer, gil_locked, gil_holder; /* in the group of interpreters */
    unsigned thread, frame, code, objects, bytes, string, collecting;
};

static struct positions positions_of(unsigned minor)
{
    unsigned more = minor >= 14;
    struct positions p = {.interp = 6, .threads = 9};
    p.gc = p.threads + 1 + more;
    p.gil_pointer = p.gc + 4;
    p.gil_locked = p.gc + 7;
    p.gil_holder = p.gc + 8;
    p.thread = p.interp + (more ? 16 : 13);
    p.frame = p.thread + 9;
    p.code = p.frame + (more ? 8 : 6);
    p.objects = p.code + (more ? 11 : 10);
    p.bytes = p.objects + (more ? 24 : 20);
    p.string = p.bytes + 3;
    p.collecting = p.string + 4;
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

static bool from_table(struct gp_py_layout *o, unsigned minor, const void *table, size_t n)
{
    uint64_t t[WORDS];
    struct positions p = positions_of(minor);
    if (n < sizeof t || memcmp(table, GP_TEXT(COOKIE)) != 0) return false;
    memcpy(t, table, sizeof t);
    *o = (struct gp_py_layout){.minor = minor, .free_threaded = t[2] != 0, .thread_cframe = NO};
    bool ok = take(&o->runtime_head, t, 5) && take(&o->interp_next, t, p.interp + 2) &&
              take(&o->interp_threads, t, p.threads) && take(&o->gil_pointer, t, p.gil_pointer) &&
              take(&o->thread_bytes, t, p.thread) && take(&o->thread_next, t, p.thread + 2) &&
              take(&o->thread_interp, t, p.thread + 3) && take(&o->thread_frame, t, p.thread + 4) &&
              take(&o->thread_pthread, t, p.thread + 5) && take(&o->thread_native_id, t, p.thread + 6) &&
              take(&o->thread_chunk, t, p.thread + 7) && take(&o->frame_bytes, t, p.frame) &&
              take(&o->frame_previous, t, p.frame + 1) && take(&o->frame_code, t, p.frame + 2) &&
              take(&o->frame_ip, t, p.frame + 3) && take(&o->frame_owner, t, p.frame + 5) &&
              take(&o->code_bytes, t, p.code) && take(&o->code_file, t, p.code + 1) &&
              take(&o->code_name, t, p.code + 3) && take(&o->code_lines, t, p.code + 4) &&
              take(&o->code_first, t, p.code + 5) && take(&o->code_start, t, p.code + 9);
    if (!ok) return false;
    o->thread_top = o->thread_chunk + 8;
    o->gil_holder = 8;
    o->gil_locked = 16;
    take_names(o, t, &p);
    return true;
}

/* Does every field that is read lie in what is read of its struct? */
static bool is_sound(const struct gp_py_layout *o)
{
    const uint32_t thread[] = {o->thread_next,  o->thread_interp, o->thread_native_id, o->thread_pthread,
                               o->thread_frame, o->thread_cframe, o->thread_chunk,     o->thread_top};
    const uint32_t frame[] = {o->frame_previous, o->frame_code, o->frame_ip, o->frame_owner};
    const uint32_t code[] = {o->code_first, o->code_file, o->code_name, o->code_lines};
    if (o->thread_bytes > GP_PY_THREAD_MOST || o->frame_bytes > GP_PY_FRAME_MOST ||
        o->code_bytes > GP_PY_CODE_MOST || o->thread_bytes < 64 || o->frame_bytes < 32 || o->code_bytes < 64)
        return false;
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
    if (minor >= 13) return from_table(o, minor, table, n) && is_sound(o);
    *o = fixed[minor - GP_PY_FIRST_MINOR];
    return is_sound(o);
}
