/* fuzz_digest.c -- hostile digests: signed, so that they get past the tag, and compared. What was taken must
 * come out of its own message again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/live/watch.h"
#include "formats/base/buf.h"
#include "tests/fuzz/help/fuzz.h"
#include "tests/fuzz/help/mutate.h"

static void ignore(void *ctx, const struct gp_watch_event *e) { FUZZ_CHECK(!ctx && e->text); }

/* DATA behind the head of a message. */
static int take(const uint8_t *data, size_t size, struct gp_digest *d, struct gp_strings *names)
{
    static const struct gp_digest_key key = {{5, 6}};
    struct gp_digest none = {.merged = 1, .member.key.rank = 1};
    struct gp_strings empty = {0};
    struct gp_buf b = {0}, signed_again = {0};
    gp_digest_put(&b, &none, &empty, &key);
    b.n = 12;
    gp_buf_put(&b, (const char *)data, size);
    gp_digest_sign(&b, 0, &key);
    int failed = gp_digest_get(d, names, b.data, b.n, &key, NULL);
    if (!failed) {
        struct gp_digest again;
        struct gp_strings other = {0};
        gp_digest_put(&signed_again, d, names, &key);
        FUZZ_CHECK(signed_again.n <= GP_DIGEST_BYTES);
        FUZZ_CHECK(!gp_digest_get(&again, &other, signed_again.data, signed_again.n, &key, NULL));
        FUZZ_CHECK(again.seq == d->seq && again.member.kernels.n == d->member.kernels.n);
        gp_digest_release(&again);
        gp_strings_release(&other);
    }
    gp_buf_release(&signed_again);
    gp_buf_release(&b);
    gp_strings_release(&empty);
    return failed;
}

/* D with as many kernels as there is room for, all of one name, for as many digests as one may stand for:
 * chance does not make them. No kernel comes out twice. */
static void add_twins(struct gp_watch *watch, const struct gp_digest *d, const struct gp_strings *names,
                      int64_t now_ns)
{
    static const struct gp_digest_key key = {{5, 6}};
    struct gp_digest twins = *d, got;
    struct gp_strings other = {0};
    struct gp_buf b = {0};
    twins.merged = GP_DIGEST_MERGED;
    twins.run++;
    memset(&twins.member.kernels, 0, sizeof twins.member.kernels);
    for (size_t i = 0; i < GP_DIGEST_KERNELS && d->member.kernels.n; i++) {
        struct gp_fleet_kernel_time t = d->member.kernels.at[i % d->member.kernels.n];
        t.name = d->member.kernels.at[0].name;
        GP_VEC_PUSH(&twins.member.kernels, t);
    }
    gp_digest_put(&b, &twins, names, &key);
    FUZZ_CHECK(!gp_digest_get(&got, &other, b.data, b.n, &key, NULL));
    FUZZ_CHECK(got.member.kernels.n == (d->member.kernels.n > 0));
    gp_watch_add(watch, &got, &other, now_ns);
    gp_watch_add(watch, &twins, names, now_ns); /* as it would be if it came through */
    GP_VEC_FREE(&twins.member.kernels);
    gp_digest_release(&got);
    gp_strings_release(&other);
    gp_buf_release(&b);
}

const struct fuzz_heads fuzz_heads = {0, 1};

/* A file of messages, as trace-fleet reads it, each signed anew; and as it is. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { LENGTH = 2, HEAD = 12 };
    struct gp_watch *watch = gp_watch_new(ignore, NULL), *twins = gp_watch_new(ignore, NULL);
    int64_t now_ns = 1;
    for (size_t at = 0; size - at >= LENGTH;) {
        struct gp_digest d;
        struct gp_strings names = {0};
        size_t n = (size_t)data[at] | (size_t)data[at + 1] << 8, skip = n < HEAD ? n : HEAD;
        at += LENGTH;
        if (n > size - at) break;
        if (!take(data + at + skip, n - skip, &d, &names)) {
            gp_watch_add(watch, &d, &names, now_ns);
            add_twins(twins, &d, &names, now_ns);
            for (size_t i = 1; i < d.member.kernels.n; i++)
                FUZZ_CHECK(d.member.kernels.at[i].name != d.member.kernels.at[i - 1].name);
        }
        gp_digest_release(&d);
        gp_strings_release(&names);
        at += n;
        now_ns += 1000000000;
    }
    gp_watch_tick(watch, now_ns + 2 * GP_WATCH_EVERY_NS);
    gp_watch_tick(twins, now_ns + 2 * GP_WATCH_EVERY_NS);
    gp_watch_free(twins);
    gp_watch_free(watch);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    return fuzz_mutate(data, size, most, seed, fuzz_heads.size);
}
