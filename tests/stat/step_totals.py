#!/usr/bin/env python3
"""step_totals.py -- GPU time of a step and its length on the GPU, as trace-diff tells them of pairs of real traces, against
sums of integers made here from the text of the JSON files. Nothing is shared with the tools but the definitions: a GPU
event is of the step in which it was launched, steps that ran other kernels than most are left out, the window of a step
goes from its first GPU event to that of the next step, and means are rounded half up. Prints TAP.
"""
import collections
import gzip
import json
import os
import subprocess
import sys
from decimal import Decimal

PAIRS = ['small small_compiled', 'small_compiled small_break', 'small_forloop small_fused', 'train train_item',
         'train train_double', 'mlp_pageable mlp_pinned', 'fp32 tf32', 'fp32 bf16', 'math flash',
         'decode decode_graph']
GPU = ('kernel', 'gpu_memcpy', 'gpu_memset')


def nanoseconds(us):
    ns = Decimal(us) * 1000
    assert ns == int(ns)
    return int(ns)


def mean(values):
    return (2 * sum(values) + len(values)) // (2 * len(values))


def read(path):
    """The steps by start: each its GPU events as (start, duration, name) in the order of launches."""
    with gzip.open(path, 'rt') as f:
        events = [e for e in json.load(f, parse_float=Decimal)['traceEvents'] if e.get('ph') == 'X']
    launched, steps, gpu = {}, [], []
    for e in events:
        begin, cat = nanoseconds(e['ts']), e.get('cat')
        if cat in ('cuda_runtime', 'cuda_driver'):
            launched[e['args']['correlation']] = begin
        elif cat == 'user_annotation' and e['name'].startswith('ProfilerStep#'):
            steps.append((begin, begin + nanoseconds(e['dur']), []))
        elif cat in GPU:
            gpu.append((e['args']['correlation'], begin, nanoseconds(e['dur']), e['name']))
    steps.sort(key=lambda s: s[0])
    for correlation, begin, dur, name in sorted(gpu, key=lambda g: (launched[g[0]], g[1])):
        for first, end, inside in steps:
            if first <= launched[correlation] < end:
                inside.append((begin, dur, name))
    return [inside for _, _, inside in steps if inside]


def expected(path):
    """GPU time of a step, and its length; the last step has none."""
    steps = read(path)
    programs = [tuple(name for _, _, name in s) for s in steps]
    usual, times = collections.Counter(programs).most_common(1)[0]
    begins = [min(begin for begin, _, _ in s) for s in steps]
    use = [i for i in range(len(steps)) if times < 2 or 2 * times < len(steps) or programs[i] == usual]
    gpu = mean([sum(dur for _, dur, _ in steps[i]) for i in use])
    walls = [begins[i + 1] - begins[i] for i in use if i + 1 < len(steps)]
    return gpu, mean(walls)


def main():
    tool = os.path.join(os.environ['GP_BIN'], 'trace-diff')
    samples = os.path.join(os.environ['GP_SOURCE'], 'samples', 'pairs')
    print('1..%d' % len(PAIRS))
    failed = False
    for number, pair in enumerate(PAIRS, 1):
        paths = [os.path.join(samples, name + '.json.gz') for name in pair.split()]
        run = subprocess.run([tool, '-f', 'json', '--gate', 'none', *paths], stdout=subprocess.PIPE)
        report = json.loads(run.stdout)
        want = [expected(path) for path in paths]
        got = [(report[side]['gpu_ns'], report[side]['step_ns']) for side in ('baseline', 'current')]
        change = want[1][0] - want[0][0]
        holds = want == got and report['total']['change_ns'] == change and report['residual_ns'] == 0
        print('%sok %d - %s: GPU time %+d ns, step %+d ns' % ('' if holds else 'not ', number, pair, change,
                                                              want[1][1] - want[0][1]))
        if not holds:
            failed = True
            print('# expected %r, got %r, change %r' % (want, got, report['total']['change_ns']))
    return failed


if __name__ == '__main__':
    sys.exit(main())
