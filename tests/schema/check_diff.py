"""check_diff.py -- is the JSON of trace-diff what its schema describes, and does it add up?

usage: check_diff.py SCHEMA REPORT...                  each alone
       check_diff.py --mirrored SCHEMA REPORT SWAPPED   the second compares the same traces the other way round
       check_diff.py --sums SCHEMA REPORT BASE CUR      against the text of two Chrome traces taken as a whole

The schema must accept the report and describe every member of it, and the identities of the contract must hold. Prints
what is wrong and exits with 1.
"""
import gzip
import json
import sys
from decimal import Decimal

import jsonschema

from described import Described

CATEGORIES = ('kernel', 'gpu_memcpy', 'gpu_memset')
SIDES = ('baseline', 'current')


class Check(Described):
    def sides_sum(self, report):
        """Each side's parts are its whole, and changes are differences."""
        for side in SIDES:
            s = report[side]
            ops = [op[side] for op in report['operations'] if op[side]]
            self.equal(side + ': operations sum to GPU time', sum(f['total_ns'] for f in ops), s['gpu_ns'])
            self.equal(side + ': idle causes', sum(s['idle'].values()), s['step_ns'] - s['busy_ns'])
            self.equal(side + ': attribution', sum(c[side + '_ns'] for c in report['attribution']), s['step_ns'])
            self.equal(side + ': total', report['total'][side + '_ns'], s['gpu_ns'])

    def operation(self, op):
        totals = [op[side]['total_ns'] if op[side] else 0 for side in SIDES]
        self.equal('%s: change' % op['name'], op['change_ns'], totals[1] - totals[0])
        if op['change_pct'] is not None and totals[0]:
            expected = 100 * (totals[1] - totals[0]) / totals[0]
            if abs(op['change_pct'] - expected) > 1e-6 * max(1, abs(expected)):
                self.complain('%s: change_pct is %r, not %r' % (op['name'], op['change_pct'], expected))
        shares = [op[side]['share_ns'] if op[side] else 0 for side in SIDES]
        effects = op['count_effect_ns'] + op['percall_effect_ns'] + op['overlap_effect_ns']
        self.equal('%s: effects sum to the change of its share' % op['name'], effects, shares[1] - shares[0])
        if op['change_type'] in ('regression', 'improvement'):
            if not op['significant']:
                self.complain('%s: %s without significance' % (op['name'], op['change_type']))
            if (op['change_type'] == 'regression') != (op['change_ns'] > 0):
                self.complain('%s: %s of %d ns' % (op['name'], op['change_type'], op['change_ns']))
        self.equal('%s: new' % op['name'], op['change_type'] == 'new' and op['baseline'] is not None, False)
        self.equal('%s: removed' % op['name'], op['change_type'] == 'removed' and op['current'] is not None, False)

    def identities(self, report):
        total = report['total']
        self.equal('change', total['change_ns'], total['current_ns'] - total['baseline_ns'])
        self.equal('operations sum to the total', sum(op['change_ns'] for op in report['operations']), total['change_ns'])
        step = report['current']['step_ns'] - report['baseline']['step_ns']
        self.equal('attribution sums to the step', sum(c['change_ns'] for c in report['attribution']), step)
        self.equal('residual', report['residual_ns'], 0)
        self.sides_sum(report)
        for op in report['operations']:
            self.operation(op)
        for c in report['attribution']:
            self.equal('%s: change' % c['cause'], c['change_ns'], c['current_ns'] - c['baseline_ns'])
        self.summary(report)

    def summary(self, report):
        """Counts of the summary are those of the list."""
        words = {'regressions': 'regression', 'improvements': 'improvement', 'new': 'new', 'removed': 'removed',
                 'no_change': 'no_change', 'inconclusive': 'inconclusive', 'fused': 'fused', 'defused': 'defused',
                 'retiled': 'retiled'}
        for key, change in words.items():
            n = sum(op['change_type'] == change for op in report['operations'])
            self.equal('summary: ' + key, report['summary'][key], n)
        self.equal('exit status', report['summary']['exit_status'] == 3, not report['comparable'])

    def mirrored(self, report, other):
        """Every delta has the opposite sign."""
        mine, theirs = {}, {}
        for changes, r in ((mine, report), (theirs, other)):
            for op in r['operations']:
                changes[op['key']] = changes.get(op['key'], 0) + op['change_ns']
        self.equal('operations', sorted((k, v) for k, v in mine.items() if v), sorted((k, -v) for k, v in theirs.items() if v))
        causes = [sorted(c['change_ns'] for c in r['attribution']) for r in (report, other)]
        self.equal('attribution', causes[0], sorted(-c for c in causes[1]))
        self.equal('total', report['total']['change_ns'], -other['total']['change_ns'])

    def sums(self, report, traces):
        """GPU time by name, summed here from the text of the traces, which were compared with --whole."""
        for side, path in zip(SIDES, traces):
            with (gzip.open if path.endswith('.gz') else open)(path, 'rt') as f:
                data = json.load(f, parse_float=Decimal, parse_int=Decimal)
            theirs, names, ours = 0, set(), set()
            for event in data['traceEvents'] if isinstance(data, dict) else data:
                if event.get('ph') == 'X' and event.get('cat') in CATEGORIES:
                    theirs += int(event['dur'] * 1000)
                    names.add(event['name'])
            for op in report['operations']:
                if op[side]:
                    ours.update(op[side]['names'])
            self.equal(side + ': GPU time', report[side]['gpu_ns'], theirs)
            self.equal(side + ': names', sorted(ours), sorted(names))


def load(path):
    with open(path) as f:
        return json.load(f)


def main():
    mode = sys.argv[1] if sys.argv[1].startswith('--') else None
    args = sys.argv[2:] if mode else sys.argv[1:]
    schema = load(args[0])
    jsonschema.Draft202012Validator.check_schema(schema)
    failed = False
    for path in args[1:] if not mode else args[1:2]:
        check, report = Check(schema), load(path)
        check.valid(report)
        if not check.wrong:
            check.identities(report)
        if not check.wrong and mode == '--mirrored':
            check.mirrored(report, load(args[2]))
        if not check.wrong and mode == '--sums':
            check.sums(report, args[2:4])
        for text in check.wrong[:20]:
            print('%s: %s' % (path, text))
            failed = True
    sys.exit(failed)


main()
