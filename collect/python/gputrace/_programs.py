"""The programs of the suite as entry points of a wheel: each becomes the bundled program."""

import os
import sys

from . import _tools


def __getattr__(name):
    if name.startswith(("trace", "gpuprof")):
        program = name.replace("_", "-")

        def run():
            path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", program)
            os.execv(path if os.access(path, os.X_OK) else _tools.program(program), [program, *sys.argv[1:]])
        return run
    raise AttributeError(name)
