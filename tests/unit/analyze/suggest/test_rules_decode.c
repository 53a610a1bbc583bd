// Text that is generated without a cache, and loops that look like it.
#include "tests/unit/program_make.h"

#define GEMM "nvjet_sm90_tst_128x128_64x6_1x2_h_bz_NTT"
#define LOOK "void at::native::vectorized_gather_kernel<16, long>(char*)"
#define MOST "void at::native::reduce_kernel<512, 1, at::native::MaxOps<float> >(int)"
#define JOIN "void at::native::CatArrayBatchedCopy_contig<long>(int)"
#define CONV "sm90_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc"

enum { LONG = 2 * MS };

/* Reads ROWS tokens, and appends the most probable ones if it GENERATES. */
static void pass(struct program *p, uint32_t rows, bool generates)
{
    host(p, 10 * US), kernel_of(p, LOOK, rows, 10 * US);
    for (int i = 0; i < 4; i++) host(p, 10 * US), kernel_of(p, GEMM, 100, LONG / 4);
    host(p, 10 * US), kernel_of(p, MOST, 16, 5 * US);
    if (generates) host(p, 10 * US), kernel_of(p, JOIN, 1, 5 * US);
}

static void reads_all(struct program *p)
{
    for (uint32_t i = 0; i < 6; i++) pass(p, 16 * (1000 + i), true);
    wait(p, "cudaDeviceSynchronize");
}

static void keeps_keys(struct program *p)
{
    pass(p, 16 * 1000, true);
    for (uint32_t i = 0; i < 6; i++) pass(p, 16, true);
    wait(p, "cudaDeviceSynchronize");
}

/* Batches of longer and longer texts, of which nothing is appended. */
static void longer_batches(struct program *p)
{
    for (uint32_t i = 1; i <= 6; i++) pass(p, 16 * 64 * i, false);
    wait(p, "cudaDeviceSynchronize");
}

/* Texts of any length, one after the other. */
static void other_texts(struct program *p)
{
    static const uint32_t lengths[] = {1000, 1003, 1005, 1020, 1021, 1041};
    for (size_t i = 0; i < GP_COUNT(lengths); i++) pass(p, 16 * lengths[i], true);
    wait(p, "cudaDeviceSynchronize");
}

static void trains(struct program *p)
{
    uint32_t main = p->main, process = p->t.tracks.at[main].process;
    for (uint32_t i = 0; i < 6; i++) {
        p->main = main, pass(p, 16 * (1000 + i), true);
        p->main = mk_thread(&p->t, process, 200); /* autograd's own */
        host(p, 10 * US), kernel_of(p, GEMM, 100, 100 * US);
    }
    p->main = main;
    wait(p, "cudaDeviceSynchronize");
}

/* What is spoken is encoded before each token. */
static void encodes_anew(struct program *p)
{
    for (uint32_t i = 1; i <= 6; i++) {
        for (int k = 0; k < 4; k++) host(p, 10 * US), kernel_of(p, k % 2 ? CONV : GEMM, 5000, 1 * MS);
        pass(p, 16 * i, true);
    }
    wait(p, "cudaDeviceSynchronize");
}

TEST(the_text_is_read_again_for_each_token)
{
    // 4 of 6 turns: the first one stays, and of the last one no lookup shows that it was joined; 16 of 16000
    // rows, a product 512 of them
    int64_t all = 4 * (LONG + 20 * US);
    speaks(reads_all, "no_cache", all * 968 / 1000, all);
    is_silent(keeps_keys, "no_cache");
    is_silent(longer_batches, "no_cache");
    is_silent(other_texts, "no_cache");
    is_silent(trains, "no_cache");
}

TEST(an_encoder_runs_before_each_token)
{
    struct program p;
    run(&p, encodes_anew);
    const struct gp_suggestion *s = said(&p, "no_cache");
    assert_non_null(s);
    assert_non_null(strstr(gp_suggest_str(&p.s, s->change), "encode the input once"));
    assert_in_range(s->saving_high_ns, 5 * 4 * MS, p.s.step.step_ns);
    end(&p);
}
