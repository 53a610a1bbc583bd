#include <stdlib.h>
#include <string.h>
#include "formats/base/err.h"
#include "formats/pickle/snapshot.h"

enum { CHUNK = 1 << 16, COLUMNS = 9, CATEGORIES = 8, DEPTH_MOST = 3 };
#define SIZE_MOST  ((int64_t)1 << 48)
#define TOTAL_MOST ((int64_t)1 << 60)
#define IS_NS      ((int64_t)100000000000000000) /* Unix times from here on are in ns, not us */

/* By column less one, and by number in the other form. */
static const char *const categories[CATEGORIES] = {"parameter",       "optimizer_state", "input",
                                                   "temporary",       "activation",      "gradient",
                                                   "autograd_detail", "unknown"};

enum token { END, OPEN, CLOSE, NUMBER, WRONG };

struct reading {
    struct gp_input *in;
    char bytes[CHUNK];
    size_t at, n;
    uint64_t base;
    int64_t number;
    struct gp_snapshot *s;
    int64_t total;
    uint64_t next_addr;
    struct {
        GP_VEC(uint32_t) rows; /* of blocks that are alive, the youngest last */
    } open[CATEGORIES];
};

/* ---- lists of numbers ---- */

static int peek(struct reading *r)
{
    if (r->at == r->n) {
        r->base += r->n;
        r->at = 0;
        r->n = gp_input_read(r->in, r->bytes, CHUNK);
        if (!r->n) return -1;
    }
    return (unsigned char)r->bytes[r->at];
}

static bool is_number(int c)
{
    return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

/* The integer part of a number; larger ones become the largest. */
static void take_number(struct reading *r)
{
    bool negative = false, whole = true;
    int64_t v = 0;
    for (int c = peek(r); c >= 0 && is_number(c); c = peek(r)) {
        r->at++;
        if (c == '-' && !v) negative = true;
        else if (c == '.' || c == 'e' || c == 'E') whole = false;
        else if (whole && c >= '0' && c <= '9') v = v > (INT64_MAX - 9) / 10 ? INT64_MAX : v * 10 + (c - '0');
    }
    r->number = negative ? -v : v;
}

static enum token next(struct reading *r)
{
    int c = peek(r);
    while (c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == ',') {
        r->at++;
        c = peek(r);
    }
    if (c < 0) return END;
    if (is_number(c)) {
        take_number(r);
        return NUMBER;
    }
    r->at++;
    return c == '[' ? OPEN : c == ']' ? CLOSE : WRONG;
}

/* A list of at most MOST numbers, behind its bracket; how many there were, -1: it did not end. */
static int take_list(struct reading *r, int64_t *to, int most)
{
    int n = 0;
    for (;;) {
        enum token t = next(r);
        if (t == CLOSE) return n;
        if (t != NUMBER) return -1;
        if (n < most) to[n] = r->number;
        n++;
    }
}

/* ---- rows ---- */

static void put_row(struct reading *r, uint8_t action, uint64_t addr, int64_t size, int64_t time_ns,
                    int category)
{
    struct gp_snapshot_rows *rows = &r->s->rows;
    size_t i = gp_snapshot_add_row(rows);
    rows->action[i] = action;
    rows->addr[i] = addr;
    rows->size[i] = size;
    rows->time_ns[i] = time_ns;
    rows->stack[i] = (uint32_t)category + 1;
    rows->context[i] = (uint16_t)(category + 1);
}

static bool count_size(struct reading *r, int64_t size)
{
    if (size <= 0 || size > SIZE_MOST || size > TOTAL_MOST - r->total) return false;
    r->total += size;
    return true;
}

static void allocate(struct reading *r, int64_t size, int64_t time_ns, int category)
{
    if (!count_size(r, size)) return;
    uint32_t row = (uint32_t)r->s->rows.n;
    GP_VEC_PUSH(&r->open[category].rows, row);
    put_row(r, GP_ACT_ALLOC, r->next_addr++, size, time_ns, category);
}

/* The youngest block of that size and category; one of another size where there is none. */
static void release(struct reading *r, int64_t size, int64_t time_ns, int category)
{
    enum { LOOK = 4096 };
    const struct gp_snapshot_rows *rows = &r->s->rows;
    size_t n = r->open[category].rows.n, i = n;
    while (i && n - i < LOOK && rows->size[r->open[category].rows.at[i - 1]] != size) i--;
    if (!i || n - i == LOOK) {
        if (count_size(r, size)) put_row(r, GP_ACT_FREE_COMPLETED, r->next_addr++, size, time_ns, category);
        return;
    }
    uint32_t row = r->open[category].rows.at[i - 1];
    memmove(r->open[category].rows.at + i - 1, r->open[category].rows.at + i,
            (n - i) * sizeof *r->open[category].rows.at);
    r->open[category].rows.n--;
    put_row(r, GP_ACT_FREE_COMPLETED, rows->addr[row], size, time_ns, category);
}

/* ---- every change: [time, action, bytes, category] ---- */

struct change {
    int64_t time, action, bytes, category;
};

static bool is_new_version(const struct change *a, const struct change *b)
{
    return a->action == 3 && b->action == 3 && a->time == b->time && a->bytes == -b->bytes &&
           a->category == b->category;
}

static void put_change(struct reading *r, const struct change *c)
{
    int category = c->category >= 0 && c->category < CATEGORIES ? (int)c->category : CATEGORIES - 1;
    int64_t time_ns = c->time > 0 ? c->time : 0;
    if (c->bytes > 0) allocate(r, c->bytes, time_ns, category);
    else if (c->bytes > -SIZE_MOST) release(r, -c->bytes, time_ns, category);
}

/* FIRST is the first change. A new version of a block is two changes that cancel. */
static enum token read_changes(struct reading *r, const int64_t *first)
{
    struct change last = {first[0], first[1], first[2], first[3]}, now;
    bool held = true;
    enum token t;
    while ((t = next(r)) == OPEN) {
        int64_t v[4];
        if (take_list(r, v, 4) != 4) {
            t = END;
            break;
        }
        now = (struct change){v[0], v[1], v[2], v[3]};
        if (held && is_new_version(&last, &now)) {
            held = false;
            continue;
        }
        if (held) put_change(r, &last);
        last = now;
        held = true;
    }
    if (held) put_change(r, &last);
    return t;
}

/* ---- sums by category: [[time, ...], [[0, parameters, ...], ...]] ---- */

/* A sum that changed becomes a free of the old size and an allocation of the new one. */
static void put_sums(struct reading *r, int64_t time_ns, const int64_t *before, const int64_t *after)
{
    for (int i = 0; i < CATEGORIES; i++)
        if (before[i] != after[i] && before[i] > 0) release(r, before[i], time_ns, i);
    for (int i = 0; i < CATEGORIES; i++)
        if (before[i] != after[i] && after[i] > 0) allocate(r, after[i], time_ns, i);
}

static enum token read_sums(struct reading *r, const int64_t *times, size_t n)
{
    int64_t before[CATEGORIES] = {0}, row[COLUMNS];
    r->s->sums_only = true;
    if (next(r) != OPEN) return END;
    for (size_t i = 0;; i++) {
        enum token t = next(r);
        if (t != OPEN) return t == CLOSE ? next(r) : END;
        int columns = take_list(r, row, COLUMNS);
        if (columns < 2) return END;
        for (int k = columns; k < COLUMNS; k++) row[k] = 0;
        for (int k = 1; k < COLUMNS; k++)
            if (row[k] < 0 || row[k] > SIZE_MOST) row[k] = 0;
        int64_t time = i < n ? times[i] : n ? times[n - 1] : 0;
        put_sums(r, time >= IS_NS ? time : time < INT64_MAX / 1000 ? time * 1000 : 0, before, row + 1);
        memcpy(before, row + 1, sizeof before);
    }
}

/* ---- all of it ---- */

bool gp_export_sniff(const uint8_t *head, size_t n)
{
    size_t i = 0;
    int depth = 0;
    for (;
         i < n && (head[i] == '[' || head[i] == ' ' || head[i] == '\n' || head[i] == '\r' || head[i] == '\t');
         i++)
        depth += head[i] == '[';
    return depth == 2 && i < n && (head[i] == '-' || (head[i] >= '0' && head[i] <= '9'));
}

/* Each category is a frame, and a stack of that frame. */
static void begin(struct reading *r, struct gp_snapshot *s, struct gp_input *in)
{
    memset(s, 0, sizeof *s);
    r->in = in;
    r->s = s;
    r->next_addr = 1;
    gp_intern(&s->strings, "", 0);
    GP_VEC_PUSH(&s->stacks, (struct gp_snapshot_stack){0, 0});
    GP_VEC_PUSH(&s->contexts, (struct gp_snapshot_context){0});
    GP_VEC_PUSH(&s->streams, 0);
    for (uint32_t i = 0; i < CATEGORIES; i++) {
        gp_sid name = gp_intern_cstr(&s->strings, categories[i]);
        GP_VEC_PUSH(&s->frames, (struct gp_snapshot_frame){.name = name, .line = -1});
        GP_VEC_PUSH(&s->stack_frames, i);
        GP_VEC_PUSH(&s->stacks, (struct gp_snapshot_stack){i, 1});
        GP_VEC_PUSH(&s->contexts, (struct gp_snapshot_context){.category = name});
    }
    s->sizes_are_real = true;
    s->settings.max_split_size = -1;
}

/* The first inner list tells the two forms apart: four numbers, the second of them 1 to 4, or times. */
static enum token read_all(struct reading *r)
{
    GP_VEC(int64_t) first = {0};
    enum token t;
    if (next(r) != OPEN || next(r) != OPEN) return WRONG;
    while ((t = next(r)) == NUMBER) GP_VEC_PUSH(&first, r->number);
    if (t == CLOSE) {
        bool changes = first.n == 4 && first.at[1] >= 1 && first.at[1] <= 4;
        t = changes ? read_changes(r, first.at) : read_sums(r, first.at, first.n);
    }
    GP_VEC_FREE(&first);
    return t;
}

/* What was there before has no time: it gets that of the first change. */
static void give_times(struct gp_snapshot *s)
{
    size_t i = 0;
    while (i < s->rows.n && s->rows.time_ns[i] <= 0) i++;
    for (size_t k = 0; k < i && i < s->rows.n; k++) s->rows.time_ns[k] = s->rows.time_ns[i];
}

static void issue(struct gp_snapshot *s, enum gp_issue_kind kind, uint64_t offset)
{
    s->issues[kind] = (struct gp_issue){1, (int64_t)offset};
}

int gp_export_read(struct gp_snapshot *s, struct gp_input *in, struct gp_err *err)
{
    struct reading *r = gp_zalloc(sizeof *r);
    struct gp_err damage = {0};
    begin(r, s, in);
    enum token t = read_all(r);
    uint64_t offset = r->base + r->at;
    if (t == END) issue(s, GP_Q_TRUNCATED, offset);
    else if (t != CLOSE) issue(s, GP_Q_SYNTAX, offset);
    if (gp_input_status(in, &damage)) issue(s, GP_Q_COMPRESSION, (uint64_t)damage.offset);
    give_times(s);
    GP_VEC_PUSH(&s->traces, (struct gp_snapshot_trace){0, s->rows.n, -1});
    s->input = (struct gp_input_info){.path = gp_input_path(in),
                                      .format = "memory_timeline",
                                      .compression = gp_input_compression(in),
                                      .bytes = offset,
                                      .events = s->rows.n};
    for (int i = 0; i < CATEGORIES; i++) GP_VEC_FREE(&r->open[i].rows);
    free(r);
    if (s->rows.n) return 0;
    gp_snapshot_release(s);
    return gp_fail(err, GP_E_FORMAT, (int64_t)offset,
                   "byte %llu: lists of numbers, but not a memory time line", (unsigned long long)offset);
}
