#!/usr/bin/env python3
"""A reader of the binary trace, written only from gpt-1.md: slow, short, and independent of the C reader.

usage: gpt_read.py FILE    prints every event as a line of text

As a module: Trace(open(path, 'rb').read()) has .tables (name -> list of rows, a row is a dict of columns), the
dictionaries of each producer, .meta (key -> JSON text), and .issues.
"""
import bisect
import os
import struct
import sys
import zlib

MASK = (1 << 64) - 1
NONE = MASK
NAN = 0x7ff8000000000000
NOBODY = (1 << 32) - 1
INLINED_MOST = 64
HEADER = struct.Struct('<IIIHBBIIIQI')
MAGIC = b'\x89GPT\r\n\x1a\n'
TABLES = ['gpu', 'api', 'op', 'python', 'range', 'gpu_range', 'sync', 'overhead', 'memory', 'counter', 'flow', 'mark', 'other', 'metric',
          'sample', 'pc']
# id: (name, default)
COLUMNS = {1: ('start_ns', 0), 2: ('dur_ns', 0), 3: ('track', 0), 4: ('name', 0), 5: ('config', 0), 6: ('cat', 0), 7: ('corr', NONE),
           8: ('ext', NONE), 9: ('bytes', 0), 10: ('graph', NONE), 11: ('node', NONE), 12: ('seq', NONE), 13: ('recfn', NONE),
           14: ('py_id', NONE), 15: ('py_parent', NONE), 16: ('py_module', NONE), 17: ('id', NONE), 18: ('id_text', 0),
           19: ('phase', 0), 20: ('series', 0), 21: ('value', 0), 22: ('addr', 0), 23: ('total', 0), 24: ('reserved', 0),
           25: ('ret', 0), 26: ('extra', 0), 27: ('captured', 0), 28: ('event', NONE), 29: ('source', NONE), 30: ('set', 0),
           31: ('stack', 0), 32: ('waiter', NOBODY)}
WITHOUT = {name for name, default in COLUMNS.values() if default == NONE}  # columns in which NONE means that there is no value
LOST_SYMBOL = {'module': b'', 'offset': 0, 'name': b'', 'file': b'', 'line': 0, 'caller': 0}
# kind: list of (name, type, default) from id 1 on; type i is zigzag, s a string, p a process
DICTIONARIES = {
    4: [('pid', 'i', 0), ('pid_text', 's', 0), ('name', 's', 0), ('labels', 's', 0), ('sort_index', 'i', 0),
        ('has_sort_index', 'u', 0), ('rank', 'i', -1), ('producer', 'u', 0)],
    5: [('kind', 'u', 0), ('process', 'p', 0), ('tid', 'i', 0), ('tid_text', 's', 0), ('device', 'i', -1), ('context', 'i', -1),
        ('stream', 'i', -1), ('name', 's', 0), ('sort_index', 'i', 0), ('has_sort_index', 'u', 0)],
    6: [('name', 's', 0), ('kind', 'u', 0), ('has', 'u', 0)] +
       [(name + '_' + axis, 'u', 0) for name in ('grid', 'block', 'cluster') for axis in 'xyz'] +
       [(name, 'u', 0) for name in ('registers', 'shared_bytes', 'shared_static_bytes', 'local_bytes', 'copy_kind',
                                    'src_kind', 'dst_kind')] + [('cat', 's', 0), ('extra', 's', 0)],
    8: [('key', 's', 0), ('value', 's', 0)],
    13: [('name', 's', 0), ('unit', 's', 0), ('type', 'u', 0), ('reduce', 'u', 0), ('passes', 'u', 1), ('chip', 's', 0)],
    12: [('first', 'u', 0), ('count', 'u', 1), ('captured', 's', 0), ('producer', 'u', 0), ('original', 'u', 0),
         ('stack', 'u', 0)],
    14: [('parent', 'u', 0), ('name', 's', 0), ('file', 's', 0), ('line', 'u', 0), ('symbol', 'u', 0)],
    15: [('module', 's', 0), ('offset', 'u', 0), ('name', 's', 0), ('file', 's', 0), ('line', 'u', 0), ('caller', 'u', 0)],
    17: [('start_ns', 'i', 0), ('dur_ns', 'i', 0), ('how', 'u', 0), ('process', 'p', 0)],
}


class Damage(Exception):
    pass


def zz(z):
    return (z >> 1) ^ -(z & 1)


def signed(v):
    return v - (1 << 64) if v >> 63 else v


def crc_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82f63b78 if byte & 1 else 0)
        table.append(byte)
    return table


CRC_TABLE = crc_table()


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc = crc >> 8 ^ CRC_TABLE[(crc ^ byte) & 255]
    return crc ^ 0xffffffff


class Bytes:
    """Reads forward through bytes."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def u8(self):
        return self.take(1)[0]

    def take(self, n):
        if n > len(self.data) - self.at:
            raise Damage('too short')
        self.at += n
        return self.data[self.at - n:self.at]

    def varint(self):
        v = shift = 0
        while True:
            byte = self.u8()
            v |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        if v > MASK or shift > 70:
            raise Damage('a varint of more than 64 bits')
        return v

    def rest(self):
        return self.take(len(self.data) - self.at)


def read_stream(data, n):
    b = Bytes(data)
    form = b.u8()
    if form == 0:
        out = [0] * n
    elif form == 1:
        out = [b.varint()] * n
    elif form == 2:
        out = [b.varint() for _ in range(n)]
    elif form == 3:
        out = []
        for _ in range(b.varint()):
            out += [0] * b.varint() + [b.varint()]
            if len(out) > n:
                raise Damage('too many numbers')
        out += [0] * (n - len(out))
    elif form == 4:
        k = b.u8()
        if k > 4:
            raise Damage('codes of %d bits' % k)
        buckets = [(b.u8(), b.varint()) for _ in range(1 << k)]
        codes = int.from_bytes(b.take((n * k + 7) // 8), 'little')
        codes = [codes >> (i * k) & ((1 << k) - 1) for i in range(n)]
        bits = sum(buckets[c][0] for c in codes)
        offsets, at, out = int.from_bytes(b.take((bits + 7) // 8), 'little'), 0, []
        for c in codes:
            width, base = buckets[c]
            out.append((base + (offsets >> at & ((1 << width) - 1))) & MASK)
            at += width
    else:
        raise Damage('stream of form %d' % form)
    if b.at != len(data):
        raise Damage('bytes behind a stream')
    return out


class Side:
    """The columns of one table in a block, decoded when they are asked for."""

    def __init__(self, block, columns, gpu, api=None):
        self.block, self.columns, self.gpu, self.api = block, columns, gpu, api
        self.n, self.base = block.nrec, block.base
        self.config = None  # API side of a launch block: numbers of the GPU events' configs
        self.cache, self.numbers = {}, {}

    def default(self, id):
        if id == 1:
            return [self.base] * self.n
        if id == 4 and self.gpu:
            return self.config_names()
        if id in (7, 8) and self.api:
            return self.api.column(id)
        return [COLUMNS[id][1]] * self.n

    def config_names(self):
        configs = self.block.producer.entries[6]
        return [configs[c]['name#'] if c in configs else None for c in self.column(5)]

    def column(self, id):
        if id not in self.cache:
            self.cache[id] = self.decode(id) if id in self.columns else self.default(id)
        return self.cache[id]

    def measured(self):
        """Of a metric block: the values of each row, not a number where there is no column."""
        number = self.column(30)[0] if self.n else 0
        metrics = self.block.producer.entries[13].get(number)
        if metrics is None or set(self.column(30)) - {number}:
            raise Damage('not one set of metrics')
        bits = [self.column(64 + i) if 64 + i in self.columns else [NAN] * self.n for i in range(len(metrics))]
        return [b','.join(b'%016x' % v for v in row) for row in zip(*bits)]

    def local(self, id):
        """Numbers of a column's values within the block: the key, the track."""
        self.column(id)
        if id in self.columns and id not in self.numbers:
            raise Damage('a key that is not a dictionary')
        return self.numbers.get(id, [0] * self.n)

    def key(self):
        return self.local(5 if self.gpu else 4)

    def differences(self, b, quantised):
        if not quantised:
            return [zz(s) for s in read_stream(b.rest(), self.n)]
        quantum = b.varint()
        a = read_stream(b.take(b.varint()), self.n)
        return [zz(x) * quantum + zz(y) for x, y in zip(a, read_stream(b.rest(), self.n))]

    def decode(self, id):
        predictor, body = self.columns[id]
        b, p, quantised = Bytes(body), predictor & 63, predictor & 64
        if p in (4, 11, 12):
            return self.dictionary(id, p, b)
        if p == 0 and not quantised:
            return read_stream(b.rest(), self.n)
        if p == 0:
            quantum = b.varint()
            a = read_stream(b.take(b.varint()), self.n)
            return [(x * quantum + zz(y)) & MASK for x, y in zip(a, read_stream(b.rest(), self.n))]
        if p == 2:
            return self.last(read_stream(b.rest(), self.n), COLUMNS[id][1])
        gap, latency = (zz(b.varint()), zz(b.varint())) if p == 8 else (0, 0)
        d = self.differences(b, quantised)
        if p == 1:
            return self.chain(d, [0] * self.n, self.base if id == 1 else 0)
        if p in (3, 9, 13):
            values = self.chain(d, self.config if p == 13 else self.key(), 0)
            if p != 9:
                return values
            return [struct.unpack('<Q', struct.pack('<d', float(signed(v))))[0] for v in values]
        if p == 5:
            return [(v + x) & MASK for v, x in zip(self.api.column(id), d)]
        if p == 7:
            return self.chain(d, self.local(3), self.base)
        if p in (6, 8):
            return self.after_track(d, p == 8, gap, latency)
        if p == 10:
            return [None if v is None else (v + x) & MASK for v, x in zip(self.config_names(), d)]
        raise Damage('predictor %d' % predictor)

    def last(self, stream, default):
        out, value = [], 0
        for s in stream:
            if s:
                value = (value + zz(s - 1)) & MASK
            out.append(value if s else default)
        return out

    def chain(self, d, keys, start):
        state, out = {}, []
        for x, key in zip(d, keys):
            state[key] = (state.get(key, start) + x) & MASK
            out.append(state[key])
        return out

    def after_track(self, d, launch, gap, latency):
        ends, out = {}, []
        for i, (x, track, dur) in enumerate(zip(d, self.local(3), self.column(2))):
            expected = ends.get(track, self.base)
            if launch:
                called = (self.api.column(1)[i] + latency) & MASK
                expected = max(signed((expected + gap) & MASK), signed(called))
            out.append((expected + x) & MASK)
            ends[track] = (out[-1] + dur) & MASK
        return out

    def dictionary(self, id, p, b):
        m = b.varint()
        values = self.chain([zz(s) for s in read_stream(b.take(b.varint()), m)], [0] * m, 0)
        codes, follows, fresh, now, numbers = read_stream(b.rest(), self.n), {}, 0, 0, []
        context = {11: self.key, 12: lambda: self.config}[p]() if p != 4 else None
        for i, code in enumerate(codes):
            x = now if context is None else context[i]
            if code == 0:
                now = follows.get(x, 0)
            elif code == 1:
                now, fresh = fresh, fresh + 1
            else:
                now = code - 2
            if now >= m:
                raise Damage('value %d of %d' % (now, m))
            follows[x] = now
            numbers.append(now)
        self.numbers[id] = numbers
        return [values[i] for i in numbers]


class Producer:
    def __init__(self, number):
        self.number = number
        self.strings, self.entries = {0: b''}, {kind: {} for kind in (4, 5, 6, 12, 13, 14, 15, 17)}
        self.seq, self.events, self.ended = 0, False, False

    def string(self, number):
        return self.strings.get(number, b'[lost name %d]' % number)


class Block:
    pass


class Trace:
    def __init__(self, data):
        if data[:8] != MAGIC or data[8] != 1:
            raise Damage('no trace of version 1')
        self.tables = {name: [] for name in TABLES}
        self.meta, self.producers, self.issues, self.payload_bytes = {}, {}, [], 0
        self.gpu_tracks = []  # by row of the GPU events: producer, number of the track
        at = struct.unpack_from('<H', data, 10)[0]
        while at < len(data):
            block = self.block_at(data, at)
            if block is None:
                at = self.resync(data, at)
                continue
            try:
                self.take(block)
            except Damage as damage:
                self.issues.append(('bad_block', at, str(damage)))
            at += 40 + block.stored
        if any(p.events and not p.ended for p in self.producers.values()) or not any(p.ended for p in self.producers.values()):
            self.issues.append(('truncated', len(data), ''))
        self.tell_captured()
        self.tell_stacks()
        for rows in self.tables.values():
            rows.sort(key=lambda row: (signed(row['start_ns']), -signed(row['dur_ns'])))  # stable

    def block_at(self, data, at):
        if at + 40 > len(data):
            return None
        b = Block()
        sync, b.stored, raw, b.kind, b.codec, b.flags, b.nrec, b.seq, number, b.base, crc = HEADER.unpack_from(data, at)
        payload = data[at + 40:at + 40 + b.stored]
        if sync != 0x4b425047 or len(payload) != b.stored or crc32c(data[at:at + 36] + payload) != crc:
            return None
        b.payload, b.raw = payload, raw
        b.producer = self.producers.setdefault(number, Producer(number))
        return b

    def resync(self, data, at):
        self.issues.append(('bad_block', at, 'checksum'))
        found = data.find(b'GPBK', at + 1)
        while found >= 0 and self.block_at(data, found) is None:
            found = data.find(b'GPBK', found + 1)
        return found if found >= 0 else len(data)

    def take(self, block):
        p = block.producer
        if block.seq > p.seq:
            self.issues.append(('missing_block', block.seq - p.seq, ''))
        p.seq = max(p.seq, block.seq + 1)
        known = 1 <= block.kind <= 17 or 32 <= block.kind <= 47 or block.kind == 63
        if not known and block.flags & 2:
            raise SystemExit('a block of kind %d needs a newer reader' % block.kind)
        if block.nrec > 65536 or block.nrec > 16 + 2 * block.stored:
            raise Damage('%d rows in %d bytes' % (block.nrec, block.stored))
        if block.codec == 2:
            block.payload = zlib.decompress(block.payload)
        elif block.codec:
            raise Damage('codec %d is not read here' % block.codec)
        columns, b = {}, Bytes(block.payload)
        while b.at < len(b.data):
            id, predictor = b.u8(), b.u8()
            columns.setdefault(id, (predictor, b.take(b.varint())))
        if block.kind == 2:
            self.take_strings(block, columns)
        elif block.kind in DICTIONARIES:
            self.take_entries(block, columns)
        elif block.kind == 16 or 32 <= block.kind <= 47:
            self.take_events(block, columns)
        elif block.kind == 63:
            p.ended = True

    def small(self, block, columns, id, default):
        if id not in columns:
            return [default] * block.nrec
        predictor, body = columns[id]
        v = read_stream(body, block.nrec)
        for i in range(len(v) if predictor == 1 else 0):
            v[i] = (zz(v[i]) + (v[i - 1] if i else 0)) & MASK
        return v

    def take_strings(self, block, columns):
        text = Bytes(columns[2][1])
        for i, length in enumerate(self.small(block, columns, 1, 0)):
            block.producer.strings[block.base + i] = text.take(length)

    def take_entries(self, block, columns):
        entries = [{} for _ in range(block.nrec)]
        for id, (name, kind, default) in enumerate(DICTIONARIES[block.kind], 1):
            for entry, v in zip(entries, self.small(block, columns, id, default & MASK if kind != 'i' else
                                                    default << 1 ^ default >> 63)):
                entry[name] = zz(v) if kind == 'i' else block.producer.string(v) if kind == 's' else v
                entry[name + '#'] = v
        if block.kind == 8:
            self.meta.update((e['key'], e['value']) for e in entries)
            return
        if block.kind == 13:
            block.producer.entries[13][block.base] = entries  # one set
            return
        for i, entry in enumerate(entries):
            of = block.producer.entries[block.kind]
            if block.kind != 14 or block.base + i not in of:
                of[block.base + i] = entry

    def tell_captured(self):
        """What runs of graph nodes say goes to the GPU events that do not say it themselves."""
        runs = {}
        for p in self.producers.values():
            for run in p.entries[12].values():
                runs.setdefault((p.number + run['producer']) & 0xffffffff, []).append(dict(run, of=p))
        for of in runs.values():
            of.sort(key=lambda run: run['first'])
        for row, (p, track) in zip(self.tables['gpu'], self.gpu_tracks):
            process = p.entries[4].get(p.entries[5].get(track, {}).get('process'), {'producer': 0})
            of, node = runs.get((p.number + process['producer']) & 0xffffffff, []), row['node']
            for _ in range(17 if node != NONE else 0):
                at = bisect.bisect_right([run['first'] for run in of], node)
                if not at or node - of[at - 1]['first'] >= of[at - 1]['count']:
                    break
                if not of[at - 1]['original']:
                    row['captured'] = row['captured'] or of[at - 1]['captured']
                    if row['stack'][1] not in row['stack'][0].entries[14] or not row['stack'][1]:
                        row['stack'] = of[at - 1]['of'], of[at - 1]['stack']
                    break
                node = of[at - 1]['original'] + node - of[at - 1]['first'] & MASK

    def tell_stacks(self):
        """Numbers of stacks become text when all names are known."""
        for table, rows in self.tables.items():
            for row in rows:
                row['stack'] = self.stack_text(*row['stack'])
                if table == 'sample':
                    row['id'] = self.stack_text(*row['id'])

    def take_events(self, block, columns):
        p = block.producer
        p.events, p.ended = True, False
        if block.kind == 16:
            api = Side(block, {id - 64: c for id, c in columns.items() if id >= 64}, False)
            gpu = Side(block, columns, True, api)
            api.config = gpu.key()
            self.add_rows('gpu', gpu)
            self.add_rows('api', api)
        else:
            self.add_rows(TABLES[block.kind - 32], Side(block, columns, block.kind == 32))

    def add_rows(self, table, side):
        p = side.block.producer
        values = {name: side.column(id) for id, (name, _) in COLUMNS.items()}
        for name in ('name', 'cat', 'id_text', 'series', 'extra', 'captured'):
            values[name] = [b'[lost name]' if v is None else p.string(v) for v in values[name]]
        if table == 'metric':
            values['values'] = side.measured()
        for row in zip(*values.values()):
            row = dict(zip(values, row))
            if table == 'gpu':
                self.gpu_tracks.append((p, row['track']))
            row['track'] = self.track_text(p, row['track'])
            row['waiter'] = 'none' if row['waiter'] == NOBODY else self.track_text(p, row['waiter'])
            row['stack'] = p, row['stack']
            if table == 'sample':
                row['id'] = p, row['id']
            row['config'] = self.config_text(p, row['config']) if table in ('gpu', 'metric') else ''
            self.tables[table].append(row)

    def track_text(self, p, number):
        k = p.entries[5].get(number)
        if not k:
            return 'lost'
        process = p.entries[4].get(k['process'], {'pid': 'lost'})
        return '%s:%d:%d:%d:%d:%d' % (process['pid'], k['kind'], k['tid'], k['device'], k['context'], k['stream'])

    def stack_text(self, p, number):
        """The frames from the innermost on; a parent has a lower number than what it called."""
        frames = []
        while number and number in p.entries[14]:
            frame = p.entries[14][number]
            symbols = p.entries[15]
            symbol = symbols.get(frame['symbol'], LOST_SYMBOL) if frame['symbol'] else None
            unnamed = symbol if not frame['name'] else None
            if not unnamed:
                frames.append(frame_text(frame, symbol))
            for _ in range(INLINED_MOST if unnamed else 0):
                base = unnamed['module'].split(b'/')[-1] + b'+0x%x' % unnamed['offset'] if unnamed['module'] else b'[unknown code]'
                frames.append(frame_text(dict(unnamed, name=unnamed['name'] or base), unnamed))
                unnamed = symbols.get(unnamed['caller']) if unnamed['caller'] else None
                if not unnamed:
                    break
            number = frame['parent'] if frame['parent'] < number else 0
        return ';'.join(frames) or '-'

    def config_text(self, p, number):
        c = p.entries[6].get(number)
        if not c:
            return 'lost'
        return ','.join('%d' % c[name] for name, kind, _ in DICTIONARIES[6] if kind == 'u') + ',' + escape(c['extra'])


def frame_text(frame, symbol):
    native = '!%s+%d' % (escape(symbol['module']), symbol['offset']) if symbol else ''
    return '%s:%s:%d%s' % (escape(frame['name']), escape(frame['file']), frame['line'], native)


def escape(text):
    return ''.join(chr(c) if 32 < c < 127 and c != 92 else '\\%02x' % c for c in text)


def text(name, value):
    """A value of a column as main() prints it."""
    if isinstance(value, bytes):
        return escape(value)
    return 'none' if value == NONE and name in WITHOUT else value


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith('-'):
        asked = sys.argv[1:] in (['-h'], ['--help'])
        print('usage: gpt_read.py FILE', file=sys.stdout if asked else sys.stderr)
        sys.exit(0 if asked else 2)
    trace = Trace(open(sys.argv[1], 'rb').read())
    for table, rows in trace.tables.items():
        for row in rows:
            print(table, *(text(name, v) for name, v in row.items()))
    for p in trace.producers.values():
        for step in p.entries[17].values():
            process = p.entries[4].get(step['process'], {'pid': 'lost'})
            print('pace', step['start_ns'], step['dur_ns'], step['how'], process['pid'])
    for issue in trace.issues:
        print('issue', *issue)


if __name__ == '__main__':
    try:
        main()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno()) # whoever reads has left
