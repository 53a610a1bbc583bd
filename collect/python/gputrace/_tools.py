"""The programs of the suite: where they are, and what they say about a trace."""

import json
import os
import shutil
import subprocess
import threading

_here = os.path.dirname(os.path.abspath(__file__))


def _folders(kind):
    """Bundled in a wheel, in the build, or installed beside this package."""
    for up in ("", "../..", "../../../..", "../../.."):
        yield os.path.normpath(os.path.join(_here, up, kind))


def program(name):
    """The path of a program of the suite. Raises FileNotFoundError."""
    for folder in [os.environ.get("GPUPROF_BIN", "")] + list(_folders("bin")):
        path = os.path.join(folder, name)
        if folder and os.access(path, os.X_OK):
            return path
    path = shutil.which(name)
    if not path:
        raise FileNotFoundError(f"{name} was not found: set GPUPROF_BIN to the folder of the programs")
    return path


def library():
    """The path of the library that records this process, or None."""
    chosen = os.environ.get("GPUPROF_INJECT")
    if chosen:
        return chosen
    for kind in ("lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu"):
        for folder in _folders(kind):
            path = os.path.join(folder, "libgpuprof-inject.so")
            if os.path.exists(path):
                return path
    return None


def run(name, *args, ok=(0,)):
    """Run a program; returns its standard output as text. Raises RuntimeError with its message."""
    done = subprocess.run([program(name), *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          stdin=subprocess.DEVNULL, env=_environment())
    if done.returncode not in ok:
        message = done.stderr.decode(errors="replace").strip().splitlines()
        raise RuntimeError(message[-1] if message else f"{name}: exit status {done.returncode}")
    return done.stdout.decode()


def text(value):
    """VALUE, whatever it holds, as an argument of a program."""
    return value.encode("utf-8", "backslashreplace").decode().replace("\0", " ")


def document(name, *args, ok=(0,)):
    """The JSON of a program as a dict."""
    return json.loads(run(name, "-q", "-f", "json", *args, ok=ok))


def _environment():
    """Ours, without what would make a child of this program part of the recording."""
    return {k: v for k, v in os.environ.items() if k not in ("CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH")}



def write(path, content):
    """The file PATH becomes CONTENT, a text or a binary file: written beside it and renamed, so that a failure keeps what was
    there. What is no file, such as /dev/stdout, is written directly."""
    path = os.path.realpath(path)
    direct = os.path.exists(path) and not os.path.isfile(path)
    name = path if direct else f"{path}.{os.getpid()}-{threading.get_ident()}.tmp"
    try:
        with open(name, "wb" if direct else "xb") as f:
            if isinstance(content, str):
                f.write(content.encode("utf-8", "backslashreplace"))
            else:
                shutil.copyfileobj(content, f)
        if not direct:
            if os.path.exists(path):
                shutil.copymode(path, name)
            os.replace(name, path)
    except BaseException:
        if not direct and os.path.exists(name):
            os.unlink(name)
        raise
