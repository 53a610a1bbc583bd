#!/bin/sh
# The wheel of gputrace, packed from this build.
test_description='gputrace: the wheel'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"
. "$GP_SOURCE/tests/pipe/mock.sh"
if [ -n "$GP_SANITIZED" ] || ! command -v python3 >/dev/null || ! command -v readelf >/dev/null; then
    skip_all='no python3 or readelf, or a sanitizer build'
    test_done
fi
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
unset GPUPROF_OFF GPUPROF_DIR GPUPROF_BIN GPUPROF_INJECT GPUTRACE_PURE PYTHONPATH
backend=$GP_SOURCE/collect/python/backend.py

test_expect_success 'it is packed from a build, twice the same' '
    python3 "$backend" a "${GP_BIN%/bin}" >name && python3 "$backend" b "${GP_BIN%/bin}" >/dev/null &&
    cmp "a/$(cat name)" "b/$(cat name)" && mkdir -p site && python3 -m zipfile -e "a/$(cat name)" site
'

cat >check.py <<'END'
import glob, os, re, sys, zipfile, hashlib, base64
sys.path.insert(0, os.path.dirname(sys.argv[1]))
import backend
name, wheel = sys.argv[2], zipfile.ZipFile("a/" + sys.argv[2])
info = [n for n in wheel.namelist() if n.endswith("/RECORD")][0]
rows = [line.rsplit(",", 2) for line in wheel.read(info).decode().splitlines()]
assert sorted(r[0] for r in rows) == sorted(wheel.namelist())
for path, digest, size in rows:
    data = wheel.read(path)
    if digest:
        assert digest == "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode(), path
        assert int(size) == len(data)
floor = re.search(r"manylinux_(\d+)_(\d+)_", name)
objects = [p for p in glob.glob("site/gputrace/**", recursive=True) if os.path.isfile(p) and open(p, "rb").read(4) == b"\x7fELF"]
along = {os.path.basename(p) for p in objects}
for path in objects:
    needs, libraries = backend.glibc(path)
    assert along.issuperset(libraries) and needs <= (int(floor[1]), int(floor[2])), (path, needs, libraries)
assert "libzstd.so.1" in along and "trace2flame" in along and "trace-hta-mpi" not in along, along
assert any(n.endswith("data/share/man/man1/trace-hta.1") for n in wheel.namelist()) and any("/completions/" in n for n in wheel.namelist())
END
test_expect_success 'its record is right, and its tag is not older than the glibc that any object needs, and all other libraries are along' '
    python3 check.py "$backend" "$(cat name)"
'

cat >use.py <<'END'
import ctypes, os, sys
cuda = ctypes.CDLL(os.environ["GP_MOCK"] + "/libcuda.so.1", mode=ctypes.RTLD_GLOBAL)
import gputrace as gp
here = os.path.realpath("site/gputrace")
assert os.path.realpath(gp.tool("trace-hta")).startswith(here) and os.path.realpath(gp.lib()).startswith(here)
assert os.path.exists(gp.include() + "/gpuprof.h") and os.path.realpath(gp.include()).startswith(here)
assert cuda.cuInit(0) == 0
with gp.session("s") as s:
    with gp.range("r"): pass
assert s.trace and s.hta["tool"] == "trace-hta", s.warnings
sys.argv = ["trace-hta", "--version"]
from gputrace import _programs
_programs.trace_hta()
END
test_expect_success 'unpacked anywhere, it has all that it needs, and entry points run the bundled programs' '
    chmod +x site/gputrace/bin/* && GP_MOCK=$mock PYTHONPATH=site TMPDIR=$PWD PATH=/usr/bin:/bin:$(dirname "$(command -v python3)") \
        python3 use.py >out && grep "trace-hta" out && grep "trace-hta = gputrace._programs:trace_hta" site/*.dist-info/entry_points.txt
'
test_done
