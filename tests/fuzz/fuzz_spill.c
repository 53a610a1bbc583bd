/* fuzz_spill.c -- hostile spill files of trace-hta-mpi, with the right hashes. The first byte chooses: even,
 * the rest follows the head of the file; odd, it follows the head of the partial result inside, behind as
 * many keys as its upper bits say. What loads is saved and loaded again, and must have the same keys and
 * bytes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/math/serialize.h"
#include "formats/base/buf.h"
#include "render/hta_main/checkpoint.h"
#include "tests/fuzz/help/fuzz.h"
#include "tests/fuzz/help/mutate.h"

enum { KEYS = 128 };

static void put_number(uint8_t *to, uint64_t v)
{
    for (int i = 0; i < 8; i++) to[i] = (uint8_t)(v >> 8 * i);
}

/* Make the head at START fit what follows it. */
static void fit_head(struct gp_buf *b, size_t start)
{
    enum { SIZE_AT = 12, HASH_AT = 20 };
    uint8_t *head = (uint8_t *)b->data + start;
    size_t n = b->n - start - GP_SERIALIZE_HEAD;
    put_number(head + SIZE_AT, n);
    put_number(head + HASH_AT, gp_hash_bytes(head + GP_SERIALIZE_HEAD, n));
}

/* A file that ends with the head of its partial result; returns where that begins. */
static size_t make_file(struct gp_buf *b, size_t keys)
{
    struct gp_hta empty;
    struct gp_buf inside = {0};
    uint64_t key[KEYS];
    for (size_t i = 0; i < keys; i++) key[i] = i * 0x9e3779b97f4a7c15u;
    gp_hta_init(&empty, NULL);
    gp_hta_save(&empty, &inside);
    gp_spill_save(b, key, keys, &empty);
    b->n -= inside.n - GP_SERIALIZE_HEAD;
    gp_hta_release(&empty);
    gp_buf_release(&inside);
    return b->n - GP_SERIALIZE_HEAD;
}

static void check_again(const uint64_t *keys, size_t n, struct gp_hta *h)
{
    struct gp_hta again;
    struct gp_buf first = {0}, second = {0};
    uint64_t *other = NULL;
    size_t others = 0;
    gp_hta_init(&again, NULL);
    gp_spill_save(&first, keys, n, h);
    FUZZ_CHECK(!gp_spill_load(first.data, first.n, &other, &others, &again, NULL));
    FUZZ_CHECK(others == n && !memcmp(keys, other, n * sizeof *keys));
    gp_spill_save(&second, other, others, &again);
    FUZZ_CHECK(first.n == second.n && !memcmp(first.data, second.data, first.n));
    gp_hta_release(&again);
    gp_buf_release(&first);
    gp_buf_release(&second);
    free(other);
}

const struct fuzz_heads fuzz_heads = {1, 2};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gp_buf b = {0};
    struct gp_hta h;
    uint64_t *keys = NULL;
    size_t n = 0;
    if (!size) return 0;
    bool inside = data[0] & 1;
    size_t start = make_file(&b, inside ? data[0] >> 1 : 0);
    if (!inside) b.n = GP_SERIALIZE_HEAD;
    gp_buf_put(&b, (const char *)data + 1, size - 1);
    if (inside) fit_head(&b, start);
    fit_head(&b, 0);
    gp_hta_init(&h, NULL);
    if (!gp_spill_load(b.data, b.n, &keys, &n, &h, NULL)) check_again(keys, n, &h);
    gp_hta_release(&h);
    free(keys);
    gp_buf_release(&b);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    return fuzz_mutate(data, size, most, seed, fuzz_heads.size);
}
