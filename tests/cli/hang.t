#!/bin/sh
test_description='where a job hangs: flight-recorder pickles and NCCL Inspector, one log per rank'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"

command -v python3 >/dev/null || { echo '1..0 # SKIP python3 is missing'; exit 0; }

test_expect_success '40 planted hangs: the sentence names the rank, the collective and the cause' '
    mkdir jobs && python3 "$GP_SOURCE/tests/hang/planted.py" jobs >said && grep "^40 of 40" said
'

if python3 -c 'import jsonschema' 2>/dev/null; then test_set_prereq JSONSCHEMA; fi
test_expect_success JSONSCHEMA 'JSON is what the schema says' '
    for job in 0 1 2 3; do
        trace-hta -f json jobs/$job/* >a.json && python3 -c "import json, jsonschema, sys
jsonschema.validate(json.load(open(\"a.json\")), json.load(open(sys.argv[1])))" "$GP_SOURCE/schemas/trace-hta-hang.schema.json" || return 1
    done
'

test_expect_success 'text and CSV have the sentence and a row per rank; other formats are refused' '
    trace-hta --width 200 jobs/0/* | tr "\n" " " >text && grep "did not join it (last: .*waiting: rank" text && grep "missing" text &&
    trace-hta -f csv jobs/0/* >rows.csv && head -n 1 rows.csv | grep "^group,rank,role" &&
    status_of trace-hta -f html jobs/0/* && test "$status" = 2
'

# inspector RANK SEQ...: a log of NCCL Inspector with the collectives that ended.
inspector() {
    rank=$1
    shift
    for seq in "$@"; do
        printf "{\"header\": {\"id\": \"0x7f8c\", \"rank\": %d, \"n_ranks\": 3, \"nnodes\": 1}, " "$rank"
        printf "\"metadata\": {\"inspector_output_format_version\": \"v4.0\", \"dump_timestamp_us\": 17480303777%05d}, " "$seq"
        printf "\"coll_perf\": {\"coll\": \"AllReduce\", \"coll_sn\": %d, \"coll_msg_size_bytes\": 4096, \"coll_exec_time_us\": 7}}\n" "$seq"
    done
}

test_expect_success 'NCCL Inspector: the rank that is behind' '
    inspector 0 5 6 7 8 >a.log && inspector 1 5 6 >b.log && inspector 2 5 6 7 8 >c.log &&
    trace-hta -f json a.log b.log c.log >a.json &&
    jq -e ".cause == \"missing\" and .seq == 7 and .op == \"AllReduce\" and (.sentence | contains(\"rank 1 did not join it\"))" a.json &&
    inspector 1 5 6 7 8 >b.log && trace-hta -f json a.log b.log c.log >a.json && jq -e ".cause == \"none\"" a.json
'

test_expect_success 'a rank that waits in another group is not the cause: the other group is' '
    python3 - <<-END &&
	import pickle
	def entry(group, seq, op, state):
	    return {"process_group": (group, "g" + group), "collective_seq_id": seq, "profiling_name": "nccl:" + op, "input_sizes": [[4]],
	            "output_sizes": [[4]], "state": state, "time_created_ns": 10**18 + seq, "is_p2p": False}
	config = {"1": {"name": "1", "desc": "g1", "ranks": "[0, 1]"}, "2": {"name": "2", "desc": "g2", "ranks": "[1, 2]"}}
	logs = [[entry("1", 1, "all_reduce", "started")], [entry("2", 1, "broadcast", "started")], []]
	logs[2] = [entry("2", 0, "broadcast", "completed")]
	logs[1].insert(0, entry("2", 0, "broadcast", "completed"))
	for rank, entries in enumerate(logs):
	    pickle.dump({"version": "2.10", "pg_config": config, "entries": entries}, open("chain_%d" % rank, "wb"), protocol=4)
	END
    trace-hta -f json chain_0 chain_1 chain_2 >a.json &&
    jq -e ".group == \"g2 (2)\" and .op == \"broadcast\" and (.sentence | contains(\"rank 2 did not join it\"))" a.json
'

test_expect_success 'all are in it; other pickles; logs that were cut' '
    python3 - <<-END &&
	import pickle
	for rank in 0, 1:
	    e = {"process_group": ("0", "default_pg"), "collective_seq_id": 3, "profiling_name": "nccl:all_reduce", "input_sizes": [[4]],
	         "output_sizes": [[4]], "state": "started", "time_created_ns": 1, "is_p2p": False}
	    data = pickle.dumps({"version": "2.10", "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}}, "entries": [e]}, protocol=2)
	    open("in_%d" % rank, "wb").write(data)
	    open("cut_%d" % rank, "wb").write(data[:-40])
	open("other.pickle", "wb").write(pickle.dumps({"a": 1}, protocol=2))
	END
    trace-hta --width 200 in_0 in_1 >text && grep "all 2 ranks are in it, and it does not end" text &&
    ! trace-hta other.pickle 2>err && grep "a pickle, not a trace" err && ! trace-hta in_0 other.pickle 2>err &&
    grep "other.pickle: no log of collectives" err &&
    trace-hta -f json cut_0 cut_1 >cut.json && jq -e ".ranks | length == 2" cut.json
'

test_expect_success 'a log that PyTorch 2.11 wrote' '
    trace-hta -f json "$samples/other/flight_recorder.rank0.pickle" >a.json && jq -e ".cause == \"none\" and
        .ranks == [{\"group\": \"default_pg (0)\", \"rank\": 0, \"role\": \"none\", \"seq\": 3, \"op\": \"broadcast\", \"state\": \"completed\",
            \"sizes\": \"[[1000]] -> [[1000]]\", \"time_ns\": 1795795114891229004}]" a.json
'

test_done
