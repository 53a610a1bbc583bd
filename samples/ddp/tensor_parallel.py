"""Train transformer blocks whose matrices are cut over all ranks: each has some heads of the attention and a part of the
MLP, and their results are added by an all-reduce, two per block and pass."""

import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

import job


def main():
    args = job.begin(__doc__, layers=2, batch=192)
    torch.manual_seed(0)  # every rank has the same inputs
    mesh = init_device_mesh(job.DEVICE.type, (job.WORLD,))
    blocks = torch.nn.Sequential(*(job.Block(args.width) for _ in range(args.layers))).to(job.DEVICE, job.DTYPE)
    cut = {f"attention.{name}": ColwiseParallel() for name in ("q", "k", "v")}
    cut |= {"attention.out": RowwiseParallel(), "up": ColwiseParallel(), "down": RowwiseParallel()}
    for block in blocks:
        parallelize_module(block, mesh, cut)
    # An optimizer does not update parameters that are cut and parameters that are not in one call.
    groups = [[p for p in blocks.parameters() if isinstance(p, DTensor) == are_cut] for are_cut in (True, False)]
    optimizer = job.adamw([{"params": group} for group in groups])

    def step():
        x = torch.randn(args.batch, args.length, args.width, device=job.DEVICE, dtype=job.DTYPE)
        loss = (blocks(x) - x).float().square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    job.run(args, "tensor", step)


if __name__ == "__main__":
    main()
