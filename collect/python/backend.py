"""Builds the wheel (PEP 517): CMake makes everything, and this packs it. Nothing of CUDA is in it; libraries that are not on every
Linux come along.

    python3 collect/python/backend.py FOLDER [BUILD]     # a wheel in FOLDER, from the build in BUILD or a fresh one
"""

import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
EVERYWHERE = re.compile(r"^(libc|libm|libdl|libpthread|librt)\.so\.\d+$|^ld-linux")


def _build(folder):
    options = ["-DCMAKE_BUILD_TYPE=Release", "-DBUILD_TESTING=OFF", "-DGPUPROF_MPI=OFF"]
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []  # otherwise CMake's own choice
    subprocess.run(["cmake", *generator, "-S", ROOT, "-B", folder, f"-DPython3_EXECUTABLE={sys.executable}", *options], check=True,
                   stdout=sys.stderr)
    subprocess.run(["cmake", "--build", folder, "--target", "tools", "--parallel", str(os.cpu_count() or 1)], check=True,
                   stdout=sys.stderr)
    return folder


def version():
    with open(os.path.join(ROOT, "CMakeLists.txt"), encoding="utf-8") as f:
        return re.search(r"project\(gpuprof VERSION ([0-9.]+)", f.read()).group(1)


def _place(path):
    """Where a file below the prefix of an installation is in the wheel."""
    name, top = os.path.basename(path), path.split("/", 1)[0]
    if "/dist-packages/" in path:
        return path.split("/dist-packages/", 1)[1]
    if top == "share":
        return f"gputrace-{version()}.data/data/{path}"
    if top in ("bin", "include"):
        return "gputrace/" + path
    return "gputrace/lib/" + name if name in ("gpuprof-bench", "libgpuprof-inject.so") else "gputrace/lib/gpuprof/" + name


def _installed(build, prefix):
    """What the wheel has, as {name: path}, from an installation below PREFIX with its libraries, without that for one MPI."""
    subprocess.run(["cmake", "--install", build, "--prefix", prefix, "--strip"], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "GPUPROF_BUNDLE": "1", "DESTDIR": ""})
    paths = (os.path.join(folder, name) for folder, _, names in os.walk(prefix) for name in names if "trace-hta-mpi" not in name)
    return {_place(os.path.relpath(path, prefix)): path for path in paths}


def glibc(path):
    """The newest version of glibc that PATH needs, as (2, 34), and the libraries that it needs besides."""
    text = subprocess.run(["readelf", "-V", "-d", path], stdout=subprocess.PIPE, check=True,
                          env={**os.environ, "LC_ALL": "C"}).stdout.decode()
    versions = [tuple(map(int, v.split("."))) for v in re.findall(r"\bGLIBC_(2\.\d+)", text)]
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", text)
    return max(versions, default=(2, 0)), [n for n in needed if not EVERYWHERE.match(n)]


def tag(files):
    """manylinux of the oldest glibc that all objects run with; plain linux where one needs a library that is not along."""
    found = [glibc(path) for name, path in files.items() if re.match(r"gputrace/(bin|lib)/|.*\.so$", name)]
    newest = max((v for v, _ in found), default=(2, 0))
    machine = sysconfig.get_platform().split("-", 1)[1].replace("-", "_")
    along = {os.path.basename(name) for name in files}
    if any(n not in along for _, needed in found for n in needed):
        return f"linux_{machine}"
    return f"manylinux_{newest[0]}_{newest[1]}_{machine}"


def _metadata(wheel_tag, files):
    programs = sorted(name[len("gputrace/bin/"):] for name in files if name.startswith("gputrace/bin/"))
    scripts = "".join(f"{p} = gputrace._programs:{p.replace('-', '_')}\n" for p in programs)
    with open(os.path.join(ROOT, "LICENSE"), "rb") as f:
        yield "licenses/LICENSE", f.read()
    yield "METADATA", (f"Metadata-Version: 2.1\nName: gputrace\nVersion: {version()}\nRequires-Python: >=3.10\n"
                       "Summary: Measure and trace GPU work from inside a Python program\n").encode()
    yield "WHEEL", (f"Wheel-Version: 1.0\nGenerator: gpuprof\nRoot-Is-Purelib: false\nTag: {wheel_tag}\n").encode()
    yield "entry_points.txt", f"[console_scripts]\n{scripts}\n[pytest11]\ngputrace = gputrace.pytest_plugin\n".encode()


def make(folder, build):
    """Pack the wheel; returns its name. The same build gives the same bytes."""
    with tempfile.TemporaryDirectory() as prefix:
        return _pack(folder, _installed(build, prefix))


def _pack(folder, files):
    wheel_tag = ("cp310-abi3-" if any(name.endswith(".abi3.so") for name in files) else "py3-none-") + tag(files)
    name, info = f"gputrace-{version()}-{wheel_tag}.whl", f"gputrace-{version()}.dist-info"
    record = []
    with zipfile.ZipFile(os.path.join(folder, name), "w", zipfile.ZIP_DEFLATED) as z:
        def put(path, data, executable=False):
            entry = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            z.writestr(entry, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{path},sha256={digest},{len(data)}\n")
        for path in sorted(files):
            with open(files[path], "rb") as f:
                put(path, f.read(), os.access(files[path], os.X_OK))
        for path, data in _metadata(wheel_tag, files):
            put(f"{info}/{path}", data)
        record.append(f"{info}/RECORD,,\n")
        put(f"{info}/RECORD", "".join(record).encode())
    return name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    given = (config_settings or {}).get("build")
    if given:
        return make(wheel_directory, os.path.abspath(given))
    with tempfile.TemporaryDirectory() as scratch:
        return make(wheel_directory, _build(scratch))


def build_sdist(sdist_directory, config_settings=None):
    raise RuntimeError("gputrace is built from a checkout of gpuprof: there is no source distribution")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    os.makedirs(sys.argv[1], exist_ok=True)
    print(build_wheel(sys.argv[1], {"build": sys.argv[2]} if len(sys.argv) == 3 else None))
