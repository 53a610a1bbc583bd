
#include <stdbool.h>
#include <string.h>
#include "collect/bench/ptx.h"
#include "formats/base/buf.h"

enum { UNROLL = 4 }; /* vectors of a thread of an elementwise operation */

static const struct gp_op ops[] = {
    {"copy", GP_OP_ELEMENTWISE, 1, 1, 0},    {"fill", GP_OP_ELEMENTWISE, 0, 1, 0},
    {"add", GP_OP_ELEMENTWISE, 2, 1, 1},     {"exp", GP_OP_ELEMENTWISE, 1, 1, 1},
    {"cos", GP_OP_ELEMENTWISE, 1, 1, 1},     {"sum", GP_OP_REDUCE, 1, 0, 1},
    {"softmax", GP_OP_ROWS, 1, 1, 5},        {"layernorm", GP_OP_ROWS, 1, 1, 6},
    {"transpose", GP_OP_TRANSPOSE, 1, 1, 0},
};

static const char *const type_names[GP_OP_TYPES] = {"fp32", "fp16", "bf16"};

const struct gp_op *gp_op_at(size_t i) { return i < sizeof ops / sizeof *ops ? &ops[i] : NULL; }

const struct gp_op *gp_op_called(const char *name)
{
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (!strcmp(ops[i].name, name)) return &ops[i];
    return NULL;
}

enum gp_op_type gp_op_type_called(const char *name)
{
    enum gp_op_type t = 0;
    while (t < GP_OP_TYPES && strcmp(type_names[t], name)) t++;
    return t;
}

const char *gp_op_type_name(enum gp_op_type t) { return type_names[t]; }

unsigned gp_op_type_size(enum gp_op_type t) { return t == GP_OP_FP32 ? 4 : 2; }

static uint64_t up(uint64_t n, uint64_t unit) { return n < unit ? unit : n / unit * unit; }

static uint32_t square_side(uint64_t wanted)
{
    uint64_t side = GP_OP_TILE;
    while ((side + GP_OP_TILE) * (side + GP_OP_TILE) <= wanted) side += GP_OP_TILE;
    return (uint32_t)side;
}

struct gp_op_shape gp_op_shape(const struct gp_op *op, enum gp_op_type t, uint64_t wanted)
{
    uint64_t vector = GP_PTX_VECTOR / gp_op_type_size(t);
    struct gp_op_shape s = {0};
    switch (op->kind) {
    case GP_OP_ELEMENTWISE:
    case GP_OP_REDUCE:
        s.elements = up(wanted, vector);
        s.blocks = (s.elements / vector + GP_OP_THREADS * UNROLL - 1) / (GP_OP_THREADS * UNROLL);
        break;
    case GP_OP_ROWS:
        s.elements = up(wanted, GP_OP_ROW);
        s.blocks = s.elements / GP_OP_ROW;
        break;
    case GP_OP_TRANSPOSE:
        s.side = square_side(wanted);
        s.elements = (uint64_t)s.side * s.side;
        s.blocks = (uint64_t)(s.side / GP_OP_TILE) * (s.side / GP_OP_TILE);
        break;
    }
    s.bytes = s.elements * (op->reads + op->writes) * gp_op_type_size(t);
    s.flops = s.elements * op->flops;
    return s;
}

uint64_t gp_op_count(const struct gp_op *op, enum gp_op_type t, const struct gp_op_shape *s)
{
    if (op->kind == GP_OP_ROWS) return s->elements / GP_OP_ROW;
    return op->kind == GP_OP_TRANSPOSE ? s->side : s->elements * gp_op_type_size(t) / GP_PTX_VECTOR;
}

/* ---- words of 32 bits to floats and back; %fF is the first ---- */

static void unpack(struct gp_buf *b, enum gp_op_type t, int r, int f)
{
    if (t == GP_OP_FP32) gp_buf_printf(b, "\tmov.b32 %%f%d, %%r%d;\n", f, r);
    if (t == GP_OP_FP16)
        gp_buf_printf(
            b, "\tmov.b32 {%%h0, %%h1}, %%r%d;\n\tcvt.f32.f16 %%f%d, %%h0;\n\tcvt.f32.f16 %%f%d, %%h1;\n", r,
            f, f + 1);
    if (t == GP_OP_BF16)
        gp_buf_printf(
            b,
            "\tshl.b32 %%r6, %%r%d, 16;\n\tmov.b32 %%f%d, %%r6;\n\tand.b32 %%r6, %%r%d, 0xffff0000;\n"
            "\tmov.b32 %%f%d, %%r6;\n",
            r, f, r, f + 1);
}

/* bf16 is rounded to nearest even by hand: GPUs before Ampere have no instruction for it. */
static void round_bf16(struct gp_buf *b, int f, const char *to)
{
    gp_buf_printf(b,
                  "\tmov.b32 %%r6, %%f%d;\n\tshr.u32 %%r7, %%r6, 16;\n\tand.b32 %%r7, %%r7, 1;\n"
                  "\tadd.u32 %%r7, %%r7, 0x7fff;\n\tadd.u32 %s, %%r6, %%r7;\n",
                  f, to);
}

static void pack(struct gp_buf *b, enum gp_op_type t, int f, int r)
{
    if (t == GP_OP_FP32) gp_buf_printf(b, "\tmov.b32 %%r%d, %%f%d;\n", r, f);
    if (t == GP_OP_FP16)
        gp_buf_printf(
            b,
            "\tcvt.rn.f16.f32 %%h0, %%f%d;\n\tcvt.rn.f16.f32 %%h1, %%f%d;\n\tmov.b32 %%r%d, {%%h0, %%h1};\n",
            f, f + 1, r);
    if (t == GP_OP_BF16) {
        round_bf16(b, f, "%r4");
        round_bf16(b, f + 1, "%r5");
        gp_buf_printf(b, "\tprmt.b32 %%r%d, %%r4, %%r5, 0x7632;\n", r);
    }
}

/* ---- parts of all kernels ---- */

static void begin(struct gp_buf *b)
{
    gp_buf_puts(b, ".visible .entry op(.param .u64 out, .param .u64 a, .param .u64 b, .param .u64 n)\n{\n"
                   "\t.reg .pred %p<8>;\n\t.reg .b16 %h<4>;\n\t.reg .b32 %r<64>;\n\t.reg .b64 %rd<24>;\n"
                   "\t.reg .f32 %f<64>;\n\t.shared .align 16 .b8 s[8448];\n"
                   "\tld.param.u64 %rd2, [out];\n\tcvta.to.global.u64 %rd2, %rd2;\n"
                   "\tld.param.u64 %rd3, [a];\n\tcvta.to.global.u64 %rd3, %rd3;\n"
                   "\tld.param.u64 %rd4, [b];\n\tcvta.to.global.u64 %rd4, %rd4;\n"
                   "\tld.param.u64 %rd5, [n];\n\tmov.u32 %r0, %ctaid.x;\n\tmov.u32 %r1, %tid.x;\n");
}

static void load(struct gp_buf *b, const char *at, int r)
{
    gp_buf_printf(b, "\tld.global.v4.u32 {%%r%d, %%r%d, %%r%d, %%r%d}, [%s];\n", r, r + 1, r + 2, r + 3, at);
}

static void store(struct gp_buf *b, const char *at, int r)
{
    gp_buf_printf(b, "\tst.global.v4.u32 [%s], {%%r%d, %%r%d, %%r%d, %%r%d};\n", at, r, r + 1, r + 2, r + 3);
}

static unsigned per_word(enum gp_op_type t) { return 4 / gp_op_type_size(t); }

/* %rd6 = number of this thread's first vector; a block's vectors lie side by side. */
static void first_of_thread(struct gp_buf *b)
{
    gp_buf_printf(
        b, "\tmul.wide.u32 %%rd6, %%r0, %d;\n\tcvt.u64.u32 %%rd7, %%r1;\n\tadd.u64 %%rd6, %%rd6, %%rd7;\n",
        GP_OP_THREADS * UNROLL);
}

/* ---- elementwise ---- */

static void function_of(struct gp_buf *b, const char *name, int f, int other)
{
    if (!strcmp(name, "add")) gp_buf_printf(b, "\tadd.f32 %%f%d, %%f%d, %%f%d;\n", f, f, other);
    if (!strcmp(name, "exp")) /* 2 to the power of x / log 2 */
        gp_buf_printf(b, "\tmul.f32 %%f%d, %%f%d, 0f3FB8AA3B;\n\tex2.approx.f32 %%f%d, %%f%d;\n", f, f, f, f);
    if (!strcmp(name, "cos")) gp_buf_printf(b, "\tcos.approx.f32 %%f%d, %%f%d;\n", f, f);
}

static void elementwise_vector(struct gp_buf *b, const struct gp_op *op, enum gp_op_type t)
{
    if (op->reads > 0) load(b, "%rd9", 8);
    if (op->reads > 1) load(b, "%rd10", 12);
    if (!op->reads)
        for (int i = 8; i < 12; i++) gp_buf_printf(b, "\tmov.b32 %%r%d, 0;\n", i);
    for (int i = 0; op->flops && i < 4; i++) {
        unpack(b, t, 8 + i, 0);
        if (op->reads > 1) unpack(b, t, 12 + i, 2);
        for (unsigned k = 0; k < per_word(t); k++) function_of(b, op->name, (int)k, 2 + (int)k);
        pack(b, t, 0, 8 + i);
    }
    store(b, "%rd8", 8);
}

static void elementwise(struct gp_buf *b, const struct gp_op *op, enum gp_op_type t)
{
    first_of_thread(b);
    for (int u = 0; u < UNROLL; u++) {
        gp_buf_puts(
            b, "\tsetp.ge.u64 %p0, %rd6, %rd5;\n\t@%p0 ret;\n\tshl.b64 %rd7, %rd6, 4;\n"
               "\tadd.u64 %rd8, %rd2, %rd7;\n\tadd.u64 %rd9, %rd3, %rd7;\n\tadd.u64 %rd10, %rd4, %rd7;\n");
        elementwise_vector(b, op, t);
        gp_buf_printf(b, "\tadd.u64 %%rd6, %%rd6, %d;\n", GP_OP_THREADS);
    }
    gp_buf_puts(b, "\tret;\n}\n");
}

/* ---- sums over a block: %fF of every thread; the result is in %fF of all threads ---- */

static void over_warp(struct gp_buf *b, const char *how, int f)
{
    for (int lane = 16; lane; lane /= 2)
        gp_buf_printf(
            b,
            "\tmov.b32 %%r4, %%f%d;\n\tshfl.sync.bfly.b32 %%r5, %%r4, %d, 31, -1;\n\tmov.b32 %%f62, %%r5;\n"
            "\t%s.f32 %%f%d, %%f%d, %%f62;\n",
            f, lane, how, f, f);
}

static void over_block(struct gp_buf *b, const char *how, int f, int place)
{
    over_warp(b, how, f);
    /* Every thread of a warp writes the same. */
    gp_buf_printf(b,
                  "\tmov.u32 %%r4, s;\n\tshr.u32 %%r5, %%r1, 5;\n\tshl.b32 %%r5, %%r5, 2;\n\tadd.u32 %%r5, "
                  "%%r4, %%r5;\n"
                  "\tst.shared.f32 [%%r5+%d], %%f%d;\n\tbar.sync 0;\n\tld.shared.f32 %%f%d, [%%r4+%d];\n",
                  place, f, f, place);
    for (int warp = 1; warp < GP_OP_THREADS / 32; warp++)
        gp_buf_printf(b, "\tld.shared.f32 %%f62, [%%r4+%d];\n\t%s.f32 %%f%d, %%f%d, %%f62;\n",
                      place + 4 * warp, how, f, f);
}

/* ---- sum: every block adds its sum to the first element of out, a float ---- */

static void reduce(struct gp_buf *b, enum gp_op_type t)
{
    first_of_thread(b);
    gp_buf_puts(b, "\tmov.f32 %f8, 0f00000000;\n");
    for (int u = 0; u < UNROLL; u++) {
        gp_buf_printf(b,
                      "\tsetp.ge.u64 %%p0, %%rd6, %%rd5;\n\t@%%p0 bra DONE;\n\tshl.b64 %%rd7, %%rd6, 4;\n"
                      "\tadd.u64 %%rd9, %%rd3, %%rd7;\n\tadd.u64 %%rd6, %%rd6, %d;\n",
                      GP_OP_THREADS);
        load(b, "%rd9", 8);
        for (int i = 0; i < 4; i++) {
            unpack(b, t, 8 + i, 0);
            for (unsigned k = 0; k < per_word(t); k++) gp_buf_printf(b, "\tadd.f32 %%f8, %%f8, %%f%u;\n", k);
        }
    }
    gp_buf_puts(b, "DONE:\n");
    over_block(b, "add", 8, 0);
    gp_buf_puts(b, "\tsetp.ne.u32 %p1, %r1, 0;\n\t@%p1 ret;\n\tred.global.add.f32 [%rd2], %f8;\n\tret;\n}\n");
}

/* ---- softmax and layernorm: a block a row, four elements a thread, %f0 to %f3 ---- */

static void softmax(struct gp_buf *b)
{
    gp_buf_puts(b, "\tmax.f32 %f8, %f0, %f1;\n\tmax.f32 %f9, %f2, %f3;\n\tmax.f32 %f8, %f8, %f9;\n");
    over_block(b, "max", 8, 0);
    for (int i = 0; i < 4; i++) {
        gp_buf_printf(b, "\tsub.f32 %%f%d, %%f%d, %%f8;\n", i, i);
        function_of(b, "exp", i, 0);
    }
    gp_buf_puts(b, "\tadd.f32 %f10, %f0, %f1;\n\tadd.f32 %f9, %f2, %f3;\n\tadd.f32 %f10, %f10, %f9;\n");
    over_block(b, "add", 10, 64);
    gp_buf_puts(b, "\trcp.approx.f32 %f10, %f10;\n");
    for (int i = 0; i < 4; i++) gp_buf_printf(b, "\tmul.f32 %%f%d, %%f%d, %%f10;\n", i, i);
}

static void layernorm(struct gp_buf *b)
{
    const char *part = "0f3A800000"; /* 1 / GP_OP_ROW */
    gp_buf_puts(b, "\tadd.f32 %f8, %f0, %f1;\n\tadd.f32 %f9, %f2, %f3;\n\tadd.f32 %f8, %f8, %f9;\n");
    over_block(b, "add", 8, 0);
    gp_buf_printf(b, "\tmul.f32 %%f8, %%f8, %s;\n\tmov.f32 %%f10, 0f00000000;\n", part);
    for (int i = 0; i < 4; i++)
        gp_buf_printf(b, "\tsub.f32 %%f%d, %%f%d, %%f8;\n\tfma.rn.f32 %%f10, %%f%d, %%f%d, %%f10;\n", i, i, i,
                      i);
    over_block(b, "add", 10, 64);
    gp_buf_printf(b, "\tfma.rn.f32 %%f10, %%f10, %s, 0f3727C5AC;\n\trsqrt.approx.f32 %%f10, %%f10;\n", part);
    for (int i = 0; i < 4; i++) gp_buf_printf(b, "\tmul.f32 %%f%d, %%f%d, %%f10;\n", i, i);
}

static void rows(struct gp_buf *b, const struct gp_op *op, enum gp_op_type t)
{
    bool wide = t == GP_OP_FP32;
    unsigned bytes = gp_op_type_size(t);
    gp_buf_printf(
        b,
        "\tmul.wide.u32 %%rd6, %%r0, %u;\n\tmul.wide.u32 %%rd7, %%r1, %u;\n\tadd.u64 %%rd6, %%rd6, %%rd7;\n"
        "\tadd.u64 %%rd8, %%rd2, %%rd6;\n\tadd.u64 %%rd9, %%rd3, %%rd6;\n",
        GP_OP_ROW * bytes, 4 * bytes);
    if (wide) load(b, "%rd9", 8);
    else gp_buf_puts(b, "\tld.global.v2.u32 {%r8, %r9}, [%rd9];\n");
    for (int i = 0; i < (wide ? 4 : 2); i++) unpack(b, t, 8 + i, wide ? i : 2 * i);
    if (!strcmp(op->name, "softmax")) softmax(b);
    else layernorm(b);
    for (int i = 0; i < (wide ? 4 : 2); i++) pack(b, t, wide ? i : 2 * i, 8 + i);
    if (wide) store(b, "%rd8", 8);
    else gp_buf_puts(b, "\tst.global.v2.u32 [%rd8], {%r8, %r9};\n");
    gp_buf_puts(b, "\tret;\n}\n");
}

/* ---- transpose: a block a tile through shared memory, 8 rows at a time; rows of the tile are padded by a
 * word ---- */

static void transpose_half(struct gp_buf *b, enum gp_op_type t, bool in)
{
    unsigned bytes = gp_op_type_size(t), bits = 8 * bytes;
    const char *reg = bytes == 4 ? "%r20" : "%h0";
    /* %r14, %r15: column and row of the tile's corner; of the output they change places */
    gp_buf_printf(
        b,
        "\tadd.u32 %%r16, %s, %%r12;\n\tadd.u32 %%r17, %s, %%r13;\n\tmul.wide.u32 %%rd6, %%r17, %%r18;\n"
        "\tcvt.u64.u32 %%rd7, %%r16;\n\tadd.u64 %%rd6, %%rd6, %%rd7;\n\tmul.lo.u64 %%rd6, %%rd6, %u;\n"
        "\tadd.u64 %%rd8, %s, %%rd6;\n\tmul.wide.u32 %%rd9, %%r18, %u;\n",
        in ? "%r14" : "%r15", in ? "%r15" : "%r14", bytes, in ? "%rd3" : "%rd2", 8 * bytes);
    for (int i = 0; i < GP_OP_TILE; i += 8) {
        unsigned step = (unsigned)i * (in ? (GP_OP_TILE + 1) * 4 : 4);
        if (in)
            gp_buf_printf(b, "\tld.global.b%u %s, [%%rd8];\n\tst.shared.b%u [%%r21+%u], %s;\n", bits, reg,
                          bits, step, reg);
        else
            gp_buf_printf(b, "\tld.shared.b%u %s, [%%r22+%u];\n\tst.global.b%u [%%rd8], %s;\n", bits, reg,
                          step, bits, reg);
        gp_buf_puts(b, "\tadd.u64 %rd8, %rd8, %rd9;\n");
    }
}

static void transpose(struct gp_buf *b, enum gp_op_type t)
{
    gp_buf_printf(b,
                  "\tand.b32 %%r12, %%r1, 31;\n\tshr.u32 %%r13, %%r1, 5;\n\tcvt.u32.u64 %%r18, %%rd5;\n"
                  "\tshr.u32 %%r19, %%r18, 5;\n\trem.u32 %%r14, %%r0, %%r19;\n\tdiv.u32 %%r15, %%r0, %%r19;\n"
                  "\tshl.b32 %%r14, %%r14, 5;\n\tshl.b32 %%r15, %%r15, 5;\n\tmov.u32 %%r23, s;\n"
                  "\tmad.lo.u32 %%r21, %%r13, %d, %%r23;\n\tmad.lo.u32 %%r21, %%r12, 4, %%r21;\n"
                  "\tmad.lo.u32 %%r22, %%r12, %d, %%r23;\n\tmad.lo.u32 %%r22, %%r13, 4, %%r22;\n",
                  (GP_OP_TILE + 1) * 4, (GP_OP_TILE + 1) * 4);
    transpose_half(b, t, true);
    gp_buf_puts(b, "\tbar.sync 0;\n");
    transpose_half(b, t, false);
    gp_buf_puts(b, "\tret;\n}\n");
}

void gp_ptx_op(struct gp_buf *b, const struct gp_op *op, enum gp_op_type t)
{
    begin(b);
    switch (op->kind) {
    case GP_OP_ELEMENTWISE: elementwise(b, op, t); break;
    case GP_OP_REDUCE: reduce(b, t); break;
    case GP_OP_ROWS: rows(b, op, t); break;
    case GP_OP_TRANSPOSE: transpose(b, t); break;
    }
}
