// The rules of kernels that memory bounds, each on a step that makes it speak and on one that nearly does.
#include "tests/unit/program_make.h"
#include "tests/unit/unit.h"

#define COPY "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<copy>>(int)"
#define GEMM "nvjet_sm90_tst_128x128_64x6_1x2_h_bz_NTT"
/* 64 x 1024 x 1024 numbers: 268.4 MB in FP32 */
#define DIMS    "{\"Input Dims\": [[64, 1024, 1024], [64, 1024, 1024], []], "
#define FLOATS  "\"Input type\": [\"float\", \"float\", \"Scalar\"]}"
#define HALVES  "\"Input type\": [\"c10::Half\", \"c10::Half\", \"Scalar\"]}"
#define STRANGE "\"Input type\": [\"\", \"\", \"Scalar\"]}"

static void on_h200(struct program *p)
{
    if (p->t.devices.n) return;
    struct gp_device d = gp_device_unknown();
    d.id = 0;
    d.name = mk_name(&p->t, "NVIDIA H200");
    GP_VEC_PUSH(&p->t.devices, d);
}

/* An operator that launches one kernel of so many blocks. */
static void operator_of(struct program *p, const char *op, const char *args, const char *name, int64_t dur)
{
    on_h200(p);
    int64_t from = p->now;
    kernel_of(p, name, 100000, dur);
    size_t row = mk_host(&p->t, GP_OP, p->main, from, p->now, op);
    gp_set_extra(&p->t.events[GP_OP], row, mk_name(&p->t, args));
    wait(p, "cudaDeviceSynchronize");
}

// ---- memory_access ----

static void slow_copy(struct program *p) { operator_of(p, "aten::copy_", DIMS FLOATS, COPY, 500 * US); }

static void fast_copy(struct program *p) { operator_of(p, "aten::copy_", DIMS FLOATS, COPY, 270 * US); }

static void small_copy(struct program *p)
{
    operator_of(p, "aten::copy_", "{\"Input Dims\": [[7, 1024, 1024], [7, 1024, 1024]], " FLOATS, COPY,
                500 * US);
}

static void copy_of_unknown_bytes(struct program *p)
{
    operator_of(p, "aten::copy_", DIMS STRANGE, COPY, 500 * US);
}

static void slow_copy_in_a_long_step(struct program *p)
{
    slow_copy(p);
    operator_of(p, "aten::mm", "{}", GEMM, 19 * MS);
}

static void rows_at_random(struct program *p)
{
    operator_of(p, "aten::copy_", DIMS FLOATS, "void at::native::vectorized_gather_kernel<16, long>(int)",
                500 * US);
}

/* It makes a tensor contiguous: that is what takes time. */
static void into_another_order(struct program *p)
{
    operator_of(p, "aten::copy_", DIMS FLOATS,
                "void at::native::elementwise_kernel<128, 2, at::native::direct_copy_kernel_cuda()>(int)",
                500 * US);
}

TEST(memory_that_is_moved_slowly)
{
    is_silent(into_another_order, "memory_access");
    is_silent(rows_at_random, "memory_access");
    // 536.87 MB read and written take 111.85 us at 4.8 TB/s, 22 % of 500; at 80 % of that 139.81 us, so that
    // 360.19 go
    speaks(slow_copy, "memory_access", 0, 360190);
    is_silent(fast_copy, "memory_access");  // 111.85 of 268 us beside the 2 of an empty kernel: 42 %
    is_silent(small_copy, "memory_access"); // 58.7 MB
    is_silent(copy_of_unknown_bytes, "memory_access");
    is_silent(slow_copy_in_a_long_step, "memory_access"); // 1.8 % of the busy time
}

// ---- low_precision ----

static void additions(struct program *p, const char *args, const char *name, int64_t product)
{
    operator_of(p, "aten::add", args, name, 200 * US); // 805.3 MB in FP32 take 167.8 us
    operator_of(p, "aten::mm", "{}", GEMM, product);
}

static void words_in_memory(struct program *p) { additions(p, DIMS FLOATS, COPY, 190 * US); }

static void words_beside_long_products(struct program *p) { additions(p, DIMS FLOATS, COPY, 210 * US); }

static void halves_in_memory(struct program *p) { additions(p, DIMS HALVES, COPY, 190 * US); }

static void states_of_an_optimizer(struct program *p)
{
    additions(p, DIMS FLOATS, "void multi_tensor_apply_kernel<float>()", 190 * US);
}

TEST(what_is_stored_may_be_smaller)
{
    speaks(words_in_memory, "low_precision", 60 * US, 100 * US); // 30 to 50 % of 200 us
    is_silent(words_beside_long_products, "low_precision");      // 49 % of the busy time
    is_silent(halves_in_memory, "low_precision");
    is_silent(states_of_an_optimizer, "low_precision");
}
