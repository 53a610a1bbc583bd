#!/usr/bin/env python3
"""Folded stacks for the flame graph benchmark: usage: make_folded.py LINES > stacks.folded

All lines are different; about 15.5 frames and 220 bytes a line; prefixes are shared as in a profile, about ten frames of
a line are its own. The same LINES give the same bytes.
"""
import random
import sys

NAMES = 4096


def main():
    lines = int(sys.argv[1])
    rng = random.Random(20261121)
    words = ['tensor', 'launch', 'stream', 'reduce', 'matmul', 'module', 'engine', 'kernel']
    names = [b'%s::f%04x' % (rng.choice(words).encode(), i) for i in range(NAMES)]
    # a prefix of one to nine frames, then frames of the line's own, the last one with its number
    prefixes = [b';'.join(rng.choices(names, k=rng.randint(1, 9))) for _ in range(max(1, lines // 50))]
    out = []
    for i in range(lines):
        own = rng.choices(names, k=rng.randint(5, 14))
        out.append(b'%s;%s;leaf_%08x %d\n' % (rng.choice(prefixes), b';'.join(own), i, rng.randint(1, 9999)))
        if len(out) == 4096:
            sys.stdout.buffer.write(b''.join(out))
            out.clear()
    sys.stdout.buffer.write(b''.join(out))


main()
