"""Train a pipeline of two stages with as many replicas as there are pairs of ranks. Four micro-batches go forward through
both stages, then backward; the ranks of a stage add up their gradients."""

import torch
import torch.distributed as dist

import job

MICRO_BATCHES = 4


def main():
    args = job.begin(__doc__, layers=2, batch=96)
    replicas = job.WORLD // 2
    stage, peer = job.RANK // replicas, (job.RANK + replicas) % job.WORLD
    groups = [dist.new_group(list(range(s * replicas, (s + 1) * replicas))) for s in (0, 1)]
    blocks = torch.nn.Sequential(*(job.Block(args.width) for _ in range(args.layers))).to(job.DEVICE, job.DTYPE)
    optimizer = job.adamw(blocks.parameters())
    shape = (args.batch // MICRO_BATCHES, args.length, args.width)

    def first_stage():
        outputs = []
        for _ in range(MICRO_BATCHES):
            outputs.append(blocks(torch.randn(shape, device=job.DEVICE, dtype=job.DTYPE)))
            dist.send(outputs[-1].detach(), peer)
        for y in outputs:
            gradient = torch.empty_like(y)
            dist.recv(gradient, peer)
            y.backward(gradient)

    def second_stage():
        inputs, losses = [], []
        for _ in range(MICRO_BATCHES):
            x = torch.empty(shape, device=job.DEVICE, dtype=job.DTYPE)
            dist.recv(x, peer)
            inputs.append(x.requires_grad_())
            losses.append(blocks(x).float().square().mean())
        for x, loss in zip(inputs, losses):
            loss.backward()
            dist.send(x.grad, peer)
        return torch.stack(losses).mean()

    def step():
        loss = second_stage() if stage else first_stage()
        if replicas > 1:
            for p in blocks.parameters():
                dist.all_reduce(p.grad, group=groups[stage])
        optimizer.step()
        optimizer.zero_grad()
        return loss

    job.run(args, "pipeline", step)


if __name__ == "__main__":
    main()
