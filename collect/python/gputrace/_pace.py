"""Marks where the steps of a PyTorch program end: for gpuprof-collect --pace until it records, for --dump step to the end.
_trial_site/sitecustomize.py calls ``start()`` when a process of it imports PyTorch."""

import os

from ._core_or_pure import core

_STEP = "gputrace.step"


class _Marks:
    """The runner of a Program (_trial_torch.py) that only marks."""
    busy = done = False

    def step_ended(self):
        # It is recorded: its own steps are those of the trace.
        self.done = os.environ.get("GPUPROF_PACE") != "end" and core.enabled()
        if not self.done:
            core.mark(_STEP)

    @staticmethod
    def fault(_):
        return False


def start(torch):
    from ._trial_torch import watch
    # Calls of modules and batches may be parts of a step, such as those of a loop that acts; an update is whole.
    program = watch(torch, lambda found: _Marks() if found.step_kind == "optimizer" else None)
    program.ended = program.leave
