"""measure.py -- run commands against each other: interleaved, the whole process timed, the median of several rounds.

    from measure import compare
    ours, peer = compare([['trace-convert', 'big.json', '-o', '/dev/null'], ['simdjson_walk', 'big.json']], rounds=7)
    print(ours.seconds / peer.seconds, ours.peak_bytes)
"""
import os
import statistics
import subprocess
import time


class Figure:
    """Medians of one command."""

    def __init__(self, seconds, peak_bytes):
        self.seconds = statistics.median(seconds)
        self.fastest = min(seconds)
        self.peak_bytes = statistics.median(peak_bytes)


def run_once(command, stdin=None):
    """Wall seconds, seconds of processors and peak resident bytes of one run; output is thrown away. Fails when the command does."""
    source = open(stdin, 'rb') if stdin else subprocess.DEVNULL
    begin = time.monotonic()
    child = subprocess.Popen(command, stdin=source, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.monotonic() - begin
    child.returncode = os.waitstatus_to_exitcode(status)
    if stdin:
        source.close()
    if child.returncode:
        raise SystemExit('%s: exit status %d' % (' '.join(command), child.returncode))
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def rounds_of(commands, rounds, warm_up=True):
    """What run_once() says of each, in every round. All run once in turn, so that a busy machine slows all of them."""
    if warm_up:
        for command in commands:
            run_once(command)  # the file comes into the page cache
    turns = [[run_once(command) for command in commands] for _ in range(rounds)]
    return [list(runs) for runs in zip(*turns)]


def compare(commands, rounds, warm_up=True):
    """A Figure for each command."""
    return [Figure([r[0] for r in runs], [r[2] for r in runs]) for runs in rounds_of(commands, rounds, warm_up)]


def machine():
    """One line about where the figures come from."""
    model = 'unknown processor'
    with open('/proc/cpuinfo') as f:
        for line in f:
            if line.startswith('model name'):
                model = line.split(':', 1)[1].strip()
                break
    return '%s, %d processors, load %.1f' % (model, os.cpu_count(), os.getloadavg()[0])
