#!/bin/bash
# check.sh OUTDIR [PART...]: what gpuprof-collect records of a GPU's clocks, power, energy and neighbours, against nvidia-smi and
# NVML read by other programs in the same seconds. One GPU, about four minutes; its host may be busy with others.
#
# Parts: pairs      what reading the clocks costs a recorded program: see pairs.py
#        energy     60 s of products beside nvidia-smi and a program that reads the energy counter
#        neighbour  a process that uses 40% of the GPU, beside a recorded one that uses 10%, for 32 s
#        copies     5 s of copies beside nvidia-smi
#        data       the same 2,000 products of random numbers and of zeros, compared by trace-diff
# OUTDIR: report.txt, the traces, nvidia-smi's logs
#
# GPUPROF_BIN      where the tools are             (default: build/release/bin beside this folder)
# CAPTURE_LIBS     shared libraries for them       (default: none)
# GPU              the GPU, as nvidia-smi counts   (default: 0)
# CLOCKS_SECONDS   of pairs and of energy          (default: 92 60)
# PYTHON           a python3 with PyTorch          (default: python3)
set -u
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 1 ] || { sed -n '2,18s/^# \{0,1\}//p' "$0" >&2; exit 2; }
out=$1
shift
[ $# -gt 0 ] || set -- pairs energy neighbour copies data
mkdir -p "$out" || exit 2
out=$(cd "$out" && pwd)
bin=$(cd "${GPUPROF_BIN:-$here/../../build/release/bin}" && pwd) || exit 2
[ -z "${CAPTURE_LIBS:-}" ] || export LD_LIBRARY_PATH=$CAPTURE_LIBS${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
gpu=${GPU:-0} python=${PYTHON:-python3}
read -r pairs_s energy_s <<<"${CLOCKS_SECONDS:-92 60}"
work=$(mktemp -d) || exit 2
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$work"' EXIT
CUDA_VISIBLE_DEVICES=$(nvidia-smi -i "$gpu" --query-gpu=uuid --format=csv,noheader) || exit 2
export CUDA_VISIBLE_DEVICES NVML_GPU=$gpu TZ=UTC PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
: >"$out/report.txt"

report() { tee -a "$out/report.txt"; }

# recorded NAME PROGRAM...: NAME.trace, and as JSON in $work.
recorded() {
    name=$1
    shift
    "$bin/gpuprof-collect" -o "$out/$name.trace" "$python" "$here/programs.py" "$@" 2>&1 | report
    "$bin/trace-convert" -q --to chrome "$out/$name.trace" >"$work/$name.json"
}

smi() {
    nvidia-smi -i "$gpu" --format=csv,noheader,nounits -lms 100 \
        --query-gpu=timestamp,clocks.sm,clocks.mem,power.draw.instant,temperature.gpu,clocks_event_reasons.active >"$1" 2>&1 &
    smi_pid=$!
}

check() { "$python" "$here/check.py" "$@" 2>&1 | report; }

pairs() { "$python" "$here/pairs.py" "$bin/gpuprof-collect" "$pairs_s" "$out" 2>&1 | report; }

energy() {
    "$python" "$here/nvml.py" energy "$work/enough" >"$out/energy.log" &
    log=$!
    smi "$out/products.csv"
    recorded energy products "$energy_s"
    sleep .5
    touch "$work/enough"
    kill $smi_pid
    wait $log $smi_pid
    check energy "$work/energy.json" "$out/energy.log"
    check smi "$work/energy.json" "$out/products.csv"
    for table in clocks energy; do "$bin/trace-hta" -q -t $table "$out/energy.trace" | report; done
}

neighbour() {
    "$python" "$here/programs.py" duty 46 .4 .1 >"$work/neighbour" 2>&1 &
    other=$!
    sleep 8
    "$python" "$here/nvml.py" uses 26 >"$out/uses.log" &
    recorded neighbour duty 32 .1 .13
    wait $other
    sed 's/^/neighbour: /' "$work/neighbour" | report
    check share "$work/neighbour.json"
}

copies() {
    smi "$out/copies.csv"
    recorded copies copies 5
    kill $smi_pid
    wait $smi_pid
    check smi "$work/copies.json" "$out/copies.csv"
}

data() {
    recorded random products x2000 random
    recorded zeros products x2000 zeros
    "$bin/trace-diff" -q "$out/random.trace" "$out/zeros.trace" | report
}

echo "$(nvidia-smi -i "$gpu" --query-gpu=name,driver_version,power.limit,clocks.max.sm --format=csv,noheader), $(nproc) processors" | report
for part; do
    case $part in
    pairs | energy | neighbour | copies | data)
        echo "== $part" | report
        $part
        ;;
    *)
        echo "check.sh: no part '$part'" >&2
        exit 2
        ;;
    esac
done
