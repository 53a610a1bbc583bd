"""check_hta.py -- is the JSON of trace-hta what its schema describes, and does it add up?

usage: check_hta.py SCHEMA REPORT [TRACE... | -]
       check_hta.py SCHEMA <LIST, whose lines are: REPORT [TRACE... | -], separated by tabs

The schema must accept the report and describe every member of it; the identities of the contract must hold; and with
TRACE, the Chrome traces that the report with --top 0 was made of, its kernels must be those of the traces, summed here
from their text; "-" stands for traces that Python cannot read. Prints what is wrong and exits with 1.
"""
import gzip
import json
import sys
from decimal import Decimal

import jsonschema

from described import Described

CATEGORIES = ('kernel', 'gpu_memcpy', 'gpu_memset')


class Check(Described):
    # ---- what must add up ----

    def breakdown(self, where, b):
        parts = b['compute_ns'] + b['exposed_communication_ns'] + b['exposed_memory_ns'] + b['idle_ns']
        self.equal(where + ': the parts sum to the span', parts, b['span_ns'])
        self.equal(where + ': busy and idle', b['busy_ns'] + b['idle_ns'], b['span_ns'])
        for part in ('compute', 'exposed_communication', 'exposed_memory', 'idle'):
            share = 100 * b[part + '_ns'] / b['span_ns'] if b['span_ns'] else 0
            if abs(share - b[part + '_pct']) > 1e-9:
                self.complain('%s: %s_pct is %r, not %r' % (where, part, b[part + '_pct'], share))
        if (b['overlap_pct'] is None) != (b['communication_ns'] == 0):
            self.complain('%s: overlap without communication' % where)

    def device(self, where, d):
        self.breakdown(where, d)
        self.equal(where + ': causes sum to idle', sum(d['idle'].values()), d['idle_ns'])
        self.equal(where + ': gaps sum to idle', d['idle_gaps']['total_ns'], d['idle_ns'])
        self.equal(where + ': events of streams', sum(s['gpu_events'] for s in d['streams']), d['gpu_events'])
        self.equal(where + ': time of streams', sum(s['gpu_ns'] for s in d['streams']), d['gpu_ns'])
        listed = sum(c['idle_ns'] for c in d['idle_culprits'])
        self.equal(where + ': culprits and their rest', listed + d['idle_culprits_rest_ns'], d['idle_ns'])
        for stream in d['streams']:
            self.breakdown('%s stream %s' % (where, stream['stream']), stream)

    def identities(self, report):
        for i, d in enumerate(report['devices']):
            self.device('devices[%d]' % i, d)
        for step in report['steps']:
            for each in step.get('each', []):
                self.breakdown('step %s' % each['name'], each)
        for i, path in enumerate(report['critical_path']['paths']):
            self.equal('paths[%d]: bounds sum to the length' % i, sum(path['bound'].values()), path['length_ns'])
            self.equal('paths[%d]: length' % i, path['length_ns'], path['end_ns'] - path['begin_ns'])
            names = sum(n['total_ns'] for n in path['names']) + path['names_rest']['total_ns']
            self.equal('paths[%d]: names and their rest' % i, names, path['length_ns'])
        self.rests(report)
        quality = sum(issue['count'] for issue in report['quality']['issues'])
        self.equal('issues', quality, sum(x['count'] for i in report['inputs'] for x in i['issues']))

    def rests(self, report):
        """Rows that are parts of a whole add up to it, with what is not listed."""
        events = sum(d['gpu_events'] for d in report['devices'])
        time = sum(d['gpu_ns'] for d in report['devices'])
        for rows, n, ns in (('kernels', 'count', 'total_ns'), ('operators', 'gpu_events', 'gpu_ns'),
                            ('ranges', 'gpu_events', 'gpu_ns'), ('modules', 'gpu_events', 'gpu_ns'),
                            ('operators_by_shape', 'gpu_events', 'gpu_ns')):
            rest = report[rows + '_rest']
            if report[rows]:
                self.equal(rows + ' and their rest: events', sum(r[n] for r in report[rows]) + rest[n], events)
                self.equal(rows + ' and their rest: time', sum(r[ns] for r in report[rows]) + rest[ns], time)

    def everything(self, report):
        """What must hold with --top 0."""
        count = sum(d['gpu_events'] for d in report['devices'])
        time = sum(d['gpu_ns'] for d in report['devices'])
        self.equal('kernels: count', sum(k['count'] for k in report['kernels']), count)
        self.equal('kernels: time', sum(k['total_ns'] for k in report['kernels']), time)
        self.equal('inputs: GPU events', sum(i['gpu_events'] for i in report['inputs']), count)
        self.equal('launches: GPU events', report['launches']['gpu_events'], count)
        for owner in ('operators', 'operators_by_shape', 'ranges', 'modules'):
            if report[owner]:
                self.equal(owner + ': time', sum(o['gpu_ns'] for o in report[owner]), time)
                self.equal(owner + ': events', sum(o['gpu_events'] for o in report[owner]), count)
        for path in report['critical_path']['paths']:
            self.equal('path: names sum to the length', sum(n['total_ns'] for n in path['names']), path['length_ns'])

    def against(self, report, traces):
        """The kernels, summed from the text of TRACES."""
        sums = {}
        for path in traces:
            with (gzip.open if path.endswith('.gz') else open)(path, 'rt') as f:
                data = json.load(f, parse_float=Decimal, parse_int=Decimal)
            for event in data['traceEvents'] if isinstance(data, dict) else data:
                if event.get('ph') == 'X' and event.get('cat') in CATEGORIES:
                    entry = sums.setdefault(event['name'], [0, 0])
                    entry[0] += 1
                    entry[1] += int(event['dur'] * 1000)
        ours = {}
        for k in report['kernels']:
            entry = ours.setdefault(k['name'], [0, 0])
            entry[0] += k['count']
            entry[1] += k['total_ns']
        for name in sorted(set(sums) | set(ours)):
            self.equal('kernel %s' % name, ours.get(name), sums.get(name))


def wrong_with(schema, report, traces):
    check = Check(schema)
    with open(report) as f:
        report = json.load(f)
    check.valid(report)
    if not check.wrong:
        check.identities(report)
    if not check.wrong and traces:
        check.everything(report)
        if traces != ['-']:
            check.against(report, traces)
    return check.wrong[:20]


def main():
    with open(sys.argv[1]) as f:
        schema = json.load(f)
    jsonschema.Draft202012Validator.check_schema(schema)
    jobs = [sys.argv[2:]] if len(sys.argv) > 2 else [line.rstrip('\n').split('\t') for line in sys.stdin]
    failed = False
    for report, *traces in jobs:
        for text in wrong_with(schema, report, traces):
            print('%s: %s' % (report, text))
            failed = True
    sys.exit(failed)


main()
