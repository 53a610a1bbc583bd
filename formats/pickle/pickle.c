#include "formats/pickle/pickle.h"

#include <stdlib.h>
#include <string.h>
#include "formats/base/err.h"
#include "formats/base/vec.h"

enum { CHUNK = 1 << 18, NEAR = 16, MEMO_BITS = 27, MEMO_SLACK = 1 << 16, HOT_BYTES = 16 };
#define MEMO_MOST ((uint64_t)1 << MEMO_BITS)
#define MEMO_FREE UINT32_MAX

struct machine {
    struct gp_input *in;
    uint8_t *bytes;
    const uint8_t *p, *end; /* within bytes: read and not yet used */
    uint64_t base;          /* offset of `bytes` in the input */
    bool ended;
    struct gp_strings *strings;
    const struct gp_pickle_sink *sink;
    struct gp_pickle_end *out;
    GP_VEC(struct gp_pickle_value) stack;
    size_t marks[GP_PICKLE_DEPTH];
    size_t n_marks;
    GP_VEC(uint32_t) memo; /* kind << MEMO_BITS | payload */
    uint64_t at;           /* offset of the opcode */
    /* the last short text: "N/A" again and again */
    uint64_t last_text;
    uint32_t last_size; /* 0: none */
    gp_sid last_sid;
    bool done;
};

/* ---- bytes ---- */

static uint64_t offset_of(const struct machine *m) { return m->base + (uint64_t)(m->p - m->bytes); }

static void refill(struct machine *m)
{
    size_t left = (size_t)(m->end - m->p);
    if (m->ended) return;
    m->base = offset_of(m);
    memmove(m->bytes, m->p, left);
    size_t n = gp_input_read(m->in, m->bytes + left, CHUNK - left);
    if (n < CHUNK - left) m->ended = true;
    m->p = m->bytes;
    m->end = m->bytes + left + n;
    if (m->sink->progress) m->sink->progress(m->sink->ctx, gp_input_done(m->in, m->base + left + n));
}

/* Are N more bytes there? N is at most GP_PICKLE_TEXT_MOST. */
static inline bool has(struct machine *m, size_t n)
{
    if (GP_LIKELY((size_t)(m->end - m->p) >= n)) return true;
    refill(m);
    return (size_t)(m->end - m->p) >= n;
}

static int stop_at(struct machine *m, const char *what)
{
    m->out->damage = what;
    m->out->damage_offset = (int64_t)m->at;
    m->done = true;
    return 0;
}

static int cut_off(struct machine *m)
{
    m->out->truncated = true;
    m->done = true;
    return 0;
}

static inline uint32_t number4(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t number8(const uint8_t *p) { return number4(p) | (uint64_t)number4(p + 4) << 32; }

static uint64_t number(const uint8_t *p, size_t n)
{
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++) v |= (uint64_t)p[i] << 8 * i;
    return v;
}

/* Drop N bytes of the input; false when it ends before. */
static bool skip(struct machine *m, uint64_t n)
{
    while (n) {
        if (!has(m, 1)) return false;
        uint64_t here = (uint64_t)(m->end - m->p);
        if (here > n) here = n;
        m->p += here;
        n -= here;
    }
    return true;
}

/* ---- stack and memo ---- */

/* False, and the run has ended, where as many values wait as may. */
static bool make_room(struct machine *m)
{
    if (m->stack.n >= GP_PICKLE_VALUES) {
        stop_at(m, "too many values wait for their container");
        return false;
    }
    GP_VEC_RESERVE(&m->stack, m->stack.n + 1024);
    return true;
}

static inline struct gp_pickle_value *push(struct machine *m, uint32_t kind, uint64_t payload)
{
    if (GP_UNLIKELY(m->stack.n == m->stack.cap) && !make_room(m)) return &m->stack.at[m->stack.n - 1];
    struct gp_pickle_value *v = &m->stack.at[m->stack.n++];
    v->kind = kind;
    v->memo = 0;
    v->u = payload;
    return v;
}

/* The values of the container being filled. */
static size_t floor_of(const struct machine *m) { return m->n_marks ? m->marks[m->n_marks - 1] : 0; }

static inline bool holds(struct machine *m, size_t n)
{
    if (GP_LIKELY(m->stack.n >= floor_of(m) + n)) return true;
    stop_at(m, "an opcode asks for more values than there are");
    return false;
}

static uint32_t memo_code(const struct gp_pickle_value *v)
{
    if (v->kind == GP_PICKLE_BOOL || v->u < MEMO_MOST) return v->kind << MEMO_BITS | (uint32_t)v->u;
    return (uint32_t)GP_PICKLE_OTHER << MEMO_BITS;
}

static void remember(struct machine *m, uint64_t index)
{
    if (!holds(m, 1)) return;
    /* each takes two bytes of the input, so that no honest index is much larger */
    if (index > m->at + MEMO_SLACK || index >= UINT32_MAX - 1) {
        stop_at(m, "a memo index beyond what the input can hold");
        return;
    }
    if (index >= m->memo.n) {
        GP_VEC_RESERVE(&m->memo, index + 1);
        while (m->memo.n <= index) m->memo.at[m->memo.n++] = MEMO_FREE;
    }
    struct gp_pickle_value *v = &m->stack.at[m->stack.n - 1];
    m->memo.at[index] = memo_code(v);
    v->memo = (uint32_t)index + 1;
}

static inline void recall(struct machine *m, uint64_t index)
{
    uint32_t code = index < m->memo.n ? m->memo.at[index] : MEMO_FREE;
    if (GP_UNLIKELY(code == MEMO_FREE)) {
        stop_at(m, "a memo entry that was never written");
        return;
    }
    push(m, code >> MEMO_BITS, code & (MEMO_MOST - 1))->memo = (uint32_t)index + 1;
}

/* ---- containers ---- */

static bool is_dict(const struct machine *m, uint32_t kind)
{
    return kind == GP_PICKLE_DICT || (kind >= GP_PICKLE_OWN && m->sink->dicts >> kind & 1);
}

static bool is_list(const struct machine *m, uint32_t kind)
{
    return kind == GP_PICKLE_LIST || (kind >= GP_PICKLE_OWN && !(m->sink->dicts >> kind & 1));
}

static void mark(struct machine *m)
{
    if (m->n_marks == GP_PICKLE_DEPTH) stop_at(m, "containers are nested too deep");
    else m->marks[m->n_marks++] = m->stack.n;
}

/* Where the values since the last mark begin; the mark is gone. False: there is none. */
static bool unmark(struct machine *m, size_t *first)
{
    if (!m->n_marks) {
        stop_at(m, "an opcode asks for a mark that was never set");
        return false;
    }
    *first = m->marks[--m->n_marks];
    return true;
}

/* The values from FIRST on go into the container before them. */
static void fill(struct machine *m, size_t first, bool pairs)
{
    size_t n = m->stack.n - first;
    if (first <= floor_of(m) || (pairs && n % 2)) {
        stop_at(m, "an opcode asks for more values than there are");
        return;
    }
    struct gp_pickle_value *self = &m->stack.at[first - 1];
    if (pairs ? !is_dict(m, self->kind) : !is_list(m, self->kind)) {
        stop_at(m,
                pairs ? "pairs for something that is not a dict" : "items for something that is not a list");
        return;
    }
    m->stack.n = first;
    if (!n) return;
    if (pairs) m->sink->pairs(m->sink->ctx, self, self + 1, n / 2, m->at);
    else m->sink->items(m->sink->ctx, self, self + 1, n, m->at);
    /* The memo sees the change of V. */
    if (self->memo) m->memo.at[self->memo - 1] = memo_code(self);
}

static void tuple(struct machine *m, size_t first)
{
    struct gp_pickle_value self = {.kind = GP_PICKLE_TUPLE, .u = 0};
    if (m->stack.n > first) m->sink->tuple(m->sink->ctx, &self, &m->stack.at[first], m->stack.n - first);
    m->stack.n = first;
    push(m, self.kind, self.u);
}

/* LIST and DICT: made of the values above the mark. */
static void gather(struct machine *m, size_t first, bool pairs)
{
    push(m, GP_PICKLE_NONE, 0);
    if (m->done) return;
    memmove(&m->stack.at[first + 1], &m->stack.at[first], (m->stack.n - 1 - first) * sizeof *m->stack.at);
    m->stack.at[first] = (struct gp_pickle_value){.kind = pairs ? GP_PICKLE_DICT : GP_PICKLE_LIST, .u = 0};
    fill(m, first + 1, pairs);
}

/* The input ended, or made no sense: lists keep their items; a dict that is not complete goes, but for the
 * outermost one. */
static void unwind(struct machine *m)
{
    struct gp_pickle_end *out = m->out;
    while (m->n_marks) {
        size_t first = m->marks[--m->n_marks];
        bool inside = first > floor_of(m) && first <= m->stack.n;
        uint32_t kind = inside ? m->stack.at[first - 1].kind : GP_PICKLE_NONE;
        const char *damage = out->damage;
        int64_t offset = out->damage_offset;
        if (inside && is_dict(m, kind) && first == 1) {
            m->stack.n -= (m->stack.n - first) % 2;
            fill(m, first, true);
        } else if (inside && is_list(m, kind)) {
            fill(m, first, false);
        } else {
            m->stack.n = inside ? first - 1 : first;
        }
        out->damage = damage;
        out->damage_offset = offset;
    }
    if (m->stack.n) out->root = m->stack.at[0];
}

/* ---- constants ---- */

/* N bytes, two's complement, the lowest first. */
static int put_long(struct machine *m, uint64_t n)
{
    size_t keep = n < NEAR ? (size_t)n : NEAR;
    if (!has(m, keep)) return cut_off(m);
    const uint8_t *p = m->p;
    size_t used = keep;
    while (used > 8 && n <= NEAR && p[used - 1] == 0) used--;
    uint64_t v = number(p, used < 8 ? used : 8);
    bool negative = n && n <= NEAR && p[keep - 1] & 0x80;
    if (used && used < 8 && negative) v |= UINT64_MAX << 8 * used;
    m->p += keep;
    if (n > keep && !skip(m, n - keep)) return cut_off(m);
    if (used > 8 || n > NEAR) {
        if (!m->out->saturated++) m->out->saturated_offset = (int64_t)m->at;
        if (negative) push(m, GP_PICKLE_INT, (uint64_t)INT64_MIN);
        else push(m, GP_PICKLE_BIG, UINT64_MAX);
        return 0;
    }
    push(m, v > INT64_MAX && !negative ? GP_PICKLE_BIG : GP_PICKLE_INT, v);
    return 0;
}

static int put_text(struct machine *m, uint64_t n)
{
    size_t keep = n < GP_PICKLE_TEXT_MOST ? (size_t)n : GP_PICKLE_TEXT_MOST;
    if (!has(m, keep)) return cut_off(m);
    push(m, GP_PICKLE_TEXT, gp_intern(m->strings, (const char *)m->p, keep));
    m->p += keep;
    if (n == keep) return 0;
    if (!m->out->cut++) m->out->cut_offset = (int64_t)m->at;
    return skip(m, n - keep) ? 0 : cut_off(m);
}

static int put_bytes(struct machine *m, uint64_t n)
{
    push(m, GP_PICKLE_OTHER, 0);
    return skip(m, n) ? 0 : cut_off(m);
}

static void put_real(struct machine *m)
{
    uint64_t bits = 0;
    for (int i = 0; i < 8; i++) bits = bits << 8 | m->p[i];
    push(m, GP_PICKLE_REAL, bits); /* the union reads the same bits */
    m->p += 8;
}

/* ---- opcodes ---- */

const char *gp_pickle_refused(uint8_t opcode)
{
    static const struct {
        uint8_t opcode;
        const char *name;
    } all[] = {
        {'c', "GLOBAL"},    {0x93, "STACK_GLOBAL"}, {'i', "INST"},
        {'o', "OBJ"},       {0x81, "NEWOBJ"},       {0x92, "NEWOBJ_EX"},
        {'R', "REDUCE"},    {'b', "BUILD"},         {0x82, "EXT1"},
        {0x83, "EXT2"},     {0x84, "EXT4"},         {'P', "PERSID"},
        {'Q', "BINPERSID"}, {0x97, "NEXT_BUFFER"},  {0x98, "READONLY_BUFFER"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].opcode == opcode) return all[i].name;
    return NULL;
}

static int refuse(struct machine *m, uint8_t opcode, struct gp_err *err)
{
    const char *name = gp_pickle_refused(opcode);
    if (name)
        return gp_fail(
            err, GP_E_FORMAT, (int64_t)m->at,
            "byte %llu: the opcode %s asks to import or call something; a snapshot holds data only, and "
            "nothing was executed",
            (unsigned long long)m->at, name);
    return stop_at(m, "an opcode that pickles of protocol 2 to 5 do not have");
}

/* How many bytes the argument of each opcode has that is not refused: bit 7 says that there is such an
 * opcode. */
static const uint8_t widths[256] = {
#define HAS(opcode, width) [opcode] = 0x80 | (width)
    HAS('N', 0),  HAS(0x88, 0), HAS(0x89, 0), HAS(')', 0),  HAS(0x8f, 0), HAS(0x90, 0), HAS(0x85, 0),
    HAS(0x86, 0), HAS(0x87, 0), HAS('t', 0),  HAS(0x91, 0), HAS('l', 0),  HAS('d', 0),  HAS('s', 0),
    HAS('0', 0),  HAS('1', 0),  HAS('2', 0),  HAS(0x80, 1), HAS(0x95, 8), HAS('q', 1),  HAS('r', 4),
    HAS(0x8a, 1), HAS(0x8b, 4), HAS('U', 1),  HAS('T', 4),  HAS('X', 4),  HAS(0x8d, 8), HAS('C', 1),
    HAS('B', 4),  HAS(0x8e, 8), HAS(0x96, 8), HAS('G', 8),
#undef HAS
};

/* An opcode that takes all values down to the last mark. */
static void run_marked(struct machine *m, uint8_t opcode)
{
    size_t first;
    if (!unmark(m, &first)) return;
    if (opcode == 't' || opcode == 0x91) tuple(m, first); /* TUPLE, FROZENSET */
    else if (opcode == 0x90) fill(m, first, false);       /* ADDITEMS */
    else if (opcode == '1') m->stack.n = first;           /* POP_MARK */
    else gather(m, first, opcode == 'd');                 /* DICT, LIST */
}

static int run_rare(struct machine *m, uint8_t opcode, struct gp_err *err)
{
    size_t width = widths[opcode] & 0x7f;
    if (!widths[opcode]) return refuse(m, opcode, err);
    if (!has(m, width)) return cut_off(m);
    if (opcode == 'G') {
        put_real(m);
        return 0;
    }
    uint64_t n = number(m->p, width);
    m->p += width;
    switch (opcode) {
    case 'N': push(m, GP_PICKLE_NONE, 0); return 0;
    case 0x88: /* NEWTRUE, NEWFALSE */
    case 0x89: push(m, GP_PICKLE_BOOL, opcode == 0x88); return 0;
    case ')': push(m, GP_PICKLE_TUPLE, 0); return 0;
    case 0x8f: /* EMPTY_SET */ push(m, GP_PICKLE_LIST, 0); return 0;
    case 0x85: /* TUPLE1 to TUPLE3 */
    case 0x86:
    case 0x87:
        if (holds(m, opcode - 0x84u)) tuple(m, m->stack.n - (opcode - 0x84u));
        return 0;
    case 's':
        if (holds(m, 3)) fill(m, m->stack.n - 2, true);
        return 0;
    case '0':
        if (holds(m, 1)) m->stack.n--;
        return 0;
    case '2':
        if (holds(m, 1)) {
            struct gp_pickle_value v = m->stack.at[m->stack.n - 1];
            *push(m, GP_PICKLE_NONE, 0) = v;
        }
        return 0;
    case 0x80: return n > 5 ? stop_at(m, "a protocol newer than 5") : 0;
    case 0x95: /* FRAME: how much follows is advice that nothing here depends on */ return 0;
    case 'q':
    case 'r': remember(m, n); return 0;
    case 0x8a:
    case 0x8b: return put_long(m, n);
    case 'U':
    case 'T':
    case 'X':
    case 0x8d: return put_text(m, n);
    case 'C':
    case 'B':
    case 0x8e:
    case 0x96: return put_bytes(m, n);
    default: run_marked(m, opcode); return 0;
    }
}

static inline void recall_at(struct machine *m, size_t width)
{
    if (GP_UNLIKELY(!has(m, width))) {
        cut_off(m);
        return;
    }
    uint64_t index = width == 1 ? m->p[0] : number4(m->p);
    m->p += width;
    recall(m, index);
}

static inline void put_int(struct machine *m, size_t width)
{
    if (GP_UNLIKELY(!has(m, width))) {
        cut_off(m);
        return;
    }
    uint64_t v = width == 1   ? m->p[0]
                 : width == 2 ? (uint64_t)m->p[0] | (uint64_t)m->p[1] << 8
                              : (uint64_t)(int64_t)(int32_t)number4(m->p);
    m->p += width;
    push(m, GP_PICKLE_INT, v);
}

/* LONG1, mostly of up to eight bytes. */
static inline int put_long1(struct machine *m)
{
    if (!has(m, 1 + NEAR) || m->p[0] > 8 || !m->p[0]) {
        if (!has(m, 1)) return cut_off(m);
        return put_long(m, *m->p++);
    }
    unsigned spare = 64 - 8 * (unsigned)m->p[0];
    int64_t v = (int64_t)(number8(m->p + 1) << spare);
    m->p += 1 + m->p[0];
    push(m, GP_PICKLE_INT, (uint64_t)(v >> spare));
    return 0;
}

static void fill_marked(struct machine *m, bool pairs)
{
    size_t first;
    if (unmark(m, &first)) fill(m, first, pairs);
}

static int finish(struct machine *m)
{
    if (!holds(m, 1)) return 0;
    m->out->root = m->stack.at[m->stack.n - 1];
    m->done = true;
    return 0;
}

/* The next opcode: here those that make up nearly all of a snapshot. */
static inline int run_one(struct machine *m, struct gp_err *err)
{
    if (!has(m, 1)) return cut_off(m);
    m->at = offset_of(m);
    uint8_t opcode = *m->p++;
    switch (opcode) {
    case 'h': recall_at(m, 1); return 0;
    case 'j': recall_at(m, 4); return 0;
    case 0x94: remember(m, m->memo.n); return 0;
    case '(': mark(m); return 0;
    case '}': push(m, GP_PICKLE_DICT, 0); return 0;
    case ']': push(m, GP_PICKLE_LIST, 0); return 0;
    case 'u': fill_marked(m, true); return 0;
    case 'e': fill_marked(m, false); return 0;
    case 'a':
        if (holds(m, 2)) fill(m, m->stack.n - 1, false);
        return 0;
    case 'K': put_int(m, 1); return 0;
    case 'M': put_int(m, 2); return 0;
    case 'J': put_int(m, 4); return 0;
    case 0x8a: return put_long1(m);
    case 0x8c:
        if (!has(m, 1)) return cut_off(m);
        return put_text(m, *m->p++);
    case '.': return finish(m);
    default: return run_rare(m, opcode, err);
    }
}

/* ---- the opcodes that make up nearly all of a snapshot ---- */

/* The state of a run of them: members of the machine, in registers. */
struct hot {
    const uint8_t *p, *last;          /* HOT_BYTES follow each opcode before LAST */
    struct gp_pickle_value *v, *room; /* the next free place of the stack, and where there are none */
};

static inline void enter(const struct machine *m, struct hot *h)
{
    h->p = m->p;
    h->last = m->end - m->p >= HOT_BYTES ? m->end - HOT_BYTES : m->p;
    h->v = m->stack.at + m->stack.n;
    h->room = m->stack.at + m->stack.cap;
}

static inline void leave(struct machine *m, const struct hot *h)
{
    m->p = h->p;
    m->stack.n = (size_t)(h->v - m->stack.at);
}

static inline bool hot_put(struct hot *h, uint64_t u, size_t used)
{
    *h->v++ = (struct gp_pickle_value){.kind = GP_PICKLE_INT, .u = u};
    h->p += used;
    return true;
}

static inline bool hot_recall(const struct machine *m, struct hot *h, uint32_t index, size_t used)
{
    uint32_t code = index < m->memo.n ? m->memo.at[index] : MEMO_FREE;
    if (code == MEMO_FREE) return false;
    *h->v++ =
        (struct gp_pickle_value){.kind = code >> MEMO_BITS, .memo = index + 1, .u = code & (MEMO_MOST - 1)};
    h->p += used;
    return true;
}

static inline bool hot_remember(struct machine *m, struct hot *h)
{
    if (m->memo.n == m->memo.cap || m->memo.n >= UINT32_MAX - 1 || h->v <= m->stack.at + floor_of(m))
        return false;
    m->memo.at[m->memo.n++] = memo_code(&h->v[-1]);
    h->v[-1].memo = (uint32_t)m->memo.n;
    h->p++;
    return true;
}

static inline bool hot_mark(struct machine *m, struct hot *h)
{
    if (m->n_marks == GP_PICKLE_DEPTH) return false;
    m->marks[m->n_marks++] = (size_t)(h->v - m->stack.at);
    h->p++;
    return true;
}

static inline bool hot_long(struct hot *h)
{
    if (!h->p[1] || h->p[1] > 8) return false;
    unsigned spare = 64 - 8 * (unsigned)h->p[1];
    int64_t v = (int64_t)(number8(h->p + 2) << spare);
    return hot_put(h, (uint64_t)(v >> spare), 2 + (size_t)h->p[1]);
}

static inline bool hot_text(struct machine *m, struct hot *h)
{
    uint32_t n = h->p[1];
    if (!n || n > 8) return false;
    uint64_t text = number8(h->p + 2) << (64 - 8 * n);
    if (n != m->last_size || text != m->last_text) {
        m->last_sid = gp_intern(m->strings, (const char *)h->p + 2, n);
        m->last_text = text;
        m->last_size = n;
    }
    hot_put(h, m->last_sid, 2 + (size_t)n);
    h->v[-1].kind = GP_PICKLE_TEXT;
    return true;
}

static inline bool hot_fill(struct machine *m, struct hot *h, bool pairs)
{
    leave(m, h);
    m->at = offset_of(m);
    m->p++;
    fill_marked(m, pairs);
    enter(m, h);
    return !m->done;
}

static inline bool hot_empty(struct hot *h, uint32_t kind)
{
    hot_put(h, 0, 1);
    h->v[-1].kind = kind;
    return true;
}

/* As run_one() does, as long as there is nothing special: bytes, room, an entry of the memo. What is special
 * is left to that. */
static void run_hot(struct machine *m)
{
    struct hot h;
    bool more = true;
    enter(m, &h);
    while (more && h.p < h.last && h.v < h.room) {
        switch (*h.p) {
        case 'h': more = hot_recall(m, &h, h.p[1], 2); break;
        case 'j': more = hot_recall(m, &h, number4(h.p + 1), 5); break;
        case 0x94: more = hot_remember(m, &h); break;
        case '(': more = hot_mark(m, &h); break;
        case '}': more = hot_empty(&h, GP_PICKLE_DICT); break;
        case ']': more = hot_empty(&h, GP_PICKLE_LIST); break;
        case 'u': more = hot_fill(m, &h, true); break;
        case 'e': more = hot_fill(m, &h, false); break;
        case 'K': more = hot_put(&h, h.p[1], 2); break;
        case 'M': more = hot_put(&h, (uint64_t)h.p[1] | (uint64_t)h.p[2] << 8, 3); break;
        case 'J': more = hot_put(&h, (uint64_t)(int64_t)(int32_t)number4(h.p + 1), 5); break;
        case 0x8a: more = hot_long(&h); break;
        case 0x8c: more = hot_text(m, &h); break;
        default: more = false;
        }
    }
    leave(m, &h);
}

/* Behind the end: some writers leave further stops and zero bytes there. */
static void look_behind(struct machine *m)
{
    while (has(m, 1)) {
        while (m->p < m->end && (*m->p == 0 || *m->p == '.')) m->p++;
        if (m->p == m->end) continue;
        m->at = offset_of(m);
        stop_at(m, "bytes behind the end of the pickle");
        return;
    }
}

bool gp_pickle_sniff(const uint8_t *head, size_t n)
{
    return n >= 2 && head[0] == 0x80 && head[1] >= 2 && head[1] <= 5;
}

int gp_pickle_read(struct gp_input *in, struct gp_strings *strings, const struct gp_pickle_sink *sink,
                   struct gp_pickle_end *end, struct gp_err *err)
{
    struct machine m = {.in = in, .strings = strings, .sink = sink, .out = end};
    *end = (struct gp_pickle_end){.damage_offset = -1, .saturated_offset = -1, .cut_offset = -1};
    m.bytes = gp_alloc(CHUNK);
    m.p = m.end = m.bytes;
    GP_VEC_RESERVE(&m.stack, 1); /* run_hot() counts from its address */
    int failed = 0;
    while (!m.done && !failed) {
        run_hot(&m);
        if (!m.done) failed = run_one(&m, err);
    }
    if (!failed && (end->truncated || end->damage)) {
        if (end->truncated) end->damage_offset = (int64_t)m.at;
        unwind(&m);
    } else if (!failed) {
        look_behind(&m);
    }
    end->bytes = offset_of(&m);
    free(m.bytes);
    GP_VEC_FREE(&m.stack);
    GP_VEC_FREE(&m.memo);
    return failed;
}
