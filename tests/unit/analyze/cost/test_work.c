// FLOPs and bytes of every family of operators, worked out by hand from shapes as PyTorch's profiler writes
// them.
#include <stdio.h>
#include <string.h>

#include "analyze/cost/work.h"
#include "formats/base/count.h"
#include "tests/unit/unit.h"

#define HALF  "c10::BFloat16"
#define FLOAT "float"

/* DIMS, TYPES and VALUES are what stands between the outer brackets. */
static bool work_of(struct gp_work *w, const char *op, const char *dims, const char *types,
                    const char *values, const char *kernel)
{
    char text[2048];
    struct gp_shapes s;
    snprintf(text, sizeof text,
             "{\"Input Dims\": [%s], \"Input type\": [%s], \"Concrete Inputs\": [%s], \"Input Strides\": []}",
             dims, types, values);
    return gp_shapes_read(&s, text) && gp_work_of_op(w, op, &s, kernel);
}

/* Both ends of the bytes, exact. */
static void has(const struct gp_work *w, double flops, double low, double high)
{
    if (w->flops != flops || w->bytes_low != low || w->bytes_high != high)
        print_error("%.1f FLOPs, %.1f to %.1f bytes\n", w->flops, w->bytes_low, w->bytes_high);
    assert_true(w->flops == flops);
    assert_true(w->bytes_low == low);
    assert_true(w->bytes_high == high);
}

TEST(products)
{
    struct gp_work w;
    // 2 * 64 * 32 * 128 = 524288; (64*128 + 128*32 + 64*32) * 2 = (8192 + 4096 + 2048) * 2 = 28672
    assert_true(
        work_of(&w, "aten::mm", "[64, 128], [128, 32]", "\"" HALF "\", \"" HALF "\"", "\"\", \"\"", NULL));
    has(&w, 524288, 28672, 28672);
    assert_int_equal(w.arith, GP_ARITH_BF16);
    assert_true(w.products && w.product.m == 64 && w.product.n == 32 && w.product.k == 128 &&
                w.product.batch == 1);
    // and 64 * 32 = 2048 additions of a row of 32: 64 bytes
    assert_true(work_of(&w, "aten::addmm", "[32], [64, 128], [128, 32], [], []",
                        "\"" HALF "\", \"" HALF "\", \"" HALF "\", \"Scalar\", \"Scalar\"",
                        "\"\", \"\", \"\", \"1\", \"1\"", NULL));
    has(&w, 524288 + 2048, 28672 + 64, 28672 + 64);
    // 2 * 3 * 4 * 6 * 5 = 720; 3 * (4*5 + 5*6 + 4*6) * 4 = 3 * 74 * 4 = 888
    assert_true(work_of(&w, "aten::bmm", "[3, 4, 5], [3, 5, 6]", "\"float\", \"float\"", "", NULL));
    has(&w, 720, 888, 888);
    assert_int_equal(w.arith, GP_ARITH_FP32);
    // the same, and 3 * 4 * 6 = 72 additions of a 3 x 4 x 6: 288 bytes
    assert_true(work_of(&w, "aten::baddbmm", "[3, 4, 6], [3, 4, 5], [3, 5, 6]",
                        "\"float\", \"float\", \"float\"", "", NULL));
    has(&w, 792, 888 + 288, 888 + 288);
    // a batch of 2 * 3 that one matrix broadcasts to: 2 * 6 * 4 * 6 * 5 = 1440;
    // (6*4*5 + 5*6 + 6*4*6) * 4 = (120 + 30 + 144) * 4 = 1176
    assert_true(work_of(&w, "aten::matmul", "[2, 3, 4, 5], [5, 6]", "\"float\", \"float\"", "", NULL));
    has(&w, 1440, 1176, 1176);
    // 2 * (7*2) rows * 3 * 5 = 420, and 14 * 3 = 42 for the bias; (14*5 + 3*5 + 14*3 + 3) * 4 = 130 * 4 = 520
    assert_true(
        work_of(&w, "aten::linear", "[7, 2, 5], [3, 5], [3]", "\"float\", \"float\", \"float\"", "", NULL));
    has(&w, 462, 520, 520);
    // 2 * 8 * 16 = 256; (8*16 + 16 + 8) * 4 = 608
    assert_true(work_of(&w, "aten::mv", "[8, 16], [16]", "\"float\", \"float\"", "", NULL));
    has(&w, 256, 608, 608);
    // complex numbers take four products and four sums: 8 * 4 * 6 * 5 = 960; (20 + 30 + 24) * 8 = 592
    assert_true(work_of(&w, "aten::mm", "[4, 5], [5, 6]", "\"c10::complex<float>\", \"c10::complex<float>\"",
                        "", NULL));
    has(&w, 960, 592, 592);
    // 8 bits in, 16 out: 2 * 16 * 16 * 32 = 16384; 16*32 + 32*16 + 16*16*2 = 1536
    assert_true(work_of(&w, "aten::_scaled_mm", "[16, 32], [32, 16]",
                        "\"c10::Float8_e4m3fn\", \"c10::Float8_e4m3fn\"", "", NULL));
    has(&w, 16384, 1536, 1536);
    assert_int_equal(w.arith, GP_ARITH_FP8);
}

TEST(products_that_do_not_fit)
{
    struct gp_work w;
    assert_false(work_of(&w, "aten::mm", "[64, 128], [127, 32]", "\"float\", \"float\"", "", NULL));
    assert_false(work_of(&w, "aten::mm", "[64, 128], [128]", "\"float\", \"float\"", "", NULL));
    assert_false(work_of(&w, "aten::mm", "[64, 0], [0, 32]", "\"float\", \"float\"", "", NULL));
    assert_false(work_of(&w, "aten::mm", "[64, 128], [128, 32]", "\"\", \"\"", "", NULL)); // no type
    assert_false(work_of(&w, "aten::bmm", "[2, 4, 5], [3, 5, 6]", "\"float\", \"float\"", "", NULL));
    assert_true(w.flops == 0 && w.bytes_high == 0);
}

/* [2, 6, 10, 12] with 8 kernels of 3 x 5 */
#define IMAGE   "[2, 6, 10, 12], [8, 6, 3, 5], []"
#define IMAGE_G "[2, 6, 10, 12], [8, 3, 3, 5], []"
#define TYPES3  "\"float\", \"float\", \"\""

TEST(convolutions)
{
    struct gp_work w;
    // stride 2, padding 1 and 2, dilation 1: (10 + 2 - 3)/2 + 1 = 5 high, (12 + 4 - 5)/2 + 1 = 6 wide; output
    // 2*8*5*6 = 480 2 * 480 * 6 * 15 = 86400; (1440 + 720 + 480) * 4 = 10560
    assert_true(work_of(&w, "aten::_convolution", IMAGE, TYPES3,
                        "\"\", \"\", \"\", \"[2, 2]\", \"[1, 2]\", \"[1, 1]\", \"False\", \"[0, 0]\", \"1\"",
                        NULL));
    has(&w, 86400, 10560, 10560);
    assert_true(w.products);
    // the same as cuDNN's own operator, whose padding comes first
    assert_true(work_of(
        &w, "aten::cudnn_convolution", "[2, 6, 10, 12], [8, 6, 3, 5]", "\"float\", \"float\"",
        "\"\", \"\", \"[1, 2]\", \"[2, 2]\", \"[1, 1]\", \"1\", \"False\", \"False\", \"True\"", NULL));
    has(&w, 86400, 10560, 10560);
    // two groups: half of the channels meet; weights 8*3*15 = 360: 2 * 480 * 45 = 43200, (1440 + 360 + 480) *
    // 4 = 9120
    assert_true(work_of(&w, "aten::miopen_convolution", IMAGE_G, TYPES3,
                        "\"\", \"\", \"\", \"[1, 2]\", \"[2, 2]\", \"[1, 1]\", \"2\", \"False\", \"False\"",
                        NULL));
    has(&w, 43200, 9120, 9120);
    // dilation 2, stride 1, no padding: 10 - 5 + 1 = 6 high, 12 - 9 + 1 = 4 wide: 2*8*24 = 384 outputs
    // 2 * 384 * 90 = 69120; (1440 + 720 + 384) * 4 = 10176
    assert_true(work_of(&w, "aten::conv2d", IMAGE, TYPES3,
                        "\"\", \"\", \"\", \"[1, 1]\", \"[0, 0]\", \"[2, 2]\", \"1\"", NULL));
    has(&w, 69120, 10176, 10176);
    // one number for both dimensions is the same
    assert_true(
        work_of(&w, "aten::conv2d", IMAGE, TYPES3, "\"\", \"\", \"\", \"1\", \"0\", \"2\", \"1\"", NULL));
    has(&w, 69120, 10176, 10176);
    // transposed: 6 channels in, weights [6, 4, 3, 3], stride 2: (5 - 1)*2 + 3 = 11 both ways; output 2*4*121
    // = 968 each of 2*6*25 = 300 inputs meets 4*9 = 36 weights: 2 * 300 * 36 = 21600; (300 + 216 + 968) * 4 =
    // 5936
    assert_true(work_of(&w, "aten::_convolution", "[2, 6, 5, 5], [6, 4, 3, 3], []", TYPES3,
                        "\"\", \"\", \"\", \"[2, 2]\", \"[0, 0]\", \"[1, 1]\", \"True\", \"[0, 0]\", \"1\"",
                        NULL));
    has(&w, 21600, 5936, 5936);
    assert_true(work_of(&w, "aten::cudnn_convolution_transpose", "[2, 6, 5, 5], [6, 4, 3, 3]",
                        "\"float\", \"float\"",
                        "\"\", \"\", \"[0, 0]\", \"[0, 0]\", \"[2, 2]\", \"[1, 1]\", \"1\"", NULL));
    has(&w, 21600, 5936, 5936);
}

TEST(convolutions_backward)
{
    struct gp_work w;
    static const char dims[] = "[2, 8, 5, 6], [2, 6, 10, 12], [8, 6, 3, 5], [], [], [], [], [], [], [], []";
    static const char types[] = "\"float\", \"float\", \"float\"";
    char values[256];
    static const char format[] = "\"\", \"\", \"\", \"[8]\", \"[2, 2]\", \"[1, 2]\", \"[1, 1]\", \"False\", "
                                 "\"[0, 0]\", \"1\", \"[%s]\"";
    // each of dgrad and wgrad is what forward was: 86400 FLOPs; 480 + 720 + 1440 elements = 10560 bytes
    snprintf(values, sizeof values, format, "True, False, False");
    assert_true(work_of(&w, "aten::convolution_backward", dims, types, values, NULL));
    has(&w, 86400, 10560, 10560);
    // both, and the bias: 480 additions of 1920 bytes
    snprintf(values, sizeof values, format, "True, True, True");
    assert_true(work_of(&w, "aten::convolution_backward", dims, types, values, NULL));
    has(&w, 2 * 86400 + 480, 2 * 10560 + 1920, 2 * 10560 + 1920);
    snprintf(values, sizeof values, format, "False, False, False");
    assert_false(work_of(&w, "aten::convolution_backward", dims, types, values, NULL));
}

TEST(convolutions_that_do_not_fit)
{
    struct gp_work w;
    // a kernel larger than its image, a stride of 0, no stride at all, a negative padding, no groups
    assert_false(work_of(&w, "aten::conv2d", "[1, 1, 2, 2], [1, 1, 3, 3], []", TYPES3,
                         "\"\", \"\", \"\", \"1\", \"0\", \"1\", \"1\"", NULL));
    assert_false(
        work_of(&w, "aten::conv2d", IMAGE, TYPES3, "\"\", \"\", \"\", \"0\", \"0\", \"1\", \"1\"", NULL));
    assert_false(work_of(&w, "aten::conv2d", IMAGE, TYPES3, "\"\", \"\", \"\"", NULL));
    assert_false(
        work_of(&w, "aten::conv2d", IMAGE, TYPES3, "\"\", \"\", \"\", \"1\", \"-1\", \"1\", \"1\"", NULL));
    assert_false(
        work_of(&w, "aten::conv2d", IMAGE, TYPES3, "\"\", \"\", \"\", \"1\", \"0\", \"1\", \"0\"", NULL));
}

TEST(attention)
{
    struct gp_work w;
    static const char types[] = "\"c10::Half\", \"c10::Half\", \"c10::Half\"";
    // 2 sequences, 3 heads, 16 rows, 8 wide: 4 * 2 * 3 * 16^2 * 8 = 49152; q, k, v and out of 768 elements
    // each: 4 * 1536 = 6144 bytes; 96 sums of 4 bytes may be written
    static const char rows_first[] = "[2, 16, 3, 8], [2, 16, 3, 8], [2, 16, 3, 8]";
    assert_true(work_of(&w, "aten::_flash_attention_forward", rows_first, types,
                        "\"\", \"\", \"\", \"\", \"\", \"16\", \"16\", \"0.\", \"False\", \"False\"", NULL));
    has(&w, 49152, 6144, 6144 + 384);
    assert_int_equal(w.arith, GP_ARITH_FP16);
    // a causal mask leaves half
    assert_true(work_of(&w, "aten::_flash_attention_forward", rows_first, types,
                        "\"\", \"\", \"\", \"\", \"\", \"16\", \"16\", \"0.\", \"True\", \"False\"", NULL));
    has(&w, 24576, 6144, 6144 + 384);
    // heads first, and a mask given by its number
    assert_true(work_of(&w, "aten::_scaled_dot_product_flash_attention",
                        "[2, 3, 16, 8], [2, 3, 16, 8], [2, 3, 16, 8]", types,
                        "\"\", \"\", \"\", \"0.\", \"True\"", NULL));
    has(&w, 24576, 6144, 6144 + 384);
    assert_true(work_of(&w, "aten::_efficient_attention_forward", rows_first, types,
                        "\"\", \"\", \"\", \"\", \"\", \"\", \"\", \"\", \"0.\", \"1\", \"True\"", NULL));
    has(&w, 24576, 6144, 6144 + 384);
    // one query of a cache of 64 rows sees all of it: 4 * 2 * 3 * 1 * 64 * 8 * (1 - 1/128) = 12192
    assert_true(work_of(&w, "aten::_flash_attention_forward", "[2, 1, 3, 8], [2, 64, 3, 8], [2, 64, 3, 8]",
                        types, "\"\", \"\", \"\", \"\", \"\", \"1\", \"64\", \"0.\", \"True\", \"False\"",
                        NULL));
    has(&w, 12192, 2 * 96 + 4 * 3072, 2 * 96 + 4 * 3072 + 24);
    // backward: two and a half times forward; reads q, k, v, out, its gradient, writes three: 8 * 1536 and
    // the sums; at most also 768 FP32 sums twice and the output once more both ways
    assert_true(
        work_of(&w, "aten::_flash_attention_backward",
                "[2, 16, 3, 8], [2, 16, 3, 8], [2, 16, 3, 8], [2, 16, 3, 8], [2, 16, 3, 8], [2, 3, 16]",
                "\"c10::Half\", \"c10::Half\", \"c10::Half\", \"c10::Half\", \"c10::Half\", \"float\"",
                "\"\", \"\", \"\", \"\", \"\", \"\", \"\", \"\", \"16\", \"16\", \"0.\", \"True\"", NULL));
    has(&w, 61440, 12288 + 384, 12288 + 384 + 6144 + 3072);
    // of several unknown lengths
    assert_false(work_of(&w, "aten::_flash_attention_forward",
                         "[1, 16, 3, 8], [1, 16, 3, 8], [1, 16, 3, 8], [3], [3]",
                         "\"c10::Half\", \"c10::Half\", \"c10::Half\", \"int\", \"int\"",
                         "\"\", \"\", \"\", \"\", \"\", \"16\", \"16\", \"0.\", \"True\"", NULL));
}

TEST(normalisations)
{
    struct gp_work w;
    static const char types[] = "\"" HALF "\", \"" HALF "\"";
    // 64 * 32 elements of 2 bytes, read and written: 8192; read twice at most: 12288; 8 FLOPs each
    assert_true(work_of(&w, "aten::native_layer_norm", "[64, 32], [], [32], [32], []",
                        "\"" HALF "\", \"ScalarList\", \"" HALF "\", \"" HALF "\", \"Scalar\"",
                        "\"\", \"[32]\"", NULL));
    has(&w, 16384, 8192, 12288);
    assert_int_equal(w.arith, GP_ARITH_FP32);
    assert_true(work_of(&w, "aten::cudnn_batch_norm", "[8, 4, 8, 8], [4]", types, "", NULL));
    has(&w, 16384, 8192, 12288);
    assert_true(work_of(&w, "aten::native_group_norm", "[8, 4, 8, 8], [4]", types, "", NULL));
    has(&w, 16384, 8192, 12288);
    assert_true(work_of(&w, "aten::_fused_rms_norm", "[64, 32]", types, "", NULL));
    has(&w, 16384, 8192, 12288);
    // backward: gradient, input and what comes out; both once more for weight and bias; 8 FLOPs for each of
    // the two
    static const char dims[] = "[64, 32], [64, 32], [], [64, 1], [64, 1], [32], [32], []";
    assert_true(work_of(&w, "aten::native_layer_norm_backward", dims, types,
                        "\"\", \"\", \"[32]\", \"\", \"\", \"\", \"\", \"[True, True, True]\"", NULL));
    has(&w, 32768, 12288, 20480);
    assert_true(work_of(&w, "aten::native_layer_norm_backward", dims, types,
                        "\"\", \"\", \"[32]\", \"\", \"\", \"\", \"\", \"[True, False, False]\"", NULL));
    has(&w, 16384, 12288, 12288);
    assert_true(work_of(&w, "aten::cudnn_batch_norm_backward", "[64, 32], [64, 32]", types, "", NULL));
    has(&w, 32768, 12288, 20480);
}

TEST(softmax)
{
    struct gp_work w;
    // 10 * 100 elements of 4 bytes: read and written, read three times at most; 5 FLOPs each
    assert_true(work_of(&w, "aten::_softmax", "[10, 100], [], []", "\"float\", \"Scalar\", \"Scalar\"",
                        "\"\", \"-1\", \"False\"", NULL));
    has(&w, 5000, 8000, 16000);
    // 2 bytes in and 4 out: 2000 + 4000, 6000 + 4000
    assert_true(work_of(&w, "aten::_log_softmax", "[10, 100], [], []", "\"" HALF "\", \"Scalar\", \"Scalar\"",
                        "\"\", \"1\", \"True\"", NULL));
    has(&w, 5000, 6000, 10000);
    // gradient and output in, gradient out: 12000; both twice at most: 20000
    assert_true(work_of(&w, "aten::_log_softmax_backward_data", "[10, 100], [10, 100], [], []",
                        "\"float\", \"float\", \"Scalar\", \"Scalar\"", "\"\", \"\", \"1\", \"6\"", NULL));
    has(&w, 5000, 12000, 20000);
}

TEST(elementwise)
{
    struct gp_work w;
    // 2 * 600 in and 600 out of 4 bytes
    assert_true(
        work_of(&w, "aten::add", "[20, 30], [20, 30], []", "\"float\", \"float\", \"Scalar\"", "", NULL));
    has(&w, 600, 7200, 7200);
    // what is added is a row of 30 that broadcasts: (600 + 30 + 600) * 4
    assert_true(work_of(&w, "aten::add", "[20, 30], [30], []", "\"float\", \"float\", \"Scalar\"", "", NULL));
    has(&w, 600, 4920, 4920);
    // a column times a row: (20 + 30 + 600) * 4
    assert_true(work_of(&w, "aten::mul", "[20, 1], [30]", "\"float\", \"float\"", "", NULL));
    has(&w, 600, 2600, 2600);
    // in place: (600 + 30) read, 600 written; an output that is given as well does not count
    assert_true(
        work_of(&w, "aten::add_", "[20, 30], [30], []", "\"float\", \"float\", \"Scalar\"", "", NULL));
    has(&w, 600, 4920, 4920);
    assert_true(work_of(&w, "aten::add", "[20, 30], [30], [], [20, 30]",
                        "\"float\", \"float\", \"Scalar\", \"float\"", "", NULL));
    has(&w, 600, 4920, 4920);
    // 16 bits and a number: 2 * 1200; a type that is wider decides: 1200 + 2400 in, 2400 out
    assert_true(work_of(&w, "aten::mul", "[20, 30], []", "\"" HALF "\", \"Scalar\"", "", NULL));
    has(&w, 600, 2400, 2400);
    assert_true(work_of(&w, "aten::mul", "[20, 30], [20, 30]", "\"" HALF "\", \"float\"", "", NULL));
    has(&w, 600, 6000, 6000);
    // comparisons give a byte: 4800 + 600
    assert_true(work_of(&w, "aten::lt", "[20, 30], [20, 30]", "\"float\", \"float\"", "", NULL));
    has(&w, 600, 5400, 5400);
    // a mask of a byte for 20 columns, and two of 4 bytes: 600 + 2 * 2400 in, 2400 out
    assert_true(work_of(&w, "aten::where", "[20, 30], [20, 30], [20, 30]", "\"bool\", \"float\", \"float\"",
                        "", NULL));
    has(&w, 600, 7800, 7800);
    // and a byte of a mask beside each element: 2400 in, 2400 + 600 out; 2 FLOPs
    assert_true(work_of(&w, "aten::native_dropout", "[20, 30], [], []", "\"float\", \"Scalar\", \"Scalar\"",
                        "", NULL));
    has(&w, 1200, 5400, 5400);
    assert_true(work_of(&w, "aten::gelu", "[20, 30], []", "\"" HALF "\", \"\"", "", NULL));
    has(&w, 4800, 2400, 2400);
}

TEST(copies_and_fills)
{
    struct gp_work w;
    // into FP32 from 16 bits: 2400 out, 1200 in; no arithmetic
    assert_true(work_of(&w, "aten::copy_", "[20, 30], [20, 30], []", "\"float\", \"" HALF "\", \"Scalar\"",
                        "", NULL));
    has(&w, 0, 3600, 3600);
    assert_int_equal(w.arith, GP_ARITH_NONE);
    assert_true(work_of(&w, "aten::fill_", "[20, 30], []", "\"float\", \"Scalar\"", "", NULL));
    has(&w, 0, 2400, 2400);
    // one row of 30 that is broadcast to 20: 120 in, 2400 out
    struct gp_shapes s;
    assert_true(
        gp_shapes_read(&s, "{\"Input Dims\": [[20, 30], [20, 30]], \"Input type\": [\"float\", \"float\"], "
                           "\"Input Strides\": [[30, 1], [0, 1]]}"));
    assert_true(gp_work_of_op(&w, "aten::copy_", &s, NULL));
    has(&w, 0, 2520, 2520);
    // joined: 600 + 300 elements of 2 bytes by the kernel's name, read and written
    assert_true(work_of(&w, "aten::cat", "[[20, 30], [10, 30]], []", "\"TensorList\", \"Scalar\"",
                        "\"\", \"0\"",
                        "void at::native::(anonymous namespace)::CatArrayBatchedCopy<at::native::(anonymous "
                        "namespace)::OpaqueType<2u>, unsigned int, 2, 64, 64>(...)"));
    has(&w, 0, 3600, 3600);
    assert_false(
        work_of(&w, "aten::cat", "[[20, 30], [10, 30]], []", "\"TensorList\", \"Scalar\"", "", NULL));
}

TEST(reductions)
{
    struct gp_work w;
    // 600 in; over the first dimension 30 come out, over the last 20, over all one
    assert_true(work_of(&w, "aten::sum", "[20, 30], []", "\"float\", \"ScalarList\"", "\"\", \"[0]\"", NULL));
    has(&w, 600, 2520, 2520);
    assert_true(
        work_of(&w, "aten::mean", "[20, 30], []", "\"float\", \"ScalarList\"", "\"\", \"[-1]\"", NULL));
    has(&w, 600, 2480, 2480);
    assert_true(
        work_of(&w, "aten::amax", "[20, 30], []", "\"float\", \"ScalarList\"", "\"\", \"[0, 1]\"", NULL));
    has(&w, 600, 2404, 2404);
    assert_true(work_of(&w, "aten::max", "[20, 30]", "\"float\"", "\"\"", NULL));
    has(&w, 600, 2404, 2404);
    // two passes at most; a running sum writes as much as it reads
    assert_true(work_of(&w, "aten::var", "[20, 30]", "\"float\"", "\"\"", NULL));
    has(&w, 600, 2404, 4804);
    assert_true(work_of(&w, "aten::cumsum", "[20, 30], []", "\"float\", \"Scalar\"", "\"\", \"0\"", NULL));
    has(&w, 600, 4800, 7200);
}

TEST(gathers_touch_what_they_need)
{
    struct gp_work w;
    // 16 rows of 64 FP32 of a table of a million: 4096 written, 128 of indices; as much read at most
    assert_true(work_of(&w, "aten::embedding", "[1000000, 64], [16]", "\"float\", \"long int\"", "", NULL));
    has(&w, 0, 4224, 8320);
    assert_true(work_of(&w, "aten::index_select", "[1000000, 64], [], [16]",
                        "\"float\", \"Scalar\", \"long int\"", "\"\", \"0\", \"\"", NULL));
    has(&w, 0, 4224, 8320);
    // single elements cost a sector of 32 bytes each at most: 64 + 128, and 16 * 32
    assert_true(work_of(&w, "aten::gather", "[16, 1000], [], [16, 1]", "\"float\", \"Scalar\", \"long int\"",
                        "\"\", \"1\", \"\"", NULL));
    has(&w, 0, 192, 704);
    // 16 values of 4 and 16 indices of 8 bytes; what they are added to is read and written in sectors
    assert_true(work_of(&w, "aten::scatter_add_", "[1000], [], [16], [16]",
                        "\"float\", \"Scalar\", \"long int\", \"float\"", "", NULL));
    has(&w, 16, 192, 192 + 1024);
    // a loss of 16 rows of 1000 classes reads one class of each: 128 of targets, 64 of classes, 512 at most
    assert_true(
        work_of(&w, "aten::nll_loss_forward", "[16, 1000], [16]", "\"float\", \"long int\"", "", NULL));
    has(&w, 16, 192, 640);
}

#define ADAMW                                                                                                \
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "              \
    "namespace)::FusedOptimizerTensorListMetadata<4>, at::native::(anonymous "                               \
    "namespace)::FusedAdamMathFunctor<float, 4, (at::native::ADAM_MODE)1, false>, float const*>(...)"
#define SQRT                                                                                                 \
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "              \
    "namespace)::TensorListMetadata<2>, at::native::(anonymous namespace)::UnaryOpFunctor<float, 2, 1, 1>, " \
    "at::native::Sqrt<float> >(...)"

TEST(optimizers)
{
    struct gp_work w;
    // 1000 parameters: parameter, gradient and two moments are read, all but the gradient written: 28 bytes
    // each
    static const char four[] =
        "[[20, 30], [400]], [[20, 30], [400]], [[20, 30], [400]], [[20, 30], [400]], [], [[], []]";
    static const char types[] =
        "\"TensorList\", \"TensorList\", \"TensorList\", \"TensorList\", \"\", \"TensorList\"";
    assert_true(work_of(&w, "aten::_fused_adamw_", four, types, "", ADAMW));
    has(&w, 12000, 28000, 28000);
    // a list in place, two lists, a list that is copied into another
    assert_true(
        work_of(&w, "aten::_foreach_mul_", "[[20, 30], [400]], []", "\"TensorList\", \"Scalar\"", "", SQRT));
    has(&w, 1000, 8000, 8000);
    assert_true(work_of(&w, "aten::_foreach_add_", "[[20, 30], [400]], [[20, 30], [400]], []",
                        "\"TensorList\", \"TensorList\", \"Scalar\"", "", SQRT));
    has(&w, 1000, 12000, 12000);
    assert_true(work_of(&w, "aten::_foreach_copy_", "[[20, 30], [400]], [[20, 30], [400]], []",
                        "\"TensorList\", \"TensorList\", \"Scalar\"", "", SQRT));
    has(&w, 0, 8000, 8000);
    // lists of too many tensors to be written down, and elements of unknown size
    assert_false(work_of(&w, "aten::_foreach_mul_", "[], []", "\"TensorList\", \"Scalar\"", "", SQRT));
    assert_false(
        work_of(&w, "aten::_foreach_mul_", "[[600]], []", "\"TensorList\", \"Scalar\"", "", "triton_"));
}

TEST(kernels_without_shapes)
{
    struct gp_work w;
    // 320 blocks of 65536 elements, of which those of up to 64 tensors may be nearly empty; read once,
    // written once
    assert_true(gp_work_of_kernel(&w, SQRT, 320));
    has(&w, 0, 256.0 * 65536 * 8, 320.0 * 65536 * 8);
    assert_true(gp_work_of_kernel(&w, ADAMW, 320)); // up to 36 tensors; 28 bytes
    has(&w, 0, 284.0 * 65536 * 28, 320.0 * 65536 * 28);
    assert_true(gp_work_of_kernel(&w, SQRT, 3));
    has(&w, 0, 0, 3.0 * 65536 * 8);
    // three operands of 1024 elements a block
    assert_true(gp_work_of_kernel(
        &w,
        "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
        "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)",
        100));
    has(&w, 0, 1228800, 1228800);
    // where operands may broadcast, one of them is of full size
    assert_true(gp_work_of_kernel(&w,
                                  "void at::native::elementwise_kernel<128, 4, "
                                  "at::native::gpu_kernel_impl_nocast<at::native::CUDAFunctor_add<"
                                  "float> >(at::TensorIteratorBase&, at::native::CUDAFunctor_add<float> "
                                  "const&)::{lambda(int)#1}>(int, ...)",
                                  100));
    has(&w, 0, 409600, 614400);
    assert_false(gp_work_of_kernel(&w, "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT", 132));
}

TEST(compilers_kernels)
{
    struct gp_work w;
    // two in, one out: each is touched once, and at most one of them twice
    static const char types[] = "\"float\", \"float\", \"" HALF "\", \"Scalar\"";
    assert_true(work_of(&w, "triton_poi_fused_add_gelu_0", "[20, 30], [30], [20, 30], []", types, "", NULL));
    has(&w, 0, 2400 + 120 + 1200, 2400 + 120 + 1200 + 2400);
    assert_false(
        work_of(&w, "triton_poi_fused_embedding_0", "[20, 30], [30], [20, 30], []", types, "", NULL));
    assert_false(work_of(&w, "triton_tem_fused_mm_0", "[20, 30], [30], [20, 30], []", types, "", NULL));
}

/* Of the bytes above; the others are read. */
TEST(what_is_written)
{
    static const char two[] = "\"float\", \"float\"", three[] = "\"float\", \"float\", \"float\"";
    static const struct {
        const char *op, *dims, *types, *values, *kernel;
        double written;
    } cases[] = {
        {"aten::mm", "[64, 128], [128, 32]", two, "", NULL, 64 * 32 * 4},
        {"aten::conv2d", IMAGE, TYPES3, "\"\", \"\", \"\", \"[1, 1]\", \"[0, 0]\", \"[2, 2]\", \"1\"", NULL,
         384 * 4},
        {"aten::cudnn_batch_norm", "[8, 4, 8, 8], [4]", two, "", NULL, 8 * 4 * 8 * 8 * 4},
        {"aten::_log_softmax_backward_data", "[10, 100], [10, 100], [], []", two, "", NULL, 4000},
        {"aten::add", "[20, 30], [20, 30], []", two, "", NULL, 2400},
        {"aten::lt", "[20, 30], [20, 30]", two, "", NULL, 600},
        {"aten::where", "[20, 30], [20, 30], [20, 30]", three, "", NULL, 2400},
        {"aten::copy_", "[20, 30], [20, 30], []", "\"float\", \"" HALF "\"", "", NULL, 2400},
        {"aten::fill_", "[20, 30], []", two, "", NULL, 2400},
        {"aten::sum", "[20, 30], []", two, "\"\", \"[0]\"", NULL, 120},
        {"aten::cumsum", "[20, 30], []", two, "\"\", \"0\"", NULL, 2400},
        {"aten::embedding", "[1000000, 64], [16]", "\"float\", \"long int\"", "", NULL, 16 * 64 * 4},
        {"aten::scatter_add_", "[1000], [], [16], [16]", "\"float\", \"\", \"long int\", \"float\"", "", NULL,
         -1},
        {"triton_poi_fused_add_gelu_0", "[20, 30], [20, 30]", two, "", NULL, -1},
    };
    for (size_t i = 0; i < GP_COUNT(cases); i++) {
        struct gp_work w;
        assert_true(
            work_of(&w, cases[i].op, cases[i].dims, cases[i].types, cases[i].values, cases[i].kernel));
        if (w.written != cases[i].written) fail_msg("%s writes %.1f bytes", cases[i].op, w.written);
    }
}

TEST(hostile_sizes)
{
    struct gp_work w;
    static const char large[] = "[1000000000000000000, 1000000000000000000]";
    static const char *const ops[] = {"aten::mm",     "aten::matmul",   "aten::linear", "aten::conv2d",
                                      "aten::add",    "aten::sum",      "aten::copy_",  "aten::_softmax",
                                      "aten::gather", "aten::embedding"};
    char dims[512];
    for (size_t i = 0; i < GP_COUNT(ops); i++) {
        snprintf(dims, sizeof dims, "%s, %s, %s", large, large, large);
        assert_false(work_of(&w, ops[i], dims, "\"float\", \"float\", \"long int\"",
                             "\"\", \"9000000000000000000\", \"1\", \"1\", \"0\", \"1\", \"1\"", NULL));
        assert_true(w.flops == 0 && w.bytes_high == 0);
        // sizes where there is nothing, lists where there are tensors, nine dimensions
        work_of(&w, ops[i], "", "", "", NULL);
        assert_false(work_of(&w, ops[i], "[], [], []", "\"\", \"\", \"\"", "", NULL));
        assert_false(work_of(&w, ops[i], "[[4, 4], [4, 4]], [[4]], [[4]]", "\"TensorList\"", "", NULL));
        work_of(&w, ops[i], "[1, 1, 1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1, 1, 1, 1]",
                "\"float\", \"float\"", "\"\", \"[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]\"", NULL);
    }
    assert_false(work_of(&w, "aten::sum", "[1, 1, 1, 1, 1, 1, 1, 1, 1]", "\"\"", "\"\", \"[-100]\"", NULL));
    assert_false(work_of(&w, "aten::nonsense", "[4]", "\"float\"", "", NULL));
    assert_false(work_of(&w, "mm", "[4, 4], [4, 4]", "\"float\", \"float\"", "", NULL));
}

/* The table is looked through by halves: every name of it must be found. */
TEST(every_operator_is_found)
{
    static const char *const names[] = {"_amp_foreach_non_finite_check_and_unscale_",
                                        "_convolution",
                                        "_cudnn_attention_forward",
                                        "_foreach_add_",
                                        "_foreach_zero_",
                                        "_fused_sgd_",
                                        "_int_mm",
                                        "_to_copy",
                                        "abs",
                                        "addmm",
                                        "all",
                                        "argmin",
                                        "baddbmm",
                                        "batch_norm_stats",
                                        "bernoulli_",
                                        "bitwise_or",
                                        "bmm",
                                        "cat",
                                        "clamp_min_",
                                        "conv1d",
                                        "convolution_backward",
                                        "copy_",
                                        "cudnn_batch_norm_backward",
                                        "cudnn_convolution_transpose",
                                        "cumsum",
                                        "div",
                                        "embedding",
                                        "eq",
                                        "exponential_",
                                        "fill_",
                                        "gather",
                                        "ge",
                                        "gelu_backward",
                                        "gt",
                                        "index_add_",
                                        "isposinf",
                                        "leaky_relu_backward",
                                        "linalg_vector_norm",
                                        "log1p",
                                        "logical_not",
                                        "logsumexp",
                                        "lt",
                                        "masked_fill_",
                                        "matmul",
                                        "maximum",
                                        "minimum",
                                        "miopen_depthwise_convolution",
                                        "mm",
                                        "mv",
                                        "native_dropout_backward",
                                        "ne",
                                        "neg",
                                        "nll_loss_forward",
                                        "normal_",
                                        "pow",
                                        "random_",
                                        "reciprocal",
                                        "rsub",
                                        "scatter_add",
                                        "sigmoid_backward",
                                        "silu",
                                        "sqrt_",
                                        "sum",
                                        "threshold_backward",
                                        "triu",
                                        "uniform_",
                                        "var_mean",
                                        "where",
                                        "zero_"};
    for (size_t i = 0; i < GP_COUNT(names); i++) {
        char op[128];
        snprintf(op, sizeof op, "aten::%s", names[i]);
        if (!gp_work_knows_op(op)) print_error("%s\n", op);
        assert_true(gp_work_knows_op(op));
    }
    assert_false(gp_work_knows_op("aten::"));
    assert_false(gp_work_knows_op("aten::_"));
    assert_false(gp_work_knows_op("aten::ad"));
    assert_false(gp_work_knows_op("aten::addm"));
    assert_false(gp_work_knows_op(""));
}
