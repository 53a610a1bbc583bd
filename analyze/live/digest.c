#include "analyze/live/digest.h"

#include <string.h>
#include "analyze/result/keep.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"

enum { HEAD = 12 };
static const int64_t TIME_MOST = (INT64_C(1) << 50) - 1,
                     DATE_MOST = (INT64_C(1) << 62) - 1; /* the year 2116 */
static const char magic[4] = {'G', 'P', 'D', '2'};

/* ---- the tag: SipHash-2-4, a keyed hash that is made for short messages ---- */

static uint64_t turn(uint64_t v, int by) { return v << by | v >> (64 - by); }

static void mix(uint64_t v[4], int rounds)
{
    while (rounds--) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = turn(v[1], 13) ^ v[0];
        v[3] = turn(v[3], 16) ^ v[2];
        v[0] = turn(v[0], 32);
        v[2] += v[1];
        v[0] += v[3];
        v[1] = turn(v[1], 17) ^ v[2];
        v[3] = turn(v[3], 21) ^ v[0];
        v[2] = turn(v[2], 32);
    }
}

static uint64_t tag_of(const uint8_t *p, size_t n, const struct gp_digest_key *key)
{
    uint64_t v[4] = {key->k[0] ^ 0x736f6d6570736575u, key->k[1] ^ 0x646f72616e646f6du,
                     key->k[0] ^ 0x6c7967656e657261u, key->k[1] ^ 0x7465646279746573u};
    for (size_t at = 0; at <= n; at += 8) {
        uint64_t word = at + 8 > n ? (uint64_t)n << 56 : 0;
        for (size_t i = 0; i < 8 && at + i < n; i++) word |= (uint64_t)p[at + i] << 8 * i;
        v[3] ^= word;
        mix(v, 2);
        v[0] ^= word;
    }
    v[2] ^= 0xff;
    mix(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

struct gp_digest_key gp_digest_key_of(const void *secret, size_t n)
{
    static const struct gp_digest_key low = {{1, 2}}, high = {{3, 4}};
    return (struct gp_digest_key){{tag_of(secret, n, &low), tag_of(secret, n, &high)}};
}

/* ---- the message ---- */

static void serialize_text(struct gp_serializer *x, gp_sid *name)
{
    uint64_t n = x->save ? gp_string_len(x->strings, *name) : 0;
    if (n > GP_DIGEST_NAME) n = GP_DIGEST_NAME;
    gp_serialize_u64(x, &n);
    if (x->save) {
        gp_buf_put(x->save, gp_string(x->strings, *name), n);
        return;
    }
    if (n > GP_DIGEST_NAME || n > (uint64_t)(x->end - x->load)) x->failed = true;
    if (x->failed) return;
    *name = gp_intern(x->strings, (const char *)x->load, n);
    x->load += n;
}

/* No step takes a week. */
static void check_time(struct gp_serializer *x, int64_t ns)
{
    if (ns < 0 || ns > TIME_MOST) x->failed = true;
}

#define AT(member) offsetof(struct gp_digest, member)
static const struct gp_field message_fields[] = {
    {.at = AT(run), .keep = GP_KEEP_U64},
    {.at = AT(seq), .keep = GP_KEEP_U64},
    {.at = AT(time_ns), .keep = GP_KEEP_I64},
    {.at = AT(last_step), .keep = GP_KEEP_I64},
    {.at = AT(dropped), .keep = GP_KEEP_U64},
    {.at = AT(merged), .keep = GP_KEEP_U64},
    {.type = GP_CELL_PART, .at = AT(member.key), .rows = &gp_fleet_keys},
    {.at = AT(member.device), .keep = GP_KEEP_I64},
};
static const struct gp_field mean_fields[] = {{.at = AT(member.steps), .keep = GP_KEEP_U64},
#define X(id, name, text) {.at = AT(member.ns[id]), .keep = GP_KEEP_I64},
                                              GP_FLEET_METRICS(X)
#undef X
};
#undef AT
static const struct gp_record message = {"message", "Message", GP_FIELDS(message_fields),
                                         .size = sizeof(struct gp_digest)};
static const struct gp_record means = {"means", "Means of steps", GP_FIELDS(mean_fields),
                                       .size = sizeof(struct gp_digest)};

#define AT(member) offsetof(struct gp_fleet_kernel_time, member)
static const struct gp_field kernel_fields[] = {
    {.at = AT(calls), .keep = GP_KEEP_U64},
    {.at = AT(step_ns), .keep = GP_KEEP_I64},
    {.at = AT(call_ns), .keep = GP_KEEP_I64},
};
#undef AT
static const struct gp_record kernel_times = {"kernels", "Kernels", GP_FIELDS(kernel_fields),
                                              .size = sizeof(struct gp_fleet_kernel_time)};

static void serialize_kernel(struct gp_serializer *x, struct gp_fleet_kernel_time *t, int64_t *usual_ns)
{
    serialize_text(x, &t->name);
    gp_record_serialize(x, &kernel_times, t);
    gp_serialize_i64(x, usual_ns);
    check_time(x, t->step_ns);
    check_time(x, t->call_ns);
    check_time(x, *usual_ns);
}

static void serialize(struct gp_serializer *x, struct gp_digest *d, size_t kernels)
{
    struct gp_fleet_member *m = &d->member;
    gp_record_serialize(x, &message, d);
    if (d->time_ns < 0 || d->time_ns > DATE_MOST) x->failed = true;
    if (!d->merged || d->merged > GP_DIGEST_MERGED) x->failed = true;
    serialize_text(x, &m->gpu);
    gp_record_serialize(x, &means, d);
    for (int i = 0; i < GP_FLEET_METRIC_COUNT; i++) check_time(x, m->ns[i]);
    size_t n = gp_serialize_count(x, kernels, 5);
    if (n > GP_DIGEST_KERNELS) x->failed = true;
    for (size_t i = 0; i < n && !x->failed; i++) {
        if (!x->save) GP_VEC_PUSH(&m->kernels, ((struct gp_fleet_kernel_time){0}));
        serialize_kernel(x, &m->kernels.at[i], &d->usual_ns[i]);
    }
}

static int64_t mean_ns(int64_t a, uint64_t of_a, int64_t b, uint64_t of_b)
{
    double weight = of_a || of_b ? (double)of_a / ((double)of_a + (double)of_b) : 0.5;
    return (int64_t)((double)a * weight + (double)b * (1 - weight));
}

/* Long names are cut, so that those of two kernels can become one: then these are one kernel. */
static void join_kernels(struct gp_digest *d)
{
    struct gp_fleet_member *m = &d->member;
    size_t n = 0;
    for (size_t i = 0; i < m->kernels.n; i++) {
        const struct gp_fleet_kernel_time t = m->kernels.at[i];
        struct gp_fleet_kernel_time *same = m->kernels.at;
        while (same < m->kernels.at + n && same->name != t.name) same++;
        size_t at = (size_t)(same - m->kernels.at);
        if (at == n) {
            d->usual_ns[n] = d->usual_ns[i];
            m->kernels.at[n++] = t;
            continue;
        }
        bool known = d->usual_ns[at] && d->usual_ns[i];
        d->usual_ns[at] = known ? mean_ns(d->usual_ns[at], same->calls, d->usual_ns[i], t.calls) : 0;
        same->call_ns = mean_ns(same->call_ns, same->calls, t.call_ns, t.calls);
        same->calls = same->calls > UINT64_MAX - t.calls ? UINT64_MAX : same->calls + t.calls;
        same->step_ns = same->step_ns < TIME_MOST - t.step_ns ? same->step_ns + t.step_ns : TIME_MOST;
    }
    m->kernels.n = n;
}

static void put_u64(uint8_t *p, uint64_t v)
{
    for (int i = 0; i < 8; i++) p[i] = (uint8_t)(v >> 8 * i);
}

void gp_digest_put(struct gp_buf *to, const struct gp_digest *d, const struct gp_strings *names,
                   const struct gp_digest_key *key)
{
    struct gp_digest copy = *d; /* its vectors are only read */
    size_t start = to->n, kernels = d->member.kernels.n;
    if (kernels > GP_DIGEST_KERNELS) kernels = GP_DIGEST_KERNELS;
    do {
        to->n = start;
        gp_buf_put(to, magic, sizeof magic);
        gp_buf_put(to, "\0\0\0\0\0\0\0\0", HEAD - sizeof magic);
        struct gp_serializer x = {.save = to, .strings = (struct gp_strings *)(uintptr_t)names};
        serialize(&x, &copy, kernels);
    } while (to->n - start > GP_DIGEST_BYTES && kernels--);
    gp_digest_sign(to, start, key);
}

void gp_digest_sign(struct gp_buf *b, size_t start, const struct gp_digest_key *key)
{
    uint8_t *p = (uint8_t *)b->data + start;
    put_u64(p + sizeof magic, tag_of(p + HEAD, b->n - start - HEAD, key));
}

int gp_digest_get(struct gp_digest *d, struct gp_strings *names, const void *data, size_t n,
                  const struct gp_digest_key *key, struct gp_err *err)
{
    const uint8_t *p = data;
    uint8_t tag[8];
    memset(d, 0, sizeof *d);
    if (n < HEAD || n > GP_DIGEST_BYTES || memcmp(p, magic, sizeof magic))
        return gp_fail(err, GP_E_FORMAT, 0, "not a digest");
    put_u64(tag, tag_of(p + HEAD, n - HEAD, key));
    uint8_t differs = 0;
    for (int i = 0; i < 8; i++) differs |= (uint8_t)(tag[i] ^ p[sizeof magic + (size_t)i]);
    if (differs)
        return gp_fail(err, GP_E_FORMAT, 4, "invalid digest: corrupted, or signed with another secret");
    struct gp_serializer x = {.load = p + HEAD, .end = p + n, .strings = names};
    serialize(&x, d, 0);
    if (!x.failed && x.load == x.end && d->member.key.rank >= 0) {
        join_kernels(d);
        return 0;
    }
    gp_digest_release(d);
    return gp_fail(err, GP_E_SYNTAX, HEAD, "the digest is inconsistent");
}

void gp_digest_release(struct gp_digest *d)
{
    GP_VEC_FREE(&d->member.kernels);
    memset(d, 0, sizeof *d);
}
