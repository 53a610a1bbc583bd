"""Collectives of known sizes and types, one process a GPU (two by default, as far as there are GPUs).

Starts its own processes; under torchrun it uses those of torchrun. With --kineto FILE.json.gz rank N writes
FILE.rankN.json.gz. The expect line has, by operation, what all ranks together ask NCCL for: calls, and bytes of the full
messages (what every rank ends up with, or begins with).
"""

import collections
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from sample import arguments, recording, synchronize
from train_ddp import rank_file

MILLION = 1000000


def all_reduces(device):
    """3 of 4 MB and 2 of 2 MB, and a group of 3 of 400 kB."""
    for _ in range(3):
        dist.all_reduce(torch.ones(MILLION, device=device))
    for _ in range(2):
        dist.all_reduce(torch.ones(MILLION, device=device, dtype=torch.bfloat16))
    parts = [torch.ones(100000, device=device) for _ in range(3)]
    with dist._coalescing_manager(device=device):
        for part in parts:
            dist.all_reduce(part)


def one_sided(rank, world, device):
    """Gathering, scattering, broadcasting and exchanging: every operation twice, but for the exchange."""
    for _ in range(2):
        part = torch.ones(250000, device=device)
        dist.all_gather_into_tensor(torch.empty(world * 250000, device=device), part)
        whole = torch.ones(world * 100000, device=device, dtype=torch.bfloat16)
        dist.reduce_scatter_tensor(torch.empty(100000, device=device, dtype=torch.bfloat16), whole)
        dist.broadcast(torch.ones(50000, device=device, dtype=torch.int64), src=0)
        everyones = torch.ones(world * 100000, device=device)
        dist.all_to_all_single(torch.empty_like(everyones), everyones)
    mine, theirs = torch.ones(100000, device=device), torch.empty(100000, device=device)
    ops = [dist.P2POp(dist.isend, mine, (rank + 1) % world), dist.P2POp(dist.irecv, theirs, (rank - 1) % world)]
    for request in dist.batch_isend_irecv(ops):
        request.wait()


def expectation(world):
    """What the above adds up to over all ranks, worked out by hand."""
    n = collections.Counter()
    n["all_reduce_calls"] = 3 + 2 + 3
    n["all_reduce_f32_bytes"] = 3 * 4 * MILLION + 3 * 400000
    n["all_reduce_bf16_bytes"] = 2 * 2 * MILLION
    n["all_gather_calls"] = n["reduce_scatter_calls"] = n["broadcast_calls"] = 2
    n["all_gather_bytes"] = 2 * world * MILLION
    n["reduce_scatter_bf16_bytes"] = 2 * world * 200000
    n["broadcast_bytes"] = 2 * 400000
    n["all_to_all_bytes"] = 2 * world * 400000  # as one call or as sends and receives
    n["send_recv_calls"] = 2
    n["send_recv_bytes"] = 400000
    return " ".join(f"nccl_{key}={world * value}" for key, value in n.items())


def work(rank, world, args):
    device = torch.device("cuda", rank)
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", rank=rank, world_size=world)
    with recording(rank_file(args.kineto, rank)):
        all_reduces(device)
        one_sided(rank, world, device)
        synchronize()
    dist.destroy_process_group()


if __name__ == "__main__":
    args = arguments(__doc__, world=0)
    if "RANK" in os.environ:
        world = int(os.environ["WORLD_SIZE"])
        work(int(os.environ["RANK"]), world, args)
        if os.environ["RANK"] == "0":
            print(f"expect processes_least={world} {expectation(world)}")
    else:
        world = args.world or min(2, torch.cuda.device_count())
        if world < 2:
            raise SystemExit("collectives.py: needs two GPUs")
        os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
        os.environ.setdefault("MASTER_PORT", "29533")
        mp.spawn(work, (world, args), nprocs=world)
        print(f"expect processes={world} {expectation(world)}")
