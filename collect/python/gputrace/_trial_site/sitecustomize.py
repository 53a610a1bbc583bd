"""Starts trials in each Python process of gpuprof-try, or marks of steps in one of gpuprof-collect --pace, when it imports PyTorch, and
then the sitecustomize that it hides."""

import importlib.machinery
import importlib.util
import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))


class _Finder:
    """Finds PyTorch as others do, and hooks it once it is there."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(_Finder)
        spec = importlib.util.find_spec("torch")
        if spec and spec.loader:
            run = spec.loader.exec_module

            def exec_module(module):
                run(module)
                package = os.path.dirname(os.path.dirname(_here))
                if package not in sys.path:
                    sys.path.append(package)
                if os.environ.get("GPUPROF_TRY_PLAN"):
                    from gputrace import _trial_hook as body
                else:
                    from gputrace import _pace as body
                body.start(module)
            spec.loader.exec_module = exec_module
        return spec


def _hidden():
    """Runs the sitecustomize that would have been found without this folder."""
    others = [p for p in sys.path if os.path.abspath(p or ".") != _here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec and spec.loader:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


if os.environ.get("GPUPROF_TRY_PLAN") or os.environ.get("GPUPROF_PACE"):
    sys.meta_path.insert(0, _Finder)
_hidden()
