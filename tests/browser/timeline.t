#!/bin/sh
# The page of trace2timeline in headless Chromium. Skipped where there is no browser.
here=$(cd "$(dirname "$0")" && pwd)
for need in node chromium python3; do
    command -v $need >/dev/null 2>&1 || { echo "1..0 # SKIP $need is missing"; exit 0; }
done
timeline=${GP_BIN:-$here/../../build/release/bin}/trace2timeline
samples=$here/../../samples
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1

# Three operators that launch one kernel each. The last of them is called like an attack. In us: the trace begins at 100;
# the kernels run from 130 to 230, from 240 to 260, from 400 to 500.
cat >small.json <<'END'
[{"ph":"M","name":"process_name","pid":1,"args":{"name":"python"}},
 {"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":100,"dur":50,"args":{"Input Dims":[[64,32],[32,16]]}},
 {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":110,"dur":10,"args":{"correlation":1}},
 {"ph":"X","cat":"cpu_op","name":"aten::gelu","pid":1,"tid":1,"ts":200,"dur":40},
 {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":210,"dur":10,"args":{"correlation":2}},
 {"ph":"X","cat":"cpu_op","name":"</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'\u0007\n","pid":1,"tid":1,"ts":300,"dur":40,
  "args":{"</script><script>alert(3)</script>":"<img src=x onerror=alert(4)>"}},
 {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":310,"dur":10,"args":{"correlation":3}},
 {"ph":"X","cat":"kernel","name":"ampere_sgemm_128x64_nn","pid":0,"tid":7,"ts":130,"dur":100,
  "args":{"device":0,"stream":7,"correlation":1,"grid":[4,2,1],"block":[128,1,1]}},
 {"ph":"X","cat":"kernel","name":"void at::native::vectorized_elementwise_kernel<4, at::native::GeluFunctor>(int, float*)","pid":0,"tid":7,"ts":240,"dur":20,
  "args":{"device":0,"stream":7,"correlation":2}},
 {"ph":"X","cat":"kernel","name":"</script><script>alert(5)</script><img src=x onerror=alert(6)>","pid":0,"tid":7,"ts":400,"dur":100,
  "args":{"device":0,"stream":7,"correlation":3}}]
END
"$timeline" -q small.json >small.html || exit 1
# A function that calls a framework, whose functions call each other; another thread launches most, and one does nothing much.
python3 - >frames.json <<'END'
import json
call = lambda cat, name, at, end, tid=1, **args: {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": tid, "ts": at, "dur": end - at, "args": args}
torch = "torch/nn/modules/"
events = [call("python_function", *e) for e in (("train.py(1): main", 0, 1000), (torch + "module.py(1): _wrapped_call_impl", 100, 500),
    (torch + "module.py(2): _call_impl", 110, 490), (torch + "linear.py(3): forward", 120, 480), ("torch/nn/functional.py(4): linear", 130, 470),
    ("train.py(9): loss", 600, 700), ("torch/_tensor.py(5): backward", 610, 690), ("torch/autograd/graph.py(6): run", 620, 680))]
events += [call("cpu_op", "aten::linear", 140, 460), call("cuda_runtime", "cudaLaunchKernel", 150, 160, correlation=1)]
events += [call("cpu_op", "deep", 620 + i, 660 - i, tid) for tid in (2, 3) for i in range(10)]
events += [call("cuda_runtime", "cudaLaunchKernel", 631 + 3 * i, 633 + 3 * i, 2, correlation=2 + i) for i in range(3)]
events += [{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 200 + 200 * i, "dur": 50, "args": {"device": 0, "stream": 7, "correlation": 1 + i}} for i in range(4)]
print(json.dumps(events))
END
"$timeline" -q frames.json >frames.html || exit 1
mkdir traces
for sample in eager.json.gz ddp.rank0.json.gz compiled.trace decode_graph.trace managed.trace nccl.trace ranges.trace sampled.trace twoproc_exec.trace; do
    cp "$samples/h200/$sample" traces && "$timeline" -q "traces/$sample" >"$sample.html" || exit 1
done
echo '[]' | "$timeline" -q >empty.html || exit 1
echo '[{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":5,"dur":0,"args":{"device":0,"stream":7}}]' |
    "$timeline" -q >instant.html || exit 1

. "$here/tries.sh"
tries node "$here/timeline.js" "$scratch" "$scratch/traces"
