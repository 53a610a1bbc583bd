"""Train a small GPT with DistributedDataParallel, one process a GPU (two by default, as far as there are GPUs).

Starts its own processes; under torchrun it uses those of torchrun. With --kineto FILE.json.gz rank N writes
FILE.rankN.json.gz.
"""

import os

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
        GPT().to(device, torch.bfloat16 if cuda else torch.float32), device_ids=[rank] if cuda else None, bucket_cap_mb=8
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, foreach=True)
    train_step(model, optimizer, 0)
    synchronize()
    dist.barrier()
    with recording(rank_file(args.kineto, rank), record_shapes=True):
        for step in range(1, args.steps + 1):
            loss = train_step(model, optimizer, step)
        synchronize()
    print(f"rank {rank}: steps {args.steps} after 1, loss {check_loss(loss):.3f}, ranges {Ranges.opened}", flush=True)
    dist.destroy_process_group()
    return Ranges.opened


if __name__ == "__main__":
    args = arguments(__doc__, world=0)
    if "RANK" in os.environ:
        work(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), args)
    else:
        world = args.world or max(1, min(2, torch.cuda.device_count() if args.device != "cpu" else 2))
        os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
        os.environ.setdefault("MASTER_PORT", "29531")
        mp.spawn(work, (world, args), nprocs=world)
        # Five ranges a step: the step, load, forward, backward and optimizer.
        print(f"expect steps={world * (args.steps + 1)} ranges_least={5 * world * (args.steps + 1)} processes={world}")
