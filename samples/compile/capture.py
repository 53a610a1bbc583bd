"""Record what torch.compile logs of a small model and of a zoo of graph breaks: capture.py OUT [NAME...].

Each run is a process of its own with a cache of its own; `warm` uses the cache of `cold` again. A run leaves OUT/raw/NAME
with the structured log (TORCH_TRACE), the text log (TORCH_LOGS) and what was recorded of its steps; pack.py makes OUT/packed
of it. Runs whose time counts go one after the other, the others beside each other.

GPUPROF_BIN names the folder with gpuprof-collect; without it only torch.profiler records.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
TEXTS = "graph_breaks,recompiles,cudagraphs,fusion,perf_hints"
LIMIT_S = 230


def environment(out, name, cache):
    env = dict(os.environ, TORCHINDUCTOR_CACHE_DIR=str(out / "cache" / cache), PYTHONDONTWRITEBYTECODE="1")
    env.update(TORCH_TRACE=str(out / "raw" / name), TORCH_LOGS=TEXTS, TORCH_LOGS_OUT=str(out / "raw" / name / "text.log"))
    return env


def start(out, name, cache, script, *args, collect=None):
    """The process of one run; what it prints goes beside its logs."""
    folder = out / "raw" / name
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, str(HERE / script), *args]
    if collect:
        tool = Path(os.environ["GPUPROF_BIN"]) / "gpuprof-collect"
        command = [str(tool), "-o", str(folder / collect), "--", *command]
    with open(folder / "run.out", "wb") as to:
        return subprocess.Popen(command, stdout=to, stderr=subprocess.STDOUT, cwd=HERE,
                                env=environment(out, name, cache))


def wait(name, process, begin):
    try:
        status = process.wait(LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        status = process.wait()
    print(f"{name:16s} status {status:4d}  {time.monotonic() - begin:6.1f} s", flush=True)


def trace(out, name):
    return str(out / "raw" / name / "steps.json")


def timed(out):
    """NAME: (cache, script, arguments, file of our collector)."""
    def train(name, mode, *more):
        return ("train.py", "--mode", mode, "--kineto", trace(out, name), *more)

    return {
        "eager": ("eager", train("eager", "eager"), None),
        "cold": ("model", train("cold", "default"), None),
        "warm": ("model", train("warm", "default"), None),
        "reduce": ("reduce", train("reduce", "reduce-overhead"), None),
        "eager_gpt": ("eager", ("train.py", "--mode", "eager"), "steps.trace"),
        "warm_gpt": ("model", ("train.py", "--mode", "default"), "steps.trace"),
        "reduce_gpt": ("reduce", ("train.py", "--mode", "reduce-overhead"), "steps.trace"),
        "autotune": ("autotune", train("autotune", "max-autotune"), None),
    }


def beside(out):
    store = str(out / "store")
    zoo = ("zoo.py", "--planted", str(out / "raw" / "zoo" / "zoo.planted.json"), "--kineto", trace(out, "zoo"))
    return {
        "zoo": ("zoo", zoo, None),
        "killed": ("killed", ("train.py", "--kill-after", "4"), None),
        "rank0": ("rank0", ("train.py", "--rank", "0", "--store", store), None),
        "rank1": ("rank1", ("train.py", "--rank", "1", "--store", store), None),
    }


def main():
    out = Path(sys.argv[1]).resolve()
    out.mkdir(parents=True, exist_ok=True)
    wanted = sys.argv[2:]
    with_collector = "GPUPROF_BIN" in os.environ
    running = []
    for name, (cache, command, collect) in beside(out).items():
        if not wanted or name in wanted:
            running.append((name, start(out, name, cache, *command, collect=collect), time.monotonic()))
    for row in running:
        wait(*row)
    for name, (cache, command, collect) in timed(out).items():
        if (not wanted or name in wanted) and (with_collector or not collect):
            begin = time.monotonic()
            wait(name, start(out, name, cache, *command, collect=collect), begin)
    subprocess.run([sys.executable, str(HERE / "pack.py"), str(out / "raw"), str(out / "packed")], check=True)


if __name__ == "__main__":
    main()
