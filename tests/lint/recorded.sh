#!/bin/sh
# What was recorded and is kept in the tree holds no path of the machine that recorded it, no name of its user or host, and no
# serial number of its GPUs. lint.words looks at what we wrote; this one unpacks, too.
. "$(dirname "$0")/lib.sh"

command -v zstd >/dev/null 2>&1 || skip_all "zstd is missing"

recorded() {
    our_files | grep -E '^samples/|^tests/(fuzz/corpus|golden|cli/data|timeline|unit)/' |
        grep -Ev '\.(sh|py|md|c|h|cu|js|t)$' | tr '\n' '\0' | xargs -0 -r python3 "$lint/recorded.py"
}

# A block of a trace with one text in it, of a codec: header without a good checksum, which does not matter here.
plant() {
    mkdir -p "$scratch/kept"
    cd "$scratch/kept" || exit 1
    printf '{"a": "/ho%s/me/run.py", "b": "/demo/home/x"}' me >path.json
    gzip -c path.json >path.gz
    zstd -qc path.json >path.zst
    printf '{"traceName": "/tmp/tm%s.json"}' pk5q1_x2z >run.json
    printf '{"command": "/tm%s/collected"}' p/mine >folder.json
    printf '{"traceName": "/tmp/tmpxxxxxxxx.json"}' >clean.json
    printf '"uuid": "GPU-%s-4c8e-11ee-8000-0123456789ab"' 1f3a9b2c >uuid.json
    python3 - path.json <<'END'
import struct, sys, zlib
text = open(sys.argv[1], "rb").read()
for name, codec, payload in ("plain", 0, text), ("packed", 2, zlib.compress(text)):
    head = struct.pack("<IIIHBBIIIQI", 0x4B425047, len(payload), len(text), 1, codec, 0, 1, 0, 0, 0, 0)
    with open(name + ".trace", "wb") as f:
        f.write(b"\x89GPT\r\n\x1a\n\x01\0\x10\0\0\0\0\0" + head + payload)
END
    python3 "$lint/recorded.py" ./*
}

clean "samples and corpora hold nothing of the machine that recorded them" recorded
for fault in "path.json: /ho.e/me/run.py" "path.gz: /ho.e/me" "path.zst: /ho.e/me" "plain.trace: /ho.e/me" "packed.trace: /ho.e/me" \
    "run.json: /tmp/tm" "folder.json: /tmp/mine/c" "uuid.json: GPU-1f3a"; do
    finds "planted: $fault" "$fault" eval '(plant)'
done
clean "what was made neutral passes" eval '(plant | grep clean.json; :)'
done_checking
