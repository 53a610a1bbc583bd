"""Train a small GPT with DistributedDataParallel, one process a GPU (two by default, as far as there are GPUs).

Starts its own processes; under torchrun it uses those of torchrun. With --kineto FILE.json.gz rank N writes
FILE.rankN.json.gz. --reduce each and --reduce flat do without DistributedDataParallel: a collective for each gradient after
the backward pass, or one for all of them. --skew N gives the last rank N samples more than --batch says, and the others
that many less together.
"""

import os
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from sample import GPT, Ranges, arguments, check_loss, recording, synchronize, train_step

# NVLink multicast is not allowed everywhere; a run that wants it says so itself.
os.environ.setdefault("NCCL_NVLS_ENABLE", "0")


def rank_file(path, rank):
    if not path:
        return None
    stem, ending = path.split(".json", 1)
    return f"{stem}.rank{rank}.json{ending}"


def reducer(model, how, world):
    """What reduces the gradients of MODEL: one by one, or as one tensor."""
    parameters = list(model.parameters())

    def each():
        for p in parameters:
            dist.all_reduce(p.grad)
        torch._foreach_div_([p.grad for p in parameters], world)

    def flat():
        one = torch.cat([p.grad.flatten() for p in parameters])
        dist.all_reduce(one)
        one.div_(world)
        parts = one.split([p.numel() for p in parameters])
        torch._foreach_copy_([p.grad for p in parameters], [g.view_as(p) for g, p in zip(parts, parameters)])

    return {"each": each, "flat": flat}[how]


def work(rank, world, args):
    cuda = args.device != "cpu"
    device = torch.device("cuda", rank) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if cuda else "gloo", rank=rank, world_size=world)
    torch.manual_seed(rank)
    model = GPT(width=args.width, heads=args.width // 64, layers=args.layers)
    model = model.to(device, torch.bfloat16 if cuda else torch.float32)
    reduce = None
    if args.reduce == "ddp":
        model = torch.nn.parallel.DistributedDataParallel(
            model, device_ids=[rank] if cuda else None, bucket_cap_mb=args.bucket_mb
        )
    else:
        reduce = reducer(model, args.reduce, world)
    batch = args.batch + (args.skew if rank == world - 1 else -(args.skew // max(1, world - 1)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, foreach=True)
    for step in range(args.warmup):
        train_step(model, optimizer, step, batch, args.length, reduce=reduce)
    synchronize()
    dist.barrier()
    with recording(rank_file(args.kineto, rank), record_shapes=True):
        begin = time.perf_counter_ns()
        for step in range(args.warmup, args.warmup + args.steps):
            loss = train_step(model, optimizer, step, batch, args.length, reduce=reduce)
        synchronize()
        elapsed = time.perf_counter_ns() - begin
    how = f"reduce={args.reduce} bucket_mb={args.bucket_mb} batch={batch}"
    print(f"pairs rank={rank} {how} steps={args.steps} step_mean_ns={elapsed // args.steps}")
    print(f"rank {rank}: steps {args.steps} after {args.warmup}, loss {check_loss(loss):.3f}, ranges {Ranges.opened}", flush=True)
    dist.destroy_process_group()
    return Ranges.opened


if __name__ == "__main__":
    args = arguments(__doc__, world=0, warmup=1, layers=2, width=512, batch=8, length=128, bucket_mb=8, reduce="ddp", skew=0)
    if args.reduce not in ("ddp", "each", "flat"):
        raise SystemExit(f"train_ddp.py: --reduce is ddp, each or flat, not '{args.reduce}'")
    if "RANK" in os.environ:
        work(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), args)
    else:
        world = args.world or max(1, min(2, torch.cuda.device_count() if args.device != "cpu" else 2))
        os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
        os.environ.setdefault("MASTER_PORT", "29531")
        mp.spawn(work, (world, args), nprocs=world)
        # Five ranges a step: the step, load, forward, backward and optimizer.
        steps = world * (args.steps + args.warmup)
        print(f"expect steps={steps} ranges_least={5 * steps} processes={world}")
