"""walk_compile_log.py -- the peer of trace-compile: a structured log through Python's json, line by line. Only the metadata
of each record and the payloads of events are parsed, times are summed, and nothing is reported.

usage: walk_compile_log.py LOG
"""
import json
import sys


def main():
    n, total_us, payload, event = 0, 0.0, [], False

    def close():
        nonlocal total_us
        if event:
            span = json.loads('\n'.join(payload))
            total_us += span['ts'] if span['ph'] == 'E' else -span['ts'] if span['ph'] == 'B' else 0

    with open(sys.argv[1]) as log:
        for line in log:
            if line[0] == '\t':
                if event:
                    payload.append(line[1:])
                continue
            close()
            meta = json.loads(line[line.index('] ') + 2:])
            n += 1
            payload, event = [], 'chromium_event' in meta
    close()
    print(n, 'records', round(total_us), 'us')


main()
