#!/usr/bin/env python3
"""decode.py FILE: what a trace in Perfetto's protobuf holds, one JSON object: slices per category with the sum of their
durations, instants, counters, flows, tracks. Written from the published field numbers, and as strict as a viewer is lenient:
anything that would make one drop an event ends with an error."""
import json
import struct
import sys
import zlib
from collections import Counter, defaultdict

BEGIN, END, INSTANT, COUNT = 1, 2, 3, 4


def varint(data, at):
    if data[at] < 0x80:
        return data[at], at + 1  # most are
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """(number, value) of each field: a number, or bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        wire = key & 7
        if wire == 0:
            value, at = varint(data, at)
        elif wire == 1:
            value, at = data[at:at + 8], at + 8
        else:
            assert wire == 2, wire
            n, at = varint(data, at)
            value, at = data[at:at + n], at + n
            if len(value) < n:
                raise EOFError
        yield key >> 3, value


def first(data, number, default=None):
    return next((v for k, v in fields(data) if k == number), default)


def packets(data):
    """All packets, those inside compressed ones too; of a cut file those before the cut."""
    try:
        for number, packet in fields(data):
            assert number == 1
            compressed = first(packet, 50)
            if compressed is None:
                yield packet
            else:
                yield from packets(zlib.decompress(compressed))
    except (EOFError, IndexError):
        pass


class Sequence:
    def __init__(self):
        self.valid, self.now, self.track = False, None, None

    def clear(self):
        self.valid = True
        self.names = {1: {}, 2: {}, 3: {}, 29: {}}


class Trace:
    def __init__(self):
        self.sequences, self.tracks = defaultdict(Sequence), {}
        self.open = defaultdict(list)
        self.count, self.total, self.instants = Counter(), Counter(), Counter()
        self.by_name = Counter()
        self.counters = Counter()
        self.last_value = {}
        self.flows, self.ends, self.args = {}, Counter(), defaultdict(set)
        self.uncovered = 0
        self.begins = {}

    def packet(self, packet):
        f = dict(fields(packet))
        s = self.sequences[f.get(10)]
        assert f.get(10), "a packet without a sequence"
        flags = f.get(13, 0)
        if flags & 1:
            s.clear()
        if flags & 2:
            assert s.valid, "a packet that needs what no packet gave"
        if 6 in f:
            for number, clock in fields(f[6]):
                if number == 1 and first(clock, 1) == 64:
                    assert first(clock, 3) == 1
                    s.now = first(clock, 2)
        if 59 in f:
            assert first(f[59], 58) == 64
            s.track = first(first(f[59], 11), 11)
        if 60 in f:
            self.describe(f[60])
        if 12 in f:
            for kind, entry in fields(f[12]):
                iid = first(entry, 1)
                assert iid not in s.names[kind], "an interned text told twice"
                s.names[kind][iid] = first(entry, 2, b"").decode("utf-8")
        if 11 in f:
            s.now += f[8]
            self.event(s, f[11])

    def describe(self, data):
        uuid = first(data, 1)
        assert uuid not in self.tracks
        thread, process = first(data, 4), first(data, 3)
        name = first(data, 2) or (first(thread, 5) if thread else first(process, 6) if process else b"")
        parent = first(data, 5)
        assert parent is None or parent in self.tracks, "a track before its parent"
        self.tracks[uuid] = {"name": name.decode("utf-8"), "parent": parent, "counter": first(data, 8) is not None}

    def event(self, s, data):
        every = list(fields(data))
        f = dict(every)
        track, kind = s.track, f.get(9)
        assert track in self.tracks
        stack = self.open[track]
        if kind == END:
            name, cat, start = stack.pop()
            self.count[cat] += 1
            self.total[cat] += s.now - start
            self.by_name[name] += 1
        elif kind == COUNT:
            value = f.get(30)
            assert self.tracks[track]["counter"] and (value is not None or 44 in f)
            if value is None:
                value = struct.unpack("<d", f[44])[0]
            elif value >> 63:
                value -= 1 << 64
            self.counters[self.tracks[track]["name"]] += 1
            self.last_value[self.tracks[track]["name"]] = value
        else:
            name = s.names[2][f[10]]
            cat = s.names[1].get(f.get(3), "")
            for number, value in every:
                if number == 4:
                    arg = dict(fields(value))
                    text = arg.get(17)
                    self.args[cat].add(s.names[3][arg[1]])
                    assert text is None or text in s.names[29]
                elif number in (47, 48):
                    flow = struct.unpack("<Q", value)[0]
                    if number == 47:
                        assert flow not in self.flows
                        self.flows[flow] = s.now
                    else:
                        self.ends[flow] += 1
            if kind == BEGIN:
                stack.append((name, cat, s.now))
            else:
                assert kind == INSTANT
                self.instants[cat] += 1


def decode(path, cut=False):
    with open(path, "rb") as f:
        data = f.read()
    t = Trace()
    n = 0
    for packet in packets(data):
        t.packet(packet)
        n += 1
    still = sum(len(s) for s in t.open.values())
    assert not still or cut, "%d slices never end" % still
    assert set(t.ends) <= set(t.flows) or cut, "an arrow from nowhere"
    return {
        "bytes": len(data), "packets": n, "slices": dict(t.count), "total_ns": dict(t.total), "open": still,
        "instants": dict(t.instants), "counters": dict(t.counters), "last": t.last_value,
        "arrows": len(t.flows), "arrow_ends": sum(t.ends.values()),
        "tracks": [x["name"] for x in t.tracks.values()],
        "args": {k: sorted(v) for k, v in t.args.items()}, "names": dict(t.by_name)}


if __name__ == "__main__":
    print(json.dumps(decode(sys.argv[1], "--cut" in sys.argv), sort_keys=True))
