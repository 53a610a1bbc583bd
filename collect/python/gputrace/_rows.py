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


@dataclass(frozen=True)
class Finding:
    """One of ``findings`` of trace-hta."""
    id: str  #: stable identifier of the finding
    rank: Optional[int]  #: none: all
    time_ns: int  #: GPU time affected, over all devices
    share_pct: float  #: of the span of the affected devices
    text: str  #: one sentence with the numbers
    where: Optional[str]
    part_of: Optional[str]  #: the finding above that explains this time, too: only findings without one may be added up
    begin_ns: Optional[int]  #: where it is seen best: the longest gap of a cause, the slow step
    end_ns: Optional[int]


@dataclass(frozen=True)
class Advice:
    """One of ``suggestions`` of trace-suggest."""
    rule: str  #: its name
    type: str
    priority: str
    operation: Optional[str]  #: kernel, operator, range or call; null: the step
    place: Optional[str]  #: line of the program that makes the calls; null: their stacks are not known
    description: str  #: what is there, with its numbers
    evidence: dict
    action: str  #: what to do
    current_ns: int  #: what it takes now per step, on any resource
    saving_ns: int  #: expected, as text prints it; priorities follow it
    saving_low_ns: int  #: wall time saved per step, at least
    saving_high_ns: int  #: wall time saved per step, at most
    width_pct: float  #: of the interval, in percent of the step without the recorder
    ceiling_ns: int  #: wall time saved if the resource were free
    resource_low_ns: int  #: saved on the resource itself, at least
    resource_high_ns: int  #: saved on the resource itself, at most
    speedup_low: float  #: of the step; 1 where nothing is claimed
    speedup_high: float  #: the same, at most
    formula: str  #: how the saving was worked out, with the numbers filled in
    assumes: Optional[str]  #: null: nothing beyond what the trace shows
    check: str  #: how to find out whether it was right
    to_know: Optional[str]  #: what to record for a narrower interval


@dataclass(frozen=True)
class Change:
    """One of ``operations`` of trace-diff."""
    name: str  #: full name, from the baseline if present
    change_type: str
    baseline: Optional[dict]  #: null: not there
    current: Optional[dict]  #: null: not there
    change_ns: int  #: GPU time, current minus baseline total_ns
    change_pct: Optional[float]  #: change / baseline; null: nothing in the baseline
    p_value: Optional[float]  #: 0 to 1; null: not tested
    q_value: Optional[float]  #: p-value, corrected for all tested operations
    ci_low_pct: Optional[float]  #: interval of the typical change, 1 - alpha; null: unknown
    ci_high_pct: Optional[float]
    estimate_pct: Optional[float]  #: the typical change
    significant: bool  #: not by chance, beyond the noise, and large enough to matter
    test: str  #: the test
    baseline_samples: int  #: that the test had
    current_samples: int
    within_run: bool  #: from one run per side: the interval does not cover differences between runs
    samples_needed: Optional[int]  #: steps (of figures of the whole: runs) per side that would decide it; null: not applicable
    why: Optional[str]  #: reason for the verdict
    label: str  #: short name
    key: str  #: key by which both sides were matched
    class_: Optional[str]  #: --by kernel: the kind of work
    matched_by: Optional[str]  #: --by kernel: what both sides share
    count_changed: bool  #: calls per step differ
    retiled: bool  #: other names for the same key on the sides
    reshaped: bool  #: other grids on the sides
    relaunched: bool  #: launched singly on one side, by graphs on the other
    block: Optional[int]  #: index into blocks
    count_effect_ns: int  #: part of the change of share_ns that comes from more or fewer calls; the three effects sum to it
    percall_effect_ns: int  #: effect of longer or shorter calls
    overlap_effect_ns: Optional[int]  #: effect of less or more overlap
    baseline_samples_ns: list  #: GPU time in each step used
    current_samples_ns: list


@dataclass(frozen=True)
class Trial:
    """One of ``trials`` of gpuprof-try."""
    change: str  #: its name
    rule: Optional[str]  #: of trace-suggest, which asked for it; null: none did
    mode: str  #: switched between steps of one process, or by pairs of processes
    status: str
    reason: Optional[str]  #: why it was not measured
    off_ns: Optional[int]  #: median step without the change
    on_ns: Optional[int]  #: median step with it
    saving_ns: Optional[int]  #: per step, from the differences of pairs
    low_ns: Optional[int]  #: low end of the 95% interval
    high_ns: Optional[int]  #: high end of it
    pairs: int  #: of blocks, or of processes
    predicted_low_ns: Optional[int]  #: by the rule, at least
    predicted_high_ns: Optional[int]  #: by the rule, at most
    peak_bytes_off: Optional[int]  #: of PyTorch's allocator during the blocks; null: no GPU
    peak_bytes_on: Optional[int]
    difference: Optional[dict]  #: null: not compared; notes say why
    permanent: str  #: what makes the change permanent, a line each
    may_change: str  #: what else it may change
    what_if: bool  #: not a change to make, but the upper end of what one could save
    steps_per_block: Optional[int]
    outliers: int  #: pairs far from the others; they count
    drift_pct: Optional[float]  #: by how much steps without the change have grown meanwhile; null: not by more than chance
    changes: list  #: of all together: which; otherwise none
    notes: list
    samples: list
