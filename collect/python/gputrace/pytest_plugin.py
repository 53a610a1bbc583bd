"""pytest's plugin: what GPU work a piece of a test may do, counted, so that no other work on the GPU disturbs it.

    def test_step(gpu_cost, model):
        with gpu_cost(launches=12, syncs=0):
            model(x)
        with gpu_cost():                # as in the baseline beside the test, which pytest --gpu-cost-update writes
            model(x)

    @pytest.mark.gpu_cost(copies=0)     # all of the test
    def test_decode(model): ...

A limit is the most that is allowed. The counts are kernels, launches, copies, copy_bytes, pageable_copies, sets and syncs (calls with
which the host synchronizes). Without a GPU, or without CUPTI, such a test is skipped with the reason.
"""

import json
import os

import pytest

from . import _tools
from ._core_or_pure import core
from ._session import Session

_RANGE = "gputrace.gpu_cost"
COUNTS = ("kernels", "launches", "copies", "copy_bytes", "pageable_copies", "sets", "syncs")

# Of what was launched, or waited for, within the block: the session waits for the GPU behind it.
_WITHIN = f"SELECT min(start_ns) AS since, max(end_ns) AS until FROM ranges WHERE name = '{_RANGE}'"
_SQL = f"""WITH block AS ({_WITHIN}),
    k AS (SELECT e.id FROM kernels AS e JOIN launches AS l ON e.call = l.id, block WHERE l.start_ns BETWEEN since AND until),
    c AS (SELECT e.bytes, e.name FROM copies AS e JOIN launches AS l ON e.call = l.id, block WHERE l.start_ns BETWEEN since AND until),
    s AS (SELECT e.id FROM sets AS e JOIN launches AS l ON e.call = l.id, block WHERE l.start_ns BETWEEN since AND until),
    w AS (SELECT id FROM calls, block WHERE name LIKE '%Synchronize%' AND start_ns BETWEEN since AND until)
    SELECT (SELECT count(*) FROM k), (SELECT count(*) FROM launches, block WHERE start_ns BETWEEN since AND until),
        (SELECT count(*) FROM c), (SELECT coalesce(sum(bytes), 0) FROM c), (SELECT count(*) FROM c WHERE name LIKE '%Pageable%'),
        (SELECT count(*) FROM s), (SELECT count(*) FROM w)"""
_PLACES = f"""WITH block AS ({_WITHIN}) SELECT line(stack) AS place, name, count(*) FROM calls, block
    WHERE start_ns BETWEEN since AND until AND (id IN (SELECT id FROM launches) OR name LIKE '%Synchronize%')
    GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 5"""


def _rows(path, sql):
    return _tools.document("trace-query", "--", path, sql)["rows"]


def pytest_addoption(parser):
    parser.getgroup("gputrace").addoption("--gpu-cost-update", action="store_true",
                                          help="write the counts of gpu_cost() as the new baselines, beside the tests")


def pytest_configure(config):
    config.addinivalue_line("markers", "gpu_cost(**limits): the most GPU work that the test may do: " + ", ".join(COUNTS))


class _Baseline:
    """A JSON file beside the file of tests: by test, the counts of its blocks in their order."""

    def __init__(self, node):
        path = str(node.fspath)
        self.path = os.path.splitext(path)[0] + ".gpu_cost.json"
        self.name = node.nodeid.split("::", 1)[-1]

    def read(self):
        try:
            with open(self.path, encoding="utf-8") as f:
                return json.load(f)
        except FileNotFoundError:
            return {}

    def get(self, block):
        blocks = self.read().get(self.name, [])
        return blocks[block] if block < len(blocks) else None

    def put(self, block, counts):
        every = self.read()
        blocks = every.setdefault(self.name, [])
        blocks[block:block + 1] = [counts]
        _tools.write(self.path, json.dumps(every, indent=1, sort_keys=True) + "\n")


class _Block:
    def __init__(self, cost, limits):
        unknown = sorted(set(limits) - set(COUNTS))
        if unknown:
            raise TypeError(f"gpu_cost: no such count: {', '.join(unknown)}; there are {', '.join(COUNTS)}")
        self.counts, self._cost, self._limits = None, cost, limits

    def __enter__(self):
        self._session = Session(_RANGE + " block")
        self._session.__enter__()
        self._range = core.range(_RANGE)
        self._range.__enter__()
        return self

    def __exit__(self, kind, value, traceback):
        self._range.__exit__(kind, value, traceback)
        self._session.__exit__(kind, value, traceback)
        if kind is None:
            self._check()

    def _check(self):
        if not self._session.trace:
            pytest.skip("gpu_cost: " + ("; ".join(self._session.warnings) or "nothing was recorded"))
        self.counts = dict(zip(COUNTS, _rows(self._session.trace, _SQL)[0]))
        limits = self._limits or self._cost.expected(self.counts)
        over = [f"{name}: {self.counts[name]}, at most {most}" for name, most in limits.items() if self.counts[name] > most]
        if over:
            pytest.fail("\n".join(["more GPU work than allowed", *("  " + line for line in over), *self._places()]), pytrace=False)

    def _places(self):
        rows = [row for row in _rows(self._session.trace, _PLACES) if row[0]]
        return ["the most calls are made at", *(f"  {place}: {name}, {n} times" for place, name, n in rows)] if rows else []


class _Cost:
    def __init__(self, node):
        self._baseline, self._blocks = _Baseline(node), 0
        self._update = node.config.getoption("--gpu-cost-update")

    def __call__(self, **limits):
        return _Block(self, limits)

    def expected(self, counts):
        block, self._blocks = self._blocks, self._blocks + 1
        if self._update:
            self._baseline.put(block, counts)
            return counts
        known = self._baseline.get(block)
        if known is None:
            pytest.fail(f"gpu_cost: {self._baseline.path} has no baseline of {self._baseline.name}: run pytest --gpu-cost-update",
                        pytrace=False)
        return known


@pytest.fixture
def gpu_cost(request):
    """gpu_cost(**limits) is a block whose GPU work is counted; without limits it is compared with the baseline."""
    return _Cost(request.node)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    marker = pyfuncitem.get_closest_marker("gpu_cost")
    if not marker:
        return None
    with _Cost(pyfuncitem)(**marker.kwargs):
        pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames})
    return True
