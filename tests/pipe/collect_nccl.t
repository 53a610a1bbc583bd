#!/bin/sh
# What libraries say in NVTX payloads, from a pretended NCCL to the figures of trace-hta.
test_description='gpuprof-collect: payloads of NVTX ranges, and NCCL operations from them'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"
. "$GP_SOURCE/tests/pipe/mock.sh"

# ranges TRACE -- its ranges as lines "name args", with the args in order.
ranges() {
    trace-convert --to chrome "$1" | python3 -c "
import json, sys
for e in json.load(sys.stdin)['traceEvents']:
    if e.get('cat') == 'user_annotation':
        print(e['name'], ' '.join('%s=%s' % (k, v) for k, v in sorted(e.get('args', {}).items())))"
}

# collectives TRACE... -- operation, type, group size, count, calls, bytes, total duration, bus bandwidth in GB/s.
collectives() {
    trace-hta -f json --top 0 "$@" | python3 -c "
import json, sys
for c in json.load(sys.stdin)['collectives']:
    print(*('%g' % v if isinstance(v, float) else v for v in (c[k] for k in ('operation', 'type', 'group_size',
        'count', 'calls', 'bytes', 'duration', 'bus_bandwidth_gbps')) if not isinstance(v, dict)))"
}

test_expect_success 'payloads by schema: names, offsets, sizes, and enumerations by their names' '
    $collect $app nccl >t 2>err && ranges t >got && comm="NCCL communicator ID=18364758544493064720" &&
    cat >expected <<-END &&
	NCCL:ncclCommInitRankConfig CUDA device=0 $comm No. of ranks=4 Rank=1
	NCCL:ncclAllReduce Message size [bytes]=4096 $comm Reduction operation=Sum
	NCCL:ncclAllGather Message size [bytes]=1000 $comm
	NCCL:ncclReduceScatter Message size [bytes]=512 $comm Reduction operation=Max
	NCCL:ncclBroadcast Message size [bytes]=300 $comm Root=0
	NCCL:ncclGroupStart
	NCCL:ncclAllReduce Message size [bytes]=100 $comm Reduction operation=Sum
	NCCL:ncclAllReduce Message size [bytes]=200 $comm Reduction operation=Sum
	NCCL:ncclAllReduce Message size [bytes]=300 $comm Reduction operation=Sum
	NCCL:ncclGroupEnd
	NCCL:ncclGroupStart
	NCCL:ncclSend Message size [bytes]=700 $comm Peer rank=3
	NCCL:ncclRecv Message size [bytes]=900 $comm Peer rank=3
	NCCL:ncclGroupEnd
	END
    sed "s/ $//" got | test_cmp expected -
'

# Every kernel of the mock takes 1000 ns. Bus bandwidth: bytes / 1000 ns times 2 * 3 / 4 for an all-reduce of 4 ranks, 3 / 4
# for all-gather and reduce-scatter, 1 for the rest.
test_expect_success 'operations, full messages and bus bandwidth; the calls of a group in one kernel' '
    collectives t >got && cat >expected <<-END &&
	all_gather None 4 1 1 4000 3
	all_reduce bf16 None 1 None None None
	all_reduce bf16 4 1 3 600 0.9
	all_reduce bf16 4 1 1 4096 6.144
	broadcast None 4 1 1 300 0.3
	reduce_scatter f32 4 1 1 2048 1.536
	send_recv None 4 1 2 900 0.9
	END
    test_cmp expected got &&
    trace-hta --full t >report && grep "all_reduce .* 3 .* 600 B " report && grep "Operation .* Calls" report &&
    trace-hta -f html t | grep "One kernel serves all calls of a group"
'

test_expect_success 'the same from a Chrome trace of it' '
    trace-convert --to chrome t >t.json && collectives t.json >got && test_cmp expected got
'

test_expect_success 'two processes of one communicator' '
    $collect sh -c "for r in 0 1; do RANK=\$r $app nccl; done" >two 2>err && collectives two >got && cat >expected <<-END &&
	all_gather None 4 2 2 8000 3
	all_reduce bf16 None 2 None None None
	all_reduce bf16 4 2 6 1200 0.9
	all_reduce bf16 4 2 2 8192 6.144
	broadcast None 4 2 2 600 0.3
	reduce_scatter f32 4 2 2 4096 1.536
	send_recv None 4 2 4 1800 0.9
	END
    test_cmp expected got
'

test_expect_success 'a communicator that was made before recording began' '
    $collect --start launch:1 $app nccl >t 2>err && ! ranges t | grep CommInit &&
    collectives t | grep "^all_gather None 4 1 1 4000 3$" &&
    trace-convert --to chrome t >t.json && collectives t.json | grep "^all_gather None 4 1 1 4000 3$" &&
    $collect --last 60s $app nccl >t 2>err && collectives t | grep "^all_gather None 4 1 1 4000 3$"
'

test_expect_success 'plain payloads, categories, colours; what cannot be read is left out' '
    $collect $app args >t 2>err && ranges t | sed "s/ $//" >got && cat >expected <<-END &&
	u64 Payload=18446744073709551615
	i64 Payload=-3
	f64 Payload=0.5
	u32 Payload=7
	i32 Payload=-7
	f32 Payload=0.25
	named Category=réseau
	lib:named Category=input
	lib:unnamed Category=6 Color=#00ff7f
	lib:
	lib:plain
	END
    test_cmp expected got
'

test_done
