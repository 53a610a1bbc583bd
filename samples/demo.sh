#!/bin/sh
# usage: samples/demo.sh [--no-gpu]
# From a fresh clone to pictures: installs missing packages, builds gpuprof, records a small CUDA program and draws where
# its GPU time went. Without an NVIDIA GPU and nvcc (or with --no-gpu), the trace is one from samples/h200, recorded on an
# H200. All output is in build/.
set -eu
cd "$(dirname "$0")/.."
unset CDPATH

gpu=maybe
case ${1:-} in
-h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p;}' "samples/$(basename "$0")"; exit 0 ;;
--no-gpu) gpu=no ;;
'') ;;
*) echo "demo.sh: unknown argument '$1'; see samples/demo.sh --help" >&2; exit 2 ;;
esac

bin=build/release/bin
library=build/release/lib/libgpuprof-inject.so
out=build/demo
captured=samples/h200
mkdir -p "$out"

# quietly LOG COMMAND...: its output goes to LOG, which is shown if it fails.
quietly() {
    log=$1
    shift
    "$@" >"$log" 2>&1 || { cat "$log" >&2; echo "demo.sh: failed: $*" >&2; exit 2; }
}

# Builds the tools, without the tests, and prints every tenth of the way. CMake's lines begin with [ 12%] or [34/281].
build_tools() {
    printf '  '
    {
        code=0
        cmake --build --preset release --target tools -j "$jobs" 2>&1 || code=$?
        echo $code >"$out/status"
    } | tee "$out/build.log" | {
        shown=0
        while IFS= read -r line; do
            at=${line%%]*}
            case $at in
            '['*[0-9]'%') at=${at#[} at=${at%\%} done=${at##* } ;;
            '['[0-9]*/*[0-9]) at=${at#[} done=$((100 * ${at%/*} / ${at#*/})) ;;
            *) continue ;;
            esac
            while [ "$done" -ge $((shown + 10)) ]; do
                shown=$((shown + 10))
                printf ' %s%%' "$shown"
            done
        done
        echo
    }
    [ "$(cat "$out/status")" = 0 ] || { cat "$out/build.log" >&2; echo "demo.sh: the build failed" >&2; exit 2; }
}

has_gpu() {
    [ "$gpu" = maybe ] && [ -e "$library" ] && nvidia-smi -L 2>/dev/null | grep -q '^GPU ' &&
        { command -v nvcc || [ -x "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" ]; } >/dev/null
}

# top TRACE: the GPU frames with the most time, from folded stacks and the usual filters.
top() {
    "$bin/trace2flame" -q -f folded "$1" | awk '
        {
            ns = $NF
            sub(/ [0-9]+$/, "")
            sub(/.*;/, "")
            by[$0] += ns
            all += ns
        }
        END { for (name in by) printf "%12.3f ms %6.1f%%  %s\n", by[name] / 1e6, 100 * by[name] / all, name }' |
        LC_ALL=C sort -rn | awk 'NR <= 8 { print substr($0, 1, 100) }'
}

echo "1. packages"
tests/setup/install.sh build

echo "2. build the tools (log: $out/build.log)"
jobs=$(nproc 2>/dev/null || echo 2)
quietly "$out/configure.log" cmake --preset release
build_tools
[ -e "$library" ] || echo "   gpuprof-collect cannot record: cupti.h of the CUDA Toolkit was not found (set GPUPROF_CUDA_INCLUDE)"

status=0
trace=$captured/ranges.trace
if has_gpu; then
    echo "3. record samples/cuda/ranges.cu on $(nvidia-smi -L | sed -n '1s/ (UUID.*//p')"
    quietly "$out/nvcc.log" samples/cuda/build.sh build/samples ranges
    echo "   \$ gpuprof-collect ./ranges | tee ranges.trace | trace2flame > flame.svg"
    { code=0; "$bin/gpuprof-collect" build/samples/ranges || code=$?; echo $code >"$out/status"; } |
        tee "$out/ranges.trace" | "$bin/trace2flame" >"$out/flame.svg"
    if [ "$(cat "$out/status")" = 0 ]; then
        trace=$out/ranges.trace
    else
        echo "   that failed; the pictures below show the trace recorded on an H200, $trace"
        status=1
    fi
else
    echo "3. no GPU with nvcc and CUPTI: using the trace of samples/cuda/ranges.cu recorded on an H200, $trace"
fi
if [ "$trace" = "$captured/ranges.trace" ]; then
    echo "   \$ cat ranges.trace | trace2flame > flame.svg"
    # shellcheck disable=SC2002 # shows the pipe
    cat "$trace" | "$bin/trace2flame" >"$out/flame.svg"
fi

echo "4. a PyTorch training step, recorded by torch.profiler on an H200, $captured/eager.json.gz"
echo "   \$ trace2flame eager.json.gz > pytorch.svg"
"$bin/trace2flame" -o "$out/pytorch.svg" "$captured/eager.json.gz"
echo "   \$ trace2timeline eager.json.gz > timeline.html"
"$bin/trace2timeline" -q -o "$out/timeline.html" "$captured/eager.json.gz"
echo "   \$ trace-hta -f html eager.json.gz > report.html"
"$bin/trace-hta" -q -f html -o "$out/report.html" "$captured/eager.json.gz"

for shown in "$trace" "$captured/eager.json.gz"; do
    echo
    echo "GPU time in $shown (trace2flame -f folded | awk | sort)"
    top "$shown"
done
echo
echo "What to do about the training step (trace-suggest | head):"
"$bin/trace-suggest" -q "$captured/eager.json.gz" | sed -n '/^ 1\./,/^$/p'
echo "The pictures, for any browser:"
for picture in flame.svg pytorch.svg timeline.html report.html; do echo "  $(pwd)/$out/$picture"; done
exit $status
