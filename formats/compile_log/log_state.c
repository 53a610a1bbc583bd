/* What is known while a file is read: issues, processes, the payload at hand. */
#include "formats/base/declare.h"
#include "formats/compile_log/compile_log_priv.h"

enum { MOST_PROCESSES = 4096 };
/* Larger numbers in the prefix are threads' addresses, as old versions wrote them. */
#define MOST_PID ((uint64_t)1 << 32)

/* ---- issues ---- */

static const char *const issue_names[] = {GP_CLOG_ISSUES(GP_SECOND)};
static const char *const issue_texts[] = {GP_CLOG_ISSUES(GP_THIRD)};

const char *gp_clog_issue_name(enum gp_clog_issue_kind kind) { return issue_names[kind]; }

const char *gp_clog_issue_text(enum gp_clog_issue_kind kind) { return issue_texts[kind]; }

void gp_clog_issues(struct gp_clog_input *in, enum gp_clog_issue_kind kind, uint64_t n, int64_t offset)
{
    struct gp_clog_issue *i = &in->issues[kind];
    if (!n) return;
    if (!i->count || (offset >= 0 && (i->first_offset < 0 || offset < i->first_offset)))
        i->first_offset = offset;
    i->count += n;
}

void gp_clog_issue(struct gp_clog_reader *rd, enum gp_clog_issue_kind kind, int64_t offset)
{
    gp_clog_issues(&rd->log->inputs.at[rd->input], kind, 1, offset);
}

/* ---- processes ---- */

/* A structured log and a text log of one process share its id. */
static uint32_t find_process(struct gp_clog_reader *rd, uint64_t pid, bool structured)
{
    struct gp_compile_log *log = rd->log;
    for (size_t i = log->processes.n; pid && i-- > 0;) {
        struct gp_clog_process *p = &log->processes.at[i];
        if (p->pid != pid) continue;
        if (structured && p->input != GP_CLOG_NONE) break; /* another machine's */
        if (structured) p->input = rd->input;
        return (uint32_t)i;
    }
    GP_VEC_PUSH(&log->processes, (struct gp_clog_process){
                                     .input = structured ? rd->input : GP_CLOG_NONE, .pid = pid, .rank = -1});
    return (uint32_t)log->processes.n - 1;
}

struct gp_clog_state *gp_clog_state_of(struct gp_clog_reader *rd)
{
    uint64_t pid = rd->line->process < MOST_PID ? rd->line->process : 0;
    bool structured = rd->line->text != NULL;
    for (size_t i = rd->states.n; i-- > 0;)
        if (rd->states.at[i].pid == pid || rd->states.n >= MOST_PROCESSES) {
            struct gp_clog_process *p = &rd->log->processes.at[rd->states.at[i].process];
            if (structured && p->input == GP_CLOG_NONE) p->input = rd->input;
            return &rd->states.at[i];
        }
    GP_VEC_PUSH(&rd->states,
                (struct gp_clog_state){.process = find_process(rd, pid, structured), .pid = pid});
    return &rd->states.at[rd->states.n - 1];
}

/* ---- payloads ---- */

static void check_digest(struct gp_clog_reader *rd)
{
    static const char hex[] = "0123456789abcdef";
    uint8_t digest[GP_MD5_BYTES];
    char text[2 * GP_MD5_BYTES];
    if (rd->context.digest.n != sizeof text) return;
    gp_md5(rd->payload.data, rd->payload_n, digest);
    for (int i = 0; i < GP_MD5_BYTES; i++) {
        text[2 * i] = hex[digest[i] >> 4];
        text[2 * i + 1] = hex[digest[i] & 15];
    }
    if (memcmp(text, rd->context.digest.p, sizeof text) != 0)
        gp_clog_issue(rd, GP_CLOG_DIGEST, rd->line->offset);
}

struct gp_span_text gp_clog_payload(struct gp_clog_reader *rd)
{
    static const char zeros[GP_JSON_PAD], of_nothing[] = "d41d8cd98f00b204e9800998ecf8427e";
    const struct gp_span_text digest = rd->context.digest;
    rd->payload.n = 0;
    if (rd->line->payload) gp_log_payload(rd->line, &rd->payload);
    else if (rd->context.has_payload && rd->line->complete && digest.n &&
             !gp_is(digest.p, digest.n, of_nothing))
        gp_clog_issue(rd, GP_CLOG_PAYLOAD, rd->line->offset);
    rd->payload_n = rd->payload.n;
    gp_buf_put(&rd->payload, zeros, sizeof zeros);
    if (rd->line->payload) check_digest(rd);
    return (struct gp_span_text){rd->payload.data, rd->payload_n};
}

const char *gp_clog_payload_object(struct gp_clog_reader *rd, const char **end)
{
    struct gp_span_text t = gp_clog_payload(rd);
    struct gp_json_value all;
    const char *at = t.p;
    *end = t.p + t.n;
    if (t.n && gp_json_value(at, *end, &all, &at) && all.kind == GP_JSON_OBJECT) return all.p + 1;
    gp_clog_issue(rd, GP_CLOG_PAYLOAD, rd->line->offset);
    return NULL;
}

/* ---- MD5 ---- */

enum { BLOCK = 64, LENGTH_AT = 56 };

static inline uint32_t turn(uint32_t v, int by) { return v << by | v >> (32 - by); }

/* The four rounds of RFC 1321. K is floor(2^32 * |sin(i + 1)|). */
#define F(x, y, z)                   ((z) ^ ((x) & ((y) ^ (z))))
#define G(x, y, z)                   F(z, x, y)
#define H(x, y, z)                   ((x) ^ (y) ^ (z))
#define I(x, y, z)                   ((y) ^ ((x) | ~(z)))
#define STEP(f, a, b, c, d, i, k, s) a = b + turn(a + f(b, c, d) + w[i] + (k), s)
#define FOUR(f, i0, i1, i2, i3, k0, k1, k2, k3, s0, s1, s2, s3)                                              \
    STEP(f, a, b, c, d, i0, k0, s0);                                                                         \
    STEP(f, d, a, b, c, i1, k1, s1);                                                                         \
    STEP(f, c, d, a, b, i2, k2, s2);                                                                         \
    STEP(f, b, c, d, a, i3, k3, s3)

static void add_block(uint32_t state[4], const uint8_t *data)
{
    uint32_t w[16], a = state[0], b = state[1], c = state[2], d = state[3];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)data[4 * i] | (uint32_t)data[4 * i + 1] << 8 | (uint32_t)data[4 * i + 2] << 16 |
               (uint32_t)data[4 * i + 3] << 24;
    FOUR(F, 0, 1, 2, 3, 0xd76aa478u, 0xe8c7b756u, 0x242070dbu, 0xc1bdceeeu, 7, 12, 17, 22);
    FOUR(F, 4, 5, 6, 7, 0xf57c0fafu, 0x4787c62au, 0xa8304613u, 0xfd469501u, 7, 12, 17, 22);
    FOUR(F, 8, 9, 10, 11, 0x698098d8u, 0x8b44f7afu, 0xffff5bb1u, 0x895cd7beu, 7, 12, 17, 22);
    FOUR(F, 12, 13, 14, 15, 0x6b901122u, 0xfd987193u, 0xa679438eu, 0x49b40821u, 7, 12, 17, 22);
    FOUR(G, 1, 6, 11, 0, 0xf61e2562u, 0xc040b340u, 0x265e5a51u, 0xe9b6c7aau, 5, 9, 14, 20);
    FOUR(G, 5, 10, 15, 4, 0xd62f105du, 0x02441453u, 0xd8a1e681u, 0xe7d3fbc8u, 5, 9, 14, 20);
    FOUR(G, 9, 14, 3, 8, 0x21e1cde6u, 0xc33707d6u, 0xf4d50d87u, 0x455a14edu, 5, 9, 14, 20);
    FOUR(G, 13, 2, 7, 12, 0xa9e3e905u, 0xfcefa3f8u, 0x676f02d9u, 0x8d2a4c8au, 5, 9, 14, 20);
    FOUR(H, 5, 8, 11, 14, 0xfffa3942u, 0x8771f681u, 0x6d9d6122u, 0xfde5380cu, 4, 11, 16, 23);
    FOUR(H, 1, 4, 7, 10, 0xa4beea44u, 0x4bdecfa9u, 0xf6bb4b60u, 0xbebfbc70u, 4, 11, 16, 23);
    FOUR(H, 13, 0, 3, 6, 0x289b7ec6u, 0xeaa127fau, 0xd4ef3085u, 0x04881d05u, 4, 11, 16, 23);
    FOUR(H, 9, 12, 15, 2, 0xd9d4d039u, 0xe6db99e5u, 0x1fa27cf8u, 0xc4ac5665u, 4, 11, 16, 23);
    FOUR(I, 0, 7, 14, 5, 0xf4292244u, 0x432aff97u, 0xab9423a7u, 0xfc93a039u, 6, 10, 15, 21);
    FOUR(I, 12, 3, 10, 1, 0x655b59c3u, 0x8f0ccc92u, 0xffeff47du, 0x85845dd1u, 6, 10, 15, 21);
    FOUR(I, 8, 15, 6, 13, 0x6fa87e4fu, 0xfe2ce6e0u, 0xa3014314u, 0x4e0811a1u, 6, 10, 15, 21);
    FOUR(I, 4, 11, 2, 9, 0xf7537e82u, 0xbd3af235u, 0x2ad7d2bbu, 0xeb86d391u, 6, 10, 15, 21);
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
}

void gp_md5(const void *data, size_t n, uint8_t digest[GP_MD5_BYTES])
{
    uint32_t state[4] = {0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u};
    const uint8_t *p = data;
    uint8_t last[2 * BLOCK] = {0};
    size_t left = n;
    for (; left >= BLOCK; left -= BLOCK, p += BLOCK) add_block(state, p);
    if (left) memcpy(last, p, left);
    last[left] = 0x80;
    size_t end = left < LENGTH_AT ? BLOCK : 2 * BLOCK;
    for (int i = 0; i < 8; i++) last[end - 8 + (size_t)i] = (uint8_t)((uint64_t)n << 3 >> (8 * i));
    add_block(state, last);
    if (end > BLOCK) add_block(state, last + BLOCK);
    for (int i = 0; i < GP_MD5_BYTES; i++) digest[i] = (uint8_t)(state[i / 4] >> (8 * (i % 4)));
}

/* ---- events ---- */

enum { MOST_DEPTH = 1000, MOST_SPANS = 1 << 20 };
#define MOST_NS     ((int64_t)1 << 62) /* in the year 2116 */
#define MOST_DUR_NS ((int64_t)1 << 43) /* 2.4 hours: sums of all spans stay in range */

struct event {
    struct gp_json_value name, phase, compile_id;
    int64_t at_ns;
    bool backward;
};

static void read_args(struct event *e, const struct gp_json_value *v, const char *end)
{
    struct gp_json_value key, value;
    const char *p = gp_clog_inside(v, GP_JSON_OBJECT);
    while (p && gp_json_next(&p, end, &key, &value)) {
        if (gp_json_is(&key, "compile_id")) e->compile_id = value;
        else if (gp_json_is(&key, "is_backward")) e->backward = gp_clog_true(&value);
    }
}

static bool read_members(struct event *e, struct gp_span_text t)
{
    struct gp_json_value all, key, value;
    const char *at = t.p, *end = t.p + t.n;
    if (!gp_json_value(at, end, &all, &at) || all.kind != GP_JSON_OBJECT) return false;
    const char *p = all.p + 1;
    *e = (struct event){.at_ns = -1};
    while (gp_json_next(&p, end, &key, &value)) {
        if (gp_json_is(&key, "name")) e->name = value;
        else if (gp_json_is(&key, "ph")) e->phase = value;
        else if (gp_json_is(&key, "ts")) e->at_ns = gp_clog_ns(&value, 0);
        else if (gp_json_is(&key, "args")) read_args(e, &value, end);
    }
    return e->phase.n == 1 && e->name.kind == GP_JSON_STRING && e->at_ns >= 0 && e->at_ns < MOST_NS;
}

static void begin(struct gp_clog_reader *rd, struct gp_clog_state *st, const struct event *e)
{
    int32_t attempt;
    struct gp_clog_span s = {
        .process = st->process, .parent = GP_CLOG_NONE, .begin_ns = e->at_ns, .backward = e->backward};
    if (st->stack.n >= MOST_DEPTH || rd->log->spans.n >= MOST_SPANS) {
        gp_clog_issue(rd, GP_CLOG_LIMIT, rd->line->offset);
        return;
    }
    if (st->stack.n) s.parent = st->stack.at[st->stack.n - 1].span;
    s.name = gp_intern(&rd->log->strings, e->name.p, e->name.n);
    s.compile_id = gp_clog_compile_id(rd, e->compile_id.p, e->compile_id.n, &attempt);
    s.open = true;
    GP_VEC_PUSH(&st->stack, (struct gp_clog_open){(uint32_t)rd->log->spans.n, rd->line->offset});
    GP_VEC_PUSH(&rd->log->spans, s);
    rd->log->processes.at[st->process].has_events = true;
}

static void close_top(struct gp_compile_log *log, struct gp_clog_state *st, int64_t at_ns)
{
    struct gp_clog_span *s = &log->spans.at[st->stack.at[--st->stack.n].span];
    s->dur_ns = at_ns > s->begin_ns ? at_ns - s->begin_ns : 0;
    if (s->dur_ns > MOST_DUR_NS) s->dur_ns = MOST_DUR_NS;
    s->self_ns += s->dur_ns;
    if (s->parent != GP_CLOG_NONE) log->spans.at[s->parent].self_ns -= s->dur_ns;
}

static void end(struct gp_clog_reader *rd, struct gp_clog_state *st, const struct event *e)
{
    struct gp_compile_log *log = rd->log;
    gp_sid name = gp_intern(&log->strings, e->name.p, e->name.n);
    size_t depth = st->stack.n;
    while (depth && log->spans.at[st->stack.at[depth - 1].span].name != name) depth--;
    if (!depth) {
        gp_clog_issue(rd, GP_CLOG_UNMATCHED, rd->line->offset);
        return;
    }
    while (st->stack.n > depth) { /* they lost their ends */
        gp_clog_issue(rd, GP_CLOG_OPEN, st->stack.at[st->stack.n - 1].offset);
        close_top(log, st, e->at_ns);
    }
    log->spans.at[st->stack.at[depth - 1].span].open = false;
    close_top(log, st, e->at_ns);
}

void gp_clog_read_event(struct gp_clog_reader *rd, const struct gp_json_value *v)
{
    struct event e;
    struct gp_clog_state *st = gp_clog_state_of(rd);
    (void)v;
    if (!read_members(&e, gp_clog_payload(rd))) {
        gp_clog_issue(rd, GP_CLOG_PAYLOAD, rd->line->offset);
        return;
    }
    if (e.at_ns > st->last_ns) st->last_ns = e.at_ns;
    if (*e.phase.p == 'B') begin(rd, st, &e);
    else if (*e.phase.p == 'E') end(rd, st, &e);
    if (gp_text_find((struct gp_span_text){e.name.p, e.name.n}, "_template_"))
        rd->log->processes.at[st->process].templates = true;
}

void gp_clog_close_events(struct gp_clog_reader *rd)
{
    GP_EACH(struct gp_clog_state, st, rd->states) {
        while (st->stack.n) {
            gp_clog_issue(rd, GP_CLOG_OPEN, st->stack.at[st->stack.n - 1].offset);
            close_top(rd->log, st, st->last_ns);
        }
    }
}
