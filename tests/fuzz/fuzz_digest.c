/* fuzz_digest.c -- hostile digests: signed, so that they get past the tag, and compared. What was taken must come out of its own
 * message again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/watch/watch.h"
#include "tests/fuzz/help/fuzz.h"
#include "tests/fuzz/help/mutate.h"

static void ignore(void *ctx, const struct gp_watch_event *e)
{
    FUZZ_CHECK(!ctx && e->text);
}

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

const struct fuzz_heads fuzz_heads = {0, 1};

/* A file of messages, as trace-fleet reads it, each signed anew; and as it is. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { LENGTH = 2, HEAD = 12 };
    struct gp_watch *watch = gp_watch_new(ignore, NULL);
    int64_t now_ns = 1;
    for (size_t at = 0; size - at >= LENGTH;) {
        struct gp_digest d;
        struct gp_strings names = {0};
        size_t n = (size_t)data[at] | (size_t)data[at + 1] << 8, skip = n < HEAD ? n : HEAD;
        at += LENGTH;
        if (n > size - at) break;
        if (!take(data + at + skip, n - skip, &d, &names)) gp_watch_add(watch, &d, &names, now_ns);
        gp_digest_release(&d);
        gp_strings_release(&names);
        at += n;
        now_ns += 1000000000;
    }
    gp_watch_tick(watch, now_ns + 2 * GP_WATCH_EVERY_NS);
    gp_watch_free(watch);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    return fuzz_mutate(data, size, most, seed, fuzz_heads.size);
}
