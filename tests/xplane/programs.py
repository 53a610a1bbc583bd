#!/usr/bin/env python3
"""programs.py FILE: writes a profile of XLA with a program in it (HloProto), from the published field numbers, and prints for each
kernel [class, flops, type of the flops, bytes, innermost line], as calculated by hand from the shapes."""
import json
import sys

from planes import Plane, message, varint

F32, BF16, S32 = 11, 16, 4
KEYS = {"parameter_number": 9, "kind": 11, "convolution": 16, "target": 28, "dot": 30, "config": 43}


def packed(values):
    return b"".join(varint(v) for v in values)


def shape(of, *dims):
    return message((2, of), (3, packed(dims)))


def instruction(number, name, opcode, of, operands=(), called=(), frame=0, kernel=None, **more):
    meta = message((2, "jit(f)/" + opcode), (12, kernel), (15, frame))
    return message((1, name), (2, opcode), (3, of), (7, meta), (35, number), (36, packed(operands)), (38, packed(called)),
                   *[(KEYS[k], v) for k, v in more.items()])


def computation(number, root, *instructions):
    return message((1, "c%d" % number), *[(2, i) for i in instructions], (5, number), (6, root))


def program():
    dot = message((1, packed([1])), (2, packed([0])))
    big = shape(F32, 1000, 64)
    # relu(x w): 2 x 128 x 32 x 64 for the product, 128 x 32 for the maximum
    product = computation(1, 14, instruction(10, "p0", "parameter", shape(BF16, 128, 64)),
                          instruction(11, "p1", "parameter", shape(BF16, 64, 32), parameter_number=1),
                          instruction(12, "d", "dot", shape(F32, 128, 32), [10, 11], dot=dot),
                          instruction(13, "z", "constant", shape(F32, 128, 32)),
                          instruction(14, "m", "maximum", shape(F32, 128, 32), [12, 13]))
    # ten rows of a thousand
    rows = computation(2, 22, instruction(20, "q0", "parameter", big), instruction(21, "s", "slice", shape(F32, 10, 64), [20]),
                       instruction(22, "t", "tanh", shape(F32, 10, 64), [21]))
    # one row into a thousand, in place
    update = computation(3, 33, instruction(30, "u0", "parameter", big), instruction(31, "u1", "parameter", shape(F32, 1, 64), parameter_number=1),
                         instruction(32, "i", "constant", shape(S32)), instruction(33, "o", "dynamic-update-slice", big, [30, 31, 32, 32]))
    adder = computation(4, 42, instruction(40, "a", "parameter", shape(F32)), instruction(41, "b", "parameter", shape(F32), parameter_number=1),
                        instruction(42, "c", "add", shape(F32), [40, 41]))
    total = computation(5, 52, instruction(50, "r0", "parameter", shape(F32, 128, 32)), instruction(51, "k", "constant", shape(F32)),
                        instruction(52, "r", "reduce", shape(F32, 128), [50, 51], [4]))
    filters = message((4, 3))  # the last dimension of the filter is that of its outputs
    settings = '{"gemm_backend_config":{"dot_dimension_numbers":{"lhs_contracting_dimensions":["1"],"rhs_contracting_dimensions":["0"]}}}'
    entry = computation(9, 98, instruction(90, "x", "parameter", shape(BF16, 128, 64)), instruction(91, "w", "parameter", shape(BF16, 64, 32)),
                        instruction(92, "table", "parameter", big), instruction(93, "row", "parameter", shape(F32, 1, 64)),
                        instruction(94, "gemm_fusion.1", "fusion", shape(F32, 128, 32), [90, 91], [1], 3, kind="kCustom"),
                        instruction(95, "fusion.2", "fusion", shape(F32, 10, 64), [92], [2], 4, kind="kLoop"),
                        instruction(96, "fusion.3", "fusion", big, [92, 93], [3], 4, kind="kLoop"),
                        instruction(97, "sum", "fusion", shape(F32, 128), [94], [5], 3, kind="kInput"),
                        instruction(98, "sum.1", "fusion", shape(F32, 128), [94], [5], 4, "sum", kind="kInput"),
                        instruction(99, "image", "parameter", shape(F32, 4, 8, 8, 3)), instruction(100, "filter", "parameter", shape(F32, 3, 3, 3, 16)),
                        instruction(101, "conv.1", "custom-call", message((4, shape(F32, 4, 8, 8, 16)), (4, shape(6, 0))), [99, 100], frame=6,
                                    target="__cudnn$convForward", convolution=filters),
                        instruction(102, "gemm.1", "custom-call", message((4, shape(BF16, 128, 32)), (4, shape(2, 4096))), [90, 91], frame=99,
                                    target="__cublas$gemm", config=settings),
                        instruction(103, "all-reduce.1", "all-reduce", shape(F32, 128), [97], [4], 2))
    places = [(1, 1, 40), (1, 2, 20), (1, 3, 7), (1, 3, 8)]
    frames = message((1, "/srv/net.py"), *[(2, f) for f in ("<module>", "train", "layer")],
                     *[(3, message((1, f), (2, g), (3, line))) for f, g, line in places],
                     *[(4, message((1, at), (2, parent))) for at, parent in ((1, 0), (2, 1), (3, 2), (4, 2), (3, 6), (4, 5))])  # the last two: a ring
    return message((1, message((1, "jit_f"), *[(3, c) for c in (product, rows, update, adder, total, entry)], (17, frames))))


WANT = {  # by kernel: what ran, and under which name XLA has it
    "gemm_fusion_1": ["gemm", 2 * 128 * 32 * 64 + 128 * 32, "bf16", 2 * 128 * 64 + 2 * 64 * 32 + 4 * 128 * 32, "net.py:7"],
    "fusion_2": ["elementwise", 640, "fp32", 2 * 4 * 640, "net.py:8"],
    "fusion_3": ["elementwise", None, None, 2 * 4 * 64, "net.py:8"],
    "sum": ["reduction", 128 * 32, "fp32", 4 * 128 * 32 + 4 * 128, "net.py:20"],  # of two lines: what both are below
    "implicit_convolve_sgemm": ["gemm", 2 * (4 * 8 * 8 * 16) * 27, "fp32", 4 * (4 * 8 * 8 * 3 + 27 * 16 + 4 * 8 * 8 * 16), "net.py:8"],
    "nvjet_tst_64x8": ["gemm", 2 * 128 * 32 * 64, "bf16", 2 * (128 * 64 + 64 * 32 + 128 * 32), None],
    "device_kernel": ["communication", None, None, None, "net.py:20"],
    "elsewhere": ["compute", None, None, None, None],
}
OPS = {"implicit_convolve_sgemm": "conv.1", "nvjet_tst_64x8": "gemm.1", "device_kernel": "all-reduce.1", "fusion_2": "fusion.2"}


def main():
    meta, gpu = Plane(2, "/host:metadata"), Plane(1, "/device:GPU:0")
    at = meta.stats.setdefault("Hlo Proto", 1)
    meta.fields.append((4, message((1, 77), (2, message((1, 77), (2, "jit_f(77)"), (5, message((1, at), (6, program()))))))))
    events = []
    for i, name in enumerate(WANT):
        stats = [("correlation_id", 1 + i), ("hlo_op", OPS.get(name, "command_buffer")), ("hlo_module", "jit_f"), ("program_id", 77),
                 ("kernel_details", "regs:32 static_shared:0 dynamic_shared:0 grid:4,1,1 block:128,1,1 occ_pct:50")]
        events.append(gpu.event(name, 1_000_000 * (i + 1), 500_000, stats))
    gpu.line(13, "Stream #13(Compute)", 5000, events)
    with open(sys.argv[1], "wb") as f:  # the programs come last
        f.write(message((1, gpu.bytes([("gpu_device_name", "NVIDIA H200")])), (1, meta.bytes())))
    json.dump(WANT, sys.stdout)


main()
