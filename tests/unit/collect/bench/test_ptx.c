// The PTX text of all kernels: the assembler of the CUDA Toolkit takes it, where there is one; shapes of
// operations.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>

#include "collect/bench/ptx.h"
#include "tests/unit/lacks.h"
#include "tests/unit/unit.h"
#include "formats/base/buf.h"

static const char *assembler(void)
{
    return !system("ptxas --version >/dev/null 2>&1")     ? "ptxas"
           : !system("test -x /usr/local/cuda/bin/ptxas") ? "/usr/local/cuda/bin/ptxas"
                                                          : NULL;
}

/* Takes the assembler B? Empties it. */
static void assemble(const char *as, struct gp_buf *b)
{
    char command[512], file[] = "/tmp/gpuprof-ptx-XXXXXX";
    int fd = mkstemp(file);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(b->data, 1, b->n, f), b->n);
    fclose(f);
    snprintf(command, sizeof command, "%s -arch=sm_90 -o /dev/null %s", as, file);
    int rc = system(command);
    remove(file);
    assert_int_equal(rc, 0);
    b->n = 0;
}

TEST(kernels_assemble)
{
    const char *as = assembler();
    struct gp_buf b = {0};
    const struct gp_op *op;
    if (gp_lacks(!as, "ptxas")) return;
    gp_ptx_begin(&b);
    gp_ptx_fill(&b);
    gp_ptx_empty(&b);
    for (int u = 1; u <= 8; u *= 2) {
        gp_ptx_copy(&b, u);
        gp_ptx_read(&b, u);
        gp_ptx_write(&b, u);
    }
    gp_ptx_again(&b);
    gp_ptx_fma(&b, 32);
    gp_ptx_fma(&b, 64);
    assemble(as, &b);
    for (size_t i = 0; (op = gp_op_at(i)); i++)
        for (enum gp_op_type t = 0; t < GP_OP_TYPES; t++) {
            gp_ptx_begin(&b);
            gp_ptx_op(&b, op, t);
            assemble(as, &b);
        }
    gp_buf_release(&b);
}

TEST(shapes_are_whole)
{
    struct gp_op_shape s = gp_op_shape(gp_op_called("add"), GP_OP_BF16, 1001); // vectors of 8
    assert_true(s.elements == 1000 && s.bytes == 6000 && s.flops == 1000 && s.blocks == 1);
    s = gp_op_shape(gp_op_called("copy"), GP_OP_FP32, 1); // never less than one vector
    assert_true(s.elements == 4 && s.bytes == 32 && s.flops == 0);
    s = gp_op_shape(gp_op_called("softmax"), GP_OP_FP32, 5000); // rows of 1,024
    assert_true(s.elements == 4096 && s.blocks == 4 && s.bytes == 32768);
    s = gp_op_shape(gp_op_called("transpose"), GP_OP_FP16, 1 << 20); // tiles of 32 by 32
    assert_true(s.side == 1024 && s.blocks == 1024 && s.bytes == 4 << 20);
    s = gp_op_shape(gp_op_called("transpose"), GP_OP_FP16, 100);
    assert_true(s.side == 32 && s.elements == 1024 && s.blocks == 1);
    s = gp_op_shape(gp_op_called("sum"), GP_OP_FP32, 1 << 20); // four vectors a thread
    assert_true(s.blocks == 256 && s.bytes == 4 << 20);
    assert_null(gp_op_called("divide"));
    assert_int_equal(gp_op_type_called("fp7"), GP_OP_TYPES);
}
