#!/usr/bin/env python3
"""Paths of the machine that recorded a file, names of its user, and serial numbers of its GPUs: recorded.py FILE...
Prints 'FILE: what' for each. Looks into gzip, zstd and the blocks of binary traces, as far as damaged ones go."""
import re, struct, subprocess, sys, zlib

FOLDERS = [b"home", b"root", b"Users", b"work", b"mnt", b"scratch"]  # in which people have theirs
PRIVATE = re.compile(
    rb"(?<![A-Za-z0-9_.$}/-])/(?:" + b"|".join(FOLDERS) + rb")/[\w.][\w./-]*"
    rb"|/tmp/tmp[._]?(?!x{8}|X{10})[A-Za-z0-9_]{8,10}(?![A-Za-z0-9_])"  # of one run
    rb"|/tmp/(?!tmp[._]?[xX]{8}|torchinductor_)[\w.-]+/[\w.]"  # of one machine
    rb"|torchinductor_(?!user\b)\w+"  # named after who ran it
    rb"|GPU-(?!0{8}-)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    rb"|\"host_?name\"\s*:\s*\"[^\"]+\"")
# What each of these begins with: found faster than the whole.
BEGINNINGS = [b"/%b/" % f for f in FOLDERS] + [b"/tmp/", b"torchinductor_", b"GPU-", b'"host_name"', b'"hostname"']
MAGIC, HEAD = b"\x89GPT", 40
PLAIN, ZSTD, ZLIB = 0, 1, 2


def inflate(data, window):
    out, rest = b"", data
    try:
        while rest:
            member = zlib.decompressobj(window)
            out += member.decompress(rest)
            rest = member.unused_data
    except zlib.error:
        pass
    return out


def unzstd(data):
    return subprocess.run(["zstd", "-dcq"], input=data, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


def blocks(data):
    at = struct.unpack_from("<H", data, 10)[0]
    while at + HEAD <= len(data):
        size, codec = struct.unpack_from("<4xI6xB", data, at)
        payload = data[at + HEAD:at + HEAD + size]
        yield unzstd(payload) if codec == ZSTD else inflate(payload, 15) if codec == ZLIB else payload
        at += HEAD + size


def texts(data):
    yield data
    if data[:2] == b"\x1f\x8b":
        yield from texts(inflate(data, 31))
    elif data[:4] == b"\x28\xb5\x2f\xfd":
        yield from texts(unzstd(data))
    elif data[:4] == MAGIC and len(data) > 16:
        yield from blocks(data)


def private(text):
    for beginning in BEGINNINGS:
        at = text.find(beginning)
        while at >= 0:
            found = PRIVATE.match(text, at)
            if found:
                yield found.group()
            at = text.find(beginning, at + 1)


for path in sys.argv[1:]:
    with open(path, "rb") as f:
        found = sorted({what for text in texts(f.read()) for what in private(text)})
    for what in found[:3]:
        print("%s: %s" % (path, what.decode("ascii", "replace")))
