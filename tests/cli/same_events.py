#!/usr/bin/env python3
"""Do two Chrome traces hold the same events? usage: same_events.py ORIGINAL RETURNED [ORIGINAL RETURNED...]

For files that went through another format: the order of events, the spacing of the text and the form of numbers may
differ, and begin/end pairs may have become spans. Compared are metadata, the names of the rows that have events, and
every event: phase, category, name, pid, tid, times to the nanosecond, id and args, as a multiset. Args and, in a file
that has stackFrames, rows that say nothing that is not said elsewhere are left out: see DROPPED and MADE_OF_STACKS. Prints the differences; exit status 1 when there are any.
Shares no code with the programs it judges.
"""
import collections
import decimal
import gzip
import json
import sys

DROPPED = {'Ev Idx', 'Profiler Event Index', 'memory bandwidth (GB/s)'}
MADE_OF_STACKS = {'python_stack', 'native_stack'}
SHOWN = 8


def load(path):
    opener = gzip.open if path.endswith('.gz') else open
    with opener(path, 'rb') as f:
        text = f.read().decode('utf-8')
    data = json.loads(text, parse_float=decimal.Decimal)
    return data if isinstance(data, dict) else {'traceEvents': data}


def ns(us):
    if isinstance(us, int):
        return us * 1000
    return int((decimal.Decimal(us) * 1000).to_integral_value(decimal.ROUND_HALF_UP))


def number(decimal_number):
    whole = int(decimal_number)
    return whole if whole == decimal_number else ['not whole', str(decimal_number.normalize())]


def plain(value):
    """The same text for the same JSON, whatever its spelling."""
    return json.dumps(value, sort_keys=True, default=number)


def row(event, key):
    """A pid or tid: a number, or text that is none."""
    value = event.get(key, 0)
    if isinstance(value, str) and value.lstrip('-').isdigit():
        return int(value)
    return value if isinstance(value, str) else int(value)


def ident(event):
    """An id: a number in any spelling, text that is none, or None."""
    value = event.get('id')
    if isinstance(value, str):
        try:
            return int(value, 0)
        except ValueError:
            pass
    return value


def args_of(event):
    args = event.get('args') or {}
    return plain({k: v for k, v in args.items() if k not in DROPPED})


def span(event, duration, args=None):
    return ('X', event.get('cat'), event['name'], row(event, 'pid'), row(event, 'tid'), ns(event['ts']), duration,
            args_of(event) if args is None else plain(args))


def join_pairs(events):
    """B and E of each row, nested, as spans; the args of both count."""
    stacks = collections.defaultdict(list)
    joined = []
    for event in sorted((e for e in events if e.get('ph') in ('B', 'E')), key=lambda e: ns(e['ts'])):
        stack = stacks[row(event, 'pid'), row(event, 'tid')]
        if event['ph'] == 'B':
            stack.append(event)
        elif stack:
            begin = stack.pop()
            both = {**(begin.get('args') or {}), **(event.get('args') or {})}
            both = {k: v for k, v in both.items() if k not in DROPPED}
            joined.append(span(begin, ns(event['ts']) - ns(begin['ts']), both))
    return joined


def normalised(event):
    """One event as one or more tuples."""
    phase = event['ph']
    if phase == 'X':
        return [span(event, ns(event.get('dur', 0)))]
    head = (phase, event.get('cat'), event.get('name'), row(event, 'pid'), row(event, 'tid'), ns(event['ts']))
    if phase == 'C':
        return [head + (ident(event), series, plain(value)) for series, value in (event.get('args') or {}).items()]
    if phase in 'iI':
        return [('i',) + head[1:] + (event.get('s', 't'), args_of(event))]
    return [head + (ident(event), args_of(event))]


def labels(events):
    """What M events say of the rows that have events: the last one counts."""
    rows = {(row(e, 'pid'), row(e, 'tid')) for e in events if e.get('ph') != 'M'}
    pids = {pid for pid, _ in rows}
    found = {}
    for e in events:
        if e.get('ph') != 'M':
            continue
        pid, tid = row(e, 'pid'), row(e, 'tid')
        if e['name'].startswith('process_') and pid in pids:
            found[e['name'], pid] = args_of(e)
        elif e['name'].startswith('thread_') and (pid, tid) in rows:
            found[e['name'], pid, tid] = args_of(e)
    return found


def stack(frames, frame):
    """The names from the innermost on; what calls itself in a circle is called by nobody."""
    names, seen = [], set()
    while frame in frames and frame not in seen:
        names.append(frames[frame].get('name', ''))
        seen.add(frame)
        frame = str(frames[frame].get('parent'))
    return names


def summary(path):
    data = load(path)
    events = data.pop('traceEvents')
    frames = {str(k): v for k, v in data.pop('stackFrames', {}).items()}
    if frames:
        events = [e for e in events if e.get('cat') not in MADE_OF_STACKS]
    for event in events:
        if 'sf' in event:
            event['args'] = {**(event.get('args') or {}), 'sf': stack(frames, str(event['sf']))}
    bag = collections.Counter(join_pairs(events))
    for event in events:
        if event.get('ph') not in ('M', 'B', 'E', None):  # JAX ends its list with an empty one
            bag.update(normalised(event))
    return {k: plain(v) for k, v in data.items()}, labels(events), bag


def is_same(original, returned):
    meta, names, events = summary(original)
    meta2, names2, events2 = summary(returned)
    meta.setdefault('schemaVersion', plain(1))
    differences = []
    for what, a, b in (('metadata', meta, meta2), ('row', names, names2)):
        differences += ['%s %r: %s' % (what, k, a[k]) for k in a if k not in b]
        differences += ['%s %r: made up: %s' % (what, k, b[k]) for k in b if k not in a]
        differences += ['%s %r: %s became %s' % (what, k, a[k], b[k]) for k in a if k in b and a[k] != b[k]]
    lost, new = events - events2, events2 - events
    if lost or new:
        differences.append('%d events lost, %d new' % (sum(lost.values()), sum(new.values())))
    order = dict(key=lambda e: (e[5], str(e)))
    differences += ['lost: %s' % (e,) for e in sorted(lost, **order)[:SHOWN]]
    differences += ['new:  %s' % (e,) for e in sorted(new, **order)[:SHOWN]]
    for line in differences:
        print('%s: %s' % (original, line))
    if not differences:
        print('same: %d events' % sum(events.values()))
    return not differences


paths = sys.argv[1:]
sys.exit(not all([is_same(*pair) for pair in zip(paths[::2], paths[1::2], strict=True)]))
