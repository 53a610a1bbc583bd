#!/usr/bin/env python3
"""What a profile in pprof's format says, after checking it: usage: check_pprof.py FILE [TYPE | TYPE=FOLDED...]

A decoder of its own, by the field numbers of the published profile.proto: every field has to be known there and of its
wire type, every index has to lead somewhere, ids are not 0, the first string is empty. Without TYPE one line for each
sample type, "name unit sum", and a line "labels" with all labels. With TYPE the stacks with that value, folded. With
TYPE=FOLDED nothing, if the folded text of that name has the same sums; otherwise the exit status is 1.
"""
import gzip
import re
import sys

VARINT, BYTES = 0, 2
PROFILE = {1: ('sample_type', BYTES), 2: ('sample', BYTES), 3: ('mapping', BYTES), 4: ('location', BYTES), 5: ('function', BYTES),
           6: ('string_table', BYTES), 7: ('drop_frames', VARINT), 8: ('keep_frames', VARINT), 9: ('time_nanos', VARINT),
           10: ('duration_nanos', VARINT), 11: ('period_type', BYTES), 12: ('period', VARINT), 13: ('comment', VARINT),
           14: ('default_sample_type', VARINT)}
VALUE_TYPE = {1: ('type', VARINT), 2: ('unit', VARINT)}
SAMPLE = {1: ('location_id', BYTES), 2: ('value', BYTES), 3: ('label', BYTES)}
LABEL = {1: ('key', VARINT), 2: ('str', VARINT), 3: ('num', VARINT), 4: ('num_unit', VARINT)}
LOCATION = {1: ('id', VARINT), 2: ('mapping_id', VARINT), 3: ('address', VARINT), 4: ('line', BYTES), 5: ('is_folded', VARINT)}
LINE = {1: ('function_id', VARINT), 2: ('line', VARINT), 3: ('column', VARINT)}
FUNCTION = {1: ('id', VARINT), 2: ('name', VARINT), 3: ('system_name', VARINT), 4: ('filename', VARINT), 5: ('start_line', VARINT)}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            assert value < 1 << 64, 'a number of more than 64 bits'
            return value, at


def message(data, fields):
    found, at = {}, 0
    while at < len(data):
        tag, at = varint(data, at)
        name, wire = fields[tag >> 3]
        assert wire == tag & 7, f'{name} has wire type {tag & 7}'
        value, at = varint(data, at)
        if wire == BYTES:
            assert at + value <= len(data), f'{name} goes beyond its message'
            value, at = data[at:at + value], at + value
        found.setdefault(name, []).append(value)
    return found


def packed(chunks):
    values = []
    for chunk in chunks:
        at = 0
        while at < len(chunk):
            value, at = varint(chunk, at)
            values.append(value)
    return values


def one(found, name):
    assert len(found.get(name, [0])) == 1, f'{name} is there twice'
    return found.get(name, [0])[0]


def summed(lines):
    sums = {}
    for stack, n in lines:
        sums[stack] = sums.get(stack, 0) + n
    return sums


def folded(path):
    """The sums of a folded text, in which equal stacks of two kinds are two lines."""
    lines = (line.rstrip('\n').rsplit(' ', 1) for line in open(path))
    return summed((stack, int(n)) for stack, n in lines)


def underscored(stack):
    """As in folded text, where a space before a number is an underscore."""
    return ';'.join(re.sub(r' +(?=[0-9.]+$)', lambda m: '_' * len(m.group()), f) for f in stack.split(';'))


def main():
    raw = open(sys.argv[1], 'rb').read()
    assert raw[:2] == b'\x1f\x8b' and raw[4:8] == b'\0\0\0\0', 'not gzip, or with the time of day'
    profile = message(gzip.decompress(raw), PROFILE)
    strings = [s.decode() for s in profile['string_table']]
    assert strings[0] == '' and len(set(strings)) == len(strings)
    types = [message(t, VALUE_TYPE) for t in profile['sample_type']]
    names = [strings[one(t, 'type')] for t in types]
    assert 'default_sample_type' not in profile or strings[one(profile, 'default_sample_type')] in names
    functions = {}
    for f in (message(f, FUNCTION) for f in profile.get('function', [])):
        assert one(f, 'id') > 0 and one(f, 'id') not in functions and strings[one(f, 'name')]
        functions[one(f, 'id')] = strings[one(f, 'name')], strings[one(f, 'system_name')], strings[one(f, 'filename')], one(f, 'start_line')
    locations = {}
    for loc in (message(loc, LOCATION) for loc in profile.get('location', [])):
        lines = [message(line, LINE) for line in loc['line']]
        assert one(loc, 'id') > 0 and one(loc, 'id') not in locations and len(lines) == 1
        locations[one(loc, 'id')] = functions[one(lines[0], 'function_id')]
    wanted = [arg.partition('=')[::2] for arg in sys.argv[2:]]
    sums, stacks, labels = [0] * len(names), {name: {} for name, _ in wanted}, set()
    for sample in (message(s, SAMPLE) for s in profile.get('sample', [])):
        values = packed(sample['value'])
        assert len(values) == len(names) and any(values)
        sums = [a + b for a, b in zip(sums, values)]
        stack = ';'.join(locations[i][0] for i in reversed(packed(sample['location_id'])))
        for label in (message(label, LABEL) for label in sample.get('label', [])):
            labels.add(f"{strings[one(label, 'key')]}={strings[one(label, 'str')]}")
        for name in stacks:
            stacks[name][stack] = stacks[name].get(stack, 0) + values[names.index(name)]
    for name, text in wanted:
        found = {stack: n for stack, n in stacks[name].items() if n}
        if not text:
            for stack in sorted(found):
                print(stack, found[stack])
        elif folded(text) != summed((underscored(stack), n) for stack, n in found.items()):
            sys.exit(f'{name}: not the sums of {text}')
    if wanted:
        return
    for t, total in zip(types, sums):
        print(strings[one(t, 'type')], strings[one(t, 'unit')], total)
    print('labels', *sorted(labels))
    for f in sorted(functions.values()):
        if f[1] or f[2]:
            print('function', *(str(x) for x in f))


main()
