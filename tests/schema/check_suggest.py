"""check_suggest.py -- is the JSON of trace-suggest what its schema describes, and does it agree with itself?

usage: check_suggest.py SCHEMA REPORT...

The schema must accept each report and describe every member of it. Prints what is wrong and exits with 1.
"""
import json
import sys

from described import Described

ORDER = ['critical', 'high', 'medium', 'low']
LEAST_PCT = {'critical': 20, 'high': 5, 'medium': 1, 'low': 0}


class Check(Described):
    def suggestion(self, step, s):
        where = s['rule']
        if not s['saving_low_ns'] <= s['saving_high_ns'] <= max(step['unprofiled_high_ns'], 1):
            self.complain(where + ': the saving is no interval within the step')
        if s['ceiling_ns'] < s['saving_high_ns']:
            self.complain(where + ': saves more than its ceiling')
        if not step['trusted'] and s['saving_high_ns']:
            self.complain(where + ': a saving is claimed though the replay is not trusted')
        for end in ('low', 'high'):
            saving = s['saving_%s_ns' % end]
            whole = step['unprofiled_%s_ns' % end]  # savings and factors are those without the recorder
            if 0 < saving < whole:
                factor = whole / (whole - saving)
                if abs(factor - s['speedup_' + end]) > 1e-9 * factor:
                    self.complain('%s: speedup_%s' % (where, end))

    def agrees(self, report):
        step = report['step']
        if step is None:
            if report['suggestions'] or report['together']['saving_high_ns'] is not None or report['regime']['whole_ns'] is not None:
                self.complain('times of steps that were not examined')
            return
        if not step['unprofiled_low_ns'] <= step['unprofiled_ns'] <= step['unprofiled_high_ns']:
            self.complain('the step without the recorder is no interval')
        if step['unprofiled_low_ns'] > step['step_ns']:
            self.complain('the recorder is said to make the step shorter')
        last = None
        for s in report['suggestions']:
            self.suggestion(step, s)
            if not s['saving_low_ns'] <= s['saving_ns'] <= s['saving_high_ns']:
                self.complain(s['rule'] + ': what is expected lies outside the interval')
            if 100 * s['saving_ns'] < LEAST_PCT[s['priority']] * step['unprofiled_ns']:
                self.complain(s['rule'] + ': too little for ' + s['priority'])
            # what may save nothing comes last; what names a cause before what saves up to twice as much without one
            key = ((s['saving_low_ns'] <= 0, ORDER.index(s['priority'])), s['saving_ns'])
            if last is not None and (key[0] < last[0] or key[0] == last[0] and key[1] > 2 * last[1] + 1):
                self.complain(s['rule'] + ': out of order')
            last = key
        for s in report['not_worth_it']:
            self.suggestion(step, s)
        together = report['together']
        if not together['saving_low_ns'] <= together['saving_ns'] <= together['saving_high_ns'] <= max(step['step_ns'], step['unprofiled_high_ns']):
            self.complain('together: no interval within the step')
        parts = report['regime']
        whole = sum(parts[p + '_ns'] for p in ('idle', 'latency', 'communication', 'transfer', 'compute', 'memory',
                                               'unknown'))
        if whole > parts['whole_ns'] + 100:
            self.complain('the parts of the regime are more than the whole')
        if abs(step['step_ns'] - step['replay_ns']) > step['step_ns'] and step['trusted']:
            self.complain('the replay is trusted and has another length')


def main():
    schema = json.load(open(sys.argv[1], encoding='utf-8'))
    status = 0
    for path in sys.argv[2:]:
        check = Check(schema)
        report = json.load(open(path, encoding='utf-8'))
        check.valid(report)
        if not check.wrong:
            check.agrees(report)
        for text in check.wrong:
            print('%s: %s' % (path, text))
            status = 1
    sys.exit(status)


main()
