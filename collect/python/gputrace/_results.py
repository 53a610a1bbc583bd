"""What the programs of the suite say, as small objects that do not change."""

from dataclasses import asdict, dataclass, field, fields
from typing import Optional, Tuple

from ._rows import Advice, Change, Finding, Kernel, Operator, RangeTime


@dataclass(frozen=True)
class Cost:
    """What a session has cost the program, besides the recording of each launch and range."""
    begin_ns: int  #: attaching, and starting to record
    end_ns: int  #: until the trace was there
    trace_bytes: int


@dataclass(frozen=True)
class Comparison:
    """Two sessions, the first being the baseline."""
    comparable: bool
    verdict: str
    text: str
    unit: str  #: of the times: "step" or "trace"
    baseline_ns: Optional[int]  #: time per step, otherwise GPU time of the trace; wall time where a session has no trace
    current_ns: Optional[int]
    speedup: Optional[float]  #: baseline over current; above 1 the current one is faster
    speedup_low: Optional[float]  #: ends of the interval, where there are enough steps for one
    speedup_high: Optional[float]
    memory_change_bytes: Optional[int]
    kernels: Tuple[Change, ...]
    document: dict = field(repr=False, compare=False)

    def __str__(self):
        lines = [self.text or self.verdict]
        if self.speedup is not None:
            interval = ""
            if self.speedup_low is not None:
                interval = f" ({self.speedup_low:.3f} to {self.speedup_high:.3f})"
            lines.append(f"speed-up {self.speedup:.3f}{interval}, per {self.unit}")
        if self.memory_change_bytes is not None:
            lines.append(f"peak memory {self.memory_change_bytes:+,} bytes")
        for k in self.kernels[:5]:
            lines.append(f"  {k.change_ns / 1e6:+10.3f} ms  {k.change_type:<12} {k.name[:80]}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Classification:
    """What bounds a function."""
    regime: str  #: "launch", "memory", "compute", "communication", "transfer", "neither" or "unknown"
    time_ns: Optional[int]  #: one call, on the GPU
    share_of_ceiling: Optional[float]  #: of the rate that bounds it, 0 to 1
    flops_per_s: Optional[float]
    bytes_per_s: Optional[float]
    light: bool  #: from CUDA events, without a trace
    warnings: Tuple[str, ...]

    def __str__(self):
        time = f"{self.time_ns / 1e3:.1f} us per call, " if self.time_ns is not None else ""
        share = f", {100 * self.share_of_ceiling:.0f}% of the ceiling" if self.share_of_ceiling is not None else ""
        return f"{time}bound by {self.regime}{share}"


def _rows(cls, objects):
    """What a program has left out, being another version, is None."""
    names = [(f.name, f.name.rstrip("_")) for f in fields(cls)]
    return tuple(cls(**{name: row.get(member) for name, member in names}) for row in objects)


def kernels(hta):
    return _rows(Kernel, hta["kernels"])


def ranges(hta):
    return _rows(RangeTime, hta["ranges"])


def operators(hta):
    rows = _rows(Operator, hta["operators"])
    return rows if any(r.name for r in rows) else ()


def findings(hta):
    return _rows(Finding, hta["findings"])


def advice(suggest):
    return _rows(Advice, suggest["suggestions"])


def comparison(diff, memory_change):
    base, current = diff["baseline"], diff["current"]
    total = diff["total"]
    by_step = diff["unit"] == "step" and base.get("step_ns") and current.get("step_ns")
    before, after = (base["step_ns"], current["step_ns"]) if by_step else (total["baseline_ns"], total["current_ns"])
    low = high = None
    for metric in diff.get("metrics") or []:
        if metric.get("name") == "step" and metric.get("ci_low_pct") is not None:
            high, low = 1 / (1 + metric["ci_low_pct"] / 100), 1 / (1 + metric["ci_high_pct"] / 100)
    rows = _rows(Change, diff["operations"])
    summary = diff["summary"]
    text = summary.get("sentence") or "; ".join(str(r) for r in diff.get("reasons") or [])
    return Comparison(diff["comparable"], summary["verdict"], text, diff["unit"], before, after,
                      before / after if before and after else None, low, high, memory_change, rows, diff)


def comparison_of_times(baseline, current):
    """Of two sessions, of which one at least has no trace: what both have measured."""
    steps = baseline.iterations and current.iterations
    each = (baseline.iterations, current.iterations) if steps else (1, 1)
    parts, pair = [], None
    for what, attribute in (("GPU time", "gpu_ns"), ("wall time", "total_ns"), ("processor time", "cpu_ns")):
        before, after = getattr(baseline, attribute), getattr(current, attribute)
        if before is None or after is None:
            continue
        before, after = round(before / each[0]), round(after / each[1])
        if attribute == "total_ns":
            pair = before, after
        change = f" ({100 * (after - before) / before:+.1f}%)" if before else ""
        parts.append(f"{what} {before / 1e6:.3f} -> {after / 1e6:.3f} ms{change}")
    lacks = [f"session {s.name!r} has no trace: {'; '.join(s.warnings) or 'none was recorded'}"
             for s in (baseline, current) if not s.trace]
    peaks = baseline.peak_bytes, current.peak_bytes
    text = "; ".join([", ".join(parts) or "nothing was measured on both sides", "kernels are not compared", *lacks])
    before, after = pair or (None, None)
    return Comparison(pair is not None, "inconclusive" if pair else "not_comparable", text, "step" if steps else "trace", before,
                      after, before / after if before and after else None, None, None,
                      peaks[1] - peaks[0] if None not in peaks else None, (), {})


def plain(value):
    """For JSON."""
    return {name.rstrip("_"): member for name, member in asdict(value).items()}
