#!/usr/bin/env python3
"""capture.py -- snapshots of PyTorch's CUDA allocator from programs whose use of memory is known.

usage: capture.py OUT [NAME...]

Runs each program of PROGRAMS (or those that are named) in a process of its own on the first GPU, and writes
OUT/NAME.pickle.gz with the snapshot and OUT/NAME.stats.json with what the allocator itself counted, above all
torch.cuda.max_memory_allocated(). Paths in stacks are cut to what is below site-packages or this folder. With
GPUPROF_BIN set, the leak is also recorded with `gpuprof-collect --memory`.
"""
import gzip
import inspect
import json
import os
import pickle
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
LEAK_BYTES = 16384


# ---- what is written ----

def short(path):
    for mark, keep in (('site-packages/', ''), ('dist-packages/', ''), ('samples/memory/', ''),
                       ('/lib/python3', 'python3'), ('torchinductor_', 'torchinductor_')):
        at = path.find(mark)
        if at >= 0:
            cut = path[at + len(mark):]
            return re.sub(r'^torchinductor_[^/]*/', 'torchinductor/', keep + cut)
    return '/'.join(path.split('/')[-2:]) if path.startswith('/') else path


def scrub_frames(frames, done):
    if id(frames) in done:
        return
    done[id(frames)] = frames
    for frame in frames:
        if id(frame) not in done:
            done[id(frame)] = frame
            frame['filename'] = short(frame['filename'])


def scrub(snapshot):
    done = {}
    for segment in snapshot['segments']:
        scrub_frames(segment.get('frames', []), done)
        for block in segment['blocks']:
            scrub_frames(block.get('frames', []), done)
    for trace in snapshot['device_traces']:
        for entry in trace:
            scrub_frames(entry.get('frames', []), done)
    return snapshot


def record(**options):
    import torch
    for optional in ({'global_record_annotations': True}, {}):
        try:
            torch.cuda.memory._record_memory_history(**options, **optional)
            return
        except TypeError as error:
            last = error
    raise last


class Stats:
    """What the allocator counts, read at the moment of the snapshot."""

    def __init__(self, device=0):
        import torch
        self.about = {'torch': torch.__version__, 'device': torch.cuda.get_device_name(device),
                      'max_memory_allocated': torch.cuda.max_memory_allocated(device),
                      'memory_allocated': torch.cuda.memory_allocated(device),
                      'memory_reserved': torch.cuda.memory_reserved(device),
                      'max_memory_reserved': torch.cuda.max_memory_reserved(device),
                      'mem_get_info': list(torch.cuda.mem_get_info(device)),
                      'stats': {k: v for k, v in torch.cuda.memory_stats(device).items()
                                if '.all.' in k or 'num_' in k or '.' not in k}}


def write(out, name, snapshot, stats, protocol=None, **known):
    scrub(snapshot)
    data = pickle.dumps(snapshot, protocol)
    with open(os.path.join(out, name + '.pickle.gz'), 'wb') as file:
        file.write(gzip.compress(data, 9, mtime=0))
    with open(os.path.join(out, name + '.stats.json'), 'w', encoding='utf-8') as file:
        json.dump({**stats.about, **known}, file, indent=1, sort_keys=True)
        file.write('\n')
    entries = sum(len(t) for t in snapshot['device_traces'])
    print('%s: %d entries, %d bytes' % (name, entries, len(data)), flush=True)


def snap(out, name, device=0, **known):
    import torch
    torch.cuda.synchronize(device)
    stats = Stats(device)
    write(out, name, torch.cuda.memory._snapshot(), stats, **known)


# ---- a small model ----

def model_of(width=256, layers=3, device='cuda'):
    import torch
    parts = []
    for _ in range(layers):
        parts += [torch.nn.Linear(width, 4 * width), torch.nn.GELU(), torch.nn.Linear(4 * width, width)]
    return torch.nn.Sequential(*parts).to(device)


def step(model, optimizer, x):
    import torch
    with torch.profiler.record_function('forward'):
        loss = model(x).square().mean()
    with torch.profiler.record_function('backward'):
        loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return loss


def remember(kept):
    import torch
    kept.append(torch.empty(LEAK_BYTES, dtype=torch.uint8, device='cuda'))


def line_of(function, text):
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


def train(steps, batch=64, kept=None, width=256, optimizer='AdamW'):
    import torch
    torch.manual_seed(0)
    model = model_of(width)
    opt = getattr(torch.optim, optimizer)(model.parameters(), lr=1e-3)
    for i in range(steps):
        with torch.profiler.record_function('step %d' % i):
            x = torch.randn(batch, width, device='cuda')
            step(model, opt, x)
            if kept is not None:
                remember(kept)
    return model, opt


# ---- programs ----

def leak(out):
    record(stacks='python')
    kept = []
    held = train(8, kept=kept)
    snap(out, 'leak', leak={'function': 'remember', 'line': line_of(remember, 'kept.append'), 'bytes_per_step': LEAK_BYTES})
    return held


def steady(out):
    record(stacks='python')
    held = train(6)
    snap(out, 'steady')
    return held


def wide(out):
    record(stacks='python')
    held = train(6, batch=256)
    snap(out, 'wide')
    return held


def cpp(out):
    record(stacks='all')
    held = train(1)
    snap(out, 'cpp')
    return held


def tail(out):
    record(stacks='python', max_entries=400)
    held = train(8)
    snap(out, 'tail')
    return held


def state(out):
    record(enabled='state', stacks='python')
    held = train(2)
    snap(out, 'state')
    return held


def off(out):
    held = train(2)
    snap(out, 'off')
    return held


def streams(out):
    """Two streams: what is freed while the other one still uses it stays active for a while."""
    import torch
    record(stacks='python')
    side = torch.cuda.Stream()
    big = torch.randn(4096, 4096, device='cuda')
    for i in range(6):
        with torch.profiler.record_function('step %d' % i):
            x = torch.randn(2048, 4096, device='cuda')
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(4):
                    y = x @ big
                x.record_stream(side)
            del x
            z = torch.empty(2048, 1024, device='cuda').normal_()
            if i % 2:
                torch.cuda.current_stream().wait_stream(side)
                side.synchronize()
    held = (big, y, z)
    # pending: freed on this stream, still used by the other when the snapshot is taken
    pending = torch.randn(2048, 4096, device='cuda')
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        torch.cuda._sleep(2_000_000_000)
        pending.record_stream(side)
    del pending
    stats = Stats()
    write(out, 'streams', torch.cuda.memory._snapshot(), stats)
    torch.cuda.synchronize()
    return held


def compiled(out):
    """Expandable segments, a compiled region, and a CUDA graph with its private pool."""
    import torch
    record(stacks='python', compile_context=True)
    torch.manual_seed(0)
    model = model_of(128, 1)
    run = torch.compile(model)
    x = torch.randn(32, 128, device='cuda')
    for i in range(3):
        with torch.profiler.record_function('step %d' % i):
            run(x).square().mean().backward()
            model.zero_grad(set_to_none=True)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side), torch.no_grad():
        model(x)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph), torch.no_grad():
        y = model(x)
    for i in range(3):
        graph.replay()
    snap(out, 'compiled')
    return model, y, graph


def oom_fragmented(out):
    """Every segment of 2 GiB holds 1.25 GiB: much is free, no piece of it is large enough."""
    import torch
    torch._C._cuda_attach_out_of_memory_observer(lambda *_: snapshots.append((torch.cuda.memory._snapshot(), Stats())))
    snapshots = []
    record(stacks='python')
    gib = 1 << 30
    count = (torch.cuda.mem_get_info()[0] - 2 * gib) // (2 * gib)
    whole = [torch.empty(2 * gib, dtype=torch.uint8, device='cuda') for _ in range(count)]
    whole.clear()
    held = [torch.empty(5 * gib // 4, dtype=torch.uint8, device='cuda') for _ in range(count)]
    try:
        torch.cuda.memory._set_memory_metadata('the large request')
    except AttributeError:
        pass
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        torch.empty(1 << 20, device='cuda')
    try:
        torch.empty(4 * gib, dtype=torch.uint8, device='cuda')
    except torch.OutOfMemoryError as error:
        snapshot, stats = snapshots[0]
        write(out, 'oom_fragmented', snapshot, stats, verdict='fragmentation', requested=4 * gib, message=str(error))
    return held


def oom_too_large(out):
    import torch
    record(stacks='python')
    gib = 1 << 30
    held = [torch.empty(gib, dtype=torch.uint8, device='cuda') for _ in range(4)]
    total = torch.cuda.mem_get_info()[1]
    try:
        torch.empty(total + gib, dtype=torch.uint8, device='cuda')
    except torch.OutOfMemoryError as error:
        snap(out, 'oom_too_large', verdict='too_large', requested=total + gib, message=str(error))
    return held


def hold(_):
    import torch
    free = torch.cuda.mem_get_info()[0]
    held = torch.empty(free - (20 << 30), dtype=torch.uint8, device='cuda')
    torch.cuda.synchronize()
    print('held', flush=True)
    sys.stdin.readline()
    return held


def oom_others(out):
    """Another process has nearly all of the device."""
    import torch
    other = subprocess.Popen([sys.executable, __file__, '--program', 'hold', out], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)
    other.stdout.readline()
    record(stacks='python')
    gib = 1 << 30
    held = [torch.empty(gib, dtype=torch.uint8, device='cuda') for _ in range(8)]
    try:
        torch.empty(30 * gib, dtype=torch.uint8, device='cuda')
    except torch.OutOfMemoryError as error:
        snap(out, 'oom_others', verdict='other_processes', requested=30 * gib, message=str(error))
    other.communicate('done\n')
    return held


def profile(out):
    """The same steps seen by torch.profiler and by the allocator, and the exports of the memory time line."""
    import torch
    from torch.profiler import ProfilerActivity
    record(stacks='python')
    torch.manual_seed(0)
    model = model_of(128, 2)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    kept = []

    def one(i):
        with torch.profiler.record_function('step %d' % i):
            x = torch.randn(32, 128, device='cuda')
            step(model, opt, x)
            remember(kept)

    for i in range(2):
        one(i)
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    with torch.profiler.profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], profile_memory=True,
                                record_shapes=True, with_stack=True) as prof:
        for i in range(2, 5):
            one(i)
        torch.cuda.synchronize()
    snap(out, 'profile', allocated_before=before,
         leak={'function': 'remember', 'line': line_of(remember, 'kept.append'), 'bytes_per_step': LEAK_BYTES})
    raw = os.path.join(out, 'raw.json')
    prof.export_chrome_trace(raw)
    with open(raw, encoding='utf-8') as file:
        text = file.read()
    os.unlink(raw)
    text = re.sub(r'/[A-Za-z0-9_./-]*/(?:site|dist)-packages/', '', text)
    text = re.sub(r'/[A-Za-z0-9_./-]*/samples/memory/', '', text)
    text = re.sub(r'/[A-Za-z0-9_./-]*/lib/(python3)', r'\1', text)
    with open(os.path.join(out, 'profile.json.gz'), 'wb') as file:
        file.write(gzip.compress(text.encode(), 9, mtime=0))
    for suffix in ('.json.gz', '.raw.json.gz', '.json'):
        name = os.path.join(out, 'timeline' + suffix)
        try:
            prof.export_memory_timeline(name, device='cuda:0')
        except Exception as error:  # deprecated: a version may have removed it
            print('timeline%s: %s' % (suffix, error), flush=True)
    return model, opt, kept


def rank(out):
    import torch
    import torch.distributed as dist
    number = int(os.environ['RANK'])
    device = number % torch.cuda.device_count()
    torch.cuda.set_device(device)
    record(stacks='python')
    dist.init_process_group('nccl' if torch.cuda.device_count() > 1 else 'gloo')
    torch.manual_seed(0)
    model = torch.nn.parallel.DistributedDataParallel(model_of(256, 2), device_ids=[device])
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for i in range(4):
        with torch.profiler.record_function('step %d' % i):
            x = torch.randn(64 * (1 + number), 256, device='cuda')
            step(model, opt, x)
    snap(out, 'ddp.rank%d' % number, device)
    dist.barrier()
    dist.destroy_process_group()
    return model


def ddp(out):
    base = dict(os.environ, WORLD_SIZE='2', MASTER_ADDR='127.0.0.1', MASTER_PORT='29511')
    both = [subprocess.Popen([sys.executable, __file__, '--program', 'rank', out],
                             env=dict(base, RANK=str(n), LOCAL_RANK=str(n))) for n in range(2)]
    for one in both:
        if one.wait(timeout=90):
            sys.exit(1)


def collected(out):
    """The leak as gpuprof-collect sees it: what lies outside the allocator."""
    binary = os.path.join(os.environ['GPUPROF_BIN'], 'gpuprof-collect')
    inner = os.path.join(out, 'collected')
    os.makedirs(inner, exist_ok=True)
    subprocess.run([binary, '--memory', '-o', os.path.join(out, 'leak.trace'), '--', sys.executable, __file__,
                    '--program', 'leak', inner], check=True)
    for suffix in ('.pickle.gz', '.stats.json'):
        os.replace(os.path.join(inner, 'leak' + suffix), os.path.join(out, 'leak_collected' + suffix))
    os.rmdir(inner)


def protocols(out):
    """The leak's snapshot again, as other writers would have it."""
    with gzip.open(os.path.join(out, 'leak.pickle.gz')) as file:
        snapshot = pickle.load(file)
    for protocol in (2, 3, 5):
        with open(os.path.join(out, 'leak.protocol%d.pickle.gz' % protocol), 'wb') as file:
            file.write(gzip.compress(pickle.dumps(snapshot, protocol), 9, mtime=0))


PROGRAMS = ('leak', 'steady', 'wide', 'cpp', 'tail', 'state', 'off', 'streams', 'oom_fragmented', 'oom_too_large',
            'oom_others', 'profile', 'ddp', 'protocols', 'collected', 'compiled')
SETTINGS = {'compiled': {'PYTORCH_CUDA_ALLOC_CONF': 'expandable_segments:True',
                         'PYTORCH_ALLOC_CONF': 'expandable_segments:True'}}


def main():
    if len(sys.argv) > 3 and sys.argv[1] == '--program':
        globals()[sys.argv[2]](sys.argv[3])
        return
    out = sys.argv[1]
    os.makedirs(out, exist_ok=True)
    failed = 0
    for name in sys.argv[2:] or PROGRAMS:
        if name == 'collected' and 'GPUPROF_BIN' not in os.environ:
            continue
        began = time.monotonic()
        try:
            done = subprocess.run([sys.executable, os.path.join(HERE, 'capture.py'), '--program', name, out],
                                  env={**os.environ, **SETTINGS.get(name, {})}, timeout=120, check=False)
            status = done.returncode
        except subprocess.TimeoutExpired:
            status = 'timeout'
        failed += status != 0
        print('%s: status %s, %.1f s' % (name, status, time.monotonic() - began), flush=True)
    sys.exit(failed != 0)


if __name__ == '__main__':
    main()
