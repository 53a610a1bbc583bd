"""Train a small GPT whose parameters, gradients and optimizer are sharded over all ranks (FSDP)."""

import torch
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

import job


def main():
    args = job.begin(__doc__)
    model = job.GPT(args.width, args.layers, args.vocabulary).to(job.DEVICE)
    policy = MixedPrecisionPolicy(param_dtype=job.DTYPE)
    for block in model.blocks:
        fully_shard(block, mp_policy=policy)
    fully_shard(model, mp_policy=policy)
    optimizer = job.adamw(model.parameters())

    def step():
        tokens = torch.randint(args.vocabulary, (args.batch, args.length + 1), device=job.DEVICE)
        loss = job.next_token_loss(model(tokens[:, :-1]), tokens[:, 1:])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    job.run(args, "fsdp", step)


if __name__ == "__main__":
    main()
