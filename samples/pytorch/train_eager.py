"""Train a small GPT eagerly for a few steps, all of it recorded: set-up, steps, and the last loss.

With --kineto FILE, torch.profiler records shapes and Python stacks (the nn.Module calls among them).
"""

import torch

from sample import GPT, Ranges, arguments, check_loss, mark_modules, recording, synchronize, train_step

args = arguments(__doc__)
with recording(args.kineto, record_shapes=True, with_stack=True, profile_memory=True):
    model = GPT().to(args.device, torch.bfloat16)
    if not args.kineto:
        mark_modules(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, foreach=True)
    for step in range(args.steps):
        loss = train_step(model, optimizer, step)
    synchronize()
print(f"steps {args.steps}, loss {check_loss(loss):.3f}")
print(f"expect steps={args.steps} ranges_least={Ranges.opened} processes=1")
