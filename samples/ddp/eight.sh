#!/bin/bash
# eight.sh OUTDIR GPUS [PART...]: run the programs of this folder on so many GPUs of one host (2, 4, 8), record them in three
# ways, and compare what the tools say with what was planted. A part that fails is reported, and the next one runs.
#
# Parts: record  every program by gpuprof-collect, into one file and into one per rank
#        both    the same, and by torch.profiler
#        live    trace-fleet beside running jobs
#        cost    steps bare, with one rank recorded, and with all, in rounds
#        half    the even job on half of the GPUs against all of them, by trace-diff; trace-hta-mpi where there is MPI
#        traffic sampled counters of NVLink and PCIe against the collectives
#        try     gpuprof-try under torchrun
# OUTDIR: report.txt, traces.tar.gz, kineto_N.tar.gz, pictures.tar.gz, logs.tar.gz
#
# GPUPROF_BIN      where the tools are         (default: build/release/bin beside this folder)
# CAPTURE_LIBS     shared libraries for them   (default: none)
# CAPTURE_SECONDS  stop starting things after  (default: 540)
# DDP_PROGRAMS     which of them               (default: work sleep load experts even fsdp tensor pipeline)
# DDP_OPTIONS      what gpuprof-collect gets   (default: --sample)
# DDP_ROUNDS       rounds of a measurement     (default: 4)
# PYTHON           a python3 with PyTorch      (default: python3)
set -u
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 2 ] || { sed -n '2,20s/^# \{0,1\}//p' "$0" >&2; exit 2; }
out=$1 gpus=$2
shift 2
[ $# -gt 0 ] || set -- record live
mkdir -p "$out" || exit 2
out=$(cd "$out" && pwd)
bin=$(cd "${GPUPROF_BIN:-$here/../../build/release/bin}" && pwd) || exit 2
export GPUPROF_BIN=$bin
[ -z "${CAPTURE_LIBS:-}" ] || export LD_LIBRARY_PATH=$CAPTURE_LIBS${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 OMP_NUM_THREADS=4 NCCL_NVLS_ENABLE=0 TORCH_SYMM_MEM_DISABLE_MULTICAST=1
python=${PYTHON:-python3} slow=1 port=29600 deadline=$((SECONDS + ${CAPTURE_SECONDS:-540}))
work=$(mktemp -d) || exit 2
mkdir "$work/logs" "$work/traces" "$work/kineto" "$work/pictures" "$work/tmp" "$work/checks"
: >"$out/report.txt"

row() { printf '%-18s %-4s %s\n' "$@" | tee -a "$out/report.txt"; }

# What there is goes to OUTDIR, also when this script is ended early.
pack() {
    local folder part=0 files
    cat "$work/checks"/*.done >>"$out/report.txt" 2>/dev/null
    rm -f "$work/checks"/*.done
    for folder in traces pictures logs; do tar -C "$work" -czf "$out/$folder.tar.gz" "$folder"; done
    # Files of torch.profiler in archives of less than 15 MB.
    find "$work/kineto" -name '*.json.gz' -printf '%s %p\n' | sort -k 2 |
        awk '{ if (sum + $1 > 15000000) { part++; sum = 0 } sum += $1; print part, $2 }' >"$work/tmp/parts"
    for part in $(cut -d ' ' -f 1 "$work/tmp/parts" | sort -nu | head -n 4); do
        files=$(awk -v part="$part" '$1 == part { sub(".*/", "", $2); print $2 }' "$work/tmp/parts")
        # shellcheck disable=SC2086 # names without spaces
        tar -C "$work/kineto" -cf "$out/kineto_$part.tar.gz" $files
    done
}
trap 'pack; rm -rf "$work"' EXIT
trap 'exit 143' TERM INT

# script PROGRAM: its file and options.
script() {
    case $1 in
    even) echo "$here/data_parallel.py" ;;
    work | sleep | load) echo "$here/data_parallel.py --fault $1" ;;
    fsdp) echo "$here/sharded.py" ;;
    tensor) echo "$here/tensor_parallel.py" ;;
    *) echo "$here/$1.py" ;;
    esac
}

# Jobs are queued, so that the next one can load Python and PyTorch while one has the GPUs: it waits for its gate.
names=() limits=() ranks=() commands=() pids=() ends=()

# job NAME SECONDS RANKS PROGRAM OPTIONS COLLECTOR...: queue a program under a collector, or without one.
job() {
    local name=$1 limit=$2 processes=$3 program=$4 options=$5
    shift 5
    port=$((port + 1))
    # shellcheck disable=SC2046,SC2086 # scripts and options are words
    set -- "$@" "$python" -m torch.distributed.run --nproc-per-node "$processes" --master-addr 127.0.0.1 --master-port $port \
        $(script "$program") --slow $slow $options
    names+=("$name") limits+=("$limit") ranks+=("$processes") commands+=("$(printf '%q ' "$@")")
}

# start N: the job of that number, behind its gate; the time that it may take is counted from when the gate opens.
start() {
    local name=${names[$1]}
    (
        DDP_GATE=$work/tmp/gate$1
        export DDP_GATE
        eval "exec setsid ${commands[$1]}" >"$work/logs/$name.out" 2>"$work/logs/$name.err" </dev/null
    ) &
    pids[$1]=$!
}

# finish N: wait while job N runs and has time left; ended if the time is up.
finish() {
    local i=$1
    while kill -0 "${pids[i]}" 2>/dev/null && [ $SECONDS -lt "${ends[i]}" ]; do sleep 0.1; done
    kill -0 "${pids[i]}" 2>/dev/null || return 0
    kill -TERM -- "-${pids[i]}" 2>/dev/null
    sleep 3
    kill -KILL -- "-${pids[i]}" 2>/dev/null
}

# reap N AFTER: job N is over; AFTER NAME is called.
reap() {
    local name=${names[$1]} status
    finish "$1"
    wait "${pids[$1]}"
    status=$?
    [ $status -eq 0 ] || row "$name" BAD "status $status: $(complaint "$name")"
    printf '%s until %s s, status %s, %s\n' "$name" $SECONDS $status \
        "$(grep -h '^gpuprof-collect:' "$work/logs/$name.err" | tail -n 1)" >>"$work/logs/jobs.txt"
    $2 "$name"
}

# flush [AFTER]: run what is queued, one after the other: a job gets the GPUs when the one before it has left them.
flush() {
    local i after=${1:-:}
    pids=() ends=()
    for ((i = 0; i < ${#names[@]}; i++)); do
        if [ $((deadline - SECONDS)) -lt 12 ]; then
            [ -z "${pids[i]:-}" ] || kill -TERM -- "-${pids[i]}" 2>/dev/null
            row "${names[i]}" BAD "no time left"
            continue
        fi
        [ -n "${pids[i]:-}" ] || start "$i"
        [ $((i + 1)) -ge ${#names[@]} ] || start $((i + 1))
        : >"$work/tmp/gate$i"
        ends[i]=$((SECONDS + limits[i]))
        [ "${ends[i]}" -le $deadline ] || ends[i]=$deadline
        reap "$i" "$after"
    done
    names=() limits=() ranks=() commands=()
}

complaint() {
    grep -hE 'Error|error:|gpuprof-collect: ' "$work/logs/$1.err" | grep -vE 'gpuprof-collect: [0-9]|ChildFailedError' | tail -n 1 | cut -c 1-200
}

# in_background NAME COMMAND...: a check whose rows go to the report when it is done.
in_background() {
    local name=$1
    shift
    { timeout 100 "$@" >"$work/checks/$name.rows" 2>"$work/logs/check_$name.err"; mv "$work/checks/$name.rows" "$work/checks/$name.done"; } &
    checks+=($!)
}

checks=()
checked() {
    [ ${#checks[@]} -eq 0 ] || wait "${checks[@]}"
    checks=()
    cat "$work/checks"/*.done 2>/dev/null | tee -a "$out/report.txt"
    rm -f "$work/checks"/*.done
}

# A page and a still of the ranks, and what trace-hta says in words.
show() {
    local program=$1
    timeout 60 "$bin/trace2timeline" -q -f svg -o "$work/pictures/$program.svg" "$work/traces/$program.one.trace"
    timeout 60 "$bin/trace2timeline" -q -o "$work/pictures/$program.html" "$work/traces/$program.one.trace"
    timeout 60 "$bin/trace-hta" -q --width 150 -o "$work/pictures/$program.hta.txt" "$work/traces/$program.one.trace"
    printf '%-18s %-4s %s\n' "timeline $program" "$([ -s "$work/pictures/$program.svg" ] && echo ok || echo BAD)" \
        "$(stat -c %s "$work/pictures/$program.html" 2>/dev/null) bytes of HTML, $(stat -c %s "$work/pictures/$program.svg" 2>/dev/null) of SVG"
}

compare() {
    local program=$1
    in_background "$program" bash -c "$(declare -f show); work='$work' bin='$bin'
        mkdir -p '$work/tmp/all.$program' && ln -sf '$work/traces/$program'.* '$work/kineto/$program'.* '$work/tmp/all.$program/'
        '$python' '$here/check.py' recordings $program '$work/tmp/all.$program' $gpus $slow; show $program"
}

recorded() {
    local program=${1%.*}
    case $1 in
    *.each) [ -n "$with_torch" ] || compare "$program" ;;
    *.kineto)
        mv "$work/tmp/$program".kineto.rank*.json.gz "$work/kineto/" 2>/dev/null
        compare "$program"
        ;;
    esac
}

# Every program by gpuprof-collect, twice, and by torch.profiler where $1 says so.
record() {
    local program
    with_torch=$1
    for program in ${DDP_PROGRAMS:-work sleep load experts even fsdp tensor pipeline}; do
        # shellcheck disable=SC2086 # options
        job "$program.one" 60 "$gpus" "$program" "" "$bin/gpuprof-collect" ${DDP_OPTIONS:---sample} --start profiler \
            -o "$work/traces/$program.one.trace" --
        # shellcheck disable=SC2086 # options
        job "$program.each" 60 "$gpus" "$program" "" "$bin/gpuprof-collect" ${DDP_OPTIONS:---sample} --start profiler \
            -o "$work/traces/$program.each.rank%r.trace" --
        [ -z "$with_torch" ] || job "$program.kineto" 60 "$gpus" "$program" "--kineto $work/tmp/$program.kineto.json.gz"
    done
    flush recorded
    checked
}

part_record() { record ""; }
part_both() { record torch; }

watched() {
    local program=${1#live.}
    kill -TERM "$watcher" 2>/dev/null
    wait "$watcher" 2>/dev/null
    "$python" "$here/check.py" live "$program" "$work/logs/live.$program.json" "$work/logs/live.$program.out" $slow 2>&1 | tee -a "$out/report.txt"
}

part_live() {
    local program
    for program in ${DDP_LIVE:-work sleep load experts}; do
        "$bin/trace-fleet" --listen "$work/tmp/fleet.$program" -f json -o "$work/logs/live.$program.json" 2>"$work/logs/live.$program.fleet" &
        watcher=$!
        # shellcheck disable=SC2086 # options
        job "live.$program" 60 "$gpus" "$program" "--seconds 14" "$bin/gpuprof-collect" ${DDP_OPTIONS:---sample} --start profiler \
            --digest "$work/tmp/fleet.$program" -o /dev/null --
        flush watched
    done
}

part_cost() {
    local program round
    for round in $(seq "${DDP_ROUNDS:-4}"); do
        for program in ${DDP_COST:-even tensor}; do
            job "cost_${program}_bare_$round" 60 "$gpus" "$program" "--steps 60"
            job "cost_${program}_one_$round" 60 "$gpus" "$program" "--steps 60" "$bin/gpuprof-collect" --start profiler \
                --filter rank:0 -o "$work/tmp/cost.trace" --
            job "cost_${program}_all_$round" 60 "$gpus" "$program" "--steps 60" "$bin/gpuprof-collect" --start profiler \
                -o "$work/tmp/cost.trace" --
        done
    done
    flush
    "$python" "$here/check.py" cost "$work/logs"/cost_*.out 2>&1 | tee -a "$out/report.txt"
}

part_half() {
    local program tool options
    for program in even tensor; do
        [ -s "$work/traces/$program.one.trace" ] || job "$program.one" 60 "$gpus" "$program" "" "$bin/gpuprof-collect" \
            --start profiler -o "$work/traces/$program.one.trace" --
        job "$program.half" 60 $((gpus / 2)) "$program" "" "$bin/gpuprof-collect" --start profiler \
            -o "$work/traces/$program.half.trace" --
    done
    flush
    for program in even tensor; do
        timeout 60 "$bin/trace-diff" --width 150 "$work/traces/$program.half.trace" "$work/traces/$program.one.trace" \
            >"$work/logs/diff.$program.txt" 2>&1
        row "diff $program" "" "$((gpus / 2)) and $gpus GPUs: status $?"
        head -n 12 "$work/logs/diff.$program.txt" | tee -a "$out/report.txt"
    done
    if ! command -v mpirun >/dev/null || [ ! -x "$bin/trace-hta-mpi" ]; then
        row mpi skip "no MPI here"
        return
    fi
    for tool in "trace-hta" "mpirun -n 3 --oversubscribe --allow-run-as-root $bin/trace-hta-mpi"; do
        # shellcheck disable=SC2086 # a command
        timeout 60 ${tool/#trace-hta/$bin/trace-hta} -q --color never --width 100 "$work/traces/$program.one.trace" "$work/traces/$program.half.trace" >"$work/tmp/hta.${#tool}" 2>&1
    done
    row mpi "$(cmp -s "$work"/tmp/hta.* && echo ok || echo BAD)" "byte for byte"
}

part_traffic() {
    local counters tried=0
    for counters in nvltx__bytes_data_user.sum,nvlrx__bytes_data_user.sum,pcie__read_bytes.sum,pcie__write_bytes.sum \
        nvltx__bytes.sum,nvlrx__bytes.sum,pcie__read_bytes.sum,pcie__write_bytes.sum nvltx__bytes.sum,nvlrx__bytes.sum ""; do
        tried=$((tried + 1))
        rm -f "$work/traces/traffic.trace"
        job "traffic_$tried" 60 "$gpus" even "--steps 30" "$bin/gpuprof-collect" --start profiler "--sample-metrics=$counters@2000" \
            -o "$work/traces/traffic.trace" --
        flush
        row traffic "" "${counters:-default}: $(grep -h '^gpuprof-collect:' "$work/logs/traffic_$tried.err" | tail -n 2 | tr '\n' ' ' | cut -c 1-300)"
        "$python" "$here/check.py" traffic "$work/traces/traffic.trace" >"$work/tmp/traffic" 2>&1
        ! grep -q 'GPU 0 ' "$work/tmp/traffic" || break
    done
    tee -a "$out/report.txt" <"$work/tmp/traffic"
}

part_try() {
    job try 200 "$gpus" even "--seconds 170" "$bin/gpuprof-try" --changes=fused --set 'noted=note(1) // note(0)' \
        --time-limit 15s -o "$work/logs/try.txt" --
    flush
    tee -a "$out/report.txt" <"$work/logs/try.txt"
    "$python" "$here/check.py" switches "$work/logs/try.out" "$gpus" 2>&1 | tee -a "$out/report.txt"
}

{
    nvidia-smi -L | head -n "$gpus"
    nvidia-smi topo -m
    nvidia-smi --query-gpu=driver_version,clocks.sm --format=csv,noheader
    "$python" -c 'import torch; print("torch", torch.__version__, "NCCL", torch.cuda.nccl.version())'
    "$bin/gpuprof-collect" --version
} >"$work/logs/machine.out" 2>&1
row machine "" "$(nvidia-smi -L 2>/dev/null | head -n 1 | cut -c 1-40), $(nvidia-smi -L 2>/dev/null | wc -l) GPUs; $(grep -h '^torch' "$work/logs/machine.out")"
if [ "$gpus" -lt 2 ]; then
    row gpus BAD "needs two GPUs or more"
    exit 2
fi
for part; do
    row "== $part" "" "$((deadline - SECONDS)) s left"
    if declare -F "part_$part" >/dev/null; then "part_$part"; else row "$part" BAD "no such part"; fi
done
row "== done" "" "in $SECONDS s: $(grep -c ' ok ' "$out/report.txt") ok, $(grep -c ' BAD ' "$out/report.txt") bad"
! grep -q ' BAD ' "$out/report.txt"
