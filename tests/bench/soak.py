"""soak.py -- one launcher and many processes that start, fork, crash and are killed at random. Run it through soak.sh.

Each process has a rank of its own and knows how much it launches, so that the trace can be held against it: what ended in
order is there to the last kernel, what was killed at a moment of its own choice as well, and of what was killed from outside
at most what it wanted to launch. What is missing must be counted as lost. The launcher's memory and descriptors are sampled
all the time.
"""
import os
import random
import re
import signal
import subprocess
import sys
import time

SAMPLE_S = 2
MOST_KB_PER_PROCESS = 1.0  # of the launcher: it keeps the figures of each process that it has seen


class Processes:
    """What runs, and what the trace must hold of what has run."""

    def __init__(self, app, dice):
        self.app, self.dice = app, dice
        self.running = []  # process, its rank, when to kill it, launches that are certain, more that are possible
        self.started = self.killed = 0

    def choose(self):
        """Arguments of the mock application, the launches that are certain, and more that are possible."""
        d, n = self.dice, self.dice.choice((1, 10, 100, 1000))
        threads = d.choice((1, 1, 2, 4))
        return d.choice((
            (["launch", n, threads, d.choice((1, 3))], n * threads, 0),
            (["mix"], 33, 0),
            (["nvtx"], 6, 0),
            (["memory"], 5, 0),
            (["die", d.choice(("_exit", "exit", "abort", "segv", "kill", "term")), n, d.choice((0, 5, 150))], n, 0),
            (["die", "torn", n, 0], n, 1),
            (["killed", d.randrange(20, 300)], None, 100),  # it prints how much, and goes on for a moment
            (["fork", d.choice(("idle", "nvtx", "first")), n], 2 * n, 0),
            (["fork", "exec", n], 2 * n + 30, 0),
            (["storm", 5, 20, 10], 201, 0),
        ))

    def start(self):
        arguments, certain, possible = self.choose()
        kill_at = None
        if arguments[0] != "killed" and self.dice.random() < 0.2:
            kill_at = time.monotonic() + self.dice.random() * 0.1
            certain, possible = 0, certain + possible
        process = subprocess.Popen([self.app, *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   start_new_session=True, env={**os.environ, "RANK": str(self.started)})
        self.running.append((process, self.started, kill_at, certain, possible, arguments))
        self.started += 1

    def poll(self):
        for entry in self.running[:]:
            process, rank, kill_at, certain, possible, arguments = entry
            if kill_at and time.monotonic() > kill_at and process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                self.killed += 1
            if process.poll() is None:
                continue
            said = re.search(rb"launched (\d+)", process.stderr.read())
            process.stderr.close()
            if certain is None:
                certain = int(said.group(1)) if said else 0
            print("process", rank, certain, possible, *arguments)
            self.running.remove(entry)


def sample(pid):
    """KB of memory that is the launcher's own, and its descriptors."""
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        own = int(re.search(r"RssAnon:\s+(\d+)", f.read()).group(1))
    return own, len(os.listdir(f"/proc/{pid}/fd"))


def drive(app, seconds, jobs, seed):
    """The command that is traced: its parent is the launcher."""
    processes = Processes(app, random.Random(seed))
    end = time.monotonic() + seconds
    next_sample = 0
    while time.monotonic() < end or processes.running:
        while time.monotonic() < end and len(processes.running) < jobs:
            processes.start()
        processes.poll()
        if time.monotonic() >= next_sample:
            next_sample = time.monotonic() + SAMPLE_S
            print("sample", time.monotonic(), *sample(os.getppid()), processes.started, flush=True)
        time.sleep(0.005)
    print("sample", time.monotonic(), *sample(os.getppid()), processes.started)
    print("ran", processes.started, processes.killed, flush=True)


def slope(xs, ys):
    """Of the line through the points with the least squares."""
    n, mx, my = len(xs), sum(xs) / len(xs), sum(ys) / len(ys)
    across = sum((x - mx) ** 2 for x in xs)
    return sum((x - mx) * (y - my) for x, y in zip(xs, ys)) / across if n > 1 and across else 0.0


def facts(build, trace):
    text = subprocess.run([f"{build}/tests/mock/facts", trace], check=True, capture_output=True, text=True).stdout
    lines = [line.rpartition(" ") for line in text.splitlines()]
    return {what: int(count) for what, _, count in lines if not what.startswith("lost:")}, \
        sum(int(count) for what, _, count in lines if what.startswith(("lost:GPU events", "lost:records", "lost:kernels")))


class Report:
    def __init__(self):
        self.tests = self.failures = 0

    def check(self, good, what):
        self.tests += 1
        self.failures += not good
        print(f"{'ok' if good else 'not ok'} {self.tests} - {what}")


def judge(build, trace, status, lines):
    report = Report()
    samples = [tuple(map(float, line.split()[1:])) for line in lines if line.startswith("sample")]
    started, killed = next(map(int, line.split()[1:]) for line in lines if line.startswith("ran"))
    processes = [line.split()[1:] for line in lines if line.startswith("process")]
    wanted = [tuple(map(int, words[:3])) for words in processes]
    late = [s for s in samples if s[0] >= (samples[0][0] + samples[-1][0]) / 2]
    per_process = slope([s[3] for s in late], [s[1] for s in late])
    per_minute = 60 * slope([s[0] for s in late], [s[1] for s in late])
    found, lost = facts(build, trace)
    got = {rank: found.get(f"gpu_of_rank:{rank}", 0) for rank, _, _ in wanted}
    certain = sum(n for _, n, _ in wanted)
    missing = sum(max(0, n - got[rank]) for rank, n, _ in wanted)
    too_many = sum(max(0, got[rank] - n - more) for rank, n, more in wanted)
    print(f"# {started} processes, {killed} of them killed from outside, in {samples[-1][0] - samples[0][0]:.0f} s")
    print(f"# launcher: {samples[0][1]:.0f} KB at first, {max(s[1] for s in samples):.0f} KB at most, {samples[-1][1]:.0f} KB at last; "
          f"in the second half {per_minute:+.1f} KB per minute, {per_process:+.3f} KB per process")
    print(f"# launcher: {samples[0][2]:.0f} descriptors at first, {max(s[2] for s in samples):.0f} at most, {samples[-1][2]:.0f} at last")
    print(f"# GPU events: {found['gpu']} recorded; of {certain} that are certain {missing} are missing, {lost} are counted as "
          f"lost, {too_many} are too many; {os.path.getsize(trace) / 1e6:.1f} MB")
    for (rank, n, more), words in zip(wanted, processes):
        if not n <= got[rank] <= n + more:
            print(f"# {' '.join(words[3:])}: {got[rank]} recorded for {n} to {n + more}")
    report.check(status == 0, "the launcher passes on the status of its command")
    report.check(per_process <= MOST_KB_PER_PROCESS, f"its memory grows by at most {MOST_KB_PER_PROCESS} KB per process")
    report.check(samples[-1][2] <= samples[0][2] + 2, "it keeps no descriptor of a process that is gone")
    report.check(missing <= lost, "nothing is lost without a count")
    report.check(too_many == 0, "nothing is there twice")
    report.check("broken" not in found and found.get("issue:bad_block", 0) == 0, "the trace keeps the promises of the model")
    for tool in (["trace-hta", "-f", "json"], ["trace2flame", "-f", "folded"]):
        run = subprocess.run([f"{build}/bin/{tool[0]}", "-q", *tool[1:], trace], stdout=subprocess.DEVNULL, check=False)
        report.check(run.returncode == 0, f"{tool[0]} opens it")
    print(f"1..{report.tests}")
    return report.failures != 0


def main():
    if sys.argv[1] == "drive":
        drive(sys.argv[2], float(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5]))
        return 0
    build, trace, minutes, jobs, seed = sys.argv[1:]
    command = [f"{build}/bin/gpuprof-collect", "-q", "-o", trace, "--", sys.executable, __file__, "drive",
               f"{build}/tests/mock/app", str(60 * float(minutes)), jobs, seed]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    return judge(build, trace, run.returncode, run.stdout.splitlines())


if __name__ == "__main__":
    sys.exit(main())
