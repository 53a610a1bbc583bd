#!/bin/sh
# The page of trace-suggest in headless Chromium. Skipped where there is no browser.
here=$(cd "$(dirname "$0")" && pwd)
for need in node chromium; do
    command -v $need >/dev/null 2>&1 || { echo "1..0 # SKIP $need is missing"; exit 0; }
done
suggest=${GP_BIN:-$here/../../build/release/bin}/trace-suggest
samples=$here/../../samples
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1

# Ten steps of 1 ms in which the host launches nine kernels of 10 to 18 us, one each 100 us; the last is called like an attack.
awk 'BEGIN {
    evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\\\"\047"
    print "[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"python\"}}"
    for (i = 0; i < 10; i++) {
        printf ",{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#%d\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":990}\n", i, 1000 * i
        for (k = 0; k < 9; k++) {
            t = 1000 * i + 100 * k + 5
            name = k == 8 ? evil : "void space::kernel_" k "<float, 4>(int, float*)"
            printf ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"%s\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":90}\n", k == 8 ? evil : "aten::op_" k, t
            printf ",{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":4", t + 2
            printf ",\"args\":{\"correlation\":%d}}\n", 100 * i + k + 1
            printf ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"%s\",\"pid\":0,\"tid\":7,\"ts\":%d,\"dur\":%d", name, t + 8, 10 + k
            printf ",\"args\":{\"device\":0,\"stream\":7,\"correlation\":%d,\"grid\":[8,1,1],\"block\":[128,1,1]}}\n", 100 * i + k + 1
        }
    }
    print "]"
}' >names.json
"$suggest" -q -f html names.json >names.html || exit 1
for sample in decode ddp_bucket1 gemm train; do
    "$suggest" -q -f html "$samples/pairs/$sample.trace" >$sample.html || exit 1
    "$suggest" -q -f json "$samples/pairs/$sample.trace" >$sample.json || exit 1
done
"$suggest" -q -f html --roofline roofline.svg "$samples/pairs/bf16.json.gz" >bf16.html || exit 1
sed 's/"dur":1[0-9],"args"/"dur":40,"args"/' names.json | "$suggest" -q -f html >nothing.html || exit 1
echo '[]' | "$suggest" -q --allow-empty -f html >empty.html || exit 1

. "$here/tries.sh"
tries node "$here/suggest.js" "$scratch"
