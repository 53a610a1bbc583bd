"""Time and record the pairs of jury_programs.py: everything in one call.

usage: jury.py list
       jury.py record OUT SECONDS BIN [NAME...]
       jury.py window SECONDS [NAME...]

`record` times both sides of each pair without any recorder, in turns (before, after, after, before), so that whatever slows the host down
meets both, and again at the end in new processes, since two processes of one program differ. It writes OUT/steps.tsv: a row per side with
the median and all rounds. Of the side before the change it writes NAME.kineto.trace by torch.profiler and NAME.trace by gpuprof-collect. BIN
has gpuprof-collect and trace-convert. No file is larger than 4 MB. `window` is what `record` runs under `gpuprof-collect --start profiler`: a few steps of each side before its change, in a range
`program:NAME`, which jury_split.py cuts out.

Each side is a process of its own, forked after the imports and before CUDA begins, with a limit of time: a program that fails, dies or
hangs is named ("failed NAME reason") and costs the others nothing. What is beyond SECONDS is named, too ("skipped NAME").
"""

import ctypes
import gc
import importlib
import os
import pathlib
import select
import signal
import subprocess
import sys
import time
import traceback

os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")  # is_available() of an import would begin CUDA, and no forked process could use it
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
WARMUP, TURNS, RECORDED = 4, 4, 5
ROUND_S, ROUND_STEPS = 0.1, 200  # a round of timing lasts so long, and has so many steps at most
LIMIT_S = 40  # for a pair, unless it has a limit of its own
AGAIN_PART, WINDOW_PART = 0.3, 0.25  # of the time are for timing again, and for gpuprof-collect
END_S = 10  # that a process has for its end
LARGEST = 4 << 20
MODELS = ("bert", "clip", "distilbert", "gpt2", "llama", "t5", "whisper")
MODULES = ("torch", "torch.profiler", "transformers", *(f"transformers.models.{m}.modeling_{m}" for m in MODELS),
           "torchvision", "timm", "torch_geometric.nn", "torchaudio", "torchmetrics", "cupy")  # fmt: skip


def say(*words):
    print("\t".join(str(w) for w in words), flush=True)


def cuda_begun():
    """Has this process begun to use CUDA? A process forked from it cannot."""
    try:
        return ctypes.CDLL("libcuda.so.1").cuCtxGetCurrent(ctypes.byref(ctypes.c_void_p())) == 0
    except OSError:
        return False


def load():
    """Import what the programs need, without a use of CUDA: forked processes share it."""
    left = [m for m in MODULES if m not in os.environ.get("JURY_LEFT_OUT", "").split(",")]
    for module in left:
        try:
            importlib.import_module(module)
        except Exception as e:
            say("absent", module, str(e)[:200])
        if cuda_begun():  # begin again without it: the programs import it themselves
            say("begins CUDA", module)
            os.environ["JURY_LEFT_OUT"] = ",".join([m for m in MODULES if m not in left] + [module])
            os.execv(sys.executable, [sys.executable, *sys.argv])


def chosen(names):
    import jury_programs

    known = [p.name for p in jury_programs.PAIRS]
    for name in names:
        if name not in known:
            sys.exit(f"jury.py: {name}: no such pair; `jury.py list` prints them")
    return [p for p in jury_programs.PAIRS if not names or p.name in names]


# ---- in the process of one side ----


def synchronize():
    import torch

    torch.cuda.synchronize()


def warmed(pair, after):
    import torch

    torch.manual_seed(1)
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = True
    step = pair.make(after)
    for _ in range(WARMUP):
        step()
    synchronize()
    return step


def timed(step, n):
    """ns per step of N steps, with the GPU's work."""
    synchronize()
    begin = time.perf_counter_ns()
    for _ in range(n):
        step()
    synchronize()
    return (time.perf_counter_ns() - begin) // n


def kineto(step, path):
    from torch.profiler import ProfilerActivity, profile, record_function

    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True) as p:
        for i in range(RECORDED + 1):
            with record_function(f"ProfilerStep#{i}"):
                step()
        synchronize()
    os.chdir(path.parent)  # the trace holds the name that it is given
    p.export_chrome_trace(path.name)


def window(step, name):
    import torch

    torch.cuda.cudart().cudaProfilerStart()
    torch.cuda.nvtx.range_push(f"program:{name}")
    for i in range(RECORDED + 1):
        torch.cuda.nvtx.range_push(f"ProfilerStep#{i}")
        step()
        torch.cuda.nvtx.range_pop()
    synchronize()
    torch.cuda.nvtx.range_pop()
    torch.cuda.cudart().cudaProfilerStop()


def serve(pair, after, orders, answers):
    """Carry out orders, a line each, until there are no more."""
    step = warmed(pair, after)
    n = max(4, min(ROUND_STEPS, int(ROUND_S * 1e9 / max(1, timed(step, 2)))))
    answers.write("ready\n")
    word = ""
    for order in orders:
        word, _, rest = order.strip().partition(" ")
        if word == "time":
            answers.write(f"{n} {timed(step, n)}\n")
        elif word == "kineto":
            kineto(step, pathlib.Path(rest))
            answers.write("done\n")
        elif word == "window":
            timed(step, n)  # as long at work as a program that torch.profiler records
            window(step, pair.name)
            answers.write("done\n")
    del step
    gc.collect()  # ends the workers of a DataLoader
    if word == "window":
        ctypes.CDLL(None).exit(0)  # not os._exit(): what records must write its end


# ---- the process that asks them ----


class Failed(Exception):
    pass


class Side:
    """A process that runs one side of a pair."""

    ours = set()  # descriptors of all sides, which no other side may keep open

    def __init__(self, pair, after, deadline):
        self.deadline, self.pending = deadline, b""
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            for ours in (ours_in, ours_out, *Side.ours):
                os.close(ours)
            os.setpgid(0, 0)  # the workers that it starts end with it
            run_side(pair, after, theirs_in, theirs_out)
        os.close(theirs_in)
        os.close(theirs_out)
        self.answers, self.orders = ours_in, ours_out
        Side.ours |= {ours_in, ours_out}

    def hear(self):
        """The next line of its answers."""
        while b"\n" not in self.pending:
            left = self.deadline - time.monotonic()
            if left <= 0 or not select.select([self.answers], [], [], left)[0]:
                raise Failed("took longer than its limit")
            more = os.read(self.answers, 65536)
            if not more:
                raise Failed(self.cause())
            self.pending += more
        line, _, self.pending = self.pending.partition(b"\n")
        text = line.decode(errors="replace")
        if text.startswith("error "):
            raise Failed(text[6:])
        return text

    def cause(self):
        _, status = os.waitpid(self.pid, 0)
        self.pid = 0
        return f"ended by signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"ended with status {os.WEXITSTATUS(status)}"

    def ask(self, order):
        try:
            os.write(self.orders, order.encode() + b"\n")
        except BrokenPipeError:
            pass  # hear() has the reason
        return self.hear()

    def end(self, at_once):
        """Let it finish, or end it and what it started."""
        for ours in (self.orders, self.answers):
            os.close(ours)
            Side.ours.remove(ours)
        until = time.monotonic() + (0 if at_once else END_S)
        while self.pid and time.monotonic() < until:
            if os.waitpid(self.pid, os.WNOHANG)[0]:
                self.pid = 0
            else:
                time.sleep(0.01)
        if self.pid:
            try:
                os.killpg(self.pid, signal.SIGKILL)
            except ProcessLookupError:
                os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.pid = 0


def run_side(pair, after, orders, answers):
    status = 0
    with os.fdopen(orders) as source, os.fdopen(answers, "w", buffering=1) as target:
        try:
            serve(pair, after, source, target)
        except BaseException as e:
            status = 1
            text = " ".join(f"{type(e).__name__}: {e}".split())[:300]
            at = traceback.extract_tb(e.__traceback__)[-1]
            try:
                target.write(f"error {text} ({pathlib.Path(at.filename).name}:{at.lineno})\n")
            except BrokenPipeError:
                pass
    sys.stdout.flush()
    os._exit(status)


def with_sides(pair, sides, seconds, work):
    """Call WORK with a process for each of SIDES. Returns its result; None if the pair failed, which is named."""
    begin, open_sides, good = time.monotonic(), [], False
    deadline = begin + min(seconds, pair.limit or LIMIT_S)
    try:
        for after in sides:
            open_sides.append(Side(pair, after, deadline))
        for side in open_sides:
            side.hear()  # "ready"
        result, good = work(*open_sides), True
        return result
    except (Failed, OSError) as e:
        say("failed", pair.name, e)
        return None
    finally:
        for side in open_sides:
            side.end(at_once=not good)
        say("took", pair.name, f"{time.monotonic() - begin:.1f} s")


def rows_of(pair, rounds):
    """Lines of steps.tsv: the median of a side's rounds, and all of them in the order of time."""
    for after in (False, True):
        ns = [t for which, _, t in rounds if which == after]
        name = f"{pair.name}_after" if after else pair.name
        steps = next(n for which, n, _ in rounds if which == after)
        yield f"plain_{name}\tvariant={name} steps={steps} step_mean_ns={sorted(ns)[len(ns) // 2]} rounds_ns={','.join(map(str, ns))}"


def time_pair(pair, seconds, path=None):
    """Time both sides; with PATH, record the first one there with torch.profiler."""

    def work(before, after):
        rounds = []
        for _ in range(TURNS):
            for which in (False, True, True, False):
                n, ns = map(int, (after if which else before).ask("time").split())
                rounds.append((which, n, ns))
        if path:
            before.ask(f"kineto {path}")
        return rounds

    return with_sides(pair, (False, True), seconds, work)


def convert(tool, source, target):
    """SOURCE as a trace of ours; SOURCE goes away, and so does what would be too large."""
    ended = subprocess.run([tool, "-q", "--to", "gpuprof", "-o", target, source], capture_output=True, text=True)
    source.unlink()
    if ended.returncode:
        say("failed", target.name, ended.stderr.strip()[:200])
    elif target.stat().st_size > LARGEST:
        say("failed", target.name, f"{target.stat().st_size} bytes are too many")
        target.unlink()


def record_window(out, seconds, tools, names):
    whole = out / "window.trace"
    command = [tools / "gpuprof-collect", "--start", "profiler", "-o", whole, "--", sys.executable, __file__, "window", str(seconds), *names]
    try:
        ended = subprocess.run(command, timeout=seconds + 60)
    except subprocess.TimeoutExpired:
        say("failed", "window", "gpuprof-collect did not end in time")
        return
    if ended.returncode:
        say("failed", "window", f"gpuprof-collect ended with status {ended.returncode}")
    if whole.exists():
        import jury_split

        jury_split.split(tools / "trace-convert", whole, out)
        whole.unlink()
    for path in out.glob("*.trace"):
        if path.stat().st_size > LARGEST:
            say("failed", path.name, f"{path.stat().st_size} bytes are too many")
            path.unlink()


def write_rows(path, timed):
    path.write_text("".join(f"{row}\n" for pair, rounds in timed for row in rows_of(pair, rounds)))


def record(out, seconds, tools, names):
    begin, pairs, timed = time.monotonic(), chosen(names), []
    out.mkdir(parents=True, exist_ok=True)
    load()

    def left(part):
        return begin + seconds * part - time.monotonic()

    for pair in pairs:
        if left(1 - WINDOW_PART - AGAIN_PART) <= 0:
            say("skipped", pair.name)
            continue
        path = out / f"{pair.name}.kineto.json"
        rounds = time_pair(pair, left(1 - WINDOW_PART - AGAIN_PART), path)
        if rounds:
            timed.append((pair, rounds))
            write_rows(out / "steps.tsv", timed)
            convert(tools / "trace-convert", path, out / f"{pair.name}.kineto.trace")
        else:
            path.unlink(missing_ok=True)
    if timed:
        record_window(out, int(left(1 - AGAIN_PART)), tools, [pair.name for pair, _ in timed])
    for pair, rounds in timed:
        if left(1) <= 0:
            say("timed once", pair.name)
        else:
            rounds += time_pair(pair, left(1)) or []
            write_rows(out / "steps.tsv", timed)
    say("recorded", f"{len(timed)} of {len(pairs)} pairs")


def record_in_window(seconds, names):
    deadline = time.monotonic() + seconds
    load()
    for pair in chosen(names):
        left = deadline - time.monotonic()
        if left <= 0:
            say("skipped", pair.name)
        elif with_sides(pair, (False,), left, lambda side: side.ask("window")):
            say("window", pair.name)


def main():
    words = sys.argv[1:]
    if words == ["list"]:
        print("\n".join(pair.name for pair in chosen(())))
    elif len(words) >= 4 and words[0] == "record":
        record(pathlib.Path(words[1]), float(words[2]), pathlib.Path(words[3]), words[4:])
    elif len(words) >= 2 and words[0] == "window":
        record_in_window(float(words[1]), words[2:])
    else:
        sys.exit("\n".join(__doc__.splitlines()[2:5]))


if __name__ == "__main__":
    main()
