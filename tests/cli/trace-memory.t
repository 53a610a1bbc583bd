#!/bin/sh
test_description='trace-memory: snapshots of PyTorch'"'"'s allocator and memory events of traces'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"

if ! command -v python3 >/dev/null; then
    skip_all='needs python3'
    test_done
fi
memory=$samples/memory
oracle="python3 -S $GP_SOURCE/tests/cli/memory_oracle.py $GP_BIN"

# make NAME: the snapshot that the Python program on standard input makes: it changes s, which is the leak's.
make() {
    {
        printf "import gzip, pickle\ns = pickle.load(gzip.open('%s'))\ntrace = s['device_traces'][0]\n" \
            "$memory/leak.pickle.gz"
        cat
        printf "\npickle.dump(s, open('%s', 'wb'), 4)\n" "$1"
    } | python3 -S -
}

for stats in "$memory"/*.stats.json; do
    name=$(basename "$stats" .stats.json)
    test_expect_success "$name: as an independent replay and the allocator's own counters have it" '
        $oracle "$memory/$name.pickle.gz" "$stats"
    '
done

test_expect_success 'a planted leak is found with its line, and is the first thing that is said' '
    trace-memory "$memory"/leak.pickle.gz >out &&
    line=$(python3 -S -c "import json, sys; print(json.load(open(sys.argv[1]))[\"leak\"][\"line\"])" "$memory"/leak.stats.json) &&
    head -n 2 out | tr "\n" " " >first && grep "leaks 16.4 kB per step (1 block): capture.py:$line remember" first &&
    trace-memory -f json "$memory"/leak.pickle.gz >json &&
    python3 -S - "$line" <<-\END
	import json, sys
	g = json.load(open("json"))["growth"]
	assert len(g) == 1 and g[0]["bytes_per_step"] == 16384 and g[0]["blocks_per_step"] == 1, g
	assert g[0]["certain"] and g[0]["rises"] == g[0]["steps"] == 7
	assert g[0]["stack"][0] == "capture.py:%s remember" % sys.argv[1], g
	END
'

test_expect_success 'what is kept by a line that several others call is one leak' '
    trace-memory -f json "$memory"/profile.pickle.gz >json &&
    python3 -S -c "
import json
g = json.load(open(\"json\"))[\"growth\"]
assert [(x[\"bytes_per_step\"], x[\"rises\"], x[\"steps\"]) for x in g] == [(16384, 4, 4)], g"
'

test_expect_success 'a program that leaks nothing is not accused' '
    for name in steady wide streams compiled cpp tail; do
        trace-memory -f json "$memory"/$name.pickle.gz >json && grep "\"growth\": \[\]" json || return 1
    done
'

test_expect_success 'out of memory: who asked, and what the program said of it' '
    make asked <<-END &&
	trace[-1]["user_metadata"] = "phase: eval"
	trace.append({"action": "oom", "addr": 0, "device_free": 1 << 20, "size": 1 << 42, "stream": 0,
	              "time_us": trace[-1]["time_us"] + 1, "user_metadata": "phase: eval", "compile_context": "",
	              "frames": [{"filename": "mem.py", "name": "evaluate", "line": 49}, {"filename": "mem.py", "name": "main", "line": 80}]})
	END
    trace-memory asked >out && tr "\n" " " <out | grep "mem.py:49 evaluate asked for it (phase: eval)\." && grep " in mem.py:49 evaluate$" out &&
    tr "\n" " " <out | grep "4.40 TB were requested .* too large for the device\." &&
    trace-memory -f csv --table ooms asked >csv && grep "mem.py:49 evaluate,mem.py:49 evaluate < mem.py:80 main,phase: eval" csv &&
    trace-memory -f html asked >html && grep "mem.py:49 evaluate &lt; mem.py:80 main" html && grep "phase: eval" html
'

test_expect_success 'growth in some of the steps: three blocks in four steps, not none' '
    make stairs <<-END &&
	from copy import deepcopy
	alloc = next(e for e in trace if e["action"] == "alloc")
	def event(action, at, size=512, addr=1 << 40):
	    return {**deepcopy(alloc), "action": action, "addr": addr, "size": size, "time_us": at}
	trace[:] = []
	s["segments"] = []
	for i in range(5):
	    if i in (1, 2, 4): trace.append(event("alloc", 1000 * i + 1, 512, (1 << 40) + 4096 * i))
	s["external_annotations"] = [{"name": "ProfilerStep#%d" % (i // 2), "stage": ("START", "END")[i % 2], "device": 0,
	                              "time_us": 1000 * (i // 2) + 900 * (i % 2)} for i in range(10)]
	END
    trace-memory stairs >out && tr "\n" " " <out | grep "(3 blocks in 4 steps)" &&
    trace-memory -f json stairs >json && jq -e ".growth[0].blocks_per_step == 0.75" json
'

# Three lines keep 512, 1024 and 2048 bytes in each of four steps. The first does not count: 1536, 3072 and 6144 bytes in all.
test_expect_success 'rows that are cut have their sum beside them, and JSON has all' '
    make grow <<-END &&
	from copy import deepcopy
	alloc = next(e for e in trace if e["action"] == "alloc")
	trace[:] = []
	s["segments"] = []
	for i in range(4):
	    for k in range(3):
	        trace.append({**deepcopy(alloc), "addr": (1 << 40) + (k << 20) + 4096 * i, "size": 512 << k, "time_us": 1000 * i + k + 1,
	                      "frames": [{"filename": "grow.py", "name": "keep%d" % k, "line": k + 1}]})
	s["external_annotations"] = [{"name": "ProfilerStep#%d" % (i // 2), "stage": ("START", "END")[i % 2], "device": 0,
	                              "time_us": 1000 * (i // 2) + 900 * (i % 2)} for i in range(8)]
	END
    trace-memory -n 1 -t growth grow >out && grep "and 2 more, together 4.61 kB" out &&
    trace-memory -n 1 -f csv -t growth grow >csv && test "$(tail -n 1 csv | tr -d "\r")" = "(other),,,,,,4608,,,," &&
    trace-memory -n 1 -f json grow | jq -e "[.growth[].bytes] == [6144, 3072, 1536]"
'

test_expect_success 'what is cut adds up in every table that splits a whole' '
    joined="$memory/leak_collected.pickle.gz $memory/leak.trace" &&
    while read -r table path column inputs; do
        trace-memory -q -n 1 -f csv -t $table $inputs >csv && trace-memory -q -n 1 -f json $inputs >json && python3 -S - $path $column <<-\END || return 1
	import csv, json, sys
	rows = json.load(open("json"))
	for key in sys.argv[1].split("."): rows = rows[key]
	cells = list(csv.DictReader(open("csv", newline="")))
	assert "(other)" in cells[-1].values() and len(cells) - 1 < len(rows), cells
	assert sum(int(c[sys.argv[2]]) for c in cells) == sum(r[sys.argv[2]] for r in rows), (cells, len(rows))
	END
    done <<-END
	holders holders bytes $joined
	ranges ranges allocated_bytes $joined
	operators operators allocated_bytes $memory/profile.json.gz
	outside outside bytes $joined
	comparison comparison.holders change_bytes --base $memory/profile.pickle.gz $memory/leak.pickle.gz
	END
'

test_expect_success 'a snapshot without history is headed by what it is' '
    for name in off state; do
        trace-memory "$memory"/$name.pickle.gz >out && grep "^Memory held at the end" out && ! grep "What held the peak" out || return 1
    done &&
    trace-memory "$memory"/leak.pickle.gz | grep "^What held the peak"
'

# Each of its rows has the sums of the categories: what was allocated and freed in between is not in the file.
test_expect_success 'sums by category are not a history of blocks: allocations and churn are unknown' '
    trace-memory -f json "$memory"/timeline.json.gz >json &&
    jq -e ".devices[0] | .history == \"sums\" and .sizes_exact == false and .allocations == null and .frees == null and .peak_bytes == 5318144" json &&
    jq -e ".churn[0] | .allocations == null and .bytes == null" json && jq -e ".lifetimes == [] and .holders[0].blocks == null" json &&
    trace-memory "$memory"/timeline.json.gz >out && ! grep -i "^churn" out && grep "only sums by category" out &&
    trace-memory -f json "$memory"/timeline.raw.json.gz | jq -e ".devices[0].allocations > 0 and .churn[0].bytes > 0"
'

test_expect_success 'JSON that is not a trace is refused, with its name once' '
    echo "{\"a\": [1, 2]}" >other.json &&
    status_of trace-memory other.json && test "$status" -eq 2 &&
    test "$(cat err)" = "trace-memory: other.json: not a trace: the JSON object has no \"traceEvents\""
'

test_expect_success 'out of memory: the verdict of each program' '
    for name in oom_fragmented oom_too_large oom_others; do
        trace-memory -f json --device-memory 150109880320 "$memory"/$name.pickle.gz >json &&
        python3 -S - "$memory"/$name.stats.json <<-\END || return 1
	import json, sys
	o, = json.load(open("json"))["ooms"]
	stats = json.load(open(sys.argv[1]))
	assert o["verdict"] == stats["verdict"] and o["verdict_from"] == "recorded", o
	assert o["requested_bytes"] == stats["requested"]
	assert o["allocated_bytes"] == stats["memory_allocated"] and o["reserved_bytes"] == stats["memory_reserved"]
	assert sum(h["bytes"] for h in o["holders"]) == o["allocated_bytes"]
	END
    done &&
    trace-memory "$memory"/oom_fragmented.pickle.gz >out && head -n 3 out | tr "\n" " " >first &&
    grep "ran out of memory: 4.29 GB were requested while 54.8 GB were cached, but the largest free block has 805 MB: fragmentation" first &&
    trace-memory -f json "$memory"/oom_fragmented.pickle.gz | grep "\"metadata\": \"the large request\"" &&
    trace-memory "$memory"/oom_others.pickle.gz | head -n 4 | tr "\n" " " | grep "a guess"
'

test_expect_success 'the protocols are one: the same answer but for the name of the input' '
    trace-memory -f json "$memory"/leak.pickle.gz | sed "s/\"path\": \"[^\"]*\"//" >expect &&
    for p in 2 5; do
        trace-memory -f json "$memory"/leak.protocol$p.pickle.gz | sed "s/\"path\": \"[^\"]*\"//" >out &&
            test_cmp expect out || return 1
    done &&
    zcat "$memory"/leak.pickle.gz >plain && zstd -q plain &&
    for f in plain plain.zst; do
        trace-memory "$f" >out && trace-memory "$memory"/leak.pickle.gz >expect && test_cmp expect out || return 1
    done
'

test_expect_success 'a pickle that calls a shell is refused by the name of the opcode, and nothing runs' '
    python3 -S -c "
import os, pickle
class Shell:
    def __reduce__(self):
        return os.system, (\"touch executed\",)
for p in range(2, 6):
    pickle.dump({\"segments\": [Shell()], \"device_traces\": []}, open(\"shell%d\" % p, \"wb\"), p)" &&
    for p in 2 3 4 5; do
        status_of trace-memory shell$p && test $status = 2 && test_must_be_empty out &&
        grep -E "^trace-memory: shell$p: byte [0-9]+: the opcode (STACK_)?GLOBAL asks to import or call" err &&
        test $(wc -l <err) = 1 || return 1
    done &&
    ! test -e executed
'

test_expect_success 'a pickle of something else, and a zip file, say what they are' '
    python3 -S -c "import pickle; pickle.dump([1, {\"a\": 2}], open(\"other\", \"wb\"))" &&
    status_of trace-memory other && test $status = 2 && grep "it has no segments" err &&
    printf "PK\003\004rest" >zip && status_of trace-memory zip && test $status = 2 && grep "torch.save" err
'

test_expect_success 'cut anywhere, it is used as far as possible' '
    zcat "$memory"/leak.pickle.gz >whole && size=$(wc -c <whole) &&
    for at in 3 100 1000 3000 7000 20000 50000 100000 $((size - 5000)) $((size - 1)); do
        head -c $at whole >cut && status_of trace-memory -f json cut &&
        if test $status = 0; then
            grep "^trace-memory: cut: " err && grep "\"truncated\": true" out &&
            status_of trace-memory --strict cut && test $status = 2 || return 1
        else
            test $status = 2 && grep "^trace-memory: cut: byte" err || return 1
        fi
    done &&
    head -c 100000 whole >cut && trace-memory -q -f json cut >json && python3 -S -c "
import json
d = json.load(open(\"json\"))[\"devices\"][0]
assert d[\"allocations\"] > 300 and d[\"peak_bytes\"] == 99740672 or d[\"peak_bytes\"] > 99e6, d
assert d[\"end_bytes\"] == 87208960"
'

test_expect_success 'a line of 2^64 - 1 is not a line' '
    make odd <<-\END &&
	for e in trace:
	    if e.get("frames"):
	        e["frames"][0]["line"] = 2 ** 64 - 1
	END
    trace-memory -f json odd >json && ! grep 1844674407370955 json && ! grep "capture.py:-1" json &&
    zgrep -c . "$memory"/compiled.pickle.gz >lines && trace-memory "$memory"/compiled.pickle.gz >out
'

test_expect_success 'histories that contradict themselves are counted and still used' '
    make odd <<-\END &&
	frees = [i for i, e in enumerate(trace) if e["action"] == "free_completed"]
	requests = [i for i, e in enumerate(trace) if e["action"] == "free_requested"]
	del trace[frees[100]], trace[requests[100]]
	trace.append(dict(trace[-1]))
	trace[-300]["time_us"] = trace[0]["time_us"]
	END
    trace-memory -f json odd >json 2>err && python3 -S -c "
import json
r = json.load(open(\"json\"))
c = r[\"devices\"][0][\"contradictions\"]
assert c[\"lost_frees\"] >= 1 and c[\"double_frees\"] == 1 and c[\"unordered\"] == 1, c
assert sum(h[\"bytes\"] for h in r[\"holders\"]) == r[\"devices\"][0][\"peak_bytes\"]" &&
    trace-memory odd | grep "contradicts itself"
'

test_expect_success 'sizes and times that cannot be are left out and counted' '
    make odd <<-\END &&
	trace[20]["size"] = -5
	trace[21]["size"] = 2 ** 60
	trace[22]["size"] = 2 ** 80
	trace[23]["time_us"] = 0
	trace[24]["action"] = "what is this"
	trace[25]["addr"] = 2 ** 64 - 512
	END
    trace-memory -f json odd >json 2>err && grep "^trace-memory: odd: " err &&
    python3 -S -c "
import json
q = {i[\"kind\"]: i[\"count\"] for i in json.load(open(\"json\"))[\"quality\"][\"issues\"]}
assert q[\"bad_value\"] >= 3 and q[\"bad_time\"] == 1, q"
'

test_expect_success 'no history, only the state, a tail: each is named, and sums close' '
    trace-memory "$memory"/off.pickle.gz | tr "\n" " " | grep "no history was recorded" &&
    trace-memory "$memory"/state.pickle.gz | tr "\n" " " | grep "only the state at the end was recorded" &&
    trace-memory "$memory"/tail.pickle.gz | tr "\n" " " | grep "the history begins when 90.7 MB in 53 blocks were allocated already"
'

test_expect_success 'a trace of torch.profiler: the chain of totals, its peak, backward blocks under their forward code' '
    trace-memory -f json "$memory"/profile.json.gz >json && python3 -S - "$memory"/profile.stats.json "$memory"/profile.json.gz <<-\END
	import gzip, json, sys
	r = json.load(open("json"))
	d, = r["devices"]
	stats = json.load(open(sys.argv[1]))
	assert d["peak_bytes"] == stats["max_memory_allocated"], d
	assert d["base_bytes"] == stats["allocated_before"], d
	rows = sorted((e["ts"], e["args"]) for e in json.load(gzip.open(sys.argv[2]))["traceEvents"]
	              if e.get("name") == "[memory]" and e["args"]["Device Type"] == 1)
	total = rows[0][1]["Total Allocated"] - rows[0][1]["Bytes"]
	assert total == d["base_bytes"]
	for _, a in rows:
	    total += a["Bytes"]
	    assert total == a["Total Allocated"]
	assert total == d["end_bytes"] == r["series"][-1]["allocated_bytes"], (total, d)
	assert max(p["reserved_bytes"] for p in r["series"]) == stats["max_memory_reserved"]
	assert sum(h["bytes"] for h in r["holders"]) == d["peak_bytes"]
	assert d["allocations"] == sum(a["Bytes"] > 0 for _, a in rows)
	assert {u["name"] for u in r["ranges"]} >= {"forward", "backward", "Optimizer.step#AdamW.step"}
	assert any(u["name"] == "backward" and u["allocations"] > 30 for u in r["ranges"])
	END
'

test_expect_success 'what gpuprof-collect recorded: by kind of memory' '
    trace-memory -f json "$memory"/leak.trace >json && python3 -S -c "
import json
d = {x[\"kind\"]: x for x in json.load(open(\"json\"))[\"devices\"]}
assert d[\"Device\"][\"allocations\"] == 25 and d[\"Device Static\"][\"allocations\"] == 858, d" &&
    trace-memory -f json "$samples"/h200/managed.trace >json && python3 -S -c "
import json
d = {x[\"kind\"]: x for x in json.load(open(\"json\"))[\"devices\"]}
assert d[\"Managed\"][\"peak_bytes\"] == 33554432 and d[\"Device pool\"][\"peak_bytes\"] == 3 << 20, d"
'

test_expect_success 'a snapshot and a trace of one run are joined: backward blocks get their operator and forward code' '
    trace-memory -f json "$memory"/profile.pickle.gz >expect &&
    for order in "$memory/profile.pickle.gz $memory/profile.json.gz" "$memory/profile.json.gz $memory/profile.pickle.gz"; do
        trace-memory -f json $order >json && python3 -S - <<-\END || return 1
	import json
	r, alone = json.load(open("json")), json.load(open("expect"))
	d, = r["devices"]
	assert d["joined_blocks"] == 108, d
	assert {k: d[k] for k in ("peak_bytes", "end_bytes", "allocations", "frees")} == \
	       {k: alone["devices"][0][k] for k in ("peak_bytes", "end_bytes", "allocations", "frees")}
	assert sum(h["bytes"] for h in r["holders"]) == d["peak_bytes"]
	mm = [h for h in r["holders"] if h["key"] == "aten::mm < capture.py:114 step"]
	assert mm and all(h["stand_in"] and h["stack"][0].startswith("aten::mm") for h in mm), mm
	assert any("MmBackward0" in f or "AddmmBackward0" in f for h in mm for f in h["stack"])
	assert any(f.startswith("capture.py") for h in mm for f in h["stack"])
	g, = r["growth"]
	assert g["bytes_per_step"] == 16384 and g["certain"]
	END
    done &&
    trace-memory -f json --by op "$memory"/profile.pickle.gz "$memory"/profile.json.gz | grep "\"key\": \"aten::mm\"" &&
    trace-memory -f json "$memory"/leak.pickle.gz "$memory"/profile.json.gz | grep "\"joined_blocks\": 0"
'

test_expect_success 'what lies outside the allocator: given by the driver, not a segment' '
    trace-memory -f json "$memory"/leak_collected.pickle.gz "$memory"/leak.trace >json && trace-convert -q --to chrome -o chrome.json "$memory"/leak.trace &&
    python3 -S - "$memory"/leak_collected.pickle.gz <<-\END
	import gzip, json, pickle, sys
	r = json.load(open("json"))
	assert len(r["devices"]) == 1, r["devices"]
	segments = {s["address"] for s in pickle.load(gzip.open(sys.argv[1]))["segments"]}
	rows = [e["args"] for e in json.load(open("chrome.json"))["traceEvents"] if e["name"] == "[memory]"]
	outside = [a for a in rows if a["Memory"] == "Device" and a["Addr"] not in segments]
	mine = [o for o in r["outside"] if o["kind"] == "Device"]
	assert sum(o["bytes"] for o in mine) == sum(a["Bytes"] for a in outside) and sum(o["blocks"] for o in mine) == len(outside) == 6
	END
'

test_expect_success 'trace2timeline draws the same: totals, peak, ranges, and where memory ran out' '
    for name in leak oom_fragmented compiled streams tail cpp off ddp.rank1; do
        trace2timeline -q -f chrome -o drawn.json "$memory"/$name.pickle.gz && trace-memory -q -f json "$memory"/$name.pickle.gz >json &&
        trace-memory -q -f json drawn.json >again && python3 -S - $name <<-\END || return 1
	import json, sys
	name = sys.argv[1]
	events = json.load(open("drawn.json"))["traceEvents"]
	d, = json.load(open("json"))["devices"]
	rows = [e["args"] for e in events if e["name"] == "[memory]"]
	if d["history"] == "none":
	    assert not rows
	    sys.exit()
	total = rows[0]["Total Allocated"] - rows[0]["Bytes"]
	assert total == d["base_bytes"], (name, total, d)
	for r in rows:
	    total += r["Bytes"]
	    assert total == r["Total Allocated"], (name, r)
	assert total == d["end_bytes"] and max([d["base_bytes"]] + [r["Total Allocated"] for r in rows]) == d["peak_bytes"]
	assert max(r["Total Reserved"] for r in rows) == d["reserved_peak_bytes"]
	assert sum(r["Bytes"] > 0 for r in rows) == d["allocations"] and sum(r["Bytes"] < 0 for r in rows) >= d["frees"]
	again, = json.load(open("again"))["devices"]
	assert {k: again[k] for k in ("peak_bytes", "peak_ns", "end_bytes")} == {k: d[k] for k in ("peak_bytes", "peak_ns", "end_bytes")}
	marks = [e["args"] for e in events if e["name"] == "out of memory"]
	assert [m["Verdict"] for m in marks] == (["fragmentation"] if name == "oom_fragmented" else []), marks
	if name == "leak":
	    assert sum(e["ph"] == "X" and e["name"].startswith("step ") for e in events) == 8
	END
    done &&
    zcat "$memory"/leak.pickle.gz | head -c 100000 >cut && trace2timeline -o cut.html cut 2>err && grep "^trace2timeline: cut: " err &&
    status_of trace2timeline --strict cut && test $status = 2 && test_must_be_empty out &&
    status_of trace2timeline shell4 && test $status = 2 && grep "asks to import or call" err &&
    trace2timeline -q "$memory"/profile.json.gz "$memory"/profile.pickle.gz >both.html && trace2timeline -q -f svg "$memory"/leak.pickle.gz >leak.svg
'

test_expect_success '--base: the changes sum to the change of the whole, whatever the order' '
    trace-memory -f json --base "$memory"/steady.pickle.gz "$memory"/wide.pickle.gz >more &&
    trace-memory -f json --base "$memory"/wide.pickle.gz "$memory"/steady.pickle.gz >less &&
    python3 -S -c "
import json
a, b = json.load(open(\"more\"))[\"comparison\"], json.load(open(\"less\"))[\"comparison\"]
for c in (a, b):
    assert sum(h[\"change_bytes\"] for h in c[\"holders\"]) == c[\"change_bytes\"] == c[\"bytes\"] - c[\"base_bytes\"]
assert a[\"change_bytes\"] == -b[\"change_bytes\"] == 196608
assert a[\"holders\"][0][\"key\"] == \"capture.py train\" and a[\"holders\"][0][\"change_bytes\"] == 196608" &&
    trace-memory --base "$memory"/wide.pickle.gz "$memory"/wide.pickle.gz | head -n 1 | grep "^As much memory is held as in the base" &&
    status_of trace-memory --base nowhere "$memory"/wide.pickle.gz && test $status = 2 && grep "^trace-memory: nowhere: " err
'

test_expect_success 'exported memory time lines: sums and changes have one peak, and their categories' '
    for f in timeline.json.gz timeline.raw.json.gz; do
        trace-memory -f json --by category "$memory"/$f >json && python3 -S - "$memory"/timeline.json.gz <<-\END || return 1
	import gzip, json, sys
	r = json.load(open("json"))
	times, rows = json.load(gzip.open(sys.argv[1]))
	peak = max(map(sum, rows))
	at = next(r for r in rows if sum(r) == peak)
	names = ["parameters", "optimizer state", "inputs", "temporary", "activations", "gradients", "autograd detail", "unknown"]
	assert r["devices"][0]["peak_bytes"] == peak
	assert {h["key"]: h["bytes"] for h in r["holders"]} == {n: v for n, v in zip(names, at[1:]) if v}, r["holders"]
	assert all(h["category_from"] == "recorded" or h["category"] == "unknown" for h in r["holders"])
	END
    done &&
    zcat "$memory"/timeline.raw.json.gz | head -c 9000 >cut && trace-memory -f json cut >json 2>err && grep "ends early" err &&
    echo "[[1, 2], [3" >odd && status_of trace-memory odd && test $status = 2 && grep "not a memory time line" err
'

test_expect_success '--at: the end, a time, the last failure' '
    trace-memory -f json --at end "$memory"/leak.pickle.gz >end && trace-memory -f json --at 1us "$memory"/leak.pickle.gz >early &&
    trace-memory -f json --at oom "$memory"/oom_others.pickle.gz >oom && python3 -S -c "
import json
r = json.load(open(\"end\"))
assert sum(h[\"bytes\"] for h in r[\"holders\"]) == r[\"devices\"][0][\"end_bytes\"] == 87208960
r = json.load(open(\"early\"))
assert sum(h[\"bytes\"] for h in r[\"holders\"]) < 4000000, r[\"holders\"]
r = json.load(open(\"oom\"))
assert sum(h[\"bytes\"] for h in r[\"holders\"]) == r[\"ooms\"][0][\"allocated_bytes\"]" &&
    status_of trace-memory --at sometime "$memory"/leak.pickle.gz && test $status = 2 && grep "^trace-memory: --at: " err
'

test_expect_success '--min-bytes folds the rest into one row, and the sum stays' '
    trace-memory -f json --min-bytes 1M "$memory"/leak.pickle.gz >json && python3 -S -c "
import json
r = json.load(open(\"json\"))
keys = [h[\"key\"] for h in r[\"holders\"]]
assert keys[-1] == \"[3 smaller]\", keys
assert all(h[\"bytes\"] >= 1 << 20 for h in r[\"holders\"][:-1])
assert sum(h[\"bytes\"] for h in r[\"holders\"]) == r[\"devices\"][0][\"peak_bytes\"]"
'

test_expect_success '--step-marker and --device choose, and refuse what they cannot use' '
    trace-memory -f json --step-marker "^step [0-3]$" "$memory"/leak.pickle.gz | grep "\"steps\": 4" &&
    status_of trace-memory --step-marker "(" "$memory"/leak.pickle.gz && test $status = 2 && grep "^trace-memory: --step-marker: " err &&
    trace-memory -f json --device 1 "$memory"/leak.pickle.gz | grep "\"devices\": \[\]" &&
    status_of trace-memory --device x "$memory"/leak.pickle.gz && test $status = 2
'

test_expect_success 'tables: one of them, by name' '
    trace-memory -t growth "$memory"/leak.pickle.gz >out && grep "capture.py:127 remember" out &&
    trace-memory -f csv -t ranges "$memory"/leak.pickle.gz >out && grep "^cuda:0,0,backward,201,99" out &&
    trace-memory -f csv -t stacks "$memory"/leak.pickle.gz | grep "capture.py:127 remember" &&
    status_of trace-memory -t nonsense "$memory"/leak.pickle.gz && test $status = 2 && grep "no table" err &&
    status_of trace-memory -f json -t growth "$memory"/leak.pickle.gz && test $status = 2
'

test_expect_success 'folded stacks become a flame graph of bytes' '
    trace-memory -f folded --at peak "$memory"/leak.pickle.gz | trace2flame >flame.svg && grep "remember" flame.svg
'

test_expect_success 'several ranks stand side by side' '
    trace-memory -f json "$memory"/ddp.rank0.pickle.gz "$memory"/ddp.rank1.pickle.gz >json && python3 -S -c "
import json
r = json.load(open(\"json\"))
assert [d[\"device\"] for d in r[\"devices\"]] == [\"cuda:0\", \"cuda:1\"]
for i, d in enumerate(r[\"devices\"]):
    assert sum(h[\"bytes\"] for h in r[\"holders\"] if h[\"device_index\"] == i) == d[\"peak_bytes\"]"
'

test_expect_success 'the page of every sample loads nothing, closes its tags, and is small' '
    for f in "$memory"/*.pickle.gz "$memory"/profile.json.gz "$memory"/leak.trace; do
        trace-memory -q -f html "$f" >page.html && test "$(wc -c <page.html)" -lt 1000000 &&
        python3 -S "$GP_SOURCE"/tests/cli/check_page.py page.html || return 1
    done
'

test_expect_success 'a page has 3 MB at most, whatever the input: devices, names, stacks, segments' '
    make huge.pickle <<-\END &&
	import random
	random.seed(7)
	one = s["device_traces"][0]
	def frames(i):
	    return [{"filename": "/dir/%d.py" % (i % 97), "line": i % 1000 + 1, "name": "f%d_" % i + "x" * 60000 * (i % 300 == 0) + "<&>" * 20} for i in range(i, i + 70)]
	many = []
	for k in range(1500):
	    many.append({"action": "alloc", "addr": 1 << 44 | k << 20, "size": 512 + 512 * random.randrange(900), "stream": 0, "time_us": 1000000 + 7 * k, "frames": frames(k)})
	s["device_traces"] = [many] * 12 + [one]
	blocks = [{"address": 1 << 44 | k << 20, "size": 1 << 20, "requested_size": 1 << 20, "state": "active_allocated" if k % 3 else "inactive", "frames": []} for k in range(1500)]
	s["segments"] = [{"device": d, "address": 1 << 44, "total_size": 1500 << 20, "allocated_size": 0, "active_size": 0, "requested_size": 0, "stream": 0,
	                  "segment_type": "large", "segment_pool_id": (0, 0), "is_expandable": False, "frames": [], "blocks": blocks} for d in range(12)]
	s["external_annotations"] = [{"stage": st, "name": "range %d " % k + "y" * 50000 * (k % 100 == 0), "device": 0, "time_us": 1000000 + 14 * k + o}
	                             for k in range(3000) for st, o in (("START", 0), ("END", 9))]
	END
    trace-memory -q -f html huge.pickle >page.html && size=$(wc -c <page.html) &&
    { test "$size" -le 3000000 || { echo "$size bytes"; false; }; } &&
    python3 -S "$GP_SOURCE"/tests/cli/check_page.py page.html
'

test_done
