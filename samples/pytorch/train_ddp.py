"""Train a small GPT with DistributedDataParallel, one process a GPU (two by default, as far as there are GPUs).

Starts its own processes; under torchrun it uses those of torchrun. With --kineto FILE.json.gz rank N writes
FILE.rankN.json.gz.
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


def work(rank, world, args):
    cuda = args.device != "cpu"
    device = torch.device("cuda", rank) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if cuda else "gloo", rank=rank, world_size=world)
    torch.manual_seed(rank)
    model = torch.nn.parallel.DistributedDataParallel(
        GPT(width=args.width, heads=args.width // 64, layers=args.layers).to(device, torch.bfloat16 if cuda else torch.float32),
        device_ids=[rank] if cuda else None,
        bucket_cap_mb=args.bucket_mb,
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, foreach=True)
    for step in range(args.warmup):
        train_step(model, optimizer, step, args.batch, args.length)
    synchronize()
    dist.barrier()
    with recording(rank_file(args.kineto, rank), record_shapes=True):
        begin = time.perf_counter_ns()
        for step in range(args.warmup, args.warmup + args.steps):
            loss = train_step(model, optimizer, step, args.batch, args.length)
        synchronize()
        elapsed = time.perf_counter_ns() - begin
    print(f"pairs rank={rank} bucket_mb={args.bucket_mb} steps={args.steps} step_mean_ns={elapsed // args.steps}")
    print(f"rank {rank}: steps {args.steps} after {args.warmup}, loss {check_loss(loss):.3f}, ranges {Ranges.opened}", flush=True)
    dist.destroy_process_group()
    return Ranges.opened


if __name__ == "__main__":
    args = arguments(__doc__, world=0, warmup=1, layers=2, width=512, batch=8, length=128, bucket_mb=8)
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
