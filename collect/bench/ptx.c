#include "collect/bench/ptx.h"

#include <stdbool.h>
#include "formats/base/buf.h"

/* ISA 6.4 of CUDA 10.1, for Volta and later; the driver compiles it for the device. */
void gp_ptx_begin(struct gp_buf *b) { gp_buf_puts(b, ".version 6.4\n.target sm_70\n.address_size 64\n"); }

/* %rd0 = the number of the thread among all. */
static void thread_number(struct gp_buf *b)
{
    gp_buf_puts(b, "\tmov.u32 %r0, %ctaid.x;\n\tmov.u32 %r1, %ntid.x;\n\tmov.u32 %r2, %tid.x;\n"
                   "\tmul.wide.u32 %rd0, %r0, %r1;\n\tcvt.u64.u32 %rd1, %r2;\n\tadd.u64 %rd0, %rd0, %rd1;\n");
}

/* %rdREGISTER = the address in parameter NAME. */
static void address(struct gp_buf *b, int reg, const char *name)
{
    gp_buf_printf(b, "\tld.param.u64 %%rd%d, [%s];\n\tcvta.to.global.u64 %%rd%d, %%rd%d;\n", reg, name, reg,
                  reg);
}

static void registers(struct gp_buf *b, int words, int longs)
{
    gp_buf_printf(b, "\t.reg .pred %%p<4>;\n\t.reg .b32 %%r<%d>;\n\t.reg .b64 %%rd<%d>;\n", words, longs);
}

void gp_ptx_fill(struct gp_buf *b)
{
    gp_buf_puts(b, ".visible .entry fill(.param .u64 p, .param .u64 n, .param .u32 seed, .param .u32 a0,\n"
                   "\t.param .u32 o0, .param .u32 a1, .param .u32 o1)\n{\n");
    registers(b, 16, 8);
    address(b, 2, "p");
    thread_number(b);
    gp_buf_puts(b, "\tld.param.u64 %rd3, [n];\n\tsetp.ge.u64 %p0, %rd0, %rd3;\n\t@%p0 ret;\n"
                   "\tld.param.u32 %r3, [seed];\n\tcvt.u32.u64 %r4, %rd0;\n\txor.b32 %r5, %r4, %r3;\n");
    for (int i = 0; i < 2; i++)
        gp_buf_printf(
            b, "\tshr.u32 %%r6, %%r5, 16;\n\txor.b32 %%r5, %%r5, %%r6;\n\tmul.lo.u32 %%r5, %%r5, %s;\n",
            i ? "3266489917" : "2246822507");
    gp_buf_puts(
        b,
        "\tshr.u32 %r6, %r5, 13;\n\txor.b32 %r5, %r5, %r6;\n"
        "\tand.b32 %r7, %r4, 1;\n\tsetp.eq.u32 %p1, %r7, 0;\n"
        "\tld.param.u32 %r8, [a0];\n\tld.param.u32 %r9, [a1];\n\tselp.b32 %r8, %r8, %r9, %p1;\n"
        "\tld.param.u32 %r10, [o0];\n\tld.param.u32 %r11, [o1];\n\tselp.b32 %r10, %r10, %r11, %p1;\n"
        "\tand.b32 %r5, %r5, %r8;\n\tor.b32 %r5, %r5, %r10;\n"
        "\tshl.b64 %rd4, %rd0, 2;\n\tadd.u64 %rd5, %rd2, %rd4;\n\tst.global.u32 [%rd5], %r5;\n\tret;\n}\n");
}

void gp_ptx_empty(struct gp_buf *b) { gp_buf_puts(b, ".visible .entry empty()\n{\n\tret;\n}\n"); }

/* %rdTO + the place of this thread's first vector, in each address register; %rd4 = bytes to its next one. A
 * block has its vectors side by side. */
static void first_vector(struct gp_buf *b, int unroll)
{
    thread_number(b);
    gp_buf_printf(
        b,
        "\tmul.wide.u32 %%rd0, %%r0, %%r1;\n\tmul.lo.u64 %%rd0, %%rd0, %d;\n\tadd.u64 %%rd0, %%rd0, "
        "%%rd1;\n\tshl.b64 %%rd0, %%rd0, 4;\n\tadd.u64 %%rd2, %%rd2, %%rd0;\n\tadd.u64 %%rd3, %%rd3, "
        "%%rd0;\n\tcvt.u64.u32 %%rd4, %%r1;\n\tshl.b64 %%rd4, %%rd4, 4;\n",
        unroll);
}

static void begin_stream(struct gp_buf *b, const char *name, int unroll)
{
    gp_buf_printf(b, ".visible .entry %s%d(.param .u64 to, .param .u64 from)\n{\n", name, unroll);
    registers(b, 8 + 4 * unroll, 8);
    address(b, 2, "to");
    address(b, 3, "from");
    first_vector(b, unroll);
}

static void each_vector(struct gp_buf *b, int unroll, bool load)
{
    const char *reg = load ? "%rd3" : "%rd2";
    for (int i = 0; i < unroll; i++) {
        int r = 8 + 4 * i;
        if (load)
            gp_buf_printf(b, "\tld.global.cs.v4.u32 {%%r%d, %%r%d, %%r%d, %%r%d}, [%s];\n", r, r + 1, r + 2,
                          r + 3, reg);
        else
            gp_buf_printf(b, "\tst.global.cs.v4.u32 [%s], {%%r%d, %%r%d, %%r%d, %%r%d};\n", reg, r, r + 1,
                          r + 2, r + 3);
        if (i + 1 < unroll) gp_buf_printf(b, "\tadd.u64 %s, %s, %%rd4;\n", reg, reg);
    }
}

void gp_ptx_copy(struct gp_buf *b, int unroll)
{
    begin_stream(b, "copy", unroll);
    each_vector(b, unroll, true);
    each_vector(b, unroll, false);
    gp_buf_puts(b, "\tret;\n}\n");
}

void gp_ptx_write(struct gp_buf *b, int unroll)
{
    begin_stream(b, "write", unroll);
    for (int i = 0; i < 4 * unroll; i++) gp_buf_printf(b, "\tmov.b32 %%r%d, %%r%d;\n", 8 + i, i % 3);
    each_vector(b, unroll, false);
    gp_buf_puts(b, "\tret;\n}\n");
}

/* Unused reads would be removed, so the thread writes if they have values that data hardly ever has. */
void gp_ptx_read(struct gp_buf *b, int unroll)
{
    begin_stream(b, "read", unroll);
    each_vector(b, unroll, true);
    gp_buf_puts(b, "\tmov.b32 %r3, 0;\n");
    for (int i = 0; i < 4 * unroll; i++) gp_buf_printf(b, "\txor.b32 %%r3, %%r3, %%r%d;\n", 8 + i);
    gp_buf_puts(b,
                "\tsetp.ne.u32 %p0, %r3, 305419896;\n\t@%p0 ret;\n\tst.global.u32 [%rd2], %r3;\n\tret;\n}\n");
}

void gp_ptx_again(struct gp_buf *b)
{
    gp_buf_puts(b, ".visible .entry again(.param .u64 p, .param .u32 rounds, .param .u32 passes)\n{\n");
    registers(b, 32, 12);
    address(b, 2, "p");
    thread_number(b);
    gp_buf_puts(b, "\tmov.u32 %r3, %nctaid.x;\n\tmul.wide.u32 %rd4, %r3, %r1;\n\tshl.b64 %rd4, %rd4, 4;\n"
                   "\tshl.b64 %rd0, %rd0, 4;\n\tadd.u64 %rd2, %rd2, %rd0;\n\tld.param.u32 %r4, [rounds];\n"
                   "\tld.param.u32 %r5, [passes];\n\tmov.b32 %r6, 0;\nPASS:\n\tmov.u64 %rd5, %rd2;\n"
                   "\tmov.u32 %r7, %r4;\nROUND:\n");
    for (int i = 0; i < GP_PTX_AGAIN; i++) {
        int r = 8 + 4 * i;
        gp_buf_printf(
            b,
            "\tld.global.cg.v4.u32 {%%r%d, %%r%d, %%r%d, %%r%d}, [%%rd5];\n\tadd.u64 %%rd5, %%rd5, %%rd4;\n",
            r, r + 1, r + 2, r + 3);
    }
    for (int i = 8; i < 8 + 4 * GP_PTX_AGAIN; i++) gp_buf_printf(b, "\txor.b32 %%r6, %%r6, %%r%d;\n", i);
    gp_buf_puts(
        b, "\tsub.u32 %r7, %r7, 1;\n\tsetp.ne.u32 %p0, %r7, 0;\n\t@%p0 bra ROUND;\n\tsub.u32 %r5, %r5, 1;\n"
           "\tsetp.ne.u32 %p1, %r5, 0;\n\t@%p1 bra PASS;\n\tsetp.ne.u32 %p2, %r6, 305419896;\n\t@%p2 ret;\n"
           "\tst.global.u32 [%rd2], %r6;\n\tret;\n}\n");
}

/* Eight chains, so that each multiply-add need not wait for the one before. Values change sign each time:
 * constant data needs less power. */
void gp_ptx_fma(struct gp_buf *b, int bits)
{
    const char *t = bits == 64 ? "f64" : "f32", *half = bits == 64 ? "0d3FE0000000000000" : "0f3F000000";
    const char *factor = bits == 64 ? "0dBFEFFF2E48E8A71E" : "0fBF7FF972"; /* -0.9999 */
    gp_buf_printf(b, ".visible .entry fma%d(.param .u64 p, .param .u32 rounds)\n{\n\t.reg .%s %%f<16>;\n",
                  bits, t);
    registers(b, 8, 8);
    address(b, 2, "p");
    thread_number(b);
    gp_buf_printf(b,
                  "\tld.param.u32 %%r3, [rounds];\n\tcvt.rn.%s.u32 %%f8, %%r2;\n\tmul.%s %%f8, %%f8, %s;\n"
                  "\tadd.%s %%f9, %%f8, %s;\n\trcp.rn.%s %%f9, %%f9;\n",
                  t, t, half, t, half, t);
    for (int i = 0; i < 8; i++) gp_buf_printf(b, "\tadd.%s %%f%d, %%f9, %%f%d;\n", t, i, i ? i - 1 : 9);
    gp_buf_puts(b, "ROUND:\n");
    for (int i = 0; i < GP_PTX_FMA; i++)
        gp_buf_printf(b, "\tfma.rn.%s %%f%d, %%f%d, %s, %%f9;\n", t, i % 8, i % 8, factor);
    gp_buf_puts(b, "\tsub.u32 %r3, %r3, 1;\n\tsetp.ne.u32 %p0, %r3, 0;\n\t@%p0 bra ROUND;\n");
    for (int i = 1; i < 8; i++) gp_buf_printf(b, "\tadd.%s %%f0, %%f0, %%f%d;\n", t, i);
    gp_buf_printf(
        b,
        "\tsetp.gt.%s %%p1, %%f0, %s;\n\t@%%p1 ret;\n\tshl.b64 %%rd0, %%rd0, %d;\n\tadd.u64 %%rd2, %%rd2, "
        "%%rd0;\n\tst.global.%s [%%rd2], %%f0;\n\tret;\n}\n",
        t, bits == 64 ? "0dC000000000000000" : "0fC0000000", bits == 64 ? 3 : 2, t);
}
