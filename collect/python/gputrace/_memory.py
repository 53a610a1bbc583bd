"""What fills the memory of a GPU in a block, and who holds it at the peak."""

import os
import pickle
import sys
import tempfile
from dataclasses import dataclass
from typing import Optional, Tuple

from . import _device, _tools
from ._session import Session


@dataclass(frozen=True)
class Holder:
    """Who holds memory at the peak."""
    key: str  #: the place that holds it, as well as it is known
    stack: Tuple[str, ...]  #: innermost first; empty: none was recorded
    category: Optional[str]
    blocks: int
    bytes: int


@dataclass(frozen=True)
class Moment:
    """Allocated bytes at a time in ns, on the clock of the recording."""
    time_ns: int
    bytes: int


class Memory:
    """What ``memory()`` gives: a context manager and, afterwards, its results."""

    def __init__(self, entries=1_000_000):
        self._entries, self._state, self._document = entries, "new", None
        self._session = self._path = None
        self._warnings = []

    def __enter__(self):
        if self._state != "new":
            raise RuntimeError("memory() was used before: make a new one")
        self._state = "open"
        found = _device.torch()
        if found and hasattr(found.cuda.memory, "_record_memory_history"):
            found.cuda.memory._record_memory_history(max_entries=self._entries)
        else:
            self._session = Session("memory", memory=True)
            self._session.__enter__()
        return self

    def __exit__(self, *exception):
        self._state = "ended"
        if self._session:
            self._session.__exit__(*exception)
            self._path = self._session.trace
            self._warnings = [w for w in self._session._warnings]
            return
        memory = sys.modules["torch"].cuda.memory
        snapshot = memory._snapshot()
        memory._record_memory_history(enabled=None)
        handle, self._path = tempfile.mkstemp(prefix="gputrace-memory-", suffix=".pickle")
        with os.fdopen(handle, "wb") as f:
            pickle.dump(snapshot, f)

    def _device(self):
        document = self.document
        return max(document["devices"], key=lambda d: d["peak_bytes"], default=None) if document else None

    @property
    def document(self) -> Optional[dict]:
        """What ``trace-memory --top 0 -f json`` says; None where nothing was recorded."""
        if self._state != "ended":
            raise RuntimeError("memory() has not ended: its results are there after the block")
        if self._document is None and self._path:
            try:
                self._document = _tools.document("trace-memory", "-n", "0", "--", self._path)
            except RuntimeError as error:
                self._warnings.append(str(error))
                self._path = None
        return self._document

    @property
    def peak_bytes(self) -> Optional[int]:
        """The most memory allocated at once, on the device with the highest peak."""
        device = self._device()
        return device["peak_bytes"] if device else None

    @property
    def timeline(self) -> Tuple[Moment, ...]:
        """Allocated bytes over time, as many points as ``trace-memory`` gives."""
        document, device = self.document, self._device()
        if not device:
            return ()
        index = document["devices"].index(device)
        return tuple(Moment(p["time_ns"], p["allocated_bytes"]) for p in document["series"] if p["device_index"] == index)

    @property
    def holders(self) -> Tuple[Holder, ...]:
        """Who holds what at the peak, the largest first."""
        document = self.document
        rows = document["holders"] if document else []
        return tuple(Holder(h["key"], tuple(h["stack"]), h["category"], h["blocks"], h["bytes"]) for h in rows)

    @property
    def path(self) -> Optional[str]:
        """The snapshot or trace, for trace-memory."""
        return self._path

    @property
    def warnings(self) -> Tuple[str, ...]:
        self.document
        return tuple(self._warnings)

    def html(self, path=None) -> str:
        """The report of ``trace-memory`` as a page; written to PATH if given."""
        if not self.document:
            raise RuntimeError("nothing was recorded: " + "; ".join(self._warnings))
        text = _tools.run("trace-memory", "-q", "-f", "html", "--", self._path)
        if path is not None:
            _tools.write(path, text)
        return text

    def __str__(self):
        if self._state != "ended":
            return "memory, not ended"
        if self.peak_bytes is None:
            return "memory: nothing was recorded" + "".join(f"\nnote: {w}" for w in self.warnings)
        lines = [f"peak memory {self.peak_bytes:,} bytes, held by:"]
        lines += [f"  {h.bytes:>16,} bytes  {h.blocks:6d} blocks  {h.key}"
                  for h in self.holders[:5]]
        return "\n".join(lines + [f"note: {w}" for w in self.warnings])


def memory(entries: int = 1_000_000) -> Memory:
    """Record what is allocated in a block::

        with gputrace.memory() as m:
            step()
        m.peak_bytes, m.holders, m.timeline

    With PyTorch, its allocator keeps the last ``entries`` allocations with their stacks; otherwise allocations of CUDA are
    recorded in a trace.
    """
    return Memory(entries)
