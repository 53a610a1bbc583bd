"""Compare two ways to do the same work: speed-up with its interval, kernels that come and go, memory."""

import gputrace as gp

from session_work import make_step

small, large = make_step(batch=256), make_step(batch=1024)
before = gp.measure(large, iterations=20, memory=True, name="large batch")
after = gp.measure(small, iterations=20, memory=True, name="small batch")
if before.kernels and after.kernels:
    print(before.compare(after))
else:
    print("nothing to compare:", *(before.warnings or ("nothing ran on a GPU",)))
print(f"wall time {before.total_ms:.3f} -> {after.total_ms:.3f} ms")
