#!/bin/bash
# capture.sh OUTDIR [STEP...]: run every sample on the GPUs of this machine, check what was collected, measure what
# collecting costs, and leave the results in OUTDIR. A step that fails is reported and the next one runs.
#
# Steps, in this order by default: machine programs collect control pipe ends kills eager decode ddp storm compiled steptime sizes memory long
# Steps to be asked for: graphs, records (managed.cu: events, unified memory, pools, graphs past a rate), pairs (pytorch/variants.py, one GPU, about 12 minutes), ddp_pairs and nccl (two GPUs), nvtx
# OUTDIR: report.txt (the table), cost.tsv, traces.tar.gz (binary traces), kineto.tar.gz, pairs.tar.gz,
# pictures.tar.gz, logs.tar.gz
#
# GPUPROF_BIN      where the tools are         (default: build/release/bin beside this folder)
# CAPTURE_LIBS     shared libraries for them   (default: none)
# CAPTURE_SECONDS  stop starting things after  (default: 560)
# CAPTURE_ROUNDS   rounds of a measurement     (default: 5)
# CAPTURE_VARIANTS what pairs and ddp_pairs record (default: all)
# PYTHON           a python3 with PyTorch      (default: python3)
set -u
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 1 ] || { sed -n '2,16s/^# \{0,1\}//p' "$0" >&2; exit 2; }
out=$1
shift
[ $# -gt 0 ] || set -- machine programs collect control pipe ends kills eager decode ddp storm compiled steptime sizes memory long

mkdir -p "$out" || exit 2
out=$(cd "$out" && pwd)
bin=$(cd "${GPUPROF_BIN:-$here/../build/release/bin}" && pwd) || exit 2
export GPUPROF_BIN=$bin
[ -z "${CAPTURE_LIBS:-}" ] || export LD_LIBRARY_PATH=$CAPTURE_LIBS${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PYTHONDONTWRITEBYTECODE=1 NCCL_NVLS_ENABLE=0
python=${PYTHON:-python3} rounds=${CAPTURE_ROUNDS:-5} deadline=$((SECONDS + ${CAPTURE_SECONDS:-560}))
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
mkdir "$work/logs" "$work/traces" "$work/kineto" "$work/pairs" "$work/pictures" "$work/tmp"
app=$work/app
: >"$out/report.txt"
: >"$out/cost.tsv"

# row NAME VERDICT TEXT: a line of the report.
row() { printf '%-20s %-4s %s\n' "$@" | tee -a "$out/report.txt"; }

# run NAME LIMIT COMMAND...: run it for at most LIMIT seconds with its output in logs; sets $status. 199: no time left.
run() {
    local name=$1 limit=$2 left=$((deadline - SECONDS))
    shift 2
    status=199
    [ "$left" -ge 5 ] || { echo "no time left" >"$work/logs/$name.err"; : >"$work/logs/$name.out"; return 199; }
    [ "$limit" -le "$left" ] || limit=$left
    timeout -k 5 "$limit" "$@" >"$work/logs/$name.out" 2>"$work/logs/$name.err" </dev/null
    status=$?
    return $status
}

# said NAME: what the collector said at the end of a run, on one line.
said() { grep -h '^gpuprof-collect:' "$work/logs/$1.err" | tail -n 1; }

# complaint NAME: the last line on standard error that is not the collector's summary.
complaint() { grep -v '^gpuprof-collect: [0-9]' "$work/logs/$1.err" | tail -n 1 | cut -c 1-150; }

# counts NAME: the trace of that name against what its program printed.
counts() {
    local verdict
    cat "$work/logs/$1.out" "$work/logs/$1.err" >"$work/tmp/$1.expect"
    verdict=$(timeout 120 "$python" "$here/check_counts.py" --bin "$bin" --expect "$work/tmp/$1.expect" \
        "$work/traces/$1.trace" 2>"$work/logs/$1.check")
    row "$1" "${verdict%% *}" "${verdict#* }"
}

# collect NAME STATUS LIMIT COMMAND...: collect into a file; the command must end with STATUS and its counts must fit.
collect() {
    local name=$1 want=$2 limit=$3 begin=$SECONDS
    shift 3
    run "$name" "$limit" "$bin/gpuprof-collect" -o "$work/traces/$name.trace" -- "$@"
    if [ "$status" -ne "$want" ]; then
        row "$name" BAD "status $status, not $want: $(complaint "$name")"
    fi
    [ ! -s "$work/traces/$name.trace" ] || counts "$name"
    row "" "" "$((SECONDS - begin)) s, $(stat -c %s "$work/traces/$name.trace" 2>/dev/null) bytes; $(said "$name")"
}

# kineto NAME LIMIT SCRIPT...: record with torch.profiler; the file must survive the way through our format.
kineto() {
    local name=$1 limit=$2 file verdict
    shift 2
    run "kineto_$name" "$limit" "$python" "$@" --kineto "$work/kineto/$name.json.gz"
    [ "$status" -eq 0 ] || row "kineto_$name" BAD "status $status: $(complaint "kineto_$name")"
    for file in "$work/kineto/$name".*json.gz; do
        [ -f "$file" ] || continue
        "$bin/trace-convert" --to gpuprof -o "$work/tmp/$name.trace" "$file" 2>>"$work/logs/kineto_$name.err"
        verdict=$("$python" "$here/check_counts.py" --bin "$bin" --same "$file" "$work/tmp/$name.trace" 2>&1 | tail -n 1)
        row "kineto_$name" "${verdict%% *}" "$(basename "$file") and back: ${verdict#* }"
        draw "kineto_$(basename "$file" .json.gz)" "$file"
    done
}

# draw NAME TRACE: a flame graph as a picture and as text.
draw() {
    "$bin/trace2flame" -o "$work/pictures/$1.svg" "$2" 2>>"$work/logs/$1.draw" || row "$1" BAD "no picture"
    "$bin/trace2flame" -f folded -o "$work/pictures/$1.folded" "$2" 2>>"$work/logs/$1.draw"
}

step_machine() {
    {
        nvidia-smi -L
        nvidia-smi --query-gpu=driver_version,clocks.sm,clocks.max.sm --format=csv
        uname -srm
        echo "processors: $(nproc), $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)"
        nvcc --version | tail -n 2
        "$python" -c 'import sys, torch, triton; print(sys.version); print("torch", torch.__version__, "triton", triton.__version__)'
        "$bin/gpuprof-collect" --version
        find_nsys && "$nsys" --version
    } >"$work/logs/machine.out" 2>&1
    row machine ok "$(nvidia-smi -L 2>/dev/null | head -n 1 | cut -c 1-60), $(nvidia-smi -L 2>/dev/null | wc -l) GPUs"
    row "" "" "$("$bin/gpuprof-collect" --version 2>&1 | head -n 1); $(grep '^torch' "$work/logs/machine.out")"
    run plain_true 30 "$bin/gpuprof-collect" -o "$work/tmp/true.trace" -- true
    row no_cuda "$([ "$status" -eq 0 ] && echo ok || echo BAD)" "status $status; $(said plain_true)"
    run plain_false 30 "$bin/gpuprof-collect" -o "$work/tmp/false.trace" -- false
    row status "$([ "$status" -eq 1 ] && echo ok || echo BAD)" "of false: $status"
}

step_programs() {
    local name
    run build 240 "$here/cuda/build.sh" "$app"
    row programs "$([ "$status" -eq 0 ] && echo ok || echo BAD)" "compiled; $(tail -n 1 "$work/logs/build.err")"
    for name in streams graph ranges storm twoproc early phases managed pace peers; do
        if [ ! -x "$app/$name" ] && [ -x "$here/../build/samples/$name" ]; then cp "$here/../build/samples/$name" "$app/"; fi
    done
}

step_collect() {
    collect streams 0 60 "$app/streams"
    collect graph 0 60 "$app/graph"
    collect ranges 0 60 "$app/ranges"
    collect storm 0 60 "$app/storm" 2000 2
    collect twoproc_exec 0 60 "$app/twoproc" exec
    collect twoproc_fork 0 60 "$app/twoproc" fork
    collect twoproc_idle 0 60 "$app/twoproc" idle
    collect peers 0 60 "$app/peers"
}

# controlled NAME EXPECT OPTION...: the phases of that program, recorded as the options say; the trace must hold EXPECT.
controlled() {
    local name=control_$1 expect=$2 verdict
    shift 2
    run "$name" 30 "$bin/gpuprof-collect" -o "$work/traces/$name.trace" "$@" -- "$app/phases"
    echo "expect $expect processes_most=1" >"$work/tmp/$name.expect"
    verdict=$("$python" "$here/check_counts.py" --bin "$bin" --expect "$work/tmp/$name.expect" "$work/traces/$name.trace" 2>&1 |
        tail -n 1)
    [ "$status" -eq 0 ] || verdict="BAD status $status: $(complaint "$name")"
    row "$name" "${verdict%% *}" "$*: ${verdict#* }; $(said "$name")"
}

step_control() {
    local name allocations
    controlled all "kernels=63 ranges=4"
    controlled profiler "kernels=20 ranges=0" --start profiler
    controlled until_stop "kernels=30 ranges=0" --stop profiler
    controlled range "kernels=19 ranges=3" --start range:train
    controlled range_2 "kernels=11 ranges=1" --start range:train@2
    controlled span "kernels=2 ranges=1" --start range:span
    controlled from_launch "kernels=33" --start launch:30
    controlled launches "kernels=10" --start launch:30 --stop launch:40
    controlled last "kernels=63 ranges=4" --last 60s
    controlled memory "kernels=63 ranges=4" --memory
    allocations=$(said control_memory | sed -n 's/.*, \([0-9]*\) allocations.*/\1/p')
    row allocations "$([ "${allocations:-0}" -ge 5 ] && echo ok || echo BAD)" "${allocations:-none} of at least 5"
    rm -f "$work/traces/control_own."*
    run control_own 30 "$bin/gpuprof-collect" -o "$work/traces/control_own.%p" -- "$app/phases"
    name=$(find "$work/traces" -name 'control_own.[0-9]*' | head -n 1)
    row own_trace "$([ -n "$name" ] && echo ok || echo BAD)" "$(basename "${name:-none}"); $(said control_own)"
}

# recorded NAME ARGS EXPECT OPTION...: managed.cu with those arguments, recorded as the options say; the trace must hold
# EXPECT or, where that is empty, what the program says.
recorded() {
    local name=records_$1 args=$2 expect=$3 verdict
    shift 3
    # shellcheck disable=SC2086 # ARGS are words
    run "$name" 60 "$bin/gpuprof-collect" -o "$work/traces/$name.trace" "$@" -- "$app/managed" $args
    cat "$work/logs/$name.out" "$work/logs/$name.err" >"$work/tmp/$name.expect"
    [ -z "$expect" ] || echo "expect $expect" >"$work/tmp/$name.expect"
    verdict=$("$python" "$here/check_counts.py" --bin "$bin" --expect "$work/tmp/$name.expect" "$work/traces/$name.trace" 2>&1 |
        tail -n 1)
    [ "$status" -eq 0 ] || verdict="BAD status $status: $(complaint "$name")"
    row "$name" "${verdict%% *}" "$args $*: ${verdict#* }; $(said "$name")"
}

step_records() {
    [ -x "$app/managed" ] || run build_managed 120 "$here/cuda/build.sh" "$app" managed
    recorded all "" "" --api all --memory
    recorded plain "" "kernels=2 events=3 event_waits=3 unified=0 faults=0 pools=0"
    recorded node "graph 200 500" "graph_kernels=100000 replays=500 whole_graphs=0" --graphs node
    recorded graph "graph 200 500" "graph_kernels=500 replays=500 whole_graphs=500" --graphs graph
    recorded auto "graph 200 20000" "graph_launches=20000 replays=20000 replays_twice=0 whole_graphs_least=1" --graphs auto:50000
    "$bin/trace-hta" "$work/traces/records_all.trace" >"$work/logs/records_hta.out" 2>"$work/logs/records_hta.err"
}

# piped NAME LIMIT COMMAND...: the main job, gpuprof-collect COMMAND | trace2flame > NAME.svg.
piped() {
    local name=$1
    # shellcheck disable=SC2016 # the inner shell expands it
    run "pipe_$name" "$2" bash -c '
        bin=$1 picture=$2
        shift 2
        "$bin/gpuprof-collect" "$@" | "$bin/trace2flame" >"$picture"
        echo "${PIPESTATUS[*]}"' sh "$bin" "$work/pictures/$name.svg" "${@:3}"
    row "pipe_$name" "$([ "$(cat "$work/logs/pipe_$name.out")" = "0 0" ] && echo ok || echo BAD)" \
        "$(stat -c %s "$work/pictures/$name.svg") bytes of SVG; $(said "pipe_$name")"
}

# The pipe itself, and a reader that goes away.
step_pipe() {
    local name
    for name in streams graph ranges; do
        piped "$name" 60 "$app/$name"
        "$bin/trace2flame" -f folded -o "$work/pictures/$name.folded" "$work/traces/$name.trace" 2>"$work/logs/$name.draw"
    done
    timeout 60 "$bin/gpuprof-collect" "$app/storm" 20000 1 2>"$work/logs/reader_gone.err" | head -c 1000 >/dev/null
    row reader_gone "$(grep -q '^expect' "$work/logs/reader_gone.err" && echo ok || echo BAD)" \
        "status ${PIPESTATUS[0]}; $(said reader_gone)"
}

step_ends() {
    collect early_return 7 30 "$app/early" return
    collect early_exit 7 30 "$app/early" exit
    collect early__exit 7 30 "$app/early" _exit
    collect early_abort 134 30 "$app/early" abort
    collect early_kill 137 30 "$app/early" kill
    collect early_kill_wait 137 30 "$app/early" kill 2000 1000
}

# Fifty programs that launch all the time are killed at random times, five of them at once.
step_kills() {
    local first i verdict
    for first in 1 6 11 16 21 26 31 36 41 46; do
        [ $((deadline - SECONDS)) -ge 30 ] || break
        for i in $(seq "$first" $((first + 4))); do
            timeout -k 5 60 "$bin/gpuprof-collect" -v -o "$work/tmp/kill$i.trace" "$app/early" killed $((1 + RANDOM % 600)) \
                >"$work/logs/kill$i.out" 2>"$work/logs/kill$i.err" </dev/null &
        done
        wait
    done
    cp "$work/tmp/kill1.trace" "$work/traces/kill.trace"
    verdict=$(timeout 300 "$python" "$here/check_kills.py" "$work/tmp" "$work/logs" 2>"$work/logs/kills.check")
    row kills "${verdict%% *}" "${verdict#* }"
}

step_eager() {
    local verdict
    collect eager 0 120 "$python" "$here/pytorch/train_eager.py"
    kineto eager 120 "$here/pytorch/train_eager.py"
    verdict=$("$python" "$here/check_counts.py" --bin "$bin" --like "$work/traces/eager.trace" \
        "$work/kineto/eager.json.gz" 2>&1 | tail -n 1)
    row eager_two_ways "${verdict%% *}" "gpuprof-collect and torch.profiler: ${verdict#* }"
    piped eager 120 "$python" "$here/pytorch/train_eager.py"
    "$bin/trace2flame" -f folded -o "$work/pictures/eager.folded" "$work/traces/eager.trace" 2>"$work/logs/eager.draw"
}

step_decode() {
    collect decode 0 90 "$python" "$here/pytorch/decode.py"
    kineto decode 90 "$here/pytorch/decode.py"
    collect decode_graph 0 90 "$python" "$here/pytorch/decode.py" --graph
    kineto decode_graph 90 "$here/pytorch/decode.py" --graph
    draw decode "$work/traces/decode.trace"
    draw decode_graph "$work/traces/decode_graph.trace"
    run both 90 "$bin/gpuprof-collect" -o "$work/tmp/both.trace" -- \
        "$python" "$here/pytorch/decode.py" --kineto "$work/tmp/both.json.gz"
    row two_profilers "$([ "$status" -eq 0 ] && echo ok || echo BAD)" "status $status; $(said both)"
}

# folds NAME PATTERN: all graph work of that trace must fold under ranges that match.
folds() {
    local all there
    "$bin/trace2flame" -q -f folded --weight count -o "$work/pictures/$1.count.folded" "$work/traces/$1.trace"
    all=$(awk '/GraphLaunch/ { n += $NF } END { print n + 0 }' "$work/pictures/$1.count.folded")
    there=$(awk -v pattern="GraphLaunch;$2" '$0 ~ pattern { n += $NF } END { print n + 0 }' "$work/pictures/$1.count.folded")
    row "$1" "$([ "$all" -gt 0 ] && [ "$all" = "$there" ] && echo ok || echo BAD)" "$there of $all events of graphs fold under $2"
}

# Replayed kernels fold under the code that captured them.
step_graphs() {
    collect graphs 0 60 "$app/graph" 40 25
    folds graphs 'capture;(clear|layer|Memcpy)'
    draw graphs "$work/traces/graphs.trace"
    collect decode_graph 0 90 "$python" "$here/pytorch/decode.py" --graph
    folds decode_graph 'capture;'
    row "" "" "$(grep -c 'GraphLaunch;capture;.*attention' "$work/pictures/decode_graph.count.folded") stacks of it in attention"
    draw decode_graph "$work/traces/decode_graph.trace"
    run graphs_late 60 "$bin/gpuprof-collect" --start launch:100 -o "$work/traces/graphs_late.trace" -- "$app/graph" 40 200
    folds graphs_late 'capture;(clear|layer|Memcpy)'
}

step_compiled() {
    collect compiled 0 180 "$python" "$here/pytorch/train_compiled.py"
    kineto compiled 120 "$here/pytorch/train_compiled.py"
    draw compiled "$work/traces/compiled.trace"
}

# Known collectives in two ways of starting the processes; what trace-hta says of them goes to the report.
step_nccl() {
    local verdict script=$here/pytorch/collectives.py
    if [ "$(nvidia-smi -L 2>/dev/null | wc -l)" -lt 2 ]; then
        row nccl skip "needs two GPUs"
        return
    fi
    collect nccl 0 150 "$python" "$script"
    "$bin/trace-hta" -q "$work/traces/nccl.trace" 2>"$work/logs/nccl.hta" | sed -n '/^Communication/,/^$/p' |
        tee -a "$out/report.txt"
    collect nccl_torchrun 0 150 "$python" -m torch.distributed.run --nproc-per-node 2 --master-port 29534 "$script"
    kineto nccl 120 "$script"
    verdict=$("$python" "$here/check_counts.py" --bin "$bin" --collectives "$work/traces/nccl.trace" \
        "$work/kineto/nccl".rank*.json.gz 2>&1 | tail -n 1)
    row nccl_two_ways "${verdict%% *}" "gpuprof-collect and torch.profiler: ${verdict#* }"
}

# What a pair of push and pop costs its thread: as it was built with the tests, in the bundle, or compiled here.
step_nvtx() {
    local cost="$bin/nvtx_cost" how
    [ -x "$cost" ] || cost=$(find "$bin/.." -name nvtx_cost -perm -u+x 2>/dev/null | head -n 1)
    if [ -z "$cost" ]; then
        cost=$work/tmp/nvtx_cost
        run nvtx_build 60 cc -O2 -D_GNU_SOURCE -I "${CUDA_HOME:-/usr/local/cuda}/include" -o "$cost" \
            "$here/../tests/bench/nvtx_cost.c" -ldl
    fi
    run nvtx_bare 60 "$cost"
    run nvtx_gpuprof 120 "$bin/gpuprof-collect" -o "$work/tmp/nvtx.trace" -- "$cost"
    for how in bare gpuprof; do
        sed -n "s/^nvtx case=/  nvtx $how /p" "$work/logs/nvtx_$how.out" | tee -a "$out/report.txt"
    done
    row nvtx "$(awk '/^nvtx case=(default_ascii|domain_registered) / {
            sub(/.*median_ns=/, ""); n++; bad += $0 + 0 >= 100 } END { print n == 2 && !bad ? "ok" : "BAD" }' \
        "$work/logs/nvtx_gpuprof.out")" "a push and a pop under 100 ns; $(said nvtx_gpuprof)"
}

step_ddp() {
    if [ "$(nvidia-smi -L 2>/dev/null | wc -l)" -lt 2 ]; then
        row ddp skip "needs two GPUs"
        return
    fi
    collect ddp 0 150 "$python" "$here/pytorch/train_ddp.py"
    kineto ddp 120 "$here/pytorch/train_ddp.py"
    draw ddp "$work/traces/ddp.trace"
}

# pair NAME collect|kineto LIMIT SCRIPT...: one side of a pair, collected or recorded with torch.profiler, into pairs; what
# the script measured goes to pairs/steps.tsv.
pair() {
    local name=$1 how=$2 limit=$3 begin=$SECONDS verdict file sizes=
    shift 3
    if [ "$how" = collect ]; then
        run "pair_$name" "$limit" "$bin/gpuprof-collect" -o "$work/pairs/$name.trace" -- "$python" "$@"
        set -- "$work/pairs/$name.trace"
    else
        run "pair_kineto_$name" "$limit" "$python" "$@" --kineto "$work/pairs/$name.json.gz"
        set -- "$work/pairs/$name".*json.gz
        name=kineto_$name
    fi
    if [ "$status" -ne 0 ] || [ ! -s "$1" ]; then
        row "$name" BAD "status $status: $(complaint "pair_$name")"
        rm -f "$@"
        return
    fi
    sed -n "s/^pairs /$name\t/p" "$work/logs/pair_$name.out" >>"$work/pairs/steps.tsv"
    for file; do
        sizes="$sizes $(stat -c %s "$file")"
        grep -h '^expect' "$work/logs/pair_$name.out" >"$work/tmp/expect"
        # Each rank has a file of its own here, and the script says what all of them hold together.
        case $file in *.rank*) : >"$work/tmp/expect" ;; esac
        verdict=$(timeout 60 "$python" "$here/check_counts.py" --bin "$bin" --expect "$work/tmp/expect" "$file" 2>&1 | tail -n 1)
        case $file in *.rank*) verdict="ok ${verdict#* }" ;; esac
        row "$name" "${verdict%% *}" "${verdict#* }"
    done
    row "" "" "$((SECONDS - begin)) s,$sizes bytes; $(grep -h '^pairs' "$work/logs/pair_$name.out" | tail -n 1)"
}

# wanted NAME: is that variant to be recorded?
wanted() {
    case " ${CAPTURE_VARIANTS:-$1} " in *" $1 "*) return 0 ;; *) return 1 ;; esac
}

# The most useful variants first, since the time may not be enough for all.
step_pairs() {
    local variant script=$here/pytorch/pairs.py
    for variant in $("$python" "$here/pytorch/variants.py"); do
        ! wanted "$variant" || pair "$variant" collect 100 "$script" --variant "$variant" --steps 10
    done
    for variant in $("$python" "$here/pytorch/variants.py" --kineto); do
        ! wanted "$variant" || pair "$variant" kineto 100 "$script" --variant "$variant" --steps 4
    done
    row pairs ok "$(du -cb "$work/pairs"/* | tail -n 1 | cut -f 1) bytes in all"
}

# ddp_pair NAME OPTION...: training on two GPUs, both ways.
ddp_pair() {
    local name=$1
    shift
    wanted "$name" || return
    set -- "$here/pytorch/train_ddp.py" --warmup 3 "$@"
    pair "$name" collect 100 "$@" --steps 10
    pair "$name" kineto 100 "$@" --steps 3
}

# The same training with its gradients reduced in many small buckets and in few large ones; each by itself and all as one;
# with batches of different and of equal size.
step_ddp_pairs() {
    local small="--layers 8 --width 512 --length 128" large="--layers 4 --width 1024 --length 256"
    if [ "$(nvidia-smi -L 2>/dev/null | wc -l)" -lt 2 ]; then
        row ddp_pairs skip "needs two GPUs"
        return
    fi
    # shellcheck disable=SC2086 # options
    {
        ddp_pair ddp_bucket1 $large --batch 32 --bucket-mb 1
        ddp_pair ddp_bucket25 $large --batch 32 --bucket-mb 25
        ddp_pair ddp_each $small --batch 16 --reduce each
        ddp_pair ddp_flat $small --batch 16 --reduce flat
        ddp_pair ddp_skewed $large --batch 64 --skew 16
        ddp_pair ddp_even $large --batch 64
        ddp_pair ddp_each_2 $large --batch 16 --reduce each
        ddp_pair ddp_flat_2 $large --batch 16 --reduce flat
        ddp_pair ddp_skewed_2 $small --batch 96 --skew 32
        ddp_pair ddp_even_2 $small --batch 96
    }
}

find_nsys() {
    nsys=$(command -v nsys || find /opt/nvidia -name nsys -type f -perm -u+x 2>/dev/null | sort | tail -n 1)
    [ -n "$nsys" ]
}

# The bare counting injection: as it was built with the tests, or compiled here.
find_bare_cupti() {
    local cuda=${CUDA_HOME:-/usr/local/cuda}
    bare_cupti=$(find "$bin/.." -name 'libbare_cupti.so' 2>/dev/null | head -n 1)
    [ -n "$bare_cupti" ] && bare_cupti=$(cd "$(dirname "$bare_cupti")" && pwd)/libbare_cupti.so && return
    bare_cupti=$work/tmp/libbare_cupti.so
    run bare_cupti 60 cc -O2 -D_GNU_SOURCE -shared -fPIC -I "$cuda/extras/CUPTI/include" -I "$cuda/include" -o "$bare_cupti" \
        "$here/../tests/bench/bare_cupti.c" -ldl -lpthread
}

# once VARIANT NAME LIMIT COMMAND...: run COMMAND bare or under a collector.
once() {
    local variant=$1 name=$2 limit=$3
    shift 3
    case $variant in
    bare) run "$name" "$limit" "$@" ;;
    gpuprof) run "$name" "$limit" "$bin/gpuprof-collect" --graphs node -o "$work/tmp/once.trace" -- "$@" ;;
    gpuprof_piped)
        # shellcheck disable=SC2016 # the inner shell expands it
        run "$name" "$limit" bash -c 'bin=$1; shift; "$bin/gpuprof-collect" --graphs node "$@" | "$bin/trace2flame" >/dev/null' sh "$bin" "$@"
        ;;
    bare_cupti) run "$name" "$limit" env CUDA_INJECTION64_PATH="$bare_cupti" "$@" ;;
    nsys)
        run "$name" "$limit" "$nsys" profile -t cuda -s none --cpuctxsw=none --cuda-graph-trace=node \
            --force-overwrite true -o "$work/tmp/once" "$@"
        ;;
    torch_profiler) run "$name" "$limit" "$@" --kineto "$work/tmp/once.json.gz" ;;
    esac
}

# numbers WHAT VARIANT ROUND NAME: the key=value pairs that the program printed, as lines of cost.tsv.
numbers() {
    cat "$work/logs/$4.out" "$work/logs/$4.err" | awk -v what="$1" -v variant="$2" -v round="$3" '
        /^(storm|decode) / {
            mode = what
            for (i = 2; i <= NF; i++) {
                split($i, kv, "=")
                if (kv[1] == "mode") mode = kv[2]
                else if (kv[1] ~ /_ns$/) print mode "\t" variant "\t" round "\t" kv[1] "\t" kv[2]
            }
        }' >>"$out/cost.tsv"
}

# costs MODE METRIC: best and median over the rounds for every variant, and what it adds to the bare run.
costs() {
    sort -t "$(printf '\t')" -k 5,5n "$out/cost.tsv" 2>/dev/null | awk -F '\t' -v mode="$1" -v metric="$2" '
        $1 == mode && $4 == metric { v[$2, ++n[$2]] = $5 }
        END {
            split("bare bare_cupti gpuprof gpuprof_piped nsys torch_profiler", order, " ")
            for (i = 1; i in order; i++) {
                k = order[i]
                if (!n[k]) continue
                best = v[k, 1]
                median = n[k] % 2 ? v[k, (n[k] + 1) / 2] : (v[k, n[k] / 2] + v[k, n[k] / 2 + 1]) / 2
                if (k == "bare") { bare_best = best; bare_median = median }
                printf "  %-7s %-16s %-15s best %10.1f (+%.1f)  median %10.1f (+%.1f)  of %d\n", mode, metric, k, best,
                    best - bare_best, median, median - bare_median, n[k]
            }
        }' | tee -a "$out/report.txt"
}

# measure WHAT ROUNDS LIMIT VARIANTS COMMAND...: interleaved rounds of every variant; one that fails is dropped.
measure() {
    local what=$1 times=$2 limit=$3 variants=$4 round variant name
    shift 4
    for ((round = 1; round <= times; round++)); do
        for variant in $variants; do
            name=cost_${what}_${variant}_$round
            once "$variant" "$name" "$limit" "$@"
            if ! grep -qsE '^(storm|decode) ' "$work/logs/$name.out" "$work/logs/$name.err"; then
                row "cost_$what" BAD "$variant: status $status: $(complaint "$name")"
                [ "$status" -eq 199 ] || variants=$(printf '%s\n' "$variants" | sed "s/\b$variant\b//")
                continue
            fi
            numbers "$what" "$variant" "$round" "$name"
        done
    done
}

step_storm() {
    local variants="bare gpuprof gpuprof_piped" metric mode
    if find_bare_cupti; then variants="bare bare_cupti gpuprof gpuprof_piped"; else row storm BAD "no bare CUPTI injection"; fi
    if find_nsys; then variants="$variants nsys"; else row storm skip "nsys is not here"; fi
    measure storm "$rounds" 60 "$variants" "$app/storm"
    for mode in launch graph; do
        for metric in host_best_ns host_median_ns wall_best_ns wall_median_ns; do costs $mode $metric; done
    done
}

step_steptime() {
    local what
    measure eager 3 60 "bare gpuprof torch_profiler" "$python" "$here/pytorch/decode.py" --tokens 50 --repeats 4
    measure replay 3 60 "bare gpuprof torch_profiler" "$python" "$here/pytorch/decode.py" --tokens 50 --repeats 4 --graph
    for what in eager replay; do
        costs $what step_best_ns
        costs $what step_median_ns
    done
}

# Bytes on disk for a kernel, ours and those of nsys, of the same program.
step_sizes() {
    local kernels ours theirs
    find_nsys || { row sizes skip "nsys is not here"; return; }
    run sizes_ours 60 "$bin/gpuprof-collect" --graphs node -o "$work/tmp/sizes.trace" -- "$app/storm" 100000 2
    kernels=$(sed -n 's/^expect kernels=\([0-9]*\).*/\1/p' "$work/logs/sizes_ours.out" "$work/logs/sizes_ours.err" | head -n 1)
    run sizes_nsys 120 "$nsys" profile -t cuda -s none --cpuctxsw=none --cuda-graph-trace=node --force-overwrite true \
        -o "$work/tmp/sizes" "$app/storm" 100000 2
    ours=$(stat -c %s "$work/tmp/sizes.trace" 2>/dev/null)
    # Where nsys cannot make its report, what it has recorded is still there.
    theirs=$(find "$work/tmp" -name 'sizes.nsys-rep' -o -name 'sizes.qdstrm' | sort | head -n 1)
    theirs=$(stat -c %s "$theirs" 2>/dev/null)
    awk -v n="${kernels:-0}" -v a="${ours:-0}" -v b="${theirs:-0}" 'BEGIN {
        if (!n || !a || !b) { print "BAD nothing to compare"; exit }
        printf "%s %.1f bytes a kernel, nsys %.1f, of %d kernels\n", (4 * a < b ? "ok" : "BAD"), a / n, b / n, n }' |
        while read -r verdict text; do row sizes "$verdict" "$text"; done
    rm -f "$work/tmp/sizes".*
}

# proportional PID...: memory of processes in KiB, what they share counted once.
proportional() {
    local pid
    for pid; do awk '$1 == "Pss:" { print $2 }' "/proc/$pid/smaps_rollup" 2>/dev/null; done | awk '{ n += $1 } END { print n + 0 }'
}

# peak COMMAND...: the most that the processes of COMMAND had together, in KiB, sampled ten times a second.
peak() {
    "$@" >"$work/logs/peak.out" 2>"$work/logs/peak.err" </dev/null &
    local pid=$! most=0 now
    while kill -0 "$pid" 2>/dev/null; do
        # shellcheck disable=SC2046 # a list of numbers
        now=$(proportional "$pid" $(pgrep -P "$pid"))
        [ "$now" -le "$most" ] || most=$now
        sleep 0.1
    done
    wait "$pid"
    echo "$most"
}

# What collecting 100,000 kernels a second adds to the memory of all processes together.
step_memory() {
    local bare ours
    bare=$(peak "$app/pace" 100000 5)
    ours=$(peak "$bin/gpuprof-collect" -o "$work/tmp/pace.trace" -- "$app/pace" 100000 5)
    row memory "$([ "$bare" -gt 0 ] && [ "$ours" -gt 0 ] && [ $((ours - bare)) -lt 204800 ] && echo ok || echo BAD)" \
        "$((bare / 1024)) MiB bare, $((ours / 1024)) MiB collected; $(grep -h '^pace' "$work/logs/peak.out" "$work/logs/peak.err" | tail -n 1)"
    cp "$work/tmp/pace.trace" "$work/traces/pace.trace"
    cp "$work/logs/peak.out" "$work/logs/pace.out"
    cp "$work/logs/peak.err" "$work/logs/pace.err"
    counts pace
    rm -f "$work/traces/pace.trace"
}

# Thirty million kernels of graphs through the pipe: nothing may be lost, and the GPU's memory must not grow with them.
step_long() {
    local want have top
    (while sleep 1; do nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits; done) >"$work/tmp/memory" 2>/dev/null &
    local watcher=$!
    # shellcheck disable=SC2016 # the inner shell expands it
    run long 180 bash -c '"$1/gpuprof-collect" --graphs node "$2" 15000000 1 graph | "$1/trace2flame" -f folded --weight count' sh "$bin" "$app/storm"
    kill "$watcher" 2>/dev/null
    wait "$watcher" 2>/dev/null
    want=$(sed -n 's/^expect kernels=\([0-9]*\).*/\1/p' "$work/logs/long.err")
    have=$(awk '{ n += $NF } END { printf "%d", n }' "$work/logs/long.out")
    top=$(sort -n "$work/tmp/memory" | tail -n 1)
    row long "$([ -n "$want" ] && [ "$want" = "$have" ] && echo ok || echo BAD)" \
        "$have of ${want:-?} kernels; at most $top MiB of GPU memory; $(said long)"
}

# Packed after every step, so that a run that is cut off leaves what it had.
pack() {
    local folder
    find "$work/traces" "$work/kineto" "$work/pairs" -size +8M -exec sh -c 'echo "too large to keep: $*"; rm "$@"' sh {} + \
        >>"$out/report.txt"
    for folder in traces kineto pairs pictures logs; do
        tar -C "$work" -czf "$work/tmp/pack.tar.gz" "$folder" && mv "$work/tmp/pack.tar.gz" "$out/$folder.tar.gz"
    done
}

for step; do
    echo "== $step ($((deadline - SECONDS)) s left)" | tee -a "$out/report.txt"
    if declare -F "step_$step" >/dev/null; then "step_$step"; else row "$step" BAD "no such step"; fi
    pack
done
echo "== done in $SECONDS s: $(grep -c ' ok ' "$out/report.txt") ok, $(grep -c ' BAD ' "$out/report.txt") bad" | tee -a "$out/report.txt"
! grep -q ' BAD ' "$out/report.txt"
