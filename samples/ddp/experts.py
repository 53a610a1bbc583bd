"""Train transformer blocks with a mixture of experts: one expert per rank, to which every rank sends the tokens that are
routed to it. The expert of rank --slow gets twice as many as the others."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F

import job


class Exchange(torch.autograd.Function):
    """Rows to the ranks that want them, as many as SENT says, and as many from each as GOT says; gradients the other way."""

    @staticmethod
    def forward(ctx, x, sent, got):
        ctx.sent, ctx.got = sent, got
        out = x.new_empty((sum(got), x.shape[1]))
        dist.all_to_all_single(out, x.contiguous(), got, sent)
        return out

    @staticmethod
    def backward(ctx, grad):
        out = grad.new_empty((sum(ctx.sent), grad.shape[1]))
        dist.all_to_all_single(out, grad.contiguous(), ctx.sent, ctx.got)
        return out, None, None


class ExpertBlock(nn.Module):
    def __init__(self, width, shares):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = job.Attention(width)
        self.gate = nn.Linear(width, len(shares))
        self.expert = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.shares = shares

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        rows = self.norm2(x).flatten(0, 1)
        # Which expert a token goes to is drawn, so that the shares are known; how much it counts is learned.
        choice = torch.multinomial(self.shares, len(rows), replacement=True)
        weight = F.softmax(self.gate(rows), -1).gather(1, choice[:, None])
        order = choice.argsort()
        sent = torch.bincount(choice, minlength=len(self.shares))
        got = torch.empty_like(sent)
        dist.all_to_all_single(got, sent)
        sent, got = sent.tolist(), got.tolist()
        back = Exchange.apply(self.expert(Exchange.apply(rows[order], sent, got)), got, sent)
        rows = torch.empty_like(back).index_copy(0, order, back) * weight
        return x + rows.view_as(x)


def main():
    args = job.begin(__doc__, layers=2, batch=96)
    shares = torch.ones(job.WORLD, device=job.DEVICE)
    shares[args.slow] = 2
    blocks = nn.Sequential(*(ExpertBlock(args.width, shares) for _ in range(args.layers))).to(job.DEVICE, job.DTYPE)
    shared = [p for name, p in blocks.named_parameters() if "expert" not in name]
    optimizer = job.adamw(blocks.parameters())

    def step():
        x = torch.randn(args.batch, args.length, args.width, device=job.DEVICE, dtype=job.DTYPE)
        loss = (blocks(x) - x).float().square().mean()
        loss.backward()
        for p in shared:
            dist.all_reduce(p.grad)
        optimizer.step()
        optimizer.zero_grad()
        return loss

    job.run(args, "experts", step)


if __name__ == "__main__":
    main()
