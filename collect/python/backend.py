"""Builds the wheel (PEP 517): CMake makes everything, and this packs it. Nothing of CUDA is in it; libraries that are not on every
Linux are linked statically.

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
STATIC = {"ZSTD_LIBRARY": ("libzstd.a", None), "ISAL_LIBRARY": ("libisal.a", "GPUPROF_ISAL"),
          "SQLITE3_LIBRARY": ("libsqlite3.a", "GPUPROF_SQLITE")}
EVERYWHERE = re.compile(r"^(libc|libm|libdl|libpthread|librt|libz)\.so\.\d+$|^ld-linux")


def _static():
    """Libraries that are there as archives, as options of CMake; one that is not is left out if it can be."""
    for variable, (name, option) in STATIC.items():
        path = subprocess.run(["cc", f"-print-file-name={name}"], stdout=subprocess.PIPE, check=True).stdout.decode().strip()
        if os.path.isabs(path):
            yield f"-D{variable}={path}"
        elif option:
            yield f"-D{option}=OFF"


def _build(folder):
    options = ["-DCMAKE_BUILD_TYPE=Release", "-DBUILD_TESTING=OFF", "-DGPUPROF_GRAPHVIZ=OFF", "-DGPUPROF_SERVE=OFF",
               "-DCMAKE_C_STANDARD_LIBRARIES=-lm", *_static()]
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []  # otherwise CMake's own choice
    subprocess.run(["cmake", *generator, "-S", ROOT, "-B", folder, f"-DPython3_EXECUTABLE={sys.executable}", *options], check=True,
                   stdout=sys.stderr)
    subprocess.run(["cmake", "--build", folder, "--target", "tools", "--parallel", str(os.cpu_count() or 1)], check=True,
                   stdout=sys.stderr)
    return folder


def version():
    with open(os.path.join(ROOT, "CMakeLists.txt"), encoding="utf-8") as f:
        return re.search(r"project\(gpuprof VERSION ([0-9.]+)", f.read()).group(1)


def _programs(build):
    return sorted(p for p in os.listdir(os.path.join(build, "bin")) if re.fullmatch(r"(gpuprof|trace)[a-z0-9-]*", p))


def _objects(build):
    """(path, name in the wheel) of what is compiled."""
    yield from ((os.path.join(build, "bin", p), f"gputrace/bin/{p}") for p in _programs(build))
    for path, name in ((f"{build}/lib/libgpuprof-inject.so", "gputrace/lib/libgpuprof-inject.so"),
                       (f"{build}/lib/gpuprof-bench", "gputrace/lib/gpuprof-bench"),
                       (f"{build}/python/gputrace/_core.abi3.so", "gputrace/_core.abi3.so")):
        if os.path.exists(path):
            yield path, name


def glibc(path):
    """The newest version of glibc that PATH needs, as (2, 34), and the libraries that it needs besides."""
    text = subprocess.run(["readelf", "-V", "-d", path], stdout=subprocess.PIPE, check=True,
                          env={**os.environ, "LC_ALL": "C"}).stdout.decode()
    versions = [tuple(map(int, v.split("."))) for v in re.findall(r"\bGLIBC_(2\.\d+)", text)]
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", text)
    return max(versions, default=(2, 0)), [n for n in needed if not EVERYWHERE.match(n)]


def tag(build):
    """manylinux of the oldest glibc that all objects run with; plain linux where one needs a library that is not everywhere."""
    found = [glibc(path) for path, _ in _objects(build)]
    newest = max((v for v, _ in found), default=(2, 0))
    machine = sysconfig.get_platform().split("-", 1)[1].replace("-", "_")
    if any(needed for _, needed in found):
        return f"linux_{machine}"
    return f"manylinux_{newest[0]}_{newest[1]}_{machine}"


def _stripped(path, scratch):
    to = os.path.join(scratch, os.path.basename(path))
    done = subprocess.run(["strip", "--strip-unneeded", "-o", to, path], stderr=subprocess.DEVNULL)
    with open(to if done.returncode == 0 else path, "rb") as f:
        return f.read()


def _files(build):
    """(name, bytes, executable) of everything but the metadata."""
    package = os.path.join(HERE, "gputrace")
    names = sorted(os.listdir(package)) + [f"_trial_site/{name}" for name in sorted(os.listdir(os.path.join(package, "_trial_site")))]
    for name in names:
        if name.endswith((".py", "py.typed")):
            with open(os.path.join(package, name), "rb") as f:
                yield f"gputrace/{name}", f.read(), False
    with open(os.path.join(ROOT, "collect", "gpuprof.h"), "rb") as f:
        yield "gputrace/include/gpuprof.h", f.read(), False
    with tempfile.TemporaryDirectory() as scratch:
        for path, name in _objects(build):
            yield name, _stripped(path, scratch), True


def _metadata(wheel_tag, build):
    scripts = "".join(f"{p} = gputrace._programs:{p.replace('-', '_')}\n" for p in _programs(build))
    with open(os.path.join(ROOT, "LICENSE"), "rb") as f:
        yield "licenses/LICENSE", f.read()
    yield "METADATA", (f"Metadata-Version: 2.1\nName: gputrace\nVersion: {version()}\nRequires-Python: >=3.10\n"
                       "Summary: Measure and trace GPU work from inside a Python program\n").encode()
    yield "WHEEL", (f"Wheel-Version: 1.0\nGenerator: gpuprof\nRoot-Is-Purelib: false\nTag: {wheel_tag}\n").encode()
    yield "entry_points.txt", f"[console_scripts]\n{scripts}\n[pytest11]\ngputrace = gputrace.pytest_plugin\n".encode()


def make(folder, build):
    """Pack the wheel; returns its name. The same build gives the same bytes."""
    abi = "cp310-abi3" if any(n.endswith(".abi3.so") for _, n in _objects(build)) else "py3-none"
    wheel_tag = f"{abi}-{tag(build)}"
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
        for path, data, executable in _files(build):
            put(path, data, executable)
        for path, data in _metadata(wheel_tag, build):
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
