"""check_memory.py -- is the JSON of trace-memory what its schema describes, and does it agree with itself?

usage: check_memory.py SCHEMA REPORT...
"""
import json
import sys

from described import Described


class Check(Described):
    def agrees(self, report):
        if report['at'] == 'peak':
            for i, device in enumerate(report['devices']):
                mine = [h for h in report['holders'] if h['device_index'] == i]
                self.equal('holders of ' + device['device'], sum(h['bytes'] for h in mine), device['peak_bytes'])
                sizes = [h['bytes'] for h in mine]
                self.equal('order of holders', sizes, sorted(sizes, reverse=True))
        f = report['fragmentation']
        if f:
            self.equal('what is reserved', f['active_bytes'] + f['free_whole_segments_bytes'] + f['free_split_bytes'],
                       f['reserved_bytes'])
            for key in ('reserved_bytes', 'active_bytes', 'free_whole_segments_bytes', 'free_split_bytes'):
                self.equal(key + ' of pools', sum(p[key] for p in f['by_pool']), f[key])
        for u in report['ranges'] + report['operators']:
            if u['freed_inside'] is not None and u['freed_inside'] > u['allocations']:
                self.complain('%s: more freed inside than allocated' % u['name'])
        last = None
        for p in report['series']:
            if last and last['device_index'] == p['device_index'] and p['time_ns'] < last['time_ns'] and \
                    not report['devices'][p['device_index']]['contradictions']['unordered']:
                self.complain('the series goes back in time')
            last = p


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
