"""Rows of what the programs of the suite say, as small objects that do not change: each attribute is a member of
their JSON. Made from the records of the programs by tests/schema/generated.t --update."""

from dataclasses import dataclass
from typing import Optional


@dataclass(frozen=True)
class Kernel:
    """One of ``kernels`` of trace-hta."""
    name: str
    class_: str  #: the kind of work; in CSV and JSON: compute, communication or memory
    count: int
    total_ns: int  #: sum of durations
    min_ns: int
    max_ns: int
    mean_ns: float  #: total_ns / count
    stddev_ns: float  #: population standard deviation
    share_pct: float  #: of the durations of all GPU events
    p50_ns: int  #: within 1/16
    p99_ns: int  #: within 1/16
    label: str  #: short name
    kind: str  #: gemm, attention, elementwise, ...
    tensor_core: Optional[bool]  #: by name; unknown if the name does not show it, and of copies and sets
    occupancy_pct: Optional[float]  #: estimated, weighted by time
    waves: Optional[float]  #: blocks / blocks that fit at once, weighted by time
    blocks_min: Optional[int]  #: smallest grid
    blocks_max: Optional[int]  #: largest grid
    bytes: Optional[int]  #: of copies and sets


@dataclass(frozen=True)
class RangeTime:
    """One of ``ranges`` of trace-hta."""
    name: Optional[str]  #: null: outside of any
    calls: int  #: calls that launched GPU events
    gpu_events: int  #: GPU events launched
    gpu_ns: int  #: sum of their durations
    share_pct: float  #: of the durations of all GPU events
    host_ns: Optional[int]  #: sum of the durations of those calls
    delay: Optional[dict]  #: from the end of the launch to the start


@dataclass(frozen=True)
class Operator:
    """One of ``operators`` of trace-hta."""
    name: Optional[str]  #: null: outside of any
    calls: int  #: calls that launched GPU events
    gpu_events: int  #: GPU events launched
    gpu_ns: int  #: sum of their durations
    share_pct: float  #: of the durations of all GPU events
    host_ns: Optional[int]  #: sum of the durations of those calls
    delay: Optional[dict]  #: from the end of the launch to the start
