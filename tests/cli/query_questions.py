#!/usr/bin/env python3
"""Fifty questions of a trace, each answered in three ways: usage: query_questions.py TRACE...

trace-query and Python's sqlite3 on what trace-convert --to sqlite wrote must give the same rows, and those are compared with
trace-hta's figure or with what this script adds up of the trace as Chrome JSON, to the nanosecond. Shares no code with the
programs. Prints the differences; exit status 1 where there are any.
"""
import collections
import decimal
import json
import os
import sqlite3
import subprocess
import sys
import tempfile

GPU = {'kernel': 'kernel', 'gpu_memcpy': 'copy', 'gpu_memset': 'set'}
CALLS = ('cuda_runtime', 'cuda_driver')


def run(*command, given=None):
    return subprocess.run(command, input=given, stdout=subprocess.PIPE, check=True, text=True).stdout


class Trace:
    """What trace-hta says of a trace, and the events of its Chrome JSON."""

    def __init__(self, path):
        self.hta = json.loads(run('trace-hta', '-q', '--allow-empty', '--whole', '-n', '0', '-s', '-f', 'json', path))
        chrome = json.loads(run('trace-convert', '-q', '--to', 'chrome', path), parse_float=decimal.Decimal)
        events = [e for e in chrome['traceEvents'] if e.get('ph') == 'X']
        self.gpu = [e for e in events if e.get('cat') in GPU]
        self.calls = [e for e in events if e.get('cat') in CALLS]
        self.ranges = [e for e in events if e.get('cat') == 'user_annotation']
        self.timed = all(d['span_ns'] is not None for d in self.hta['devices'])

    def of(self, kind):
        return [e for e in self.gpu if GPU[e['cat']] == kind]


def ns(us):
    return int(us * 1000)


def dur(e):
    return ns(e.get('dur', 0))


def begin(e):
    return ns(e['ts'])


def arg(e, name):
    return e.get('args', {}).get(name)


def groups(events, key, *values):
    """Rows of KEY, how many, and the sum of each of VALUES."""
    found = collections.defaultdict(list)
    for e in events:
        found[key(e)].append(e)
    return [(k if isinstance(k, tuple) else (k,)) + (len(g),) + tuple(sum(v(e) for e in g) for v in values) for k, g in found.items()]


def name(e):
    return e['name']


def kernels(t, pick):
    return [pick(k) for k in t.hta['kernels']]


def devices(t, *keys):
    return [tuple(d[k] for k in keys) for d in t.hta['devices']]


def steps(t, *keys):
    return [tuple(int(s[k]) if isinstance(s[k], bool) else s[k] for k in keys) for p in t.hta['steps'] for s in p['each']]


def causes(t):
    return [(d['device'], c[:-3], v) for d in t.hta['devices'] for c, v in (d['idle'] or {}).items() if v]


def busy(t):
    """The union of the GPU events of each device, on its own."""
    total = 0
    by_device = collections.defaultdict(list)
    for e in t.gpu:
        by_device[(e['pid'], arg(e, 'device'))].append((begin(e), begin(e) + dur(e)))
    for spans in by_device.values():
        end = -2**63
        for b, e in sorted(spans):
            total += max(0, e - max(b, end))
            end = max(end, e)
    return [(total,)]


def some(spread):
    """How many and the sum of a distribution; that of nothing is NULL."""
    return [(spread['count'], spread['total_ns'])] if spread and spread['count'] else [(0, None)]


UNION = """WITH e AS (SELECT rank, process, device, start_ns, end_ns, max(end_ns) OVER (PARTITION BY rank, process, device ORDER BY start_ns, end_ns
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM events)
    SELECT ifnull(sum(max(0, end_ns - max(start_ns, ifnull(before, start_ns)))), 0) FROM e"""
KERNEL = 'CUPTI_ACTIVITY_KIND_KERNEL'
RUNTIME = 'CUPTI_ACTIVITY_KIND_RUNTIME'
# SQL; what it is to give. None: nothing but that both ways give the same.
QUESTIONS = [
    ("SELECT count(*) FROM events", lambda t: [(len(t.gpu),)]),
    ("SELECT ifnull(sum(dur_ns), 0) FROM events", lambda t: [(sum(map(dur, t.gpu)),)]),
    ("SELECT ifnull(sum(dur_ns), 0) FROM events", lambda t: [(sum(kernels(t, lambda k: k['total_ns'])),)]),
    ("SELECT name, count(*), sum(dur_ns), min(dur_ns), max(dur_ns) FROM events GROUP BY 1, class",
     lambda t: kernels(t, lambda k: (k['name'], k['count'], k['total_ns'], k['min_ns'], k['max_ns']))),
    ("SELECT name, count(*), sum(dur_ns) FROM kernels GROUP BY 1", lambda t: groups(t.of('kernel'), name, dur)),
    ("SELECT name, count(*), sum(dur_ns) FROM copies GROUP BY 1", lambda t: groups(t.of('copy'), name, dur)),
    ("SELECT count(*), ifnull(sum(dur_ns), 0) FROM sets", lambda t: [(len(t.of('set')), sum(map(dur, t.of('set'))))]),
    ("SELECT kind, count(*), sum(dur_ns) FROM events GROUP BY 1", lambda t: groups(t.gpu, lambda e: GPU[e['cat']], dur)),
    ("SELECT class, count(*), sum(dur_ns) FROM events GROUP BY 1",
     lambda t: [(c,) + tuple(sum(k[x] for k in t.hta['kernels'] if k['class'] == c) for x in ('count', 'total_ns'))
                for c in {k['class'] for k in t.hta['kernels']}]),
    ("SELECT category, count(*), sum(dur_ns) FROM events GROUP BY 1",
     lambda t: [(c,) + tuple(sum(k[x] for k in t.hta['kernels'] if k['kind'] == c) for x in ('count', 'total_ns'))
                for c in {k['kind'] for k in t.hta['kernels']}]),
    ("SELECT DISTINCT label FROM events", lambda t: {(k['label'],) for k in t.hta['kernels']}),
    ("SELECT stream, count(*), sum(dur_ns) FROM events GROUP BY 1", lambda t: groups(t.gpu, lambda e: arg(e, 'stream'), dur)),
    ("SELECT device, count(*), sum(dur_ns) FROM events GROUP BY 1", lambda t: groups(t.gpu, lambda e: arg(e, 'device'), dur)),
    ("SELECT ifnull(sum(dur_ns), 0), count(*) FROM kernels WHERE dur_ns > 20000",
     lambda t: [(sum(d for d in map(dur, t.of('kernel')) if d > 20000), sum(dur(e) > 20000 for e in t.of('kernel')))]),
    ("SELECT max(dur_ns) FROM kernels", lambda t: [(max(map(dur, t.of('kernel')), default=None),)]),
    ("SELECT max(end_ns) - min(start_ns) FROM events",
     lambda t: [(max((begin(e) + dur(e) for e in t.gpu), default=0) - min(map(begin, t.gpu), default=0) if t.gpu else None,)]),
    ("SELECT ifnull(sum(bytes), 0) FROM copies", lambda t: [(sum(arg(e, 'bytes') or 0 for e in t.of('copy')),)]),
    ("SELECT name, count(*), ifnull(sum(bytes), 0), sum(dur_ns) FROM events WHERE kind != 'kernel' GROUP BY 1",
     lambda t: [(c['name'], c['count'], c['total_bytes'], c['total_ns']) for c in t.hta['copies']]),
    ("SELECT count(*) FROM events WHERE call IS NOT NULL", lambda t: [(t.hta['launches']['linked'],)]),
    ("SELECT count(dur_ns), sum(dur_ns) FROM launches", lambda t: some(t.hta['launches']['call'])),
    ("SELECT count(delay_ns), sum(delay_ns) FROM events WHERE graph IS NULL",
     lambda t: some(t.hta['launches']['delay']) if not t.hta['graphs'] else None),
    ("SELECT name, sum(events) FROM launches GROUP BY 1", None),
    ("SELECT name, count(*), sum(dur_ns) FROM calls GROUP BY 1", lambda t: groups(t.calls, name, dur) if t.timed else None),
    ("SELECT name, count(*), sum(dur_ns) FROM ranges WHERE kind = 'range' GROUP BY 1", lambda t: groups(t.ranges, name, dur) if t.timed else None),
    ("SELECT ifnull(sum(events), 0) FROM calls", lambda t: [(t.hta['launches']['linked'],)]),
    ("SELECT k.name, c.name, count(*) FROM kernels k JOIN calls c ON c.id = k.call GROUP BY 1, 2", None),
    ("SELECT device, span_ns, busy_ns, idle_ns FROM devices", lambda t: devices(t, 'device', 'span_ns', 'busy_ns', 'idle_ns')),
    ("SELECT device, compute_ns, communication_ns, memory_ns FROM devices",
     lambda t: devices(t, 'device', 'compute_ns', 'communication_ns', 'memory_ns')),
    ("SELECT device, exposed_communication_ns, exposed_memory_ns FROM devices",
     lambda t: devices(t, 'device', 'exposed_communication_ns', 'exposed_memory_ns')),
    ("SELECT device, name FROM devices", lambda t: devices(t, 'device', 'name')),
    ("SELECT device, cause, sum(dur_ns) FROM idle GROUP BY rank, process, device, cause", lambda t: causes(t) if t.timed else []),
    ("SELECT device, sum(dur_ns) FROM idle GROUP BY rank, process, device",
     lambda t: [(d, v) for d, v in devices(t, 'device', 'idle_ns') if v]),
    ("SELECT count(DISTINCT event) FROM idle", lambda t: [(sum(d['idle_gaps']['count'] for d in t.hta['devices'] if t.timed),)]),
    (UNION, lambda t: busy(t)),
    ("SELECT name, span_ns, busy_ns, idle_ns, launches FROM steps", lambda t: steps(t, 'name', 'span_ns', 'busy_ns', 'idle_ns', 'launches')),
    ("SELECT name, cut, warm_up, host_begin_ns, host_end_ns FROM steps",
     lambda t: steps(t, 'name', 'cut', 'warm_up', 'host_begin_ns', 'host_end_ns')),
    ("SELECT s.name, sum(i.dur_ns) FROM steps s JOIN idle i ON i.step = s.id GROUP BY s.id",
     lambda t: [s for s in steps(t, 'name', 'idle_ns') if s[1]]),
    ("SELECT s.name, count(DISTINCT e.call) FROM steps s JOIN events e ON e.step = s.id GROUP BY s.id",
     lambda t: steps(t, 'name', 'launches') if t.hta['launches']['linked'] == len(t.gpu) else None),
    ("SELECT operation, count(*), sum(dur_ns) FROM collectives GROUP BY 1",
     lambda t: [(o,) + tuple(sum(c[x] if x == 'count' else c['duration']['total_ns'] for c in t.hta['collectives'] if c['operation'] == o)
                             for x in ('count', 'ns')) for o in {c['operation'] for c in t.hta['collectives']}]),
    ("SELECT count(*) FROM collectives", lambda t: [(sum(c['count'] for c in t.hta['collectives']),)]),
    ("SELECT count(*) FROM allocations WHERE bytes > 0", lambda t: [(sum(m['allocations'] for m in t.hta['memory']),)]),
    ("SELECT ifnull(sum(bytes), 0) FROM allocations WHERE bytes > 0", lambda t: [(sum(m['allocated_bytes'] for m in t.hta['memory']),)]),
    ("SELECT gpu_events FROM ranks", lambda t: [(i['gpu_events'],) for i in t.hta['inputs']]),
    ("SELECT ifnull(sum(count), 0), ifnull(sum(gpu_ns), 0) FROM per_module", lambda t: [(len(t.gpu), sum(map(dur, t.gpu)))]),
    ("SELECT ifnull(sum(count), 0), ifnull(sum(gpu_ns), 0) FROM per_line", lambda t: [(len(t.gpu), sum(map(dur, t.gpu)))]),
    ("SELECT module, backward, sum(gpu_ns) FROM per_module GROUP BY 1, 2", None),
    ("SELECT count(*) FROM waits w JOIN calls c ON c.id = w.call JOIN events e ON e.id = w.event WHERE e.end_ns > c.end_ns + 2000", lambda t: [(0,)]),
    (f"SELECT value, count(*), sum(k.end - k.start) FROM {KERNEL} k JOIN StringIds s ON s.id = k.demangledName GROUP BY 1",
     lambda t: groups(t.of('kernel'), name, dur)),
    (f"SELECT value, count(*), sum(r.end - r.start) FROM {RUNTIME} r JOIN StringIds s ON s.id = r.nameId GROUP BY 1",
     lambda t: groups(t.calls, name, dur) if t.timed else None),
    ("SELECT text, count(*), sum(end - start) FROM NVTX_EVENTS WHERE eventType = 59 GROUP BY 1", lambda t: groups(t.ranges, name, dur) if t.timed else None),
]


def typed(rows):
    return sorted(tuple(str(v) for v in row) for row in rows)


def ask_all(path):
    """The answers of trace-query, in one run."""
    text = run('trace-query', '-q', '-i', '-f', 'json', path, given=''.join(sql.replace('\n', ' ') + ';\n' for sql, _ in QUESTIONS))
    answers, at = [], 0
    while at < len(text):
        answer, at = json.JSONDecoder().raw_decode(text, at)
        answers.append(answer['rows'])
        at += 1
    return answers


def check(path, folder):
    exported = os.path.join(folder, 'trace.sqlite')
    run('trace-convert', '-q', '--to', 'sqlite', '-o', exported, path)
    db, t, wrong = sqlite3.connect(exported), Trace(path), 0
    answers = ask_all(path)
    if len(answers) != len(QUESTIONS):
        print(f'{path}: {len(answers)} answers to {len(QUESTIONS)} questions')
        return 1
    for (sql, expected), answer in zip(QUESTIONS, answers):
        for who, want in (('the file', db.execute(sql).fetchall()), ('the oracle', expected(t) if expected else None)):
            if want is None or typed(want) == typed(answer):
                continue
            wrong += 1
            print(f'{path}: {sql}\n  {who}: {typed(want)[:4]}\n  trace-query: {typed(answer)[:4]}')
    db.close()
    return wrong


def main():
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in sys.argv[1:]:
            wrong += check(path, folder)
    print(f'{len(QUESTIONS)} questions of {len(sys.argv) - 1} traces, {wrong} wrong')
    return wrong > 0


sys.exit(main())
