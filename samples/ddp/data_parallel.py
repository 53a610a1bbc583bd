"""Train a small GPT with DistributedDataParallel. One rank, --slow, may have a --fault: a quarter more samples per step
(work), a host that sleeps for 5 ms in every step (sleep), or data that comes slowly, 0.25 ms per sample (load)."""

import time

import torch
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

import job


class Tokens(Dataset):
    def __init__(self, args, seconds):
        self.samples, self.seconds = torch.randint(args.vocabulary, (256, args.length + 1)), seconds

    def __len__(self):
        return 1 << 30

    def __getitem__(self, index):
        if self.seconds:
            time.sleep(self.seconds)  # a slow disk
        return self.samples[index % 256]


switches = 0  # how often gpuprof-try has switched a change on this rank
steps = 0


def note(on):
    """A change for gpuprof-try that changes nothing: every rank says after which step it was switched."""
    global switches
    switches += 1
    job.say(f"switch rank={job.RANK} number={switches} step={steps} on={on}")


def main():
    args = job.begin(__doc__, fault="none")
    fault = args.fault if job.RANK == args.slow else "none"
    batch = args.batch * 5 // 4 if fault == "work" else args.batch
    batches = iter(DataLoader(Tokens(args, 0.00025 if fault == "load" else 0), batch_size=batch))
    model = job.GPT(args.width, args.layers, args.vocabulary).to(job.DEVICE, job.DTYPE)
    model = DistributedDataParallel(model, device_ids=[job.DEVICE.index] if job.CUDA else None)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def step():
        global steps
        tokens = next(batches).to(job.DEVICE)
        if fault == "sleep":
            time.sleep(0.005)
        loss = job.next_token_loss(model(tokens[:, :-1]), tokens[:, 1:])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        steps += 1
        return loss

    job.run(args, "even" if args.fault == "none" else args.fault, step)


if __name__ == "__main__":
    main()
