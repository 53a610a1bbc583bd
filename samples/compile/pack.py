"""Make what a capture left small and free of the machine's paths: pack.py FROM TO.

Paths become relative, the digest of a changed payload is computed anew, and of the configurations that every record about a
frame repeats only a few words are kept. Everything is then compressed. Formats stay as they were written.
"""

import gzip
import hashlib
import json
import re
import sys
from pathlib import Path

PREFIX = re.compile(rb"^[VIWEC]\d{4} \d\d:\d\d:\d\d\.\d{6} \d+ [^\]\n]*\] \{")
CONFIG = re.compile(r"config")
KEPT_KEYS = ("recompile_limit", "cache_size_limit", "dynamic_shapes", "max_autotune", "freezing")
RUNNABLE = re.compile(rb'"fx_graph_runnable"')


def scrubber():
    roots = {}
    for name in ("torch", "numpy"):
        try:
            place = Path(__import__(name).__file__).resolve().parent.parent
            roots[str(place)] = "site-packages"
        except ImportError:
            pass
    roots[str(Path(sys.base_prefix) / "lib")] = "python"
    roots[str(Path(__file__).resolve().parent)] = "model"
    roots[str(Path.cwd())] = "."
    rows = sorted(roots.items(), key=lambda r: -len(r[0]))

    def scrub(data):
        for place, short in rows:
            data = data.replace(place.encode(), short.encode())
        data = re.sub(rb"/tmp/[\w./-]*?/cache/", b"cache/", data)
        data = re.sub(rb"/tmp/torchinductor_\w+/", b"cache/", data)
        return re.sub(rb"/tmp/tmp\w+/", b"tmp/", data)

    return scrub


def shorten_config(value):
    """A configuration that is JSON in a string, or an object, with a few of its words."""
    try:
        config = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value
    if not isinstance(config, dict):
        return value
    few = {k: v for k, v in config.items() if k in KEPT_KEYS}
    return json.dumps(few) if isinstance(value, str) else few


def shorten(node):
    if isinstance(node, dict):
        return {k: shorten_config(v) if CONFIG.search(k) and isinstance(v, (str, dict)) else shorten(v)
                for k, v in node.items()}
    return [shorten(v) for v in node] if isinstance(node, list) else node


def dumps(node):
    """As the log is written: dictionaries one word a line, lists with an element a line."""
    if isinstance(node, list):
        return "[\n" + ",\n".join(json.dumps(v, indent=0) for v in node) + "\n]"
    return json.dumps(node, indent=0)


def pack_record(head, payload):
    """HEAD is the line with the JSON object, PAYLOAD its lines without their tabs, or None."""
    at = head.index(b"] {") + 2
    prefix, meta = head[:at], json.loads(head[at:])
    meta = shorten(meta)
    if payload is not None:
        if "chromium_event" in meta:
            payload = dumps(shorten(json.loads(payload))).encode()
        meta["has_payload"] = hashlib.md5(payload).hexdigest()
    out = prefix + json.dumps(meta).encode() + b"\n"
    if payload is not None:
        out += b"".join(b"\t" + line + b"\n" for line in payload.split(b"\n"))
    return out


def pack_log(data):
    lines, out, i = data.split(b"\n"), [], 0
    cut = lines.pop()  # what follows the last newline: a record that a kill cut
    while i < len(lines):
        head = lines[i]
        i += 1
        begin = i
        while i < len(lines) and lines[i].startswith(b"\t"):
            i += 1
        payload = b"\n".join(line[1:] for line in lines[begin:i]) if i > begin else None
        if not PREFIX.match(head) or (i == len(lines) and cut):
            out += [line + b"\n" for line in lines[begin - 1:i]]
            continue
        out.append(pack_record(head, payload))
    return b"".join(out) + cut


def main():
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    scrub = scrubber()
    for path in sorted(p for p in source.rglob("*") if p.is_file()):
        data = path.read_bytes()
        if path.name.endswith(".trace"):
            to = target / path.relative_to(source)
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(data)
            continue
        data = scrub(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
        if path.name.startswith("dedicated_log_torch_trace"):
            data = pack_log(data)
        name = path.name.removesuffix(".gz")
        name += ".gz" if not name.endswith((".planted.json", ".out")) else ""
        to = target / path.relative_to(source).with_name(name)
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_bytes(gzip.compress(data, 9, mtime=0) if name.endswith(".gz") else data)
        print(f"{to.stat().st_size:9d} {to.relative_to(target)}")


if __name__ == "__main__":
    main()
