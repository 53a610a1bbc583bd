"""What fills the memory of the GPU in a block, and who holds it at the peak."""

import gputrace as gp

from session_work import make_step

step = make_step()
step()
with gp.memory() as m:
    for _ in range(3):
        step()
print(m)
print(f"{len(m.timeline)} points of time")
