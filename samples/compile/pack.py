"""Make what a capture left small and free of the machine's paths: pack.py FROM TO [PATH=NAME...].

Paths become relative, by default those of this machine's packages and of this folder. What is large and says the same again
is cut: configurations to a few words, the parts of cache keys, graphs before their last pass. The digest of a changed payload
is computed anew, and everything is compressed. Formats stay as they were written.
"""

import gzip
import hashlib
import json
import re
import sys
from pathlib import Path

PREFIX = re.compile(rb"^[VIWECDF]\d{4} \d\d:\d\d:\d\d\.\d{6} \d+ [^\]\n]*\] \{")
KEPT_KEYS = ("recompile_limit", "cache_size_limit", "dynamic_shapes", "max_autotune", "freezing")
LONG_KEYS = ("components", "graph_node_shapes", "exception_stack_trace", "stack_trace", "cache_bypass_traceback",
             "triton_bundler_meta", "recompile_user_contexts", "inductor_provenance")
CUT_RECORDS = ("before_pre_grad_graph", "after_pre_grad_graph", "before_joint_graph", "after_joint_graph",
               "before_post_grad_graph", "aot_joint_graph", "aot_forward_graph_fw_metadata", "torch._functorch.config",
               "dynamo_cpp_guards_str", "aot_forward_graph", "aot_backward_graph", "aot_inference_graph")
HEAD = 40  # lines of a script that repeats a compilation: its options


def default_roots():
    roots = {str(Path(__file__).resolve().parent): "model", str(Path(sys.base_prefix) / "lib"): "python",
             str(Path.cwd()): "."}
    for name in ("torch", "numpy"):
        try:
            roots[str(Path(__import__(name).__file__).resolve().parent.parent)] = "site-packages"
        except ImportError:
            pass
    return roots


def scrubber(roots):
    rows = sorted(roots.items(), key=lambda r: -len(r[0]))

    def scrub(data):
        for place, short in rows:
            data = data.replace(place.encode(), short.encode())
            for cut in range(1, len(place) - 8):  # comments that show the end of a path only
                data = data.replace(b"# " + place[cut:].encode() + b"/", b"# " + short.encode() + b"/")
        data = re.sub(rb"/tmp/[\w./-]*?/cache/", b"cache/", data)
        data = re.sub(rb"/tmp/tmp\.\w+/", b"tmp/", data)
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
    if isinstance(node, list):
        return [shorten(v) for v in node]
    if not isinstance(node, dict):
        return node
    out = {}
    for key, value in node.items():
        if key in LONG_KEYS and value:
            out[key] = [] if isinstance(value, list) else ""
        elif "config" in key and isinstance(value, (str, dict)):
            out[key] = shorten_config(value)
        else:
            out[key] = shorten(value)
    return out


def dumps(node):
    """As the log is written: dictionaries one word a line, lists with an element a line."""
    if isinstance(node, list):
        return "[\n" + ",\n".join(json.dumps(v, indent=0) for v in node) + "\n]"
    return json.dumps(node, indent=0)


def shorten_payload(name, payload):
    if name in CUT_RECORDS:
        return payload.split(b"\n")[0]
    if name == "fx_graph_runnable":
        return b"\n".join(payload.split(b"\n")[:HEAD])
    if name == "chromium_event":
        return dumps(shorten(json.loads(payload))).encode()
    if "_cache_" in name:
        return json.dumps(shorten(json.loads(payload))).encode()
    return payload


def pack_record(head, payload):
    """HEAD is the line with the JSON object, PAYLOAD its lines without their tabs, or None."""
    at = head.index(b"] {") + 2
    prefix, meta = head[:at], shorten(json.loads(head[at:]))
    name = meta["artifact"]["name"] if "artifact" in meta else next(iter(meta), "")
    if payload is not None:
        payload = shorten_payload(name, payload)
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


def pack_file(path, to, scrub):
    data = path.read_bytes()
    if path.name.endswith(".trace"):
        to.write_bytes(data)
        return
    data = scrub(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    if path.name.startswith("dedicated_log_torch_trace"):
        data = pack_log(data)
    if path.name.endswith((".planted.json", ".out")):
        to.write_bytes(data)
    else:
        to.with_name(to.name.removesuffix(".gz") + ".gz").write_bytes(gzip.compress(data, 9, mtime=0))


def main():
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    roots = dict(row.split("=") for row in sys.argv[3:]) or default_roots()
    scrub = scrubber(roots)
    for path in sorted(p for p in source.rglob("*") if p.is_file()):
        to = target / path.relative_to(source)
        to.parent.mkdir(parents=True, exist_ok=True)
        pack_file(path, to, scrub)


if __name__ == "__main__":
    main()
