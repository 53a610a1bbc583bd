#!/usr/bin/env python3
"""check_compile.py SCHEMA REPORT...: are reports of trace-compile what the schema describes, in agreement with themselves?"""
import json
import sys

import jsonschema

from described import Described


class Report(Described):
    def check(self, report):
        self.wrong = []
        for error in jsonschema.Draft202012Validator(self.schema).iter_errors(report):
            self.complain('%s: %s' % ('.'.join(map(str, error.path)), error.message[:200]))
        self.described(self.schema, report, '')
        if self.wrong:
            return self.wrong
        self.times(report)
        self.breaks(report)
        self.counts(report)
        return self.wrong

    def times(self, report):
        time = report['time']
        self.equal('classes sum to the total', sum(time['classes'].values()), time['total_ns'])
        for frame in report['frames']:
            self.equal(frame['compile_id'] + ': classes', sum(frame['classes'].values()), frame['total_ns'])
        self.equal('frames and the rest sum to the total', sum(f['total_ns'] for f in report['frames']) + time['outside_ns'],
                   time['total_ns'])
        if time['from'] == 'metrics' and report['quality']['verdict'] == 'clean':  # damage can name a compile twice
            self.equal('without spans all time is that of frames', time['outside_ns'], 0)

    def breaks(self, report):
        seen = set()
        for i, b in enumerate(report['breaks']):
            key = (b['id'] or b['kind'], b['file'], b['line'], b['via_file'], b['via_line'], b['caused_by'],
                   b['function'] if b['line'] is None else None)
            if key in seen:
                self.complain('break %d is listed twice: %s' % (i, key))
            seen.add(key)
            self.equal('break %d: compiles' % i, len(b['compile_ids']), b['count'])
            if b['caused_by'] is not None and b['caused_by'] >= i:
                self.complain('break %d comes before its cause' % i)
        for r in report['recompiles']:
            self.equal('recompiles of %s' % r['frame'], len(r['compile_ids']), r['count'])

    def counts(self, report):
        for kind in ('triton', 'extern', 'fallback'):
            self.equal('calls of ' + kind, sum(g['calls'][kind] for g in report['graphs']), report['fusion']['calls'][kind])
        self.equal('kernels', sum(len(g['kernels']) for g in report['graphs']), report['fusion']['kernels'])
        before = [g['scheduler']['before'] for g in report['graphs'] if g['scheduler']['before'] is not None]
        self.equal('nodes', sum(before) if before else None, report['fusion']['scheduler_before'])
        for row in report['inputs']:
            if 'records_used' in row and row['format'] == 'torch_trace':
                self.equal('records', row['records_used'] + row['records_unknown'] + row['events_skipped'] <= row['events'], True)


def main():
    check, status = Report(json.load(open(sys.argv[1]))), 0
    for path in sys.argv[2:]:
        for line in check.check(json.load(open(path))):
            print('%s: %s' % (path, line))
            status = 1
    return status


if __name__ == '__main__':
    sys.exit(main())
