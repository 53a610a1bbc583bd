#!/usr/bin/env python3
"""make_snapshot.py -- a snapshot of the allocator as large as wanted, from a small one: its last step again and again.

usage: make_snapshot.py SNAPSHOT.pickle.gz ENTRIES OUT.pickle
"""
import gzip
import pickle
import sys


def live_before(trace, time_us):
    live = {}
    for e in trace:
        if e['time_us'] >= time_us:
            break
        if e['action'] == 'alloc':
            live[e['addr']] = e['size']
        elif e['action'] == 'free_completed':
            live.pop(e['addr'], None)
    return live


def window(snapshot, trace):
    """Two beginnings of steps at which the same blocks are alive: what lies between can be repeated."""
    starts = [m['time_us'] for m in snapshot['external_annotations']
              if m['stage'] == 'START' and m['name'].startswith('step ')]
    for i in range(len(starts) - 1, 0, -1):
        for k in range(i - 1, 0, -1):
            if live_before(trace, starts[k]) == live_before(trace, starts[i]):
                return starts[k], starts[i], i - k
    raise SystemExit('no steps that can be repeated')


def main():
    with gzip.open(sys.argv[1]) as file:
        snapshot = pickle.load(file)
    wanted = int(sys.argv[2])
    trace = snapshot['device_traces'][0]
    first, last, steps = window(snapshot, trace)
    step = [e for e in trace if first <= e['time_us'] < last]
    marks = [m for m in snapshot['external_annotations'] if first <= m['time_us'] < last]
    before = [e for e in trace if e['time_us'] < first]
    after = [e for e in trace if e['time_us'] >= first]
    times = max(0, wanted - len(before) - len(after)) // len(step)
    out = list(before)
    ranges = [m for m in snapshot['external_annotations'] if m['time_us'] < first]
    for i in range(times + 1):
        shift = i * (last - first)
        block = step if i < times else after
        lists = {}
        for e in block:
            e = dict(e, time_us=e['time_us'] + shift)
            if 'frames' in e:
                e['frames'] = lists.setdefault(id(e['frames']), list(e['frames']))
            if 'compile_context' in e:
                e['compile_context'] = ''.join(e['compile_context'])
            out.append(e)
        rest = [m for m in snapshot['external_annotations'] if m['time_us'] >= first]
        for m in marks if i < times else rest:
            name = m['name']
            if name.startswith('step '):
                name = 'step %d' % (int(name[5:]) + i * steps)
            ranges.append(dict(m, time_us=m['time_us'] + shift, name=name))
    snapshot['device_traces'][0] = out
    snapshot['external_annotations'] = ranges
    with open(sys.argv[3], 'wb') as file:
        pickle.dump(snapshot, file)
    print('%d entries, %d of them in a step' % (len(out), len(step)))


main()
