"""Name parts of a program and sum them up over the run: context managers, decorators, nested; on, off and reset; JSON and CSV."""

import gputrace as gp

from session_work import make_step

step = make_step()


@gp.range
def train():
    step()


@gp.range("evaluate", flops=2.0e9)
def evaluate():
    with gp.range("inner"):
        step()


train()  # so that CUDA is up
missing = gp.on(gpu=True, memory=True)
gp.reset()
for _ in range(5):
    train()
    evaluate()
gp.off()
train()  # not counted
gp.on()
gp.print_summary()
print("largest:", [r.name for r in gp.bottlenecks(2)])
print(f"as JSON {len(gp.to_json())} characters, as CSV {len(gp.to_csv().splitlines())} lines")
for text in missing:
    print("note:", text)
gp.reset()
