"""Train a small GPT through torch.compile. The first steps compile and are not in the Kineto file."""

import torch

from sample import GPT, Ranges, arguments, check_loss, recording, synchronize, train_step

args = arguments(__doc__, warmup=2)
model = GPT().to(args.device, torch.bfloat16)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=args.device != "cpu")
compiled = torch.compile(model)
for step in range(args.warmup):
    loss = train_step(compiled, optimizer, step)
synchronize()
with recording(args.kineto, record_shapes=True):
    for step in range(args.warmup, args.warmup + args.steps):
        loss = train_step(compiled, optimizer, step)
    synchronize()
steps = args.steps if args.kineto else args.warmup + args.steps
print(f"steps {args.steps} after {args.warmup}, loss {check_loss(loss):.3f}")
print(f"expect steps={steps} processes=1" + ("" if args.kineto else f" ranges_least={Ranges.opened}"))
