#!/usr/bin/env python3
"""make_compile_log.py -- a structured log of torch.compile as large as wanted, from committed ones: their records again and
again, with other frames and later times, and with the configuration that every compile repeats and the samples lack.

usage: make_compile_log.py MEGABYTES OUT.log LOG.gz...
"""
import gzip
import hashlib
import json
import re
import sys

PREFIX = re.compile(rb'^([VIWECDF]\d{4} \d\d:\d\d:\d\d\.\d{6} \d+ [^\]\n]*\] )(\{.*)$')
ID = re.compile(r'^(!\d+/)?(\d+)/')
GAP_US = 1000000
# As many keys as the compiler's configuration has, about as long: 20 KB of JSON in a string of JSON.
CONFIG = json.dumps({'section_%02d.option_that_is_the_default_%03d' % (i % 20, i): [True, None, 16 * i, 'value'][i % 4]
                     for i in range(400)})


class Record:
    def __init__(self, prefix, meta):
        self.prefix, self.meta, self.payload = prefix, meta, []


def records(path):
    out = []
    with gzip.open(path) as file:
        for line in file.read().split(b'\n'):
            found = PREFIX.match(line)
            if found:
                out.append(Record(found[1], json.loads(found[2])))
            elif line.startswith(b'\t') and out:
                out[-1].payload.append(line[1:])
    return out


def shifted_id(text, frames):
    return ID.sub(lambda m: '%s%d/' % (m[1] or '', int(m[2]) + frames), text)


def shift_args(args, frames):
    if isinstance(args.get('compile_id'), str):
        args['compile_id'] = shifted_id(args['compile_id'], frames)


def shift_event(record, frames, shift_us):
    event = json.loads(b'\n'.join(record.payload))
    event['ts'] += shift_us
    shift_args(event.get('args', {}), frames)
    if event['name'] == 'dynamo' and event['ph'] == 'E':
        event['args']['compiler_config'] = CONFIG
    return json.dumps(event, indent=0).encode()


def write(out, record, frames, shift_us):
    meta = dict(record.meta)
    if isinstance(meta.get('frame_id'), int):
        meta['frame_id'] += frames
    metrics = meta.get('compilation_metrics')
    if metrics:
        meta['compilation_metrics'] = metrics = dict(metrics, inductor_config=CONFIG)
        shift_args(metrics, frames)
        for key in ('start_time_us', 'end_time_us'):
            if metrics.get(key):
                metrics[key] += shift_us
    payload = b'\n'.join(record.payload)
    if 'chromium_event' in meta:
        payload = shift_event(record, frames, shift_us)
    if 'has_payload' in meta:
        meta['has_payload'] = hashlib.md5(payload).hexdigest()
    out.write(record.prefix + json.dumps(meta).encode() + b'\n')
    if record.payload:
        out.write(b''.join(b'\t' + line + b'\n' for line in payload.split(b'\n')))


def times_of(rows):
    events = [json.loads(b'\n'.join(r.payload)) for r in rows if 'chromium_event' in r.meta]
    return min(e['ts'] for e in events), max(e['ts'] for e in events)


def main():
    wanted = float(sys.argv[1]) * 1e6
    logs = [records(path) for path in sys.argv[3:]]
    frames, n, at_us = 0, 0, None
    with open(sys.argv[2], 'wb') as out:
        while out.tell() < wanted:
            for rows in logs:
                first, last = times_of(rows)
                shift = 0 if at_us is None else at_us + GAP_US - first
                for record in rows:
                    write(out, record, frames, shift)
                n += len(rows)
                at_us = last + shift
                frames += 1 + max((r.meta.get('frame_id') or 0 for r in rows), default=0)
                if out.tell() >= wanted:
                    break
        print('%d records, %d bytes' % (n, out.tell()))


main()
