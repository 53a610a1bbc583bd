#!/usr/bin/env python3
"""check.py smi TRACE.json LOG.csv: the gauges of a trace at each time of nvidia-smi's log, while there was work.
check.py energy TRACE.json LOG: its energy against the counter that another program read in the same time.
check.py share TRACE.json: what processes of others used."""
import bisect
import collections
import datetime
import json
import statistics
import sys

HALF_NS = 500000000
TOLERANCES = [("SM clock", 15), ("memory clock", 0), ("power", 15), ("temperature", 1), ("clock reasons", 0)]


class Trace:
    """The gauges of the only GPU, name -> [(ns of CLOCK_REALTIME, value)], and its work as [(begin, end)]."""

    def __init__(self, path):
        with open(path) as f:
            trace = json.load(f)
        base, self.gauges, self.work = trace["baseTimeNanoseconds"], collections.defaultdict(list), []
        for e in trace["traceEvents"]:
            begin = base + round(e.get("ts", 0) * 1000)
            if e["ph"] == "C" and e.get("cat") == "device":
                self.gauges[e["name"]] += [(begin, value) for value in e["args"].values()]
            elif e["ph"] == "X" and e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
                self.work.append((begin, begin + round(e["dur"] * 1000)))
        for rows in self.gauges.values():
            rows.sort()
        self.begin, self.end = min(w[0] for w in self.work), max(w[1] for w in self.work)

    def at(self, name, ns):
        i = bisect.bisect_right(self.gauges[name], (ns, float("inf")))
        return self.gauges[name][i - 1][1] if i else None

    def mean(self, name, begin, end):
        rows, whole, area = self.gauges[name], 0, 0
        for (a, value), (b, _) in zip(rows, rows[1:] + [(end, 0)]):
            span = max(0, min(b, end) - max(a, begin))
            whole, area = whole + span, area + value * span
        return area / whole if whole else float("nan")


def on_line(points, ns):
    """The value at a time between two points."""
    i = min(max(bisect.bisect(points, (ns, 0)), 1), len(points) - 1)
    (a, x), (b, y) = points[i - 1], points[i]
    return x + (y - x) * (ns - a) / max(1, b - a)


def smi_rows(path, begin, end):
    for line in open(path):
        cells = [cell.strip() for cell in line.split(",")]
        try:
            at = datetime.datetime.strptime(cells[0], "%Y/%m/%d %H:%M:%S.%f").replace(tzinfo=datetime.timezone.utc)
            row = [float(cell) for cell in cells[1:5]] + [int(cells[5], 16)]
        except (ValueError, IndexError):
            continue  # it was ended within a line
        if begin <= at.timestamp() * 1e9 <= end:
            yield round(at.timestamp() * 1e9), row


def smi(trace, path):
    rows = list(smi_rows(path, trace.begin + HALF_NS, trace.end - HALF_NS))
    if not rows:
        sys.exit("nvidia-smi's log has no row of that time")
    for i, (name, tolerance) in enumerate(TOLERANCES):
        both = [(row[i], trace.at(name, ns)) for ns, row in rows]
        print("%-14s nvidia-smi %.6g, trace %.6g at the same %d times; %.1f%% of them within %g, mostly %s" % (
            name, statistics.mean(a for a, _ in both), statistics.mean(b for _, b in both), len(both),
            statistics.mean(abs(a - b) <= tolerance for a, b in both) * 100, tolerance,
            collections.Counter(b for _, b in both).most_common(3)))
    print("PCIe received  %.4g bytes per second" % trace.mean("PCIe received", trace.begin + 2 * HALF_NS, trace.end - 2 * HALF_NS))


def energy(trace, path):
    rows, log = trace.gauges["energy"], [tuple(map(int, line.split())) for line in open(path)]
    for name, a, b in (("readings", rows[0][0], rows[-1][0]), ("kernels", trace.begin, trace.end)):
        ours, counter = on_line(rows, b) - on_line(rows, a), (on_line(log, b) - on_line(log, a)) / 1e3
        print("energy from first to last of the %s, %.3f s: trace %.1f J, counter %.1f J, %+.3f%%" % (
            name, (b - a) / 1e9, ours, counter, (ours / counter - 1) * 100))
    a, b = rows[0][0], rows[-1][0]
    print("samples of power over the readings: %.1f J" % (trace.mean("power", a, b) * (b - a) / 1e9))


def share(trace):
    for name in sorted(trace.gauges):
        if name.startswith("utilization by"):
            rows = trace.gauges[name]
            print("%s: %.2f%% of %.2f s" % (name, trace.mean(name, rows[0][0], rows[-1][0]), (rows[-1][0] - rows[0][0]) / 1e9))


if __name__ == "__main__":
    {"smi": smi, "energy": energy, "share": share}[sys.argv[1]](Trace(sys.argv[2]), *sys.argv[3:])
