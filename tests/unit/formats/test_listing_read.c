// Sources by lines, instructions by offsets: as nvdisasm and cuobjdump of CUDA 13 print them, and damaged.
#include <stdlib.h>
#include <string.h>

#include "formats/base/str.h"
#include "formats/listing_read.h"
#include "tests/unit/unit.h"

static bool read_lines(struct gp_listing *l, const char *text, size_t n)
{
    struct gp_buf b = {0};
    gp_buf_put(&b, text, n);
    const bool is_text = gp_listing_lines(l, &b);
    gp_buf_release(&b);
    return is_text;
}

static void expect(const struct gp_listing *l, uint64_t at, const char *text)
{
    const struct gp_listing_row *row = gp_listing_row(l, at);
    assert_non_null(row);
    assert_int_equal(row->n, strlen(text));
    assert_memory_equal(l->text.data + row->from, text, row->n);
}

TEST(lines_have_their_numbers)
{
    struct gp_listing l = {0};
    assert_true(read_lines(&l, GP_TEXT("one\r\n\n  three \nfour")));
    assert_int_equal(l.rows.n, 4);
    expect(&l, 1, "one");
    expect(&l, 2, "");
    expect(&l, 3, "  three");
    expect(&l, 4, "four");
    assert_null(gp_listing_row(&l, 0));
    assert_null(gp_listing_row(&l, 5));
    gp_listing_release(&l);
}

TEST(what_is_not_text_has_no_lines)
{
    struct gp_listing l = {0};
    assert_false(read_lines(&l, GP_TEXT("a\0b\n")));
    assert_false(read_lines(&l, GP_TEXT("")));
    assert_int_equal(l.rows.n, 0);
}

/* Of two architectures; the function before and the one behind have other instructions. */
static const char cuobjdump[] =
    "\nFatbin elf code:\n================\narch = sm_80\n\n\tcode for sm_80\n\t\tFunction : _Z1kPf\n"
    "        /*0000*/                   MOV R1, R2 ;    /* 0x0000000200017202 */\n\n"
    "\tcode for sm_90\n\t\tFunction : _Z1jPf\n        /*0000*/                   NOP ;\n\t\tFunction : "
    "_Z1kPf\n"
    "\t.headerflags\t@\"EF_CUDA_SM90\"\n"
    "        /*0000*/                   LDC R1, c[0x0][0x28] ;      /* 0x00000a00ff017b82 */\n"
    "                                                               /* 0x000fe20000000800 */\n"
    "        /*0010*/              @!P0 LDG.E R2, desc[UR4][R2.64] ;\n"
    "        /*0020*/                   BRA 0x20;\n\t\t..........\n\n\t\tFunction : _Z1lPf\n"
    "        /*0030*/                   EXIT ;\n";

TEST(instructions_of_the_architecture_and_of_no_other_function)
{
    struct gp_listing l = {0};
    assert_true(gp_listing_sass(&l, GP_TEXT(cuobjdump), "_Z1kPf", "sm_90"));
    assert_int_equal(l.rows.n, 3);
    expect(&l, 0, "LDC R1, c[0x0][0x28]");
    expect(&l, 0x10, "@!P0 LDG.E R2, desc[UR4][R2.64]");
    expect(&l, 0x20, "BRA 0x20");
    gp_listing_release(&l);
    assert_true(gp_listing_sass(&l, GP_TEXT(cuobjdump), "_Z1kPf", ""));
    assert_int_equal(l.rows.n, 1);
    gp_listing_release(&l);
    assert_false(gp_listing_sass(&l, GP_TEXT(cuobjdump), "_Z1jPf", "sm_100"));
    assert_false(gp_listing_sass(&l, GP_TEXT(cuobjdump), "_Z1", "sm_90"));
}

TEST(instructions_of_nvdisasm_end_at_the_next_section)
{
    static const char text[] = "\t.headerflags\t@\"EF_CUDA_SM90\"\n//---- .text._Z1kPf ----\n"
                               "\t.section\t.text._Z1kPf,\"ax\",@progbits\n_Z1kPf:\n.text._Z1kPf:\n"
                               "        /*0000*/                   S2R R0, SR_TID.X ;\n.L_x_0:\n"
                               "        /*0010*/                   BRA `(.L_x_0);\n.text._Z1lPf:\n"
                               "        /*0020*/                   EXIT ;\n";
    struct gp_listing l = {0};
    assert_true(gp_listing_sass(&l, GP_TEXT(text), "_Z1kPf", "sm_90"));
    assert_int_equal(l.rows.n, 2);
    expect(&l, 0x10, "BRA `(.L_x_0)");
    gp_listing_release(&l);
}

TEST(what_is_no_instruction_is_left_out)
{
    static const char text[] =
        ".text.k:\n/*\n/*0010*/\n/*001*/ NOP ;\n/*0zz0*/ NOP ;\n /*0020*/ NOP ; x\n/*0020*/ AGAIN ;\n"
        "/*0010*/ BACK ;\n/*00000000f0*/ LONG ;\n/*0030*/;\n";
    struct gp_listing l = {0};
    assert_true(gp_listing_sass(&l, GP_TEXT(text), "k", ""));
    assert_int_equal(l.rows.n, 2);
    expect(&l, 0x20, "NOP");
    expect(&l, 0x30, "");
    gp_listing_release(&l);
}
