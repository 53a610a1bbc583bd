#!/bin/sh
# pytest's own runner on a GPU that is not there (tests/python/gpu.py).
test_description='gputrace.pytest_plugin: limits of GPU work in tests, and baselines beside them'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"
. "$GP_SOURCE/tests/pipe/mock.sh"
for python in python3 /usr/bin/python3 none; do
    "$python" -c 'import sys, pytest; sys.exit(sys.version_info < (3, 10))' 2>/dev/null && break
done
if [ -n "$GP_SANITIZED" ] || [ "$python" = none ] || [ ! -x "$GP_BIN/trace-query" ]; then
    skip_all='no pytest (package python3-pytest), a sanitizer build, or no SQLite'
    test_done
fi
PYTHONPATH=${GP_BIN%/bin}/python:$GP_SOURCE/tests/python
PYTHONDONTWRITEBYTECODE=1
GP_MOCK=$mock
TMPDIR=$PWD
export PYTHONPATH PYTHONDONTWRITEBYTECODE GP_MOCK TMPDIR
unset GPUPROF_OFF GPUPROF_DIR GPUPROF_BIN GPUPROF_INJECT GPUTRACE_PURE
run="$python -m pytest -p gputrace.pytest_plugin -p no:cacheprovider -q"

cat >test_cost.py <<'EOF'
import os
import pytest
import gpu


@pytest.fixture(scope="module", autouse=True)
def device():
    gpu.start()


def test_within(gpu_cost):
    gpu.launch(5)  # outside of the block
    with gpu_cost(kernels=3, launches=4, copies=1, copy_bytes=100, sets=0, syncs=0) as block:
        gpu.launch(3)
        gpu.copy(100)
    assert block.counts["kernels"] == 3 and block.counts["launches"] == 4 and block.counts["copy_bytes"] == 100


def test_a_kernel_too_many(gpu_cost):
    with gpu_cost(launches=0):
        gpu.launch(2)


def test_it_waits(gpu_cost):
    with gpu_cost(syncs=0):
        gpu.launch(1)
        gpu.wait()


@pytest.mark.gpu_cost(kernels=2)
def test_marked():
    gpu.launch(2)


@pytest.mark.gpu_cost(kernels=1)
def test_marked_and_over():
    gpu.launch(2)


def test_of_a_graph(gpu_cost):
    with gpu_cost(launches=1, kernels=3):
        gpu.graph(3)


def test_misspelt(gpu_cost):
    with gpu_cost(launchs=0):
        pass


def test_its_own_failure_goes_first(gpu_cost):
    with gpu_cost(launches=0):
        gpu.launch(1)
        assert 1 == 2, "the program's own"
EOF

test_expect_success 'limits hold or are broken, and say by what and where' '
    status_of $run test_cost.py && test "$status" -eq 1 && grep "^5 failed, 3 passed" out &&
    grep "launches: 2, at most 0" out && grep "syncs: 1, at most 0" out && grep "kernels: 2, at most 1" out &&
    grep "no such count: launchs; there are kernels, launches" out && grep "the program.s own" out &&
    grep "  gpu.py:[0-9]*: .*cudaLaunchKernel, 2 times" out
'

cat >test_kept.py <<'EOF'
import os
import gpu


def test_step(gpu_cost):
    gpu.start()
    for n in map(int, os.environ["LAUNCHES"].split()):
        with gpu_cost():
            gpu.launch(n)
EOF

test_expect_success 'baselines: none, written, held, broken, and better ones pass' '
    export LAUNCHES && LAUNCHES="2 3" && status_of $run test_kept.py && test "$status" -eq 1 && grep "run pytest --gpu-cost-update" out &&
    $run --gpu-cost-update test_kept.py && python3 -c "import json; b = json.load(open(\"test_kept.gpu_cost.json\"))[\"test_step\"]
assert [x[\"launches\"] for x in b] == [2, 3], b" && $run test_kept.py && LAUNCHES="2 4" && status_of $run test_kept.py &&
    test "$status" -eq 1 && grep "launches: 4, at most 3" out && LAUNCHES="1 3" && $run test_kept.py
'

test_expect_success 'without CUPTI, tests are skipped and say why' '
    LAUNCHES=1 && GPUPROF_LIBCUPTI=/nowhere/libcupti.so $run -rs test_kept.py >out && grep "^SKIPPED.*gpu_cost: no trace: .*libcupti" out &&
    GPUPROF_OFF=1 $run -rs test_kept.py >out && grep "^SKIPPED.*switched off by GPUPROF_OFF" out
'

test_done
