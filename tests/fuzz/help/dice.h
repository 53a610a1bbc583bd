/* dice.h -- random choices that a seed decides, and the numbers at which programs break.
 *
 *     struct fuzz_dice d = fuzz_dice_of(seed);
 *     if (fuzz_roll(&d, 4) == 0) value = fuzz_number(&d);       // one time in four
 */
#ifndef GP_TESTS_FUZZ_DICE_H
#define GP_TESTS_FUZZ_DICE_H

#include <stddef.h>
#include <stdint.h>

struct fuzz_dice {
    uint64_t state;
};

static inline uint64_t fuzz_bits(struct fuzz_dice *d)
{
    uint64_t z = d->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static inline struct fuzz_dice fuzz_dice_of(uint64_t seed)
{
    return (struct fuzz_dice){seed * UINT64_C(0x2545f4914f6cdd1d) + 1};
}

/* 0 to SIDES - 1; 0 when SIDES is 0. */
static inline size_t fuzz_roll(struct fuzz_dice *d, size_t sides)
{
    return sides ? (size_t)(fuzz_bits(d) % sides) : 0;
}

/* Mostly small, often at a limit, now and then anything. */
static inline uint64_t fuzz_number(struct fuzz_dice *d)
{
    static const uint64_t limits[] = {127,           128,        255,        256,
                                      65535,         65536,      65537,      0x7fffffff,
                                      0x80000000,    0xffffffff, 1ull << 32, 1ull << 40,
                                      1ull << 53,    1ull << 61, 1ull << 62, INT64_MAX,
                                      1ull << 63,    UINT64_MAX, 0ull - 2,   1700000000ull * 1000000000,
                                      INT64_MAX / 2, 1000000,    1000000000};
    switch (fuzz_roll(d, 8)) {
    case 0: return fuzz_bits(d) >> fuzz_roll(d, 64);
    case 1:
    case 2: return limits[fuzz_roll(d, sizeof limits / sizeof *limits)] + fuzz_roll(d, 3) - 1;
    default: return fuzz_roll(d, 9);
    }
}

/* Text that formats, pages and terminals must not take for their own; *N becomes its length. */
static inline const char *fuzz_text(struct fuzz_dice *d, size_t *n)
{
    static const struct {
        const char *text;
        size_t n;
    } texts[] = {
#define T(s) {s, sizeof s - 1}
        T("</script><svg onload=x>"),
        T("\x1b[31m\x07"),
        T("\0\0"),
        T("\xff\xfe\xed\xa0\x80"),
        T("]]>&amp;<\"'>--"),
        T("=cmd|' /C x'!A0,\"\n"),
        T("\\ud800\\"),
        T("\xe2\x80\xae\xc2\x9b"),
        T("a;b;c 12"),
        T("ProfilerStep#7"),
        T("ncclDevKernel_AllReduce_Sum_f32_RING_LL"),
        T("_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_7MeanOpsIffEEjfLi4EEEEEvT1_"),
        T("void f<g<h<i<j<k<l<m<n>>>>>>>>(int)"),
        T("_Z1fIXadL_Z1gvEEEvv"),
        T("nn.Module: Linear_0"),
        T("Memcpy HtoD (Pageable -> Device)"),
        T("aten::addmm"),
        T("cudaGraphLaunch"),
        T("cudaStreamSynchronize"),
        T("%s%n%d"),
        T("../../x"),
        T("[memory]"),
        T("")
#undef T
    };
    size_t i = fuzz_roll(d, sizeof texts / sizeof *texts);
    *n = texts[i].n;
    return texts[i].text;
}

#endif
