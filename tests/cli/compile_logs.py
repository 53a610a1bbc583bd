#!/usr/bin/env python3
"""compile_logs.py -- a second reader of torch.compile's structured logs, for comparison with trace-compile's JSON.

    compile_logs.py spans LOG REPORT       compile time by root spans, spans without an end, records, digests, seconds
                                           against microseconds
    compile_logs.py chain LOG REPORT       the compiles of each frame are numbered without gaps, and each one counts the entries
                                           before it
    compile_logs.py nodes TEXT REPORT      nodes before fusion and after it, by the messages of the scheduler
    compile_logs.py union LOG REPORT       the breaks are those of all records of breaks and of failed compiles, none twice
    compile_logs.py planted PLANTED REPORT every planted break is listed once, with its place and family
    compile_logs.py keys LOG TRACE         the keys of graphs in the log are those that the trace calls
    compile_logs.py saved COLD WARM        what the warm run saved is what the cold run took, by key
    compile_logs.py sources LOG REPORT     breaks by the structured log are breaks of the report with the text log, and back
    compile_logs.py odd KIND LOG           the log as it comes after a log shipper, an editor or another logger
"""
import gzip
import hashlib
import json
import re
import sys
from decimal import Decimal

PREFIX = re.compile(r'^[VIWECDF]\d{4} \d\d:\d\d:\d\d\.\d{6} \d+ [^\]]*\] (.*)$')


def text_of(path):
    data = open(path, 'rb').read()
    return (gzip.decompress(data) if data[:2] == b'\x1f\x8b' else data).decode()


def records(path):
    """(metadata, payload or None) of each record."""
    meta, payload = None, []
    for line in text_of(path).split('\n'):
        if line.startswith('\t'):
            payload.append(line[1:])
            continue
        if meta is not None:
            yield meta, '\n'.join(payload) if payload else None
        found = PREFIX.match(line)
        meta, payload = json.loads(found[1]) if found else None, []


def artifact(meta):
    return meta.get('artifact', {}).get('name')


def expect(what, left, right):
    if left != right:
        sys.exit('%s: %s, but %s' % (what, left, right))


def spans(log, report):
    report = json.load(open(report))
    stack, roots, n, count, last = [], 0, 0, 0, 0
    for meta, payload in records(log):
        count += 1
        if payload is not None:
            expect('digest', hashlib.md5(payload.encode()).hexdigest(), meta['has_payload'])
        if 'chromium_event' in meta:
            event = json.loads(payload, parse_float=Decimal)
            ns = int(event['ts'] * 1000)
            last = max(last, ns)
            if event['ph'] == 'B':
                stack.append((event['name'], ns))
            elif event['ph'] == 'E':
                name, begin = stack.pop()
                expect('pairs', name, event['name'])
                n += 1
                roots += 0 if stack else ns - begin
        m = meta.get('compilation_metrics')
        if m and m.get('entire_frame_compile_time_s') and m.get('dynamo_cumulative_compile_time_us'):
            expect('microseconds', round(m['entire_frame_compile_time_s'] * 1e6), m['dynamo_cumulative_compile_time_us'])
    roots += last - stack[0][1] if stack else 0
    expect('roots', roots, report['time']['total_ns'])
    row = [i for i in report['inputs'] if i['format'] == 'torch_trace'][0]
    expect('records', count, row['records_used'] + row['records_unknown'] + row['events_skipped'])
    expect('issues', ['open'] if stack else [], [i['kind'] for i in row['issues']])
    expect('open spans', [name for name, _ in stack], [s['name'] for s in report['time']['open']])
    expect('their number', len(stack), report['time']['open_spans'])
    print(n, 'spans')


def chain(log, report):
    """A compile finds the entries that those before it left; one that failed leaves none. The limit refuses without a count."""
    report, frames, sizes = json.load(open(report)), {}, {}
    for meta, _ in records(log):
        m = meta.get('compilation_metrics')
        if m:
            numbers, entries = frames.setdefault((meta.get('compiled_autograd_id'), meta['frame_id']), ([], []))
            numbers.append(meta.get('frame_compile_id') or 0)
            if m['cache_size'] is not None:
                expect('entries before %s' % numbers, sum(entries), m['cache_size'])
            entries.append(m['fail_type'] is None and 1 or 0)
            sizes['%d/%d' % (meta['frame_id'], numbers[-1])] = m['cache_size']
    for frame, (numbers, _) in frames.items():
        expect('compiles of frame %s' % (frame,), list(range(len(numbers))), numbers)
    expect('sizes', sizes, {f['compile_id']: f['cache_size'] for f in report['frames']})
    print(len(frames), 'frames,', len(sizes), 'compiles')


def nodes(text, report):
    before, after, last = 0, 0, 0
    for line in text_of(text).split('\n'):
        found = re.search(r'completed fusion round \((\d+)/\d+\): fused (\d+) nodes into (\d+) nodes', line)
        if found and found[1] == '1':
            before, after, last = before + int(found[2]), after + last, int(found[3])
        elif found:
            last = int(found[3])
    fusion = json.load(open(report))['fusion']
    expect('nodes', (before, after + last), (fusion['scheduler_before'], fusion['scheduler_after']))
    print(before, 'nodes before,', after + last, 'after')


def union(log, report):
    """Pairs of a kind and a compile: the number in the compiler's registry, or the type of the failure where there is none."""
    logged = set()
    for meta, payload in records(log):
        compile_id = '%s/%s' % (meta.get('frame_id'), meta.get('frame_compile_id'))
        metrics = meta.get('compilation_metrics', {})
        failed = metrics.get('fail_type')
        if artifact(meta) == 'dynamo_graph_break_reason' or failed:
            numbers = re.findall(r'/gb/gb(\d+)\.html', metrics['fail_reason'] if failed else payload)
            logged |= {('GB' + number, compile_id) for number in numbers} or {(failed, compile_id)}
    breaks = json.load(open(report))['breaks']
    listed = [(b['id'] or b['kind'], i) for b in breaks for i in b['compile_ids']]
    expect('breaks', sorted(logged), sorted(listed))
    print(len(logged), 'breaks at', len(breaks), 'places')


ODD = {
    'crlf': lambda line: line + '\r',
    'blank': lambda line: line + '\n' if line.startswith('\t') else line,
    'decorated': lambda line: line if line.startswith('\t') else '[rank0]: \033[32m' + line,
    'level': lambda line: 'I' + line[1:] if line.startswith('V') else line,
    'digests': lambda line: re.sub(r'("has_payload": ")[0-9a-f]{32}', r'\g<1>' + 32 * '0', line),
    'foreign': lambda line: line if line.startswith('\t') else 'step 7, loss 0.25\n' + line,
    'unknown': lambda line: line if line.startswith('\t') else
    re.sub(r'^([^]]*\] ).*', r'\g<1>{"%s": {"of": NaN}}\n\t%s\n' % ('new' * 43000, 'x' * 1500000), line) + line,
}


def odd(kind, log):
    """Every line changed; "unknown" only in front of the first: a record of 130 KB with a payload of 1.5 MB."""
    lines = text_of(log).split('\n')[:-1]
    change = ODD[kind]
    many = kind != 'unknown'
    sys.stdout.write('\n'.join(change(line) if many or not i else line for i, line in enumerate(lines)) + '\n')


def planted(planted, report):
    rows = json.load(open(planted))['planted']
    breaks = json.load(open(report))['breaks']
    places = {(b['file'].rsplit('/', 1)[-1], b['line']) for b in breaks}
    for row in rows:
        here = [b for b in breaks if b['file'].endswith(row['file']) and b['line'] == row['line']
                and b['family'] == row['family']]
        expect('%(function)s:%(line)d %(family)s' % row, len(here), 1)
        name = '__getattribute__' if row['family'] == 'object' else row['function']
        expect('function of line %d' % row['line'], here[0]['function'], name)
    planted_places = {(row['file'], row['line']) for row in rows}
    others = [b for b in breaks if (b['file'].rsplit('/', 1)[-1], b['line']) not in planted_places]
    expect('other places', [b['family'] for b in others], ['recompiles'])
    print(len(rows), 'planted,', len(places), 'places')


def keys(log, trace):
    logged = {json.loads(p)['key'] for m, p in records(log) if (artifact(m) or '').startswith('fx_graph_cache_')}
    called = set(re.findall(r'## Call CompiledFxGraph (\w+) ##', text_of(trace)))
    expect('keys of graphs', logged, called)


def saved(cold, warm):
    def times(path, name, field):
        return {j['key']: j[field] for m, p in records(path) if artifact(m) == name for j in [json.loads(p)]}

    taken = times(cold, 'fx_graph_cache_miss', 'time_taken_ns')
    expect('time saved', times(warm, 'fx_graph_cache_hit', 'time_saved_ns'), taken)
    expect('graphs', len(taken) > 0, True)


def kinds(report):
    return {(b['id'], b['file'], b['line']) for b in json.load(open(report))['breaks']}


def sources(structured, text):
    """What the text log has is in the structured log, and what it lacks was only told by the metrics."""
    more = kinds(structured) - kinds(text)
    expect('only in the text log', kinds(text) - kinds(structured), set())
    rows = [b for b in json.load(open(structured))['breaks'] if (b['id'], b['file'], b['line']) in more]
    expect('sources of the others', {tuple(b['sources']) for b in rows}, {('metrics',)})


if __name__ == '__main__':
    globals()[sys.argv[1]](*sys.argv[2:])
