"""memory_oracle.py -- what a snapshot of the allocator says, worked out by another program: Python's own unpickler, and a
replay that shares no code with ours. Compares it with the JSON of trace-memory.

usage: memory_oracle.py BIN SNAPSHOT.pickle[.gz] [STATS.json]

Prints what does not agree and exits with 1.
"""
import csv
import gzip
import json
import pickle
import subprocess
import sys

SMALL = 1 << 20


def rounded(size):
    return max(512, (size + 511) // 512 * 512)


class Heap:
    """Segments as sorted lists of [address, size, state]."""

    def __init__(self, expandable):
        self.expandable = expandable
        self.segments = []

    def around(self, address):
        for segment in self.segments:
            for i, block in enumerate(segment['blocks']):
                if block[0] <= address < block[0] + block[1]:
                    return segment, i
        return None, None

    def add(self, address, size, joins):
        if joins:
            for segment in self.segments:
                last, first = segment['blocks'][-1], segment['blocks'][0]
                if segment['joins'] and last[0] + last[1] == address:
                    segment['blocks'].append([address, size, 'free'])
                    return self.merge(segment)
                if segment['joins'] and address + size == first[0]:
                    segment['blocks'].insert(0, [address, size, 'free'])
                    return self.merge(segment)
        self.segments.append({'joins': joins, 'blocks': [[address, size, 'free']]})

    def remove(self, address, size):
        segment, i = self.around(address)
        block = segment['blocks'][i]
        assert block[2] == 'free' and address + size <= block[0] + block[1]
        left = [block[0], address - block[0], 'free']
        right = [address + size, block[0] + block[1] - address - size, 'free']
        before = segment['blocks'][:i] + ([left] if left[1] else [])
        after = ([right] if right[1] else []) + segment['blocks'][i + 1:]
        self.segments.remove(segment)
        for part in (before, after):
            if part:
                self.segments.append({'joins': segment['joins'], 'blocks': part})

    @staticmethod
    def merge(segment):
        out = []
        for block in segment['blocks']:
            if out and out[-1][2] == 'free' and block[2] == 'free':
                out[-1][1] += block[1]
            else:
                out.append(block)
        segment['blocks'] = out

    def take(self, address, requested):
        segment, i = self.around(address)
        block = segment['blocks'][i]
        size = rounded(requested)
        assert block[0] == address and block[2] == 'free' and block[1] >= size
        rest = block[1] - size
        if rest and (rest >= 512 if size <= SMALL or self.expandable or segment['joins'] else rest > SMALL):
            segment['blocks'].insert(i + 1, [address + size, rest, 'free'])
            block[1] = size
        block[2] = 'live'
        return block[1]

    def change(self, address, state):
        segment, i = self.around(address)
        segment['blocks'][i][2] = state
        if state == 'free':
            self.merge(segment)


class Replay:
    def __init__(self, snapshot, device):
        self.live = {}
        self.peak = self.peak_requested = self.allocated = self.requested = 0
        self.reserved = self.reserved_peak = self.churn = 0
        self.allocs = self.frees = 0
        self.requested_ever = self.in_use = self.in_use_peak = 0
        sizes = {}
        self.snapshots = []
        heap = Heap(snapshot['allocator_settings'].get('expandable_segments', False))
        for e in snapshot['device_traces'][device]:
            action, size, address = e['action'], e['size'], e.get('addr')
            if action in ('segment_alloc', 'segment_map'):
                heap.add(address, size, action == 'segment_map')
                self.reserved += size
            elif action in ('segment_free', 'segment_unmap'):
                heap.remove(address, size)
                self.reserved -= size
            elif action == 'alloc':
                block = heap.take(address, size)
                self.live[address] = (block, size, e['frames'])
                self.allocated += block
                self.requested += size
                self.in_use += size
                self.in_use_peak = max(self.in_use_peak, self.in_use)
                sizes[address] = size
                self.requested_ever += size
                self.churn += block
                self.allocs += 1
            elif action == 'free_requested':
                block, size, _ = self.live.pop(address)
                self.allocated -= block
                self.requested -= size
                heap.change(address, 'pending')
            elif action == 'free_completed':
                segment, i = heap.around(address)
                block = segment['blocks'][i]
                assert block[0] == address and block[2] == 'pending', 'a free without its request'
                heap.change(address, 'free')
                self.in_use -= sizes.pop(address)  # the counter of what is requested waits for the other streams
                self.frees += 1
            elif action == 'snapshot':
                self.snapshots.append((size, self.allocated))
            if self.allocated > self.peak:
                self.peak, self.peak_requested = self.allocated, self.requested
            self.reserved_peak = max(self.reserved_peak, self.reserved)
        self.layout = sorted((b[0], b[1]) for s in heap.segments for b in s['blocks'])


class Check:
    def __init__(self):
        self.wrong = 0

    def equal(self, what, ours, theirs):
        if ours != theirs:
            self.wrong += 1
            print('%s: %s, but %s' % (what, ours, theirs))


def segments_agree(check, snapshot, device):
    for segment in snapshot['segments']:
        if segment['device'] != device:
            continue
        blocks = segment['blocks']
        live = [b for b in blocks if b['state'] == 'active_allocated']
        used = [b for b in blocks if b['state'] != 'inactive']
        check.equal('sum of blocks', sum(b['size'] for b in blocks), segment['total_size'])
        check.equal('allocated of a segment', sum(b['size'] for b in live), segment['allocated_size'])
        check.equal('active of a segment', sum(b['size'] for b in used), segment['active_size'])
        check.equal('requested of a segment', sum(b['requested_size'] for b in used), segment['requested_size'])
        at = segment['address']
        for block in blocks:
            check.equal('address of a block', block['address'], at)
            at += block['size']


def end_agrees(check, snapshot, device, report):
    ours = report['devices'][0]
    blocks = [(s, b) for s in snapshot['segments'] if s['device'] == device for b in s['blocks']]
    live = [b for _, b in blocks if b['state'] == 'active_allocated']
    used = [b for _, b in blocks if b['state'] != 'inactive']
    check.equal('end_bytes', ours['end_bytes'], sum(b['size'] for b in live))
    check.equal('end_blocks', ours['end_blocks'], len(live))
    f = report['fragmentation']
    reserved = sum(s['total_size'] for s in snapshot['segments'] if s['device'] == device)
    check.equal('reserved', f['reserved_bytes'], reserved)
    check.equal('active', f['active_bytes'], sum(b['size'] for b in used))
    check.equal('free', f['free_whole_segments_bytes'] + f['free_split_bytes'],
                sum(b['size'] for _, b in blocks if b['state'] == 'inactive'))
    check.equal('partition of what is reserved', f['active_bytes'] + f['free_whole_segments_bytes'] +
                f['free_split_bytes'], reserved)
    check.equal('whole segments', f['free_whole_segments_bytes'],
                sum(s['total_size'] for s in snapshot['segments'] if s['device'] == device and not s['active_size']))
    check.equal('rounding', f['rounding_bytes'], sum(b['size'] - b['requested_size'] for b in live))
    check.equal('largest free block', f['largest_free_bytes'],
                max([b['size'] for _, b in blocks if b['state'] == 'inactive'], default=0))


def history_agrees(check, snapshot, device, report, stats):
    ours = report['devices'][0]
    r = Replay(snapshot, device)
    check.equal('layout at the end', r.layout, sorted((b['address'], b['size']) for s in snapshot['segments']
                                                     if s['device'] == device for b in s['blocks']))
    live = {b['address']: b for s in snapshot['segments'] if s['device'] == device for b in s['blocks']
            if b['state'] == 'active_allocated'}
    check.equal('live addresses', sorted(r.live), sorted(live))
    for address, (size, requested, frames) in r.live.items():
        check.equal('size of a live block', size, live[address]['size'])
        check.equal('requested of a live block', requested, live[address]['requested_size'])
        check.equal('frames of a live block', frames, live[address]['frames'])
    check.equal('segments by the history', r.reserved,
                sum(s['total_size'] for s in snapshot['segments'] if s['device'] == device))
    for said, theirs in r.snapshots:
        check.equal('allocated at a snapshot', said, theirs)
    if stats:
        check.equal('requested ever', r.requested_ever, stats['requested_bytes.all.allocated'])
        check.equal('peak of what is requested', r.in_use_peak, stats['requested_bytes.all.peak'])
        check.equal('peak by the counters', ours['peak_bytes'], stats['allocated_bytes.all.peak'])
    for key, theirs in (('peak_bytes', r.peak), ('peak_requested_bytes', r.peak_requested), ('allocations', r.allocs),
                        ('frees', r.frees), ('reserved_peak_bytes', r.reserved_peak), ('base_bytes', 0),
                        ('history', 'whole'), ('sizes_exact', True), ('lost', 0)):
        check.equal(key, ours[key], theirs)
    check.equal('churn', report['churn'][0]['bytes'], r.churn)


def outputs_agree(check, binary, path, report):
    """The same sums in every form of the answer."""
    ours = report['devices'][0]
    check.equal('holders', sum(h['bytes'] for h in report['holders']), ours['peak_bytes'])
    check.equal('holders, requested', sum(h['requested_bytes'] for h in report['holders']), ours['peak_requested_bytes'])
    if report['series']:
        check.equal('maximum of the series', max(p['allocated_bytes'] for p in report['series']), ours['peak_bytes'])
        check.equal('end of the series', report['series'][-1]['allocated_bytes'], ours['end_bytes'])
        check.equal('maximum reserved', max(p['reserved_bytes'] for p in report['series']), ours['reserved_peak_bytes'])
    check.equal('contradictions', sum(ours['contradictions'].values()), 0)
    folded = subprocess.run([binary, '-q', '-f', 'folded', path], capture_output=True, text=True, check=True).stdout
    check.equal('folded stacks', sum(int(line.rsplit(' ', 1)[1]) for line in folded.splitlines()), ours['peak_bytes'])
    for by in ('range', 'op', 'module', 'category'):
        out = subprocess.run([binary, '-q', '-f', 'json', '--by', by, path], capture_output=True, text=True, check=True)
        check.equal('by ' + by, sum(h['bytes'] for h in json.loads(out.stdout)['holders']), ours['peak_bytes'])
    rows = subprocess.run([binary, '-q', '-f', 'csv', path], capture_output=True, text=True, check=True).stdout
    table = list(csv.reader(rows.splitlines()))[1:]
    check.equal('blocks at the end by CSV', sum(int(r[2]) for r in table if r[5] == ''), ours['end_bytes'])
    check.equal('blocks before by CSV', sum(int(r[2]) for r in table if r[4] == ''), ours['base_bytes'])
    check.equal('base + allocated - freed = end', ours['base_bytes'] + sum(int(r[2]) for r in table if r[4]) -
                sum(int(r[2]) for r in table if r[5]), ours['end_bytes'])
    check.equal('by range', sum(u['allocations'] for u in report['ranges']), ours['allocations'])


def counters_agree(check, stats, report):
    ours, q = report['devices'][0], stats['stats']
    if ours['history'] == 'whole':
        check.equal('max_memory_allocated', ours['peak_bytes'], stats['max_memory_allocated'])
        check.equal('max_memory_reserved', ours['reserved_peak_bytes'], stats['max_memory_reserved'])
        check.equal('allocations counted', ours['allocations'], q['allocation.all.allocated'])
        check.equal('bytes ever allocated', report['churn'][0]['bytes'], q['allocated_bytes.all.allocated'])
    check.equal('memory_allocated', ours['end_bytes'], stats['memory_allocated'])
    check.equal('memory_reserved', ours['reserved_end_bytes'], stats['memory_reserved'])
    check.equal('active', report['fragmentation']['active_bytes'], q['active_bytes.all.current'])


def main():
    binary, path = sys.argv[1] + '/trace-memory', sys.argv[2]
    with (gzip.open if path.endswith('.gz') else open)(path, 'rb') as file:
        snapshot = pickle.load(file)
    out = subprocess.run([binary, '-q', '-f', 'json', path], capture_output=True, text=True, check=True)
    report, check = json.loads(out.stdout), Check()
    device = int(report['devices'][0]['device'].split(':')[1])
    segments_agree(check, snapshot, device)
    end_agrees(check, snapshot, device, report)
    outputs_agree(check, binary, path, report)
    stats = None
    if len(sys.argv) > 3:
        with open(sys.argv[3], encoding='utf-8') as file:
            stats = json.load(file)
        counters_agree(check, stats, report)
    if report['devices'][0]['history'] == 'whole':
        history_agrees(check, snapshot, device, report, stats['stats'] if stats else None)
    sys.exit(check.wrong != 0)


main()
