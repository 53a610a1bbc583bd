"""Measure the steps of a training loop after a warm-up: totals, kernels, where the time went, what to change."""

import gputrace as gp

from session_work import make_step

step = make_step()
with gp.session("step", warmup=3, iterations=10, memory=True) as s:
    for _ in s:
        step()
print(s)
print(f"totals in ms: wall {s.total_ms:.3f}, GPU {s.gpu_ms:.3f}, CPU {s.cpu_ms:.3f}; peak {s.peak_bytes} bytes")
for kernel in s.kernels[:3]:
    print(f"{kernel.count:6d} x {kernel.mean_ns / 1e3:8.1f} us  {kernel.label}")
if s.trace and s.kernels:
    s.html("step.html")
