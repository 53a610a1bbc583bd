#!/bin/sh
# The page and the pictures of trace-diff in headless Chromium. Skipped where there is no browser.
here=$(cd "$(dirname "$0")" && pwd)
for need in node chromium; do
    command -v $need >/dev/null 2>&1 || { echo "1..0 # SKIP $need is missing"; exit 0; }
done
bin=${GP_BIN:-$here/../../build/release/bin}
samples=$here/../../samples/pairs
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

# Twelve steps of twelve kernels; kernel_3 takes SLOWER times as long, and a kernel with the name of an attack comes and goes.
trace() {
    awk -v slower="$1" -v evil="$2" 'BEGIN {
        name = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\\\"\047"
        print "[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"python\"}}"
        for (i = 0; i < 12; i++) {
            t = 1000 * i; at = t + 50
            printf ",{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#%d\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":900}\n", i, t
            for (k = 0; k < 12; k++) {
                id = 100 * i + k + 1
                dur = (10 + k) * (k == 3 ? slower : 1) + (i * 7 + k) % 5 * 0.01
                n = k == evil ? name : "void space::kernel_" k "<float, 4>(int, float*)"
                printf ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::op_%d\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":9}\n", k, t + 10 * k
                printf ",{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":2", t + 10 * k + 2
                printf ",\"args\":{\"correlation\":%d}}\n", id
                printf ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"%s\",\"pid\":0,\"tid\":7,\"ts\":%.3f,\"dur\":%.3f", n, at, dur
                printf ",\"args\":{\"device\":0,\"stream\":7,\"correlation\":%d}}\n", id
                at += dur + 1
            }
        }
        print "]"
    }'
}
cd "$scratch" || exit 1
trace 1 99 >base.json
trace 1.5 7 >cur.json
"$bin/trace-diff" -q --gate none -f html base.json cur.json >names.html || exit 1
"$bin/trace-diff" -q --gate none -f html "$samples/small_fused.trace" "$samples/small_forloop.trace" >pair.html || exit 1
"$bin/trace-diff" -q --gate none -f html "$samples/small.trace" "$samples/small_compiled.trace" >compiled.html || exit 1
"$bin/trace-diff" -q --gate none -f html base.json base.json >same.html || exit 1
for view in waterfall flame flame-base; do
    "$bin/trace-diff" -q --gate none -f svg --view $view base.json cur.json >$view.svg || exit 1
done

. "$here/tries.sh"
tries node "$here/diff.js" "$scratch"
