"""What bounds an operation: launching it, memory, or arithmetic; and the result of the call itself."""

import sys

import gputrace as gp

from session_work import make_product, make_sum

ceilings = sys.argv[1] if len(sys.argv) > 1 else None  # of gpuprof-measure --calibrate
for name, (function, *args) in (("product", make_product()), ("sum", make_sum())):
    result, c = gp.classify(function, *args)
    print(f"{name}: {c}")
    result, c = gp.classify(function, *args, light=True, ceilings=ceilings)
    print(f"{name}, by events: {c}")
    for text in c.warnings:
        print("note:", text)
result, s = gp.profile_with_result(make_product()[0], *make_product()[1:])
print(f"one call: {s.total_ms:.3f} ms, GPU {s.gpu_ms:.3f} ms")
