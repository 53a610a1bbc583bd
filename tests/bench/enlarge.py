#!/usr/bin/env python3
"""Make a large Kineto trace out of a small one: usage: enlarge.py IN.json[.gz] OUT.json MEGABYTES

The events are repeated as they are written, with times moved on and with new ids, so that the copies follow each other
and stay apart: nothing is parsed and printed again, so the text keeps its exact form. The result depends on the
arguments alone.
"""
import gzip
import json
import re
import sys

TIME = rb'"ts": ?(-?\d+)'
# Ids that join events; those of metadata stand before the events and are not touched.
IDS = rb'"(id|correlation|External id|Ev Idx|Sequence number|Python id|Python parent id)": ?(\d+)'


def main():
    source, target, megabytes = sys.argv[1], sys.argv[2], int(sys.argv[3])
    opener = gzip.open if source.endswith('.gz') else open
    with opener(source) as f:
        data = f.read()
    start = re.search(rb'"traceEvents": ?\[', data).end()
    # the array's end in characters is its end in bytes: latin-1 has one of each
    end = json.JSONDecoder().raw_decode(data.decode('latin-1'), start - 1)[1] - 1
    events = data[start:end].rstrip()
    times = [int(t) for t in re.findall(TIME, events)]
    step = max(times) - min(times) + 1000
    id_step = max(int(i) for _, i in re.findall(IDS, events)) + 1
    copies = max(1, -(-megabytes * 1000000 // len(events)))
    with open(target, 'wb') as f:
        f.write(data[:start])
        for k in range(copies):
            text = re.sub(TIME, lambda m: b'"ts": %d' % (int(m.group(1)) + k * step), events)
            text = re.sub(IDS, lambda m: b'"%s": %d' % (m.group(1), int(m.group(2)) + k * id_step), text)
            f.write(b',' * (k > 0) + text)
        f.write(data[end:])


main()
