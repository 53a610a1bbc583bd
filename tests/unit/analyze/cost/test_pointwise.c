// What names and grids of PyTorch's elementwise kernels tell. The numbers follow from the sizes of the
// tensors that the kernels of recorded training steps worked on: rows times columns of a linear layer or of
// the logits.
#include "analyze/cost/pointwise.h"
#include "tests/unit/unit.h"

static void is(const char *name, uint32_t blocks, int64_t elements, uint32_t inputs, uint32_t in,
               uint32_t out)
{
    struct gp_pointwise p;
    assert_true(gp_pointwise_of(&p, name, blocks));
    assert_int_equal(p.elements, elements);
    assert_int_equal(p.inputs, inputs);
    assert_int_equal(p.in_size, in);
    assert_int_equal(p.out_size, out);
}

static void is_unknown(const char *name, uint32_t blocks)
{
    struct gp_pointwise p;
    assert_false(gp_pointwise_of(&p, name, blocks));
    assert_int_equal(p.elements, 0);
}

#define ADD                                                                                                  \
    "void at::native::vectorized_elementwise_kernel<8, at::native::CUDAFunctor_add<c10::BFloat16>, "         \
    "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>)"
#define FILL                                                                                                 \
    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, "   \
    "1ul> >(int, at::native::FillFunctor<float>, std::array<char*, 1ul>)"
#define TO_BF16                                                                                              \
    "void at::native::vectorized_elementwise_kernel<8, "                                                     \
    "at::native::bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda(float)#1}, std::array<char*, "  \
    "2ul> >(int)"
#define TO_FLOAT                                                                                             \
    "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda("                      \
    "at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda()#7}::operator()() "                \
    "const::{lambda(float)#1}, std::array<char*, 2ul>, 4, TrivialOffsetCalculator<1, unsigned int>, "        \
    "at::native::memory::LoadWithCast<1>, at::native::memory::StoreWithCast<1> >(int)"
#define STRIDED_COPY                                                                                         \
    "void at::native::elementwise_kernel<128, 4, "                                                           \
    "at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)"        \
    "::{lambda()#3}::operator()() const::{lambda()#12}::operator()() const::{lambda(c10::BFloat16)#1}>"      \
    "(at::TensorIteratorBase&)::{lambda(int)#1}>(int)"
#define CAT                                                                                                  \
    "void at::native::(anonymous namespace)::CatArrayBatchedCopy<OpaqueType<2u>, unsigned int, 4, 64, 64>()"

TEST(sizes_are_told_by_name_and_grid)
{
    is(ADD, 32768, 65536 * 512, 2, 2, 2);                     // 65,536 tokens of 512 channels
    is(FILL, 262144, INT64_C(65536) * 4096, 0, 4, 4);         // and of 4,096 words
    is(TO_BF16, 262144, INT64_C(65536) * 4096, 1, 4, 2);      // their gradient
    is(TO_FLOAT, 524288, INT64_C(65536) * 4096, 1, 2, 4);     // half as many a block
    is(STRIDED_COPY, 196608, INT64_C(65536) * 1536, 1, 2, 2); // queries, keys and values
}

TEST(what_is_not_known_is_not_said)
{
    is_unknown(ADD, 0);
    is_unknown("vector_add(float const*, float const*, float*)", 1024);
    is_unknown(CAT, 264);
    // an older release, with other constants
    is_unknown("void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>, "
               "at::detail::Array<char*, 3> >(int)",
               1024);
    // neither type nor end
    is_unknown("void at::native::vectorized_elementwise_kernel<4, std::array<char*, 3ul", 1024);
    is_unknown("void at::native::elementwise_kernel<128, 999999999999, f<float>", 1024);
}

TEST(copies_are_told_apart)
{
    assert_true(gp_pointwise_casts(TO_BF16) && gp_pointwise_casts(TO_FLOAT));
    assert_false(gp_pointwise_casts(STRIDED_COPY) || gp_pointwise_casts(ADD));
    assert_true(gp_pointwise_reorders(STRIDED_COPY) && gp_pointwise_reorders(CAT));
    assert_false(gp_pointwise_reorders(TO_FLOAT) || gp_pointwise_reorders(ADD));
    assert_true(gp_pointwise_copies(STRIDED_COPY) && !gp_pointwise_copies(ADD));
    assert_true(gp_pointwise_fills(FILL) && !gp_pointwise_fills(ADD));
}
