/* Finds the objects and members of a text of JSON, which need not be sound, and changes some of them: events
 * of Chrome traces, what stands in them, and how they are written. */
#include <inttypes.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/vec.h"
#include "tests/fuzz/help/fuzz.h"
#include "tests/fuzz/help/mutate.h"

enum { MAX_DEPTH = 64, MAX_SPANS = 4096 };

struct span {
    size_t at, n;
};

struct member {
    struct span key, value; /* the key with its quotes */
};

struct text {
    const char *p;
    size_t n;
    GP_VEC(struct span) objects;
    GP_VEC(struct member) members;
};

static const char *const keys[] = {"ph",
                                   "cat",
                                   "name",
                                   "pid",
                                   "tid",
                                   "ts",
                                   "dur",
                                   "args",
                                   "id",
                                   "bp",
                                   "s",
                                   "correlation",
                                   "External id",
                                   "device",
                                   "stream",
                                   "context",
                                   "grid",
                                   "block",
                                   "registers per thread",
                                   "shared memory",
                                   "bytes",
                                   "queued",
                                   "blocks per SM",
                                   "warps per SM",
                                   "est. achieved occupancy %",
                                   "Input Dims",
                                   "Input type",
                                   "Input Strides",
                                   "Concrete Inputs",
                                   "Sequence number",
                                   "Fwd thread id",
                                   "Record function id",
                                   "Python id",
                                   "Python parent id",
                                   "Python module id",
                                   "Collective name",
                                   "In msg nelems",
                                   "Out msg nelems",
                                   "Group size",
                                   "dtype",
                                   "Process Group Name",
                                   "Process Group Ranks",
                                   "Bytes",
                                   "Addr",
                                   "Total Allocated",
                                   "Total Reserved",
                                   "Device Type",
                                   "Device Id",
                                   "labels",
                                   "sort_index",
                                   "cbid",
                                   "graph node id",
                                   "graph id",
                                   "kernel_hash",
                                   "wait_on_stream",
                                   "wait_on_cuda_event_id",
                                   "wait_on_cuda_event_record_corr_id",
                                   "cuda_event_id",
                                   "traceEvents",
                                   "deviceProperties",
                                   "distributedInfo",
                                   "rank",
                                   "world_size",
                                   "displayTimeUnit",
                                   "baseTimeNanoseconds",
                                   "schemaVersion",
                                   "value",
                                   "memory bandwidth (GB/s)"};

static const char *const words[] = {"\"X\"",
                                    "\"B\"",
                                    "\"E\"",
                                    "\"M\"",
                                    "\"C\"",
                                    "\"s\"",
                                    "\"f\"",
                                    "\"t\"",
                                    "\"b\"",
                                    "\"e\"",
                                    "\"i\"",
                                    "\"I\"",
                                    "\"N\"",
                                    "\"D\"",
                                    "\"O\"",
                                    "\"kernel\"",
                                    "\"gpu_memcpy\"",
                                    "\"gpu_memset\"",
                                    "\"cuda_runtime\"",
                                    "\"cuda_driver\"",
                                    "\"cpu_op\"",
                                    "\"user_annotation\"",
                                    "\"gpu_user_annotation\"",
                                    "\"python_function\"",
                                    "\"cpu_instant_event\"",
                                    "\"ac2g\"",
                                    "\"fwdbwd\"",
                                    "\"cuda_sync\"",
                                    "\"overhead\"",
                                    "\"Trace\"",
                                    "\"process_name\"",
                                    "\"thread_name\"",
                                    "\"process_labels\"",
                                    "null",
                                    "true",
                                    "false",
                                    "NaN",
                                    "Infinity",
                                    "-Infinity",
                                    "N/A",
                                    "[]",
                                    "{}",
                                    "[1,2,3]",
                                    "[[8,4],[4],[]]",
                                    "[[[1,2],[3]],[64,5,3]]",
                                    "[\"float\",\"c10::BFloat16\",\"\"]",
                                    "[\"\",\"1\",\"[2, 3]\",\"True\"]",
                                    "[1,[2,[3,[4]]]]",
                                    "\"\"",
                                    "\"stream 7\"",
                                    "\"0x7f\"",
                                    "-1",
                                    "-0",
                                    "0.0005",
                                    "0.5",
                                    "1e308",
                                    "1e-308",
                                    "123.456",
                                    "1.2.3",
                                    "18446744073709551616",
                                    "9223372036854775808",
                                    "-9223372036854775808",
                                    "9007199254740993.5",
                                    "1700000000000000.123",
                                    "9223372036854775.807",
                                    "4611686018427387.904",
                                    "1e15"};

/* ---- what is where ---- */

static size_t string_end(const struct text *t, size_t at)
{
    for (at++; at < t->n && t->p[at] != '"'; at++) at += t->p[at] == '\\';
    return at < t->n ? at + 1 : t->n;
}

static size_t space_end(const struct text *t, size_t at)
{
    while (at < t->n && strchr(" \t\r\n", t->p[at]) && t->p[at]) at++;
    return at;
}

static size_t value_end(const struct text *t, size_t at)
{
    unsigned depth = 0;
    while (at < t->n) {
        char c = t->p[at];
        if (c == '"') {
            at = string_end(t, at);
        } else {
            if (depth == 0 && (c == ',' || c == '}' || c == ']')) return at;
            depth += c == '{' || c == '[';
            depth -= c == '}' || c == ']';
            at++;
        }
        if (depth == 0 && at < t->n && at > 0 && strchr("\"]}", t->p[at - 1])) return at;
    }
    return at;
}

static void find_all(struct text *t)
{
    size_t open[MAX_DEPTH], depth = 0;
    for (size_t at = 0; at < t->n && t->members.n < MAX_SPANS && t->objects.n < MAX_SPANS;) {
        char c = t->p[at];
        if (c == '"') {
            size_t end = string_end(t, at), colon = space_end(t, end);
            if (colon < t->n && t->p[colon] == ':') {
                size_t from = space_end(t, colon + 1), to = value_end(t, from);
                GP_VEC_PUSH(&t->members, ((struct member){{at, end - at}, {from, to - from}}));
                at = from;
            } else {
                at = end;
            }
            continue;
        }
        if (c == '{' && depth < MAX_DEPTH) open[depth++] = at;
        if (c == '}' && depth) {
            size_t from = open[--depth];
            /* the outermost is not an event */
            if (from) GP_VEC_PUSH(&t->objects, ((struct span){from, at + 1 - from}));
        }
        at++;
    }
}

/* ---- values ---- */

static void put_text(struct gp_buf *b, struct fuzz_dice *d)
{
    size_t n;
    const char *s = fuzz_text(d, &n);
    gp_buf_putc(b, '"');
    for (size_t i = 0; i < n; i++) {
        if ((s[i] == '"' || s[i] == '\\') && fuzz_roll(d, 8)) gp_buf_putc(b, '\\');
        gp_buf_putc(b, s[i]);
    }
    gp_buf_putc(b, '"');
}

static void put_nested(struct gp_buf *b, struct fuzz_dice *d)
{
    static const size_t depths[] = {3, 62, 63, 64, 65, 300};
    size_t depth = depths[fuzz_roll(d, sizeof depths / sizeof *depths)];
    const char *open = fuzz_roll(d, 2) ? "[" : "{\"a\":";
    for (size_t i = 0; i < depth; i++) gp_buf_puts(b, open);
    gp_buf_puts(b, "1");
    for (size_t i = 0; i < depth; i++) gp_buf_putc(b, *open == '[' ? ']' : '}');
}

static void put_value(struct gp_buf *b, const struct text *t, struct fuzz_dice *d)
{
    const struct member *other = t->members.n ? &t->members.at[fuzz_roll(d, t->members.n)] : NULL;
    switch (fuzz_roll(d, 8)) {
    case 0:
    case 1:
        if (fuzz_roll(d, 3) == 0) gp_buf_putc(b, '-');
        gp_buf_put_u64(b, fuzz_number(d));
        if (fuzz_roll(d, 4) == 0) gp_buf_printf(b, ".%03u", (unsigned)fuzz_roll(d, 1000));
        break;
    case 2: put_text(b, d); break;
    case 3: put_nested(b, d); break;
    case 4:
        if (other) gp_buf_put(b, t->p + other->value.at, other->value.n);
        else gp_buf_puts(b, "0");
        break;
    default: gp_buf_puts(b, words[fuzz_roll(d, sizeof words / sizeof *words)]); break;
    }
}

/* One event of its own, with ids and times that can meet those of others. */
static void put_event(struct gp_buf *b, struct fuzz_dice *d)
{
    unsigned corr = (unsigned)fuzz_roll(d, 9), ts = (unsigned)fuzz_roll(d, 2000),
             dur = (unsigned)fuzz_roll(d, 50), device = (unsigned)fuzz_roll(d, 3),
             stream = (unsigned)fuzz_roll(d, 4);
    static const char *const forms[] = {
        ("{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k%u\",\"pid\":0,\"tid\":7,\"ts\":%u,\"dur\":%u,"
         "\"args\":"
         "{\"device\":%u,"
         "\"stream\":%u,\"correlation\":%u,\"grid\":[8,1,1],\"block\":[32,1,1]}}"),
        ("{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel%u\",\"pid\":9,\"tid\":1,\"ts\":%"
         "u,\"dur\":%u,"
         "\"args\":{\"device\":%u,\"stream\":%u,\"correlation\":%u}}"),
        ("{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy "
         "HtoD%u\",\"pid\":0,\"tid\":7,\"ts\":%u,\"dur\":%u,\"args\":{"
         "\"device\":%u,\"stream\":%u,\"correlation\":%u,\"bytes\":4096}}"),
        ("{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::op%u\",\"pid\":9,\"tid\":1,\"ts\":%u,\"dur\":%u,"
         "\"args\":{"
         "\"Sequence number\":%u,\"Fwd thread id\":%u,\"External id\":%u}}"),
        ("{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#%u\",\"pid\":9,\"tid\":1,\"ts\":%"
         "u,\"dur\":%u,"
         "\"args\":{\"a\":%u,\"b\":%u,\"External id\":%u}}"),
        ("{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"f%u\",\"pid\":9,\"tid\":1,\"ts\":%u,\"dur\":%"
         "u,"
         "\"args\":{"
         "\"Python id\":%u,\"Python parent id\":%u,\"n\":%u}}"),
        ("{\"ph\":\"X\",\"cat\":\"cuda_sync\",\"name\":\"Stream Wait Event "
         "%u\",\"pid\":0,\"tid\":7,\"ts\":%u,\"dur\":%u,"
         "\"args\":{\"device\":%u,\"stream\":%u,\"wait_on_cuda_event_record_corr_id\":%u,\"wait_on_stream\":"
         "1}"
         "}"),
        "{\"ph\":\"C\",\"name\":\"c%u\",\"pid\":9,\"ts\":%u,\"args\":{\"s\":%u,\"t\":%u,\"u\":%u,\"v\":%u}}",
        ("{\"ph\":\"i\",\"s\":\"t\",\"cat\":\"cpu_instant_event\",\"name\":\"[memory]\",\"pid\":%u,\"ts\":%u,"
         "\"args\":{"
         "\"Bytes\":%u,\"Device Type\":1,\"Device Id\":%u,\"Addr\":%u,\"Total Allocated\":%u}}"),
        ("{\"ph\":\"s\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"tid\":%u,\"ts\":%u,\"dur\":%u,\"pid\":%u,\"x\":%"
         "u,\"id\":%u}")};
    const char *form = forms[fuzz_roll(d, sizeof forms / sizeof *forms)];
    unsigned values[] = {(unsigned)fuzz_roll(d, 5), ts, dur, device, stream, corr};
    size_t next = 0;
    for (const char *p = form; *p; p++) {
        if (p[0] != '%') {
            gp_buf_putc(b, *p);
        } else {
            gp_buf_put_u64(b, values[next++]);
            p++;
        }
    }
}

/* ---- changes: each replaces N bytes at AT by others ---- */

static struct span change_member(struct gp_buf *b, const struct text *t, const struct member *m,
                                 struct fuzz_dice *d)
{
    switch (fuzz_roll(d, 8)) {
    case 0: gp_buf_printf(b, "\"%s\"", keys[fuzz_roll(d, sizeof keys / sizeof *keys)]); return m->key;
    case 1: { /* another member before it, or the same once more */
        size_t n = m->value.at + m->value.n - m->key.at;
        if (fuzz_roll(d, 2)) gp_buf_put(b, t->p + m->key.at, n);
        else {
            gp_buf_printf(b, "\"%s\":", keys[fuzz_roll(d, sizeof keys / sizeof *keys)]);
            put_value(b, t, d);
        }
        gp_buf_puts(b, ",");
        return (struct span){m->key.at, 0};
    }
    case 2: { /* none, with its comma */
        size_t end = m->value.at + m->value.n;
        return (struct span){m->key.at, end - m->key.at + (end < t->n && t->p[end] == ',')};
    }
    default: put_value(b, t, d); return m->value;
    }
}

static struct span change_object(struct gp_buf *b, const struct text *t, const struct span *o,
                                 struct fuzz_dice *d)
{
    const struct span *other = &t->objects.at[fuzz_roll(d, t->objects.n)];
    switch (fuzz_roll(d, 6)) {
    case 0: return (struct span){o->at, o->n + (o->at + o->n < t->n && t->p[o->at + o->n] == ',')};
    case 1: gp_buf_put(b, t->p + other->at, other->n); return *o;
    case 2:
        gp_buf_put(b, t->p + other->at, other->n);
        gp_buf_puts(b, ",");
        return (struct span){o->at, 0};
    default:
        put_event(b, d);
        gp_buf_puts(b, ",");
        return (struct span){o->at, 0};
    }
}

static struct span change_writing(struct gp_buf *b, const struct text *t, struct fuzz_dice *d)
{
    static const char signs[] = "{}[],:\"\\\n\x01 -.0/";
    size_t at = fuzz_roll(d, t->n + 1);
    if (fuzz_roll(d, 2)) gp_buf_putc(b, signs[fuzz_roll(d, sizeof signs - 1)]);
    if (fuzz_roll(d, 32) == 0) return (struct span){at, t->n - at};
    return (struct span){at, at < t->n && fuzz_roll(d, 2)};
}

/* TO becomes the changed text; what it held is lost. */
static void change(struct gp_buf *to, const char *p, size_t n, struct fuzz_dice *d)
{
    struct text t = {.p = p, .n = n};
    struct gp_buf b = {0};
    struct span s;
    find_all(&t);
    size_t what = fuzz_roll(d, 12);
    if (what < 8 && t.members.n) s = change_member(&b, &t, &t.members.at[fuzz_roll(d, t.members.n)], d);
    else if (what < 11 && t.objects.n) s = change_object(&b, &t, &t.objects.at[fuzz_roll(d, t.objects.n)], d);
    else s = change_writing(&b, &t, d);
    to->n = 0;
    gp_buf_put(to, p, s.at);
    gp_buf_put(to, b.data, b.n);
    gp_buf_put(to, p + s.at + s.n, n - s.at - s.n);
    gp_buf_release(&b);
    GP_VEC_FREE(&t.objects);
    GP_VEC_FREE(&t.members);
}

bool fuzz_mutate_json(struct gp_buf *to, const uint8_t *data, size_t n, struct fuzz_dice *d)
{
    struct gp_buf now = {0}, next = {0};
    if (!n || (data[0] != '{' && data[0] != '[')) return false;
    gp_buf_put(&now, data, n);
    for (size_t i = 1 + fuzz_roll(d, 3) * fuzz_roll(d, 3); i && now.n; i--) {
        change(&next, now.data, now.n, d);
        struct gp_buf swap = now;
        now = next;
        next = swap;
    }
    gp_buf_put(to, now.data, now.n);
    gp_buf_release(&now);
    gp_buf_release(&next);
    return true;
}
