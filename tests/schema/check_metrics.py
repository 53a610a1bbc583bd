"""check_metrics.py -- is the JSON of trace-metrics what its schema describes, and does it agree with itself?

usage: check_metrics.py SCHEMA REPORT...
"""
import json
import sys

from described import Described


class Check(Described):
    def agrees(self, report):
        names = [m['name'] for m in report['metrics']]
        sums = {m['name']: m['reduce'] == 'sum' for m in report['metrics']}
        for group in report['groups']:
            self.equal('metrics of ' + group['name'], list(group['values']), names)
            if group['measured'] > group['count']:
                self.complain('%s: more measured than launched' % group['name'])
            for name, v in group['values'].items():
                if v['sum'] is not None and not sums[name]:
                    self.complain('%s must not be summed' % name)
                if v['mean'] is not None and not v['min'] <= v['mean'] * (1 + 1e-12) <= v['max'] * (1 + 1e-9):
                    self.complain('%s: the mean lies outside' % name)


def main():
    schema = json.load(open(sys.argv[1]))
    wrong = 0
    for path in sys.argv[2:]:
        check = Check(schema)
        report = json.load(open(path))
        check.valid(report)
        check.agrees(report)
        for text in check.wrong:
            print('%s: %s' % (path, text))
        wrong += len(check.wrong)
    sys.exit(1 if wrong else 0)


if __name__ == '__main__':
    main()
