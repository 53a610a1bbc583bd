#!/usr/bin/env python3
"""No file may hold a character that a terminal obeys or that hides or reorders its neighbours: check_names.py FILE...
In pages, the head of a timeline is unpacked, and what it will show is looked at as well."""
import base64, json, re, sys, zlib

HOSTILE = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufdd0-\ufdef"
                     "\ufeff\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e007f\U0010fffe\U0010ffff]")


def strings(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for item in value if isinstance(value, list) else value.values():
            yield from strings(item)


def head(text):
    packed = re.search('<script type="application/octet-stream" id="timeline">([^<]*)', text)
    return list(strings(json.loads(zlib.decompress(base64.b64decode(packed.group(1)), 47)))) if packed else []


bad = 0
for path in sys.argv[1:]:
    with open(path, "rb") as f:
        text = f.read().decode()
    for where in [text] + head(text):
        found = HOSTILE.search(where)
        if found:
            print("%s: U+%04X in %r" % (path, ord(found.group()), where[max(0, found.start() - 40):found.end() + 20]))
            bad = 1
            break
sys.exit(bad)
